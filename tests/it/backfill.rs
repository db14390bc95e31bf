//! `backfill`: the recorded directories, the evidence for them, and the files left alone.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::contract::ErrorKind;
use crate::contract::changes::{Backfill, ChangeKind, ChangeResult};
use crate::fixtures::{Amplifier, Claude, amplifier_slug, id, put};
use crate::world::World;

fn info(session: &Path) -> Option<String> {
    std::fs::read_to_string(session.join("session-info.json")).ok()
}

/// The file of a session in `/home/ana/app` that began at the start time of the fixtures.
const GOOD: &str =
    "{\n  \"working_dir\": \"/home/ana/app\",\n  \"created_at\": \"2026-02-01T10:00:00.000000+00:00\"\n}";

fn report(world: &World, args: &[&str], code: i32) -> Backfill {
    world.rejoin(["backfill", "--json"].iter().chain(args)).code(code).json()
}

#[test]
fn session_of_another_agent_has_no_session_info() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").title("Licence").turn("x", "y"));
    for name in ["Licence", &id(1)[..8]] {
        let stderr = world.rejoin(["backfill", name]).code(2).stderr();
        assert!(stderr.contains("only Amplifier sessions have a session-info.json"), "{stderr}");
    }
    world.rejoin(["backfill", "nothing"]).code(5);
}

#[test]
fn backfill_repairs_every_invalid_session_info() {
    for broken in [
        "",
        "{",
        "null",
        "[]",
        "7",
        "{}",
        r#"{"working_dir": ""}"#,
        r#"{"working_dir": "  "}"#,
        r#"{"working_dir": null}"#,
        r#"{"working_dir": 7}"#,
        r#"{"working_dir": ["/home/ana/app"]}"#,
    ] {
        let world = World::new();
        let session = world.add(Amplifier::session(id(1)).file("session-info.json", broken).turn("x", "y"));
        let report = report(&world, &[&id(1)], 0);
        assert_eq!(report.items[0].result, ChangeResult::Done, "{broken:?}");
        assert_eq!(report.items[0].details.working_dir.as_deref(), Some("/home/ana/app"), "{broken:?}");
        assert_eq!(info(&session).as_deref(), Some(GOOD), "{broken:?}");
    }
}

#[test]
fn backfill_writes_missing_file_once() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).turn("x", "y"));
    world.rejoin(["backfill", &id(1)]).code(0).stderr_eq("").stdout_eq(snapbox::str![[r#"
recorded  amplifier 00000001-aaaa-4aaa-8aaa-000000000001  /home/ana/app  (session-info: its session-info.json is missing; from metadata.json)
      /home/ana/app  (metadata.json; counts)
1 directory recorded, 0 already good, 0 refused.
`rejoin undo 20260301-120000` undoes this.

"#]]);
    assert_eq!(info(&session).as_deref(), Some(GOOD));
    let again = report(&world, &["--every"], 0);
    assert_eq!((again.kind, again.done, again.unchanged), (ChangeKind::ChangeOutcome, 0, 1));
    assert_eq!(info(&session).as_deref(), Some(GOOD));
}

#[test]
fn backfill_replaces_file_of_invalid_bytes() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).file("session-info.json", [0xff, 0x00, 0x80]).turn("x", "y"));
    world.rejoin(["backfill", &id(1)]).code(0);
    assert_eq!(info(&session).as_deref(), Some(GOOD));
}

#[test]
fn backfill_keeps_unknown_keys() {
    let world = World::new();
    let old = r#"{"working_dir":"","tags": ["a",  "b"],"cost":1.10,"id":12345678901234567890,"π":"\u00e9"}"#;
    let session = world.add(Amplifier::session(id(1)).file("session-info.json", old).turn("x", "y"));
    world.rejoin(["backfill", &id(1)]).code(0);
    let text = info(&session).expect("a file");
    let fields = GOOD.trim_end_matches("\n}");
    let expected = format!(
        "{fields},\n  \"tags\": [\"a\",  \"b\"],\n  \"cost\": 1.10,\n  \"id\": 12345678901234567890,\n  \"π\": \"\\u00e9\"\n}}"
    );
    assert_eq!(text, expected);
}

#[test]
fn backfill_keeps_valid_file_despite_other_evidence() {
    let world = World::new();
    let text = "{ \"working_dir\" : \"/home/ana/app\" }\n";
    let session = world.add(
        Amplifier::session(id(1))
            .metadata("working_dir", json!("/elsewhere"))
            .file("session-info.json", text)
            .turn("x", "y"),
    );
    let report = report(&world, &[&id(1)], 0);
    assert_eq!((report.items[0].result, report.unchanged), (ChangeResult::Unchanged, 1));
    assert_eq!(info(&session).as_deref(), Some(text));
}

