//! Tests of refusals and records of `resume` over several launches.

use std::process::Stdio;

use serde_json::json;

use crate::contract::{Agent, LastLaunch, ResumePlan};
use crate::fixtures::{Amplifier, Claude, id, put};
use crate::world::World;

#[test]
fn resume_stops_loop() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y"));
    for _ in 0..5 {
        world.rejoin(["resume", &id(1)]).code(0);
        assert!(world.launched().is_some());
    }
    let typed = ["resume", "--here", "00000001", "--prompt", "hi there", "--wait", "--", "--model", "m"];
    let refused = world.from(&app).rejoin(typed).code(7);
    let command = format!("`rejoin resume claude:{} --prompt 'hi there' --wait --no-limit -- --model m`", id(1));
    assert!(refused.stderr().contains(&command), "{}", refused.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1), "--print"]).code(0);
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.refusals[0].exit, 7);

    world.rejoin(["resume", &id(2)]).code(0);
    assert!(world.launched().is_some(), "another session is not concerned");
    world.rejoin(["resume", &id(1), "--no-limit"]).code(0);
    assert!(world.launched().is_some());
    world.with("REJOIN_NOW", "2026-03-01T12:01:01Z").rejoin(["resume", &id(1)]).code(0);
    assert!(world.launched().is_some(), "a minute later it is no loop any more");
}

#[test]
fn five_of_forty_concurrent_resumes_start() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    // Each start adds a line, so that none overwrites another.
    let starts = world.root().join("starts");
    world.install("claude", &format!("echo x >> '{}'\n", starts.display()));
    let resume = || {
        let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
        // Their clocks are real, and show different times.
        command.args(["resume", &id(1)]).env_remove("REJOIN_NOW").stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("a running program")
    };
    let running: Vec<_> = (0..40).map(|_| resume()).collect();
    let codes: Vec<_> = running.into_iter().map(|mut child| child.wait().expect("an end").code()).collect();
    assert_eq!(std::fs::read_to_string(&starts).expect("starts").lines().count(), 5);
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 5);
    assert_eq!(codes.iter().filter(|code| **code == Some(7)).count(), 35);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "what is ignored is read from /proc")]
fn file_size_limit_signal_kills_only_the_agent() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    world.install("claude", "grep ^SigIgn: /proc/self/status > ignored\n");
    for wait in [false, true] {
        let args = ["resume", "00000001"].into_iter().chain(wait.then_some("--wait"));
        world.rejoin(args).code(0);
        let ignored = std::fs::read_to_string(app.join("ignored")).expect("a line");
        let mask = u64::from_str_radix(ignored.trim_start_matches("SigIgn:").trim(), 16).expect("a mask");
        assert_eq!(mask & (1 << (signal_hook::consts::SIGXFSZ - 1)), 0, "{ignored}");
    }
    let line = format!("{}\n", json!({"role": "user", "content": "x".repeat(1000)})).repeat(200);
    let session_dir = world.dir("session");
    put(&world.root().join("input"), &line);
    let program = env!("CARGO_BIN_EXE_rejoin");
    let script =
        format!("ulimit -f 16; exec {program} save transcript --session-dir '{}' < input", session_dir.display());
    let answer = world.from(world.root()).run("sh", ["-c", &script]).code(1);
    assert!(answer.stderr().contains("file too large"), "{}", answer.stderr());
    assert_eq!(session_dir.read_dir().expect("a listing").count(), 0, "nothing is left half written");
}

