//! What other sessions tell of a directory where a session itself does not.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashSetExt as _;
use rayon::iter::{IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _};

use super::reader::{Notes, Reader};
use super::{Wanted, locate};
use crate::agent::{self, Depth, Inspector};
use crate::session::evidence::ProjectDirs;
use crate::session::packed::Packed;
use crate::session::{AgentKind, Copy, Evidence, Located};
use crate::system::env::Env;
use crate::system::watch::Watcher;

/// Lets sessions that record no usable directory take it from the others of their project, those that were packed
/// already among them.
pub(super) fn add_project_evidence(
    env: &Env,
    copies: &mut [Copy],
    packed: &[Packed],
    others: &[Located],
    notes: &Notes,
    wanted: Wanted,
    watcher: &Watcher,
) {
    let lacks = |copy: &Copy| wanted.depth == Depth::Thorough || copy.launch_dir.is_none();
    if !copies.iter().any(lacks) {
        return;
    }
    let mut dirs = ProjectDirs::default();
    copies.iter().for_each(|copy| dirs.note(copy));
    let projects: BTreeSet<(&Path, &Arc<str>)> = copies
        .iter()
        .filter(|copy| lacks(copy))
        .filter_map(|copy| Some((copy.place.store.root.as_path(), copy.place.project.as_ref()?)))
        .collect();
    for copy in packed.par_iter().flat_map_iter(|packed| packed.copies_in(&projects)).collect::<Vec<_>>() {
        dirs.note(&copy);
    }
    let siblings: Vec<Located> = others
        .iter()
        .filter(|place| {
            place.project.as_ref().is_some_and(|project| projects.contains(&(place.store.root.as_path(), project)))
        })
        .cloned()
        .collect();
    watcher.begin(siblings.len());
    // A sibling that cannot be read gives no evidence; that is all it means here.
    let siblings = Reader { env, notes, wanted: Wanted::GLANCE, inspector: &Inspector::default() }.copies(
        siblings,
        &mut Vec::new(),
        watcher,
    );
    siblings.iter().for_each(|copy| dirs.note(copy));

    copies.par_iter_mut().filter(|copy| lacks(copy)).for_each(|copy| {
        let Some(project) = copy.place.project.clone() else { return };
        let evidence = dirs.evidence(&copy.place.store.root, &project, &copy.place.id);
        if !evidence.is_empty() {
            copy.evidence.extend(evidence);
            if let Some(agent) = agent::by_kind(copy.place.agent()) {
                agent.decide_launch_dir(copy);
            }
        }
    });
}

/// Finds the directory of a session whose project is named after a hash of it among those that are known.
pub(super) fn add_hashed_evidence(env: &Env, copies: &mut [Copy], packed: &[Packed], watcher: &Watcher) {
    let hashed = |copy: &Copy| {
        let agent = agent::by_kind(copy.place.agent()).filter(|_| copy.launch_dir.is_none())?;
        copy.place.project.clone().filter(|project| agent.is_hash(project)).map(|project| (agent, project))
    };
    if !copies.iter().any(|copy| hashed(copy).is_some()) {
        return;
    }
    let mut others = locate(env, &[]).places;
    let mut read: HashSet<Arc<Path>> = copies.iter().map(|copy| Arc::clone(&copy.place.path)).collect();
    read.extend(packed.iter().flat_map(Packed::sessions).map(|session| Arc::clone(&session.copy().place.path)));
    others.retain(|place| !read.contains(&*place.path));
    drop(read);
    watcher.begin(others.len());
    let notes = Notes::of(env, &others, [], false, &mut Vec::new());
    // What cannot be read names no directory; that is all it means here.
    let others = Reader { env, notes: &notes, wanted: Wanted::GLANCE, inspector: &Inspector::default() }.copies(
        others,
        &mut Vec::new(),
        watcher,
    );
    // Another session may have worked further down.
    let recorded = copies.iter().chain(&others).flat_map(Copy::directories);
    let packed = dirs_of(packed);
    let dirs: BTreeSet<PathBuf> =
        recorded.chain(packed.iter().map(Path::new)).flat_map(Path::ancestors).map(Path::to_owned).collect();
    // Hashing every directory once for each project is enough.
    let mut found: HashMap<(AgentKind, Arc<str>), Option<&PathBuf>> = HashMap::new();
    for copy in copies {
        let Some((agent, project)) = hashed(copy) else { continue };
        let find = || dirs.iter().find(|dir| agent.is_filed_under(&project, dir));
        if let Some(dir) = *found.entry((agent.kind(), Arc::clone(&project))).or_insert_with(find) {
            let detail = "known from another session, and its hash is the project's name".into();
            copy.evidence.push(Evidence { dir: dir.clone(), source: "known", detail, counts: true });
            agent.decide_launch_dir(copy);
        }
    }
}

/// Returns every directory that packed sessions record.
pub(super) fn dirs_of(packed: &[Packed]) -> foldhash::HashSet<OsString> {
    let dirs = |packed: &Packed| {
        let mut dirs: foldhash::HashSet<OsString> = foldhash::HashSet::new();
        for session in packed.sessions() {
            dirs.extend(session.copy().directories().map(Path::as_os_str).map(OsStr::to_owned));
        }
        dirs
    };
    packed.par_iter().map(dirs).reduce(foldhash::HashSet::new, |mut all, some| {
        all.extend(some);
        all
    })
}
