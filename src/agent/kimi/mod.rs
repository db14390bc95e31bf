//! Kimi CLI: `~/.kimi/sessions/<md5 of the directory>/<id>/` with wire.jsonl, context.jsonl and state.json; each of
//! these may be missing; `kimi.json` names the directory of a project.
//!
//! Kimi accepts an id that it does not find in its current directory: it starts a new session with that id, and empties
//! the context of one that it does not recognize. Facts: measured on 1.45.0; its session.py (02a40bfe). 1.52.0 resumes
//! nothing: it prints that it has no maintainers any more.

pub(super) mod records;

pub(super) mod about;
mod reader;
mod relocation;

use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use md5::{Digest as _, Md5};
use reader::{Files, is_file, listed_dirs, read_context, read_state, read_wire};

use super::installed::Package;
use super::kimicode::{self, OLDER as PACKAGE, PACKAGE as SUCCESSOR};
use super::{Command, Found, Housekeeping, Moving, ReadContext, Reading, Resuming, StoreNotes, Unable, is_there};
use crate::agent::Depth;
use crate::agent::relocation::{Relocation, StoreMove};
use crate::agent::stores;
use crate::agent::unknown_format::is_one_of;
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::format::json;
use crate::format::jsonl::{each_line, each_message};
use crate::format::{shell, text};
use crate::session::evidence;
use crate::session::recorded;
use crate::session::{AgentKind, Belongings, Evidence, Located, SessionCopy, SessionKind, Store, Visitor};
use crate::system::env::{Env, Program};
use crate::system::links;
use crate::system::names;
use crate::system::reach;
use records::{ContextRecord, Replies, WireEvent, WireRecord, WorkDir};

/// The agent.
pub(super) struct Kimi;

impl Reading for Kimi {
    fn stores(&self, env: &Env) -> Vec<Store> {
        stores::by_variables(AgentKind::Kimi, &[("KIMI_SHARE_DIR", None)], env.home.join(".kimi"), env)
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            let entries = found.entries(dir);
            let is_dir = |name: &str| entries.iter().any(|(entry, kind)| kind.is_dir() && entry.file_name() == name);
            for (entry, kind) in &entries {
                let path = entry.path();
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    found.problem(&path, "its name is not UTF-8, so it cannot be an id");
                    continue;
                };
                let id = match name.strip_suffix(".jsonl") {
                    _ if kind.is_dir() => name.as_str(),
                    // Older versions stored the context next to the directories; it is moved at its next use.
                    Some(stem) if kind.is_file() && !is_dir(stem) => stem,
                    _ => continue,
                };
                if !id.starts_with('.') && !id.is_empty() {
                    found.places.push(place(store, project, id, path));
                }
            }
        })
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        // An id that is not a plain file name could lead out of the project.
        if id.starts_with('.') || Path::new(id).components().ne([Component::Normal(id.as_ref())]) {
            return Found::default();
        }
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            let (path, legacy) = (dir.join(id), dir.join(format!("{id}.jsonl")));
            if links::is_dir(&path) {
                found.places.push(place(store, project, id, path));
            } else if is_file(&legacy) {
                found.places.push(place(store, project, id, legacy));
            }
        })
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        match listed_dirs(&store.root) {
            Ok(dirs) => {
                for WorkDir { path, kaos } in dirs {
                    let counts = kaos == "local";
                    let hash = hash(path.as_bytes());
                    let project = if counts { hash } else { format!("{kaos}_{hash}") };
                    let detail = "kimi.json".into();
                    let evidence = Evidence { dir: Path::new(&path).into(), source: "registry", detail, counts };
                    notes.dirs.entry(project).or_default().push(evidence);
                }
            }
            Err(problem) => notes.problems.push(problem),
        }
        notes
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let files = Files::of(&place);
        let mut copy = SessionCopy::new(place);
        // A path that is not a directory adds 0.
        copy.size_bytes = context.tree_size(Some(&copy.place.path))
            + files.legacy.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
        let has_prompt = read_wire(&mut copy, &files.wire, context.env.clock.now)?;
        let project = copy.place.project.clone().unwrap_or_default();
        copy.evidence = context.notes.dirs.get(&*project).cloned().unwrap_or_default();
        let needs_dir = context.depth == Depth::Thorough || !copy.evidence.iter().any(|evidence| evidence.counts);
        if needs_dir || !has_prompt || copy.active_at.is_none() {
            let dir = read_context(&mut copy, &files.context, has_prompt)?;
            if let Some(dir) = dir.and_then(|dir| recorded::dir(&dir)).filter(|_| needs_dir) {
                let counts = self.is_filed_under(&project, &dir);
                let detail = "context.jsonl".into();
                copy.evidence.push(Evidence { dir, source: "system-prompt", detail, counts });
            }
        }
        if copy.first_prompt.is_some() {
            copy.kind = SessionKind::Main;
        }
        read_state(&mut copy, &files);
        self.decide_launch_dir(&mut copy);
        if context.depth == Depth::Thorough {
            let imports = imports_in_words(&copy, context.env);
            copy.notes.extend(imports);
        }
        Ok(copy)
    }

    fn count(&self, copy: &mut SessionCopy) -> Result<(), PathError> {
        let (mut prompts, mut has_bad_lines) = (0, false);
        let mut replies = Replies::default();
        let files = Files::of(&copy.place);
        each_line(&files.wire, &mut |line| {
            match line.and_then(json::record::<WireRecord<'_>>) {
                Some(record) => {
                    let event = record.event();
                    prompts += u64::from(matches!(event, WireEvent::Prompt(_)));
                    replies.see(&event);
                }
                None => has_bad_lines = true,
            }
            ControlFlow::Continue(())
        })?;
        let mut replies = replies.count();
        if prompts + replies == 0 {
            each_line(&files.context, &mut |line| {
                match line.and_then(json::record::<ContextRecord<'_>>) {
                    Some(record) => {
                        prompts += u64::from(record.prompt().is_some());
                        replies += u64::from(record.is_reply());
                    }
                    None => has_bad_lines = true,
                }
                ControlFlow::Continue(())
            })?;
        }
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        // The context begins with a prompt that names the directory and is truncated when it grows too long; the log
        // only grows, and its times distinguish the conversations of two directories.
        let files = Files::of(place);
        [files.wire, files.context].into_iter().find(|path| is_file(path))
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        let files = Files::of(place);
        vec![files.wire, files.context]
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        is_one_of(record, "/type", &["metadata"])
            || is_one_of(record, "/role", &["_checkpoint", "_usage", "_system_prompt"])
            || is_one_of(
                record,
                "/message/type",
                &["StatusUpdate", "StepBegin", "StepInterrupted", "StepRetry", "TurnEnd"],
            )
            || records::is_command_record(record)
    }

    fn messages(&self, copy: &SessionCopy, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let files = Files::of(&copy.place);
        let mut has_any = false;
        each_message(&files.wire, see, |line| {
            let message = json::record::<WireRecord<'_>>(line).and_then(|record| record.message());
            has_any |= message.is_some();
            message.map(|message| [message])
        })?;
        if has_any {
            return Ok(());
        }
        each_message(&files.context, see, |line| {
            json::record::<ContextRecord<'_>>(line).map(|record| record.messages())
        })
    }
}

