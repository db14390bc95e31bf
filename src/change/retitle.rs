//! Plans a new title for a session, in the form that its agent reads.

use crate::agent::{self, Unable};
use crate::change::hindrance::left_alone;
use crate::change::plan::change::{Change, ChangeItem, Contents, PlannedCopy, Step, short_title};
use crate::format::edit::Edit;
use crate::session::Session;
use crate::system::stamp;

/// Plans a new title for a session. Fails with the reason if the agent would not read it, or is using the session.
pub(crate) fn plan(session: &Session, title: &str) -> Result<Change, Unable> {
    let copy = session.copy();
    if let Some(why) = left_alone(copy) {
        return Err(why.into());
    }
    let agent = agent::by_kind(session.agent).ok_or("no agent knows it")?;
    let step = |(path, edit): (std::path::PathBuf, Edit)| {
        let stamp = Some(Box::new(stamp::take_stamp(&path)?));
        let contents = Contents::Edited { from: path.clone(), edits: vec![edit] };
        Ok(Step::Write { path, contents, stamp })
    };
    let steps = agent.retitle(copy, title)?.into_iter().map(step).collect::<Result<_, Unable>>()?;
    let item = ChangeItem {
        seen: [PlannedCopy::from_copy(copy)].into(),
        title: session.label().map(short_title),
        ..ChangeItem::new(session.into(), "title", title, steps)
    };
    Ok(Change::new("rename", vec![item]))
}
