//! The state of the picker, without a terminal, a disk or a clock: the sessions, the typed text, and the work in
//! progress.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;

use super::backend::{Purpose, Ready, RefusedResume};
use super::edit::TextInput;
use super::item::{ItemKey, PINNED, PickerItem};
use super::layout::ScreenLayout;
use crate::scan::search::Hit;
use crate::session::matching::{MatchField, MatchRank, Quality, Query, SessionMatcher};

/// The page on the screen, next to the line for typing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    #[default]
    List,
    /// The page of all keys, scrolled to a line.
    Help(usize),
    /// The question whether to delete these sessions, with their size in bytes.
    Sure { items: Vec<usize>, bytes: u64 },
    /// The reason why a session is not resumed, and the possible actions with the cursor. `is_offer` is set if the user
    /// asked for the actions and nothing was refused.
    Ways { key: ItemKey, refused: RefusedResume, cursor: usize, is_offer: bool },
}

/// The best message of a session that has all words, and the number of messages with any of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BestMessage {
    pub(super) hit: Hit,
    pub(super) messages: u64,
    pub(super) quality: Quality,
    /// The score among the sessions that have the words; 0 until all are searched.
    pub(super) score: f64,
}

impl BestMessage {
    pub(super) fn rank(&self) -> MatchRank {
        MatchRank { quality: self.quality, place: MatchField::Said }
    }
}

/// The result of a search of all sessions.
pub(super) struct Searched {
    /// Sessions that have the words, with their scores.
    pub(super) found_messages: Vec<(ItemKey, BestMessage)>,
    /// Sessions with a message that has an excluded word.
    pub(super) excluded: Vec<ItemKey>,
    /// The reason why no session has all words.
    pub(super) no_match: Option<String>,
}

/// The order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListOrder {
    /// Best match first, then newest activity.
    #[default]
    Activity,
    /// Largest first.
    Size,
    /// By launch directory.
    Directory,
}

/// A session in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedSession {
    pub(super) item: usize,
    pub(super) rank: MatchRank,
    /// Set if a message matches better than title, directory and marks.
    pub(super) is_said: bool,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListRow {
    /// The directory in which the sessions below were launched, and their number.
    Group(String, usize),
    /// A session, by its place among the matches.
    Session(usize),
    /// The matching message of the session above.
    Said(usize),
}

/// Reads an age or a date.
pub(super) type Time = Box<dyn Fn(&str) -> Result<Timestamp, String>>;

/// The list, the typed text, and the place of the cursor.
#[derive(Default)]
pub(super) struct PickerState {
    pub(super) purpose: Purpose,
    pub(super) items: Vec<PickerItem>,
    pub(super) edit: TextInput,
    pub(super) query: Query,
    time: Option<Time>,
    pub(super) matching: SessionMatcher,
    pub(super) matches: Vec<ListedSession>,
    pub(super) rows: Vec<ListRow>,
    pub(super) found_messages: HashMap<ItemKey, BestMessage>,
    /// Sessions with a message that has an excluded word.
    pub(super) excluded: HashSet<ItemKey>,
    /// The reason why no session has the words, and words that some have; known once all are searched.
    pub(super) no_match: Option<String>,
    /// The first filter that no session matches.
    pub(super) unmatched: Option<String>,
    pub(super) marked: BTreeSet<ItemKey>,
    pub(super) order: ListOrder,
    pub(super) is_grouped: bool,
    pub(super) mode: Mode,
    /// The last message to the user; the next key removes it.
    pub(super) note: Option<String>,
    /// Work in the background that must end before another action.
    pub(super) busy: Option<&'static str>,
    /// Set while sessions are being read.
    pub(super) is_loading: bool,
    /// Set while messages are being searched.
    pub(super) is_searching: bool,
    /// Number of places that could not be read.
    pub(super) problems: usize,
    pub(super) cursor: usize,
    pub(super) top: usize,
    pub(super) height: usize,
    /// Lines by which the preview is scrolled up from its end; `most_scroll` is the maximum.
    pub(super) scroll: usize,
    /// Set if the user scrolled the preview; until then it shows the match, or its end.
    pub(super) is_scrolled: bool,
    pub(super) most_scroll: usize,
    /// The layout of the screen, which maps places of the mouse.
    pub(super) layout: ScreenLayout,
    /// The session of the last click, until a key is pressed.
    pub(super) clicked: Option<ItemKey>,
}

impl PickerState {
    /// Creates the state with these words typed; `time` parses an age or a date.
    pub(super) fn new(purpose: Purpose, words: &str, time: Time) -> Self {
        let mut state = Self {
            purpose,
            edit: TextInput::new(words),
            time: Some(time),
            is_loading: true,
            height: 1,
            ..Self::default()
        };
        state.type_anew();
        state
    }

    /// Replaces the sessions, the newest activity first; the cursor stays on its session, or at the top.
    pub(super) fn set_items(&mut self, items: Vec<PickerItem>) {
        let here = self.key().filter(|_| self.cursor > 0);
        self.items = items;
        self.match_again(here.as_ref());
        if !self.is_loading {
            let known: BTreeSet<&ItemKey> = self.items.iter().map(|item| &item.key).collect();
            self.marked.retain(|key| known.contains(key));
        }
    }

    /// Drops sessions that were removed.
    pub(super) fn remove(&mut self, gone: &[ItemKey]) {
        let at = self.cursor;
        self.marked.retain(|key| !gone.contains(key));
        let mut items = std::mem::take(&mut self.items);
        items.retain(|item| !gone.contains(&item.key));
        self.items = items;
        self.match_again(None);
        self.cursor = at;
        self.fit(self.height);
    }

