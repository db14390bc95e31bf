//! Qoder CLI: `<config dir>/projects/<slug>/<uuid>.jsonl`, Claude Code's records and layout with additional types of
//! records.
//!
//! Facts: the package `@qoder-ai/qodercli` 1.1.52; ids, lists and directories measured without an account, which a
//! prompt needs.

pub(super) mod about;

use super::claude::Transcripts;
use super::claude::slug::{base36, slug};
use super::{Agent as _, as_last_argument, claude, gemini, judge_by_age};
use crate::agent::prelude::*;
use crate::agent::relocation::{added_line, text};
use crate::agent::unknown_format::has_any;
use crate::agent::upkeep::Retention;
use crate::session::causes::{self, Cause};

/// Maximum length of a slug that is not cut and hashed.
const MAX_SLUG: usize = 200;
/// Types of records without conversation that Claude Code lacks.
const SILENT: [&str; 5] =
    ["active-leaf", "content-replacement", "runtime-config", "token-stats", "workspace-directories"];

/// Implements [`Agent`](super::Agent) for Qoder CLI.
pub(super) struct Qoder;

impl Reading for Qoder {
    fn engine(&self) -> &'static dyn Engine {
        &Transcripts { complete }
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &SILENT)]) || claude::is_silent(record)
    }
}

impl Resuming for Qoder {
    fn stuck_causes(&self, copy: &SessionCopy) -> Result<Vec<causes::CauseLine>, PathError> {
        let mut found = claude::causes::read(copy, |record| self.is_silent(record))?;
        // The limit on images and the signatures do not apply to Qoder's API.
        found.retain(|found| matches!(found.cause, Cause::CallWithoutResult | Cause::LoneSurrogate));
        Ok(found)
    }

    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        let words: &[&str] = if prompt.is_some() { &["qodercli", "-p", "--resume"] } else { &["qodercli", "--resume"] };
        Ok(Command::new(&[words, &[&copy.place.id]].concat(), as_last_argument(prompt)))
    }
}

impl Moving for Qoder {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let projects = moving.store.root.join("projects");
        Ok(Relocation::of_each(move |copy, to| {
            let (place, to) = (&copy.place, text(to)?);
            let project = projects.join(project_of(to));
            let target = |path: &Path| project.join(path.file_name().unwrap_or_default());
            let belongings = self.belongings(place)?.own.into_iter().filter(|path| **path != *place.path);
            let moves = belongings.map(|from| Act::Move { to: target(&from), from });
            let mut acts: Vec<Act> = moves.filter(|act| !matches!(act, Act::Move { from, to } if from == to)).collect();
            // Qoder itself writes a `relocated` record when it changes to a worktree.
            let record = serde_json::json!({"type": "relocated", "sessionId": place.id, "relocatedCwd": to});
            let edits = vec![added_line(&place.path, &record.to_string())?];
            acts.push(Act::Edit { from: place.path.to_path_buf(), to: target(&place.path), edits });
            Ok(Moved::by(acts))
        }))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        // Qoder resolves links first.
        Some(encodes(dir, |dir| project_of(dir) == project))
    }
}

impl Housekeeping for Qoder {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        let meta = Some(place.path.with_extension("meta.json")).filter(|_| place.is_subagent);
        Ok(own_files(place, place.side_dir.clone().into_iter().chain(meta)))
    }

    fn retention(&self, store: &Store, _env: &Env) -> Option<Retention> {
        gemini::retention::of_settings(&[store.root.join("settings.json")], false)
    }
}

/// Adds the liveness.
fn complete(copy: &mut SessionCopy, context: &ReadContext<'_>) {
    let last = copy.active_at.as_ref().map(|at| at.value).max(copy.modified_at);
    judge_by_age(copy, last, context.env.clock.now);
}

/// Returns the project name of a directory.
fn project_of(dir: &str) -> String {
    let mut project: String = slug(dir).take(MAX_SLUG).collect();
    if dir.encode_utf16().count() > MAX_SLUG {
        project.push('-');
        project.push_str(&hash(dir));
    }
    project
}

/// Returns the hash of a long path: the absolute value of the 32-bit `33 * h ^ unit` from 5381, in base 36.
fn hash(dir: &str) -> String {
    let hash = dir.encode_utf16().fold(5381_i32, |hash, unit| hash.wrapping_mul(33) ^ i32::from(unit));
    base36(hash.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_name_matches_qoder() {
        assert_eq!(project_of("/w/a.b_c"), "-w-a-b-c");
        let long = format!("/work/{}", "a".repeat(250));
        assert_eq!(project_of(&long), format!("-work-{}-fj9ozg", "a".repeat(194)));
        assert_eq!(Qoder.is_filed_under(&project_of(&long), Path::new(&long)), Some(true));
        assert_eq!(Qoder.is_filed_under(&project_of(&long), Path::new(&format!("{long}a"))), Some(false));
    }
}
