//! `--host`: sessions of other machines, through ssh. A program replaces ssh here: a host is a home next to this
//! world's.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::contract;
use crate::fixtures::{Claude, Fixture, Pi, id, put};
use crate::terminal::{Seat, shell};
use crate::world::{Answer, World};

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

/// The replacement for ssh. It joins the words with blanks, as ssh does, and passes them to a shell in the home of the
/// remote user. Some hosts misbehave.
const SSH: &str = r#"
printf '%s\n' "$*" >> '@ROOT@/asked'
while [ $# -gt 0 ]; do
  case $1 in -t|-T) shift;; -o) shift 2;; --) shift; break;; esac
done
host=$1; shift
case $host in
  down) echo "ssh: connect to host down port 22: Connection refused" >&2; exit 255;;
  stranger) echo "Warning: Permanently added" >&2; echo "me@stranger: Permission denied (publickey)." >&2; exit 255;;
  shy) echo "This account is not available."; exit 1;;
esac
echo "Welcome to $host."
export HOME="@ROOT@/hosts/$host"
cd "$HOME" || exit 255
[ "$host" = bare ] && PATH=/usr/bin:/bin
[ "$host" = old ] && { echo 'rejoin answers'; echo '{"format_version":"2.0","kind":"session-list"}'; exit 0; }
[ "$host" = cut ] && { sh -c "$*" | head -n 4; exit 255; }
[ "$host" = loud ] && { echo 'rejoin answers'; printf '\033[1m\033[31merror:\033[0m no --such\n\nUsage\n' >&2; exit 2; }
[ "$host" = odd ] && { echo 'rejoin answers'; echo '<html>'; exit 0; }
exec sh -c "$*"
"#;

/// A world with `rejoin` and a replacement for ssh on PATH.
struct Hosts(World);

impl Hosts {
    fn new(names: &[&str]) -> Self {
        let world = World::with_agents();
        let script = SSH.replace("@ROOT@", world.root().to_str().expect("a path in UTF-8"));
        world.install("ssh", &script);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rejoin"), world.root().join("bin/rejoin")).expect("a link");
        names.iter().for_each(|name| _ = world.dir(&format!("hosts/{name}")));
        Self(world)
    }

