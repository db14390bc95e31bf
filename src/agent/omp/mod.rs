//! oh-my-pi: `<agent dir>/sessions/<project>/<time>_<id>.jsonl`, a line with the title and then Pi's records;
//! sub-agents and truncated outputs in a folder of the same name, archived sessions compressed in `<agent
//! dir>/archive/sessions`.
//!
//! Facts: measured on 18.2.3, sources of 18.3.4 compared; facts that are marked so are by its code.

pub(super) mod about;
mod projects;

use std::collections::{BTreeSet, HashSet};

use memchr::memmem;

use super::lines::Lines;
use crate::agent::ids::is_word;
use crate::agent::kept;
use crate::agent::pi::log::{Dialect, PiTree};
use crate::agent::pi::records::{PiRecord, id_of_file};
use crate::agent::pi::{prompt_words, relocation};
use crate::agent::prelude::*;
use crate::format::jsonl::{Jsonl, each_line};
use crate::session::KeptBy;
use crate::session::branches::BranchFilter;
use projects::{is_filed_under, project_of};

/// The variables that select other directories, by its code.
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
const CONFIG_DIR: &str = "PI_CONFIG_DIR";
const PROFILE: &str = "OMP_PROFILE";
const ELSEWHERE: [&str; 5] = [AGENT_DIR, CONFIG_DIR, PROFILE, "PI_PROFILE", "PI_CODING_AGENT_SESSION_DIR"];
const DATA: &str = "XDG_DATA_HOME";
/// Additional file name suffix of an archived session.
const PACKED: &str = ".gz";
/// Prefix of an image's name in a record; its file is named after the digest.
const BLOB: &[u8] = b"blob:sha256:";
const DIGEST: usize = 64;

/// Implements [`Agent`](super::Agent) for oh-my-pi.
pub(super) struct Omp;

impl Reading for Omp {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        // The directory is used if it exists, for a profile the one of its name below it; the program then finds it without
        // a variable (packages/utils/src/dirs.ts of 18.2.3).
        let usual_data = env.home.join(".local/share");
        let chosen_data = env.agent_variable(DATA).map(PathBuf::from);
        let data = chosen_data.as_ref().unwrap_or(&usual_data).join("omp");
        let is_there = |dir: &Path| reach::is_dir(dir) == Some(true);
        let hides = |dir: &Path| chosen_data.is_some() && is_there(dir);
        let without = |set: &str, data: &Path| {
            let names = ELSEWHERE.into_iter().filter(|name| *name != set);
            names.chain(hides(data).then_some(DATA)).collect::<Vec<_>>()
        };
        let mut stores: Vec<Store> = Vec::new();
        if let Some(dir) = env.agent_variable(AGENT_DIR).map(|dir| env.absolute(Path::new(dir))) {
            let unset = without(AGENT_DIR, Path::new(""));
            stores.push(Store { unset, ..Store::named(AgentKind::Omp, &dir, AGENT_DIR, &dir) });
        }
        if let Some(name) = env.agent_variable(CONFIG_DIR).map(Path::new) {
            let (root, unset) = (env.home.join(name).join("agent"), without(CONFIG_DIR, &data));
            stores.push(Store { unset, ..Store::named(AgentKind::Omp, root, CONFIG_DIR, name) });
        }
        let chosen = env.agent_variable(PROFILE).or_else(|| env.agent_variable("PI_PROFILE")).map(ToOwned::to_owned);
        let base = env.home.join(".omp");
        for (profiles, is_data) in [(data.join("profiles"), true), (base.join("profiles"), false)] {
            for (entry, _) in Found::default().entries(&profiles).into_iter().filter(|(_, kind)| kind.is_dir()) {
                let name = entry.file_name();
                let in_data = data.join("profiles").join(&name);
                let (root, other) =
                    if is_data { (entry.path(), PathBuf::new()) } else { (entry.path().join("agent"), in_data) };
                let mut store = Store::named(AgentKind::Omp, root, PROFILE, Path::new(&name));
                store.set.extend((is_data && chosen_data.is_none()).then(|| (DATA.into(), usual_data.clone().into())));
                let unset = without(PROFILE, &other);
                stores.push(Store { unset, is_default: chosen.as_ref() == Some(&name), ..store });
            }
        }
        let is_default = !stores.iter().any(|store| store.is_default);
        if is_there(&data) {
            let mut store = Store { unset: ELSEWHERE.to_vec(), ..Store::usual(AgentKind::Omp, &data) };
            store.is_default = is_default && chosen_data.is_some();
            store.set.extend(chosen_data.is_none().then(|| (DATA.into(), usual_data.clone().into())));
            stores.push(store);
        }
        stores.push(Store {
            is_default: is_default && !hides(&data),
            unset: without("", &data),
            ..Store::usual(AgentKind::Omp, base.join("agent"))
        });
        let mut known = HashSet::new();
        stores.retain(|store| known.insert(store.root.clone()));
        stores
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        // By its code, a list of ids.
        let pinned = KeptBy::new("pinned in oh-my-pi", "unpin it there");
        notes.add_kept(&store.root.join("session-pins.json"), (pinned, "maybe pinned in oh-my-pi"), |bytes| {
            kept::ids(serde_json::from_slice(bytes).ok())
        });
        notes
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(PiTree(Self))
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        is_packed(&place.path).then_some(&Packed)
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        crate::agent::pi::records::is_silent(record)
    }
}

