//! Hosts that misbehave: they never answer, never end, or send more data than fits into memory.

use std::process::Stdio;
use std::time::Duration;

use crate::contract;
use crate::fixtures::{Claude, Fixture as _, id};
use crate::world::{Answer, World, memory_of};

/// A program in place of ssh; the name of a host selects its behaviour.
const SSH: &str = r#"
while [ $# -gt 0 ]; do
  case $1 in -t|-T) shift;; -o) shift 2;; --) shift; break;; esac
done
host=$1; shift
if [ "$host" = good ]; then
  export HOME='@ROOT@/good'
  exec sh -c "$*"
fi
case "$*" in *' search '*) kind=search;; *' list '*) kind=session-list;; *) kind=session;; esac
row='{"agent":"claude","id":"x"}'
large() { printf '%s' "$1"; head -c 66060288 /dev/zero | tr '\0' a; echo '"}'; }
echo 'rejoin answers'
# A child of the shell keeps the pipe open, as a connection that other processes share may.
[ "$host" = mute ] && { sleep 60; exit; }
[ "${host%?}" = large ] && { large '{"format_version":"1.0","kind":"session","more":"'; exit; }
printf '{"format_version":"1.0","kind":"%s"}\n' "$kind"
case $host in
  stuck) echo "$row"; sleep 60;;
  endless) exec yes "$row";;
  chatty) echo '{"kind":"summary","sessions":0}'; exec yes "$row";;
  lingering) echo '{"kind":"summary","sessions":0}'; exec >&-; sleep 60;;
  spoof)
    printf '%s\n' '{"\u0068ost":"bank","agent":"claude","id":"x"}'
    printf '%s\n' '{"\u0068ost":"bank","host":"bank","format_version":"9.9","agent":"claude","id":"y"}'
    echo '{"kind":"summary","sessions":2}';;
  fat?) while true; do large '{"agent":"claude","id":"x","title":"'; done;;
esac
"#;

fn hosts() -> World {
    let world = World::new();
    let root = world.root().to_str().expect("a path in UTF-8").to_owned();
    world.install("ssh", &SSH.replace("@ROOT@", &root));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rejoin"), world.root().join("bin/rejoin")).expect("a link");
    Claude::session(id(1)).in_dir("/usr/bin").turn("the quokka", "ok").write_to(&world.dir("good"));
    world
}

/// Runs rejoin for at most a minute.
fn rejoin(world: &World, words: &str) -> Answer {
    world.from(world.root()).run("timeout", ["60", env!("CARGO_BIN_EXE_rejoin")].into_iter().chain(words.split(' ')))
}

#[test]
fn silent_host_ends_at_answer_timeout() {
    let world = hosts();
    for words in ["list", "list --json", "search quokka", "doctor", "stats --json", "show latest", "undo --list"] {
        let answer = rejoin(&world, &format!("{words} --host mute --answer-timeout 500ms")).code(3);
        let stderr = answer.stderr();
        assert!(
            stderr.contains("mute: it was silent for 500ms; --answer-timeout sets how long it may be"),
            "{words}: {stderr}"
        );
    }
    // The answers of other hosts are shown, and the rows before a host stopped answering.
    let list = rejoin(&world, "list --host mute,stuck,good --answer-timeout 2s --fields host,id").code(3);
    let mut rows: Vec<String> = list.stdout().lines().map(str::to_owned).collect();
    rows.sort_unstable();
    assert_eq!(rows, [format!("good\t{}", id(1)), "stuck\tx".to_owned()]);
    let faults = list.stderr();
    assert!(
        faults.lines().count() == 2 && faults.contains("error: mute: ") && faults.contains("error: stuck: "),
        "{faults}"
    );
}

#[test]
fn run_stops_endless_host_after_its_answer() {
    let world = hosts();
    // Starts all at once, because each waits for its host.
    std::thread::scope(|scope| {
        let world = &world;
        for words in ["list --limit 5", "list --limit 5 --json", "search x --limit 5"] {
            scope.spawn(move || {
                let stderr = rejoin(world, &format!("{words} --host endless")).code(3).stderr();
                assert!(stderr.contains("endless: it answers more than was asked for"), "{words}: {stderr}");
            });
        }
        for host in ["chatty", "lingering"] {
            scope.spawn(move || _ = rejoin(world, &format!("list --host {host}")).code(0).stdout_eq(""));
            scope.spawn(move || _ = rejoin(world, &format!("agents --json --host {host}")).code(0));
        }
    });
}

#[test]
fn host_cannot_name_another_host_in_rows() {
    let world = hosts();
    for words in ["list --json", "list --format ndjson", "list --limit 5 --json", "search x --json"] {
        let answer = rejoin(&world, &format!("{words} --host spoof")).code(0).stdout();
        let first: serde_json::Value = contract::parse(answer.lines().next().expect("a line"));
        assert_eq!(first["format_version"], "1.0", "{words}: {answer}");
        assert!(answer.contains("\"x\"") && answer.contains("\"spoof\""), "{words}: {answer}");
        assert!(!answer.contains("bank"), "{words}: {answer}");
    }
    rejoin(&world, "list --host spoof --fields host,id").code(0).stdout_eq("spoof\tx\nspoof\ty\n");
}

/// Runs rejoin, drops its answer, and returns its status, its standard error, and its peak memory in MiB.
fn measured(world: &World, words: &str) -> (Option<i32>, String, u64) {
    let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(words.split(' ')).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a running program");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(memory_of(child.id()));
        match child.try_wait().expect("a status") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let stderr = std::io::read_to_string(child.stderr.take().expect("a pipe")).expect("text");
    (status.code(), stderr, peak / 1024)
}

#[test]
fn large_answers_of_hosts_need_little_memory() {
    let world = hosts();
    for words in ["list", "list --json", "search x"] {
        let (status, stderr, peak) = measured(&world, &format!("{words} --host fat1,fat2,fat3,fat4"));
        assert_eq!(status, Some(3), "{stderr}");
        assert_eq!(stderr.matches("a line of its answer is longer than 4.0 MiB").count(), 4, "{stderr}");
        assert!(peak < 100, "{words}: {peak} MiB");
    }
    // A large object is in memory, one at a time; text is streamed.
    let (status, stderr, peak) = measured(&world, "show x --json --host large1,large2,large3,large4");
    assert_eq!((status, &*stderr), (Some(0), ""));
    assert!(peak < 250, "{peak} MiB");
    let (status, stderr, peak) = measured(&world, "show x --host large1,large2,large3,large4");
    assert_eq!((status, &*stderr), (Some(0), ""));
    assert!(peak < 100, "{peak} MiB");
    let one: serde_json::Value = contract::parse(&rejoin(&world, "show x --json --host large1").code(0).stdout());
    assert_eq!(one["hosts"][0]["answer"]["more"].as_str().map(str::len), Some(66_060_288));
}
