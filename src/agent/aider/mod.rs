//! Aider: `.aider.chat.history.md` at the root of each project, to which every start of the program appends. There are
//! no ids, so the path is the id. No list names the files, so they are searched for in the directories of other
//! sessions.
//!
//! Facts: measured on 0.86.2.

pub(super) mod about;
mod origin;
mod records;
mod usage;

use std::ffi::OsStr;

use foldhash::HashSet;

use super::command::as_option;
use super::judge_by_age;
use crate::agent::prelude::*;
use crate::agent::reading::with_parents;
use crate::format::json::local_instant;
use crate::format::jsonl::{Jsonl, Line};
use crate::format::shell;
use crate::session::branches::BranchFilter;
use records::{HistoryPiece, HistorySplitter};
use usage::AiderCosts;

const HISTORY: &str = ".aider.chat.history.md";
/// The history of typed input, for the arrow keys.
const INPUTS: &str = ".aider.input.history";
/// Variables that select another file.
const ELSEWHERE: [&str; 2] = ["AIDER_CHAT_HISTORY_FILE", "AIDER_INPUT_HISTORY_FILE"];
/// Number of bytes at the beginning that are searched for the first prompt.
const MAX_HEAD: u64 = 1024 * 1024;
/// Maximum number of consecutive empty lines that are shown unchanged.
const MAX_EMPTY: u64 = 1024;
/// Number of bytes at the end that are searched for the model.
const TAIL: usize = 64 * 1024;

/// Implements [`Agent`](super::Agent) for Aider.
pub(super) struct Aider;

impl Reading for Aider {
    fn engine(&self) -> &'static dyn Engine {
        &Self
    }

    fn locate_in(&self, asked: &[&Path], worked_in: &HashSet<&OsStr>, env: &Env) -> Found {
        let mut found = Found::default();
        // The file is at the root of the repository.
        let dirs = with_parents(asked, worked_in, env);
        dirs.into_iter().filter(|dir| dir.is_absolute()).for_each(|dir| in_project(dir, &mut found));
        found
    }

    fn is_silent(&self, line: &[u8]) -> bool {
        line.starts_with(b"# aider chat started at ") || line.starts_with(b"> ")
    }
}

impl Engine for Aider {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        // During a restore, the project is the store.
        let path = only.map_or_else(|| store.root.join(HISTORY), PathBuf::from);
        let is_history = path.file_name() == Some(OsStr::new(HISTORY));
        // The directory of a history names its session, too.
        let dir = if is_history { path.parent() } else { Some(&*path) }.filter(|_| path.is_absolute());
        let mut found = Found::default();
        dir.into_iter().for_each(|dir| in_project(dir, &mut found));
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let file = Jsonl::open(&place.path)?.with_tail(TAIL);
        let mut copy = SessionCopy::new(place);
        let modified = file.modified();
        let inputs = reach::symlink_metadata(&copy.place.store.root.join(INPUTS));
        copy.transcript_bytes = file.len();
        copy.size_bytes = file.len() + inputs.ok().filter(|it| it.is_file()).map_or(0, |it| it.len());
        let (mut history, mut start) = (HistorySplitter::default(), Beginning::default());
        let (mut lines, mut number) = (file.lines_within(MAX_HEAD)?, 0);
        while start.prompt.is_none()
            && let Some(line) = lines.next_line()?
        {
            feed(&mut history, &line, &mut number, &mut |piece| start.add_piece(piece));
        }
        history.end(&mut |piece| start.add_piece(piece));
        // The program prints the model at every start.
        let (mut model, mut bytes) = (None, 0);
        file.lines_backward(&mut |line, _| {
            bytes += line.len();
            model = last_model(line);
            model.is_some() || bytes >= TAIL
        })?;
        copy.model = model.or(start.model).map(|model| Fact::new(model, "transcript"));
        copy.first_prompt = start.prompt.map(|prompt| Fact::new(prompt, "transcript"));
        let made = start.at.and_then(|at| local_instant(&at, &context.env.clock.zone));
        copy.created_at = made.map(|at| Fact::new(at, "transcript"));
        if copy.transcript_bytes <= MAX_HEAD && copy.first_prompt.is_none() {
            copy.be_empty();
        }
        copy.set_active_by_file(modified);
        judge_by_age(&mut copy, modified, context.env.clock.now);
        let dir = copy.place.store.root.clone();
        copy.mark_if(!origin::is_untracked(&dir, HISTORY), Health::Planted);
        copy.last_dir = Some(Fact::new(dir.clone(), "session"));
        let detail = "the directory of its file".into();
        copy.evidence.push(Evidence { dir: dir.into(), source: "session", detail, counts: true });
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        let mut costs = AiderCosts::default();
        each_piece(&copy.place.path, &mut |line| costs.line(line), &mut |piece| {
            observers.count(matches!(piece, HistoryPiece::Prompt(_)), matches!(piece, HistoryPiece::Answer(_)));
            ControlFlow::Continue(())
        })?;
        copy.usage = observers.usage.then(|| Usage::from_cost(costs.sum()));
        if observers.counts {
            observers.finish(copy);
        }
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        each_piece(&copy.place.path, &mut |_| (), &mut |piece| {
            let (role, text) = match piece {
                HistoryPiece::Prompt(text) => (Role::User, text),
                HistoryPiece::Answer(text) => (Role::Assistant, text),
                HistoryPiece::Output(text) => (Role::System, text),
                HistoryPiece::Start(_) | HistoryPiece::Model(_) => return ControlFlow::Continue(()),
            };
            see(Message::new(role, text, None))
        })
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.to_path_buf()]
    }
}

