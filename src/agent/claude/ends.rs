//! Reads the two ends of a transcript, which is sufficient for a list.

use std::sync::LazyLock;

use memchr::memchr2_iter;
use memchr::memmem::Finder;

use super::is_exec;
use super::titles::{Titles, own_records};
use super::trailer::Trailer;
use super::{places, sidecar};
use crate::agent::claude::records::ClaudeRecord;
use crate::agent::prelude::*;
use crate::format::json::last_object;
use crate::format::skim::{self, Raw};

/// Number of bytes at the end that are searched for titles. The client's own picker reads the same amount (SDK: 64
/// KiB).
const TITLE_WINDOW: usize = 64 * 1024;
/// Number of bytes at the end that are read in one call: the title window, and usually the whole line that it cuts.
pub(super) const TAIL: usize = 96 * 1024;
/// Number of records near the end that are read even after every field was found: times are not in order.
const LAST_RECORDS: u32 = 6;
/// Length of a line above which it has no title or move, so that its middle is not scanned.
const LONG: usize = 512;
/// Length of a time in the client's format, `"2026-02-01T10:00:00.123Z"` with its quotes.
const USUAL_TIME: usize = 26;
/// Number of records near the end that are searched for the model.
const MAX_RECORDS: u32 = 40;

/// The facts in the two ends of a transcript.
#[derive(Default)]
pub(super) struct TranscriptEnds {
    created_at: Option<Timestamp>,
    first_cwd: Option<String>,
    first_branch: Option<String>,
    session_id: Option<String>,
    forked_from: Option<String>,
    team: Option<String>,
    pub(super) is_sidechain: bool,
    prompt: Option<String>,
    has_reply: bool,
    pub(super) is_whole: bool,
    pub(super) is_exec: bool,
    pub(super) is_interactive: bool,
    newest: Latest,
    last_cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    is_torn: bool,
    records_from_end: u32,
    bytes_from_end: usize,
    /// Set if the title window has a name that the user gave.
    is_named_at_end: bool,
    /// The trailer of the first record with a directory, or the last trailer that was read without its content.
    trailer: Trailer,
    pub(super) early: Titles,
    pub(super) late: Titles,
}

/// The latest of several times. Times in the client's format sort as texts, so most need no parsing.
#[derive(Default)]
struct Latest {
    at: Option<Timestamp>,
    text: [u8; USUAL_TIME],
}

impl Latest {
    fn note(&mut self, time: Raw<'_>) {
        let Some(text) = time.bytes() else { return };
        let is_usual = text.len() == USUAL_TIME && text[11] == b'T' && text.ends_with(b"Z\"");
        if is_usual && text <= &self.text[..] {
            return;
        }
        let at = time.text().and_then(|text| text.instant());
        if at > self.at {
            self.at = at;
            self.text = text.try_into().ok().filter(|_| is_usual).unwrap_or_default();
        }
    }
}

impl TranscriptEnds {
    pub(super) fn see_from_start(&mut self, line: &[u8]) {
        let kind = kind(line);
        if kind == b"queue-operation" && line.ends_with(b"}") {
            // Its time is the only useful member.
            let at = || skim::member_near_start(line, "timestamp").text()?.instant();
            self.created_at = self.created_at.or_else(at);
            return;
        }
        if is_bulk(kind) || tells_nothing(kind, line) {
            return;
        }
        let Some(record) = whole(line) else { return };
        self.created_at = self.created_at.or_else(|| record.at());
        self.note_entrypoint(&record);
        if self.first_cwd.is_none()
            && let Some(cwd) = record.cwd.filled()
        {
            self.first_cwd = Some(cwd);
            self.first_branch = record.git_branch.filled();
            self.trailer.note(line, record.entrypoint);
            self.trailer.is_first = true;
            self.is_sidechain = record.is_sidechain.0;
            self.team = record.team_name.filled();
            self.session_id = record.session_id.filled();
        }
        self.forked_from = self.forked_from.take().or_else(|| record.forked_from());
        self.has_reply = self.has_reply || record.reply_id().is_some();
        self.prompt = self.prompt.take().or_else(|| record.prompt());
        self.early.see_later(&record);
    }

    pub(super) fn knows_start(&self) -> bool {
        self.first_cwd.is_some() && self.prompt.is_some() && self.created_at.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) {
        self.bytes_from_end += line.len();
        let kind = kind(line);
        if is_bulk(kind) || (self.knows_end() && !is_title(line)) {
            return;
        }
        if is_ended && tells_nothing(kind, line) {
            self.records_from_end += 1;
            return;
        }
        let is_long = is_ended && line.len() > LONG;
        if is_long && let Some(before) = self.trailer.before(line) {
            let is_answer = before.kind.is("assistant");
            if is_answer {
                self.model = self.model.take().or_else(|| ClaudeRecord::model_near_start(line));
            }
            if !is_answer || self.model.is_some() {
                self.records_from_end += 1;
                self.newest.note(before.timestamp);
                if self.trailer.is_first {
                    self.last_cwd = self.last_cwd.take().or_else(|| self.first_cwd.clone());
                    self.branch = self.branch.take().or_else(|| self.first_branch.clone());
                }
                return;
            }
        }
        let is_enough = |record: &ClaudeRecord<'_>| self.model.is_some() || record.knows_model();
        let without_content = Some(line).filter(|_| is_long).and_then(ClaudeRecord::without_content).filter(is_enough);
        if let Some(record) = &without_content {
            self.trailer.note(line, record.entrypoint);
        }
        let Some(record) = without_content.or_else(|| whole(line)) else {
            self.is_torn |= !is_ended;
            return;
        };
        self.take_from_end(&record);
    }

