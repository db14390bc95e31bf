//! OpenHands's conversations: a state and one file per event, and an id with which it may otherwise start a new one.

use serde_json::json;

use crate::contract::{Agent, Compared, Details, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::{Fixture as _, OpenHands, age_tree, openhands_id, put};
use crate::picture::picture_of_stores;
use crate::undo::assert_same;
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    sessions
}

#[test]
fn show_reads_the_files_of_a_conversation() {
    let world = World::new();
    let observed = json!({"source": "environment", "observation": {"content": [{"type": "text", "text": "a b"}]},
        "kind": "ObservationEvent"});
    let failed =
        json!({"source": "environment", "code": "LLMBadRequest", "detail": "no", "kind": "ConversationErrorEvent"});
    world.add(
        OpenHands::session(openhands_id(1))
            .in_dir("/home/ana/first")
            .prompt("fix the\n\"parser\"")
            .call("ls", "answer-1")
            .call("pwd", "answer-1")
            .event(observed)
            .turn("thanks", "Welcome.")
            .event(failed)
            .resumed_in("/home/ana/app"),
    );
    let details: Details = world.rejoin(["show", &openhands_id(1), "--messages", "12", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind, session.liveness), (Agent::OPENHANDS, Kind::Main, Liveness::Idle));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (None, Some("fix the\n\"parser\"")));
    // Two calls in one answer of the model are one reply.
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!(session.model.as_deref(), Some("maker/model-h"));
    assert_eq!(
        (session.start_dir.as_deref(), session.last_dir.as_deref()),
        (Some("/home/ana/first"), Some("/home/ana/app"))
    );
    assert_eq!(session.launch_path(), Some("/home/ana/app"));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00.25Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:07:00.25Z"));
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    let called = ["Looking.", "terminal {\"command\":\"ls\"}", "Looking.", "terminal {\"command\":\"pwd\"}", "→ a b"];
    assert_eq!(texts, [&["fix the\n\"parser\""], &called[..], &["thanks", "Welcome.", "LLMBadRequest: no"]].concat());
}

#[test]
fn timestamps_without_zone_are_local() {
    let world = World::new();
    world.add(OpenHands::session(openhands_id(1)).turn("a", "b"));
    let sessions = world.with("TZ", "Asia/Tokyo").rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions[0].created_at.as_deref(), Some("2026-02-01T01:00:00.25Z"));
}

#[test]
fn kind_follows_from_path_and_content() {
    let world = World::new();
    let parent = openhands_id(1);
    world.add(OpenHands::session(&parent).turn("a", "b"));
    world.add(OpenHands::session(openhands_id(2)).made_by(&parent).turn("look", "ok"));
    world.add(OpenHands::session(openhands_id(3)));
    world.add(OpenHands::session(openhands_id(4)).prompt("killed").status("running"));
    put(&world.home().join(".openhands/conversations/notes/base_state.json"), "{}");
    put(&world.home().join(".openhands/cli_config.json"), "{}");
    let kinds: Vec<_> =
        listed(&world).into_iter().map(|session| (session.kind, session.parent_id, session.liveness)).collect();
    let expected = [
        (Kind::Main, None, Liveness::Idle),
        (Kind::Subagent, Some(parent), Liveness::Idle),
        (Kind::Empty, None, Liveness::Idle),
        (Kind::Main, None, Liveness::Maybe),
    ];
    assert_eq!(kinds, expected);
    let refused = world.rejoin(["resume", &openhands_id(2), "--in", "."]).code(7).stderr();
    assert!(refused.contains("resume its parent"), "{refused}");
}

