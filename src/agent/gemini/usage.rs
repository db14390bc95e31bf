//! Tokens of the replies of a session (0.61.0). Rewritten replies count once. Thinking tokens are counted separately.

use crate::agent::gemini::{DOCUMENT, is_document};
use crate::agent::prelude::*;
use crate::agent::usage::{Sum, UsageAt};
use crate::format::document::Field;
use crate::format::jsonl::each_line_with;

const AT: UsageAt = UsageAt {
    usage: &["tokens"],
    input: &["input"],
    cached: "cached",
    output: &["output", "thoughts"],
    id: "id",
    ..UsageAt::NONE
};

pub(super) fn usage(place: &Located) -> Result<Usage, PathError> {
    let mut sum = Sum::of(&AT);
    if is_document(place) {
        let (file, _) = fsio::open_regular(&place.path)?;
        DOCUMENT.each(file, &mut |field| {
            if let Field::Message(raw) = field {
                sum.see(raw.get().as_bytes());
            }
            ControlFlow::Continue(())
        });
    } else {
        each_line_with(&place.path, b"\"tokens\"", &mut |line| sum.see(line))?;
    }
    Ok(sum.finish())
}
