//! Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<minute>-<8 characters of the id>.jsonl`, or `.json` of the older
//! generation; sub-agents in `chats/<id of the session>/`; chats that a user saved in `checkpoint-<tag>.json`.
//!
//! A project is named after its directory (`projects.json`, `.project_root`) or after the SHA-256 of its path. Facts:
//! measured on Gemini CLI 0.61.0 and 0.25.0; its projectRegistry.ts (04fbf507) and sessionOperations.ts (0a33bdb8). Its
//! own command that lists sessions is never run, because it deletes files.

pub(super) mod records;

pub(super) mod about;
mod belongings;
mod conversation;
mod projects;
mod reader;
mod relocation;
pub(super) mod retention;
mod saved;

use std::collections::{HashMap, HashSet};
use std::io::Read as _;

use memchr::memmem;

use super::{as_prompt_option, unknown_format};
use crate::agent::ids::consists_of;
use crate::agent::prelude::*;
use crate::agent::tree::note_branches;
use crate::agent::usage::UsageSum;
use crate::format::compare::compare_lists;
use crate::format::document::{DocumentField, Shape};
use crate::format::edit::Edit;
use crate::format::jsonl::{Jsonl, each_line};
use crate::format::shell;
use crate::session::Comparison;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::obstacle::Obstacle;
use projects::registry;
use reader::{each, fill, read_document, read_lines, show, whole};
use records::{message, record};

/// Keys that only messages and lists of messages have.
const MESSAGE: [&[u8]; 2] = [b"\"content\"", b"\"messages\""];
/// Number of bytes of a document that are searched for its id, which comes first.
const MAX_ID: u64 = 4 * 1024;

/// The older generation of its sessions (0.25.0).
const DOCUMENT: Shape =
    Shape { list: "messages", members: &["sessionId", "startTime", "lastUpdated", "summary", "kind"] };

/// The agent.
pub(super) struct Gemini;

impl Reading for Gemini {
    fn engine(&self) -> &'static dyn Engine {
        &Self
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        registry(&store.root)
    }

    fn notes_before_change(&self, _place: &Located, _env: &Env) -> StoreNotes {
        // The notes only name directories, and there may be a file for each of thousands of projects.
        StoreNotes::default()
    }

    fn is_silent(&self, line: &[u8]) -> bool {
        record(line).is_some_and(|record| record.is_silent())
    }
}

