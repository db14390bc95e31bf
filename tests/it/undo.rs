//! Every run can be undone, even if it was interrupted at any point.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, getxattr, setxattr};

use crate::contract::Details;
use crate::contract::changes::{Backfill, ChangeKind, ChangeResult, Purge, RunList, RunState, Undo};
use crate::faults::killed_at_every_point;
use crate::fixtures::{Amplifier, Claude, age_tree, id};
use crate::picture::{Picture, differences, picture_of_stores};
use crate::terminal::shell;
use crate::world::{World, stride};

/// Creates a home in which a backfill has one file to replace and one to write.
fn world() -> World {
    let world = World::new();
    let broken = Amplifier::session(id(1)).file("session-info.json", r#"{"kept": 1"#).turn("x", "y");
    let session = world.add(broken);
    std::fs::set_permissions(session.join("session-info.json"), PermissionsExt::from_mode(0o640)).expect("a mode");
    world.add(Amplifier::session(id(2)).turn("x", "y"));
    age_tree(&world.home().join(".amplifier"));
    world
}

fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

#[track_caller]
pub(crate) fn assert_same(before: &Picture, after: &Picture, when: &str) {
    let differences = differences(before, after);
    assert!(differences.is_empty(), "{when}:\n{}", differences.join("\n"));
}

/// Deletes a session and undoes that: no byte, mode or time may differ.
#[track_caller]
pub(crate) fn delete_and_undo(world: &World, session: &str) {
    let before = crate::archive::stores(world);
    let path =
        PathBuf::from(&world.rejoin(["show", session, "--json"]).code(0).json::<Details>().session.copies[0].path);
    assert!(path.symlink_metadata().is_ok());
    world.rejoin(["delete", session, "--yes"]).code(0);
    assert!(path.symlink_metadata().is_err(), "{} is still there", path.display());
    world.rejoin(["show", session]).code(5);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &crate::archive::stores(world), session);
}

/// Returns the state after a backfill without faults.
fn after_backfill() -> Picture {
    let world = world();
    world.rejoin(["backfill", "--every"]).code(0);
    after(&world)
}

/// Returns the state of the stores, without the time at which the test wrote a new file.
fn after(world: &World) -> Picture {
    let mut stores = stores(world);
    let new = Path::new(".amplifier/projects/-home-ana-app/sessions").join(id(2)).join("session-info.json");
    if let Some((_, seconds, nanoseconds, _)) = stores.get_mut(&new) {
        (*seconds, *nanoseconds) = (0, 0);
    }
    stores
}

#[test]
fn undo_restores_bytes_modes_and_times_once() {
    let world = world();
    let before = stores(&world);
    let done: Backfill = world.rejoin(["backfill", "--every", "--json"]).code(0).json();
    let run = done.run.expect("a run");
    assert_ne!(stores(&world), before);

    let runs: RunList = world.rejoin(["undo", "--list", "--json"]).code(0).json();
    assert_eq!((runs.runs.len(), runs.runs[0].done, runs.runs[0].state), (1, 2, RunState::Done));
    let undone: Undo = world.rejoin(["undo", &run, "--json"]).code(0).json();
    assert_eq!((undone.done, undone.refused), (2, 0));
    assert!(undone.items.iter().all(|item| item.result == ChangeResult::Done));
    assert_same(&before, &stores(&world), "after undo");

    world.rejoin(["undo"]).code(5);
    let again: Undo = world.rejoin(["undo", &run, "--json"]).code(0).json();
    assert_eq!(again.done, 0);
    assert!(again.items.iter().all(|item| item.result == ChangeResult::Unchanged));
    assert_same(&before, &stores(&world), "after a second undo");
}

/// If a script undoes its clean-up, another change must not be undone in its place.
#[test]
fn undo_does_not_fall_back_to_older_run() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("second", "yes"));
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    world.rejoin(["delete", &id(2), "--permanent", "--yes"]).code(0);
    for args in [&["undo"][..], &["undo", "--yes"], &["undo", "--dry-run"]] {
        world.rejoin(args).code(7).stderr_eq(
            "error: the newest change, delete --permanent, cannot be undone\n\
             hint: to undo the one before, delete, run `rejoin undo 20260301-120000`\n",
        );
    }
    world.rejoin(["undo", "20260301-120000"]).code(0);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);
    // A later change can be undone.
    world.rejoin(["tag", &id(1), "+shop"]).code(0);
    world.rejoin(["undo"]).code(0);
    // Nothing can be undone, so the hint does not suggest the list.
    world.rejoin(["undo"]).code(5).stderr_eq("error: there is no run to undo\n");
}

