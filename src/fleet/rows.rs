//! The answer of one host, row by row, with a check of its header and the summary from its last line.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fleet::{Answering, NO_ANSWER};
use crate::format::text;

/// The version of the contract that this program reads; a host may have a newer minor one.
const MAJOR: &str = "1.";
/// Maximum bytes of a line: a summary lists the problems of a host, and a row of `search` all matches in a session.
const MOST_LINE: usize = 4 * 1024 * 1024;
/// Maximum bytes of all rows together, since some callers hold them all: more than a million typical rows.
const MOST_BYTES: usize = 1024 * 1024 * 1024;
/// Start of the last line of an answer.
const SUMMARY: &str = r#"{"kind":"summary""#;

/// A host's rows, and its summary at the end.
#[derive(Debug)]
pub(crate) struct HostRows {
    answering: Answering,
    name: Arc<str>,
    /// The first row, read ahead.
    first: Option<String>,
    /// Rows and bytes that the host may still send.
    left: (usize, usize),
    summary: Option<Map<String, Value>>,
    fault: Option<String>,
}

/// The result of asking a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct HostReport {
    /// The name of the host.
    pub host: String,
    /// The exit status of rejoin there; `null` if there is none.
    pub status: Option<u8>,
    /// The reason for a missing or partial answer; `null` for a whole one.
    pub fault: Option<String>,
    /// A hint about the reason, if the host gave one.
    #[serde(skip)]
    pub hint: Option<String>,
    /// Its standard error, next to a complete answer.
    #[serde(skip)]
    pub stderr: String,
    /// The last line of its answer, without its kind.
    #[serde(skip)]
    pub summary: Map<String, Value>,
}

#[derive(Deserialize)]
struct AnswerHead {
    #[serde(default)]
    format_version: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct HostError {
    kind: String,
    exit: u8,
    message: String,
    hint: Option<String>,
}

impl HostRows {
    /// Reads the output of a host as an answer in ndjson, with at most the requested number of rows.
    pub(crate) fn from_answer(answering: Answering, limit: Option<usize>) -> Self {
        let name = answering.host.name.as_str().into();
        let left = (limit.unwrap_or(usize::MAX), MOST_BYTES);
        Self { answering, name, first: None, left, summary: None, fault: None }
    }

    /// Returns the host of the rows.
    pub(crate) fn host(&self) -> &Arc<str> {
        &self.name
    }

    /// Waits for the start of the answer, and checks that it is of this kind.
    pub(crate) fn begin(&mut self, kind: &str) {
        let Some(line) = self.answering.line(MOST_LINE) else { return };
        self.fault = fault_of(&line, Some(kind));
        if self.fault.is_none() {
            self.first = self.read();
        }
    }

    /// Returns the next row.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.first.take().or_else(|| self.read())
    }

    fn read(&mut self) -> Option<String> {
        if self.fault.is_some() || self.summary.is_some() {
            return None;
        }
        let line = self.answering.line(MOST_LINE)?;
        if line.starts_with(SUMMARY) {
            // Anything after it does not belong to the answer.
            self.answering.finish();
            match serde_json::from_str(&line) {
                Ok(summary) => self.summary = Some(summary),
                Err(_) => self.fault = Some("its answer is damaged".to_owned()),
            }
            return None;
        }
        let (rows, bytes) = self.left;
        match rows.checked_sub(1).zip(bytes.checked_sub(line.len())) {
            Some(left) => self.left = left,
            None => {
                self.fault = Some("it answers more than was asked for".to_owned());
                return None;
            }
        }
        Some(line)
    }

    /// Records a faulty row, and stops reading from the host.
    pub(crate) fn give_up(&mut self, why: String) {
        self.fault = Some(why);
    }

    /// Returns the result; skips rows that were not read.
    pub(crate) fn report(self) -> HostReport {
        let host = self.name.to_string();
        if let Some(fault) = self.fault {
            return HostReport { host, fault: Some(fault), ..HostReport::default() };
        }
        let has_summary = self.summary.is_some();
        let mut summary = self.summary.unwrap_or_default();
        summary.remove("kind");
        let ended = self.answering.end();
        let refusal = ended.stderr.lines().rev().find_map(refusal);
        let host_stderr =
            ended.stderr.lines().filter(|line| self::refusal(line).is_none()).collect::<Vec<_>>().join("\n");
        let (fault, hint) = match (ended.fault, refusal) {
            (Some(fault), _) => (Some(fault), None),
            (None, Some(refusal)) => (Some(refusal.message), refusal.hint),
            (None, None) if has_summary => (None, None),
            (None, None) => (Some(Self::last_of(&host_stderr)), None),
        };
        HostReport {
            host,
            status: ended.status,
            fault,
            hint,
            stderr: if has_summary { host_stderr } else { String::new() },
            summary,
        }
    }

    /// Returns the most informative line of the output that came in place of an answer.
    pub(crate) fn last_of(stderr: &str) -> String {
        let plain_stderr = text::without_styles(stderr);
        let mut lines = plain_stderr.lines().filter(|line| !line.trim().is_empty());
        let error = lines.clone().find(|line| line.starts_with("error: ")).or_else(|| lines.next_back());
        let error = error.map(|line| line.trim_start_matches("error: ").to_owned());
        error.unwrap_or_else(|| "its answer was cut off".to_owned())
    }
}

/// Returns the reason why the first line of an answer, or a whole answer, cannot be read; `kind` is the requested kind,
/// if known.
pub(crate) fn fault_of(line: &str, kind: Option<&str>) -> Option<String> {
    match serde_json::from_str::<AnswerHead>(line) {
        Ok(head) if kind.is_some_and(|kind| kind != head.kind) || head.kind.is_empty() => Some(NO_ANSWER.to_owned()),
        Ok(head) if head.format_version.starts_with(MAJOR) => None,
        Ok(AnswerHead { format_version: version, .. }) => Some(format!(
            "its rejoin answers in format {version}, and this one reads {MAJOR}x; install the same version on both"
        )),
        Err(_) => Some(NO_ANSWER.to_owned()),
    }
}

/// Parses an error in the form of `--format json`.
fn refusal(line: &str) -> Option<HostError> {
    serde_json::from_str(line).ok().filter(|error: &HostError| error.kind == "error" && error.exit > 0)
}
