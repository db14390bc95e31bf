//! The local backend of Letta Code: `<backend>/conversations/<id in base64>/` with messages.jsonl, conversation.json
//! and manifest.json. Each conversation belongs to an agent, which all directories share. A bare `letta` continues the
//! conversation `default` of its agent, which has the id of that agent here.
//!
//! Facts: measured on 0.25.9 (schema 1) and 0.32.18 (schema 2). Letta Code numbers conversations per home. The times in
//! schema 1 are invented. A migration to schema 2 writes its own directory into every header, and keeps the old file as
//! `messages.jsonl.pre-pi-backup-<time>` in the folder of the conversation. Default conversations by letta-ai/letta-code
//! 1f4d3e3e: conversationKey in local-store.ts, index.ts, headless.ts and agent-tags.ts.

pub(super) mod about;
mod records;

use super::lines::{Ends, Lines, Log};
use super::usage::UsageSum;
use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::format::json::record;
use crate::format::jsonl::Jsonl;
use crate::session::branches::{BranchFilter, Branches};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{DIRECTORY, LettaConversation, LettaLine, LettaManifest, ProcessStart, Rewritten};

const BACKEND: &str = "LETTA_LOCAL_BACKEND_DIR";
/// The file with the format of the messages, and with their migration.
const MANIFEST: &str = "manifest.json";
/// The kinds of conversations in the names of folders.
const CONVERSATION: &str = "conversation";
const DEFAULT: &str = "default";
/// Maximum size of the file, which lists the ids of all messages.
const MAX_META: u64 = 16 * 1024 * 1024;
/// Number of bytes at the end that are searched for the last start.
const MAX_SEARCH: u64 = 16 * 1024 * 1024;

/// Implements [`Agent`](super::Agent) for Letta Code.
pub(super) struct Letta;

impl Reading for Letta {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        // Only one of the stores is used: the same id would mean two conversations.
        vec![match env.agent_variable(BACKEND).map(|dir| env.absolute(Path::new(dir))) {
            Some(dir) => Store::named(AgentKind::Letta, &dir, BACKEND, &dir),
            None => Store {
                unset: vec![BACKEND],
                ..Store::usual(AgentKind::Letta, env.home.join(".letta/lc-local-backend"))
            },
        }]
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        // Some messages of an unknown format may look like known ones; a number would claim to count all of them.
        observers.counts &= !copy.health.contains(Health::UnsupportedVersion);
        self.engine().observe(copy, observers)
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        // Lines of an unknown format are neither checked nor repaired.
        unknown_format_of(place).is_none().then(|| messages_path(place))
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![messages_path(place)]
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        // There is only one branch; replaced lines have no branch.
        self.engine().messages_on(copy, BranchFilter::Active, see)?;
        unknown_format_of(&copy.place).map_or(Ok(()), |format| {
            let why = format!("{}, so messages may be missing", unknown_format(&format));
            Err(PathError::new("read", &messages_path(&copy.place), std::io::Error::other(why)))
        })
    }
}

impl Resuming for Letta {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        // The program would parse a text that looks like an option as an option.
        let text = |prompt: &str| if prompt.starts_with('-') { format!(" {prompt}") } else { prompt.to_owned() };
        let last = prompt.into_iter().flat_map(|prompt| ["-p".to_owned(), text(prompt)]).collect();
        let id = copy.place.id.as_str();
        let named: &[&str] = if is_default(&copy.place) {
            &["--agent", id, "--conversation", "default"]
        } else {
            &["--conversation", id]
        };
        Ok(Command::new(&[&["letta", "--backend", "local"], named].concat(), last))
    }

    fn check_start(&self, copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        let agent = agent_path(&copy.place).map_err(|error| format!("its agent is unknown: {error}"))?;
        if let Some(gone) = agent.filter(|path| !is_there(path)) {
            return Err(format!("the agent that it belongs to is gone ({} is not there)", gone.display()).into());
        }
        // Letta Code reads every conversation at its start.
        let torn = self.locate(&copy.place.store, None).places.into_iter().find(is_torn);
        let Some(torn) = torn.map(|torn| messages_path(&torn)) else { return Ok(()) };
        Err(format!(
            "the last line of {} was cut off, and Letta Code fails on every session while it is there; when nothing was \
             written to it for two minutes, run `rejoin doctor --fix --check torn-transcript`",
            torn.display()
        )
        .into())
    }
}

impl Moving for Letta {}

impl Housekeeping for Letta {
    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // The agent's memory is a repository that all conversations change, so it belongs to none of them.
        agent_path(place).ok().flatten().into_iter().filter(|path| is_there(path)).collect()
    }
}

/// Facts from a log for which a copy has no member.
#[derive(Default)]
pub(super) struct LettaFacts {
    header_dir: Option<PathBuf>,
    has_older: bool,
    first: Option<ProcessStart>,
    last: Option<ProcessStart>,
    rewritten: Rewritten,
}

impl Log for Letta {
    type Record<'a> = LettaLine<'a>;
    type Facts = LettaFacts;

