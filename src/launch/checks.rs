//! The checks before a session is resumed; each refusal has its own message, code and hint.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::agent;
use crate::agent::upkeep::{BadLine, HalfLine};
use crate::error::{Refusal, RefusalCode};
use crate::format::jsonl::{Jsonl, is_line_wise};
use crate::format::{command_line, shell};
use crate::launch::log::{self, Launch, TooMany};
use crate::scan::LONG_TO_COUNT;
use crate::scan::off_branch::OffBranch;
use crate::scan::stuck;
use crate::scan::worktree::{NoWorktree, WorktreeRemedy};
use crate::session::{Liveness, Session, recorded, when};
use crate::system::env::Env;
use crate::system::{names, reach};

/// Returns the selector that matches just this session, quoted for a shell.
pub(crate) fn name(session: &Session) -> String {
    shell::selector(session.agent, session.id())
}

/// Returns the command that resumes this session, and the copy that the user named.
pub(crate) fn resume(session: &Session) -> String {
    let copy = session.choice.named.map(|number| format!(" --copy {number}")).unwrap_or_default();
    format!("rejoin resume {}{copy}", name(session))
}

/// Refuses to resume a session that a running process has open.
pub(crate) fn check_liveness(session: &Session) -> Result<Option<String>, Refusal> {
    match &session.copy().liveness {
        Liveness::Idle => Ok(None),
        Liveness::Maybe { why } => Ok(Some(format!("the session may be in use: {why}"))),
        Liveness::Live { pid } => {
            let message = format!("{} session {} is in use by process {pid}", session.agent, session.id());
            Err(Refusal::new(RefusalCode::Live, message)
                .hint(format!("end it there first, or resume it anyway with `{} --force`", resume(session))))
        }
    }
}

/// Returns a warning if a session is in use that is only read.
pub(crate) fn use_while_read(session: &Session) -> Option<String> {
    let (agent, id) = (session.agent, session.id());
    match &session.copy().liveness {
        Liveness::Idle => None,
        Liveness::Maybe { why } => Some(format!("the session may be in use: {why}; it is read as it is now")),
        Liveness::Live { pid } => {
            Some(format!("{agent} session {id} is in use by process {pid}; it is read as it is now"))
        }
    }
}

/// Refuses to start a program that cannot resume the session; returns a warning if that is unknown.
pub(crate) fn check_program(session: &Session, env: &Env) -> Result<Option<String>, Refusal> {
    let Some(agent) = agent::by_kind(session.agent) else { return Ok(None) };
    agent.check_program(session.copy(), env).map_err(|unable| {
        let message = format!("{} session {} cannot be resumed: {unable}", session.agent, session.id());
        Refusal { hint: unable.hint, ..Refusal::new(RefusalCode::WrongProgram, message) }
    })
}

/// Refuses to start an agent that cannot open the session.
pub(crate) fn check_opens(session: &Session) -> Result<(), Refusal> {
    let Some(obstacle) = session.copy().obstacle.as_deref() else { return Ok(()) };
    let message = format!("{} session {} cannot be opened: {}", session.agent, session.id(), obstacle.why);
    let name = name(session);
    let mend = match &obstacle.hint {
        Some(hint) => format!("{hint}, or "),
        None if agent::about(session.agent).can_slim(session.copy()) => {
            format!("run `rejoin rewind {name} --slim` for a session without its images and long results, or ")
        }
        None if obstacle.is_mendable => "run `rejoin doctor --fix --check cannot-open`, or ".to_owned(),
        None => String::new(),
    };
    let hint = format!("{mend}keep it with `{}`", obstacle.export(&name));
    Err(Refusal::new(RefusalCode::NotResumable, message).hint(hint))
}

