//! Decides the launch directory of a session from evidence, never by a guess.
//!
//! A slug cannot be decoded, so a directory counts only if it encodes to the project that contains the session.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::{Evidence, Fact, Health, SessionCopy};

/// The source of evidence from other sessions of the same project.
pub(crate) const FROM_PROJECT: &str = "project";

/// Decides the launch directory of a copy and whether the copy is filed under it.
///
/// The strongest evidence of the session itself that counts wins. If none counts, the first evidence that `is_statement`
/// accepts as the session's own record is used, and the copy is not filed right. Without one, the directory of the
/// project's other sessions is used.
pub(crate) fn decide(copy: &mut SessionCopy, is_statement: impl Fn(&Evidence) -> bool) {
    let own = || copy.evidence.iter().filter(|evidence| evidence.source != FROM_PROJECT);
    let statement = || own().find(|evidence| is_statement(evidence));
    let counting = own().find(|evidence| evidence.counts);
    // Other sessions that disagree are not evidence. They count only if the session has no recorded directory.
    let counting = counting.or_else(|| the_projects(&copy.evidence).filter(|_| statement().is_none()));
    let chosen = counting.or_else(statement);
    copy.is_filed_right = counting.is_some();
    copy.launch_dir = chosen.map(|evidence| Fact::new(evidence.dir.clone(), evidence.source));
    if copy.start_dir.is_none() {
        copy.start_dir = copy.launch_dir.clone();
    }
}

/// Decides the launch directory like [`decide`], and marks a copy as misfiled if its agent looks for it in another
/// project.
pub(crate) fn decide_in_project(copy: &mut SessionCopy) {
    decide(copy, |_| true);
    copy.health.remove(Health::MisfiledSession);
    copy.mark_if(copy.launch_dir.is_some() && !copy.is_filed_right, Health::MisfiledSession);
}

/// Returns the evidence of the project's other sessions, if they agree: several directories can share a slug.
fn the_projects(evidence: &[Evidence]) -> Option<&Evidence> {
    let mut dirs = evidence.iter().filter(|evidence| evidence.counts && evidence.source == FROM_PROJECT);
    let first = dirs.next()?;
    dirs.all(|other| other.dir == first.dir).then_some(first)
}

/// The ids of the sessions that record each directory.
type IdsByDir = BTreeMap<Arc<Path>, BTreeSet<String>>;

/// The directories that the sessions of each project record, if they encode to the project.
#[derive(Debug, Default)]
pub(crate) struct ProjectDirs(BTreeMap<(PathBuf, Arc<str>), IdsByDir>);

impl ProjectDirs {
    /// Adds the directories that a copy itself records, if `leads_back` accepts them as directories of its project.
    pub(crate) fn add_copy(&mut self, copy: &SessionCopy, leads_back: impl Fn(&Path) -> bool) {
        let Some(project) = &copy.place.project else { return };
        let key = (copy.place.store.root.clone(), Arc::clone(project));
        let own = copy.evidence.iter().filter(|evidence| evidence.counts && evidence.source != FROM_PROJECT);
        for evidence in own.filter(|evidence| leads_back(&evidence.dir)) {
            let by_dir = self.0.entry(key.clone()).or_default();
            by_dir.entry(evidence.dir.clone()).or_default().insert(copy.place.id.clone());
        }
    }

    /// Returns the evidence for a session of a project, one item per directory.
    pub(crate) fn evidence(&self, root: &Path, project: &Arc<str>, id: &str) -> Vec<Evidence> {
        let Some(by_dir) = self.0.get(&(root.to_owned(), Arc::clone(project))) else { return Vec::new() };
        let others = |ids: &BTreeSet<String>| ids.iter().filter(|other| *other != id).count();
        by_dir
            .iter()
            .filter(|(_, ids)| others(ids) > 0)
            .map(|(dir, ids)| {
                let detail = match others(ids) {
                    1 => "another session of its project".to_owned(),
                    count => format!("{count} other sessions of its project"),
                };
                Evidence { dir: dir.clone(), source: FROM_PROJECT, detail: detail.into(), counts: true }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::copy;

    fn evidence(dir: &str, source: &'static str, counts: bool) -> Evidence {
        Evidence { dir: Path::new(dir).into(), source, detail: "".into(), counts }
    }

    fn decided(list: Vec<Evidence>) -> (Option<String>, bool) {
        let mut copy = copy("a");
        copy.evidence = list;
        decide(&mut copy, |evidence| evidence.source == "session-info");
        (copy.launch_dir.map(|fact| fact.value.display().to_string()), copy.is_filed_right)
    }

    #[test]
    fn strongest_valid_evidence_wins() {
        assert_eq!(
            decided(vec![evidence("/x", "metadata", true), evidence("/y", "events", true)]),
            (Some("/x".into()), true)
        );
        assert_eq!(
            decided(vec![evidence("/x", "metadata", false), evidence("/y", "events", true)]),
            (Some("/y".into()), true)
        );
    }

    #[test]
    fn own_record_wins_without_valid_evidence() {
        assert_eq!(decided(vec![evidence("/x", "metadata", false)]), (None, false));
        assert_eq!(decided(vec![evidence("/x", "session-info", false)]), (Some("/x".into()), false));
    }

    #[test]
    fn other_sessions_do_not_replace_the_own_record() {
        let both = vec![evidence("/x", "session-info", false), evidence("/a", FROM_PROJECT, true)];
        assert_eq!(decided(both), (Some("/x".into()), false));
        let no_statement = vec![evidence("/x", "metadata", false), evidence("/a", FROM_PROJECT, true)];
        assert_eq!(decided(no_statement), (Some("/a".into()), true));
    }

    #[test]
    fn disagreeing_sessions_give_no_evidence() {
        let agree = vec![evidence("/a/b", FROM_PROJECT, true)];
        assert_eq!(decided(agree), (Some("/a/b".into()), true));
        let disagree = vec![evidence("/a/b", FROM_PROJECT, true), evidence("/a-b", FROM_PROJECT, true)];
        assert_eq!(decided(disagree.clone()), (None, false));
        let mut copy = copy("a");
        copy.evidence = disagree;
        decide(&mut copy, |_| true);
        assert_eq!(copy.launch_dir, None, "not even where every word of the session counts");
    }
}
