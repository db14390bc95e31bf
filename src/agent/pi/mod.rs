//! Pi: `<agent dir>/sessions/<project>/<time>_<id>.jsonl`, a header and a tree of records.
//!
//! Facts: measured on 0.87.1; the variables and settings from earendil-works/pi 005aeb97.

pub(super) mod records;

pub(super) mod about;
mod ends;
mod relocation;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ends::{Ends, TAIL};

use super::{Agent, Command, Found, ReadContext, as_last_argument};
use crate::agent::relocation::{DirMove, Relocation};
use crate::agent::upkeep::{self, Link};
use crate::error::PathError;
use crate::format::json::text_in;
use crate::format::jsonl::{Jsonl, each_line};
use crate::session::evidence;
use crate::session::mapping::Mapping;
use crate::session::{AgentKind, Belongings, Copy, Fact, Health, Located, Message, SessionKind, Store};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::names;
use records::{Branch, Record, id_of_file, is_session_id, is_slug_of};

/// The variable of a directory that holds sessions without projects.
const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
const MAX_SETTINGS: u64 = 1024 * 1024;

/// The agent.
pub(super) struct Pi;

impl Agent for Pi {
    fn stores(&self, env: &Env) -> Vec<Store> {
        let absolute = |name| env.agent_variable(name).map(|dir| env.absolute(Path::new(dir)));
        let default = env.home.join(".pi/agent");
        let chosen = absolute(AGENT_DIR).filter(|dir| *dir != default);
        let flat = absolute(SESSION_DIR).or_else(|| session_dir_setting(chosen.as_ref().unwrap_or(&default), env));
        let is_default = flat.is_none();
        let flat = flat.map(|dir| Store::named(AgentKind::Pi, &dir, SESSION_DIR, &dir));
        let usual = Store {
            is_default: is_default && chosen.is_none(),
            unset: vec![AGENT_DIR, SESSION_DIR],
            ..Store::usual(AgentKind::Pi, default.join("sessions"))
        };
        let chosen = chosen.map(|dir| Store {
            is_default,
            unset: vec![SESSION_DIR],
            ..Store::named(AgentKind::Pi, dir.join("sessions"), AGENT_DIR, &dir)
        });
        flat.into_iter().chain(chosen).chain([usual]).collect()
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        walk(store, |_| true)
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        if is_session_id(id) { walk(store, |other| other == id) } else { Found::default() }
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut file = Jsonl::open(&place.path)?.with_tail(TAIL);
        let mut copy = Copy::new(place);
        (copy.size_bytes, copy.transcript_bytes) = (file.len(), file.len());
        copy.active_at = file.modified().map(|at| Fact::new(at, "mtime"));

        let mut ends = Ends::default();
        ends.is_whole = file.lines_forward(|line| ends.see_from_start(line))?;
        file.lines_backward(|line, is_ended| ends.see_from_end(line, is_ended))?;
        ends.fill(&mut copy, context.env.now);
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let branch = Branch::read(&copy.place.path)?;
        let (mut prompts, mut replies, mut elsewhere) = (0_u64, 0_u64, 0_u64);
        let (mut at, mut has_bad_lines, mut name) = (0, false, None);
        each_line(&copy.place.path, &mut |line| {
            match line.and_then(Record::parse) {
                Some(record) => {
                    let (is_prompt, is_reply) = (record.prompt().is_some(), record.is_reply());
                    if branch.has(at) {
                        prompts += u64::from(is_prompt);
                        replies += u64::from(is_reply);
                    } else {
                        elsewhere += u64::from(is_prompt || is_reply);
                    }
                    name = record.session_name().map(str::to_owned).or(name.take());
                }
                None => has_bad_lines = true,
            }
            at += 1;
            ControlFlow::Continue(())
        })?;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        if elsewhere > 0 {
            copy.notes.push(format!("{elsewhere} more messages are on other branches; use /tree in Pi to go there"));
        }
        copy.note_bad_lines(has_bad_lines);
        // What lies between the two windows of a glance may name the session.
        if let Some(name) = name {
            copy.title = Some(name).filter(|name| !name.is_empty()).map(|name| Fact::new(name, "session_info"));
        }
        if copy.kind != SessionKind::Fork {
            let is_empty = prompts + replies + elsewhere == 0;
            copy.kind = if is_empty { SessionKind::Empty } else { SessionKind::Main };
        }
        Ok(())
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        Ok(Belongings { own: vec![place.path.to_path_buf()], shared: Vec::new() })
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        let branch = Branch::read(&copy.place.path)?;
        let mut at = 0;
        each_line(&copy.place.path, &mut |line| {
            let is_shown = branch.has(at);
            at += 1;
            let record = line.filter(|_| is_shown).and_then(Record::parse);
            record.into_iter().flat_map(|record| record.messages()).try_for_each(&mut *see)
        })
    }

