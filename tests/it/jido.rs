//! JidoCode's sessions: those that it would load, their order, and their resume.

use serde_json::json;

use crate::contract::{Agent, Details, ResumePlan, Session};
use crate::fixtures::{Jido, id, put};
use crate::world::World;

/// The maximum size that JidoCode loads.
const MAX_BYTES: usize = 10 * 1024 * 1024;

fn shown(session: Jido) -> Details {
    let world = World::new();
    world.add(session);
    world.rejoin(["show", "latest", "--json"]).code(0).json()
}

fn has(session: &Session, code: &str) -> bool {
    session.health.iter().any(|health| health == code)
}

#[test]
fn show_reads_a_signed_session() {
    let details = shown(Jido::session(id(1)));
    let session = &details.session;
    assert_eq!((session.agent, session.id.as_str()), (Agent::JIDO, id(1).as_str()));
    assert_eq!(session.title.as_deref(), Some("Demo"));
    assert_eq!(session.first_prompt.as_deref(), Some("write\ta \u{1b}[31m \"parser\""));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(1)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some("/home/ana/app"), Some("model-j")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:10:00Z"));
    assert_eq!(session.active_source.as_deref(), Some("closed_at"));
    assert_eq!(session.health, ["missing-directory"], "{:?}", details.notes);
}

#[test]
fn edited_session_fails_signature_check() {
    let world = World::new();
    let path = world.add(Jido::session(id(1)));
    let text = std::fs::read_to_string(&path).expect("a session");
    put(&path, text.replace("Written.", "Wrotten."));
    let details: Details = world.rejoin(["show", "latest", "--json"]).code(0).json();
    assert!(has(&details.session, "signature-invalid"), "{:?}", details.session.health);
    world.rejoin(["resume", "latest", "--json"]).code(7);
    let listed = &world.rejoin(["list", "--json"]).code(0).sessions()[0];
    assert!(has(listed, "signature-invalid") && !listed.resumable, "{:?}", listed.health);
    let table = world.on_terminal(120, ["list"]).code(0).stdout();
    assert!(table.contains("signature"), "{table}");

    // The signature covers neither blanks nor the order of keys.
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    put(&path, value.to_string());
    let details: Details = world.rejoin(["show", "latest", "--json"]).code(0).json();
    assert!(!has(&details.session, "signature-invalid"), "{:?}", details.notes);
}

#[test]
fn commands_accept_unsigned_session_with_note() {
    let world = World::with_agents();
    world.install("jido_code", "");
    let app = world.dir("app");
    world.add(Jido::session(id(1)).in_dir(&app).unsigned());
    let details: Details = world.rejoin(["show", "latest", "--json"]).code(0).json();
    assert_eq!(details.session.health, ["unsigned"]);
    assert!(details.session.resumable);
    let plan: ResumePlan = world.rejoin(["resume", "latest", "--json"]).plan();
    assert!(plan.refusals.is_empty());
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
}

#[test]
fn foreign_signature_fails_except_in_named_home() {
    let world = World::new();
    world.add(Jido::session(id(1)));
    put(&world.home().join(".jido_code/machine_secret"), "f".repeat(64));
    let details: Details = world.rejoin(["show", "latest", "--json"]).code(0).json();
    assert!(has(&details.session, "signature-invalid"));
    let home = world.home();
    let args = ["--home", home.to_str().expect("a path"), "show", "latest", "--json"];
    let details: Details = world.rejoin(args).code(0).json();
    assert!(!has(&details.session, "signature-invalid"), "it may be another machine's home");
}

#[test]
fn resume_refuses_an_unloadable_session_of_jidocode() {
    let cases = [
        (Jido::session(id(1)).key("version", json!(2)), "unsupported-version"),
        (Jido::session(id(1)).key("version", json!(0)), "invalid-content"),
        (Jido::session(id(1)).key("todos", json!(null)), "missing-fields"),
        (Jido::session(id(1)).key("closed_at", json!(null)), "missing-fields"),
        (Jido::session(id(1)).key("conversation", json!({})), "invalid-content"),
        (
            Jido::session(id(1)).key(
                "conversation",
                json!([{"id": "1", "role": "robot", "content": "x", "timestamp": "2026-02-01T10:00:00Z"}]),
            ),
            "invalid-content",
        ),
        (Jido::session(id(1)).key("created_at", json!("yesterday")), "invalid-content"),
        (Jido::session(id(1)).key("id", json!(id(2))), "invalid-content"),
        (Jido::session(id(1)).followed_by("}"), "invalid-content"),
    ];
    for (case, (session, code)) in cases.into_iter().enumerate() {
        let world = World::new();
        world.install("jido_code", "");
        world.add(session.in_dir(world.dir("app")));
        let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
        assert_eq!(listed.len(), 1, "case {case}");
        assert!(has(&listed[0], code), "case {case}: {:?}", listed[0].health);
        assert!(!listed[0].resumable, "case {case}");
        world.rejoin(["resume", &id(1)]).code(7);
        assert!(world.launched().is_none());
    }
}

