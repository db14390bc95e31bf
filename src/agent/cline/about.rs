//! The description of Cline.

use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("cline"),
    title: "Cline CLI",
    tested_version: Some("3.0.65"),
    root: ".cline/data",
    variables: &[("CLINE_DATA_DIR", None), ("CLINE_DIR", Some("data"))],
    // The other files contain the status and the costs.
    is_state: |name| {
        name.ends_with(".json") && !name.ends_with(super::MESSAGES) && !super::tasks::FILES.contains(&name)
    },
    // The extension's settings of one task, such as automatic approval (disk.ts of v3.40.0).
    runs: &["settings.json"],
    // Measured on 3.0.65: no other program writes its database.
    still_lists: Some(
        "Cline CLI still lists removed sessions; `cline history delete --session-id ID` takes it off its list",
    ),
    // Measured on `tested_version`.
    new_session: NewSession::NONE.without_terminal(&["cline"], &[]),
    lists: &[ListAt { path: "state/taskHistory.json", names: ["id", "task", "ts", "cwdOnTaskInitialization"] }],
    usage: Some(UsageAt::NONE),
    ..About::NONE
};
