//! Two simultaneous faults lose no data, and unknown state is not acted on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::archive::own_dir;
use crate::contract::archive::Verify;
use crate::contract::changes::{Change, Cleanup, Purge, Undo};
use crate::fixtures::{Claude, age_tree, id, put};
use crate::picture::{Picture, differences, picture, picture_of_stores};
use crate::undo::assert_same;
use crate::world::{World, is_tried, start_of};

/// A directory that exists on every machine, so that worlds have the same paths.
const APP: &str = "/usr/bin";

/// In a sample, the first point and every 8th one are tested. The explorer tests a fault at each point.
const STRIDE: usize = 8;

/// Returns the points at which a scenario is tested, in order.
fn points() -> impl Iterator<Item = usize> {
    (1..).filter(|point| *point == 1 || is_tried(*point, STRIDE))
}

/// Runs a scenario with `kill:1`, `kill:2` and so on, until it returns that the point was not reached.
#[track_caller]
pub(crate) fn killed_at_every_point(at_least: usize, mut scenario: impl FnMut(&str, usize) -> bool) {
    let beyond = points().find(|point| !scenario(&format!("kill:{point}"), *point));
    assert!(beyond.is_some_and(|beyond| beyond > at_least), "point {beyond:?} was not passed");
}

/// Runs a scenario with a fault at each point at which `run` can be killed.
#[track_caller]
pub(crate) fn failing_at_every_point(
    kind: &str,
    lasting: bool,
    mut is_killed: impl FnMut(&str) -> bool,
    mut scenario: impl FnMut(&str),
) {
    let mut is_reached = |point: usize| is_killed(&format!("kill:{point}"));
    let mut beyond = 1;
    while is_reached(beyond) {
        beyond *= 2;
    }
    let mut reached = beyond / 2;
    while beyond - reached > 1 {
        let middle = usize::midpoint(reached, beyond);
        if is_reached(middle) { reached = middle } else { beyond = middle }
    }
    assert!(reached > 5, "only {reached} points were passed");
    points()
        .take_while(|point| *point <= reached)
        .for_each(|point| scenario(&format!("{kind}:{point}{}", if lasting { "+" } else { "" })));
}

fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

/// Creates a session with a side directory and a sub-agent, and another session.
fn world() -> World {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    let session = Claude::session(id(1)).in_dir(APP).at("2025-11-01T10:00:00Z").turn("x", "y");
    world.add(session.subagent("agent-a1", "look", "ok").side_file("tool-results/a.txt", "a"));
    put(&world.home().join(".claude/file-history").join(id(1)).join("a@v1"), "old");
    world.add(Claude::session(id(2)).in_dir(APP).at("2026-02-20T10:00:00Z").turn("x", "y"));
    age_tree(&world.home().join(".claude"));
    world
}

fn transcript(world: &World, n: u32) -> PathBuf {
    world.home().join(".claude/projects/-usr-bin").join(format!("{}.jsonl", id(n)))
}

fn state(world: &World) -> PathBuf {
    world.home().join(".local/state/rejoin")
}

/// Returns the only journal.
pub(crate) fn journal(world: &World) -> PathBuf {
    let mut runs = std::fs::read_dir(state(world).join("runs")).expect("the runs");
    runs.next().expect("a run").expect("an entry").path()
}

/// Asserts that every byte that was in a file is still in some file.
#[track_caller]
pub(crate) fn nothing_is_lost(world: &World, before: &Picture, when: &str) {
    let now = picture(&world.home());
    let everything: BTreeSet<&[u8]> = now.values().map(|(_, _, _, bytes)| bytes.as_slice()).collect();
    for (path, (_, _, _, bytes)) in before {
        assert!(everything.contains(bytes.as_slice()), "{} is lost after {when}", path.display());
    }
}

