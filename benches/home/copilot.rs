//! Copilot CLI: a directory a session with events and small files, and a lock for each beside them.

use std::fs;
use std::io;

use super::{Generator, Project, Session, put};

/// A turn repeats what the model is told.
const SYSTEM_PROMPT: usize = 27_000;

impl Generator {
    pub(super) fn copilot(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let state = self.root.join(".copilot/session-state");
        let (id, cwd, branch, start) = (session.id.clone(), session.cwd.clone(), session.branch, session.at);
        let dir = state.join(&id);
        let locks = state.join(".session-operation-locks");
        for dir in [&dir.join("checkpoints"), &dir.join("rewind-file-snapshots"), &locks] {
            fs::create_dir_all(dir)?;
        }
        let mut text = String::new();
        let started = format!(
            r#"{{"sessionId":"{id}","version":1,"copilotVersion":"1.0.102","startTime":"{start}","context":{{"cwd":"{cwd}","branch":"{branch}"}}}}"#
        );
        self.copilot_event(&mut text, &mut session, "session.start", &started);
        let prompt = self.prose(60);
        let said = format!(r#"{{"content":"{prompt}","transformedContent":"{prompt}","messageId":"p","turnId":"0"}}"#);
        self.copilot_event(&mut text, &mut session, "user.message", &said);
        let system = self.prose(SYSTEM_PROMPT);
        self.copilot_event(
            &mut text,
            &mut session,
            "system.message",
            &format!(r#"{{"role":"system","content":"{system}"}}"#),
        );
        for turn in 0..2 {
            let (answer, said) = (self.prose(1_500), self.prose(500));
            self.copilot_event(&mut text, &mut session, "assistant.turn_start", &format!(r#"{{"turnId":"{turn}"}}"#));
            let usage = self.prose(900);
            self.copilot_event(
                &mut text,
                &mut session,
                "session.usage_record",
                &format!(r#"{{"usage":{{"model":"model-large-1","detail":"{usage}"}}}}"#),
            );
            let call = r#"[{"toolCallId":"c","name":"bash","arguments":{"command":"ls"},"type":"function"}]"#;
            self.copilot_event(
                &mut text,
                &mut session,
                "assistant.message",
                &format!(
                    r#"{{"messageId":"{turn}","model":"model-large-1","content":"{said}","toolRequests":{call}}}"#
                ),
            );
            self.copilot_event(
                &mut text,
                &mut session,
                "tool.execution_complete",
                &format!(r#"{{"toolCallId":"c","success":true,"result":{{"content":"{answer}"}}}}"#),
            );
            self.copilot_event(&mut text, &mut session, "assistant.turn_end", &format!(r#"{{"turnId":"{turn}"}}"#));
        }
        let sums = self.prose(2_000);
        self.copilot_event(
            &mut text,
            &mut session,
            "session.shutdown",
            &format!(r#"{{"shutdownType":"routine","detail":"{sums}"}}"#),
        );

        let name = prompt.replace(['\\', '"', ':'], "");
        let workspace = format!(
            "id: {id}\ncwd: {cwd}\ngit_root: {cwd}\nbranch: {branch}\nclient_name: github/cli\nname: {name}\nuser_named: false\nsummary_count: 0\nfork_count: 0\ncreated_at: {start}\nupdated_at: {}\n",
            session.at
        );
        for (name, contents) in [
            ("events.jsonl", text.as_str()),
            ("workspace.yaml", &workspace),
            ("checkpoints/index.md", "# Checkpoints\n\nNone so far.\n"),
            ("rewind-file-snapshots/tracking.json", r#"{"version":1,"files":{}}"#),
            (".workspace-fork.lock", ""),
        ] {
            self.write(&dir.join(name), contents, session.at)?;
        }
        self.write(&locks.join(format!("{id}.lock")), "", session.at)?;
        Ok(id)
    }

    fn copilot_event(&mut self, text: &mut String, session: &mut Session, kind: &str, data: &str) {
        let id = self.uuid();
        let parent = session.parent.replace(id.clone()).map_or("null".to_owned(), |id| format!(r#""{id}""#));
        let at = session.tick(600);
        put(
            text,
            &format!(r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"{at:.3}","parentId":{parent}}}"#),
        );
    }
}
