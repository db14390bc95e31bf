//! Copilot CLI's sessions: the contents of their files, the processes that use them, and their resume.

use std::fs::File;
use std::path::Path;

use serde_json::json;

use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Copilot, Gptme, age_tree, id, put};
use crate::world::World;

fn listed(fixture: Copilot) -> Session {
    let world = World::new();
    world.add(fixture);
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn shown(world: &World, session: &str) -> Details {
    world.rejoin(["show", session, "--messages", "50", "--json"]).code(0).json()
}

fn plan(world: &World, args: &[&str]) -> ResumePlan {
    world.rejoin(["resume", "--json"].iter().chain(args)).plan()
}

#[test]
fn list_reads_the_files_of_a_session() {
    let session = listed(Copilot::session(id(1)).branch("main").turn("fix it", "Done.").call("ls", "a.txt"));
    assert_eq!((session.agent, session.id.as_str(), session.kind), (Agent::COPILOT, id(1).as_str(), Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (None, Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.model.as_deref(), session.git_branch.as_deref()), (Some("model-c"), Some("main")));
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("events")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:07:00Z"));
    assert_eq!((session.project.as_deref(), session.liveness), (None, Liveness::Idle));
    assert_eq!(session.health, ["missing-directory"]);
}

#[test]
fn list_ignores_name_equal_to_first_prompt() {
    let titled = |name: &str, prompt: &str| listed(Copilot::session(id(1)).name_line(name).turn(prompt, "ok")).title;
    assert_eq!(titled("Parser work", "fix the parser").as_deref(), Some("Parser work"));
    assert_eq!(titled("'Fix: the parser'", "fix the parser").as_deref(), Some("Fix: the parser"));
    for (name, prompt) in [
        ("fix the parser", "fix the parser"),
        ("'say: it''s \"done\"'", "say: it's \"done\""),
        ("\"one\\n\\ttwo \\u00fc\"", "one\n\ttwo ü"),
        ("|-\n  one\n  two", "one\ntwo"),
        (">-\n  one\n  two", "one two"),
        ("a very long first…", "a very long first prompt"),
        ("", "x"),
        ("~", "x"),
    ] {
        assert_eq!(titled(name, prompt), None, "{name:?}");
    }
    // A user may name the session like its first prompt.
    let named = Copilot::session(id(1)).named("fix the parser").turn("fix the parser", "ok");
    assert_eq!(listed(named).title.as_deref(), Some("fix the parser"));
}

#[test]
fn directory_of_last_resume_wins_with_a_warning() {
    let world = World::new();
    world.install("copilot", "");
    let (app, state_dir) = (world.dir("app"), world.dir("shop"));
    world.add(Copilot::session(id(1)).in_dir(&app).turn("a", "b").resumed_in(&state_dir).turn("c", "d"));
    let details = shown(&world, &id(1));
    let session = &details.session;
    assert_eq!((session.launch_path(), session.launch_source()), (state_dir.to_str(), Some("last-directory")));
    assert_eq!((session.start_dir.as_deref(), session.last_dir.as_deref()), (app.to_str(), state_dir.to_str()));
    let own = format!("Copilot CLI changes to {} by itself", app.display());
    assert!(details.notes.iter().any(|note| note.starts_with(&own)), "{:?}", details.notes);
    let evidence: Vec<_> = details.evidence.iter().map(|evidence| evidence.source.as_str()).collect();
    assert_eq!(evidence, ["last-directory", "events"]);

    let plan = plan(&world, &[&id(1)]);
    assert_eq!(plan.resume.argv, ["copilot".to_owned(), format!("--resume={}", id(1))]);
    assert_eq!(plan.resume.dir.as_deref(), state_dir.to_str());
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    world.rejoin(["resume", &id(1)]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((&launch.argv, &launch.cwd), (&plan.resume.argv, &state_dir));
    assert_eq!(launch.variable("PWD"), state_dir.to_str());
}

#[test]
fn resume_in_other_directory_warns_where_agent_goes() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Gptme::session("2026-02-01-quiet-blue-fox").in_dir(&app).turn("a", "b"));
    let omp = id(2);
    crate::omp::add(&world, "-app", &omp, &crate::omp::turn(&omp, &app.to_string_lossy()));
    for (title, program, name) in [("gptme", "gptme", "2026-02-01-quiet-blue-fox"), ("oh-my-pi", "omp", &omp)] {
        world.install(program, "");
        let warning = world.from(&other).rejoin(["resume", name, "--in", ".", "--print"]).code(0).stderr();
        let expected = format!("{title} changes to {} by itself when it resumes", app.display());
        assert!(warning.contains(&expected) && !warning.contains("may not find it"), "{warning}");
        let moved =
            format!("`rejoin move {} {} --session {program}:{name}` changes that", app.display(), other.display());
        assert!(warning.contains(&moved), "{warning}");
        world.rejoin(["move", &app.to_string_lossy(), &other.to_string_lossy(), "--session", name, "--yes"]).code(0);
        assert_eq!(world.from(&other).rejoin(["resume", name, "--print"]).code(0).stderr(), "");
    }
}

#[test]
fn resume_warns_of_own_change_of_directory() {
    let world = World::with_agents();
    let (app, tree, other) = (world.dir("app"), world.dir("tree"), world.dir("other"));
    world.add(Copilot::session(id(1)).in_dir(&app).turn("a", "b").resumed_in(&tree).turn("c", "d"));
    world.add(Copilot::session(id(2)).in_dir(&app).turn("a", "b"));
    let begin = format!("Copilot CLI changes to {} by itself when it resumes", app.display());
    let command = |n: u32, to: &Path| {
        let name = format!("copilot:{}", id(n));
        format!("`rejoin move {} {} --session {name}` changes that", app.display(), to.display())
    };
    let resume = |n: u32, args: &[&str]| world.rejoin([&["resume", &id(n)], args].concat()).code(0);
    let elsewhere = ["--in", other.to_str().expect("a path")];
    // The launch directory of the first one, and a directory that the user names.
    for (n, args, moved) in [(1, &[][..], Some(&tree)), (1, &elsewhere, None), (2, &elsewhere, Some(&other))] {
        let warning = resume(n, &[args, &["--print"]].concat()).stderr();
        assert!(warning.contains(&begin), "{n} {args:?} {warning}");
        assert_eq!(warning.contains(" changes that"), moved.is_some(), "{warning}");
        assert!(moved.is_none_or(|to| warning.contains(&command(n, to))), "{warning}");
        let [only] = <[String; 1]>::try_from(plan(&world, &[&[&*id(n)], args].concat()).warnings).expect("one warning");
        assert!(only.starts_with(&begin), "{only}");
    }
    assert_eq!(resume(2, &["--print"]).stderr(), "");
    // After the move, the agent stays where it is started.
    for (n, to) in [(1, &tree), (2, &other)] {
        let words = command(n, to);
        let line = words.split('`').nth(1).expect("a command");
        world.rejoin(line.split(' ').skip(1).chain(["--yes"])).code(0);
        let printed = resume(n, &["--print"]);
        assert_eq!(printed.stderr(), "");
        assert!(printed.stdout().starts_with(&format!("cd {} ", to.display())), "{}", printed.stdout());
    }
}

#[test]
fn yaml_file_gives_the_directory_without_events() {
    let without = Copilot::session(id(1)).in_dir("/w/has space #1").without("events.jsonl");
    let session = listed(without);
    assert_eq!((session.kind, session.launch_source()), (Kind::Empty, Some("workspace")));
    assert_eq!(session.active_source.as_deref(), Some("workspace"));
    let relative = Copilot::session(id(1)).file("events.jsonl", "").file("workspace.yaml", "cwd: ../x\nname: [a]\n");
    assert!(listed(relative).launch_dir.is_none());
}

#[test]
fn counting_finds_resume_in_middle_of_file() {
    let world = World::new();
    let long = "x".repeat(600 * 1024);
    let tool = json!({"toolCallId": "c", "success": true, "result": {"content": long}});
    let mut session =
        Copilot::session(id(1)).in_dir("/a").turn("x", "y").resumed_in("/b").event("tool.execution_complete", &tool);
    for _ in 0..3 {
        session = session.event("tool.execution_complete", &tool);
    }
    world.add(session.turn("z", "ok"));
    let glance = world.rejoin(["list", "--json"]).code(0).sessions().remove(0);
    assert_eq!((glance.launch_path(), glance.active_source.as_deref()), (Some("/a"), Some("events")));
    let counted = world.rejoin(["list", "--counts", "--json"]).code(0).sessions().remove(0);
    assert_eq!((counted.launch_path(), counted.launch_source()), (Some("/b"), Some("last-directory")));
    assert_eq!((counted.prompts, counted.replies), (Some(2), Some(2)));
}

#[test]
fn unused_client_leaves_an_empty_session() {
    let world = World::new();
    world.add(Copilot::session(id(1)).without("events.jsonl"));
    world.add(Copilot::session(id(2)));
    std::fs::create_dir_all(world.home().join(".copilot/session-state").join(id(3))).expect("a directory");
    assert!(world.rejoin(["list", "--json"]).code(0).sessions().is_empty());
    let all = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|session| session.kind == Kind::Empty), "{all:?}");
}

