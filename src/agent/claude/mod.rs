//! Claude Code: `<config dir>/projects/<slug>/<uuid>.jsonl`, sub-agents next to or below it.
//!
//! Facts: measured on the real clients 2.1.330 and 2.1.197; claude-agent-sdk-python e8bde601.

pub(crate) mod records;

pub(super) mod about;
mod belongings;
mod branches;
pub(super) mod causes;
mod count;
mod desktop;
mod ends;
mod launch_args;
mod live;
mod places;
mod relocation;
mod rewind;
mod sidecar;
pub(crate) mod slug;
mod titles;
mod trailer;
mod typed;
mod upkeep;
mod usage;

use ends::{TAIL, TranscriptEnds};
use foldhash::HashSet;
use jiff::SignedDuration;

use super::mentions::{self, Mention};
use super::upkeep::{Retention, Strays};
use super::{Interest, Said, last_activity};
use crate::agent::prelude::*;
use crate::format::json::last_object;
use crate::format::jsonl::{Jsonl, each_line, last_messages};
use crate::session::branches::{BranchFilter, Branches};
use crate::session::causes::CauseLine;
pub(super) use launch_args::start_new;
pub(super) use live::liveness;
use live::{each_registration, judged};
use records::ClaudeRecord;
pub(super) use upkeep::link;

/// If the last message is this much older than the session's newest record, it may be an old one that was written
/// again.
const LATEST_TURN: SignedDuration = SignedDuration::from_mins(10);

/// The agent.
pub(super) struct Claude;

impl Reading for Claude {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        places::stores(env)
    }

    fn engine(&self) -> &'static dyn Engine {
        &Transcripts { complete }
    }

    fn notes(&self, store: &Store, env: &Env) -> StoreNotes {
        let mut notes = desktop::notes(store, env);
        let mut found = Found::default();
        each_registration(store, &mut found, |client| {
            if let Some(id) = client.id {
                notes.live.entry(id).or_default().push(client.process);
            }
        });
        notes.problems.append(&mut found.problems);
        notes
    }

    fn not_after(&self, place: &Located) -> Option<Timestamp> {
        last_activity(&place.path)
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        is_silent(record)
    }

    fn last_messages(&self, copy: &SessionCopy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        let mut end = branches::End::default();
        let last = last_messages(&copy.place.path, count, |line| {
            end.see(line);
            Some(messages(line, shows_sidechains))
        })?;
        // The last records may be old ones that were written again; then only the whole file shows which are new.
        let ends = |last: &Vec<Message>| last.windows(2).all(|pair| pair[0].at <= pair[1].at);
        let newest = copy.active_at.as_ref().map(|at| at.value);
        let is_late = |last: &Vec<Message>| {
            let end = last.last().and_then(|message| message.at);
            newest.zip(end).is_some_and(|(newest, end)| newest.duration_since(end) > LATEST_TURN)
        };
        Ok(last.filter(|last| ends(last) && !is_late(last) && end.is_on_one_branch()))
    }

    fn messages_with(
        &self,
        copy: &SessionCopy,
        interest: &dyn Fn(&[u8]) -> Interest,
        see: &mut dyn FnMut(Said) -> ControlFlow<()>,
    ) -> Result<(), PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        let mut repeats = Repeats::default();
        each_line(&copy.place.path, &mut |line| {
            let interest = interest(line);
            // A record and its repetition have the same relevance.
            if interest == Interest::Nothing || repeats.has(line) {
                return see(Said::Uninteresting(0));
            }
            let count =
                if interest == Interest::Count { ClaudeRecord::count_messages(line, shows_sidechains) } else { None };
            match count {
                Some(count) => see(Said::Uninteresting(count)),
                None => messages(line, shows_sidechains).into_iter().map(Said::Message).try_for_each(&mut *see),
            }
        })
    }

    fn verbatim(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }
}

impl Resuming for Claude {
    fn stuck_causes(&self, copy: &SessionCopy) -> Result<Vec<CauseLine>, PathError> {
        causes::read(copy, is_silent)
    }

    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        launch_args::command(copy, prompt)
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        launch_args::check_program(copy, env)
    }

    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        desktop::warning(&copy.place.store)
    }
}

impl Housekeeping for Claude {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        Ok(belongings::of(place, listings))
    }

    fn orphans(&self, store: &Store, env: &Env) -> Strays {
        upkeep::orphans(self, store, env)
    }

    fn mentions(&self, store: &Store, env: &Env) -> Vec<Mention> {
        let mut mentions = mentions::in_lists(AgentKind::Claude, about::ABOUT.lists, store);
        mentions.extend(desktop::mentions(store, env));
        mentions
    }

    fn retention(&self, store: &Store, env: &Env) -> Option<Retention> {
        // The app may override it when it starts the client.
        if desktop::is_in(store) { None } else { upkeep::retention(store, env) }
    }
}

/// The messages seen so far, to skip those that the client wrote again.
#[derive(Default)]
struct Repeats(HashSet<String>);

