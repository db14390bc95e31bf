//! The description of Cline in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Cline CLI",
    sessions: "`~/.cline/data/sessions/<id>/` with `<id>.json` and `<id>.messages.json`, sub-agents as `agent_….messages.json` in \
        the same folder; the same in `$CLINE_DATA_DIR` or `$CLINE_DIR/data`; tasks of the editor extension in `tasks/<id>/` there and in \
        `~/.config/<editor>/User/globalStorage/saoudrizwan.claude-dev/tasks/<id>/` (macOS: `~/Library/Application Support/…`) of Code, \
        Code - Insiders, VSCodium and Cursor, and in `data/User/globalStorage` of their servers, such as `~/.vscode-server`",
    launch_dir: "`cwd` of `<id>.json`, which is the first directory and never changes; for a task `cwdOnTaskInitialization` in \
        `state/taskHistory.json`, else the directory in the environment of its first prompt",
    elsewhere: "it continues the session in the caller's directory, which it does not record; of an id that it does not know \
        it shows an error and stays open",
    starts: "`cline --id ID` in the session's directory; not with `--prompt`, because it resumes in a terminal only and ignores a \
        text there; not if `messages_path` in `<id>.json` leads elsewhere; for a task the editor with its directory (`code .`), and it says to click \
        History and the task in Cline's panel, because only the extension opens one",
    in_use: "its hub keeps no mark of one session: `status` running or idle while the process in `pid` is there means maybe, and so \
        does a change of the last two minutes",
    deletes: "nothing",
    writes: "nothing; the row in its `sessions.db` stays when a folder goes, so its own list goes on showing the session; \
        `cline history delete --session-id ID` removes either or both",
    facts: "measured on 3.0.65; `$CLINE_DIR` by its code; tasks by cline/cline v3.40.0 and 21cb8d25, never measured",
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
    // Measured on the version in `facts`.
    new_session: NewSession::NONE.without_terminal(&["cline"], &[]),
    ..About::NONE
};