#[test]
fn prompt_without_a_reply_is_a_session() {
    let killed = listed(Copilot::session(id(1)).prompt("was killed").used_by(4_000_000));
    assert_eq!((killed.kind, killed.prompts, killed.replies), (Kind::Main, Some(1), Some(0)));
    let error = json!({"errorType": "query", "message": "400", "statusCode": 400});
    let failed = listed(Copilot::session(id(1)).prompt("try it").event("session.error", &error));
    assert_eq!((failed.kind, failed.prompts, failed.replies), (Kind::Main, Some(1), Some(0)));
}

#[test]
fn show_hides_text_of_sub_agents_and_skills() {
    let world = World::new();
    let of_helper = r#","agentId":"helper""#;
    let session = Copilot::session(id(1))
        .event("user.message", &json!({"content": "skill text", "source": "skill-pdf"}))
        .prompt("look")
        .event_with("user.message", &json!({"content": "for the helper"}), of_helper)
        .event_with("assistant.message", &json!({"messageId": "h", "content": "from the helper"}), of_helper)
        .event("assistant.message", &json!({"messageId": "o", "content": "older", "parentToolCallId": "c"}))
        .call("ls", "a.txt")
        .event("session.compaction_complete", &json!({"success": true, "summaryContent": "so far"}))
        .event("assistant.message", &json!({"messageId": "m", "content": "Done."}))
        .event("assistant.message", &json!({"messageId": "m", "content": "Done."}));
    world.add(session);
    let details = shown(&world, &id(1));
    assert_eq!((details.session.prompts, details.session.replies), (Some(1), Some(2)));
    assert_eq!(details.session.first_prompt.as_deref(), Some("look"));
    let messages = details.messages.expect("messages");
    let texts: Vec<_> = messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["look", r#"bash {"command":"ls"}"#, "→ a.txt", "so far", "Done.", "Done."]);
}

#[test]
fn held_lock_makes_session_live() {
    let world = World::new();
    world.install("copilot", "");
    let dir = world.add(Copilot::session(id(1)).in_dir(world.dir("app")).turn("a", "b").used_by(4242));
    let liveness = || world.rejoin(["list", "--json"]).code(0).sessions()[0].liveness;
    assert_eq!(liveness(), Liveness::Idle, "a client that was killed leaves its files");

    let hold = File::open(dir.join("inuse.4242.hold")).expect("a file");
    hold.lock().expect("a lock");
    assert_eq!(liveness(), Liveness::Live);
    let answer = world.rejoin(["resume", &id(1)]).code(7);
    assert!(answer.stderr().contains("in use by process 4242"), "{}", answer.stderr());
    world.rejoin(["resume", &id(1), "--force"]).code(0);
    drop(hold);
    assert_eq!(liveness(), Liveness::Idle);

    // Without the locked file, only the process is evidence.
    std::fs::remove_file(dir.join("inuse.4242.hold")).expect("a file");
    std::fs::remove_file(dir.join("inuse.4242.lock")).expect("a file");
    put(&dir.join(format!("inuse.{}.lock", std::process::id())), "");
    assert_eq!(liveness(), Liveness::Maybe);
    std::fs::remove_file(dir.join(format!("inuse.{}.lock", std::process::id()))).expect("a file");
    for name in ["inuse.4194305.lock", "inuse.x.lock", "inuse..lock", "inuse.99999999999.lock", "inuse.-1.lock"] {
        put(&dir.join(name), "");
    }
    assert_eq!(liveness(), Liveness::Idle);
}

#[test]
fn prompt_that_looks_like_option_stays_prompt() {
    let world = World::new();
    world.install("copilot", "");
    world.add(Copilot::session(id(1)).in_dir(world.dir("app")).turn("a", "b"));
    let argv = |prompt: &str| {
        world.rejoin(["resume", &id(1)[..8], "--no-limit", &format!("--prompt={prompt}"), "--", "--allow-all"]).code(0);
        world.launched().expect("a launch").argv
    };
    let resume = format!("--resume={}", id(1));
    assert_eq!(argv("go on"), ["copilot", &resume, "--allow-all", "-p", "go on"]);
    assert_eq!(argv("-rf is bad"), ["copilot", &resume, "--allow-all", "--prompt=-rf is bad"]);
}

#[test]
fn environment_variable_selects_store_for_resume() {
    let world = World::new();
    world.install("copilot", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Copilot::session(id(1)).in_dir(&app).turn("usual", "b"));
    world.add(Copilot::session(id(2)).in_dir(&app).root(&other).turn("chosen", "b"));
    let plan = |n| -> ResumePlan { world.with("COPILOT_HOME", &other).rejoin(["resume", &id(n), "--json"]).plan() };
    let (usual, chosen) = (plan(1), plan(2));
    assert_eq!((usual.resume.unset, usual.resume.set.len()), (vec!["COPILOT_HOME".to_owned()], 0));
    assert!(chosen.resume.unset.is_empty());
    assert_eq!(chosen.resume.set.get("COPILOT_HOME").map(String::as_str), other.to_str());
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 1, "without the variable");
    // A named home has its own store, regardless of the variable.
    let home = world.home();
    let args = ["--home", home.to_str().expect("a path"), "list", "--json"];
    assert_eq!(world.with("COPILOT_HOME", &other).rejoin(args).code(0).sessions().len(), 1);
}

