//! What docs/agents.md says about an agent: the rows of its table.

use crate::agent::version;

/// What is said of an agent, in Markdown; each text is the rest of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// Its name as its makers write it.
    pub title: &'static str,
    /// Where its sessions lie.
    pub sessions: &'static str,
    /// What the launch directory is taken from.
    pub launch_dir: &'static str,
    /// What its own resume does in another directory.
    pub elsewhere: &'static str,
    /// What `rejoin resume` starts.
    pub starts: &'static str,
    /// What tells that a session is in use.
    pub in_use: &'static str,
    /// What it deletes by itself.
    pub deletes: &'static str,
    /// What this program writes into its files, beside moving sessions to the trash and back.
    pub writes: &'static str,
    /// The versions that were measured, or the source code that was read.
    pub facts: &'static str,
}

impl About {
    /// Returns the newest version of the agent that `facts` names; `None` if it names source code only.
    pub(crate) fn newest_version(&self) -> Option<&'static str> {
        let words = self.facts.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let versions = words.map(|word| word.trim_end_matches('.')).filter(|word| version::parts(word).is_some());
        versions.max_by_key(|word| version::parts(word))
    }

    /// Returns the rows, each with its head.
    pub(crate) fn rows(&self) -> [(&'static str, &'static str); 8] {
        [
            ("sessions", self.sessions),
            ("launch directory", self.launch_dir),
            ("its own resume from elsewhere", self.elsewhere),
            ("`rejoin resume` starts", self.starts),
            ("in use", self.in_use),
            ("deletes by itself", self.deletes),
            ("rejoin writes", self.writes),
            ("known from", self.facts),
        ]
    }
}