    const FILE: Option<&'static str> = Some("messages.jsonl");
    const HAS_BRANCHES: bool = true;

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let (mut found, dir) = (Found::default(), store.root.join("conversations"));
        let folders = only.map(|id| [CONVERSATION, DEFAULT].map(|kind| Some(encoded(kind, id))));
        for folder in folders.into_iter().flatten().chain(only.is_none().then_some(None)) {
            found.add_folders(store, &dir, None, folder.as_deref(), &|name| id_of_folder(name).is_some());
        }
        found.places.retain(|place| !is_unused(place));
        for place in &mut found.places {
            place.id = id_of_folder(&place.id).map(|(_, id)| id).unwrap_or_default();
        }
        found
    }

    fn parse(line: &[u8]) -> Option<LettaLine<'_>> {
        LettaLine::parse(line)
    }

    fn divide(at: usize, line: Option<&LettaLine<'_>>, facts: &mut LettaFacts) {
        line.into_iter().for_each(|line| facts.rewritten.add(at, line));
    }

    fn branches(facts: &LettaFacts, _lines: usize) -> Branches {
        Branches::without(&facts.rewritten.replaced)
    }

    fn add_usage(line: &[u8], sum: &mut UsageSum) {
        let cost = Some(line).filter(|line| sum.has_mark(line)).and_then(|line| LettaLine::parse(line)?.cost());
        cost.into_iter().for_each(|(id, cost)| sum.add(id, Usage::from_cost(Some(cost))));
    }

    fn see_from_start(line: &LettaLine<'_>, _number: usize, _copy: &mut SessionCopy, facts: &mut LettaFacts) {
        facts.header_dir = facts.header_dir.take().or_else(|| line.header_dir());
        facts.has_older |= line.is_older();
        facts.first = facts.first.take().or_else(|| line.start());
    }

    fn knows_start(_copy: &SessionCopy, facts: &LettaFacts) -> bool {
        facts.first.is_some()
    }

    fn see_from_end(line: &LettaLine<'_>, copy: &mut SessionCopy, facts: &mut LettaFacts) {
        facts.last = facts.last.take().or_else(|| line.start());
        copy.model = copy.model.take().or_else(|| line.model().map(|model| Fact::new(model.to_owned(), "transcript")));
    }

    fn knows_end(copy: &SessionCopy, facts: &LettaFacts) -> bool {
        facts.last.is_some() && copy.model.is_some()
    }

    fn finish(
        copy: &mut SessionCopy,
        ends: &Ends,
        mut facts: LettaFacts,
        _context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        if ends.is_missing {
            copy.health.insert(Health::InvalidContent);
            copy.notes.push("its messages.jsonl is gone".to_owned());
        } else if facts.last.is_none() {
            let line = Jsonl::open(&messages_path(&copy.place))?.last_line_with(DIRECTORY.as_bytes(), MAX_SEARCH)?;
            facts.last = line.and_then(|line| LettaLine::parse(&line).and_then(|line| line.start()));
        }
        let manifest = small_file(copy, MANIFEST);
        let manifest: LettaManifest<'_> = record(&manifest).unwrap_or_default();
        note_formats(copy, facts.has_older, manifest.unknown_format());
        note_dirs(copy, facts, manifest.is_migrated());
        let conversation = small_file(copy, "conversation.json");
        let conversation: LettaConversation<'_> = record(&conversation).unwrap_or_default();
        let began = conversation.created_at().map(|at| Fact::new(at, "conversation")).or(copy.created_at.take());
        copy.created_at = manifest.created_at().map(|at| Fact::new(at, "manifest")).or(began);
        copy.title = conversation.summary.filled().map(|title| Fact::new(title.to_owned(), "conversation"));
        if conversation.archived.0 {
            copy.kind = SessionKind::Archived;
        } else if is_default(&copy.place) && copy.kind == SessionKind::Main && is_of_subagent(&copy.place) {
            copy.kind = SessionKind::Subagent;
        }
        Ok(())
    }
}

/// Records that messages are in an older or in an unknown format. Such a session must not count as empty.
fn note_formats(copy: &mut SessionCopy, has_older: bool, unknown: Option<String>) {
    if has_older {
        copy.health.insert(Health::InvalidContent);
        copy.notes.push(
            "its messages are in a form that Letta Code no longer reads; `letta local-backend migrate-transcripts` \
             converts them"
                .to_owned(),
        );
    }
    if (has_older || unknown.is_some()) && copy.kind == SessionKind::Empty {
        copy.health.remove(Health::EmptySession);
        copy.kind = SessionKind::Main;
    }
    if let Some(format) = unknown {
        // Lines of an unknown format may have another end.
        copy.health.remove(Health::TornTranscript);
        copy.health.insert(Health::UnsupportedVersion);
        copy.notes.push(format!("{}, so parts of it may not be shown", unknown_format(&format)));
    }
}