#[test]
fn session_over_10_mib_is_not_resumable() {
    let world = World::new();
    let path = world.add(Jido::session(id(1)).unsigned());
    let len = usize::try_from(path.metadata().expect("metadata").len()).expect("a length");
    let text = std::fs::read_to_string(&path).expect("a session");
    put(&path, text.clone() + &" ".repeat(MAX_BYTES - len));
    let session = world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0);
    assert!(!has(&session, "oversize"), "{:?}", session.health);
    put(&path, text + &" ".repeat(MAX_BYTES - len + 1));
    let session = world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0);
    assert!(has(&session, "oversize") && !session.resumable, "{:?}", session.health);
}

#[test]
fn list_sorts_by_closing_time() {
    let world = World::new();
    world.add(Jido::session(id(1)).closed_at("2026-02-28T12:00:00Z"));
    world.add(Jido::session(id(2)).closed_at("2026-03-01T11:58:00Z"));
    world.add(Jido::session(id(3)).closed_at("2026-02-26T12:00:00.5Z"));
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed.iter().map(|session| session.id.clone()).collect::<Vec<_>>(), [2, 1, 3].map(id));
    let table = world.on_terminal(160, ["list", "--color", "never"]).code(0).stdout();
    for (row, ago) in table.lines().skip(1).zip(["  2 min ago", "  yesterday", "  3 days ago"]) {
        assert!(row.contains(ago) && row.ends_with("dir gone, closed"), "{ago}:\n{table}");
    }
    for columns in [60, 80] {
        let narrow = world.on_terminal(columns, ["list", "--color", "never"]).code(0);
        assert!(narrow.stdout().lines().nth(1).is_some_and(|row| row.ends_with("  Dc")), "{}", narrow.stdout());
        assert!(narrow.stderr().contains("c closed"), "{}", narrow.stderr());
    }
}

#[test]
fn resume_names_the_command_to_type_in_jidocode() {
    let world = World::new();
    world.install("jido_code", "");
    let app = world.dir("app");
    let path = world.add(Jido::session(id(1)).in_dir(&app));
    let before = std::fs::read(&path).expect("a session");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["jido_code"]);
    assert_eq!(plan.resume.then_type, Some(format!("/resume {}", id(1))));
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    let printed = world.rejoin(["resume", &id(1), "--print"]).code(0);
    assert!(printed.stderr().contains(&format!("/resume {}", id(1))), "{}", printed.stderr());
    // Without a terminal, that line cannot be typed; the module `terminal` tests the launch.
    let answer = world.rejoin(["resume", &id(1)]).code(7);
    assert!(answer.stderr().contains("there is no terminal"), "{}", answer.stderr());
    assert!(world.launched().is_none());
    assert_eq!(std::fs::read(&path).expect("the session is still there"), before);
}

#[test]
fn list_ignores_other_files() {
    let world = World::new();
    let dir = world.home().join(".jido_code/sessions");
    put(&dir.join(format!("{}.json.tmp", id(1))), "{}");
    put(&dir.join("notes.json"), "{}");
    // JidoCode only accepts version 4.
    put(&dir.join("00000001-aaaa-1aaa-8aaa-000000000001.json"), "{}");
    std::fs::create_dir(dir.join("directory.json")).expect("a directory");
    assert!(world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions().is_empty());
}

#[test]
fn list_survives_malformed_files() {
    for text in ["", "{", "[]", "null", "7", "\"x\"", "{}", "\u{feff}{}", "{\"id\":7}", "{\"conversation\":[[]]}"] {
        let world = World::new();
        world.add(Jido::session(id(2)));
        put(&world.home().join(format!(".jido_code/sessions/{}.json", id(1))), text);
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        assert!(listed.iter().any(|session| session.id == id(2)), "{text:?}");
        world.rejoin(["show", &id(1), "--transcript"]).code(0);
    }
}
