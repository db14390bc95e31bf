//! The purpose of rejoin: a session starts in its own directory, wherever it is resumed.

use std::path::{Path, PathBuf};

use crate::contract;
use crate::fixtures::{Amplifier, Claude, Leo, amplifier_slug, claude_slug, id};
use crate::world::World;

fn names_in(dir: impl AsRef<Path>) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn amplifier_session_starts_in_its_creation_directory() {
    let world = World::with_agents();
    let [x, y, z] = ["work/x", "work/y", "work/z"].map(|name| world.dir(name));
    let session = world.add(Amplifier::session(id(1)).in_dir(&x).turn("fix the parser", "Done."));
    let info = session.join("session-info.json");
    assert!(!info.exists());

    for (time, from) in [&y, &z, &x, &z].into_iter().enumerate() {
        world.from(from).rejoin(["resume", &id(1)]).code(0);

        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, ["amplifier", "session", "resume", &id(1)], "resume {time}");
        assert_eq!(launch.cwd, x, "resume {time}");
        assert_eq!(launch.variable("PWD"), x.to_str(), "resume {time}");
        assert_eq!(names_in(world.home().join(".amplifier/projects")), [amplifier_slug(&x)], "resume {time}");
        let text = std::fs::read_to_string(&info).expect("a session-info.json");
        let x = x.display();
        let expected =
            format!("{{\n  \"working_dir\": \"{x}\",\n  \"created_at\": \"2026-02-01T10:00:00.000000+00:00\"\n}}");
        assert_eq!(text, expected, "resume {time}");
    }
    world.rejoin(["show", "00000001"]).code(0);
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].copies.len(), 1);
}

#[test]
fn amplifier_session_with_changed_metadata_starts_at_home() {
    let world = World::with_agents();
    let [x, y] = ["work/x", "work/y"].map(|name| world.dir(name));
    // A resume in Y wrote that directory into metadata.json.
    world.add(
        Amplifier::session(id(1)).in_dir(&x).session_info(&x).metadata("working_dir", y.to_str().into()).turn("a", "b"),
    );
    world.from(&y).rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, x);
}

/// Creates a world with an app whose session Claude Code filed under the directory in which Leo ran.
fn with_app() -> (World, PathBuf, PathBuf) {
    let world = World::with_agents();
    let (app, server) = (world.dir("apps/demo"), world.dir("srv"));
    (world, app, server)
}

/// Adds a turn of more bytes than a failed start has.
fn long(session: Claude) -> Claude {
    session.entrypoint("sdk-py").turn("build the app", &"It is built. ".repeat(500))
}

