//! Work that the picker does in other threads, and their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use super::backend::{Backend, How, Ready, Refused};
use super::item::{Item, Key};
use super::preview::Preview;
use super::state::Said;
use crate::change::outcome::Outcome;
use crate::change::plan::change::Change;
use crate::format::text;
use crate::scan::nearest::meant;
use crate::scan::ranked::{Ranking, Tally, rank};
use crate::scan::search;
use crate::scan::sieve::Sieve;
use crate::scan::texts::Texts;
use crate::session::matching::Quality;
use crate::session::terms::Words;
use crate::session::{Session, SessionCopy};
use crate::system::env::Env;
use crate::system::terminal::Waker;

/// Number of sessions that are searched between two reports.
const PART: usize = 32;
/// Number of the best sessions whose branches are read to mark matches on another branch.
const MARKED: usize = 64;
/// Minimum time between two reports of matches, because each one sorts the list again.
const SEND_INTERVAL: Duration = Duration::from_millis(60);
/// Maximum bytes of messages in memory; sessions that do not fit are searched in their files.
const MAX_KEPT: usize = 256 * 1024 * 1024;
/// The best message of a session is shown.
const WISH: search::Wish<'static> =
    search::Wish { roles: &[], most: 1, lines: None, has_numbers: true, names_branches: false, enough: None };

/// A result from another thread.
pub(super) enum News {
    /// Sessions were read; `problems` is the number of unreadable places, once all were read.
    Loaded { sessions: Vec<Arc<Session>>, items: Vec<Item>, problems: Option<usize> },
    /// Messages were read for the preview.
    Preview(Key, Preview),
    /// Sessions whose messages have the typed words.
    Said(Vec<(Key, Said)>),
    /// All sessions were searched: those that have the words, with their scores, or the reason why none has them.
    Searched { said: Vec<(Key, Said)>, no_match: Option<String> },
    /// The check of a session for a resume.
    Checked(Arc<Session>, How, Result<(), Refused>),
    /// The command that resumes a session.
    Command(Arc<Session>, Result<String, Refused>),
    /// The other agents for a session.
    Agents(Key, Result<Vec<Ready>, String>),
    /// A removal was planned.
    Planned(Vec<Key>, Result<Change, String>),
    /// A removal was carried out: the removed sessions, and the message about it.
    Removed { gone: Vec<Key>, words: String },
    /// Sessions were pinned or unpinned.
    Pinned(Vec<Key>, Result<bool, String>),
}

/// A counter that grows with each request, so that threads with an older request can stop.
#[derive(Clone, Debug, Default)]
struct Wish(Arc<AtomicU64>);

impl Wish {
    /// Makes a new request; the returned function is true until the next one.
    fn renew(&self) -> impl Fn() -> bool + Clone + Send + Sync + use<> {
        let (current, own) = (Arc::clone(&self.0), self.0.fetch_add(1, Ordering::SeqCst) + 1);
        move || current.load(Ordering::SeqCst) == own
    }
}

/// Starts threads and receives their results.
pub(super) struct Background {
    backend: Arc<dyn Backend>,
    send: Sender<News>,
    news: Receiver<News>,
    waker: Waker,
    preview: Wish,
    search: Wish,
    texts: Arc<Texts>,
}

impl Background {
    pub(super) fn new(backend: Arc<dyn Backend>, waker: Waker) -> Self {
        let (send, news) = channel();
        Self {
            backend,
            send,
            news,
            waker,
            preview: Wish::default(),
            search: Wish::default(),
            texts: Arc::new(Texts::new(MAX_KEPT)),
        }
    }

    pub(super) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Returns the next result.
    pub(super) fn news(&self) -> Option<News> {
        self.news.try_recv().ok()
    }

    fn run(&self, work: impl FnOnce(&dyn Backend, &dyn Fn(News)) + Send + 'static) {
        let (backend, send, waker) = (Arc::clone(&self.backend), self.send.clone(), self.waker.clone());
        std::thread::spawn(move || {
            work(&*backend, &|news| {
                // The receiver is gone after the picker has ended.
                let _ = send.send(news);
                waker.wake();
            });
        });
    }

