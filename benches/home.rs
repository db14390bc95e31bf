//! A generated home for the benchmarks: the shapes and sizes that the agents leave behind, in made-up words.
//!
//! Two thirds of the sessions are Claude Code's, one third Amplifier's, about ten a project. The same number
//! of sessions always gives the same bytes, except for the path of the home, which the records repeat.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

/// How many sessions share a directory.
const SESSIONS_A_PROJECT: usize = 10;
/// One Claude Code session in so many is large.
const LARGE_ONE_IN: usize = 500;
/// How large such a session is.
const LARGE: usize = 1024 * 1024;

/// A home on disk, removed when it is dropped.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    /// How many sessions `list` shows.
    pub(crate) listed: usize,
    /// How many regular files the stores hold.
    pub(crate) files: usize,
    /// How many bytes they hold.
    pub(crate) bytes: usize,
    /// A Claude Code session whose directory exists.
    pub(crate) claude_id: String,
    /// An Amplifier session whose directory exists.
    pub(crate) amplifier_id: String,
}

impl Home {
    /// Writes a home of this many sessions; sub-agents and other belongings come on top.
    pub(crate) fn generate(sessions: usize) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("rejoin-bench-").tempdir()?;
        // Agents record the directory as the system resolves it.
        let root = dir.path().canonicalize()?;
        let mut generator = Generator { root, ..Generator::default() };
        let mut home =
            Self { dir, listed: sessions, files: 0, bytes: 0, claude_id: String::new(), amplifier_id: String::new() };
        for number in 0..sessions {
            let is_claude = number % 3 != 2;
            let of_its_agent = if is_claude { number / 3 * 2 + number % 3 } else { number / 3 };
            let project = generator.project(of_its_agent / SESSIONS_A_PROJECT)?;
            if is_claude {
                let id = generator.claude(&project, of_its_agent)?;
                if project.exists && number <= sessions / 2 {
                    home.claude_id = id;
                }
            } else {
                let id = generator.amplifier(&project, of_its_agent)?;
                if project.exists && number <= sessions / 2 {
                    home.amplifier_id = id;
                }
            }
        }
        (home.files, home.bytes) = (generator.files, generator.bytes);
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The directories that hold the agents' files.
    pub(crate) fn stores(&self) -> [PathBuf; 2] {
        [".claude", ".amplifier"].map(|name| self.path().join(name))
    }
}

/// A directory in which sessions were started.
struct Project {
    dir: String,
    exists: bool,
}

#[derive(Default)]
struct Generator {
    root: PathBuf,
    seed: u64,
    files: usize,
    bytes: usize,
}

/// What the records of one session share.
struct Session {
    id: String,
    cwd: String,
    branch: &'static str,
    version: &'static str,
    entrypoint: &'static str,
    at: Timestamp,
    parent: Option<String>,
}

impl Session {
    fn tick(&mut self, milliseconds: usize) -> Timestamp {
        self.at += SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
        self.at
    }
}

const WORDS: &[&str] = &[
    "parser",
    "window",
    "record",
    "please",
    "the",
    "a",
    "of",
    "and",
    "checks",
    "before",
    "after",
    "river",
    "lantern",
    "tests",
    "fails",
    "because",
    "naïve",
    "order",
    "cache",
    "first",
    "second",
    "then",
    "copper",
    "harbour",
    "reads",
    "writes",
    "fixture",
    "module",
    "branch",
    "quietly",
    "long",
    "short",
    "meadow",
    "build",
    "step",
    "value",
    "größer",
    "than",
    "expected",
    "again",
    "number",
    "file",
    "directory",
    "with",
    "without",
    "error",
    "handle",
];

