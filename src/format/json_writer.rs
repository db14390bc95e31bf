//! JSON that is safe to print: characters that could control a terminal are escaped, beyond the JSON standard.

use std::io::{self, Write};

use serde::Serialize;

use crate::format::shown;

/// A JSON stream that escapes control characters and characters that reorder or hide text. Such characters occur in
/// strings only.
///
/// Each write must consist of whole characters, as a serializer's writes do.
#[derive(Debug)]
pub(crate) struct Harmless<W>(pub W);

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if shown::is_only_shown(bytes) {
            // A partial write could end inside a character.
            return self.0.write_all(bytes).map(|()| bytes.len());
        }
        let text = String::from_utf8_lossy(bytes);
        let mut rest = &*text;
        // JSON itself escapes the other control characters, which have smaller codes.
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| *c >= '\u{7f}' && shown::is_hostile(*c)) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Serializes a value to JSON.
pub(crate) fn to_string(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    Harmless(&mut bytes).write_all(&serde_json::to_vec(value)?).map_err(serde_json::Error::io)?;
    String::from_utf8(bytes).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn escaped_control_characters_parse_to_original() {
        let hostile = "a\u{9b}31m\u{7f}\u{1b}[2J\u{202e}\u{200b}\u{e0041}日本 é 🚀\n";
        let written = to_string(&hostile).expect("JSON");
        assert_eq!(written, r#""a\u009b31m\u007f\u001b[2J\u202e\u200b\udb40\udc41日本 é 🚀\n""#);
        assert_eq!(serde_json::from_str::<String>(&written).expect("text"), hostile);
        let raw = RawValue::from_string(format!("[\"{}\"]", "\u{9b}\u{85}")).expect("JSON");
        assert_eq!(to_string(&raw).expect("JSON"), r#"["\u009b\u0085"]"#);
    }
}
