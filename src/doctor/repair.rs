//! Plans changes of files for two decisions: the repairs of `doctor`, and the copy that a user keeps.

mod join;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::agent::upkeep::{StrayLog, is_object};
use crate::agent::{self, Unable};
use crate::change::acts::TakenPaths;
use crate::change::apply::backfill;
use crate::change::hindrance::{left_alone, out_of_store};
use crate::change::plan::backfill as plan;
use crate::change::plan::change::{Change, ChangeItem, Contents, ItemSubject, PlannedCopy, Step, Unplanned};
use crate::doctor::check::{Finding, Repair};
use crate::doctor::survey::{self, Survey};
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::format::jsonl::Jsonl;
use crate::session::{Health, Session, SessionCopy};
use crate::system::stamp;

/// The log that decides whether a stray directory of Amplifier can be folded.
const LOG: &str = "events.jsonl";

/// The planned repairs, and the failures of planning.
#[derive(Debug)]
pub(crate) struct Repairs {
    /// The change.
    pub change: Change,
    /// Findings without a planned repair, each with the reason.
    pub failed: Vec<Unplanned>,
}

/// Plans the repair of every finding that has a lossless one.
pub(crate) fn of_findings(findings: &[Finding], survey: &Survey) -> Repairs {
    let mut repairs = Repairs { change: Change::new("doctor --fix", Vec::new()), failed: Vec::new() };
    let mut taken = Taken::default();
    let mut ordered: Vec<(&Finding, &Repair)> =
        findings.iter().filter_map(|finding| Some((finding, finding.repair.as_ref()?))).collect();
    // A fold changes the log, so the session counts as recently used. Plan repairs that need it unchanged first.
    ordered.sort_by_key(|(_, repair)| matches!(repair, Repair::Fold { .. }));
    for (finding, repair) in ordered {
        let about = about(finding);
        match of_repair(finding, repair, survey) {
            Ok(item) if taken.overlaps(&item) => {}
            Ok(mut item) => {
                taken.add(&mut item, repairs.change.items.len());
                repairs.change.items.push(item);
            }
            Err(reason) => repairs.failed.push(Unplanned { about: about.to_string(), reason }),
        }
    }
    repairs
}

/// The paths that planned items change.
#[derive(Default)]
struct Taken {
    paths: HashSet<PathBuf>,
    /// The directories above these paths.
    above: HashSet<PathBuf>,
    /// The copies whose records change, each with the number of the item.
    edited: HashMap<PathBuf, usize>,
}

impl Taken {
    /// Returns whether an item would change a path that another item changes; the next run plans it.
    fn overlaps(&self, item: &ChangeItem) -> bool {
        let is_taken = |path: &Path| self.above.contains(path) || path.ancestors().any(|it| self.paths.contains(it));
        item.steps.iter().any(|step| is_taken(step.path()))
    }

    /// Adds the item of this number. After another item has edited records of a copy, the copy is not as it was planned,
    /// so this one follows it without another check.
    fn add(&mut self, item: &mut ChangeItem, number: usize) {
        item.after = item.seen.iter().find_map(|seen| self.edited.get(&*seen.place.path).copied());
        item.seen.retain(|seen| !self.edited.contains_key(&*seen.place.path));
        for path in item.steps.iter().map(Step::path) {
            self.above.extend(path.ancestors().skip(1).map(Path::to_path_buf));
            self.paths.insert(path.to_path_buf());
        }
        if item.steps.iter().any(|step| matches!(step, Step::Write { contents: Contents::Edited { .. }, .. })) {
            self.edited.extend(item.seen.iter().map(|seen| (seen.place.path.to_path_buf(), number)));
        }
    }
}

fn about(finding: &Finding) -> ItemSubject {
    match (finding.sessions.first(), finding.paths.first()) {
        (Some((agent, id)), _) if let Some(Repair::Trash { what, .. }) = &finding.repair => {
            ItemSubject::Part(what, *agent, id.as_str().into())
        }
        (Some((agent, id)), _) => ItemSubject::Session(*agent, id.as_str().into()),
        (None, Some(path)) => ItemSubject::Other(path.display().to_string().into()),
        (None, None) => ItemSubject::Other(finding.code.name().into()),
    }
}

