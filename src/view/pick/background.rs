//! What the picker has done by other threads, and what these tell of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::backend::{Backend, How, Refused};
use super::item::{Item, Key};
use super::preview::Preview;
use super::state::Said;
use crate::change::outcome::Outcome;
use crate::change::plan::change::Change;
use crate::format::text;
use crate::scan::pattern::{Case, Pattern};
use crate::scan::search;
use crate::session::Session;
use crate::system::env::Env;
use crate::system::terminal::Waker;

/// So many sessions are searched before what was found is told.
const PART: usize = 32;
/// What was found is told no more often than this, because the list is put in order anew each time.
const TELL: Duration = Duration::from_millis(60);

/// What another thread has done.
pub(super) enum News {
    /// Sessions were read; `problems` counts what could not be, once all were.
    Loaded { sessions: Vec<Arc<Session>>, items: Vec<Item>, problems: Option<usize> },
    /// Messages were read for the preview.
    Preview(Key, Preview),
    /// Messages have the words that were typed.
    Said { said: Vec<(Key, Said)>, is_last: bool },
    /// It was checked whether a session can be resumed.
    Checked(Arc<Session>, How, Result<(), Refused>),
    /// The command of a session was asked for.
    Command(Arc<Session>, Result<String, Refused>),
    /// A removal was planned.
    Planned(Vec<Key>, Result<Change, String>),
    /// A removal was carried out; these are gone, and this is to be said.
    Removed { gone: Vec<Key>, words: String },
    /// Sessions were pinned, or let go.
    Pinned(Vec<Key>, Result<bool, String>),
}

/// Counts up whenever something else is wanted, so that who works for an earlier wish can stop.
#[derive(Clone, Debug, Default)]
struct Wish(Arc<AtomicU64>);

impl Wish {
    /// Wishes for something else; the answer tells as long as nobody wishes again.
    fn anew(&self) -> impl Fn() -> bool + Clone + Send + Sync + use<> {
        let (current, own) = (Arc::clone(&self.0), self.0.fetch_add(1, Ordering::SeqCst) + 1);
        move || current.load(Ordering::SeqCst) == own
    }
}

/// Where threads are started, and where they tell.
pub(super) struct Background {
    backend: Arc<dyn Backend>,
    send: Sender<News>,
    news: Receiver<News>,
    waker: Waker,
    preview: Wish,
    search: Wish,
}

impl Background {
    pub(super) fn new(backend: Arc<dyn Backend>, waker: Waker) -> Self {
        let (send, news) = channel();
        Self { backend, send, news, waker, preview: Wish::default(), search: Wish::default() }
    }

    pub(super) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    /// Returns the next thing that was told.
    pub(super) fn news(&self) -> Option<News> {
        self.news.try_recv().ok()
    }

    fn run(&self, work: impl FnOnce(&dyn Backend, &dyn Fn(News)) + Send + 'static) {
        let (backend, send, waker) = (Arc::clone(&self.backend), self.send.clone(), self.waker.clone());
        std::thread::spawn(move || {
            work(&*backend, &|news| {
                // Nobody listens any more when the picker has ended.
                let _ = send.send(news);
                waker.wake();
            });
        });
    }

    /// Reads the sessions.
    pub(super) fn load(&self, env: &Env) {
        let env = env.clone();
        self.run(move |backend, tell| {
            backend.load(&mut |sessions, problems| {
                let items = sessions.par_iter().map(|session| Item::of(session, &env)).collect();
                tell(News::Loaded { sessions: sessions.into_iter().map(Arc::new).collect(), items, problems });
            });
        });
    }

    /// Reads the last messages of a session, or those around the message of a number, unless another one is looked at meanwhile.
    pub(super) fn preview(&self, session: Arc<Session>, around: Option<u64>) {
        let is_wanted = self.preview.anew();
        self.run(move |_, tell| {
            let preview = Preview::read(&session, around, &is_wanted);
            if is_wanted() {
                tell(News::Preview((session.agent, session.id().to_owned()), preview));
            }
        });
    }

    pub(super) fn forget_preview(&self) {
        let _ = self.preview.anew();
    }

    /// Searches messages for words, session by session, until something else is typed.
    pub(super) fn search<'w>(&self, words: impl Iterator<Item = &'w str>, mut sessions: Vec<Arc<Session>>) {
        // What lies on another machine is searched there: `rejoin search --host`.
        sessions.retain(|session| session.host().is_none());
        let is_wanted = self.search.anew();
        let words: Vec<String> = words.map(str::to_owned).collect();
        let pattern = Pattern::of_texts(&words, Case::Ignored);
        self.run(move |_, tell| {
            let (mut said, mut told) = (Vec::new(), Instant::now());
            for part in sessions.chunks(PART) {
                let found: Vec<_> = part
                    .par_iter()
                    .filter_map(|session| {
                        let (hit, messages) = search::look_while(session.copy(), &pattern, &is_wanted)?;
                        Some(((session.agent, session.id().to_owned()), Said { hit, messages }))
                    })
                    .collect();
                if !is_wanted() {
                    return;
                }
                said.extend(found);
                if !said.is_empty() && told.elapsed() >= TELL {
                    tell(News::Said { said: std::mem::take(&mut said), is_last: false });
                    told = Instant::now();
                }
            }
            if is_wanted() {
                tell(News::Said { said, is_last: true });
            }
        });
    }

    pub(super) fn forget_search(&self) {
        let _ = self.search.anew();
    }

    /// Checks whether a session can be resumed.
    pub(super) fn check(&self, session: Arc<Session>, how: How) {
        self.run(move |backend, tell| {
            let checked = backend.check(&session, &how);
            tell(News::Checked(session, how, checked));
        });
    }

    /// Asks for the command that resumes a session.
    pub(super) fn command(&self, session: Arc<Session>) {
        self.run(move |backend, tell| {
            let command = backend.command(&session);
            tell(News::Command(session, command));
        });
    }

    /// Plans the removal of sessions.
    pub(super) fn plan_removal(&self, sessions: Vec<Arc<Session>>) {
        self.run(move |backend, tell| tell(News::Planned(keys(&sessions), backend.plan_removal(&sessions))));
    }

    /// Carries out a removal that was agreed to.
    pub(super) fn remove(&self, change: Change) {
        self.run(move |backend, tell| {
            let (gone, words) = match backend.remove(&change) {
                Ok(outcome) => gone(&change, &outcome),
                Err(why) => (Vec::new(), why),
            };
            tell(News::Removed { gone, words });
        });
    }

    /// Pins sessions, or lets them go.
    pub(super) fn pin(&self, sessions: Vec<Arc<Session>>, is_wanted: bool) {
        self.run(move |backend, tell| {
            tell(News::Pinned(keys(&sessions), backend.pin(&sessions, is_wanted).map(|()| is_wanted)));
        });
    }
}

/// Returns the sessions that a removal took away, and what is to be said of it.
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
