//! `doctor --fix` and `delete --copy`: a repaired finding is gone, and undo restores everything after any interruption.

use std::path::Path;

use serde_json::{Value, json};

use crate::contract::changes::{Change, ChangeResult, DoctorFix, RunList, RunState, Undo};
use crate::contract::{DoctorReport, Finding};
use crate::faults::{killed_at_every_point, nothing_is_lost};
use crate::fixtures::{Amplifier, Claude, age_tree, id, put};
use crate::picture::{Picture, picture_of_stores};
use crate::terminal::Seat;
use crate::undo::{assert_same, other_file_system};
use crate::world::{World, start_of, stride};

/// A directory that exists on every machine, so that worlds have the same paths.
const APP: &str = "/usr/bin";

/// Creates a home with each finding that can be repaired, and one that needs a decision.
fn world() -> World {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    // The session has no session-info.json.
    world.add(Amplifier::session(id(1)).in_dir(APP).turn("x", "y"));
    // A resume in another directory left a directory with newer events, and another one with known events.
    let own = event("2026-02-01T10:00:00.000+00:00", "start");
    let session = Amplifier::session(id(2)).in_dir(APP).session_info(APP).turn("x", "y");
    world.add(session.file("events.jsonl", &own));
    for (slug, events) in [("-newer", event("2026-02-02T10:00:00.000+00:00", "resume")), ("-known", own)] {
        let dir = world.home().join(".amplifier/projects").join(slug).join("sessions").join(id(2));
        put(&dir.join("events.jsonl"), events);
    }
    // One copy is the beginning of the other, one is equal, and one diverged.
    let whole = |n| Claude::session(id(n)).in_dir(APP).turn("add a test", "Added.").turn("and another", "Done.");
    world.add(whole(3).subagent("agent-a1", "look", "ok"));
    let start = Claude::session(id(3)).in_dir(APP).turn("add a test", "Added.");
    world.add(start.filed_under("-somewhere-else"));
    world.add(whole(4));
    world.add(whole(4).filed_under("-somewhere-else"));
    world.add(whole(5));
    let stray = Claude::session(id(5)).in_dir(APP).turn("add a test", "Added.").turn("no", "Undone.");
    world.add(stray.filed_under("-somewhere-else"));
    // A transcript is missing, and its tool result remains; a writer died; a record was never removed.
    put(&world.home().join(".claude/projects/-usr-bin").join(id(6)).join("tool-results/a.txt"), "a result");
    let sessions = world.home().join(".amplifier/projects/-usr-bin/sessions");
    put(&sessions.join(id(1)).join("metadata_abc.tmp"), "{");
    age_tree(&world.home().join(".amplifier"));
    age_tree(&world.home().join(".claude"));
    world
}

fn event(at: &str, name: &str) -> String {
    format!("{}\n", json!({"ts": at, "event": format!("session:{name}"), "session_id": id(2), "data": {}}))
}

fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

fn findings(world: &World) -> Vec<Finding> {
    world.rejoin(["doctor", "--json"]).json::<DoctorReport>().findings
}

/// Returns the stores after a fix, without the time of a file that it created.
fn fixed(world: &World) -> Picture {
    let mut stores = stores(world);
    let new = Path::new(".amplifier/projects/-usr-bin/sessions").join(id(1)).join("session-info.json");
    if let Some((_, seconds, nanoseconds, _)) = stores.get_mut(&new) {
        (*seconds, *nanoseconds) = (0, 0);
    }
    stores
}

fn after_fix() -> Picture {
    let world = world();
    world.rejoin(["doctor", "--fix"]).code(4);
    fixed(&world)
}

