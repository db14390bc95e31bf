//! Vibe: a directory a session, with two generations, chunks and a journal; about fifteen files.

use std::fs;
use std::io;

use super::{Generator, Project, put};

impl Generator {
    pub(super) fn vibe(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let (id, cwd, start) = (session.id.clone(), session.cwd.clone(), session.at);
        let dir = self.root.join(".vibe/logs/session/unified").join(&id);
        for name in ["chunks", "journal", "generations/0000000000000001", "generations/0000000000000008"] {
            fs::create_dir_all(dir.join(name))?;
        }
        let mut journal = String::new();
        let (mut entries, mut history) = (Vec::new(), Vec::new());
        for turn in 0..3 {
            for role in ["user", "assistant"] {
                let said = self.prose(if role == "user" { 70 } else { 600 });
                let at = session.tick(4_000).as_millisecond();
                let entry = format!(
                    r#"{{"content":[{{"text":"{said}","type":"text"}}],"createdAt":{at},"generationStatus":"completed","id":"{role}-{turn}","role":"{role}","sessionId":"{id}","type":"message","updatedAt":{at}}}"#
                );
                put(
                    &mut journal,
                    &format!(
                        r#"{{"payload":{{"delta":[{{"entry":{entry},"op":"append_entry"}}],"watermark":1}},"sequence":{turn},"type":"projection_delta"}}"#
                    ),
                );
                entries.push(entry);
                history.push(format!(r#"{{"message":{{"content":[{{"text":"{said}","type":"text"}}],"role":"{role}"}},"source":"history","turn_index":{turn}}}"#));
            }
            let (settings, request) = (self.prose(6_000), self.prose(10_000));
            put(
                &mut journal,
                &format!(r#"{{"payload":{{"input":{{"text":"{settings}"}}}},"sequence":{turn},"type":"core_input"}}"#),
            );
            put(
                &mut journal,
                &format!(
                    r#"{{"payload":{{"request":{{"text":"{request}"}}}},"sequence":{turn},"type":"action_intent"}}"#
                ),
            );
        }
        let (end, state, settings) = (session.at, self.prose(19_000), self.prose(4_800));
        let [conversation, checkpoint, runtime] = [self.hex(64), self.hex(64), self.hex(64)];
        let mut files = vec![
            (format!("chunks/{conversation}.json"), format!("[{}]", entries.join(","))),
            (format!("chunks/{checkpoint}.json"), format!("[{}]", history.join(","))),
            (format!("chunks/{runtime}.json"), format!(r#"[{{"text":"{settings}"}}]"#)),
            ("journal/0000000000000001.jsonl".to_owned(), journal),
            ("journal/0000000000000009.jsonl".to_owned(), String::new()),
            ("scheduled-loops.json".to_owned(), r#"{"version":1,"loops":[]}"#.to_owned()),
            (
                "CURRENT".to_owned(),
                format!(
                    r#"{{"generation":"0000000000000008","session_id":"{id}","snapshot_sequence":8,"store_format":"mistral.vibe.unified-session-store/v1","store_format_minor":9}}"#
                ),
            ),
            (
                "meta.json".to_owned(),
                format!(
                    "{{\n  \"session_id\": \"{id}\",\n  \"parent_session_id\": null,\n  \"start_time\": \"{start}\",\n  \"end_time\": \"{end}\",\n  \"git_branch\": \"{}\",\n  \"environment\": {{\n    \"working_directory\": \"{cwd}\"\n  }},\n  \"origin_directory\": \"{cwd}\",\n  \"title\": null,\n  \"title_source\": \"auto\",\n  \"archived_at\": null,\n  \"config\": {{\n    \"active_model\": \"large\",\n    \"model_name\": \"model-large-1\"\n  }}\n}}",
                    session.branch
                ),
            ),
        ];
        for generation in ["0000000000000001", "0000000000000008"] {
            let (chunks, first) =
                if generation.ends_with('1') { (String::new(), 1) } else { (format!("\"{conversation}\""), 9) };
            let own = [
                (
                    "manifest.json",
                    format!(
                        r#"{{"checkpoint":{{"chunks":["{checkpoint}"],"path":"checkpoint.json"}},"generation":"{generation}","projection_state":{{"chunks":[{chunks}],"path":"projection-state.json"}},"recovery_journal_segment":{{"first_sequence":{first},"path":"journal/000000000000000{first}.jsonl"}},"session_id":"{id}"}}"#
                    ),
                ),
                ("checkpoint.json", r#"{"checkpoint_version":1}"#.to_owned()),
                (
                    "projection-state.json",
                    format!(r#"{{"session_id":"{id}","snapshot":{{"history":{{"entries":[]}}}}}}"#),
                ),
                (
                    "runtime-state.json",
                    format!(
                        r#"{{"identity":{{"depth":0,"kind":"root","parent_session_id":null,"root_session_id":"{id}"}},"session_metadata":{{"active_model":"large","cwd":"{cwd}"}},"state":"{state}"}}"#
                    ),
                ),
            ];
            files.extend(own.map(|(name, text)| (format!("generations/{generation}/{name}"), text)));
        }
        for (name, text) in files {
            self.write(&dir.join(name), text, end)?;
        }
        Ok(id)
    }
}
