//! Reads facts about a session from the records of its transcript.

use memchr::memmem;

use super::{Qwen, add_evidence, find_session, is_archived, is_session_id, liveness, runtime, walk};
use crate::agent::lines::{Ends, Log};
use crate::agent::prelude::*;
use crate::agent::qwen::records::{QwenRecord, Runtime, record};
use crate::agent::tree::Links;
use crate::session::branches::Branches;

/// Number of records near the end that are searched for the branch and the model.
const MAX_RECORDS: u32 = 40;

/// Facts for which a copy has no member.
#[derive(Default)]
pub(in crate::agent) struct QwenFacts {
    is_managed: bool,
    forked_from: Option<String>,
    parent: Option<String>,
    early_title: Option<String>,
    title: Option<String>,
    branch: Option<String>,
    records_from_end: u32,
    links: Links,
}

impl Log for Qwen {
    type Record<'a> = QwenRecord<'a>;
    type Facts = QwenFacts;

    /// Number of bytes at either end in which the client searches for a title, which it repeats to keep it near the
    /// end.
    const HEAD: usize = 64 * 1024;
    const HAS_BRANCHES: bool = true;

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        match only {
            Some(id) if is_session_id(id) => find_session(store, id),
            Some(_) => Found::default(),
            None => walk(store),
        }
    }

    fn parse(line: &[u8]) -> Option<QwenRecord<'_>> {
        record(line)
    }

    fn divide(line: usize, record: Option<&QwenRecord<'_>>, facts: &mut QwenFacts) {
        // A sub-agent's record in the same log is not part of the tree.
        facts.links.add(line, record.filter(|record| !record.is_sidechain.0).and_then(QwenRecord::link));
    }

    fn branches(facts: &QwenFacts, lines: usize) -> Branches {
        facts.links.branches(lines)
    }

    fn texts(place: &Located) -> Vec<PathBuf> {
        place.side_dir.clone().into_iter().collect()
    }

    fn is_own(record: &QwenRecord<'_>, copy: &SessionCopy) -> bool {
        copy.kind == SessionKind::Subagent || !record.is_sidechain.0
    }

    fn see_from_start(record: &QwenRecord<'_>, _number: usize, copy: &mut SessionCopy, facts: &mut QwenFacts) {
        if copy.start_dir.is_none() {
            copy.start_dir = record.cwd.filled().and_then(recorded::dir).map(|dir| Fact::new(dir, "transcript"));
            if record.is_sidechain.0 {
                copy.kind = SessionKind::Subagent;
            }
        }
        facts.is_managed |= record.subtype.get().is_some_and(|subtype| subtype.starts_with("managed_session_"));
        facts.forked_from = facts.forked_from.take().or_else(|| record.forked_from());
        facts.parent = facts.parent.take().or_else(|| record.parent());
        facts.early_title = record.title().or(facts.early_title.take());
    }

    fn knows_start(copy: &SessionCopy, facts: &QwenFacts) -> bool {
        copy.start_dir.is_some() && facts.early_title.is_some()
    }

    fn matters_at_start(line: &[u8]) -> bool {
        is_title(line)
    }

    fn see_from_end(record: &QwenRecord<'_>, copy: &mut SessionCopy, facts: &mut QwenFacts) {
        facts.records_from_end += 1;
        let dir = || record.cwd.filled().and_then(recorded::dir).map(|dir| Fact::new(dir, "transcript"));
        copy.last_dir = copy.last_dir.take().or_else(dir);
        let model = || record.model.filled().filter(|_| record.kind.get() == Some("assistant"));
        copy.model = copy.model.take().or_else(|| Some(Fact::new(model()?.to_owned(), "transcript")));
        facts.branch = facts.branch.take().or_else(|| record.git_branch.filled().map(str::to_owned));
        facts.title = facts.title.take().or_else(|| record.title());
    }

    fn knows_end(copy: &SessionCopy, facts: &QwenFacts) -> bool {
        facts.title.is_some() && !is_more_wanted(copy, facts)
    }

    fn matters_at_end(line: &[u8], copy: &SessionCopy, facts: &QwenFacts) -> bool {
        is_more_wanted(copy, facts) || is_title(line)
    }

    fn finish(
        copy: &mut SessionCopy,
        _ends: &Ends,
        facts: QwenFacts,
        context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        copy.kind = match copy.kind {
            SessionKind::Subagent => SessionKind::Subagent,
            _ if is_archived(&copy.place) => SessionKind::Archived,
            SessionKind::Main if facts.forked_from.is_some() => SessionKind::Fork,
            kind => kind,
        };
        copy.parent_id = copy.parent_id.take().or(facts.forked_from).or(facts.parent);
        if facts.is_managed {
            let note = "Qwen Code keeps the newer part of it in a separate log, and rejoin does not read that";
            copy.notes.push(note.to_owned());
        }
        copy.title = facts.title.or(facts.early_title).map(|title| Fact::new(title, "custom-title"));
        copy.last_dir = copy.last_dir.take().or_else(|| copy.start_dir.clone());
        copy.git_branch = facts.branch.filter(|branch| branch != "HEAD").map(|branch| Fact::new(branch, "transcript"));
        let runtime = runtime(&copy.place);
        let runtime = runtime.as_deref().and_then(|bytes| serde_json::from_slice::<Runtime<'_>>(bytes).ok());
        add_evidence(copy, runtime.as_ref());
        copy.liveness = liveness(&copy.place, context, runtime.as_ref());
        decide_launch_dir(copy);
        let is_misfiled = copy.launch_dir.is_some() && !copy.is_filed_right && copy.kind != SessionKind::Subagent;
        copy.mark_if(is_misfiled, Health::MisfiledSession);
        Ok(())
    }

    fn see_counted(record: &QwenRecord<'_>, copy: &mut SessionCopy) {
        copy.title = record.title().map(|title| Fact::new(title, "custom-title")).or_else(|| copy.title.take());
    }
}

fn is_title(line: &[u8]) -> bool {
    memmem::find(line, b"custom_title").is_some()
}

/// Returns whether records near the end may contain a missing fact other than the title.
fn is_more_wanted(copy: &SessionCopy, facts: &QwenFacts) -> bool {
    let has_some = copy.last_dir.is_some() && facts.branch.is_some() && copy.model.is_some();
    !has_some && (facts.records_from_end < MAX_RECORDS || copy.last_dir.is_none())
}
