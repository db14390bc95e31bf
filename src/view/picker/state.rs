//! What the picker shows and what keys do to it, without a terminal.

use unicode_width::UnicodeWidthStr as _;

use crate::format::text;
use crate::session::Session;
use crate::system::env::Env;
use crate::view::picker::keys::Key;
use crate::view::render::table;

/// How much of a first prompt is searched.
const SEARCHED_PROMPT: usize = 2000;
/// More than this nobody types to find a session.
const MAX_QUERY: usize = 200;

/// One session as a line to pick; every text is harmless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) agent: String,
    pub(super) id: String,
    pub(super) title: String,
    pub(super) dir: String,
    pub(super) active: String,
    searched: String,
}

impl Item {
    pub(super) fn of(session: &Session, env: &Env) -> Self {
        let dir = session.launch_dir().map_or_else(|| "?".to_owned(), |dir| env.tilde(dir));
        let prompt = session.copy().first_prompt.as_ref().map(|prompt| prompt.value.as_str()).unwrap_or_default();
        let prompt: String = prompt.chars().take(SEARCHED_PROMPT).collect();
        Self {
            searched: format!(
                "{prompt}\n{}",
                session.launch_dir().map(|dir| dir.to_string_lossy()).unwrap_or_default()
            ),
            agent: session.agent.name().to_owned(),
            id: text::one_line(&session.id).into_owned(),
            title: table::title(session),
            dir: text::one_line(&dir).into_owned(),
            active: table::active(session, env),
        }
        .searchable()
    }

    /// Gathers what is searched, in small letters.
    fn searchable(mut self) -> Self {
        let parts = [&self.agent, &self.id, &self.title, &self.dir, &self.searched];
        self.searched = parts.map(|part| part.to_lowercase()).join("\n");
        self
    }
}

/// What a key led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    GoOn,
    Take(usize),
    Leave,
}

/// The widths that the columns need for every item, so that they stand still when the list moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) agent: usize,
    pub(super) dir: usize,
    pub(super) active: usize,
}

/// The list, what was typed, and where the cursor stands.
#[derive(Clone, Debug)]
pub(super) struct State {
    items: Vec<Item>,
    pub(super) query: String,
    pub(super) widths: Widths,
    matches: Vec<usize>,
    cursor: usize,
    top: usize,
    height: usize,
}

impl State {
    pub(super) fn new(items: Vec<Item>) -> Self {
        let widest = |of: fn(&Item) -> &str| items.iter().map(|item| of(item).width()).max().unwrap_or_default();
        let widths = Widths {
            agent: widest(|item| &item.agent),
            dir: widest(|item| &item.dir),
            active: widest(|item| &item.active),
        };
        let matches = (0..items.len()).collect();
        Self { items, query: String::new(), widths, matches, cursor: 0, top: 0, height: 1 }
    }

    /// Does what a key stands for.
    pub(super) fn press(&mut self, key: Key) -> Step {
        let page = self.height.max(1);
        match key {
            Key::Char(c) => self.edit(|query| {
                if query.chars().count() < MAX_QUERY {
                    query.push(c)
                }
            }),
            Key::Erase => self.edit(|query| {
                query.pop();
            }),
            Key::EraseAll => self.edit(String::clear),
            Key::EraseWord => self.edit(|query| {
                let kept = query.trim_end().rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
                query.truncate(kept);
            }),
            Key::Up => self.cursor = self.cursor.saturating_sub(1),
            Key::Down => self.cursor += 1,
            Key::PageUp => self.cursor = self.cursor.saturating_sub(page),
            Key::PageDown => self.cursor += page,
            Key::First => self.cursor = 0,
            Key::Last => self.cursor = self.matches.len(),
            Key::Take => return self.highlighted().map_or(Step::GoOn, Step::Take),
            Key::Leave => return Step::Leave,
        }
        self.fit(self.height);
        Step::GoOn
    }

