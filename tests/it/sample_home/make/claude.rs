//! Sessions of Claude Code in the sample home.

use std::fmt::Write as _;
use std::io;

use super::{Clock, Home, quoted};

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
pub(super) const RECIPES: &str = "0b9e6d3c-7a41-4f52-8e1d-c5a4b3f2e1d0";

pub(super) fn claude(home: &Home) -> io::Result<()> {
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

    // A delegated task.
    let mut helper = Claude::new(cron, "/var/log", "2026-11-20T06:55:40.000Z");
    helper.sidechain = true;
    let helper =
        helper.prompt(0, "List every job that wrote to standard output this week.").reply(20, "There are nine.");
    home.write(&format!(".claude/projects/-var-log/{cron}/subagents/agent-a3f81c2.jsonl"), &helper.text)?;

    // A session of a script.
    Claude::new("d8c7b6a5-9483-4271-a605-f4e3d2c1b0a9", "/var/log", "2026-11-21T03:00:02.015Z")
        .started_by("sdk-cli")
        .prompt(0, "Summarise last night's log in five lines for the morning mail.")
        .shell(4, "wc -l syslog.1", "48210 syslog.1")
        .reply(30, "A quiet night: two logins, no failed jobs, one disk at 81 %, 14 retried mails, no restarts.")
        .write(home, "-var-log")?;

    // The transcript was copied to another project, to resume it from there. Both copies are found since.
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
