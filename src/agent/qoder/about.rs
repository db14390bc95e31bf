//! The description of Qoder CLI in docs/agents.md.

use crate::agent::claude;
use crate::agent::prelude::*;
use crate::agent::relocation::is_relocated;

pub(crate) const ABOUT: About = About {
    title: "Qoder CLI",
    sessions: "`~/.qoder/projects/<slug>/<id>.jsonl`, sub-agents in `<id>/subagents` next to it; the same below `$QODER_CONFIG_DIR`",
    launch_dir: "the last `relocated` record, else the first recorded directory, else the last, whichever encodes to the slug; a \
        session that none fits is marked `misfiled` and resumed only with `--trust` or `--in`",
    elsewhere: "it looks only in the project of the current directory and of other worktrees of its repository: \"Invalid session \
        identifier\", exit code 42",
    starts: "`qodercli --resume ID`, with `-p` for one prompt",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing, unless `general.sessionRetention` in its `settings.json` is enabled: then, at a start, sessions of that directory \
        whose file is older than `maxAge`",
    writes: "nothing, but `move` adds a `relocated` record, as Qoder CLI does, and moves the file into the new directory's project",
    facts: "measured on 1.1.52 without an account: lists, ids and directories; records and settings by its package",
    root: ".qoder",
    variables: &[("QODER_CONFIG_DIR", None)],
    version_at: Some("/version"),
    api_error: Some("isApiErrorMessage"),
    new_session: NewSession::NONE.in_terminal(&["qodercli"], &["-i"]).without_terminal(&["qodercli", "-p"], &[]),
    decide: claude::decide_again,
    link: claude::link,
    is_move_record: Some(is_relocated),
    ..About::NONE
};
