//! Runs work of the picker in other threads, and receives the results.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::backend::{Backend, How, Ready, RefusedResume};
use super::item::{ItemKey, PickerItem};
use super::preview::Preview;
use super::search::{PickerSearch, SearchResult};
use crate::change::outcome::ChangeOutcome;
use crate::change::plan::change::Change;
use crate::format::text;
use crate::scan::texts::TextCache;
use crate::session::Session;
use crate::session::terms::SearchWords;
use crate::system::env::Env;
use crate::system::parallel;
use crate::system::terminal::Waker;

/// Maximum bytes of messages in memory; sessions that do not fit are searched in their files.
const MAX_KEPT: usize = 256 * 1024 * 1024;

/// A result from another thread.
pub(super) enum News {
    /// Sessions were read; `problems` is the number of unreadable places, once all were read.
    Loaded { sessions: Vec<Arc<Session>>, items: Vec<PickerItem>, problems: Option<usize> },
    /// Messages were read for the preview.
    Preview(ItemKey, Preview),
    /// A result of the search with this number.
    Found(SearchNumber, SearchResult),
    /// The check of a session for a resume.
    Checked(Arc<Session>, How, Result<(), RefusedResume>),
    /// The command that resumes a session.
    Command(Arc<Session>, Result<String, RefusedResume>),
    /// The other agents for a session.
    Agents(ItemKey, Result<Vec<Ready>, String>),
    /// A removal was planned.
    Planned(Vec<ItemKey>, Result<Change, String>),
    /// A removal was carried out: the removed sessions, and the message about it.
    Removed { gone: Vec<ItemKey>, words: String },
    /// Sessions were pinned or unpinned.
    Pinned(Vec<ItemKey>, Result<bool, String>),
}

/// The number of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SearchNumber(u64);

/// A counter that grows with each request, so that threads with an older request can stop.
#[derive(Clone, Debug, Default)]
struct RequestCounter(Arc<AtomicU64>);

impl RequestCounter {
    /// Starts a new request. The returned function returns true until the next request.
    fn renew(&self) -> (SearchNumber, impl Fn() -> bool + Clone + Send + Sync + use<>) {
        let (wish, own) = (self.clone(), SearchNumber(self.0.fetch_add(1, Ordering::SeqCst) + 1));
        (own, move || wish.is_current(own))
    }

    fn is_current(&self, request: SearchNumber) -> bool {
        self.0.load(Ordering::SeqCst) == request.0
    }
}

/// Starts threads and receives their results.
pub(super) struct Background {
    backend: Arc<dyn Backend>,
    send: Sender<News>,
    news: Receiver<News>,
    waker: Waker,
    preview: RequestCounter,
    search: RequestCounter,
    texts: Arc<TextCache>,
    /// The threads of searches. Others match the list, so that a key never waits for a search. If no threads can be
    /// started, the two share the usual ones.
    searchers: OnceCell<Option<Arc<ThreadPool>>>,
}

impl Background {
    pub(super) fn new(backend: Arc<dyn Backend>, waker: Waker) -> Self {
        let (send, news) = channel();
        Self {
            backend,
            send,
            news,
            waker,
            preview: RequestCounter::default(),
            search: RequestCounter::default(),
            texts: Arc::new(TextCache::new(MAX_KEPT)),
            searchers: OnceCell::new(),
        }
    }

    pub(super) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Returns the next result.
    pub(super) fn news(&self) -> Option<News> {
        self.news.try_recv().ok()
    }

    fn run(&self, work: impl FnOnce(&dyn Backend, &(dyn Fn(News) + Sync)) + Send + 'static) {
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
                let items = parallel::map(&sessions, |session| PickerItem::from_session(session, &env));
                send(News::Loaded { sessions: sessions.into_iter().map(Arc::new).collect(), items, problems });
            });
        });
    }

    /// Reads the messages of sessions into memory, in this order, so that searches are fast. Stops when the picker
    /// ends.
    pub(super) fn keep_texts(&self, sessions: Vec<Arc<Session>>) {
        let texts = Arc::downgrade(&self.texts);
        std::thread::spawn(move || {
            for session in &sessions {
                let Some(texts) = texts.upgrade() else { break };
                texts.keep_copy(session.copy());
            }
        });
    }

    /// Reads the last messages of a session, or those around the message with a number, until another session is
    /// requested.
    pub(super) fn preview(&self, session: Arc<Session>, around: Option<u64>) {
        let (_, is_wanted) = self.preview.renew();
        self.run(move |_, send| {
            let preview = Preview::read(&session, around, &is_wanted);
            if is_wanted() {
                send(News::Preview(session.key(), preview));
            }
        });
    }

    pub(super) fn forget_preview(&self) {
        let _ = self.preview.renew();
    }

    /// Searches whole sessions for words in any form, until the text changes. Set `is_filtered` if other sessions do
    /// not pass the filters.
    pub(super) fn search(&self, texts: &[String], sessions: Vec<Arc<Session>>, is_filtered: bool, env: &Env) {
        let (request, is_wanted) = self.search.renew();
        let pool = || ThreadPoolBuilder::new().build().ok().map(Arc::new);
        let (kept, searchers) = (Arc::clone(&self.texts), self.searchers.get_or_init(pool).clone());
        let search = PickerSearch { words: SearchWords::parse(texts), sessions, kept, is_filtered, now: env.clock.now };
        self.run(move |_, report| {
            let work = || search.run(&is_wanted, &|found| report(News::Found(request, found)));
            searchers.as_ref().map_or_else(work, |searchers| searchers.install(work));
        });
    }

    /// Returns whether a result is about the typed text, and not about an earlier one.
    pub(super) fn is_current(&self, request: SearchNumber) -> bool {
        self.search.is_current(request)
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

    /// Requests the command that resumes a session.
    pub(super) fn command(&self, session: Arc<Session>) {
        self.run(move |backend, send| {
            let command = backend.command(&session);
            send(News::Command(session, command));
        });
    }

    /// Requests the other agents that can continue a session.
    pub(super) fn other_agents(&self, session: Arc<Session>) {
        self.run(move |backend, report| {
            let agents = backend.other_agents(&session);
            report(News::Agents(session.key(), agents));
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

/// Returns the sessions that a removal removed, and the message about it.
fn gone(change: &Change, outcome: &ChangeOutcome) -> (Vec<ItemKey>, String) {
    let (mut gone, mut left) = (Vec::new(), Vec::new());
    for (item, done) in change.items.iter().zip(&outcome.done) {
        match done.why() {
            None => gone.extend(item.about.session().map(|(agent, id)| (agent, id.to_owned()))),
            Some(why) => left.push(format!("{} stays: {why}", item.about)),
        }
    }
    let mut words = vec![format!(
        "{} removed; `rejoin undo` restores {}",
        text::count(gone.len(), "session"),
        if gone.len() == 1 { "it" } else { "them" }
    )];
    words.append(&mut left);
    (gone, words.join("; "))
}

fn keys(sessions: &[Arc<Session>]) -> Vec<ItemKey> {
    sessions.iter().map(|session| session.key()).collect()
}
