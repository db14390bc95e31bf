//! Handles keys: for the typed text, the list, and the pages that replace it.

use super::backend::Ready;
use super::item::{Item, Key, PINNED};
use super::keys::Key as Pressed;
use super::mouse::Mouse;
use super::state::{Mode, Order, State};

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Leave,
    Redraw,
    /// Stop until the shell continues the program.
    Suspend,
    /// Enter: return these sessions to the command.
    Take(Vec<usize>),
    /// Choose one of the possible actions.
    Choose(Key, Ready),
    /// Copy the command of this session.
    CopyCommand(usize),
    /// Copy this text.
    CopyText(String),
    /// Show this whole session.
    Open(Key),
    /// Offer other agents for this session.
    AskForAgents(usize),
    /// Delete these sessions, after a question.
    AskToRemove(Vec<usize>),
    /// The question was answered with yes.
    Remove,
    /// Pin or unpin these sessions.
    Pin(Vec<usize>, bool),
}

impl State {
    /// Carries out the action of a key.
    pub(super) fn press(&mut self, key: Pressed) -> Step {
        self.note = None;
        let key = match key {
            Pressed::Mouse(mouse) if self.mode == Mode::List => return self.point(mouse),
            // On a page without a list, the wheel moves the cursor.
            Pressed::Mouse(Mouse::WheelUp(_)) => Pressed::Up,
            Pressed::Mouse(Mouse::WheelDown(_)) => Pressed::Down,
            key => key,
        };
        self.clicked = None;
        match key {
            Pressed::Redraw => return Step::Redraw,
            Pressed::Suspend => return Step::Suspend,
            _ => {}
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
            Mode::Ways { key: whose, refused, cursor, is_offer } => {
                let last = refused.ready.len().saturating_sub(1);
                match key {
                    Pressed::Up => *cursor = cursor.saturating_sub(1),
                    Pressed::Down => *cursor = (*cursor + 1).min(last),
                    Pressed::Interrupt if !*is_offer => return Step::Leave,
                    Pressed::Interrupt | Pressed::Escape => self.mode = Mode::List,
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
            Pressed::Mouse(_) | Pressed::Redraw | Pressed::Suspend => {}
            Pressed::Escape | Pressed::Interrupt => return Step::Leave,
            Pressed::Enter | Pressed::Copy | Pressed::Open | Pressed::With | Pressed::Remove | Pressed::Pin => {
                return self.act(&key);
            }
        }
        if self.edit.text() != typed {
            self.type_anew();
        }
        Step::Stay
    }

    fn scroll_to(&mut self, scroll: usize) {
        (self.scroll, self.is_scrolled) = (scroll, true);
    }
}

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
    use proptest::prelude::*;

    use super::super::backend::{How, Refused};
    use super::super::keys::Keys;
    use super::super::state::tests::{many, typed};
    use super::*;

    #[test]
    fn deletion_needs_y_key() {
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
    fn list_returns_after_choosing_action() {
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

    #[test]
    fn escape_and_ctrl_c_close_agent_list() {
        let mut state = many(2);
        assert_eq!(state.press(Pressed::With), Step::AskForAgents(0));
        let key = state.items[0].key.clone();
        let how = How { with: Some(crate::session::AgentKind::Codex), ..How::default() };
        let ready = Ready { line: "rejoin resume a --with codex".to_owned(), why: "why".to_owned(), how: Some(how) };
        for back in [Pressed::Escape, Pressed::Interrupt] {
            state.offer_agents(key.clone(), vec![ready.clone()]);
            assert_eq!((state.press(back), &state.mode), (Step::Stay, &Mode::List));
        }
        state.offer_agents(key.clone(), vec![ready.clone()]);
        assert_eq!(state.press(Pressed::Enter), Step::Choose(key, ready));
        let mut other = many(1);
        other.purpose.is_checked = false;
        assert_eq!(other.press(Pressed::With), Step::Stay, "only a resume can be continued elsewhere");
    }

    proptest! {
        #[test]
        fn keys_without_action_do_nothing(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            // Enter, ^Y, ^X, ^T, ^O, ^R, and the keys that leave.
            const KEYS: [u8; 9] = [b'\r', 0x19, 0x18, 0x14, 0x0f, 0x12, 0x03, 0x1b, 0x9b];
            let mut keys = Keys::default();
            keys.push(&bytes.into_iter().filter(|byte| !KEYS.contains(byte)).collect::<Vec<_>>());
            let mut state = many(3);
            state.fit(2);
            for key in keys {
                let step = state.press(key.clone());
                prop_assert!(matches!(step, Step::Stay | Step::Redraw | Step::Suspend), "{key:?}: {step:?}");
            }
        }

        #[test]
        fn pasted_text_triggers_no_action(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assume!(!bytes.windows(6).any(|part| part == b"\x1b[201~"));
            let mut keys = Keys::default();
            keys.push(&[b"\x1b[200~".as_slice(), &bytes, b"\x1b[201~"].concat());
            let mut state = many(3);
            let steps: Vec<Step> = keys.map(|key| state.press(key)).collect();
            prop_assert_eq!(steps, [Step::Stay]);
        }
    }

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
