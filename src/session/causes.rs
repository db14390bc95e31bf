//! Causes of stuck conversations: parts of a request that the API refuses each time. Pure.

use std::collections::BTreeMap;

/// The maximum length of an image's base64 text in Anthropic's API: "image exceeds 5 MB maximum: 6278112 bytes >
/// 5242880 bytes" (anthropics/claude-code, issues 2146 and 20021: the size is that of the base64 text).
pub(crate) const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// Maximum number of tool calls without a result that are remembered; a request with more counts as unknown.
const MAX_CALLS: usize = 1024;

/// A part of a request that the API refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    CallWithoutResult,
    LargeImage,
    LoneSurrogate,
    UnsignedThinking,
}

/// A cause in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CauseLine {
    pub cause: Cause,
    /// The number of its line, counted from 1.
    pub line: u64,
}

/// Phrases of errors that name a part of the request. The first match counts, because a message such as
/// `tool_result.content.0.image` names two parts.
const TOPICS: [(&[&str], Option<Cause>); 6] = [
    (&["surrogate", "not valid json", "unicode"], Some(Cause::LoneSurrogate)),
    (&["dimension", "pixel"], None),
    (&["image"], Some(Cause::LargeImage)),
    (&["thinking", "signature"], Some(Cause::UnsignedThinking)),
    (&["tool"], Some(Cause::CallWithoutResult)),
    (&["too long", "too large", "context length", "context_length", "maximum context", "413"], None),
];

impl Cause {
    /// Returns the name of the cause for a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::CallWithoutResult => "a tool call without a result",
            Self::LargeImage => "an image above the limit of the API, 5 MiB in base64",
            Self::LoneSurrogate => "a lone surrogate, which is half of a character",
            Self::UnsignedThinking => "a thinking block without its signature",
        }
    }

    /// Returns whether this can be the cause of an error: the error names this part of the request, or says only that
    /// the request is invalid.
    pub(crate) fn fits(self, error: &str) -> bool {
        let error = error.to_lowercase();
        match TOPICS.iter().find(|(words, _)| words.iter().any(|word| error.contains(word))) {
            Some((_, cause)) => *cause == Some(self),
            None => is_bare(&error),
        }
    }
}

/// The words of errors that give no reason.
const BARE: [&str; 15] = [
    "api",
    "bad",
    "code",
    "entity",
    "error",
    "http",
    "invalid",
    "invalid_request_error",
    "message",
    "request",
    "request_id",
    "status",
    "type",
    "unexpected",
    "unprocessable",
];

/// Returns whether an error gives no reason.
fn is_bare(error: &str) -> bool {
    let words = error.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    // Statuses and ids of requests have digits.
    let mut words = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.all(|word| BARE.contains(&word))
}

/// The part of a record that can be a cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SuspectPart {
    /// A call of a tool, by its id.
    Call(String),
    /// The result of a call.
    Result(String),
    Cause(Cause),
    /// A record or a block of an unknown type, which may be the cause.
    Unknown,
}

/// The records since the last reply of the API. Earlier ones are not causes, because the API accepted them.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// The last reply; one reply can be several records.
    reply: Option<u64>,
    /// Calls without a result, with their lines.
    calls: BTreeMap<String, u64>,
    found: Vec<CauseLine>,
    is_unknown: bool,
    /// Set after the first error: later records cannot be its cause.
    has_failed: bool,
}

impl Suspects {
    /// Adds a record of a reply, by a hash of the reply's id.
    pub(crate) fn reply(&mut self, id: u64) {
        if self.reply != Some(id) || self.has_failed {
            *self = Self { reply: Some(id), ..Self::default() };
        }
    }

    /// Drops the records before a compaction, which are not sent any more.
    pub(crate) fn compact(&mut self) {
        if !self.has_failed {
            self.calls.clear();
            self.found.clear();
        }
    }

    /// Adds an error of the API in place of a reply.
    pub(crate) fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Adds a part of the record on this line.
    pub(crate) fn add_part(&mut self, part: SuspectPart, line: u64) {
        if self.has_failed {
            return;
        }
        match part {
            SuspectPart::Call(id) => _ = self.calls.insert(id, line),
            SuspectPart::Result(id) => _ = self.calls.remove(&id),
            SuspectPart::Cause(cause) if self.found.iter().any(|found| found.cause == cause) => {}
            SuspectPart::Cause(cause) => self.found.push(CauseLine { cause, line }),
            SuspectPart::Unknown => self.is_unknown = true,
        }
        self.is_unknown |= self.calls.len() > MAX_CALLS;
    }

