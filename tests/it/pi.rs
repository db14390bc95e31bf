//! Pi's sessions: branches, forks, shared projects, and the one directory in which it resumes.

use serde_json::json;

use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session};
use crate::fixtures::{Pi, id, pi_project, put};
use crate::world::{MAX_KIB, World, tries_every_case};

fn listed(fixture: Pi) -> Session {
    let world = World::new();
    world.add(fixture);
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn shown(world: &World, session: &str) -> Details {
    world.rejoin(["show", session, "--messages", "50", "--json"]).code(0).json()
}

fn said(details: &Details) -> Vec<&str> {
    details.messages.iter().flatten().map(|message| message.text.as_str()).collect()
}

fn plan(world: &World, args: &[&str]) -> ResumePlan {
    world.rejoin(["resume", "--json"].iter().chain(args)).plan()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads memory figures of Linux")]
fn memory_does_not_grow_with_lines() {
    let world = World::new();
    let path = world.add(Pi::session(id(1)).turn("the first prompt", "x"));
    let text = std::fs::read_to_string(&path).expect("a transcript");
    put(&path, text + &"{}\n".repeat(if tries_every_case() { 2_500_000 } else { 1_000_000 }));
    let (answer, peak) = world.measured(["show", "latest", "--messages", "2"]);
    answer.code(0);
    assert!((1..MAX_KIB).contains(&peak), "{peak} KiB");
}

#[test]
fn list_skips_other_records_of_pi_1_5() {
    let session = Pi::session(id(1))
        .record("custom", &json!({"customType": "pi.virtual-model-state", "data": {"model": "x"}}))
        .turn("fix it", "Done.")
        .record("context_edit", &json!({"edits": [{"type": "remove", "content": "x"}]}))
        .record("message", &json!({"thinkingLevel": "high", "message": {"role": "user", "content": "more"}}));
    let session = listed(session);
    assert_eq!((session.kind, session.prompts, session.replies), (Kind::Main, Some(2), Some(1)));
    // The file is created at the first prompt.
    let asked =
        listed(Pi::session(id(1)).record("message", &json!({"message": {"role": "user", "content": "fix it"}})));
    assert_eq!((asked.kind, asked.first_prompt.as_deref()), (Kind::Main, Some("fix it")));
}

#[test]
fn list_reads_a_session_file() {
    let system = json!({"role": "system", "content": "", "sections": {"preamble": "Be brief."}});
    let session = Pi::session(id(1))
        .record("model_change", &json!({"provider": "p", "modelId": "model-x"}))
        .message(&system)
        .turn("fix it", "Done.");
    let session = listed(session);
    assert_eq!((session.agent, session.id.as_str(), session.kind), (Agent::PI, id(1).as_str(), Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (None, Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(1)));
    assert_eq!((session.model.as_deref(), session.git_branch.as_deref()), (Some("model-p"), None));
    assert_eq!((session.launch_path(), session.launch_source()), (Some("/home/ana/app"), Some("header")));
    assert_eq!(session.project.as_deref(), Some("--home-ana-app--"));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:04:00Z"));
    assert_eq!((session.health, session.parent_id), (vec!["missing-directory".to_owned()], None));
}

#[test]
fn messages_and_counts_cover_only_active_branch() {
    let world = World::new();
    let session = Pi::session(id(1)).turn("start", "Started.").turn("left way", "Left.").named("Ways");
    world.add(session.back_to(2).turn("right way", "Right.").prompt("and on"));
    let details = shown(&world, &id(1));
    assert_eq!(said(&details), ["start", "Started.", "right way", "Right.", "and on"]);
    assert_eq!((details.session.prompts, details.session.replies), (Some(3), Some(2)));
    assert_eq!(details.session.title.as_deref(), Some("Ways"), "a name holds for every branch");
    assert!(details.notes.iter().any(|note| note.starts_with("2 more messages")), "{:?}", details.notes);
}

#[test]
fn edited_first_prompt_starts_a_separate_branch() {
    let world = World::new();
    world.add(Pi::session(id(1)).turn("frist", "What?").back_to(0).turn("first", "Yes."));
    let details = shown(&world, &id(1));
    assert_eq!(said(&details), ["first", "Yes."]);
    assert_eq!((details.session.prompts, details.session.replies), (Some(1), Some(1)));
    assert_eq!(details.session.first_prompt.as_deref(), Some("frist"), "as in Pi's own list");
}

#[test]
fn missing_parent_cuts_branch_but_v1_is_linear() {
    let orphan = r#"{"type":"message","id":"x1","parentId":"lost","message":{"role":"user","content":"after"}}"#;
    let session = listed(Pi::session(id(1)).turn("before", "ok").raw("{\"torn").raw(orphan));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(0)), "Pi drops the messages before");
    assert!(session.health.contains(&"bad-lines".to_owned()), "{:?}", session.health);

    let old = |role: &str, text: &str| {
        json!({"type": "message", "timestamp": "2026-02-01T10:05:00.000Z", "message": {"role": role, "content": [{"type": "text", "text": text}]}}).to_string()
    };
    let session = Pi::session(id(1)).header("version", json!(null));
    let session = listed(session.raw(&old("user", "one")).raw(&old("assistant", "two")).raw(&old("user", "three")));
    assert_eq!((session.prompts, session.replies, session.first_prompt.as_deref()), (Some(2), Some(1), Some("one")));

    let own_parent = r#"{"type":"message","id":"x1","parentId":"x1","message":{"role":"user","content":"loop"}}"#;
    assert_eq!(listed(Pi::session(id(1)).raw(own_parent)).prompts, Some(1));
    let torn = listed(Pi::session(id(1)).turn("a", "b").prompt("cut").torn());
    assert!(torn.health.contains(&"torn-transcript".to_owned()), "{:?}", torn.health);
    assert_eq!((torn.prompts, torn.replies), (Some(1), Some(1)));
}

#[test]
fn last_name_is_title_unless_empty() {
    let session = Pi::session(id(1)).named("First").turn("a", "b").named(" Second ");
    assert_eq!(listed(session.clone()).title.as_deref(), Some("Second"));
    assert_eq!(listed(session.named("")).title, None);
    // Records between the ends are found only by counting.
    let world = World::new();
    let mut long = Pi::session(id(1)).turn("a", "b").named("Between");
    for _ in 0..10 {
        long = long.reply(&"x".repeat(20 * 1024));
    }
    world.add(long);
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions()[0].title, None);
    let counted = world.rejoin(["list", "--counts", "--json"]).code(0).sessions().remove(0);
    assert_eq!(counted.title.as_deref(), Some("Between"));
}

