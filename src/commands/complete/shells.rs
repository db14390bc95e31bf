//! Completion in fish, PowerShell and zsh: the adapters of `clap_complete`, without options for a word that begins none.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap_complete::env::EnvCompleter;

/// Returns whether the word under the cursor, the last one, may become an option.
///
/// An empty word is a value or a command: a screen of options would hide the sessions.
pub(super) fn begins_option(words: &[OsString]) -> bool {
    words.last().is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"))
}

/// An adapter for a shell whose candidates are lines.
pub(super) struct WithoutOptions<S>(pub S);

impl<S: EnvCompleter> EnvCompleter for WithoutOptions<S> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let mut script = Vec::new();
        self.0.write_registration(var, name, bin, completer, &mut script)?;
        // zsh would also pass the words after the cursor.
        let script = String::from_utf8_lossy(&script).replace("\"${words[@]}\"", "\"${(@)words[1,CURRENT]}\"");
        buf.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        cmd: &mut clap::Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let is_option = begins_option(&args);
        let mut found = Vec::new();
        self.0.write_complete(cmd, args, current_dir, &mut found)?;
        let lines = found.split_inclusive(|byte| *byte == b'\n');
        lines.filter(|line| is_option || !line.starts_with(b"-")).try_for_each(|line| buf.write_all(line))
    }
}