    /// Reads the sessions.
    pub(super) fn load(&self, env: &Env) {
        let env = env.clone();
        self.run(move |backend, send| {
            backend.load(&mut |sessions, problems| {
                let items = sessions.par_iter().map(|session| Item::of(session, &env)).collect();
                send(News::Loaded { sessions: sessions.into_iter().map(Arc::new).collect(), items, problems });
            });
        });
    }

    /// Reads the messages of sessions into memory, in this order, so that searches are quick; ends with the picker.
    pub(super) fn keep_texts(&self, sessions: Vec<Arc<Session>>) {
        let texts = Arc::downgrade(&self.texts);
        std::thread::spawn(move || {
            for session in sessions.iter().filter(|session| session.host().is_none()) {
                let Some(texts) = texts.upgrade() else { break };
                texts.keep(session.copy());
            }
        });
    }

    /// Reads the last messages of a session, or those around the message with a number, until another session is
    /// requested.
    pub(super) fn preview(&self, session: Arc<Session>, around: Option<u64>) {
        let is_wanted = self.preview.renew();
        self.run(move |_, send| {
            let preview = Preview::read(&session, around, &is_wanted);
            if is_wanted() {
                send(News::Preview((session.agent, session.id().to_owned()), preview));
            }
        });
    }

    pub(super) fn forget_preview(&self) {
        let _ = self.preview.renew();
    }

    /// Searches whole sessions for words in any form, until the text changes.
    pub(super) fn search(&self, texts: &[String], mut sessions: Vec<Arc<Session>>, env: &Env) {
        // Sessions of other hosts are searched with `rejoin search --host`.
        sessions.retain(|session| session.host().is_none());
        let is_wanted = self.search.renew();
        let (words, now, kept) = (Words::parse(texts), env.clock.now, Arc::clone(&self.texts));
        self.run(move |_, report| {
            let sieve = Sieve::new(&words);
            let (mut said, mut sent_at, mut tallies) = (Vec::new(), Instant::now(), Vec::new());
            for part in sessions.chunks(PART) {
                let count = |session: &Arc<Session>| {
                    let (copy, text) = (session.copy(), kept.of(session.copy()));
                    Tally::while_wanted(copy, text.as_deref(), &sieve, WISH, &is_wanted)
                };
                let counted: Vec<Tally> = part.par_iter().map(count).collect();
                if !is_wanted() {
                    return;
                }
                said.extend(part.iter().zip(&counted).filter_map(|(session, tally)| said_in(session, tally, 0.0)));
                tallies.extend(counted);
                if !said.is_empty() && sent_at.elapsed() >= SEND_INTERVAL {
                    report(News::Said(std::mem::take(&mut said)));
                    sent_at = Instant::now();
                }
            }
            let active: Vec<_> = sessions.iter().map(|session| session.active_at()).collect();
            let ranking = rank(&tallies.iter().collect::<Vec<_>>(), tallies.len(), &active, words.terms.len(), now);
            let ranked = ranking.order.iter();
            let said = ranked.filter_map(|(at, score)| said_in(&sessions[*at], &tallies[*at], *score)).collect();
            let has_all = ranking.matched == words.terms.len();
            let no_match = (!has_all).then(|| no_match(&sieve, &ranking, tallies, &sessions, &kept, &is_wanted));
            if is_wanted() {
                let best: Vec<(Key, Said)> = Vec::clone(&said).into_iter().take(MARKED).collect();
                report(News::Searched { said, no_match });
                let on_branches = on_other_branches(best, &sessions, &is_wanted);
                if is_wanted() && !on_branches.is_empty() {
                    report(News::Said(on_branches));
                }
            }
        });
    }

    pub(super) fn forget_search(&self) {
        let _ = self.search.renew();
    }

    /// Checks whether a session can be resumed.
    pub(super) fn check(&self, session: Arc<Session>, how: How) {
        self.run(move |backend, send| {
            let checked = backend.check(&session, &how);
            send(News::Checked(session, how, checked));
        });
    }

    /// Asks for the command that resumes a session.
    pub(super) fn command(&self, session: Arc<Session>) {
        self.run(move |backend, send| {
            let command = backend.command(&session);
            send(News::Command(session, command));
        });
    }