#[test]
fn counts_exclude_api_errors_and_include_image_prompt() {
    let world = World::new();
    let error = json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "500: try later"});
    let session = Pi::session(id(1))
        .prompt("try")
        .message(&error)
        .record("context_edit", &json!({"targetId": "00000001", "replacement": null}))
        .message(&json!({"role": "user", "content": [{"type": "image", "data": "AAAA"}]}))
        .message(&json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}}], "stopReason": "toolUse"}))
        .message(&json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "a.txt"}]}))
        .message(&json!({"role": "bashExecution", "command": "pwd", "output": "/home/ana"}))
        .record("compaction", &json!({"summary": "so far", "firstKeptEntryId": "00000003"}))
        .record("custom_message", &json!({"customType": "x", "content": "hidden", "display": false}))
        .record("label", &json!({"targetId": "00000001", "label": "here"}));
    world.add(session);
    let details = shown(&world, &id(1));
    assert_eq!((details.session.prompts, details.session.replies), (Some(2), Some(1)));
    let expected = ["try", "500: try later", r#"bash {"command":"ls"}"#, "→ a.txt", "! pwd", "→ /home/ana", "so far"];
    assert_eq!(said(&details), expected);
}

#[test]
fn header_alone_is_an_empty_session() {
    let session = listed(Pi::session(id(1)));
    assert_eq!((session.kind, session.prompts), (Kind::Empty, Some(0)));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:00:00Z"));
}

#[test]
fn fork_finds_parent_in_either_record() {
    let fork = listed(Pi::session(id(2)).fork_of(&id(1)).turn("copied", "ok").turn("own", "ok"));
    assert_eq!((fork.kind, fork.parent_id), (Kind::Fork, Some(id(1))));
    let odd = listed(Pi::session(id(2)).header("parentSession", json!("/tmp/notes.txt")).turn("a", "b"));
    assert_eq!((odd.kind, odd.parent_id), (Kind::Fork, None));
}