#[test]
fn fix_removes_findings_and_undo_restores_files() {
    let world = world();
    let before = stores(&world);
    let mendable = findings(&world).iter().filter(|finding| finding.repair.is_some()).count();
    assert_eq!(mendable, 7);

    let plan: DoctorFix = world.rejoin(["doctor", "--fix", "--dry-run", "--json"]).code(4).json();
    assert_eq!((plan.planned, plan.done), (7, 0));
    assert_same(&before, &stores(&world), "after a dry run");
    let fix: DoctorFix = world.rejoin(["doctor", "--fix", "--apply", plan.fingerprint(), "--json"]).code(4).json();
    assert_eq!((fix.done, fix.skipped, fix.failed), (7, 0, 0), "{:#?}", fix.items);
    assert_eq!(fix.fingerprint, plan.fingerprint);
    assert_eq!(fix.details.undecided.len(), 1);

    let left = findings(&world);
    assert!(left.iter().all(|finding| finding.repair.is_none()), "{left:#?}");
    let log = world.home().join(".amplifier/projects/-usr-bin/sessions").join(id(2)).join("events.jsonl");
    let log = std::fs::read_to_string(log).expect("a log");
    assert_eq!(log.lines().count(), 2);
    assert!(log.lines().last().is_some_and(|line| line.contains("session:resume")));

    world.rejoin(["undo"]).code(0);
    assert_same(&before, &stores(&world), "after undo");
}

#[test]
fn fix_repairs_stale_records_and_registrations() {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("add a test", "Added."));
    put(&app.join(".claude/cat/sessions").join(format!("{}.cwd", id(1))), format!("{}/gone", app.display()));
    let registration = json!({"pid": 4_000_000, "sessionId": id(1), "cwd": &app, "procStart": "1"});
    put(&world.home().join(".claude/sessions/4000000.json"), registration.to_string());
    world.add(Amplifier::session(id(2)).in_dir(&app).file("session-info.json", "[]").turn("x", "y"));
    age_tree(world.root());
    let before = crate::picture::picture(&app);
    let stores_before = stores(&world);

    let codes = ["stale-cwd-record", "leftover-temp", "session-info-invalid"];
    let of_codes = |world: &World| -> Vec<String> {
        findings(world).into_iter().map(|finding| finding.code).filter(|code| codes.contains(&code.as_str())).collect()
    };
    assert_eq!(of_codes(&world).len(), 3);
    // Each remedy alone removes its finding.
    for finding in findings(&world).iter().filter(|finding| finding.repair.is_some()) {
        let remedy: Vec<&str> = finding.remedy.split(' ').skip(1).collect();
        world.rejoin(&remedy).code(0);
    }
    assert!(of_codes(&world).is_empty());
    while world.rejoin(["undo"]).code_is_one_of(&[0, 5]).stderr().is_empty() {}
    assert_same(&before, &crate::picture::picture(&app), "after undo, in the project");
    assert_same(&stores_before, &stores(&world), "after undo, in the stores");
}

