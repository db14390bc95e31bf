//! Antigravity CLI: `conversations/<id>.db`, a database per conversation with a row of protobuf per step, which is only
//! read; `<id>.pb` of older versions is encrypted and not read. `history.jsonl` has the directories of all
//! conversations, `conversation_summaries.db` their titles.
//!
//! Facts: read in xhluca/session-migrate eb6a5e79 docs/antigravity-format.md and formats/antigravity.py (1.1.16), and in
//! kenn-io/agentsview 53860074 internal/parser/antigravity_cli.go (history.jsonl, `.pb`); never measured. Its program
//! has no public code.

mod steps;

pub(super) mod about;

use super::command::as_option;
use super::ids::is_uuid;
use super::unknown_format;
use crate::agent::prelude::*;
use crate::format::file_uri;
use crate::format::json::{list, record};
use crate::format::jsonl::each_line;
use crate::format::sqlite;
use crate::session::branches::BranchFilter;

/// Number of steps at either end of a conversation that are read for a list.
const FIRST: u32 = 40;
const LAST: u32 = 6;

/// Implements [`Agent`](super::Agent) for Antigravity CLI.
pub(super) struct Antigravity;

/// The engine for a database per conversation.
struct Conversations;

/// A line of `history.jsonl`: a prompt.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct HistoryPrompt<'a> {
    conversation_id: Text<'a>,
    workspace: Text<'a>,
}

impl Reading for Antigravity {
    fn engine(&self) -> &'static dyn Engine {
        &Conversations
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let add = |notes: &mut StoreNotes, id: &str, dir: &str, detail: &'static str| {
            let Some(dir) = recorded::dir(dir) else { return };
            let evidence = Evidence { dir, source: "session", detail: detail.into(), counts: true };
            let known = notes.dirs.entry(id.to_owned()).or_default();
            if known.iter().all(|other| other.dir != evidence.dir) {
                known.push(evidence);
            }
        };
        let path = store.root.join("history.jsonl");
        let read = each_line(&path, &mut |line| {
            let prompt: HistoryPrompt<'_> = record(line).unwrap_or_default();
            if let (Some(id), Some(dir)) = (prompt.conversation_id.filled(), prompt.workspace.filled()) {
                add(&mut notes, id, dir, "workspace of history.jsonl");
            }
            ControlFlow::Continue(())
        });
        report(read, &path, &mut notes);
        let path = store.root.join("conversation_summaries.db");
        let mut rows = Vec::new();
        let read = sqlite::read(&path, |db| {
            rows.clear();
            let columns =
                db.column_list("conversation_summaries", "", &["conversation_id", "title", "workspace_uris"])?;
            let see =
                &mut |row: &sqlite::DbRow<'_>| rows.extend(row.text(0).map(|id| (id, row.filled(1), row.text(2))));
            db.query(&format!("SELECT {columns} FROM conversation_summaries"), &[], see)
        });
        report(read, &path, &mut notes);
        for (id, title, uris) in rows {
            let uris: Option<&RawValue> = uris.as_deref().and_then(|uris| serde_json::from_str(uris).ok());
            let [uri] = list(uris)[..] else { continue };
            if let Some(dir) = inner::<Text<'_>>(Some(uri)).filled().and_then(file_uri::path) {
                add(&mut notes, &id, &dir, "workspace_uris of conversation_summaries.db");
            }
            notes.names.extend(title.map(|title| (id, Fact::new(title, "title"))));
        }
        notes
    }

    /// Returns no file: the rows of a database are not lines of records.
    fn conversation_files(&self, _place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl Resuming for Antigravity {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(Command::new(&["agy", "--conversation", &copy.place.id], as_option(prompt, "--print", "--print")))
    }
}

impl Moving for Antigravity {}

impl Housekeeping for Antigravity {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Ok(own_files(place, [place.path.with_extension("db-wal")]))
    }
}

