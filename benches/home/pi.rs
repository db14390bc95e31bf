//! Pi: a file a session, a header and a chain of records.

use std::fs;
use std::io;

use super::{Generator, Project, Session, put};

impl Generator {
    pub(super) fn pi(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let name = format!("--{}--", project.dir.trim_start_matches('/').replace('/', "-"));
        let dir = self.root.join(".pi/agent/sessions").join(name);
        fs::create_dir_all(&dir)?;
        let (id, cwd, start) = (session.id.clone(), session.cwd.clone(), session.at);
        let mut text = String::new();
        put(&mut text, &format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{start}","cwd":"{cwd}"}}"#));
        self.pi_record(&mut text, &mut session, "model_change", r#""provider":"maker","modelId":"model-large-1""#);
        self.pi_record(&mut text, &mut session, "thinking_level_change", r#""thinkingLevel":"off""#);
        let system = self.prose(5_500);
        self.pi_record(
            &mut text,
            &mut session,
            "message",
            &format!(r#""message":{{"role":"system","content":"{system}"}}"#),
        );
        for _ in 0..3 {
            let (prompt, said, answer) = (self.prose(80), self.prose(600), self.prose(1_200));
            let message = |role: &str, said: &str| {
                format!(r#""message":{{"role":"{role}","content":[{{"type":"text","text":"{said}"}}]"#)
            };
            self.pi_record(&mut text, &mut session, "message", &(message("user", &prompt) + "}"));
            let more = r#","api":"completions","provider":"maker","model":"model-large-1","usage":{"input":124,"output":10},"stopReason":"stop"}"#;
            self.pi_record(&mut text, &mut session, "message", &(message("assistant", &said) + more));
            self.pi_record(
                &mut text,
                &mut session,
                "message",
                &(message("toolResult", &answer) + r#","toolCallId":"c","toolName":"bash"}"#),
            );
            self.pi_record(&mut text, &mut session, "message", &(message("assistant", &said) + more));
        }
        if number.is_multiple_of(5) {
            let title = self.prose(30);
            self.pi_record(&mut text, &mut session, "session_info", &format!(r#""name":"{title}""#));
        }
        let file = format!("{}_{id}.jsonl", start.strftime("%Y-%m-%dT%H-%M-%S-%3fZ"));
        self.write(&dir.join(file), &text, session.at)?;
        Ok(id)
    }

    fn pi_record(&mut self, text: &mut String, session: &mut Session, kind: &str, body: &str) {
        let id = self.hex(8);
        let parent = session.parent.replace(id.clone()).map_or("null".to_owned(), |id| format!(r#""{id}""#));
        let at = session.tick(900);
        put(text, &format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{at:.3}",{body}}}"#));
    }
}
