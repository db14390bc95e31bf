//! Reports transcripts that are so large that their agents open them slowly, or refuse them.

use crate::agent;
use crate::doctor::check::{Finding, name, selector};
use crate::doctor::code::{Code, Severity};
use crate::format::text;
use crate::session::Session;

/// Reports a large transcript.
pub(super) fn large(session: &Session) -> Finding {
    let size = text::size(session.copy().transcript_bytes);
    let evidence =
        format!("The transcript of {} has {size}: its agent may take long to open it, or refuse it.", name(session));
    let finding = Finding::about(session, Code::LargeSession, Severity::Note, evidence);
    slimmed(finding.measured(size, "less than 100 MB"), session)
}

/// Adds the command that makes a smaller copy of the session, if there is one.
pub(super) fn slimmed(finding: Finding, session: &Session) -> Finding {
    if !agent::about(session.agent).can_slim(session.copy()) {
        return finding;
    }
    let command = format!("rejoin rewind {} --slim", selector(session));
    finding.remedy(command, "makes a session without its images, files and long results of tools, if it has any")
}
