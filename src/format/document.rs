//! Reads a file that is one JSON object with the conversation in a list, in pieces, with one message in memory at a
//! time.

use std::fmt;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a document that are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The key of the list; empty if the document is the list itself.
    pub list: &'static str,
    /// The keys of the other members that are read; members with any other key are skipped.
    pub members: &'static [&'static str],
}

/// A piece of a document.
#[derive(Debug)]
pub(crate) enum DocumentField<'a> {
    /// A member, with its key.
    Member(&'a str, &'a RawValue),
    /// The next element of the list.
    Message(&'a RawValue),
}

impl Shape {
    /// Calls `see` with the pieces of a document in order until it breaks.
    ///
    /// Returns `true` if the document was read to its end or `see` broke, `false` if it is cut off or is not such a
    /// document.
    pub(crate) fn each(
        &self,
        reader: &mut dyn Read,
        see: &mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>,
    ) -> bool {
        let reader = BufReader::with_capacity(64 * 1024, reader);
        self.walk(&mut serde_json::Deserializer::from_reader(reader), see)
    }

    /// Like [`Shape::each`], for a document that is in memory, which is faster.
    pub(crate) fn each_in(&self, document: &[u8], see: &mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>) -> bool {
        self.walk(&mut serde_json::Deserializer::from_slice(document), see)
    }

    fn walk<'de, D: Deserializer<'de>>(
        self,
        document: D,
        see: &mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>,
    ) -> bool {
        let mut walk = DocumentWalk { shape: self, see, is_stopped: false };
        let read = match self.list {
            "" => document.deserialize_seq(MessagesVisitor(&mut walk)),
            _ => document.deserialize_map(MemberVisitor(&mut walk)),
        };
        read.is_ok() || walk.is_stopped
    }
}

struct DocumentWalk<'s> {
    shape: Shape,
    see: &'s mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>,
    is_stopped: bool,
}

impl DocumentWalk<'_> {
    fn show<E: de::Error>(&mut self, field: DocumentField<'_>) -> Result<(), E> {
        self.is_stopped = (self.see)(field).is_break();
        if self.is_stopped { Err(E::custom("enough was seen")) } else { Ok(()) }
    }
}

struct MemberVisitor<'w, 's>(&'w mut DocumentWalk<'s>);

impl<'de> Visitor<'de> for MemberVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let shape = self.0.shape;
        while let Some(key) = map.next_key::<String>()? {
            if key == shape.list {
                map.next_value_seed(MessagesVisitor(self.0))?;
            } else if shape.members.contains(&key.as_str()) {
                let value = map.next_value::<Box<RawValue>>()?;
                self.0.show(DocumentField::Member(&key, &value))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct MessagesVisitor<'w, 's>(&'w mut DocumentWalk<'s>);

impl<'de> DeserializeSeed<'de> for MessagesVisitor<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MessagesVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<Box<RawValue>>()? {
            self.0.show(DocumentField::Message(&message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_streams_document_until_first_error() {
        let shape = Shape { list: "messages", members: &["sessionId", "summary"] };
        let text = r#"{"sessionId":"s","x":[1],"messages":[{"id":"a"},7],"summary":"T","kind":3}"#;
        let shown = |text: &str, most: usize| {
            let mut seen = Vec::new();
            let is_read = shape.each(&mut text.as_bytes(), &mut |field| {
                seen.push(match field {
                    DocumentField::Member(key, value) => format!("{key}={value}"),
                    DocumentField::Message(raw) => raw.get().to_owned(),
                });
                if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            (is_read, seen)
        };
        let all = [r#"sessionId="s""#, r#"{"id":"a"}"#, "7", r#"summary="T""#].map(str::to_owned).to_vec();
        assert_eq!(shown(text, 9), (true, all.clone()));
        assert_eq!(shown(text, 1), (true, all[..1].to_vec()));
        assert_eq!(shown(&text[..30], 9), (false, all[..1].to_vec()));
        assert_eq!(shown("[]", 9), (false, Vec::new()));
        assert_eq!(shown(r#"{"messages":{},"summary":"T"}"#, 9), (false, Vec::new()));
    }
}
