//! Plans the session-info.json files to write, each with its directory and the reason.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::change::outcome::ItemResult;
use crate::session::evidence::FROM_PROJECT;
use crate::session::{Evidence, Health, Liveness, Session, SessionCopy};

/// The plan for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionBackfill {
    /// The full id.
    pub id: String,
    /// The session's directory.
    pub session_dir: PathBuf,
    /// The planned action.
    pub action: Action,
    /// The reason.
    pub reason: String,
    /// Evidence for one directory or another, strongest first.
    pub evidence: Vec<Evidence>,
}

/// Action on a session-info.json.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Write it.
    Write {
        /// The directory to record.
        working_dir: PathBuf,
        /// Creation time of the session.
        created_at: Timestamp,
        /// Source of the directory.
        source: &'static str,
    },
    /// Keep it, because it is valid.
    Keep,
    /// Refuse, because the directory is not certain.
    Refuse {
        /// Set if the user can help by naming a directory.
        wants_dir: bool,
    },
}

impl SessionBackfill {
    /// Returns the result that carrying out the item would have.
    pub(crate) fn planned(&self) -> ItemResult {
        match self.action {
            Action::Write { .. } => ItemResult::Done,
            Action::Keep => ItemResult::Unchanged,
            Action::Refuse { .. } => ItemResult::Refused(self.reason.clone()),
        }
    }
}

/// Plans the file of one session. `given` is a directory named by the user, with a flag that is set if it encodes to
/// the project.
pub(crate) fn plan(session: &Session, given: Option<(&Path, bool)>) -> SessionBackfill {
    let copy = session.copy();
    let (action, reason) = decide(session, copy, given);
    SessionBackfill {
        id: session.id().to_owned(),
        session_dir: copy.place.path.to_path_buf(),
        action,
        reason,
        evidence: copy.evidence.clone(),
    }
}

fn decide(session: &Session, copy: &SessionCopy, given: Option<(&Path, bool)>) -> (Action, String) {
    let is_missing = copy.health.contains(Health::SessionInfoMissing);
    let is_invalid = copy.health.contains(Health::SessionInfoInvalid);
    if !is_missing && !is_invalid {
        return (Action::Keep, "its session-info.json is good".to_owned());
    }
    if !session.choice.is_decided {
        let reason = format!("it has {} copies: {}", session.copies.len(), session.choice.why);
        return (Action::Refuse { wants_dir: false }, reason);
    }
    match &copy.liveness {
        Liveness::Idle => {}
        Liveness::Live { pid } => {
            return (Action::Refuse { wants_dir: false }, format!("it is in use by process {pid}"));
        }
        Liveness::Maybe { why } => return (Action::Refuse { wants_dir: false }, format!("it may be in use: {why}")),
    }
    let (working_dir, source, why) = match given {
        Some((dir, true)) => (dir.to_owned(), "option", "named with --in".to_owned()),
        Some((dir, false)) => {
            let project = copy.place.project.as_deref().unwrap_or("no project");
            return (
                Action::Refuse { wants_dir: false },
                format!("{} is not the directory of its project {project}", dir.display()),
            );
        }
        None => match copy.launch_dir.as_ref().filter(|_| copy.is_filed_right) {
            Some(dir) => {
                let from = copy.evidence.iter().find(|evidence| evidence.counts && evidence.dir == dir.value);
                (dir.value.to_path_buf(), dir.source, format!("from {}", from.map_or(dir.source, |from| &*from.detail)))
            }
            None => return (Action::Refuse { wants_dir: true }, no_evidence(&copy.evidence)),
        },
    };
    let Some(created_at) = copy.created_at.as_ref().or(copy.active_at.as_ref()).map(|at| at.value) else {
        return (Action::Refuse { wants_dir: false }, "it is unknown when it was created".to_owned());
    };
    let what = if is_missing { "its session-info.json is missing" } else { "its session-info.json is unusable" };
    (Action::Write { working_dir, created_at, source }, format!("{what}; {why}"))
}

fn no_evidence(evidence: &[Evidence]) -> String {
    let from_project = evidence.iter().filter(|evidence| evidence.source == FROM_PROJECT && evidence.counts).count();
    match (evidence.len(), from_project) {
        (0, _) => "no directory is recorded for it".to_owned(),
        (_, 2..) => "the sessions of its project record several directories".to_owned(),
        _ => "no directory recorded for it belongs to its project".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::{copy, session};
    use crate::session::{CopyChoice, Fact};

    fn amplifier(health: Health) -> Session {
        let mut copy = copy("a");
        copy.health.insert(health);
        copy.created_at = Some(Fact::new("2026-02-01T10:00:00Z".parse::<Timestamp>().expect("a time"), "metadata"));
        session(vec![copy])
    }

    fn with_evidence(mut session: Session, dir: &str, counts: bool) -> Session {
        let evidence =
            Evidence { dir: Path::new(dir).into(), source: "metadata", detail: "metadata.json".into(), counts };
        session.copies[0].evidence.push(evidence);
        crate::session::evidence::decide(&mut session.copies[0], |_| false);
        session
    }

    #[test]
    fn plan_writes_evidence_with_session_creation_time() {
        let item = plan(&with_evidence(amplifier(Health::SessionInfoMissing), "/x", true), None);
        let created_at = "2026-02-01T10:00:00Z".parse::<Timestamp>().expect("a time");
        assert_eq!(item.action, Action::Write { working_dir: "/x".into(), created_at, source: "metadata" });
        assert_eq!(item.reason, "its session-info.json is missing; from metadata.json");
    }

    #[test]
    fn plan_refuses_evidence_of_another_project() {
        let item = plan(&with_evidence(amplifier(Health::SessionInfoInvalid), "/y", false), None);
        assert_eq!(item.action, Action::Refuse { wants_dir: true });
        assert_eq!(item.evidence.len(), 1);
        assert_eq!(item.reason, "no directory recorded for it belongs to its project");
    }

    #[test]
    fn plan_refuses_given_directory_of_other_project() {
        let session = amplifier(Health::SessionInfoMissing);
        assert!(matches!(plan(&session, Some((Path::new("/x"), true))).action, Action::Write { source: "option", .. }));
        assert_eq!(plan(&session, Some((Path::new("/x"), false))).action, Action::Refuse { wants_dir: false });
    }

    #[test]
    fn plan_keeps_valid_file_and_refuses_live_session() {
        assert_eq!(plan(&amplifier(Health::EmptySession), None).action, Action::Keep);
        let mut live = with_evidence(amplifier(Health::SessionInfoMissing), "/x", true);
        live.copies[0].liveness = Liveness::Maybe { why: "its event log changed 3 s ago".to_owned() };
        assert_eq!(plan(&live, None).action, Action::Refuse { wants_dir: false });
    }

    #[test]
    fn plan_refuses_session_with_undecided_copies() {
        let mut session = with_evidence(amplifier(Health::SessionInfoMissing), "/x", true);
        session.choice = CopyChoice::new("nothing distinguishes it from the next copy", false).into();
        assert_eq!(plan(&session, None).action, Action::Refuse { wants_dir: false });
    }
}
