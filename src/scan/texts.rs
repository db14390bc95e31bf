//! Keeps the texts of sessions in memory for searches that follow one another: those of the picker after every key press, and
//! that of a phrase before that of its words.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use foldhash::HashMap;
use jiff::Timestamp;

use crate::agent;
use crate::format::jsonl::is_shortened;
use crate::session::branches::BranchFilter;
use crate::session::{Located, Role, SessionCopy};
use crate::system::links;

type TextsById = HashMap<String, Arc<SessionText>>;

/// The texts of sessions, up to a total number of bytes; none by default.
#[derive(Debug, Default)]
pub(crate) struct TextCache {
    /// The texts by the path of the session.
    kept: RwLock<HashMap<Arc<Path>, TextsById>>,
    /// Number of bytes that may still be added.
    left: AtomicUsize,
}

/// The messages of a session on all branches, in order.
#[derive(Debug, Default)]
pub(crate) struct SessionText {
    all: String,
    messages: Vec<MessageEnd>,
    /// Sizes and times of the files when they were read.
    stamp: FileStamps,
}

/// Sizes and times of files; `None` for a missing one.
type FileStamps = Vec<Option<(u64, Option<SystemTime>)>>;

/// A message; its text ends at this byte of the joined text.
#[derive(Debug)]
struct MessageEnd {
    role: Role,
    at: Option<Timestamp>,
    end: usize,
}

impl TextCache {
    /// Creates an empty collection for up to this number of bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: RwLock::default(), left: AtomicUsize::new(most) }
    }

    /// Reads the messages of a copy and keeps them. If they are too large, or cannot be read whole, searches read the files
    /// and report that.
    pub(crate) fn keep_copy(&self, copy: &SessionCopy) {
        let left = self.left.load(Ordering::Relaxed);
        let is_too_long = left == 0 || usize::try_from(copy.transcript_bytes).is_ok_and(|bytes| bytes > left);
        if !is_too_long
            && self.kept_text(copy).is_none()
            && let Some(text) = SessionText::read_copy(copy, left)
            && self.reserve(text.bytes())
        {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            kept.entry(Arc::clone(&copy.place.path)).or_default().insert(copy.place.id.clone(), Arc::new(text));
        }
    }

    /// Subtracts bytes from those that may still be added; returns whether there were enough.
    fn reserve(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Returns the messages of a copy, if they are kept.
    pub(crate) fn kept_text(&self, copy: &SessionCopy) -> Option<Arc<SessionText>> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(&copy.place.path)?.get(&copy.place.id).cloned()
    }

    /// Forgets the messages of a copy if its files have changed since they were read; returns whether they have.
    pub(crate) fn forget_changed(&self, copy: &SessionCopy) -> bool {
        let has_changed = self.kept_text(copy).is_some_and(|text| stamp(&copy.place) != text.stamp);
        if has_changed {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            let forgotten = kept.get_mut(&copy.place.path).and_then(|by_id| by_id.remove(&copy.place.id));
            self.left.fetch_add(forgotten.map_or(0, |text| text.bytes()), Ordering::Relaxed);
        }
        has_changed
    }
}

/// Returns the sizes and times of the files with the messages of a copy. New rows of a database are first written to
/// its WAL.
fn stamp(place: &Located) -> FileStamps {
    let mut files = agent::by_kind(place.agent()).map(|agent| agent.written(place)).unwrap_or_default();
    if files.is_empty() {
        let mut log = place.path.as_os_str().to_owned();
        log.push("-wal");
        files.push(log.into());
    }
    if !files.iter().any(|file| **file == *place.path) {
        files.push(place.path.to_path_buf());
    }
    let of_file = |file: &PathBuf| links::metadata(file).ok().map(|found| (found.len(), found.modified().ok()));
    files.iter().map(of_file).collect()
}