#[test]
fn resume_records_last_launch() {
    let world = World::with_agents();
    let app = world.dir("my app");
    let path = world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    world.rejoin(["resume", "--last-launch", "--json"]).code(5);
    world.rejoin(["resume", &id(1), "--print"]).code(0);
    world.rejoin(["resume", "--last-launch"]).code(5);
    world.rejoin(["resume", &id(1), "--", "a b"]).code(0);
    world.launched();
    let last: LastLaunch = world.rejoin(["resume", "--last-launch", "--json"]).code(0).json();
    assert_eq!((last.agent, last.id, last.at.as_deref()), (Agent::AMPLIFIER, Some(id(1)), Some(crate::world::NOW)));
    assert_eq!((last.dir.as_str(), last.path.as_deref()), (app.to_str().expect("a path"), path.to_str()));
    assert_eq!(last.argv, ["amplifier", "session", "resume", &id(1), "a b"]);
    assert!(world.launched().is_none(), "it is only told, not repeated");
}

#[test]
fn resume_in_contradicting_directory_needs_trust() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).session_info(&other).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&app).filed_under("-no-such-place").turn("x", "y"));
    let before = std::fs::read(session.join("session-info.json")).expect("a file");
    // Amplifier's session is launched where metadata.json and its place agree.
    world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);
    assert_eq!(std::fs::read(session.join("session-info.json")).expect("a file"), before);
    // No evidence agrees with the place of Claude's session.
    let answer = world.rejoin(["resume", &id(2)]).code(7);
    assert!(answer.stderr().contains("--trust"), "{}", answer.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(2), "--trust"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);
    world.rejoin(["resume", &id(2), "--in", other.to_str().expect("a path")]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, other);
}

#[test]
fn resume_accepts_title_or_list_number() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).at("2026-02-03T10:00:00Z").title("Dark mode").turn("x", "y"));
    world
        .add(Claude::session(id(2)).in_dir(&app).at("2026-02-02T10:00:00Z").title("Prices of the shop").turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&app).at("2026-02-01T10:00:00Z").title("Prices").turn("x", "y"));
    for (selector, n) in [("Dark mode", 1), ("of the shop", 2), ("Prices", 3), ("1", 1), ("3", 3)] {
        let plan: ResumePlan = world.rejoin(["resume", selector, "--json"]).plan();
        assert_eq!(plan.id, Some(id(n)), "{selector}");
    }
    world.rejoin(["resume", "9", "--json"]).code(5);
    world.rejoin(["resume", "o", "--json"]).code(6);
}

#[test]
fn resume_accepts_copy_number() {
    let world = World::with_agents();
    let dirs = ["work/a/b", "work/a-b"].map(|name| world.dir(name));
    for (dir, reply) in dirs.iter().zip(["yes", "no!"]) {
        let name = dir.file_name().and_then(|name| name.to_str()).expect("a name");
        world.add(Amplifier::session(id(1)).in_dir(dir).filed_under(name).turn("x", reply));
    }
    let error = world.rejoin(["resume", &id(1), "--json"]).code(6).error();
    assert_eq!(error.candidates.len(), 2);
    for candidate in &error.candidates {
        let number = candidate.copy.expect("a number").to_string();
        for name in [number.as_str(), candidate.path.as_str()] {
            let plan: ResumePlan = world.rejoin(["resume", &id(1), "--copy", name, "--json"]).plan();
            assert_eq!(plan.path.as_deref(), Some(candidate.path.as_str()));
            assert_eq!(plan.resume.dir, candidate.dir);
        }
    }
    assert_ne!(world.rejoin(["resume", &id(1), "--copy", "3"]).stderr(), "");
    assert!(world.launched().is_none());
}

#[test]
fn resume_sends_prompt_without_terminal() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let odd = "--help; $(touch x)\nsecond line";
    world.rejoin(["resume", &id(1), "--prompt", odd]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.cwd, app);
    assert!(launch.argv.contains(&id(1)) && launch.argv.contains(&odd.to_owned()), "{:?}", launch.argv);
    let plan: serde_json::Value =
        serde_json::from_str(&world.rejoin(["resume", &id(1), "--prompt", odd, "--json"]).code(0).stdout())
            .expect("JSON");
    assert_eq!(plan["resume"]["argv"], json!(launch.argv), "what is planned is what was started");
    assert!(!app.join("x").exists());
}