#[test]
fn session_of_leo_pointer_starts_in_claude_directory() {
    let (world, app, server) = with_app();
    world.add(long(Claude::session(id(1)).in_dir(&server)));
    world.add(Leo::pointer(&app, &id(1)));
    for from in [&app, &server, &world.dir("work/y")] {
        let answer = world.from(from).rejoin(["resume", app.to_str().expect("a path")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, ["claude", "--resume", &id(1)]);
        assert_eq!(launch.cwd, server);
        assert_eq!(launch.variable("PWD"), server.to_str());
        assert!(answer.stderr().contains(&format!("points to claude session {}", id(1))), "{}", answer.stderr());
    }
    assert_eq!(names_in(world.home().join(".claude/projects")), [claude_slug(&server)]);
}

#[test]
fn pointer_file_selects_session_of_app() {
    let (world, app, server) = with_app();
    world.add(long(Claude::session(id(1)).in_dir(&server)));
    let pointer = world.add(Leo::pointer(&app, &id(1)));
    world.rejoin([Path::new("resume"), &pointer]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, server);
    world.from(&app).rejoin(["resume", "."]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, server);
}

#[test]
fn dangling_pointer_falls_back_to_newest_session() {
    let (world, app, _) = with_app();
    world.add(long(Claude::session(id(2)).in_dir(&app).at("2026-02-10T10:00:00Z")));
    world.add(long(Claude::session(id(3)).in_dir(&app).at("2026-02-11T10:00:00Z")));
    // A failed start is newer and small.
    world.add(Claude::session(id(4)).in_dir(&app).at("2026-02-12T10:00:00Z").turn("hi", "no"));
    // Another directory's session is newer and large.
    world.add(long(Claude::session(id(5)).in_dir(world.dir("apps/other")).at("2026-02-13T10:00:00Z")));
    world.add(Leo::pointer(&app, &id(9)));
    let answer = world.rejoin([Path::new("resume"), &app]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["claude", "--resume", &id(3)]);
    assert_eq!(launch.cwd, app);
    let stderr = answer.stderr();
    let at = |words: &str| stderr.find(words).unwrap_or_else(|| panic!("{words} is not said:\n{stderr}"));
    assert!(at(&format!("points to {}", id(9))) < at(&format!("Taking the newest session of {}", app.display())));
}

#[test]
fn every_command_knows_the_pointer_of_a_session() {
    let (world, app, _) = with_app();
    world.add(long(Claude::session(id(1)).in_dir(&app)));
    world.add(Leo::pointer(&app, &id(1)));
    assert_eq!(world.rejoin(["list", "--json"]).sessions()[0].pointers.len(), 1);
    for name in [id(1), "leo".to_owned()] {
        let shown: contract::Details = world.rejoin(["show", &name, "--json"]).code(0).json();
        assert_eq!(shown.session.pointers.len(), 1, "{name}");
    }
    for args in
        [&["search", "build", "-a", "leo"][..], &["stats", "--by", "agent", "-a", "leo"], &["list", "-a", "leo"]]
    {
        assert!(world.rejoin(args).code(0).stdout().contains("claude"), "{args:?}");
    }
}

#[test]
fn pointer_without_id_falls_back_to_newest_session() {
    let (world, app, _) = with_app();
    world.add(long(Claude::session(id(2)).in_dir(&app)));
    world.add(Leo::without_id(&app));
    let answer = world.rejoin([Path::new("resume"), &app]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &id(2)]);
    assert!(answer.stderr().contains("names no session"), "{}", answer.stderr());
}

#[test]
fn app_without_sessions_needs_fresh() {
    let (world, app, _) = with_app();
    world.add(Claude::session(id(4)).in_dir(&app).turn("hi", "no"));
    world.add(Leo::pointer(&app, &id(9)));
    let answer = world.rejoin([Path::new("resume"), &app]).code(5);
    assert!(world.launched().is_none());
    assert!(answer.stderr().contains("--fresh"), "{}", answer.stderr());
    let plan: contract::ResumePlan = world
        .rejoin([
            Path::new("resume"),
            &app,
            Path::new("--fresh"),
            Path::new("--in"),
            &world.dir("other"),
            Path::new("--json"),
        ])
        .plan();
    assert_eq!(plan.launch_dir.expect("a directory").source, "option");

    let answer = world.with("CLAUDECODE", "1").rejoin([Path::new("resume"), &app, Path::new("--fresh")]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["claude"]);
    assert_eq!(launch.cwd, app);
    assert_eq!(launch.variable("CLAUDECODE"), None);
    assert!(answer.stderr().contains("Starting a new session"), "{}", answer.stderr());
}

#[test]
fn fresh_resumes_an_existing_session() {
    let (world, app, server) = with_app();
    world.add(long(Claude::session(id(1)).in_dir(&server)));
    world.add(Leo::pointer(&app, &id(1)));
    world.rejoin([Path::new("resume"), &app, Path::new("--fresh")]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &id(1)]);
}

#[test]
fn quiet_hides_fallback_steps() {
    let (world, app, server) = with_app();
    world.add(long(Claude::session(id(1)).in_dir(&server)));
    world.add(Leo::pointer(&app, &id(1)));
    world.rejoin([Path::new("resume"), &app, Path::new("--quiet")]).code(0).stderr_eq("");
    assert_eq!(world.launched().expect("a launch").cwd, server);
}
