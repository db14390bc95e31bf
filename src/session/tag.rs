//! Tags: words that a user assigns to sessions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word of letters, digits and `-_./@#` in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Tag(String);

/// Maximum number of characters of a tag.
const MOST: usize = 50;

impl FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./@#".contains(c);
        match text {
            "" => Err("a tag must not be empty".to_owned()),
            text if !text.starts_with(char::is_alphanumeric) || !text.chars().all(is_plain) => {
                Err("a tag is a word of letters, digits and -_./@#, and begins with a letter or a digit".to_owned())
            }
            text if text.chars().count() > MOST => Err(format!("a tag has at most {MOST} characters")),
            text => Ok(Self(text.to_lowercase())),
        }
    }
}

impl TryFrom<String> for Tag {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Tag> for String {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

/// Formats the tag as in the command that adds it, and as a mark: `+relay`.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.0)
    }
}

impl Tag {
    /// Returns the word.
    pub(crate) fn word(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_one_word_in_lower_case() {
        for (text, expected) in [("Relay", "+relay"), ("client/Über_2.0", "+client/über_2.0"), ("7", "+7")] {
            assert_eq!(text.parse::<Tag>().map(|tag| tag.to_string()), Ok(expected.to_owned()));
        }
        for text in ["", "-x", "+x", "a b", "a,b", "a:b", "a\u{1b}[2J", "a\"b", &"x".repeat(51)] {
            assert!(text.parse::<Tag>().is_err(), "{text:?}");
        }
    }
}
