//! Restores an archived session: unpacks and checks it in the state directory, then moves it to free paths.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent;
use crate::agent::amplifier::session_info;
use crate::archive::code::is_code;
use crate::archive::manifest::{EntryContent, EntryRole, ManifestEntry};
use crate::archive::occupancy::{Occupancy, occupancy_of};
use crate::archive::sync::state::LocalLayout;
use crate::archive::unpacked::unpack;
use crate::archive::{Archive, MachineDir, Manifest};
use crate::change::apply::run;
use crate::change::apply::state_dir;
use crate::change::outcome::ChangeOutcome;
use crate::change::plan::change::{Change, ChangeItem, ItemSubject, PlannedCopy, Step};
use crate::error::PathError;
use crate::format::text::count;
use crate::session::SessionKind;
use crate::session::evidence::FROM_PROJECT;
use crate::system::disk::{self, Access, Disk, For, NameInDir, SYSTEM};
use crate::system::env::Env;
use crate::system::stamp;
use changes::state_dir::{READY, StateDir};

/// A planned restore.
#[derive(Debug)]
pub(crate) struct Restore<'a> {
    /// The planned change; without items if every file already exists.
    pub change: Change,
    archive: &'a Archive,
    env: &'a Env,
    parts: Vec<Prepared<'a>>,
    /// The session-info.json files that the archive lacks.
    infos: Vec<Info>,
    ready: PathBuf,
    /// Number of sessions added.
    sessions: usize,
    /// The roots of the sessions' stores.
    roots: BTreeSet<PathBuf>,
    /// The directories that the plan makes for the sessions.
    made: HashSet<PathBuf>,
    /// The entry for each target path, with the number of its item.
    placed: HashMap<PathBuf, (usize, &'a ManifestEntry)>,
    /// Set if files that an agent runs are restored too.
    with_code: bool,
    /// Target paths of the files that an agent would run and that are therefore not restored.
    pub left_out: Vec<PathBuf>,
}

/// An entry and the path where it is prepared.
#[derive(Debug)]
struct Prepared<'a> {
    entry: &'a ManifestEntry,
    /// The directory of the machine that archived it.
    source: MachineDir,
    ready: PathBuf,
    /// Target path; a new file gets the owner of the nearest directory there.
    target: PathBuf,
    /// Modification time to set, in seconds since 1970 and nanoseconds.
    modified: (i64, i64),
}

/// A session-info.json that records a launch directory for which the evidence is not among the session's own files.
#[derive(Debug)]
struct Info {
    /// The path where it is prepared.
    ready: PathBuf,
    target: PathBuf,
    dir: PathBuf,
    contents: String,
}

impl<'a> Restore<'a> {
    /// Makes an empty plan.
    pub(crate) fn new(verb: &'static str, archive: &'a Archive, env: &'a Env) -> Self {
        let change = Change::new(verb, Vec::new());
        Self {
            change,
            archive,
            env,
            parts: Vec::new(),
            infos: Vec::new(),
            ready: env.state_dir().join(READY),
            sessions: 0,
            roots: BTreeSet::new(),
            made: HashSet::new(),
            placed: HashMap::new(),
            with_code: false,
            left_out: Vec::new(),
        }
    }

    /// Sets whether files that an agent runs are restored: the user trusts their author.
    pub(crate) fn trusting(self, with_code: bool) -> Self {
        Self { with_code, ..self }
    }

