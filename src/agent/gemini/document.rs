//! The older generation of Gemini CLI's sessions: a whole file of one object (0.25.0).

use std::fmt;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::json::Text;

/// A field of a document: one of the older generation is a whole file of one object.
#[derive(Debug)]
pub(crate) enum Field<'a> {
    /// A string, with its key.
    Text(&'a str, &'a str),
    /// The next of its messages.
    Message(&'a RawValue),
}

/// Shows the fields of a document in order until `see` breaks, one message in memory at a time.
///
/// Returns whether the document was read to its end, or broken off by `see`; `false` means that it is cut off,
/// or is none.
pub(crate) fn each_field(reader: impl Read, see: &mut dyn FnMut(Field<'_>) -> ControlFlow<()>) -> bool {
    let mut walk = Walk { see, is_stopped: false };
    let mut document = serde_json::Deserializer::from_reader(BufReader::with_capacity(64 * 1024, reader));
    let read = walk.deserialize(&mut document);
    read.is_ok() || walk.is_stopped
}

/// Shows the fields as [`each_field`] does, of a document that was read whole; that is faster.
pub(crate) fn each_field_in(document: &[u8], see: &mut dyn FnMut(Field<'_>) -> ControlFlow<()>) -> bool {
    let mut walk = Walk { see, is_stopped: false };
    let read = walk.deserialize(&mut serde_json::Deserializer::from_slice(document));
    read.is_ok() || walk.is_stopped
}

struct Walk<'s> {
    see: &'s mut dyn FnMut(Field<'_>) -> ControlFlow<()>,
    is_stopped: bool,
}

impl Walk<'_> {
    fn show<E: de::Error>(&mut self, field: Field<'_>) -> Result<(), E> {
        self.is_stopped = (self.see)(field).is_break();
        if self.is_stopped { Err(E::custom("enough was seen")) } else { Ok(()) }
    }

    fn deserialize<'de, D: Deserializer<'de>>(&mut self, document: D) -> Result<(), D::Error> {
        document.deserialize_map(Fields(self))
    }
}

struct Fields<'w, 's>(&'w mut Walk<'s>);

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "messages" => map.next_value_seed(Messages(self.0))?,
                "sessionId" | "startTime" | "lastUpdated" | "summary" | "kind" => {
                    if let Some(value) = map.next_value::<Text<'de>>()?.get() {
                        self.0.show(Field::Text(&key, value))?;
                    }
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Messages<'w, 's>(&'w mut Walk<'s>);

impl<'de> DeserializeSeed<'de> for Messages<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<Box<RawValue>>()? {
            self.0.show(Field::Message(&message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_shown_field_by_field_as_far_as_it_can_be_read() {
        let text = r#"{"sessionId":"s","x":[1],"messages":[{"id":"a"},7],"summary":"T","kind":3}"#;
        let shown = |text: &str, most: usize| {
            let mut seen = Vec::new();
            let is_read = each_field(text.as_bytes(), &mut |field| {
                seen.push(match field {
                    Field::Text(key, value) => format!("{key}={value}"),
                    Field::Message(raw) => raw.get().to_owned(),
                });
                if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (is_read, seen)
        };
        assert_eq!(
            shown(text, 9),
            (true, ["sessionId=s", r#"{"id":"a"}"#, "7", "summary=T"].map(str::to_owned).to_vec())
        );
        assert_eq!(shown(text, 1), (true, vec!["sessionId=s".to_owned()]));
        assert_eq!(shown(&text[..30], 9), (false, vec!["sessionId=s".to_owned()]));
        assert_eq!(shown("[]", 9), (false, Vec::new()));
        assert_eq!(shown(r#"{"messages":{},"summary":"T"}"#, 9), (false, Vec::new()));
    }
}