#[test]
fn events_decide_comparison_of_copies() {
    let world = World::new();
    let other = world.dir("other");
    let session = Copilot::session(id(1)).turn("a", "b");
    world.add(session.clone().root(&other));
    world.add(session.turn("c", "d"));
    let answer = world.with("COPILOT_HOME", &other).rejoin(["show", &id(1), "--json"]).code(0);
    let details: Details = answer.json();
    assert_eq!(details.session.copies.len(), 2);
    assert_eq!(details.session.copies[0].why.as_deref(), Some("it continues where the other copies end"));
    assert_eq!(details.session.prompts, Some(2));
}

#[test]
fn doctor_gives_log_of_old_version_a_folder() {
    let world = World::new();
    world.install("copilot", "");
    let folder = world.add(Copilot::session(id(1)).in_dir("/usr/bin").turn("where is the relay?", "In the cabinet."));
    let flat = folder.with_extension("jsonl");
    std::fs::rename(folder.join("events.jsonl"), &flat).expect("a rename");
    std::fs::remove_dir_all(&folder).expect("a removal");
    age_tree(&world.home());
    let listed = world.rejoin(["list", "--counts", "--json"]).code(0).sessions();
    assert_eq!((listed.len(), listed[0].prompts, listed[0].resumable), (1, Some(1), false));
    assert!(listed[0].size_bytes.is_some_and(|size| size > 100));
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains("Copilot CLI 1.0.50 and later refuse such a log"), "{refused}");
    assert!(refused.contains("rejoin doctor --fix --check cannot-open"), "{refused}");
    let before = std::fs::read(&flat).expect("a log");

    world.rejoin(["doctor", "--fix", "--check", "cannot-open"]).code(0);
    assert_eq!(std::fs::read(folder.join("events.jsonl")).expect("a log"), before);
    assert!(!flat.exists());
    age_tree(&world.home());
    world.rejoin(["resume", &id(1)]).code(0);
    world.rejoin(["undo"]).code(0);
    assert!(flat.is_file() && !folder.exists());

    // The folder that a newer version made is the one that it opens.
    world.add(Copilot::session(id(1)).in_dir("/usr/bin").turn("where is the relay?", "In the cabinet.").turn("c", "d"));
    age_tree(&world.home());
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!((listed.len(), listed[0].copies.len(), listed[0].resumable), (1, 2, true));
    assert!(listed[0].copies.iter().any(|copy| copy.chosen && copy.path == folder.display().to_string()), "{listed:?}");
}

