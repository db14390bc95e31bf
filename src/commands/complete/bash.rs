//! Completion in bash, which splits words at colons and equal signs, and which has no place for descriptions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap_complete::engine;
use clap_complete::env::EnvCompleter;
use unicode_width::UnicodeWidthStr as _;

use super::is_plain;
use super::shells::begins_option;
use crate::format::text;

/// Joins the words that bash split (`claude:31c5` arrives as three), and keeps the descriptions only for a list on the screen.
///
/// COMP_TYPE is 63, 33 or 64 if bash lists the candidates. It then inserts at most the beginning that they share, which ends
/// before any description, because their values differ.
const SCRIPT: &str = r#"_NAME() {
    local IFS=$'\013\n' words=() begun= last= word at answer
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
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[${#words[@]} - 1]="$begun$2"
    fi
    compopt +o nospace 2> /dev/null
    COMPREPLY=()
    answer=$(VAR="bash" "COMPLETER" -- "${words[@]}") || return
    read -r -d '' -a COMPREPLY <<< "$answer"
    COMPREPLY=("${COMPREPLY[@]#"$begun"}")
    if [[ ${#COMPREPLY[@]} -gt 1 && $COMP_TYPE == @(33|63|64) ]]; then
        COMPREPLY=("${COMPREPLY[@]/$'\t'/}")
    else
        COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    fi
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _NAME NAME
else
    complete -o nospace -o bashdefault -F _NAME NAME
fi
"#;

/// The separator of candidates in the script.
const SEPARATOR: char = '\u{b}';

/// The longest description, in columns, so that two candidates never share a line of a narrow screen.
const WIDEST: usize = 60;

/// Completion in bash.
pub(super) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
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
        // Bash inserts a value without quoting it, including names of files, so only plain values are offered.
        let (last, is_option) = (args.len().saturating_sub(1), begins_option(&args));
        let mut known = BTreeSet::new();
        let mut rows = Vec::new();
        for candidate in engine::complete(cmd, args, last, current_dir)? {
            let value = candidate.get_value().to_string_lossy().into_owned();
            let is_offered = value.chars().all(is_plain) && (is_option || !value.starts_with('-'));
            if is_offered && known.insert(value.clone()) {
                let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
                rows.push((value, help.lines().next().unwrap_or_default().to_owned()));
            }
        }
        let widest = rows.iter().map(|(value, _)| value.width()).max().unwrap_or_default();
        let rows = rows.into_iter().map(|(value, help)| match help.as_str() {
            "" => value,
            help => format!("{value}\t{:1$}({2})", "", widest - value.width() + 2, text::truncated(help, WIDEST)),
        });
        write!(buf, "{}", rows.collect::<Vec<_>>().join(&SEPARATOR.to_string()))
    }
}
