//! Amplifier: a directory a session, with a transcript, its backup, an event log and metadata.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Generator, Project, Session, put};

impl Generator {
    pub(super) fn amplifier(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let sessions = self.amplifier_sessions(project);
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

    /// Files a session in another project as well.
    pub(super) fn amplifier_twice(&mut self, project: &Project, other: &Project, id: &str) -> io::Result<()> {
        let [from, to] = [project, other].map(|project| self.amplifier_sessions(project).join(id));
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let modified = entry.metadata()?.modified()?.try_into().map_err(io::Error::other)?;
            self.write(&to.join(entry.file_name()), fs::read(entry.path())?, modified)?;
        }
        Ok(())
    }

    fn amplifier_sessions(&self, project: &Project) -> PathBuf {
        self.root.join(".amplifier/projects").join(project.dir.replace('/', "-")).join("sessions")
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

/// The time as Python prints it.
fn offset(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6f+00:00").to_string()
}