fn note_dirs(copy: &mut SessionCopy, facts: LettaFacts, is_migrated: bool) {
    let first = facts.first.or_else(|| facts.last.clone());
    let last = facts.last.or_else(|| first.clone());
    copy.start_dir = first.map(|start| Fact::new(start.dir, "transcript"));
    let Some(last) = last else {
        // A migration writes its own directory into the header.
        if let Some(dir) = facts.header_dir {
            let counts = !is_migrated;
            copy.start_dir = counts.then(|| Fact::new(dir.clone(), "header"));
            copy.last_dir = copy.start_dir.clone();
            copy.evidence.push(Evidence { dir: dir.into(), source: "header", detail: "its header".into(), counts });
        }
        return;
    };
    copy.git_branch = last.branch.map(|branch| Fact::new(branch, "transcript"));
    copy.last_dir = Some(Fact::new(last.dir.clone(), "transcript"));
    let detail = "the text before its last prompts".into();
    copy.evidence.push(Evidence { dir: last.dir, source: "transcript", detail, counts: true });
}

/// Returns the format of a session's messages if it is unknown.
fn unknown_format_of(place: &Located) -> Option<String> {
    let bytes = fsio::read_if_present(&place.path.join(MANIFEST), MAX_META).ok()??;
    record::<LettaManifest<'_>>(&bytes)?.unknown_format()
}

/// Returns the explanation that the messages are in an unknown format.
fn unknown_format(format: &str) -> String {
    format!("its {MANIFEST} names a format that rejoin does not know ({format})")
}

/// Reads a small file of a session; empty if that fails.
fn small_file(copy: &mut SessionCopy, name: &str) -> Vec<u8> {
    let path = copy.place.path.join(name);
    read_or_note(copy, &path, MAX_META, path.display()).unwrap_or_default()
}

/// Returns the file of a conversation's agent, if the conversation names one.
fn agent_path(place: &Located) -> Result<Option<PathBuf>, PathError> {
    let bytes = fsio::read_if_present(&place.path.join("conversation.json"), MAX_META)?.unwrap_or_default();
    let conversation: LettaConversation<'_> = record(&bytes).unwrap_or_default();
    let name = conversation.agent_id.filled().map(|id| URL_SAFE_NO_PAD.encode(id));
    Ok(name.map(|name| place.store.root.join("agents").join(format!("{name}.json"))))
}

/// Returns whether the last line of a session is torn.
fn is_torn(place: &Located) -> bool {
    let mut is_torn = false;
    if let Ok(Some(file)) = Jsonl::open_if_present(&messages_path(place)) {
        // An unreadable file is not known to be torn.
        let _ = file.lines_backward(&mut |line, is_ended| {
            is_torn = !is_ended && LettaLine::parse(line).is_none();
            true
        });
    }
    is_torn && unknown_format_of(place).is_none()
}

fn messages_path(place: &Located) -> PathBuf {
    place.path.join("messages.jsonl")
}

/// Returns the folder name in the program's encoding.
fn encoded(kind: &str, id: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{kind}:{id}"))
}

/// Returns the kind and the id of the conversation in the name of a folder.
fn id_of_folder(name: &str) -> Option<(&'static str, String)> {
    let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    let (kind, id) = name.split_once(':')?;
    let kind = [CONVERSATION, DEFAULT].into_iter().find(|known| *known == kind)?;
    is_word(id).then(|| (kind, id.to_owned()))
}

/// Returns whether a session is the default conversation of its agent.
fn is_default(place: &Located) -> bool {
    let folder = place.path.file_name().and_then(|name| id_of_folder(name.to_str()?));
    folder.is_some_and(|(kind, _)| kind == DEFAULT)
}

/// Returns whether a session is the default conversation that an agent got at its creation, still without a record.
fn is_unused(place: &Located) -> bool {
    is_default(place) && messages_path(place).metadata().is_ok_and(|file| file.len() <= 1)
}

/// Returns whether the agent of a conversation is a sub-agent.
fn is_of_subagent(place: &Located) -> bool {
    let agent = agent_path(place).ok().flatten().and_then(|path| fsio::read_if_present(&path, MAX_META).ok()?);
    let tags = agent.as_deref().map(|agent| inner::<Vec<Text<'_>>>(member(record(agent), "tags")));
    tags.is_some_and(|tags| tags.iter().any(|tag| tag.get() == Some("role:subagent")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_name_is_base64_of_id() {
        assert_eq!(encoded("conversation", "local-conv-1"), "Y29udmVyc2F0aW9uOmxvY2FsLWNvbnYtMQ");
        let id = |kind, id: &str| id_of_folder(&encoded(kind, id));
        assert_eq!(id(CONVERSATION, "local-conv-1"), Some((CONVERSATION, "local-conv-1".to_owned())));
        assert_eq!(id(DEFAULT, "agent-local-1"), Some((DEFAULT, "agent-local-1".to_owned())));
        let others = [encoded("x", "agent-local-1"), encoded(DEFAULT, "../x"), encoded(CONVERSATION, "--help")];
        for other in others.iter().map(String::as_str).chain(["", "x", "local-conv-1"]) {
            assert_eq!(id_of_folder(other), None, "{other}");
        }
    }
}
