//! What the replies of a transcript took. A reply lies in several records, each with the numbers so far (2.1.330).

use std::collections::HashMap;

use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::each_line_with;
use crate::session::Located;
use crate::session::usage::Tokens;

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

pub(super) fn tokens(place: &Located) -> Result<Option<Tokens>, PathError> {
    let mut replies: HashMap<String, Tokens> = HashMap::new();
    each_line_with(&place.path, b"\"usage\"", &mut |line| {
        let Ok(Record { message: Message { id, usage } }) = serde_json::from_slice(line) else { return };
        let Usage { input_tokens, output_tokens, cache_creation_input_tokens: made, cache_read_input_tokens: cached } =
            usage;
        let input = input_tokens.saturating_add(made).saturating_add(cached);
        replies.insert(id, Tokens { input, cached, output: output_tokens });
    })?;
    Ok(Tokens::sum(replies.into_values()))
}
