//! Aider's histories: one file per project, found in the directories of other sessions, and trusted only if git shows
//! that it did not come with the repository.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::contract::{Details, Kind, ResumePlan, Session, SessionList};
use crate::facts::{copy_tree, corpus};
use crate::fixtures::{Aider, Claude, age_tree, id, put};
use crate::picture::{differences, picture};
use crate::undo::delete_and_undo;
use crate::world::World;

fn show(world: &World, path: &Path) -> Details {
    world.rejoin(["show", path.to_str().expect("a path"), "--transcript", "--json"]).code(0).json()
}

fn said(details: Details) -> Vec<String> {
    details.messages.expect("messages").into_iter().map(|message| message.text).collect()
}

/// Lists the sessions that are found from a directory.
fn seen_from(world: &World, dir: &Path, args: &[&str]) -> Vec<Session> {
    world.from(dir).rejoin([&["list", "--json"], args].concat()).code(0).sessions()
}

#[test]
fn history_file_is_one_session() {
    let world = World::new();
    let app = world.dir("home/app");
    let history = Aider::history()
        .turn("fix it\n\n\tplease", "Done.\n\n> not mine\n#### nor this")
        .raw("> Applied edit to x  \n\n");
    let history =
        history.start("2026-02-02 11:00:00", "aider --restore-chat-history --message a\n#### b\n> c").prompt("/run ls");
    let path = history.raw("> litellm.BadRequestError: 400  \n").write_in_repository(&app);
    let details = show(&world, &path);
    let session = &details.session;
    assert_eq!((session.id.as_str(), session.kind), (path.to_str().expect("a path"), Kind::Main));
    assert_eq!((session.first_prompt.as_deref(), session.title.as_deref()), (Some("fix it\n\n\tplease"), None));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(1)));
    assert_eq!((session.launch_path(), session.start_dir.as_deref()), (app.to_str(), None));
    assert_eq!((session.last_dir.as_deref(), session.model.as_deref()), (app.to_str(), Some("p/model-a")));
    assert_eq!(session.active_source.as_deref(), Some("mtime"));
    assert!(session.created_at.is_some() && session.health.is_empty(), "{:?}", session.health);
    let expected = [
        "fix it\n\n\tplease",
        "Done.\n\n> not mine\n#### nor this",
        "Applied edit to x",
        "/run ls",
        "litellm.BadRequestError: 400",
    ];
    assert_eq!(said(details), expected);
}

#[test]
fn list_finds_histories_in_known_and_given_directories() {
    let world = World::new();
    let dirs: Vec<PathBuf> =
        ["worked", "here", "asked", "nowhere"].map(|name| world.dir(&format!("home/{name}"))).into();
    for dir in &dirs {
        Aider::history().turn("look", "ok").write_in_repository(dir);
    }
    world.add(Claude::session(id(1)).in_dir(dirs[0].join("src")).turn("c", "d"));
    let found = |args: &[&str]| -> Vec<String> {
        let sessions =
            seen_from(&world, &dirs[1], args).into_iter().filter(|session| session.agent.to_string() == "aider");
        let mut found: Vec<String> =
            sessions.map(|session| session.launch_path().expect("a path").to_owned()).collect();
        found.sort();
        found
    };
    let path = |n: usize| dirs[n].to_str().expect("a path").to_owned();
    assert_eq!(found(&[]), [path(1)], "the directory of the caller, and Aider has never run here");
    put(&world.home().join(".aider/installs.json"), "{}");
    assert_eq!(found(&[]), [path(1), path(0)], "and the root above the one in which a session worked");
    assert_eq!(found(&["--agent", "claude"]), Vec::<String>::new());
    assert_eq!(found(&["--dir", &path(2)]), [path(2)]);
    assert_eq!(seen_from(&world, &dirs[1].join("."), &["--agent", "aider"]).len(), 2);
    let agents: Value = world.from(&dirs[1]).rejoin(["agents", "--agent", "aider", "--json"]).code(0).json();
    let store = &agents["stores"][0];
    assert_eq!((&store["sessions"], store["size_bytes"].as_u64() > Some(0)), (&2.into(), true), "{agents}");
}

