//! Gemini CLI's sessions: both generations, the merging of lines, the directories of projects, copies, and resumes.

use serde_json::{Value, json};

use crate::contract::changes::Archive;
use crate::contract::{Agent, Compared, Details, DoctorReport, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Claude, Fixture, Gemini, age, gemini_hash, id, put};
use crate::world::World;

fn all(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

fn listed(fixture: impl Fixture) -> Session {
    let world = World::new();
    world.add(fixture);
    let mut sessions = all(&world);
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn said(session: &Session) -> (Option<&str>, Option<&str>, Option<u64>, Option<u64>) {
    (session.title.as_deref(), session.first_prompt.as_deref(), session.prompts, session.replies)
}

fn texts(world: &World, selector: &str) -> Vec<String> {
    let details: Details = world.rejoin(["show", selector, "--transcript", "--json"]).code(0).json();
    details.messages.expect("messages").into_iter().map(|message| message.text).collect()
}

#[test]
fn list_reads_the_combined_lines_of_a_session() {
    let session = listed(Gemini::session(id(1)).turn("fix it", "Done.").summary("Old title").summary("A fix"));
    assert_eq!((session.agent, session.kind), (Agent::GEMINI, Kind::Main));
    assert_eq!(session.id, id(1), "the name holds only eight characters of it");
    assert_eq!(said(&session), (Some("A fix"), Some("fix it"), Some(1), Some(1)));
    assert_eq!(session.launch_path(), Some("/home/ana/app"));
    assert_eq!(session.launch_source(), Some("project-root"));
    assert_eq!(
        (session.start_dir.as_deref(), session.last_dir.as_deref()),
        (Some("/home/ana/app"), Some("/home/ana/app"))
    );
    assert_eq!((session.model.as_deref(), session.git_branch.as_deref()), (Some("model-g"), None));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:02:00Z"));
    assert_eq!(
        (session.liveness, session.health.as_slice()),
        (Liveness::Idle, ["missing-directory".to_owned()].as_slice())
    );
}

#[test]
fn old_document_format_gives_same_session() {
    let session = listed(Gemini::session(id(1)).document().turn("fix it", "Done.").summary("A fix"));
    assert_eq!(said(&session), (Some("A fix"), Some("fix it"), Some(1), Some(1)));
    assert_eq!((session.id, session.model.as_deref()), (id(1), Some("model-g")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:04:00Z"));
}

#[test]
fn doctor_accepts_a_sound_session_of_either_generation() {
    let world = World::new();
    let app = world.dir("app");
    let session = |n| Gemini::session(id(n)).in_dir(&app).at("2026-02-20T10:00:00Z").turn("fix it", "Done.");
    world.add(session(1).resumed());
    world.add(session(2).document());
    let answer = world.rejoin(["doctor", "--json"]).code(0);
    assert!(answer.stdout().contains("\"findings\":[]"), "{}", answer.stdout());
}

#[test]
fn sessions_expire_after_30_days_unless_settings_keep_them() {
    let world = World::new();
    let app = world.dir("app");
    for (n, day) in [(1, "2026-01-20"), (2, "2026-02-02"), (3, "2026-02-20")] {
        world.add(Gemini::session(id(n)).in_dir(&app).at(&format!("{day}T10:00:00Z")).turn("fix it", "Done."));
    }
    // Gemini CLI cannot resume a file whose header is damaged.
    let damaged = world.add(Gemini::session(id(4)).in_dir(&app).at("2026-02-25T10:00:00Z").turn("keep me", "Yes."));
    let text = std::fs::read_to_string(&damaged).expect("a log");
    put(&damaged, text.replacen("}\n", "\n", 1));
    // Gemini CLI ignores comments.
    let expiring = |settings: Value| -> Vec<String> {
        let settings = json!({"general": {"sessionRetention": settings}});
        put(&world.home().join(".gemini/settings.json"), format!("/* kept */ {settings} // to the end"));
        let plan: Archive = world.rejoin(["archive", "--expiring", "7", "--dry-run", "--json"]).code(0).json();
        plan.items.into_iter().filter_map(|item| item.id).filter(|id| id.contains("-aaaa-")).collect()
    };
    assert_eq!(expiring(json!({})), [id(1), id(2)]);
    assert_eq!(expiring(json!({"maxAge": "6w"})), [id(1)]);
    for kept in
        [json!({"enabled": false}), json!({"maxAge": "never"}), json!({"maxAge": "2h"}), json!({"maxAge": "52w"})]
    {
        assert_eq!(expiring(kept.clone()), Vec::<String>::new(), "{kept}");
    }
    assert_eq!(expiring(json!({"maxAge": "12h", "minRetention": "1h"})).len(), 3);

    expiring(json!({}));
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
    let expiring = report.findings.iter().filter(|found| found.code == "expires-soon");
    let due: Vec<_> = expiring.filter(|found| found.evidence.contains("when it next starts")).collect();
    assert_eq!(
        due.iter().map(|found| found.sessions.len()).sum::<usize>(),
        2,
        "the old one and the damaged one: {due:?}"
    );
    // The time is in the records, so restored files would not live longer with the current time.
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let restored = world.rejoin(["restore", &id(1)]).code(0);
    assert!(restored.stderr().contains("gemini will delete it again when it next starts"), "{}", restored.stderr());
}

#[test]
fn list_reads_only_ends_of_large_file() {
    let long = "word ".repeat(200);
    for is_document in [false, true] {
        let session =
            (0..400).fold(Gemini::session(id(1)).turn("the first", "ok"), |session, _| session.turn(&long, &long));
        let session = session.summary("Late title");
        let session = if is_document { session.document() } else { session };
        let world = World::new();
        world.add(session);
        let (answer, peak) = world.measured(["list", "--json"]);
        let session = answer.code(0).sessions().remove(0);
        assert_eq!(said(&session), (Some("Late title"), Some("the first"), None, None), "document: {is_document}");
        assert_eq!(session.model.as_deref(), Some("model-g"));
        assert!(session.active_at.as_deref().is_some_and(|at| at > "2026-02-01T23:00:00Z"));
        assert!(peak < 64 * 1024, "{peak} KiB");
        assert_eq!(said(&all(&world)[0]), (Some("Late title"), Some("the first"), Some(401), Some(401)));
    }
}

#[test]
fn rewritten_message_counts_once_with_last_text() {
    let world = World::new();
    let call = json!([{"id": "c", "name": "run", "args": {"command": "ls"}, "status": "success"}]);
    let result = json!([{"functionResponse": {"id": "c", "response": {"output": "a.txt"}}}]);
    world.add(
        Gemini::session(id(1))
            .prompt("look")
            .message_of("g", "gemini", &json!({"content": "I will look."}))
            .prompt("typed meanwhile")
            .message_of("g", "gemini", &json!({"content": "I will look.", "toolCalls": call}))
            .message_of("t", "user", &json!({"content": result}))
            .message_of("i", "info", &json!({"content": "Saved."}))
            .reply("One file."),
    );
    let sessions = all(&world);
    assert_eq!(said(&sessions[0]), (None, Some("look"), Some(2), Some(2)));
    let expected =
        ["look", "I will look.", "run {\"command\":\"ls\"}", "typed meanwhile", "→ a.txt", "Saved.", "One file."];
    assert_eq!(texts(&world, "latest"), expected);
}

#[test]
fn show_has_results_that_only_calls_have() {
    let response = |id: &str, output: &str| json!([{"functionResponse": {"id": id, "response": {"output": output}}}]);
    let calls = json!([
        {"id": "a", "name": "run", "result": response("a", "murrelet"), "resultDisplay": "for the user"},
        {"id": "b", "name": "look", "result": null, "resultDisplay": "puffin"},
        {"id": "c", "name": "edit", "resultDisplay": {"fileDiff": "+razorbill", "fileName": "x"}},
        {"id": "d", "name": "list", "resultDisplay": [["x"]]},
        {"id": "e", "name": "ask", "result": response("e", "repeated")},
    ]);
    let session = Gemini::session(id(1)).prompt("look").message_of("g", "gemini", &json!({"toolCalls": calls}));
    let own = ["look", "run", "→ murrelet", "look", "→ puffin", "edit", "→ +razorbill", "list", "ask"];
    for (session, last) in [
        (session.clone().document(), &["→ repeated"][..]),
        (session.clone(), &["→ repeated"]),
        // Version 0.61.0 repeats a result in a message.
        (
            session.reply("Done.").message_of("t", "user", &json!({"content": response("e", "again")})),
            &["Done.", "→ again"],
        ),
    ] {
        let world = World::new();
        world.add(session);
        let shown: Vec<String> = texts(&world, &id(1)).iter().map(|text| text.trim().to_owned()).collect();
        assert_eq!(shown, [&own, last].concat());
        world.rejoin(["search", "murrelet"]).code(0);
    }
}

#[test]
fn history_repeated_by_resume_counts_once() {
    let world = World::new();
    world.add(Gemini::session(id(1)).turn("one", "first").resumed().turn("two", "second").resumed().prompt("three"));
    assert_eq!(said(&all(&world)[0]), (None, Some("one"), Some(3), Some(2)));
    assert_eq!(texts(&world, &id(1)), ["one", "first", "two", "second", "three"]);
    let details: Details = world.rejoin(["show", &id(1), "--messages", "2", "--json"]).code(0).json();
    assert_eq!(details.messages.expect("messages").len(), 2);
}

#[test]
fn show_drops_rewound_messages() {
    let world = World::new();
    let session = Gemini::session(id(1)).message_of("a", "user", &json!({"content": "wrong"})).reply("no").message_of(
        "b",
        "user",
        &json!({"content": "worse"}),
    );
    world.add(session.clone().record(json!({"$rewindTo": "b"})));
    assert_eq!(texts(&world, &id(1)), ["wrong", "no"]);
    world.add(session.clone().record(json!({"$rewindTo": "a"})).turn("right", "yes"));
    assert_eq!(texts(&world, &id(1)), ["right", "yes"]);
    assert_eq!(said(&all(&world)[0]), (None, Some("right"), Some(1), Some(1)));
    world.add(session.record(json!({"$rewindTo": "never heard of"})));
    let nothing_left = &all(&world)[0];
    assert_eq!((nothing_left.kind, nothing_left.prompts), (Kind::Main, Some(0)), "the messages are still in the file");
}

#[test]
fn killed_turn_leaves_a_prompt() {
    let session = listed(Gemini::session(id(1)).prompt("never answered"));
    assert_eq!((said(&session), session.kind), ((None, Some("never answered"), Some(1), Some(0)), Kind::Main));
    let session = listed(Gemini::session(id(1)).turn("x", "y").followed_by(r#"{"id":"m9","type":"gem"#));
    assert!(session.health.contains(&"torn-transcript".to_owned()), "{:?}", session.health);
    assert!(!session.health.contains(&"bad-lines".to_owned()));
    assert_eq!(said(&session), (None, Some("x"), Some(1), Some(1)));
}

#[test]
fn resume_refuses_a_session_without_prompt_or_reply() {
    for session in [
        Gemini::session(id(1)),
        Gemini::session(id(1)).document(),
        Gemini::session(id(1)).message_of("i", "info", &json!({"content": "Welcome."})),
    ] {
        let session = listed(session);
        assert_eq!((session.kind, session.resumable), (Kind::Empty, false));
        assert!(session.health.contains(&"empty-session".to_owned()));
    }
}

#[test]
fn resume_ignores_stub_of_failed_resume() {
    let world = World::with_agents();
    world.install("gemini", "");
    let app = world.dir("app");
    let real = world.add(Gemini::session(id(1)).in_dir(&app).turn("one", "first"));
    let stub = world.add(Gemini::session(id(1)).in_dir(&app).at("2026-02-01T11:00:00Z"));
    let sessions = all(&world);
    assert_eq!((sessions.len(), sessions[0].copies.len()), (1, 2));
    assert_eq!((sessions[0].kind, sessions[0].prompts), (Kind::Main, Some(1)));
    assert_eq!(sessions[0].copies[0].path, real.to_str().expect("a path"));
    assert_eq!(sessions[0].copies[0].why.as_deref(), Some("it is the only copy with a conversation"));
    assert_eq!(sessions[0].copies[1].path, stub.to_str().expect("a path"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.path.as_deref(), real.to_str());
}

#[test]
fn copies_with_different_long_texts_are_not_identical() {
    let text = |end: &str| format!("{} {end}", "word ".repeat(2 << 20));
    for (end, expected) in [("a", Compared::Identical), ("b", Compared::Diverged)] {
        let world = World::new();
        world.add(Gemini::session(id(1)).in_dir(world.dir("one")).turn("x", &text("a")));
        world.add(Gemini::session(id(1)).in_dir(world.dir("one")).filed_under("two").turn("x", &text(end)));
        let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
        assert_eq!(details.session.copies[1].compared, Some(expected));
    }
}

#[test]
fn comparison_reads_copies_in_old_and_new_format() {
    let world = World::new();
    let app = world.dir("app");
    world.install("gemini", "");
    let old = Gemini::session(id(1)).in_dir(&app).turn("one", "first").turn("two", "second");
    // The newer client copies the project under its new name, and continues in lines.
    world.add(old.clone().document().hashed());
    world.add(old.clone().document());
    world.add(old.clone().resumed());
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.copies.len(), 3);
    assert_eq!(details.session.copies[0].why.as_deref(), Some("its copies are identical"));

    let longer = world.add(old.resumed().turn("three", "third"));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.copies[0].path, longer.to_str().expect("a path"));
    assert_eq!(details.session.copies[0].why.as_deref(), Some("it continues where the other copies end"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.path.as_deref(), longer.to_str());
}

#[test]
fn imported_session_is_a_separate_session() {
    let world = World::new();
    let path = world.add(
        Gemini::session(id(2))
            .record(json!({"id": "import-1", "type": "info", "content": "Imported session from x"}))
            .turn("one", "first"),
    );
    let imported = path.with_file_name(format!("session-1769940000000-{}.jsonl", &id(2)[..8]));
    std::fs::rename(&path, &imported).expect("a move");
    let sessions = all(&world);
    assert_eq!(said(&sessions[0]), (None, Some("one"), Some(1), Some(1)));
    assert_eq!(texts(&world, &id(2)), ["Imported session from x", "one", "first"]);
}

#[test]
fn sub_agents_belong_to_session_of_their_directory() {
    let world = World::new();
    world.add(Gemini::session(id(1)).turn("one", "first"));
    world.add(Gemini::session(id(8)).subagent_of(id(1)).turn("look", "found"));
    let sessions = all(&world);
    let sub = sessions.iter().find(|session| session.id == id(8)).expect("a sub-agent");
    assert_eq!((sub.kind, sub.parent_id.clone(), sub.resumable), (Kind::Subagent, Some(id(1)), false));
    assert_eq!((sub.prompts, sub.replies), (Some(1), Some(1)));
    let main = sessions.iter().find(|session| session.id == id(1)).expect("a session");
    assert!(main.size_bytes > sub.size_bytes, "what its sub-agents wrote is a part of its size");
}

#[test]
fn registry_gives_the_directory_without_a_marker() {
    let session =
        listed(Gemini::session(id(1)).in_dir("/home/ana/nested/app").filed_under("app-1").unmarked().turn("x", "y"));
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/nested/app"), Some("registry")));
    let world = World::new();
    world.add(Gemini::session(id(1)).filed_under("app-1").unmarked().unregistered().turn("x", "y"));
    put(&world.home().join(".gemini/history/app-1/.project_root"), "/home/ana/other\n");
    let session = all(&world).remove(0);
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/other"), Some("project-root")));
}

#[test]
fn project_marker_beats_other_evidence() {
    let world = World::new();
    world.add(Gemini::session(id(1)).unregistered().turn("x", "y"));
    put(
        &world.home().join(".gemini/projects.json"),
        r#"{"projects":{"/home/ana/stale":"app","relative":"app","/n":7}}"#,
    );
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.launch_path(), Some("/home/ana/app"));
    let evidence: Vec<_> = details.evidence.iter().map(|found| (found.dir.as_str(), found.counts)).collect();
    assert_eq!(evidence, [("/home/ana/app", true), ("/home/ana/stale", false)]);
}

#[test]
fn known_directories_resolve_hashed_project() {
    // Found through the registry of the newer generation.
    let world = World::new();
    world.add(Gemini::session(id(1)).document().hashed().turn("x", "y"));
    put(&world.home().join(".gemini/projects.json"), r#"{"projects":{"/home/ana/app":"app"}}"#);
    let session = all(&world).remove(0);
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("registry")));

    // Found through another agent's session that worked below it, however the session is named.
    let world = World::new();
    world.install("gemini", "");
    let app = world.dir("app");
    world.add(Gemini::session(id(1)).in_dir(&app).document().hashed().turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(world.dir("app/below")).turn("x", "y"));
    for args in [vec!["list", "--json"], vec!["list", "--agent", "gemini", "--json"]] {
        let sessions = world.rejoin(args).code(0).sessions();
        let session = sessions.iter().find(|session| session.id == id(1)).expect("a session");
        assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("known")));
    }
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
}

#[test]
fn unknown_hash_matches_only_current_directory() {
    let world = World::new();
    world.install("gemini", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Gemini::session(id(1)).in_dir(&app).document().hashed().turn("x", "y"));
    let session = all(&world).remove(0);
    assert!(session.launch_dir.is_none() && session.health.contains(&"unknown-directory".to_owned()));
    assert_eq!(world.from(&other).rejoin(["resume", &id(1), "--json"]).plan().refusals.len(), 1);
    let plan: ResumePlan = world.from(&app).rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(
        (plan.resume.dir.as_deref(), plan.launch_dir.expect("a directory").source),
        (app.to_str(), "known".to_owned())
    );
}

#[test]
fn resume_passes_full_id_and_warns() {
    let world = World::new();
    world.install("gemini", "");
    let app = world.dir("app");
    world.add(Gemini::session(id(1)).in_dir(&app).turn("x", "y"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1)[..8], "--json"]).plan();
    assert_eq!(plan.resume.argv, ["gemini", "--resume", &id(1)]);
    assert_eq!((plan.resume.dir.as_deref(), plan.resume.set.len()), (app.to_str(), 0));
    assert!(plan.refusals.is_empty());

    let answer = world.rejoin(["resume", &id(1)]).code(0);
    assert!(answer.stderr().contains("may delete this session"), "{}", answer.stderr());
    let remedy = format!("`rejoin archive gemini:{}`", id(1));
    assert!(answer.stderr().contains(&remedy), "{}", answer.stderr());
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv, launch.cwd), (["gemini", "--resume", &id(1)].map(str::to_owned).to_vec(), app));

    let with = |prompt: &str| -> Vec<String> {
        let plan: ResumePlan = world.rejoin(["resume", &id(1), "--prompt", prompt, "--json"]).plan();
        plan.resume.argv[3..].to_vec()
    };
    assert_eq!(with("go on"), ["-p", "go on"]);
    assert_eq!(with("-x"), ["--prompt=-x"], "it is no option");
}