    fn take_from_end(&mut self, record: &ClaudeRecord<'_>) {
        self.records_from_end += 1;
        self.newest.note(record.timestamp);
        self.note_entrypoint(record);
        self.last_cwd = self.last_cwd.take().or_else(|| record.cwd.filled());
        self.branch = self.branch.take().or_else(|| record.git_branch.filled());
        self.model = self.model.take().or_else(|| record.model());
        self.late.see_earlier(record);
        self.is_named_at_end |= self.bytes_from_end <= TITLE_WINDOW && self.late.has_custom();
    }

    fn knows_end(&self) -> bool {
        let has_all = self.newest.at.is_some() && self.last_cwd.is_some();
        // A session without a reply has no model to find.
        has_all
            && self.records_from_end >= LAST_RECORDS
            && (self.model.is_some() || self.records_from_end >= MAX_RECORDS)
    }

    pub(super) fn is_done_with_end(&self) -> bool {
        self.knows_end() && (self.late.has_custom() || self.bytes_from_end >= TITLE_WINDOW)
    }

    pub(super) fn note_entrypoint(&mut self, record: &ClaudeRecord<'_>) {
        match record.entrypoint.lenient_text().get() {
            Some(entrypoint) if is_exec(entrypoint) => self.is_exec = true,
            Some(_) => self.is_interactive = true,
            None => {}
        }
    }

    /// Fills in the copy. Returns the directory that the session was moved to, if it was.
    pub(super) fn fill(self, copy: &mut SessionCopy) -> Option<String> {
        let is_empty = self.is_whole && self.prompt.is_none() && !self.has_reply;
        copy.mark_if(is_empty, Health::EmptySession);
        let lead = self.team.as_deref().and_then(|team| places::lead(&copy.place, team));
        copy.kind = if copy.place.is_subagent || self.is_sidechain || lead.is_some() {
            SessionKind::Subagent
        } else if is_empty {
            SessionKind::Empty
        } else if self.forked_from.is_some() {
            SessionKind::Fork
        } else if self.is_exec && !self.is_interactive {
            SessionKind::Exec
        } else {
            SessionKind::Main
        };
        if copy.kind == SessionKind::Subagent {
            let parent = copy.parent_id.take().or(lead).or(self.session_id);
            copy.parent_id = parent.filter(|parent| *parent != copy.place.id);
        } else {
            copy.parent_id = self.forked_from;
        }
        copy.mark_if(self.is_torn, Health::TornTranscript);
        // The client prefers a name in the last records, then that in the file next to the transcript.
        let named = if self.is_named_at_end { None } else { sidecar::title(&copy.place) };
        let mut titles = self.late.or(self.early);
        let relocated = titles.take_relocated();
        let own = own_records(&copy.place.path, &titles.leaves());
        copy.title = named.or_else(|| titles.into_title(|leaf| own.contains(leaf)));
        copy.first_prompt =
            self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "transcript"));
        let from_transcript = |dir: String| Some(Fact::new(recorded::dir(&dir)?, "transcript"));
        copy.start_dir = self.first_cwd.and_then(from_transcript);
        copy.last_dir = self.last_cwd.and_then(from_transcript).or_else(|| copy.start_dir.clone());
        copy.created_at = self.created_at.map(|at| Fact::new(at, "transcript"));
        copy.active_at = self.newest.at.map(|at| Fact::new(at, "transcript"));
        copy.git_branch = self.branch.filter(|branch| branch != "HEAD").map(|branch| Fact::new(branch, "transcript"));
        copy.model = self.model.map(|model| Fact::new(model, "transcript"));
        relocated
    }
}

/// Parses a line, or the complete record after a torn one.
fn whole(line: &[u8]) -> Option<ClaudeRecord<'_>> {
    ClaudeRecord::of_line(line).or_else(|| ClaudeRecord::of_line(last_object(line)?))
}

