//! The engine of agents that store a session as a log with one JSON record per line.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::engine::Engine;
use super::ids::is_argument;
use super::usage::UsageSum;
use super::{Found, Observers, ReadContext, about, decide_launch_dir, judge_by_age};
use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line, last_messages};
use crate::format::turn::Turn;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::obstacle::Obstacle;
use crate::session::{Fact, Health, Located, Message, Role, SessionCopy, SessionKind, Store, Visitor};
use crate::system::fsio;

/// Maximum size in bytes of a text file that is left of a session.
const MAX_TEXT: u64 = 4 * 1024 * 1024;

/// The longest text of Node.js, in bytes at least: V8's `String::kMaxLength`. An agent that reads a log into one text
/// cannot open a longer one.
pub(super) const MAX_NODE_TEXT: u64 = 0x1fff_ffe8;

/// The log of an agent.
pub(super) trait Log: Sync + 'static {
    type Record<'a>: Record;
    /// Facts from the records for which a copy has no member, and their tree.
    type Facts: Default;

    /// The log in the folder of a session; `None` if the session is the log itself.
    const FILE: Option<&'static str> = None;
    /// The name of the log as the source of facts.
    const SOURCE: &'static str = "transcript";
    /// Number of bytes at each end that are searched for unknown facts, and number of bytes at the end that are read in
    /// one call.
    const HEAD: usize = usize::MAX;
    const TAIL: usize = 64 * 1024;
    const WINDOW: usize = 64 * 1024;
    /// Number of records near the end that are read for the newest time: not all logs are ordered by time.
    const LAST_RECORDS: u32 = 6;
    /// The longest log that the agent can open, in bytes.
    const MAX_BYTES: u64 = u64::MAX;
    /// Set if [`Log::branches`] can find several, or replaced lines.
    const HAS_BRANCHES: bool = false;

    /// The directory of the sessions below the root of a store.
    const DIR: &'static str = "";

    /// Returns whether the name of a log without its ending, or of a folder, can be the id of a session.
    fn is_id(name: &str) -> bool {
        is_argument(name)
    }

    /// Finds every copy in a store, or every copy of one full id. By default each is named after its id.
    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let (mut found, dir) = (Found::default(), store.root.join(Self::DIR));
        if Self::FILE.is_some() {
            found.add_folders(store, &dir, None, only, &Self::is_id);
        } else {
            found.add_files(store, &dir, None, ".jsonl", only, &Self::is_id);
        }
        found
    }

    /// Returns the log of a session.
    fn log(place: &Located) -> PathBuf {
        Self::FILE.map_or_else(|| place.path.to_path_buf(), |file| place.path.join(file))
    }

    /// Parses a line; `None` if it is not a record.
    fn parse(line: &[u8]) -> Option<Self::Record<'_>>;

    /// Notes the place of a line in the tree of the conversation; `None` for a line that is not a record.
    fn divide(_line: usize, _record: Option<&Self::Record<'_>>, _facts: &mut Self::Facts) {}

    /// Returns the branches of the lines that [`Log::divide`] noted.
    fn branches(_facts: &Self::Facts, _lines: usize) -> Branches {
        Branches::default()
    }

    /// Adds the usage in a line.
    fn add_usage(line: &[u8], sum: &mut UsageSum) {
        sum.see(line);
    }

    /// Implements [`Reading::texts`](super::Reading::texts). The text files among them are shown if the log is lost.
    fn texts(_place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns whether a record is part of the conversation, and not of a sub-agent's conversation in the same log.
    fn is_own(_record: &Self::Record<'_>, _copy: &SessionCopy) -> bool {
        true
    }

    /// Stores the facts of a record. Records are passed from the first line on, which has the number 0.
    fn see_from_start(_record: &Self::Record<'_>, _number: usize, _copy: &mut SessionCopy, _facts: &mut Self::Facts) {}

    /// Returns whether all facts of the first records are known, apart from the first prompt.
    fn knows_start(_copy: &SessionCopy, _facts: &Self::Facts) -> bool {
        true
    }

    /// Returns whether a line may contain a fact for [`Log::see_from_start`] after the first prompt.
    fn matters_at_start(_line: &[u8]) -> bool {
        true
    }

    /// Stores the facts of a record that are not known yet. Records are passed from the last one backwards.
    fn see_from_end(_record: &Self::Record<'_>, _copy: &mut SessionCopy, _facts: &mut Self::Facts) {}

    /// Returns whether all facts of the last records are known, apart from the time.
    fn knows_end(_copy: &SessionCopy, _facts: &Self::Facts) -> bool {
        true
    }

    /// Returns whether a line may contain a fact for [`Log::see_from_end`].
    fn matters_at_end(_line: &[u8], _copy: &SessionCopy, _facts: &Self::Facts) -> bool {
        true
    }

    /// Returns the size in bytes of all files of a copy, or of its log alone if sizes are not needed.
    fn size(copy: &SessionCopy, context: &ReadContext<'_>) -> u64 {
        let side_bytes = context.tree_size(copy.place.side_dir.as_deref());
        if Self::FILE.is_some() {
            context.tree_size(Some(&copy.place.path))
        } else {
            copy.transcript_bytes + side_bytes
        }
    }

    /// Completes a copy with the facts in its other files.
    fn finish(
        _copy: &mut SessionCopy,
        _ends: &Ends,
        _facts: Self::Facts,
        _context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        Ok(())
    }

    /// Stores the facts of a record during a count of all records.
    fn see_counted(_record: &Self::Record<'_>, _copy: &mut SessionCopy) {}

    /// The agent's command that opens other branches, for a note.
    const WAY_TO_BRANCHES: Option<&'static str> = None;
}

/// A record of a log.
pub(super) trait Record {
    /// Returns the time of the record.
    fn at(&self, zone: &TimeZone) -> Option<Timestamp>;

    /// Returns the part of the conversation in the record.
    fn turn(&self) -> Option<Turn>;

    /// Returns whether the record ends a turn, after which the agent waits for a prompt.
    fn ends_turn(&self) -> bool {
        false
    }

    /// Returns the messages that are shown for the record.
    fn messages(&self) -> Vec<Message> {
        let messages = self.turn().map(|turn| turn.messages).unwrap_or_default();
        messages.into_iter().filter(|message| !message.text.trim().is_empty()).collect()
    }

    #[cfg(test)]
    fn prompt(&self) -> Option<String> {
        self.turn()?.prompt().map(str::to_owned)
    }

    #[cfg(test)]
    fn is_reply(&self) -> bool {
        self.turn().is_some_and(|turn| turn.is_reply())
    }
}

/// Facts from the two ends of a log.
#[derive(Default)]
pub(super) struct Ends {
    /// Set if the log is missing.
    pub is_missing: bool,
    /// Set if the first line is not a record; `None` before a line was seen.
    pub is_headless: Option<bool>,
    /// Set if the whole log was seen from its start.
    pub is_whole: bool,
    pub prompt: Option<String>,
    pub modified: Option<Timestamp>,
    created: Option<Timestamp>,
    pub newest: Option<Timestamp>,
    has_reply: bool,
    /// Set if the last readable record ends a turn.
    pub is_ended: bool,
    /// Set if the last line is torn.
    is_torn: bool,
}

impl Ends {
    fn read<L: Log>(
        &mut self,
        (log, mut file): (&Path, Jsonl),
        copy: &mut SessionCopy,
        facts: &mut L::Facts,
        context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        let zone = &context.env.clock.zone;
        (copy.transcript_bytes, self.modified) = (file.len(), file.modified());
        let (mut number, mut bytes) = (0, 0);
        self.is_whole = file.lines_forward(&mut |line| {
            (number, bytes) = (number + 1, bytes + line.len());
            let is_parsed = self.prompt.is_none() || !L::knows_start(copy, facts) && L::matters_at_start(line);
            let record = Some(line).filter(|_| is_parsed).and_then(L::parse);
            self.is_headless.get_or_insert(record.is_none());
            if let Some(record) = record {
                // Some programs write their first records after the first prompt.
                self.created = self.created.into_iter().chain(record.at(zone)).min();
                L::see_from_start(&record, number - 1, copy, facts);
                if self.prompt.is_none()
                    && let Some(turn) = record.turn().filter(|_| L::is_own(&record, copy))
                {
                    self.has_reply |= turn.is_reply();
                    self.prompt = turn.prompt().map(str::to_owned);
                }
            }
            self.prompt.is_some() && (L::knows_start(copy, facts) || bytes >= L::HEAD)
        })?;
        context.inspect(&copy.place, log, &mut file, copy.place.is_subagent);
        let (mut records, mut bytes) = (0, 0);
        file.lines_backward(&mut |line, has_end| {
            bytes += line.len();
            if self.newest.is_none() || records < L::LAST_RECORDS || L::matters_at_end(line, copy, facts) {
                let record = L::parse(line);
                self.is_torn |= !has_end && record.is_none();
                if let Some(record) = record {
                    self.is_ended |= records == 0 && record.ends_turn();
                    records += 1;
                    self.newest = self.newest.max(record.at(zone));
                    L::see_from_end(&record, copy, facts);
                }
            }
            let is_known = self.newest.is_some() && L::knows_end(copy, facts);
            records >= L::LAST_RECORDS && (is_known || bytes >= L::TAIL)
        })
    }

    fn fill(&self, copy: &mut SessionCopy, source: &'static str, now: Timestamp) {
        let fact = |at: Option<Timestamp>| at.map(|at| Fact::new(at, source));
        copy.created_at = copy.created_at.take().or_else(|| fact(self.created));
        copy.active_at = fact(self.newest);
        copy.set_active_by_file(self.modified);
        copy.mark_if(self.is_torn, Health::TornTranscript);
        // A torn record after the end of a turn begins the next turn.
        let last = self.newest.max(self.modified).filter(|_| self.is_torn || !self.is_ended);
        judge_by_age(copy, last, now);
        if self.is_whole && self.prompt.is_none() && !self.has_reply {
            copy.be_empty();
        }
        let prompt = self.prompt.clone().filter(|prompt| !prompt.trim().is_empty());
        copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, source));
    }
}

/// The engine for a kind of log.
pub(super) struct Lines<L>(pub L);

impl<L: Log> Engine for Lines<L> {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        L::locate(store, only)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        let (log, mut ends, mut facts) = (L::log(&copy.place), Ends::default(), L::Facts::default());
        let file = if *log == *copy.place.path { Some(Jsonl::open(&log)?) } else { Jsonl::open_if_present(&log)? };
        match file {
            Some(file) => ends.read::<L>((&log, file.with_tail(L::WINDOW)), &mut copy, &mut facts, context)?,
            None => (ends.is_missing, ends.is_whole) = (true, true),
        }
        copy.size_bytes = L::size(&copy, context);
        ends.fill(&mut copy, L::SOURCE, context.env.clock.now);
        L::finish(&mut copy, &ends, facts, context)?;
        if copy.transcript_bytes > L::MAX_BYTES {
            let agent = about(copy.place.agent()).title;
            let why = format!("its log has more than 512 MiB, the longest text of Node.js, so {agent} cannot read it");
            copy.obstruct(Obstacle { is_size: true, ..Obstacle::new(why) });
        }
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        let (mut usage, mut facts) =
            (UsageSum::wanted(&about(copy.place.agent()).usage, observers), L::Facts::default());
        each_line(&L::log(&copy.place), &mut |line| {
            usage.iter_mut().for_each(|usage| L::add_usage(line, usage));
            if !observers.counts {
                return ControlFlow::Continue(());
            }
            let record = L::parse(line);
            L::divide(observers.line, record.as_ref(), &mut facts);
            observers.has_bad_lines |= record.is_none();
            record.iter().for_each(|record| L::see_counted(record, copy));
            let turn = record.filter(|record| L::is_own(record, copy)).and_then(|record| record.turn());
            turn.into_iter().for_each(|turn| observers.add(turn));
            observers.line += 1;
            ControlFlow::Continue(())
        })?;
        copy.usage = usage.map(UsageSum::finish).or(copy.usage);
        if !observers.counts {
            return Ok(());
        }
        let branches = L::branches(&facts, observers.line);
        let all = observers.finish_on(&branches, L::WAY_TO_BRANCHES, copy);
        match copy.kind {
            SessionKind::Empty if all > 0 => {
                copy.kind = SessionKind::Main;
                copy.health.remove(Health::EmptySession);
            }
            SessionKind::Main if all == 0 => copy.be_empty(),
            _ => {}
        }
        Ok(())
    }

    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        let (mut facts, mut lines) = (L::Facts::default(), 0);
        if L::HAS_BRANCHES {
            each_line(&L::log(&copy.place), &mut |line| {
                L::divide(lines, L::parse(line).as_ref(), &mut facts);
                lines += 1;
                ControlFlow::Continue(())
            })?;
        }
        Ok(L::branches(&facts, lines))
    }

    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let log = L::log(&copy.place);
        let branches = self.branches(copy)?;
        let mut number = 0;
        if copy.obstacle.is_some() {
            for text in L::texts(&copy.place) {
                if let Some(message) = text_file(&text)
                    && see(message).is_break()
                {
                    return Ok(());
                }
            }
        }
        each_line(&log, &mut |line| {
            let branch = branches.other(number);
            let is_wanted = branches.has(number, wanted);
            number += 1;
            let messages = is_wanted.then(|| messages::<L>(line, copy)).flatten();
            messages.into_iter().flatten().try_for_each(|message| see(message.on_branch(branch)))
        })
    }

    fn last_messages(&self, copy: &SessionCopy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        let messages = |line: &[u8]| messages::<L>(line, copy);
        if L::HAS_BRANCHES { Ok(None) } else { last_messages(&L::log(&copy.place), count, messages) }
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(L::log(place))
    }

    fn texts(&self, place: &Located) -> Vec<PathBuf> {
        L::texts(place)
    }
}

/// Reads a text file as a message with its name; `None` for one that is not a text.
fn text_file(path: &Path) -> Option<Message> {
    let bytes = fsio::read_if_present(path, MAX_TEXT).ok()??;
    let (name, text) = (path.file_name()?.to_string_lossy(), String::from_utf8(bytes).ok()?);
    Some(Message::new(Role::System, format!("{name}\n\n{text}"), None))
}

fn messages<L: Log>(line: &[u8], copy: &SessionCopy) -> Option<Vec<Message>> {
    let record = L::parse(line)?;
    Some(if L::is_own(&record, copy) { record.messages() } else { Vec::new() })
}
