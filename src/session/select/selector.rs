//! The user's argument for one session, or one copy of it.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum as _;

use crate::session::AgentKind;

/// The user's argument for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// The session with the newest activity.
    Latest,
    /// A full id or a prefix of one, optionally of one agent only.
    Id {
        /// The agent, if one is required.
        agent: Option<AgentKind>,
        /// The id or its prefix.
        text: String,
    },
    /// A file or directory of a session, or an app's directory with a pointer.
    Path(PathBuf),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("SESSION must not be empty".to_owned());
        }
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if let Some((agent, rest)) = text.split_once(':')
            && let Ok(agent) = AgentKind::from_str(agent, false)
        {
            if rest.is_empty() {
                return Err(format!("the id after '{agent}:' must not be empty"));
            }
            return Ok(Self::Id { agent: Some(agent), text: rest.to_owned() });
        }
        if text.contains('/') || matches!(text, "." | ".." | "~") {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        Ok(Self::Id { agent: None, text: text.to_owned() })
    }
}

/// The user's argument for one copy of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopySelector {
    /// The number in the list of candidates, counted from 1.
    Number(usize),
    /// The file or directory.
    Path(PathBuf),
}

impl FromStr for CopySelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("copies are counted from 1".to_owned()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if text.is_empty() => Err("name a copy by its number or its path".to_owned()),
            Err(_) => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

impl std::fmt::Display for CopySelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_distinguishes_id_path_and_latest() {
        let id = |agent, text: &str| Selector::Id { agent, text: text.to_owned() };
        for (text, expected) in [
            ("latest", Selector::Latest),
            ("5d1f", id(None, "5d1f")),
            ("claude:5d1f", id(Some(AgentKind::Claude), "5d1f")),
            ("other:5d1f", id(None, "other:5d1f")),
            ("./latest", Selector::Path("./latest".into())),
            ("~", Selector::Path("~".into())),
            ("/x/y.jsonl", Selector::Path("/x/y.jsonl".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert!("".parse::<Selector>().is_err());
        assert!("claude:".parse::<Selector>().is_err());
    }
}