    /// Asks for the other agents that can continue a session.
    pub(super) fn other_agents(&self, session: Arc<Session>) {
        self.run(move |backend, report| {
            let agents = backend.other_agents(&session);
            report(News::Agents((session.agent, session.id().to_owned()), agents));
        });
    }

    /// Plans the removal of sessions.
    pub(super) fn plan_removal(&self, sessions: Vec<Arc<Session>>) {
        self.run(move |backend, send| send(News::Planned(keys(&sessions), backend.plan_removal(&sessions))));
    }

    /// Carries out a removal that the user confirmed.
    pub(super) fn remove(&self, change: Change) {
        self.run(move |backend, send| {
            let (gone, words) = match backend.remove(&change) {
                Ok(outcome) => gone(&change, &outcome),
                Err(why) => (Vec::new(), why),
            };
            send(News::Removed { gone, words });
        });
    }

    /// Pins or unpins sessions.
    pub(super) fn pin(&self, sessions: Vec<Arc<Session>>, is_wanted: bool) {
        self.run(move |backend, send| {
            send(News::Pinned(keys(&sessions), backend.pin(&sessions, is_wanted).map(|()| is_wanted)));
        });
    }
}

/// Returns the best message of a session that has all words.
fn said_in(session: &Session, tally: &Tally, score: f64) -> Option<(Key, Said)> {
    let (worst, hit) = (tally.worst()?, tally.found.hits.first()?);
    let quality = Quality::of(worst);
    Some((
        (session.agent, session.id().to_owned()),
        Said { hit: hit.clone(), messages: tally.found.messages, quality, score },
    ))
}

/// Returns the found messages that are on another branch than the one that a resume continues, with its number.
fn on_other_branches(
    found: Vec<(Key, Said)>,
    sessions: &[Arc<Session>],
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Vec<(Key, Said)> {
    let marked = found.into_par_iter().filter_map(|((agent, id), mut said)| {
        let session = sessions.iter().find(|session| session.agent == agent && session.id() == id)?;
        if is_wanted() {
            search::mark_branches(session.copy(), std::slice::from_mut(&mut said.hit));
        }
        said.hit.branch.is_some().then_some(((agent, id), said))
    });
    marked.collect()
}

/// Explains why no session has all words, and names words that some have.
fn no_match(
    sieve: &Sieve<'_>,
    ranking: &Ranking,
    tallies: Vec<Tally>,
    sessions: &[Arc<Session>],
    texts: &Texts,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> String {
    let copies: Vec<&SessionCopy> = sessions.iter().map(|session| session.copy()).collect();
    let typed = |term: usize| sieve.words.terms[term].text.as_str();
    let missing: Vec<String> = ranking.missing.iter().map(|term| format!("\"{}\"", typed(*term))).collect();
    let near = meant(sieve, &ranking.missing, tallies, &copies, texts, is_wanted);
    let near: Vec<String> = near.iter().map(|(_, used)| format!("\"{used}\"")).collect();
    match (missing.is_empty(), near.is_empty()) {
        (true, _) => {
            format!("{} with {} of the {} words", ranking.order.len(), ranking.matched, sieve.words.terms.len())
        }
        (false, true) => format!("nothing has {}", missing.join(" or ")),
        (false, false) => format!("nothing has {}, but {} would match", missing.join(" or "), near.join(" and ")),
    }
}

/// Returns the sessions that a removal removed, and the message about it.
fn gone(change: &Change, outcome: &Outcome) -> (Vec<Key>, String) {
    let (mut gone, mut left) = (Vec::new(), Vec::new());
    for (item, done) in change.items.iter().zip(&outcome.done) {
        match done.why() {
            None => gone.extend(item.about.session().map(|(agent, id)| (agent, id.to_owned()))),
            Some(why) => left.push(format!("{} stays: {why}", item.about)),
        }
    }
    let mut words =
        vec![format!("{} moved to the trash; `rejoin undo` brings back what went", text::count(gone.len(), "session"))];
    words.append(&mut left);
    (gone, words.join("; "))
}

fn keys(sessions: &[Arc<Session>]) -> Vec<Key> {
    sessions.iter().map(|session| (session.agent, session.id().to_owned())).collect()
}
