//! Kilo's sessions: OpenCode's tables in a separate database, and a resume that changes to the session's directory.

use std::os::unix::fs::FileExt as _;

use serde_json::json;

use crate::contract::changes::Move;
use crate::contract::{Agent, Details, Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{OpenCode, kilo_db, open_opencode, opencode_id};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn show_reads_a_session_from_the_database() {
    let world = World::new();
    let tool = json!({"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, "output": "a b"}});
    world.add(
        OpenCode::of_kilo(opencode_id(1))
            .turn("\"fix \\\"it\\\"\"", "Looking.")
            .message(json!({"role": "assistant"}), vec![json!({"type": "step-start"}), tool])
            .message(json!({"role": "assistant", "error": {"name": "APIError"}}), vec![])
            .prompt("typed"),
    );
    let details: Details = world.rejoin(["show", &opencode_id(1), "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind), (Agent::KILO, Kind::Main));
    assert_eq!(session.title.as_deref(), Some("New session - 2026-02-01T10:00:00.000Z"));
    // Without a terminal the prompt is stored with the quotes around it.
    assert_eq!(session.first_prompt.as_deref(), Some("\"fix \\\"it\\\"\""));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some("/home/ana/app"), Some("model-o")));
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["\"fix \\\"it\\\"\"", "Looking.", "bash {\"command\":\"ls\"}", "→ a b", "APIError", "typed"]);
}

#[test]
fn kind_follows_from_parent_archive_title_and_content() {
    let world = World::new();
    let session = |n: u32| OpenCode::of_kilo(opencode_id(n)).turn("a", "b");
    world.add(session(1));
    world.add(session(2).made_by(&opencode_id(1)));
    world.add(session(3).archived());
    world.add(session(4).title("New session - 2026-02-01T10:00:00.000Z (fork #1)"));
    world.add(OpenCode::of_kilo(opencode_id(5)));
    let mut kinds: Vec<_> = listed(&world).into_iter().map(|session| (session.id, session.kind)).collect();
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [(1, Kind::Main), (2, Kind::Subagent), (3, Kind::Archived), (4, Kind::Fork), (5, Kind::Empty)];
    assert_eq!(kinds, expected.map(|(n, kind)| (opencode_id(n), kind)));
}

#[test]
fn resume_uses_full_id_and_own_directory() {
    let world = World::new();
    world.install("kilo", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(OpenCode::of_kilo(opencode_id(1)).in_dir(&app).turn("a", "b"));
    let id = opencode_id(1);
    let plan: ResumePlan = world.rejoin(["resume", "ses_e001", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["kilo", "--session", &id]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    for (prompt, last) in [("go on", &["go on"][..]), ("-v", &["--", "-v"])] {
        world.rejoin(["resume", &id, &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["kilo", "run", "--session", &id], last].concat());
        assert_eq!(launch.cwd, app);
    }
    // Kilo would still continue in the first directory.
    let refused = world.from(&other).rejoin(["resume", &id, "--in", ".", "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains(&format!("Kilo continues in {}, wherever it is started", app.display())), "{refused}");
    assert!(refused.contains(&format!("kilo export {id} > ~/{id}.json")), "{refused}");
    // A link to the directory is accepted as the directory.
    let link = world.root().join("link");
    std::os::unix::fs::symlink(&app, &link).expect("a link");
    world.rejoin(["resume", &id, "--in", link.to_str().expect("a path"), "--prompt", "x"]).code(0);
}

#[test]
fn resume_refuses_missing_directory_and_move_advises() {
    let world = World::new();
    world.install("kilo", "");
    let (gone, new) = (world.root().join("gone"), world.dir("new"));
    let id = opencode_id(1);
    world.add(OpenCode::of_kilo(&id).in_dir(&gone).turn("a", "b"));
    let refused = world.rejoin(["resume", &id, "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("does not exist"), "{refused}");
    // Kilo continues, but in the new directory.
    let answer = world.from(&new).rejoin(["resume", &id, "--in", ".", "--prompt", "x"]).code(0).stderr();
    assert!(answer.contains(&format!("Kilo continues in {}, which is gone", gone.display())), "{answer}");
    let paths = [&gone, &new].map(|path| path.to_str().expect("a path"));
    let plan: Move = world.rejoin(["move", paths[0], paths[1], "--dry-run", "--json"]).json();
    assert_eq!(plan.planned, 0);
    let answer = world.rejoin(["move", paths[0], paths[1], "--dry-run"]);
    let output = answer.stdout() + &answer.stderr();
    assert!(output.contains(&format!("kilo export {id} > ~/{id}.json")), "{output}");
}

#[test]
fn resume_passes_channel_database_to_program() {
    let world = World::new();
    world.install("kilo", "");
    let app = world.dir("app");
    let add =
        |n: u32, name: &str| world.add(OpenCode::of_kilo(opencode_id(n)).in_dir(&app).in_database(name).turn("a", "b"));
    let usual = add(1, "kilo.db");
    let dev = add(2, "kilo-dev.db");
    let old = add(3, "opencode-old.db");
    add(4, "opencode-dev.db");
    let mut ids: Vec<String> = listed(&world).into_iter().map(|session| session.id).collect();
    ids.sort();
    assert_eq!(ids, [1, 2, 3].map(opencode_id));
    for (n, path) in [(1, usual.to_str()), (2, dev.to_str()), (3, old.to_str())] {
        world.rejoin(["resume", &opencode_id(n), "--prompt", "x"]).code(0);
        assert_eq!(world.launched().expect("a launch").variable("KILO_DB"), path);
    }
    // The variable names another database, which must not replace the default one.
    let other = world.dir("other").join("mine.db");
    OpenCode::of_kilo(opencode_id(5)).in_dir(&app).turn("c", "d").insert(&open_opencode(&other));
    for (n, path) in [(5, other.to_str()), (1, usual.to_str())] {
        world.with("KILO_DB", &other).rejoin(["resume", &opencode_id(n), "--prompt", "x"]).code(0);
        assert_eq!(world.launched().expect("a launch").variable("KILO_DB"), path);
    }
}

#[test]
fn opencode_ignores_kilo_database() {
    let world = World::new();
    world.add(OpenCode::of_kilo(opencode_id(1)).turn("a", "b"));
    world.add(OpenCode::session(opencode_id(1)).turn("c", "d"));
    let mut agents: Vec<_> = listed(&world).into_iter().map(|session| (session.agent, session.copies.len())).collect();
    agents.sort();
    assert_eq!(agents, [(Agent::KILO, 1), (Agent::OPENCODE, 1)]);
    let refused = world.rejoin(["delete", &format!("kilo:{}", opencode_id(1)), "--yes"]).code(7).stderr();
    assert!(refused.contains(&format!("kilo session delete {}", opencode_id(1))), "{refused}");
}

#[test]
fn damaged_page_hides_only_its_rows() {
    let world = World::new();
    let path = kilo_db(&world.home());
    let connection = open_opencode(&path);
    let long = "x".repeat(1500);
    (1..=40).for_each(|n| OpenCode::of_kilo(opencode_id(n)).turn(&long, "b").insert(&connection));
    drop(connection);
    // Damages a page with the messages of one session, and perhaps of a neighbour.
    let bytes = std::fs::read(&path).expect("a database");
    let holds = |page: &[u8], text: &str| memchr::memmem::find(page, text.as_bytes()).is_some();
    let is_meant = |page: &[u8]| holds(page, &opencode_id(20)[4..]) && holds(page, &long[..1000]);
    let damaged = bytes.chunks(4096).position(is_meant).expect("a page");
    let file = std::fs::File::options().write(true).open(&path).expect("a database");
    file.write_all_at(&[0xa5; 4096], (damaged * 4096) as u64).expect("damage");
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 40);
    let without = list.sessions.iter().filter(|session| session.first_prompt.is_none()).count();
    assert!((1..=3).contains(&without), "{without}");
    assert!(list.problems.iter().any(|problem| problem.reason.contains("damaged")), "{:?}", list.problems);
}
