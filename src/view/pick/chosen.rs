//! The highlighted and the marked sessions, and the actions on them.

use super::item::{Item, Key, PINNED};
use super::keys::Key as Pressed;
use super::press::Step;
use super::state::State;

impl State {
    /// Returns the step of an action on the marked sessions, or else on the highlighted one.
    pub(super) fn act(&mut self, key: &Pressed) -> Step {
        let Some(here) = self.highlighted() else { return Step::Stay };
        if let Some(busy) = self.busy {
            self.note = Some(format!("{busy} is not done yet; try again in a moment."));
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
            Pressed::With if self.purpose.is_checked => Step::AskForAgents(here),
            Pressed::Remove => Step::AskToRemove(meant),
            Pressed::Pin => {
                let is_pinned = |at: &usize| self.items[*at].marks.iter().any(|mark| mark.word == PINNED);
                let is_wanted = !meant.iter().all(is_pinned);
                Step::Pin(meant, is_wanted)
            }
            _ => Step::Stay,
        }
    }

    /// Returns the number of the highlighted item, among all items.
    pub(super) fn highlighted(&self) -> Option<usize> {
        self.matches.get(self.cursor).map(|one| one.item)
    }

    /// Returns the key of the highlighted session.
    pub(super) fn key(&self) -> Option<Key> {
        self.highlighted().map(|at| self.items[at].key.clone())
    }

    pub(super) fn is_marked(&self, item: &Item) -> bool {
        self.marked.contains(&item.key)
    }

    pub(super) fn marked_count(&self) -> usize {
        self.marked.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::{many, typed};
    use super::*;

    #[test]
    fn an_action_applies_to_marked_or_highlighted_sessions() {
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
}
