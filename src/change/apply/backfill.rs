//! Writes the planned session-info.json files.

use std::path::Path;
use std::time::Duration;

use crate::agent::amplifier::session_info::{FILE_NAME, MAX_BYTES, parse, render};
use crate::change::apply::run::{self, ItemResult, Outcome};
use crate::change::plan::backfill::{Action, Item};
use crate::change::plan::change::{self, Change, Contents, Seen, Step};
use crate::session::Session;
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::stamp;

/// What became of one planned item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BackfillResult {
    /// The file was written.
    Written,
    /// The file was good as it was.
    Kept,
    /// Nothing certain could be written.
    Refused,
    /// It could not be written, for this reason.
    Failed(String),
}

/// Carries a plan out, item by item; one that fails does not keep the others from being done.
pub(crate) fn apply(
    plan: &[(&Session, Item)],
    verb: &'static str,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<(Vec<BackfillResult>, Outcome)> {
    let mut done = Vec::with_capacity(plan.len());
    let mut change = Change { verb, items: Vec::new() };
    for (session, item) in plan {
        done.push(match &item.action {
            Action::Keep => BackfillResult::Kept,
            Action::Refuse { .. } => BackfillResult::Refused,
            Action::Write { .. } => match change_of(session, item) {
                Ok(item) => {
                    change.items.push(item);
                    BackfillResult::Written
                }
                Err(why) => BackfillResult::Failed(why),
            },
        });
    }
    let outcome = run::run(&change, env, patience)?;
    let written = done.iter_mut().filter(|done| **done == BackfillResult::Written);
    for (done, what) in written.zip(&outcome.done) {
        if let ItemResult::Skipped(why) | ItemResult::Failed(why) = what {
            *done = BackfillResult::Failed(why.clone());
        }
    }
    Ok((done, outcome))
}

/// Turns a planned item into a change of its file; unknown keys of a readable old one survive.
pub(crate) fn change_of(session: &Session, item: &Item) -> Result<change::Item, String> {
    let Action::Write { working_dir, created_at, .. } = &item.action else {
        return Err("there is nothing to write for it".to_owned());
    };
    let path = item.session_dir.join(FILE_NAME);
    let stamp = stamp::take_if_present(&path).map_err(|error| error.to_string())?;
    // What cannot be read cannot be kept in the new file; the trash keeps it.
    let old = fsio::read_if_present(&path, MAX_BYTES).ok().flatten();
    // The plan was made of what was there before the stamp was taken.
    if old.as_deref().is_some_and(|old| parse(old, Path::to_owned).is_ok()) {
        return Err("another program wrote its session-info.json in the meantime".to_owned());
    }
    let contents = render(working_dir, *created_at, old.as_deref())
        .ok_or_else(|| format!("{} is not UTF-8, which JSON cannot hold", working_dir.display()))?;
    Ok(change::Item {
        about: session.into(),
        seen: [Seen::of(session.copy())].into(),
        code: "session-info",
        reason: item.reason.as_str().into(),
        steps: vec![Step::Write { path, contents: Contents::Bytes(contents.into_bytes()), stamp: stamp.map(Box::new) }],
        needs: None,
    })
}
