//! One session as a line to pick; all its texts are safe for a terminal.

use crate::format::text;
use crate::session::matching::MatchedTexts;
use crate::session::{AgentKind, Health, Session, marks};
use crate::system::env::Env;
use crate::view::render::table;

/// Maximum columns of a title.
const WIDEST_TITLE: usize = 400;

/// The identity of a session while the list changes.
pub(super) type ItemKey = (AgentKind, String);

/// The fields of a session for showing, sorting and searching the list.
#[derive(Clone, Debug)]
pub(super) struct PickerItem {
    pub(super) key: ItemKey,
    pub(super) title: String,
    /// The launch directory, or a question mark.
    pub(super) dir: String,
    pub(super) active: String,
    /// The short words of the table; those that prevent a resume are first.
    pub(super) marks: Vec<ItemMark>,
    pub(super) size: Option<u64>,
    pub(super) subject: MatchedTexts,
}

/// A short word for an unusual state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemMark {
    pub(super) word: String,
    /// Set if `resume` refuses a session with this mark.
    pub(super) is_in_the_way: bool,
}

/// The mark of a session that the user pinned.
pub(super) const PINNED: &str = "pinned";

impl PickerItem {
    pub(super) fn from_session(session: &Session, env: &Env) -> Self {
        let dir = session.launch_dir().map_or_else(|| "?".to_owned(), |dir| env.tilde(dir));
        let (dir, title) = (text::one_line(&dir).into_owned(), table::title(session));
        let title = text::truncated(&title, WIDEST_TITLE).into_owned();
        let mut marks = marks(session);
        marks.sort_by_key(|mark| !mark.is_in_the_way);
        let words: Vec<String> = marks.iter().map(|mark| mark.word.clone()).collect();
        Self {
            key: session.key(),
            subject: MatchedTexts::from_session(session, &title, &dir, &words),
            title,
            dir,
            active: table::active(session, env),
            marks,
            size: session.copy().size(),
        }
    }
}

fn marks(session: &Session) -> Vec<ItemMark> {
    let mark = |(mark, word)| {
        let activity = session.process.and_then(|process| process.state.activity());
        let word = match activity.filter(|_| mark == marks::Mark::Live) {
            Some(activity) => format!("{word}, {activity}"),
            None => word,
        };
        ItemMark { word, is_in_the_way: is_in_the_way(mark) }
    };
    marks::Mark::from_session(session).into_iter().zip(marks::words(session)).map(mark).collect()
}

/// Returns whether `resume` refuses a session for this mark, unless the user overrides it.
fn is_in_the_way(mark: marks::Mark) -> bool {
    use Health::{MisfiledSession, MissingDirectory, Planted, SessionInfoMismatch, UnknownDirectory};
    match mark {
        marks::Mark::Live => true,
        marks::Mark::Health(health) => {
            matches!(health, MissingDirectory | UnknownDirectory | Planted | MisfiledSession | SessionInfoMismatch)
        }
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::session::Fact;
    use crate::session::Liveness;
    use crate::session::tests::{copy, session};
    use crate::system::env::tests::fixed;

    /// A session with this title and directory.
    pub(in crate::view::pick) fn titled(id: &str, title: &str, dir: &str) -> Session {
        let mut copy = copy(id);
        copy.title = Some(Fact::new(title.to_owned(), "t"));
        copy.launch_dir = Some(Fact::new(std::path::Path::new(dir), "t"));
        copy.active_at = Some(Fact::new("2026-02-28T10:00:00Z".parse::<jiff::Timestamp>().expect("a time"), "t"));
        session(vec![copy])
    }

    /// Items of these titles and directories, with ids that count up.
    pub(in crate::view::pick) fn items(list: &[(&str, &str)]) -> Vec<PickerItem> {
        let item = |(at, (title, dir)): (usize, &(&str, &str))| {
            PickerItem::from_session(&titled(&format!("{at:04}-aaaa"), title, dir), &fixed())
        };
        list.iter().enumerate().map(item).collect()
    }

    #[test]
    fn marks_that_prevent_resume_come_first() {
        let mut session = titled("a", "Title", "/no/such/place");
        session.is_pinned = true;
        session.copies[0].kind = crate::session::SessionKind::Exec;
        session.copies[0].liveness = Liveness::Live { pid: 1 };
        session.launch_dir_exists = Some(false);
        session.assess();
        let marks = PickerItem::from_session(&session, &fixed()).marks;
        let words: Vec<(&str, bool)> = marks.iter().map(|mark| (mark.word.as_str(), mark.is_in_the_way)).collect();
        assert_eq!(words, [("live", true), ("dir gone", true), ("pinned", false), ("exec", false)]);
    }

    #[test]
    fn titles_and_directories_have_no_control_characters() {
        let item = PickerItem::from_session(&titled("a", "ok\x1b]52;c;x\x07\u{202e}", "/d\x1b[2J"), &fixed());
        assert_eq!((item.title.as_str(), item.dir.as_str()), ("ok\\u{1b}]52;c;x\\u{7}\\u{202e}", "/d\\u{1b}[2J"));
    }
}
