//! Bash splits words at colons and equal signs, so what it hands over is put together again, and what it has already is taken
//! off the candidates.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use super::is_plain;
use clap_complete::env;
use clap_complete::env::EnvCompleter;

/// How the words are taken by the script that clap_complete writes.
const AS_SPLIT: &str = r#"    local words=("${COMP_WORDS[@]}")
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[COMP_CWORD]="$2"
    fi
"#;
/// How they are taken here: `claude:31c5` comes as three words.
const TOGETHER: &str = r#"    local words=() begun= last= word at
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if ((at > 0)) && [[ $word == [:=] ]]; then
            words[${#words[@]} - 1]+=$word
            begun=${words[${#words[@]} - 1]}
        elif [[ -n $word && $last == [:=] ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
            begun=
        fi
        last=$word
    done
    _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1))
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[_CLAP_COMPLETE_INDEX]="$begun$2"
    fi
"#;
/// What follows once the candidates are there.
const ANSWERED: &str = r#"    if [[ $? != 0 ]]; then
        unset COMPREPLY
    elif"#;
const WITHOUT_BEGINNING: &str = r#"    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    COMPREPLY=("${COMPREPLY[@]#"$begun"}")
    if"#;

/// What the script has between two candidates.
const SEPARATOR: char = '\u{b}';

/// Completion in bash.
pub(super) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        env::Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        env::Bash.is(name)
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
        env::Bash.write_registration(var, name, bin, completer, &mut script)?;
        let script = String::from_utf8(script).map_err(io::Error::other)?;
        write!(buf, "{}", script.replace(AS_SPLIT, TOGETHER).replace(ANSWERED, WITHOUT_BEGINNING))
    }

    fn write_complete(
        &self,
        cmd: &mut clap::Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        // Bash puts an answer on the line as it is, names of files too, so only what is plain there is one.
        let mut answer = Vec::new();
        env::Bash.write_complete(cmd, args, current_dir, &mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let between = if answer.contains(SEPARATOR) { SEPARATOR } else { '\n' };
        let plain: Vec<&str> = answer.split(between).filter(|value| value.chars().all(is_plain)).collect();
        buf.write_all(plain.join(&between.to_string()).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_still_the_one_that_is_changed_here() {
        let mut script = Vec::new();
        env::Bash.write_registration("COMPLETE", "rejoin", "rejoin", "rejoin", &mut script).expect("a script");
        let script = String::from_utf8(script).expect("text");
        assert!(script.contains(AS_SPLIT) && script.contains(ANSWERED), "{script}");
    }
}