fn of_repair(finding: &Finding, repair: &Repair, survey: &Survey) -> Result<ChangeItem, String> {
    let session = finding.sessions.first().and_then(|(agent, id)| survey.session(*agent, id));
    let copies = || session.into_iter().flat_map(|session| session.copies.iter().enumerate());
    let copy_at = |path: &PathBuf| copies().find(|(_, copy)| *copy.place.path == **path);
    let reads = |copy: &SessionCopy, path: &PathBuf| {
        agent::by_kind(copy.place.agent()).is_some_and(|agent| agent.resumed_files(&copy.place).contains(path))
    };
    let reader_of = |path: &PathBuf| copies().find(|(_, copy)| reads(copy, path));
    let seen = finding.paths.iter().filter_map(|path| copy_at(path).or_else(|| reader_of(path)));
    let mut item = ChangeItem {
        seen: seen.map(|(_, copy)| PlannedCopy::from_copy(copy)).collect(),
        ..ChangeItem::new(about(finding), finding.code.name(), finding.measured.as_str(), Vec::new())
    };
    if let Some(why) = item.seen.iter().find_map(|seen| out_of_store(&seen.place)) {
        return Err(why);
    }
    match repair {
        Repair::Backfill { .. } => {
            let session = session.ok_or_else(|| "the session is gone".to_owned())?;
            let planned = plan::plan(session, None);
            if !matches!(planned.action, plan::Action::Write { .. }) {
                return Err(planned.reason);
            }
            return Ok(ChangeItem { code: finding.code.name(), ..backfill::change_of(session, &planned)? });
        }
        Repair::Trash { paths, .. } => item.steps = trash(paths)?,
        Repair::EndLine { path } => {
            item.steps.push(at_the_end(path, |size| Ok(Edit { at: size, removed: 0, inserted: b"\n".to_vec() }))?);
        }
        Repair::EditLines { path } => {
            let agent = session.and_then(|session| agent::by_kind(session.agent)).ok_or("the session is gone")?;
            let edits = |_| survey::line_edits(path, agent).map_err(|error| error.to_string());
            item.steps.push(edited(path, edits)?);
        }
        Repair::Mend { .. } => {
            let session = session.ok_or("the session is gone")?;
            let agent = agent::by_kind(session.agent).ok_or("no agent knows it")?;
            let acts = agent.mend(session.copy()).map_err(|unable| unable.to_string())?;
            let mut taken = TakenPaths::default();
            let steps = taken.steps(acts)?;
            item.steps = taken.missing_dirs().map(|path| Step::MakeDir { path }).chain(steps).collect();
        }
        Repair::JoinChain { path } => {
            let copy = session.ok_or("the session is gone")?.copy();
            item.steps.push(edited(path, |_| join::edits(copy, path))?);
        }
        Repair::CutLine { path } => item.steps.push(at_the_end(path, |size| {
            let removed = length_to_cut(path)?;
            let at = size.checked_sub(removed).ok_or("it is being written to")?;
            Ok(Edit { at, removed, inserted: Vec::new() })
        })?),
        Repair::Fold { from, into } => {
            let number = copy_at(from).map(|(number, _)| number);
            if session.zip(number).and_then(|(session, number)| survey.copy_facts(session, number)?.fold)
                != Some(StrayLog::AllKnown)
            {
                let path = into.join(LOG);
                let stamp = stamp::take_if_present(&path).map_err(|error| error.to_string())?;
                let parts = stamp.is_some().then(|| path.clone()).into_iter().chain([from.join(LOG)]).collect();
                item.steps.push(Step::Write { path, contents: Contents::Joined(parts), stamp: stamp.map(Box::new) });
            }
            item.steps.extend(trash(std::slice::from_ref(from))?);
        }
    }
    Ok(item)
}

/// Plans an edit at the end of a file; `edit` gets the size of the file.
fn at_the_end(path: &Path, edit: impl FnOnce(u64) -> Result<Edit, String>) -> Result<Step, String> {
    edited(path, |size| Ok(vec![edit(size)?]))
}

