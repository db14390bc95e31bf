//! The command line of the client: to continue a session, or to start a new one.

use std::collections::BTreeMap;

use crate::agent::as_last_argument;
use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;

/// Variables that a client must not inherit from another one: with them it keeps no transcript, or takes itself for the
/// other session (measured on 2.1.330).
pub(super) const NESTED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
];

/// Returns the command that continues a session, or the reason why there is none.
pub(super) fn command(copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
    refuse_subagent(copy)?;
    if copy.kind == SessionKind::Empty {
        return Err("it has neither a prompt nor a reply, so Claude Code does not find it".into());
    }
    if !is_uuid(&copy.place.id) {
        return Err("its id is not a UUID".into());
    }
    let words: &[&str] = if prompt.is_some() { &["claude", "-p", "--resume"] } else { &["claude", "--resume"] };
    let command = Command::new(&[words, &[copy.place.id.as_str()]].concat(), as_last_argument(prompt));
    Ok(Command { unset: NESTED.to_vec(), ..command })
}

/// Returns the plan of a new session in a directory, in the store that the client itself would use.
pub(in crate::agent) fn start_new(dir: PathBuf, request: &LaunchRequest, env: &Env) -> LaunchPlan {
    let mut set = BTreeMap::new();
    if env.foreign_home {
        set.insert("HOME".into(), env.home.clone().into_os_string());
    }
    let mut argv = vec!["claude".to_owned()];
    argv.extend(request.prompt.is_some().then(|| "-p".to_owned()));
    argv.extend(request.args.iter().cloned());
    argv.extend(as_last_argument(request.prompt.as_deref()));
    LaunchPlan {
        argv,
        dir: Some(dir),
        unset: NESTED.to_vec(),
        set,
        then_type: None,
        has_prompt: request.prompt.is_some(),
    }
}
