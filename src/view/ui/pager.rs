//! The pager: the program that shows output longer than the screen.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::system::env::{Env, ProgramSearch};

/// A program that can be started.
#[derive(Debug)]
pub(crate) struct Pager {
    /// The file to run.
    pub program: PathBuf,
    args: Vec<String>,
    has_flags: bool,
    has_charset: bool,
}

impl Pager {
    /// Returns the program that `PAGER` or the config file names, else `less` or `more`. There is none if they name `cat` or
    /// nothing, or if none is installed.
    pub(crate) fn chosen(env: &Env) -> Option<Self> {
        let words = words(env);
        let wants_none = words.as_ref().is_some_and(|words| matches!(words.trim(), "" | "cat"));
        if wants_none { None } else { Self::installed(env, words.as_deref().unwrap_or_default()) }
    }

    /// Returns the configured pager, or the default one if the pager is disabled.
    pub(crate) fn in_any_case(env: &Env) -> Option<Self> {
        Self::chosen(env).or_else(|| Self::installed(env, ""))
    }

    /// Finds the first program that is installed. The words of a command are not passed to a shell.
    fn installed(env: &Env, words: &str) -> Option<Self> {
        let chosen: Vec<&str> = words.split_whitespace().collect();
        [chosen.as_slice(), &["less"], &["more"]].iter().find_map(|words| match env.find_program(words.first()?) {
            ProgramSearch::Found(program) => Some(Self {
                program,
                args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
                has_flags: env.variable("LESS").is_some(),
                has_charset: env.variable("LESSCHARSET").is_some(),
            }),
            _ => None,
        })
    }

    /// Starts the program; `flags` are those of less, unless `LESS` has some.
    pub(crate) fn start(&self, flags: &str) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        if !self.has_flags {
            command.env("LESS", flags);
        }
        if !self.has_charset {
            // Without a locale, as over ssh, less shows the bytes of other characters than ASCII.
            command.env("LESSCHARSET", "utf-8");
        }
        command.args(&self.args).stdin(Stdio::piped()).spawn()
    }
}

/// Returns the command that `PAGER` or the config file names.
fn words(env: &Env) -> Option<String> {
    let own = env.variable("PAGER").map(|pager| pager.to_string_lossy().into_owned());
    own.or_else(|| env.is_empty("PAGER").then(String::new)).or_else(|| env.config.pager.clone())
}