impl Resuming for Kimi {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let id = &copy.place.id;
        if id.starts_with('-') || id.chars().any(char::is_control) {
            return Err("its id could be taken for an option".into());
        }
        if let Some(kaos) = copy.place.project.as_deref().and_then(remote_kaos) {
            return Err(format!("it ran on another machine, which Kimi CLI reached by {kaos}").into());
        }
        let words: &[&str] = if prompt.is_some() { &["kimi", "--print", "--session"] } else { &["kimi", "--session"] };
        Ok(Command::new(&[words, &[id.as_str()]].concat(), super::as_prompt_option(prompt)))
    }

    fn warning(&self, copy: &SessionCopy, env: &Env) -> Option<String> {
        imports_in_words(copy, env)
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        if env.find_program("kimi") == Program::Missing {
            return Ok(None);
        }
        // The behaviour of Kimi CLI 1.52 is known from its code.
        let (why, install) = match Package::of("kimi", env) {
            Some(package) if package.is(SUCCESSOR.0, SUCCESSOR.1) => {
                let why = format!(
                    "`kimi` is Kimi Code {}, which continues sessions of Kimi CLI only after it has imported them",
                    package.version
                );
                (why, String::new())
            }
            Some(package) if package.is(PACKAGE.0, PACKAGE.1) => match package.is_at_least(1, 52) {
                Some(false) => return Ok(None),
                Some(true) => {
                    let version = package.version;
                    let why =
                        format!("Kimi CLI {version} only says that it is no longer maintained, and ends with status 0");
                    (why, format!("install Kimi Code with `npm install --global {}`, then ", SUCCESSOR.1))
                }
                None => return Ok(Some(unsure())),
            },
            _ => return Ok(Some(unsure())),
        };
        let hint = match &*kimicode::imports_of(&copy.place, env) {
            [] => {
                let mut set = copy.place.store.set.clone();
                if env.foreign_home {
                    set.insert("HOME", env.home.clone().into_os_string());
                }
                let import = ["kimi", "migrate", "--run"].map(str::to_owned);
                let import = shell::command(&[], &set, &import).unwrap_or_default();
                format!("{install}import it with `{import}`; `rejoin list --agent kimicode` shows it after that")
            }
            [import, ..] => format!("{install}resume the imported session with `{}`", resume_import(import)),
        };
        Err(Unable::from(why).hint(hint))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let project = copy.place.project.as_deref().unwrap_or_default();
        let dir = reach::canonicalize(dir).map_err(|error| crate::error::reason(&error))?;
        if hash(dir.as_os_str().as_encoded_bytes()) != project {
            return Err(format!("Kimi CLI would start a new session of the same id in {}", dir.display()).into());
        }
        let files = Files::of(&copy.place);
        if !is_file(&files.context) {
            return Err("its context.jsonl is gone, so Kimi CLI would start a new session of the same id".into());
        }
        let dirs = listed_dirs(&copy.place.store.root).map_err(|problem| {
            format!("{} cannot be used ({}), so Kimi CLI may not find it", problem.path.display(), problem.reason)
        })?;
        if !dirs.iter().any(|listed| listed.kaos == "local" && Path::new(&listed.path) == dir) {
            return Err(format!(
                "kimi.json does not list {}, so Kimi CLI would empty the session and begin anew; start and leave `kimi` \
                 there once, which lists it",
                dir.display()
            )
            .into());
        }
        Ok(())
    }
}