#[test]
fn environment_variable_selects_store_for_resume() {
    let world = World::new();
    let other = world.dir("other");
    Gemini::session(id(1)).in_dir(world.dir("app")).turn("x", "y").write_to(&other);
    world.add(Gemini::session(id(2)).in_dir(world.dir("app")).turn("x", "y"));
    let plan =
        |id: &str| -> ResumePlan { world.with("GEMINI_CLI_HOME", &other).rejoin(["resume", id, "--json"]).plan() };
    let (set, unset) = (plan(&id(1)).resume.set, plan(&id(2)).resume.unset);
    assert_eq!(set.get("GEMINI_CLI_HOME").map(String::as_str), other.to_str());
    assert_eq!(unset, ["GEMINI_CLI_HOME"]);
    assert_eq!(all(&world).len(), 1, "without the variable there is one store");
}

#[test]
fn recently_written_session_may_be_in_use() {
    let live = |start: &str| {
        let session = listed(Gemini::session(id(1)).at(start).turn("x", "y"));
        session.liveness
    };
    assert_eq!(live("2026-03-01T11:57:30Z"), Liveness::Maybe);
    assert_eq!(live("2026-03-01T11:50:00Z"), Liveness::Idle);
}

#[test]
fn session_with_ambiguous_id_is_not_resumable() {
    for odd in ["-x", "7", "latest"] {
        let session = listed(Gemini::session(odd).turn("x", "y"));
        assert!(session.id == odd && !session.resumable, "{odd}");
    }
    let world = World::new();
    for (at, odd) in ["../x", "a b", "", ".", "x\n"].into_iter().enumerate() {
        let path = world.add(Gemini::session(id(9)).turn("x", "y"));
        let text = std::fs::read_to_string(&path).expect("a session").replace(&id(9), odd);
        put(&path.with_file_name(format!("session-{at}-odd.jsonl")), text);
        std::fs::remove_file(path).expect("an end");
    }
    let answer = world.rejoin(["list", "--all", "--json"]).code(0);
    // The last file is not JSON, so it is unknown whether it has an id.
    let sessions = answer.sessions();
    assert!(sessions.len() == 1 && sessions[0].id == "session-4-odd" && !sessions[0].resumable, "{sessions:?}");
    assert_eq!(answer.json::<crate::contract::SessionList>().problems.len(), 4);
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).turn("x", "y"));
    let chats = path.parent().expect("a directory");
    for name in ["notes.jsonl", "session-1.txt", "session-1.jsonl.tmp-77", "session-1.jsonl.unreadable-5"] {
        put(&chats.join(name), "{}\n");
    }
    put(&world.home().join(".gemini/tmp/bin/rg"), "x");
    assert_eq!(all(&world).len(), 1);
}