/// Returns the type of a record if it is the first member, as in records that are not part of the conversation.
fn kind(line: &[u8]) -> &[u8] {
    let kind = line.strip_prefix(br#"{"type":""#).unwrap_or_default();
    kind.split(|byte| *byte == b'"').next().unwrap_or_default()
}

/// Returns whether records of a type only repeat requests to the model; such records are most of a file's bytes.
fn is_bulk(kind: &[u8]) -> bool {
    kind.starts_with(b"api-request")
}

/// Returns whether a record has no useful member, as most of the last ones (2.1.330 and 2.1.197).
fn tells_nothing(kind: &[u8], line: &[u8]) -> bool {
    const SORTS: [&[u8]; 8] = [
        b"agent-name",
        b"atis-latch",
        b"cost-state",
        b"file-history-snapshot",
        b"last-prompt",
        b"mode",
        b"permission-mode",
        b"tools-used",
    ];
    static TIME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""timestamp""#));
    // These records have no timestamp in known versions; if one had, it would count.
    SORTS.contains(&kind) && TIME.find(line).is_none()
}

/// Returns whether a record may contain a title or a move, by its first bytes and without parsing.
fn is_title(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [b"itle", b"summary", b"relocated"];
    if line.starts_with(br#"{"parentUuid":""#) {
        // Most records are part of the conversation, and begin with the id of their parent.
        return false;
    }
    let start = &line[..line.len().min(48)];
    // All of these words have `l` or `m` at index 2.
    let mut thirds = memchr2_iter(b'l', b'm', start).filter_map(|at| start.get(at.checked_sub(2)?..));
    thirds.any(|rest| WORDS.iter().any(|word| rest.starts_with(word)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record with a text of 600 bytes, which makes it a long one.
    fn record() -> impl Strategy<Value = String> {
        let sort = prop_oneof![
            Just(("user", r#""role":"user""#)),
            Just(("assistant", r#""model":"<synthetic>""#)),
            Just(("assistant", r#""model":"large-1","role":"assistant""#)),
            Just(("attachment", r#""id":"m\\""#)),
        ];
        let form = ("[0-2]", 0..3_usize, any::<bool>(), any::<bool>(), "cli|sdk-cli", "/w|/w/\\{a|/v", "main|");
        (sort, form).prop_map(|((kind, head), (minute, style, is_kind_last, is_mixed, entrypoint, cwd, branch))| {
            let text = "x".repeat(600);
            let message = format!(r#""message":{{{head},"content":[{{"type":"text","cwd":"/n","text":"{text}"}}]}}"#);
            let time = ["2026-01-01T10:0@:00.000Z", "2026-01-01T12:0@:00.000+01:59", "none@"][style];
            let at = format!(r#""uuid":"u","timestamp":"{}""#, time.replace('@', &minute));
            let kind = format!(r#""type":"{kind}""#);
            let (before, behind) = if is_kind_last { (message, kind) } else { (kind, message) };
            let late = if is_mixed { r#""rendered":[{"entrypoint":"x"}],"# } else { "" };
            let end = format!(r#""entrypoint":"{entrypoint}","cwd":"{cwd}","sessionId":"s","gitBranch":"{branch}""#);
            format!(r#"{{"isSidechain":false,{before},{behind},{at},{late}{end}}}"#)
        })
    }

    #[test]
    fn irrelevant_records_contribute_only_their_timestamp() {
        let mut ends = TranscriptEnds::default();
        for line in [r#"{"type":"mode","mode":"normal","cwd":"/w"}"#, r#"{"type":"last-prompt","lastPrompt":"a"}"#] {
            ends.see_from_end(line.as_bytes(), true);
        }
        assert_eq!((ends.newest.at, ends.last_cwd.take(), ends.records_from_end), (None, None, 2));
        let line = br#"{"type":"last-prompt","sessionId":"s","timestamp":"2026-11-01T10:15:00.000Z"}"#;
        ends.see_from_end(line, true);
        ends.see_from_start(line);
        let at = "2026-11-01T10:15:00Z".parse().ok();
        assert_eq!((ends.newest.at, ends.created_at), (at, at));
        ends.see_from_end(br#"{"type":"mode","mo"#, false);
        assert!(ends.is_torn);
    }

    #[test]
    fn only_the_time_of_a_queue_record_is_read() {
        let begun =
            br#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-01T10:15:00.000Z","cwd":"/w"}"#;
        let (mut whole, mut torn) = (TranscriptEnds::default(), TranscriptEnds::default());
        whole.see_from_start(begun);
        torn.see_from_start(&begun[..begun.len() - 1]);
        assert_eq!((whole.created_at, whole.first_cwd), ("2026-11-01T10:15:00Z".parse().ok(), None));
        assert_eq!(torn.created_at, None);
    }

    proptest! {
        #[test]
        fn skipping_repeated_members_equals_full_parse(
            lines in prop::collection::vec(record(), 1..12),
            starts: bool,
        ) {
            let (mut quick, mut whole) = (TranscriptEnds::default(), TranscriptEnds::default());
            if starts {
                quick.see_from_start(lines[0].as_bytes());
                whole.see_from_start(lines[0].as_bytes());
            }
            for line in &lines {
                quick.see_from_end(line.as_bytes(), true);
                if !whole.knows_end() {
                    whole.take_from_end(&ClaudeRecord::of_line(line.as_bytes()).expect("a record"));
                }
            }
            let facts = |ends: &TranscriptEnds| (
                ends.newest.at,
                ends.last_cwd.clone(),
                ends.branch.clone(),
                ends.model.clone(),
                (ends.is_exec, ends.is_interactive, ends.records_from_end, ends.is_torn),
            );
            prop_assert_eq!(facts(&quick), facts(&whole));
        }
    }
}