impl Moving for Kimi {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        relocation::relocation(moving.store, moving.moves)
    }

    fn retitle(&self, copy: &SessionCopy, title: &str) -> Result<(PathBuf, Edit), Unable> {
        reader::retitle(&copy.place, title)
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> bool {
        let is_project = |dir: &Path| hash(dir.as_os_str().as_encoded_bytes()) == project;
        // Kimi resolves links first. Only a path that exists can be resolved.
        names::is_either(dir, is_project)
    }

    fn decide_launch_dir(&self, copy: &mut SessionCopy) {
        // In a directory that does not hash to the project, Kimi would start a new session.
        evidence::decide(copy, |_| false);
        if copy.last_dir.is_none() {
            copy.last_dir = copy.start_dir.clone();
        }
    }
}

impl Housekeeping for Kimi {
    fn belongings(&self, place: &Located) -> Result<Belongings, Unable> {
        let mut own = vec![place.path.to_path_buf()];
        own.extend(Files::of(place).legacy.filter(|legacy| **legacy != *place.path));
        own.retain(|path| **path == *place.path || is_there(path));
        Ok(Belongings { own, shared: Vec::new() })
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // Kimi empties a session whose directory is not in this list.
        Some(place.store.root.join("kimi.json")).into_iter().filter(|path| is_there(path)).collect()
    }
}

/// Describes the sessions that Kimi Code imported from a copy, which are independent of it.
fn imports_in_words(copy: &SessionCopy, env: &Env) -> Option<String> {
    let imports = kimicode::imports_of(&copy.place, env);
    let first = imports.first()?;
    Some(format!("Kimi Code has imported it as {}; `{}` continues that one", first.id, resume_import(first)))
}

fn resume_import(import: &Located) -> String {
    format!("rejoin resume {}", shell::word(&format!("{}:{}", AgentKind::KimiCode, import.id)))
}

/// Returns the explanation that the files of the installed program do not show its package.
fn unsure() -> String {
    "`kimi` may be Kimi Code, or Kimi CLI 1.52 or later, which cannot resume it; its files do not say which program it is".to_owned()
}

fn place(store: &Arc<Store>, project: &Arc<str>, id: &str, path: PathBuf) -> Located {
    Located { project: Some(Arc::clone(project)), ..Located::new(store, id, path) }
}

/// Returns the project name of a directory: the MD5 of its path.
fn hash(path: &[u8]) -> String {
    text::hex(&Md5::digest(path))
}

/// Returns the access method of a project on another machine: `<method>_<md5>`; `None` for this machine.
fn remote_kaos(project: &str) -> Option<&str> {
    let (kaos, hash) = project.rsplit_once('_')?;
    (hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(kaos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_after_the_hash_of_its_directory() {
        // The first value is from RFC 1321.
        assert_eq!(hash(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert!(Kimi.is_filed_under("aef0df73f1925593c2dc381597cb291d", Path::new("/home/ana/desk/shop-wt")));
        assert!(!Kimi.is_filed_under("aef0df73f1925593c2dc381597cb291d", Path::new("/home/ana/desk/shop")));
        assert_eq!(remote_kaos("ssh_aef0df73f1925593c2dc381597cb291d"), Some("ssh"));
        assert_eq!(remote_kaos("aef0df73f1925593c2dc381597cb291d"), None);
    }
}
