//! `HOST:ID`: the name of a session with its host.

use clap::ValueEnum as _;

use crate::cli::{Cli, Command};
use crate::config::Config;
use crate::error::{Refusal, RefusalCode};
use crate::fleet::destination;
use crate::session::AgentKind;
use crate::session::matching::is_filter_name;
use crate::session::nearly::slips;
use crate::system::env::Env;

/// Moves the host from a session's name to `--host`; refuses both together, which could name two.
pub(crate) fn take_host(cli: &mut Cli, env: &mut Env) -> Result<(), Refusal> {
    let words = match &mut cli.command {
        Command::Resume(args) => &mut args.session,
        Command::Show(args) => &mut args.session,
        _ => return Ok(()),
    };
    let [word] = words.as_mut_slice() else { return Ok(()) };
    let Some((host, id)) = parts(word, &env.config) else { return Ok(()) };
    if !cli.global.hosts.is_empty() {
        let message = format!("{word} names the host {host}, and --host names one too");
        return Err(Refusal::new(RefusalCode::Usage, message).hint(format!("leave out --host, or name {id} alone")));
    }
    let (host, id) = (host.to_owned(), id.to_owned());
    for typed in env.invocation.words.iter_mut().filter(|typed| *typed == word) {
        typed.clone_from(&id);
    }
    *word = id;
    cli.global.hosts.push(host);
    Ok(())
}

/// A shorter name is similar to too many others for a slip to be recognized.
const LEAST: usize = 5;

/// Divides a word into a host and the name there. A host of the config file is always taken as a host; an agent's name
/// or a similar one is taken as an agent, and a filter and an address are neither. A title such as `feat:add` must not
/// open a connection, so a name without `@` and dot is a host only before an id or `latest`.
fn parts<'w>(word: &'w str, config: &Config) -> Option<(&'w str, &'w str)> {
    let (host, id) = word.split_once(':')?;
    let is_known = |group: (&String, &Vec<String>)| group.0 == host || group.1.iter().any(|member| member == host);
    if !id.is_empty() && config.hosts.iter().any(is_known) {
        return Some((host, id));
    }
    let is_agent = |name: &str| {
        let is_near = name.len() >= LEAST && (host.starts_with(name) || slips(name, host).is_some());
        host.eq_ignore_ascii_case(name) || is_near
    };
    let is_name = !id.is_empty() && !id.starts_with(' ') && !id.starts_with("//") && !is_filter_name(host);
    let is_host =
        destination::is_destination(host) && is_name && (host.contains(['@', '.']) || is_id(id) || id == "latest");
    (is_host && !AgentKind::value_variants().iter().any(|agent| is_agent(agent.name()))).then_some((host, id))
}

/// Returns whether a word is an id or the beginning of one, optionally after an agent.
fn is_id(word: &str) -> bool {
    let (agent, id) = word.split_once(':').unwrap_or(("", word));
    let is_agent = agent.is_empty() || AgentKind::value_variants().iter().any(|known| known.name() == agent);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    is_agent && id.chars().all(is_part) && id.contains(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;

    #[test]
    fn prefix_is_host_unless_it_resembles_agent() {
        let mut env = fixed();
        env.config.hosts.insert("lab".to_owned(), vec!["codexx".to_owned()]);
        let parts = |word| parts(word, &env.config);
        assert_eq!(parts("box:31c5"), Some(("box", "31c5")));
        assert_eq!(parts("pc:31c5"), Some(("pc", "31c5")));
        assert_eq!(parts("codexx:31c5"), Some(("codexx", "31c5")), "the config file names it");
        assert_eq!(parts("ana@box.lab:claude:31c5"), Some(("ana@box.lab", "claude:31c5")));
        assert_eq!(parts("ana@box:cart"), Some(("ana@box", "cart")));
        assert_eq!(parts("box:latest"), Some(("box", "latest")));
        for word in [
            "claude:31c5",
            "Claude:31c5",
            "cluade:31c5",
            "31c5",
            "box:",
            ":x",
            "fix: it",
            "fix:login",
            "feat:add",
            "fix:issue 12",
            "a b:c",
            "-x:y",
            "ssh://box",
            "agent:claude",
            "https://a/b",
            "claude-code:1",
            "amplfeir:1",
        ] {
            assert_eq!(parts(word), None, "{word}");
        }
    }
}
