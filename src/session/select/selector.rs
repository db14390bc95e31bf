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
        if let Some((agent, id)) = in_command(text) {
            return Ok(Self::Id { agent, text: id.to_owned() });
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

/// Options of agents and of rejoin whose value is the id of a session.
const ID_OPTIONS: [&str; 11] = [
    "--resume",
    "-r",
    "--session",
    "-s",
    "--session-id",
    "--conversation",
    "--continue",
    "--id",
    "--resume-id",
    "--thread",
    "--fork",
];
/// Words after which commands of agents take the id of a session.
const ID_COMMANDS: [&str; 4] = ["resume", "continue", "attach", "fork"];

/// Returns whether the value of an option is the id of a session.
pub(crate) fn takes_id(option: &str) -> bool {
    ID_OPTIONS.contains(&option)
}

/// Finds the id in a pasted command, such as `cd /a && claude --resume ID`, and the agent if the program has its name.
pub(crate) fn in_command(text: &str) -> Option<(Option<AgentKind>, &str)> {
    /// Shorter values are numbers of a list, or words.
    const SHORTEST: usize = 4;
    let command = text.rsplit_once("&&").map_or(text, |(_, command)| command);
    let quotes = ['\'', '"', '`'];
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(quotes)).collect();
    // Variables may precede the program.
    let program = words.iter().position(|word| !word.contains('=') && !["env", "$"].contains(word))?;
    let agent = AgentKind::from_str(words[program], false).ok();
    let is_id = |word: &str| {
        let is_of_ids = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        word.len() >= SHORTEST && word.chars().all(is_of_ids) && word.contains(|c: char| c.is_ascii_digit())
    };
    let value = |at: usize| {
        let word = words[at];
        let next = || words.get(at + 1).copied();
        // Such as `amp threads continue ID`.
        let is_command = || agent.is_some() && at > program && at <= program + 2 && ID_COMMANDS.contains(&word);
        match word.split_once('=') {
            Some((option, value)) => Some(value.trim_matches(quotes)).filter(|_| takes_id(option)),
            None => next().filter(|_| takes_id(word) || is_command()),
        }
    };
    (0..words.len()).filter_map(value).find(|word| is_id(word) && !word.starts_with('-')).map(|id| (agent, id))
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
            ("claude --resume=5d1f", id(Some(AgentKind::Claude), "5d1f")),
            ("cd /a && copilot --resume='5d1f' --allow-all", id(Some(AgentKind::Copilot), "5d1f")),
            ("cursor-agent --resume 5d1f", id(None, "5d1f")),
            ("codex resume 5d1f 'go on'", id(Some(AgentKind::Codex), "5d1f")),
            ("env A=1 claude --resume 5d1f", id(Some(AgentKind::Claude), "5d1f")),
            ("amp threads continue T-5d1f", id(Some(AgentKind::Amp), "T-5d1f")),
            ("resume the 2024 report", id(None, "resume the 2024 report")),
            ("why did prime resume 2024", id(None, "why did prime resume 2024")),
            ("claude --resume 3", id(None, "claude --resume 3")),
            ("/x/y.jsonl", Selector::Path("/x/y.jsonl".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert!("".parse::<Selector>().is_err());
        assert!("claude:".parse::<Selector>().is_err());
    }
}
