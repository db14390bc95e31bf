//! Vibe's sessions: the unified store with its journal, the older directories, the lock.

use serde_json::json;

use crate::contract::{Agent, Compared, Details, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Fixture, OldVibe, Vibe, id, put};
use crate::world::World;

fn listed(fixture: impl Fixture) -> Session {
    let world = World::new();
    world.add(fixture);
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn said(session: &Session) -> (Option<&str>, Option<&str>, Option<u64>, Option<u64>) {
    (session.title.as_deref(), session.first_prompt.as_deref(), session.prompts, session.replies)
}

fn transcript(fixture: impl Fixture) -> Vec<String> {
    let world = World::new();
    world.add(fixture);
    let details: Details = world.rejoin(["show", "latest", "--transcript", "--json"]).code(0).json();
    let messages = details.messages.expect("a transcript");
    messages.into_iter().map(|message| message.text).collect()
}

#[test]
fn list_reads_the_files_of_a_session() {
    let session = Vibe::session(id(1)).turn("fix\nthe parser", "I will.").effect("bash").turn("thanks", "Welcome.");
    let session = listed(session.meta("git_branch", json!("main")).meta("title", json!("Parser")));
    assert_eq!((session.agent, session.kind, session.project.as_deref()), (Agent::VIBE, Kind::Main, None));
    assert_eq!(said(&session), (Some("Parser"), Some("fix\nthe parser"), Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("meta")));
    assert_eq!((session.model.as_deref(), session.git_branch.as_deref()), (Some("model-v"), Some("main")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:04:00Z"));
    assert_eq!((session.active_source.as_deref(), session.liveness), (Some("meta"), Liveness::Idle));
    assert_eq!(session.health, ["missing-directory"]);
}

#[test]
fn manifest_decides_order_of_chunks() {
    let session = Vibe::session(id(1)).turn("one", "1").effect("bash").turn("two", "2").per_chunk(2);
    assert_eq!(said(&listed(session.clone())), (None, Some("one"), Some(2), Some(2)));
    assert_eq!(transcript(session), ["one", "1", "bash {\"command\":\"ls\"}", "two", "2"]);
    let early = Vibe::session(id(1)).turn("one", "1").inline();
    assert_eq!(said(&listed(early.clone())), (None, Some("one"), Some(1), Some(1)));
    assert_eq!(transcript(early), ["one", "1"]);
}

#[test]
fn journal_gives_prompt_of_killed_turn() {
    let session = listed(Vibe::session(id(1)).killed("was killed"));
    assert_eq!(said(&session), (None, Some("was killed"), Some(1), Some(0)));
    assert_eq!((session.kind, session.active_at.as_deref()), (Kind::Main, Some("2026-02-01T10:01:00Z")));
    // The program may be killed before it adds the prompt to the conversation.
    let session = listed(Vibe::session(id(1)).reserved("only announced"));
    assert_eq!(said(&session), (None, Some("only announced"), Some(1), Some(0)));
    let queued = json!({"method": "turn/start", "params": {"entries": [{"role": "user", "content": [{"type": "text", "text": "typed"}]}]}});
    let session = listed(Vibe::session(id(1)).journal("command_reserved", queued));
    assert_eq!(session.first_prompt.as_deref(), Some("typed"));
    // Text inserted by a program is not a prompt.
    let injected =
        json!({"method": "turn/start", "params": {"injected": true, "message": [{"type": "text", "text": "x"}]}});
    let session = listed(Vibe::session(id(1)).journal("command_reserved", injected));
    assert_eq!((session.kind, session.prompts), (Kind::Empty, Some(0)));
}

#[test]
fn journal_continues_the_generation() {
    let session = Vibe::session(id(1)).turn("one", "1").killed("two");
    assert_eq!(said(&listed(session.clone())), (None, Some("one"), Some(2), Some(1)));
    assert_eq!(transcript(session.clone()), ["one", "1", "two"]);
    assert_eq!(listed(session).active_source.as_deref(), Some("conversation"));

    let start = Vibe::session(id(1)).turn("one", "1").turn("two", "2");
    let (changed, new) = (start.message("assistant", "changed"), start.message("user", "three"));
    let session = start
        .delta(&[json!({"op": "replace_entry", "id": "assistant-1", "entry": changed})])
        .delta(&[json!({"op": "append_entry", "entry": new}), json!({"op": "remove_entry", "id": "user-2"})]);
    assert_eq!(transcript(session), ["one", "changed", "2", "three"]);

    let session = Vibe::session(id(1)).turn("one", "1");
    let only = session.message("user", "all there is");
    let session = session.delta(&[json!({"op": "set_history_entries", "entries": [only]})]);
    assert_eq!(transcript(session), ["all there is"]);
    let session = Vibe::session(id(1)).turn("one", "1");
    let only = session.message("user", "all there is");
    let snapshot = json!({"watermark": 1, "snapshot": {"history": {"entries": [only]}}});
    assert_eq!(transcript(session.journal("projection_advanced", snapshot)), ["all there is"]);
}

#[test]
fn first_prompt_is_the_typed_text() {
    let session = Vibe::session(id(1));
    let mut entry = session.message("user", "look at <file>…</file>");
    entry["userDisplayContent"] = json!({"content": [{"type": "text", "text": "look at @file"}]});
    assert_eq!(listed(session.entry(entry)).first_prompt.as_deref(), Some("look at @file"));
}

#[test]
fn moved_session_keeps_origin_directory() {
    let session = Vibe::session(id(1)).turn("x", "y").in_dir("/w/new").meta("origin_directory", json!("/w/old"));
    let session = listed(session);
    assert_eq!((session.start_dir.as_deref(), session.last_dir.as_deref()), (Some("/w/old"), Some("/w/new")));
    assert_eq!(session.launch_path(), Some("/w/new"));
}

#[test]
fn moved_session_stays_moved_after_vibe_rewrite() {
    let world = World::new();
    world.install("vibe", "");
    let (old, new) = (world.root().join("old"), world.dir("new"));
    let dir = world.add(Vibe::session(id(1)).in_dir(&old).turn("x", "y"));
    let before = std::fs::read(dir.join("meta.json")).expect("a file");
    let paths = [&old, &new].map(|path| path.to_str().expect("a path"));
    world.rejoin(["move", paths[0], paths[1], "--yes"]).code(0);
    for resumed in ["once", "twice"] {
        world.rejoin(["resume", &id(1)]).code(0);
        assert_eq!(world.launched().expect("a launch").cwd, new, "{resumed}");
        put(&dir.join("meta.json"), &before);
    }
}

#[test]
fn kind_follows_from_state_and_meta_file() {
    let session = |session: Vibe| listed(session.turn("x", "y"));
    assert_eq!(session(Vibe::session(id(1)).meta("archived_at", json!("2026-02-02T10:00:00Z"))).kind, Kind::Archived);
    let fork = session(Vibe::session(id(1)).meta("parent_session_id", json!(id(9))).identity("fork", &id(9)));
    assert_eq!((fork.kind, fork.parent_id), (Kind::Fork, Some(id(9))));
    // Sub-agents have no meta.json.
    let helper = session(Vibe::session(id(1)).without("meta.json").identity("subagent", &id(9)));
    assert_eq!((helper.kind, helper.parent_id.clone(), helper.resumable), (Kind::Subagent, Some(id(9)), false));
    assert_eq!((helper.launch_path(), helper.launch_source()), (Some("/home/ana/app"), Some("runtime-state")));
    assert_eq!(listed(Vibe::session(id(1))).kind, Kind::Empty);
}

#[test]
fn older_directories_use_id_of_meta_file() {
    let session = OldVibe::session(id(1))
        .turn("fix the parser", "I will.")
        .message(json!({"role": "user", "content": "put in", "injected": true}))
        .message(
            json!({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{}"}}]}),
        )
        .message(json!({"role": "tool", "name": "bash", "content": "a.txt", "tool_call_id": "c"}))
        .meta("title", json!("fix the par…"))
        .meta("end_time", json!("2026-02-01T11:00:00.5+00:00"));
    let details = listed(session.clone());
    assert_eq!(said(&details), (None, Some("fix the parser"), Some(1), Some(2)));
    assert_eq!((details.id.as_str(), details.kind), (id(1).as_str(), Kind::Main));
    assert_eq!(details.active_at.as_deref(), Some("2026-02-01T11:00:00.5Z"));
    assert_eq!(transcript(session.clone()), ["fix the parser", "I will.", "bash {}", "bash → a.txt"]);
    assert_eq!(listed(session.clone().meta("parent_session_id", json!(id(9)))).kind, Kind::Fork);
    // The prefix is a setting, and the id may be at the end.
    assert_eq!(listed(session.named("my_own_20260101_235959_00000001")).id, id(1));
}

#[test]
fn older_sessions_with_same_id_prefix_are_distinct() {
    let world = World::new();
    let (one, two) = (id(1), format!("{}-bbbb-4bbb-8bbb-000000000001", &id(1)[..8]));
    world.add(OldVibe::session(one.clone()).named("session_20260201_100000_00000001").turn("x", "y"));
    world.add(OldVibe::session(two.clone()).named("session_20260201_110000_00000001").turn("z", "y"));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 2);
    let details: Details = world.rejoin(["show", &two, "--json"]).code(0).json();
    assert_eq!((details.session.copies.len(), details.session.first_prompt.as_deref()), (1, Some("z")));
    world.rejoin(["show", &id(1)[..8]]).code(6);
}

#[test]
fn comparison_reads_copies_in_both_stores() {
    let world = World::new();
    let app = world.dir("app");
    world.add(OldVibe::session(id(1)).in_dir(&app).turn("one", "1"));
    let new = world.add(Vibe::session(id(1)).in_dir(&app).turn("one", "1").turn("two", "2"));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.copies.len(), 2);
    assert_eq!(details.session.copies[0].path.as_str(), new.to_str().expect("a path"));
    assert!(details.session.copies[0].chosen);
    assert_eq!(details.session.copies[1].compared, Some(Compared::Shorter));
}

#[test]
fn copies_with_different_long_texts_are_not_identical() {
    let text = |end: &str| format!("{} {end}", "word ".repeat(2 << 20));
    for (end, expected) in [("a", Compared::Identical), ("b", Compared::Diverged)] {
        let world = World::new();
        let of = |end| OldVibe::session(id(1)).in_dir("/usr/bin").turn("x", &text(end));
        world.add(of("a").named("session_20260201_100000_00000001"));
        world.add(of(end).named("session_20260201_110000_00000001"));
        let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
        assert_eq!(details.session.copies[1].compared, Some(expected));
    }
}

#[test]
fn resume_passes_full_id_in_recorded_directory() {
    let world = World::new();
    world.install("vibe", "");
    let app = world.dir("my app");
    world.add(Vibe::session(id(1)).in_dir(&app).turn("x", "y"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    assert_eq!(plan.resume.argv, ["vibe", "--resume", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    world.rejoin(["resume", &id(1)[..8], "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(
        (launch.argv, launch.cwd),
        (["vibe", "--resume", &id(1), "-p", "go on"].map(str::to_owned).to_vec(), app)
    );
    world.rejoin(["resume", &id(1), "--prompt=-c"]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["vibe", "--resume", &id(1), "--prompt=-c"]);
}

#[test]
fn held_lock_makes_session_live() {
    let world = World::new();
    world.install("vibe", "");
    world.add(Vibe::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let active = world.home().join(".vibe/logs/session/active");
    let lock = active.join(format!("{}.lock", id(1)));
    let note = |pid: serde_json::Value| {
        let note = json!({"acquired_at": "2026-02-01T10:00:00.000Z", "lease_version": 1, "process_id": pid, "session_id": id(1)});
        put(&active.join(format!("{}.lock.json", id(1))), note.to_string());
    };
    let liveness = || world.rejoin(["list", "--json"]).code(0).sessions()[0].liveness;
    put(&lock, "");
    note(json!(std::process::id()));
    assert_eq!(liveness(), Liveness::Idle, "both files stay behind when the client is killed");
    let file = std::fs::File::open(&lock).expect("a lock");
    file.lock().expect("a lock");
    assert_eq!(liveness(), Liveness::Live);
    world.rejoin(["resume", &id(1)]).code(7);
    assert!(world.launched().is_none());
    // The record is used only if the system has no information about processes.
    note(json!("x"));
    assert_ne!(liveness(), Liveness::Idle);
    drop(file);
    assert_eq!(liveness(), Liveness::Idle);
}

#[test]
fn variable_and_settings_select_the_store() {
    let world = World::new();
    world.install("vibe", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    Vibe::session(id(1)).in_dir(&app).turn("x", "y").write_to(&other);
    let home = other.join(".vibe");
    world.with("VIBE_HOME", &home).rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("VIBE_HOME"), home.to_str());

    let sessions = world.dir("sessions");
    let config = format!(
        "[session_loggings]\nsave_dir = \"/no\"\n[session_logging]\nenabled = true\nsave_dir = \"{}\" # mine\n",
        sessions.display()
    );
    put(&world.home().join(".vibe/config.toml"), config);
    std::fs::rename(home.join("logs/session/unified"), sessions.join("unified")).expect("a move");
    world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("VIBE_HOME"), None);
}

#[test]
fn list_survives_malformed_files() {
    let texts = [
        "",
        "{",
        "[]",
        "null",
        "7",
        "\"x\"",
        "{}",
        "\u{feff}{}",
        "[[],7,null,{\"type\":{}}]",
        "{\"payload\":{\"delta\":7},\"type\":\"projection_delta\"}\n[]\n{\"type\":\"command_reserved\",\"payload\":{\"params\":[],\"method\":\"turn/start\"}}\n",
    ];
    for text in texts {
        let world = World::new();
        world.add(Vibe::session(id(2)).turn("x", "y"));
        let path = world.add(Vibe::session(id(1)).turn("x", "y").killed("z"));
        let old = world.add(OldVibe::session(id(3)).turn("x", "y"));
        put(&old.join("messages.jsonl"), text);
        let files: Vec<_> = walkdir::WalkDir::new(&path)
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_file())
            .collect();
        // Each file alone, then all of them.
        for file in &files {
            let good = std::fs::read(file.path()).expect("a file");
            put(file.path(), text);
            let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
            assert_eq!(listed.len(), 3, "{} {text:?}", file.path().display());
            put(file.path(), good);
        }
        files.iter().for_each(|file| put(file.path(), text));
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        assert_eq!(listed.len(), 3, "{text:?}");
        for number in [1, 3] {
            world.rejoin(["show", &id(number), "--transcript"]).code(0);
        }
        put(&old.join("meta.json"), text);
        world.rejoin(["list", "--all", "--counts", "--json"]).code(0);
    }
}

#[test]
fn list_reports_missing_and_newer_parts() {
    let has = |session: &Session, code: &str| session.health.iter().any(|health| health == code);
    let session = listed(Vibe::session(id(1)).turn("x", "y").without("CURRENT"));
    assert!(has(&session, "invalid-content"), "{:?}", session.health);
    assert_eq!(session.first_prompt.as_deref(), Some("x"), "the newest generation is used");
    let session = listed(Vibe::session(id(1)).turn("x", "y").without("manifest.json"));
    assert!(has(&session, "invalid-content"), "{:?}", session.health);

    let world = World::new();
    let path = world.add(Vibe::session(id(1)).turn("x", "y").killed("z"));
    put(
        &path.join("CURRENT"),
        r#"{"generation":"../../../../x","store_format":"mistral.vibe.unified-session-store/v2"}"#,
    );
    let session = &world.rejoin(["list", "--json"]).code(0).sessions()[0];
    assert!(has(session, "unsupported-version"), "{:?}", session.health);

    let journal = path.join("journal/0000000000000009.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    put(&journal, format!("{text}{{\"payload\""));
    let session = &world.rejoin(["list", "--counts", "--json"]).code(0).sessions()[0];
    assert!(has(session, "torn-transcript") && !has(session, "bad-lines"), "{:?}", session.health);
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let root = world.home().join(".vibe/logs/session");
    put(&root.join("unified/.session-index.json"), "{}");
    put(&root.join("unified/.hidden/CURRENT"), "{}");
    put(&root.join("plugins/packages/x/meta.json"), "{}");
    put(&root.join(".last_session/pts_0"), id(1));
    put(&root.join("session_20260201_100000_00000001.json"), "{}");
    assert!(world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions().is_empty());
    put(&root.join("session_20260201_100000_00000002/messages.jsonl"), "{}\n");
    let answer = world.rejoin(["list", "--all", "--json"]);
    assert!(answer.stdout().contains("session_20260201_100000_00000002/meta.json"), "{}", answer.stdout());
}
