//! contrib/fleet: the files that each host writes for the engines that query a thousand hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::contract;
use crate::fixtures::{Claude, Pi, id};
use crate::sample_home::{NOW, sample_home};
use crate::world::{Answer, World};

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/fleet/rejoin-fleet");
const MEASURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/fleet/measure.py");

/// Returns whether a command exists on this machine; if not, the log says so.
#[expect(clippy::disallowed_macros, reason = "whoever reads the log wants to know that it was not tried")]
fn has(what: &str, command: &mut Command) -> bool {
    let works = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let works = works.is_ok_and(|status| status.success());
    if !works {
        println!("skipped: there is no {what}");
    }
    works
}

fn fleet(world: &World, to: &Path) -> Answer {
    world.from(world.root()).run("sh", [SCRIPT.as_ref(), to.as_os_str()])
}

/// Returns the one file of a table.
fn file(to: &Path, table: &str) -> PathBuf {
    let files = walkdir::WalkDir::new(to.join(table)).into_iter().map(|entry| entry.expect("an entry"));
    let files: Vec<PathBuf> =
        files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

fn rows(to: &Path, table: &str) -> Vec<Value> {
    let output = Command::new("zstd").args(["-q", "-d", "-c"]).arg(file(to, table)).output().expect("zstd");
    String::from_utf8(output.stdout).expect("text").lines().map(contract::parse).collect()
}

#[test]
fn host_writes_each_file_completely_or_not() {
    if !has("zstd", Command::new("zstd").arg("--version")) {
        return;
    }
    let world = World::with_agents();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rejoin"), world.root().join("bin/rejoin")).expect("a link");
    world.add(
        Claude::session(id(1))
            .in_dir(APP)
            .at("2026-02-01T10:00:00Z")
            .turn("one", "ok")
            .subagent("agent-a1", "sub", "ok"),
    );
    world.add(Pi::session(id(2)).in_dir(APP).at("2026-02-02T10:00:00Z").turn("two", "ok"));
    world.rejoin(["archive", &id(2)]).code(0);
    let to = world.root().join("fleet");
    fleet(&world, &to).code(0).stderr_eq("").stdout_eq("");
    let sessions = rows(&to, "sessions");
    // Sub-agents are separate sessions.
    assert_eq!(
        sessions.iter().map(|row| row["id"].as_str().expect("an id")).filter(|it| *it == id(1) || *it == id(2)).count(),
        2
    );
    sessions.iter().for_each(|row| _ = contract::parse::<contract::Session>(&row.to_string()));
    assert_eq!(rows(&to, "archived").iter().map(|row| row["id"].clone()).collect::<Vec<_>>(), [id(2)]);
    let expiring = rows(&to, "expiring");
    assert_eq!((expiring.len(), &expiring[0]["sessions"][0]["id"]), (1, &id(1).into()));
    let path = file(&to, "sessions").display().to_string();
    assert!(path.contains("/sessions/day=20") && path.contains("/host="), "{path}");

    // On the same day, the file is replaced, and no other one is left.
    world.add(Pi::session(id(3)).in_dir(APP).turn("three", "ok"));
    fleet(&world, &to).code(0);
    assert_eq!(rows(&to, "sessions").len(), sessions.len() + 1);

    // A failed listing replaces nothing.
    std::fs::remove_file(world.root().join("bin/rejoin")).expect("a link");
    world.install("rejoin", "echo half; exit 1");
    fleet(&world, &to).code(1);
    assert_eq!(rows(&to, "sessions").len(), sessions.len() + 1);
    world.from(world.root()).run("sh", [SCRIPT]).code(2);
    world.from(world.root()).run("sh", [SCRIPT, "neither"]).code(2);
}

#[test]
fn clickhouse_and_duckdb_match_plain_counts() {
    let has_engines = has("python3 with duckdb and chdb", Command::new("python3").args(["-c", "import duckdb, chdb"]))
        && has("zstd", Command::new("zstd").arg("--version"));
    if !has_engines {
        return;
    }
    let world = World::new();
    let dir = world.dir("measure");
    let dir = dir.to_str().expect("a path in UTF-8");
    let words = [MEASURE, "--hosts", "20", "--sessions", "1000", "--dir", dir];
    let output = Command::new("python3").args(words).stdin(Stdio::null()).output().expect("python3");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    // One row per question, from both engines.
    assert_eq!((stdout.matches(" MiB |").count(), stdout.matches(" s, ").count()), (12, 12), "{stdout}");
}

/// Returns the columns of an engine, each with the names inside its type.
fn columns(engine: &str, quote: char) -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/fleet").join(engine).join("columns.sql");
    let text = std::fs::read_to_string(path).expect("columns");
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")).map(|line| {
        let mut quoted = line.split(quote).skip(1).step_by(2).map(str::to_owned);
        let name = line.split_once(": ").map(|(name, _)| name.to_owned());
        (name.or_else(|| quoted.next()).expect("a name"), quoted.collect())
    });
    lines.filter(|(name, _)| !["day", "host"].contains(&name.as_str())).collect()
}

#[test]
fn table_columns_equal_session_fields() {
    let columns = [columns("clickhouse", '`'), columns("duckdb", '"')];
    assert_eq!(columns[0], columns[1]);
    let world = sample_home();
    let list: Value =
        world.from(world.home()).with("REJOIN_NOW", NOW).rejoin(["list", "--all", "--json"]).code(0).json();
    let keys = |value: &Value| value.as_object().map(|members| members.keys().cloned().collect::<BTreeSet<_>>());
    let mut compared = BTreeSet::new();
    for session in list["sessions"].as_array().expect("sessions") {
        assert_eq!(keys(session), Some(columns[0].keys().cloned().collect()));
        for (name, inside) in columns[0].iter().filter(|(_, inside)| !inside.is_empty()) {
            let value = session[name].as_array().and_then(|items| items.first()).unwrap_or(&session[name]);
            if let Some(members) = keys(value) {
                assert_eq!(&members, inside, "{name}");
                compared.insert(name.as_str());
            }
        }
    }
    assert_eq!(compared, ["copies", "launch_dir", "pointers", "resume"].into());
}
