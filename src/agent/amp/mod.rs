//! Amp: `threads/T-<uuid>.json`, the threads that its clients wrote before it kept them on its server.
//!
//! Facts: read in kenn-io/agentsview 53860074 internal/parser/amp.go and amp_test.go, and in
//! Dicklesworthstone/cross_agent_session_resumer eb1e4a73 src/providers/amp.rs; never measured.

mod records;

pub(super) mod about;

use super::document::{Documents, Sum, set_title};
use super::ids::is_uuid;
use crate::agent::prelude::*;
use crate::format::json::epoch;
use records::DOCUMENT;

/// Implements [`Agent`](super::Agent) for Amp.
pub(super) struct Amp;

impl Reading for Amp {
    fn engine(&self) -> &'static dyn Engine {
        &Documents { dir: Some("threads"), is_id: is_thread, document: DOCUMENT, fill }
    }
}

impl Resuming for Amp {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_prompt(prompt, "it is not known how Amp answers one prompt in a thread; resume it without --prompt")?;
        Ok(Command::new(&["amp", "threads", "continue", &copy.place.id], Vec::new()))
    }

    fn warning(&self, _copy: &SessionCopy, _env: &Env) -> Option<String> {
        Some("Amp continues the thread of this id on its server, which may have more messages, or be gone".to_owned())
    }
}

impl Moving for Amp {}

impl Housekeeping for Amp {}

fn is_thread(name: &str) -> bool {
    name.strip_prefix("T-").is_some_and(is_uuid)
}

fn fill(copy: &mut SessionCopy, sum: &Sum, _context: &ReadContext<'_>) -> Result<(), PathError> {
    if let Some(id) = sum.text("id").filled().filter(|id| *id != copy.place.id) {
        copy.notes.push(format!("its file says that its id is {id}"));
    }
    set_title(copy, sum.text("title").filled());
    copy.created_at = epoch(sum.member("created"), 1000).map(|at| Fact::new(at, "session"));
    copy.active_at = sum.newest.filter(|_| sum.is_whole).map(|at| Fact::new(at, "transcript"));
    copy.set_dir(records::directory(sum.member("env")).as_deref(), "env of its file");
    Ok(())
}