impl Generator {
    /// The generator known as splitmix64.
    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % below as u64).unwrap_or_default()
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random(list.len())]
    }

    fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[self.random(16)])).collect()
    }

    fn uuid(&mut self) -> String {
        let all = self.hex(31);
        format!("{}-{}-4{}-8{}-{}", &all[..8], &all[8..12], &all[12..15], &all[15..18], &all[19..31])
    }

    /// Text of about this length as it stands inside a JSON string, line breaks and quotes among it.
    fn prose(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(self.pick(WORDS));
            text.push_str(match self.random(24) {
                0 => ".\\n",
                1 => " \\\"x\\\" ",
                _ => " ",
            });
        }
        text.truncate(text.trim_end_matches([' ', '\\', 'n', '.']).len());
        text
    }

    /// Both agents work in the same directories; one in eight is gone since.
    fn project(&mut self, number: usize) -> io::Result<Project> {
        let dir = self.root.join("work").join(format!("{}-{number}.app", WORDS[number % 4]));
        let exists = number % 8 != 5;
        if exists {
            fs::create_dir_all(&dir)?;
        }
        let dir = dir.into_os_string().into_string().map_err(|_| io::Error::other("the path is not UTF-8"))?;
        Ok(Project { dir, exists })
    }

    fn write(&mut self, path: &Path, contents: &str, modified: Timestamp) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(contents.as_bytes())?;
        // A file that was written just now may belong to a live session; these are old.
        file.set_modified(SystemTime::from(modified))?;
        self.files += 1;
        self.bytes += contents.len();
        Ok(())
    }

    fn session(&mut self, project: &Project) -> Session {
        let start: Timestamp = "2026-01-05T08:00:00.123Z".parse().unwrap_or_default();
        let minutes = i64::try_from(self.random(250_000)).unwrap_or_default();
        Session {
            id: self.uuid(),
            cwd: project.dir.clone(),
            branch: self.pick(&["main", "fix/windows", "HEAD"]),
            version: self.pick(&["2.1.330", "2.1.197"]),
            entrypoint: self.pick(&["cli", "cli", "sdk-cli"]),
            at: start + SignedDuration::from_mins(minutes),
            parent: None,
        }
    }
}

/// Claude Code.
impl Generator {
    fn claude(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let slug: String = project.dir.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let dir = self.root.join(".claude/projects").join(slug);
        fs::create_dir_all(&dir)?;
        let mut session = self.session(project);
        let wanted = if number % LARGE_ONE_IN == LARGE_ONE_IN / 2 { LARGE } else { 8_000 + self.random(16_000) };
        let mut text = String::with_capacity(wanted + 8_192);
        self.claude_start(&mut text, &mut session);
        while text.len() < wanted {
            self.claude_turn(&mut text, &mut session);
        }
        self.claude_end(&mut text, &mut session);
        self.write(&dir.join(format!("{}.jsonl", session.id)), &text, session.at)?;
        if number % 10 == 3 {
            self.claude_belongings(&dir.join(&session.id), &mut session)?;
        }
        Ok(session.id)
    }

