//! Every printed command is complete: pasted into a shell at a terminal, it does what its description says.
#![expect(clippy::disallowed_macros, reason = "how many there are is worth knowing")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::contract::parse;
use crate::fixtures::{Amplifier, Claude, Gemini, Jido, Kimi, Leo, id, put};
use crate::sample;
use crate::sample_home::{NOW, sample_home};
use crate::terminal::Seat;
use crate::world::{World, is_tried};

/// The programs that resume the fixtures' sessions.
const PROGRAMS: [&str; 15] = [
    "amplifier",
    "claude",
    "codex",
    "copilot",
    "crush",
    "gemini",
    "goose",
    "hermes",
    "jido_code",
    "kilo",
    "kimi",
    "opencode",
    "pi",
    "qwen",
    "vibe",
];

/// Creates a home with every kind of problem that the other fixtures lack.
fn damaged_home() -> World {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(world.root().join("gone/away")).turn("gone", "x"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("torn", "x").torn());
    world.add(Claude::session(id(3)).in_dir(&app).record("mode", &serde_json::json!({"mode": "normal"})));
    // Two copies that diverged, so that the user must choose.
    world.add(Claude::session(id(4)).in_dir(&app).turn("same", "x").turn("one way", "x"));
    world.add(Claude::session(id(4)).in_dir(world.dir("b")).turn("same", "x").turn("another way", "y"));
    world.add(Amplifier::session(id(5)).turn("nowhere", "x"));
    world.add(Amplifier::session(id(6)).in_dir(&app).turn("no info", "x"));
    world.add(Amplifier::session(id(4)).in_dir(&app).session_info(&app).turn("same id", "x"));
    world.add(Jido::session(id(7)).in_dir(&app));
    world.add(Leo::pointer(world.dir("home/workspace/app/Lost/app"), &id(99)));
    world.add(Kimi::session(id(9)).in_dir(world.root().join("gone/kimi")).turn("gone", "x"));
    world.add(Gemini::session(id(10)).in_dir(world.root().join("gone/gemini")).turn("gone", "x"));
    world.add(Claude::session(id(8)).in_dir(&app).filed_under("-some-where").turn("misfiled", "x"));
    world
}

fn one_of_everything() -> World {
    let world = World::new();
    sample::fill(&world);
    world
}

/// Creates a home with archived, trashed, pinned and undone sessions, and a few settings in the config file.
fn used_home() -> World {
    let world = sample_home();
    for args in [
        &["archive", "8e7d", "c7e8"][..],
        &["delete", "8e7d", "--yes"],
        &["delete", "c7e8", "--yes"],
        &["pin", "31c5"],
        &["doctor", "--fix", "--check", "session-info-missing", "--yes"],
    ] {
        world.from(world.home()).with("REJOIN_NOW", NOW).rejoin(args).code(0);
    }
    let config = "[list]\nsince = \"30d\"\n[cleanup]\nolder-than = \"20d\"\n";
    put(&world.home().join(".config/rejoin/config.toml"), config);
    world
}

