//! Kimi CLI's sessions: their projects, the counted messages, and no accidental new session.

use serde_json::json;

use crate::contract::search::Search;
use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Fixture, Kimi, age_tree, id, kimi_project, lines, put, put_kimi_json};
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

#[test]
fn list_reads_the_files_of_a_session() {
    let session = listed(Kimi::session(id(1)).turn("fix\tthe parser", "Done.").turn("thanks", "Welcome."));
    assert_eq!((session.agent, session.kind), (Agent::KIMI, Kind::Main));
    assert_eq!(said(&session), (None, Some("fix\tthe parser"), Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("registry")));
    assert_eq!(
        (session.start_dir.as_deref(), session.last_dir.as_deref()),
        (Some("/home/ana/app"), Some("/home/ana/app"))
    );
    assert_eq!(session.project, Some(kimi_project("/home/ana/app")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:03:00Z"));
    assert_eq!((session.active_source.as_deref(), session.liveness), (Some("wire"), Liveness::Idle));
    assert_eq!(session.health, ["missing-directory"]);
}

#[test]
fn list_omits_title_derived_from_prompt() {
    let titled = |title: &str| {
        listed(Kimi::session(id(1)).turn("fix the parser and\nits tests", "Done.").state("custom_title", json!(title)))
            .title
    };
    assert_eq!(titled("fix the parser and its tests"), None);
    assert_eq!(titled("fix the parser and…"), None);
    assert_eq!(titled("Parser"), Some("Parser".to_owned()));
    // If the first turn of a session was killed, the client takes the next prompt as the title.
    assert_eq!(titled("go on"), Some("go on".to_owned()));
}

#[test]
fn list_reads_files_of_older_versions() {
    let world = World::new();
    let project = world.home().join(".kimi/sessions").join(kimi_project("/home/ana/app"));
    put_kimi_json(&world.home(), &["/home/ana/app".as_ref()]);
    let context = lines(&[
        json!({"role": "user", "content": "before the log"}),
        json!({"role": "assistant", "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": "Done."}]}),
        json!({"role": "user", "content": "<system>put in</system>"}),
        json!({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "Shell", "arguments": "{}"}}]}),
    ]);
    put(&project.join(format!("{}.jsonl", id(1))), &context);
    put(&project.join(id(2)).join("context.jsonl"), &context);
    put(&project.join(id(2)).join("metadata.json"), r#"{"title":"Old","archived":true}"#);
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(said(&sessions[0]), (None, Some("before the log"), Some(1), Some(2)));
    assert_eq!((sessions[0].kind, sessions[0].active_source.as_deref()), (Kind::Main, Some("mtime")));
    assert_eq!(said(&sessions[1]), (Some("Old"), Some("before the log"), Some(1), Some(2)));
    assert_eq!(sessions[1].kind, Kind::Archived);
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("Done.") && shown.contains("Shell {}") && !shown.contains("put in"), "{shown}");
}

#[test]
fn context_next_to_directory_is_not_a_copy() {
    let world = World::new();
    let path = world.add(Kimi::session(id(1)).turn("x", "y").without("context.jsonl"));
    put(&path.with_extension("jsonl"), lines(&[json!({"role": "user", "content": "x"})]));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!((details.session.copies.len(), details.session.prompts), (1, Some(1)));
}

#[test]
fn killed_and_failed_turns_count_like_in_kimi() {
    let killed = listed(Kimi::session(id(1)).prompt("was killed").without("state.json"));
    assert_eq!(said(&killed), (None, Some("was killed"), Some(1), Some(0)));
    assert_eq!((killed.kind, killed.liveness), (Kind::Main, Liveness::Idle));
    let in_a_tool = Kimi::session(id(1)).prompt("run it").call("I will.").prompt("again").call("I will.");
    let session = listed(in_a_tool.answer("ok").reply("Done."));
    assert_eq!(said(&session), (None, Some("run it"), Some(2), Some(2)));
    let failed = Kimi::session(id(1)).prompt("fails").event("StepRetry", json!({"n": 1}));
    let failed = listed(failed.event("StepInterrupted", json!({})).event("TurnEnd", json!({})));
    assert_eq!((failed.prompts, failed.replies), (Some(1), Some(0)));
}

