//! The description of OpenHands.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("openhands"),
    title: "OpenHands",
    tested_version: Some("1.16.0"),
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
