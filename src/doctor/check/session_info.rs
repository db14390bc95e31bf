//! Checks the working directory that is stored with sessions of Amplifier.

use std::path::Path;

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::change::plan::backfill::{self, Action};
use crate::doctor::check::{Finding, Repair, name, selector, word};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::Survey;
use crate::session::{Health, Session, SessionKind};

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let sessions = survey.scan.sessions.iter();
    let own = sessions.filter(|session| !matches!(session.copy().kind, SessionKind::Subagent | SessionKind::Empty));
    own.filter_map(|session| {
        let health = &session.copy().health;
        let has = |problem: Health| health.contains(problem);
        if has(Health::SessionInfoMissing) {
            Some(unusable(session, Code::SessionInfoMissing, Severity::Note))
        } else if has(Health::SessionInfoInvalid) {
            Some(unusable(session, Code::SessionInfoInvalid, Severity::Warning))
        } else if has(Health::SessionInfoMismatch) {
            Some(mismatch(session, survey))
        } else {
            None
        }
    })
    .collect()
}

/// Reports a file that is missing or unusable, and whether the evidence suffices to write it.
fn unusable(session: &Session, code: Code, severity: Severity) -> Finding {
    let copy = session.copy();
    let plan = backfill::plan(session, None);
    let (measured, why) = match code {
        Code::SessionInfoMissing => ("no file".to_owned(), format!("{} has no {FILE_NAME}", name(session))),
        _ => {
            let why = copy.notes.iter().find_map(|note| note.strip_prefix(FILE_NAME)?.split_once(": "));
            let why = why.map_or(code.meaning(), |(_, why)| why);
            (why.to_owned(), format!("The {FILE_NAME} of {} cannot be used, because {why}", name(session)))
        }
    };
    let (outlook, write) = match &plan.action {
        Action::Write { working_dir, .. } => (format!("The evidence points to {}", working_dir.display()), true),
        _ => (format!("There is not enough evidence to write it: {}", plan.reason), false),
    };
    let evidence = format!(
        "{why}. A server that resumes it from elsewhere may create a second directory with the same id. {outlook}."
    );
    let finding = Finding::about(session, code, severity, evidence).measured(measured, "working_dir and created_at");
    match (write, &plan.action) {
        (true, _) => finding.repaired_by(Repair::Backfill {
            agent: session.agent,
            id: session.id().to_owned(),
            path: copy.place.path.to_path_buf(),
        }),
        (false, Action::Refuse { wants_dir: true }) => finding.resumed_in_its_dir(session),
        _ => finding.remedy(format!("rejoin show {}", selector(session)), "shows the evidence for its directory"),
    }
}

fn mismatch(session: &Session, survey: &Survey) -> Finding {
    let copy = session.copy();
    let recorded = copy.evidence.iter().find(|evidence| evidence.source == "session-info");
    let recorded_dir =
        recorded.map_or_else(|| "another directory".to_owned(), |recorded_dir| recorded_dir.dir.display().to_string());
    let better = copy.evidence.iter().find(|evidence| evidence.counts);
    let other = better.map_or_else(String::new, |better| {
        format!(" {} says {}, which belongs to it.", better.detail, better.dir.display())
    });
    let (place, expected) = match copy.place.project.as_deref() {
        Some(project) => {
            (format!("which does not belong to its project {project}"), format!("a directory of the project {project}"))
        }
        None => ("but the session is outside every project".to_owned(), "a place in a project".to_owned()),
    };
    let evidence = format!("The {FILE_NAME} of {} says {recorded_dir}, {place}.{other}", name(session));
    let finding = Finding::about(session, Code::SessionInfoMismatch, Severity::Warning, evidence)
        .measured(recorded_dir, expected);
    let is_there = |dir: &Path| {
        let mut started_there = survey.scan.sessions.iter().filter(|session| session.launch_dir() == Some(dir));
        started_there.any(|session| session.launch_dir_exists == Some(true))
    };
    let finding = better.filter(|better| is_there(&better.dir)).into_iter().fold(finding, |finding, better| {
        let command = format!("rejoin resume {} --in {}", selector(session), word(&better.dir));
        finding.remedy(command, "resumes it in the directory of its project")
    });
    finding.remedy(format!("rejoin show {}", selector(session)), "shows the evidence for each directory")
}
