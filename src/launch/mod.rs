//! Resuming: the plan with command and directory, the checks before the start, and the start.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::agent::installed::Package;
use crate::agent::{self, Unable};
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::shell::{self, printable_word};
use crate::format::text;
use crate::scan::relocated;
use crate::session::{AgentKind, Session};
use crate::system::env::{Env, HOST, ProgramSearch, Streams};
use crate::system::reach;

pub(crate) mod agent_command;
pub(crate) mod briefings;
pub(crate) mod checks;
pub(crate) mod copies;
pub(crate) mod log;
pub(crate) mod missing_dir;
pub(crate) mod resume;
pub(crate) mod wait;
pub(crate) mod worktree;
pub(crate) mod written;

use checks::DirIdentity;

/// Plans the resume of a session; the error is the reason why it is impossible.
pub(crate) fn plan(session: &Session, request: &LaunchRequest, env: &Env) -> Result<LaunchPlan, Unable> {
    let copy = session.copy();
    let agent = agent::by_kind(session.agent).ok_or("no agent resumes it")?;
    let mut command = agent.command(copy, request.prompt.as_deref())?;
    (agent.about().fit_command)(&mut command, copy, &|program| Package::find_on_path(program, env));
    command.argv.extend(request.args.iter().cloned());
    command.argv.append(&mut command.last);
    let store = &copy.place.store;
    let mut set = store.set.clone();
    let mut unset = command.unset;
    unset.extend(store.unset.iter().filter(|name| env.variable(name).is_some()));
    if env.foreign_home {
        set.insert("HOME".into(), env.home.clone().into_os_string());
    }
    if let (Some(program), Some(first)) = (&store.program, command.argv.first_mut())
        && agent.about().program == Some(&**first)
    {
        *first = program.to_string();
    }
    let dir = copy.launch_dir.as_ref().map(|fact| fact.value.to_path_buf());
    let has_prompt = request.prompt.is_some();
    Ok(LaunchPlan { argv: command.argv, dir, unset, set, then_type: command.then_type, has_prompt })
}

/// Plans a new session of an agent, without its directory and its first prompt, which is the last argument.
pub(crate) fn new_session(agent: AgentKind, request: &LaunchRequest, env: &Env) -> Result<LaunchPlan, Refusal> {
    let has_prompt = request.prompt.is_some();
    let command = |kind: AgentKind| {
        let new = agent::about(kind).new_session;
        if has_prompt { new.without_terminal } else { new.in_terminal }
    };
    let Some(first) = command(agent) else {
        let able = agent::all().iter().map(|agent| agent.kind()).filter(|kind| command(*kind).is_some());
        let able: Vec<&str> = able.map(AgentKind::name).collect();
        let (how, way) = match agent::about(agent).new_session.without_terminal {
            Some(_) if !has_prompt => (" in a terminal", "; with `--prompt TEXT` it answers without one"),
            _ => ("", ""),
        };
        let message = format!("rejoin cannot start {agent} with a briefing{how}");
        return Err(
            Refusal::new(RefusalCode::NotResumable, message).hint(format!("use one of {}{way}", text::list(&able)))
        );
    };
    let mut argv: Vec<String> = first.argv.iter().map(|&word| word.to_owned()).collect();
    argv.extend(request.args.iter().cloned());
    argv.extend(first.option.iter().map(|&word| word.to_owned()));
    let mut set = BTreeMap::new();
    if env.foreign_home {
        set.insert("HOME".into(), env.home.clone().into_os_string());
    }
    let unset = agent::about(agent).new_session.unset.to_vec();
    Ok(LaunchPlan { argv, dir: None, unset, set, then_type: None, has_prompt })
}

