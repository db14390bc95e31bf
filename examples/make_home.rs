//! Writes the sample home that the README shows: `cargo run --example make_home [DIR]`.
//!
//! Every session in it is invented. The troubles are those of real machines: copies of one session, a lost or
//! corrupt session-info.json, a killed first turn, a torn transcript, a pointer whose session is filed elsewhere.
//! The same files come out each time; CI compares them with those that are checked in.

#![expect(clippy::disallowed_methods, reason = "an example is no part of the program; this one lays out files")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use jiff::{SignedDuration, Timestamp};
use rejoin::jido_signature::{APP_SALTS, derive_key, sign};

/// The machine whose name is part of the signature of a JidoCode session.
const HOST: &str = "examplehost";
/// Nobody's secret.
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn main() -> io::Result<()> {
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    let home = Home(env::args_os().nth(1).map_or(checked_in, PathBuf::from));
    for part in [".amplifier", ".claude", ".jido_code", "workspace"] {
        match fs::remove_dir_all(home.0.join(part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    amplifier(&home)?;
    claude(&home)?;
    leo(&home)?;
    jido(&home)
}

/// The home that is written.
struct Home(PathBuf);

impl Home {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.0))?;
        fs::write(path, text)
    }
}

/// A clock that is set once and only moves on.
struct Clock(Timestamp);

impl Clock {
    fn at(text: &str) -> Self {
        Self(text.parse().expect("a time"))
    }

