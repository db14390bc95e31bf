//! `resume`: the directory, the command line, the environment, and the refusals.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::contract::{self, Agent, ResumePlan};
use crate::fixtures::{Amplifier, Claude, Fixture, Gemini, Kimi, Qwen, amplifier_slug, claude_slug, id, put};
use crate::ordinary;
use crate::world::{Answer, Call, Launch, World};

fn launch(world: &World, args: &[&str]) -> Launch {
    world.rejoin(["resume"].iter().chain(args)).code(0);
    world.launched().expect("a launch")
}

fn plan(world: &World, args: &[&str]) -> ResumePlan {
    world.rejoin(["resume", "--json"].iter().chain(args)).plan()
}

/// Evaluates the output of `--print` with a shell.
fn in_a_shell(world: &World, session: &str) -> (Launch, Answer) {
    let line = world.rejoin(["resume", session, "--print"]).code(0).stdout();
    let line = line.strip_suffix('\n').expect("a line");
    let answer = world.from(world.root()).run("sh", ["-c", line]);
    (world.launched().expect("a launch"), answer)
}

#[test]
fn amplifier_directory_sources_have_ranks() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let slug = amplifier_slug(&app);
    let event = |dir: &Path| {
        format!(
            "{}\n",
            json!({"ts": "2026-02-01T10:00:00+00:00", "event": "session:start", "data": {"working_dir": dir}})
        )
    };
    let stray = |n| Amplifier::session(id(n)).in_dir(&other).filed_under(&slug).turn("x", "y");
    // session-info.json is the strongest evidence, even against metadata.json.
    world.add(stray(1).session_info(&app));
    // metadata.json counts if it encodes to the project.
    world.add(Amplifier::session(id(2)).in_dir(&app).turn("x", "y"));
    // The event log counts if metadata.json does not.
    world.add(stray(3).file("events.jsonl", event(&app)));
    // A pointer of a server counts if neither does.
    world.add(stray(4).file("events.jsonl", event(&other)));
    put(
        &world.home().join(".amplifier/server/slack-sessions.json"),
        json!([{"session_id": id(4), "working_dir": app}]).to_string(),
    );
    // The project's other sessions are the weakest evidence.
    world.add(stray(5));
    for (n, source) in [(1, "session-info"), (2, "metadata"), (3, "events"), (4, "pointer"), (5, "project")] {
        let plan = plan(&world, &[&id(n)]);
        let dir = plan.launch_dir.expect("a directory");
        assert_eq!((dir.path.as_str(), dir.source.as_str()), (app.to_str().expect("a path"), source), "session {n}");
        assert_eq!(plan.backfill.is_some(), n != 1, "session {n}");
    }
    for n in 1..=5 {
        assert_eq!(launch(&world, &[&id(n)]).cwd, app, "session {n}");
        assert_eq!(plan(&world, &[&id(n)]).launch_dir.expect("a directory").source, "session-info", "session {n}");
    }
}

#[test]
fn resume_takes_no_directory_from_the_caller() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).events_only().turn("x", ""));
    // Also not in its own directory, because another directory may have the same slug.
    for dir in [&other, &app] {
        let answer = world.from(dir).rejoin(["resume", &id(1), "--prompt", "hi"]).code(7);
        let command = format!("`rejoin resume amplifier:{} --prompt hi --in .`", id(1));
        assert!(answer.stderr().contains(&command), "{}", answer.stderr());
        assert!(!session.join("session-info.json").exists());
    }

    world.from(&app).rejoin(["backfill", &id(1), "--in", "."]).code(0);
    assert!(session.join("session-info.json").exists());
    world.from(&other).rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app, "the next resume is stable from anywhere");
}

#[test]
fn failed_backfill_is_only_a_warning() {
    let world = World::with_agents();
    let app = world.dir("app");
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    // A file cannot be written in the place of a directory, not even by root.
    std::fs::create_dir(session.join("session-info.json")).expect("a directory");
    let answer = world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);
    assert!(answer.stderr().contains("warning: cannot record the directory"), "{}", answer.stderr());
}

