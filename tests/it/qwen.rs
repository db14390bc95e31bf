//! Qwen Code's sessions: directories with a common project, archives, forks, processes that use them, and resumes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Fixture, Qwen, age, id, put, qwen_slug};
use crate::world::{World, start_of};

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
fn list_reads_the_records_of_a_session() {
    for session in [Qwen::session(id(1)), Qwen::session(id(1)).without_provenance()] {
        let session = session.turn("fix it", "Done.").branch("topic").title("First name").title("Last name");
        let session = listed(session);
        assert_eq!((session.agent, session.kind), (Agent::QWEN, Kind::Main));
        assert_eq!(said(&session), (Some("Last name"), Some("fix it"), Some(1), Some(1)));
        assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("transcript")));
        assert_eq!((session.model.as_deref(), session.git_branch.as_deref()), (Some("model-q"), Some("topic")));
        assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
        assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
        assert_eq!((session.liveness, session.health), (Liveness::Idle, vec!["missing-directory".to_owned()]));
    }
}

#[test]
fn directories_with_same_slug_keep_their_sessions() {
    let world = World::new();
    world.install("qwen", "");
    let dirs = ["a-b", "a_b", "a.b"].map(|name| world.dir(name));
    assert_eq!(qwen_slug(&dirs[0]), qwen_slug(&dirs[2]));
    for (n, dir) in (1..).zip(&dirs) {
        world.add(Qwen::session(id(n)).in_dir(dir).turn("x", "y"));
    }
    for (n, dir) in (1..).zip(&dirs) {
        let plan: ResumePlan = world.rejoin(["resume", &id(n), "--json"]).plan();
        assert_eq!((plan.resume.dir.as_deref(), plan.refusals.len()), (dir.to_str(), 0));
    }
    // A session without a directory could belong to any.
    let path = world.add(Qwen::session(id(9)).filed_under(qwen_slug(&dirs[0])).turn("x", "y"));
    let text = std::fs::read_to_string(&path).expect("a session").replace("\"cwd\"", "\"was\"");
    put(&path, text);
    let sessions = all(&world);
    let lost = sessions.iter().find(|session| session.id == id(9)).expect("a session");
    assert!(lost.launch_dir.is_none() && lost.health.contains(&"unknown-directory".to_owned()));
}

#[test]
fn contradicting_project_makes_session_misfiled() {
    let world = World::new();
    let (one, two) = (world.dir("one"), world.dir("two"));
    world.add(Qwen::session(id(1)).in_dir(&one).filed_under(qwen_slug(&two)).turn("x", "y"));
    let session = all(&world).remove(0);
    assert_eq!(session.launch_path(), one.to_str());
    assert!(session.health.contains(&"misfiled-session".to_owned()));
    world.rejoin(["resume", &id(1)]).code(7);
}

#[test]
fn session_of_client_worktree_starts_in_repository() {
    let world = World::new();
    let repository = world.dir("repo");
    let tree = repository.join(".qwen/worktrees/topic");
    world.add(Qwen::session(id(1)).in_dir(&tree).filed_under(qwen_slug(&repository)).turn("x", "y"));
    let session = all(&world).remove(0);
    assert_eq!((session.launch_path(), session.launch_source()), (repository.to_str(), Some("worktree")));
    assert_eq!(session.start_dir.as_deref(), tree.to_str());
    assert!(session.health.is_empty(), "{:?}", session.health);
}

#[test]
fn counts_exclude_tools_thoughts_and_notes() {
    let world = World::new();
    let call = json!([{"text": "I will look."}, {"functionCall": {"name": "run", "args": {"command": "ls"}}}]);
    let result =
        json!({"message": {"role": "user", "parts": [{"functionResponse": {"response": {"output": "a.txt"}}}]}});
    let timer = json!({"subtype": "cron", "message": {"role": "user", "parts": [{"text": "wake up"}]}});
    world.add(
        Qwen::session(id(1))
            .system("slash_command", &json!({"phase": "invocation", "rawCommand": "/about"}))
            .prompt("look")
            .reply_of(&call)
            .record("tool_result", "tool_result", &result)
            .reply_of(&json!([{"text": "only a thought", "thought": true}]))
            .record("user", "system", &timer)
            .reply("One file."),
    );
    assert_eq!(said(&all(&world)[0]), (None, Some("look"), Some(1), Some(2)));
    let expected = ["look", "I will look.", "run {\"command\":\"ls\"}", "→ a.txt", "wake up", "One file."];
    assert_eq!(texts(&world, &id(1)), expected);
}