impl Resuming for Omp {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if copy.kind == SessionKind::Archived {
            return Err("`omp gc` has closed it, and `omp --resume` does not find closed sessions".into());
        }
        refuse_invalid(copy)?;
        // The program also accepts a prefix of an id, so always pass the whole id.
        Ok(Command::new(&["omp", "--resume", &copy.place.id], prompt_words(prompt)))
    }

    fn changes_to(&self, copy: &SessionCopy) -> Option<Arc<Path>> {
        copy.start_dir.as_ref().map(|own| Arc::clone(&own.value))
    }
}

impl Moving for Omp {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        // Without this change the program asks whether to move the session, and without a terminal it fails.
        Ok(relocation::relocation(
            |dir| project_of(dir, &moving.env.home, &moving.env.temp_dir()),
            |path| backups(path, &Listings::default()),
        ))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        is_filed_under(project, dir)
    }
}

impl Housekeeping for Omp {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        // A sub-agent's answer has the name of its file.
        let answer = Some(place.path.with_extension("md")).filter(|_| place.is_subagent);
        let others = place.side_dir.clone().into_iter().chain(answer);
        Ok(own_files(place, others.chain(backups(&place.path, listings))))
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        let mut digests = BTreeSet::new();
        if let Some(path) = self.transcript(place) {
            // An unreadable file is reported elsewhere; no image of it is found here.
            let _ = each_line(&path, &mut |line| {
                let named = memmem::find_iter(line, BLOB).filter_map(|at| line.get(at + BLOB.len()..)?.get(..DIGEST));
                digests.extend(named.filter_map(|digest| str::from_utf8(digest).ok()).map(str::to_owned));
                ControlFlow::Continue(())
            });
        }
        digests.retain(|digest| digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let blobs = place.store.root.join("blobs");
        digests.into_iter().map(|digest| blobs.join(digest)).filter(|path| is_there(path)).collect()
    }
}

impl Dialect for Omp {
    const NAME: &'static str = "oh-my-pi";
    const HAS_TITLE_LINE: bool = true;
    const HEADLESS: &'static str = "it does not begin with the header of a session";
    const BRANCHES: &'static str = "oh-my-pi's tree leads there";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        walk(store, |id| only.is_none_or(|only| only == id))
    }
}

/// Finds the backups of a session's file, `<name>.jsonl.<number>.bak`: a rewrite whose rename failed leaves them. If
/// the file is gone, omp's next listing renames the newest of them back to it (its code at 18.3.4).
fn backups(path: &Path, listings: &Listings) -> Vec<PathBuf> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    if !name.ends_with(".jsonl") {
        return Vec::new();
    }
    let beginning = format!("{name}.");
    let is_backup = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix(&beginning).and_then(|rest| rest.strip_suffix(".bak"));
        number.is_some_and(|number| !number.is_empty() && !number.contains('.'))
    };
    listings.read_once(dir).entries_beginning_with(&beginning).filter(is_backup).collect()
}