#[test]
fn search_finds_imported_session_and_resume_refuses() {
    let world = World::with_agents();
    let chat = json!([{"role": "user", "content": "where is the relay?"}, {"role": "assistant", "content": "In the cabinet."}]);
    let event = json!({"type": "session.import_legacy", "id": "e", "timestamp": "2026-02-01T10:00:00Z",
        "data": {"legacySession": {"sessionId": id(1), "chatMessages": chat, "timeline": []}}});
    world.add(Copilot::session(id(1)).in_dir("/usr/bin").raw(&event.to_string()).turn("thanks", "Welcome."));
    age_tree(&world.home());
    let shown = world.rejoin(["export", &id(1)]).code(0).stdout();
    assert!(shown.contains("where is the relay?") && shown.contains("In the cabinet."), "{shown}");
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains("imported from a version before 0.0.342"), "{refused}");
    assert!(refused.contains("rejoin export"), "{refused}");
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    world.add(Copilot::session(id(1)).turn("a", "b"));
    let state = world.home().join(".copilot/session-state");
    put(&state.join(id(2)), "a file");
    std::fs::create_dir(state.join("notes")).expect("a directory");
    crate::fixtures::link(&state.join(id(1)), &state.join(id(3)));
    put(&world.home().join(".copilot/session-store.db"), "SQLite format 3");
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(listed.len(), 1, "another name of the same directory is no other session");
    for other in [id(2), "notes".to_owned(), "../session-state".to_owned()] {
        world.rejoin(["show", &format!("copilot:{other}")]).code(5);
    }
    // The directory is listed once, so a link that leads nowhere is one problem.
    crate::fixtures::link(&state.join("gone"), &state.join("broken"));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).stdout().matches("session-state/broken").count(), 1);
}

