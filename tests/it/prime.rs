//! Prime Agent's sessions: Pi's records in files without projects, and sub-agents. Known from its code, never measured.

use serde_json::json;

use crate::contract::{Agent, Details, Kind, ResumePlan, Session};
use crate::fixtures::{Pi, id, put};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_show_and_resume_read_session() {
    let world = World::new();
    let app = world.dir("app");
    let session = Pi::of_prime(id(1))
        .in_dir(&app)
        .header("rlmDepth", json!(0))
        .header("git", json!({"branch": "main"}))
        .record("model_change", &json!({"provider": "p", "modelId": "model-x"}))
        .record("service_tier_change", &json!({"serviceTier": "priority"}))
        .turn("count the files", "Two.")
        .record("session_info", &json!({"name": "Files"}))
        .record("session_state", &json!({"state": {"status": "archived"}}));
    let path = world.add(session);
    assert!(path.ends_with(format!(".prime/agent/sessions/{}.jsonl", id(1))));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent, session.id.as_str(), session.kind), (Agent::PRIME, id(1).as_str(), Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(1), Some("model-p")));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("header")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:06:00Z"));
    world.install("prime-agent", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["prime-agent", "--resume", &id(1)]);
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["prime-agent", "--resume", &id(1), "-p", "--", "-x"]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
}

#[test]
fn odd_sessions_have_health_codes() {
    let world = World::new();
    let gone = Pi::of_prime(id(1)).in_dir("/nowhere/app").turn("a", "b");
    world.add(gone);
    world.add(Pi::of_prime(id(2)).in_dir("/usr/bin").turn("a", "b").prompt("and a longer prompt that is cut").torn());
    world.add(Pi::of_prime(id(3)).in_dir("/usr/bin").record("holograms", &json!({"text": "a"})));
    world.add(Pi::of_prime(id(4)).in_dir("/usr/bin").record("agent_status", &json!({"status": {"summary": "a"}})));
    let fork = format!("/home/ana/.prime/agent/sessions/{}.jsonl", id(1));
    world.add(Pi::of_prime(id(5)).in_dir("/usr/bin").header("parentSession", json!(fork)).turn("a", "b"));
    let prompt = r#"{"type":"message","message":{"role":"user","content":"a"}}"#;
    put(&world.home().join(format!(".prime/agent/sessions/{}.jsonl", id(6))), prompt);
    let health = |session: &Session| session.health.join(" ");
    let facts: Vec<_> = listed(&world).into_iter().map(|one| (one.id.clone(), one.kind, health(&one))).collect();
    let of =
        |n: u32| facts.iter().find(|(found, ..)| *found == id(n)).map(|(_, kind, health)| (*kind, health.as_str()));
    assert_eq!(of(1), Some((Kind::Main, "missing-directory")));
    assert_eq!(of(2), Some((Kind::Main, "torn-transcript")));
    assert_eq!(of(3), Some((Kind::Main, "unknown-format")));
    assert_eq!(of(4), Some((Kind::Empty, "empty-session")));
    assert_eq!(of(5), Some((Kind::Fork, "")));
    assert!(of(6).is_some_and(|(_, health)| health.contains("invalid-content")), "{:?}", of(6));
    let fork = listed(&world).into_iter().find(|session| session.id == id(5)).expect("a fork");
    assert_eq!(fork.parent_id, Some(id(1)));
    let refused = world.rejoin(["resume", &id(6), "--print", "--in", "/usr/bin"]).code(7).stderr();
    assert!(refused.contains("Prime Agent would start the file over"), "{refused}");
}

#[test]
fn sub_agent_belongs_to_its_session() {
    let world = World::new();
    world.add(Pi::of_prime(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let artifacts = world.home().join(".prime/agent/session-artifacts").join(id(1));
    let parent = world.home().join(format!(".prime/agent/sessions/{}.jsonl", id(1)));
    let child = Pi::of_prime(id(2)).in_dir("/usr/bin").header("parentSession", json!(parent));
    world.add(child.clone().sessions(artifacts.join("sub-0a1b2c3d")).turn("look around", "Done."));
    let deeper = Pi::of_prime(id(3)).in_dir("/usr/bin").turn("look deeper", "Done.");
    world.add(deeper.sessions(artifacts.join("sub-0a1b2c3d/sub-00000000")));
    world.add(Pi::of_prime(id(4)).sessions(artifacts.join("cron")).turn("a", "b"));
    let details: Details = world.rejoin(["show", &id(2), "--json"]).code(0).json();
    assert_eq!((details.session.kind, details.session.parent_id.as_deref()), (Kind::Subagent, Some(id(1).as_str())));
    let sessions = listed(&world);
    assert_eq!(sessions.iter().filter(|session| session.kind == Kind::Subagent).count(), 2);
    assert_eq!(sessions.len(), 3);
    assert!(world.rejoin(["resume", &id(2), "--print"]).code(7).stderr().contains("sub-agent"));
}

#[test]
fn environment_variables_select_other_stores() {
    let world = World::new();
    let (agent_dir, flat) = (world.dir("agent"), world.dir("flat"));
    world.add(Pi::of_prime(id(1)).in_dir("/usr/bin").sessions(agent_dir.join("sessions")).turn("a", "b"));
    world.add(Pi::of_prime(id(2)).in_dir("/usr/bin").sessions(&flat).turn("a", "b"));
    world.install("prime-agent", "");
    let call = || world.with("PRIME_AGENT_CODING_AGENT_DIR", &agent_dir).with("PRIME_AGENT_SESSION_DIR", &flat);
    assert_eq!(call().rejoin(["list", "--json"]).code(0).sessions().len(), 2);
    let plan: ResumePlan = call().rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.resume.unset.iter().any(|name| name == "PRIME_AGENT_SESSION_DIR"), "{:?}", plan.resume);
}
