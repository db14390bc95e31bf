//! The description of Continue in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Continue CLI",
    sessions: "`~/.continue/sessions/<id>.json`, of its command line and of its extensions for editors; the same below \
        `$CONTINUE_GLOBAL_DIR`; `sessions.json` beside them is its index",
    launch_dir: "`workspaceDirectory`, which is where the session was started",
    elsewhere: "it knows no resume by id: `cn --resume` goes on with the file that was changed last, whichever directory it is of, \
        and stays in the caller's",
    starts: "`cn --resume`, with `-p TEXT` for one prompt, if the session's file is the one that was changed last; else it says what \
        makes it so",
    in_use: "it keeps no lock: a change of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; the entry in `sessions.json` stays when a session goes, so `cn ls` goes on showing it, and opens the newest \
        session instead",
    facts: "measured on 1.5.47; the extensions by its code",
    root: ".continue/sessions",
    variables: &[("CONTINUE_GLOBAL_DIR", Some("sessions"))],
    silent: &[("/message/role", &["system"])],
    // Measured on 1.5.47: only an editor extension removes an entry from its `sessions.json`.
    still_lists: Some("Continue CLI still lists removed sessions, and opens the newest session instead"),
    // Measured on the version in `facts`.
    new_session: NewSession::NONE.without_terminal(&["cn", "-p"], &[]),
    ..About::NONE
};