impl Repeats {
    /// Returns whether a line is a message that was seen before.
    fn has(&mut self, line: &[u8]) -> bool {
        let record = ClaudeRecord::of_line(line).filter(|record| record.is_message());
        record.and_then(|record| record.uuid.filled()).is_some_and(|uuid| !self.0.insert(uuid))
    }
}

/// The engine for transcripts with the records of Claude Code.
pub(super) struct Transcripts {
    /// Completes a copy with the facts outside of its transcript.
    pub(super) complete: fn(&mut SessionCopy, &ReadContext<'_>),
}

impl Engine for Transcripts {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        places::locate(store, only)
    }

    /// Reads the two ends of a transcript.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut file = Jsonl::open(&place.path)?.with_tail(TAIL);
        let mut copy = SessionCopy::new(place);
        copy.transcript_bytes = file.len();
        copy.size_bytes = file.len() + context.tree_size(copy.place.side_dir.as_deref());
        copy.modified_at = file.modified();
        let changed = file.changed();

        let mut ends = TranscriptEnds::default();
        ends.is_whole = file.lines_forward(&mut |line| {
            ends.see_from_start(line);
            ends.knows_start()
        })?;
        let is_subagent = copy.place.is_subagent || ends.is_sidechain;
        context.inspect(&copy.place, &copy.place.path, &mut file, is_subagent);
        file.lines_backward(&mut |line, is_ended| {
            ends.see_from_end(line, is_ended);
            ends.is_done_with_end()
        })?;
        let relocated = ends.fill(&mut copy);

        copy.set_active_by_file(copy.modified_at);
        context.bound_activity(&mut copy, changed);
        decide_launch_dir(&mut copy, relocated);
        (self.complete)(&mut copy, context);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        count::observe(copy, observers)
    }

    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        branches::read(copy)
    }

    /// Calls `see` with each message once.
    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        let branches = branches::read(copy)?;
        let (mut repeats, mut number) = (Repeats::default(), 0);
        each_line(&copy.place.path, &mut |line| {
            let (at, branch) = (number, branches.other(number));
            number += 1;
            if !branches.has(at, wanted) || repeats.has(line) {
                return ControlFlow::Continue(());
            }
            messages(line, shows_sidechains).into_iter().try_for_each(|message| see(message.on_branch(branch)))
        })
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }

    fn texts(&self, place: &Located) -> Vec<PathBuf> {
        place.side_dir.iter().map(|dir| dir.join("subagents")).collect()
    }
}

/// Adds the facts in the files of the app and in those next to a transcript, and the liveness.
fn complete(copy: &mut SessionCopy, context: &ReadContext<'_>) {
    desktop::entitle(copy, context.notes);
    sidecar::mark_archived(copy, context.env);
    (copy.liveness, copy.state) = judged(context.notes.live.get(&copy.place.id).map_or(&[], Vec::as_slice));
}

/// Returns whether a record is known to carry no conversation.
pub(super) fn is_silent(record: &[u8]) -> bool {
    ClaudeRecord::of_line(record).is_some_and(|record| record.is_silent())
}

/// Formats a line as messages; a line that is not a record has none.
fn messages(line: &[u8], shows_sidechains: bool) -> Vec<Message> {
    let parse = |line| serde_json::from_slice::<ClaudeRecord<'_>>(line).ok();
    let record = parse(line).or_else(|| parse(last_object(line)?));
    let record = record.filter(|record| shows_sidechains || !record.is_sidechain.0);
    record.map(|record| record.messages()).unwrap_or_default()
}

fn is_exec(entrypoint: &str) -> bool {
    entrypoint.starts_with("sdk")
}

/// Implements [`About::decide`](super::about::About::decide).
pub(super) fn decide_again(copy: &mut SessionCopy) {
    evidence::decide(copy, |_| true);
    if copy.is_filed_right {
        // Evidence that was added after the read has corrected it.
        copy.health.remove(Health::MisfiledSession);
    }
}

/// Chooses the first recorded directory that encodes to the project, or else the start directory.
fn decide_launch_dir(copy: &mut SessionCopy, relocated: Option<String>) {
    let relocated: Option<Arc<Path>> = relocated.map(|dir| Arc::from(Path::new(&dir)));
    let SessionCopy { evidence, start_dir, last_dir, place, .. } = copy;
    let relocated = relocated.as_ref().map(|dir| (dir, "relocated"));
    let start = start_dir.as_ref().map(|fact| (&fact.value, "transcript"));
    let last = last_dir.as_ref().map(|fact| (&fact.value, "last-directory"));
    for (dir, source) in relocated.into_iter().chain(start).chain(last) {
        if evidence.iter().all(|evidence| evidence.dir != *dir) {
            let counts = counts(place, dir);
            // Nearly every copy has exactly one, and a vector would reserve four.
            evidence.reserve_exact(1);
            evidence.push(Evidence { dir: Arc::clone(dir), source, detail: "transcript".into(), counts });
        }
    }
    evidence::decide(copy, |_| true);
    copy.mark_if(
        copy.launch_dir.is_some() && !copy.is_filed_right && copy.kind != SessionKind::Subagent,
        Health::MisfiledSession,
    );
}
