//! gptme's conversations: one directory each, a workspace to which gptme changes by itself, and prompts that the user
//! did not type.

use std::path::Path;

use serde_json::json;

use crate::contract::changes::Move;
use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::{Gptme, age_tree, put};
use crate::picture::picture_of_stores;
use crate::undo::assert_same;
use crate::world::World;

const ID: &str = "2026-02-01-quiet-blue-fox";

fn listed(world: &World) -> Vec<Session> {
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    sessions
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn show_reads_the_files_of_a_conversation() {
    let world = World::new();
    let failed = json!({"metadata": {"error": true}, "timestamp": "2026-02-01T10:07:00.5+00:00"});
    world.add(
        Gptme::session(ID)
            .in_dir("/home/ana/first")
            .moved_to("/home/ana/app")
            .named("Parser \"1\"")
            .turn("fix the\n\"parser\"", "Looking.\n@shell(c1): {\"command\": \"ls\"}")
            .record("system", "a b", json!({"call_id": "c1"}))
            .record("user", "<system>No tool call detected in last message.</system>", json!({}))
            .record("assistant", "Done.", json!({}))
            .record("system", "error: generic\nno", failed),
    );
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind, session.liveness), (Agent::GPTME, Kind::Main, Liveness::Idle));
    assert_eq!(session.title.as_deref(), Some("Parser \"1\""));
    assert_eq!(session.first_prompt.as_deref(), Some("fix the\n\"parser\""));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!(session.model.as_deref(), Some("maker/model-g"));
    let dirs = [&session.start_dir, &session.last_dir].map(|dir| dir.as_deref());
    assert_eq!(dirs, [Some("/home/ana/first"), Some("/home/ana/app")]);
    assert_eq!(session.launch_path(), Some("/home/ana/app"));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00.25Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:07:00.5Z"));
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    let expected = [
        "fix the\n\"parser\"",
        "Looking.\n@shell(c1): {\"command\": \"ls\"}",
        "→ a b",
        "<system>No tool call detected in last message.</system>",
        "Done.",
        "error: generic\nno",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn kind_follows_from_settings_and_content() {
    let world = World::new();
    world.add(Gptme::session("a-main").turn("a", "b"));
    world.add(Gptme::session("b-headless").headless().turn("a", "b"));
    world.add(Gptme::session("c-empty"));
    world.add(Gptme::session("d-fork").in_dir("/home/ana/origin").fork().turn("a", "b"));
    world.add(Gptme::session("subagent-x").made_by("a-main").turn("a", "b"));
    // The name alone does not make a conversation a sub-agent.
    world.add(Gptme::session("subagent-y").turn("a", "b"));
    put(&world.home().join(".local/share/gptme/logs/no-conversation/config.toml"), "[chat]\n");
    let told: Vec<_> =
        listed(&world).into_iter().map(|session| (session.id, session.kind, session.parent_id)).collect();
    let of = |id: &str, kind, parent: Option<&str>| (id.to_owned(), kind, parent.map(str::to_owned));
    let expected = [
        of("a-main", Kind::Main, None),
        of("b-headless", Kind::Exec, None),
        of("c-empty", Kind::Empty, None),
        of("d-fork", Kind::Main, None),
        of("subagent-x", Kind::Subagent, Some("a-main")),
        of("subagent-y", Kind::Main, None),
    ];
    assert_eq!(told, expected);
    assert_eq!(listed(&world)[3].launch_path(), Some("/home/ana/origin"));
}

#[test]
fn resume_uses_full_name_and_exec_needs_prompt() {
    let world = World::new();
    world.install("gptme", "");
    let app = world.dir("app");
    world.add(Gptme::session(ID).in_dir(&app).turn("a", "b"));
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    assert_eq!(plan.resume.argv, ["gptme", "--resume", "--name", ID]);
    for (prompt, last) in [("go on", &["go on"][..]), ("-v", &["--", "-v"])] {
        world.rejoin(["resume", ID, &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["gptme", "-n", "--resume", "--name", ID], last].concat());
        assert_eq!(launch.cwd, app);
    }
    world.add(Gptme::session("b-headless").in_dir(&app).headless().turn("a", "b"));
    world.add(Gptme::session("subagent-x").in_dir(&app).made_by(ID).turn("a", "b"));
    world.add(Gptme::session("-x").in_dir(&app).turn("a", "b"));
    for (id, why) in [
        ("gptme:b-headless", "gptme would only print it and end; go on with one prompt, as `--prompt` takes it"),
        ("gptme:subagent-x", "resume its parent"),
        ("gptme:-x", "could be taken for an option"),
    ] {
        let refused = world.rejoin(["resume", id]).code(7).stderr();
        assert!(refused.contains(why), "{refused}");
    }
    world.rejoin(["resume", "b-headless", "--prompt", "x"]).code(0);
}

#[test]
fn resume_refuses_missing_workspace_until_move() {
    let world = World::new();
    world.install("gptme", "");
    let (gone, new) = (world.root().join("gone"), world.dir("new place"));
    world.add(Gptme::session(ID).in_dir(&gone).turn("a", "b"));
    let refused = world.from(&new).rejoin(["resume", ID, "--in", ".", "--prompt", "x"]).code(7).stderr();
    let command = format!("rejoin move {} '{}'", gone.display(), new.display());
    assert!(refused.contains("gptme would only add an error to it") && refused.contains(&command), "{refused}");
    assert!(world.launched().is_none());
    let done: Move = world.rejoin(["move", text(&gone), text(&new), "--yes", "--json"]).code(0).json();
    assert_eq!(done.failed, 0);
    world.rejoin(["resume", ID, "--prompt", "x"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["gptme", "-n", "--resume", "--name", ID, "x"]);
    assert_eq!(launch.cwd, new);
    let settings = world.home().join(".local/share/gptme/logs").join(ID).join("config.toml");
    let settings = std::fs::read_to_string(settings).expect("settings");
    assert!(settings.contains(&format!("workspace = \"{}\"\n", new.display())), "{settings}");
}

#[test]
fn fork_without_settings_accepts_other_directory() {
    let world = World::new();
    world.install("gptme", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Gptme::session(ID).in_dir(&app).fork().turn("a", "b"));
    for (args, dir) in [(&["--prompt", "x"][..], &app), (&["--prompt", "x", "--in", text(&other)], &other)] {
        world.rejoin([&["resume", ID], args].concat()).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!((&launch.cwd, launch.argv.len()), (dir, 6));
    }
}

#[test]
fn tilde_in_settings_means_current_or_recorded_home() {
    let world = World::new();
    world.install("gptme", "");
    let was = world.root().join("ana/work/app");
    let add = |id: &str, link: Option<&Path>| world.add(Gptme::session(id).settings("~/work/app", link).turn("a", "b"));
    add("a-link", Some(&was));
    add("b-other-link", Some(Path::new("/somewhere/else")));
    let flat = add("c-file", None);
    // The workspace as git stores a link on systems without links.
    put(&flat.join("workspace"), text(&was));
    add("d-none", None);
    let dirs = |args: &[&str]| {
        let sessions = world.rejoin([args, &["list", "--all", "--json"]].concat()).code(0).sessions();
        sessions.iter().map(|session| session.launch_path().map(str::to_owned)).collect::<Vec<_>>()
    };
    let home = world.home();
    let (own, there) = (Some(text(&home.join("work/app")).to_owned()), Some(text(&was).to_owned()));
    for args in [&["--home", text(&home)][..], &[]] {
        assert_eq!(dirs(args), [there.clone(), own.clone(), there.clone(), own.clone()]);
    }
    // gptme itself would search in this home.
    std::fs::create_dir_all(&was).expect("a directory");
    let refused = world.rejoin(["resume", "a-link", "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("it is not in this one"), "{refused}");
    std::fs::create_dir_all(home.join("work/app")).expect("a directory");
    assert_eq!(dirs(&[]), vec![own; 4]);
    world.rejoin(["resume", "a-link", "--prompt", "x"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, home.join("work/app"));
}

#[test]
fn held_lock_makes_session_live() {
    let world = World::new();
    world.install("gptme", "");
    let dir = world.add(Gptme::session(ID).in_dir(world.dir("app")).turn("a", "b"));
    assert_eq!(listed(&world)[0].liveness, Liveness::Idle, "the file stays when a client ends");
    let file = std::fs::File::open(dir.join(".lock")).expect("a lock");
    file.lock().expect("a lock");
    assert_eq!(listed(&world)[0].liveness, Liveness::Live);
    // A second process would write an error into the conversation before it exits.
    let refused = world.rejoin(["resume", ID, "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("is in use by process"), "{refused}");
}

#[test]
fn damaged_conversation_hides_no_other() {
    let world = World::new();
    world.add(Gptme::session("a-torn").turn("a", "b").torn());
    let path = world.add(Gptme::session("b-lines").turn("a", "b").turn("c", "d")).join("conversation.jsonl");
    let lines = std::fs::read_to_string(&path).expect("a conversation");
    put(&path, lines.replacen("\"content\":\"c\"", "\"content\":\"c", 1));
    put(&world.add(Gptme::session("c-settings").turn("a", "b")).join("config.toml"), [b'[', 0xff, b'\n', b'=']);
    world.add(Gptme::session("d-sound").turn("a", "b"));
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let told: Vec<_> =
        list.sessions.iter().map(|session| (session.prompts, session.replies, session.health.concat())).collect();
    let gone = "missing-directory";
    let expected = [
        (Some(1), Some(1), format!("{gone}torn-transcript")),
        (Some(1), Some(2), format!("{gone}bad-lines")),
        (Some(1), Some(1), gone.to_owned()),
        (Some(1), Some(1), gone.to_owned()),
    ];
    assert_eq!((told.len(), list.problems.len()), (4, 0));
    let mut by_id: Vec<_> = list.sessions.iter().map(|session| session.id.clone()).zip(told).collect();
    by_id.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(by_id.into_iter().map(|(_, told)| told).collect::<Vec<_>>(), expected);
}

#[test]
fn environment_variables_select_other_stores() {
    let world = World::new();
    let (data, logs) = (world.dir("data"), world.dir("logs"));
    world.add(Gptme::session("a-usual").turn("a", "b"));
    let put_in = |id: &str, dir: &Path| {
        let made = world.add(Gptme::session(id).turn("a", "b"));
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::rename(made, dir.join(id)).expect("a conversation");
    };
    put_in("b-data", &data.join("gptme/logs"));
    put_in("c-logs", &logs);
    let variables = |id: &str| {
        let call = world.with("XDG_DATA_HOME", &data).with("GPTME_LOGS_HOME", &logs);
        let resume = call.rejoin(["resume", id, "--json"]).json::<ResumePlan>().resume;
        (resume.set.into_keys().collect::<Vec<_>>(), resume.unset)
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(variables("a-usual"), (vec![], words(&["XDG_DATA_HOME", "GPTME_LOGS_HOME"])));
    assert_eq!(variables("b-data"), (vec![], words(&["GPTME_LOGS_HOME"])));
    assert_eq!(variables("c-logs"), (words(&["GPTME_LOGS_HOME"]), vec![]));
}

#[test]
fn delete_and_undo_cover_whole_directory() {
    let world = World::new();
    let dir = world.add(Gptme::session(ID).turn("a", "b"));
    put(&dir.join("branches/one.jsonl"), "{}\n");
    put(&dir.join("files/a.txt"), "a");
    world.add(Gptme::session("another").turn("a", "b"));
    age_tree(&world.home());
    let before = picture_of_stores(&world.home());
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(!dir.exists() && listed(&world).len() == 1);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after undo");
    world.rejoin(["cleanup", "--any-age", "--allow-all", "--yes"]).code(0);
    assert!(listed(&world).is_empty());
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after undo of a cleanup");
}
