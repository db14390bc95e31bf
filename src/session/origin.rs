//! Sessions that another session continues.

use serde::{Deserialize, Serialize};

use crate::session::AgentKind;

/// The session that another one continues, because another agent started it with a briefing on this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
}
