//! The facts about OpenCode in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "OpenCode",
    sessions: "`opencode.db` and `opencode-*.db` in `~/.local/share/opencode`, below `$XDG_DATA_HOME`, and what \
        `$OPENCODE_DB` names; before 1.2 in `storage/session/*/<id>.json` there",
    launch_dir: "`session.directory`",
    elsewhere: "`opencode run --session` answers and saves, but never ends; sessions whose project id changed are left out \
        of its own list",
    starts: "`opencode --session ID`; with `--prompt` `opencode run --session ID TEXT`; names the database if it is not \
        the usual one; a session that OpenCode 1 wrote after OpenCode 2 imported the others is refused by OpenCode 2, and the \
        answer names the command of OpenCode 1",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; its databases are only read, and `opencode session delete ID` removes a session",
    facts: "measured on 1.18.34; anomalyco/opencode 063e8306; the import by its v1-migration of 2.0",
    // Measured on 1.18.33: it never answers if the directory in its database is gone.
    needs_own_dir: true,
    check_prompt: super::check_prompt,
    new_session: NewSession::NONE.in_terminal(&["opencode"], &["--prompt"]).without_terminal(&["opencode", "run"], &[]),
    api_error: Some("\"statusCode\""),
    ..About::NONE
};