/// Runs every command that may print a command, and returns the output of each.
fn printed_by_verbs(world: &World, now: &str) -> BTreeMap<String, Vec<String>> {
    let run = |args: &[&str]| (words(args), printed(world, now, args));
    let list = world.with("REJOIN_NOW", now).rejoin(["list", "--all", "--json"]).code(0).sessions();
    let ids: Vec<String> = list
        .iter()
        .map(|session| format!("{}:{}", format!("{:?}", session.agent).to_lowercase(), session.id))
        .collect();
    let mut texts = vec![
        run(&["list", "--format", "table"]),
        run(&["list", "--agent", "claude", "--dir", "/nowhere"]),
        run(&["show", "nothing-has-this-name"]),
        run(&["doctor"]),
        run(&["doctor", "--all-findings"]),
        run(&["doctor", "--fix", "--dry-run"]),
        run(&["cleanup", "--older-than", "1s"]),
        run(&["cleanup", "--any-age", "--yes"]),
        run(&["cleanup", "--empty", "--any-age", "--dry-run"]),
        run(&["delete", "latest", "--yes"]),
        run(&["delete", "1", "--yes"]),
        run(&["archive", "--every", "--dry-run"]),
        run(&["restore", "nothing"]),
        run(&["undo", "nothing"]),
        run(&["help", "nothing"]),
        run(&["pin", "--list", "--format", "table"]),
        run(&["pin", "nothing-has-this-name"]),
        run(&["undo", "--purge", "--every", "--dry-run"]),
        run(&["undo", "--dry-run"]),
        run(&["undo", "--list", "--format", "table"]),
        run(&["list", "--archived", "--format", "table"]),
        run(&["archive", "--verify"]),
        run(&["archive", "--expiring", "30", "--dry-run"]),
        run(&["resume", "8e7d", "--print"]),
        run(&["show", "8e7d"]),
        run(&["export", "nothing-has-this-name"]),
        run(&["cleanup", "--dry-run"]),
        run(&["config"]),
        run(&["hook", "status"]),
        run(&["hook", "install", "--dry-run"]),
        run(&["move", "--detect"]),
        run(&["stats", "--format", "table"]),
        run(&["agents", "--format", "table"]),
    ];
    let pointers = walkdir::WalkDir::new(world.home()).into_iter().filter_map(Result::ok);
    for pointer in pointers.filter(|entry| entry.file_name() == ".agent_session.json") {
        let dir = pointer.path().parent().and_then(Path::to_str).expect("a path").to_owned();
        texts.push(run(&["resume", &dir, "--print"]));
    }
    let mut removed: BTreeMap<&str, usize> = BTreeMap::new();
    for id in &ids {
        let about: [&[&str]; 3] =
            [&["show", id], &["resume", id, "--print"], &["resume", id, "--print", "--prompt", "go on"]];
        texts.extend(about.map(run));
        // Removals print equal notes for all sessions of one agent.
        let seen = removed.entry(id.split(':').next().unwrap_or_default()).or_default();
        *seen += 1;
        if *seen <= 2 {
            let changes: [&[&str]; 6] = [
                &["rename", id, "Another", "--dry-run"],
                &["delete", id],
                &["delete", id, "--dry-run"],
                &["delete", id, "--copy", "2", "--dry-run"],
                &["backfill", id, "--dry-run"],
                &["archive", id, "--dry-run"],
            ];
            texts.extend(changes.map(run));
        }
    }
    let mut commands: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (args, text) in texts {
        for command in commands_in(&text) {
            commands.insert(command, args.clone());
        }
    }
    let report: serde_json::Value = parse(&world.with("REJOIN_NOW", now).rejoin(["doctor", "--json"]).stdout());
    for finding in report["findings"].as_array().expect("findings") {
        let remedies = finding["remedies"].as_array().expect("remedies");
        assert!(!remedies.is_empty(), "a finding without a command: {finding}");
        for remedy in remedies {
            assert!(remedy["effect"].as_str().is_some_and(|effect| !effect.is_empty()), "{finding}");
            commands.insert(remedy["command"].as_str().expect("a command").to_owned(), words(&["doctor", "--json"]));
        }
    }
    commands
}

fn words(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// Runs a command without a terminal for questions, and returns all its output.
fn printed<S: AsRef<std::ffi::OsStr>>(world: &World, now: &str, args: &[S]) -> String {
    let answer = world.with("REJOIN_NOW", now).rejoin(args);
    format!("{}\n{}", answer.stdout(), answer.stderr())
}

/// Finds commands of rejoin in a text: between backticks, or in the parentheses that name omitted items.
fn commands_in(text: &str) -> BTreeSet<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let named = text.split("(rejoin ").skip(1).filter_map(|rest| Some(format!("rejoin {}", rest.split_once(')')?.0)));
    let own = |command: &String| command.starts_with("rejoin ") && !command.contains('\n');
    quoted.map(str::to_owned).chain(named).filter(own).collect()
}

/// Returns whether a command writes outside of the world of the test; it is then not run.
fn writes_outside(command: &str, world: &World) -> bool {
    let root = world.root().to_str().expect("a path in UTF-8");
    command.strip_prefix("mkdir -p ").is_some_and(|dir| !dir.trim_start_matches(['\'', '"']).starts_with(root))
}

/// Restores the world.
fn put_back(world: &World, kept: &Path) {
    for entry in std::fs::read_dir(world.root()).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).expect("removed")
        } else {
            std::fs::remove_file(path).expect("removed")
        }
    }
    copy(kept, world.root());
}

/// Copies the contents of a directory with their times, which identify sessions.
fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status();
    assert!(copied.expect("cp").success());
}

/// Makes a copy of a database without each of its sessions and their sub-agents, for a program that removes them.
#[cfg(feature = "sqlite")]
fn prepare_removals(world: &World, program: &str, database: &Path) {
    if !database.is_file() {
        return;
    }
    let connection = rusqlite::Connection::open(database).expect("a database");
    let mut ids = connection.prepare("SELECT id FROM session").expect("sessions");
    let ids = ids.query_map([], |row| row.get::<_, String>(0)).expect("rows").map(|id| id.expect("an id"));
    for id in ids.collect::<Vec<_>>() {
        let copy = world.root().join(format!("{program} without {id}.db"));
        connection.execute("VACUUM INTO ?1", [copy.to_str().expect("a path in UTF-8")]).expect("a copy");
        let copy = rusqlite::Connection::open(&copy).expect("a database");
        copy.execute("DELETE FROM session WHERE id = ?1 OR parent_id = ?1", [&id]).expect("a session less");
    }
}

#[cfg(not(feature = "sqlite"))]
fn prepare_removals(_: &World, _: &str, _: &Path) {}

