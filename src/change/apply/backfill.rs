//! Writes the planned session-info.json files.

use std::path::Path;
use std::time::Duration;

use crate::agent::amplifier::session_info::{FILE_NAME, MAX_BYTES, parse, render};
use crate::change::apply::run;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::plan::backfill::{Action, SessionBackfill};
use crate::change::plan::change::{self, Change, Contents, PlannedCopy, Step};
use crate::session::Session;
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::stamp;

/// Carries out a plan, item by item; continues after an item that fails.
pub(crate) fn apply(
    plan: &[(&Session, SessionBackfill)],
    verb: &'static str,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<ChangeOutcome> {
    let mut results: Vec<ItemResult> = plan.iter().map(|(_, item)| item.planned()).collect();
    let mut change = Change::new(verb, Vec::new());
    for ((session, item), result) in plan.iter().zip(&mut results).filter(|(_, result)| **result == ItemResult::Done) {
        match change_of(session, item) {
            Ok(item) => change.items.push(item),
            Err(why) => *result = ItemResult::Failed(why),
        }
    }
    let mut outcome = run::run(&change, env, patience)?;
    let written = results.iter_mut().filter(|result| **result == ItemResult::Done);
    written.zip(std::mem::take(&mut outcome.done)).for_each(|(result, done)| *result = done);
    Ok(ChangeOutcome { done: results, ..outcome })
}

/// Turns a planned item into a change of its file; keeps unknown keys of a readable old one.
pub(crate) fn change_of(session: &Session, item: &SessionBackfill) -> Result<change::ChangeItem, String> {
    let Action::Write { working_dir, created_at, .. } = &item.action else {
        return Err("there is nothing to write for it".to_owned());
    };
    let path = item.session_dir.join(FILE_NAME);
    let stamp = stamp::take_if_present(&path).map_err(|error| error.to_string())?;
    // The new file cannot keep content that is unreadable; the trash keeps the old file.
    let old = fsio::read_if_present(&path, MAX_BYTES).ok().flatten();
    // The plan is older than the stamp, so the content is compared.
    if old.as_deref().is_some_and(|old| parse(old, Path::to_owned).is_ok()) {
        return Err("another program wrote its session-info.json in the meantime".to_owned());
    }
    let contents = render(working_dir, *created_at, old.as_deref())
        .ok_or_else(|| format!("{} is not UTF-8, which JSON cannot hold", working_dir.display()))?;
    let contents = Contents::Bytes(contents.into_bytes());
    let steps = vec![Step::Write { path, contents, stamp: stamp.map(Box::new) }];
    let change = change::ChangeItem::new(session.into(), "session-info", item.reason.as_str(), steps);
    Ok(change::ChangeItem { seen: [PlannedCopy::from_copy(session.copy())].into(), ..change })
}
