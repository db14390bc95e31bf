//! OpenHands: a directory a conversation, with its state and one event a file.

use std::fs;
use std::io;

use super::{Generator, Project};

impl Generator {
    pub(super) fn openhands(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let (dashed, id) = (session.id.clone(), session.id.replace('-', ""));
        let dir = self.root.join(".openhands/conversations").join(&id);
        fs::create_dir_all(dir.join("events"))?;
        let cwd = &session.cwd.clone();
        let system = self.prose(15_000);
        let mut events = vec![format!(
            r#""source":"agent","system_prompt":{{"type":"text","text":"{system}"}},"dynamic_context":{{"type":"text","text":"Your current working directory is: {cwd}\\nLinux"}},"kind":"SystemPromptEvent""#
        )];
        for _ in 0..3 {
            let (prompt, answer, said) = (self.prose(80), self.prose(1_000), self.prose(500));
            let message = |source: &str, text: &str| {
                format!(
                    r#""source":"{source}","llm_message":{{"content":[{{"type":"text","text":"{text}"}}]}},"kind":"MessageEvent""#
                )
            };
            events.push(message("user", &prompt));
            events.push(
                r#""source":"agent","thought":[],"tool_name":"terminal","tool_call":{"name":"terminal","arguments":"{}"},"kind":"ActionEvent""#
                    .to_owned(),
            );
            events.push(format!(
                r#""source":"environment","observation":{{"content":[{{"type":"text","text":"{answer}"}}]}},"kind":"ObservationEvent""#
            ));
            events.push(message("agent", &said));
        }
        for (number, event) in events.iter().enumerate() {
            let (at, name) = (session.tick(3_000), self.uuid());
            let text = format!(r#"{{"id":"{name}","timestamp":"{}",{event}}}"#, at.strftime("%Y-%m-%dT%H:%M:%S.%6f"));
            self.write(&dir.join(format!("events/event-{number:05}-{name}.json")), text, at)?;
        }
        self.write(&dir.join("events/.eventlog.lock"), "", session.at)?;
        let state = format!(
            r#"{{"id":"{dashed}","agent":{{"llm":{{"model":"maker/model-large-1"}}}},"workspace":{{"working_dir":"{cwd}","kind":"LocalWorkspace"}},"execution_status":"finished"}}"#
        );
        self.write(&dir.join("base_state.json"), state, session.at)?;
        Ok(id)
    }
}