/// Refuses to start an agent that would lose messages because of a line that is not a record.
pub(crate) fn check_lines(session: &Session) -> Result<(), Refusal> {
    let about = agent::about(session.agent);
    let open = match about.needs_newline().then(|| last_line(session)).flatten() {
        Some(LastLine::Whole) => Some("the last record of its transcript has no newline"),
        // Kimi Code removes half a record.
        Some(LastLine::Half) if about.half_line != HalfLine::PassedOver => {
            Some("the last line of its transcript was cut off")
        }
        Some(LastLine::Half) | None => None,
    };
    let open = open.map(|open| ("torn-transcript", open.to_owned()));
    let bad = || Some(("bad-lines", format!("line {} of its transcript is not a record", first_bad_line(session)?)));
    let (found, effect) = match about.bad_line {
        BadLine::Failing => (open.or_else(bad), "then fails on every session of this store"),
        BadLine::Ending => (open.or_else(bad), "then drops that line and everything after it"),
        BadLine::Skipped | BadLine::Unknown => {
            (open, "writes its next record on that line, and then loses the conversation before it")
        }
    };
    let Some((check, problem)) = found else { return Ok(()) };
    let problem = format!("{problem}, and {} {effect}", session.agent);
    let message = format!("{} session {} cannot be resumed without a loss: {problem}", session.agent, session.id());
    Err(Refusal::new(RefusalCode::NotResumable, message)
        .hint(format!("run `rejoin doctor --fix --check {check}` first")))
}

/// Returns a warning if no line of a transcript is a record.
pub(crate) fn check_records(session: &Session) -> Option<String> {
    let path = agent::by_kind(session.agent)?.transcript(&session.copy().place).filter(|path| is_line_wise(path))?;
    let is_record = agent::about(session.agent).link;
    let (mut has_line, mut has_record) = (false, false);
    let mut see = |line: &[u8]| {
        (has_line, has_record) = (true, is_record(line).is_some());
        has_record
    };
    Jsonl::open(&path).and_then(|mut file| file.lines_forward(&mut see)).ok()?;
    let why = || format!("no line of {} is a record, so {} may find no conversation", path.display(), session.agent);
    (has_line && !has_record).then(why)
}

/// The last line of a transcript without a newline.
enum LastLine {
    Whole,
    Half,
}

/// Returns the kind of a transcript's last line if it does not end with a newline.
fn last_line(session: &Session) -> Option<LastLine> {
    let path = agent::by_kind(session.agent)?.transcript(&session.copy().place)?;
    let (is_record, mut last) = (agent::about(session.agent).link, None);
    let mut see = |line: &[u8], is_ended: bool| {
        let kind = if is_record(line).is_some() { LastLine::Whole } else { LastLine::Half };
        last = Some(kind).filter(|_| !is_ended);
        true
    };
    Jsonl::open(&path).and_then(|file| file.lines_backward(&mut see)).ok()?;
    last
}

/// Returns the number of the first line of a transcript that is not a record, with others after it.
fn first_bad_line(session: &Session) -> Option<u64> {
    let path = agent::by_kind(session.agent)?.transcript(&session.copy().place)?;
    let is_record = agent::about(session.agent).link;
    let mut lines = Jsonl::open(&path).and_then(Jsonl::into_lines).ok()?;
    while let Some(line) = lines.next_line().ok()? {
        if line.is_ended && (line.nul_before() > 0 || is_record(line.bytes).is_none()) {
            return Some(line.number);
        }
    }
    None
}

/// Returns a warning if a resume does not send every message of the conversation.
pub(crate) fn check_chain(session: &Session) -> Option<String> {
    let follows_parents = agent::about(session.agent).parent_at.is_some();
    let copy = Some(session.copy()).filter(|copy| follows_parents && copy.transcript_bytes <= LONG_TO_COUNT);
    let OffBranch { shown, cut_off, .. } = copy.and_then(OffBranch::read_copy).filter(|found| found.cut_off > 0)?;
    Some(format!(
        "a resume sends {shown} of its {} messages, because a record names a parent that is missing; run `rejoin doctor --fix \
         --check broken-chain` first",
        shown + cut_off
    ))
}

/// Warns of a stuck conversation. Returns the warning, and the command that makes a session from its good part.
pub(crate) fn check_stuck(session: &Session) -> Option<(String, Option<String>)> {
    let stuck = stuck::of(session.copy())?;
    let rewind = agent::about(session.agent).rewind.map(|_| format!("rejoin rewind {}", name(session)));
    Some((stuck.in_words(), rewind))
}

