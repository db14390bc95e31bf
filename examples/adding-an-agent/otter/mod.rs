//! Otter, an invented agent: `~/.otter/sessions/<id>.jsonl`, a header and then one message per line.

pub(super) mod about;

use super::as_prompt_option;
use super::lines::{self, Lines, Log};
use crate::agent::prelude::*;
use crate::format::json::record;
use crate::session::{Role, SessionCopy};

pub(super) struct Otter;

impl Reading for Otter {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }
}

impl Resuming for Otter {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(Command::new(&["otter", "--resume", &copy.place.id], as_prompt_option(prompt)))
    }
}

impl Moving for Otter {}
impl Housekeeping for Otter {}

impl Log for Otter {
    type Record<'a> = Record<'a>;
    type Facts = ();

    const DIR: &'static str = "sessions";

    fn parse(line: &[u8]) -> Option<Record<'_>> {
        record(line)
    }

    fn see_from_start(record: &Record<'_>, _number: usize, copy: &mut SessionCopy, (): &mut ()) {
        copy.set_dir(record.dir.get(), "dir of the first line");
    }
}

/// A line: the header, which has a directory, or a message.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct Record<'a> {
    dir: Text<'a>,
    role: Text<'a>,
    text: Text<'a>,
    at: Text<'a>,
}

impl lines::Record for Record<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.at.instant()
    }

    fn turn(&self) -> Option<Turn> {
        let role = if self.role.get()? == "user" { Role::User } else { Role::Assistant };
        let mut turn = Turn::new(role, self.at.instant());
        turn.add_text(self.text.get()?);
        Some(turn)
    }
}
