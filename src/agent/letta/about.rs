//! The description of Letta Code in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep::HalfLine;

pub(crate) const ABOUT: About = About {
    title: "Letta Code",
    sessions: "those of its local backend: `~/.letta/lc-local-backend/conversations/<id in base64>/`, in the formats of schema 1 and 2, or below \
        `$LETTA_LOCAL_BACKEND_DIR` alone if that is set, because an id such as `local-conv-1` is another one's in each; what is on a \
        server is not on this machine",
    launch_dir: "the last one in the text that it puts before a prompt at each start; without such a text that of the file's header, \
        unless a migration wrote that",
    elsewhere: "it continues the session in the caller's directory",
    starts: "`letta --backend local --conversation ID`, with `-p TEXT` for one prompt; not if the agent that the conversation \
        belongs to is gone, or while the last line of any conversation is cut off, on which it fails in all of them",
    in_use: "it keeps no lock: a change of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 0.25.9 (schema 1) and 0.32.18 (schema 2); `$LETTA_LOCAL_BACKEND_DIR` by its code",
    silent: &[("/type", &["session"])],
    is_state: |name| name == "conversation.json",
    half_line: HalfLine::Failing,
    new_session: NewSession::NONE.without_terminal(&["letta"], &["-p"]),
    decide: |copy| evidence::decide(copy, |evidence| evidence.counts),
    ..About::NONE
};