/// Refuses to continue a conversation that others may have written.
pub(crate) fn check_origin(session: &Session) -> Result<(), Refusal> {
    let copy = session.copy();
    if !copy.is_planted() {
        return Ok(());
    }
    let agent = session.agent;
    let path = copy.place.path.display();
    let message = format!("{agent} has not registered the session in {path}, so anybody may have written it");
    let name = name(session);
    let hint = format!(
        "read it with `rejoin show {name} --transcript`; if you know where it comes from, run `{} --trust`",
        resume(session)
    );
    Err(Refusal::new(RefusalCode::Planted, message).hint(hint))
}

/// Refuses to enter a recorded directory that contradicts the session's place in the store.
///
/// A planted session could otherwise run the settings and hooks of any directory.
pub(crate) fn check_trust(session: &Session) -> Result<(), Refusal> {
    let copy = session.copy();
    let Some(dir) = copy.launch_dir.as_ref().filter(|_| !copy.is_filed_right) else { return Ok(()) };
    let project = copy.place.project.as_deref().unwrap_or_default();
    let message = format!(
        "session {} records the directory {}, but that is not the directory of its project {project}",
        session.id(),
        dir.value.display()
    );
    let (name, command) = (name(session), resume(session));
    let mut hint = format!("check it with `rejoin show {name}`; start there with `{command} --trust`");
    if !agent::about(session.agent).needs_own_dir {
        hint.push_str(&format!(", or in the directory that you are in with `{command} --in .`"));
    }
    Err(Refusal::new(RefusalCode::UntrustedDirectory, message).hint(hint))
}

/// Returns a warning if git acts on another checkout in a directory than in the worktree in which the session worked.
pub(crate) fn check_worktree(session: &Session, dir: &Path, env: &Env) -> Option<String> {
    let branch = &*session.copy().git_branch.as_ref()?.value;
    let NoWorktree { dir, around, head, main, remedy } = NoWorktree::find(dir, branch)?;
    let git = format!("git -C {} worktree", shell::word(&main.to_string_lossy()));
    let recreate = || {
        let command = format!("{} --recreate-worktree", resume(session));
        command_line::in_home(&command, &env.invocation.elsewhere).into_owned()
    };
    let way = match remedy {
        None => String::new(),
        Some(WorktreeRemedy::Repair) => format!("; `{git} repair` connects it again"),
        Some(WorktreeRemedy::Add) => {
            let (dir, branch) = (dir.to_string_lossy(), shell::word(branch));
            format!("; `{git} add {} {branch}` makes it one", shell::word(&dir))
        }
        Some(WorktreeRemedy::Recreate) => format!("; move it away, and `{}` makes it one", recreate()),
    };
    Some(format!(
        "{} is not a git worktree: git there acts on {} ({head}), while the session worked on branch {branch}{way}",
        dir.display(),
        around.display()
    ))
}

/// Returns the directory to which links lead from the launch directory of a session, if its agent does not find the
/// session there.
pub(crate) fn lost_behind_link(session: &Session) -> Option<PathBuf> {
    names::link_target(session.launch_dir()?).filter(|target| agent::is_lost_behind_link(session.copy(), target))
}

/// Refuses to start an agent that would ask a question, if there is no terminal. At a terminal, returns a note that it
/// will ask.
pub(crate) fn check_elsewhere(session: &Session, dir: &Path, has_terminal: bool) -> Result<Option<String>, Refusal> {
    let asks = agent::about(session.agent).asks_elsewhere;
    // Through a link, the agent starts in another directory than the recorded one, even under the same name.
    let Ok(real) = reach::canonicalize(dir) else { return Ok(None) };
    let Some(own) = session.launch_dir().filter(|own| asks && *own != real) else { return Ok(None) };
    let message = format!(
        "{} continues session {} only in {}; in {} it asks whether to copy it",
        session.agent,
        session.id(),
        own.display(),
        real.display()
    );
    if has_terminal {
        return Ok(Some(message));
    }
    let hint = match lost_behind_link(session).filter(|target| *target == real) {
        Some(target) => agent::follow_hint(own, &target),
        None => format!("run it in a terminal; see the command with `{} --print`", resume(session)),
    };
    Err(Refusal::new(RefusalCode::NeedsTerminal, format!("{message}, and there is no terminal")).hint(hint))
}

