//! `cleanup` and `pin`: exactly the right sessions are removed, and can be restored whole after any interruption.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::contract::Kind;
use crate::contract::changes::{Change, ChangeKind, ChangeResult, Cleanup, Guard, KeptFor, RunList, RunState, Undo};
use crate::facts::{copy_tree, corpora};
use crate::faults::killed_at_every_point;
use crate::fixtures::{
    Amplifier, Claude, Codex, Copilot, Fixture, Gemini, Jido, Kimi, OldVibe, Pi, Qwen, START, Vibe, age_to, age_tree,
    claude_slug, id, make_fifo, minutes_after, put,
};
use crate::picture::{Picture, picture, picture_of_stores};
use crate::sample_home::sample_home;
use crate::undo::{assert_same, other_file_system};
use crate::world::{World, start_of, stride};

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

pub(crate) fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

/// Writes a fixture with the date of another day, because all fixtures begin on the same day.
#[expect(clippy::needless_pass_by_value, reason = "a fixture is built where it is added")]
fn add_on(world: &World, day: &str, fixture: impl Fixture) {
    let scratch = tempfile::tempdir().expect("a directory");
    fixture.write_to(scratch.path());
    let (start, _) = START.split_once('T').expect("a time");
    for entry in walkdir::WalkDir::new(scratch.path()) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            let bytes = std::fs::read(entry.path()).expect("a file");
            let mut text = String::from_utf8(bytes).expect("text").replace(start, day);
            for minute in 0..5 {
                let millis = |start: &str| minutes_after(start, minute).as_millisecond().to_string();
                text = text.replace(&millis(START), &millis(&START.replace(start, day)));
            }
            let path = world.home().join(entry.path().strip_prefix(scratch.path()).expect("a path below"));
            put(&path, text);
            age_to(&path, START.replace(start, day).parse().expect("a time"));
        }
    }
}

/// Days of the year before now; the first three are more than a month ago.
const DAYS: [&str; 7] =
    ["2025-04-01", "2025-09-15", "2026-01-15", "2026-02-01", "2026-02-10", "2026-02-20", "2026-02-27"];
const OLD: usize = 3;

