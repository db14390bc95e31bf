//! Reads facts about a session from `events.jsonl`.

use super::workspace::WorkspaceYaml;
use super::{Copilot, flat, liveness, survey};
use crate::agent::copilot::records::{CopilotContext, CopilotEvent, may_have_context};
use crate::agent::ids::is_uuid;
use crate::agent::lines::{Ends, Log, MAX_NODE_TEXT};
use crate::agent::prelude::*;
use crate::agent::{about, changes_by_itself};
use crate::format::json::record;
use crate::session::obstacle::Obstacle;

/// Number of events near the end that are searched for the model: a session without an answer has none.
const MAX_EVENTS: u32 = 40;

/// Facts for which a copy has no member.
#[derive(Default)]
pub(in crate::agent) struct CopilotFacts {
    first: Option<CopilotContext>,
    last: Option<CopilotContext>,
    events_from_end: u32,
    is_imported: bool,
}

impl Log for Copilot {
    type Record<'a> = CopilotEvent<'a>;
    type Facts = CopilotFacts;

    /// Without this file, the client was opened and closed at once; it writes all other files.
    const FILE: Option<&'static str> = Some("events.jsonl");
    const SOURCE: &'static str = "events";
    /// By github/copilot-cli #4325 and github/app #2309: "Cannot create a string longer than 0x1fffffe8 characters".
    const MAX_BYTES: u64 = MAX_NODE_TEXT;
    const DIR: &'static str = "session-state";
    /// No limit, because the last resume can be far from the end.
    const TAIL: usize = usize::MAX;
    /// A turn repeats the system prompt, which alone has 28 KiB.
    const WINDOW: usize = 96 * 1024;

    /// The plan and the summaries of compactions; a list without checkpoints has no text.
    fn texts(place: &Located) -> Vec<PathBuf> {
        let checkpoints = place.path.join("checkpoints");
        let mut listed = Found::default();
        let entries = listed.entries(&checkpoints).into_iter().filter(|(_, kind)| kind.is_file());
        let mut files: Vec<PathBuf> = entries.map(|(entry, _)| entry.path()).collect();
        files.extend(listed.problems.into_iter().map(|problem| problem.path));
        files.extend(links::broken(&checkpoints).map(|(link, _)| link));
        files.retain(|path| path.file_name().is_some_and(|name| name != "index.md"));
        files.sort();
        files.insert(0, place.path.join("plan.md"));
        files
    }

