//! How an agent's program is started: the command that an agent tells, what is asked of it, and the plan of a launch.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// How an agent's program is started for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// The program and its arguments; nothing passes through a shell.
    pub argv: Vec<String>,
    /// Arguments that come last, after those that a user adds.
    pub last: Vec<String>,
    /// Variables that would make the agent misbehave.
    pub unset: Vec<&'static str>,
    /// What to type once the agent runs, where it takes no id on its command line.
    pub then_type: Option<String>,
}

impl Command {
    /// Makes a command without variables to unset and without anything to type.
    pub(super) fn new(argv: &[&str], last: Vec<String>) -> Self {
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        Self { argv, last, unset: Vec::new(), then_type: None }
    }
}

/// Explains why the installed program cannot resume a session, and names the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unable {
    pub(crate) why: String,
    pub(crate) hint: String,
}

/// Returns a prompt as the last argument, which a program must not take for an option.
pub(super) fn as_last_argument(prompt: Option<&str>) -> Vec<String> {
    match prompt {
        Some(prompt) if prompt.starts_with('-') => vec!["--".to_owned(), prompt.to_owned()],
        Some(prompt) => vec![prompt.to_owned()],
        None => Vec::new(),
    }
}

/// Returns a prompt as the value of `--prompt`, for agents that take it so.
pub(super) fn as_prompt_option(prompt: Option<&str>) -> Vec<String> {
    as_option(prompt, "-p", "--prompt")
}

/// Returns a prompt as the value of an option. A prompt that looks like an option itself is tied to the long name.
pub(super) fn as_option(prompt: Option<&str>, short: &str, long: &str) -> Vec<String> {
    match prompt {
        Some(prompt) if prompt.starts_with('-') => vec![format!("{long}={prompt}")],
        Some(prompt) => vec![short.to_owned(), prompt.to_owned()],
        None => Vec::new(),
    }
}

/// What would be started, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where; `None` when nothing tells.
    pub dir: Option<PathBuf>,
    /// Variables to remove.
    pub unset: Vec<&'static str>,
    /// Variables to set.
    pub set: BTreeMap<&'static str, OsString>,
    /// What to type once the agent runs.
    pub then_type: Option<String>,
    /// Whether it is to answer one prompt and end.
    pub has_prompt: bool,
}

/// What is asked of the agent beyond resuming.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// One prompt to answer without a terminal.
    pub prompt: Option<String>,
    /// Further arguments for the agent.
    pub args: Vec<String>,
}
