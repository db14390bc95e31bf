//! Completion in elvish, with the descriptions that clap_complete leaves out.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap_complete::env::{self, EnvCompleter};

/// Reads lines of a value, a tab and a description, as the completer of fish prints them.
const SCRIPT: &str = r#"set edit:completion:arg-completer[NAME] = { |@words|
    use str
    env VAR="elvish" COMPLETER -- $@words | each { |line|
        var value @help = (str:split "\t" $line)
        if (eq $help []) {
            put $value
        } else {
            edit:complex-candidate $value &display=$value"  "$help[0]
        }
    }
}
"#;

/// Completion in elvish.
pub(super) struct Elvish;

impl EnvCompleter for Elvish {
    fn name(&self) -> &'static str {
        "elvish"
    }

    fn is(&self, name: &str) -> bool {
        name == "elvish"
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        _bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        write!(buf, "{}", SCRIPT.replace("NAME", name).replace("COMPLETER", completer).replace("VAR", var))
    }

    fn write_complete(
        &self,
        cmd: &mut clap::Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        env::Fish.write_complete(cmd, args, current_dir, buf)
    }
}
