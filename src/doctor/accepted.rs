//! Findings that the user accepted, which `doctor` hides. `accepted.json` in the state directory; `apply` writes it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::doctor::check::Finding;

/// The file in the state directory.
pub(crate) const FILE_NAME: &str = "accepted.json";

/// The accepted findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accepted {
    accepted: BTreeSet<FindingSubject>,
}

/// The code, sessions and paths of a finding. A finding about another copy of the same session is a different one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct FindingSubject {
    code: String,
    subjects: BTreeSet<String>,
}

impl FindingSubject {
    /// Returns the identity of a finding; `None` for a finding without sessions or paths.
    fn from_finding(finding: &Finding) -> Option<Self> {
        let sessions = finding.sessions.iter().map(|(agent, id)| format!("{agent}:{id}"));
        let paths = finding.paths.iter().map(|path| path.to_string_lossy().into_owned());
        let subjects: BTreeSet<String> = sessions.chain(paths).collect();
        (!subjects.is_empty()).then(|| Self { code: finding.code.name().to_owned(), subjects })
    }
}

impl Accepted {
    /// Returns whether a finding was accepted, with the same sessions and paths.
    pub(crate) fn contains(&self, finding: &Finding) -> bool {
        !self.accepted.is_empty()
            && FindingSubject::from_finding(finding).is_some_and(|subject| self.accepted.contains(&subject))
    }

    /// Accepts a finding; returns whether it is new.
    pub(crate) fn add(&mut self, finding: &Finding) -> bool {
        FindingSubject::from_finding(finding).is_some_and(|subject| self.accepted.insert(subject))
    }
}
