//! Qwen Code: a transcript a session; a client that was killed leaves a file beside it.

use std::fs;
use std::io;

use super::{Generator, Project, Session, put};

impl Generator {
    pub(super) fn qwen(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let slug: String = project.dir.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let dir = self.root.join(".qwen/projects").join(slug);
        if !dir.exists() {
            fs::create_dir_all(dir.join("chats"))?;
            fs::create_dir_all(dir.join("memory"))?;
            for (name, text) in
                [("meta.json", r#"{"version":1}"#), ("extract-cursor.json", "{}"), ("memory/MEMORY.md", "")]
            {
                self.write(&dir.join(name), text, session.at)?;
            }
        }
        let id = session.id.clone();
        let mut text = String::new();
        for _ in 0..3 {
            let (prompt, thought, said, answer) = (self.prose(70), self.prose(200), self.prose(600), self.prose(1_200));
            self.qwen_record(
                &mut text,
                &mut session,
                "user",
                "real_user",
                &format!(r#""message":{{"role":"user","parts":[{{"text":"{prompt}"}}]}}"#),
            );
            let snapshot = r#""subtype":"attribution_snapshot","systemPayload":{"snapshot":{"promptCount":1}}"#;
            self.qwen_record(&mut text, &mut session, "system", "system", snapshot);
            let reply = |parts: &str| {
                format!(
                    r#""model":"model-large-1","message":{{"role":"model","parts":[{parts}]}},"usageMetadata":{{"totalTokenCount":115}}"#
                )
            };
            let call = reply(&format!(
                r#"{{"text":"{thought}","thought":true}},{{"functionCall":{{"id":"c","name":"shell","args":{{}}}}}}"#
            ));
            self.qwen_record(&mut text, &mut session, "assistant", "assistant_output", &call);
            let result = format!(
                r#""message":{{"role":"user","parts":[{{"functionResponse":{{"id":"c","name":"shell","response":{{"output":"{answer}"}}}}}}]}}"#
            );
            self.qwen_record(&mut text, &mut session, "tool_result", "tool_result", &result);
            let told = format!(
                r#""subtype":"ui_telemetry","systemPayload":{{"uiEvent":{{"event.name":"api_response","response_text":"{thought}"}}}}"#
            );
            self.qwen_record(&mut text, &mut session, "system", "system", &told);
            self.qwen_record(
                &mut text,
                &mut session,
                "assistant",
                "assistant_output",
                &reply(&format!(r#"{{"text":"{said}"}}"#)),
            );
        }
        let path = dir.join("chats").join(format!("{id}.jsonl"));
        self.write(&path, &text, session.at)?;
        if number % 10 == 3 {
            let cwd = &session.cwd;
            let runtime = format!(
                r#"{{"schema_version":1,"pid":4194304,"session_id":"{id}","work_dir":"{cwd}","hostname":"laptop"}}"#
            );
            self.write(&path.with_extension("runtime.json"), &runtime, session.at)?;
        }
        Ok(id)
    }

    fn qwen_record(&mut self, text: &mut String, session: &mut Session, kind: &str, from: &str, body: &str) {
        let uuid = self.uuid();
        let parent = session.parent.replace(uuid.clone()).map_or("null".to_owned(), |uuid| format!(r#""{uuid}""#));
        let at = session.tick(800);
        let Session { id, cwd, branch, .. } = session;
        put(
            text,
            &format!(
                r#"{{"uuid":"{uuid}","parentUuid":{parent},"sessionId":"{id}","timestamp":"{at:.3}","type":"{kind}","provenance":"{from}","cwd":"{cwd}","version":"0.24.4","gitBranch":"{branch}",{body}}}"#
            ),
        );
    }
}
