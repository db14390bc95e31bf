//! The command line of an agent's program, the user's request, and the plan of a launch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::Unable;
use crate::session::{Health, SessionCopy, SessionKind};

/// The command line that starts an agent's program for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// The program and its arguments; no shell is involved.
    pub argv: Vec<String>,
    /// The last arguments, after those that the user adds.
    pub last: Vec<String>,
    /// Variables to unset, because they would make the agent misbehave.
    pub unset: Vec<&'static str>,
    /// Text to type after the start, if the agent accepts no id on its command line.
    pub then_type: Option<String>,
}

impl Command {
    /// Creates a command without variables to unset and without text to type.
    pub(super) fn new(argv: &[&str], last: Vec<String>) -> Self {
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        Self { argv, last, unset: Vec::new(), then_type: None }
    }
}

/// Commands that start a new session with a first prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewSession {
    /// The command that stays in the terminal after the first reply, if the agent has one.
    pub in_terminal: Option<FirstPrompt>,
    /// The command that prints the reply and ends, if the agent has one.
    pub without_terminal: Option<FirstPrompt>,
    /// Variables to unset, because they would make the agent misbehave.
    pub unset: &'static [&'static str],
}

/// The words of a command before its first prompt, which is the last argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstPrompt {
    /// The program and its arguments, before those that a user adds.
    pub argv: &'static [&'static str],
    /// The option whose value is the prompt; empty if the prompt is an argument.
    pub option: &'static [&'static str],
}

impl NewSession {
    /// Base for an agent without any known command.
    pub(crate) const NONE: Self = Self { in_terminal: None, without_terminal: None, unset: &[] };

    /// Adds the command that stays in the terminal.
    pub(super) const fn in_terminal(mut self, argv: &'static [&'static str], option: &'static [&'static str]) -> Self {
        self.in_terminal = Some(FirstPrompt { argv, option });
        self
    }

    /// Adds the command that prints the reply and ends.
    pub(super) const fn without_terminal(
        mut self,
        argv: &'static [&'static str],
        option: &'static [&'static str],
    ) -> Self {
        self.without_terminal = Some(FirstPrompt { argv, option });
        self
    }

    /// Adds variables to unset, because they would make the agent misbehave.
    pub(super) const fn unset(mut self, names: &'static [&'static str]) -> Self {
        self.unset = names;
        self
    }
}

/// Refuses a sub-agent's session, which only its parent continues.
pub(super) fn refuse_subagent(copy: &SessionCopy) -> Result<(), Unable> {
    let why = "it is a sub-agent's session; resume its parent session";
    if copy.kind == SessionKind::Subagent { Err(why.into()) } else { Ok(()) }
}

/// Refuses a prompt, for an agent that takes none with a session to resume.
pub(super) fn refuse_prompt(prompt: Option<&str>, why: &str) -> Result<(), Unable> {
    if prompt.is_some() { Err(why.into()) } else { Ok(()) }
}

/// Refuses a session with invalid content, with the first note on it.
pub(super) fn refuse_invalid(copy: &SessionCopy) -> Result<(), Unable> {
    if copy.health.contains(Health::InvalidContent) {
        return Err(copy.notes.first().map_or(Health::InvalidContent.meaning(), String::as_str).into());
    }
    Ok(())
}

/// Returns a prompt as the last argument, in a form that the program cannot parse as an option.
pub(super) fn as_last_argument(prompt: Option<&str>) -> Vec<String> {
    match prompt {
        Some(prompt) if prompt.starts_with('-') => vec!["--".to_owned(), prompt.to_owned()],
        Some(prompt) => vec![prompt.to_owned()],
        None => Vec::new(),
    }
}

/// Returns a prompt as the value of `--prompt`, for agents with this option.
pub(super) fn as_prompt_option(prompt: Option<&str>) -> Vec<String> {
    as_option(prompt, "-p", "--prompt")
}

/// Returns a prompt as the value of an option. A prompt that looks like an option is attached to the long name.
pub(super) fn as_option(prompt: Option<&str>, short: &str, long: &str) -> Vec<String> {
    match prompt {
        Some(prompt) if prompt.starts_with('-') => vec![format!("{long}={prompt}")],
        Some(prompt) => vec![short.to_owned(), prompt.to_owned()],
        None => Vec::new(),
    }
}

/// The command that would be started, and its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory; `None` if it is unknown.
    pub dir: Option<PathBuf>,
    /// Variables to remove.
    pub unset: Vec<&'static str>,
    /// Variables to set.
    pub set: BTreeMap<Cow<'static, str>, OsString>,
    /// Text to type after the start.
    pub then_type: Option<String>,
    /// Set if the agent is to answer one prompt and end.
    pub has_prompt: bool,
}

/// The user's request to the agent beyond resuming.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchRequest {
    /// One prompt to answer without a terminal.
    pub prompt: Option<String>,
    /// Further arguments for the agent.
    pub args: Vec<String>,
}
