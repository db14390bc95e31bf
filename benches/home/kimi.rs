//! Kimi CLI: a directory a session below one named after the MD5 of a path, with a log, a context and a state.

use std::fmt::Write as _;
use std::fs;
use std::io;

use md5::{Digest as _, Md5};

use super::{FIRST_START, Generator, Project, put};

impl Generator {
    pub(super) fn kimi(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let id = session.id.clone();
        let name = Md5::digest(&project.dir).iter().fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        });
        if self.kimi_dirs.last() != Some(&project.dir) {
            self.kimi_dirs.push(project.dir.clone());
        }
        let dir = self.root.join(".kimi/sessions").join(name).join(&id);
        fs::create_dir_all(&dir)?;
        let system = self.prose(15_000);
        let (mut wire, mut context) = (String::new(), String::new());
        put(&mut wire, r#"{"type": "metadata", "protocol_version": "1.10"}"#);
        put(
            &mut context,
            &format!(
                r#"{{"role": "_system_prompt", "content": "The current working directory is `{}`. {system}"}}"#,
                session.cwd
            ),
        );
        for turn in 0..3 {
            let (prompt, answer, said) = (self.prose(80), self.prose(1_000), self.prose(500));
            let at = session.tick(9_000);
            let at = format!("{}.{:03}", at.as_second(), at.subsec_millisecond());
            for (kind, payload) in [
                ("TurnBegin", format!(r#"{{"user_input": [{{"type": "text", "text": "{prompt}"}}]}}"#)),
                ("StepBegin", r#"{"n": 1}"#.to_owned()),
                (
                    "ToolCall",
                    r#"{"type": "function", "id": "c", "function": {"name": "Shell", "arguments": "{}"}}"#.to_owned(),
                ),
                (
                    "ToolResult",
                    format!(r#"{{"tool_call_id": "c", "return_value": {{"is_error": false, "output": "{answer}"}}}}"#),
                ),
                ("ContentPart", format!(r#"{{"type": "text", "text": "{said}"}}"#)),
                ("StatusUpdate", r#"{"context_usage": 0.00132}"#.to_owned()),
                ("TurnEnd", "{}".to_owned()),
            ] {
                put(
                    &mut wire,
                    &format!(r#"{{"timestamp": {at}, "message": {{"type": "{kind}", "payload": {payload}}}}}"#),
                );
            }
            put(&mut context, &format!(r#"{{"role": "_checkpoint", "id": {turn}}}"#));
            put(&mut context, &format!(r#"{{"role":"user","content":"{prompt}"}}"#));
            put(&mut context, &format!(r#"{{"role":"tool","content":"{answer}","tool_call_id":"c"}}"#));
            put(&mut context, &format!(r#"{{"role":"assistant","content":"{said}"}}"#));
        }
        let title = if number.is_multiple_of(2) { format!("\"{}\"", self.prose(30)) } else { "null".to_owned() };
        let state = format!(
            "{{\n  \"version\": 1,\n  \"approval\": {{\n    \"yolo\": false\n  }},\n  \"additional_dirs\": [],\n  \"custom_title\": {title},\n  \"title_generated\": false,\n  \"plan_mode\": false,\n  \"archived\": false,\n  \"archived_at\": null,\n  \"todos\": []\n}}"
        );
        for (name, text) in [("wire.jsonl", wire), ("context.jsonl", context), ("state.json", state)] {
            self.write(&dir.join(name), text, session.at)?;
        }
        Ok(id)
    }

    /// Writes the list of directories, which is one file.
    pub(super) fn finish_kimi(&mut self) -> io::Result<()> {
        let entry = |dir: &String| format!(r#"{{"path": "{dir}", "kaos": "local", "last_session_id": null}}"#);
        let dirs: Vec<String> = self.kimi_dirs.iter().map(entry).collect();
        self.write(
            &self.root.join(".kimi/kimi.json"),
            format!(r#"{{"work_dirs": [{}]}}"#, dirs.join(", ")),
            FIRST_START,
        )
    }
}
