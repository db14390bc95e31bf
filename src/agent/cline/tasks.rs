//! Tasks of Cline's editor extension: `<editor>/User/globalStorage/saoudrizwan.claude-dev/tasks/<id>/`, with the
//! displayed messages in `ui_messages.json` and those for the model in `api_conversation_history.json`. Version 4 and
//! later store new tasks as sessions. Roo Code, a fork of the extension, keeps such tasks too.
//!
//! Facts: cline/cline v3.40.0 and 0023f2bb, disk.ts and task/index.ts, and 21cb8d25, legacy-state-reader.ts; never
//! measured.

use std::io::Read as _;

use memchr::memmem;
use serde_json::Value;

use crate::agent::document::Document;
use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::format::document::Shape;
use crate::format::json::{dollars, epoch};
use crate::format::text;
use crate::session::branches::BranchFilter;
use crate::session::usage::Cost;
use crate::session::{Comparison, KeptBy};

/// The displayed messages, and those for the model.
pub(super) const FILES: [&str; 2] = ["ui_messages.json", "api_conversation_history.json"];

/// An extension of an editor that stores tasks in this format.
pub(in crate::agent) struct Extension {
    pub agent: AgentKind,
    /// Its folder in the editor's `globalStorage`.
    pub folder: &'static str,
    /// The extension in a sentence.
    pub name: &'static str,
    /// Its panel in a sentence.
    pub panel: &'static str,
    pub document: Document,
    /// Adds the facts about a task that are not in its messages.
    pub fill: fn(&mut SessionCopy, &ReadContext<'_>) -> Result<(), PathError>,
}

/// The extension of Cline.
pub(super) const CLINE: Extension = Extension {
    agent: AgentKind::Cline,
    folder: "saoudrizwan.claude-dev",
    name: "Cline's extension",
    panel: "Cline's panel",
    document: Document {
        shape: Shape { list: "", members: &[] },
        turns: |raw| turn(raw).map(|turn| vec![turn]),
        // Until about version 3.3, the prompt has the type of a reply (`say("text", task)` in startTask of 0023f2bb).
        first: Some(first_turn),
    },
    fill,
};

/// The folders of editors in the directory of configurations, and their programs.
const EDITORS: [(&str, &str); 4] =
    [("Code", "code"), ("Code - Insiders", "code-insiders"), ("VSCodium", "codium"), ("Cursor", "cursor")];
/// The folders of the editors' servers in the home.
const SERVERS: [(&str, &str); 4] = [
    (".vscode-server", "code"),
    (".vscode-server-insiders", "code-insiders"),
    (".vscodium-server", "codium"),
    (".cursor-server", "cursor"),
];
const MAX_HISTORY: u64 = 64 * 1024 * 1024;
/// The number of bytes of the first prompt that are searched for the directory.
const MAX_PROMPT: u64 = 1024 * 1024;
/// The words before the directory: those of Cline and of older versions of Roo Code, and those of Roo Code.
const DIRECTORY: [&[u8]; 2] = [b"# Current Working Directory (", b"# Current Workspace Directory ("];

/// The engine for tasks.
pub(in crate::agent) struct Tasks(pub &'static Extension);

/// Returns the stores of the extension that exist.
pub(in crate::agent) fn stores(extension: &Extension, env: &Env) -> impl Iterator<Item = Store> {
    let config =
        if cfg!(target_os = "macos") { env.home.join("Library/Application Support") } else { env.config_dir() };
    let of_editors = EDITORS.into_iter().map(|(folder, _)| config.join(folder));
    let of_servers = SERVERS.into_iter().map(|(folder, _)| env.home.join(folder).join("data"));
    let roots: Vec<PathBuf> =
        of_editors.chain(of_servers).map(|dir| dir.join("User/globalStorage").join(extension.folder)).collect();
    let roots = roots.into_iter().filter(|root| links::is_dir(&root.join("tasks")));
    let agent = extension.agent;
    roots.map(move |root| Store { is_default: false, ..Store::usual(agent, root) })
}

/// Returns whether a session is a task.
pub(super) fn is_in(place: &Located) -> bool {
    place.path.parent().is_some_and(|folder| folder.ends_with("tasks"))
}

/// Reads the directories of tasks in the list of the extension.
pub(super) fn notes(store: &Store) -> StoreNotes {
    let mut notes = StoreNotes::default();
    let path = store.root.join("state/taskHistory.json");
    let bytes = read_or_report(&path, MAX_HISTORY, &mut notes.problems).unwrap_or_default();
    let tasks: Option<Vec<Value>> = serde_json::from_slice(&bytes).ok();
    if tasks.is_none() && !bytes.is_empty() {
        notes.problem(&path, "it is not valid JSON, so the History of Cline's extension may list no task");
        notes.all_kept_by = Some(KeptBy::unknown("maybe a favourite in Cline", &path));
    }
    for task in tasks.into_iter().flatten() {
        let [id, dir] = ["id", "cwdOnTaskInitialization"].map(|key| task.get(key).and_then(Value::as_str));
        // Cline's own deletion skips favourites.
        let is_favourite = task.get("isFavorited").is_some_and(|is| !matches!(is, Value::Null | Value::Bool(false)));
        let favourite = || KeptBy::new("a favourite in Cline", "remove its star in the History there");
        let prompt = task.get("task").and_then(Value::as_str).map(str::trim).filter(|prompt| !prompt.is_empty());
        let prompt = prompt.map(|prompt| Fact::new(prompt, "task-history"));
        notes.names.extend(id.map(str::to_owned).zip(prompt));
        notes.kept_by.extend(id.filter(|_| is_favourite).map(|id| (id.to_owned(), favourite())));
        if let (Some(id), Some(dir)) = (id, dir.and_then(recorded::dir)) {
            let detail = "cwdOnTaskInitialization in taskHistory.json".into();
            notes.dirs.insert(id.to_owned(), vec![Evidence { dir, source: "session", detail, counts: true }]);
        }
    }
    notes
}

/// Returns the command that opens the folder of a task in its editor.
pub(in crate::agent) fn command(
    extension: &Extension,
    copy: &SessionCopy,
    prompt: Option<&str>,
) -> Result<Command, Unable> {
    let Extension { name, panel, .. } = extension;
    refuse_prompt(prompt, &format!("{name} answers prompts in the editor only; resume the task without --prompt"))?;
    let mut names = EDITORS.into_iter().chain(SERVERS);
    let editor = names.find(|(folder, _)| copy.place.store.root.components().any(|part| part.as_os_str() == *folder));
    let why =
        || format!("only {name} opens a task: open the task's directory in its editor, and click History in {panel}");
    let (_, program) = editor.ok_or_else(why)?;
    Ok(Command::new(&[program, "."], Vec::new()))
}

/// Returns instructions for opening the task in the editor, because the program has no option for it.
pub(in crate::agent) fn warning(extension: &Extension, copy: &SessionCopy) -> String {
    let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
    let prompt = text::truncated(prompt, 60);
    let panel = extension.panel;
    format!("the editor opens the folder; to resume the task, click History in {panel}, and then the task \"{prompt}\"")
}

/// Returns whether an element of either file is known to carry no conversation.
pub(super) fn is_silent(record: &[u8]) -> bool {
    const SILENT: [&str; 3] = ["api_req_started", "checkpoint_created", "task_progress"];
    let record: Value = serde_json::from_slice(record).unwrap_or_default();
    record.get("say").and_then(Value::as_str).is_some_and(|say| SILENT.contains(&say))
}

/// Returns the cost in US dollars that the extension recorded with a request, also with a deleted one and one of a
/// sub-agent; it is zero for a model without a price. Facts: `getApiMetrics.ts`.
fn cost(raw: &RawValue) -> Option<Cost> {
    const COSTLY: [&str; 3] = ["api_req_started", "deleted_api_reqs", "subagent_usage"];
    let [say, text] = texts_in(Some(raw), ["say", "text"]);
    say.get().filter(|say| COSTLY.contains(say))?;
    let noted: Option<&RawValue> = serde_json::from_str(text.get().unwrap_or_default()).ok();
    dollars(member(noted, "cost"))
}

/// Returns the files of a task with its conversation.
fn files(place: &Located) -> [PathBuf; 2] {
    FILES.map(|name| place.path.join(name))
}

impl Engine for Tasks {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        let tasks = store.root.join("tasks");
        let has_any = |id: &str| FILES.iter().any(|file| is_there(&tasks.join(id).join(file)));
        found.add_folders(store, &tasks, None, only, &|id| is_word(id) && has_any(id));
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let [shown, _] = files(&place);
        let sum = super::unless_gone(self.0.document.glance(&shown))?;
        let mut copy = SessionCopy::new(place);
        copy.size_bytes = context.tree_size(Some(&copy.place.path));
        sum.fill(&mut copy);
        // The id is the time in milliseconds.
        let created = copy.place.id.parse().ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        copy.created_at = created.map(|at| Fact::new(at, "id"));
        copy.active_at = sum.newest.filter(|_| sum.is_whole).map(|at| Fact::new(at, "transcript"));
        copy.set_active_by_file(sum.modified);
        copy.judge_by_age(sum.modified.max(sum.newest), context.env.clock.now, |age| {
            format!("it was written {age} ago, and {} keeps no lock", self.0.name)
        });
        (self.0.fill)(&mut copy, context)?;
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        let (mut costs, [shown, _]) = (Vec::new(), files(&copy.place));
        let whole = self.0.document.whole(&shown, &mut |raw| costs.extend(cost(raw)));
        let sum = super::unless_gone(whole)?;
        if observers.counts {
            sum.fill_counts(copy);
        }
        copy.usage = observers.usage.then(|| Usage::from_cost(Cost::sum(costs)));
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        self.0.document.messages(&files(&copy.place)[0], see)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        files(place).into()
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        self.0.document.compare(&files(&a.place)[0], &files(&b.place)[0])
    }
}

/// Adds the directory in the list of the extension, or in the first prompt.
fn fill(copy: &mut SessionCopy, context: &ReadContext<'_>) -> Result<(), PathError> {
    if copy.first_prompt.is_none() && copy.kind != SessionKind::Empty {
        copy.first_prompt = context.notes.names.get(&copy.place.id).cloned();
    }
    match context.notes.dirs.get(&copy.place.id) {
        Some(dirs) => {
            copy.start_dir = dirs.first().map(|evidence| Fact::new(evidence.dir.clone(), "session"));
            copy.evidence.extend(dirs.iter().cloned());
        }
        None => set_first_dir(copy),
    }
    Ok(())
}

/// Takes the directory in the environment that the extension adds to the first prompt, for a task that is missing in
/// its list.
pub(in crate::agent) fn set_first_dir(copy: &mut SessionCopy) {
    let [_, history] = files(&copy.place);
    copy.set_dir(directory(&history).as_deref(), "the environment in its first prompt");
}

fn directory(path: &Path) -> Option<String> {
    let (file, _) = fsio::open_regular(path).ok()?;
    let mut start = Vec::new();
    file.take(MAX_PROMPT).read_to_end(&mut start).ok()?;
    let begins = |words: &[u8]| Some(memmem::find(&start, words)? + words.len());
    let dir = &start[DIRECTORY.into_iter().filter_map(begins).min()?..];
    let dir = str::from_utf8(&dir[..memmem::find(dir, b") Files")?]).ok()?;
    // The directory is part of a JSON string.
    serde_json::from_str(&format!("\"{dir}\"")).ok()
}

/// Returns the turn of the first message, which has the type of a reply but is the prompt.
pub(in crate::agent) fn first_turn(raw: &RawValue) -> Option<Vec<Turn>> {
    let [say, text] = texts_in(Some(raw), ["say", "text"]);
    let mut turn = turn(raw)?;
    if say.get() == Some("text") {
        turn = Turn::new(Role::User, turn.at);
        turn.add_text(text.get().unwrap_or_default());
    }
    Some(vec![turn])
}

/// Returns the turn of a displayed message; `None` if it is not one.
pub(in crate::agent) fn turn(raw: &RawValue) -> Option<Turn> {
    let [ts, kind, say, ask, text, partial, model] =
        members(Some(raw), ["ts", "type", "say", "ask", "text", "partial", "modelInfo"]);
    let [kind, say, ask, text] = [kind, say, ask, text].map(inner::<Text<'_>>);
    let what = if kind.get()? == "ask" { ask } else { say };
    let text = text.get().unwrap_or_default();
    let role = match what.get()? {
        "task" | "user_feedback" => Role::User,
        "text" | "completion_result" | "plan_completion_result" | "followup" | "plan_mode_respond" => Role::Assistant,
        "tool"
        | "command"
        | "command_output"
        | "use_mcp_server"
        | "mcp_server_response"
        | "browser_action"
        | "subtask_result" => Role::Tool,
        _ => Role::System,
    };
    let mut turn = Turn::new(role, epoch(ts, 1000));
    match role {
        // A partial message is followed by the whole one.
        _ if partial.is_some_and(|partial| partial.get() == "true") => {}
        Role::User => turn.add_text(text),
        Role::Assistant => {
            // Questions and plans are JSON objects in a text.
            let object: Value = serde_json::from_str(text).unwrap_or_default();
            let part = ["question", "response"].iter().find_map(|key| object.get(key)?.as_str());
            turn.add_text(part.unwrap_or(text));
            turn.model = text_in(model, "modelId").filled().map(str::to_owned);
        }
        Role::Tool if matches!(what.get(), Some("command_output" | "mcp_server_response" | "subtask_result")) => {
            turn.tool(format!("→ {text}"))
        }
        Role::Tool => turn.tool(text),
        Role::System => {}
    }
    Some(turn)
}
