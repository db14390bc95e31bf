//! Handles keys: for the typed text, the list, and the pages that replace it.

use super::backend::{CHOOSE, Ready};
use super::item::{ItemKey, PINNED, PickerItem};
use super::keys::PickerKey as Pressed;
use super::mouse::Mouse;
use super::state::{ListOrder, Mode, PickerState};

/// The result of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyResult {
    Stay,
    Leave,
    Redraw,
    /// Stop until the shell continues the program.
    Suspend,
    /// Enter: return these sessions to the command.
    Take(Vec<usize>),
    /// Choose one of the possible actions.
    Choose(ItemKey, Ready),
    /// Copy the command of this session.
    CopyCommand(usize),
    /// Copy this text.
    CopyText(String),
    /// Show this whole session.
    Open(ItemKey),
    /// Offer other agents for this session.
    AskForAgents(usize),
    /// Delete these sessions, after a question.
    AskToRemove(Vec<usize>),
    /// Delete the sessions that the user confirmed.
    Remove,
    /// Pin or unpin these sessions.
    Pin(Vec<usize>, bool),
}

impl PickerState {
    /// Carries out the action of a key.
    pub(super) fn press(&mut self, key: Pressed) -> KeyResult {
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
            Pressed::Redraw => return KeyResult::Redraw,
            Pressed::Suspend => return KeyResult::Suspend,
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
                    Pressed::Interrupt => return KeyResult::Leave,
                    Pressed::Escape | Pressed::Help | Pressed::Char('?' | 'q') => self.mode = Mode::List,
                    _ => {}
                }
                KeyResult::Stay
            }
            Mode::Sure { .. } => match key {
                Pressed::Char('y' | 'Y') => {
                    self.mode = Mode::List;
                    KeyResult::Remove
                }
                Pressed::Interrupt => KeyResult::Leave,
                Pressed::Enter | Pressed::Escape | Pressed::Char(_) => {
                    self.mode = Mode::List;
                    self.note = Some("Nothing was deleted.".to_owned());
                    KeyResult::Stay
                }
                _ => KeyResult::Stay,
            },
            Mode::Ways { key: whose, refused, cursor, is_offer } => {
                let last = refused.ready.len().saturating_sub(1);
                match key {
                    Pressed::Up => *cursor = cursor.saturating_sub(1),
                    Pressed::Down => *cursor = (*cursor + 1).min(last),
                    Pressed::Interrupt if !*is_offer => return KeyResult::Leave,
                    Pressed::Interrupt | Pressed::Escape => self.mode = Mode::List,
                    Pressed::Copy => {
                        return refused
                            .ready
                            .get(*cursor)
                            .map_or(KeyResult::Stay, |way| KeyResult::CopyText(way.line.clone()));
                    }
                    Pressed::Enter => {
                        let Some(way) = refused.ready.get(*cursor).cloned() else { return KeyResult::Stay };
                        return match way.how {
                            Some(_) => KeyResult::Choose(whose.clone(), way),
                            // The picker adds the command that shows the session to all others.
                            None if *cursor == last && self.purpose.verb != CHOOSE => KeyResult::Open(whose.clone()),
                            None => KeyResult::CopyText(way.line),
                        };
                    }
                    _ => {}
                }
                KeyResult::Stay
            }
        }
    }

    fn press_in_list(&mut self, key: Pressed) -> KeyResult {
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
            Pressed::Up => self.move_cursor(self.cursor.saturating_sub(1)),
            Pressed::Down => self.move_cursor(self.cursor + 1),
            Pressed::PageUp => self.move_cursor(self.cursor.saturating_sub(page)),
            Pressed::PageDown => self.move_cursor(self.cursor + page),
            Pressed::First => self.move_cursor(0),
            Pressed::Last => self.move_cursor(self.matches.len()),
            Pressed::PreviewUp => self.scroll_to((self.scroll + 3).min(self.most_scroll)),
            Pressed::PreviewDown => self.scroll_to(self.scroll.saturating_sub(3)),
            Pressed::Mark | Pressed::MarkBack => {
                if let Some(key) = self.key()
                    && !self.marked.remove(&key)
                {
                    self.marked.insert(key);
                }
                self.move_cursor(if key == Pressed::Mark { self.cursor + 1 } else { self.cursor.saturating_sub(1) });
            }
            Pressed::Sort => {
                self.order = match self.order {
                    ListOrder::Activity => ListOrder::Size,
                    ListOrder::Size => ListOrder::Directory,
                    ListOrder::Directory => ListOrder::Activity,
                };
                self.arrange();
            }
            Pressed::Group => {
                self.is_grouped = !self.is_grouped;
                self.arrange();
            }
            Pressed::Mouse(_) | Pressed::Redraw | Pressed::Suspend => {}
            Pressed::Escape | Pressed::Interrupt => return KeyResult::Leave,
            Pressed::Enter | Pressed::Copy | Pressed::Open | Pressed::With | Pressed::Remove | Pressed::Pin => {
                return self.act(&key);
            }
        }
        if self.edit.text() != typed {
            self.type_anew();
        }
        KeyResult::Stay
    }

    fn scroll_to(&mut self, scroll: usize) {
        (self.scroll, self.is_scrolled) = (scroll, true);
    }
}

