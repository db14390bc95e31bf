//! Obstacles: reasons, found in files, why an agent cannot open a session.

/// A reason why the agent cannot open a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// The cause and the agent's answer, as a clause; equal for all sessions with the same cause.
    pub why: String,
    /// Advice for the user, other than `doctor --fix`.
    pub hint: Option<String>,
    /// Set if `doctor --fix` removes the obstacle without loss.
    pub is_mendable: bool,
    /// Set if the size of the session is the cause.
    pub is_size: bool,
    /// Set if a part of the session is lost; cleanup then keeps the rest.
    pub is_damage: bool,
    /// Set if all messages are on other branches than the one that a resume would continue.
    pub is_off_branch: bool,
}

impl Obstacle {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), hint: None, is_mendable: false, is_size: false, is_damage: false, is_off_branch: false }
    }

    /// Creates an obstacle of a session that has lost a part.
    pub(crate) fn damage(why: impl Into<String>) -> Self {
        Self { is_damage: true, ..Self::new(why) }
    }

    /// Returns the command that keeps the conversation in a file.
    pub(crate) fn export(&self, selector: &str) -> String {
        let branches = if self.is_off_branch { " --all-branches" } else { "" };
        format!("rejoin export {selector}{branches} -o conversation.md")
    }
}
