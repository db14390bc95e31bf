//! What the replies of a transcript took. A reply lies in several records, each with the numbers so far (2.1.330).

use std::collections::HashMap;

use memchr::memmem;
use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::each_line_with;
use crate::session::Located;
use crate::session::usage::Tokens;

/// What a record with numbers contains.
const MARK: &[u8] = b"\"usage\"";

#[derive(Deserialize)]
struct Record {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// The tokens of each reply, by the id of its message.
#[derive(Default)]
pub(super) struct Usages(HashMap<String, Tokens>);

impl Usages {
    /// Takes a line; later numbers of the same reply replace earlier ones.
    pub(super) fn see(&mut self, line: &[u8]) {
        if memmem::find(line, MARK).is_none() {
            return;
        }
        let Ok(Record { message: Message { id, usage } }) = serde_json::from_slice(line) else { return };
        let Usage { input_tokens, output_tokens, cache_creation_input_tokens: made, cache_read_input_tokens: cached } =
            usage;
        let input = input_tokens.saturating_add(made).saturating_add(cached);
        self.0.insert(id, Tokens { input, cached, output: output_tokens });
    }

    /// Adds up all replies; `None` if there is none.
    pub(super) fn sum(self) -> Option<Tokens> {
        Tokens::sum(self.0.into_values())
    }
}

pub(super) fn tokens(place: &Located) -> Result<Option<Tokens>, PathError> {
    let mut usages = Usages::default();
    each_line_with(&place.path, MARK, &mut |line| usages.see(line))?;
    Ok(usages.sum())
}
