//! Stuck conversations: every reply since some message is an API error that a retry does not fix. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::session::causes::CauseLine;
use crate::session::{Message, Role};

/// A stuck conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// Number of errors since the last good reply.
    pub errors: u64,
    /// The time of the first of these errors.
    pub since: Option<Timestamp>,
    /// The last error.
    pub error: String,
    /// The last good reply.
    pub good: Good,
    /// The causes found in the transcript, in the order of its lines.
    pub causes: Vec<CauseLine>,
}

impl Stuck {
    /// Returns the state as a clause: "its last 2 replies are API errors …".
    pub(crate) fn in_words(&self) -> String {
        let (replies, are) = match self.errors {
            1 => ("reply is".to_owned(), "an API error"),
            errors => (format!("{errors} replies are"), "API errors"),
        };
        format!("its last {replies} {are} that a retry does not fix, so a resume will most likely fail")
    }
}

/// The last good reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Good {
    /// Its number among the messages, counted from 1.
    pub number: u64,
    pub at: Option<Timestamp>,
}

/// The messages of a branch so far.
#[derive(Debug, Default)]
pub(crate) struct BranchMessages {
    seen: u64,
    good: Option<Good>,
    errors: u64,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    error: String,
    /// Set if a retry may fix an error since the last good reply.
    may_pass: bool,
    /// Set if one of the errors is not about the connection.
    has_answer: bool,
}

/// Number of lost connections in a row, and their shortest duration, from which a large request is the likely cause.
const LOST: u64 = 5;
const LOST_FOR: SignedDuration = SignedDuration::from_hours(1);
/// Size of a transcript from which its request may be too large for a connection: the API takes 32 MB.
const LARGE: u64 = 8 * 1024 * 1024;
/// Texts of connection errors, without a response of the API.
const CONNECTION: [&str; 4] = ["econnreset", "epipe", "socket hang up", "connection reset"];

impl BranchMessages {
    /// Adds the next message.
    pub(crate) fn add_message(&mut self, message: &Message) {
        self.seen += 1;
        if message.is_error {
            if self.errors == 0 {
                self.since = message.at;
            }
            self.errors += 1;
            self.until = message.at;
            self.may_pass |= !is_final(&message.text);
            let text = message.text.to_lowercase();
            self.has_answer |= !CONNECTION.iter().any(|word| text.contains(word));
            self.error.clone_from(&message.text);
        } else if Self::is_reply(message) {
            let good = Good { number: self.seen, at: message.at };
            *self = Self { seen: self.seen, good: Some(good), ..Self::default() };
        }
    }

    /// Returns whether a message is a good reply.
    pub(crate) fn is_reply(message: &Message) -> bool {
        message.role == Role::Assistant && !message.is_error
    }

    /// Returns whether the last message was a good reply.
    pub(crate) fn is_good(&self) -> bool {
        self.good.is_some_and(|good| good.number == self.seen)
    }

    /// Returns the stuck conversation in a transcript of this size, if it is one. A conversation without a good reply
    /// is not stuck: it has nothing to lose.
    pub(crate) fn finish(self, bytes: u64) -> Option<Stuck> {
        let Self { good, errors, since, until, error, may_pass, has_answer, .. } = self;
        let lasts = since.zip(until).is_some_and(|(since, until)| until.duration_since(since) >= LOST_FOR);
        let is_lost = !has_answer && errors >= LOST && lasts && bytes >= LARGE;
        let good = good.filter(|_| errors > 0 && (!may_pass || is_lost))?;
        Some(Stuck { errors, since, error, good, causes: Vec::new() })
    }
}

/// Error texts about the content of a request. Some come without a status.
const FINAL: [&str; 6] =
    ["invalid_request", "invalid request", "too long", "context length", "context_length", "maximum context"];
/// Error texts about the account, which some providers report with the status 400.
const OF_ACCOUNT: [&str; 6] = ["credit", "billing", "quota", "rate limit", "rate_limit", "api key"];

/// Returns whether a retry cannot fix an error: the API refuses the request because of its content or its size.
fn is_final(error: &str) -> bool {
    let text = error.to_lowercase();
    if OF_ACCOUNT.iter().any(|word| text.contains(word)) {
        return false;
    }
    let numbers = text.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| word.parse::<u16>().ok());
    match numbers.into_iter().find(|number| (400..600).contains(number)) {
        Some(status) => matches!(status, 400 | 413 | 422),
        None => FINAL.iter().any(|word| text.contains(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuck(messages: &[(Role, &str)]) -> Option<Stuck> {
        let mut watch = BranchMessages::default();
        for (role, text) in messages {
            let message = Message::new(*role, *text, None);
            watch.add_message(&if text.contains("rror") { message.into_error() } else { message });
        }
        watch.finish(0)
    }

    #[test]
    fn only_content_and_size_errors_are_permanent() {
        for error in [
            "API Error: 400 messages.1.content.5: `thinking` blocks cannot be modified.",
            r#"400 {"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#,
            "Error: 413 Request Entity Too Large",
            "error: unexpected status 422 Unprocessable Entity",
            "Error: prompt is too long: 210000 tokens > 200000 maximum",
            "error: This model's maximum context length is 8192 tokens",
        ] {
            assert!(is_final(error), "{error}");
        }
        for error in [
            "API Error: 401 Invalid API key",
            "API Error: 429 rate_limit_error",
            "API Error: 529 Overloaded",
            "API Error: 400 Your credit balance is too low",
            "error: unexpected status 503 Service Unavailable",
            "Error: Connection error.",
            "Error: Request timed out.",
            "",
        ] {
            assert!(!is_final(error), "{error}");
        }
    }

    #[test]
    fn large_request_with_repeated_connection_errors_is_stuck() {
        let finished = |errors: i64, minutes: i64, error: &str, bytes| {
            let mut watch = BranchMessages::default();
            watch.add_message(&Message::new(Role::Assistant, "seen", None));
            for number in 0..errors {
                let at = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(number * minutes);
                watch.add_message(&Message::new(Role::Assistant, error, Some(at)).into_error());
            }
            watch.finish(bytes).is_some()
        };
        let lost = "API Error: Unable to connect to API (ECONNRESET)";
        assert!(finished(5, 15, lost, LARGE));
        assert!(!finished(4, 60, lost, LARGE) && !finished(5, 10, lost, LARGE) && !finished(5, 15, lost, LARGE - 1));
        assert!(!finished(5, 15, "API Error: 529 Overloaded", LARGE));
    }

    #[test]
    fn good_reply_or_temporary_error_is_not_stuck() {
        let (user, model) = (Role::User, Role::Assistant);
        let fatal = (model, "API Error: 400 bad");
        let found = stuck(&[(user, "a"), (model, "b"), (user, "c"), fatal, (user, "d"), fatal]).expect("stuck");
        assert_eq!((found.errors, found.good.number), (2, 2));
        assert_eq!(found.error, "API Error: 400 bad");
        assert_eq!(stuck(&[(user, "a"), fatal, (user, "b"), (model, "c")]), None);
        assert_eq!(stuck(&[(user, "a"), fatal, (user, "b"), (model, "API Error: 529 Overloaded")]), None);
        assert_eq!(stuck(&[(user, "a"), (user, "b")]), None);
        assert_eq!(stuck(&[(user, "a"), fatal]), None, "nothing is lost with it");
    }
}
