//! Otter: `~/.otter/sessions/<id>.jsonl`, a header and one message a line.
//!
//! Facts: invented. An agent that exists names the version that was measured, or its source at a commit.

pub(super) mod about;
mod records;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Agent, Command, Found, ReadContext, as_prompt_option};
use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line};
use crate::session::{
    AgentKind, Belongings, Copy, Evidence, Fact, Health, Located, Message, Role, SessionKind, Store,
};
use crate::system::env::Env;
use records::{Header, Record};

/// The agent.
pub(super) struct Otter;

impl Agent for Otter {
    fn stores(&self, env: &Env) -> Vec<Store> {
        vec![Store::usual(AgentKind::Otter, env.home.join(".otter"))]
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("sessions")) {
            let name = entry.file_name().into_string().unwrap_or_default();
            let Some(id) = name.strip_suffix(".jsonl").filter(|_| kind.is_file()) else { continue };
            found.places.push(Located::new(store, id, entry.path()));
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        let mut found = self.locate(store);
        found.places.retain(|place| place.id == id);
        found
    }

    fn read(&self, place: Located, _context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut file = Jsonl::open(&place.path)?;
        let mut copy = Copy::new(place);
        (copy.size_bytes, copy.transcript_bytes) = (file.len(), file.len());
        let mut is_first = true;
        file.lines_forward(|line| {
            if std::mem::take(&mut is_first) {
                let Ok(header) = serde_json::from_slice::<Header<'_>>(line) else {
                    copy.health.insert(Health::InvalidContent);
                    return true;
                };
                if let Some(dir) = header.dir.filled().map(PathBuf::from).filter(|dir| dir.is_absolute()) {
                    let detail = "its first line".into();
                    copy.evidence.push(Evidence { dir, source: "header", detail, counts: true });
                }
                copy.created_at = header.started.instant().map(|at| Fact::new(at, "header"));
                return false;
            }
            let message = serde_json::from_slice::<Record<'_>>(line).ok().and_then(|record| record.message());
            let prompt = message.filter(|message| message.role == Role::User);
            copy.first_prompt = prompt.map(|prompt| Fact::new(prompt.text, "transcript"));
            copy.first_prompt.is_some()
        })?;
        file.lines_backward(|line, is_ended| {
            match serde_json::from_slice::<Record<'_>>(line) {
                Ok(record) => copy.active_at = record.at.instant().map(|at| Fact::new(at, "transcript")),
                Err(_) if !is_ended => drop(copy.health.insert(Health::TornTranscript)),
                Err(_) => {}
            }
            copy.active_at.is_some()
        })?;
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut replies) = (0, 0);
        self.messages(copy, &mut |message| {
            prompts += u64::from(message.role == Role::User);
            replies += u64::from(message.role == Role::Assistant);
            ControlFlow::Continue(())
        })?;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        if prompts + replies == 0 {
            copy.kind = SessionKind::Empty;
        }
        Ok(())
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        Ok(Belongings { own: vec![place.path.to_path_buf()], shared: Vec::new() })
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        each_line(&copy.place.path, &mut |line| {
            let record = line.and_then(|line| serde_json::from_slice::<Record<'_>>(line).ok());
            record.and_then(|record| record.message()).map_or(ControlFlow::Continue(()), &mut *see)
        })
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        if copy.place.id.starts_with('-') {
            return Err("its id could be taken for an option".to_owned());
        }
        let argv = ["otter", "--resume", &copy.place.id].map(str::to_owned).to_vec();
        Ok(Command { argv, last: as_prompt_option(prompt), unset: Vec::new(), then_type: None })
    }
}