#[test]
fn print_and_json_change_nothing() {
    let world = World::with_agents();
    let app = world.dir("app");
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    let printed = world.rejoin(["resume", &id(1), "--print"]).code(0).stdout();
    assert_eq!(printed, format!("cd {} && amplifier session resume {}\n", app.display(), id(1)));
    let plan = plan(&world, &[&id(1)]);
    assert_eq!(plan.agent, Agent::AMPLIFIER);
    assert_eq!(plan.resume.argv, ["amplifier", "session", "resume", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    assert_eq!(plan.program.as_deref(), world.root().join("bin/amplifier").to_str());
    assert!(plan.refusals.is_empty());
    assert!(world.launched().is_none());
    assert!(!session.join("session-info.json").exists());
}

#[test]
fn dry_run_quotes_command_for_shell() {
    for name in [
        "with space",
        "it's \"q\"",
        "ünï-名前-🚀",
        "new\nline",
        "$(touch x)",
        "`touch x`",
        "a;b&c|d",
        "back\\slash",
        "*?[x]",
        "~",
        "-rf",
        "tab\there",
        "#no",
        "!!",
    ] {
        let world = World::with_agents();
        let dir = world.dir(name);
        world.add(Amplifier::session(id(1)).in_dir(&dir).turn("x", "y"));
        world.add(Claude::session(id(2)).in_dir(&dir).turn("x", "y"));
        for n in [1, 2] {
            let (launch, answer) = in_a_shell(&world, &id(n));
            assert_eq!(launch.cwd, dir, "{}", answer.stderr());
            assert_eq!(launch.argv.last(), Some(&id(n)));
            assert_eq!(self::launch(&world, &[&id(n)]).cwd, dir);
        }
        let strays = std::fs::read_dir(world.root()).expect("a directory").count();
        assert_eq!(strays, 5, "something ran in a shell: {name:?}");
    }
}

#[test]
fn id_that_looks_like_code_is_one_argument() {
    let world = World::with_agents();
    let app = world.dir("app");
    for odd in ["$(touch x)", "a;touch x", "--help", "-h", "two\nlines", "it's", "a b", "ünï"] {
        world.add(Amplifier::session(odd).in_dir(&app).turn("x", "y"));
        let answer = world.from(&app).rejoin(["resume", &format!("amplifier:{odd}")]);
        match world.launched() {
            Some(launch) => assert_eq!(launch.argv, ["amplifier", "session", "resume", odd]),
            // Otherwise the prompt is refused: it looks like an option, or contains a line break.
            None => {
                assert!(odd.starts_with('-') || odd.contains('\n'), "{odd:?}: {}", answer.stderr());
                answer.code(7);
            }
        }
        assert!(!app.join("x").exists(), "{odd:?} was run");
        let path = world.home().join(".amplifier/projects").join(amplifier_slug(&app)).join("sessions").join(odd);
        assert!(path.is_dir());
    }
}

#[test]
fn in_option_overrides_without_recording() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let session = world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    let answer = world.from(world.root()).rejoin(["resume", &id(1), "--in", "other"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.cwd.as_path(), launch.variable("PWD")), (other.as_path(), other.to_str()));
    assert!(answer.stderr().contains("warning:"), "the agent may not find it there: {}", answer.stderr());
    assert!(!session.join("session-info.json").exists());
}

#[test]
fn resume_passes_extra_arguments_to_agent() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let launch = launch(&world, &[&id(1), "--", "--model", "a b", "$HOME", "", "--help"]);
    assert_eq!(launch.argv, ["claude", "--resume", &id(1), "--model", "a b", "$HOME", "", "--help"]);
    let printed = world.rejoin(["resume", &id(1), "--print", "--", "a b", ""]).code(0).stdout();
    assert!(printed.ends_with(" 'a b' ''\n"), "{printed}");
}

#[test]
fn resume_removes_variables_of_outer_session() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let nested = [
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_ENV_FILE",
    ];
    let call = nested.iter().fold(world.with("KEPT", "as it was\nis"), |call, name| call.with(name, "1"));
    call.with("PWD", "/wrong").with("OLDPWD", "/old").rejoin(["resume", &id(1)]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(nested.map(|name| launch.variable(name)), [None; 5]);
    assert_eq!(launch.variable("KEPT"), Some("as it was\nis"));
    assert_eq!(launch.variable("PWD"), app.to_str());
    assert_eq!(launch.variable("HOME"), world.home().to_str());
    let printed = world.with("CLAUDECODE", "1").rejoin(["resume", &id(1), "--print"]).code(0).stdout();
    assert!(printed.contains("env -u CLAUDECODE claude"), "{printed}");
}

