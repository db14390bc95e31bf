//! The list in its order: what matches, in groups, and the window of it that is shown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::item::Key;
use super::state::{Match, Order, Row, State};
use crate::session::matching::Rank;

impl State {
    /// Finds what matches, in order; the cursor goes where `here` is then, if anywhere.
    pub(super) fn match_again(&mut self, here: Option<&Key>) {
        let Self { items, query, matching, said, .. } = self;
        let matched = items.iter().enumerate().filter_map(|(at, item)| {
            let rank = matching.rank(query, &item.subject);
            (rank.is_some() || said.contains_key(&item.key)).then_some(Match { item: at, rank })
        });
        self.matches = matched.collect();
        let items = &self.items;
        // What has the words comes before what only has their letters, and that before what only was said.
        let class = |one: &Match| match one.rank {
            Some(Rank::Named) => 0,
            Some(Rank::Prompted) => 1,
            Some(Rank::Loose) => 2,
            None => 3,
        };
        match self.order {
            Order::Activity => self.matches.sort_by_key(class),
            Order::Size => self.matches.sort_by_key(|one| Reverse(items[one.item].size)),
            Order::Directory => self.matches.sort_by(|a, b| items[a.item].dir.cmp(&items[b.item].dir)),
        }
        self.lay_rows();
        if let Some(here) = here {
            self.cursor = self.matches.iter().position(|one| self.items[one.item].key == *here).unwrap_or(0);
        }
        self.fit(self.height);
    }

    fn lay_rows(&mut self) {
        let mut groups: BTreeMap<usize, Vec<Match>> = BTreeMap::new();
        if self.is_grouped {
            let mut numbers: HashMap<&str, usize> = HashMap::new();
            for one in &self.matches {
                let next = numbers.len();
                let number = *numbers.entry(&self.items[one.item].dir).or_insert(next);
                groups.entry(number).or_default().push(*one);
            }
            self.matches = groups.values().flatten().copied().collect();
        }
        self.rows.clear();
        let mut sizes = groups.into_values().map(|group| group.len());
        let mut left = 0;
        for (at, one) in self.matches.iter().enumerate() {
            if self.is_grouped && left == 0 {
                left = sizes.next().unwrap_or(1);
                self.rows.push(Row::Group(self.items[one.item].dir.clone(), left));
            }
            left = left.saturating_sub(1);
            self.rows.push(Row::Session(at));
            if self.said.contains_key(&self.items[one.item].key) {
                self.rows.push(Row::Said(at));
            }
        }
    }

    /// Puts the list in order anew; the cursor stays on its session.
    pub(super) fn arrange(&mut self) {
        let here = self.key();
        self.match_again(here.as_ref());
    }

    pub(super) fn go(&mut self, to: usize) {
        self.cursor = to;
        self.is_scrolled = false;
        self.fit(self.height);
    }

    /// Fits the window to a height, so that the cursor is in it, with what was said there and the group that it begins.
    pub(super) fn fit(&mut self, height: usize) {
        self.height = height;
        self.cursor = self.cursor.min(self.matches.len().saturating_sub(1));
        let height = height.max(1);
        let row = self.rows.iter().position(|row| *row == Row::Session(self.cursor)).unwrap_or(0);
        let is = |at: usize, wanted: fn(&Row) -> bool| self.rows.get(at).is_some_and(wanted);
        let last = row + usize::from(height > 1 && is(row + 1, |row| matches!(row, Row::Said(_))));
        let is_below_group = row > 0 && is(row - 1, |row| matches!(row, Row::Group(..)));
        let first = row - usize::from(is_below_group && last + 1 - row < height);
        let last_top = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp((last + 1).saturating_sub(height).min(first), first).min(last_top);
    }

    /// Returns the lines in the window.
    pub(super) fn window(&self) -> &[Row] {
        let end = (self.top + self.height).min(self.rows.len());
        &self.rows[self.top..end]
    }

    /// Returns whether the cursor stands on this one of those that match.
    pub(super) fn is_here(&self, at: usize) -> bool {
        at == self.cursor
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Key as Pressed;
    use super::super::press::Step;
    use super::super::state::tests::{ids, listed, many, said, typed};
    use crate::session::AgentKind;

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
}
