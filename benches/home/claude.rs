//! Claude Code: one transcript per session, with sub-agents and tool results next to some.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{FIRST_START, Generator, Project, Session, put};

/// One session in this many is large.
const LARGE_ONE_IN: usize = 500;
/// The size of such a session in bytes.
const LARGE: usize = 1024 * 1024;

/// With realistic sizes, one session in this many is huge.
const HUGE_ONE_IN: usize = 100;
/// The size of every session in a home of small ones, and of huge ones.
const SMALL: usize = 10_500;
const HUGE: usize = 60_000_000;

impl Generator {
    pub(super) fn claude(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let wanted = if number % LARGE_ONE_IN == LARGE_ONE_IN / 2 { LARGE } else { 8_000 + self.random(16_000) };
        self.claude_of(project, number, wanted)
    }

    /// Sizes spread evenly over each doubling: as many between 2 and 4 kB as between 128 and 256 kB.
    pub(super) fn claude_of_any_size(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let wanted = if number % HUGE_ONE_IN == HUGE_ONE_IN / 2 {
            10_000_000 * (1 + self.random(10))
        } else {
            (2_000 << self.random(7)) * (100 + self.random(100)) / 100
        };
        self.claude_of(project, number, wanted)
    }

    pub(super) fn claude_small(&mut self, project: &Project) -> io::Result<String> {
        let wanted = SMALL / 2 + self.random(SMALL);
        self.claude_transcript(project, wanted).map(|session| session.id)
    }

    pub(super) fn claude_huge(&mut self, project: &Project) -> io::Result<String> {
        self.claude_transcript(project, HUGE).map(|session| session.id)
    }

    fn claude_of(&mut self, project: &Project, number: usize, wanted: usize) -> io::Result<String> {
        let mut session = self.claude_transcript(project, wanted)?;
        if number == 0 {
            // Otherwise nearly all of them would be about to be deleted, and `doctor` would report each.
            self.write(&self.root.join(".claude/settings.json"), r#"{"cleanupPeriodDays":36500}"#, FIRST_START)?;
        }
        if number % 10 == 3 {
            let dir = self.claude_project(project).join(&session.id);
            self.claude_belongings(&dir, &mut session)?;
        }
        Ok(session.id)
    }

    /// Writes a transcript of about this size, and no other file.
    fn claude_transcript(&mut self, project: &Project, wanted: usize) -> io::Result<Session> {
        let dir = self.claude_project(project);
        fs::create_dir_all(&dir)?;
        let mut session = self.session(project);
        let mut text = String::with_capacity(wanted + 8_192);
        self.claude_start(&mut text, &mut session);
        while text.len() < wanted {
            self.claude_turn(&mut text, &mut session);
        }
        self.claude_end(&mut text, &mut session);
        self.write(&dir.join(format!("{}.jsonl", session.id)), &text, session.at)?;
        Ok(session)
    }

    fn claude_project(&self, project: &Project) -> PathBuf {
        let slug: String = project.dir.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.root.join(".claude/projects").join(slug)
    }

    fn claude_start(&mut self, text: &mut String, session: &mut Session) {
        let prompt = self.prose(60);
        let (id, at) = (session.id.clone(), session.tick(0));
        put(
            text,
            &format!(
                r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{at:.3}","sessionId":"{id}","content":"{prompt}"}}"#
            ),
        );
        let at = session.tick(2);
        put(
            text,
            &format!(r#"{{"type":"queue-operation","operation":"dequeue","timestamp":"{at:.3}","sessionId":"{id}"}}"#),
        );
        self.chained(text, session, "user", &format!(r#""message":{{"role":"user","content":"{prompt}"}}"#));
        for length in [1_000, 450, 80, 900] {
            self.attachment(text, session, length);
        }
        put(text, &format!(r#"{{"type":"atis-latch","atis":false,"sessionId":"{id}"}}"#));
        if session.version == "2.1.330" {
            // Newer clients repeat the text that they send to the model.
            for (kind, length) in [("api-request-shape", 4_000), ("api-request-blob", 900), ("api-request", 1_000)] {
                let (at, body) = (session.tick(1), self.prose(length));
                put(
                    text,
                    &format!(
                        r#"{{"type":"{kind}","sessionId":"{id}","timestamp":"{at:.3}","shape":{{"text":"{body}"}}}}"#
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
        let leaf = session.parent.clone().unwrap_or_default();
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
        let (mut text, task) = (String::new(), self.prose(90));
        self.chained(&mut text, session, "user", &format!(r#""message":{{"role":"user","content":"{task}"}}"#));
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
                r#"{{"parentUuid":{parent},"isSidechain":false,{body},"type":"{kind}","uuid":"{uuid}","timestamp":"{at:.3}","userType":"external","entrypoint":"{entrypoint}","cwd":"{cwd}","sessionId":"{id}","version":"{version}","gitBranch":"{branch}"}}"#
            ),
        );
    }
}
