//! The description of OpenHands in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "OpenHands",
    sessions: "`~/.openhands/conversations/<id>/`, sub-agents in `subagents/<id>/` there; the same in \
        `$OPENHANDS_CONVERSATIONS_DIR` or `$OPENHANDS_PERSISTENCE_DIR/conversations`",
    launch_dir: "`workspace.working_dir` of `base_state.json`; else the directory that the first event names",
    elsewhere: "works, but in the current directory, which becomes that of the session; an id that it does not know begins a \
        new conversation of that very id",
    starts: "`openhands --resume ID`; with `--prompt` `openhands --headless --resume ID -t TEXT`; nothing where it would begin \
        anew, or end at once because the id inside is another",
    in_use: "it holds no lock: a record of the last two minutes means maybe, and so does the state `running`, which also a \
        client that was killed leaves behind",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 1.16.0; sub-agents by its code",
    root: ".openhands/conversations",
    variables: &[("OPENHANDS_CONVERSATIONS_DIR", None), ("OPENHANDS_PERSISTENCE_DIR", Some("conversations"))],
    silent: &[("/kind", &["SystemPromptEvent", "ConversationErrorEvent", "ConversationStateUpdateEvent"])],
    is_state: |name| name == "base_state.json",
    new_session: NewSession::NONE
        .in_terminal(&["openhands"], &["-t"])
        .without_terminal(&["openhands", "--headless"], &["-t"])
        .unset(&[super::WORK_DIR]),
    ..About::NONE
};