/// Returns whether `resume` would start a session, by the facts in a list: its copy is decided, its directory exists
/// and belongs to its project, its agent can open it, and no process uses it.
pub(crate) fn starts(session: &Session) -> bool {
    let joins = (agent::about(session.agent).joins)(session.copy());
    session.choice.is_decided
        && session.launch_dir_exists == Some(true)
        && session.copy().obstacle.is_none()
        && (joins || checks::check_liveness(session).is_ok())
        && checks::check_origin(session).is_ok()
        && checks::check_trust(session).is_ok()
        && starts_where_moved(session)
}

/// Returns whether an agent resumes a session in its new directory after a move, although the agent's own files
/// name another one.
fn starts_where_moved(session: &Session) -> bool {
    let moved = session.copy().launch_dir.as_ref().filter(|dir| dir.source == relocated::SOURCE);
    let agent = moved.and_then(|dir| Some((agent::by_kind(session.agent)?, &dir.value)));
    agent.is_none_or(|(agent, dir)| agent.check_start(session.copy(), dir).is_ok())
}

/// Finds the agent's program.
pub(crate) fn find_program(plan: &LaunchPlan, env: &Env) -> Result<PathBuf, Refusal> {
    let name = plan.argv.first().map_or("", String::as_str);
    match env.find_program(name) {
        ProgramSearch::Found(path) => Ok(path),
        ProgramSearch::NotExecutable(path) => {
            Err(Refusal::new(RefusalCode::CannotRun, format!("cannot run {}: it is not executable", path.display()))
                .hint(format!("make it executable with `chmod +x {}`", shell::word(&path.to_string_lossy()))))
        }
        ProgramSearch::Missing => {
            let message = format!("cannot find the program {name} on PATH");
            let hint = match &plan.then_type {
                // The agent may be started in a special way, such as from a checkout.
                Some(words) => format!("start it as usual, and type there: {words}"),
                None => format!(
                    "install {name}, or add its directory to PATH; see the command with `{}`",
                    crate::format::command_line::again(env, &["--wait"], &["--print"])
                ),
            };
            Err(Refusal::new(RefusalCode::ProgramNotFound, message).hint(hint))
        }
    }
}

impl LaunchPlan {
    /// Writes the plan as a line for a shell; `None` if a word of it cannot be printed.
    pub(crate) fn shell_line(&self, env: &Env) -> Option<String> {
        let mut line = String::new();
        if let Some(dir) = &self.dir {
            line.push_str("cd ");
            // A directory such as `-x` would be parsed as an option.
            line.push_str(if dir.as_os_str().as_encoded_bytes().starts_with(b"-") { "-- " } else { "" });
            line.push_str(&printable_word(dir.as_os_str())?);
            line.push_str(" && ");
        }
        let unset: Vec<_> = self.unset.iter().copied().filter(|name| env.variable(name).is_some()).collect();
        line.push_str(&shell::command(&unset, &self.set, &self.argv)?);
        Some(line)
    }

    /// Replaces this process with the agent; returns only on failure.
    pub(crate) fn exec(
        &self,
        program: &Path,
        dir: &Path,
        expected: Option<DirIdentity>,
        env: &Env,
    ) -> anyhow::Result<Infallible> {
        refuse_in_test(env)?;
        let mut command = self.enter(program, dir, expected)?;
        reach::end_helpers();
        let error = command.exec();
        Err(cannot_run(command.get_program(), &error).into())
    }

    /// Starts the agent as a child.
    pub(crate) fn spawn(
        &self,
        program: &Path,
        dir: &Path,
        expected: Option<DirIdentity>,
        env: &Env,
    ) -> anyhow::Result<Child> {
        refuse_in_test(env)?;
        let mut command = self.enter(program, dir, expected)?;
        command.spawn().map_err(|error| cannot_run(command.get_program(), &error).into())
    }