impl Engine for Conversations {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let (mut found, dir) = (Found::default(), store.root.join("conversations"));
        found.add_files(store, &dir, None, ".db", only, &is_uuid);
        let mut older = Found::default();
        older.add_files(store, &dir, None, ".pb", only, &is_uuid);
        found.extend_with_others(older);
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let (_, metadata) = fsio::open_regular(&place.path)?;
        let modified = |path: &Path| links::metadata(path).ok()?.modified().ok()?.try_into().ok();
        let changed = modified(&place.path).max(modified(&place.path.with_extension("db-wal")));
        let mut copy = SessionCopy::new(place);
        (copy.transcript_bytes, copy.size_bytes) = (metadata.len(), metadata.len());
        if is_encrypted(&copy.place) {
            unknown_format::mark(&mut copy, "its conversation is encrypted, and not read".to_owned());
        } else {
            let ends = AntigravityEnds::read(&copy.place.path)?;
            ends.fill(&mut copy);
            if ends.prompt.is_none() && !ends.is_empty {
                self.observe(&mut copy, &mut Observers::counts(false))?;
            }
        }
        copy.set_active_by_file(changed);
        copy.title = context.notes.names.get(&copy.place.id).cloned();
        if let Some(dirs) = context.notes.dirs.get(&copy.place.id) {
            copy.start_dir = dirs.first().map(|evidence| Fact::new(evidence.dir.clone(), "session"));
            copy.evidence.extend(dirs.iter().cloned());
        }
        super::judge_by_age(&mut copy, changed, context.env.clock.now);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        if is_encrypted(&copy.place) {
            return Ok(());
        }
        let steps = sqlite::read(&copy.place.path, |db| {
            observers.restart();
            let mut steps = 0_u64;
            steps::each_step(db, "ASC", u32::MAX, &mut |step| {
                steps += 1;
                step.turn.into_iter().for_each(|turn| observers.add(turn));
            })?;
            Ok(steps)
        })?;
        if observers.prompts.is_empty() && observers.replies.is_empty() && steps > 0 {
            unknown_format::mark(copy, format!("{steps} steps without a prompt or a reply could not be understood"));
        }
        observers.finish(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        if is_encrypted(&copy.place) {
            return Ok(());
        }
        let messages = sqlite::read(&copy.place.path, |db| {
            let mut messages = Vec::new();
            steps::each_step(db, "ASC", u32::MAX, &mut |step| {
                messages.extend(step.turn.into_iter().flat_map(|turn| turn.messages));
            })?;
            Ok(messages)
        })?;
        // A break needs no handling: nothing follows.
        let _ = messages.into_iter().try_for_each(see);
        Ok(())
    }
}

/// The facts at both ends of a conversation.
#[derive(Default)]
struct AntigravityEnds {
    is_empty: bool,
    prompt: Option<String>,
    created: Option<Timestamp>,
    newest: Option<Timestamp>,
}

impl AntigravityEnds {
    fn read(path: &Path) -> Result<Self, PathError> {
        sqlite::read(path, |db| {
            let mut ends = Self { is_empty: true, ..Self::default() };
            steps::each_step(db, "ASC", FIRST, &mut |step| {
                ends.is_empty = false;
                ends.created = ends.created.or(step.at);
                let prompt = step.turn.as_ref().and_then(Turn::prompt).map(str::to_owned);
                ends.prompt = ends.prompt.take().or(prompt);
            })?;
            steps::each_step(db, "DESC", LAST, &mut |step| ends.newest = ends.newest.max(step.at))?;
            Ok(ends)
        })
    }

    fn fill(&self, copy: &mut SessionCopy) {
        if self.is_empty {
            copy.be_empty();
        }
        copy.first_prompt = self.prompt.as_deref().map(|prompt| Fact::new(prompt, "database"));
        copy.created_at = self.created.map(|at| Fact::new(at, "database"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "database"));
    }
}

/// Returns whether a conversation is a file of an older version.
fn is_encrypted(place: &Located) -> bool {
    place.path.extension().is_some_and(|ending| ending == "pb")
}

/// Adds a problem for a file that cannot be read, unless the file is missing.
fn report(read: Result<(), PathError>, path: &Path, notes: &mut StoreNotes) {
    if let Err(error) = read
        && error.kind() != std::io::ErrorKind::NotFound
    {
        notes.problem(path, error.reason());
    }
}