#[test]
fn header_distinguishes_directories_of_one_project() {
    let world = World::new();
    world.install("pi", "");
    let (dashed, nested) = (world.dir("a-b"), world.dir("a/b"));
    assert_eq!(pi_project(&dashed), pi_project(&nested));
    world.add(Pi::session(id(1)).in_dir(&dashed).turn("in a-b", "ok"));
    world.add(Pi::session(id(2)).in_dir(&nested).at("2026-02-02T10:00:00Z").turn("in a/b", "ok"));
    for (n, dir) in [(1, &dashed), (2, &nested)] {
        let plan = plan(&world, &[&id(n)]);
        assert_eq!(plan.resume.argv, ["pi", "--session", &id(n)]);
        assert_eq!(plan.resume.dir.as_deref(), dir.to_str());
        assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
        world.rejoin(["resume", &id(n)]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!((&launch.argv, &launch.cwd), (&plan.resume.argv, dir));
        assert_eq!(launch.variable("PWD"), dir.to_str());
    }
    let here = world.from(&nested).rejoin(["list", "--here", "--json"]).code(0).sessions();
    assert_eq!(here.iter().map(|session| session.id.clone()).collect::<Vec<_>>(), [id(2)]);
}

#[test]
fn resume_passes_ids_with_common_prefix_in_full() {
    let world = World::new();
    world.install("pi", "");
    let app = world.dir("app");
    let ids = ["019a1fff-f191-721f-8a6a-96b179c1b653", "019a1fff-f4bb-7626-9e46-516f61e3ba65"];
    ids.iter().for_each(|id| drop(world.add(Pi::session(*id).in_dir(&app).turn(id, "ok"))));
    world.rejoin(["resume", "019a1fff"]).code(6);
    world.rejoin(["resume", "019a1fff-f4"]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["pi", "--session", ids[1]]);
}

#[test]
fn resume_refuses_question_of_pi_without_terminal() {
    let world = World::new();
    world.install("pi", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    let file = world.add(Pi::session(id(1)).in_dir(&app).turn("a", "b"));
    let other = other.to_str().expect("a path");
    let answer = world.rejoin(["resume", &id(1), "--in", other]).code(7);
    assert!(answer.stderr().contains("it asks whether to copy it, and there is no terminal"), "{}", answer.stderr());
    world.rejoin(["resume", &id(1), "--in", other, "--prompt", "go on"]).code(7);
    assert!(world.launched().is_none());
    let printed = world.rejoin(["resume", &id(1), "--in", other, "--print"]).code(0);
    assert!(printed.stderr().contains("it asks whether to copy it"), "{}", printed.stderr());
    world.rejoin(["resume", &id(1), "--in", app.to_str().expect("a path")]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);

    // The project moved, and a link replaced it: Pi resolves the link.
    std::fs::rename(&app, world.root().join("moved")).expect("a move");
    crate::fixtures::link(&world.root().join("moved"), &app);
    let answer = world.rejoin(["resume", &id(1)]).code(7);
    assert!(answer.stderr().contains("moved it asks"), "{}", answer.stderr());
    assert!(world.launched().is_none());
    assert!(file.is_file());
}

#[test]
fn resume_passes_prompt_neither_as_option_nor_attachment() {
    let world = World::new();
    world.install("pi", "");
    world.add(Pi::session(id(1)).in_dir(world.dir("app")).turn("a", "b"));
    let argv = |prompt: &str| {
        world.rejoin(["resume", &id(1), "--no-limit", &format!("--prompt={prompt}"), "--", "--offline"]).code(0);
        world.launched().expect("a launch").argv[3..].to_vec()
    };
    assert_eq!(argv("go on"), ["--offline", "-p", "go on"]);
    assert_eq!(argv("-x is bad"), ["--offline", "-p", "--", "-x is bad"]);
    assert_eq!(argv("@secret"), ["--offline", "-p", " @secret"]);
}

#[test]
fn file_outside_project_of_header_counts_as_misfiled() {
    let world = World::new();
    world.install("pi", "");
    world.add(Pi::session(id(1)).in_dir(world.dir("app")).filed_under("--somewhere-else--").turn("a", "b"));
    let session = world.rejoin(["list", "--json"]).code(0).sessions().remove(0);
    assert_eq!(session.health, ["misfiled-session"]);
    world.rejoin(["resume", &id(1)]).code(7);
    world.rejoin(["resume", &id(1), "--trust"]).code(0);
    assert!(world.launched().is_some());
}

#[test]
fn header_without_a_directory_uses_the_project() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Pi::session(id(1)).in_dir(&app).turn("a", "b"));
    world.add(Pi::session(id(2)).in_dir(&app).header("cwd", json!("")).turn("a", "b"));
    let launch = |world: &World| shown(world, &id(2)).session.launch_dir.map(|dir| (dir.path, dir.source));
    assert_eq!(launch(&world), Some((app.to_str().expect("a path").to_owned(), "project".to_owned())));

    let world = World::new();
    world.add(Pi::session(id(1)).in_dir("/w/a-b").turn("a", "b"));
    world.add(Pi::session(id(3)).in_dir("/w/a/b").turn("a", "b"));
    world.add(Pi::session(id(2)).in_dir("/w/a/b").header("cwd", json!("w/a/b")).turn("a", "b"));
    assert_eq!(launch(&world), None, "they disagree");
}