fn fails_from_every_point_on(args: &[&str]) {
    // Input or output error, no space left.
    for error in ["5", "28"] {
        failing_at_every_point(
            error,
            true,
            |fault| world().with("REJOIN_FAULT", fault).rejoin(args).was_killed(),
            |fault| {
                let world = world();
                let before = stores(&world);
                let answer = world.with("REJOIN_FAULT", fault).rejoin(args).code_is_one_of(&[0, 1, 3]);
                assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
                let is_full =
                    answer.stderr().contains("error: ") && answer.stderr().contains("no space left on device");
                assert!(!is_full || answer.stderr().contains("rejoin undo --purge --every"), "{}", answer.stderr());
                if !args.contains(&"--archive") {
                    nothing_is_lost(&world, &before, fault);
                }
                // The next command names the stuck run, which can be finished by hand.
                let next = world.rejoin(["backfill", "--every"]).code(0).stderr();
                let is_back = stores(&world) == before;
                assert!(is_back || !next.contains("is stuck") || next.contains("`rejoin undo 2"), "{fault}: {next}");
                while world.rejoin(["undo"]).code_is_one_of(&[0, 5]).stderr().is_empty() {}
                assert_same(&before, &stores(&world), &format!("undone after {fault}: {}", answer.stderr()));
            },
        );
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn delete_failing_from_any_call_loses_nothing() {
    fails_from_every_point_on(&["delete", &id(1), "--yes"]);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn cleanup_failing_from_any_call_loses_nothing() {
    fails_from_every_point_on(&["cleanup", "--yes"]);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn cleanup_archive_failing_from_any_call_loses_nothing() {
    fails_from_every_point_on(&["cleanup", "--archive", "--yes"]);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn two_faults_at_once_lose_nothing() {
    for first in 8..30 {
        for second in (first + 1..first + 6).filter(|second| is_tried(first + second, 4)) {
            let fault = format!("5:{first},28:{second}");
            let world = world();
            let before = stores(&world);
            let answer = world.with("REJOIN_FAULT", &fault).rejoin(["delete", &id(1), "--yes"]);
            let answer = answer.code_is_one_of(&[0, 1, 3]).stdout();
            nothing_is_lost(&world, &before, &fault);
            world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
            // If the second fault hits the rollback of a move, the time of the directory is lost, and the answer names that.
            let project = transcript(&world, 1);
            let named = format!("cannot restore the times of the directory of {}", project.display());
            let mut differences = differences(&before, &stores(&world));
            differences.retain(|one| one != ".claude/projects/-usr-bin differs in time" || !answer.contains(&named));
            assert!(differences.is_empty(), "undone after {fault}:\n{}", differences.join("\n"));
        }
    }
}

#[test]
fn delete_keeps_transcript_rewritten_after_removal() {
    for race in (0..20).filter(|race| is_tried(*race, 2)) {
        let world = world();
        let (before, path) = (stores(&world), transcript(&world, 1));
        let subagent = path.with_extension("").join("subagents/agent-a1.jsonl");
        assert!(subagent.exists());
        let stop = Arc::new(AtomicBool::new(false));
        let agent = std::thread::spawn({
            let (path, subagent, stop) = (path.clone(), subagent.clone(), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Relaxed) && path.exists() {}
                for path in [path, subagent] {
                    let file = std::fs::File::options().append(true).create(true).open(path);
                    let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"new\":1}\n"));
                }
            }
        });
        world.rejoin(["delete", &id(1), "--yes"]).code_is_one_of(&[0, 3]);
        stop.store(true, Ordering::Relaxed);
        agent.join().expect("an agent");
        let (now, old) = (picture(&world.home()), &before[path.strip_prefix(world.home()).expect("below")].3);
        assert!(now.values().any(|(_, _, _, bytes)| bytes.starts_with(old)), "lost in race {race}");
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn purge_keeps_trash_of_another_run() {
    let world = world();
    let others = state(&world).join("trash/20260301-120000/0-0");
    put(&others, "kept");
    let refused = world.with("REJOIN_FAULT", "28:14").rejoin(["delete", &id(1), "--yes"]).code_is_one_of(&[0, 1, 3]);
    assert_eq!(std::fs::read_to_string(&others).expect("what is kept"), "kept", "{}", refused.stderr());
    let done: Change = world.rejoin(["delete", &id(1), "--yes", "--json"]).code(0).json();
    assert!(done.run.is_some_and(|run| run.starts_with("20260301-120000-")), "the name is taken");
    assert_eq!(std::fs::read_to_string(&others).expect("what is kept"), "kept");
    let listed = world.rejoin(["undo", "--list"]).code(0);
    assert!(listed.stderr().contains("20260301-120000: there is no journal of it"), "{}", listed.stderr());
}

#[test]
fn undo_refuses_journal_with_bad_line() {
    let flip = |text: &str, from: &str, to: &str| text.replacen(from, to, 1);
    type Damage = fn(&str) -> String;
    let cases: [(&str, Damage); 4] = [
        ("a bad byte", |text| text.replacen("\"event\":\"item\"", "\"event\":\"iteM\"", 1)),
        ("a line that is gone", |text| {
            text.lines().enumerate().filter(|(at, _)| *at != 1).fold(String::new(), |all, (_, line)| all + line + "\n")
        }),
        ("a later version", |text| text.replacen("\"format_version\":1", "\"format_version\":2", 1)),
        ("a name that leads elsewhere", |text| text.replacen("\"kept\":\"0-0\"", "\"kept\":\"../../0-0\"", 1)),
    ];
    for (what, damage) in cases {
        let world = world();
        world.rejoin(["delete", &id(1), "--yes"]).code(0);
        let journal = journal(&world);
        let text = std::fs::read_to_string(&journal).expect("a journal");
        // A run without its last line would be recovered.
        let cut_off = flip(&text, text.lines().last().expect("a line"), "");
        for text in [damage(&text), damage(cut_off.trim_end_matches('\n')) + "\n"] {
            std::fs::write(&journal, text).expect("a journal");
            let before = picture(&world.home());
            let one = ["undo", "20260301-120000", &id(1)];
            for verb in [&["undo"][..], &["undo", "20260301-120000"], &one, &["restore", &id(1)], &["undo", "--list"]] {
                let answer = world.rejoin(verb).code_is_one_of(&[0, 5, 7]);
                assert!(!answer.stderr().contains("a bug in rejoin"), "{what}: {}", answer.stderr());
                assert!(answer.stderr().contains("20260301-120000.jsonl: "), "{what}: {verb:?} {}", answer.stderr());
            }
            let purged: Purge = world.rejoin(["undo", "--purge", "--every", "--yes", "--json"]).code(3).json();
            assert!(
                purged.items.is_empty() && purged.warnings[0].contains("20260301-120000 is left as it is"),
                "{purged:?}"
            );
            let answer = world.rejoin(["backfill", "--every"]).code(0);
            let is_cut_off = !std::fs::read_to_string(&journal).expect("a journal").contains("\"event\":\"end\"");
            assert_eq!(answer.stderr().contains("is left as it is"), is_cut_off, "{what}: {}", answer.stderr());
            let mut after = picture(&world.home());
            after.retain(|path, _| before.contains_key(path));
            let is_own = |path: &Path| path.ends_with("lock") || path.ends_with("rejoin") || path.ends_with("home");
            let before = before.into_iter().filter(|(path, _)| !is_own(path)).collect();
            after.retain(|path, _| !is_own(path));
            assert_same(&before, &after, what);
        }
    }
}

#[test]
fn undo_refuses_unreadable_runs() {
    let world = world();
    put(&state(&world).join("runs"), "no directory");
    for args in [&["undo"][..], &["undo", "--list"], &["restore", &id(1)], &["undo", "--purge", "--every", "--yes"]] {
        let answer = world.rejoin(args).code(1);
        assert!(answer.stderr().contains("rejoin/runs: "), "{args:?}: {}", answer.stderr());
    }
}

#[test]
fn undo_leaves_a_session_in_use_alone() {
    let world = world();
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(1), "--permanent", "--yes"]).code(0);
    world.rejoin(["restore", &id(1), "--keep-times"]).code(0);
    let before = stores(&world);
    let running = world.home().join(".claude/sessions/1.json");
    let ticks = start_of(std::process::id());
    put(&running, json!({"pid": std::process::id(), "sessionId": id(1), "procStart": ticks}).to_string());
    let refused: Undo = world.rejoin(["undo", "--json"]).code(7).json();
    assert!(refused.items[0].error.as_deref().is_some_and(|why| why.starts_with("it is in use by process")));
    std::fs::remove_dir_all(world.home().join(".claude/sessions")).expect("a directory");
    let mut after = stores(&world);
    after.insert(".claude".into(), before[Path::new(".claude")].clone());
    assert_same(&before, &after, "while it is in use");
    world.rejoin(["undo"]).code(0);
    assert!(!transcript(&world, 1).exists());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn purge_does_not_report_leftover_files_as_deleted() {
    failing_at_every_point(
        "5",
        true,
        |fault| {
            let args = ["delete", &id(1), "--permanent", "--yes"];
            world().with("REJOIN_FAULT", fault).rejoin(args).was_killed()
        },
        |fault| {
            let world = world();
            let args = ["delete", &id(1), "--permanent", "--yes", "--json"];
            let answer = world.with("REJOIN_FAULT", fault).rejoin(args).code_is_one_of(&[0, 1, 3]);
            if answer.exit() != Some(1) {
                let trash = picture(&state(&world).join("trash"));
                let is_left = trash.keys().any(|path| path.components().count() > 1);
                let done: Change = answer.json();
                let is_said = done.run.is_some() && answer.exit() == Some(3);
                assert!(!is_left || is_said, "{fault}: {}", answer.stderr());
            }
        },
    );
}

#[test]
fn cleanup_gives_up_after_lock_timeout() {
    let world = world();
    let before = stores(&world);
    put(&state(&world).join("lock"), "");
    let holder = std::fs::File::open(state(&world).join("lock")).expect("a lock");
    rustix::fs::flock(&holder, rustix::fs::FlockOperation::NonBlockingLockExclusive).expect("the lock");
    let args = ["cleanup", "--permanent", "--yes", "--lock-timeout", "0s"];
    let answer = world.rejoin(args).code(0);
    assert!(answer.stderr().contains("Nothing was done."), "{}", answer.stderr());
    assert_same(&before, &stores(&world), "while the lock is held");
    drop(holder);
    // A process that waits for the lock gets it after all the work is done.
    let cleanup: Cleanup = world.rejoin(["cleanup", "--permanent", "--yes", "--json"]).code(0).json();
    assert_eq!((cleanup.done, cleanup.details.permanent), (1, true));
}

#[test]
fn command_holds_lock_until_last_change() {
    // The number of sessions makes the other process begin to wait during the run.
    let old: Vec<String> = (10..70).map(id).collect();
    let delete: Vec<&str> = ["delete", "--permanent"].into_iter().chain(old.iter().map(String::as_str)).collect();
    for args in [&["cleanup", "--permanent", "--allow-all"][..], &delete] {
        let world = world();
        world.add(Claude::session(id(3)).in_dir(APP).at("2026-02-20T10:00:00Z").turn("x", "y"));
        for id in &old {
            world.add(Claude::session(id).in_dir(APP).at("2025-11-01T10:00:00Z").turn("x", "y"));
        }
        age_tree(&world.home().join(".claude"));
        put(&state(&world).join("lock"), "");
        let (lock, runs) =
            (std::fs::File::open(state(&world).join("lock")).expect("a lock"), state(&world).join("runs"));
        let is_done = AtomicBool::new(false);
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| {
                let has_begun = || std::fs::read_dir(&runs).is_ok_and(|mut runs| runs.next().is_some());
                while !has_begun() && !is_done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
                while !is_done.load(Ordering::Relaxed) {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
            let args = args.iter().chain(&["--yes", "--lock-timeout", "1s"]);
            let answer = world.rejoin(args);
            is_done.store(true, Ordering::Relaxed);
            answer
        });
        assert_eq!(answer.exit(), Some(0), "{}", answer.stderr());
        assert!(!answer.stderr().contains("Nothing was done"), "{}", answer.stderr());
        let trash = picture(&state(&world).join("trash"));
        assert!(
            !transcript(&world, 10).exists() && trash.keys().all(|path| path.components().count() < 2),
            "{trash:?}"
        );
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failed_purge_names_files_left_in_trash() {
    let deleted = || {
        let world = world();
        world.rejoin(["delete", &id(1), "--yes"]).code(0);
        world
    };
    let args = ["undo", "--purge", "--every", "--yes", "--json"];
    failing_at_every_point(
        "5",
        false,
        |fault| deleted().with("REJOIN_FAULT", fault).rejoin(args).was_killed(),
        |fault| {
            let world = deleted();
            let answer = world.with("REJOIN_FAULT", fault).rejoin(args).code_is_one_of(&[0, 1, 3]);
            let trash = picture(&state(&world).join("trash"));
            if trash.keys().any(|path| path.components().count() > 1) && answer.exit() != Some(1) {
                let purged: Purge = answer.code(3).json();
                assert!(purged.items.is_empty() && !purged.warnings.is_empty(), "{fault}: {purged:?}");
            }
        },
    );
}

#[test]
fn delete_and_undo_handle_deep_directory() {
    let world = world();
    let side = transcript(&world, 1).with_extension("").join("tool-results");
    let deep = "for _ in $(seq 40); do mkdir -p $(printf 'd/%.0s' $(seq 100)); cd -P $(printf 'd/%.0s' $(seq 100)); done; \
                echo the deepest > f";
    let made = std::process::Command::new("sh").args(["-c", deep]).current_dir(&side).status();
    assert!(made.expect("a shell").success());
    let found = || {
        let find = ["-c", "find . -name f | wc -l"];
        let found = std::process::Command::new("sh").args(find).current_dir(world.home()).output().expect("a shell");
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    };
    world.rejoin(["list", "--all"]).code(0);
    world.rejoin(["doctor"]).code_is_one_of(&[0, 4]);
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    assert_eq!((side.exists(), found().as_str()), (false, "1"));
    world.rejoin(["undo"]).code(0);
    assert_eq!((side.exists(), found().as_str()), (true, "1"));
    // Its path is longer than the system allows, so that it is left alone and reported.
    let archived = world.rejoin(["archive", &id(1)]).code(3);
    assert!(archived.stdout().contains("failed"), "{}", archived.stdout());
    world.rejoin(["delete", &id(1), "--permanent", "--yes"]).code(0);
    assert_eq!(found(), "0");
}

#[test]
fn sweep_skips_partly_invisible_archive() {
    let hide: [fn(&Path); 2] = [
        |sessions| {
            let elsewhere = sessions.with_file_name("elsewhere");
            std::fs::rename(sessions.join("claude"), &elsewhere).expect("a move");
            std::os::unix::fs::symlink(elsewhere, sessions.join("claude")).expect("a link");
        },
        |sessions| {
            let session = std::fs::read_dir(sessions.join("claude")).expect("sessions").next().expect("a session");
            let session = session.expect("an entry").path();
            let manifest = std::fs::read_dir(&session).expect("manifests").next().expect("a manifest");
            std::fs::rename(manifest.expect("an entry").path(), session.join("000001.cbor")).expect("a move");
        },
    ];
    for hide in hide {
        let world = world();
        world.rejoin(["archive", &id(1)]).code(0);
        let dir = own_dir(&world);
        let before: Vec<PathBuf> = picture(&dir.join("blobs")).into_keys().collect();
        hide(&dir.join("sessions"));
        world.rejoin(["archive", &id(2)]).code(0);
        let after = picture(&dir.join("blobs"));
        assert!(before.iter().all(|blob| after.contains_key(blob)), "{before:?} {:?}", after.keys());
    }
    let world = world();
    world.rejoin(["archive", "--every"]).code(0);
    hide[0](&own_dir(&world).join("sessions"));
    let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code(4).json();
    assert!(verdict.faults[0].reason.contains("symbolic link"), "{verdict:?}");
}

#[test]
fn restore_writes_nothing_among_other_files_of_agent() {
    let world = world();
    world.rejoin(["archive", &id(1)]).code(0);
    crate::archive::wipe(&world);
    let session = own_dir(&world).join("sessions/claude").join(id(1));
    let manifest = std::fs::read_dir(&session).expect("manifests").next().expect("one").expect("an entry").path();
    let whole: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&manifest).expect("a manifest")).expect("JSON");
    std::fs::remove_file(&manifest).expect("a manifest");
    let at = |manifest: &serde_json::Value, path: &str| {
        let entries = manifest["entries"].as_array().expect("entries");
        entries.iter().position(|entry| entry["path"].as_str().is_some_and(|it| it.contains(path))).expect("an entry")
    };
    let edits: [&dyn Fn(&mut serde_json::Value); 3] = [
        // The session has another file.
        &|manifest| {
            let at = at(manifest, "a.txt");
            manifest["entries"][at]["path"] = json!("settings.json");
        },
        // The transcript itself.
        &|manifest| {
            let at = at(manifest, ".jsonl");
            manifest["entries"][at]["path"] = json!("settings.json");
            manifest["copies"][0]["path"] = json!("settings.json");
        },
        // An additional entry.
        &|manifest| {
            let mut entry = manifest["entries"][at(manifest, "a.txt")].clone();
            entry["path"] = json!("projects/-usr-bin/CLAUDE.md");
            manifest["entries"].as_array_mut().expect("entries").push(entry);
        },
    ];
    for edit in edits {
        let mut manifest = whole.clone();
        edit(&mut manifest);
        let mut bytes = serde_json::to_vec(&manifest).expect("JSON");
        bytes.push(b'\n');
        let name = format!("000001-{}.json", sha256(&bytes));
        put(&session.join(&name), &bytes);
        let before = stores(&world);
        for last in ["--dry-run", "--json"] {
            let refused = world.rejoin(["restore", &id(1), last]).code(7);
            assert!(refused.stderr().contains("does not belong to claude session"), "{}", refused.stderr());
        }
        assert_same(&before, &stores(&world), "after a refusal");
        std::fs::remove_file(session.join(&name)).expect("a manifest");
    }
    put(&session.join(manifest.file_name().expect("a name")), serde_json::to_vec(&whole).expect("JSON"));
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