#[test]
fn recent_unfinished_turn_may_still_run() {
    let recent = || Kimi::session(id(1)).at("2026-03-01T11:59:30Z");
    assert_eq!(listed(recent().prompt("go")).liveness, Liveness::Maybe);
    let ended = recent().event("TurnBegin", json!({"user_input": "go"})).event("TurnEnd", json!({}));
    assert_eq!(listed(ended).liveness, Liveness::Idle);
}

#[test]
fn session_without_messages_is_empty() {
    let session = listed(Kimi::session(id(1)));
    assert_eq!(session.kind, Kind::Empty);
    let world = World::new();
    std::fs::create_dir_all(world.home().join(".kimi/sessions").join(kimi_project("/x")).join(id(1)))
        .expect("a directory");
    let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!((sessions.len(), sessions[0].kind), (1, Kind::Empty));
    assert!(world.rejoin(["list", "--json"]).code(0).sessions().is_empty());
}

#[test]
fn renamed_context_keeps_session_from_being_empty() {
    let world = World::new();
    let session = |n| Kimi::session(id(n)).without("wire.jsonl");
    for (n, context) in [(1, "context_2.jsonl"), (2, "context.jsonl")] {
        let path = world.add(session(n).turn("build the harbour crane", "Done."));
        std::fs::rename(path.join("context.jsonl"), path.join(context)).expect("a rename");
        put(&path.join("context_1.jsonl"), lines(&[json!({"role": "user", "content": "an older draft"})]));
        // The name is reserved before the file is moved to it.
        put(&path.join("context_10.jsonl"), "");
    }
    put(&world.home().join(".kimi/sessions").join(kimi_project("/home/ana/app")).join(id(3)).join("context.jsonl"), "");
    age_tree(&world.home());
    for session in world.rejoin(["list", "--counts", "--json"]).code(0).sessions() {
        assert_eq!(said(&session), (None, Some("build the harbour crane"), Some(1), Some(1)), "{}", session.id);
    }
    let found: Search = world.rejoin(["search", "harbour", "--json"]).code(0).json();
    assert_eq!(found.sessions.len(), 2);
    world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--yes"]).code(0);
    let ids: Vec<String> =
        world.rejoin(["list", "--all", "--json"]).sessions().into_iter().map(|session| session.id).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
}

#[test]
fn resume_passes_full_id_in_project_directory() {
    let world = World::new();
    world.install_python("kimi", "kimi_cli", "1.45.0", "");
    let app = world.dir("my app");
    world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    assert_eq!(plan.resume.argv, ["kimi", "--session", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    let answer = world.rejoin(["resume", &id(1)[..8]]).code(0);
    assert!(!answer.stderr().contains("may be"), "{}", answer.stderr());
    let launch = world.launched().expect("a launch");
    assert_eq!(
        (launch.argv.clone(), launch.cwd.as_path()),
        (vec!["kimi".to_owned(), "--session".to_owned(), id(1)], app.as_path())
    );
    assert_eq!(launch.variable("PWD"), app.to_str());

    world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["kimi", "--print", "--session", &id(1), "-p", "go on"]);
    world.rejoin(["resume", &id(1), "--prompt=--yolo"]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["kimi", "--print", "--session", &id(1), "--prompt=--yolo"]);
}

#[test]
fn resume_refuses_wrong_program() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    let refused = || {
        let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
        assert_eq!(plan.refusals.iter().map(|refusal| refusal.code.as_str()).collect::<Vec<_>>(), ["wrong-program"]);
        let answer = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(7).stderr();
        assert!(world.launched().is_none());
        answer
    };
    world.install_python("kimi", "kimi_cli", "1.52.0", "");
    let answer = refused();
    assert!(answer.contains("Kimi CLI 1.52.0 only says that it is no longer maintained"), "{answer}");
    assert!(answer.contains("`kimi migrate --run`"), "{answer}");
    world.install_npm("kimi", "@moonshot-ai/kimi-code", "2.1.0", "");
    let answer = refused();
    assert!(answer.contains("`kimi` is Kimi Code 2.1.0") && answer.contains("`kimi migrate --run`"), "{answer}");
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("refused: ") && shown.contains("kimi migrate --run"), "{shown}");
    let share = world.dir("share");
    Kimi::session(id(2)).in_dir(&app).turn("x", "y").write_to(&share);
    let answer = world.with("KIMI_SHARE_DIR", share.join(".kimi")).rejoin(["resume", &id(2)]).code(7).stderr();
    assert!(answer.contains("KIMI_SHARE_DIR=") && answer.contains("kimi migrate --run`"), "{answer}");
}