#[test]
fn fix_describes_its_changes() {
    let world = world();
    world.rejoin(["doctor", "--fix", "--dry-run"]).code(4).stdout_eq(snapbox::str![[r#"
would repair  a copy of claude 00000003-aaaa-4aaa-8aaa-000000000003  (duplicate-session: copy 2 is only the beginning of copy 1)
      ~/.claude/projects/-somewhere-else/00000003-aaaa-4aaa-8aaa-000000000003.jsonl  (to the trash, 711 B)
would repair  a copy of claude 00000004-aaaa-4aaa-8aaa-000000000004  (duplicate-session: identical)
      ~/.claude/projects/-somewhere-else/00000004-aaaa-4aaa-8aaa-000000000004.jsonl  (to the trash, 1.4 KiB)
would repair  files of claude 00000006-aaaa-4aaa-8aaa-000000000006  (orphan-belongings: no transcript next to it)
      ~/.claude/projects/-usr-bin/00000006-aaaa-4aaa-8aaa-000000000006  (to the trash, 8 B)
would repair  amplifier 00000001-aaaa-4aaa-8aaa-000000000001  (session-info-missing: its session-info.json is missing; from metadata.json)
      ~/.amplifier/projects/-usr-bin/sessions/00000001-aaaa-4aaa-8aaa-000000000001/session-info.json  (new)
would repair  a temporary file of amplifier 00000001-aaaa-4aaa-8aaa-000000000001  (leftover-temp: 1 byte)
      ~/.amplifier/projects/-usr-bin/sessions/00000001-aaaa-4aaa-8aaa-000000000001/metadata_abc.tmp  (to the trash, 1 B)
would repair  amplifier 00000002-aaaa-4aaa-8aaa-000000000002  (duplicate-session: only events that copy 1 has too)
      ~/.amplifier/projects/-known/sessions/00000002-aaaa-4aaa-8aaa-000000000002  (to the trash, 125 B)
would repair  amplifier 00000002-aaaa-4aaa-8aaa-000000000002  (duplicate-session: only events newer than those of copy 1)
      ~/.amplifier/projects/-usr-bin/sessions/00000002-aaaa-4aaa-8aaa-000000000002/events.jsonl  (replaced, the old version goes to the trash)
      ~/.amplifier/projects/-newer/sessions/00000002-aaaa-4aaa-8aaa-000000000002  (to the trash, 126 B)
7 problems would be repaired, 2.3 KiB to the trash. Nothing was changed.
`rejoin doctor --fix --apply [..]` does exactly this.
1 other problem needs a decision; `rejoin doctor` names them.

"#]]);
    world.rejoin(["doctor", "--fix"]).code(4).stdout_eq(snapbox::str![[r#"
repaired  a copy of claude 00000003-aaaa-4aaa-8aaa-000000000003  (duplicate-session: copy 2 is only the beginning of copy 1)
      ~/.claude/projects/-somewhere-else/00000003-aaaa-4aaa-8aaa-000000000003.jsonl  (to the trash, 711 B)
repaired  a copy of claude 00000004-aaaa-4aaa-8aaa-000000000004  (duplicate-session: identical)
      ~/.claude/projects/-somewhere-else/00000004-aaaa-4aaa-8aaa-000000000004.jsonl  (to the trash, 1.4 KiB)
repaired  files of claude 00000006-aaaa-4aaa-8aaa-000000000006  (orphan-belongings: no transcript next to it)
      ~/.claude/projects/-usr-bin/00000006-aaaa-4aaa-8aaa-000000000006  (to the trash, 8 B)
repaired  amplifier 00000001-aaaa-4aaa-8aaa-000000000001  (session-info-missing: its session-info.json is missing; from metadata.json)
      ~/.amplifier/projects/-usr-bin/sessions/00000001-aaaa-4aaa-8aaa-000000000001/session-info.json  (new)
repaired  a temporary file of amplifier 00000001-aaaa-4aaa-8aaa-000000000001  (leftover-temp: 1 byte)
      ~/.amplifier/projects/-usr-bin/sessions/00000001-aaaa-4aaa-8aaa-000000000001/metadata_abc.tmp  (to the trash, 1 B)
repaired  amplifier 00000002-aaaa-4aaa-8aaa-000000000002  (duplicate-session: only events that copy 1 has too)
      ~/.amplifier/projects/-known/sessions/00000002-aaaa-4aaa-8aaa-000000000002  (to the trash, 125 B)
repaired  amplifier 00000002-aaaa-4aaa-8aaa-000000000002  (duplicate-session: only events newer than those of copy 1)
      ~/.amplifier/projects/-usr-bin/sessions/00000002-aaaa-4aaa-8aaa-000000000002/events.jsonl  (replaced, the old version goes to the trash)
      ~/.amplifier/projects/-newer/sessions/00000002-aaaa-4aaa-8aaa-000000000002  (to the trash, 126 B)
7 problems repaired, 2.3 KiB to the trash.
`rejoin undo 20260301-120000` undoes this.
1 other problem needs a decision; `rejoin doctor` names them.

"#]]);
    world.rejoin(["doctor", "--fix", "--check", "leftover-temp"]).code(0).stdout_eq(snapbox::str![[r#"
Nothing to do.

"#]]);
}

#[test]
fn fix_refuses_changed_plan() {
    let world = world();
    let plan: DoctorFix = world.rejoin(["doctor", "--fix", "--dry-run", "--json"]).code(4).json();
    let copy = world.home().join(".claude/projects/-somewhere-else").join(format!("{}.jsonl", id(4)));
    std::fs::write(&copy, std::fs::read(&copy).expect("a transcript")).expect("the same again");
    let before = stores(&world);
    let answer = world.rejoin(["doctor", "--fix", "--apply", plan.fingerprint()]).code(7);
    assert!(answer.stderr().contains("the plan has changed since it was shown"), "{}", answer.stderr());
    assert_same(&before, &stores(&world), "after a refusal");
    world.rejoin(["doctor", "--apply", plan.fingerprint()]).code(2);
}

#[test]
fn delete_of_a_copy_keeps_the_other() {
    for (gone, kept) in [("2", "-usr-bin"), ("1", "-somewhere-else")] {
        let world = world();
        let before = stores(&world);
        let plan: Change = world.rejoin(["delete", &id(5), "--copy", gone, "--dry-run", "--json"]).code(0).json();
        assert_eq!((plan.planned, plan.items[0].result), (1, ChangeResult::Planned));
        let done: Change = world.rejoin(["delete", &id(5), "--copy", gone, "--yes", "--json"]).code(0).json();
        assert_eq!((done.done, done.failed), (1, 0));
        let projects = world.home().join(".claude/projects");
        for slug in ["-usr-bin", "-somewhere-else"] {
            let path = projects.join(slug).join(format!("{}.jsonl", id(5)));
            assert_eq!(path.exists(), slug == kept, "{gone}: {}", path.display());
        }
        let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
        assert_eq!(undone.details.verb, "delete");
        assert_same(&before, &stores(&world), "after undo");
    }
}

#[test]
fn delete_asks_before_it_removes_unique_data() {
    let world = world();
    let before = stores(&world);
    let refused = world.rejoin(["delete", &id(5), "--copy", "2"]).code(2).stderr();
    assert!(refused.contains("--copy 2 --yes` to confirm"), "{refused}");
    assert_same(&before, &stores(&world), "without a terminal");

    // A copy that is only the beginning of the kept one needs no question.
    world.rejoin(["delete", &id(3), "--copy", "2", "--dry-run"]).code(0);
    world.rejoin(["delete", &id(3), "--copy", "2"]).code(0);
}

#[test]
fn confirmation_shows_both_copies_and_the_loss() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    let beginning = Claude::session(id(1)).in_dir(&alpha).turn("start", "started");
    world.add(beginning.clone().turn("went left", "left it is"));
    world.add(beginning.in_dir(&beta).turn("went right", "right it is").turn("on", "gone on"));
    let before = stores(&world);
    let run = |args: &[&str], keys: &[(&str, &str)]| {
        let mut command = world.from(world.root().join("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(args).args(["--color", "never"]);
        let mut seat = Seat::run(&command, 100, 30);
        for (seen, key) in keys {
            seat.sees(seen);
            seat.types(key);
        }
        let (status, screen) = seat.ends();
        (status, screen.replace("\r\n", "\n"))
    };
    let id = id(1);
    let (status, screen) = run(&["delete", &id, "--copy", "1"], &[("Remove copy 1? [y/N] ", "n\r")]);
    assert_eq!(status, Some(1), "{screen}");
    for line in [
        "keep    copy 2: ",
        "alpha, 4 messages, ",
        "remove  copy 1: ",
        "beta, 6 messages, ",
        "only there: 4 messages, from \"went right\" to \"gone on\"",
    ] {
        assert!(screen.contains(line), "{line:?} in {screen}");
    }
    assert_same(&before, &stores(&world), "after a no");

    let dry = world.rejoin(["delete", &id, "--copy", "1", "--dry-run"]).code(0).stderr();
    assert!(dry.contains("only there: 4 messages, from \"went right\" to \"gone on\""), "{dry}");
    let (status, screen) = run(&["delete", &id, "--copy", "1"], &[("Remove copy 1? [y/N] ", "y\r")]);
    assert_eq!(status, Some(0), "{screen}");
    assert!(screen.contains("removed  a copy of claude"), "{screen}");
}

#[test]
fn fix_of_many_ends_with_counts() {
    let world = World::new();
    for n in 1..=30 {
        world.add(Amplifier::session(id(n)).in_dir(world.dir("app")).turn("x", "y"));
    }
    for n in 31..=60 {
        world.add(Claude::session(id(n)).in_dir(format!("/gone/{n}")).turn("x", "y"));
    }
    let stdout = world.rejoin(["doctor", "--fix"]).code(4).stdout();
    assert_eq!(stdout.matches("\nrepaired  ").count(), 29, "{stdout}");
    assert!(stdout.contains("\n30 problems repaired.\n"), "{stdout}");
    assert!(stdout.ends_with("\n31 other problems need a decision; `rejoin doctor` names them.\n"), "{stdout}");
}

#[test]
fn delete_refuses_unknown_copies_and_the_last_one() {
    let world = world();
    let before = stores(&world);
    let stderr = world.rejoin(["delete", &id(5), "--copy", "3"]).code(5).stderr();
    assert!(stderr.contains("--copy 2"), "{stderr}");
    world.rejoin(["delete", "5", "--copy", "1"]).code(2);
    world.rejoin(["delete", &id(5), &id(3), "--copy", "1"]).code(2);
    world.rejoin(["delete", &id(5), "--copy", "1", "--permanent", "--yes"]).code(2);
    world.rejoin(["delete", "ffffffff", "--copy", "1"]).code(5);
    world.rejoin(["delete", &id(5), "--copy", "2", "--apply", "000000000000"]).code(7);
    for (n, copies) in [(1, &["--copy", "1"][..]), (5, &["--copy", "1", "--copy", "2"])] {
        let stderr = world.rejoin([&["delete", &id(n), "--yes"], copies].concat()).code(7).stderr();
        assert!(stderr.contains("has no other copy, so this one stays"), "{stderr}");
    }
    assert_same(&before, &stores(&world), "after refusals");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_reverts_or_completes_killed_fix() {
    killed_at_any_moment(&["doctor", "--fix"], &after_fix(), &[4]);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_reverts_or_completes_killed_delete_of_copy() {
    let command = ["delete", &id(5), "--copy", "1", "--yes"];
    let world = world();
    world.rejoin(command).code(0);
    // The copy may already be removed, and then there is no second one.
    killed_at_any_moment(&command, &fixed(&world), &[0, 7]);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_recovers_killed_fix_with_trash_elsewhere() {
    let Some(elsewhere) = other_file_system() else { return };
    let command = ["delete", &id(3), "--copy", "1", "--yes"];
    let complete = {
        let world = world();
        world.rejoin(command).code(0);
        fixed(&world)
    };
    killed_at_every_point(20, |fault, point| {
        let world = world();
        let state = elsewhere.path().join(format!("{point}"));
        let before = stores(&world);
        let run = |args: &[&str], fault: Option<&str>| {
            let call = world.with("XDG_STATE_HOME", &state);
            fault.into_iter().fold(call, |call, fault| call.with("REJOIN_FAULT", fault)).rejoin(args)
        };
        if !run(&command, Some(fault)).was_killed() {
            return false;
        }
        if point % 2 == 0 {
            run(&["undo"], None).code_is_one_of(&[0, 5]);
            assert_same(&before, &stores(&world), &format!("undone after {fault}"));
        } else {
            // The copy may already be removed, and then there is no second one.
            run(&command, None).code_is_one_of(&[0, 7]);
            assert_same(&complete, &fixed(&world), &format!("completed after {fault}"));
        }
        true
    });
}

/// Kills a command at each of its steps, and then undoes it or runs it again.
fn killed_at_any_moment(command: &[&str], complete: &Picture, codes: &[i32]) {
    killed_at_every_point(10, |fault, point| {
        let world = world();
        let before = stores(&world);
        if !world.with("REJOIN_FAULT", fault).rejoin(command).was_killed() {
            return false;
        }
        // Every transcript is in its place or in the trash, and none is torn.
        nothing_is_lost(&world, &before, fault);
        if point % 2 == 0 {
            world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
            assert_same(&before, &stores(&world), &format!("undone after {fault}"));
        } else {
            world.rejoin(command).code_is_one_of(codes);
            assert_same(complete, &fixed(&world), &format!("completed after {fault}"));
        }
        let runs: RunList = world.rejoin(["undo", "--list", "--json"]).code(0).json();
        assert!(runs.runs.iter().all(|run| run.state != RunState::Interrupted), "{fault}: {runs:?}");
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn every_journalled_change_recovers_an_interrupted_run_first() {
    for args in [
        &["tag", "latest", "+x"][..],
        &["rename", "latest", "New"],
        &["rewind", "latest"],
        &["delete", &id(5), "--copy", "1"],
    ] {
        let world = world();
        assert!(world.with("REJOIN_FAULT", "kill:40").rejoin(["doctor", "--fix"]).was_killed());
        // The command may fail for another reason, but not before the recovery.
        world.rejoin(args);
        world.rejoin(["doctor", "--check", "interrupted-run"]).code(0);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn doctor_reports_interrupted_run_until_undo() {
    let world = world();
    let before = stores(&world);
    // The process was killed during the change.
    assert!(world.with("REJOIN_FAULT", "kill:40").rejoin(["doctor", "--fix"]).was_killed());
    let found: Vec<Finding> =
        world.rejoin(["doctor", "--check", "interrupted-run", "--json"]).code(4).json::<DoctorReport>().findings;
    assert_eq!(found.len(), 1);
    let remedy: Vec<&str> = found[0].remedy.split(' ').skip(1).collect();
    assert_eq!(remedy[0], "undo");
    world.rejoin(&remedy).code(0);
    world.rejoin(["doctor", "--check", "interrupted-run"]).code(0);
    assert_same(&before, &stores(&world), "after the remedy");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failing_system_call_loses_nothing_in_fix() {
    for error in [28, 13] {
        let mut points = 0;
        loop {
            let fault = format!("{error}:{}", points + 1);
            let world = world();
            let before = stores(&world);
            let answer = world.with("REJOIN_FAULT", &fault).rejoin(["doctor", "--fix", "--json"]);
            points += 3 * stride(3);
            nothing_is_lost(&world, &before, &fault);
            let answer = answer.code_is_one_of(&[1, 3, 4]);
            if answer.exit() == Some(3) {
                let fix: DoctorFix = answer.json();
                assert!(fix.failed >= 1, "{fault}: {fix:?}");
            }
            while world.rejoin(["undo"]).code_is_one_of(&[0, 5]).stderr().is_empty() {}
            assert_same(&before, &stores(&world), &format!("undone after {fault}"));
            if answer.exit() == Some(4) && points > 150 {
                break;
            }
        }
    }
}

#[test]
fn fix_skips_session_continued_meanwhile() {
    let world = world();
    let copy = world.home().join(".claude/projects/-somewhere-else").join(format!("{}.jsonl", id(4)));
    let plan: DoctorFix = world.rejoin(["doctor", "--fix", "--dry-run", "--json"]).code(4).json();
    assert!(plan.items.iter().any(|item| item.id.as_deref() == Some(&id(4))));
    // A running client has registered itself for the session.
    let registration =
        json!({"pid": std::process::id(), "sessionId": id(4), "cwd": APP, "procStart": start_of(std::process::id())});
    put(&world.home().join(".claude/sessions").join(format!("{}.json", std::process::id())), registration.to_string());
    let fix: DoctorFix = world.rejoin(["doctor", "--fix", "--json"]).code_is_one_of(&[3, 4]).json();
    assert!(fix.items.iter().all(|item| item.id.as_deref() != Some(&id(4))), "{:#?}", fix.items);
    assert!(copy.exists());
    for more in [&["--dry-run"][..], &[]] {
        let refused = world.rejoin([&["delete", &id(4), "--copy", "2"], more].concat()).code(7).stderr();
        assert!(refused.contains("it is in use by process"), "{refused}");
    }
    assert!(copy.exists());
}

#[test]
fn fix_keeps_records_appended_meanwhile() {
    let world = world();
    let copy = world.home().join(".claude/projects/-somewhere-else").join(format!("{}.jsonl", id(4)));
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let agent = {
        let (copy, stop) = (copy.clone(), std::sync::Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut written = 0_u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                use std::io::Write as _;
                let Ok(mut file) = std::fs::File::options().append(true).open(&copy) else { break };
                writeln!(file, "{{\"type\":\"noted\",\"n\":{written}}}").expect("a line");
                written += 1;
                // Often enough to hit every step of a run, but not so often that a run mostly reads.
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            written
        })
    };
    // On a busy machine, the agent may not write during a run; then the copy is removed, complete.
    let went = (0..10)
        .any(|_| world.rejoin(["delete", &id(4), "--copy", "2", "--yes"]).code_is_one_of(&[0, 3, 7]).exit() == Some(0));
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let written = agent.join().expect("an agent");
    if went {
        world.rejoin(["undo", "--yes"]).code(0);
    }
    let text = std::fs::read_to_string(&copy).expect("a transcript");
    assert_eq!(text.lines().filter(|line| line.contains("noted")).count(), written as usize);
}

#[test]
fn fix_removes_files_of_killed_save_or_hook() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let home = world.home();
    let left = [
        app.join(".rejoin-leoLEO.tmp"),
        home.join("workspace/app/shop/.rejoin-leoNEW.tmp"),
        app.join(".claude/cat/sessions/.rejoin-hookHK.tmp"),
        home.join(".jido_code/.rejoin-secret.tmp"),
        home.join(".jido_code/sessions/.rejoin-jidoJD.tmp"),
        home.join(".amplifier/projects/-usr-bin/sessions").join(id(2)).join(".rejoin-transc.tmp"),
    ];
    left.iter().for_each(|path| put(path, "half"));
    put(&app.join("rejoin-notes.tmp"), "a file of the user's");
    let found: Value = world.rejoin(["doctor", "--check", "leftover-temp", "--json"]).json();
    let findings = found["findings"].as_array().expect("findings").iter();
    let paths = findings.flat_map(|finding| finding["paths"].as_array().expect("paths"));
    let mut paths: Vec<&str> = paths.map(|path| path["path"].as_str().expect("a path")).collect();
    let mut expected: Vec<&str> = left.iter().map(|path| path.to_str().expect("a path")).collect();
    paths.sort_unstable();
    expected.sort_unstable();
    assert_eq!(paths, expected);
    world.rejoin(["doctor", "--fix"]);
    assert!(left.iter().all(|path| !path.exists()));
    assert!(app.join("rejoin-notes.tmp").exists());
}

#[test]
fn fix_gives_each_record_its_own_line() {
    let world = World::new();
    let session =
        Claude::session(id(1)).in_dir(APP).turn("one", "Un.").turn("two words", "Deux.").turn("three", "Trois.");
    let path = world.add(session);
    let whole = std::fs::read_to_string(&path).expect("a transcript");
    let lines: Vec<&str> = whole.lines().collect();
    let divided = whole.replace("two words", "two\nwords");
    let damaged = divided.replacen(lines[1], &format!("{}{}", &lines[0][..30], lines[1]), 1);
    let damaged = damaged.replacen(lines[4], &format!("{}{}", "\0".repeat(4096), lines[4]), 1);
    put(&path, &damaged);
    age_tree(&world.home());
    let report = world.rejoin(["doctor", "--check", "bad-lines"]).code(4).stdout();
    for part in ["2 whole records on a line with other bytes", "1 record divided into several lines can be joined"] {
        assert!(report.replace("\n    ", " ").contains(part), "{report}");
    }
    world.rejoin(["doctor", "--fix", "--check", "bad-lines", "--yes"]).code(0);
    let separated = format!("{}\n{}", &lines[0][..30], lines[1]);
    let repaired = whole.replace("two words", "two\\nwords").replacen(lines[1], &separated, 1);
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), repaired);
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), damaged);
}