impl Resuming for Aider {
    fn command(&self, _copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        // The option wins over a `chat-history-file` in the settings of the project or of the home, and over `.env`.
        let words = ["aider", "--restore-chat-history", "--chat-history-file", HISTORY];
        Ok(Command::new(&words, as_option(prompt, "--message", "--message")))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let own = &copy.place.store.root;
        let is_own = own == dir
            || reach::canonicalize(own).is_ok_and(|own| reach::canonicalize(dir).is_ok_and(|dir| own == dir));
        if is_own {
            return Ok(());
        }
        let path = copy.place.path.to_string_lossy();
        Err(format!(
            "Aider would take the history of that directory; `aider --restore-chat-history --chat-history-file {}` takes this one \
             there, and works on the files there",
            shell::word(&path)
        )
        .into())
    }
}

impl Moving for Aider {
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let why = "Aider keeps it in the project's directory, and it goes where that goes";
        Ok(Relocation::of_each(move |_, _| Err(why.into())))
    }
}

impl Housekeeping for Aider {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Ok(own_files(place, [place.store.root.join(INPUTS)]))
    }
}

/// The facts at the beginning of a history.
#[derive(Default)]
struct Beginning {
    at: Option<String>,
    prompt: Option<String>,
    model: Option<String>,
}

impl Beginning {
    fn add_piece(&mut self, piece: HistoryPiece) {
        match piece {
            HistoryPiece::Start(at) => self.at = self.at.take().or(Some(at)),
            HistoryPiece::Prompt(prompt) => self.prompt = self.prompt.take().or(Some(prompt)),
            HistoryPiece::Model(model) => self.model = Some(model),
            HistoryPiece::Answer(_) | HistoryPiece::Output(_) => {}
        }
    }
}

/// Parses the model from a line of the program's output.
fn last_model(line: &[u8]) -> Option<String> {
    let line = str::from_utf8(line).ok()?.strip_prefix("> Model: ")?.strip_suffix("  ")?;
    Some(line.split(" with ").next().unwrap_or(line).to_owned())
}

/// Calls `see` with the pieces of a history until it breaks, and `see_line` with its lines.
fn each_piece(
    path: &Path,
    see_line: &mut dyn FnMut(&str),
    see: &mut dyn FnMut(HistoryPiece) -> ControlFlow<()>,
) -> Result<(), PathError> {
    let (mut history, mut pieces, mut number) = (HistorySplitter::default(), Vec::new(), 0);
    let mut lines = Jsonl::open(path)?.into_lines()?;
    while let Some(line) = lines.next_line()? {
        see_line(&String::from_utf8_lossy(line.bytes));
        feed(&mut history, &line, &mut number, &mut |piece| pieces.push(piece));
        if pieces.drain(..).try_for_each(&mut *see).is_break() {
            return Ok(());
        }
    }
    history.end(&mut |piece| pieces.push(piece));
    // This is the last piece, so a break needs no handling.
    let _ = pieces.into_iter().try_for_each(see);
    Ok(())
}

/// Passes on a line, and the empty lines that were skipped before it.
fn feed(history: &mut HistorySplitter, line: &Line<'_>, number: &mut u64, see: &mut dyn FnMut(HistoryPiece)) {
    let empty = line.number - *number - 1;
    *number = line.number;
    (0..empty.min(MAX_EMPTY)).for_each(|_| history.line("", see));
    history.line(&String::from_utf8_lossy(line.bytes), see);
}

/// Finds the history of a directory. Each directory is a separate store: Aider stores no other sessions in it.
fn in_project(dir: &Path, found: &mut Found) {
    let path = dir.join(HISTORY);
    let Ok(metadata) = reach::symlink_metadata(&path) else { return };
    let Some(id) = path.to_str().map(str::to_owned) else {
        return found.problem(&path, "its path is not UTF-8, so it cannot be an id");
    };
    if !metadata.is_file() {
        // A link may be part of a cloned repository, and point to one of the user's files.
        let is_link = metadata.is_symlink();
        let why = if is_link { "it is a link in a project, which is not followed" } else { "it is not a regular file" };
        return found.problem(&path, why);
    }
    let store = Store { unset: ELSEWHERE.to_vec(), ..Store::usual(AgentKind::Aider, dir) };
    found.places.push(Located::new(&Arc::new(store), id, path));
}
