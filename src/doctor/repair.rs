//! Turns decisions about sessions into changes of files: what doctor repairs, and which copy a person keeps.

use std::path::{Path, PathBuf};

use crate::agent;
use crate::agent::upkeep::Fold;
use crate::change::apply::backfill;
use crate::change::plan::backfill as plan;
use crate::change::plan::change::{About, Change, Contents, Item, Seen, Step, Unplanned};
use crate::doctor::check::{Finding, Repair};
use crate::doctor::survey::Survey;
use crate::session::{Copy, Session};
use crate::system::stamp;

/// The log that a stray directory of Amplifier is folded by.
const LOG: &str = "events.jsonl";

/// What doctor would repair, and what it could not plan.
#[derive(Debug)]
pub(crate) struct Repairs {
    /// The change.
    pub change: Change,
    /// What could not be planned.
    pub failed: Vec<Unplanned>,
}

/// Plans the repair of every finding that can be repaired without losing anything.
pub(crate) fn of_findings(findings: &[Finding], survey: &Survey) -> Repairs {
    let mut repairs = Repairs { change: Change { verb: "doctor --fix", items: Vec::new() }, failed: Vec::new() };
    let mut ordered: Vec<(&Finding, &Repair)> =
        findings.iter().filter_map(|finding| Some((finding, finding.repair.as_ref()?))).collect();
    // A log that grows makes the session look used, so what wants it as it was seen comes first.
    ordered.sort_by_key(|(_, repair)| matches!(repair, Repair::Fold { .. }));
    for (finding, repair) in ordered {
        let about = about(finding);
        match of_repair(finding, repair, survey) {
            Ok(item) if repairs.overlaps(&item) => {}
            Ok(item) => repairs.change.items.push(item),
            Err(reason) => repairs.failed.push(Unplanned { about: about.to_string(), reason }),
        }
    }
    repairs
}

impl Repairs {
    /// Returns whether something is changed already that an item would change too; the next run finds what is left.
    fn overlaps(&self, item: &Item) -> bool {
        let taken = || self.change.items.iter().flat_map(|item| &item.steps).map(Step::path);
        item.steps.iter().any(|step| taken().any(|path| step.path().starts_with(path) || path.starts_with(step.path())))
    }
}

fn about(finding: &Finding) -> About {
    match (finding.sessions.first(), finding.paths.first()) {
        (Some((agent, id)), _) => About::Session(*agent, id.as_str().into()),
        (None, Some(path)) => About::Other(path.display().to_string().into()),
        (None, None) => About::Other(finding.code.name().into()),
    }
}

fn of_repair(finding: &Finding, repair: &Repair, survey: &Survey) -> Result<Item, String> {
    let session = finding.sessions.first().and_then(|(agent, id)| {
        survey.scan.sessions.iter().find(|session| session.agent == *agent && session.id == *id)
    });
    let copies = session.map_or(&[][..], |session| &session.copies);
    let seen = copies
        .iter()
        .filter(|copy| finding.paths.iter().any(|path| **path == *copy.place.path))
        .map(Seen::of)
        .collect();
    let mut item = Item {
        about: about(finding),
        seen,
        code: finding.code.name(),
        reason: finding.measured.as_str().into(),
        steps: Vec::new(),
        needs: None,
    };
    match repair {
        Repair::Backfill { .. } => {
            let session = session.ok_or_else(|| "the session is gone".to_owned())?;
            let planned = plan::plan(session, None);
            if !matches!(planned.action, plan::Action::Write { .. }) {
                return Err(planned.reason);
            }
            return Ok(Item { code: finding.code.name(), ..backfill::change_of(session, &planned)? });
        }
        Repair::Trash { paths } => item.steps = trash(paths)?,
        Repair::Fold { from, into } => {
            let is_known = || session.zip(fold_of(from, survey)).is_some_and(|(_, fold)| fold == Fold::AllKnown);
            if !is_known() {
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

/// Returns how the events of a stray directory stand to those of the session.
fn fold_of(from: &Path, survey: &Survey) -> Option<Fold> {
    survey.copies.iter().find_map(|(at, facts)| {
        let copies = &survey.scan.sessions.get(*at)?.copies;
        let number = copies.iter().position(|copy| *copy.place.path == *from)?;
        facts.get(number.checked_sub(1)?)?.fold
    })
}

fn trash(paths: &[PathBuf]) -> Result<Vec<Step>, String> {
    let step = |path: &PathBuf| {
        let stamp = stamp::take(path).map_err(|error| error.to_string())?;
        Ok(Step::Trash { path: path.as_path().into(), stamp })
    };
    paths.iter().map(step).collect()
}

/// Plans to keep the first copy of a session, and to move the others to the trash.
///
/// Fails with the reason if one cannot be: it is in use, or only its agent can remove it.
pub(crate) fn keep_first(session: &Session) -> Result<Change, String> {
    let kept = session.copy();
    let item = |copy: &Copy| {
        let agent = agent::by_kind(session.agent).ok_or_else(|| "no agent knows it".to_owned())?;
        let comparison = session
            .choice
            .comparisons
            .iter()
            .zip(&session.copies)
            .find(|(_, other)| other.place.path == copy.place.path);
        let what = match comparison.and_then(|(comparison, _)| *comparison) {
            Some(comparison) => comparison.to_string(),
            None => "another copy is kept".to_owned(),
        };
        Ok(Item {
            about: session.into(),
            seen: [Seen::of(kept), Seen::of(copy)].into_iter().collect(),
            code: "duplicate-session",
            reason: what.into(),
            steps: trash(&agent.belongings(&copy.place)?.own)?,
            needs: None,
        })
    };
    let items = session.copies[1..].iter().map(item).collect::<Result<Vec<_>, String>>()?;
    Ok(Change { verb: "dedupe", items })
}
