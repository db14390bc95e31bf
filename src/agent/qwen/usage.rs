//! The tokens of a transcript's replies (0.24.4). Thinking tokens are added to the output tokens.

use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::each_line_with;
use crate::session::Located;
use crate::session::usage::{Tokens, Usage};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageRecord {
    usage_metadata: Counts,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Counts {
    prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

pub(super) fn usage(place: &Located) -> Result<Usage, PathError> {
    let mut sum: Option<Tokens> = None;
    each_line_with(&place.path, b"\"usageMetadata\"", &mut |line| {
        if let Ok(UsageRecord { usage_metadata: usage }) = serde_json::from_slice(line) {
            sum.get_or_insert_default().add(Tokens {
                input: usage.prompt_token_count,
                cached: usage.cached_content_token_count,
                output: usage.candidates_token_count.saturating_add(usage.thoughts_token_count),
            });
        }
    })?;
    Ok(Usage::from_tokens(sum))
}
