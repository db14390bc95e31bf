//! What the picker shows and what keys do to it, without a terminal, a disk or a clock.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::backend::{Purpose, Ready, Refused};
use super::edit::Edit;
use super::item::{Item, Key, PINNED};
use super::keys::Key as Pressed;
use crate::scan::search::Hit;
use crate::session::matching::{Matching, Query, Rank};

/// What the list is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// Newest activity first; with words, what matches them loosely comes after what has them.
    #[default]
    Activity,
    /// Largest first.
    Size,
    /// By launch directory.
    Directory,
}

/// What is on the screen beside what is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The list.
    #[default]
    List,
    /// Every key, from this line on.
    Help(usize),
    /// The question whether these are deleted, which takes so many bytes.
    Sure { items: Vec<usize>, bytes: u64 },
    /// Why the session is not resumed, and what can be done; the cursor stands on one of that.
    Ways { key: Key, refused: Refused, cursor: usize },
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Leave,
    Redraw,
    /// Enter: these are meant.
    Take(Vec<usize>),
    /// One of the ready commands.
    Choose(Key, Ready),
    /// The command of this one is to be copied.
    CopyCommand(usize),
    /// This text is to be copied.
    CopyText(String),
    /// This one is to be shown whole.
    Open(Key),
    /// These are to be deleted, after a question.
    AskToRemove(Vec<usize>),
    /// The question was answered with yes.
    Remove,
    /// These are to be pinned, or let go.
    Pin(Vec<usize>, bool),
}

/// A session in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) item: usize,
    /// How it matches; `None` if only what was said in it does.
    pub(super) rank: Option<Rank>,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// The directory that the sessions below were launched in, and how many they are.
    Group(String, usize),
    /// A session, by its place among those that match.
    Session(usize),
    /// What was said in the session above.
    Said(usize),
}

/// What was said in a session that has the words: the first message that has them, and how many do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) hit: Hit,
    pub(super) messages: u64,
}

/// Reads an age or a date.
pub(super) type Time = Box<dyn Fn(&str) -> Option<Timestamp>>;

/// The list, what was typed, and where the cursor stands.
pub(super) struct State {
    pub(super) purpose: Purpose,
    pub(super) items: Vec<Item>,
    pub(super) edit: Edit,
    pub(super) query: Query,
    time: Time,
    pub(super) matching: Matching,
    pub(super) matches: Vec<Match>,
    pub(super) rows: Vec<Row>,
    pub(super) said: HashMap<Key, Said>,
    marked: BTreeSet<Key>,
    pub(super) order: Order,
    pub(super) is_grouped: bool,
    pub(super) mode: Mode,
    /// What was said last to the person; the next key takes it away.
    pub(super) note: Option<String>,
    /// What goes on in the background and must end before something else begins.
    pub(super) busy: Option<&'static str>,
    /// Whether sessions are still being read.
    pub(super) is_loading: bool,
    /// Whether messages are being searched.
    pub(super) is_searching: bool,
    /// How many places could not be read.
    pub(super) problems: usize,
    pub(super) cursor: usize,
    pub(super) top: usize,
    pub(super) height: usize,
    /// How far the preview is scrolled up from its end, and how far it can be.
    pub(super) scroll: usize,
    /// Whether a person scrolled it; until then it stands at what was found, or at its end.
    pub(super) is_scrolled: bool,
    pub(super) most_scroll: usize,
}

impl State {
    /// Begins with these words typed; `time` reads an age or a date.
    pub(super) fn new(purpose: Purpose, words: &str, time: Time) -> Self {
        let mut state = Self {
            purpose,
            items: Vec::new(),
            edit: Edit::new(words),
            query: Query::default(),
            time,
            matching: Matching::default(),
            matches: Vec::new(),
            rows: Vec::new(),
            said: HashMap::new(),
            marked: BTreeSet::new(),
            order: Order::default(),
            is_grouped: false,
            mode: Mode::default(),
            note: None,
            busy: None,
            is_loading: true,
            is_searching: false,
            problems: 0,
            cursor: 0,
            top: 0,
            height: 1,
            scroll: 0,
            is_scrolled: false,
            most_scroll: 0,
        };
        state.type_anew();
        state
    }

    /// Takes other sessions, the newest activity first; the cursor stays where it is, or at the top.
    pub(super) fn set_items(&mut self, items: Vec<Item>) {
        let here = self.key().filter(|_| self.cursor > 0);
        self.items = items;
        self.match_again(here.as_ref());
        if !self.is_loading {
            let known: BTreeSet<&Key> = self.items.iter().map(|item| &item.key).collect();
            self.marked.retain(|key| known.contains(key));
        }
    }