impl Engine for Gemini {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        if let Some(id) = only.filter(|id| !is_session_id(id)) {
            return saved::locate_id(store, id);
        }
        // Shortened as the client shortens it; an id of fewer characters is used as it is.
        let short = only.map(|id| id.chars().take(8).collect::<String>());
        let is_wanted = |name: &str| only.is_none_or(|id| name == id || name.rsplit('-').next() == short.as_deref());
        let mut found = Found::in_projects(&store.root.join("tmp"), |dir, project, found| {
            walk(store, project, &dir.join("chats"), is_wanted, found);
            if only.is_none() {
                saved::locate(store, project, dir, found);
            }
        });
        found.places.retain(|place| only.is_none_or(|id| place.id == id));
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        let modified = if is_document(&copy.place) { read_document(&mut copy)? } else { read_lines(&mut copy)? };
        copy.size_bytes = copy.transcript_bytes + context.tree_size(copy.place.side_dir.as_deref());
        if saved::is_in(&copy.place) {
            // Its messages have no times, and its file's time is the time of saving, not of a message.
            copy.created_at = modified.map(|at| Fact::new(at, "mtime"));
            copy.title = Some(Fact::new(saved::tag(&copy.place), "tag"));
        } else {
            let last = copy.active_at.as_ref().map(|at| at.value).or(modified);
            copy.set_active_by_file(modified);
            let why = |age| format!("its last record was {age} ago, and Gemini CLI leaves no mark of who uses it");
            copy.judge_by_age(last, context.env.clock.now, why);
        }
        let project = copy.place.project.as_deref().unwrap_or_default();
        copy.evidence = context.notes.dirs.get(project).cloned().unwrap_or_default();
        decide_launch_dir(&mut copy);
        if is_without_id(&copy.place) {
            if copy.first_prompt.is_some() && !is_document(&copy.place) && starts_torn(&copy.place.path)? {
                // Measured on 0.61.0: "Invalid session identifier".
                copy.obstruct(Obstacle::damage(
                    "its first line, the header with its id, is damaged, and Gemini CLI finds no session without it",
                ));
            } else {
                unknown_format::mark(&mut copy, "none of its records names the session's id".to_owned());
            }
        }
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        let mut usage = UsageSum::wanted(&about::ABOUT.usage, observers);
        let sum = whole(&copy.place, &mut |record| usage.iter_mut().for_each(|usage| usage.see(record)))?;
        copy.usage = usage.map(UsageSum::finish).or(copy.usage);
        if !observers.counts {
            return Ok(());
        }
        copy.prompts = Some(sum.prompts());
        copy.replies = Some(sum.replies());
        copy.note_bad_lines(sum.has_bad_lines);
        note_branches(copy, &sum.branches(), sum.hidden(), None);
        fill(copy, &sum, true);
        Ok(())
    }

    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        Ok(whole(&copy.place, &mut |_| ())?.branches())
    }

    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        if is_document(&copy.place) {
            let (mut file, _) = fsio::open_regular(&copy.place.path)?;
            each(&copy.place, &mut file, &mut |field| match field {
                DocumentField::Message(raw) => {
                    // No message of a document repeats the result that a call has.
                    let is_answered = |_: &str| false;
                    message(raw).into_iter().flat_map(|it| it.in_words(&is_answered)).try_for_each(&mut *see)
                }
                DocumentField::Member(..) => ControlFlow::Continue(()),
            });
            return Ok(());
        }
        let sum = whole(&copy.place, &mut |_| ())?;
        show(&copy.place.path, &sum.on(wanted), see)
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        (!is_document(place)).then(|| place.path.to_path_buf())
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        // The client continues a document in a file of lines next to it.
        let lines = (is_document(place) && !saved::is_in(place)).then(|| place.path.with_extension("jsonl"));
        [place.path.to_path_buf()].into_iter().chain(lines).collect()
    }

    fn texts(&self, place: &Located) -> Vec<PathBuf> {
        place.side_dir.clone().into_iter().collect()
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        // The generations differ in form, and a resume rewrites the history, so the messages are compared, not the
        // lines.
        let said = |copy: &SessionCopy| whole(&copy.place, &mut |_| ()).ok()?.said();
        Some(compare_lists(&said(a)?, &said(b)?))
    }
}

