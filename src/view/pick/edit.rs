//! The prompt line, in which the user types.

use crate::format::shown;

/// Maximum characters of the text.
const MAX: usize = 200;

/// The typed text, and the place of the next character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextInput {
    text: String,
    /// Offset in bytes, between two characters.
    cursor: usize,
}

impl TextInput {
    pub(super) fn new(text: &str) -> Self {
        let mut edit = Self::default();
        edit.insert(text);
        edit
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub(super) fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text at the cursor, without characters that a terminal interprets.
    pub(super) fn insert(&mut self, typed: &str) {
        let room = MAX.saturating_sub(self.text.chars().count());
        let harmless: String =
            typed.chars().filter(|c| shown::is_harmless(c.encode_utf8(&mut [0; 4]))).take(room).collect();
        self.text.insert_str(self.cursor, &harmless);
        self.cursor += harmless.len();
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.before().char_indices().next_back().map_or(0, |(at, _)| at);
    }

    pub(super) fn right(&mut self) {
        self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
    }

    pub(super) fn start(&mut self) {
        self.cursor = 0;
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.text.len();
    }

    /// Removes the character before the cursor.
    pub(super) fn erase(&mut self) {
        let end = self.cursor;
        self.left();
        self.text.drain(self.cursor..end);
    }

    /// Removes the character after the cursor.
    pub(super) fn delete(&mut self) {
        let start = self.cursor;
        self.right();
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    /// Removes the word before the cursor.
    pub(super) fn erase_word(&mut self) {
        let before = self.before().trim_end();
        let kept = before.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(0, |(at, c)| at + c.len_utf8());
        self.text.drain(kept..self.cursor);
        self.cursor = kept;
    }

    /// Removes all text before the cursor.
    pub(super) fn erase_before(&mut self) {
        self.text.drain(..self.cursor);
        self.cursor = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_keys_change_text_at_cursor() {
        let mut edit = TextInput::new("fix日 the");
        for (change, expected) in [
            (TextInput::erase as fn(&mut TextInput), "fix日 th|"),
            (TextInput::left, "fix日 t|h"),
            (TextInput::erase_word, "fix日 |h"),
            (TextInput::left, "fix日| h"),
            (TextInput::erase, "fix| h"),
            (TextInput::start, "|fix h"),
            (TextInput::left, "|fix h"),
            (TextInput::erase, "|fix h"),
            (TextInput::delete, "|ix h"),
            (TextInput::right, "i|x h"),
            (TextInput::erase_before, "|x h"),
            (TextInput::end, "x h|"),
            (TextInput::delete, "x h|"),
            (TextInput::erase_word, "x |"),
            (TextInput::erase_word, "|"),
            (TextInput::erase_word, "|"),
        ] {
            change(&mut edit);
            let shown = format!("{}|{}", edit.before(), &edit.text()[edit.before().len()..]);
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn editor_drops_control_characters_and_overlong_text() {
        assert_eq!(TextInput::new("a\u{202e}b\x1b[2J").text(), "ab[2J");
        assert_eq!(TextInput::new(&"x".repeat(1000)).text().len(), MAX);
    }
}