/// Finds the files of the sessions whose id `is_wanted` accepts, with their sub-agents.
fn walk(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    if !is_there(&store.root) {
        return Found::default();
    }
    // Pi uses the same variable. Its own sessions have no line with a title.
    let is_shared = store.set.contains_key(AGENT_DIR);
    let mut all = Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
        let entries = found.entries(dir);
        let (dirs, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, kind)| kind.is_dir());
        let mut folders: HashSet<String> =
            dirs.into_iter().filter_map(|(entry, _)| entry.file_name().into_string().ok()).collect();
        for (entry, kind) in files {
            let (name, path) = (entry.file_name(), entry.path());
            let Some((name, id)) = name.to_str().and_then(|name| Some((name, id_of_file(name)?))) else { continue };
            if !kind.is_file() {
                found.problem(&path, "it is not a regular file");
                continue;
            }
            if is_shared && !begins_with_title(&path) {
                continue;
            }
            let folder = folders.take(name.trim_end_matches(".jsonl"));
            if let Some(folder) = &folder {
                add_subagents(store, project, id, &dir.join(folder), &is_wanted, found);
            }
            if is_wanted(id) {
                let side_dir = folder.map(|folder| dir.join(folder));
                found.places.push(Located { side_dir, ..Located::in_project(store, project, id, path) });
            }
        }
    });
    all.extend(archived(store, is_wanted));
    all
}

/// Finds the sessions that `omp gc` has compressed.
fn archived(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    Found::in_projects(&store.root.join("archive/sessions"), |dir, project, found| {
        for (entry, kind) in found.entries(dir) {
            let (name, path) = (entry.file_name(), entry.path());
            let id = name.to_str().and_then(|name| id_of_file(name.strip_suffix(PACKED)?));
            if let Some(id) = id.filter(|id| kind.is_file() && is_wanted(id)) {
                let folder = path.with_extension("").with_extension("");
                let side_dir = Some(folder).filter(|folder| links::is_dir(folder));
                found.places.push(Located { side_dir, ..Located::in_project(store, project, id, path) });
            }
        }
    })
}

/// Adds the sub-agents in the folder of a session. Their files are named after their task, so the id is read from the
/// header.
fn add_subagents(
    store: &Arc<Store>,
    project: &Arc<str>,
    parent: &str,
    folder: &Path,
    is_wanted: impl Fn(&str) -> bool,
    found: &mut Found,
) {
    for (entry, kind) in found.entries(folder) {
        let path = entry.path();
        if !kind.is_file() || path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        match id_in_header(&path) {
            Ok(Some(id)) if is_wanted(&id) => {
                let parent_id = Some(parent.to_owned());
                found.places.push(Located {
                    parent_id,
                    is_subagent: true,
                    ..Located::in_project(store, project, &id, path)
                });
            }
            Ok(Some(_)) => {}
            Ok(None) => found.problem(&path, "there is no session id at its start"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => found.problem(&path, error.reason()),
        }
    }
}

fn id_in_header(path: &Path) -> Result<Option<String>, PathError> {
    let mut id = None;
    Jsonl::open(path)?.lines_forward(&mut |line| {
        let record = PiRecord::parse(line);
        let header = record.as_ref().filter(|record| record.is_header());
        id = header.and_then(|header| header.id.get()).filter(|id| is_word(id)).map(str::to_owned);
        record.is_none_or(|record| record.title_line().is_none())
    })?;
    Ok(id)
}

fn begins_with_title(path: &Path) -> bool {
    let mut is_title = false;
    let seen = Jsonl::open(path).and_then(|mut file| {
        file.lines_forward(&mut |line| {
            is_title = PiRecord::parse(line).is_some_and(|record| record.title_line().is_some());
            true
        })
    });
    seen.is_ok() && is_title
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// The engine for sessions that `omp gc` has compressed.
struct Packed;

impl Engine for Packed {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        archived(store, |id| only.is_none_or(|only| only == id))
    }

    /// Reads the name and the metadata of the file.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let (_, metadata) = fsio::open_regular(&place.path)?;
        let mut copy = SessionCopy::new(place);
        copy.transcript_bytes = metadata.len();
        copy.size_bytes = metadata.len() + context.tree_size(copy.place.side_dir.as_deref());
        copy.kind = SessionKind::Archived;
        copy.set_active_by_file(metadata.modified().ok().and_then(|at| at.try_into().ok()));
        copy.notes.push("`omp gc` has packed it, so what was said in it is not read".to_owned());
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, _copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        Ok(())
    }

    fn messages_on(&self, _copy: &SessionCopy, _wanted: BranchFilter, _see: &mut Visitor<'_>) -> Result<(), PathError> {
        Ok(())
    }
}