#[test]
fn resume_refuses_files_lost_to_pi() {
    for (header, why) in [
        (json!({"type": "message"}), "Pi would start the file over"),
        (json!({"type": 7}), "Pi would start the file over"),
        (json!({"id": null}), "Pi would start the file over"),
        (json!({"id": id(9)}), "Pi knows it only by that id"),
    ] {
        let world = World::new();
        world.install("pi", "");
        let mut session = Pi::session(id(1)).in_dir(world.dir("app")).turn("kept", "ok");
        for (key, value) in header.as_object().expect("an object") {
            session = session.header(key, value.clone());
        }
        let path = world.add(session);
        let before = std::fs::read(&path).expect("a session");
        let listed = world.rejoin(["list", "--counts", "--json"]).code(0).sessions().remove(0);
        assert!(listed.health.contains(&"invalid-content".to_owned()) && !listed.resumable, "{:?}", listed.health);
        assert_eq!((listed.first_prompt.as_deref(), listed.prompts), (Some("kept"), Some(1)));
        let answer = world.rejoin(["resume", &id(1)]).code(7);
        assert!(answer.stderr().contains(why), "{}", answer.stderr());
        assert!(world.launched().is_none());
        assert_eq!(std::fs::read(&path).expect("a session"), before);
    }
    let world = World::new();
    let dir = world.home().join(".pi/agent/sessions/--w--");
    put(&dir.join(format!("2026-02-01T10-00-00-000Z_{}.jsonl", id(1))), "");
    let empty = world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0);
    assert_eq!((empty.kind, empty.resumable), (Kind::Empty, false));
}

#[test]
fn recent_record_means_maybe_in_use() {
    let at = |start: &str| listed(Pi::session(id(1)).at(start).turn("a", "b")).liveness;
    assert_eq!(at("2026-03-01T11:57:30Z"), Liveness::Maybe);
    assert_eq!(at("2026-03-01T11:50:00Z"), Liveness::Idle);
    assert_eq!(at("2026-03-01T12:30:00Z"), Liveness::Idle, "a clock was wrong");
}