#[test]
fn resume_passes_full_id_in_last_directory() {
    let world = World::new();
    world.install("openhands", "");
    let app = world.dir("app");
    world.add(OpenHands::session(openhands_id(1)).resumed_in(&app).turn("a", "b"));
    let id = openhands_id(1);
    let plan: ResumePlan = world.rejoin(["resume", "00000001", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["openhands", "--resume", &id]);
    for (prompt, last) in [("go on", &["-t", "go on"][..]), ("-v", &["--task=-v"])] {
        // The variable would replace the directory, which OpenHands would then store.
        let call = world.with("OPENHANDS_WORK_DIR", "/usr");
        call.rejoin(["resume", &id, &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["openhands", "--headless", "--resume", &id], last].concat());
        assert_eq!((launch.cwd.as_path(), launch.variable("OPENHANDS_WORK_DIR")), (app.as_path(), None));
    }
}

#[test]
fn resume_refuses_session_that_agent_would_restart() {
    let world = World::new();
    world.install("openhands", "");
    let app = world.dir("app");
    let session = |n: u32| OpenHands::session(openhands_id(n)).in_dir(&app).turn("a", "b");
    world.add(session(1).without("base_state.json"));
    world.add(session(2).copied_from(&openhands_id(9)));
    let broken = world.add(session(3));
    put(&broken.join("base_state.json"), "{\"id\":");
    for (n, why) in [(1, "base_state.json is gone"), (2, "would end at once"), (3, "cannot be used")] {
        let refused = world.rejoin(["resume", &openhands_id(n), "--prompt", "x"]).code(7).stderr();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(world.launched().is_none());
    // Their directory is known anyway.
    assert!(listed(&world).iter().all(|session| session.launch_path() == app.to_str()));
}

#[test]
fn broken_event_hides_no_other_event() {
    let world = World::new();
    world.add(OpenHands::session(openhands_id(1)).turn("a", "b").turn("c", "d").torn());
    let other = world.add(OpenHands::session(openhands_id(2)).turn("a", "b").turn("c", "d"));
    put(&other.join("events/event-00003-00000003-bbbb-4bbb-8bbb-000000000003.json"), [0xff, 0xfe]);
    std::fs::remove_dir_all(world.add(OpenHands::session(openhands_id(3))).join("events")).expect("no events");
    world.add(OpenHands::session(openhands_id(4)).turn("a", "b"));
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let mut told: Vec<_> = list
        .sessions
        .iter()
        .map(|session| (&session.id, session.prompts, session.replies, session.health.concat()))
        .collect();
    told.sort();
    let ids = [1, 2, 3, 4].map(openhands_id);
    let gone = "missing-directory";
    let expected = [
        (&ids[0], Some(2), Some(1), format!("{gone}torn-transcript")),
        (&ids[1], Some(1), Some(2), format!("{gone}bad-lines")),
        (&ids[2], Some(0), Some(0), format!("{gone}empty-session")),
        (&ids[3], Some(1), Some(1), gone.to_owned()),
    ];
    assert_eq!(told, expected);
}

#[test]
fn doctor_sets_cut_event_aside() {
    let world = World::with_agents();
    let session = OpenHands::session(openhands_id(1)).in_dir("/usr/bin").turn("one", "1").turn("two", "2");
    let dir = world.add(session);
    let event = |n: u32| dir.join(format!("events/event-{n:05}-{n:08x}-bbbb-4bbb-8bbb-{n:012x}.json"));
    put(&event(2), "{\"source\": \"agent\", \"llm_mess");
    age_tree(&world.home());
    let before = picture_of_stores(&world.home());
    let refused = world.rejoin(["resume", &openhands_id(1), "--print"]).code(7).stderr();
    assert!(refused.contains("event-00002") && refused.contains("--fix"), "{refused}");
    world.rejoin(["doctor", "--fix", "--check", "cannot-open"]).code(0);
    let mut names: Vec<String> = std::fs::read_dir(dir.join("events"))
        .expect("events")
        .filter_map(|entry| entry.expect("an entry").file_name().to_str()?.get(..11).map(str::to_owned))
        .filter(|name| name.starts_with("event-"))
        .collect();
    names.sort();
    assert_eq!(names, ["event-00000", "event-00001", "event-00002", "event-00003"]);
    world.rejoin(["resume", &openhands_id(1), "--print"]).code(0);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after undo");
}

#[test]
fn first_set_variable_selects_the_store() {
    let world = World::new();
    let (own, persistence) = (world.dir("own"), world.dir("persistence"));
    world.add(OpenHands::session(openhands_id(1)).turn("a", "b"));
    let put_in = |n: u32, dir: &std::path::Path| {
        let from = world.dir("made");
        let made = OpenHands::session(openhands_id(n)).turn("a", "b").write_to(&from);
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::rename(made, dir.join(openhands_id(n))).expect("a conversation");
    };
    put_in(2, &own);
    put_in(3, &persistence.join("conversations"));
    let plan = |n: u32| -> ResumePlan {
        let world = world.with("OPENHANDS_CONVERSATIONS_DIR", &own);
        world.with("OPENHANDS_PERSISTENCE_DIR", &persistence).rejoin(["resume", &openhands_id(n), "--json"]).json()
    };
    let variables = |n: u32| {
        let resume = plan(n).resume;
        (resume.set.into_keys().collect::<Vec<_>>(), resume.unset)
    };
    let (conversations, persistence) =
        ("OPENHANDS_CONVERSATIONS_DIR".to_owned(), "OPENHANDS_PERSISTENCE_DIR".to_owned());
    assert_eq!(
        variables(1),
        (vec![], vec!["OPENHANDS_WORK_DIR".to_owned(), conversations.clone(), persistence.clone()])
    );
    assert_eq!(variables(2), (vec![conversations.clone()], vec!["OPENHANDS_WORK_DIR".to_owned()]));
    assert_eq!(variables(3), (vec![persistence], vec!["OPENHANDS_WORK_DIR".to_owned(), conversations]));
}

#[test]
fn delete_and_undo_cover_whole_directory() {
    let world = World::new();
    let parent = openhands_id(1);
    let dir = world.add(OpenHands::session(&parent).turn("a", "b"));
    world.add(OpenHands::session(openhands_id(2)).made_by(&parent).turn("look", "ok"));
    world.add(OpenHands::session(openhands_id(3)).turn("a", "b"));
    put(&dir.join("observations/long.txt"), "a long output");
    age_tree(&world.home());
    let before = picture_of_stores(&world.home());
    world.rejoin(["delete", &parent, "--yes"]).code(0);
    assert!(!dir.exists());
    let left: Vec<_> = listed(&world).into_iter().map(|session| session.id).collect();
    assert_eq!(left, [openhands_id(3)]);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after undo");
    world.rejoin(["cleanup", "--any-age", "--allow-all", "--yes"]).code(0);
    assert!(listed(&world).is_empty());
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after undo of a cleanup");
}

#[test]
fn longer_copy_wins() {
    let world = World::new();
    let other = world.dir("persistence");
    let session = || OpenHands::session(openhands_id(1)).turn("a", "b");
    world.add(session());
    let longer = session().turn("c", "d").write_to(&other);
    let to = other.join("conversations").join(openhands_id(1));
    std::fs::create_dir_all(other.join("conversations")).expect("a directory");
    std::fs::rename(longer, &to).expect("a conversation");
    let call = world.with("OPENHANDS_PERSISTENCE_DIR", &other);
    let details: Details = call.rejoin(["show", &openhands_id(1), "--json"]).code(0).json();
    let copies = &details.session.copies;
    assert_eq!(copies.iter().map(|copy| copy.path.as_str()).next(), to.to_str());
    assert_eq!(copies[1].compared, Some(Compared::Shorter));
}