    /// Forgets sessions that are gone.
    pub(super) fn remove(&mut self, gone: &[Key]) {
        let at = self.cursor;
        self.marked.retain(|key| !gone.contains(key));
        let mut items = std::mem::take(&mut self.items);
        items.retain(|item| !gone.contains(&item.key));
        self.items = items;
        self.match_again(None);
        self.cursor = at;
        self.fit(self.height);
    }

    /// Notes that sessions are pinned, or not any more.
    pub(super) fn set_pinned(&mut self, keys: &[Key], is_pinned: bool) {
        for item in self.items.iter_mut().filter(|item| keys.contains(&item.key)) {
            item.marks.retain(|mark| mark.word != PINNED);
            if is_pinned {
                item.marks.push(super::item::Mark { word: PINNED.to_owned(), is_in_the_way: false });
            }
        }
    }

    /// Adds what was said in sessions that has the words that are typed.
    pub(super) fn add_said(&mut self, said: Vec<(Key, Said)>) {
        let here = self.key();
        self.said.extend(said);
        self.match_again(here.as_ref());
    }

    /// Offers what can be done with a session that is not resumed.
    pub(super) fn offer(&mut self, key: Key, refused: Refused) {
        self.mode = Mode::Ways { key, refused, cursor: 0 };
    }

    fn type_anew(&mut self) {
        self.query = Query::parse(self.edit.text(), &self.time);
        self.said.clear();
        self.is_searching = false;
        (self.cursor, self.top, self.is_scrolled) = (0, 0, false);
        self.match_again(None);
    }

    /// Carries out the action of a key.
    pub(super) fn press(&mut self, key: Pressed) -> Step {
        self.note = None;
        if key == Pressed::Redraw {
            return Step::Redraw;
        }
        match &mut self.mode {
            Mode::List => self.press_in_list(key),
            Mode::Help(top) => {
                match key {
                    Pressed::Up => *top = top.saturating_sub(1),
                    Pressed::Down => *top += 1,
                    Pressed::PageUp => *top = top.saturating_sub(10),
                    Pressed::PageDown => *top += 10,
                    Pressed::Interrupt => return Step::Leave,
                    Pressed::Escape | Pressed::Help | Pressed::Char('?' | 'q') => self.mode = Mode::List,
                    _ => {}
                }
                Step::Stay
            }
            Mode::Sure { .. } => match key {
                Pressed::Char('y' | 'Y') => {
                    self.mode = Mode::List;
                    Step::Remove
                }
                Pressed::Interrupt => Step::Leave,
                Pressed::Enter | Pressed::Escape | Pressed::Char(_) => {
                    self.mode = Mode::List;
                    self.note = Some("Nothing was deleted.".to_owned());
                    Step::Stay
                }
                _ => Step::Stay,
            },
            Mode::Ways { key: whose, refused, cursor } => {
                let last = refused.ready.len().saturating_sub(1);
                match key {
                    Pressed::Up => *cursor = cursor.saturating_sub(1),
                    Pressed::Down => *cursor = (*cursor + 1).min(last),
                    Pressed::Interrupt => return Step::Leave,
                    Pressed::Escape => self.mode = Mode::List,
                    Pressed::Copy => {
                        return refused.ready.get(*cursor).map_or(Step::Stay, |way| Step::CopyText(way.line.clone()));
                    }
                    Pressed::Enter => {
                        let Some(way) = refused.ready.get(*cursor).cloned() else { return Step::Stay };
                        return match way.how {
                            Some(_) => Step::Choose(whose.clone(), way),
                            None => Step::Open(whose.clone()),
                        };
                    }
                    _ => {}
                }
                Step::Stay
            }
        }
    }

