//! gptme: a directory a conversation, with its messages and its settings.

use std::fs;
use std::io;

use super::{Generator, Project, put};

impl Generator {
    pub(super) fn gptme(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let id = format!("{}-quiet-fox-{number}", session.at.strftime("%Y-%m-%d"));
        let dir = self.root.join(".local/share/gptme/logs").join(&id);
        fs::create_dir_all(&dir)?;
        let cwd = session.cwd.clone();
        let system = self.prose(15_000);
        let mut text = String::new();
        let mut say = |role: &str, content: &str, more: &str, at: jiff::Timestamp| {
            let at = at.strftime("%Y-%m-%dT%H:%M:%S.%6f");
            put(&mut text, &format!(r#"{{"role":"{role}","content":"{content}","timestamp":"{at}"{more}}}"#));
        };
        let hidden = r#","pinned":true,"hide":true"#;
        say("system", &system, hidden, session.at);
        say("system", &format!("## System Information\\n\\n**Working Directory:** {cwd}"), hidden, session.at);
        for _ in 0..3 {
            let (prompt, answer, said) = (self.prose(80), self.prose(1_000), self.prose(500));
            say("user", &prompt, "", session.tick(3_000));
            say("assistant", r#"@shell(c): {\"command\": \"ls\"}"#, "", session.tick(3_000));
            say("system", &answer, r#","call_id":"c""#, session.tick(3_000));
            say("assistant", &said, r#","metadata":{"model":"maker/model-large-1"}"#, session.tick(3_000));
        }
        self.write(&dir.join("conversation.jsonl"), text, session.at)?;
        let settings = format!(
            "[chat]\nmodel = \"maker/model-large-1\"\nstream = true\ninteractive = true\nworkspace = \"{cwd}\"\n\n[env]\n"
        );
        self.write(&dir.join("config.toml"), settings, session.at)?;
        self.write(&dir.join(".lock"), "1", session.at)?;
        Ok(id)
    }
}
