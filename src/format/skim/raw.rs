//! An unparsed value of a record.

use std::borrow::Cow;

use serde::de::{self, Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{ends, members};
use crate::format::json::{Flag, Text, text_in};
use crate::format::json_text;

/// An unparsed value of a record; `None` if it is absent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw<'a>(pub(super) Option<&'a [u8]>);

impl<'a> Raw<'a> {
    /// Parses the value; a value of another type gives the default.
    pub(crate) fn read<T: Default + Deserialize<'a>>(self) -> T {
        self.0.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// Returns the string member `name` of the value.
    pub(crate) fn text_in(self, name: &str) -> Text<'a> {
        let mut found = Raw::default();
        let see = |key: &[u8], value| {
            if key == name.as_bytes() {
                found = value;
            }
        };
        let skimmed = self.0.and_then(|bytes| members(bytes, see));
        skimmed.and_then(|()| found.text()).unwrap_or_else(|| text_in(self.read(), name))
    }

    /// Like [`Raw::text_in`], but skims the members between the first and the last list or object only as a fallback.
    pub(crate) fn text_near_ends(self, name: &str) -> Text<'a> {
        let mut found = Raw::default();
        let see = |key: &[u8], value| {
            if key == name.as_bytes() {
                found = value;
            }
        };
        let skimmed = self.0.and_then(|bytes| ends(bytes, see));
        skimmed.and(found.0).and_then(|_| found.text()).unwrap_or_else(|| self.text_in(name))
    }

    /// Returns the value if it is a string, or an empty `Text` if it is not; `None` if it is not valid.
    pub(crate) fn text(self) -> Option<Text<'a>> {
        match self.0 {
            Some(json @ [b'"', ..]) => json_text::string(json).map(Text::from),
            _ => Some(Text::default()),
        }
    }

    /// Like [`Raw::text`], but `None` for every value other than a string or `null`, which a parser has to judge.
    pub(crate) fn text_or_null(self) -> Option<Text<'a>> {
        match self.0 {
            None | Some(b"null" | [b'"', ..]) => self.text(),
            Some(_) => None,
        }
    }

    /// Returns the value if it is a valid string, or else an empty `Text`.
    pub(crate) fn lenient_text(self) -> Text<'a> {
        self.text().unwrap_or_default()
    }

    /// Returns the value if it is a string that is not blank.
    #[inline]
    pub(crate) fn filled(self) -> Option<String> {
        self.0.and_then(|_| self.filled_text())
    }

    fn filled_text(self) -> Option<String> {
        self.text()?.filled().map(str::to_owned)
    }

    /// Returns whether the value is this string.
    pub(crate) fn is(self, text: &str) -> bool {
        match self.0 {
            Some([b'"', inner @ .., b'"']) if inner == text.as_bytes() => true,
            // An escape is longer than its character.
            Some([b'"', inner @ .., b'"']) if inner.len() > text.len() && inner.contains(&b'\\') => {
                self.lenient_text().get() == Some(text)
            }
            _ => false,
        }
    }

    /// Returns whether the value is a string.
    pub(crate) fn is_text(self) -> bool {
        matches!(self.0, Some([b'"', ..]))
    }

    /// Returns the value as it was written; `None` for `null`.
    pub(crate) fn source(self) -> Option<Cow<'a, str>> {
        self.0.filter(|bytes| *bytes != b"null").map(json_text::lossy)
    }

    /// Returns the bytes of the value.
    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        self.0
    }

    /// Returns the offset of the value in the line in which it was found.
    pub(crate) fn offset_in(self, line: &[u8]) -> Option<usize> {
        let at = self.0?.as_ptr().addr().checked_sub(line.as_ptr().addr())?;
        (at < line.len()).then_some(at)
    }

    /// Returns whether the value is `true`.
    pub(crate) fn flag(self) -> Flag {
        Flag(self.0 == Some(b"true"))
    }
}

impl<'a> From<&'a [u8]> for Raw<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Some(bytes))
    }
}

impl<'a> From<Option<&'a RawValue>> for Raw<'a> {
    fn from(raw: Option<&'a RawValue>) -> Self {
        Self(raw.map(|raw| raw.get().as_bytes()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer).map_err(de::Error::custom)?;
        Ok(Self(Some(raw.get().as_bytes())))
    }
}