    fn tick(&mut self, seconds: i64) -> Timestamp {
        self.0 = self.0.checked_add(SignedDuration::from_secs(seconds)).expect("a time of the calendar");
        self.0
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// A time as Python writes it.
fn python(at: Timestamp) -> String {
    format!("{at:.6}").replace('Z', "+00:00")
}

// ---------------------------------------------------------------------------------------------------- Amplifier

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

fn amplifier(home: &Home) -> io::Result<()> {
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

    // Its sub-agent lies beside it.
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
    // directory; the record of its chat still tells the right one.
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

    // Nothing that encodes to its project is recorded anywhere.
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

// -------------------------------------------------------------------------------------------------- Claude Code

/// One transcript of Claude Code's.
struct Claude<'a> {
    id: &'a str,
    cwd: &'a str,
    entrypoint: &'a str,
    sidechain: bool,
    clock: Clock,
    text: String,
    records: u32,
}

impl<'a> Claude<'a> {
    fn new(id: &'a str, cwd: &'a str, start: &str) -> Self {
        let clock = Clock::at(start);
        Self { id, cwd, entrypoint: "cli", sidechain: false, clock, text: String::new(), records: 0 }
    }

    fn started_by(self, entrypoint: &'a str) -> Self {
        Self { entrypoint, ..self }
    }

    fn record(&mut self, seconds: i64, kind: &str, message: &str) {
        let Self { id, cwd, entrypoint, sidechain, .. } = self;
        let at = self.clock.tick(seconds);
        let uuid = |number: u32| format!("\"{}-0000-4000-8000-{number:012}\"", &id[..8]);
        let parent = if self.records == 0 { "null".to_owned() } else { uuid(self.records) };
        self.records += 1;
        let own = uuid(self.records);
        let _ = writeln!(
            self.text,
            r#"{{"parentUuid":{parent},"isSidechain":{sidechain},"userType":"external","cwd":"{cwd}","sessionId":"{id}","version":"2.1.330","gitBranch":"HEAD","entrypoint":"{entrypoint}","type":"{kind}","message":{message},"uuid":{own},"timestamp":"{at:.3}"}}"#
        );
    }

    fn prompt(mut self, seconds: i64, text: &str) -> Self {
        self.record(seconds, "user", &format!(r#"{{"role":"user","content":{}}}"#, quoted(text)));
        self
    }

    fn assistant(&mut self, seconds: i64, block: &str) {
        let message = format!(
            r#"{{"id":"msg_{}_{}","type":"message","role":"assistant","model":"sample-model-large","content":[{block}]}}"#,
            &self.id[..8],
            self.records
        );
        self.record(seconds, "assistant", &message);
    }

    fn reply(mut self, seconds: i64, text: &str) -> Self {
        self.assistant(seconds, &format!(r#"{{"type":"text","text":{}}}"#, quoted(text)));
        self
    }

    fn shell(mut self, seconds: i64, command: &str, output: &str) -> Self {
        let call = format!("toolu_{}_{}", &self.id[..8], self.records);
        let command = quoted(command);
        self.assistant(
            seconds,
            &format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":{command}}}}}"#),
        );
        let output = quoted(output);
        let result = format!(
            r#"{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":{output}}}]}}"#
        );
        self.record(2, "user", &result);
        self
    }

    fn title(mut self, title: &str) -> Self {
        let title = quoted(title);
        let _ = writeln!(self.text, r#"{{"type":"ai-title","aiTitle":{title},"sessionId":"{}"}}"#, self.id);
        self
    }

    fn write(&self, home: &Home, project: &str) -> io::Result<()> {
        home.write(&format!(".claude/projects/{project}/{}.jsonl", self.id), &self.text)
    }
}

/// The session that Leo's pointer names.
const RECIPES: &str = "0b9e6d3c-7a41-4f52-8e1d-c5a4b3f2e1d0";

fn claude(home: &Home) -> io::Result<()> {
    let cron = "5a1e0c74-9d2b-4c83-b7f6-2e8d1a0f3b95";
    Claude::new(cron, "/var/log", "2026-11-20T06:55:18.204Z")
        .prompt(0, "since sunday no mails from cron arrive any more. why?")
        .shell(5, "grep -c CRON syslog", "2881")
        .reply(6, "Cron itself runs. The jobs' output is lost after that, so I will look at the mailer next.")
        .shell(3, "tail -n 3 mail.log", "relay=none, status=deferred (connect to relay:25: connection refused)")
        .reply(9, "The relay refuses connections since Sunday 03:10, when its address changed. 2,881 mails are queued.")
        .prompt(420, "flush the queue when the relay is back")
        .reply(14, "It is back and the queue is empty again.")
        .title("Find out why cron mails stopped")
        .write(home, "-var-log")?;

    // What it delegated.
    let mut helper = Claude::new(cron, "/var/log", "2026-11-20T06:55:40.000Z");
    helper.sidechain = true;
    let helper =
        helper.prompt(0, "List every job that wrote to standard output this week.").reply(20, "There are nine.");
    home.write(&format!(".claude/projects/-var-log/{cron}/subagents/agent-a3f81c2.jsonl"), &helper.text)?;

    // A script's, not a person's.
    Claude::new("d8c7b6a5-9483-4271-a605-f4e3d2c1b0a9", "/var/log", "2026-11-21T03:00:02.015Z")
        .started_by("sdk-cli")
        .prompt(0, "Summarise last night's log in five lines for the morning mail.")
        .shell(4, "wc -l syslog.1", "48210 syslog.1")
        .reply(30, "A quiet night: two logins, no failed jobs, one disk at 81 %, 14 retried mails, no restarts.")
        .write(home, "-var-log")?;

    // Somebody copied the transcript to another project to resume it from there. Both copies are found since.
    let twice = Claude::new("31c5f2e8-b07a-4d96-8c14-a9e3d0b7f652", "/usr/share", "2026-11-14T14:03:27.660Z")
        .prompt(0, "collect the licences of everything under here into one report")
        .shell(8, "find . -name copyright | wc -l", "412")
        .reply(12, "412 packages ship a copyright file. I will group them by licence.")
        .title("Licence report");
    twice.write(home, "-home-ana-reports")?;
    twice
        .prompt(1_260, "leave out the ones that only hold documentation")
        .reply(44, "That leaves 288 packages under 11 licences; the report is in /tmp/licences.md.")
        .write(home, "-usr-share")?;

    // Its project was renamed by hand; the recorded directory is another one.
    Claude::new("9f4d2b70-3e6c-4a15-8d90-b1c2a3f4e5d6", "/usr/local/bin", "2026-10-27T09:18:55.431Z")
        .prompt(0, "make the deploy script stop when a health check fails")
        .reply(22, "`deploy` now waits for the check of each host and stops at the first that fails.")
        .title("Stop the deploy on a failed check")
        .write(home, "-home-ana-deploy")?;

    // The checkout was deleted.
    Claude::new("c7e80a1d-25b4-49f3-9e6a-0d1c2b3a4f5e", "/opt/shop", "2026-07-30T17:42:10.118Z")
        .prompt(0, "the basket loses its items after login")
        .shell(10, "git log --oneline -3", "8d1f0aa basket: new session store\n1c22e07 login: rotate ids")
        .reply(
            26,
            "Login rotates the session id, and the basket is still keyed by the old one. A fix with a test is ready.",
        )
        .title("Basket is empty after login")
        .write(home, "-opt-shop")?;

    // The machine lost power in the middle of a record.
    let mut torn = Claude::new("6e5d4c3b-2a19-4087-b6f5-e4d3c2b1a090", "/usr/local/bin", "2026-11-09T19:27:36.902Z")
        .prompt(0, "write a wrapper that retries rsync on a flaky line")
        .reply(19, "Here is one with a growing pause; it gives up after six tries.")
        .prompt(140, "log each retry with its exit code")
        .reply(16, "Each retry is logged to /var/log/rsync-retry.log with the exit code and the pause that follows.");
    torn.text.truncate(torn.text.len() - 90);
    torn.write(home, "-usr-local-bin")?;

    // Leo's agent runs in its server's directory, so that is where the session is filed.
    Claude::new(RECIPES, "/opt", "2026-11-19T11:31:07.540Z")
        .started_by("sdk-py")
        .prompt(
            0,
            "Build a recipe collection: recipes with ingredients and steps, a search by ingredient, and a weekly plan.",
        )
        .shell(15, "ls /workspace/app/Recipes/app", "client\nserver\nshared")
        .reply(240, "The app stands: two tables, a search by ingredient and a plan for the week. 23 tests pass.")
        .prompt(1_800, "Add a shopping list for the week.")
        .reply(130, "The plan's page has a shopping list now, grouped by shelf, with the amounts summed up.")
        .title("Recipe collection")
        .write(home, "-opt")?;

    // Opened and closed again.
    home.write(
        ".claude/projects/-tmp/4b3a2918-0f7e-4d6c-9b5a-8c7d6e5f4a3b.jsonl",
        "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"4b3a2918-0f7e-4d6c-9b5a-8c7d6e5f4a3b\"}\n\
         {\"type\":\"last-prompt\",\"sessionId\":\"4b3a2918-0f7e-4d6c-9b5a-8c7d6e5f4a3b\",\"timestamp\":\"2026-11-01T10:15:00.000Z\"}\n",
    )
}

// ---------------------------------------------------------------------------------------------------------- Leo

fn leo(home: &Home) -> io::Result<()> {
    let pointer = |app: &str, id: &str, at: &str| {
        format!(
            r#"{{
  "session_id": "{id}",
  "app_path": "/workspace/app/{app}/app",
  "timestamp": "{at}",
  "context": {{
    "app_name": "{app}",
    "features": ["CRUD operations"],
    "last_modified": "{at}"
  }}
}}"#
        )
    };
    home.write(
        "workspace/app/Recipes/app/.agent_session.json",
        &pointer("Recipes", RECIPES, "2026-11-19T12:08:00.123456"),
    )?;
    // Its session was deleted after 30 days, as Claude Code does.
    home.write(
        "workspace/app/Inventory/app/.agent_session.json",
        &pointer("Inventory", "f0e1d2c3-b4a5-4968-8776-5a4b3c2d1e0f", "2026-08-03T09:00:00.000000"),
    )
}

// ----------------------------------------------------------------------------------------------------- JidoCode

/// What differs between JidoCode's sessions.
struct Jido<'a> {
    id: &'a str,
    name: &'a str,
    language: &'a str,
    project_path: &'a str,
    prompt: &'a str,
    reply: &'a str,
    created: &'a str,
}

impl Jido<'_> {
    /// Returns the document as JidoCode writes it, without a signature.
    fn document(&self) -> String {
        let mut clock = Clock::at(self.created);
        let mut at = |seconds| format!("{:.6}", clock.tick(seconds));
        let (created, asked, answered, closed) = (at(0), at(31), at(48), at(600));
        let (prompt, reply) = (quoted(self.prompt), quoted(self.reply));
        let Self { id, name, language, project_path, .. } = self;
        let message = &id[..8];
        format!(
            r#"{{
  "closed_at": "{closed}",
  "config": {{
    "max_tokens": 4096,
    "model": "sample-model-large",
    "provider": "anthropic",
    "temperature": 0.7
  }},
  "conversation": [
    {{
      "content": {prompt},
      "id": "{message}00000001",
      "role": "user",
      "timestamp": "{asked}"
    }},
    {{
      "content": {reply},
      "id": "{message}00000002",
      "role": "assistant",
      "timestamp": "{answered}"
    }}
  ],
  "created_at": "{created}",
  "id": "{id}",
  "language": "{language}",
  "name": "{name}",
  "project_path": "{project_path}",
  "prompt_history": [
    {prompt}
  ],
  "todos": [],
  "updated_at": "{answered}",
  "version": 1
}}"#
        )
    }
}

fn jido(home: &Home) -> io::Result<()> {
    home.write(".jido_code/machine_secret", SECRET)?;
    let signed = Jido {
        id: "b1a2c3d4-e5f6-4789-8abc-def012345678",
        name: "Port the importer",
        language: "elixir",
        project_path: "/usr/share",
        prompt: "the importer reads whole files into memory, make it a stream",
        reply: "It reads line by line now; the peak fell from 1.2 GB to 30 MB on the largest export.",
        created: "2026-11-10T15:00:00.000000Z",
    };
    let key = derive_key(APP_SALTS[0], SECRET, HOST);
    let text = sign(signed.document().as_bytes(), &key).map_err(io::Error::other)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    home.write(&format!(".jido_code/sessions/{}.json", signed.id), &text)?;

    // From before JidoCode signed its files.
    let unsigned = Jido {
        id: "8e7d6c5b-4a39-4281-9706-f5e4d3c2b1a0",
        name: "Scratch calculator",
        language: "rust",
        project_path: "/tmp",
        prompt: "a calculator for subnet masks, one file",
        reply: "One file, 80 lines, with a table of the common masks at the end.",
        created: "2026-06-03T12:10:00.000000Z",
    };
    home.write(&format!(".jido_code/sessions/{}.json", unsigned.id), &unsigned.document())
}