    fn home(&self, host: &str) -> PathBuf {
        self.0.root().join("hosts").join(host)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a fixture is built where it is added")]
    fn add(&self, host: &str, fixture: impl Fixture) -> PathBuf {
        fixture.write_to(&self.home(host))
    }

    fn rejoin(&self, args: &[&str]) -> Answer {
        self.0.rejoin(args)
    }

    fn json(&self, code: i32, args: &[&str]) -> Value {
        contract::parse(&self.rejoin(args).code(code).stdout())
    }
}

/// Creates two hosts with three sessions; the second one is on the other host.
fn two() -> Hosts {
    let hosts = Hosts::new(&["one", "two"]);
    hosts.add("one", Claude::session(id(1)).in_dir(APP).at("2026-02-01T10:00:00Z").turn("first quokka", "ok"));
    hosts.add("two", Pi::session(id(2)).in_dir(APP).at("2026-02-02T10:00:00Z").turn("second", "the quokka sleeps"));
    hosts.add("one", Claude::session(id(3)).in_dir(APP).at("2026-02-03T10:00:00Z").turn("third", "ok"));
    hosts
}

/// Returns the first two columns of lines with tabs.
fn columns(answer: &Answer, at: [usize; 2]) -> Vec<[String; 2]> {
    let stdout = answer.stdout();
    let lines = stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    lines.map(|fields| at.map(|at| fields[at].clone())).collect()
}

fn pairs(pairs: &[(&str, u32)]) -> Vec<[String; 2]> {
    pairs.iter().map(|(host, number)| [(*host).to_owned(), id(*number)]).collect()
}

#[test]
fn list_merges_sessions_of_several_hosts() {
    let hosts = two();
    let list = |more: &[&str]| hosts.rejoin(&[&["list", "--host", "one", "--host", "two"], more].concat()).code(0);
    assert_eq!(columns(&list(&[]), [0, 2]), pairs(&[("one", 3), ("two", 2), ("one", 1)]));
    assert_eq!(columns(&list(&["--reverse"]), [0, 2]), pairs(&[("one", 1), ("two", 2), ("one", 3)]));
    assert_eq!(columns(&list(&["--sort", "agent"]), [0, 2]), pairs(&[("one", 3), ("one", 1), ("two", 2)]));
    for limit in [&["--limit", "1"][..], &["-n", "1"], &["-n1"], &["-n=1"], &["-wn", "1"]] {
        assert_eq!(columns(&list(limit), [0, 2]), pairs(&[("one", 3)]), "{limit:?}");
    }
    assert_eq!(columns(&list(&["-rn1"]), [0, 2]), pairs(&[("one", 1)]));
    assert_eq!(columns(&list(&["--agent", "pi"]), [0, 2]), pairs(&[("two", 2)]));
    assert_eq!(columns(&list(&["quokka"]), [0, 2]), pairs(&[("one", 1)]));
    let csv = list(&["--format", "csv", "--fields", "host,id"]).stdout();
    assert_eq!(csv, format!("host,id\none,{}\ntwo,{}\none,{}\n", id(3), id(2), id(1)));
    let answer = hosts.0.on_terminal(80, ["--color=never", "list", "--hosts", "one,two"]).code(0).stdout();
    let head: Vec<&str> = answer.lines().next().expect("a head").split_whitespace().collect();
    assert_eq!(head[..3], ["HOST", "AGENT", "ID"], "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    let groups =
        hosts.0.on_terminal(80, ["--color=never", "list", "--hosts", "one,two", "--group", "project"]).stdout();
    let heads: Vec<&str> = groups.lines().filter(|line| line.contains(":/usr/bin")).collect();
    assert_eq!(heads, ["one:/usr/bin  2 sessions, 1.4 KiB", "two:/usr/bin  1 session, 511 B"], "{groups}");
}

#[test]
fn list_sorts_sessions_of_hosts_by_cost() {
    let hosts = two();
    let with_cost = |cost: f64| {
        let usage = serde_json::json!({"input": 3, "output": 4, "cost": {"total": cost}});
        serde_json::json!({"role": "assistant", "content": [{"type": "text", "text": "y"}], "usage": usage})
    };
    hosts.add("one", Pi::session(id(4)).in_dir(APP).prompt("x").message(&with_cost(0.25)));
    hosts.add("two", Pi::session(id(5)).in_dir(APP).prompt("x").message(&with_cost(0.5)));
    let list = |more: &[&str]| {
        let words = ["list", "--hosts", "one,two", "--agent", "pi", "--format", "tsv", "--fields", "id,cost,tokens"];
        hosts.rejoin(&[&words, more].concat()).code(0).stdout()
    };
    let row = |number, rest: &str| format!("{}\t{rest}\n", id(number));
    let [two, four, five] = [row(2, "\t"), row(4, "0.25\t7"), row(5, "0.5\t7")];
    assert_eq!(list(&["--sort", "cost"]), [&*five, &*four, &*two].concat());
    assert_eq!(list(&["--sort", "cost", "--reverse"]), [&*four, &*five, &*two].concat());
    assert_eq!(list(&[]).lines().count(), 3);
    assert!(list(&[]).contains(&five), "the fields are asked for");
}

#[test]
fn json_of_several_hosts_names_the_hosts() {
    let hosts = two();
    let answer = hosts.json(0, &["list", "--host", "one,two", "--limit", "2", "--json"]);
    let named: Vec<(&str, &str)> = answer["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|session| (session["host"].as_str().expect("a host"), session["id"].as_str().expect("an id")))
        .collect();
    assert_eq!(named, [("one", &*id(3)), ("two", &*id(2))]);
    assert_eq!((&answer["kind"], &answer["beyond_limit"]), (&"session-list".into(), &1.into()));
    assert_eq!(answer["hosts"][1], serde_json::json!({ "host": "two", "status": 0, "fault": null }));
    // Without the hosts, the answer is the same as for one machine.
    let mut plain = answer.clone();
    plain.as_object_mut().expect("an object").remove("hosts");
    for list in ["sessions", "problems", "dangling_pointers"] {
        for item in plain[list].as_array_mut().expect("a list") {
            item.as_object_mut().expect("an object").remove("host");
        }
    }
    assert_eq!(contract::parse::<contract::SessionList>(&plain.to_string()).sessions.len(), 2);
    let lines = hosts.rejoin(&["list", "--host", "one,two", "--format", "ndjson"]).code(0).stdout();
    let lines: Vec<Value> = lines.lines().map(contract::parse).collect();
    assert_eq!((lines.len(), &lines[2]["host"], &lines[4]["sessions"]), (5, &"two".into(), &3.into()));
}

#[test]
fn failed_host_takes_one_line() {
    let hosts = two();
    for name in ["bare", "old", "cut", "odd", "loud"] {
        hosts.0.dir(&format!("hosts/{name}"));
    }
    hosts.add("cut", Claude::session(id(7)).in_dir(APP).turn("cut", "ok"));
    hosts.add("cut", Claude::session(id(8)).in_dir(APP).turn("cut", "ok"));
    for (host, why) in [
        ("down", "error: down: connect to host down port 22: Connection refused"),
        ("stranger", "error: stranger: me@stranger: Permission denied (publickey)."),
        ("shy", "error: shy: no shell answers there: nothing was answered"),
        ("bare", "error: bare: there is no rejoin on its PATH; install it there, in ~/.local/bin for example"),
        (
            "old",
            "error: old: its rejoin answers in format 2.0, and this one reads 1.x; install the same version on both",
        ),
        ("odd", "error: odd: its answer is not one of rejoin"),
        ("loud", "error: loud: no --such"),
    ] {
        let answer = hosts.rejoin(&["list", "--host", host, "--host", "two"]).code(3);
        assert_eq!(answer.stderr().trim_end(), why);
        assert_eq!(columns(&answer, [0, 2]), pairs(&[("two", 2)]), "{host}");
        let json = hosts.json(3, &["list", "--host", host, "--host", "two", "--json"]);
        assert_eq!(json["hosts"][0]["host"], host);
        assert!(why.ends_with(json["hosts"][0]["fault"].as_str().expect("a fault")), "{json}");
        // Answers that are not merged report the failure in the same place.
        let shown = hosts.rejoin(&["show", &id(2), "--host", host, "--host", "two", "--json"]).code(3);
        let message = shown.error().message;
        assert_eq!(format!("error: {message}"), why, "{host}");
        let shown: Value = contract::parse(&shown.stdout());
        let [first, second] = [0, 1].map(|at| &shown["hosts"][at]["answer"]["kind"]);
        assert_eq!((first, second), (&Value::Null, &"session".into()), "{host}");
    }
    let cut = hosts.rejoin(&["list", "--host", "cut,two"]).code(3);
    assert!(cut.stderr().contains("error: cut: the connection was lost"), "{}", cut.stderr());
    assert!(cut.stdout().contains("two\tpi"));
    // The error in the arguments is reported by the host, once.
    let usage = hosts.rejoin(&["list", "--host", "down"]).code(3);
    assert_eq!((usage.stdout(), usage.stderr().lines().count()), (String::new(), 1));
}

#[test]
fn command_quotes_typed_text_for_remote_shell() {
    let hosts = two();
    let evil = "/tmp/a'b $(touch PWNED) `touch PWNED`; touch PWNED #\"\\' !x ~ *";
    hosts.add("one", Claude::session(id(4)).in_dir(evil).at("2026-02-04T10:00:00Z").turn("evil", "ok"));
    let answer = hosts.rejoin(&["list", "--host", "one", "--dir", evil]).code(0);
    assert_eq!(columns(&answer, [0, 2]), pairs(&[("one", 4)]));
    hosts.rejoin(&["search", "--exact", "--host", "one", "$(touch PWNED)'; touch PWNED #"]).code(0).stdout_eq("");
    hosts.rejoin(&["show", "--host", "one", "--", "-x'; touch PWNED; echo '"]).code(5);
    for host in ["-oProxyCommand=touch PWNED", "one;touch PWNED", "$(touch PWNED)", "a b", ""] {
        let answer = hosts.rejoin(&["list", &format!("--host={host}")]).code(2);
        assert!(answer.stderr().contains("is not a host that ssh could connect to"), "{}", answer.stderr());
    }
    let made = |dir: PathBuf| dir.join("PWNED").exists();
    assert!(!made(hosts.home("one")) && !made(hosts.0.root().join("elsewhere")));
}

#[test]
fn terminal_shows_escaped_host_output() {
    let hosts = two();
    let title = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}evil";
    hosts.add("one", Claude::session(id(5)).in_dir(APP).at("2026-02-05T10:00:00Z").turn("x", "y").title(title));
    for args in [
        vec!["list", "--host", "one"],
        vec!["list", "--host", "one", "--json"],
        vec!["search", "--host", "one", "y"],
        vec!["show", "--host", "one", "latest"],
    ] {
        let shown = hosts.0.on_terminal(100, ["--color=never"].iter().chain(&args));
        for stdout in [hosts.rejoin(&args).stdout(), shown.stdout()] {
            assert!(!stdout.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']), "{args:?}: {stdout:?}");
        }
    }
}

#[test]
fn run_escapes_hostile_answer_of_host() {
    let hosts = two();
    // Sequences that write the clipboard, clear the screen and reverse text.
    let script = r"printf 'rejoin answers\n\033]52;c;AAAA\007\033[2J\302\233\342\200\256evil\n'";
    hosts.0.install("ssh", &format!("{script}; {script} >&2"));
    let changes = [
        "archive --every",
        "backfill",
        "cleanup",
        "delete x",
        "doctor --fix",
        "move /a /b",
        "pin x",
        "rename x y",
        "restore x",
        "undo --purge --every",
        "undo",
    ];
    let asks = ["doctor", "export latest", "undo --list", "show latest", "stats", "agents", "show latest --path"];
    for words in asks.into_iter().chain(changes) {
        let (_, sent) = shell(&hosts.0, &format!("--host one {words}")).ends();
        assert!(!sent.contains("\u{1b}]52") && !sent.contains("\u{1b}[2J"), "{words}: {sent:?}");
        assert!(!sent.contains(['\u{7}', '\u{9b}', '\u{202e}']), "{words}: {sent:?}");
        let piped = hosts.rejoin(&[&["--host", "one"], words.split(' ').collect::<Vec<_>>().as_slice()].concat());
        assert!(!piped.stdout().contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{words}: {}", piped.stdout());
    }
}

#[test]
fn search_over_hosts_names_the_host() {
    let hosts = two();
    let answer = hosts.rejoin(&["search", "--host", "one,two", "quokka"]).code(0).stderr_eq("");
    let expected = [format!("two\tpi\t{}\tassistant\t", id(2)), format!("one\tclaude\t{}\tuser\t", id(1))];
    let stdout = answer.stdout();
    // A first prompt replaces a missing title, and titles come first.
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable_by_key(|line| !line.starts_with("two"));
    assert!(lines.iter().zip(&expected).all(|(line, start)| line.starts_with(start)), "{stdout}");
    let names = hosts.rejoin(&["search", "--host", "one,two", "quokka", "-l"]).code(0);
    assert_eq!(columns(&names, [0, 1]).len(), 2);
    let cut = hosts.json(0, &["search", "--host", "one,two", "quokka", "--limit", "1", "--json"]);
    assert_eq!((&cut["limit_reached"], &cut["beyond_limit"]), (&true.into(), &Value::Null));
    let json = hosts.json(0, &["search", "--host", "one,two", "quokka", "--json"]);
    assert_eq!((json["sessions"].as_array().map(Vec::len), &json["searched"]), (Some(2), &3.into()));
    let shown = hosts.0.on_terminal(90, ["--color=never", "search", "--host", "one,two", "sleeps"]).code(0).stdout();
    assert!(shown.starts_with(&format!("pi two:{}", &id(2)[..8])), "{shown}");
    let nothing = hosts.0.on_terminal(90, ["--color=never", "search", "--host", "one,two", "walrus"]).code(0);
    assert!(nothing.stderr().contains("No match for \"walrus\" in 3 sessions on 2 hosts."), "{}", nothing.stderr());
}

#[test]
fn show_prints_hosts_one_after_another() {
    let hosts = two();
    hosts.add("two", Claude::session(id(6)).in_dir("/no/such/place").at("2026-02-01T10:00:00Z").turn("gone", "ok"));
    let list = hosts.0.on_terminal(80, ["--color=never", "list", "--host", "one,two"]);
    assert_eq!(list.stderr(), "Marks: d expiring, D dir gone.\n");
    let shown = hosts.rejoin(&["show", "latest", "--host", "one,two"]).code(0).stdout();
    assert!(shown.lines().all(|line| line.starts_with("one\t") || line.starts_with("two\t")), "{shown}");
    assert!(shown.contains(&id(3)) && shown.contains(&id(2)), "{shown}");
    let shown = hosts.json(0, &["show", "latest", "--host", "one,two", "--json"]);
    assert_eq!((&shown["kind"], shown["hosts"].as_array().map(Vec::len)), (&"host-answers".into(), Some(2)));
    assert_eq!(shown["hosts"][0]["answer"]["kind"], "session");
    let text = hosts.0.on_terminal(100, ["--color=never", "show", "latest", "--host", "one,two"]).code(0).stdout();
    assert!(text.starts_with("one\n") && text.contains("\n\ntwo\n"), "{text}");
    // The suggested commands are for this machine.
    let doctor = hosts.json(4, &["doctor", "--host", "two", "--json"]);
    let found = &doctor["hosts"][0]["answer"]["findings"][0];
    assert_eq!(found["code"], "missing-directory");
    let remedies = found["remedies"].as_array().expect("remedies");
    let is_for_host = |command: &str| command.starts_with("rejoin --host two ") || command.starts_with("ssh -t two ");
    assert!(remedies.iter().all(|it| is_for_host(it["command"].as_str().expect("a command"))), "{remedies:#?}");
}

#[test]
fn other_commands_accept_only_one_host() {
    let hosts = two();
    let commands = [
        "agents",
        "archive --every",
        "backfill x",
        "cleanup --dry-run",
        "config",
        "delete x",
        "doctor",
        "export x",
        "move /a /b",
        "pin x",
        "rename x y",
        "restore x",
        "resume --last-launch",
        "rewind x",
        "search x --pick",
        "show x --path",
        "stats --by agent",
        "sync",
        "tag x y",
        "undo",
    ];
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let refused = hosts.rejoin(&[&words[..], &["--host", "one", "--hosts=two"]].concat()).code(2);
        let why = "error: this command is for one host, and 2 were named";
        assert_eq!(
            refused.stderr(),
            format!("{why}\nhint: name one, as in `rejoin {command} --host one`\n"),
            "{command}"
        );
    }
    let plan = hosts.rejoin(&["resume", "x", "--json", "--host", "one,two"]).code(2).error();
    assert_eq!(plan.message, "this command is for one host, and 2 were named");
    assert!(!hosts.0.root().join("asked").exists(), "no host is asked");
    let stats = hosts.json(0, &["stats", "--host", "one", "--json", "--by", "agent"]);
    assert_eq!(stats["hosts"][0]["answer"]["kind"], "stats");
}

#[test]
fn show_succeeds_if_one_host_has_session() {
    let hosts = two();
    let shown = hosts.rejoin(&["show", "--host", "one,two", &id(2)]).code(0);
    assert!(shown.stdout().contains(&id(2)));
    hosts.rejoin(&["show", "--host", "one,two", "nowhere-at-all"]).code(5);
    let there = hosts.rejoin(&["show", &format!("one:{}", id(1)), "--json"]).code(0);
    let there: Value = contract::parse(&there.stdout());
    assert_eq!(there["hosts"][0]["answer"]["session"]["id"], id(1));
    // An exported file is the same as here, in the requested format.
    let page = hosts.rejoin(&["export", "--host", "one", &id(1), "--format", "html"]).code(0).stdout();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"), "{page:.200}");
    let several = hosts.rejoin(&["show", "--path", "--host", "one,two", &id(1)]).code(2);
    assert!(several.stderr().contains("hint: name one, as in `rejoin show --path "), "{}", several.stderr());
    let twice = hosts.rejoin(&["--host", "one", "show", &format!("two:{}", id(2))]).code(2);
    assert!(twice.stderr().contains("names the host two, and --host names one too"), "{}", twice.stderr());
    let here = hosts.rejoin(&["list", "--host", "one", "--here"]).code(2);
    assert!(here.stderr().contains("--here is a directory of this machine"), "{}", here.stderr());
}

#[test]
fn resume_runs_on_host_and_returns_its_status() {
    let hosts = two();
    hosts.0.install("claude", "exit 42");
    let name = format!("one:{}", &id(3)[..13]);
    hosts.rejoin(&["resume", &name, "--prompt", "go on; $(touch PWNED)"]).code(42);
    let launch = hosts.0.launched().expect("a launch");
    assert_eq!(launch.cwd, PathBuf::from(APP).canonicalize().expect("a path"));
    assert!(launch.argv.contains(&id(3)) && launch.argv.contains(&"go on; $(touch PWNED)".to_owned()), "{launch:?}");
    let line = hosts.rejoin(&["resume", &name, "--print"]).code(0).stdout();
    assert!(line.starts_with("ssh -t -- one ") && line.contains(&format!("rejoin resume {}", &id(3)[..13])), "{line}");
    assert!(hosts.0.launched().is_none());
    hosts.0.from(APP).run("sh", ["-c", line.trim_end()]).code(42);
    assert!(hosts.0.launched().expect("a launch").argv.contains(&id(3)));
    // Commands that the agent starts do not run for another host.
    hosts.rejoin(&["resume", &name]).code(42);
    assert_eq!(hosts.0.launched().expect("a launch").variable("REJOIN_HOST"), None);
    // The name of an agent, or a similar one, is taken for an agent.
    let typo = hosts.rejoin(&["resume", &format!("cluade:{}", id(3)), "--print"]).code(5);
    assert!(!typo.stderr().contains("ssh"), "{}", typo.stderr());
    let json = hosts.json(0, &["resume", &name, "--json"]);
    assert_eq!(json["hosts"][0]["answer"]["kind"], "resume-plan");
}

#[test]
fn hosts_plan_and_undo_their_changes() {
    let hosts = two();
    let plan = hosts.json(0, &["cleanup", "--host", "one", "--older-than", "99d", "--dry-run", "--json"]);
    assert_eq!(plan["hosts"][0]["answer"]["kind"], "change-plan");
    let delete = hosts.rejoin(&["delete", "--host", "one", &id(1), "--yes"]).code(0);
    assert!(delete.stdout().contains("`rejoin --host one undo "), "{}", delete.stdout());
    assert_eq!(columns(&hosts.rejoin(&["list", "--host", "one"]).code(0), [0, 2]), pairs(&[("one", 3)]));
    hosts.rejoin(&["--host", "one", "undo", "--yes"]).code(0);
    assert_eq!(hosts.rejoin(&["list", "--host", "one"]).code(0).stdout().lines().count(), 2);
    // Without a terminal, no confirmation is possible.
    let refused = hosts.rejoin(&["delete", "--host", "one", &id(1)]).code(2);
    assert!(refused.stderr().contains("one: error: removing sessions needs confirmation"), "{}", refused.stderr());
}

#[test]
fn change_on_host_asks_at_local_terminal() {
    let hosts = two();
    let ids = || columns(&hosts.rejoin(&["list", "--host", "one"]).code(0), [0, 2]);
    for (answer, status, left) in [("n", 1, pairs(&[("one", 3), ("one", 1)])), ("y", 0, pairs(&[("one", 3)]))] {
        let mut seat = shell(&hosts.0, &format!("--host one delete {}", id(1)));
        // The explanation is shown before the question.
        seat.sees("first quokka");
        seat.sees("[y/N] ");
        seat.types(&format!("{answer}\n"));
        let (ended, sent) = seat.ends();
        assert_eq!((ended, ids()), (Some(status), left), "{sent}");
    }
    let asked = std::fs::read_to_string(hosts.0.root().join("asked")).expect("what ssh was told");
    assert!(!asked.contains("-t "), "no command but `resume` gets a terminal there: {asked}");
    assert_eq!(asked.matches("BatchMode=yes").count(), 2, "a person may type a password: {asked}");
}

#[test]
fn concurrent_killed_archives_of_four_hosts_lose_nothing() {
    let names = ["one", "two", "three", "four"];
    let hosts = Hosts::new(&names);
    let shared = hosts.0.dir("shared").join("archive");
    let shared = shared.to_str().expect("a path in UTF-8");
    let numbers = |at: usize| (0..12).map(move |number| u32::try_from(at * 100 + number).expect("a small number"));
    for (at, name) in names.iter().enumerate() {
        for number in numbers(at) {
            // Every second session has the same messages on each host, so that they share stored data.
            let prompt =
                if number % 2 == 0 { "the same everywhere".repeat(200) } else { format!("only {number} ").repeat(300) };
            hosts.add(name, Claude::session(id(number)).in_dir(APP).turn(&prompt, "ok"));
        }
    }
    let words = ["archive", "--every", "--archive-dir", shared, "--lock-timeout", "60s"];
    // Each process is killed at another moment, while the others continue.
    for round in 0..6 {
        let mut running: Vec<_> = names
            .iter()
            .map(|name| {
                let home = hosts.home(name);
                let mut command =
                    hosts.0.from(hosts.0.root()).with("HOME", &home).command(env!("CARGO_BIN_EXE_rejoin"));
                command.args(words).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
                command.spawn().expect("a running program")
            })
            .collect();
        for (at, child) in running.iter_mut().enumerate().filter(|(at, _)| (at + round) % 2 == 0) {
            std::thread::sleep(std::time::Duration::from_millis(u64::try_from(3 + 7 * round + 5 * at).expect("a few")));
            let _ = child.kill();
        }
        running.iter_mut().for_each(|child| _ = child.wait().expect("an end"));
    }
    for name in names {
        let ended = hosts.json(0, &[&words[..], &["--host", name, "--json"]].concat());
        assert_eq!(ended["hosts"][0]["answer"]["totals"]["failed"], 0, "{ended}");
    }
    let verified = hosts.json(0, &["archive", "--verify", "--archive-dir", shared, "--json"]);
    assert_eq!((&verified["sessions"], &verified["faults"]), (&48.into(), &serde_json::json!([])));
    // Another machine restores each session, byte for byte.
    for (at, name) in names.iter().enumerate() {
        for number in numbers(at) {
            hosts.rejoin(&["restore", &id(number), "--archive-dir", shared, "--quiet"]).code(0);
            let path = format!(".claude/projects/-usr-bin/{}.jsonl", id(number));
            let read = |home: PathBuf| std::fs::read(home.join(&path)).expect("a transcript");
            assert_eq!(read(hosts.home(name)), read(hosts.0.home()), "{name} {number}");
        }
    }
}

#[test]
fn resume_over_hosts_finds_only_host_with_session() {
    let hosts = two();
    hosts.0.install("claude", "exit 42");
    // A file of the same name on this machine is another conversation.
    hosts.0.add(Claude::session(id(1)).in_dir(APP).turn("of this machine", "secret"));
    hosts.rejoin(&["resume", "--host", "one,two", "first quokka", "--prompt", "go on"]).code(42);
    let launch = hosts.0.launched().expect("a launch");
    assert!(launch.argv.contains(&id(1)) && launch.argv.contains(&"go on".to_owned()), "{launch:?}");
    assert!(launch.variable("HOME").expect("a home").ends_with("hosts/one"), "{launch:?}");
    // The filters apply and are sent to the host.
    let line = hosts.rejoin(&["resume", "--host", "one,two", "latest", "--agent", "pi", "--print"]).code(0).stdout();
    assert!(line.starts_with("ssh -t -- two ") && line.contains("rejoin resume latest --agent pi"), "{line}");
    // A host that does not answer is reported, and the others are used.
    let down = hosts.rejoin(&["resume", "--host", "down,two", &id(2), "--print"]).code(0);
    assert!(down.stderr().starts_with("error: down: ") && down.stdout().starts_with("ssh -t -- two "));
    // Another session may match on that host, unless the id is complete.
    let unknown = hosts.rejoin(&["resume", "--host", "down,two", "latest", "--agent", "pi", "--print"]).code(6);
    assert!(unknown.stdout().is_empty(), "{}", unknown.stdout());
    assert!(unknown.stderr().contains("1 host did not say"), "{}", unknown.stderr());
    let nothing = hosts.rejoin(&["resume", "--host", "down,two", "walrus"]).code(3);
    assert_eq!(nothing.stderr().lines().count(), 1, "{}", nothing.stderr());
    hosts.rejoin(&["resume", "--host", "one,two", "walrus"]).code(5).stderr_eq(
        "error: no session on 2 hosts matches \"walrus\"\nhint: see them with `rejoin list --all --host one,two`\n",
    );
    // No agent was started.
    assert!(hosts.0.launched().is_none_or(|last| last.argv[0] == "ssh"));
}

#[test]
fn ambiguous_session_lists_its_hosts() {
    let hosts = two();
    hosts.add("one", Claude::session(id(4)).in_dir(APP).at("2026-02-04T10:00:00Z").turn("the quokka again", "ok"));
    hosts.add("two", Pi::session(id(5)).in_dir(APP).at("2026-02-05T10:00:00Z").turn("quokka \u{1b}[2J", "ok"));
    let ambiguous = hosts.rejoin(&["resume", "--host", "one,two", "quokka"]).code(6).stderr();
    let lines: Vec<&str> = ambiguous.lines().collect();
    assert_eq!(lines[0], "error: several sessions on 2 hosts match \"quokka\"");
    let hint = format!("hint: name one with its host, as in `rejoin resume --host one {}`", id(4));
    assert_eq!(lines[4..], [hint], "{ambiguous}");
    let names = [("claude", "one", 4), ("claude", "one", 1), ("pi", "two", 5)];
    for (line, (agent, host, number)) in lines[1..4].iter().zip(names) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], [agent, &format!("{host}:{}", id(number))], "{ambiguous}");
    }
    assert!(ambiguous.contains("first quokka") && !ambiguous.contains('\u{1b}'), "{ambiguous}");
    // The same at a terminal and without a session.
    let mut command = hosts.0.from(hosts.0.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["resume", "--host", "one,two", "quokka"]);
    let (status, screen) = Seat::run(&command, 100, 30).ends();
    assert!(status == Some(6) && screen.contains("several sessions on 2 hosts"), "{screen}");
    hosts.rejoin(&["resume", "--host", "one,two"]).code(2).stderr_eq(
        "error: no SESSION was given, and 2 hosts were named\nhint: see them with `rejoin list --all --host one,two`\n",
    );
}

