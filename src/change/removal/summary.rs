//! Summary of a copy for the decision about a removal: a hundred thousand of these are in memory at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::change::plan::change::short_title;
use crate::session::select::Filter;
use crate::session::{AgentKind, Health, KeptBy, Liveness, Located, SessionCopy, SessionKind};

/// Problems that make a session incomprehensible.
const UNPARSABLE: [Health; 4] =
    [Health::InvalidContent, Health::MissingFields, Health::UnsupportedVersion, Health::Oversize];

/// Summary of a copy.
#[derive(Clone, Debug)]
pub(crate) struct CopySummary {
    /// Location of the copy.
    pub place: Arc<Located>,
    pub(super) kind: SessionKind,
    pub(super) parent_id: Option<Box<str>>,
    /// Newest time inside the copy.
    pub active_at: Option<Timestamp>,
    /// The start time, if it is later than the newest time.
    pub(super) later: Option<Box<Timestamp>>,
    pub(super) size_bytes: u64,
    pub(super) transcript_bytes: u64,
    /// `None` if no process uses it.
    pub(super) liveness: Option<Box<Liveness>>,
    pub(super) is_empty: bool,
    pub(super) is_unparsable: bool,
    pub(super) is_unknown_format: bool,
    pub(super) title: Option<Box<str>>,
    pub(super) dir: Option<Box<str>>,
    pub(super) is_asked_for: bool,
    /// The reason for which the user keeps the session in its agent.
    pub(super) kept_by: Option<Box<KeptBy>>,
    /// Indexes of the rules that match the session, if any.
    pub(super) rules: Option<Box<[u16]>>,
}

impl CopySummary {
    /// Summarises a copy; `filter` selects the requested sessions, and `rules` those of the policy.
    pub(super) fn from_copy(mut copy: SessionCopy, filter: &Filter, rules: &[Filter]) -> Self {
        // A joined path has spare capacity.
        copy.place.side_dir.iter_mut().for_each(PathBuf::shrink_to_fit);
        let is_in = |dir: &Path| filter.dirs.iter().any(|asked| dir.starts_with(asked));
        let agent = copy.place.agent();
        let is_of_dir = filter.dirs.is_empty() || copy.directories().any(is_in);
        let is_meant = |rule: &Filter| {
            rule.has_agent(agent) && (rule.dirs.is_empty() || copy.directories().any(|dir| rule.is_below(dir)))
        };
        let meant = rules.iter().zip(0..).filter(|(rule, _)| is_meant(rule)).map(|(_, at)| at);
        let rules: Box<[u16]> = meant.collect();
        let created_at = copy.created_at.as_ref().map(|at| at.value);
        let active_at = copy.active_at.as_ref().map(|at| at.value);
        let label = copy.title.as_ref().or(copy.first_prompt.as_ref());
        let title = label.map(|label| short_title(&label.value));
        // Only agents without projects are distinguished by directories.
        let dir = copy.launch_dir.as_ref().filter(|_| copy.place.project.is_none());
        Self {
            kind: if copy.place.is_subagent { SessionKind::Subagent } else { copy.kind },
            later: created_at.filter(|at| Some(*at) > active_at).map(Box::new),
            active_at,
            size_bytes: copy.size_bytes,
            transcript_bytes: copy.transcript_bytes,
            is_empty: copy.is_empty(),
            is_unparsable: copy.obstacle.as_ref().is_some_and(|obstacle| obstacle.is_damage)
                || copy.health.iter().any(|health| UNPARSABLE.contains(&health))
                || is_nothing_but_damage(&copy),
            is_unknown_format: copy.health.contains(Health::UnknownFormat),
            title,
            dir: dir.map(|dir| dir.value.to_string_lossy().into()),
            is_asked_for: is_of_dir && filter.has_agent(agent) && filter.is_chosen(agent, &copy.place.id),
            rules: (!rules.is_empty()).then_some(rules),
            liveness: Some(copy.liveness).filter(|liveness| *liveness != Liveness::Idle).map(Box::new),
            parent_id: copy.parent_id.map(Into::into),
            kept_by: copy.kept_by,
            place: Arc::new(copy.place),
        }
    }

    /// Returns the key that copies of one session share. Sub-agents of different sessions may have the same id.
    pub(super) fn key(&self) -> (AgentKind, &str, Option<&str>) {
        let parent = self.parent_id.as_deref().filter(|_| self.kind == SessionKind::Subagent);
        (self.place.agent(), &self.place.id, parent)
    }

    /// Returns the later one of start time and newest time.
    pub(super) fn newest_at(&self) -> Option<Timestamp> {
        self.later.as_deref().copied().or(self.active_at)
    }
}

/// Checks whether a copy has damaged records, and no readable prompt.
fn is_nothing_but_damage(copy: &SessionCopy) -> bool {
    let is_damaged = copy.health.contains(Health::TornTranscript) || copy.health.contains(Health::BadLines);
    is_damaged && copy.first_prompt.is_none()
}
