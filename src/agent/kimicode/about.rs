//! The description of Kimi Code in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Kimi Code",
    sessions: "`~/.kimi-code/sessions/<project>/session_<uuid>/` with `state.json` and a log for itself and each sub-agent in \
        `agents/`, `ses_<old id>/` for those that it imported from Kimi CLI; the same below `$KIMI_CODE_HOME`",
    launch_dir: "`cwd` of `state.json`; it finds no session without a valid one, so that `resume` refuses",
    elsewhere: "refuses, and names the directory",
    starts: "`kimi --session ID`, with `-p TEXT` for one prompt. Nothing if `kimi` is Kimi CLI, which it succeeds and \
        which would begin a session of that id",
    in_use: "it keeps no lock: a record of the last two minutes means maybe, unless it ends a turn",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 2.1.0; what is taken back, compressed and imported by its code",
    root: ".kimi-code",
    variables: &[("KIMI_CODE_HOME", None)],
    silent: &[(
        "/type",
        &[
            "metadata",
            "config.update",
            "permission.set_mode",
            "runtime.set_binding",
            "plugin.session_start",
            "token_counting.measured",
            "token_counting.turn_recorded",
        ],
    )],
    is_state: |name| name == "state.json",
    needs_own_dir: true,
    new_session: NewSession::NONE.without_terminal(&["kimi"], &["-p"]),
    api_error: Some("provider.api_error"),
    ..About::NONE
};