/// Pastes each command into a shell at a terminal in a separate world, and answers every question with yes.
fn paste_all(world: &World, now: &str) -> usize {
    for program in PROGRAMS {
        let database = world.home().join(format!(".local/share/{program}/{program}.db"));
        prepare_removals(world, program, &database);
        let (database, root) = (database.display(), world.root().display());
        let remove = format!("rm -f {database}*; cp \"{root}/{program} without $3.db\" {database}");
        world.install(program, &format!("[ \"$1 $2\" != 'session delete' ] || {{ {remove}; }}\n"));
    }
    let link = world.root().join("bin/rejoin");
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rejoin"), link).expect("a link");
    }
    let commands = printed_by_verbs(world, now);
    // A file that the user saves and edits first.
    let moves = world.with("REJOIN_NOW", now).rejoin(["move", "--detect"]).stdout();
    let filled = moves.replace("NEW_DIR", world.dir("elsewhere/new").to_str().expect("a path"));
    put(&world.root().join("elsewhere/moves"), filled.replace("# \"", "\""));
    let kept = tempfile::tempdir().expect("a directory");
    copy(world.root(), kept.path());
    let mut failed = Vec::new();
    for (at, (command, from)) in commands.iter().enumerate() {
        if !is_tried(at, 2) {
            continue;
        }
        // The fingerprint of a plan includes inodes and times, and the files were restored by copying.
        let again = |plan: &str| {
            let printed = commands_in(&printed(world, now, from)).into_iter().find(|command| command.starts_with(plan));
            printed.expect("the same plan")
        };
        let command = command.split_once("--apply ").map_or_else(|| command.clone(), |(plan, _)| again(plan));
        // The user names the directory.
        let command = &command.replace("NEW_DIR", world.dir("elsewhere/new").to_str().expect("a path"));
        if writes_outside(command, world) {
            continue;
        }
        let mut shell = world.with("REJOIN_NOW", now).command("/bin/sh");
        shell.args(["-c", command]);
        let mut seat = Seat::run(&shell, 100, 40);
        let is_picker = command.contains(" --pick");
        if is_picker {
            seat.shows("> ");
        }
        seat.types(if is_picker { "\x1b" } else { "y\n" });
        let (status, screen) = seat.ends();
        // Another `doctor` finds the rest, and an archive lacks unreadable files.
        let is_fine = match status {
            Some(3) => command.contains(" archive "),
            Some(4) => command.contains(" doctor"),
            Some(130) => is_picker,
            status => status == Some(0),
        };
        if !is_fine {
            failed.push(format!("{command} ends with {status:?}\nprinted by: {from:?}\n{screen}"));
        }
        if !is_reading(command) {
            put_back(world, kept.path());
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), commands.len(), failed.join("\n"));
    println!("{} commands", commands.len());
    commands.len()
}

fn is_reading(command: &str) -> bool {
    let verb = command.split(' ').nth(1).unwrap_or_default();
    let is_plan = command.contains("--dry-run") || command.contains("--print");
    is_plan
        || matches!(verb, "show" | "list" | "help" | "agents" | "-ld")
        || (verb == "doctor" && !command.contains("--fix"))
}

#[test]
fn every_command_printed_for_a_damaged_home_works() {
    let count = paste_all(&damaged_home(), crate::world::NOW);
    assert!(count >= 55, "{count} commands");
}

#[test]
fn every_command_printed_for_home_with_everything_works() {
    let count = paste_all(&one_of_everything(), crate::world::NOW);
    assert!(count >= 80, "{count} commands");
}

#[test]
fn every_command_printed_for_a_used_home_works() {
    let count = paste_all(&used_home(), NOW);
    assert!(count >= 50, "{count} commands");
}

#[test]
fn every_command_printed_for_the_sample_home_works() {
    let count = paste_all(&sample_home(), NOW);
    assert!(count >= 55, "{count} commands");
}

/// A command that is typed for the wrong home repairs, moves or deletes other sessions.
#[test]
fn every_command_printed_for_named_home_names_it() {
    let world = damaged_home();
    let named = world.root().join("named");
    copy(&world.home(), &named);
    let home = named.to_str().expect("a path");
    let lines: [&[&str]; 9] = [
        &["doctor", "--all-findings"],
        &["doctor", "--all-findings", "--json"],
        &["doctor", "--fix", "--dry-run"],
        &["show", "zzz"],
        &["show", "zzz", "--json"],
        &["delete", "latest"],
        &["list", "-q", "5"],
        &["restore", "x"],
        &["undo", "20200101-000000"],
    ];
    let mut count = 0;
    for line in lines {
        let args: Vec<&str> = ["--home", home].iter().chain(line).copied().collect();
        let text = printed(&world, crate::world::NOW, &args);
        for (at, _) in text.match_indices("rejoin ") {
            // In a hint, in JSON, in the line about omitted items, and in the report.
            let is_command = ["`", "\"", "(", "    "].iter().any(|before| text[..at].ends_with(before));
            count += usize::from(is_command);
            let command = text[at..].lines().next().unwrap_or_default();
            assert!(!is_command || command.contains(&format!("--home {home}")), "{line:?} prints {command}");
        }
    }
    assert!(count >= 20, "{count} commands");
}