#[test]
fn home_option_sets_home_of_agent() {
    let world = World::with_agents();
    let app = world.dir("app");
    let backup = world.dir("backup");
    Fixture::write_to(&Claude::session(id(1)).in_dir(&app).turn("x", "y"), &backup);
    world.rejoin(["--home", backup.to_str().expect("a path"), "resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("HOME"), backup.to_str());
}

#[test]
fn resume_exits_with_status_of_agent() {
    let world = World::new();
    world.install("claude", "exit 42");
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    world.rejoin(["resume", &id(1)]).code(42);
}

#[test]
fn missing_program_exits_127_and_unrunnable_126() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let answer = world.rejoin(["resume", &id(1)]).code(127);
    assert!(answer.stderr().contains("cannot find the program claude"), "{}", answer.stderr());
    assert_eq!(plan(&world, &[&id(1)]).program, None);
    // The interpreter of the script is a directory.
    put(&world.root().join("bin/claude"), "#!/\n");
    std::fs::set_permissions(world.root().join("bin/claude"), PermissionsExt::from_mode(0o755)).expect("a mode");
    let answer = world.rejoin(["resume", &id(1)]).code(126);
    assert!(answer.stderr().contains("cannot run"), "{}", answer.stderr());
}

#[test]
fn missing_directory_suggests_nearest() {
    let world = World::with_agents();
    let gone = world.dir("work/gone/deep");
    world.add(Amplifier::session(id(1)).in_dir(&gone).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&gone).turn("x", "y"));
    std::fs::remove_dir_all(world.root().join("work/gone")).expect("a directory");
    for n in [1, 2] {
        let answer = world.rejoin(["resume", &id(n)]).code(7);
        assert!(answer.stderr().contains(&format!("{} does not exist", gone.display())), "{}", answer.stderr());
        assert!(answer.stderr().contains(world.root().join("work").to_str().expect("a path")), "{}", answer.stderr());
        assert_eq!(plan(&world, &[&id(n)]).refusals[0].exit, 7);
    }
    put(&gone, "a file");
    world.rejoin(["resume", &id(2)]).code(7);
    assert!(world.launched().is_none());
    assert!(!gone.is_dir(), "no directory is made up");
}

#[test]
fn resume_reports_only_mistyped_in_option() {
    let world = World::with_agents();
    for (n, fixture) in [
        (1, Box::new(Amplifier::session(id(1)).in_dir(world.dir("app")).turn("x", "y")) as Box<dyn Fixture>),
        (2, Box::new(Kimi::session(id(2)).in_dir(world.dir("app")).turn("x", "y"))),
    ] {
        fixture.write_to(&world.home());
        let answer = world.rejoin(["resume", &id(n), "--in", "/nope"]).code(7);
        answer.stderr_eq("error: the launch directory /nope does not exist\n");
    }
}

#[test]
fn missing_directory_offers_only_accepted_remedies() {
    type Make = fn(&Path) -> Box<dyn Fixture>;
    let of_agents: [(&str, Make); 4] = [
        ("kimi", |dir| Box::new(Kimi::session(id(1)).in_dir(dir).turn("x", "y"))),
        ("gemini", |dir| Box::new(Gemini::session(id(1)).in_dir(dir).turn("x", "y"))),
        ("qwen", |dir| Box::new(Qwen::session(id(1)).in_dir(dir).turn("x", "y"))),
        ("amplifier", |dir| Box::new(Amplifier::session(id(1)).in_dir(dir).turn("x", "y"))),
    ];
    for (agent, session) in of_agents {
        let world = World::with_agents();
        let (old, new) = (world.home().join("work/plain"), world.home().join("code/plain"));
        std::fs::create_dir_all(&old).expect("a directory");
        session(&old).write_to(&world.home());
        std::fs::remove_dir(&old).expect("an empty directory");
        let made = format!("`mkdir -p {}`", old.display());
        let stderr = world.rejoin(["resume", &id(1)]).code(7).stderr();
        assert!(stderr.contains(&made) && !stderr.contains(" --in "), "{agent}: {stderr}");

        std::fs::create_dir_all(&new).expect("a directory");
        let stderr = world.rejoin(["resume", &id(1)]).code(7).stderr();
        let moved = format!("`rejoin move {} {}`", old.display(), new.display());
        assert!(stderr.contains(&made) && stderr.contains(&moved) && !stderr.contains(" --in "), "{agent}: {stderr}");
        let found = world.rejoin(["doctor", "--check", "missing-directory", "--json"]).code(4).stdout();
        assert!(found.contains(moved.trim_matches('`')) && !found.contains(" --in "), "{agent}: {found}");
        world.rejoin(["move", old.to_str().expect("a path"), new.to_str().expect("a path"), "--yes"]).code(0);
        assert_eq!(plan(&world, &[&id(1)]).refusals.len(), 0, "{agent}");
    }
    let world = World::with_agents();
    let gone = world.root().join("gone");
    assert!(ordinary::write_in("commandcode", &world, gone.to_str().expect("a path")));
    let projects = world.home().join(".commandcode/projects");
    let project = gone.to_str().expect("a path").trim_start_matches('/').replace('/', "-");
    std::fs::rename(projects.join("usr-bin"), projects.join(project)).expect("its project");
    let session = &world.rejoin(["list", "--all", "--json"]).sessions()[0];
    let stderr = world.rejoin(["resume", &session.id]).code(7).stderr();
    assert!(stderr.contains(&format!("`mkdir -p {}`", gone.display())) && !stderr.contains(" --in "), "{stderr}");
}