#[test]
fn list_reports_torn_line_and_reads_rest() {
    let cut = Copilot::session(id(1)).turn("a", "b").prompt("cut").torn();
    let filled_with_nul = Copilot::session(id(1)).turn("a", "b").prompt("kept").raw(&"\0".repeat(300)).torn();
    for (session, is_torn) in [(cut, true), (filled_with_nul, false)] {
        let session = listed(session);
        assert_eq!(session.health.contains(&"torn-transcript".to_owned()), is_torn, "{:?}", session.health);
        assert_eq!((session.prompts, session.replies), (Some(2), Some(1)));
    }
    let bad = listed(Copilot::session(id(1)).raw("no json").raw("[1,2]").turn("a\u{2028}b", "c"));
    assert!(bad.health.contains(&"bad-lines".to_owned()), "{:?}", bad.health);
    assert_eq!(bad.first_prompt.as_deref(), Some("a\u{2028}b"));
}

#[test]
fn list_survives_values_of_any_type() {
    let keys = ["type", "data", "timestamp", "agentId", "id"];
    let data_keys = ["content", "context", "toolRequests", "messageId", "model", "source", "result", "error", "cwd"];
    let kinds = ["session.start", "session.resume", "user.message", "assistant.message", "tool.execution_complete"];
    for value in ["null", "7", "-1.5e300", "true", "\"x\"", "\"\"", "[]", "[[{}],7]", "{}", r#"{"cwd":7,"name":[]}"#] {
        let world = World::new();
        let mut session = Copilot::session(id(1)).turn("first", "ok");
        for key in keys {
            session = session.raw(&format!(r#"{{"type":"user.message","{key}":{value}}}"#));
        }
        for (kind, key) in kinds.iter().flat_map(|kind| data_keys.iter().map(move |key| (kind, key))) {
            session = session.raw(&format!(r#"{{"type":"{kind}","data":{{"{key}":{value}}}}}"#));
        }
        world.add(
            session.raw(value).file("workspace.yaml", format!("cwd: {value}\nname: {value}\nbranch:\n  - {value}")),
        );
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
        assert_eq!(listed[0].first_prompt.as_deref(), Some("first"), "{value}");
        assert_eq!(listed[0].launch_path(), Some("/home/ana/app"), "{value}");
        world.rejoin(["show", &id(1), "--transcript"]).code(0);
        world.rejoin(["resume", &id(1), "--json"]).plan();
    }
}

#[test]
fn list_leaves_no_lock() {
    let world = World::new();
    let dir = world.add(Copilot::session(id(1)).turn("a", "b").used_by(4242));
    let before = std::fs::read_dir(&dir).expect("a listing").count();
    world.rejoin(["list", "--json"]).code(0);
    assert_eq!(std::fs::read_dir(&dir).expect("a listing").count(), before);
    File::open(dir.join("inuse.4242.hold")).expect("a file").try_lock().expect("no process holds it");
    assert!(!Path::new(&dir).join("inuse.4242.hold.lock").exists());
}