#[test]
fn config_sets_host_groups_and_columns() {
    let hosts = two();
    let none = hosts.rejoin(&["list", "--hosts", "all"]).code(2);
    assert!(none.stderr().contains("the config file names no hosts"), "{}", none.stderr());
    let config = "[list]\nfields = [\"host\", \"id\"]\nsort = \"agent\"\nagent = [\"claude\"]\n[hosts]\nlab = [\"one\", \"two\"]\nrest = [\"down\"]\n";
    put(&hosts.0.home().join(".config/rejoin/config.toml"), config);
    let evil = "[hosts]\nlab = [\"one\", \"-oProxyCommand=id\"]\nrest = [\"a;b\"]\n";
    put(&hosts.0.home().join(".config/rejoin/config.toml"), evil);
    let wrong = hosts.rejoin(&["list"]).code(2).stderr();
    assert!(wrong.contains("config.toml:2: hosts.lab names no host"), "{wrong}");
    put(&hosts.0.home().join(".config/rejoin/config.toml"), config);
    let lab = hosts.rejoin(&["list", "--host", "lab"]).code(0);
    assert_eq!(columns(&lab, [0, 2]), pairs(&[("one", 3), ("two", 2), ("one", 1)]), "a pipe has nothing of it");
    let all = hosts.rejoin(&["list", "--hosts", "all"]).code(3);
    assert!(all.stderr().starts_with("error: down: "), "{}", all.stderr());
    let table = hosts.0.on_terminal(60, ["--color=never", "list", "--host", "lab"]).code(0).stdout();
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines, [["HOST", "ID"], ["one", &id(3)[..8]], ["one", &id(1)[..8]]], "{table}");
}

#[test]
fn dot_host_is_local_machine_without_ssh() {
    let hosts = two();
    hosts.0.add(Pi::session(id(9)).in_dir(APP).turn("here", "ok"));
    std::fs::set_permissions(hosts.0.root().join("bin/ssh"), std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let answer = hosts.rejoin(&["list", "--host", ".", "--fields", "id"]).code(0);
    assert_eq!(answer.stdout(), format!("{}\n", id(9)));
    let none = hosts.0.from(APP).with("PATH", "/nonexistent").rejoin(["list", "--host", "one"]).code(127);
    assert!(none.stderr().contains("cannot find the program ssh"), "{}", none.stderr());
}