    fn claude_start(&mut self, text: &mut String, session: &mut Session) {
        let prompt = self.prose(60);
        let (id, at) = (session.id.clone(), session.tick(0));
        put(
            text,
            &format!(
                r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{at}","sessionId":"{id}","content":"{prompt}"}}"#
            ),
        );
        let at = session.tick(2);
        put(
            text,
            &format!(r#"{{"type":"queue-operation","operation":"dequeue","timestamp":"{at}","sessionId":"{id}"}}"#),
        );
        self.chained(text, session, "user", &format!(r#""message":{{"role":"user","content":"{prompt}"}}"#));
        for length in [1_000, 450, 80, 900] {
            self.attachment(text, session, length);
        }
        put(text, &format!(r#"{{"type":"atis-latch","atis":false,"sessionId":"{id}"}}"#));
        if session.version == "2.1.330" {
            // Newer clients repeat what they send to the model.
            for (kind, length) in [("api-request-shape", 4_000), ("api-request-blob", 900), ("api-request", 1_000)] {
                let (at, body) = (session.tick(1), self.prose(length));
                put(
                    text,
                    &format!(
                        r#"{{"type":"{kind}","sessionId":"{id}","timestamp":"{at}","shape":{{"text":"{body}"}}}}"#
                    ),
                );
            }
        }
    }

    /// A tool call with its answer and the words that follow.
    fn claude_turn(&mut self, text: &mut String, session: &mut Session) {
        let (said, ran, answer) = (self.prose(700), self.prose(120), self.prose(1_200));
        let call = self.hex(24);
        let message = |id: String, content: String| {
            format!(
                r#""message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"model-large-1","content":[{content}],"stop_reason":null,"usage":{{"input_tokens":4201,"output_tokens":88,"cache_read_input_tokens":16384}}}},"requestId":"req_{id}""#
            )
        };
        let id = self.hex(24);
        let said = message(id.clone(), format!(r#"{{"type":"text","text":"{said}"}}"#));
        self.chained(text, session, "assistant", &said);
        let called =
            format!(r#"{{"type":"tool_use","id":"toolu_{call}","name":"Bash","input":{{"command":"{ran}"}}}}"#);
        self.chained(text, session, "assistant", &message(id, called));
        let answered = format!(
            r#""message":{{"role":"user","content":[{{"tool_use_id":"toolu_{call}","type":"tool_result","content":"{answer}"}}]}},"toolUseResult":{{"stdout":"{answer}","stderr":"","interrupted":false}}"#
        );
        self.chained(text, session, "user", &answered);
        if self.random(4) == 0 {
            let prompt = self.prose(150);
            self.chained(text, session, "user", &format!(r#""message":{{"role":"user","content":"{prompt}"}}"#));
        }
    }

    fn claude_end(&mut self, text: &mut String, session: &mut Session) {
        self.attachment(text, session, 4_000);
        let id = session.id.clone();
        let title = self.prose(30);
        let leaf = self.uuid();
        put(
            text,
            &format!(r#"{{"type":"last-prompt","lastPrompt":"{title}","leafUuid":"{leaf}","sessionId":"{id}"}}"#),
        );
        match self.random(6) {
            0 => put(text, &format!(r#"{{"type":"custom-title","customTitle":"{title}","sessionId":"{id}"}}"#)),
            1 | 2 => put(text, &format!(r#"{{"type":"ai-title","aiTitle":"{title}","sessionId":"{id}"}}"#)),
            _ => {}
        }
        put(
            text,
            &format!(
                r#"{{"type":"cost-state","sessionId":"{id}","totalCostUSD":0.25,"totalAPIDuration":9120,"totalLinesAdded":4,"modelUsage":{{"model-large-1":{{"inputTokens":8402,"outputTokens":1931}}}}}}"#
            ),
        );
    }

    fn claude_belongings(&mut self, dir: &Path, session: &mut Session) -> io::Result<()> {
        let (agents, results) = (dir.join("subagents"), dir.join("tool-results"));
        fs::create_dir_all(&agents)?;
        fs::create_dir_all(&results)?;
        let name = format!("agent-{}", self.hex(17));
        let mut text = String::new();
        for _ in 0..3 {
            self.claude_turn(&mut text, session);
        }
        let text = text.replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
        self.write(&agents.join(format!("{name}.jsonl")), &text, session.at)?;
        let meta = r#"{"agentType":"general-purpose","description":"looks around"}"#;
        self.write(&agents.join(format!("{name}.meta.json")), meta, session.at)?;
        let (name, output) = (self.hex(9), self.prose(30_000));
        self.write(&results.join(format!("{name}.txt")), &output, session.at)
    }

    fn attachment(&mut self, text: &mut String, session: &mut Session, length: usize) {
        let body = self.prose(length);
        self.chained(text, session, "attachment", &format!(r#""attachment":{{"type":"note","content":"{body}"}}"#));
    }

    /// A record of the conversation, with the fields that those have in common.
    fn chained(&mut self, text: &mut String, session: &mut Session, kind: &str, body: &str) {
        let uuid = self.uuid();
        let parent = session.parent.replace(uuid.clone()).map_or("null".to_owned(), |uuid| format!(r#""{uuid}""#));
        let pause = 5 + self.random(4_000);
        let at = session.tick(pause);
        let Session { id, cwd, branch, version, entrypoint, .. } = session;
        put(
            text,
            &format!(
                r#"{{"parentUuid":{parent},"isSidechain":false,{body},"type":"{kind}","uuid":"{uuid}","timestamp":"{at}","userType":"external","entrypoint":"{entrypoint}","cwd":"{cwd}","sessionId":"{id}","version":"{version}","gitBranch":"{branch}"}}"#
            ),
        );
    }
}

/// Amplifier.
impl Generator {
    fn amplifier(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let sessions = self.root.join(".amplifier/projects").join(project.dir.replace('/', "-")).join("sessions");
        let mut session = self.session(project);
        let id = session.id.clone();
        self.amplifier_files(&sessions.join(&id), &mut session, "", number.is_multiple_of(2))?;
        if number % 10 == 3 {
            // A sub-session lies beside the one that made it.
            let child = format!("0000000000000000-{}_helper", self.hex(16));
            let extra = format!(",\n  \"parent_id\": \"{id}\",\n  \"agent_name\": \"base:helper\"");
            session.id.clone_from(&child);
            self.amplifier_files(&sessions.join(&child), &mut session, &extra, false)?;
        }
        Ok(id)
    }

    fn amplifier_files(
        &mut self,
        dir: &Path,
        session: &mut Session,
        extra: &str,
        has_session_info: bool,
    ) -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let created = offset(session.at);
        let (mut transcript, mut before, mut events) = (String::new(), String::new(), String::new());
        self.event(&mut events, session, "session:start", "");
        for _ in 0..3 {
            before.clone_from(&transcript);
            self.amplifier_turn(&mut transcript, &mut events, session);
        }
        self.event(&mut events, session, "session:end", "");

        let at = session.at;
        self.write(&dir.join("transcript.jsonl"), &transcript, at)?;
        self.write(&dir.join("transcript.jsonl.backup"), &before, at)?;
        self.write(&dir.join("events.jsonl"), &events, at)?;
        let title = self.prose(30);
        let Session { id, cwd, .. } = session;
        let name = if self.random(2) == 0 { format!(",\n  \"name\": \"{title}\"") } else { String::new() };
        let metadata = format!(
            "{{\n  \"session_id\": \"{id}\",\n  \"created\": \"{created}\",\n  \"bundle\": \"bundle:base\",\n  \"model\": \"maker/model-1\",\n  \"turn_count\": 3,\n  \"working_dir\": \"{cwd}\"{name}{extra}\n}}"
        );
        self.write(&dir.join("metadata.json"), &metadata, at)?;
        if has_session_info {
            let info = format!("{{\n  \"working_dir\": \"{cwd}\",\n  \"created_at\": \"{created}\"\n}}");
            self.write(&dir.join("session-info.json"), &info, at)?;
        }
        Ok(())
    }

    fn amplifier_turn(&mut self, transcript: &mut String, events: &mut String, session: &mut Session) {
        let (prompt, ran, answer, said) = (self.prose(80), self.prose(60), self.prose(700), self.prose(500));
        let call = self.hex(12);
        let mut say = |session: &mut Session, body: String| {
            let at = offset(session.tick(900));
            put(transcript, &format!(r#"{{{body}, "metadata": {{"timestamp": "{at}"}}}}"#));
        };
        say(session, format!(r#""role": "user", "content": "{prompt}""#));
        self.event(events, session, "prompt:submit", &format!(r#", "prompt": "{prompt}""#));
        let arguments = format!(r#"[{{"id": "call_{call}", "function": {{"name": "bash", "arguments": "{ran}"}}}}]"#);
        say(session, format!(r#""role": "assistant", "tool_calls": {arguments}"#));
        for event in ["execution:start", "provider:request", "llm:request", "llm:response", "tool:pre"] {
            let body = self.prose(120);
            self.event(events, session, event, &format!(r#", "detail": "{body}""#));
        }
        say(
            session,
            format!(r#""role": "tool", "tool_call_id": "call_{call}", "name": "bash", "content": "{answer}""#),
        );
        self.event(events, session, "tool:post", &format!(r#", "result": "{answer}""#));
        say(session, format!(r#""role": "assistant", "content": [{{"type": "text", "text": "{said}"}}]"#));
        self.event(events, session, "prompt:complete", &format!(r#", "response": "{said}""#));
    }

    /// The client logs each event twice.
    fn event(&mut self, text: &mut String, session: &mut Session, event: &str, data: &str) {
        let at = offset(session.tick(40));
        let id = &session.id;
        for _ in 0..2 {
            put(
                text,
                &format!(
                    r#"{{"ts": "{at}", "lvl": "INFO", "schema": {{"name": "amplifier.log", "ver": "1.0.0"}}, "event": "{event}", "session_id": "{id}", "data": {{"parent_id": null{data}, "timestamp": "{at}"}}}}"#
                ),
            );
        }
    }
}

fn put(text: &mut String, record: &str) {
    text.push_str(record);
    text.push('\n');
}

/// The time as Python prints it.
fn offset(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00").to_string()
}
