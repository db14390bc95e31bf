//! Tokens of the replies of a session (0.61.0). Rewritten replies count once. Thinking tokens are counted separately.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::Deserialize;

use crate::agent::gemini::{DOCUMENT, is_document};
use crate::error::PathError;
use crate::format::document::Field;
use crate::format::jsonl::each_line_with;
use crate::session::Located;
use crate::session::usage::{Tokens, Usage};
use crate::system::fsio;

#[derive(Deserialize)]
struct Reply {
    id: String,
    tokens: Counts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
}

pub(super) fn usage(place: &Located) -> Result<Usage, PathError> {
    let mut replies: HashMap<String, Tokens> = HashMap::new();
    let mut see = |reply: &[u8]| {
        let Ok(Reply { id, tokens: Counts { input, output, cached, thoughts } }) = serde_json::from_slice(reply) else {
            return;
        };
        replies.insert(id, Tokens { input, cached, output: output.saturating_add(thoughts) });
    };
    if is_document(place) {
        let (file, _) = fsio::open_regular(&place.path)?;
        DOCUMENT.each(file, &mut |field| {
            if let Field::Message(raw) = field {
                see(raw.get().as_bytes());
            }
            ControlFlow::Continue(())
        });
    } else {
        each_line_with(&place.path, b"\"tokens\"", &mut see)?;
    }
    Ok(Usage::from_tokens(Tokens::sum(replies.into_values())))
}
