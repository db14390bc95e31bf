//! Findings that the user accepted: `doctor` keeps them quiet. `accepted.json` in the state directory; `apply` writes it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::doctor::check::Finding;

/// The version of the file that this program writes.
const VERSION: u32 = 1;

/// The file in the state directory.
pub(crate) const FILE_NAME: &str = "accepted.json";

/// The accepted findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted(BTreeSet<Subject>);

/// The code of a finding, its sessions and its paths: a further copy of a session is another finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Subject {
    code: String,
    subjects: BTreeSet<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format_version: u32,
    accepted: BTreeSet<Subject>,
}

impl Subject {
    /// Returns `None` for a finding about nothing that another one could be distinguished by.
    fn of(finding: &Finding) -> Option<Self> {
        let sessions = finding.sessions.iter().map(|(agent, id)| format!("{agent}:{id}"));
        let paths = finding.paths.iter().map(|path| path.to_string_lossy().into_owned());
        let subjects: BTreeSet<String> = sessions.chain(paths).collect();
        (!subjects.is_empty()).then(|| Self { code: finding.code.name().to_owned(), subjects })
    }
}

impl Accepted {
    /// Parses the file. Fails with the reason if it is not of this version, because a lost acceptance only shows too much.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
        match document.format_version {
            VERSION => Ok(Self(document.accepted)),
            other => Err(format!("has format_version {other}, not {VERSION}")),
        }
    }

    /// Returns whether a finding was accepted, about just these sessions and paths.
    pub(crate) fn has(&self, finding: &Finding) -> bool {
        !self.0.is_empty() && Subject::of(finding).is_some_and(|subject| self.0.contains(&subject))
    }

    /// Accepts a finding; returns whether it is new.
    pub(crate) fn add(&mut self, finding: &Finding) -> bool {
        Subject::of(finding).is_some_and(|subject| self.0.insert(subject))
    }

    /// Returns the contents of the file.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(&Document { format_version: VERSION, accepted: self.0.clone() })?;
        text.push(b'\n');
        Ok(text)
    }
}