#[test]
fn resume_refuses_an_unresumable_session() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y").subagent("agent-a1", "p", "r"));
    world.add(Claude::session(id(2)).in_dir(&app).record("mode", &json!({"mode": "normal"})));
    let parent = format!("hint: run `rejoin resume claude:{}`", id(1));
    world.rejoin(["resume", "agent-a1"]).code(7).stderr_eq(format!("[..]resume its parent session\n{parent}\n"));
    world.rejoin(["resume", &id(2)]).code(7);
    let error = world.rejoin(["resume", &id(2), "--json"]).code(7).stdout_eq("").error();
    assert_eq!(error.code, "not-resumable");
    assert!(world.launched().is_none());
}

#[test]
fn resume_uses_the_copy_with_the_best_evidence() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    // The stray copy is newer; its records still name the original directory.
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Claude::session(id(1)).in_dir(&app).filed_under(claude_slug(&other)).turn("x", "y").turn("more", "z"));
    let answer = world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);
    assert!(answer.stderr().contains("2 copies"), "{}", answer.stderr());
    let shown: contract::Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(shown.session.copies.iter().map(|copy| copy.chosen).collect::<Vec<_>>(), [true, false]);
    assert_eq!(shown.session.copies[0].project.as_deref(), Some(claude_slug(&app).as_str()));
    assert!(shown.session.health.contains(&"duplicate-session".to_owned()));
}

#[test]
fn indistinguishable_copies_need_copy_option() {
    let world = World::with_agents();
    let (dash, dot) = (world.dir("a/b"), world.dir("a-b"));
    // The copies have equal lengths and times, but different messages.
    let both = [(&dash, "yes"), (&dot, "no!")].map(|(dir, reply)| {
        let name = dir.file_name().and_then(|name| name.to_str()).expect("a name");
        world.add(Amplifier::session(id(1)).in_dir(dir).filed_under(name).turn("x", reply))
    });
    let answer = world.rejoin(["resume", &id(1)]).code(6);
    for path in &both {
        assert!(answer.stderr().contains(path.to_str().expect("a path")), "{}", answer.stderr());
    }
    let error = world.rejoin(["resume", &id(1), "--json"]).code(6).error();
    assert_eq!((error.exit, error.candidates.len()), (6, 2));
    assert!(world.launched().is_none());
    for (path, dir) in both.iter().zip([&dash, &dot]) {
        assert_eq!(launch(&world, &[path.to_str().expect("a path")]).cwd, *dir);
    }
}

#[test]
fn program_without_execute_permission_exits_126() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    put(&world.root().join("bin/claude"), "#!/bin/sh\n");
    world.rejoin(["resume", &id(1)]).code(126);
}

#[test]
fn resumable_flag_matches_resume() {
    let world = World::new();
    crate::sample::fill(&world);
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    let (mut started, mut refused) = (0, 0);
    for session in &listed {
        let id = format!("{}:{}", session.agent, session.id);
        let plan = world.rejoin(["resume", "--json", &id]);
        let would_start = plan.exit() == Some(0);
        assert_eq!(session.resumable, would_start, "{id}: {} {}", plan.stdout(), plan.stderr());
        *(if would_start { &mut started } else { &mut refused }) += 1;
    }
    assert!(started > 9 && refused > 9, "{started} started, {refused} refused");
}

