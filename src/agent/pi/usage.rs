//! What the replies of a session took, on all of its branches (Pi 0.87.1, oh-my-pi 18.2.3).

use std::path::Path;

use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::each_line_with;
use crate::session::usage::Tokens;

#[derive(Deserialize)]
struct Record {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

pub(in crate::agent) fn tokens(path: &Path) -> Result<Option<Tokens>, PathError> {
    let mut replies = Vec::new();
    each_line_with(path, b"\"usage\"", &mut |line| {
        let Ok(Record { message: Message { usage } }) = serde_json::from_slice(line) else { return };
        let Usage { input, output, cache_read: cached, cache_write } = usage;
        replies.push(Tokens { input: input.saturating_add(cached).saturating_add(cache_write), cached, output });
    })?;
    Ok(Tokens::sum(replies))
}