    fn relocation<'a>(
        &'a self,
        store: &'a Store,
        _moves: &'a [DirMove],
        _mapping: &'a Mapping,
        _env: &'a Env,
    ) -> Result<Relocation<'a>, String> {
        Ok(relocation::relocation(store))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> bool {
        let encodes = |dir: &Path| dir.to_str().is_some_and(|dir| is_slug_of(project, dir));
        // It names the directory as the system does. Only a path that exists can be asked for.
        encodes(dir) || names::on_disk(dir).is_some_and(|dir| encodes(&dir))
    }

    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |_| true);
        copy.health.remove(&Health::MisfiledSession);
        copy.mark_if(copy.launch_dir.is_some() && !copy.is_filed_right, Health::MisfiledSession);
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        if copy.health.contains(&Health::InvalidContent) {
            return Err(copy.notes.first().cloned().unwrap_or_default());
        }
        // A beginning of an id may be another session's: ids start with the time, and Pi takes the first that fits.
        if !is_session_id(&copy.place.id) {
            return Err("its id could be taken for an option".to_owned());
        }
        let mut last = Vec::new();
        if let Some(prompt) = prompt {
            last.push("-p".to_owned());
            // A word that begins with `@` would be the name of a file to attach.
            let prompt = if prompt.starts_with('@') { format!(" {prompt}") } else { prompt.to_owned() };
            last.extend(as_last_argument(Some(&prompt)));
        }
        let argv = ["pi", "--session", &copy.place.id].map(str::to_owned).to_vec();
        Ok(Command { argv, last, unset: Vec::new(), then_type: None })
    }

    fn link<'l>(&self, line: &'l [u8]) -> Option<Link<'l>> {
        upkeep::node(line)
    }

    fn asks_elsewhere(&self) -> bool {
        true
    }
}

/// Returns the directory for all sessions that Pi's settings name.
fn session_dir_setting(agent_dir: &Path, env: &Env) -> Option<PathBuf> {
    let bytes = fsio::read_if_present(&agent_dir.join("settings.json"), MAX_SETTINGS).ok()??;
    let dir = text_in(serde_json::from_slice(&bytes).ok()?, "sessionDir");
    // A relative one is another directory in each project.
    dir.filled().map(|dir| env.expand(Path::new(dir))).filter(|dir| dir.is_absolute())
}

/// Finds the files of sessions whose id is wanted: in projects, or in a directory that has none.
fn walk(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    let look = |dir: &Path, project: Option<&Arc<str>>, found: &mut Found| {
        for (entry, kind) in found.entries(dir) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Some(id) = id_of_file(&name).filter(|id| is_wanted(id)) else { continue };
            if !kind.is_file() {
                found.problem(&entry.path(), "it is not a regular file");
                continue;
            }
            found.places.push(Located { project: project.cloned(), ..Located::new(store, id, entry.path()) });
        }
    };
    if store.set.contains_key(SESSION_DIR) {
        let mut found = Found::default();
        look(&store.root, None, &mut found);
        return found;
    }
    Found::in_projects(&store.root, |dir, project, found| look(dir, Some(project), found))
}
