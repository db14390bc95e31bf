//! Tokens of a rollout: Codex writes the sum after each reply (0.169.0).

use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::each_line_with;
use crate::session::Located;
use crate::session::usage::{Tokens, Usage};

#[derive(Deserialize)]
struct UsageRecord {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    total_token_usage: Counts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
}

pub(super) fn usage(place: &Located) -> Result<Usage, PathError> {
    let mut last = None;
    each_line_with(&place.path, b"\"total_token_usage\"", &mut |line| {
        if let Ok(UsageRecord { payload: Payload { info: Info { total_token_usage: usage } } }) =
            serde_json::from_slice(line)
        {
            let Counts { input_tokens: input, cached_input_tokens: cached, output_tokens: output } = usage;
            last = Some(Tokens { input, cached, output });
        }
    })?;
    Ok(Usage::from_tokens(last))
}
