//! The description of Leo in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Leo",
    sessions: "none: `.agent_session.json` in an app's directory names a session of Claude Code",
    launch_dir: "that of the session which is named, not the app's; `rejoin save leo` records it in the pointer",
    elsewhere: "it looks under the app's directory, and starts afresh when it finds nothing",
    starts: "`rejoin resume APP_DIR` starts `claude --resume ID`; if the session is gone, the app's newest one of 5,000 \
        bytes or more; a new one only with `--fresh`",
    in_use: "as the session that it names",
    deletes: "nothing",
    writes: "`.agent_session.json` (`save leo`)",
    changes_outside: &[super::FILE_NAME],
    facts: "read in Leo's agent.py and session documents",
    ..About::NONE
};
