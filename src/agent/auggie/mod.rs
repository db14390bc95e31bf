//! Auggie: `~/.augment/sessions/<id>.json`, one document a session, and backups of it beside it.
//!
//! Facts: read in the package of 0.36.0; nothing of it was tried.

pub(super) mod about;
mod records;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command::as_option;
use super::{Agent, Beginnings, Command, FindBelongings, Found, Listings, ReadContext};
use crate::agent::pi::records::is_session_id;
use crate::error::PathError;
use crate::format::content::is_beginning_of;
use crate::format::document::Field;
use crate::format::json::Text;
use crate::format::jsonl::Jsonl;
use crate::session::{AgentKind, Belongings, Comparison, Copy, Fact, Located, Message, SessionKind, Store};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::links;
use records::{DOCUMENT, Names, member_of_names, workspace};

/// Where in the file the first workspace is looked for.
const MAX_HEAD: u64 = 1024 * 1024;
/// How much of the end is read for what stands behind the conversation.
const TAIL: usize = 64 * 1024;
const BACKUP: &str = "-backup";

/// The agent.
pub(super) struct Auggie;

impl Agent for Auggie {
    fn stores(&self, env: &Env) -> Vec<Store> {
        vec![Store::usual(AgentKind::Auggie, env.home.join(".augment"))]
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("sessions")) {
            let name = entry.file_name();
            if let Some(id) = name.to_str().and_then(id_of_file).filter(|_| kind.is_file()) {
                found.places.push(Located::new(store, id, entry.path()));
            }
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        let name = format!("{id}.json");
        let path = store.root.join("sessions").join(&name);
        let is_one = id_of_file(&name).is_some() && links::is_file(&path);
        Found { places: is_one.then(|| Located::new(store, id, path)).into_iter().collect(), ..Found::default() }
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let sum = DOCUMENT.glance(&place.path)?;
        let mut copy = Copy::new(place);
        copy.size_bytes = sum.bytes;
        sum.fill(&mut copy);
        let behind = if sum.is_whole { String::new() } else { members_behind(&copy.place.path)? };
        let behind: Names<'_> = serde_json::from_str(&behind).unwrap_or_default();
        let text = |key: &str, behind: &Text<'_>| {
            sum.text(key).filled().map(str::to_owned).or_else(|| behind.filled().map(str::to_owned))
        };
        let title = text("customTitle", &behind.custom_title).or_else(|| text("title", &behind.title));
        let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
        copy.title = title.filter(|title| !is_beginning_of(title, prompt)).map(|title| Fact::new(title, "session"));
        copy.parent_id = text("parentConversationId", &behind.parent_conversation_id);
        if copy.parent_id.is_some() && copy.kind == SessionKind::Main {
            copy.kind = SessionKind::Subagent;
        }
        copy.created_at = sum.text("created").instant().map(|at| Fact::new(at, "session"));
        let modified = sum.text("modified").instant();
        copy.active_at = modified.map(|at| Fact::new(at, "session"));
        copy.set_active_by_file(sum.modified);
        let why = |age| format!("it was written {age} ago, and Auggie keeps no lock");
        copy.judge_by_age(modified.max(sum.modified), context.env.clock.now, why);
        let dir = first_workspace(&copy.place.path)?;
        copy.set_dir(dir.as_deref().and_then(Path::to_str), "the workspace of its first message");
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        DOCUMENT.whole(&copy.place.path)?.fill_counts(copy);
        Ok(())
    }

    fn transcript(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    fn compare(&self, a: &Copy, b: &Copy) -> Option<Comparison> {
        DOCUMENT.compare(&a.place.path, &b.place.path)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.to_path_buf()]
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        Ok(belongings(place, &Beginnings::of(&place.store.root.join("sessions"))))
    }

    fn belongings_in(&self, _roots: &BTreeSet<&Path>) -> FindBelongings<'_> {
        let listings = Listings::default();
        Box::new(move |place| Ok(belongings(place, &listings.of(&place.store.root.join("sessions")))))
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        DOCUMENT.messages(&copy.place.path, see)
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        let argv = ["auggie", "--resume", &copy.place.id].map(str::to_owned).to_vec();
        // `--print` takes no value; the text is that of another option.
        let mut last = as_option(prompt, "-i", "--instruction");
        last.splice(..0, prompt.map(|_| "--print".to_owned()));
        Ok(Command { argv, last, unset: Vec::new(), then_type: None })
    }
}

/// Returns the id that a file is named after; a backup is part of the session that it was made of.
fn id_of_file(name: &str) -> Option<&str> {
    name.strip_suffix(".json").filter(|id| is_session_id(id) && backup_of(id).is_none())
}

/// Returns whose backup a file of this name is.
fn backup_of(name: &str) -> Option<&str> {
    let (id, number) = name.rsplit_once(BACKUP)?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

fn belongings(place: &Located, listed: &Beginnings) -> Belongings {
    let is_backup = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
        name.and_then(backup_of) == Some(place.id.as_str())
    };
    let backups = listed.with(&format!("{}{BACKUP}", place.id)).filter(is_backup);
    Belongings { own: std::iter::once(place.path.to_path_buf()).chain(backups).collect(), shared: Vec::new() }
}

/// Returns the workspace that its own list files a session under: the first that a message names.
fn first_workspace(path: &Path) -> Result<Option<Arc<Path>>, PathError> {
    let (file, _) = fsio::open_regular(path)?;
    let mut first = None;
    DOCUMENT.shape.each(file.take(MAX_HEAD), &mut |field| {
        if let Field::Message(raw) = field {
            first = workspace(raw);
        }
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok(first)
}

/// Returns the members that stand behind the conversation of a large document, as one object.
fn members_behind(path: &Path) -> Result<String, PathError> {
    let (mut members, mut bytes) = (Vec::new(), 0);
    Jsonl::open(path)?.with_tail(TAIL).lines_backward(|line, _| {
        bytes += line.len();
        members.extend(member_of_names(line).map(str::to_owned));
        bytes >= TAIL
    })?;
    Ok(format!("{{{}}}", members.join(",")))
}