#[test]
fn list_survives_lines_of_any_kind() {
    let odd: Vec<Value> = vec![
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!([["sessionId"]]),
        json!({}),
        json!({"id": 7, "type": [], "content": {}}),
        json!({"id": "o1", "type": "user", "content": 7, "timestamp": 7, "displayContent": "x"}),
        json!({"id": "o2", "type": "gemini", "content": [[], null, 7, {"text": 7}], "toolCalls": {"a": 1}, "model": 7}),
        json!({"id": "o3", "type": "gemini", "content": null, "toolCalls": [null]}),
        json!({"$set": 7}),
        json!({"$set": null}),
        json!({"$set": {"messages": 7, "summary": [], "kind": {}}}),
        json!({"$set": {"messages": {"id": "a"}}}),
        json!({"$rewindTo": 7}),
        json!({"sessionId": [], "startTime": {}, "messages": "x"}),
    ];
    for is_document in [false, true] {
        let world = World::new();
        let session = odd.iter().cloned().fold(Gemini::session(id(1)).turn("one", "first"), Gemini::record);
        let session = session.prompt("two");
        world.add(if is_document { session.document() } else { session });
        let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        assert_eq!((sessions.len(), sessions[0].first_prompt.as_deref()), (1, Some("one")), "document: {is_document}");
        // Among the odd records, a prompt that is next to its content and a call of a tool count.
        assert_eq!((sessions[0].prompts, sessions[0].replies), (Some(3), Some(2)), "document: {is_document}");
        assert!(texts(&world, &id(1)).contains(&"two".to_owned()));
    }
    for text in ["", "{", "[]", "null", "7", "{}", "\u{feff}{}", "{\"sessionId\":7}", "{\"messages\":[{}]}", "\0\0"] {
        for ending in ["json", "jsonl"] {
            let world = World::new();
            let path = world.add(Gemini::session(id(1)).turn("one", "first"));
            put(&path.with_file_name(format!("session-0-0.{ending}")), text);
            let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
            let is_unknown = text.contains("messages");
            assert_eq!(sessions.len(), 1 + usize::from(is_unknown), "{text:?}");
        }
    }
    for text in ["", "{", "[]", "{\"projects\":[]}", "{\"projects\":{\"/x\":[]}}"] {
        let world = World::new();
        world.add(Gemini::session(id(1)).turn("one", "first"));
        put(&world.home().join(".gemini/projects.json"), text);
        assert_eq!(all(&world)[0].launch_path(), Some("/home/ana/app"), "{text:?}");
    }
}

