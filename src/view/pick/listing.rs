//! The matching sessions in their order, in groups, and the window of them that is shown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::item::{ItemKey, PickerItem};
use super::state::{BestMessage, ListOrder, ListRow, ListedSession, PickerState};
use crate::session::matching::{MatchField, SessionMatcher};
use crate::system::parallel;

/// Number of sessions that a thread matches at a time.
const TOGETHER: usize = 256;

impl PickerState {
    /// Finds the matching sessions in their order, and moves the cursor to the session `here`, if it matches.
    pub(super) fn match_again(&mut self, here: Option<&ItemKey>) {
        let Self { items, query, found_messages, excluded, .. } = self;
        let rank = |matching: &mut SessionMatcher, (at, item): (usize, &PickerItem)| {
            let named = matching.rank(query, &item.subject);
            let message_rank =
                found_messages.get(&item.key).filter(|_| query.lets_pass(&item.subject)).map(BestMessage::rank);
            let is_said = message_rank.is_some_and(|rank| {
                named.is_none_or(|named| rank.quality < named.quality || named.place == MatchField::Said)
            });
            let rank = if is_said { named.into_iter().chain(message_rank).min() } else { named };
            rank.filter(|_| !excluded.contains(&item.key)).map(|rank| ListedSession { item: at, rank, is_said })
        };
        let numbered: Vec<_> = items.iter().enumerate().collect();
        let ranked = parallel::map(numbered.chunks(TOGETHER), |some| {
            let mut matching = SessionMatcher::default();
            some.iter().filter_map(|one| rank(&mut matching, *one)).collect::<Vec<_>>()
        });
        self.matches = ranked.concat();
        let (items, found_messages) = (&self.items, &self.found_messages);
        // The score orders sessions that match only in a message.
        let score = |one: &ListedSession| {
            found_messages.get(&items[one.item].key).filter(|_| one.is_said).map_or(0.0, |best| best.score)
        };
        match self.order {
            ListOrder::Activity => {
                self.matches.sort_by(|a, b| a.rank.cmp(&b.rank).then_with(|| score(b).total_cmp(&score(a))));
            }
            ListOrder::Size => self.matches.sort_by_key(|one| Reverse(items[one.item].size)),
            ListOrder::Directory => self.matches.sort_by(|a, b| items[a.item].dir.cmp(&items[b.item].dir)),
        }
        self.unmatched = None;
        if self.matches.is_empty() {
            let subjects: Vec<_> = self.items.iter().map(|item| &item.subject).collect();
            self.unmatched = self.query.unmatched_filter(&subjects).map(|filter| filter.to_string());
        }
        self.lay_rows();
        if let Some(here) = here {
            self.cursor = self.matches.iter().position(|one| self.items[one.item].key == *here).unwrap_or(0);
        }
        self.fit(self.height);
    }

    fn lay_rows(&mut self) {
        let mut groups: BTreeMap<usize, Vec<ListedSession>> = BTreeMap::new();
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
                self.rows.push(ListRow::Group(self.items[one.item].dir.clone(), left));
            }
            left = left.saturating_sub(1);
            self.rows.push(ListRow::Session(at));
            if one.is_said {
                self.rows.push(ListRow::Said(at));
            }
        }
    }

    /// Sorts the list again; the cursor stays on its session.
    pub(super) fn arrange(&mut self) {
        let here = self.key();
        self.match_again(here.as_ref());
    }

    pub(super) fn move_cursor(&mut self, to: usize) {
        self.cursor = to;
        self.is_scrolled = false;
        self.fit(self.height);
    }

    /// Fits the window to a height, so that it includes the cursor, with the matching message and the heading of its
    /// group.
    pub(super) fn fit(&mut self, height: usize) {
        self.height = height;
        self.cursor = self.cursor.min(self.matches.len().saturating_sub(1));
        let height = height.max(1);
        let row = self.rows.iter().position(|row| *row == ListRow::Session(self.cursor)).unwrap_or(0);
        let is = |at: usize, requested: fn(&ListRow) -> bool| self.rows.get(at).is_some_and(requested);
        let last = row + usize::from(height > 1 && is(row + 1, |row| matches!(row, ListRow::Said(_))));
        let is_below_group = row > 0 && is(row - 1, |row| matches!(row, ListRow::Group(..)));
        let first = row - usize::from(is_below_group && last + 1 - row < height);
        let last_top = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp((last + 1).saturating_sub(height).min(first), first).min(last_top);
    }

    /// Returns the lines in the window.
    pub(super) fn window(&self) -> &[ListRow] {
        let end = (self.top + self.height).min(self.rows.len());
        &self.rows[self.top..end]
    }

    /// Returns whether the cursor is on this match.
    pub(super) fn is_here(&self, at: usize) -> bool {
        at == self.cursor
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::PickerKey as Pressed;
    use super::super::press::KeyResult;
    use super::super::state::tests::{best_message, ids, listed, many, typed};
    use crate::session::AgentKind;

    #[test]
    fn visible_rows_follow_the_cursor() {
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
            assert_eq!(state.press(key.clone()), KeyResult::Stay);
            assert_eq!(ids(&state), expected, "{key:?}");
        }
        state.press(Pressed::Last);
        state.fit(4);
        assert_eq!(ids(&state), ["0001", "0002", "0003", ">0004"]);
        state.fit(0);
        assert_eq!((ids(&state), state.highlighted()), (vec![], Some(4)));
    }

    #[test]
    fn whole_words_rank_before_beginnings_and_loose_letters() {
        let list = [("Plan a relic bay", "/a"), ("Other", "/b"), ("The relayed mail", "/c"), ("A relay", "/d")];
        let mut state = listed(&list);
        state.fit(9);
        typed(&mut state, "relay");
        assert_eq!(ids(&state), [">0003", "0002", "0000"]);
        // The user has not moved the cursor, so it stays at the best match.
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), best_message("relay"))]);
        assert_eq!(
            (ids(&state), state.said_count()),
            (vec![">0003", "0001", "said", "0002", "0000"].into_iter().map(str::to_owned).collect(), 1)
        );
        state.add_said(vec![((AgentKind::Claude, "0003-aaaa".to_owned()), best_message("relay"))]);
        assert_eq!(ids(&state)[1], "0001", "the title has the word, so no line is shown");
        typed(&mut state, "x");
        assert_eq!((ids(&state), state.said_count()), (Vec::new(), 0), "messages are searched again");
    }

    #[test]
    fn moved_cursor_stays_on_its_session() {
        let mut state = listed(&[("Plan a relic bay", "/a"), ("Other", "/b"), ("A relic bay", "/c")]);
        state.fit(9);
        typed(&mut state, "relay");
        assert_eq!(ids(&state), [">0000", "0002"]);
        let found = || vec![((AgentKind::Claude, "0001-aaaa".to_owned()), best_message("relay"))];
        state.add_said(found());
        assert_eq!(ids(&state), [">0001", "said", "0000", "0002"]);
        state.press(Pressed::Erase);
        typed(&mut state, "y");
        state.press(Pressed::Down);
        state.add_said(found());
        assert_eq!(ids(&state), ["0001", "said", "0000", ">0002"]);
    }

    #[test]
    fn sorting_and_grouping_keep_cursor_on_session() {
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