    /// Adds a session, to be restored at the paths of the layout; skips stores without a root.
    ///
    /// `modified`, in seconds since 1970 and nanoseconds, replaces the archived times of its files. Returns whether
    /// there is anything to do. Fails with the paths that something else occupies, and then adds nothing.
    pub(crate) fn add(
        &mut self,
        manifest: &'a Manifest,
        layout: &LocalLayout,
        modified: Option<(i64, i64)>,
        present: Option<Present<'_>>,
    ) -> Result<bool, Vec<String>> {
        let (ready, source) = (self.ready.join(self.sessions.to_string()), self.archive.dir_of(manifest));
        let (mut steps, mut parts, mut in_the_way) = (Vec::new(), Vec::new(), Vec::new());
        let (mut made, mut placed, mut needs): (HashSet<PathBuf>, Vec<(PathBuf, &ManifestEntry)>, _) =
            (HashSet::new(), Vec::new(), None);
        // Restore the files that the agent lists last, so that it never finds a partial session.
        let mut entries: Vec<&ManifestEntry> = manifest.entries.iter().collect();
        // Only the agent adds rows to its database.
        entries.retain(|entry| !matches!(entry.node, EntryContent::Rows { .. }));
        entries.sort_by(|a, b| (a.role, a.store, &a.path).cmp(&(b.role, b.store, &b.path)));
        let mut put: Option<PathBuf> = None;
        let mut code = 0_usize;
        for entry in entries {
            let Some((root, target)) = layout.root(entry).zip(layout.path(entry)) else { continue };
            if !self.with_code && is_code(manifest.agent, &manifest.copies, entry.store, &entry.path) {
                let is_there = matches!(entry.node, EntryContent::Dir) || occupancy_of(root, &target, entry).is_same();
                code += usize::from(!is_there);
                self.left_out.extend(Some(target).filter(|_| !is_there));
                continue;
            }
            self.roots.insert(root.to_owned());
            let is_file = matches!(entry.node, EntryContent::File { .. });
            let part = Prepared {
                entry,
                source: source.clone(),
                ready: ready.join(entry.store.to_string()).join(&entry.path),
                target: target.clone(),
                modified: modified.filter(|_| is_file).unwrap_or(entry.modified),
            };
            if put.as_ref().is_some_and(|dir| target.starts_with(dir)) {
                parts.push(part);
                continue;
            }
            match occupancy_of(root, &target, entry) {
                Occupancy::Free { missing } => {
                    if let Some((item, earlier)) = self.placed.get(&target) {
                        if entry.role == EntryRole::Companion || earlier.node == entry.node {
                            // Another session restores the same entry.
                            needs = Some(*item);
                        } else {
                            in_the_way.push(format!("another session brings {}", target.display()));
                        }
                        continue;
                    }
                    for dir in missing {
                        if !self.made.contains(&dir) && made.insert(dir.clone()) {
                            steps.push(Step::MakeDir { path: dir });
                        }
                    }
                    placed.push((target.clone(), entry));
                    steps.push(Step::Put { from: part.ready.clone(), path: target.clone() });
                    parts.push(part);
                    put = Some(target);
                }
                Occupancy::Same => {}
                Occupancy::Taken(_) if entry.role == EntryRole::Companion => {}
                Occupancy::Taken(why) => match present.as_ref().map(|present| present.replaced.contains(&target)) {
                    None => in_the_way.push(why),
                    Some(false) => {}
                    Some(true) => match stamp::take_stamp(&target) {
                        Ok(stamp) => {
                            steps.push(Step::Trash { path: target.as_path().into(), stamp });
                            steps.push(Step::Put { from: part.ready.clone(), path: target });
                            parts.push(part);
                        }
                        Err(error) => in_the_way.push(error.to_string()),
                    },
                },
            }
        }
        if !in_the_way.is_empty() {
            return Err(in_the_way);
        }
        if steps.is_empty() && needs.is_none() {
            return Ok(false);
        }
        let mut reason =
            format!("state {}, archived at {}", manifest.number, self.env.clock.local_time(manifest.archived_at));
        if code > 0 {
            let title = agent::about(manifest.agent).title;
            reason.push_str(&format!("; without {} that {title} would run", count(code, "file")));
        }
        if let Some(info) = self.info(manifest, layout, &steps).filter(|_| present.is_none()) {
            parts.retain(|part| part.target != info.target);
            reason.push_str(&format!("; records {} in its {}", info.dir.display(), session_info::FILE_NAME));
            self.infos.push(info);
        }
        self.sessions += 1;
        self.parts.append(&mut parts);
        self.made.extend(made);
        let item = self.change.items.len();
        self.placed.extend(placed.into_iter().map(|(target, entry)| (target, (item, entry))));
        let about = ItemSubject::Session(manifest.agent, manifest.id.as_str().into());
        let code = if present.is_some() { "continued-elsewhere" } else { "archived" };
        let seen = present.map(|present| present.seen).into_iter().collect();
        let title = manifest.facts.title.as_deref().map(Into::into);
        self.change.items.push(ChangeItem { seen, title, needs, ..ChangeItem::new(about, code, reason, steps) });
        Ok(true)
    }
}

impl Restore<'_> {
    /// Returns the session-info.json to write into the directory of a session that `steps` put in place; `None` if its
    /// own files record its launch directory, or the archive knows no directory of its project.
    fn info(&self, manifest: &Manifest, layout: &LocalLayout, steps: &[Step]) -> Option<Info> {
        // The archived directory is that of the chosen copy, and several copies may differ in it.
        let (facts, [at]) = (&manifest.facts, manifest.copies.as_slice()) else { return None };
        let is_from_outside = matches!(facts.launch_source.as_deref(), Some("pointer" | FROM_PROJECT));
        let is_launched = agent::about(manifest.agent).needs_session_info && facts.kind != SessionKind::Subagent;
        let dir = facts.launch_dir.as_ref().filter(|_| is_from_outside && is_launched)?.0.clone();
        let project = facts.project.as_deref().filter(|project| at.path.iter().any(|name| name == *project))?;
        let created_at = facts.created_at.or(facts.active_at)?;
        agent::by_kind(manifest.agent)?.is_filed_under(project, &dir)?.then_some(())?;
        let target =
            layout.path(manifest.entries.iter().find(|entry| (entry.store, &entry.path) == (at.store, &at.path))?)?;
        let target = target.join(session_info::FILE_NAME);
        let ready = steps.iter().find_map(|step| match step {
            Step::Put { from, path } => Some(from.join(target.strip_prefix(path).ok()?)),
            _ => None,
        })?;
        let old = match manifest.file(&manifest.stores[at.store].0, &at.path.join(session_info::FILE_NAME)) {
            // A file that is too large to be read is not replaced.
            Some((size, ..)) if size > session_info::MAX_BYTES => return None,
            Some((_, _, chunks)) => {
                let dir = self.archive.dir_of(manifest);
                chunks.iter().map(|chunk| dir.chunk(chunk)).collect::<Result<Vec<_>, _>>().ok()?.concat()
            }
            None => Vec::new(),
        };
        // A valid file is kept, even if it names a directory of another project.
        session_info::parse(&old, |dir| self.env.expand(dir)).is_err().then_some(())?;
        let contents = session_info::render(&dir, created_at, Some(&old))?;
        Some(Info { ready, target, dir, contents })
    }
}