/// Returns a warning if the settings of a directory let the agent, once started there, delete sessions of every project.
pub(crate) fn check_retention(session: &Session, dir: &Path, env: &Env) -> Option<String> {
    let retention = agent::by_kind(session.agent)?.retention(&session.copy().place.store, env)?;
    retention.only_in.as_ref().filter(|only| *only == dir)?;
    let (title, (file, key)) = (agent::about(session.agent).title, &retention.setting);
    let set = retention.refused.unwrap_or_else(|| (retention.period.as_hours() / 24).to_string());
    Some(format!(
        "a start of {title} here deletes sessions of every project by their age, because {key} in {} is {set}; `rejoin archive \
         --expiring 7` keeps them",
        file.display()
    ))
}

/// Refuses if one session, or all sessions together, were resumed too often in the last minute.
pub(crate) fn check_limit(session: &Session, launches: &[Launch], env: &Env) -> Result<(), Refusal> {
    let Some(too_many) = log::limit(launches, session.agent, session.id(), env.clock.now) else { return Ok(()) };
    let TooMany { count, of_one, wait } = too_many;
    let what = if of_one { format!("session {} was", session.id()) } else { "sessions were".to_owned() };
    let message = format!("{what} resumed {count} times in the last minute");
    let wait = when::shown_period(wait);
    let hint = format!("wait {wait}, or run `{} --no-limit`; something may be resuming in a loop", resume(session));
    Err(Refusal::new(RefusalCode::TooManyResumes, message).hint(hint))
}

/// Returns the command that creates a missing directory; `None` for a directory of Windows, or one that is not UTF-8.
pub(crate) fn mkdir_command(dir: &Path) -> Option<String> {
    let dir = dir.to_str().filter(|_| !recorded::is_foreign(dir))?;
    Some(format!("mkdir -p {}", shell::word(dir)))
}

/// Checks that the launch directory can be entered; `session` is `None` if no other directory can replace it.
pub(crate) fn check_dir(session: Option<&Session>, dir: &Path, env: &Env) -> Result<(), Refusal> {
    let elsewhere = |hint: &str, only_there: &str| match session {
        Some(session) => format!("{hint} `{} --in .`", resume(session)),
        None => only_there.to_owned(),
    };
    let refuse = |code, why: &str| Refusal::new(code, format!("the launch directory {} {why}", dir.display()));
    match reach::metadata(dir) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(refuse(RefusalCode::NotADirectory, "is not a directory").hint(elsewhere(
            "start it in the directory that you are in:",
            "move the file away, and create the directory",
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = match mkdir_command(dir) {
                Some(command) => {
                    let command = command_line::in_home(&command, &env.invocation.elsewhere);
                    format!("create the directory with `{command}`, then try again")
                }
                None => "create the directory, then try again".to_owned(),
            };
            Err(refuse(RefusalCode::MissingDirectory, "does not exist")
                .hint(elsewhere("if it was moved, go to where it is now and run", &made)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            let wait = "try again when its server is back";
            let or_elsewhere = format!("{wait}, or start it in the directory that you are in:");
            Err(refuse(RefusalCode::UnansweredDirectory, &format!("cannot be looked at: {error}"))
                .hint(elsewhere(&or_elsewhere, wait)))
        }
        Err(error) => {
            Err(refuse(RefusalCode::MissingDirectory, &format!("cannot be entered: {}", crate::error::reason(&error)))
                .hint(elsewhere(
                    "start it in the directory that you are in:",
                    "give your user permission to enter it, then try again",
                )))
        }
    }
}

/// The identity of a directory when it was checked; another one under the same name is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirIdentity {
    device: u64,
    inode: u64,
    owner: (u32, u32),
    mode: u32,
}

impl DirIdentity {
    /// Reads the identity of a directory.
    pub(crate) fn read_dir(dir: &Path) -> Option<Self> {
        reach::metadata(dir).ok().map(|metadata| Self::from(&metadata))
    }
}

impl From<&std::fs::Metadata> for DirIdentity {
    fn from(metadata: &std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            owner: (metadata.uid(), metadata.gid()),
            mode: metadata.mode(),
        }
    }
}
