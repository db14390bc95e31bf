//! Sessions of Amplifier in the sample home.

use std::fmt::Write as _;
use std::io;

use jiff::Timestamp;

use super::{Clock, Home, python, quoted};

/// One directory of Amplifier's.
struct Amplifier<'a> {
    home: &'a Home,
    dir: String,
    id: &'a str,
    clock: Clock,
    created: Timestamp,
    transcript: String,
    turns: u32,
    calls: u32,
}

impl<'a> Amplifier<'a> {
    fn new(home: &'a Home, project: &str, id: &'a str, start: &str) -> Self {
        let clock = Clock::at(start);
        let dir = format!(".amplifier/projects/{project}/sessions/{id}");
        Self { home, dir, id, created: clock.0, clock, transcript: String::new(), turns: 0, calls: 0 }
    }

    fn entry(&mut self, seconds: i64, fields: &str) {
        let at = python(self.clock.tick(seconds));
        let _ = writeln!(self.transcript, r#"{{{fields}, "metadata": {{"timestamp": "{at}"}}}}"#);
    }

    fn prompt(mut self, seconds: i64, text: &str) -> Self {
        self.turns += 1;
        self.entry(seconds, &format!(r#""role": "user", "content": {}"#, quoted(text)));
        self
    }

    fn reply(mut self, seconds: i64, text: &str) -> Self {
        let text = quoted(text);
        self.entry(seconds, &format!(r#""role": "assistant", "content": [{{"type": "text", "text": {text}}}]"#));
        self
    }

    fn shell(mut self, seconds: i64, command: &str, output: &str) -> Self {
        self.calls += 1;
        let call = format!("call_{}", self.calls);
        let arguments = quoted(&format!(r#"{{"command": {}}}"#, quoted(command)));
        self.entry(
            seconds,
            &format!(
                r#""role": "assistant", "tool_calls": [{{"id": "{call}", "function": {{"name": "bash", "arguments": {arguments}}}}}]"#
            ),
        );
        let output = quoted(output);
        self.entry(2, &format!(r#""role": "tool", "tool_call_id": "{call}", "name": "bash", "content": {output}"#));
        self
    }

    fn file(&self, name: &str, text: &str) -> io::Result<()> {
        self.home.write(&format!("{}/{name}", self.dir), text)
    }

    fn transcript(self) -> io::Result<Self> {
        self.file("transcript.jsonl", &self.transcript)?;
        Ok(self)
    }

    /// Writes metadata.json, whose `working_dir` is where the session was last resumed.
    fn metadata(self, name: &str, working_dir: &str) -> io::Result<Self> {
        let created = python(self.created);
        let text = format!(
            r#"{{
  "session_id": "{}",
  "created": "{created}",
  "bundle": "bundle:foundation",
  "model": "sample-model-large",
  "turn_count": {},
  "working_dir": {},
  "name": {},
  "name_generated_at": "{}"
}}"#,
            self.id,
            self.turns,
            quoted(working_dir),
            quoted(name),
            python(self.clock.0),
        );
        self.file("metadata.json", &text)?;
        Ok(self)
    }

    fn session_info(self, working_dir: &str) -> io::Result<Self> {
        let (dir, created) = (quoted(working_dir), python(self.created));
        let text = format!("{{\n  \"working_dir\": {dir},\n  \"created_at\": \"{created}\"\n}}");
        self.file("session-info.json", &text)?;
        Ok(self)
    }
}

pub(super) fn amplifier(home: &Home) -> io::Result<()> {
    let certificates = "c41f7a90-52de-4b18-9a53-7e0d6f2b8c11";

    // All is well, though it was last resumed from another directory.
    Amplifier::new(home, "-etc", certificates, "2026-11-17T08:40:12.381204Z")
        .prompt(0, "the certificate of the mail host ends on friday, renew it and check the chain")
        .shell(6, "openssl x509 -enddate -noout -in ssl/certs/mail.pem", "notAfter=Nov 20 12:00:00 2026 GMT")
        .reply(
            4,
            "It ends on 20 November. I will ask for a new one and compare the chains before anything is replaced.",
        )
        .prompt(310, "go ahead, but keep the old files")
        .shell(9, "cp -a ssl/certs/mail.pem ssl/certs/mail.pem.old", "")
        .reply(21, "Renewed; the new chain verifies. The old files lie beside the new ones with `.old` at the end.")
        .prompt(86_400, "now the same for the web host")
        .reply(40, "The web host is covered by the same request, so its certificate was renewed with it.")
        .transcript()?
        .metadata("Renew the mail certificates", "/var/log")?
        .session_info("/etc")?;

    // Its sub-agent is next to it.
    let helper =
        Amplifier::new(home, "-etc", "0000000000000000-6b1f0c2d9e8a7453_chain-checker", "2026-11-17T08:40:30.000000Z")
            .prompt(0, "Verify each certificate in ssl/certs against the system's roots and list those that fail.")
            .reply(15, "All 14 verify.")
            .transcript()?;
    helper.file(
        "metadata.json",
        &format!(
            r#"{{
  "session_id": "{}",
  "parent_id": "{certificates}",
  "trace_id": "{certificates}",
  "agent_name": "foundation:chain-checker",
  "child_span": "6b1f0c2d9e8a7453",
  "created": "{}",
  "turn_count": 1,
  "working_dir": "/etc"
}}"#,
            helper.id,
            python(helper.created),
        ),
    )?;

    // A fork; forks get no session-info.json.
    let fork = Amplifier::new(home, "-etc", "7d20be56-0f3c-4e6a-8b91-44a5c6d7e8f9", "2026-11-18T10:02:00.000000Z")
        .prompt(0, "the certificate of the mail host ends on friday, renew it and check the chain")
        .reply(8, "It ends on 20 November.")
        .prompt(60, "what would change if we moved to 90 day certificates?")
        .reply(33, "A timer must renew them; the reload of the mail server is the only step that is manual today.")
        .transcript()?;
    fork.file(
        "metadata.json",
        &format!(
            r#"{{
  "session_id": "{}",
  "parent_id": "{certificates}",
  "forked_from_turn": 1,
  "forked_at": "{created}",
  "created": "{created}",
  "turn_count": 2,
  "bundle": null,
  "model": null,
  "name": "What if certificates lasted 90 days"
}}"#,
            fork.id,
            created = python(fork.created),
        ),
    )?;

    // From before session-info.json existed.
    Amplifier::new(home, "-usr-local", "19d3c6ab-84f7-4c0e-b6d2-0a9f8e7c5b43", "2026-10-02T13:20:44.902113Z")
        .prompt(0, "put the three backup scripts into one package")
        .shell(12, "ls bin", "backup-db\nbackup-home\nbackup-verify")
        .reply(18, "They share the same options. One script with three commands would remove 140 repeated lines.")
        .prompt(95, "do that")
        .reply(160, "Done: `bin/backup db|home|verify`. The old names are links to it.")
        .transcript()?
        .metadata("One package for the backup scripts", "/usr/local")?;

    // Killed in its first turn: only the log of events is left.
    let killed = "e8f0a1b2-c3d4-4e5f-9a6b-7c8d9e0f1a2b";
    let ts = "2026-11-12T22:47:09.310+00:00";
    let head = format!(
        r#"{{"ts": "{ts}", "lvl": "INFO", "schema": {{"name": "amplifier.log", "ver": "1.0.0"}}, "session_id": "{killed}""#
    );
    Amplifier::new(home, "-usr-local", killed, "2026-11-12T22:47:09Z").file(
        "events.jsonl",
        &format!(
            "{head}, \"event\": \"session:start\", \"data\": {{}}}}\n\
             {head}, \"event\": \"prompt:submit\", \"data\": {{\"prompt\": \"restore last night's dump into a scratch database\"}}}}\n"
        ),
    )?;

    // A server that ran out of disk left half a session-info.json, and later resumed the session from its own
    // directory; the record of its chat still has the right one.
    let half = "52a9d7e4-6c1b-4f38-a0d5-93b2c4e6f817";
    Amplifier::new(home, "-opt", half, "2026-11-05T16:11:31.004512Z")
        .prompt(0, "the upgrade stopped half-way, find out what is safe to remove")
        .shell(7, "du -sh *", "1.9G\tapp-41\n2.2G\tapp-42\n96M\tapp-43.partial")
        .reply(11, "`app-43.partial` was never activated and can go. `app-41` is still the fallback.")
        .transcript()?
        .metadata("Clean up after the failed upgrade", "/root")?
        .file("session-info.json", "{\n  \"working_dir\": \"/op")?;
    home.write(
        ".amplifier/server/slack-sessions.json",
        &format!(
            r#"[
  {{
    "session_id": "{half}",
    "channel_id": "C0OPS",
    "thread_ts": null,
    "project_id": "opt",
    "description": "upgrade",
    "created_by": "ana",
    "created_at": "2026-11-05T16:11:30.000000+00:00",
    "last_active": "2026-11-05T16:12:00.000000+00:00",
    "is_active": false,
    "working_dir": "/opt"
  }}
]"#
        ),
    )?;

    // No file records a directory that encodes to its project.
    Amplifier::new(home, "-home-ana-wiki", "a60b9c8d-7e5f-4a3b-8c2d-1e0f9a8b7c6d", "2026-08-21T07:30:00.250000Z")
        .prompt(0, "make the search of the wiki find words inside code blocks")
        .reply(25, "The indexer strips code blocks in `index.py`; keeping them doubles the index to 8 MB.")
        .transcript()?
        .metadata("Search inside code blocks", "/root")?;

    // Opened and closed again.
    Amplifier::new(home, "-tmp", "2c3d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f", "2026-09-14T11:00:00.000000Z")
        .transcript()?
        .session_info("/tmp")?;
    Ok(())
}