#[test]
fn every_answer_counts_the_same_followers() {
    let world = World::with_agents();
    let (shop, admin) = (world.dir("work/shop"), world.dir("work/shop/admin"));
    world.add(Claude::session(id(1)).in_dir(&shop).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&shop).turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&admin).turn("x", "y"));
    std::fs::rename(&shop, world.root().join("work/shop-v2")).expect("a move");
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains("lets all 3 sessions follow"), "{refused}");
    let doctor = world.rejoin(["doctor", "--check", "missing-directory"]).code(4).stdout();
    assert!(doctor.contains("lets all 3 sessions follow") && !doctor.contains("all 2 "), "{doctor}");
    let moved = world.rejoin(["move", shop.to_str().expect("a path"), "work/shop-v2", "--dry-run"]).code(0).stdout();
    assert!(moved.contains("3 sessions would be moved"), "{moved}");
}

#[test]
fn moved_project_suggests_move_first() {
    let world = World::new();
    let old = world.home().join("work/plain");
    std::fs::create_dir_all(&old).expect("a directory");
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    let new = world.home().join("code/plain");
    std::fs::create_dir_all(new.parent().expect("a parent")).expect("a directory");
    std::fs::rename(&old, &new).expect("a move");
    let stderr = world.rejoin(["resume", &id(1)]).code(7).stderr();
    let line = |command: String| stderr.find(&command).unwrap_or_else(|| panic!("no {command} in {stderr}"));
    let moved = line(format!("`rejoin move {} {}`", old.display(), new.display()));
    let elsewhere = line(format!("`rejoin resume claude:{} --in {}`", id(1), new.display()));
    assert!(moved < elsewhere, "{stderr}");
    world.rejoin(["move", old.to_str().expect("a path"), new.to_str().expect("a path"), "--yes"]).code(0);
    assert_eq!(plan(&world, &[&id(1)]).refusals.len(), 0);
}

#[test]
fn directory_matches_through_link() {
    let world = World::with_agents();
    let (real, link) = (world.dir("data/app"), world.dir("work").join("app"));
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    world.add(Claude::session(id(1)).in_dir(&real).at("2026-01-01T10:00:00Z").turn("old", "ok"));
    world.add(Claude::session(id(2)).in_dir(&link).at("2026-02-20T10:00:00Z").turn("new", "ok"));
    let here = world.from(&link).with("PWD", &link);
    let ids = |call: Call<'_>| {
        let sessions = call.rejoin(["list", "--here", "--json"]).sessions();
        sessions.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(here), [id(2), id(1)]);
    let plan = world.from(&link).with("PWD", &link).rejoin(["resume", ".", "--json"]).plan();
    assert_eq!(plan.id, Some(id(2)));
    // A variable that names another directory is ignored.
    let other = world.dir("elsewhere");
    world.add(Claude::session(id(3)).in_dir(&other).at("2026-02-20T11:00:00Z").turn("other", "ok"));
    assert_eq!(ids(world.from(&real).with("PWD", &other)), [id(2), id(1)]);
}

#[test]
fn commands_suggested_for_dot_work() {
    let world = World::with_agents();
    let (app, empty) = (world.dir("app"), world.dir("app/none"));
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    for command in ["show", "resume"] {
        let error = world.from(&empty).rejoin([command, "."]).code(5).stderr();
        let hint = error.lines().find_map(|line| line.trim().strip_prefix('`')).expect("a command");
        let hint = hint.split('`').next().expect("a command");
        assert_eq!(hint, format!("rejoin {command} . --dir {}", app.display()));
        let words: Vec<&str> = hint.split(' ').skip(1).collect();
        world.from(&empty).rejoin(words).code(0);
    }
}

#[test]
fn print_refuses_command_with_newline() {
    let world = World::with_agents();
    let dir = world.dir("one\ntwo");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    let resume = shown.lines().find(|line| line.trim_start().starts_with("resume ")).expect("a line");
    assert!(resume.contains(&format!("`rejoin resume claude:{}` runs it", id(1))), "{resume}");
}
