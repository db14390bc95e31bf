//! What the settings and the two ends of `conversation.jsonl` tell.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::agent::gptme::records::{Config, Record, parent};
use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line, each_message};
use crate::session::recorded;
use crate::session::{Copy, Evidence, Fact, Health, Message, SessionKind};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::reach;

/// A few settings.
pub(super) const MAX_CONFIG: u64 = 1024 * 1024;
/// The longest path that a system takes.
const MAX_LINK: u64 = 4096;
/// Holds the prompt that a sub-agent was given.
const MAX_META: u64 = 16 * 1024 * 1024;

/// Returns the file of a conversation.
pub(super) fn conversation(dir: &Path) -> PathBuf {
    dir.join("conversation.jsonl")
}

/// Returns the file of its settings.
pub(super) fn settings(dir: &Path) -> PathBuf {
    dir.join("config.toml")
}

/// Reads everything that a list shows.
pub(super) fn read(copy: &mut Copy, env: &Env) -> Result<(), PathError> {
    read_config(copy, env);
    read_ends(copy, &env.clock.zone)?;
    let dirs = [(&copy.last_dir, "config.toml"), (&copy.start_dir, "conversation.jsonl")];
    let evidence = dirs.map(|(dir, file)| {
        let detail = file.into();
        dir.as_ref().map(|dir| Evidence { dir: dir.value.clone(), source: dir.source, detail, counts: true })
    });
    copy.evidence.extend(evidence.into_iter().flatten());
    copy.last_dir = copy.last_dir.take().or_else(|| copy.start_dir.clone());
    // Only a sub-agent's directory has the file.
    if copy.place.id.starts_with("subagent-")
        && let Ok(Some(meta)) = fsio::read_if_present(&copy.place.path.join("subagent-meta.json"), MAX_META)
    {
        copy.kind = SessionKind::Subagent;
        copy.parent_id = parent(&meta);
    }
    Ok(())
}

/// A fork has no settings before it is resumed for the first time.
fn read_config(copy: &mut Copy, env: &Env) {
    let bytes = match fsio::read_if_present(&settings(&copy.place.path), MAX_CONFIG) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return,
        Err(error) => {
            copy.notes.push(format!("its config.toml cannot be read: {}", error.reason()));
            return;
        }
    };
    let config = Config::parse(&String::from_utf8_lossy(&bytes));
    copy.last_dir = config.workspace.and_then(|dir| workspace(&dir, &copy.place.path, env));
    copy.title = config.name.map(|name| Fact::new(name, "config"));
    copy.model = config.model.map(|model| Fact::new(model, "config"));
    if config.is_interactive == Some(false) {
        copy.kind = SessionKind::Exec;
    }
}

/// Returns the directory that the settings mean. gptme writes `~` for the home, which in a copy of it is another one; the
/// link beside the settings then tells what it was.
fn workspace(written: &Path, dir: &Path, env: &Env) -> Option<Fact<Arc<Path>>> {
    let here = Some(env.expand(written)).filter(|dir| recorded::is_absolute(dir))?;
    let below = written.strip_prefix("~").ok().filter(|_| reach::is_dir(&here) == Some(false));
    let there = below.and_then(|below| link(&dir.join("workspace")).filter(|target| target.ends_with(below)));
    Some(there.map_or_else(|| Fact::new(here, "config"), |there| Fact::new(there, "workspace")))
}

/// Returns where a link leads. A copy that keeps no links, as git makes one, has a file with that in it.
fn link(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok().or_else(|| {
        let bytes = fsio::read_if_present(path, MAX_LINK).ok().flatten()?;
        Some(PathBuf::from(OsString::from_vec(bytes)))
    });
    target.filter(|target| target.is_absolute())
}

fn read_ends(copy: &mut Copy, zone: &TimeZone) -> Result<(), PathError> {
    let mut file = Jsonl::open(&conversation(&copy.place.path))?;
    copy.transcript_bytes = file.len();
    let modified = file.modified();
    let (mut created, mut dir, mut prompt, mut has_reply) = (None, None, None, false);
    let is_whole = file.lines_forward(|line| {
        let Some(record) = Record::parse(line) else { return false };
        // What the program begins with is written after the first prompt was typed.
        created = created.into_iter().chain(record.at(zone)).min();
        dir = dir.take().or_else(|| record.dir());
        prompt = record.prompt().map(str::to_owned);
        has_reply |= record.is_reply();
        prompt.is_some()
    })?;
    let (mut newest, mut is_torn) = (None, false);
    file.lines_backward(|line, is_ended| {
        let record = Record::parse(line);
        is_torn |= !is_ended && record.is_none();
        newest = record.and_then(|record| record.at(zone));
        newest.is_some()
    })?;
    copy.start_dir = dir.map(|dir| Fact::new(dir, "system-prompt"));
    copy.created_at = created.map(|at| Fact::new(at, "conversation"));
    copy.active_at = newest.map(|at| Fact::new(at, "conversation"));
    copy.set_active_by_file(modified);
    copy.mark_if(is_torn, Health::TornTranscript);
    if is_whole && prompt.is_none() && !has_reply {
        copy.health.insert(Health::EmptySession);
        copy.kind = SessionKind::Empty;
    }
    copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "conversation"));
    Ok(())
}

/// Counts prompts and replies, and notes lines that cannot be read.
pub(super) fn count(copy: &mut Copy) -> Result<(), PathError> {
    let (mut prompts, mut replies, mut has_bad_lines) = (0, 0, false);
    each_line(&conversation(&copy.place.path), &mut |line| {
        match line.and_then(Record::parse) {
            Some(record) => {
                prompts += u64::from(record.prompt().is_some());
                replies += u64::from(record.is_reply());
            }
            None => has_bad_lines = true,
        }
        ControlFlow::Continue(())
    })?;
    (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
    copy.note_bad_lines(has_bad_lines);
    Ok(())
}

/// Shows every message of a conversation.
pub(super) fn messages(dir: &Path, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
    each_message(&conversation(dir), see, |line| Record::parse(line).map(|record| record.message()))
}