#[test]
fn list_shows_truncated_document() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).document().turn("one", "first").turn("two", "second"));
    let text = std::fs::read_to_string(&path).expect("a session");
    put(&path, &text[..text.len() - 200]);
    let session = all(&world).remove(0);
    assert_eq!((session.id.clone(), session.first_prompt.as_deref()), (id(1), Some("one")));
    assert!(session.health.contains(&"invalid-content".to_owned()), "{:?}", session.health);
}

#[test]
fn list_skips_directory_named_like_session() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).unmarked().turn("one", "first"));
    let chats = path.parent().expect("a directory");
    std::fs::create_dir_all(chats.join("session-2026-01-01T00-00-00000000.jsonl")).expect("a directory");
    std::fs::create_dir_all(chats.parent().expect("a directory").join(".project_root")).expect("a directory");
    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!((sessions.len(), sessions[0].launch_source()), (1, Some("registry")));
    assert_eq!(gemini_hash("/home/ana/app").len(), 64);
}

#[test]
fn files_named_by_id_belong_to_every_copy() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).turn("one", "first"));
    let stub = world.add(Gemini::session(id(1)).at("2026-02-01T11:00:00Z"));
    world.add(Gemini::session(id(8)).subagent_of(id(1)).turn("look", "found"));
    world.add(Gemini::session(id(2)).at("2026-02-02T10:00:00Z").turn("another", "one"));
    let temp = world.home().join(".gemini/tmp/app");
    let aside = path.with_file_name(format!("{}.unreadable-7", path.file_name().expect("a name").display()));
    put(&aside, "x");
    let kept = |id: &str| {
        [format!("logs/session-{id}.jsonl"), format!("tool-outputs/session-{id}/t.txt"), format!("{id}/plans/p.md")]
    };
    [id(1), id(8), id(2)].iter().flat_map(|id| kept(id)).for_each(|name| put(&temp.join(name), "x"));

    let mut expected: Vec<_> = [id(1), id(8)]
        .iter()
        .flat_map(|id| [format!("logs/session-{id}.jsonl"), format!("tool-outputs/session-{id}"), id.clone()])
        .map(|name| temp.join(name))
        .collect();
    expected.push(temp.join("chats").join(id(1)));
    expected.extend([path.clone(), aside, stub.clone()]);
    expected.sort();
    assert_eq!(world.would_trash(["delete", &id(1)]), expected);
    let copy = stub.to_str().expect("a path").to_owned();
    assert_eq!(world.would_trash(["delete", &id(1), "--copy", &copy]), [stub]);
}

