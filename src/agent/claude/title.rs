//! Changes the title of a session in Claude Code: a `custom-title` record at the end of its transcript overrides every
//! other title. Measured on 2.1.330 and 2.1.197, with records that were appended by hand.

use std::path::PathBuf;

use crate::agent::Unable;
use crate::agent::relocation::added_line;
use crate::format::edit::Edit;
use crate::session::SessionCopy;

pub(super) fn retitle(copy: &SessionCopy, title: &str) -> Result<(PathBuf, Edit), Unable> {
    let place = &copy.place;
    if place.is_subagent {
        return Err("it is a sub-agent, and Claude Code shows no title of one".into());
    }
    let record = serde_json::json!({"type": "custom-title", "customTitle": title, "sessionId": place.id});
    Ok((place.path.to_path_buf(), added_line(&place.path, &record.to_string())?))
}
