//! Codex: a rollout a session in directories by date, some packed, and the database that lists them.

use std::fs;
use std::io;

use super::{Generator, Project, Session, put};

/// What a model is told lies in the first line of each rollout.
const INSTRUCTIONS: usize = 19_000;
/// Sessions that nobody used for long are packed.
const PACKED_ONE_IN: usize = 10;

impl Generator {
    pub(super) fn codex(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let root = self.root.join(".codex");
        let dir = root.join("sessions").join(session.at.strftime("%Y/%m/%d").to_string());
        fs::create_dir_all(&dir)?;
        let name = format!("rollout-{}-{}.jsonl", session.at.strftime("%Y-%m-%dT%H-%M-%S"), session.id);
        let path = dir.join(name);
        let prompt = self.prose(60);
        let text = self.rollout(&mut session, &prompt);
        if number % PACKED_ONE_IN == 7 {
            let packed = zstd::encode_all(text.as_bytes(), 3)?;
            self.write(&path.with_extension("jsonl.zst"), packed, session.at)?;
        } else {
            self.write(&path, &text, session.at)?;
        }
        #[cfg(feature = "sqlite")]
        self.thread(&root, &path, &session, &prompt)?;
        Ok(session.id)
    }

    fn rollout(&mut self, session: &mut Session, prompt: &str) -> String {
        let (instructions, id, cwd, branch) =
            (self.prose(INSTRUCTIONS), session.id.clone(), session.cwd.clone(), session.branch);
        let mut text = Records { text: String::new(), count: 0 };
        let at = session.at;
        text.add(
            session,
            "session_meta",
            &format!(
                r#"{{"session_id":"{id}","id":"{id}","timestamp":"{at:.3}","cwd":"{cwd}","originator":"codex-tui","cli_version":"0.169.0","source":"cli","model_provider":"maker","base_instructions":{{"text":"{instructions}"}},"git":{{"commit_hash":"0","branch":"{branch}"}}}}"#
            ),
        );
        let message = |role: &str, kind: &str, said: &str| {
            format!(
                r#"{{"type":"message","id":"msg_1","role":"{role}","content":[{{"type":"{kind}","text":"{said}"}}]}}"#
            )
        };
        for turn in 0..2 {
            let prompt = if turn == 0 { prompt.to_owned() } else { self.prose(90) };
            let (ran, answer, said) = (self.prose(100), self.prose(1_500), self.prose(400));
            text.add(session, "event_msg", &format!(r#"{{"type":"task_started","turn_id":"{turn}"}}"#));
            if turn == 0 {
                let (skills, state) = (self.prose(3_000), self.prose(3_000));
                text.add(session, "response_item", &message("developer", "input_text", &skills));
                let context = format!(r"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>");
                text.add(session, "response_item", &message("user", "input_text", &context));
                text.add(session, "world_state", &format!(r#"{{"full":true,"state":{{"text":"{state}"}}}}"#));
            }
            text.add(
                session,
                "turn_context",
                &format!(r#"{{"turn_id":"{turn}","cwd":"{cwd}","approval_policy":"never","model":"model-large-1"}}"#),
            );
            text.add(session, "response_item", &message("user", "input_text", &prompt));
            let item = |kind: &str, said: &str| {
                format!(
                    r#"{{"type":"item_completed","thread_id":"{id}","item":{{"type":"{kind}","content":[{{"type":"text","text":"{said}"}}]}}}}"#
                )
            };
            text.add(session, "event_msg", &item("UserMessage", &prompt));
            text.add(
                session,
                "response_item",
                &format!(r#"{{"type":"function_call","name":"exec_command","arguments":"{ran}","call_id":"c"}}"#),
            );
            text.add(
                session,
                "response_item",
                &format!(r#"{{"type":"function_call_output","call_id":"c","output":"{answer}"}}"#),
            );
            text.add(session, "event_msg", &item("AgentMessage", &said));
            text.add(session, "response_item", &message("assistant", "output_text", &said));
            text.add(
                session,
                "event_msg",
                r#"{"type":"token_count","info":{"total_token_usage":{"input_tokens":108,"output_tokens":10}}}"#,
            );
            text.add(session, "event_msg", &format!(r#"{{"type":"task_complete","last_agent_message":"{said}"}}"#));
        }
        text.text
    }

    #[cfg(feature = "sqlite")]
    fn thread(
        &mut self,
        root: &std::path::Path,
        rollout: &std::path::Path,
        session: &Session,
        prompt: &str,
    ) -> io::Result<()> {
        let database = self.databases.open(&root.join("state_5.sqlite"), TABLE)?;
        let (rollout, at) = (rollout.display().to_string(), session.at.as_second());
        database
            .execute(
                "INSERT INTO threads (id, rollout_path, created_at, updated_at, source, cwd, title, first_user_message)
                 VALUES (?1, ?2, ?3, ?3, 'cli', ?4, ?5, ?5)",
                rusqlite::params![session.id, rollout, at, session.cwd, prompt],
            )
            .map_err(io::Error::other)?;
        Ok(())
    }
}

#[cfg(feature = "sqlite")]
const TABLE: &str =
    "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, source TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0, first_user_message TEXT NOT NULL DEFAULT '', name TEXT);";

struct Records {
    text: String,
    count: usize,
}

impl Records {
    fn add(&mut self, session: &mut Session, kind: &str, payload: &str) {
        let (at, ordinal) = (session.tick(700), self.count);
        put(
            &mut self.text,
            &format!(r#"{{"timestamp":"{at:.3}","ordinal":{ordinal},"type":"{kind}","payload":{payload}}}"#),
        );
        self.count += 1;
    }
}
