//! Finds the launch directory of a session without one, from other sessions of its project.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reader::{Notes, Reader};
use super::{ScanScope, locate};
use crate::agent::{self, Depth, Inspector};
use crate::session::evidence::ProjectDirs;
use crate::session::{AgentKind, Evidence, Located, SessionCopy};
use crate::system::env::Env;
use crate::system::parallel;
use crate::system::watch::Watcher;

/// Adds evidence from other sessions of the project to sessions that record no valid directory.
pub(super) fn add_project_evidence(
    env: &Env,
    copies: &mut [Vec<SessionCopy>],
    others: &[Located],
    notes: &Notes,
    scope: ScanScope,
    watcher: &Watcher,
) {
    let lacks = |copy: &SessionCopy| scope.depth == Depth::Thorough || copy.launch_dir.is_none();
    if !copies.iter().flatten().any(lacks) {
        return;
    }
    let mut dirs = ProjectDirs::default();
    // Without a known project, a directory is not evidence for other sessions.
    let mut note = |copy: &SessionCopy| dirs.add_copy(copy, |dir| agent::leads_back(&copy.place, dir) == Some(true));
    copies.iter().flatten().for_each(&mut note);
    let projects: BTreeSet<(&Path, &Arc<str>)> = copies
        .iter()
        .flatten()
        .filter(|copy| lacks(copy))
        .filter_map(|copy| Some((copy.place.store.root.as_path(), copy.place.project.as_ref()?)))
        .collect();
    let siblings: Vec<Located> = others
        .iter()
        .filter(|place| {
            place.project.as_ref().is_some_and(|project| projects.contains(&(place.store.root.as_path(), project)))
        })
        .cloned()
        .collect();
    watcher.begin(siblings.len());
    // An unreadable sibling is not evidence, and is not a problem of this session.
    let siblings = Reader { env, notes, wanted: ScanScope::GLANCE, inspector: &Inspector::default() }.copies(
        siblings,
        &mut Vec::new(),
        watcher,
    );
    siblings.iter().flatten().for_each(note);

    parallel::map(copies.iter_mut().flatten().filter(|copy| lacks(copy)), |copy| {
        let Some(project) = copy.place.project.clone() else { return };
        let evidence = dirs.evidence(&copy.place.store.root, &project, &copy.place.id);
        if !evidence.is_empty() {
            copy.evidence.extend(evidence);
            agent::decide_launch_dir(copy);
        }
    });
}

/// Finds the directory of a session whose project is named after a hash, by hashing the known directories.
pub(super) fn add_hashed_evidence(env: &Env, copies: &mut [Vec<SessionCopy>], watcher: &Watcher) {
    let hashed = |copy: &SessionCopy| {
        let agent = agent::by_kind(copy.place.agent()).filter(|_| copy.launch_dir.is_none())?;
        copy.place.project.clone().filter(|project| (agent.about().is_hash)(project)).map(|project| (agent, project))
    };
    if !copies.iter().flatten().any(|copy| hashed(copy).is_some()) {
        return;
    }
    let mut others = locate(env, &[]).places;
    let read: HashSet<&Path> = copies.iter().flatten().map(|copy| &*copy.place.path).collect();
    others.retain(|place| !read.contains(&*place.path));
    drop(read);
    watcher.begin(others.len());
    let notes = Notes::of(env, &others, [], false, &mut Vec::new());
    // An unreadable copy names no directory. Other code reports that problem.
    let others = Reader { env, notes: &notes, wanted: ScanScope::GLANCE, inspector: &Inspector::default() }.copies(
        others,
        &mut Vec::new(),
        watcher,
    );
    // Another session may have worked in a subdirectory.
    let recorded = copies.iter().chain(&others).flatten().flat_map(SessionCopy::directories).chain(env.cwd.as_deref());
    let dirs: BTreeSet<PathBuf> = recorded.flat_map(Path::ancestors).map(Path::to_owned).collect();
    // Hashing every directory once per project is enough.
    let mut found: HashMap<(AgentKind, Arc<str>), Option<&PathBuf>> = HashMap::new();
    for copy in copies.iter_mut().flatten() {
        let Some((agent, project)) = hashed(copy) else { continue };
        let find = || dirs.iter().find(|dir| agent.is_filed_under(&project, dir) == Some(true));
        if let Some(dir) = *found.entry((agent.kind(), Arc::clone(&project))).or_insert_with(find) {
            let detail = "a known directory, whose hash is the project's name".into();
            copy.evidence.push(Evidence { dir: dir.as_path().into(), source: "known", detail, counts: true });
            agent::decide_launch_dir(copy);
        }
    }
}
