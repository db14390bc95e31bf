//! The older directories: `meta.json` and `messages.jsonl`, with one message per line and no times.

use super::{complete, read_meta};
use crate::agent::lines::{Ends, Log};
use crate::agent::prelude::*;
use crate::agent::vibe::records::OldMessage;
use crate::format::json::record;

/// The log of the messages. Vibe hides a session with an unreadable line.
pub(super) struct OldVibeLog;

impl Log for OldVibeLog {
    type Record<'a> = OldMessage<'a>;
    type Facts = ();

    const FILE: Option<&'static str> = Some("messages.jsonl");
    const SOURCE: &'static str = "messages";
    const TAIL: usize = 0;

    fn parse(line: &[u8]) -> Option<OldMessage<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        read_meta(copy, context.env);
        complete(copy, context);
        Ok(())
    }
}