#[test]
fn killed_turn_leaves_a_prompt() {
    let error = json!({"uiEvent": {"event.name": "api_error", "status_code": 400}});
    let session = listed(Qwen::session(id(1)).prompt("never answered").system("ui_telemetry", &error));
    assert_eq!((said(&session), session.kind), ((None, Some("never answered"), Some(1), Some(0)), Kind::Main));
    let session = listed(Qwen::session(id(1)).turn("x", "y").followed_by(r#"{"uuid":"u9","type":"ass"#));
    assert!(session.health.contains(&"torn-transcript".to_owned()), "{:?}", session.health);
    assert!(!session.health.contains(&"bad-lines".to_owned()));
    let session = listed(Qwen::session(id(1)).title("Nothing said"));
    assert_eq!((session.kind, session.resumable), (Kind::Empty, false));
}

#[test]
fn resume_needs_torn_line_to_be_ended() {
    let world = World::new();
    let half = r#"{"uuid":"u9","type":"ass"#;
    let path = world.add(Qwen::session(id(1)).in_dir(world.dir("app")).turn("x", "y").followed_by(half));
    age(&path);
    let cut_off = std::fs::read_to_string(&path).expect("a transcript").trim_end().to_owned();
    std::fs::write(&path, &cut_off).expect("a torn transcript");
    age(&path);
    let command = "rejoin doctor --fix --check torn-transcript";
    let stderr = world.rejoin(["resume", &id(1), "--print"]).code(7).stderr();
    assert!(stderr.contains("then loses the conversation before it") && stderr.contains(command), "{stderr}");
    assert!(world.rejoin(["doctor"]).code(4).stdout().contains(command));
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]).code(0);
    let ended = std::fs::read_to_string(&path).expect("a transcript");
    assert_eq!(ended, format!("{cut_off}\n"), "what was there is there");
    let stderr = world.rejoin(["resume", &id(1), "--print"]).code(0).stderr();
    assert!(!stderr.contains(command), "{stderr}");
    world.rejoin(["undo"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), cut_off);
}

#[test]
fn list_reads_only_ends_of_large_transcript() {
    let long = "word ".repeat(200);
    let session = Qwen::session(id(1)).turn("the first", "ok").title("Given early");
    let world = World::new();
    world.add((0..200).fold(session, |session, _| session.turn(&long, &long)).branch("late").reply("end"));
    let session = world.rejoin(["list", "--json"]).code(0).sessions().remove(0);
    assert_eq!(said(&session), (Some("Given early"), Some("the first"), None, None));
    assert_eq!((session.git_branch.as_deref(), session.model.as_deref()), (Some("late"), Some("model-q")));
    assert_eq!(said(&all(&world)[0]), (Some("Given early"), Some("the first"), Some(201), Some(202)));
}