#[test]
fn resume_warns_about_unknown_program() {
    let world = World::new();
    let app = world.dir("app");
    let path = world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    world.install("kimi", "");
    let answer = world.rejoin(["resume", &id(1)]).code(0).stderr();
    assert!(answer.contains("`kimi` may be Kimi Code, or Kimi CLI 1.52 or later"), "{answer}");
    // The program of Kimi CLI 1.52 exits like this.
    let answer = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(1).stderr();
    assert!(world.launched().is_some());
    assert!(answer.contains("added nothing to session"), "{answer}");
    world.install("kimi", "exit 3");
    world.rejoin(["resume", &id(1), "--prompt", "continue"]).code(3);
    world.install("kimi", &format!("echo '{{}}' >> '{}'", path.join("wire.jsonl").display()));
    world.rejoin(["resume", &id(1), "--prompt", "continue"]).code(0);
}

#[test]
fn session_names_its_import_in_kimi_code() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Kimi::session(id(2)).in_dir(&app).turn("x", "y"));
    let import = format!("ses_{}", id(1));
    let state = |id: &str, of: &str| {
        let source = format!("/home/ana/.kimi/sessions/{}/{of}", kimi_project(&app));
        json!({"id": id, "version": 2, "cwd": &app, "custom": {"imported_from_kimi_cli": true, "kimi_cli_session_id": of,
            "kimi_cli_source_path": source}})
        .to_string()
    };
    let folder = world.home().join(".kimi-code/sessions/wd_app_0123456789ab");
    put(&folder.join(&import).join("state.json"), state(&import, &id(1)));
    // The id alone is not enough.
    put(&folder.join(format!("ses_{}", id(2))).join("state.json"), state(&import, &id(9)));
    let command = format!("rejoin resume kimicode:{import}");
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains(&format!("Kimi Code has imported it as {import}")) && shown.contains(&command), "{shown}");
    let shown = world.rejoin(["show", &id(2)]).code(0).stdout();
    assert!(!shown.contains("imported it"), "{shown}");
    world.install_python("kimi", "kimi_cli", "1.45.0", "");
    let warned = world.rejoin(["resume", &id(1)]).code(0).stderr();
    assert!(warned.contains(&command), "{warned}");
    world.install_npm("kimi", "@moonshot-ai/kimi-code", "2.1.0", "");
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains(&format!("hint: resume the imported session with `{command}`")), "{refused}");
}