    fn press_in_list(&mut self, key: Pressed) -> Step {
        let page = self.height.max(1);
        let typed = self.edit.text().to_owned();
        match key {
            Pressed::Char('?') | Pressed::Help => self.mode = Mode::Help(0),
            Pressed::Char(c) => self.edit.insert(c.encode_utf8(&mut [0; 4])),
            Pressed::Pasted(text) => self.edit.insert(&text),
            Pressed::Left => self.edit.left(),
            Pressed::Right => self.edit.right(),
            Pressed::Start => self.edit.start(),
            Pressed::End => self.edit.end(),
            Pressed::Erase => self.edit.erase(),
            Pressed::Delete => self.edit.delete(),
            Pressed::EraseWord => self.edit.erase_word(),
            Pressed::EraseBefore => self.edit.erase_before(),
            Pressed::Up => self.go(self.cursor.saturating_sub(1)),
            Pressed::Down => self.go(self.cursor + 1),
            Pressed::PageUp => self.go(self.cursor.saturating_sub(page)),
            Pressed::PageDown => self.go(self.cursor + page),
            Pressed::First => self.go(0),
            Pressed::Last => self.go(self.matches.len()),
            Pressed::PreviewUp => self.scroll_to((self.scroll + 3).min(self.most_scroll)),
            Pressed::PreviewDown => self.scroll_to(self.scroll.saturating_sub(3)),
            Pressed::Mark | Pressed::MarkBack => {
                if let Some(key) = self.key()
                    && !self.marked.remove(&key)
                {
                    self.marked.insert(key);
                }
                self.go(if key == Pressed::Mark { self.cursor + 1 } else { self.cursor.saturating_sub(1) });
            }
            Pressed::Sort => {
                self.order = match self.order {
                    Order::Activity => Order::Size,
                    Order::Size => Order::Directory,
                    Order::Directory => Order::Activity,
                };
                self.arrange();
            }
            Pressed::Group => {
                self.is_grouped = !self.is_grouped;
                self.arrange();
            }
            Pressed::Escape | Pressed::Interrupt => return Step::Leave,
            Pressed::Redraw => return Step::Redraw,
            Pressed::Enter | Pressed::Copy | Pressed::Open | Pressed::Remove | Pressed::Pin => return self.act(&key),
        }
        if self.edit.text() != typed {
            self.type_anew();
        }
        Step::Stay
    }

    fn scroll_to(&mut self, scroll: usize) {
        (self.scroll, self.is_scrolled) = (scroll, true);
    }

    /// Returns what an action is about: the marked sessions, or else the highlighted one.
    fn act(&mut self, key: &Pressed) -> Step {
        let Some(here) = self.highlighted() else { return Step::Stay };
        if let Some(busy) = self.busy {
            self.note = Some(format!("{busy} goes on; try again in a moment."));
            return Step::Stay;
        }
        let marked: Vec<usize> =
            (0..self.items.len()).filter(|at| self.marked.contains(&self.items[*at].key)).collect();
        let meant = if marked.is_empty() { vec![here] } else { marked };
        match key {
            Pressed::Enter if self.purpose.takes_several => Step::Take(meant),
            Pressed::Enter => Step::Take(vec![here]),
            Pressed::Copy if meant.len() > 1 => {
                let names = meant.iter().map(|at| format!("{}:{}", self.items[*at].key.0, self.items[*at].key.1));
                let names: Option<Vec<String>> = names
                    .map(|name| crate::format::shell::printable_word(name.as_ref()).map(|word| word.to_string()))
                    .collect();
                names.map_or(Step::Stay, |names| Step::CopyText(names.join(" ")))
            }
            Pressed::Copy => Step::CopyCommand(meant[0]),
            Pressed::Open => Step::Open(self.items[here].key.clone()),
            Pressed::Remove => Step::AskToRemove(meant),
            Pressed::Pin => {
                let is_pinned = |at: &usize| self.items[*at].marks.iter().any(|mark| mark.word == PINNED);
                let is_wanted = !meant.iter().all(is_pinned);
                Step::Pin(meant, is_wanted)
            }
            _ => Step::Stay,
        }
    }

    /// Returns the number of the item that the cursor stands on, among all that there are.
    pub(super) fn highlighted(&self) -> Option<usize> {
        self.matches.get(self.cursor).map(|one| one.item)
    }

    /// Returns what the cursor stands on.
    pub(super) fn key(&self) -> Option<Key> {
        self.highlighted().map(|at| self.items[at].key.clone())
    }

    pub(super) fn is_marked(&self, item: &Item) -> bool {
        self.marked.contains(&item.key)
    }

    pub(super) fn marked_count(&self) -> usize {
        self.marked.len()
    }

    pub(super) fn said_in(&self, key: &Key) -> Option<&Said> {
        self.said.get(key)
    }

    /// Returns what was said in the highlighted session, if nothing else in it has the words.
    pub(super) fn only_said(&self) -> Option<&Said> {
        let one = self.matches.get(self.cursor).filter(|one| one.rank.is_none())?;
        self.said.get(&self.items[one.item].key)
    }

    /// Returns how many sessions were found only by what was said in them.
    pub(super) fn said_count(&self) -> usize {
        self.matches.iter().filter(|one| one.rank.is_none()).count()
    }