    /// Enters the launch directory and creates the agent's command.
    ///
    /// The directory is entered through a handle, so that the checked directory is the one entered.
    fn enter(&self, program: &Path, dir: &Path, expected: Option<DirIdentity>) -> anyhow::Result<Command> {
        use rustix::fs::{Mode, OFlags};
        let enter = |error: rustix::io::Errno| PathError::new("enter", dir, error.into());
        reach::refuse_silent(dir).map_err(|error| PathError::new("enter", dir, error))?;
        let handle = rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(enter)?;
        let found = File::from(handle.try_clone().map_err(|error| PathError::new("enter", dir, error))?).metadata();
        let found = found.map_err(|error| PathError::new("enter", dir, error))?;
        if expected.is_some_and(|expected| expected != DirIdentity::from(&found)) {
            let message = format!("the launch directory {} was changed just now", dir.display());
            return Err(Refusal::new(RefusalCode::DirectoryChanged, message).hint("check it and try again").into());
        }
        // Links are not resolved: a launcher may depend on its argv[0].
        let program = std::path::absolute(program).unwrap_or_else(|_| program.to_owned());
        rustix::process::fchdir(&handle).map_err(enter)?;
        let mut command = Command::new(&program);
        command.arg0(&self.argv[0]).args(&self.argv[1..]).env("PWD", dir).env_remove("OLDPWD");
        // Commands that the agent starts do not run for another host.
        command.env_remove(HOST);
        for name in &self.unset {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (&**name, value)));
        Ok(command)
    }
}

/// Fails in an in-process test, which must neither change its directory nor exec.
pub(crate) fn refuse_in_test(env: &Env) -> anyhow::Result<()> {
    anyhow::ensure!(matches!(env.streams, Streams::Process), "only a process of rejoin becomes another program");
    Ok(())
}

/// Returns the refusal for a program that could not be started.
pub(crate) fn cannot_run(program: &OsStr, error: &std::io::Error) -> Refusal {
    let exit = if error.kind() == std::io::ErrorKind::NotFound { Exit::ProgramNotFound } else { Exit::CannotRun };
    let message = format!("cannot run {}: {}", program.display(), crate::error::reason(error));
    Refusal { exit, ..Refusal::new(RefusalCode::CannotRun, message) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn launch_refuses_directory_changed_after_check() {
        let root = tempfile::tempdir().expect("a directory");
        let (dir, other) = (root.path().join("a"), root.path().join("b"));
        std::fs::create_dir(&dir).expect("a directory");
        std::fs::create_dir(&other).expect("a directory");
        let set_mode = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&dir, mode).expect("a mode");
        };
        set_mode(0o755);
        let checked = DirIdentity::read_dir(&dir);
        let plan = LaunchPlan {
            argv: vec!["true".to_owned()],
            dir: Some(dir.clone()),
            unset: Vec::new(),
            set: BTreeMap::new(),
            then_type: None,
            has_prompt: false,
        };
        let refused = |plan: &LaunchPlan| {
            let error = plan.enter(Path::new("/bin/true"), &dir, checked).expect_err("a refusal");
            error.downcast_ref::<Refusal>().map(|refusal| (refusal.exit, refusal.code))
        };
        set_mode(0o711);
        assert_eq!(refused(&plan), Some((Exit::Refused, RefusalCode::DirectoryChanged)));
        std::fs::rename(&dir, root.path().join("c")).expect("a move");
        std::fs::rename(&other, &dir).expect("a move");
        assert_eq!(refused(&plan), Some((Exit::Refused, RefusalCode::DirectoryChanged)));
    }

    #[test]
    fn shell_line_quotes_special_characters() {
        let plan = LaunchPlan {
            argv: ["claude", "--resume", "a;b"].map(str::to_owned).to_vec(),
            dir: Some("/x/it's $(touch y)".into()),
            unset: vec!["CLAUDECODE"],
            set: BTreeMap::from([("HOME".into(), "/h o".into())]),
            then_type: None,
            has_prompt: false,
        };
        // A variable that is not set is not unset.
        let line = plan.shell_line(&crate::system::env::tests::fixed()).expect("a line");
        assert_eq!(line, r#"cd '/x/it'"'"'s $(touch y)' && env HOME='/h o' claude --resume 'a;b'"#);
    }
}
