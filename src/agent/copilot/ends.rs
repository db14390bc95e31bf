//! What `workspace.yaml` and the two ends of `events.jsonl` tell, which is what a list needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::recorded;
use crate::agent::copilot::flat_yaml;
use crate::agent::copilot::records::{Context, Event, may_have_context};
use crate::format::json::instant;
use crate::session::recorded;
use crate::session::{Copy, Fact, Health, SessionKind};
use crate::system::fsio;

/// The file holds about ten short keys; a name can be a long prompt.
pub(super) const MAX_WORKSPACE: u64 = 256 * 1024;

/// What `workspace.yaml` tells.
#[derive(Default)]
pub(super) struct Workspace {
    cwd: Option<Arc<Path>>,
    branch: Option<String>,
    name: Option<String>,
    is_named_by_user: bool,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

impl Workspace {
    pub(super) fn read(copy: &mut Copy) -> Self {
        let bytes = match fsio::read_if_present(&copy.place.path.join("workspace.yaml"), MAX_WORKSPACE) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                copy.notes.push(format!("its workspace.yaml cannot be read: {}", error.reason()));
                return Self::default();
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut values = flat_yaml::read(&text);
        let at = |value: Option<&String>| value.and_then(|value| instant(value));
        Self {
            created_at: at(values.get("created_at")),
            updated_at: at(values.get("updated_at")),
            is_named_by_user: values.get("user_named").is_some_and(|value| value == "true"),
            // What is no absolute path would mean another directory to every caller.
            cwd: values.remove("cwd").and_then(|cwd| recorded::dir(&cwd)),
            branch: values.remove("branch"),
            name: values.remove("name"),
        }
    }

    /// Returns the name, unless it is the first prompt: the client uses that if no one gave a name.
    fn title(&mut self, prompt: Option<&str>) -> Option<String> {
        let name = self.name.take().filter(|name| !name.trim().is_empty())?;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (short, long) = (words(&name), prompt.map(words).unwrap_or_default());
        let cut = short.trim_end_matches(['…', '.']);
        let is_prompt = !self.is_named_by_user && !cut.is_empty() && long.starts_with(cut);
        (!is_prompt).then_some(name)
    }
}

/// What the two ends of `events.jsonl` tell.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) is_whole: bool,
    created_at: Option<Timestamp>,
    first: Option<Context>,
    prompt: Option<String>,
    has_reply: bool,
    newest: Option<Timestamp>,
    last: Option<Context>,
    model: Option<String>,
    is_torn: bool,
    events_from_end: u32,
}

/// How many events near the end are always read for the newest time and the model.
const LAST_EVENTS: u32 = 6;
/// How many events near the end are searched for the model: a session without an answer has none.
const MAX_EVENTS: u32 = 40;

impl Ends {
    pub(super) fn see_from_start(&mut self, line: &[u8]) -> bool {
        let Some(event) = Event::parse(line) else { return false };
        self.created_at = self.created_at.or_else(|| event.at());
        self.first = self.first.take().or_else(|| event.context());
        self.prompt = self.prompt.take().or_else(|| event.prompt());
        self.has_reply |= event.reply_id().is_some();
        self.created_at.is_some() && self.first.is_some() && self.prompt.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) -> bool {
        let knows_rest = self.newest.is_some()
            && self.events_from_end >= LAST_EVENTS
            && (self.model.is_some() || self.events_from_end >= MAX_EVENTS);
        // The last resume can be far up; its line is recognised without parsing.
        if !knows_rest || may_have_context(line) {
            match Event::parse(line) {
                Some(event) => {
                    self.newest = self.newest.max(event.at());
                    self.last = self.last.take().or_else(|| event.context());
                    self.model = self.model.take().or_else(|| event.model());
                    self.events_from_end += 1;
                }
                None => self.is_torn |= !is_ended,
            }
        }
        knows_rest && self.last.is_some()
    }

    pub(super) fn fill(self, copy: &mut Copy, mut workspace: Workspace) {
        if self.is_whole && self.prompt.is_none() && !self.has_reply {
            copy.kind = SessionKind::Empty;
            copy.health.insert(Health::EmptySession);
        }
        copy.mark_if(self.is_torn, Health::TornTranscript);
        copy.title = workspace.title(self.prompt.as_deref()).map(|title| Fact::new(title, "workspace"));
        copy.first_prompt = self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "events"));
        copy.model = self.model.map(|model| Fact::new(model, "events"));
        copy.created_at = workspace.created_at.map(|at| Fact::new(at, "workspace"));
        copy.created_at = copy.created_at.take().or_else(|| self.created_at.map(|at| Fact::new(at, "events")));
        let newest = self.newest.map(|at| Fact::new(at, "events"));
        let updated = workspace.updated_at.map(|at| Fact::new(at, "workspace"));
        copy.active_at = newest.or(updated).or_else(|| copy.active_at.take());

        let (first, last) = (self.first, self.last);
        let branches = [last.as_ref(), first.as_ref()].into_iter().flatten().find_map(|context| context.branch.clone());
        copy.git_branch = branches
            .map(|branch| Fact::new(branch, "events"))
            .or_else(|| workspace.branch.map(|branch| Fact::new(branch, "workspace")));
        let dir = |context: Context| Arc::<Path>::from(PathBuf::from(context.cwd));
        let (first, last) = (first.map(dir), last.map(dir));
        // A resume without an id goes on where it is started, and only the events say so.
        let moved = last.clone().filter(|last| Some(last) != first.as_ref()).map(|dir| (dir, "last-directory"));
        let named = workspace.cwd.clone().map(|dir| (dir, "workspace"));
        let sources = [moved, first.clone().map(|dir| (dir, "events")), named];
        for (dir, source) in sources.into_iter().flatten() {
            if copy.evidence.iter().all(|evidence| evidence.dir != dir) {
                let file = if source == "workspace" { "workspace.yaml" } else { "events.jsonl" };
                copy.evidence.push(recorded(dir, source, file));
            }
        }
        if let (Some(own), Some(launch)) = (&workspace.cwd, copy.evidence.first())
            && *own != launch.dir
        {
            copy.notes.push(format!(
                "Copilot CLI changes to {} by itself when it resumes, if that directory exists",
                own.display()
            ));
        }
        let start = first.map(|dir| Fact::new(dir, "events"));
        copy.start_dir = start.or_else(|| workspace.cwd.map(|dir| Fact::new(dir, "workspace")));
        copy.last_dir = last.map(|dir| Fact::new(dir, "events")).or_else(|| copy.start_dir.clone());
    }
}