/// An existing copy of a session that is older than the archived state.
pub(crate) struct Present<'r> {
    /// The copy; it must be unchanged since the plan.
    pub seen: PlannedCopy,
    /// The files that the archived state replaces. Other existing files are kept.
    pub replaced: &'r BTreeSet<PathBuf>,
}

impl Restore<'_> {
    /// Restores the sessions, as a run that can be undone.
    pub(crate) fn apply(&self, env: &Env, patience: Duration) -> anyhow::Result<ChangeOutcome> {
        if self.change.items.is_empty() {
            return Ok(ChangeOutcome::default());
        }
        let mut state_dir = state_dir::open(env, self.change.verb, patience)?;
        // The user may name a store that no variable selects.
        self.roots.iter().for_each(|root| state_dir.bounds.add(&SYSTEM, root));
        self.apply_locked(&state_dir, env)
    }

    /// Restores the sessions under a lock that the caller holds.
    pub(crate) fn apply_locked(&self, state_dir: &StateDir, env: &Env) -> anyhow::Result<ChangeOutcome> {
        let made = self.make_ready(state_dir.disk());
        let outcome = made
            .map_err(|error| anyhow::Error::from(PathError::new("prepare", &self.ready, error)))
            .and_then(|()| Ok(run::run_locked(state_dir, &self.change, env, &mut |_| {})?));
        // Leftovers are useless; the next run would remove them too.
        let _ = state_dir.clear_ready();
        outcome
    }

    /// Unpacks and checks every part.
    fn make_ready(&self, disk: &dyn Disk) -> io::Result<()> {
        for part in &self.parts {
            let above = disk::make_dirs(disk, part.ready.parent().unwrap_or(&part.ready), Access::Private)?;
            let at = (&above, part.ready.file_name().unwrap_or_default());
            match &part.entry.node {
                EntryContent::Rows { .. } => {}
                EntryContent::Dir => disk.make_dir(at, Access::Private)?,
                EntryContent::Link { target } => disk.make_link(at, target)?,
                EntryContent::File { sha256, chunks, .. } => {
                    let file = disk.open(at, For::New(Access::Private))?;
                    unpack((disk, &file), &part.entry.path, (sha256, chunks), &part.source)?;
                    disk.sync(&file)?;
                }
            }
        }
        for Info { ready, target, contents, .. } in &self.infos {
            disk::save(disk, ready, Access::Private, contents.as_bytes()).map_err(io::Error::other)?;
            let (above, name) = disk::open_parent(disk, ready)?;
            take_owner(disk, (&above, name.as_os_str()), target)?;
        }
        // Adding an entry changes the time of its directory, so the times of directories are set after their contents.
        self.parts.iter().rev().try_for_each(|part| take_attributes(disk, part))
    }
}

/// Changes the owner of a prepared entry to that of the nearest directory of its target path.
fn take_owner(disk: &dyn Disk, at: NameInDir<'_>, target: &Path) -> io::Result<()> {
    if let Some(dir) = target.ancestors().skip(1).find_map(|dir| disk.open_dir(dir).ok()) {
        // Only root may chown a file; for other users the owner is the user.
        let _ = disk.set_owner(at, disk.read_open_metadata(&dir)?.owner);
    }
    Ok(())
}

/// Sets owner, mode and time of a prepared entry, and syncs a directory.
fn take_attributes(disk: &dyn Disk, part: &Prepared<'_>) -> io::Result<()> {
    let Prepared { entry, ready, target, modified, .. } = part;
    let (above, name) = disk::open_parent(disk, ready)?;
    let at = (&above, name.as_os_str());
    take_owner(disk, at, target)?;
    let mask = match entry.node {
        EntryContent::Link { .. } | EntryContent::Rows { .. } => None,
        // Drops setuid, setgid and sticky bits: an archive must not grant rights.
        EntryContent::File { .. } => Some(0o777),
        EntryContent::Dir => {
            disk.sync(&disk.open(at, For::Dir)?)?;
            Some(0o3777)
        }
    };
    if let Some(mask) = mask {
        disk.set_mode(at, entry.mode & mask)?;
    }
    let time = (modified.0, modified.1.clamp(0, 999_999_999));
    disk.set_times(at, (time, time))
}