#[test]
fn refused_undo_suggests_a_remedy() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    let path = world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("second", "yes"));
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    world.rejoin(["delete", &id(2), "--yes"]).code(0);
    std::fs::write(&path, "newer\n").expect("a file");
    let stdout = world.rejoin(["undo", "--yes"]).code(7).stdout();
    assert!(stdout.contains("refused  claude ") && stdout.contains("exists again"), "{stdout}");
    let way_out = "When the reason is gone, `rejoin undo 20260301-120000-2` undoes the rest. `rejoin undo 20260301-120000` \
                   undoes the run before it, delete.\n";
    assert!(stdout.ends_with(way_out), "{stdout}");
    std::fs::rename(&path, world.root().join("newer")).expect("a move");
    world.rejoin(["undo", "20260301-120000-2"]).code(0);
    world.rejoin(["undo", "20260301-120000"]).code(0);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 2);
}

#[test]
fn undo_describes_its_outcome() {
    let world = world();
    world.rejoin(["backfill", "--every"]).code(0).stdout_eq(snapbox::str![[r#"
recorded  amplifier 00000001-aaaa-4aaa-8aaa-000000000001  /home/ana/app  (session-info: its session-info.json is unusable; from metadata.json)
      /home/ana/app  (metadata.json; counts)
      /home/ana/app  (another session of its project; counts)
recorded  amplifier 00000002-aaaa-4aaa-8aaa-000000000002  /home/ana/app  (session-info: its session-info.json is missing; from metadata.json)
      /home/ana/app  (metadata.json; counts)
      /home/ana/app  (another session of its project; counts)
2 directories recorded, 0 already good, 0 refused.
`rejoin undo 20260301-120000` undoes this.

"#]]);
    world.rejoin(["undo", "--list", "--format", "table"]).code(0).stdout_eq(snapbox::str![[r#"
20260301-120000  backfill  done  2 done  just now

"#]]);
    world.rejoin(["undo"]).code(0).stdout_eq(snapbox::str![[r#"
undone  amplifier 00000001-aaaa-4aaa-8aaa-000000000001
undone  amplifier 00000002-aaaa-4aaa-8aaa-000000000002
Run 20260301-120000 (backfill): 2 undone.

"#]]);
    world.rejoin(["undo", "20200101-000000"]).code(5).stderr_eq(snapbox::str![[r#"
error: there is no run 20200101-000000
hint: run `rejoin undo --list` to see the runs

"#]]);
}

#[test]
fn undo_keeps_file_changed_since_the_run() {
    let world = world();
    let session = world.home().join(".amplifier/projects/-home-ana-app/sessions").join(id(1));
    world.rejoin(["backfill", "--every"]).code(0);
    let newer = r#"{"working_dir": "/somewhere/else", "created_at": "2026-02-01T10:00:00.000000+00:00"}"#;
    std::fs::write(session.join("session-info.json"), newer).expect("a file");

    let undone: Undo = world.rejoin(["undo", "--json"]).code(3).json();
    assert_eq!((undone.done, undone.refused), (1, 1));
    let refused = undone.items.iter().find(|item| item.result == ChangeResult::Refused).expect("a refusal");
    assert!(refused.error.as_deref().is_some_and(|reason| reason.ends_with("has changed since")), "{refused:?}");
    assert_eq!(std::fs::read_to_string(session.join("session-info.json")).expect("a file"), newer);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_reverts_or_completes_killed_backfill() {
    let complete = after_backfill();
    killed_at_every_point(20, |fault, _| {
        let (undone, completed) = (world(), world());
        let before = stores(&undone);
        let kill = |world: &World| world.with("REJOIN_FAULT", fault).rejoin(["backfill", "--every"]).was_killed();
        if !kill(&undone) {
            return false;
        }
        assert!(kill(&completed));
        no_session_info_is_torn(&undone, &before, &complete);

        // There may be nothing to undo, before or after.
        undone.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&undone), &format!("undone after {fault}"));
        completed.rejoin(["backfill", "--every"]).code(0);
        assert_same(&complete, &after(&completed), &format!("completed after {fault}"));
        let runs: RunList = completed.rejoin(["undo", "--list", "--json"]).code(0).json();
        assert!(runs.runs.iter().all(|run| run.state != RunState::Interrupted), "{fault}: {runs:?}");
        while undo_next(&completed) {}
        assert_same(&before, &stores(&completed), &format!("completed after {fault}, then undone"));
        true
    });
}

/// Undoes the newest run that can be undone, if there is one.
fn undo_next(world: &World) -> bool {
    let answer = world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
    answer.stderr().is_empty()
}

/// Asserts that every session-info.json is the old one or the new one.
fn no_session_info_is_torn(world: &World, before: &Picture, after: &Picture) {
    let now = stores(world);
    for (path, (_, _, _, bytes)) in now.iter().filter(|(path, _)| path.ends_with("session-info.json")) {
        let is_either = [before, after].iter().any(|picture| picture.get(path).is_some_and(|was| was.3 == *bytes));
        assert!(is_either, "{} is torn", path.display());
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn next_undo_completes_killed_one() {
    killed_at_every_point(6, |fault, _| {
        let world = world();
        let before = stores(&world);
        world.rejoin(["backfill", "--every"]).code(0);
        if !world.with("REJOIN_FAULT", fault).rejoin(["undo"]).was_killed() {
            return false;
        }
        world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&world), &format!("undone after {fault}"));
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failing_system_call_loses_nothing() {
    let complete = after_backfill();
    // No space left, permission denied, read-only file system.
    for error in [28, 13, 30] {
        let mut points = 0;
        loop {
            let fault = format!("{error}:{}", points + 1);
            let world = world();
            let before = stores(&world);
            let answer = world.with("REJOIN_FAULT", &fault).rejoin(["backfill", "--every"]);
            if answer.exit() == Some(0) && points > 40 {
                break;
            }
            points += stride(6);
            let answer = answer.code_is_one_of(&[0, 1, 3]);
            assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
            no_session_info_is_torn(&world, &before, &complete);
            let leftovers: Vec<_> = stores(&world).into_keys().filter(|path| is_temporary(path)).collect();
            world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
            assert_same(&before, &stores(&world), &format!("undone after {fault} ({leftovers:?})"));
        }
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn partly_failed_undo_reports_its_items() {
    let mut partial = 0;
    for point in (1..).step_by(stride(3)) {
        let (world, fault) = (world(), format!("28:{point}"));
        let before = stores(&world);
        world.rejoin(["backfill", "--every"]).code(0);
        let run = stores(&world);
        let answer = world.with("REJOIN_FAULT", &fault).rejoin(["undo", "--json"]).code_is_one_of(&[0, 1, 3, 7]);
        if answer.exit() == Some(0) && partial > 2 {
            break;
        }
        // Only an undo that changed nothing may have no report.
        if answer.exit() == Some(1) {
            assert_same(&run, &stores(&world), &format!("after {fault}: {}", answer.stderr()));
        } else if answer.exit() == Some(3) {
            partial += 1;
            let undo: Undo = answer.json();
            assert!(undo.refused + undo.failed > 0 || !undo.warnings.is_empty(), "{fault}: {}", answer.stdout());
            let back = stores(&world);
            let is_restored = undo.done > 0;
            assert!(!is_restored || back != run, "{fault}: {}", answer.stdout());
        }
        world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&world), &format!("undone after {fault}"));
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".rejoin-"))
}

#[test]
fn second_run_waits_and_names_lock_holder() {
    let world = world();
    let before = stores(&world);
    let state = world.home().join(".local/state/rejoin");
    std::fs::create_dir_all(&state).expect("a directory");
    let mut holder = std::fs::File::create(state.join("lock")).expect("a lock");
    holder.write_all(br#"{"pid":4711,"verb":"cleanup","since":"2026-03-01T11:59:00Z"}"#).expect("a note");
    rustix::fs::flock(&holder, rustix::fs::FlockOperation::NonBlockingLockExclusive).expect("the lock");

    let answer = world.rejoin(["backfill", "--every", "--lock-timeout", "100ms"]).code(7);
    answer.stderr_eq(snapbox::str![[r#"
error: process 4711 (rejoin cleanup, since 2026-03-01T11:59:00Z) is changing sessions right now; waited 100ms
hint: try again when it has finished, or wait longer with --lock-timeout

"#]]);
    assert_same(&before, &stores(&world), "while the lock is held");

    let mut waiting = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    let mut waiting = waiting.args(["backfill", "--every"]).stdout(std::process::Stdio::null()).spawn().expect("a run");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(waiting.try_wait().expect("a status").is_none(), "it did not wait");
    drop(holder);
    assert!(waiting.wait().expect("an end").success());
    assert_ne!(stores(&world), before);
}

#[test]
fn six_runs_at_once_do_the_work_once() {
    let world = world();
    let start = || {
        let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["backfill", "--every", "--json"]).stdout(std::process::Stdio::piped());
        command.spawn().expect("a run")
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    let answers: Vec<Backfill> = running
        .into_iter()
        .map(|run| run.wait_with_output().expect("an end"))
        .map(|output| crate::contract::parse(&String::from_utf8_lossy(&output.stdout)))
        .collect();
    assert_eq!(answers.iter().map(|answer| answer.done).sum::<u64>(), 2, "{answers:#?}");
    assert_same(&after_backfill(), &after(&world), "after six runs");
}

#[test]
fn undo_shows_selects_and_purges_items() {
    let world = world();
    let before = stores(&world);
    world.rejoin(["backfill", "--every"]).code(0);
    let run = "20260301-120000";
    let shown: Undo = world.rejoin(["undo", run, "--dry-run", "--json"]).code(0).json();
    assert_eq!(shown.items.len(), 2);
    let info = Path::new(".amplifier/projects/-home-ana-app/sessions").join(id(1)).join("session-info.json");
    assert!(shown.items[0].id.as_deref() == Some(id(1).as_str()), "{shown:?}");
    let purge: Purge = world.rejoin(["undo", "--purge", run, "--dry-run", "--json"]).code(0).json();
    // A new file has no old version in the trash.
    assert_eq!(purge.freed_bytes, 10);
    world.rejoin(["undo", run, "nothing"]).code(5);
    world.rejoin(["undo", "20991231-000000", &id(1)]).code(5);
    let stderr = world.rejoin(["undo", run, "0000000"]).code(6).stderr();
    assert!(stderr.contains(&format!("matches several items of run {run}")), "{stderr}");
    let command = format!("`rejoin undo {run} amplifier:{}`", id(1));
    assert!(stderr.contains(&command), "{stderr}");
    let path = world.home().join(&info);
    for name in [&id(1), "amplifier:00000001", "00000001", path.to_str().expect("a path")] {
        let one: Undo = world.rejoin(["undo", run, name, "--dry-run", "--json"]).code(0).json();
        assert_eq!((one.planned, one.refused), (1, 0), "{name}");
    }
    let restored: Undo = world.rejoin(["undo", run, &id(1), "--json"]).code(0).json();
    assert_eq!(restored.done, 1);
    assert_eq!(stores(&world).get(&info), before.get(&info));
    let rest: Undo = world.rejoin(["undo", run, "--dry-run", "--json"]).code(0).json();
    assert_eq!(rest.planned, 1);

    world.rejoin(["backfill", "--every"]).code(0);
    world.rejoin(["undo", "--purge", "--every"]).code(2);
    world.rejoin(["undo", "--purge", "20991231-000000", "--yes"]).code(5);
    for args in
        [&["--purge"][..], &["--purge", "--every", run], &["--every"], &["--older-than", "14d"], &["--purge", run, "x"]]
    {
        world.rejoin([&["undo"], args].concat()).code(2);
    }
    let kept: Purge = world.rejoin(["undo", "--purge", "--older-than", "14d", "--yes", "--json"]).code(0).json();
    assert_eq!(kept.items.len(), 0);
    let purged: Purge = world.rejoin(["undo", "--purge", "--every", "--yes", "--json"]).code(0).json();
    assert_eq!((purged.items.len(), purged.freed_bytes), (2, 10));
    world.rejoin(["undo"]).code(5);
    world.rejoin(["undo", "--list"]).code(0).stdout_eq("").stderr_eq("There is no run that can be undone.\n");
    let left = std::fs::read_dir(world.home().join(".local/state/rejoin/trash")).expect("the trash").count();
    assert_eq!(left, 0);
}

#[test]
fn trash_works_on_another_file_system() {
    let Some(elsewhere) = other_file_system() else { return };
    let world = world();
    let before = stores(&world);
    let state = elsewhere.path().to_owned();
    let run = |args: &[&str]| world.with("XDG_STATE_HOME", &state).rejoin(args);
    run(&["backfill", "--every"]).code(0);
    assert_ne!(stores(&world), before);
    run(&["undo"]).code(0);
    assert_same(&before, &stores(&world), "after undo across file systems");
}

#[test]
fn sparse_file_stays_sparse_on_other_file_system() {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    const LENGTH: u64 = 1 << 28;
    let Some(elsewhere) = other_file_system() else { return };
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y").side_file("disk.img", "begin"));
    let has_length = |entry: &walkdir::DirEntry| entry.metadata().expect("metadata").len() == LENGTH;
    let find = |dir: &Path| {
        let mut found = walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.expect("an entry")).filter(has_length);
        found.next().expect("the file").into_path()
    };
    let check = |dir: &Path| {
        let file = std::fs::File::open(find(dir)).expect("a file");
        let (mut begin, mut end) = ([0; 5], [0; 3]);
        file.read_exact_at(&mut begin, 0).and_then(|()| file.read_exact_at(&mut end, LENGTH / 2)).expect("bytes");
        assert_eq!((&begin, &end), (b"begin", b"end"));
        let bytes = file.metadata().expect("metadata").blocks() * 512;
        assert!(bytes < 1 << 20, "{bytes} bytes are taken");
    };
    let mut entries = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry"));
    let image = entries.find(|entry| entry.file_name() == "disk.img").expect("the file").into_path();
    let file = std::fs::File::options().write(true).open(&image).expect("a file");
    file.write_all_at(b"end", LENGTH / 2).and_then(|()| file.set_len(LENGTH)).expect("a hole");
    // A session with an open file is in use.
    drop(file);
    let run = |args: &[&str]| world.with("XDG_STATE_HOME", elsewhere.path()).rejoin(args).code(0);
    run(&["delete", &id(1), "--yes"]);
    check(elsewhere.path());
    run(&["undo"]);
    check(&world.home());
    run(&["archive", &id(1)]);
    run(&["delete", &id(1), "--yes", "--permanent"]);
    run(&["restore", &id(1)]);
    check(&world.home());
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn extended_attributes_and_acls_survive_trash_and_rewrite() {
    let elsewhere = other_file_system();
    for elsewhere in [None, elsewhere.as_ref().map(tempfile::TempDir::path)] {
        let world = world();
        let state = elsewhere.unwrap_or(world.root());
        let session = world.home().join(".amplifier/projects/-home-ana-app/sessions").join(id(1));
        let tagged = [session.clone(), session.join("session-info.json"), session.join("transcript.jsonl")];
        for path in &tagged {
            if let Err(error) = setxattr(path, "user.tag", b"red", XattrFlags::empty()) {
                println!("skipped: no extended attributes here: {error}");
                return;
            }
        }
        let has_acl = cfg!(target_os = "linux")
            && setxattr(&tagged[2], "system.posix_acl_access", &acl(), XattrFlags::empty()).is_ok();
        let check = |when: &str| {
            for path in &tagged {
                let mut tag = [0; 8];
                let length = getxattr(path, "user.tag", &mut tag[..]).unwrap_or_default();
                assert_eq!(&tag[..length], b"red", "{} {when}, {state:?}", path.display());
            }
            let mut found = [0; 64];
            let length = getxattr(&tagged[2], "system.posix_acl_access", &mut found[..]).unwrap_or_default();
            assert_eq!(found[..length], if has_acl { acl() } else { Vec::new() }, "{when}, {state:?}");
        };
        let run = |args: &[&str]| world.with("XDG_STATE_HOME", state).rejoin(args).code(0);
        run(&["backfill", "--every"]);
        check("after a rewrite");
        run(&["undo"]);
        check("after the rewrite was taken back");
        run(&["delete", &id(1), "--yes"]);
        assert!(!session.exists());
        run(&["undo"]);
        check("after it was deleted and put back");
    }
}

/// Returns an ACL in the form of Linux: another user may read.
fn acl() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, NOBODY), (2, 4, 1234), (4, 0, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn undo_does_not_follow_project_replaced_by_link() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("x", "y"));
    let (project, outside) = (path.parent().expect("a directory").to_owned(), world.dir("outside"));
    let before: BTreeSet<PathBuf> = stores(&world).into_keys().collect();
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let aside = project.with_file_name("aside");
    std::fs::rename(&project, &aside).expect("a move");
    std::os::unix::fs::symlink(&outside, &project).expect("a link");
    let answer = world.rejoin(["undo"]).code(7);
    let output = answer.stdout() + &answer.stderr();
    assert!(output.contains("has become a symbolic link"), "{output}");
    assert_eq!(std::fs::read_dir(&outside).expect("a directory").count(), 0);
    std::fs::remove_file(&project).expect("no link");
    std::fs::rename(&aside, &project).expect("a move");
    world.rejoin(["undo"]).code(0);
    let after: BTreeSet<PathBuf> = stores(&world).into_keys().collect();
    assert_eq!(after, before);
}

#[test]
fn undo_restores_into_a_linked_store() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
    let (claude, dotfiles) = (world.home().join(".claude"), world.dir("dotfiles").join("claude"));
    std::fs::rename(&claude, &dotfiles).expect("a move");
    std::os::unix::fs::symlink(&dotfiles, &claude).expect("a link");
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    assert!(!path.exists());
    std::fs::remove_dir_all(path.parent().expect("a directory")).expect("its agent tidied up");
    world.rejoin(["undo"]).code(0);
    assert!(path.exists());
}

#[test]
fn restore_refuses_session_with_unreadable_copy() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y").filed_under("-elsewhere"));
    let before: BTreeSet<PathBuf> = stores(&world).into_keys().collect();
    world.rejoin(["delete", &id(1), "--copy", "2"]).code(0);
    let (kept, aside) = (path, world.root().join("aside"));
    assert!(kept.exists());
    std::fs::rename(&kept, &aside).expect("a move");
    let made = std::process::Command::new("mkfifo").arg(&kept).status().expect("a pipe");
    assert!(made.success());
    let after = world.rejoin(["undo"]).code(7);
    let output = after.stdout() + &after.stderr();
    assert!(output.contains("it is unknown whether a process uses it"), "{output}");
    std::fs::remove_file(&kept).expect("no pipe");
    std::fs::rename(&aside, &kept).expect("a move");
    world.rejoin(["undo"]).code(0);
    let after: BTreeSet<PathBuf> = stores(&world).into_keys().collect();
    assert_eq!(after, before);
}

/// Creates a directory on another file system than that of the worlds, if this machine has one.
pub(crate) fn other_file_system() -> Option<tempfile::TempDir> {
    other_file_system_than(World::new().root())
}

/// Creates a directory on another file system than that of `this`.
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
pub(crate) fn other_file_system_than(this: &Path) -> Option<tempfile::TempDir> {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    let dirs = [std::env::temp_dir(), "/dev/shm".into()];
    let other = dirs.into_iter().find(|dir| device(dir).is_some_and(|its| Some(its) != device(this)));
    let other = other.and_then(|dir| tempfile::tempdir_in(dir).ok());
    if other.is_none() {
        println!("skipped: there is no other file system here");
    }
    other
}

#[test]
fn dry_run_describes_the_undo_and_changes_nothing() {
    let world = world();
    world.rejoin(["backfill", "--every"]).code(0);
    let (after, state) = (stores(&world), world.home().join(".local/state/rejoin"));
    let files = || walkdir::WalkDir::new(&state).into_iter().map(|entry| entry.expect("an entry").into_path());
    let names: BTreeSet<PathBuf> = files().collect();
    let plan: Undo = world.rejoin(["undo", "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.kind, plan.planned, plan.refused), (ChangeKind::ChangePlan, 2, 0));
    let stdout = world.rejoin(["undo", "--dry-run"]).code(0).stdout();
    assert!(
        stdout.contains("would undo") && stdout.ends_with(": 2 would be undone. Nothing was changed.\n"),
        "{stdout}"
    );
    let one: Undo = world.rejoin(["undo", "20260301-120000", &id(1), "--dry-run", "--json"]).code(0).json();
    assert_eq!(one.planned, 1);
    let purge: Purge = world.rejoin(["undo", "--purge", "--every", "--dry-run", "--json"]).code(0).json();
    assert_eq!((purge.kind, purge.items.len()), (ChangeKind::ChangePlan, 1));
    assert!(purge.freed_bytes > 0);
    assert_same(&after, &stores(&world), "after dry runs");
    assert_eq!(files().collect::<BTreeSet<_>>(), names);
    // The plan reports an obstacle.
    let info = world.home().join(".amplifier/projects/-home-ana-app/sessions").join(id(1)).join("session-info.json");
    std::fs::write(&info, "another's").expect("a file");
    let plan: Undo = world.rejoin(["undo", "--dry-run", "--json"]).code(3).json();
    assert_eq!((plan.planned, plan.refused), (1, 1));
    let done: Undo = world.rejoin(["undo", "--json"]).code(3).json();
    assert_eq!((done.kind, done.done, done.refused), (ChangeKind::ChangeOutcome, 1, 1));
}

#[test]
fn undo_finds_last_run_after_clock_change() {
    let world = World::new();
    (1..=3).for_each(|n| _ = world.add(Claude::session(id(n)).turn("x", "y")));
    let delete = |n, now| world.with("REJOIN_NOW", now).rejoin(["delete", &id(n), "--yes"]).code(0).stdout();
    assert!(delete(1, "2026-03-01T12:00:00Z").contains("`rejoin undo 20260301-120000` undoes"));
    assert!(delete(2, "2026-02-01T12:00:00Z").contains("`rejoin undo 20260301-120000-2` undoes"));
    assert!(delete(3, "2026-02-01T12:00:01Z").contains("`rejoin undo 20260301-120000-3` undoes"));
    let runs: RunList = world.rejoin(["undo", "--list", "--json"]).code(0).json();
    let names: Vec<&str> = runs.runs.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(names, ["20260301-120000-3", "20260301-120000-2", "20260301-120000"]);
    for n in [3, 2, 1] {
        world.rejoin(["show", &id(n)]).code(5);
        world.rejoin(["undo"]).code(0);
        world.rejoin(["show", &id(n)]).code(0);
    }
}

#[test]
fn wrong_clock_does_not_expire_trash() {
    let world = World::new();
    let clocks = ["2026-03-01T12:00:00Z", "1970-01-02T12:00:00Z", "2099-01-01T12:00:00Z", "2026-03-02T12:00:00Z"];
    for (n, now) in (1..).zip(clocks) {
        world.add(Claude::session(id(n)).turn("x", "y"));
        world.with("REJOIN_NOW", now).rejoin(["delete", &id(n), "--yes"]).code(0);
    }
    let purged = |before| {
        let args = ["undo", "--purge", "--dry-run", "--json", "--older-than", before];
        let purged: Purge = world.with("REJOIN_NOW", "2026-03-20T12:00:00Z").rejoin(args).code(0).json();
        let mut runs: Vec<String> = purged.items.into_iter().map(|item| item.details.run).collect();
        runs.sort();
        runs
    };
    assert_eq!(purged("2026-03-01"), [""; 0]);
    assert_eq!(purged("2026-03-02"), ["20260301-120000", "20260301-120000-2"]);
    // A run in the future is kept until its time, unless it is named; the ages of later runs do not change.
    assert_eq!(purged("2026-03-19"), ["20260301-120000", "20260301-120000-2", "20990101-120000-2"]);
}

#[test]
fn id_and_title_select_trashed_session() {
    let world = World::with_agents();
    let app = world.dir("app");
    let paint = Claude::session(id(1)).in_dir(&app).title("Paint the fence").at("2026-01-01T10:00:00Z");
    world.add(paint.turn("paint the fence", "Painted."));
    world.add(Claude::session(id(2)).in_dir(&app).title("Bake a cake").at("2026-01-01T10:00:00Z").turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&app).title("Paint the door").turn("paint", "y"));
    world.rejoin(["cleanup", "--older-than", "30d", "--yes", "--allow-all"]).code(0);
    let list = world.rejoin(["undo", "--dry-run"]).code(0).stdout();
    assert!(list.contains("Paint the fence") && list.contains("Bake a cake"), "{list}");
    let run = world.rejoin(["undo", "--list", "--json"]).code(0).json::<RunList>().runs[0].run.clone();
    for verb in ["resume", "show", "export", "delete"] {
        for name in [&id(1), &id(1)[..8], "fence"] {
            let yes: &[&str] = if verb == "delete" { &["--yes"] } else { &[] };
            let stderr = world.rejoin([&[verb, name], yes].concat()).code(5).stderr();
            let hint = format!("hint: it is in the trash; run `rejoin undo {run} {}` to put it back", id(1));
            assert!(stderr.contains(&hint), "{verb} {name}: {stderr}");
            assert!(!stderr.contains("Paint the door"), "no session that is unrelated: {stderr}");
        }
    }
    let stderr = world.rejoin(["show", "0000000"]).code_is_one_of(&[0, 5]).stderr();
    assert!(!stderr.contains("in the trash"), "a session in a store comes first: {stderr}");
    // With options and filters that the trash does not support, nothing is restored from it.
    for args in [&["--state", "1"][..], &["--trust"], &["--keep-times"], &["--here"], &["--apply", "000000000000"]] {
        world.rejoin([&["restore", "fence"], args].concat()).code(5);
    }
    let several = world.rejoin(["restore", "a"]).code(6).stderr();
    assert!(several.contains("matches 2 sessions in the trash") && several.contains("Bake a cake"), "{several}");
    assert!(several.contains(&format!("`rejoin undo {run} ")), "{several}");
    let several = world.rejoin(["show", "fence|cake"]).code(5).stderr();
    assert!(!several.contains("in the trash"), "{several}");
    let plan: Undo = world.rejoin(["restore", "fence", "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.planned, plan.details.run.as_str()), (1, run.as_str()));
    world.rejoin(["restore", "fence"]).code(0);
    world.rejoin(["resume", "fence", "--print"]).code(0);

    // A session that was removed twice is restored from the newest run, whatever was removed in between.
    world.rejoin(["delete", "fence", "--yes"]).code(0);
    world.rejoin(["undo", "--yes"]).code(0);
    world.rejoin(["delete", "fence", "--yes"]).code(0);
    world.add(Claude::session(id(1)).in_dir(&app).title("Paint the fence").turn("again", "y"));
    world.rejoin(["delete", &id(3), "--yes"]).code(0);
    world.rejoin(["delete", "fence", "--yes"]).code(0);
    let stderr = world.rejoin(["resume", "fence"]).code(5).stderr();
    assert!(stderr.contains("it is in the trash; run `rejoin undo "), "{stderr}");
    world.rejoin(["undo", "--yes"]).code(0);
    world.rejoin(["restore", &id(3)]).code(0);
    // For a run with one item, the hint is to undo the run.
    world.rejoin(["delete", &id(3), "--yes"]).code(0);
    let stderr = world.rejoin(["resume", &id(3)]).code(5).stderr();
    assert!(stderr.contains("it is in the trash; run `rejoin undo "), "{stderr}");
    let mut seat = shell(&world, "undo");
    seat.sees("Paint the door");
    seat.sees("[y/N] ");
    seat.types("y\r");
    assert_eq!(seat.ends().0, Some(0));
    world.rejoin(["resume", &id(3), "--print"]).code(0);
}

#[test]
fn undo_refuses_run_with_dependent_run() {
    let at = |world: &World, minute: u32, args: &[&str]| {
        let now = format!("2026-03-01T12:0{minute}:00Z");
        world.with("REJOIN_NOW", &now).rejoin(args)
    };
    let (first, second) = ("20260301-120000", "20260301-120100");
    for later in ["move", "delete"] {
        let world = World::new();
        let (old, new) = (world.root().join("old"), world.dir("new"));
        world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
        age_tree(&world.home().join(".claude"));
        let before = stores(&world);
        at(&world, 0, &["rename", &id(1), "Another"]).code(0);
        let paths = [&old, &new].map(|path| path.to_str().expect("a path"));
        match later {
            "move" => at(&world, 1, &["move", paths[0], paths[1], "--yes"]).code(0),
            _ => at(&world, 1, &["delete", &id(1), "--yes"]).code(0),
        };
        let between = stores(&world);
        for args in [&["undo", first, "--dry-run"][..], &["undo", first]] {
            let stdout = at(&world, 2, args).code(7).stdout();
            let hint =
                format!("the later run {second} ({later}) changed it; undo that first with `rejoin undo {second}`");
            assert!(stdout.contains(&hint), "{later}: {stdout}");
            assert_same(&between, &stores(&world), later);
        }
        at(&world, 3, &["undo"]).code(0);
        at(&world, 4, &["undo", first]).code(0);
        assert_same(&before, &stores(&world), later);
    }
}

#[test]
fn undo_does_not_restore_session_twice() {
    let world = World::new();
    let (old, new) = (world.dir("old"), world.dir("new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.rejoin(["archive", "--every"]).code(0);
    world.with("REJOIN_NOW", "2026-03-01T12:01:00Z").rejoin(["delete", &id(1), "--yes"]).code(0);
    let map = format!("{}={}", old.display(), new.display());
    world.with("REJOIN_NOW", "2026-03-01T12:02:00Z").rejoin(["restore", &id(1), "--map", &map]).code(0);
    let stdout = world.rejoin(["undo", "20260301-120100"]).code(7).stdout();
    assert!(stdout.contains("(restore) changed it"), "{stdout}");
    let sessions = world.rejoin(["list", "--json"]).sessions();
    assert_eq!((sessions.len(), sessions[0].copies.len()), (1, 1));
}

#[test]
fn undo_skips_session_that_a_process_writes() {
    let world = World::new().with_processes();
    let (old, new) = (world.root().join("old"), world.dir("new"));
    let path = world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    let paths = [&old, &new].map(|path| path.to_str().expect("a path"));
    let before = stores(&world);
    let writer = std::fs::File::options().append(true).open(&path).expect("a transcript");
    let stderr = world.rejoin(["rename", &id(1), "Another"]).code(7).stderr();
    assert!(stderr.contains("in use by process"), "{stderr}");
    let stdout = world.rejoin(["move", paths[0], paths[1], "--yes"]).code(3).stdout();
    assert!(stdout.contains("in use by process"), "{stdout}");
    assert_same(&before, &stores(&world), "while it is written to");
    drop(writer);

    world.rejoin(["rename", &id(1), "Another"]).code(0);
    let renamed = stores(&world);
    let writer = std::fs::File::options().append(true).open(&path).expect("a transcript");
    let stdout = world.rejoin(["undo"]).code(7).stdout();
    assert!(stdout.contains("in use by process"), "{stdout}");
    assert_same(&renamed, &stores(&world), "while it is written to");
    drop(writer);
    world.rejoin(["undo"]).code(0);
}

/// Many programs replace a file when they write it.
#[test]
fn undo_keeps_file_replaced_by_another_program() {
    let replace = |path: &Path, with: &str| {
        let new = path.with_extension("new");
        std::fs::write(&new, with).expect("a file");
        std::fs::rename(new, path).expect("a move");
    };
    let world = World::new();
    let (old, new) = (world.root().join("app"), world.dir("new"));
    let before = world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    let words = |path: &Path| path.to_str().expect("a path").to_owned();
    world.rejoin(["move", &words(&old), &words(&new), "--yes"]).code(0);
    let path: String = world.rejoin(["show", "--path", &id(1)]).code(0).stdout();
    let path = PathBuf::from(path.trim_end());
    let newer = std::fs::read_to_string(&path).expect("a transcript") + "\n";
    replace(&path, &newer);
    // Neither rejoin's record of the move nor the new project is undone.
    let preview: Undo = world.rejoin(["undo", "--dry-run", "--json"]).code(7).json();
    assert_eq!(preview.refused, 3);
    let undone: Undo = world.rejoin(["undo", "--json"]).code(7).json();
    assert_eq!(undone.refused, 3, "{undone:?}");
    assert!(!before.exists(), "a second copy");
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), newer);

    // A new file, and a restored one.
    let world = World::new();
    let session = world.add(Amplifier::session(id(2)).turn("x", "y"));
    world.rejoin(["backfill", "--every"]).code(0);
    let info = session.join("session-info.json");
    replace(&info, "{}");
    assert!(world.rejoin(["undo"]).code(7).stdout().contains("has changed since"));
    assert_eq!(std::fs::read_to_string(&info).expect("a file"), "{}");

    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    world.rejoin(["restore", &id(1)]).code(0);
    let newer = std::fs::read_to_string(&path).expect("a transcript") + "\n";
    replace(&path, &newer);
    assert!(world.rejoin(["undo"]).code(7).stdout().contains("has changed since"));
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), newer);
}