#[test]
fn search_finds_conversation_before_empty_checkpoint() {
    for size in [10, 100_000] {
        let world = World::new();
        let context = json!({"id": "context", "type": "user", "content": [{"text": "<session_context>\nx"}]});
        let chat = Gemini::session(id(1))
            .turn("build the zeppelin", &"Built. ".repeat(size / 10))
            .turn("paint it", "Painted.");
        let header = json!({"sessionId": id(1), "projectHash": "x", "kind": "main"});
        world.add(
            chat.record(header).record(json!({"$set": {"messages": [context], "lastUpdated": "2026-02-01T10:00:00Z"}})),
        );
        let session = &all(&world)[0];
        assert_eq!(said(session), (None, Some("build the zeppelin"), Some(0), Some(0)), "{size}");
        assert!(session.health.contains(&"cannot-open".to_owned()), "{size}: {:?}", session.health);
        let found = world.rejoin(["search", "painted"]).code(0).stdout();
        assert!(found.contains("paint it"), "{found}");
        let shown = world.rejoin(["show", &id(1), "--all-branches"]).code(0).stdout();
        assert!(shown.contains("paint it"), "{shown}");
        let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
        let export = format!("export gemini:{} --all-branches -o conversation.md", id(1));
        assert!(refused.contains(&export), "{refused}");
        let exported = world.rejoin(["export", &id(1), "--all-branches"]).code(0).stdout();
        assert!(exported.contains("paint it"), "{exported}");
        let cleanup = world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
        assert!(cleanup.contains("Nothing to do"), "{cleanup}");
    }
}

#[test]
fn resume_refuses_chat_with_torn_header() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).turn("build the zeppelin", "Built."));
    let text = std::fs::read_to_string(&path).expect("a chat");
    let (header, rest) = text.split_once('\n').expect("a header");
    put(&path, format!("{}\n{rest}", &header[..header.len() / 2]));
    age(&path);
    let session = &all(&world)[0];
    assert_eq!(said(session), (None, Some("build the zeppelin"), Some(1), Some(1)));
    assert!(session.health.contains(&"cannot-open".to_owned()), "{:?}", session.health);
    let refused = world.rejoin(["resume", "zeppelin"]).code(7).stderr();
    assert!(refused.contains("the header with its id, is damaged") && refused.contains("rejoin export"), "{refused}");
    let doctor = world.rejoin(["doctor"]).code(4).stdout();
    assert!(doctor.contains("cannot-open") && !doctor.contains("unknown-format"), "{doctor}");
}
