//! The description of Nanocoder in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Nanocoder",
    sessions: "`~/.local/share/nanocoder/sessions/<id>.json` (macOS: `~/Library/Application Support/nanocoder`); the same below \
        `$NANOCODER_DATA_DIR` or `$XDG_DATA_HOME/nanocoder`; 1.25 wrote most conversations twice, once with the first prompt alone",
    launch_dir: "`workingDirectory`",
    elsewhere: "it continues the session in the directory that it was started in",
    starts: "`nanocoder --resume ID` if its package is 1.29 or later; else `nanocoder` in the session's directory, and says what to type \
        there: `/resume ID`. It answers no prompt in a session, so not with `--prompt`",
    in_use: "it keeps no lock: a change of the last two minutes means maybe",
    deletes: "at each start, what was not resumed for 30 days, since 1.30 not written to either (`nanocoder.sessions.retentionDays` in \
        `~/.config/nanocoder/nanocoder-preferences.json`), and at each new session all but the newest 100",
    writes: "nothing; the entry in `sessions.json` stays when a session goes, so its own list goes on showing it for as long as it \
        would have kept it, and says `Session not found`",
    facts: "measured on 1.25.2 and 1.30.0; the settings by its code",
    root: if cfg!(target_os = "macos") { "Library/Application Support/nanocoder" } else { ".local/share/nanocoder" },
    variables: &[("NANOCODER_DATA_DIR", None), ("XDG_DATA_HOME", Some("nanocoder"))],
    silent: &[("/role", &["system"])],
    // By the code of 1.25.2: an entry of `sessions.json` is not compared with the files.
    still_lists: Some("Nanocoder lists removed sessions as long as it would have kept them, and then finds no session"),
    fit_command: super::fit_command,
    // Measured on 1.25.2.
    new_session: NewSession::NONE.without_terminal(&["nanocoder", "run"], &[]),
    ..About::NONE
};