    fn edit(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.query);
        let query = self.query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let is_match = |at: &usize| words.iter().all(|word| self.items[*at].searched.contains(word));
        self.matches = (0..self.items.len()).filter(is_match).collect();
        (self.cursor, self.top) = (0, 0);
    }

    /// Fits the window to a height, so that the cursor is in it.
    pub(super) fn fit(&mut self, height: usize) {
        self.height = height;
        self.cursor = self.cursor.min(self.matches.len().saturating_sub(1));
        let height = height.max(1);
        let last_top = self.matches.len().saturating_sub(height);
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(height), self.cursor).min(last_top);
    }

    /// Returns the items in the window, each with whether the cursor stands on it.
    pub(super) fn window(&self) -> impl Iterator<Item = (&Item, bool)> {
        let end = (self.top + self.height).min(self.matches.len());
        let shown = self.matches[self.top..end].iter().enumerate();
        shown.map(|(row, at)| (&self.items[*at], self.top + row == self.cursor))
    }

    /// Returns the number of the item that the cursor stands on, among all that there are.
    pub(super) fn highlighted(&self) -> Option<usize> {
        self.matches.get(self.cursor).copied()
    }

    /// Returns the item that the cursor stands on.
    pub(super) fn item(&self) -> Option<&Item> {
        self.highlighted().map(|at| &self.items[at])
    }

    /// Returns how many items match, and how many there are.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.matches.len(), self.items.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Items of these agents, titles and directories, with ids that count up.
    pub(in crate::view::picker) fn items(list: &[(&str, &str, &str)]) -> Vec<Item> {
        let item = |(at, (agent, title, dir)): (usize, &(&str, &str, &str))| Item {
            agent: (*agent).to_owned(),
            id: format!("{at:04}-aaaa"),
            title: (*title).to_owned(),
            dir: (*dir).to_owned(),
            active: "yesterday".to_owned(),
            searched: String::new(),
        };
        list.iter().enumerate().map(item).map(Item::searchable).collect()
    }

    fn many(count: usize) -> State {
        State::new(items(&vec![("claude", "t", "/d"); count]))
    }

    fn typed(state: &mut State, text: &str) {
        text.chars().for_each(|c| assert_eq!(state.press(Key::Char(c)), Step::GoOn));
    }

    fn shown(state: &State) -> Vec<String> {
        state.window().map(|(item, here)| format!("{}{}", if here { ">" } else { "" }, item.id)).collect()
    }

    #[test]
    fn every_word_must_be_found_somewhere_in_either_case() {
        let list = [
            ("claude", "Fix the Parser", "/home/ana/app"),
            ("amplifier", "fix the docs", "/home/ana/app"),
            ("claude", "ÄRGER", "/srv/parser"),
        ];
        for (query, expected) in [
            ("", vec![0, 1, 2]),
            ("fix", vec![0, 1]),
            ("PARSER", vec![0, 2]),
            ("app claude", vec![0]),
            ("  fix   app ", vec![0, 1]),
            ("ärger", vec![2]),
            ("0001-a", vec![1]),
            ("fixthe", vec![]),
            ("nothing", vec![]),
        ] {
            let mut state = State::new(items(&list));
            typed(&mut state, query);
            assert_eq!(state.matches, expected, "{query}");
        }
    }

    #[test]
    fn a_first_prompt_is_searched_though_the_title_is_shown() {
        let mut session = crate::session::tests::session(vec![crate::session::tests::copy("a")]);
        session.copies[0].title = Some(crate::session::Fact::new("Title".into(), "t"));
        session.copies[0].first_prompt = Some(crate::session::Fact::new("Where is \x1b[2J it?".into(), "t"));
        let mut state = State::new(vec![Item::of(&session, &crate::system::env::tests::fixed())]);
        typed(&mut state, "where");
        assert_eq!(state.item().map(|item| item.title.as_str()), Some("Title"));
    }

    #[test]
    fn the_window_follows_the_cursor() {
        let mut state = many(5);
        state.fit(2);
        for (key, expected) in [
            (Key::Up, [">0000-aaaa", "0001-aaaa"]),
            (Key::Down, ["0000-aaaa", ">0001-aaaa"]),
            (Key::Down, ["0001-aaaa", ">0002-aaaa"]),
            (Key::Up, [">0001-aaaa", "0002-aaaa"]),
            (Key::PageDown, ["0002-aaaa", ">0003-aaaa"]),
            (Key::PageDown, ["0003-aaaa", ">0004-aaaa"]),
            (Key::Down, ["0003-aaaa", ">0004-aaaa"]),
            (Key::First, [">0000-aaaa", "0001-aaaa"]),
            (Key::Last, ["0003-aaaa", ">0004-aaaa"]),
            (Key::PageUp, [">0002-aaaa", "0003-aaaa"]),
        ] {
            assert_eq!(state.press(key), Step::GoOn);
            assert_eq!(shown(&state), expected, "{key:?}");
        }
    }

    #[test]
    fn a_window_that_grows_shows_as_much_as_there_is() {
        let mut state = many(5);
        state.fit(2);
        state.press(Key::Last);
        state.fit(4);
        assert_eq!(shown(&state), ["0001-aaaa", "0002-aaaa", "0003-aaaa", ">0004-aaaa"]);
        state.fit(100);
        assert_eq!(shown(&state).len(), 5);
        state.fit(0);
        assert_eq!(shown(&state), Vec::<String>::new());
        assert_eq!(state.highlighted(), Some(4));
    }

    #[test]
    fn typing_starts_again_at_the_top_and_is_taken_back_word_by_word() {
        let mut state = many(3);
        state.fit(3);
        state.press(Key::Last);
        typed(&mut state, "claude 0001");
        assert_eq!(shown(&state), [">0001-aaaa"]);
        for (key, query, count) in [
            (Key::Erase, "claude 000", 3),
            (Key::EraseWord, "claude ", 3),
            (Key::EraseWord, "", 3),
            (Key::Erase, "", 3),
        ] {
            state.press(key);
            assert_eq!((state.query.as_str(), state.counts()), (query, (count, 3)), "{key:?}");
        }
        typed(&mut state, "x y");
        state.press(Key::EraseAll);
        assert_eq!(state.query, "");
    }

    #[test]
    fn what_is_taken_is_what_the_cursor_stands_on() {
        let mut state = many(3);
        state.fit(3);
        state.press(Key::Down);
        assert_eq!(state.press(Key::Take), Step::Take(1));
        typed(&mut state, "0002");
        assert_eq!(state.press(Key::Take), Step::Take(2));
        typed(&mut state, "x");
        assert_eq!(state.press(Key::Take), Step::GoOn, "nothing matches");
        assert_eq!(state.press(Key::Leave), Step::Leave);
        assert_eq!(State::new(Vec::new()).press(Key::Down), Step::GoOn);
    }
}