    fn is_id(name: &str) -> bool {
        is_uuid(name)
    }

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let (mut found, dir) = (Found::default(), store.root.join(Self::DIR));
        if only.is_some() {
            found.add_folders(store, &dir, None, only, &is_uuid);
            found.add_files(store, &dir, None, ".jsonl", only, &is_uuid);
            return found;
        }
        for (entry, kind) in found.entries(&dir) {
            let name = entry.file_name();
            let id =
                name.to_str().and_then(|name| if kind.is_dir() { Some(name) } else { name.strip_suffix(".jsonl") });
            let id = id.filter(|id| is_uuid(id) && (kind.is_dir() || kind.is_file()));
            found.places.extend(id.map(|id| Located::new(store, id, entry.path())));
        }
        found
    }

    fn log(place: &Located) -> PathBuf {
        if flat::is_flat(place) { place.path.to_path_buf() } else { place.path.join("events.jsonl") }
    }

    fn parse(line: &[u8]) -> Option<CopilotEvent<'_>> {
        record(line)
    }

    fn see_from_start(event: &CopilotEvent<'_>, _number: usize, _copy: &mut SessionCopy, facts: &mut CopilotFacts) {
        facts.first = facts.first.take().or_else(|| event.context());
        facts.is_imported |= event.is_import();
    }

    fn knows_start(_copy: &SessionCopy, facts: &CopilotFacts) -> bool {
        facts.first.is_some()
    }

    fn see_from_end(event: &CopilotEvent<'_>, copy: &mut SessionCopy, facts: &mut CopilotFacts) {
        facts.events_from_end += 1;
        facts.last = facts.last.take().or_else(|| event.context());
        copy.model = copy.model.take().or_else(|| Some(Fact::new(event.model()?, "events")));
    }

    fn knows_end(copy: &SessionCopy, facts: &CopilotFacts) -> bool {
        facts.last.is_some() && (copy.model.is_some() || facts.events_from_end >= MAX_EVENTS)
    }

    fn matters_at_end(line: &[u8], copy: &SessionCopy, facts: &CopilotFacts) -> bool {
        may_have_context(line) || copy.model.is_none() && facts.events_from_end < MAX_EVENTS
    }

    /// The size comes from [`super::survey`], which lists the folder anyway to find the processes that use the session.
    fn size(_copy: &SessionCopy, _context: &ReadContext<'_>) -> u64 {
        0
    }

    fn finish(
        copy: &mut SessionCopy,
        ends: &Ends,
        facts: CopilotFacts,
        context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        let (size_bytes, users) = survey(&copy.place.path, context);
        copy.size_bytes = size_bytes;
        copy.liveness = liveness(&copy.place.path, &users);
        flat::judge(copy, ends, context);
        if facts.is_imported {
            let why =
                "it was imported from a version before 0.0.342, and Copilot CLI 1.0.50 and later refuse such a session";
            copy.obstruct(Obstacle::new(why));
        }
        let mut workspace = WorkspaceYaml::read(copy);
        copy.title = workspace.title(ends.prompt.as_deref()).map(|title| Fact::new(title, "workspace"));
        let of_workspace = |at| Fact::new(at, "workspace");
        copy.created_at = workspace.created_at.map(of_workspace).or(copy.created_at.take());
        if let Some(updated) =
            workspace.updated_at.filter(|_| copy.active_at.as_ref().is_none_or(|at| at.source == "mtime"))
        {
            copy.active_at = Some(of_workspace(updated));
        }
        note_places(copy, facts, workspace);
        Ok(())
    }

    fn see_counted(event: &CopilotEvent<'_>, copy: &mut SessionCopy) {
        // A long session may have been resumed elsewhere before the part that was read.
        let Some(context) = event.context() else { return };
        let dir = Arc::<Path>::from(PathBuf::from(context.cwd));
        copy.last_dir = Some(Fact::new(dir.clone(), "events"));
        copy.evidence.retain(|evidence| evidence.source != "last-directory");
        if copy.evidence.first().is_none_or(|evidence| evidence.dir != dir) {
            copy.evidence.retain(|evidence| evidence.dir != dir);
            copy.evidence.insert(0, recorded(dir, "last-directory"));
        }
        decide_launch_dir(copy);
    }
}

/// Adds the directories and branches from the events and from `workspace.yaml`.
fn note_places(copy: &mut SessionCopy, facts: CopilotFacts, workspace: WorkspaceYaml) {
    let (first, last) = (facts.first, facts.last);
    let branches = [last.as_ref(), first.as_ref()].into_iter().flatten().find_map(|context| context.branch.clone());
    copy.git_branch = branches
        .map(|branch| Fact::new(branch, "events"))
        .or_else(|| workspace.branch.map(|branch| Fact::new(branch, "workspace")));
    let dir = |context: CopilotContext| Arc::<Path>::from(PathBuf::from(context.cwd));
    let (first, last) = (first.map(dir), last.map(dir));
    // A resume without an id continues in its current directory, which only the events record.
    let moved = last.clone().filter(|last| Some(last) != first.as_ref()).map(|dir| (dir, "last-directory"));
    let named = workspace.cwd.clone().map(|dir| (dir, "workspace"));
    let sources = [moved, first.clone().map(|dir| (dir, "events")), named];
    for (dir, source) in sources.into_iter().flatten() {
        if copy.evidence.iter().all(|evidence| evidence.dir != dir) {
            copy.evidence.push(recorded(dir, source));
        }
    }
    if let (Some(own), Some(launch)) = (&workspace.cwd, copy.evidence.first())
        && *own != launch.dir
    {
        copy.notes.push(changes_by_itself(about(AgentKind::Copilot).title, own));
    }
    let start = first.map(|dir| Fact::new(dir, "events"));
    copy.start_dir = start.or_else(|| workspace.cwd.map(|dir| Fact::new(dir, "workspace")));
    copy.last_dir = last.map(|dir| Fact::new(dir, "events")).or_else(|| copy.start_dir.clone());
}

fn recorded(dir: Arc<Path>, source: &'static str) -> Evidence {
    let file = if source == "workspace" { "workspace.yaml" } else { "events.jsonl" };
    Evidence { dir, source, detail: file.into(), counts: true }
}