#[test]
fn resume_refuses_id_that_starts_new_session() {
    let world = World::new();
    world.install("kimi", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    let path = world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    let refused = |args: &[&str]| {
        let plan = world.rejoin([&["resume", id(1).as_str(), "--json"], args].concat()).plan();
        let answer = world.rejoin([&["resume", id(1).as_str()], args].concat()).code(7);
        assert!(world.launched().is_none());
        assert!(answer.stderr().contains("cannot be resumed in"), "{}", answer.stderr());
        plan.refusals.into_iter().map(|refusal| refusal.code).collect::<Vec<_>>()
    };
    let elsewhere = other.to_str().expect("a path");
    assert_eq!(refused(&["--in", elsewhere]), ["would-start-anew"], "another directory");
    assert_eq!(refused(&["--in", elsewhere, "--trust", "--force"]), ["would-start-anew"]);

    put_kimi_json(&world.home(), &[&other]);
    assert_eq!(refused(&[]), ["would-start-anew"], "the directory is not listed any more");
    put(&world.home().join(".kimi/kimi.json"), "{");
    assert_eq!(refused(&[]), ["would-start-anew"], "the list cannot be read");

    put_kimi_json(&world.home(), &[&app]);
    std::fs::remove_file(path.join("context.jsonl")).expect("a file to remove");
    assert_eq!(refused(&[]), ["would-start-anew"], "what the model is sent is gone");
    // An unknown id is never passed to the agent.
    world.rejoin(["resume", "kimi:nosuch"]).code(5);
    assert!(world.launched().is_none());
}

#[test]
fn link_in_place_of_directory_is_another_project() {
    let world = World::new();
    world.install("kimi", "");
    let (app, moved) = (world.dir("app"), world.root().join("moved"));
    world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    std::fs::rename(&app, &moved).expect("a move");
    crate::fixtures::link(&moved, &app);
    let answer = world.rejoin(["resume", &id(1)]).code(7);
    assert!(answer.stderr().contains("start a new session of the same id"), "{}", answer.stderr());
    assert!(world.launched().is_none());
}

#[test]
fn resume_does_not_recreate_a_missing_session() {
    let world = World::new();
    let app = world.dir("app");
    let path = world.add(Kimi::session(id(1)).in_dir(&app).turn("x", "y"));
    world.install("kimi", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty());
    std::fs::remove_dir_all(&path).expect("a directory to remove");
    world.rejoin(["resume", &id(1)]).code(5);
    assert!(world.launched().is_none());
}

#[test]
fn context_gives_unlisted_directory() {
    let world = World::new();
    let app = world.dir("app");
    let path = world.add(Kimi::session(id(1)).in_dir(&app).unlisted().turn("x", "y"));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.launch_path(), app.to_str());
    assert_eq!(details.session.launch_source(), Some("system-prompt"));
    // The sessions of one project have one directory.
    let bare = path.with_file_name(id(2));
    put(&bare.join("wire.jsonl"), std::fs::read(path.join("wire.jsonl")).expect("a log"));
    let details: Details = world.rejoin(["show", &id(2), "--json"]).code(0).json();
    assert_eq!((details.session.launch_path(), details.session.launch_source()), (app.to_str(), Some("project")));

    // The directory in the context counts only if its hash is the project's name.
    std::fs::rename(&path, path.with_file_name(id(3))).expect("a move");
    let project = path.parent().expect("a project");
    let planted = project.with_file_name(kimi_project("/elsewhere"));
    std::fs::rename(project, planted).expect("a move");
    for number in [2, 3] {
        let details: Details = world.rejoin(["show", &id(number), "--json"]).code(0).json();
        assert_eq!(details.session.launch_path(), None);
        assert!(details.session.health.contains(&"unknown-directory".to_owned()), "{:?}", details.session.health);
    }
    world.rejoin(["resume", &id(3)]).code(7);
}

#[test]
fn unlisted_session_has_no_directory() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Kimi::session(id(1)).in_dir(&app).unlisted().without("context.jsonl").turn("x", "y"));
    let codes = |plan: &ResumePlan| plan.refusals.iter().map(|refusal| refusal.code.clone()).collect::<Vec<_>>();
    for dir in [world.home(), app.clone()] {
        let plan: ResumePlan = world.from(dir).rejoin(["resume", &id(1), "--json"]).plan();
        assert_eq!((plan.resume.dir.as_deref(), codes(&plan)), (None, vec!["unknown-directory".to_owned()]));
    }
    // The directory is right, but the agent would not know the session.
    let plan: ResumePlan = world.from(&app).rejoin(["resume", &id(1), "--in", ".", "--json"]).plan();
    assert_eq!(codes(&plan), ["would-start-anew"]);
}

