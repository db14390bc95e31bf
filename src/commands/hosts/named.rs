//! `HOST:ID`: a session that is named together with the host it lies on.

use clap::ValueEnum as _;

use crate::cli::{Cli, Command};
use crate::fleet::destination;
use crate::session::AgentKind;
use crate::system::env::Env;

/// Takes the host out of a session's name, as if `--host` had said it.
pub(crate) fn take_host(cli: &mut Cli, env: &mut Env) {
    let words = match &mut cli.command {
        Command::Resume(args) => &mut args.session,
        Command::Show(args) => &mut args.session,
        Command::Path(args) => &mut args.session,
        _ => return,
    };
    let [word] = words.as_mut_slice() else { return };
    let Some((host, id)) = parts(word).filter(|_| cli.global.hosts.is_empty()) else { return };
    let (host, id) = (host.to_owned(), id.to_owned());
    for typed in env.words.iter_mut().filter(|typed| *typed == word) {
        typed.clone_from(&id);
    }
    *word = id;
    cli.global.hosts.push(host);
}

/// Divides a word into a host and what is named there; what is nearly an agent's name is meant to be one.
fn parts(word: &str) -> Option<(&str, &str)> {
    let (host, id) = word.split_once(':')?;
    let is_agent = |name: &str| host.eq_ignore_ascii_case(name) || strsim::damerau_levenshtein(host, name) == 1;
    let is_host = destination::is_destination(host) && host != "ssh" && !id.is_empty() && !id.starts_with(' ');
    (is_host && !AgentKind::value_variants().iter().any(|agent| is_agent(agent.name()))).then_some((host, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_colon_is_a_host_unless_it_is_or_is_meant_to_be_an_agent() {
        assert_eq!(parts("box:31c5"), Some(("box", "31c5")));
        assert_eq!(parts("ana@box.lab:claude:31c5"), Some(("ana@box.lab", "claude:31c5")));
        for word in
            ["claude:31c5", "Claude:31c5", "cluade:31c5", "31c5", "box:", ":x", "fix: it", "a b:c", "-x:y", "ssh://box"]
        {
            assert_eq!(parts(word), None, "{word}");
        }
    }
}