impl Resuming for Gemini {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if copy.kind == SessionKind::Empty {
            return Err("it has neither a prompt nor a reply, so there is nothing to resume".into());
        }
        if saved::is_in(&copy.place) {
            return saved::command(&copy.place, prompt);
        }
        if is_without_id(&copy.place) {
            let why = copy.obstacle.as_ref().map(|obstacle| obstacle.why.as_str());
            let why = why.unwrap_or("none of its records names the id that Gemini CLI knows it by");
            return Err(Unable::from(why.to_owned())
                .hint(format!("keep it with `rejoin export {} -o conversation.md`", selector(copy))));
        }
        let id = &copy.place.id;
        // A number is an index in the client's list.
        if id.starts_with('-') || id == "latest" || id.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("Gemini CLI could take its id for something else".into());
        }
        Ok(Command::new(&["gemini", "--resume", id], as_prompt_option(prompt)))
    }

    fn mend(&self, copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        let path = copy.place.path.to_path_buf();
        let at = whole(&copy.place, &mut |_| ())?.buried_at.ok_or("prompts follow its last checkpoint")?;
        let mut lines = Jsonl::open(&path)?.lines_from(at, u64::MAX)?;
        let mut end = at;
        while let Some(line) = lines.next_line()? {
            if !self.is_silent(line.bytes) {
                return Err("a record after its last checkpoint may be a part of the conversation".into());
            }
            end = line.offset(line.bytes.len()) + u64::from(line.is_ended);
        }
        Ok(Act::in_place(path, vec![Edit { at, removed: end - at, inserted: Vec::new() }]))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let own = || copy.evidence.iter().filter(|named| matches!(named.source, "project-root" | "registry"));
        let Some(first) = own().next() else { return Ok(()) };
        // The client compares its directory without links (0.61.0).
        let is_own = reach::canonicalize(dir).is_ok_and(|dir| own().any(|named| *named.dir == *dir));
        let why = || format!("Gemini CLI has filed it under {}, and finds it only there", first.dir.display());
        if is_own { Ok(()) } else { Err(why().into()) }
    }

    fn opens_first(&self, copy: &SessionCopy, other: &SessionCopy) -> Option<bool> {
        // If several files have one id, the client keeps the one with the newest `lastUpdated` (0.61.0 and 5411f113:
        // sessionUtils.ts, getSessionFiles).
        let updated = |copy: &SessionCopy| Some(copy.active_at.as_ref().filter(|at| at.source == "transcript")?.value);
        let (own, others) = (updated(copy)?, updated(other)?);
        (own != others).then_some(own > others)
    }

    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        // Measured on 0.61.0: a resume leaves a second file with the same id, and the next start deletes the real one.
        (!saved::is_in(&copy.place)).then(|| {
            format!(
                "Gemini CLI may delete this session at a later start if you resume it; to be safe, run `rejoin archive {}` first",
                selector(copy)
            )
        })
    }
}

/// Returns the selector that matches just this session, quoted for a shell.
fn selector(copy: &SessionCopy) -> String {
    shell::selector(AgentKind::Gemini, &copy.place.id)
}

/// Finds the sessions in a directory of chats whose stem `is_wanted` accepts.
fn walk(store: &Arc<Store>, project: &Arc<str>, chats: &Path, is_wanted: impl Fn(&str) -> bool, found: &mut Found) {
    let (dirs, files): (Vec<_>, Vec<_>) = found.entries(chats).into_iter().partition(|(_, kind)| kind.is_dir());
    let dirs: HashSet<String> =
        dirs.into_iter().filter_map(|(entry, _)| entry.file_name().into_string().ok()).collect();
    // A sub-agent's file may bear the id of the session that started it.
    let short = |path: &Path| path.file_stem().and_then(|stem| Some(stem.to_str()?.rsplit_once('-')?.1.to_owned()));
    let mut by_short: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in files.iter().map(|(entry, _)| entry.path()) {
        by_short.entry(short(&path).unwrap_or_default()).or_default().push(path);
    }
    let is_main = |path: &Path, id: &str| {
        head_of(path).is_ok_and(|head| head.is_some_and(|head| head.id == id && !head.is_subagent))
    };
    let has_main = |path: &Path, id: &str| {
        let others = short(path).and_then(|short| by_short.get(&short));
        others.into_iter().flatten().any(|other| other != path && is_main(other, id))
    };
    for (entry, kind) in files {
        let path = entry.path();
        let Ok(name) = entry.file_name().into_string() else { continue };
        let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"));
        if !stem.is_some_and(|stem| stem.starts_with("session-") && is_wanted(stem)) {
            continue;
        }
        if !kind.is_file() {
            found.problem(&path, "it is not a regular file");
            continue;
        }
        match head_of(&path) {
            Ok(Some(head)) if head.is_subagent && is_session_id(&head.id) && has_main(&path, &head.id) => {
                let stem = stem.unwrap_or_default().to_owned();
                found.places.push(place(store, project, stem, path, None, Some(&head.id)));
            }
            Ok(Some(Head { id, .. })) if is_session_id(&id) => {
                let side_dir = dirs.contains(&id).then(|| chats.join(&id));
                found.places.push(place(store, project, id, path, side_dir, None));
            }
            // A newer version may store the id elsewhere.
            Ok(None) if has_messages(&path) => {
                let stem = stem.unwrap_or_default().to_owned();
                found.places.push(place(store, project, stem, path, None, None));
            }
            Ok(_) => found.problem(&path, "there is no session id at its start"),
            // The client may delete the file between listing and reading, as it does at its start.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => found.problem(&path, error.reason()),
        }
    }
    for parent in dirs.into_iter().filter(|name| is_session_id(name)) {
        for (entry, kind) in found.entries(&chats.join(&parent)) {
            let path = entry.path();
            let is_record = path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json");
            let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_record && is_session_id(id));
            if let Some(id) = id.filter(|_| kind.is_file()).map(str::to_owned) {
                found.places.push(place(store, project, id, path, None, Some(&parent)));
            }
        }
    }
}

