//! Factory Droid: `~/.factory/sessions/<project>/<id>.jsonl`, one file per session, with its settings next to it.
//!
//! Facts: read in the packages of droid 0.215.0 (`.favorites`, a list of the pinned ids) and 0.225.2; not measured.

mod records;

pub(super) mod about;

use super::as_last_argument;
use super::lines::{Ends, Lines, Log};
use crate::agent::ids::is_word;
use crate::agent::kept;
use crate::agent::prelude::*;
use crate::format::content::is_beginning_of;
use crate::format::json::record;
use crate::session::KeptBy;
use records::{DroidRecord, DroidSettings};

/// Suffix of the settings file next to a session.
const SETTINGS: &str = "settings.json";
const MAX_SETTINGS: u64 = 4 * 1024 * 1024;
/// The folder of side questions. Each is a fork that Droid's list omits.
const ASIDE: &str = "btw";

/// Implements [`Agent`](super::Agent) for Factory Droid.
pub(super) struct Droid;

impl Reading for Droid {
    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let pinned = KeptBy::new("pinned in Factory Droid", "unpin it there with /pin");
        notes.add_kept(&store.root.join("sessions/.favorites"), (pinned, "maybe pinned in Factory Droid"), |bytes| {
            kept::ids(serde_json::from_slice(bytes).ok())
        });
        notes
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }
}

impl Resuming for Droid {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let words: &[&str] = if prompt.is_some() { &["droid", "exec", "--session-id"] } else { &["droid", "--resume"] };
        Ok(Command::new(&[words, &[copy.place.id.as_str()]].concat(), as_last_argument(prompt)))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        refuse_other_dir(copy, dir, &taken_along(copy))
    }
}

impl Moving for Droid {
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(relocate_unless_back(taken_along))
    }
}

impl Housekeeping for Droid {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Ok(own_files(place, [settings(&place.path)]))
    }
}

impl Log for Droid {
    type Record<'a> = DroidRecord<'a>;
    type Facts = ();

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let sessions = store.root.join("sessions");
        let mut found = Found::in_projects(&sessions, |dir, project, found| {
            if project.starts_with('-') || &**project == ASIDE {
                let project = Some(project).filter(|project| &***project != ASIDE);
                found.add_files(store, dir, project, ".jsonl", only, &is_word);
            }
        });
        // Sessions from versions without projects, which Droid still finds.
        found.add_files(store, &sessions, None, ".jsonl", only, &is_word);
        found
    }

    fn parse(line: &[u8]) -> Option<DroidRecord<'_>> {
        record(line)
    }

    fn see_from_start(record: &DroidRecord<'_>, _number: usize, copy: &mut SessionCopy, (): &mut ()) {
        record.describe(copy);
    }

    fn see_from_end(record: &DroidRecord<'_>, copy: &mut SessionCopy, (): &mut ()) {
        let model = || record.model().map(|model| Fact::new(model, "transcript"));
        copy.model = copy.model.take().or_else(model);
    }

    fn knows_end(copy: &SessionCopy, (): &()) -> bool {
        copy.model.is_some()
    }

    fn finish(copy: &mut SessionCopy, ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        // Until it has a better title, Droid uses the beginning of the first prompt.
        let prompt = ends.prompt.as_deref().unwrap_or_default();
        copy.title = copy.title.take().filter(|title| !is_beginning_of(&title.value, prompt));
        let settings = settings(&copy.place.path);
        copy.size_bytes += links::metadata(&settings).ok().filter(|_| context.sizes).map_or(0, |file| file.len());
        let bytes = read_or_note(copy, &settings, MAX_SETTINGS, settings.display());
        judge_kind(copy, &bytes.unwrap_or_default());
        Ok(())
    }
}

/// Describes how Droid takes a session to another directory.
fn taken_along(copy: &SessionCopy) -> String {
    format!("`droid --resume {} --cwd DIR` takes it elsewhere", copy.place.id)
}

/// Returns the settings file of a session.
fn settings(path: &Path) -> PathBuf {
    path.with_extension(SETTINGS)
}

/// Sets the kind of a non-empty session from its settings.
fn judge_kind(copy: &mut SessionCopy, bytes: &[u8]) {
    let settings: DroidSettings<'_> = serde_json::from_slice(bytes).unwrap_or_default();
    copy.kind = match copy.kind {
        SessionKind::Empty => SessionKind::Empty,
        _ if settings.has_tag(&["subagent", "mission-worker", "btw-fork"]) => SessionKind::Subagent,
        SessionKind::Subagent => SessionKind::Subagent,
        _ if settings.archived_at.filled().is_some() => SessionKind::Archived,
        SessionKind::Main if settings.has_tag(&["exec"]) => SessionKind::Exec,
        kind => kind,
    };
}
