//! The process that uses a session: its id, its start, and whether it works or waits.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::session::{Liveness, Message, Role};

/// The activity of a process in a session.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum State {
    /// The process works on an answer.
    Working,
    /// The process waits for the user.
    Waiting,
    /// The agent does not record the activity.
    #[default]
    Unknown,
}

impl State {
    /// Returns the activity as text for the user: "waits for you". `None` if it is unknown.
    pub(crate) fn activity(self) -> Option<&'static str> {
        match self {
            Self::Working => Some("works"),
            Self::Waiting => Some("waits for you"),
            Self::Unknown => None,
        }
    }

    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Determines the state from the agent's own record or else, if a process is known to run, from the last message.
    pub(crate) fn decide(liveness: &Liveness, recorded: Option<Self>, last: Option<&Message>) -> Self {
        match (recorded, liveness, last.map(|message| message.role)) {
            (Some(recorded), ..) => recorded,
            (None, Liveness::Live { .. }, Some(Role::Assistant)) => Self::Waiting,
            (None, Liveness::Live { .. }, Some(Role::User | Role::Tool)) => Self::Working,
            _ => Self::Unknown,
        }
    }
}

/// A process that uses a session, or may use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Process {
    /// The process id; `null` if it is not known.
    pub pid: Option<u32>,
    /// The start time, to the second; `null` if the system does not provide it.
    pub started_at: Option<Timestamp>,
    /// `working`, `waiting` for the user, or `unknown`.
    pub state: State,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: Liveness = Liveness::Live { pid: 7 };

    fn maybe() -> Liveness {
        Liveness::Maybe { why: "it was written to a moment ago".to_owned() }
    }

    fn message(role: Role) -> Message {
        Message::new(role, "x".to_owned(), None)
    }

    #[test]
    fn last_message_determines_process_state() {
        for (role, expected) in [
            (Role::Assistant, State::Waiting),
            (Role::User, State::Working),
            (Role::Tool, State::Working),
            (Role::System, State::Unknown),
        ] {
            assert_eq!(State::decide(&LIVE, None, Some(&message(role))), expected, "{role:?}");
            assert_eq!(State::decide(&maybe(), None, Some(&message(role))), State::Unknown, "{role:?}");
        }
        assert_eq!(State::decide(&LIVE, None, None), State::Unknown);
    }

    #[test]
    fn recorded_state_outranks_last_message() {
        for recorded in [State::Working, State::Waiting, State::Unknown] {
            for role in [Role::Assistant, Role::User] {
                assert_eq!(State::decide(&LIVE, Some(recorded), Some(&message(role))), recorded);
                assert_eq!(State::decide(&maybe(), Some(recorded), Some(&message(role))), recorded);
            }
        }
    }
}