#[test]
fn list_distinguishes_archived_sessions_forks_and_sub_agents() {
    let world = World::new();
    world.add(Qwen::session(id(1)).turn("x", "y"));
    world.add(Qwen::session(id(2)).archived().turn("x", "y"));
    world.add(Qwen::session(id(3)).fork_of(id(1)).turn("x", "y"));
    world.add(Qwen::session(id(4)).system("parent_session", &json!({"parentSessionId": id(1)})).turn("x", "y"));
    world.add(Qwen::session("agent-look-1").subagent_of(id(1)).turn("x", "y"));
    let sessions = all(&world);
    let of = |id: &str| sessions.iter().find(|session| session.id == id).expect("a session");
    // Their directory is missing, so none can be started now.
    let what = |id: &str| (of(id).kind, of(id).parent_id.clone(), of(id).resume.is_some());
    assert_eq!(sessions.len(), 5);
    assert_eq!(what(&id(1)), (Kind::Main, None, true));
    assert_eq!(what(&id(2)), (Kind::Archived, None, false));
    assert_eq!(what(&id(3)), (Kind::Fork, Some(id(1)), true));
    assert_eq!(what(&id(4)), (Kind::Main, Some(id(1)), true));
    assert_eq!(what("agent-look-1"), (Kind::Subagent, Some(id(1)), false));
    assert_eq!((of("agent-look-1").prompts, of("agent-look-1").replies), (Some(1), Some(1)));
    let answer = world.rejoin(["resume", &id(2)]).code(7);
    assert!(answer.stderr().contains("it is closed"), "{}", answer.stderr());
}

#[test]
fn active_and_archived_transcript_are_copies() {
    let world = World::new();
    world.add(Qwen::session(id(1)).turn("x", "y").turn("more", "z"));
    world.add(Qwen::session(id(1)).archived().turn("x", "y"));
    let sessions = all(&world);
    assert_eq!((sessions.len(), sessions[0].copies.len(), sessions[0].kind), (1, 2, Kind::Main));
    assert!(sessions[0].health.contains(&"duplicate-session".to_owned()));
}

#[test]
fn resume_passes_full_id_in_recorded_directory() {
    let world = World::new();
    world.install("qwen", "");
    let app = world.dir("app");
    world.add(Qwen::session(id(1)).in_dir(&app).turn("x", "y"));
    let plan: ResumePlan = world.rejoin(["resume", &id(1)[..8], "--json"]).plan();
    assert_eq!(plan.resume.argv, ["qwen", "--resume", &id(1)]);
    assert_eq!((plan.resume.dir.as_deref(), plan.resume.set.len()), (app.to_str(), 0));
    assert!(plan.refusals.is_empty());
    world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["qwen", "--resume", &id(1), "-p", "go on"]);
    assert_eq!((launch.cwd.as_path(), launch.variable("PWD")), (app.as_path(), app.to_str()));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv[3..], ["--prompt=-x"]);
}

/// The registration of a client with a terminal, for a sleeping process.
fn register(world: &World, session: &str, pid: u32, start: &str, namespace: u64) {
    let registration = json!({
        "schemaVersion": 1, "pid": pid, "procStart": start, "pidNs": namespace, "sessionId": session,
        "cwd": "/home/ana/app", "kind": "tui",
    });
    put(&world.home().join(format!(".qwen/sessions/{pid}.json")), registration.to_string());
}

