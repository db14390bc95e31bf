//! Finds the running programs of agents, because many agents leave no record of a session that is open and waits for
//! input.

use std::path::Path;

use super::{about, registry};
use crate::agent::about::About;
use crate::session::{Liveness, Located, SessionCopy};
use crate::system::process::{self, RunningProcess};
use crate::system::reach;

/// Variables that contain the directory of stores, for any agent.
const VARIABLES: [&str; 4] = ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
/// Programs that run a script, which is one of their arguments.
const INTERPRETERS: [&str; 9] = ["node", "bun", "deno", "python", "ruby", "sh", "bash", "dash", "env"];
/// Minimum length of the start of an id that names the session on a command line.
const MIN_PREFIX: usize = 8;

/// The running programs of agents.
pub(crate) struct Programs(Vec<RunningProcess>);

impl Programs {
    /// Finds the programs that run now.
    pub(crate) fn now() -> Self {
        let agents: Vec<&About> = registry::all().iter().map(|agent| about(agent.kind())).collect();
        Self(process::running(&|words| agents.iter().any(|about| runs(words, about))))
    }

    /// Returns a program that names a session on its command line.
    pub(crate) fn user_of(&self, place: &Located) -> Option<u32> {
        let about = about(place.agent());
        let named = |word: &String| {
            let value = value_of(word);
            let is_start = value.len() >= MIN_PREFIX && place.id.starts_with(value);
            value == place.id || is_start || Path::new(value) == &*place.path
        };
        let uses = |running: &&RunningProcess| {
            let mut arguments = running.words.iter().skip(1);
            runs(&running.words, about) && arguments.any(named) && may_use(running, place) != Some(false)
        };
        self.0.iter().find(uses).map(|running| running.pid)
    }

    /// Returns whether a session is open, or may be: any running program of an agent that leaves no record may have it
    /// open.
    pub(crate) fn liveness(&self, place: &Located) -> Option<Liveness> {
        if let Some(pid) = self.user_of(place) {
            return Some(Liveness::Live { pid });
        }
        let about = about(place.agent());
        let uses = |running: &&RunningProcess| {
            !about.marks_use && runs(&running.words, about) && may_use(running, place) == Some(true)
        };
        let pid = self.0.iter().find(uses)?.pid;
        let why = format!("{} runs as process {pid}, and leaves no mark of the session that it has open", about.title);
        Some(Liveness::Maybe { why })
    }

    /// Marks the copies that are open, or may be.
    pub(crate) fn mark(&self, copy: &mut SessionCopy) {
        match self.liveness(&copy.place) {
            Some(found) if matches!(found, Liveness::Live { .. }) || copy.liveness == Liveness::Idle => {
                copy.liveness = found;
            }
            _ => {}
        }
    }
}

/// Returns whether a command line is that of an agent's program.
fn runs(words: &[String], about: &About) -> bool {
    let Some(program) = about.program else { return false };
    let is_named = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        let stem = name.strip_suffix(".js").or(name.strip_suffix(".mjs")).or(name.strip_suffix(".py")).unwrap_or(name);
        let package = word.rsplit_once("/node_modules/").map(|(_, path)| path.rsplit_once('@').map_or(path, |it| it.1));
        let mut package = package.into_iter().flat_map(|path| path.split('/').take(2));
        let is_its =
            |part: &str| part.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        stem == program || stem.eq_ignore_ascii_case(about.title) || package.any(is_its)
    };
    let Some(first) = words.first() else { return false };
    let name = first.rsplit('/').next().unwrap_or_default();
    let is_interpreter =
        INTERPRETERS.iter().any(|it| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == *it);
    let scripts = words.iter().skip(1).filter(|word| !word.starts_with('-')).take(3).enumerate();
    let mut scripts = scripts.filter(|(at, word)| *at == 0 || word.contains('/')).map(|(_, word)| word);
    is_named(first) || (is_interpreter && scripts.any(|word| is_named(word)))
}

/// Returns whether a program may use the store of a session; a program with another home does not. `None` if the program
/// belongs to another user.
fn may_use(running: &RunningProcess, place: &Located) -> Option<bool> {
    let (about, (variables, cwd)) = (about(place.agent()), running.own.as_ref()?);
    let is_store = |name: &str| {
        VARIABLES.contains(&name) || place.store.set.contains_key(name) || about.variables.iter().any(|it| it.0 == name)
    };
    let set = variables.iter().filter_map(|set| set.split_once('='));
    let set: Vec<(&str, &str)> = set.filter(|(name, _)| is_store(name)).collect();
    let named = running.words.iter().map(|word| value_of(word)).chain(set.iter().map(|(_, value)| *value));
    let resolved = |path: &Path| reach::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (root, path) = (resolved(&place.store.root), resolved(&place.path));
    let is_above = |dir: &str| {
        let dir = Some(Path::new(dir)).filter(|dir| dir.is_absolute()).map(resolved);
        dir.is_some_and(|dir| path.starts_with(&dir) || root.starts_with(&dir))
    };
    // Some agents have their stores in the projects.
    let is_around = about.is_anywhere && path.ancestors().skip(1).take(2).any(|dir| cwd.starts_with(dir));
    let has_home = set.iter().any(|(name, _)| *name == VARIABLES[0]);
    Some(!has_home || is_around || named.into_iter().any(is_above))
}

/// Returns the value of an option such as `--session=ID`; any other word is returned unchanged.
fn value_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::AgentKind;

    #[test]
    fn process_matches_program_run_by_interpreter() {
        for (agent, line, expected) in [
            (AgentKind::Kimi, "/usr/bin/python3.13 /home/ana/.local/bin/kimi --session x", true),
            (AgentKind::Kimi, "Kimi CLI", true),
            (AgentKind::Gemini, "node --max-old-space-size=4096 /usr/bin/gemini", true),
            (AgentKind::Gemini, "/usr/bin/node /usr/lib/node_modules/@google/gemini-cli/bundle/x.js", true),
            (AgentKind::OpenCode, "/opt/opencode run", true),
            (AgentKind::Pi, "python3 train.py pi", false),
            (AgentKind::Pi, "vim /usr/bin/pi", false),
            (AgentKind::Pi, "pip install x", false),
            (AgentKind::Pi, "node /srv/node_modules/pino/bin.js", false),
            (AgentKind::Pi, "node /srv/node_modules/@x/pi-coding-agent/dist/cli.js", true),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let words = if line == "Kimi CLI" { vec![line.to_owned()] } else { words };
            assert_eq!(runs(&words, about(agent)), expected, "{line}");
        }
    }

    #[test]
    fn every_agent_names_its_program() {
        for agent in registry::all() {
            let (kind, program) = (agent.kind(), about(agent.kind()).program.unwrap_or_default());
            let is_name = !program.is_empty() && program.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            assert!(
                is_name,
                "agent {kind}: it names its program: {program:?} is not a name; see src/agent/{kind}/about.rs"
            );
        }
    }
}