fn place(
    store: &Arc<Store>,
    project: &Arc<str>,
    id: String,
    path: PathBuf,
    side_dir: Option<PathBuf>,
    parent: Option<&str>,
) -> Located {
    Located {
        side_dir,
        parent_id: parent.map(str::to_owned),
        is_subagent: parent.is_some(),
        ..Located::in_project(store, project, id, path)
    }
}

/// Checks whether a session's id is the name of its file, because nothing in the file names its id.
fn is_without_id(place: &Located) -> bool {
    !place.is_subagent && place.path.file_stem().is_some_and(|stem| stem == place.id.as_str())
}

/// Checks whether the first line of a file begins as a record and is not one.
fn starts_torn(path: &Path) -> Result<bool, PathError> {
    let mut is_torn = false;
    Jsonl::open(path)?.lines_forward(&mut |line| {
        is_torn = line.starts_with(b"{") && record(line).is_none();
        true
    })?;
    Ok(is_torn)
}

/// Checks whether a file has messages, in a known form or not.
fn has_messages(path: &Path) -> bool {
    let mut has_messages = false;
    // An unreadable file is already reported as a problem.
    let _ = each_line(path, &mut |line| {
        // The members of a document are on separate lines.
        has_messages |= MESSAGE.iter().any(|key| memmem::find(line, key).is_some());
        if has_messages { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    has_messages
}

/// The start of a file.
struct Head {
    /// The full id; the file's name has only its start.
    id: String,
    is_subagent: bool,
}

/// Reads the start of a file; `None` if it has no id.
fn head_of(path: &Path) -> Result<Option<Head>, PathError> {
    let (mut id, mut is_subagent) = (None, false);
    if path.extension().is_some_and(|extension| extension == "json") {
        let (file, _) = fsio::open_regular(path)?;
        let mut start = Vec::new();
        file.take(MAX_ID).read_to_end(&mut start).map_err(|error| PathError::new("read", path, error))?;
        DOCUMENT.each_in(&start, &mut |field| {
            if let DocumentField::Member("sessionId", value) = field {
                id = inner::<Text<'_>>(Some(value)).get().map(str::to_owned);
            }
            if id.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    } else {
        let mut file = Jsonl::open(path)?;
        let seen = file.lines_forward(&mut |line| {
            let record = record(line);
            let change = record.as_ref().and_then(|record| record.change());
            is_subagent = record.as_ref().is_some_and(|record| record.kind.get() == Some("subagent"));
            id = record.into_iter().chain(change).find_map(|record| record.session_id.get().map(str::to_owned));
            id.is_some()
        });
        seen?;
    }
    Ok(id.map(|id| Head { id, is_subagent }))
}

/// Checks whether a project is named after a hash of its directory.
fn is_hash(project: &str) -> bool {
    project.len() == 64 && project.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be a session's id and its file's name: a UUID by default, or an id that the user chose.
fn is_session_id(text: &str) -> bool {
    consists_of(text, b"-_.", 128) && !text.starts_with('.')
}

fn is_document(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "json")
}