impl PickerState {
    /// Returns the result of an action on the marked sessions, or else on the highlighted one.
    pub(super) fn act(&mut self, key: &Pressed) -> KeyResult {
        let Some(here) = self.highlighted() else { return KeyResult::Stay };
        if let Some(busy) = self.busy {
            self.note = Some(format!("{busy} is not done yet; try again in a moment."));
            return KeyResult::Stay;
        }
        let marked: Vec<usize> =
            (0..self.items.len()).filter(|at| self.marked.contains(&self.items[*at].key)).collect();
        let meant = if marked.is_empty() { vec![here] } else { marked };
        match key {
            Pressed::Enter if self.purpose.takes_several => KeyResult::Take(meant),
            Pressed::Enter => KeyResult::Take(vec![here]),
            Pressed::Copy if meant.len() > 1 => {
                let names = meant.iter().map(|at| format!("{}:{}", self.items[*at].key.0, self.items[*at].key.1));
                let names: Option<Vec<String>> = names
                    .map(|name| crate::format::shell::printable_word(name.as_ref()).map(|word| word.to_string()))
                    .collect();
                names.map_or(KeyResult::Stay, |names| KeyResult::CopyText(names.join(" ")))
            }
            Pressed::Copy => KeyResult::CopyCommand(meant[0]),
            Pressed::Open => KeyResult::Open(self.items[here].key.clone()),
            Pressed::With if self.purpose.is_checked => KeyResult::AskForAgents(here),
            Pressed::Remove => KeyResult::AskToRemove(meant),
            Pressed::Pin => {
                let is_pinned = |at: &usize| self.items[*at].marks.iter().any(|mark| mark.word == PINNED);
                let is_wanted = !meant.iter().all(is_pinned);
                KeyResult::Pin(meant, is_wanted)
            }
            _ => KeyResult::Stay,
        }
    }

    /// Returns the number of the highlighted item, among all items.
    pub(super) fn highlighted(&self) -> Option<usize> {
        self.matches.get(self.cursor).map(|one| one.item)
    }

    /// Returns the key of the highlighted session.
    pub(super) fn key(&self) -> Option<ItemKey> {
        self.highlighted().map(|at| self.items[at].key.clone())
    }

    pub(super) fn is_marked(&self, item: &PickerItem) -> bool {
        self.marked.contains(&item.key)
    }