/// Adds a session of every agent that keeps files, for each of these days.
fn fill_year(world: &World, days: &[&str]) {
    for day in days {
        let n = u32::try_from(DAYS.iter().position(|known| known == day).expect("a day")).expect("few days");
        add_on(world, day, Amplifier::session(id(100 + n)).in_dir(APP).session_info(APP).turn("x", "y"));
        let parent = json!(id(100 + n));
        let name = format!("{}-1234567890abcdef_helper", id(100 + n));
        let subagent = Amplifier::session(name).in_dir(APP).metadata("parent_id", parent);
        add_on(world, day, subagent.metadata("agent_name", json!("helper")).turn("count", "3"));
        let claude = Claude::session(id(200 + n)).in_dir(APP).turn("x", "y").side_file("tool-results/a.txt", "result");
        add_on(world, day, claude.subagent("agent-a1", "look", "ok"));
        let flat = format!("agent-f{n}");
        add_on(world, day, Claude::session(id(300 + n)).in_dir(APP).turn("x", "y").flat_subagent(&flat, "look", "ok"));
        let root = world.home().join(".claude");
        put(&root.join("file-history").join(id(200 + n)).join("a@v1"), "old text");
        put(&root.join(format!("todos/{0}-agent-{0}.json", id(200 + n))), "[]");
        put(&root.join("debug").join(format!("{}.txt", id(200 + n))), "log");
        add_on(world, day, Codex::session(id(400 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, Copilot::session(id(500 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, Gemini::session(id(600 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, Jido::session(id(700 + n)).in_dir(APP).unsigned());
        add_on(world, day, Kimi::session(id(800 + n)).in_dir(APP).at(&format!("{day}T10:00:00Z")).turn("x", "y"));
        add_on(world, day, Pi::session(id(900 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, Qwen::session(id(1000 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, Vibe::session(id(1100 + n)).in_dir(APP).turn("x", "y"));
        add_on(world, day, OldVibe::session(id(1200 + n)).in_dir(APP).turn("x", "y"));
    }
    let project = world.home().join(".claude/projects").join(claude_slug(APP));
    put(&project.join("memory/MEMORY.md"), "what to remember");
    put(&project.join("notes of mine.txt"), "mine");
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 20}"#);
    let modes = [(".claude/todos", 0o750), (".claude/settings.json", 0o640)];
    for (path, mode) in modes {
        let path = world.home().join(path);
        if path.exists() {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
        }
    }
    age_tree(&world.home());
}

/// Returns the files of a picture, because directories may be left empty.
fn files(picture: &Picture) -> BTreeSet<&PathBuf> {
    const KIND: u32 = 0o170_000;
    const DIRECTORY: u32 = 0o040_000;
    picture.iter().filter(|(_, was)| was.0 & KIND != DIRECTORY).map(|(path, _)| path).collect()
}

#[test]
fn cleanup_removes_and_undo_restores_old_sessions() {
    let (world, recent) = (World::new(), World::new());
    fill_year(&world, &DAYS);
    fill_year(&recent, &DAYS[OLD..]);
    let before = stores(&world);
    let cleanup: Cleanup = world.rejoin(["cleanup", "--older-than", "30d", "--yes", "--json"]).code(0).json();
    assert_eq!((cleanup.kind, cleanup.failed, cleanup.skipped), (ChangeKind::ChangeOutcome, 0, 0), "{cleanup:#?}");
    let families = 12;
    assert_eq!(cleanup.done, OLD as u64 * families, "{cleanup:#?}");
    assert_eq!(cleanup.details.subagents, OLD as u64 * 3);
    assert_eq!(cleanup.kept(KeptFor::Newer), (DAYS.len() - OLD) as u64 * families, "{:#?}", cleanup.details.kept);
    assert!(cleanup.freed_bytes > 10_000);

    let after = stores(&world);
    let (left, expected) = (files(&after), files(&stores(&recent)).into_iter().cloned().collect::<BTreeSet<_>>());
    let too_much: Vec<_> = expected.iter().filter(|path| !left.contains(path)).collect();
    let too_little: Vec<_> = left.into_iter().filter(|path| !expected.contains(*path)).collect();
    assert_eq!((too_much, too_little), (Vec::new(), Vec::new()), "removed too much, and too little");

    let again: Cleanup = world.rejoin(["cleanup", "--yes", "--json"]).code(0).json();
    assert_eq!((again.items.len(), again.run), (0, None));

    let answer = world.rejoin(["undo", "--json"]).code(0);
    let undone: Undo = answer.json();
    assert_eq!((undone.done, undone.refused), (OLD as u64 * families, 0));
    assert_same(&before, &stores(&world), "after undo");
    // With a period of 20 days, Claude Code would delete a session that is 28 days old; Gemini CLI has one of 30 days.
    assert_eq!(undone.warnings.len(), 2, "{:?}", undone.warnings);
    assert!(undone.warnings[0].starts_with("claude will delete 6 of these sessions"), "{:?}", undone.warnings);
    assert!(undone.warnings[1].starts_with("gemini will delete 3 of these sessions"), "{:?}", undone.warnings);
    assert!(answer.stderr().contains("cleanupPeriodDays"), "{}", answer.stderr());
}

/// Creates a home with some old sessions, and enough new ones that no guard refuses the cleanup.
pub(crate) fn world() -> World {
    let world = World::new();
    for n in 1..=3 {
        let old = Claude::session(id(n)).in_dir(APP).at("2025-11-01T10:00:00Z").title(&format!("Old {n}"));
        world.add(old.turn("x", "y").subagent(&format!("agent-a{n}"), "look", "ok"));
    }
    for n in 11..=16 {
        world.add(Claude::session(id(n)).in_dir(APP).at("2026-02-20T10:00:00Z").turn("x", "y"));
    }
    age_tree(&world.home().join(".claude"));
    world
}

/// Sets the modification time of a file.
fn touch(path: &Path, at: &str) {
    let file = std::fs::File::options().append(true).open(path).expect("a file");
    file.set_modified(at.parse::<jiff::Timestamp>().expect("a time").into()).expect("a time");
}

/// Returns the record of a client that has a session open, with the id of this process.
fn registration(n: u32) -> serde_json::Value {
    let pid = std::process::id();
    let ticks = start_of(std::process::id());
    json!({"pid": pid, "sessionId": id(n), "procStart": ticks})
}

fn plan(world: &World, args: &[&str]) -> Cleanup {
    let args = ["cleanup", "--dry-run", "--json"].iter().chain(args);
    let before = picture(world.root());
    let plan = world.rejoin(args).code_is_one_of(&[0, 7]).json();
    assert_same(&before, &picture(world.root()), "after a dry run");
    plan
}

#[test]
fn cleanup_describes_its_plan_and_its_outcome() {
    let world = world();
    world.rejoin(["cleanup", "--dry-run"]).code(0).stdout_eq(snapbox::str![[r#"
would remove  claude 00000001-aaaa-4aaa-8aaa-000000000001  1.5 KiB  Old 1  (old: last active 2025-11-01)
would remove  claude 00000002-aaaa-4aaa-8aaa-000000000002  1.5 KiB  Old 2  (old: last active 2025-11-01)
would remove  claude 00000003-aaaa-4aaa-8aaa-000000000003  1.5 KiB  Old 3  (old: last active 2025-11-01)
Kept: 6 newer.
3 sessions with 3 sub-agents would be removed, 4.5 KiB to the trash. Nothing was changed.
`rejoin cleanup --apply [..]` does exactly this.

"#]]);
    world.rejoin(["cleanup", "--dry-run", "--exit-code"]).code(4);
    world.rejoin(["cleanup", "--dry-run", "--exit-code", "--older-than", "300d"]).code(0).stdout_eq(snapbox::str![[
        r#"
Kept: 9 newer.
Nothing to do.

"#
    ]]);
    world.rejoin(["cleanup"]).code(2).stderr_eq(snapbox::str![[r#"
error: removing sessions needs confirmation, but there is no terminal to ask on
hint: see the plan with `rejoin cleanup --dry-run`, then run `rejoin cleanup --yes`

"#]]);
    world.rejoin(["cleanup", "--yes"]).code(0).stdout_eq(snapbox::str![[r#"
removed  claude 00000001-aaaa-4aaa-8aaa-000000000001  1.5 KiB  Old 1  (old: last active 2025-11-01)
removed  claude 00000002-aaaa-4aaa-8aaa-000000000002  1.5 KiB  Old 2  (old: last active 2025-11-01)
removed  claude 00000003-aaaa-4aaa-8aaa-000000000003  1.5 KiB  Old 3  (old: last active 2025-11-01)
Kept: 6 newer.
3 sessions removed, 4.5 KiB to the trash.
`rejoin undo 20260301-120000` undoes this.
`rejoin cleanup` frees the space after 14 days; `rejoin undo --purge 20260301-120000` frees it now.

"#]]);
    world.rejoin(["cleanup", "--yes"]).code(0).stdout_eq(snapbox::str![[r#"
Kept: 6 newer.
Nothing to do.

"#]]);
}

#[test]
fn cleanup_marks_a_title_that_it_cuts() {
    let world = world();
    world.add(Claude::session(id(3)).in_dir(APP).at("2025-11-01T10:00:00Z").title(&"long ".repeat(20)).turn("x", "y"));
    let plan = world.rejoin(["cleanup", "--dry-run"]).code(0).stdout();
    assert!(plan.contains("long long…  (old:"), "{plan}");
}

#[test]
fn cleanup_applies_only_the_shown_plan() {
    let world = world();
    let shown = plan(&world, &[]);
    world.rejoin(["cleanup", "--apply", "000000000000"]).code(7);
    let pinned: Change = world.rejoin(["pin", &id(1), "--json"]).code(0).json();
    assert_eq!((pinned.verb.as_str(), pinned.items[0].result), ("pin", ChangeResult::Done));
    let error = world.rejoin(["cleanup", "--apply", shown.fingerprint(), "--json"]).code(7).error();
    assert_eq!(error.code, "plan-changed");
    world.rejoin(["pin", "--remove", &id(1)]).code(0);
    let done: Cleanup = world.rejoin(["cleanup", "--apply", shown.fingerprint(), "--json"]).code(0).json();
    assert_eq!((done.done, done.fingerprint()), (3, shown.fingerprint()));
}

#[test]
fn cleanup_keeps_session_for_any_reason() {
    let world = world().with_processes();
    let old = |n: u32| Claude::session(id(n)).in_dir(APP).at("2025-11-01T10:00:00Z").turn("x", "y");
    let file = |n: u32| world.home().join(".claude/projects").join(claude_slug(APP)).join(format!("{}.jsonl", id(n)));
    // Another process has the transcript open for writing.
    world.add(old(21));
    let open = std::fs::File::options().append(true).open(file(21)).expect("a transcript");
    // A running process registered itself for the session.
    world.add(old(22));
    let registration = registration(22);
    put(&world.home().join(".claude/sessions/1.json"), registration.to_string());
    // A record without a time was added half an hour ago.
    world.add(old(23).title("x"));
    touch(&file(23), "2026-03-01T11:30:00Z");
    // The last time is in the future.
    world.add(Claude::session(id(24)).in_dir(APP).at("2026-03-02T10:00:00Z").turn("x", "y"));
    // No line of the transcript can be read.
    put(&file(25), "neither JSON\nnor anything else\n");
    touch(&file(25), "2025-11-01T10:00:00Z");
    // A sub-agent of the session is new.
    world.add(old(26));
    let fork = Claude::session(id(27)).in_dir(APP).at("2026-02-20T10:00:00Z").fork_of(&id(26)).turn("x", "y");
    world.add(fork.then_on_its_own().turn("more", "ok"));
    world.add(old(28));
    world.rejoin(["pin", &id(28)]).code(0).stdout_eq(format!("pinned  claude {}\n", id(28)));
    world.add(old(29));
    // JidoCode cannot load the session.
    world.add(Jido::session(id(30)).closed_at("2025-11-01T10:00:00Z").key("version", json!(99)));
    // One of the two copies of the session cannot be read.
    world.add(old(31));
    let copy = world.add(old(31).filed_under("-elsewhere"));
    std::fs::remove_file(&copy).expect("a file");
    make_fifo(&copy);

    let plan = plan(&world, &["--older-than", "30d", "--exclude", &id(29)[..8]]);
    assert_eq!(plan.ids(), [id(1), id(2), id(3)], "{plan:#?}");
    let reasons = [
        (KeptFor::Live, 1),
        (KeptFor::MaybeLive, 1),
        (KeptFor::Recent, 1),
        (KeptFor::Future, 1),
        (KeptFor::Unparsable, 3),
        (KeptFor::Parent, 1),
        (KeptFor::Pinned, 1),
        (KeptFor::Excluded, 1),
        (KeptFor::Newer, 7),
    ];
    for (reason, count) in reasons {
        assert_eq!(plan.kept(reason), count, "{reason:?} of {:#?}", plan.details.kept);
    }
    drop(open);
}

/// A menu-bar program asks Claude Code for its limits every few minutes; each request leaves a session.
#[test]
fn cleanup_filters_select_only_probe_sessions() {
    let world = World::new();
    let of_script = |n: u32| Claude::session(id(n)).in_dir(APP).entrypoint("sdk-cli");
    for n in 100..400 {
        world.add(of_script(n).at("2026-02-25T12:00:00Z").turn(".", "Hello!"));
    }
    for n in 1..=3 {
        world.add(of_script(n).at("2026-02-20T10:00:00Z").turn("nightly review", "a finding").turn("more", "another"));
        let own = Claude::session(id(10 + n)).in_dir(APP).at("2026-02-20T10:00:00Z");
        world.add(own.turn(&format!("real work {n}"), "a step").turn("continue", "done"));
    }
    age_tree(&world.home().join(".claude"));
    let real = [11, 12, 13].map(id);
    let listed = |args: &[&str]| -> Vec<String> {
        let listed = world.rejoin(["list", "--json"].iter().chain(args)).code(0).sessions();
        listed.into_iter().map(|session| session.id).collect::<BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(listed(&["!is:exec"]), real);
    assert_eq!(listed(&["is:exec", "title:nightly review"]), [1, 2, 3].map(id));
    assert_eq!(listed(&["--is", "exec", "--title", "nightly review"]), [1, 2, 3].map(id));
    assert_eq!(listed(&["--max-messages", "2"]).len(), 300);
    for choice in [&["--title", "."][..], &["--is", "exec", "--title", "."], &["--max-messages", "2", "--dir", APP]] {
        let plan = plan(&world, &[&["--any-age", "--allow-all"], choice].concat());
        assert_eq!(plan.ids(), (100..400).map(id).collect::<Vec<_>>(), "{choice:?}");
        assert_eq!(plan.kept(KeptFor::NotAskedFor), 6);
    }
    let refusals: [(&[&str], i32, &str); 3] = [
        (&["cleanup", "--any-age", "--title", ".", "--dry-run"], 7, "300 of 306 sessions"),
        (&["cleanup", "--any-age", "--is", "exce", "--dry-run"], 2, "use `is:exec` instead"),
        (&["delete", &id(11), "--is", "exec", "--yes"], 5, "does not pass the filters"),
    ];
    for (args, code, why) in refusals {
        let stderr = world.rejoin(args).code(code).stderr();
        assert!(stderr.contains(why), "{stderr}");
    }
    // Neither `latest` nor the directory selects a probe, though a probe is the newest session.
    for name in ["latest", "."] {
        let newest = world.from(APP).rejoin(["resume", name, "--print"]).code(0).stdout();
        assert!(real.iter().any(|id| newest.contains(id)), "{name}: {newest}");
    }
    let before = stores(&world);
    let args = ["cleanup", "--any-age", "--title", ".", "--allow-all", "--yes", "--json"];
    assert_eq!(world.rejoin(args).code(0).json::<Cleanup>().done, 300);
    assert_eq!(listed(&["--all"]).len(), 6);
    world.rejoin(["undo", "--yes"]).code(0);
    assert_same(&before, &stores(&world), "after undo");
}

/// An update of an editor, a restored backup and `git clone` give every file a new time.
#[test]
fn cleanup_uses_times_of_records_not_of_files() {
    let world = world();
    let project = world.home().join(".claude/projects").join(claude_slug(APP));
    let old = |n: u32| Claude::session(id(n)).in_dir(APP).at("2025-11-01T10:00:00Z").turn("x", "y");
    let titled = world.add(old(21).title("a name of today"));
    world.add(old(22).side_file("tool-results/a.txt", "a result without a time"));
    world.add(old(23).side_file("tool-results/a.json", r#"{"at":"2025-11-01T10:00:00Z"}"#));
    let touch_all = |at: &str| {
        let all = walkdir::WalkDir::new(world.home().join(".claude")).into_iter().map(|entry| entry.expect("an entry"));
        all.filter(|entry| entry.file_type().is_file()).for_each(|entry| touch(entry.path(), at));
    };
    for (at, why) in [("2026-02-25T10:00:00Z", KeptFor::NewerFile), ("2026-03-01T11:59:00Z", KeptFor::Recent)] {
        touch_all(at);
        let plan = plan(&world, &["--older-than", "30d"]);
        // The other sessions have a title as their last record, or another file without a time.
        assert_eq!(plan.ids(), [id(23)], "{plan:#?}");
        assert_eq!((plan.kept(why), plan.kept(KeptFor::Newer)), (5, 6), "{:#?}", plan.details.kept);
    }
    touch_all("2026-02-25T10:00:00Z");
    let stdout = world.rejoin(["cleanup", "--dry-run"]).code(0).stdout();
    assert!(stdout.contains("5 with old records, but a newer file without times"), "{stdout}");
    // A prompt after the title gives the file a time again.
    let mut text = std::fs::read_to_string(&titled).expect("a transcript");
    let first = text.lines().next().expect("a record").to_owned();
    text.push_str(&format!("{first}\n"));
    put(&titled, text);
    std::fs::remove_dir_all(project.join(id(22))).expect("a directory");
    touch_all("2026-02-25T10:00:00Z");
    assert_eq!(plan(&world, &["--older-than", "30d"]).ids(), [id(21), id(22), id(23)]);
}

/// Tests every agent that stores sessions in files.
#[test]
fn new_file_times_make_no_session_newer() {
    let world = World::new();
    fill_year(&world, &DAYS[..1]);
    let entries = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry"));
    entries.filter(|entry| entry.file_type().is_file()).for_each(|entry| touch(entry.path(), "2026-02-25T10:00:00Z"));
    let plan = plan(&world, &["--older-than", "30d", "--allow-all"]);
    assert_eq!((plan.kept(KeptFor::Newer), plan.kept(KeptFor::Recent)), (0, 0), "{:#?}", plan.details.kept);
    let going: BTreeSet<String> = plan.items.iter().filter_map(|item| Some(format!("{:?}", item.agent?))).collect();
    let expected = ["amplifier", "claude", "codex", "gemini", "jido", "pi", "qwen"].map(str::to_owned);
    assert_eq!(going, BTreeSet::from(expected));
    // Copilot CLI, Kimi and both formats of Vibe have files without times, like the tool results of Claude Code.
    assert_eq!(plan.kept(KeptFor::NewerFile), 5);
}

/// Runs the commands of README.md in a new clone.
#[test]
fn cleanup_of_sample_home_works_in_fresh_clone() {
    let world = sample_home();
    let planned = || -> Vec<String> {
        let call = world.with("REJOIN_NOW", crate::sample_home::NOW);
        let plan: Cleanup = call.rejoin(["cleanup", "--older-than", "100days", "--dry-run", "--json"]).code(0).json();
        plan.ids().into_iter().map(str::to_owned).collect()
    };
    let before = planned();
    assert_eq!(before.len(), 2);
    let entries = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry"));
    entries.filter(|entry| entry.file_type().is_file()).for_each(|entry| touch(entry.path(), "2026-11-21T23:29:00Z"));
    assert_eq!(planned(), before);
}

#[test]
fn cleanup_respects_filters_and_limits() {
    let world = world();
    world.add(Claude::session(id(4)).in_dir("/opt").at("2025-12-01T10:00:00Z").turn("x", "y"));
    world.add(Amplifier::session(id(5)).in_dir("/opt").at("2025-12-01T10:00:00Z").turn("x", "y"));
    world.add(Amplifier::session(id(6)).in_dir("/opt").at("2026-02-20T10:00:00Z").turn("x", "y"));
    let empty = |n: u32, at: &str| Claude::session(id(n)).in_dir(APP).at(at).message("system", &json!({}), &json!({}));
    world.add(empty(7, "2025-12-01T10:00:00Z"));
    world.add(empty(8, "2026-02-20T10:00:00Z"));
    age_tree(&world.home());
    for (args, expected) in [
        (&["--agent", "amplifier"][..], &[5][..]),
        (&["--dir", "/opt"], &[4, 5]),
        (&["--keep-last", "7"], &[2, 3, 7]),
        (&["--empty"], &[7]),
        (&["--empty", "--any-age"], &[7, 8]),
        (&["--older-than", "2025-11-15"], &[1, 2, 3]),
        (&["--max-total", "1T"], &[]),
        (&["--any-age", "--agent", "amplifier"], &[5, 6]),
        (&["--older-than", "30d", "--max-total", "1G"], &[1, 2, 3, 4, 5, 7]),
    ] {
        let expected: Vec<String> = expected.iter().map(|n| id(*n)).collect();
        assert_eq!(plan(&world, args).ids(), expected, "{args:?}");
    }
    let sessions = world.rejoin(["list", "--all", "--json"]).sessions();
    // A session's size counts its sub-agents.
    let total: u64 = sessions.iter().filter(|one| one.kind != Kind::Subagent).filter_map(|one| one.size_bytes).sum();
    let plan = plan(&world, &["--max-total", &(total - 4000).to_string()]);
    // The oldest sessions are removed, and only as many as necessary.
    assert_eq!(plan.ids(), [id(1), id(2), id(3)], "{plan:#?}");
    assert!(plan.items.iter().all(|item| item.code == "over-total"));
    for wrong in [&["--any-age", "--older-than", "1d"][..], &["--max-total", "x"], &["--exit-code"], &["--exclude", ""]]
    {
        world.rejoin(["cleanup", "--yes"].iter().chain(wrong)).code(2);
    }
}

#[test]
fn cleanup_refuses_a_likely_mistake() {
    let world = world();
    let before = stores(&world);
    for (args, code) in [
        (&["--older-than", "1d"][..], "clock"),
        (&["--any-age"], "whole-agent"),
        (&["--older-than", "2026-02-25"], "whole-agent"),
    ] {
        let args = ["cleanup", "--yes", "--json"].iter().chain(args);
        assert_eq!(world.rejoin(args.clone()).code(7).error().code, code);
    }
    let shown: Cleanup = world.rejoin(["cleanup", "--dry-run", "--older-than", "1d", "--json"]).code(7).json();
    assert_eq!((shown.details.refused, shown.planned), (Some(Guard::Clock), 9));
    let refused = world.rejoin(["cleanup", "--dry-run", "--older-than", "1d"]).code(7).stderr();
    let plan = "`rejoin cleanup --dry-run --older-than 1d --allow-all` prints the command that removes these 9";
    assert!(refused.contains(plan), "{refused}");
    // Removes all sessions of another agent, and most of the others.
    world.add(Jido::session(id(21)));
    assert_eq!(
        world
            .rejoin(["cleanup", "--any-age", "--exclude", &id(16), "--exclude", &id(21), "--yes", "--json"])
            .code(7)
            .error()
            .code,
        "more-than-half"
    );
    // If the clock jumped a year ahead, neither the home nor the trash is emptied.
    world.rejoin(["cleanup", "--yes"]).code(0);
    let later = world.with("REJOIN_NOW", "2027-03-01T12:00:00Z").rejoin(["cleanup", "--yes"]).code(7);
    later.stderr_eq(snapbox::str![[r#"
warning: nothing in the trash was deleted permanently: no session was active since its contents were removed, so the clock may be wrong
error: no session was active since 2026-02-20, so all of them count as old; the clock of this machine may be wrong
hint: see the plan with `rejoin cleanup --dry-run --allow-all`; to remove these 7, run `rejoin cleanup --yes --allow-all`

"#]]);
    world.rejoin(["undo"]).code(0);
    std::fs::remove_dir_all(world.home().join(".jido_code")).expect("a store");
    assert_same(&before, &stores(&world), "after undo");
    let all: Cleanup = world.rejoin(["cleanup", "--any-age", "--allow-all", "--yes", "--json"]).code(0).json();
    assert_eq!(all.done, 9);
    assert!(world.rejoin(["list", "--all", "--json"]).sessions().is_empty());
}

#[test]
fn cleanup_cutoff_is_exact_across_clock_changes() {
    // The day on which clocks in Europe change to summer time, and the day after a leap day.
    for (now, zone, goes, stays) in [
        ("2026-03-29T03:30:00+02:00", "Europe/Berlin", "2026-02-27T01:29:00Z", "2026-02-27T01:31:00Z"),
        ("2026-10-25T02:30:00+01:00", "Europe/Berlin", "2026-09-25T01:29:00Z", "2026-09-25T01:31:00Z"),
        ("2028-03-01T12:00:00Z", "America/New_York", "2028-01-31T11:59:00Z", "2028-01-31T12:01:00Z"),
    ] {
        let world = World::new();
        for (n, at) in [(1, goes), (2, stays), (3, stays)] {
            // One record per minute around the cutoff.
            world.add(Claude::session(id(n)).in_dir(APP).at(at).prompt("x"));
        }
        let call = world.with("REJOIN_NOW", now).with("TZ", zone);
        let plan: Cleanup = call.rejoin(["cleanup", "--dry-run", "--json"]).code(0).json();
        assert_eq!(plan.ids(), [id(1)], "{now}");
    }
}

#[test]
fn cleanup_purges_old_runs_from_trash() {
    let world = world();
    world.rejoin(["cleanup", "--yes"]).code(0);
    let later = |now: &str, args: &[&str]| {
        let args = ["cleanup", "--yes", "--json"].iter().chain(args).copied().collect::<Vec<_>>();
        world.with("REJOIN_NOW", now).rejoin(args).code(0).json::<Cleanup>()
    };
    world.add(Claude::session(id(40)).in_dir(APP).at("2026-03-16T10:00:00Z").turn("x", "y"));
    assert_eq!(later("2026-03-15T11:00:00Z", &[]).details.purged_runs.len(), 0);
    assert_eq!(later("2026-03-17T12:00:00Z", &["--trash-keep", "30d"]).details.purged_runs.len(), 0);
    let purged = later("2026-03-17T12:00:00Z", &[]);
    assert_eq!(purged.details.purged_runs, ["20260301-120000"]);
    assert!(purged.details.purged_bytes > 4000, "{purged:#?}");
    world.rejoin(["undo"]).code(5);
}

#[test]
fn cleanup_permanent_leaves_nothing_in_the_trash() {
    let world = world();
    let done: Cleanup = world.rejoin(["cleanup", "--permanent", "--yes", "--json"]).code(0).json();
    assert_eq!((done.done, done.details.permanent, done.run), (3, true, None));
    world.rejoin(["undo", "--purge", "--every", "--dry-run"]).code(0).stdout_eq("Nothing to do.\n");
    world.rejoin(["undo"]).code(5);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 6);
}

#[test]
fn pin_lists_and_removes_pins() {
    let world = world();
    let pinned = |n: u32| {
        let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
        sessions.into_iter().find(|session| session.id == id(n)).expect("a session").pinned
    };
    world.rejoin(["pin", "--list"]).code(0).stdout_eq("").stderr_eq("Nothing is pinned.\n");
    world.rejoin(["pin", "1"]).code(2);
    world.rejoin(["pin", "ffffffff"]).code(5);
    world.rejoin(["pin", &id(1), &format!("claude:{}", id(2))]).code(0);
    let again: Change = world.rejoin(["pin", &id(1), "--json"]).code(0).json();
    assert_eq!(again.items[0].result, ChangeResult::Unchanged);
    assert!(pinned(1) && pinned(2) && !pinned(3));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("pinned        yes"), "{shown}");
    let list = world.rejoin(["pin", "--list", "--json"]).code(0).sessions();
    assert_eq!(list.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [id(1), id(2)]);
    assert!(list.iter().all(|session| session.pinned && session.title.is_some()));
    world.rejoin(["pin", "--remove", "0000000"]).code(6);
    world.rejoin(["pin", "--remove", "00000003"]).code(5);
    world.rejoin(["pin", "--remove", "00000002"]).code(0);
    // As for `pin`, a title selects a session, too, but only a pinned one.
    world.rejoin(["pin", "old 2"]).code(0);
    world.rejoin(["pin", "--remove", "old"]).code(6);
    world.rejoin(["pin", "--remove", "old 3"]).code(5);
    world.rejoin(["pin", "--remove", "old 2"]).code(0);
    assert!(pinned(1) && !pinned(2));
    // Without readable pins, it is unknown which sessions must be kept.
    let pins = world.home().join(".local/state/rejoin/pins.json");
    for text in ["{", r#"{"format_version": 2, "pins": []}"#] {
        std::fs::write(&pins, text).expect("a file");
        assert_eq!(world.rejoin(["cleanup", "--yes", "--json"]).code(1).error().code, "bad-state");
        world.rejoin(["list"]).code(0);
    }
}

/// Adds a record with the current time to a session.
fn continue_session(project: &Path, n: u32) {
    let path = project.join(format!("{}.jsonl", id(n)));
    let record = json!({"type": "user", "timestamp": "2026-03-01T11:59:59Z", "sessionId": id(n)});
    let mut file = std::fs::File::options().append(true).open(path).expect("a transcript");
    writeln!(file, "{record}").expect("a record");
}

#[test]
fn cleanup_keeps_a_session_continued_after_its_scan() {
    for (what, expected) in
        [("append", "used in the meantime"), ("start", "in use by process"), ("subagent", "changed")]
    {
        let world = world();
        let project = world.home().join(".claude/projects").join(claude_slug(APP));
        let output = world.interfered(&["cleanup", "--yes", "--json"], || match what {
            "append" => continue_session(&project, 1),
            "start" => put(&world.home().join(".claude/sessions/1.json"), registration(1).to_string()),
            _ => put(&project.join(id(1)).join("tool-results/new.txt"), "a result"),
        });
        let done: Cleanup = crate::contract::parse(&String::from_utf8_lossy(&output.stdout));
        assert_eq!((done.done, done.skipped, done.failed), (2, 1, 0), "{what}: {done:#?}");
        let skipped = done.items.iter().find_map(|item| item.error.as_deref()).expect("a reason");
        assert!(skipped.contains(expected), "{what}: {skipped}");
        assert!(project.join(format!("{}.jsonl", id(1))).exists());
        assert!(project.join(id(1)).join("subagents/agent-a1.jsonl").exists());
        assert_eq!(output.status.code(), Some(3), "{what}");
    }
}

#[test]
fn cleanup_reports_run_that_skips_every_session() {
    let world = world();
    let project = world.home().join(".claude/projects").join(claude_slug(APP));
    let output =
        world.interfered(&["cleanup", "--yes", "--quiet"], || (1..=3).for_each(|n| continue_session(&project, n)));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout.matches("skipped  claude ").count(), 3, "{stdout}");
    assert!(stdout.ends_with("\nrejoin cleanup: 0 sessions removed, 3 skipped.\n"), "{stdout}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn cleanup_refuses_unknown_exclude() {
    let world = world();
    let before = stores(&world);
    let mistyped = id(2).replace("aaaa-4", "aaab-4");
    for (exclude, code, named) in
        [(&mistyped[..15], 5, "00000002-aaab-4"), ("Older 1", 5, "Older 1"), ("Old", 6, "Old")]
    {
        for how in ["--yes", "--dry-run"] {
            let answer = world.rejoin(["cleanup", how, "--exclude", exclude]).code(code);
            assert!(answer.stderr().starts_with("error: ") && answer.stderr().contains(named), "{}", answer.stderr());
            assert_eq!(answer.stdout(), "", "{exclude}");
        }
    }
    let near = world.rejoin(["cleanup", "--yes", "--exclude", &mistyped[..15], "--json"]).code(5).error();
    assert!(!near.candidates.is_empty(), "{near:?}");
    assert_same(&before, &stores(&world), "after a mistyped --exclude");
}

#[test]
fn exclude_accepts_title_or_id_of_missing_session() {
    let world = world();
    let gone = id(99);
    let answer = world.rejoin(["cleanup", "--yes", "--exclude", "old 2", "--exclude", &gone]).code(0);
    answer.stderr_eq(format!(
        "--exclude \"old 2\" keeps claude session {}.\nwarning: --exclude {gone} has no effect, because no session has this id\n",
        id(2)
    ));
    let left = world.rejoin(["list", "--json"]).sessions();
    let old: Vec<&str> = left.iter().map(|one| one.id.as_str()).filter(|left| **left < *id(11)).collect();
    assert_eq!(old, [id(2)]);
}

#[test]
fn cleanup_touches_nothing_outside_the_store() {
    let world = world();
    let outside = world.dir("outside");
    put(&outside.join("precious.txt"), "precious");
    put(&outside.join(id(1)).join("a@v1"), "precious too");
    put(&outside.join(format!("{}.jsonl", id(9))), "{}\n");
    let root = world.home().join(".claude");
    let link = |target: &Path, path: &Path| crate::fixtures::link(target, path);
    // Belongings of a session are behind a link; a project is a link; a file of a session is a link.
    link(&outside, &root.join("file-history"));
    link(&outside, &root.join("projects/-linked"));
    link(&outside.join("precious.txt"), &root.join("projects").join(claude_slug(APP)).join(id(2)).join("link.txt"));
    // A hard link has another name elsewhere.
    let transcript = root.join("projects").join(claude_slug(APP)).join(format!("{}.jsonl", id(3)));
    std::fs::hard_link(&transcript, outside.join("other name")).expect("a link");
    // The names of a project and of a file contain a newline.
    let odd = Claude::session(id(4)).in_dir("/odd\nname").filed_under("-odd\nname").at("2025-11-01T10:00:00Z");
    world.add(odd.turn("x", "y").side_file("tool-results/odd\nname.txt", "z"));
    age_tree(&world.home());
    let (before, outside_before) = (stores(&world), picture(&outside));

    let done: Cleanup = world.rejoin(["cleanup", "--yes", "--json"]).code(3).json();
    assert_eq!((done.done, done.not_planned.len()), (3, 1), "{done:#?}");
    assert_eq!(done.not_planned[0].about, format!("claude {}", id(1)));
    assert!(done.not_planned[0].reason.contains("leads out of the store"), "{:?}", done.not_planned);
    assert_same(&outside_before, &picture(&outside), "outside");
    assert!(root.join("projects").join(claude_slug(APP)).join(format!("{}.jsonl", id(1))).exists());
    world.rejoin(["cleanup", "--yes"]).code(3).stdout_eq(snapbox::str![[r#"
left  claude 00000001-aaaa-4aaa-8aaa-000000000001  [ROOT]/home/.claude/file-history is a link that leads out of the store, so what is behind it is not changed
Kept: 1 in an unknown format, 6 newer.
1 left as it is.

"#]]);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &stores(&world), "after undo");
    assert_same(&outside_before, &picture(&outside), "outside, after undo");
}

#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn cleanup_keeps_a_session_with_a_mount_inside() {
    let world = world();
    let side = world.home().join(".claude/projects").join(claude_slug(APP)).join(id(1)).join("tool-results");
    std::fs::create_dir_all(&side).expect("a directory");
    let outside = world.dir("outside");
    put(&outside.join("precious.txt"), "precious");
    age_tree(&world.home());
    let before = stores(&world);
    for (mount, what) in [("mount -t tmpfs none", "another device"), ("mount --bind \"$2\"", "the same one")] {
        // A separate namespace, in which any user may mount; it disappears afterwards.
        let script = format!("{mount} \"$1\" && echo \"$2\" > \"$1/new.txt\" && exec \"$0\" cleanup --yes --json");
        let mut command = world.from(world.root()).command("/usr/bin/unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_rejoin")]);
        let output = command.arg(&side).arg(&outside).output();
        let Some(output) = output.ok().filter(|output| output.stdout.starts_with(b"{")) else {
            println!("skipped: nothing can be mounted here");
            return;
        };
        let done: Cleanup = crate::contract::parse(&String::from_utf8_lossy(&output.stdout));
        assert_eq!((output.status.code(), done.done), (Some(3), 2), "{what}: {done:#?}");
        let why = &done.not_planned[0].reason;
        assert!(why.contains("another file system is mounted at"), "{what}: {why}");
        assert!(world.home().join(".claude/projects").join(claude_slug(APP)).join(format!("{}.jsonl", id(1))).exists());
        world.rejoin(["undo"]).code(0);
        assert_same(&before, &stores(&world), "after undo");
    }
    // A purge of a directory in the trash leaves a file system that was mounted in it since.
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let trash = walkdir::WalkDir::new(world.home().join(".local/state/rejoin")).into_iter().filter_map(Result::ok);
    let inside = trash.map(walkdir::DirEntry::into_path).find(|path| path.ends_with("tool-results")).expect("a place");
    let script = "mount --bind \"$2\" \"$1\" && exec \"$0\" undo --purge --every --yes";
    let mut command = world.from(world.root()).command("/usr/bin/unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_rejoin")]);
    let output = command.arg(&inside).arg(&outside).output().expect("a run");
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(outside.join("precious.txt")).ok().as_deref(), Some("precious"));
}

#[test]
fn cleanup_and_undo_handle_real_sessions_completely() {
    for (agent, folder) in corpora() {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        age_tree(&world.home());
        let before = stores(&world);
        let later = || world.with("REJOIN_NOW", "2031-03-01T12:00:00Z");
        let done: Cleanup = later().rejoin(["cleanup", "--any-age", "--allow-all", "--yes", "--json"]).code(0).json();
        assert_eq!((done.failed, done.skipped), (0, 0), "{agent}: {:#?}", done.items);
        let is_left = !done.details.left_to_agent.is_empty() || done.kept(KeptFor::OnlyRead) > 0;
        assert!(done.done > 0 || is_left, "{agent}");
        let left = later().rejoin(["list", "--all", "--json"]).code(0).sessions();
        let kept: u64 = done.details.kept.iter().map(|kept| kept.sessions).sum();
        let main = left.iter().filter(|session| session.kind != Kind::Subagent);
        assert_eq!(main.count() as u64, kept, "{agent}: {:?}", done.details.kept);
        assert!(!left.iter().any(|session| done.ids().contains(&session.id.as_str())), "{agent}");
        // No other file was removed.
        let gone: Vec<PathBuf> = before.keys().filter(|path| !stores(&world).contains_key(*path)).cloned().collect();
        let is_memory = |path: &PathBuf| path.iter().any(|part| part == "memory" || part == "settings.json");
        assert!(!gone.iter().any(is_memory), "{agent}: {gone:#?}");
        if done.done > 0 {
            let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
            assert_eq!((undone.done, undone.refused), (done.done, 0), "{agent}");
        }
        assert_same(&before, &stores(&world), agent);
    }
}

#[test]
fn cleanup_skips_a_project_replaced_by_a_link() {
    let world = world();
    let shown = plan(&world, &[]);
    let projects = world.home().join(".claude/projects");
    let outside = world.dir("outside");
    std::fs::rename(projects.join(claude_slug(APP)), outside.join("moved")).expect("a move");
    crate::fixtures::link(&outside.join("moved"), &projects.join(claude_slug(APP)));
    let before = picture(&outside);
    world.rejoin(["cleanup", "--apply", shown.fingerprint()]).code(7);
    let left = world.rejoin(["cleanup", "--yes"]).code(3).stdout();
    assert!(left.contains("is a link that leads out of the store"), "{left}");
    assert_same(&before, &picture(&outside), "outside");
}

#[test]
fn cwd_records_expire_with_their_sessions() {
    let world = world();
    let app = world.dir("app");
    world.add(Claude::session(id(17)).in_dir(&app).at("2026-02-20T10:00:00Z").turn("x", "y"));
    let record = |n: u32, at: &str| {
        let path = app.join(".claude/cat/sessions").join(format!("{}.cwd", id(n)));
        put(&path, "/usr");
        touch(&path, at);
        path
    };
    let old = record(1, "2025-11-01T10:00:00Z");
    let gone = record(99, "2025-11-01T10:00:00Z");
    let new = record(17, "2026-02-20T10:00:00Z");
    let done: Cleanup = world.rejoin(["cleanup", "--yes", "--json"]).code(0).json();
    let records = done.items.iter().filter(|item| item.code == "cwd-record").count();
    assert_eq!((done.done, records), (5, 2), "{done:#?}");
    assert!(!old.exists() && !gone.exists() && new.exists());
    world.rejoin(["undo"]).code(0);
    assert!(old.exists() && gone.exists());
    let narrow: Cleanup = world.rejoin(["cleanup", "--yes", "--agent", "amplifier", "--json"]).code(0).json();
    assert!(narrow.items.iter().all(|item| item.code != "cwd-record"), "{narrow:#?}");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_recovers_killed_cleanup_completely() {
    let world_of_two = || {
        let world = World::new();
        for (n, at) in [(1, "2025-11-01T10:00:00Z"), (2, "2026-02-20T10:00:00Z"), (3, "2026-02-21T10:00:00Z")] {
            let session = Claude::session(id(n)).in_dir(APP).at(at).turn("x", "y");
            world.add(session.subagent("agent-a1", "look", "ok").side_file("tool-results/a.txt", "a"));
            put(&world.home().join(".claude/file-history").join(id(n)).join("a@v1"), "old");
        }
        age_tree(&world.home().join(".claude"));
        world
    };
    let complete = {
        let world = world_of_two();
        world.rejoin(["cleanup", "--yes"]).code(0);
        stores(&world)
    };
    killed_at_every_point(12, |fault, _| {
        let (undone, completed) = (world_of_two(), world_of_two());
        let before = stores(&undone);
        let kill = |world: &World| world.with("REJOIN_FAULT", fault).rejoin(["cleanup", "--yes"]).was_killed();
        if !kill(&undone) {
            return false;
        }
        assert!(kill(&completed));
        undone.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&undone), &format!("undone after {fault}"));
        completed.rejoin(["cleanup", "--yes"]).code(0);
        assert_same(&complete, &stores(&completed), &format!("completed after {fault}"));
        let runs: RunList = completed.rejoin(["undo", "--list", "--json"]).code(0).json();
        assert!(runs.runs.iter().all(|run| run.state != RunState::Interrupted), "{fault}: {runs:?}");
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failing_system_call_leaves_no_half_removed_session() {
    let whole = world();
    let before = stores(&whole);
    let mut failures = 0;
    for point in (1..40).step_by(stride(4)) {
        let world = world();
        let answer = world.with("REJOIN_FAULT", format!("28:{point}")).rejoin(["cleanup", "--yes", "--json"]);
        let answer = answer.code_is_one_of(&[0, 1, 3]);
        if answer.exit() == Some(3) {
            failures += 1;
            let done: Cleanup = answer.json();
            assert!(done.failed > 0 && done.done + done.failed == 3, "{point}: {done:#?}");
            assert_eq!(done.items.iter().filter(|item| item.error.is_some()).count() as u64, done.failed);
        }
        world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&world), &format!("undone after {point}"));
    }
    assert!(failures > 3, "only {failures} runs failed in part");
}

#[test]
fn trash_works_on_another_file_system() {
    let Some(elsewhere) = other_file_system() else { return };
    let world = world();
    let before = stores(&world);
    let run = |args: &[&str]| world.with("XDG_STATE_HOME", elsewhere.path()).rejoin(args);
    let done: Cleanup = run(&["cleanup", "--yes", "--json"]).code(0).json();
    assert_eq!(done.done, 3);
    run(&["undo"]).code(0);
    assert_same(&before, &stores(&world), "after undo across file systems");
}

#[cfg(feature = "sqlite")]
#[test]
fn cleanup_leaves_database_sessions_to_their_agent() {
    use crate::fixtures::{OpenCode, opencode_id};
    let world = world();
    world.add(OpenCode::session(opencode_id(1)).in_dir(APP).turn("x", "y"));
    let before = picture(&world.home().join(".local/share/opencode"));
    let answer = world.rejoin(["cleanup", "--older-than", "20d", "--yes", "--json"]).code(0);
    let done: Cleanup = answer.json();
    assert_eq!((done.done, done.details.left_to_agent.len(), done.kept(KeptFor::ItsAgents)), (3, 1, 1), "{done:#?}");
    assert!(done.details.left_to_agent[0].reason.ends_with(&format!("opencode session delete {}", opencode_id(1))));
    assert_same(&before, &picture(&world.home().join(".local/share/opencode")), "the database");
    let answer = world.rejoin(["cleanup", "--older-than", "20d", "--yes"]).code(0);
    assert!(
        answer
            .stderr()
            .contains("1 session of opencode in ~/.local/share/opencode/opencode.db would be removed too, but"),
        "{}",
        answer.stderr()
    );
    let refused = world.rejoin(["delete", &opencode_id(1), "--yes", "--json"]).code(7).error();
    assert!(refused.message.contains("opencode session delete"), "{}", refused.message);
}

#[test]
fn ndjson_plan_equals_json_plan() {
    let world = world();
    let lines = world.rejoin(["cleanup", "--dry-run", "--format", "ndjson"]).code(0).stdout();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["kind"], "change-plan");
    assert_eq!((&lines[4]["kind"], &lines[4]["totals"]["planned"]), (&json!("summary"), &json!(3)));
    let one: Change = world.rejoin(["delete", &id(1), "--dry-run", "--json"]).code(0).json();
    assert_eq!(one.planned, 1);
}

#[test]
fn cleanup_plan_explains_kept_sessions() {
    let world = world();
    let stdout = world.rejoin(["cleanup", "--agent", "codex", "--tag", "shop", "--dry-run"]).code(0).stdout();
    assert!(stdout.starts_with("Kept: 9 not matched by --agent and --tag.\n"), "{stdout}");
    let stdout =
        world.rejoin(["cleanup", "--keep-last", "1", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert!(stdout.contains(" newest of "), "{stdout}");
}