impl SessionText {
    /// Reads the messages of a copy; `None` if they have more bytes, there are none, or they cannot be read whole.
    fn read_copy(copy: &SessionCopy, most: usize) -> Option<Self> {
        let agent = agent::by_kind(copy.place.agent())?;
        let (mut text, mut has_shortened) = (Self { stamp: stamp(&copy.place), ..Self::default() }, false);
        let read = agent.messages_on(copy, BranchFilter::All, &mut |message| {
            has_shortened |= is_shortened(&message);
            text.all.push_str(&message.text);
            text.messages.push(MessageEnd { role: message.role, at: message.at, end: text.all.len() });
            // A word cannot extend from one message into the next.
            text.all.push('\n');
            if text.bytes() <= most && !has_shortened { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        text.all.shrink_to_fit();
        text.messages.shrink_to_fit();
        // A missing file has no messages; it may be created again.
        let is_whole = read.is_ok() && text.bytes() <= most && !has_shortened && !text.messages.is_empty();
        is_whole.then_some(text)
    }

    /// Returns the size in memory.
    fn bytes(&self) -> usize {
        self.all.len() + self.messages.len() * size_of::<MessageEnd>()
    }

    /// Returns the texts of all messages, each with a line break after it.
    pub(super) fn joined(&self) -> &str {
        &self.all
    }

    /// Returns the messages: role, time and text.
    pub(super) fn messages(&self) -> impl Iterator<Item = (Role, Option<Timestamp>, &str)> {
        let mut start = 0;
        self.messages.iter().map(move |MessageEnd { role, at, end }| {
            let text = &self.all[start..*end];
            start = *end + 1;
            (*role, *at, text)
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::format::jsonl::MAX_LINE;
    use crate::scan::{self, ScanScope};

    #[test]
    fn text_cache_keeps_sessions_within_limit() {
        let mut env = crate::system::env::tests::fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let sessions = scan::locate(&env, &[]).read_all(&env, ScanScope::GLANCE).sessions;
        let kept = |most: usize| -> Vec<usize> {
            let texts = TextCache::new(most);
            sessions.iter().for_each(|session| texts.keep_copy(session.copy()));
            sessions.iter().filter_map(|session| Some(texts.kept_text(session.copy())?.bytes())).collect()
        };
        let all: usize = kept(usize::MAX).iter().sum();
        let half: usize = kept(all / 2).iter().sum();
        assert!(all > 5_000 && half <= all / 2 && half > all / 4, "{half} of {all}");
        assert_eq!(kept(0).iter().sum::<usize>(), 0);
    }

    #[test]
    fn text_cache_rereads_changed_session() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(crate::session::Store::usual(crate::session::AgentKind::Claude, dir.path()));
        let file = dir.path().join("id.jsonl");
        let line = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"oil the hinge\"}}\n";
        std::fs::write(&file, line.repeat(2)).expect("a transcript");
        let (texts, copy) = (TextCache::new(usize::MAX), SessionCopy::new(Located::new(&store, "id", file.clone())));
        texts.keep_copy(&copy);
        let text = texts.kept_text(&copy).expect("messages");
        assert_eq!(text.joined(), "oil the hinge\noil the hinge\n");
        assert!(text.messages().all(|(role, _, text)| (role, text) == (Role::User, "oil the hinge")));
        assert!(!texts.forget_changed(&copy));
        std::fs::write(&file, line).expect("a shorter transcript");
        assert!(texts.forget_changed(&copy) && texts.kept_text(&copy).is_none());
    }

    #[test]
    fn text_cache_omits_unreadable_session() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(crate::session::Store::usual(crate::session::AgentKind::Claude, dir.path()));
        let is_kept = |file: &str| {
            let place = Located::new(&store, "id", dir.path().join(file));
            let (texts, copy) = (TextCache::new(usize::MAX), SessionCopy::new(place));
            texts.keep_copy(&copy);
            texts.kept_text(&copy).is_some()
        };
        assert!(!is_kept("missing.jsonl"));
        let user =
            |text: &str| format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n");
        std::fs::write(dir.path().join("short.jsonl"), user("hinge")).expect("a transcript");
        assert!(is_kept("short.jsonl"));
        let too_long = user(&"hinge ".repeat(MAX_LINE / 6 + 1));
        std::fs::write(dir.path().join("long.jsonl"), too_long).expect("a transcript");
        assert!(!is_kept("long.jsonl"), "its end was not read");
    }
}
