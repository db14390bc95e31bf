//! Gemini CLI: a file a session, of lines or in the older generation a document; small files say whose a project is.

use std::fs;
use std::io;
use std::path::Path;

use super::{FIRST_START, Generator, Project};

/// So many sessions are documents of the older generation.
const OLD_ONE_IN: usize = 8;

impl Generator {
    pub(super) fn gemini(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let root = self.root.join(".gemini");
        let name = Path::new(&project.dir).file_name().map(|name| name.to_string_lossy().replace('.', "-"));
        let slug = name.unwrap_or_default();
        let temp = root.join("tmp").join(&slug);
        if !temp.exists() {
            fs::create_dir_all(temp.join("chats"))?;
            fs::create_dir_all(root.join("history").join(&slug))?;
            for base in ["tmp", "history"] {
                self.write(&root.join(base).join(&slug).join(".project_root"), &project.dir, session.at)?;
            }
            self.write(&temp.join("logs.json"), "[]", session.at)?;
            self.gemini_projects.push((project.dir.clone(), slug));
        }
        let is_old = number % OLD_ONE_IN == 5;
        let (id, cwd, start, mut messages) = (session.id.clone(), session.cwd.clone(), session.at, Vec::new());
        let context = self.prose(500);
        for turn in 0..3 {
            let (prompt, answer, said) = (self.prose(70), self.prose(1_500), self.prose(700));
            let [one, two] = [session.tick(500), session.tick(9_000)];
            messages.push(format!(
                r#"{{"id":"{turn}-1","timestamp":"{one}","type":"user","content":[{{"text":"{prompt}"}}]}}"#
            ));
            messages.push(format!(
                r#"{{"id":"{turn}-2","timestamp":"{two}","type":"gemini","content":"{said}","thoughts":[],"toolCalls":[{{"id":"c","name":"read_file","result":[{{"output":"{answer}"}}]}}],"tokens":{{"input":104,"output":10}},"model":"model-large-1"}}"#
            ));
        }
        let hash = self.hex(64);
        let header = format!(
            r#""sessionId":"{id}","projectHash":"{hash}","startTime":"{start}","lastUpdated":"{}""#,
            session.at
        );
        let stem = format!("session-{}-{}", start.strftime("%Y-%m-%dT%H-%M"), &id[..8]);
        let (ending, text) = if is_old {
            ("json", format!("{{{header},\"messages\":[{}]}}", messages.join(",")))
        } else {
            let context = format!(
                r#"{{"$set":{{"messages":[{{"id":"0","timestamp":"{start}","type":"user","content":[{{"text":"<session_context>\nWorkspace: {cwd}\n{context}\n</session_context>"}}]}}]}}}}"#
            );
            let changed = format!(r#"{{"$set":{{"lastUpdated":"{}"}}}}"#, session.at);
            let said = messages.iter().flat_map(|message| [message, &changed]).map(|line| format!("{line}\n"));
            ("jsonl", format!("{{{header},\"kind\":\"main\"}}\n{context}\n{}", said.collect::<String>()))
        };
        self.write(&temp.join("chats").join(format!("{stem}.{ending}")), &text, session.at)?;
        Ok(id)
    }

    /// Writes the list of projects, which is one file.
    pub(super) fn finish_gemini(&mut self) -> io::Result<()> {
        let lines: Vec<String> =
            self.gemini_projects.iter().map(|(dir, slug)| format!("    \"{dir}\": \"{slug}\"")).collect();
        let text = format!("{{\n  \"projects\": {{\n{}\n  }}\n}}", lines.join(",\n"));
        self.write(&self.root.join(".gemini/projects.json"), &text, FIRST_START)
    }
}