#[test]
fn list_shows_remote_session_and_resume_refuses_it() {
    let world = World::new();
    let path = world.add(Kimi::session(id(1)).in_dir("/srv/app").unlisted().turn("x", "y"));
    let project = path.parent().expect("a project");
    let remote = format!("ssh_{}", kimi_project("/srv/app"));
    std::fs::rename(project, project.with_file_name(&remote)).expect("a move");
    let map = json!({"work_dirs": [{"path": "/srv/app", "kaos": "ssh", "last_session_id": null}]});
    put(&world.home().join(".kimi/kimi.json"), map.to_string());
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!((details.session.launch_path(), details.session.resumable), (None, false));
    let answer = world.rejoin(["resume", &id(1), "--in", "/tmp"]).code(7);
    assert!(answer.stderr().contains("another machine"), "{}", answer.stderr());
}

#[test]
fn id_in_two_directories_is_two_copies() {
    let world = World::new();
    world.install("kimi", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Kimi::session(id(1)).in_dir(&app).turn("one", "1").turn("two", "2"));
    world.add(Kimi::session(id(1)).in_dir(&other).at("2026-02-10T10:00:00Z").turn("strayed", "s"));
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!((sessions.len(), sessions[0].copies.len()), (1, 2));
    // The newer copy is smaller, as after a resume in the wrong place.
    let answer = world.rejoin(["resume", &id(1)]).code(6);
    assert!(world.launched().is_none());
    assert!(answer.stderr().contains(app.to_str().expect("a path")), "{}", answer.stderr());
    let copy = Kimi::session(id(1)).in_dir(&app).path(&world.home());
    world.rejoin(["resume", &id(1), "--copy", copy.to_str().expect("a path")]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);

    // The newest record and no fewer messages decide.
    world.add(Kimi::session(id(1)).in_dir(&other).at("2026-02-10T10:00:00Z").turn("a", "1").turn("b", "2"));
    world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, other);
}

#[test]
fn equal_copies_in_two_directories_stay_undecided() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Kimi::session(id(1)).in_dir(&app).turn("one", "1"));
    world.add(Kimi::session(id(1)).in_dir(&other).turn("one", "1"));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert!(details.session.copies.iter().all(|copy| !copy.chosen), "{:?}", details.session.copies);
    world.rejoin(["resume", &id(1)]).code(6);
}

#[test]
fn any_string_can_be_id_except_option() {
    let world = World::new();
    world.install("kimi", "");
    let app = world.dir("app");
    for name in ["nosuch", "two words", "ünï"] {
        world.add(Kimi::session(name).in_dir(&app).turn("x", "y"));
        world.rejoin(["resume", &format!("kimi:{name}")]).code(0);
        assert_eq!(world.launched().expect("a launch").argv, ["kimi", "--session", name]);
    }
    world.add(Kimi::session("--yolo").in_dir(&app).turn("x", "y"));
    let answer = world.rejoin(["resume", "kimi:--yolo"]).code(7);
    assert!(answer.stderr().contains("option"), "{}", answer.stderr());
    assert!(world.launched().is_none());
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 4);
}

