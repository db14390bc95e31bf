//! The command line of the client: to continue a session, or to start a new one.

use std::collections::BTreeMap;

use super::live;
use crate::agent::as_last_argument;
use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::agent::ids::is_uuid;
use crate::agent::installed::{Package, PackageRegistry};
use crate::agent::moving::{follow_hint, leads_back};
use crate::agent::prelude::*;
use crate::system::names;

/// The client's package.
const PACKAGE: &str = "@anthropic-ai/claude-code";

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
    let job = live::job(copy);
    if let Some(job) = job.as_ref().filter(|_| prompt.is_some()) {
        let why = "it is open in the background, where only a terminal reaches it";
        return Err(Unable::from(why).hint(format!("resume it without --prompt, or run `claude stop {job}` first")));
    }
    let words = match &job {
        Some(job) => vec!["claude", "attach", job],
        None if prompt.is_some() => vec!["claude", "-p", "--resume", &copy.place.id],
        None => vec!["claude", "--resume", &copy.place.id],
    };
    let command = Command::new(&words, as_last_argument(prompt));
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

/// Refuses a version that looks for a session in one project alone, if links lead from its directory to that of another
/// project (2.1.197; since 2.1.223 every project is searched). Returns a warning if the version is unknown.
pub(super) fn check_program(copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
    let Some(dir) = copy.launch_dir.as_ref().map(|dir| &*dir.value) else { return Ok(None) };
    let target = names::link_target(dir).filter(|target| leads_back(&copy.place, target) == Some(false));
    let Some(target) = target else { return Ok(None) };
    let package =
        Package::find_on_path("claude", env).filter(|package| package.has_name(PackageRegistry::Npm, PACKAGE));
    let version = package.and_then(|package| Some((package.is_at_least([2, 1, 223])?, package.version)));
    let leads = format!("{} leads to {}", dir.display(), target.display());
    let hint = follow_hint(dir, &target);
    match version {
        Some((true, _)) => Ok(None),
        Some((false, version)) => {
            Err(Unable::from(format!("{leads}, where Claude Code {version} does not find it")).hint(hint))
        }
        None => Ok(Some(format!("{leads}, where Claude Code before 2.1.223 does not find it; {hint}"))),
    }
}