    /// Returns the first of each cause, in the order of the file; empty if a record is unknown or there was no error.
    pub(crate) fn finish(mut self) -> Vec<CauseLine> {
        if self.is_unknown || !self.has_failed {
            return Vec::new();
        }
        let line = self.calls.into_values().min();
        self.found.extend(line.map(|line| CauseLine { cause: Cause::CallWithoutResult, line }));
        self.found.sort_by_key(|found| (found.line, found.cause));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> SuspectPart {
        SuspectPart::Call(id.to_owned())
    }

    fn result(id: &str) -> SuspectPart {
        SuspectPart::Result(id.to_owned())
    }

    /// Returns the descriptions and lines of the causes after a reply on line 1 with these parts, one per line, and an
    /// error.
    fn found(parts: Vec<SuspectPart>) -> Vec<(Cause, u64)> {
        let mut suspects = Suspects::default();
        suspects.reply(1);
        parts.into_iter().zip(2..).for_each(|(part, line)| suspects.add_part(part, line));
        suspects.fail();
        suspects.finish().into_iter().map(|found| (found.cause, found.line)).collect()
    }

    #[test]
    fn tool_call_without_result_is_a_cause() {
        assert_eq!(found(vec![call("a"), result("a")]), []);
        assert_eq!(found(vec![call("a"), call("b"), result("a")]), [(Cause::CallWithoutResult, 3)]);
        assert_eq!(found(vec![result("a"), call("a")]), [(Cause::CallWithoutResult, 3)]);
    }

    #[test]
    fn unknown_record_hides_every_cause() {
        assert_eq!(found(vec![SuspectPart::Cause(Cause::LargeImage), SuspectPart::Unknown]), []);
        assert_eq!(
            found(vec![call("a"), SuspectPart::Cause(Cause::LargeImage), SuspectPart::Cause(Cause::LargeImage)]),
            [(Cause::CallWithoutResult, 2), (Cause::LargeImage, 3)]
        );
        let many = (0..=MAX_CALLS).map(|number| call(&number.to_string())).collect();
        assert_eq!(found(many), []);
    }

    #[test]
    fn only_records_between_last_reply_and_error_count() {
        let mut suspects = Suspects::default();
        suspects.add_part(SuspectPart::Cause(Cause::LoneSurrogate), 1);
        suspects.add_part(SuspectPart::Unknown, 1);
        suspects.reply(1);
        suspects.add_part(call("a"), 2);
        suspects.reply(1);
        suspects.add_part(SuspectPart::Cause(Cause::UnsignedThinking), 3);
        suspects.fail();
        suspects.add_part(result("a"), 4);
        suspects.add_part(SuspectPart::Cause(Cause::LargeImage), 5);
        suspects.fail();
        let lines: Vec<u64> = suspects.finish().into_iter().map(|found| found.line).collect();
        assert_eq!(lines, [2, 3]);

        let mut suspects = Suspects::default();
        suspects.add_part(call("a"), 1);
        suspects.compact();
        suspects.fail();
        assert_eq!(suspects.finish(), []);
        let mut suspects = Suspects::default();
        suspects.add_part(call("a"), 1);
        assert_eq!(suspects.finish(), [], "there was no error");
    }

    #[test]
    fn cause_named_by_error_excludes_others() {
        let causes = [Cause::CallWithoutResult, Cause::LargeImage, Cause::LoneSurrogate, Cause::UnsignedThinking];
        for (error, expected) in [
            ("API Error: 400 Bad Request", causes.as_slice()),
            ("400 tool_use ids were found without tool_result blocks", &[Cause::CallWithoutResult]),
            ("400 tool_result.content.0.image.source.base64: image exceeds 5 MB maximum", &[Cause::LargeImage]),
            ("400 The request body is not valid JSON: no low surrogate in string", &[Cause::LoneSurrogate]),
            ("400 messages.1.content.0: Invalid `signature` in `thinking` block", &[Cause::UnsignedThinking]),
            ("400 image.source.base64.data: image dimensions exceed max allowed size", &[]),
            ("400 prompt is too long: 210000 tokens > 200000 maximum", &[]),
            ("400 messages: roles must alternate", &[]),
            (r#"400 {"type":"error","error":{"type":"invalid_request_error"},"request_id":"req_011CX"}"#, &causes),
        ] {
            let fitting: Vec<Cause> = causes.into_iter().filter(|cause| cause.fits(error)).collect();
            assert_eq!(fitting, expected, "{error}");
        }
    }
}
