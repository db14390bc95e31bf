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
    /// Returns the newest version of the agent that `facts` names; `None` if it names source code only. If any version was
    /// measured, those that were only read do not count.
    pub(crate) fn newest_version(&self) -> Option<&'static str> {
        let measured = self.facts.split(';').find(|part| part.trim_start().starts_with("measured on "));
        let words = measured.unwrap_or(self.facts).split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(facts: &'static str) -> Option<&'static str> {
        About { facts, ..crate::agent::claude::about::ABOUT }.newest_version()
    }

    #[test]
    fn a_version_that_was_only_read_is_not_the_newest_measured() {
        assert_eq!(
            newest("measured on 1.18.34; anomalyco/opencode 063e8306; the import by its code of 2.0"),
            Some("1.18.34")
        );
        assert_eq!(newest("measured on 1.45.0 and 1.52.0; 1.53.0 by its code"), Some("1.52.0"));
        assert_eq!(newest("read in the packages of 0.215.0 and 0.225.2 alone"), Some("0.225.2"));
        assert_eq!(newest("read in agentjido/jido_code 03efe8eb"), None);
    }
}