/// Plans edits of a file; `edits` gets the size of the file.
fn edited(path: &Path, edits: impl FnOnce(u64) -> Result<Vec<Edit>, String>) -> Result<Step, String> {
    let stamp = stamp::take_stamp(path).map_err(|error| error.to_string())?;
    let contents = Contents::Edited { from: path.to_owned(), edits: edits(stamp.size)? };
    Ok(Step::Write { path: path.to_owned(), contents, stamp: Some(Box::new(stamp)) })
}

/// Returns the length of the unterminated last line of a file, half a record or NUL bytes. Fails if the line has become a
/// valid record since.
fn length_to_cut(path: &Path) -> Result<u64, String> {
    let fail = |error: PathError| error.to_string();
    let file = Jsonl::open(path).map_err(fail)?;
    let start = file.last_line_start().map_err(fail)?.ok_or("its last line is too long")?;
    let mut lines = file.lines_from(start, u64::MAX).map_err(fail)?;
    match lines.next_line().map_err(fail)? {
        Some(half) if !half.is_ended && !is_object(half.bytes) => {
            // Lines are read without the NUL bytes around them, which may follow the half record.
            let end = half.offset(half.bytes.len());
            let length = end.checked_sub(half.start).filter(|_| end == file.len());
            length.ok_or_else(|| "NUL bytes follow its last line".to_owned())
        }
        // The reader leaves out a line that has only NUL bytes.
        None if 0 < start && start < file.len() => Ok(file.len() - start),
        _ => Err("its last line is whole now".to_owned()),
    }
}

fn trash(paths: &[PathBuf]) -> Result<Vec<Step>, String> {
    let step = |path: &PathBuf| {
        let stamp = stamp::take_stamp(path).map_err(|error| error.to_string())?;
        Ok(Step::Trash { path: path.as_path().into(), stamp })
    };
    paths.iter().map(step).collect()
}

/// Plans to move these copies of a session to the trash, and to keep the others, of which there is at least one.
///
/// Fails with the reason if a copy cannot be moved: it is in use, or only its agent can remove it.
pub(crate) fn without_copies(session: &Session, going: &BTreeSet<usize>) -> Result<Change, Unable> {
    let copies = || session.copies.iter().enumerate();
    let kept = copies().find(|(at, _)| !going.contains(at)).map(|(_, copy)| copy).ok_or("it has no other copy")?;
    let item = |copy: &SessionCopy| {
        let agent = agent::by_kind(session.agent).ok_or("no agent knows it")?;
        if copy.health.contains(Health::UnknownFormat) {
            let path = copy.place.path.display();
            return Err(
                format!("the records of {path} are in an unknown format; `rejoin archive` keeps them first").into()
            );
        }
        if let Some(why) = [kept, copy].into_iter().find_map(left_alone) {
            return Err(why.into());
        }
        let steps = trash(&agent.belongings(&copy.place)?.own)?;
        // The user chose the copy, so the contents were not compared.
        let about = ItemSubject::Part("a copy", session.agent, session.id().into());
        let item = ChangeItem::new(about, "duplicate-session", "another copy is kept", steps);
        Ok(ChangeItem {
            seen: [PlannedCopy::from_copy(kept), PlannedCopy::from_copy(copy)].into_iter().collect(),
            ..item
        })
    };
    let going = copies().filter(|(at, _)| going.contains(at)).map(|(_, copy)| copy);
    Ok(Change::new("delete", going.map(item).collect::<Result<Vec<_>, Unable>>()?))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn repair_cuts_only_an_incomplete_last_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("messages.jsonl");
        for (text, expected) in [
            ("{\"a\":1}\n{\"b\"", Ok(4)),
            ("{\"a\":1}\n{\"b\"\0\0", Err("NUL bytes follow its last line".to_owned())),
            ("{\"b\"", Ok(4)),
            ("{\"a\":1}\n{\"b\":2}", Err("its last line is whole now".to_owned())),
            ("{\"a\":1}\n", Err("its last line is whole now".to_owned())),
            ("{\"a\":1}\n\0\0\0", Ok(3)),
            ("\0\0\0", Err("its last line is whole now".to_owned())),
        ] {
            std::fs::write(&path, text).expect("a file");
            assert_eq!(length_to_cut(&path), expected, "{text}");
        }
    }
}