#[test]
fn resume_starts_in_directory_of_history() {
    let world = World::new();
    world.install("aider", "");
    let (app, other) = (world.dir("home/app"), world.dir("home/other"));
    let path = Aider::history().turn("look", "ok").write_in_repository(&app);
    let name = path.to_str().expect("a path");
    let plan: ResumePlan = world.rejoin(["resume", name, "--json"]).plan();
    assert_eq!(plan.resume.argv, ["aider", "--restore-chat-history", "--chat-history-file", ".aider.chat.history.md"]);
    for dir in [app.to_str().expect("a path").to_owned(), format!("aider:{}", app.display())] {
        assert_eq!(world.rejoin(["resume", &dir, "--json"]).plan().resume.argv, plan.resume.argv, "by its directory");
    }
    world.rejoin(["resume", &format!("aider:{name}"), "--prompt", "-go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[4..].to_vec(), launch.cwd), (vec!["--message=-go on".to_owned()], app));
    let refused = world.rejoin(["resume", name, "--in", other.to_str().expect("a path")]).code(7);
    let hint = format!("`aider --restore-chat-history --chat-history-file {name}`");
    assert!(refused.stderr().contains(&hint), "{}", refused.stderr());
    assert!(world.launched().is_none());
}

#[test]
fn resume_of_foreign_history_needs_trust() {
    let no_repository: fn(&Path) = |_| {};
    let tracked: fn(&Path) =
        |dir| put(&dir.join(".git/index"), b"DIRC\0\0\0\x02\0\0\0\x01..\x16.aider.chat.history.md\0\0");
    let cut_names: fn(&Path) = |dir| put(&dir.join(".git/index"), b"DIRC\0\0\0\x04\0\0\0\x01....");
    let below_a_root: fn(&Path) =
        |dir| put(&dir.parent().expect("a parent").join(".git/HEAD"), "ref: refs/heads/main\n");
    for (n, lay_out) in [no_repository, tracked, cut_names, below_a_root].into_iter().enumerate() {
        let world = World::new();
        world.install("aider", "");
        let cloned = world.dir("home/cloned/app");
        let path = Aider::history().turn("look", "I have checked it all").write_in(&cloned);
        lay_out(&cloned);
        world.add(Claude::session(id(1)).in_dir(&cloned).at("2026-01-01T10:00:00Z").turn("mine", "yes"));
        let sessions = seen_from(&world, &cloned, &[]);
        assert_eq!(sessions.len(), 2);
        let planted = sessions.iter().find(|session| session.id != id(1)).expect("the history");
        assert_eq!(planted.health, ["planted"], "{n}");
        let latest: Details = world.from(&cloned).rejoin(["show", "latest", "--json"]).code(0).json();
        assert_eq!(latest.session.id, id(1), "{n}");
        world.from(&cloned).rejoin(["show", "latest", "--agent", "aider"]).code(5);
        let name = path.to_str().expect("a path");
        world.rejoin(["resume", name]).code(7);
        assert!(world.launched().is_none());
        world.rejoin(["resume", name, "--trust"]).code(0);
        assert_eq!(world.launched().expect("a launch").cwd, cloned);
    }
}

#[test]
fn reader_trusts_history_missing_from_git_index() {
    let world = World::new();
    let (app, tree) = (world.dir("home/app"), world.dir("home/tree"));
    let index = b"DIRC\0\0\0\x02\0\0\0\x01....README.md\0";
    put(&app.join(".git/index"), index);
    put(&app.join(".git/worktrees/tree/index"), index);
    put(&tree.join(".git"), format!("gitdir: {}\n", app.join(".git/worktrees/tree").display()));
    for dir in [&app, &tree] {
        let path = Aider::history().turn("look", "ok").write_in(dir);
        assert_eq!(show(&world, &path).session.health, Vec::<String>::new());
    }
}

#[test]
fn delete_and_undo_work_but_cleanup_keeps_history() {
    let world = World::new();
    let app = world.dir("home/app");
    let path = Aider::history().turn("look", "ok").write_in(&app);
    put(&world.home().join(".aider/installs.json"), "{}");
    let cleaned = world.from(&app).rejoin(["cleanup", "--older-than", "1d", "--dry-run"]).code(0).stdout();
    assert!(!cleaned.contains("aider"), "{cleaned}");
    let name = format!("aider:{}", path.display());
    delete_and_undo(&world, &name);

    world.rejoin(["archive", &name]).code(0);
    age_tree(&app);
    let before = picture(&app);
    assert_eq!(before.len(), 3, "the directory, what was said, and what was typed");
    std::fs::remove_dir_all(&app).expect("a removed directory");
    let shown = world.rejoin(["show", &name, "--transcript"]).code(0).stdout();
    assert!(shown.contains("look") && shown.contains("ok"), "from the archive: {shown}");
    // An archive alone must not decide which project is written to.
    let refused = world.rejoin(["restore", &name, "--keep-times"]).code(7);
    let dir = app.to_str().expect("a path");
    assert!(refused.stderr().contains(&format!("--to-store {dir}")), "{}", refused.stderr());
    world.rejoin(["restore", &name, "--keep-times", "--to-store", dir]).code(0);
    let mut after = picture(&app);
    after.insert(PathBuf::new(), before[Path::new("")].clone());
    assert_eq!(differences(&before, &after), Vec::<String>::new());
}

#[test]
fn damaged_history_hides_no_other() {
    let world = World::new();
    let here = world.dir("home/here");
    let above = here.parent().expect("a parent").to_owned();
    let damaged = [&b""[..], b"\0\xff\n# aider chat started at \xff\n", b"# Notes\n\n#### a  \n"];
    for (n, text) in (1..).zip(damaged) {
        let dir = above.join(format!("damaged-{n}"));
        put(&dir.join(".aider.chat.history.md"), text);
        world.add(Claude::session(id(n)).in_dir(dir).turn("a", "b"));
    }
    put(&world.home().join(".aider/installs.json"), "{}");
    std::fs::create_dir_all(above.join("dir/.aider.chat.history.md")).expect("a directory");
    world.add(Claude::session(id(99)).in_dir(above.join("dir")).turn("a", "b"));
    Aider::history().turn("look", "ok").raw("#### cut").write_in_repository(&here);
    let list: SessionList =
        world.from(&here).rejoin(["list", "--agent", "aider", "--all", "--counts", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.problems.len()), (4, 1), "{:?}", list.problems);
    let of_kind = |kind| list.sessions.iter().filter(|session| session.kind == kind).count();
    assert_eq!((of_kind(Kind::Empty), of_kind(Kind::Main)), (1, 3));
    let whole = list.sessions.iter().find(|session| session.first_prompt.is_some()).expect("the whole one");
    assert_eq!((whole.prompts, whole.launch_path()), (Some(1), here.to_str()));
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn real_histories_match_recorded_facts() {
    let Some(folder) = corpus("aider") else {
        println!("skipped: there is no ../shared/corpus/aider beside the checkout");
        return;
    };
    let world = World::new();
    copy_tree(&folder.join("home"), &world.home());
    let home = world.home().display().to_string();
    let facts = std::fs::read_to_string(folder.join("facts.jsonl")).expect("facts");
    let mut held = 0;
    for fact in facts.lines().map(|line| serde_json::from_str::<Value>(line).expect("a fact")) {
        let path = fact["id"].as_str().expect("an id").replacen("/home/ana", &home, 1);
        // The directory of a file by `--chat-history-file` is unknown.
        if !path.ends_with("/.aider.chat.history.md") {
            continue;
        }
        let shown = world.rejoin(["show", &path, "--json"]).code(0).stdout();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let session = &shown["session"];
        for key in ["last_dir", "git_branch", "title", "first_prompt", "prompts", "replies", "parent_id", "model"] {
            let Some(expected) = fact.get(key) else { continue };
            let found = &session[key];
            let here = found.as_str().map(|text| Value::from(text.replacen(&home, "/home/ana", 1)));
            assert_eq!(&here.unwrap_or_else(|| found.clone()), expected, "{path}: {key}");
            held += 1;
        }
    }
    assert!(held > 50, "only {held} facts");
}
