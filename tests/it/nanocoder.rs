//! Nanocoder's sessions: one document each, a resume by a typed command, and its own deletions.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::archive::{APP, archive_and_restore};
use crate::contract::{Details, DoctorReport, ResumePlan, Session, SessionList};
use crate::fixtures::{id, ordered, put};
use crate::undo::delete_and_undo;
use crate::world::World;

fn path(world: &World, id: &str) -> PathBuf {
    world.home().join(".local/share/nanocoder/sessions").join(format!("{id}.json"))
}

/// Returns a document in the field order of the program.
fn document(id: &str, title: &str, messages: &Value) -> String {
    let (made, used) = (json!("2026-02-01T10:00:00.000Z"), json!("2026-02-01T10:01:00.000Z"));
    ordered(&[
        ("id", json!(id)),
        ("title", json!(title)),
        ("createdAt", made),
        ("lastAccessedAt", used),
        ("messageCount", json!(messages.as_array().map_or(0, Vec::len))),
        ("provider", json!("p")),
        ("model", json!("model-n")),
        ("workingDirectory", json!(APP)),
        ("messages", messages.clone()),
    ])
}

fn add(world: &World, id: &str, title: &str, messages: &Value) {
    put(&path(world, id), document(id, title, messages));
}

fn turn(world: &World, n: u32) {
    add(world, &id(n), "look", &json!([{"role": "user", "content": "look"}, {"role": "assistant", "content": "ok"}]));
}

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_reads_a_session_file() {
    let world = World::new();
    let call = json!([{"id": "c", "function": {"name": "ls", "arguments": {"path": "."}}}]);
    let messages = json!([
        {"role": "user", "content": "fix it"}, {"role": "assistant", "content": "", "tool_calls": call},
        {"role": "tool", "tool_call_id": "c", "name": "ls", "content": "a b"}, {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "thanks"},
    ]);
    add(&world, &id(1), "thanks", &messages);
    let details: Details = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(0).json();
    let session = details.session;
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("thanks"), Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.last_dir.as_deref()), (Some(APP), Some(APP)));
    assert_eq!((session.model.as_deref(), session.active_source.as_deref()), (Some("model-n"), Some("mtime")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["fix it", r#"ls {"path":"."}"#, "→ a b", "Done.", "thanks"]);
}

#[test]
fn conversation_in_two_files_is_two_sessions() {
    let world = World::new();
    add(&world, &id(1), "look", &json!([{"role": "user", "content": "look"}]));
    turn(&world, 2);
    let counts: Vec<_> =
        listed(&world).into_iter().map(|session| (session.id, session.prompts, session.replies)).collect();
    assert!(counts.contains(&(id(1), Some(1), Some(0))) && counts.contains(&(id(2), Some(1), Some(1))), "{counts:?}");
}

#[test]
fn resume_names_command_to_type_in_its_directory() {
    let world = World::new();
    world.install("nanocoder", "");
    turn(&world, 1);
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!((plan.resume.argv, plan.resume.dir.as_deref()), (vec!["nanocoder".to_owned()], Some(APP)));
    assert_eq!(plan.resume.then_type, Some(format!("/resume {}", id(1))));
    let refused = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(7);
    assert!(refused.stderr().contains("resume it without --prompt"), "{}", refused.stderr());
    assert!(world.launched().is_none());
}

#[test]
fn resume_passes_id_to_versions_that_accept_it() {
    let world = World::new();
    turn(&world, 1);
    let plan = || world.rejoin(["resume", &id(1), "--json"]).plan().resume;
    for (version, takes_it) in [("1.28.1", false), ("1.29.0", true), ("1.30.0", true), ("2.0.0-beta.1", true)] {
        world.install_npm("nanocoder", "@nanocollective/nanocoder", version, "");
        let expected = if takes_it {
            vec!["nanocoder".to_owned(), "--resume".to_owned(), id(1)]
        } else {
            vec!["nanocoder".to_owned()]
        };
        assert_eq!((plan().argv, plan().then_type.is_none()), (expected, takes_it), "{version}");
    }
    world.rejoin(["resume", &id(1)]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[1..].to_vec(), launch.cwd), (vec!["--resume".to_owned(), id(1)], APP.into()));
    let refused = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(7);
    assert!(refused.stderr().contains("resume it without --prompt"), "{}", refused.stderr());
    // A program with the same name from another package may not accept the command.
    world.install_npm("nanocoder", "nanocoder-fork", "9.0.0", "");
    assert_eq!(plan().argv, ["nanocoder"]);
}

#[test]
fn list_shows_title_set_by_user() {
    let world = World::new();
    turn(&world, 1);
    let text = std::fs::read_to_string(path(&world, &id(1))).expect("a file");
    assert_eq!(listed(&world)[0].title, None, "it is the first prompt");
    put(&path(&world, &id(1)), text.replace("\"messages\"", "\"titleManuallySet\":true,\"messages\""));
    assert_eq!(listed(&world)[0].title.as_deref(), Some("look"));
}

#[test]
fn expiry_follows_from_last_resume_and_settings() {
    let world = World::new();
    turn(&world, 1);
    let evidence = |world: &World| -> Vec<String> {
        let report: DoctorReport =
            world.rejoin(["doctor", "--check", "expires-soon", "--json"]).code_is_one_of(&[0, 4]).json();
        report.findings.into_iter().map(|finding| finding.evidence).collect()
    };
    // The session was resumed four weeks ago, and is kept for 30 days.
    let found = evidence(&world);
    assert!(found.len() == 1 && found[0].contains("for 30 days"), "{found:?}");
    put(
        &world.home().join(".config/nanocoder/nanocoder-preferences.json"),
        r#"{"nanocoder":{"sessions":{"retentionDays":365}}}"#,
    );
    assert_eq!(evidence(&world), Vec::<String>::new());
    put(
        &world.home().join(".config/nanocoder/nanocoder-preferences.json"),
        r#"{"nanocoder":{"sessions":{"retentionDays":1e300}}}"#,
    );
    assert_eq!(evidence(&world), Vec::<String>::new());
    put(&world.home().join(".config/nanocoder/nanocoder-preferences.json"), "{");
    assert_eq!(evidence(&world).len(), 1, "what cannot be read sets nothing");
}

#[test]
fn environment_variable_selects_the_store() {
    let world = World::new();
    let data = world.dir("data");
    put(&data.join("sessions").join(format!("{}.json", id(1))), document(&id(1), "x", &json!([])));
    let list: SessionList = world.with("NANOCODER_DATA_DIR", &data).rejoin(["list", "--all", "--json"]).code(0).json();
    let resume = list.sessions[0].resume.as_ref().expect("a command");
    assert_eq!(resume.set.get("NANOCODER_DATA_DIR").map(String::as_str), data.to_str());
}

#[test]
fn archive_delete_and_restore_handle_session() {
    let world = World::new();
    turn(&world, 1);
    delete_and_undo(&world, &id(1));
    archive_and_restore(&world, &id(1), 1);
}

#[test]
fn damaged_session_hides_no_other() {
    let world = World::new();
    for n in 1..=2 {
        turn(&world, n);
    }
    let text = std::fs::read_to_string(path(&world, &id(1))).expect("a file");
    put(&path(&world, &id(1)), &text[..text.len() - 30]);
    put(&path(&world, &id(3)), "[]");
    put(
        &path(&world, &id(4)),
        r#"{"messages":[7,{"role":"user","content":"look"}],"workingDirectory":"relative","title":5}"#,
    );
    std::fs::create_dir(path(&world, &id(5))).expect("a directory");
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let health =
        |n: u32| list.sessions.iter().find(|session| session.id == id(n)).map(|session| session.health.join(" "));
    assert_eq!(health(1).as_deref(), Some("invalid-content"));
    assert_eq!(health(2).as_deref(), Some(""));
    assert!(health(3).is_some_and(|health| health.contains("invalid-content")));
    assert_eq!(health(4).as_deref(), Some("unknown-directory bad-lines"));
    assert_eq!(list.problems.len(), 1, "{:?}", list.problems);
}