fn this_process() -> (u32, String, u64) {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let namespace = std::fs::metadata("/proc/self/ns/pid").expect("a namespace").ino();
    (std::process::id(), format!("{}:{}", boot.trim(), start_of(std::process::id())), namespace)
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only there the client notes its start")]
fn registration_counts_only_while_its_process_runs() {
    let world = World::new();
    world.add(Qwen::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let (pid, start, namespace) = this_process();
    let liveness = || all(&world).remove(0).liveness;
    register(&world, &id(1), pid, &start, namespace);
    assert_eq!(liveness(), Liveness::Live);
    assert_eq!(world.rejoin(["resume", &id(1), "--json"]).plan().refusals[0].code, "live");
    // The id is that of another process now; the machine was restarted; the other container is unknown.
    register(&world, &id(1), pid, &format!("{}0", &start), namespace);
    assert_eq!(liveness(), Liveness::Idle);
    register(&world, &id(1), pid, &format!("00000000-{}", &start[9..]), namespace);
    assert_eq!(liveness(), Liveness::Idle);
    register(&world, &id(1), pid, &start, namespace + 1);
    assert_eq!(liveness(), Liveness::Maybe);
    register(&world, &id(2), pid, &start, namespace);
    assert_eq!(liveness(), Liveness::Idle);
}

#[test]
fn runtime_file_counts_only_without_a_registration() {
    let world = World::new();
    let path = world.add(Qwen::session(id(1)).turn("x", "y"));
    let beside = path.with_extension("runtime.json");
    let pid = std::process::id();
    let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let write = |pid: u32, hostname: &str| {
        put(&beside, json!({"pid": pid, "session_id": id(1), "hostname": hostname, "work_dir": "/x"}).to_string());
    };
    let liveness = || all(&world).remove(0).liveness;
    write(pid, &hostname);
    assert_eq!(liveness(), Liveness::Maybe);
    write(pid, "another-machine");
    assert_eq!(liveness(), Liveness::Idle);
    write(u32::MAX, &hostname);
    assert_eq!(liveness(), Liveness::Idle);
    write(pid, &hostname);
    std::fs::create_dir_all(world.home().join(".qwen/sessions")).expect("a directory");
    assert_eq!(liveness(), Liveness::Idle, "this client registers, and no process has");
}

#[test]
fn variables_and_settings_select_stores() {
    let world = World::new();
    let app = world.dir("app");
    let (runtime, home, set) = (world.dir("runtime"), world.dir("qwen-home"), world.dir("set"));
    let lay = |n: u32, root: &Path| {
        let path = Qwen::session(id(n)).in_dir(&app).turn("x", "y").write_to(&world.dir("scratch"));
        let target = root.join("projects").join(qwen_slug(&app)).join("chats");
        std::fs::create_dir_all(&target).expect("a directory");
        std::fs::rename(&path, target.join(path.file_name().expect("a name"))).expect("a move");
    };
    (1..).zip([&runtime, &home, &set, &world.home().join(".qwen")]).for_each(|(n, root)| lay(n, root));
    // Qwen Code ignores comments.
    let settings = json!({"advanced": {"runtimeOutputDir": set}});
    put(&home.join("settings.json"), format!("// on the big disk\n{settings}"));
    let with = |args: &[&str]| world.with("QWEN_RUNTIME_DIR", &runtime).with("QWEN_HOME", &home).rejoin(args).code(0);
    assert_eq!(with(&["list", "--json"]).sessions().len(), 4);
    let plan = |n: u32| with(&["resume", &id(n), "--json"]).json::<ResumePlan>().resume;
    assert_eq!(plan(1).set.get("QWEN_RUNTIME_DIR").map(String::as_str), runtime.to_str());
    assert_eq!(plan(2).set.get("QWEN_HOME").map(String::as_str), home.to_str());
    assert_eq!(plan(2).unset, ["QWEN_RUNTIME_DIR"]);
    assert_eq!(plan(3).set.get("QWEN_RUNTIME_DIR").map(String::as_str), set.to_str());
    assert_eq!((plan(4).set.len(), plan(4).unset), (0, vec!["QWEN_RUNTIME_DIR".to_owned(), "QWEN_HOME".to_owned()]));
    assert_eq!(all(&world).len(), 1, "without a variable there is one store");
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let path = world.add(Qwen::session(id(1)).turn("x", "y"));
    let chats = path.parent().expect("a directory");
    for name in ["notes.jsonl", &format!("{}.ledger.jsonl", id(1)), &format!("{}.json", id(2)), "extract-cursor.json"] {
        put(&chats.join(name), "{}\n");
    }
    put(&chats.with_file_name("memory").join("MEMORY.md"), "x");
    assert_eq!(all(&world).len(), 1);
}

#[test]
fn resume_never_passes_id_like_a_title() {
    for odd in ["-".repeat(36), "0".repeat(32), format!("-{}", "a".repeat(35))] {
        let session = listed(Qwen::session(odd.clone()).turn("x", "y"));
        assert!(session.id == odd && !session.resumable && session.resume.is_none(), "{odd}");
    }
}

#[test]
fn list_survives_lines_of_any_kind() {
    let odd: Vec<Value> = vec![
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!([["user"]]),
        json!({}),
        json!({"type": 7, "uuid": [], "timestamp": {}, "cwd": 7, "gitBranch": [], "isSidechain": "yes"}),
        json!({"type": "user", "message": {"parts": [7, null, [], {"text": 7}, {"functionCall": []}]}, "subtype": 7}),
        json!({"type": "assistant", "message": {"parts": {"text": "a single part"}}, "model": {}}),
        json!({"type": "assistant", "message": "x"}),
        json!({"type": "system", "subtype": "custom_title", "systemPayload": [7]}),
        json!({"type": "system", "subtype": "custom_title", "systemPayload": {"customTitle": 7}}),
        json!({"type": "user", "forkedFrom": 7, "message": null}),
    ];
    let world = World::new();
    world.add(odd.into_iter().fold(Qwen::session(id(1)).turn("one", "first"), Qwen::raw).turn("two", "second"));
    let session = all(&world).remove(0);
    assert_eq!(
        (session.kind, session.first_prompt.as_deref(), session.launch_path()),
        (Kind::Main, Some("one"), Some("/home/ana/app"))
    );
    // The last turn names the last odd line, which has no id, as its parent.
    assert_eq!((session.prompts, session.replies), (Some(1), Some(1)));
    // Among the odd records, parts that are neither text nor a result may be images.
    let shown: Details = world.rejoin(["show", &id(1), "--counts", "--json"]).code(0).json();
    assert!(shown.notes.iter().any(|note| note.starts_with("4 more messages are before")), "{:?}", shown.notes);
    assert!(session.health.contains(&"bad-lines".to_owned()));
    assert!(texts(&world, &id(1)).contains(&"second".to_owned()));
    for text in ["", "{", "[]", "null", "\u{feff}{}", "\0\0"] {
        let world = World::new();
        let path = world.add(Qwen::session(id(1)).turn("one", "first"));
        put(&path.with_file_name(format!("{}.jsonl", id(2))), text);
        put(&path.with_file_name(format!("{}.runtime.json", id(1))), text);
        put(&world.home().join(".qwen/sessions/7.json"), text);
        put(&world.home().join(".qwen/settings.json"), text);
        let sessions = all(&world);
        assert_eq!(sessions.len(), 2, "{text:?}");
        // Only a file of no bytes is known to be empty.
        let kind = if text.is_empty() { Kind::Empty } else { Kind::Main };
        assert!(sessions.iter().any(|session| session.id == id(2) && session.kind == kind), "{text:?}");
    }
}

#[test]
fn show_notes_session_continued_in_separate_log() {
    let world = World::new();
    world.add(Qwen::session(id(1)).system("managed_session_header_v1", &json!({})).turn("x", "y"));
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert!(details.notes.iter().any(|note| note.contains("a separate log")), "{:?}", details.notes);
}

#[test]
fn files_with_prefix_of_transcript_belong_to_session() {
    let world = World::new();
    let path = world.add(Qwen::session(id(1)).turn("x", "y"));
    let archived = world.add(Qwen::session(id(1)).archived().turn("x", "y"));
    world.add(Qwen::session(id(2)).turn("another", "one"));
    let subagent = world.add(Qwen::session("agent-look-1").subagent_of(id(1)).turn("x", "y"));
    let beside = ["ledger.jsonl", "runtime.json"].map(|ending| path.with_extension(ending));
    beside.iter().for_each(|path| put(path, "x"));
    put(&path.with_file_name(format!("{}.runtime.json", id(2))), "x");
    let root = world.home().join(".qwen");
    put(&root.join("file-history").join(id(1)).join("f"), "x");
    put(&root.join("debug").join(format!("{}.txt", id(1))), "x");

    let subagents = subagent.parent().expect("a directory").to_owned();
    let shared = [root.join("file-history").join(id(1)), root.join("debug").join(format!("{}.txt", id(1))), subagents];
    let mut everything = [vec![path.clone(), archived.clone()], beside.to_vec(), shared.to_vec()].concat();
    everything.sort();
    assert_eq!(world.would_trash(["delete", &id(1)]), everything);
    let copy = archived.to_str().expect("a path").to_owned();
    assert_eq!(world.would_trash(["delete", &id(1), "--copy", &copy]), [archived]);
}