    /// Returns the places of the characters of a shown text that match what was typed.
    pub(super) fn places(&mut self, text: &str) -> Vec<usize> {
        self.matching.places(&self.query, text)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::backend::How;
    use super::super::item::tests::items;
    use super::super::keys::Keys;
    use super::*;
    use crate::session::{AgentKind, Role};

    const RESUME: Purpose = Purpose { verb: "resume", takes_several: false, is_checked: true };

    /// A list of these titles and directories, all of it read.
    pub(in crate::view::pick) fn listed(list: &[(&str, &str)]) -> State {
        let mut state = State::new(RESUME, "", Box::new(|text| text.parse().ok()));
        state.is_loading = false;
        state.set_items(items(list));
        state
    }

    fn many(count: usize) -> State {
        listed(&vec![("t", "/d"); count])
    }

    pub(in crate::view::pick) fn typed(state: &mut State, text: &str) {
        text.chars().for_each(|c| assert_eq!(state.press(Pressed::Char(c)), Step::Stay));
    }

    fn ids(state: &State) -> Vec<String> {
        let id = |row: &Row| match row {
            Row::Session(at) => {
                let here = if state.is_here(*at) { ">" } else { "" };
                format!("{here}{}", &state.items[state.matches[*at].item].key.1[..4])
            }
            Row::Group(dir, count) => format!("{dir} {count}"),
            Row::Said(_) => "said".to_owned(),
        };
        state.window().iter().map(id).collect()
    }

    pub(in crate::view::pick) fn said(text: &str) -> Said {
        let hit = Hit {
            number: 1,
            role: Role::User,
            at: None,
            before: "so ".into(),
            found: text.into(),
            after: " it".into(),
            has_lines: false,
        };
        Said { hit, messages: 3 }
    }

    #[test]
    fn the_window_follows_the_cursor() {
        let mut state = many(5);
        state.fit(2);
        for (key, expected) in [
            (Pressed::Up, [">0000", "0001"]),
            (Pressed::Down, ["0000", ">0001"]),
            (Pressed::Down, ["0001", ">0002"]),
            (Pressed::Up, [">0001", "0002"]),
            (Pressed::PageDown, ["0002", ">0003"]),
            (Pressed::PageDown, ["0003", ">0004"]),
            (Pressed::Down, ["0003", ">0004"]),
            (Pressed::First, [">0000", "0001"]),
            (Pressed::Last, ["0003", ">0004"]),
            (Pressed::PageUp, [">0002", "0003"]),
        ] {
            assert_eq!(state.press(key.clone()), Step::Stay);
            assert_eq!(ids(&state), expected, "{key:?}");
        }
        state.press(Pressed::Last);
        state.fit(4);
        assert_eq!(ids(&state), ["0001", "0002", "0003", ">0004"]);
        state.fit(0);
        assert_eq!((ids(&state), state.highlighted()), (vec![], Some(4)));
    }

    #[test]
    fn what_has_the_words_comes_before_what_has_their_letters_and_before_what_was_only_said() {
        let mut state = listed(&[("Fix the pages of the user", "/a"), ("Other", "/b"), ("Fix the parser", "/c")]);
        state.fit(9);
        typed(&mut state, "parse");
        assert_eq!(ids(&state), [">0002"]);
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), said("parse"))]);
        assert_eq!((ids(&state), state.said_count()), (vec![">0002".to_owned(), "0001".into(), "said".into()], 1));
        typed(&mut state, "r");
        assert_eq!((ids(&state), state.said_count()), (vec![">0002".to_owned()], 0), "what was said is searched anew");
    }

    #[test]
    fn an_order_and_groups_keep_the_cursor_on_its_session() {
        let mut state = listed(&[("a", "/z"), ("b", "/y"), ("c", "/z")]);
        state.items[2].size = Some(9);
        state.fit(9);
        state.press(Pressed::Down);
        for (key, expected) in [
            (Pressed::Sort, vec!["0002", "0000", ">0001"]),
            (Pressed::Sort, vec![">0001", "0000", "0002"]),
            (Pressed::Sort, vec!["0000", ">0001", "0002"]),
            (Pressed::Group, vec!["/z 2", "0000", "0002", "/y 1", ">0001"]),
        ] {
            state.press(key);
            assert_eq!(ids(&state), expected);
        }
        state.fit(2);
        assert_eq!(ids(&state), ["/y 1", ">0001"], "the head of its group is shown with it");
        state.fit(1);
        assert_eq!(ids(&state), [">0001"]);
    }

    #[test]
    fn a_list_that_is_read_anew_keeps_the_cursor_and_the_marks() {
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

    #[test]
    fn an_action_is_about_what_is_marked_or_else_highlighted() {
        let mut state = many(3);
        state.fit(3);
        assert_eq!(state.press(Pressed::Enter), Step::Take(vec![0]));
        assert_eq!(state.press(Pressed::Copy), Step::CopyCommand(0));
        assert_eq!(state.press(Pressed::Remove), Step::AskToRemove(vec![0]));
        assert_eq!(state.press(Pressed::Pin), Step::Pin(vec![0], true));
        state.set_pinned(&[state.items[0].key.clone()], true);
        assert_eq!(state.press(Pressed::Pin), Step::Pin(vec![0], false));
        state.press(Pressed::Mark);
        state.press(Pressed::Mark);
        assert_eq!(state.press(Pressed::Enter), Step::Take(vec![2]), "only one can be resumed");
        assert_eq!(state.press(Pressed::Remove), Step::AskToRemove(vec![0, 1]));
        assert_eq!(state.press(Pressed::Pin), Step::Pin(vec![0, 1], true));
        assert_eq!(state.press(Pressed::Copy), Step::CopyText("claude:0000-aaaa claude:0001-aaaa".to_owned()));
        state.busy = Some("Deleting");
        assert_eq!(state.press(Pressed::Remove), Step::Stay, "one thing after the other");
        typed(&mut state, "nothing matches");
        state.busy = None;
        assert_eq!(state.press(Pressed::Enter), Step::Stay);
        assert_eq!(state.press(Pressed::Escape), Step::Leave);
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for key in [Pressed::Enter, Pressed::Char('n'), Pressed::Char('x'), Pressed::Escape] {
            let mut state = many(1);
            state.mode = Mode::Sure { items: vec![0], bytes: 1 };
            assert_eq!((state.press(key), &state.mode), (Step::Stay, &Mode::List));
        }
        for (key, expected) in [
            (Pressed::Char('y'), Step::Remove),
            (Pressed::Pasted("y".to_owned()), Step::Stay),
            (Pressed::Down, Step::Stay),
        ] {
            let mut state = many(1);
            state.mode = Mode::Sure { items: vec![0], bytes: 1 };
            assert_eq!(state.press(key), expected);
        }
    }

    #[test]
    fn what_can_be_done_is_chosen_and_the_list_is_there_again_after() {
        let mut state = many(2);
        let key = state.items[0].key.clone();
        let way = |line: &str, how| Ready { line: line.to_owned(), why: "why".to_owned(), how };
        let ready = vec![way("a", Some(How::default())), way("b", None)];
        typed(&mut state, "t");
        state.offer(key.clone(), Refused { why: "it is gone".to_owned(), ready: ready.clone() });
        assert_eq!(state.press(Pressed::Copy), Step::CopyText("a".to_owned()));
        assert_eq!(state.press(Pressed::Enter), Step::Choose(key.clone(), ready[0].clone()));
        state.press(Pressed::Down);
        state.press(Pressed::Down);
        assert_eq!(state.press(Pressed::Enter), Step::Open(key));
        assert_eq!(state.press(Pressed::Char('x')), Step::Stay);
        assert_eq!(state.press(Pressed::Escape), Step::Stay);
        assert_eq!((&state.mode, state.edit.text()), (&Mode::List, "t"));
    }

    proptest! {
        #[test]
        fn nothing_is_done_by_a_key_that_is_not_in_the_footer(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            // Enter, ^Y, ^X, ^T, ^O, and what leaves.
            const KEYS: [u8; 8] = [b'\r', 0x19, 0x18, 0x14, 0x0f, 0x03, 0x1b, 0x9b];
            let mut keys = Keys::default();
            keys.push(&bytes.into_iter().filter(|byte| !KEYS.contains(byte)).collect::<Vec<_>>());
            let mut state = many(3);
            state.fit(2);
            for key in keys {
                let step = state.press(key.clone());
                prop_assert!(matches!(step, Step::Stay | Step::Redraw), "{key:?}: {step:?}");
            }
        }

        #[test]
        fn nothing_is_done_by_what_is_pasted(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assume!(!bytes.windows(6).any(|part| part == b"\x1b[201~"));
            let mut keys = Keys::default();
            keys.push(&[b"\x1b[200~".as_slice(), &bytes, b"\x1b[201~"].concat());
            let mut state = many(3);
            let steps: Vec<Step> = keys.map(|key| state.press(key)).collect();
            prop_assert_eq!(steps, [Step::Stay]);
        }
    }
}