#[test]
fn environment_variables_select_stores_for_resume() {
    let world = World::new();
    let (app, agent, flat) = (world.dir("app"), world.dir("agent"), world.dir("flat"));
    world.add(Pi::session(id(1)).in_dir(&app).turn("usual", "b"));
    world.add(Pi::session(id(2)).in_dir(&app).sessions(agent.join("sessions")).turn("agent", "b"));
    world.add(Pi::session(id(3)).in_dir(&app).sessions(&flat).filed_under("").turn("flat", "b"));
    let call = || world.with("PI_CODING_AGENT_DIR", &agent).with("PI_CODING_AGENT_SESSION_DIR", &flat);
    let plan = |n| -> ResumePlan { call().rejoin(["resume", &id(n), "--json"]).plan() };
    let both = ["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"];
    assert_eq!((plan(1).resume.unset, plan(1).resume.set.len()), (both.map(str::to_owned).to_vec(), 0));
    assert_eq!(plan(2).resume.unset, [both[1]]);
    assert_eq!(plan(2).resume.set.get(both[0]).map(String::as_str), agent.to_str());
    assert_eq!(plan(3).resume.set.get(both[1]).map(String::as_str), flat.to_str());
    let flat_one = call().rejoin(["list", "--json"]).code(0).sessions();
    let flat_one = flat_one.iter().find(|session| session.id == id(3)).expect("a session");
    assert_eq!((flat_one.project.as_deref(), flat_one.launch_path()), (None, app.to_str()));
    assert_eq!(flat_one.health, [] as [&str; 0]);
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 1, "without the variables");

    // The settings can name the directory, too, for every project or for none.
    let settings = world.home().join(".pi/agent/settings.json");
    put(&settings, json!({"sessionDir": flat}).to_string());
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 2);
    for other in ["{", "[]", "{\"sessionDir\":7}", "{\"sessionDir\":\".pi/sessions\"}"] {
        put(&settings, other);
        assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 1, "{other}");
    }
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let file = world.add(Pi::session(id(1)).turn("a", "b"));
    let dir = file.parent().expect("a project");
    let time = "2026-02-01T10-00-00-000Z";
    put(&dir.join(format!("{time}_{}.jsonl.bak", id(2))), "{}");
    put(&dir.join(format!("notes_{}.jsonl", id(2))), "{}");
    put(&dir.join(format!("{time}_-rf.jsonl")), "{}");
    put(&dir.parent().expect("a store").join(format!("{time}_{}.jsonl", id(2))), "{}");
    crate::fixtures::link(&file, &dir.join(format!("{time}_{}.jsonl", id(3))));
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(listed.len(), 1);
    std::fs::create_dir(dir.join(format!("{time}_{}.jsonl", id(4)))).expect("a directory");
    let answer = world.rejoin(["list", "--all", "--json"]).code(0);
    assert_eq!(answer.sessions().len(), 1);
    assert!(answer.stderr().contains("it is not a regular file"), "{}", answer.stderr());
    for other in [id(4), "-rf".to_owned(), "..".to_owned()] {
        world.rejoin(["show", &format!("pi:{other}")]).code(5);
    }
}

#[test]
fn list_survives_values_of_any_type() {
    let keys = ["type", "id", "parentId", "timestamp", "message", "name", "summary", "cwd", "parentSession", "display"];
    let body_keys = ["role", "content", "model", "stopReason", "errorMessage", "command"];
    let kinds = ["message", "session", "session_info", "compaction", "custom_message"];
    for value in ["null", "7", "-1.5e300", "true", "\"x\"", "\"\"", "[]", "[[{}],7]", "{}", r#"{"role":7,"type":[]}"#] {
        let world = World::new();
        let mut session = Pi::session(id(1)).turn("first", "ok");
        for (kind, key) in kinds.iter().flat_map(|kind| keys.iter().map(move |key| (kind, key))) {
            let kind = if *key == "type" { String::new() } else { format!(r#""type":"{kind}","#) };
            session = session.raw(&format!(r#"{{{kind}"{key}":{value}}}"#));
        }
        for key in body_keys {
            session = session.raw(&format!(r#"{{"type":"message","id":"z","message":{{"{key}":{value}}}}}"#));
        }
        world.add(session.raw(value).turn("last", "ok"));
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
        assert_eq!(listed[0].first_prompt.as_deref(), Some("first"), "{value}");
        assert_eq!(listed[0].launch_path(), Some("/home/ana/app"), "{value}");
        assert_eq!((listed[0].prompts, listed[0].replies), (Some(2), Some(2)), "{value}");
        world.rejoin(["show", &id(1), "--transcript"]).code(0);
        world.rejoin(["resume", &id(1), "--json"]).plan();
        // The header also loses these keys.
        for key in ["cwd", "timestamp", "version", "parentSession"] {
            let world = World::new();
            let value = serde_json::from_str(value).expect("JSON");
            world.add(Pi::session(id(1)).header(key, value).turn("first", "ok"));
            assert_eq!(world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions().len(), 1, "{key}");
        }
    }
}