    /// Notes that sessions were pinned or unpinned.
    pub(super) fn set_pinned(&mut self, keys: &[ItemKey], is_pinned: bool) {
        for item in self.items.iter_mut().filter(|item| keys.contains(&item.key)) {
            item.marks.retain(|mark| mark.word != PINNED);
            if is_pinned {
                item.marks.push(super::item::ItemMark { word: PINNED.to_owned(), is_in_the_way: false });
            }
            let words: Vec<String> = item.marks.iter().map(|mark| mark.word.clone()).collect();
            item.subject.set_marks(&words);
        }
    }

    /// Adds messages that have the typed words. If the user has not moved the cursor, it stays at the top.
    pub(super) fn add_said(&mut self, found_messages: Vec<(ItemKey, BestMessage)>) {
        let here = self.key().filter(|_| self.cursor > 0);
        self.found_messages.extend(found_messages);
        self.match_again(here.as_ref());
    }

    /// Replaces the partial results of a search with the complete result.
    pub(super) fn set_searched(&mut self, searched: Searched) {
        self.found_messages.clear();
        self.excluded = searched.excluded.into_iter().collect();
        self.no_match = searched.no_match;
        self.is_searching = false;
        self.add_said(searched.found_messages);
    }

    /// Offers the possible actions for a session that is not resumed.
    pub(super) fn offer(&mut self, key: ItemKey, refused: RefusedResume) {
        // Select the first action that the picker can run; a stuck session is better not resumed as it is.
        let is_selected = |ready: &Ready| ready.how.as_ref().is_some_and(|how| !how.stuck);
        let cursor = refused.ready.iter().position(is_selected).unwrap_or(0);
        self.mode = Mode::Ways { key, refused, cursor, is_offer: false };
    }

    /// Offers agents that can be started in place of the session's own.
    pub(super) fn offer_agents(&mut self, key: ItemKey, ready: Vec<Ready>) {
        let refused = RefusedResume { why: format!("Continue {} session {} with another agent", key.0, key.1), ready };
        self.mode = Mode::Ways { key, refused, cursor: 0, is_offer: true };
    }

    pub(super) fn type_anew(&mut self) {
        let query = Query::parse(self.edit.text(), |text| {
            self.time.as_ref().map_or_else(|| Err(String::new()), |time| time(text))
        });
        self.query = query.while_typing();
        self.found_messages.clear();
        self.excluded.clear();
        self.no_match = None;
        self.is_searching = false;
        (self.cursor, self.top, self.is_scrolled) = (0, 0, false);
        self.match_again(None);
    }

    pub(super) fn said_in(&self, key: &ItemKey) -> Option<&BestMessage> {
        self.found_messages.get(key)
    }

    /// Returns the best message of the highlighted session, if it matches better than the title.
    pub(super) fn only_said(&self) -> Option<&BestMessage> {
        let one = self.matches.get(self.cursor).filter(|one| one.is_said)?;
        self.found_messages.get(&self.items[one.item].key)
    }

    /// Returns the number of sessions in which a message matches better than the title.
    pub(super) fn said_count(&self) -> usize {
        self.matches.iter().filter(|one| one.is_said).count()
    }

    /// Returns the positions of the characters in a shown text that match the typed text.
    pub(super) fn places(&mut self, text: &str) -> Vec<usize> {
        self.matching.places(&self.query, text)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::item::tests::items;
    use super::super::keys::PickerKey as Pressed;
    use super::super::press::KeyResult;
    use super::*;
    use crate::session::{AgentKind, Role};

    const RESUME: Purpose = Purpose { verb: "resume", takes_several: false, is_checked: true };

    /// A list of these titles and directories, completely read.
    pub(in crate::view::pick) fn listed(list: &[(&str, &str)]) -> PickerState {
        let mut state =
            PickerState::new(RESUME, "", Box::new(|text| text.parse().map_err(|error: jiff::Error| error.to_string())));
        state.is_loading = false;
        state.set_items(items(list));
        state
    }

    pub(in crate::view::pick) fn many(count: usize) -> PickerState {
        listed(&vec![("t", "/d"); count])
    }

    pub(in crate::view::pick) fn typed(state: &mut PickerState, text: &str) {
        text.chars().for_each(|c| assert_eq!(state.press(Pressed::Char(c)), KeyResult::Stay));
    }

    pub(in crate::view::pick) fn ids(state: &PickerState) -> Vec<String> {
        let id = |row: &ListRow| match row {
            ListRow::Session(at) => {
                let here = if state.is_here(*at) { ">" } else { "" };
                format!("{here}{}", &state.items[state.matches[*at].item].key.1[..4])
            }
            ListRow::Group(dir, count) => format!("{dir} {count}"),
            ListRow::Said(_) => "said".to_owned(),
        };
        state.window().iter().map(id).collect()
    }

    pub(in crate::view::pick) fn best_message(text: &str) -> BestMessage {
        let hit = Hit {
            number: 1,
            role: Role::User,
            at: None,
            before: "so ".into(),
            found: text.into(),
            after: " it".into(),
            has_lines: false,
            branch: None,
        };
        BestMessage { hit, messages: 3, quality: Quality::Whole, score: 0.0 }
    }

    #[test]
    fn reload_keeps_cursor_and_marks() {
        let mut state = many(3);
        state.fit(9);
        state.press(Pressed::Mark);
        let mut more = items(&[("t", "/d"); 4]);
        more.rotate_right(1);
        state.set_items(more);
        assert_eq!(
            (ids(&state), state.marked_count()),
            (["0003", "0000", ">0001", "0002"].map(str::to_owned).into(), 1)
        );
        state.remove(&[(AgentKind::Claude, "0000-aaaa".to_owned())]);
        assert_eq!((ids(&state), state.marked_count()), (["0003", "0001", ">0002"].map(str::to_owned).into(), 0));
    }
}