    pub(super) fn marked_count(&self) -> usize {
        self.marked.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::backend::{How, RefusedResume};
    use super::super::keys::Keys;
    use super::super::state::tests::{many, typed};
    use super::*;

    #[test]
    fn deletion_needs_y_key() {
        for key in [Pressed::Enter, Pressed::Char('n'), Pressed::Char('x'), Pressed::Escape] {
            let mut state = many(1);
            state.mode = Mode::Sure { items: vec![0], bytes: 1 };
            assert_eq!((state.press(key), &state.mode), (KeyResult::Stay, &Mode::List));
        }
        for (key, expected) in [
            (Pressed::Char('y'), KeyResult::Remove),
            (Pressed::Pasted("y".to_owned()), KeyResult::Stay),
            (Pressed::Down, KeyResult::Stay),
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
        let ready = vec![way("move", None), way("a", Some(How::default())), way("show", None)];
        typed(&mut state, "t");
        state.offer(key.clone(), RefusedResume { why: "it is gone".to_owned(), ready: ready.clone() });
        state.press(Pressed::Up);
        assert_eq!(state.press(Pressed::Enter), KeyResult::CopyText("move".to_owned()));
        state.press(Pressed::Down);
        assert_eq!(state.press(Pressed::Copy), KeyResult::CopyText("a".to_owned()));
        assert_eq!(state.press(Pressed::Enter), KeyResult::Choose(key.clone(), ready[1].clone()));
        state.press(Pressed::Down);
        state.press(Pressed::Down);
        assert_eq!(state.press(Pressed::Enter), KeyResult::Open(key));
        assert_eq!(state.press(Pressed::Char('x')), KeyResult::Stay);
        assert_eq!(state.press(Pressed::Escape), KeyResult::Stay);
        assert_eq!((&state.mode, state.edit.text()), (&Mode::List, "t"));
    }

    #[test]
    fn stuck_session_selects_rewind_first() {
        let mut state = many(1);
        let way = |line: &str, how| Ready { line: line.to_owned(), why: "why".to_owned(), how };
        let anyway = Some(How { stuck: true, ..How::default() });
        let ready = vec![way("rewind", None), way("resume", anyway), way("show", None)];
        state.offer(state.items[0].key.clone(), RefusedResume { why: "it is stuck".to_owned(), ready });
        assert_eq!(state.press(Pressed::Enter), KeyResult::CopyText("rewind".to_owned()));
    }

    #[test]
    fn escape_and_ctrl_c_close_agent_list() {
        let mut state = many(2);
        assert_eq!(state.press(Pressed::With), KeyResult::AskForAgents(0));
        let key = state.items[0].key.clone();
        let how = How { with: Some(crate::session::AgentKind::Codex), ..How::default() };
        let ready = Ready { line: "rejoin resume a --with codex".to_owned(), why: "why".to_owned(), how: Some(how) };
        for back in [Pressed::Escape, Pressed::Interrupt] {
            state.offer_agents(key.clone(), vec![ready.clone()]);
            assert_eq!((state.press(back), &state.mode), (KeyResult::Stay, &Mode::List));
        }
        state.offer_agents(key.clone(), vec![ready.clone()]);
        assert_eq!(state.press(Pressed::Enter), KeyResult::Choose(key, ready));
        let mut other = many(1);
        other.purpose.is_checked = false;
        assert_eq!(other.press(Pressed::With), KeyResult::Stay, "only a resume can be continued elsewhere");
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
                prop_assert!(matches!(step, KeyResult::Stay | KeyResult::Redraw | KeyResult::Suspend), "{key:?}: {step:?}");
            }
        }

        #[test]
        fn pasted_text_triggers_no_action(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assume!(!bytes.windows(6).any(|part| part == b"\x1b[201~"));
            let mut keys = Keys::default();
            keys.push(&[b"\x1b[200~".as_slice(), &bytes, b"\x1b[201~"].concat());
            let mut state = many(3);
            let steps: Vec<KeyResult> = keys.map(|key| state.press(key)).collect();
            prop_assert_eq!(steps, [KeyResult::Stay]);
        }
    }

    #[test]
    fn action_applies_to_marked_or_highlighted_sessions() {
        let mut state = many(3);
        state.fit(3);
        assert_eq!(state.press(Pressed::Enter), KeyResult::Take(vec![0]));
        assert_eq!(state.press(Pressed::Copy), KeyResult::CopyCommand(0));
        assert_eq!(state.press(Pressed::Remove), KeyResult::AskToRemove(vec![0]));
        assert_eq!(state.press(Pressed::Pin), KeyResult::Pin(vec![0], true));
        state.set_pinned(&[state.items[0].key.clone()], true);
        assert_eq!(state.press(Pressed::Pin), KeyResult::Pin(vec![0], false));
        state.press(Pressed::Mark);
        state.press(Pressed::Mark);
        assert_eq!(state.press(Pressed::Enter), KeyResult::Take(vec![2]), "only one can be resumed");
        assert_eq!(state.press(Pressed::Remove), KeyResult::AskToRemove(vec![0, 1]));
        assert_eq!(state.press(Pressed::Pin), KeyResult::Pin(vec![0, 1], true));
        assert_eq!(state.press(Pressed::Copy), KeyResult::CopyText("claude:0000-aaaa claude:0001-aaaa".to_owned()));
        state.busy = Some("Deleting");
        assert_eq!(state.press(Pressed::Remove), KeyResult::Stay, "one thing after the other");
        typed(&mut state, "nothing matches");
        state.busy = None;
        assert_eq!(state.press(Pressed::Enter), KeyResult::Stay);
        assert_eq!(state.press(Pressed::Escape), KeyResult::Leave);
    }
}