#[test]
fn backfill_refuses_to_change_recorded_directory() {
    let world = World::new();
    let app = world.dir("app");
    crate::fixtures::link(&app, &world.root().join("link"));
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).session_info(&app).turn("x", "y"));
    let before = info(&session);
    let of_link = world.root().join("link").display().to_string();
    for dir in [app.to_str().expect("a path"), &of_link] {
        assert_eq!(report(&world, &[&id(1), "--in", dir], 0).unchanged, 1, "{dir}");
    }
    let other = world.dir("other");
    let refused = report(&world, &[&id(1), "--in", other.to_str().expect("a path")], 3);
    let why = refused.items[0].error.clone().expect("a reason");
    assert!(why.contains(&format!("records {}, not {}", app.display(), other.display())), "{why}");
    assert_eq!(info(&session), before);
}

#[test]
fn backfill_keeps_modes_and_times() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).file("session-info.json", "{}").turn("x", "y"));
    let file = session.join("session-info.json");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("a mode");
    let then =
        std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + std::time::Duration::new(1_700_000_000, 7));
    std::fs::File::open(&session).and_then(|dir| dir.set_times(then)).expect("times");
    let look = |path: &Path| {
        let metadata = path.metadata().expect("metadata");
        (metadata.mode(), metadata.mtime(), metadata.mtime_nsec())
    };
    let paths = [session.clone(), file, session.join("metadata.json"), session.join("transcript.jsonl")];
    let before: Vec<_> = paths.iter().map(|path| look(path)).collect();
    world.rejoin(["backfill", &id(1)]).code(0);
    assert_eq!(info(&session).as_deref(), Some(GOOD));
    let after: Vec<_> = paths.iter().map(|path| look(path)).collect();
    assert_eq!(before, after);
    let left: Vec<PathBuf> =
        std::fs::read_dir(&session).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(left.len(), 4, "no temporary file is left: {left:?}");
}

#[test]
fn backfill_records_creation_time_of_session() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).at("2025-07-04T08:30:15.5Z").turn("x", "y"));
    world.rejoin(["backfill", &id(1)]).code(0);
    let text = info(&session).expect("a file");
    assert!(text.contains("\"created_at\": \"2025-07-04T08:30:15.500000+00:00\""), "{text}");
}

#[test]
fn backfill_refuses_session_without_evidence() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).metadata("working_dir", json!("/elsewhere")).turn("x", "y"));
    let answer = world.rejoin(["backfill", &id(1)]).code(3);
    let ready = format!("rejoin backfill {} --in .", id(1));
    assert!(answer.stdout().contains(&ready), "{}", answer.stdout());
    assert!(answer.stdout().contains("/elsewhere  (metadata.json; does not count"), "{}", answer.stdout());
    assert_eq!(info(&session), None);
    let report = report(&world, &[&id(1)], 3);
    assert_eq!((report.items[0].result, report.refused), (ChangeResult::Refused, 1));
    assert!(!report.items[0].details.evidence[0].counts);

    world.rejoin(["backfill", &id(1), "--in", "/elsewhere"]).code(3);
    assert_eq!(info(&session), None, "a directory that does not encode to the project is refused from people too");
    world.rejoin(["backfill", &id(1), "--in", "/home/ana/../ana/./app"]).code(0);
    assert_eq!(info(&session).as_deref(), Some(GOOD));
}

#[test]
fn backfill_resolves_in_option_through_links() {
    let world = World::new();
    let real = world.dir("real/app");
    crate::fixtures::link(&world.root().join("real"), &world.root().join("link"));
    for (from, dir) in [(world.root().join("link"), "app"), (world.root().to_owned(), "link/app"), (real.clone(), ".")]
    {
        let session = world.add(
            Amplifier::session(id(1))
                .filed_under(amplifier_slug(&real))
                .turn("x", "y")
                .metadata("working_dir", json!(null)),
        );
        world.from(from).rejoin(["backfill", &id(1), "--in", dir]).code(0);
        let text = info(&session).expect("a file");
        assert!(text.contains(&format!("\"working_dir\": \"{}\"", real.display())), "{text}");
        std::fs::remove_file(session.join("session-info.json")).expect("a file");
    }
}

