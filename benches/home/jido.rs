//! JidoCode: a signed document a session.

use std::fs;
use std::io;

use rejoin::jido_signature::{APP_SALTS, derive_key, sign};

use super::{Generator, Project};

const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

impl Generator {
    pub(super) fn jido(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let root = self.root.join(".jido_code");
        let key = match self.jido_key.take() {
            Some(key) => key,
            None => {
                fs::create_dir_all(root.join("sessions"))?;
                self.write(&root.join("machine_secret"), SECRET, session.at)?;
                let uname = rustix::system::uname();
                let name = uname.nodename().to_string_lossy();
                derive_key(APP_SALTS[0], SECRET, name.split('.').next().unwrap_or_default())
            }
        };
        let (id, cwd, start) = (session.id.clone(), session.cwd.clone(), session.at);
        let mut messages = Vec::new();
        for _ in 0..4 {
            for (role, length) in [("user", 80), ("assistant", 900)] {
                let (said, number, at) = (self.prose(length), self.hex(16), session.tick(8_000));
                messages.push(format!(r#"{{"content":"{said}","id":"{number}","role":"{role}","timestamp":"{at}"}}"#));
            }
        }
        let (title, end, conversation) = (self.prose(30), session.at, messages.join(","));
        let text = format!(
            r#"{{"closed_at":"{end}","config":{{"max_tokens":4096,"model":"model-large-1","provider":"maker","temperature":0.7}},"conversation":[{conversation}],"created_at":"{start}","id":"{id}","language":"rust","name":"{title}","project_path":"{cwd}","prompt_history":[],"todos":[],"updated_at":"{end}","version":1}}"#
        );
        let signed = sign(text.as_bytes(), &key).map_err(|_| io::Error::other("it cannot be signed"))?;
        self.jido_key = Some(key);
        self.write(&root.join("sessions").join(format!("{id}.json")), signed, end)?;
        Ok(id)
    }
}