#[test]
fn environment_variable_selects_store_for_resume() {
    let world = World::new();
    world.install("kimi", "");
    let (app, share) = (world.dir("app"), world.dir("share"));
    Kimi::session(id(1)).in_dir(&app).turn("x", "y").write_to(&share);
    world.add(Kimi::session(id(2)).in_dir(&app).turn("x", "y"));
    let chosen = share.join(".kimi");
    world.with("KIMI_SHARE_DIR", &chosen).rejoin(["resume", &id(1)]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.variable("KIMI_SHARE_DIR"), chosen.to_str());
    world.with("KIMI_SHARE_DIR", &chosen).rejoin(["resume", &id(2)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("KIMI_SHARE_DIR"), None);
}

#[test]
fn list_survives_malformed_files() {
    for text in ["", "{", "[]", "null", "7", "\"x\"", "{}", "\u{feff}{}", "{\"message\":7}\n[[]]\n{\"timestamp\":{}}\n"]
    {
        let world = World::new();
        world.add(Kimi::session(id(2)).turn("x", "y"));
        let path = world.add(Kimi::session(id(1)).turn("x", "y"));
        for name in ["wire.jsonl", "context.jsonl", "state.json"] {
            put(&path.join(name), text);
        }
        put(&path.join("metadata.json"), text);
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        assert_eq!(listed.len(), 2, "{text:?}");
        world.rejoin(["show", &id(1), "--transcript"]).code(0);
        put(&world.home().join(".kimi/kimi.json"), text);
        assert_eq!(world.rejoin(["list", "--all", "--json"]).code(0).sessions().len(), 2, "{text:?}");
    }
}

#[test]
fn list_distinguishes_torn_line_and_bad_line() {
    let world = World::new();
    let path = world.add(Kimi::session(id(1)).turn("x", "y"));
    let wire = std::fs::read_to_string(path.join("wire.jsonl")).expect("a log");
    put(&path.join("wire.jsonl"), format!("{wire}{{\"timestamp\": 17"));
    let session = &world.rejoin(["list", "--counts", "--json"]).code(0).sessions()[0];
    assert!(session.health.contains(&"torn-transcript".to_owned()), "{:?}", session.health);
    put(&path.join("wire.jsonl"), format!("not JSON\n{wire}"));
    let session = &world.rejoin(["list", "--counts", "--json"]).code(0).sessions()[0];
    assert!(session.health.contains(&"bad-lines".to_owned()), "{:?}", session.health);
    assert_eq!((session.prompts, session.replies), (Some(1), Some(1)));
}

#[test]
fn doctor_repairs_lines_of_the_context() {
    let world = World::new();
    let path = world.add(Kimi::session(id(1)).turn("x", "y").turn("z", "w"));
    let context = path.join("context.jsonl");
    let sound = std::fs::read_to_string(&context).expect("a context");
    let lines: Vec<&str> = sound.lines().collect();
    let half = &lines[1][..lines[1].len() / 2];
    put(&context, format!("{}\n{}\n{half}{}\n", lines[0], lines[1], lines[2..].join("\n")));
    let report = world.rejoin(["doctor", "--check", "bad-lines"]).code(4).stdout();
    assert!(report.contains("line 3 is not a record") && report.contains("context.jsonl"), "{report}");
    world.rejoin(["doctor", "--fix", "--check", "bad-lines", "--yes"]).code(0);
    let repaired = std::fs::read_to_string(&context).expect("a context");
    assert_eq!(repaired, format!("{}\n{}\n{half}\n{}\n", lines[0], lines[1], lines[2..].join("\n")));
    put(&context, format!("{sound}{half}"));
    let report = world.rejoin(["doctor", "--check", "torn-transcript"]).code(4).stdout();
    assert!(report.contains("was cut off") && report.contains("context.jsonl"), "{report}");
}

#[test]
fn doctor_leaves_a_session_used_after_its_plan() {
    let world = World::new();
    let path = world.add(Kimi::session(id(1)).turn("x", "y").turn("z", "w"));
    let context = path.join("context.jsonl");
    let sound = std::fs::read_to_string(&context).expect("a context");
    let (first, rest) = sound.split_once('\n').expect("two records");
    let broken = format!("{}{first}\n{rest}", &rest[..9]);
    put(&context, &broken);
    let output = world.interfered(&["doctor", "--fix", "--check", "bad-lines", "--yes"], || {
        let wire = std::fs::read_to_string(path.join("wire.jsonl")).expect("a log");
        let last = wire.lines().last().expect("a record");
        put(&path.join("wire.jsonl"), format!("{wire}{last}\n"));
    });
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("it was used in the meantime"), "{stdout}");
    assert_eq!(std::fs::read_to_string(&context).expect("a context"), broken);
}