#[test]
fn backfill_uses_and_shows_strongest_evidence() {
    let world = World::new();
    // A resume in another directory overwrote metadata.json; the event log still has the right one.
    let started =
        json!({"ts": "2026-02-01T10:00:00+00:00", "event": "session:start", "data": {"working_dir": "/home/ana/app"}});
    world.add(
        Amplifier::session(id(1))
            .metadata("working_dir", json!("/else"))
            .file("events.jsonl", format!("{started}\n"))
            .turn("x", "y"),
    );
    // Only a pointer of the Slack server names the directory.
    world.add(Amplifier::session(id(2)).in_dir("/srv/bot").metadata("working_dir", json!(null)).turn("x", "y"));
    put(
        &world.home().join(".amplifier/server/slack-sessions.json"),
        json!([{"session_id": id(2), "working_dir": "/srv/bot"}]).to_string(),
    );
    // Only the project's other sessions name the directory.
    world.add(Amplifier::session(id(3)).in_dir("/srv/shop").turn("x", "y"));
    world.add(Amplifier::session(id(4)).in_dir("/srv/shop").events_only().turn("x", ""));
    let report = report(&world, &["--every"], 0);
    let found = |n: u32| {
        let item = report.items.iter().find(|item| item.id == Some(id(n))).expect("an item");
        (item.details.working_dir.as_deref(), item.details.source.as_deref())
    };
    assert_eq!(found(1), (Some("/home/ana/app"), Some("events")));
    assert_eq!(found(2), (Some("/srv/bot"), Some("pointer")));
    assert_eq!(found(3), (Some("/srv/shop"), Some("metadata")));
    assert_eq!(found(4), (Some("/srv/shop"), Some("project")));
}

#[test]
fn contradicting_sessions_give_no_evidence() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).in_dir("/a/b").turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir("/a-b").turn("x", "y"));
    let session = world.add(Amplifier::session(id(3)).in_dir("/a/b").events_only().turn("x", ""));
    let report = report(&world, &["--every"], 3);
    assert_eq!((report.done, report.refused), (2, 1));
    assert_eq!(info(&session), None);
}

#[test]
fn dry_run_writes_nothing_and_prints_same_plan() {
    let world = World::new();
    let first = world.add(Amplifier::session(id(1)).turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir("/b").metadata("working_dir", json!("/c")).turn("x", "y"));
    let plan = report(&world, &["--every", "--dry-run"], 3);
    assert_eq!((plan.kind, plan.planned, plan.refused), (ChangeKind::ChangePlan, 1, 1));
    assert_eq!(info(&first), None);
    let outcome = report(&world, &["--every"], 3);
    for (planned, done) in plan.items.iter().zip(&outcome.items) {
        assert_eq!(
            (&planned.id, &planned.details.working_dir, &planned.reason),
            (&done.id, &done.details.working_dir, &done.reason)
        );
    }
    assert_eq!(plan.items[0].result, ChangeResult::Planned);
    assert_eq!(plan.items[1].result, ChangeResult::Refused);
    assert_eq!(outcome.items[0].result, ChangeResult::Done);
}

#[test]
fn backfill_continues_after_refused_session() {
    let world = World::new();
    let sound = [1, 3].map(|n| world.add(Amplifier::session(id(n)).turn("x", "y")));
    let session = Amplifier::session(id(2)).filed_under("-alone").turn("x", "y");
    let refused = world.add(session);
    world.rejoin(["backfill", "00000003", "00000002", "00000001"]).code(3);
    assert!(sound.iter().all(|session| info(session).is_some()));
    assert_eq!(info(&refused), None);
}

#[test]
fn backfill_every_skips_sub_sessions_and_empty_sessions() {
    let world = World::new();
    let sub = world.add(
        Amplifier::session("0000000000000000-1234567890abcdef_helper")
            .metadata("agent_name", json!("helper"))
            .turn("x", "y"),
    );
    let empty = world.add(Amplifier::session(id(1)));
    let report = report(&world, &["--every"], 0);
    assert!(report.items.is_empty(), "{:?}", report.items);
    assert_eq!((info(&sub), info(&empty)), (None, None));
}

#[test]
fn backfill_finds_only_amplifier_sessions() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y"));
    world.rejoin(["backfill", "latest"]).code(5);
    let error = world.rejoin(["backfill", &id(2), "--json"]).code(5).stdout_eq("").error();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Error, "not-found"));
}

#[test]
fn in_option_needs_exactly_one_session() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).turn("x", "y"));
    world.rejoin(["backfill", "--every", "--in", "/x"]).code(2);
    world.rejoin(["backfill", &id(1), &id(2), "--in", "/x"]).code(2);
}

#[test]
fn backfill_records_unusual_directory_names() {
    let long = format!("/{}", "x/".repeat(110));
    for dir in [
        "/no/such dir",
        "/no/it's \"q\"",
        "/no/prøject-日本-🚀",
        "/no/a-b--c",
        "/no/$HOME/`x`",
        "/no/tab\tnew\nline",
        "/no/back\\slash",
        long.trim_end_matches('/'),
    ] {
        let world = World::new();
        let session = world.add(Amplifier::session(id(1)).in_dir(dir).turn("x", "y"));
        world.rejoin(["backfill", &id(1)]).code(0);
        let text = info(&session).expect("a file");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["working_dir"], dir);
        let listed = world.rejoin(["list", "--json"]).code(0).sessions();
        assert_eq!((listed[0].launch_path(), listed[0].launch_source()), (Some(dir), Some("session-info")));
    }
}
