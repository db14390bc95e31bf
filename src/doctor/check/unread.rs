//! Checks for logs that no reader accepts.

use std::path::{Path, PathBuf};

use crate::agent;
use crate::doctor::check::{Finding, word};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::{Parked, ParkedLog, Survey};
use crate::format::text::count;
use crate::session::{AgentKind, Session};

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let nameless = survey.unread.nameless.iter().map(|((agent, dir), files)| nameless(*agent, dir, files));
    let parked = survey.unread.parked.iter().map(|((agent, id), logs)| parked(*agent, id, logs, survey));
    nameless.chain(parked).collect()
}

/// Reports the logs of a directory from which no session is read.
fn nameless(agent: AgentKind, dir: &Path, files: &[PathBuf]) -> Finding {
    let evidence = format!(
        "{} in {} may hold conversations of {agent}, and no session is read from {}: the names are not those of its sessions.",
        count(files.len(), "file"),
        dir.display(),
        if files.len() == 1 { "it" } else { "them" }
    );
    let finding = Finding::new(Code::UnreadFile, Severity::Note, evidence)
        .agent(agent)
        .measured(count(files.len(), "file"), "a session for each")
        .remedy(format!("ls -l {}", word(dir)), "shows them among the others; leave them, or move them elsewhere");
    files.iter().fold(finding, |finding, path| finding.path(path))
}

/// Reports the logs with the id of a session in their names.
fn parked(agent: AgentKind, id: &str, parked: &Parked, survey: &Survey) -> Finding {
    let most = parked.logs.first().and_then(|log| log.messages);
    let each = |log: &ParkedLog| match log.messages {
        Some(messages) => format!("{} has {}", log.path.display(), count(messages, "message")),
        None => format!("{} may have messages", log.path.display()),
    };
    let logs = parked.logs.iter().map(each).collect::<Vec<_>>().join("; ");
    let title = agent::about(agent).title;
    let session = survey.session(agent, id);
    let (severity, rest, measured) = match (session, parked.own_messages) {
        (None, _) => {
            let severity = if most.is_some() { Severity::Warning } else { Severity::Note };
            (severity, "No session of that id can be read".to_owned(), "no session of that id".to_owned())
        }
        (Some(_), own) => {
            let severity = if own.is_some() && most > own { Severity::Warning } else { Severity::Note };
            let own = own.map_or_else(|| "an unknown number of messages".to_owned(), |own| count(own, "message"));
            (severity, format!("The session itself has {own}"), format!("{own} in the session"))
        }
    };
    let evidence = format!(
        "{logs} of the {agent} session {id}. {rest}; {title} does not read {} of that name and place.",
        if parked.logs.len() == 1 { "a file" } else { "files" }
    );
    let measured = match most {
        Some(most) => format!("{} in a file with another name or place, {measured}", count(most, "message")),
        None => format!("a file with another name or place, {measured}"),
    };
    let finding = Finding::new(Code::UnreadFile, severity, evidence).id(agent, id);
    let mut finding = parked.logs.iter().fold(finding, |finding, log| finding.path(&log.path));
    finding.title = parked.title.clone();
    let finding = finding.measured(measured, "all messages in the session");
    match (session, restored(parked)) {
        (_, Some((command, effect))) => finding.remedy(command, effect),
        (Some(session), None) => compared(finding, session, parked),
        (None, None) => parked.logs.iter().fold(finding, |finding, log| {
            finding.remedy(format!("ls -l {}", word(&log.path)), "shows it; leave it, or move it elsewhere")
        }),
    }
}

/// Adds the command that compares a session with its log elsewhere.
fn compared(finding: Finding, session: &Session, parked: &Parked) -> Finding {
    let own = agent::by_kind(session.agent).and_then(|agent| agent.transcript(&session.copy().place));
    let Some((own, log)) = own.zip(parked.logs.first()) else { return finding };
    finding.remedy(format!("diff {} {}", word(&own), word(&log.path)), "shows the lines that only one of them has")
}

/// Returns the command that puts a session's log at its place, and its effect.
pub(super) fn restored(parked: &Parked) -> Option<(String, &'static str)> {
    let (log, place) = parked.logs.first().zip(parked.place.as_ref())?;
    Some((format!("mv -n {} {}", word(&log.path), word(place)), "brings the session back"))
}
