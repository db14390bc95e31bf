//! The command line for ssh. No typed or foreign text becomes code for the remote shell.

use std::time::Duration;

use crate::format::{command_line, shell};
use crate::system::env::{ASKED, COLUMNS, FORCE_COLORS, HOST};

/// The first line that the other host writes, so that output of its login is not taken for an answer.
pub(super) const GREETING: &str = "rejoin answers";
/// A non-login shell has a short PATH: programs of the user are often in these directories.
const DIRS: &str = "$PATH:$HOME/.local/bin:$HOME/.cargo/bin:/usr/local/bin:/opt/homebrew/bin";
/// Time of silence after which ssh checks that the host is alive, in seconds, and the number of checks.
const ALIVE: [&str; 2] = ["ServerAliveInterval=15", "ServerAliveCountMax=3"];

/// Options for asking another host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Time limit for ssh to connect.
    pub timeout: Duration,
    /// Limit on the silence of a host while its answer is awaited.
    pub silence: Duration,
    /// Set if the host may ask the user at this terminal.
    pub is_asked: bool,
    /// The width of the screen that shows the answer; `None` for a pipe.
    pub columns: Option<u16>,
    /// Set if that screen shows colours.
    pub has_colors: bool,
}

impl Manner {
    /// Returns variables that describe this terminal to a rejoin that writes to a pipe.
    pub(super) fn variables(self) -> Vec<(&'static str, String)> {
        let columns = self.columns.map(|columns| (COLUMNS, columns.to_string()));
        let set = |name, is_set: bool| is_set.then(|| (name, "1".to_owned()));
        columns.into_iter().chain(set(FORCE_COLORS, self.has_colors)).chain(set(ASKED, self.is_asked)).collect()
    }
}

/// Returns the command that asks a host; `words` are the arguments of `rejoin` there.
pub(super) fn to_ask(destination: &str, words: &[String], manner: Manner) -> Vec<String> {
    let timeout = format!("ConnectTimeout={}", manner.timeout.as_secs().max(1));
    let batch = Some("BatchMode=yes").filter(|_| !manner.is_asked);
    let options = batch.into_iter().chain([&*timeout]).chain(ALIVE).flat_map(|option| ["-o", option]);
    let ssh = ["ssh", "-T"].into_iter().chain(options).chain(["--", destination]);
    let set = manner.variables().into_iter().map(|(name, value)| format!("{name}={value}; export {name}; "));
    // A question is written to standard error, after its context on standard output: one stream keeps the order.
    let streams = if manner.is_asked { "exec 2>&1; " } else { "" };
    let first = format!("{}echo; echo {GREETING}; {streams}", set.collect::<String>());
    let remote = remote(destination, &first, words);
    ssh.map(str::to_owned).chain(remote).collect()
}

/// Returns the ssh command that runs `rejoin` on a host in this terminal.
pub(crate) fn to_enter(destination: &str, words: &[String], has_terminal: bool) -> Vec<String> {
    let ssh = ["ssh", if has_terminal { "-t" } else { "-T" }, "--", destination];
    ssh.into_iter().map(str::to_owned).chain(remote(destination, "", words)).collect()
}

/// Returns the remote part of the command. ssh joins its words with blanks and passes them to the login shell there, so
/// each word is quoted for that shell; the script is for `sh`, whatever that shell is.
fn remote(destination: &str, first: &str, words: &[String]) -> Vec<String> {
    let host = shell::word(destination);
    let script = format!("PATH={DIRS}; {HOST}={host}; export PATH {HOST}; {first}exec \"$0\" \"$@\"");
    let fixed = ["exec", "sh", "-c", &script, "rejoin"].map(str::to_owned);
    fixed.iter().chain(words).map(|word| shell::word(word).into_owned()).collect()
}

/// Options that this machine handles: the hosts to ask, and the form of the answer.
const OURS: &[&str] = &["--host=", "--hosts=", "--connect-timeout=", "--answer-timeout=", "--color="];
/// Options for the form of an answer that is built from the hosts' answers.
pub(crate) const FORM: &[&str] = &["--format=", "--json"];

/// Returns the words for another host: the typed ones without those that this machine handles, and some more.
pub(crate) fn of_others(typed: &[String], without: &[&str], with: &[String]) -> Vec<String> {
    let left_out: Vec<&str> = OURS.iter().chain(without).copied().collect();
    command_line::without(typed, &left_out, with)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn hostile_arguments_reach_host_unchanged() {
        let evil =
            ["$(touch x)", "a'b", "a\\'b;id", "`id`", "--host", "~", "a\nb", "*", "!!", "", "é\u{202e}", "a\"$b"];
        let words: Vec<String> = evil.map(str::to_owned).to_vec();
        let argv = to_enter("box", &words, false);
        let line = argv[4..].join(" ");
        // The remote shell passes the words to `rejoin`; here `printf` replaces it.
        let line = line.replacen(" rejoin ", " printf '%s\\0' ", 1);
        let shells = ["sh", "bash", "zsh", "fish", "dash"];
        let is_there = |shell: &&&str| Command::new(shell).args(["-c", "true"]).status().is_ok_and(|it| it.success());
        for shell in shells.iter().filter(is_there) {
            let output = Command::new(shell).args(["-c", &line]).output().expect("a shell");
            let stdout = String::from_utf8(output.stdout).expect("text");
            assert_eq!(stdout.split_terminator('\0').collect::<Vec<_>>(), evil, "{shell}: {line}");
        }
    }

    #[test]
    fn ssh_uses_batch_mode_unless_it_may_ask() {
        let (timeout, silence) = (Duration::from_secs(7), Duration::from_secs(9));
        let manner = Manner { timeout, silence, is_asked: false, columns: Some(80), has_colors: true };
        let line = |manner| to_ask("ana@box", &["list".to_owned()], manner).join(" ");
        let asked = line(Manner { is_asked: true, ..manner });
        assert!(asked.starts_with("ssh -T -o ConnectTimeout=7 ") && asked.contains("exec 2>&1; "), "{asked}");
        let line = line(manner);
        assert!(line.starts_with("ssh -T -o BatchMode=yes -o ConnectTimeout=7 "), "{line}");
        assert!(line.contains(" -- ana@box exec sh -c ") && line.ends_with(" rejoin list"), "{line}");
    }

    #[test]
    fn command_omits_host_and_format_options() {
        let typed = ["list", "--host", "a", "--hosts=b,c", "--json", "-r", "--since", "7d", "--", "--host"];
        let typed: Vec<String> = typed.map(str::to_owned).to_vec();
        let with = ["--format=ndjson".to_owned()];
        let there = ["list", "-r", "--since", "7d", "--format=ndjson", "--", "--host"];
        assert_eq!(of_others(&typed, FORM, &with), there);
        let typed = ["resume", "x", "--prompt", "-"].map(str::to_owned);
        assert_eq!(of_others(&typed, &["--prompt="], &[]), ["resume", "x"]);
        assert_eq!(of_others(&typed, &[], &[]), typed);
    }
}
