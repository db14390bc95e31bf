//! OpenHands: `~/.openhands/conversations/<id>/` with `base_state.json` and `events/`, one event per file; sub-agents
//! in `subagents/` there.
//!
//! OpenHands accepts an unknown id: it starts a new conversation with that id. Facts: measured on 1.16.0 with SDK
//! 1.21.0; sub-agents by its code.

mod gaps;
mod reader;
mod records;

pub(super) mod about;

use std::ffi::OsString;

use crate::agent::Depth;
use crate::agent::command::as_option;
use crate::agent::prelude::*;
use crate::format::compare::compare_lists;
use crate::session::Comparison;
use crate::session::branches::BranchFilter;
use records::is_id;

/// The variable that replaces the current directory.
const WORK_DIR: &str = "OPENHANDS_WORK_DIR";

/// Implements [`Agent`](super::Agent) for OpenHands.
pub(super) struct OpenHands;

impl Reading for OpenHands {
    fn engine(&self) -> &'static dyn Engine {
        &Self
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        let cost = reader::state(&copy.place.path, |state| state.cost())?.flatten();
        Ok(Usage::from_cost(cost))
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        // A directory that cannot be listed is reported when the session is read.
        reader::events(&place.path).unwrap_or_default()
    }
}

impl Engine for OpenHands {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        match only {
            Some(_) => found.add_folders(store, &store.root, None, only, &is_id),
            None => add_below(&mut found, store, &store.root, None),
        }
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        copy.size_bytes = context.tree_size(Some(&copy.place.path));
        let events = reader::read(&mut copy, &context.env.clock)?;
        gaps::note(&mut copy, &events, context.depth == Depth::Thorough || context.inspects());
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        reader::observe(copy, observers)
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        reader::messages(&copy.place.path, see)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![reader::state_of(&place.path)]
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        // An event's file has a unique name and never changes; a truncated one has another length.
        let files = |copy: &SessionCopy| -> Option<Vec<(OsString, u64)>> {
            let events = reader::events(&copy.place.path).ok()?;
            events.iter().map(|path| Some((path.file_name()?.to_owned(), links::metadata(path).ok()?.len()))).collect()
        };
        Some(compare_lists(&files(a)?, &files(b)?))
    }
}

impl Resuming for OpenHands {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        let words: &[&str] = if prompt.is_some() { &["openhands", "--headless"] } else { &["openhands"] };
        let command = Command::new(&[words, &["--resume", &copy.place.id]].concat(), as_option(prompt, "-t", "--task"));
        Ok(Command { unset: vec![WORK_DIR], ..command })
    }

    fn check_start(&self, copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        let id = &copy.place.id;
        match reader::state(&copy.place.path, |state| state.id.get().map(|id| id.replace('-', ""))) {
            Ok(None) => Err("its base_state.json is gone, so OpenHands may begin a new conversation of its id".into()),
            Ok(Some(Some(inside))) if inside != *id => {
                Err(format!("its base_state.json is that of {inside}, so OpenHands would end at once").into())
            }
            Ok(Some(_)) => gaps::check(&copy.place.path),
            Err(error) => Err(format!("its base_state.json cannot be used: {}", error.reason()).into()),
        }
    }

    fn mend(&self, copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        gaps::closed(&copy.place.path)
    }
}

impl Moving for OpenHands {}

impl Housekeeping for OpenHands {}

/// Adds the conversations in a directory, each with those of its sub-agents.
fn add_below(found: &mut Found, store: &Arc<Store>, dir: &Path, parent: Option<&str>) {
    for (entry, kind) in found.entries(dir) {
        let name = entry.file_name();
        let Some(id) = name.to_str().filter(|name| kind.is_dir() && is_id(name)) else { continue };
        let path = entry.path();
        add_below(found, store, &path.join("subagents"), Some(id));
        found.places.push(Located {
            parent_id: parent.map(str::to_owned),
            is_subagent: parent.is_some(),
            ..Located::new(store, id, path)
        });
    }
}
