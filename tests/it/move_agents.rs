//! A directory is renamed, and the sessions of every agent follow it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::changes::{Move, MoveMap};
use crate::contract::{DoctorReport, Finding, SessionList, Severity};
use crate::fixtures::{
    Amplifier, Claude, Codex, Copilot, Gemini, Gptme, Jido, Kimi, Leo, OldVibe, OpenHands, Pi, Qwen, Vibe, claude_slug,
    gemini_hash, id, kimi_project, openhands_id, pi_project, put, qwen_slug,
};
use crate::picture::picture_of_stores;
use crate::terminal::Seat;
use crate::undo::assert_same;
use crate::world::{World, start_of};

/// Creates a session of every agent in a directory, and returns their ids.
pub(crate) fn everyone(world: &World, dir: &Path) -> Vec<(&'static str, String)> {
    world.add(Amplifier::session(id(1)).in_dir(dir).session_info(dir).turn("x", "y"));
    let claude = Claude::session(id(2)).in_dir(dir).turn("x", "y");
    world.add(claude.subagent("agent-a1", "look", "ok").side_file("tool-results/a.txt", "a"));
    world.add(Codex::session(id(3)).in_dir(dir).turn("x", "y"));
    world.add(Copilot::session(id(4)).in_dir(dir).turn("x", "y"));
    world.add(Gemini::session(id(5)).in_dir(dir).prompt("x").reply("y"));
    world.add(Gemini::session(id(6)).in_dir(dir).hashed().document().prompt("x").reply("y"));
    world.add(Kimi::session(id(7)).in_dir(dir).turn("x", "y"));
    world.add(Pi::session(id(8)).in_dir(dir).turn("x", "y"));
    world.add(Qwen::session(id(9)).in_dir(dir).turn("x", "y"));
    world.add(Vibe::session(id(10)).in_dir(dir).turn("x", "y"));
    world.add(Jido::session(id(11)).in_dir(dir));
    let mut all: Vec<(&str, String)> =
        ["amplifier", "claude", "codex", "copilot", "gemini", "gemini", "kimi", "pi", "qwen", "vibe", "jido"]
            .into_iter()
            .zip((1..).map(id))
            .collect();
    world.add(Gptme::session("2026-02-01-fox").in_dir(dir).turn("x", "y"));
    all.push(("gptme", "2026-02-01-fox".to_owned()));
    world.add(OpenHands::session(openhands_id(1)).in_dir(dir).turn("x", "y"));
    all.push(("openhands", openhands_id(1)));
    #[cfg(feature = "sqlite")]
    {
        use crate::fixtures::{Hermes, OpenCode, hermes_id, opencode_id};
        world.add(Hermes::session(hermes_id(1)).in_dir(dir).turn("x", "y"));
        all.push(("hermes", hermes_id(1)));
        world.add(OpenCode::session(opencode_id(1)).in_dir(dir).turn("x", "y"));
        all.push(("opencode", opencode_id(1)));
    }
    all.sort();
    all
}

/// Returns the launch directory of each listed session, in order of agent and id.
pub(crate) fn launch_dirs(world: &World) -> Vec<(String, String, String)> {
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    let mut all: Vec<_> = list
        .sessions
        .iter()
        .filter(|session| session.parent_id.is_none())
        .map(|session| {
            let dir = session.launch_path().unwrap_or("none").to_owned();
            (format!("{:?}", session.agent).to_lowercase(), session.id.clone(), dir)
        })
        .collect();
    all.sort();
    all
}

fn app(world: &World) -> (PathBuf, PathBuf) {
    (world.root().join("work/app"), world.root().join("moved/the app"))
}

fn args<'a>(old: &'a Path, new: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let paths = [old, new].map(|path| path.to_str().expect("a path in UTF-8"));
    ["move"].into_iter().chain(paths).chain(more.iter().copied()).collect()
}

#[test]
fn move_and_undo_work_for_every_agents_sessions() {
    let world = World::new();
    let (old, new) = app(&world);
    let (sub, neighbour) = (old.join("src"), world.root().join("work/app2"));
    let all = everyone(&world, &old);
    world.add(Claude::session(id(30)).in_dir(&sub).turn("x", "y"));
    world.add(Claude::session(id(31)).in_dir(&neighbour).turn("x", "y"));
    world.dir("moved/the app/src");
    world.dir("work/app2");
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    let before = picture_of_stores(&world.home());

    let plan: Move = world.rejoin(args(&old, &new, &["--dry-run", "--json"])).code(0).json();
    assert_same(&before, &picture_of_stores(&world.home()), "after a dry run");
    assert_eq!(plan.items.iter().filter(|item| item.code == "moved-directory").count(), all.len() + 1);
    let done: Move = world.rejoin(args(&old, &new, &["--yes", "--json"])).code(0).json();
    assert_eq!((done.failed, done.skipped, done.fingerprint), (0, 0, plan.fingerprint));

    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let dirs = launch_dirs(&world);
    for (agent, id) in &all {
        let found: Vec<_> = dirs.iter().filter(|(of, other, _)| of == agent && other == id).collect();
        assert_eq!(found.len(), 1, "{agent}: {dirs:?}");
        assert_eq!(found[0].2, text(&new), "{agent}");
        let selector = format!("{agent}:{id}");
        let shown = world.rejoin(["show", &selector]).code(0).stdout();
        assert!(shown.contains(&text(&new)), "{shown}");
        if *agent == "jido" {
            // This agent is resumed by typing in a terminal.
            continue;
        }
        world.install(agent, "");
        // OpenCode needs the old directory until the session is imported in the new one.
        let code = if *agent == "opencode" { 7 } else { 0 };
        let answer = world.rejoin(["resume", &selector, "--print"]).code(code);
        let line = answer.stdout() + &answer.stderr();
        assert!(line.contains("moved/the app"), "{line}");
    }
    assert!(dirs.contains(&("claude".to_owned(), id(30), text(&new.join("src")))), "{dirs:?}");
    assert!(dirs.contains(&("claude".to_owned(), id(31), text(&neighbour))), "{dirs:?}");
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
    // Gemini CLI soon deletes sessions of this age.
    let is_serious = |finding: &&Finding| finding.severity != Severity::Note && finding.code != "expires-soon";
    let serious: Vec<_> = report.findings.iter().filter(is_serious).collect();
    assert!(serious.is_empty(), "{serious:?}");

    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after the undo");
    assert!(launch_dirs(&world).iter().filter(|(_, _, dir)| *dir == text(&old)).count() >= all.len());
}

#[test]
fn move_relocates_files_of_each_agent() {
    let world = World::new();
    let (old, new) = app(&world);
    everyone(&world, &old);
    world.dir("moved/the app");
    let home = world.home();
    let project = home.join(".claude/projects").join(claude_slug(&old));
    put(&project.join("cat/sessions").join(format!("{}.cwd", id(2))), old.join("src").to_str().expect("a path"));
    world.rejoin(args(&old, &new, &["--yes"])).code(0);

    let moved = home.join(".claude/projects").join(claude_slug(&new));
    let transcript = std::fs::read_to_string(moved.join(format!("{}.jsonl", id(2)))).expect("a transcript");
    let last: Value = serde_json::from_str(transcript.lines().last().expect("a line")).expect("a record");
    assert_eq!(last, json!({"type": "relocated", "relocatedCwd": new, "sessionId": id(2)}));
    assert!(moved.join(id(2)).join("subagents/agent-a1.jsonl").is_file());
    assert!(moved.join(id(2)).join("tool-results/a.txt").is_file());
    let record = std::fs::read_to_string(moved.join("cat/sessions").join(format!("{}.cwd", id(2)))).expect("a record");
    assert_eq!(Path::new(&record), new.join("src"));
    let left: Vec<_> = walkdir::WalkDir::new(&project).into_iter().filter_map(Result::ok).collect();
    assert!(left.iter().all(|entry| entry.file_type().is_dir()), "nothing is left behind: {left:?}");

    let read = |path: &str| std::fs::read_to_string(home.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let registry: Value = serde_json::from_str(&read(".gemini/projects.json")).expect("a registry");
    assert_eq!(registry["projects"], json!({(new.to_str().expect("a path")): "app"}), "it keeps its name");
    assert_eq!(Path::new(&read(".gemini/tmp/app/.project_root")), new);
    let hashed = home.join(".gemini/tmp").join(gemini_hash(&new)).join("chats");
    assert_eq!(std::fs::read_dir(&hashed).expect("chats").count(), 1);
    let session = home.join(".kimi/sessions").join(kimi_project(&new)).join(id(7));
    assert!(session.join("wire.jsonl").is_file());
    assert!(read(".kimi/kimi.json").contains("moved/the app"));
    let header = home.join(".pi/agent/sessions").join(pi_project(&new));
    let file = std::fs::read_dir(header).expect("a project").next().expect("a session").expect("an entry").path();
    let text = std::fs::read_to_string(file).expect("a session");
    let first: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("a record");
    assert_eq!(first["cwd"], json!(new));
    let chats = home.join(".qwen/projects").join(qwen_slug(&new)).join("chats");
    let text = std::fs::read_to_string(chats.join(format!("{}.jsonl", id(9)))).expect("a transcript");
    assert!(text.lines().all(|line| !line.contains("/work/app\"")), "{text}");
    assert!(read(&format!(".copilot/session-state/{}/workspace.yaml", id(4))).contains("moved/the app"));
    let meta: Value =
        serde_json::from_str(&read(&format!(".vibe/logs/session/unified/{}/meta.json", id(10)))).expect("a document");
    assert_eq!(meta["environment"]["working_directory"], json!(new));
    assert!(read(&format!(".jido_code/sessions/{}.json", id(11))).contains("moved/the app"));
    let shown = world.rejoin(["show", &format!("jido:{}", id(11))]).code(0).stdout();
    assert!(shown.contains("its signature is valid"), "{shown}");
    let session: Value = serde_json::from_str(
        &std::fs::read_to_string(
            home.join(".amplifier/projects")
                .join(crate::fixtures::amplifier_slug(&new))
                .join("sessions")
                .join(id(1))
                .join("session-info.json"),
        )
        .expect("a file"),
    )
    .expect("a document");
    assert_eq!(session["working_dir"], json!(new));
    // Moved sessions are moved again, and back.
    world.rejoin(args(&new, &old, &["--yes"])).code(0);
    assert!(launch_dirs(&world).iter().all(|(_, _, dir)| Path::new(dir) == old));
}

#[test]
fn claude_project_notes_move_with_the_last_session() {
    let world = World::new();
    let (old, new) = app(&world);
    let projects = world.home().join(".claude/projects");
    let notes = |dir: &Path| projects.join(claude_slug(dir)).join("memory/MEMORY.md");
    (1..=2).for_each(|n| drop(world.add(Claude::session(id(n)).in_dir(&old).turn("x", "y"))));
    put(&notes(&old), "use tabs");
    let before = picture_of_stores(&world.home());
    world.rejoin(args(&old, &new, &["--yes", "--session", &id(1)])).code(0);
    assert!(notes(&old).is_file() && !notes(&new).exists(), "one of its sessions is still there");
    world.rejoin(args(&old, &new, &["--yes"])).code(0);
    assert_eq!(std::fs::read_to_string(notes(&new)).expect("notes"), "use tabs");
    assert!(!notes(&old).exists());
    world.rejoin(["undo"]).code(0);
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after both");
    put(&notes(&new), "use spaces");
    world.rejoin(args(&old, &new, &["--yes"])).code(0);
    assert_eq!(std::fs::read_to_string(notes(&new)).expect("notes"), "use spaces", "what is there is not written over");
    assert_eq!(std::fs::read_to_string(notes(&old)).expect("notes"), "use tabs");
}

#[test]
fn move_distinguishes_directories_with_same_slug() {
    let world = World::new();
    let (dotted, dashed, new) = (world.dir("work/a.b"), world.dir("work/a-b"), world.dir("work/c"));
    for (number, dir) in [(1, &dotted), (2, &dashed)] {
        world.add(Claude::session(id(number)).in_dir(dir).turn("x", "y"));
        world.add(Qwen::session(id(number)).in_dir(dir).turn("x", "y"));
    }
    let other = picture_of(&world, &id(2));
    world.rejoin(args(&dotted, &new, &["--yes"])).code(0);
    let dirs = launch_dirs(&world);
    for (_, found, dir) in &dirs {
        let expected = if *found == id(1) { &new } else { &dashed };
        assert_eq!(Path::new(dir), expected, "{dirs:?}");
    }
    assert_eq!(picture_of(&world, &id(2)), other);
    // Between these two, neither the project nor the file changes.
    world.rejoin(args(&dashed, &dotted, &["--yes", "--agent", "claude"])).code(0);
    let dirs = launch_dirs(&world);
    assert!(dirs.contains(&("claude".to_owned(), id(2), dotted.display().to_string())), "{dirs:?}");
    let file = world.home().join(".claude/projects").join(claude_slug(&dashed)).join(format!("{}.jsonl", id(2)));
    assert!(std::fs::read_to_string(file).expect("a transcript").contains("relocated"));
}

/// Returns every file with an id in its name, with its bytes.
fn picture_of(world: &World, id: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let stores = picture_of_stores(&world.home());
    let of = stores.into_iter().filter(|(path, _)| path.to_string_lossy().contains(id));
    of.map(|(path, (_, _, _, bytes))| (path, bytes)).collect()
}

#[test]
fn move_keeps_sessions_already_in_new_directory() {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    let all = everyone(&world, &old);
    for fixture in [20, 21] {
        world.add(Claude::session(id(fixture)).in_dir(&new).turn("x", "y"));
        world.add(Gemini::session(id(fixture)).in_dir(&new).prompt("x").reply("y"));
        world.add(Kimi::session(id(fixture)).in_dir(&new).turn("x", "y"));
    }
    let before = picture_of_stores(&world.home());
    let own = picture_of(&world, &id(20));
    world.rejoin(args(&old, &new, &["--yes"])).code(0);
    assert_eq!(picture_of(&world, &id(20)), own);
    let dirs = launch_dirs(&world);
    assert_eq!(dirs.iter().filter(|(_, _, dir)| Path::new(dir) == new).count(), all.len() + 6, "{dirs:?}");
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &picture_of_stores(&world.home()), "after the undo");
}

#[test]
fn move_skips_session_with_copy_elsewhere() {
    let world = World::new();
    let (old, other, new) = (world.root().join("work/app"), world.dir("work/other"), world.dir("work/new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(1)).in_dir(&other).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&old).turn("x", "y"));
    let done: Move = world.rejoin(args(&old, &new, &["--yes", "--json"])).code(3).json();
    assert_eq!(done.not_planned.len(), 1);
    assert!(done.not_planned[0].reason.contains("rejoin delete claude:"), "{:?}", done.not_planned);
    assert!(launch_dirs(&world).contains(&("claude".to_owned(), id(2), new.display().to_string())));

    // Copies in two stores both move.
    let second = world.home().join(".claude-work");
    let session = || Claude::session(id(3)).in_dir(&old).turn("x", "y");
    world.add(session());
    world.add(session().config_dir(&second));
    world.rejoin(args(&old, &new, &["--yes", "--session", &id(3)])).code(0);
    for root in [world.home().join(".claude"), second] {
        assert!(root.join("projects").join(claude_slug(&new)).join(format!("{}.jsonl", id(3))).is_file());
    }
}

#[test]
fn move_skips_session_in_use() {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&old).turn("x", "y"));
    let pid = std::process::id();
    let registration = json!({"pid": pid, "sessionId": id(1), "cwd": old});
    put(&world.home().join(".claude/sessions").join(format!("{pid}.json")), registration.to_string());
    let answer = world.rejoin(args(&old, &new, &["--yes"])).code(3);
    let stdout = answer.stdout();
    assert!(
        stdout.contains(&format!("left  claude {}", id(1))) && stdout.contains("1 session moved, 1 left as it is."),
        "{stdout}"
    );
    let dirs = launch_dirs(&world);
    assert_eq!(dirs[0].2, old.display().to_string());
    assert_eq!(dirs[1].2, new.display().to_string());
}

#[test]
fn move_handles_nested_linked_and_unusual_directories() {
    // If the worlds are in memory, this directory is on another file system.
    let on_disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let on_disk = on_disk.path().canonicalize().expect("a directory").join("app");
    for (old, new) in [
        ("work/app", "work/app/sub"),
        ("work/app/sub", "work/app"),
        ("work/App", "work/app"),
        ("work/ünï \"q\" $HOME", "work/it's: a #b"),
        ("work/app", on_disk.to_str().expect("a path in UTF-8")),
    ] {
        let world = World::new();
        let (old, new) = (world.root().join(old), world.root().join(new));
        let all = everyone(&world, &old);
        std::fs::create_dir_all(&new).expect("a directory");
        let before = picture_of_stores(&world.home());
        // Hermes goes back to the directory of a session that still exists.
        let left = usize::from(old.is_dir() && cfg!(feature = "sqlite"));
        world.rejoin(args(&old, &new, &["--yes"])).code(if left > 0 { 3 } else { 0 });
        let dirs = launch_dirs(&world);
        assert_eq!(dirs.iter().filter(|(_, _, dir)| Path::new(dir) == new).count(), all.len() - left, "{dirs:?}");
        world.rejoin(["undo"]).code(0);
        assert_same(&before, &picture_of_stores(&world.home()), "after the undo");
    }
    // The typed old path contains a link, and so does the new one.
    let world = World::new();
    let real = world.dir("real");
    std::os::unix::fs::symlink(&real, world.root().join("link")).expect("a link");
    world.add(Claude::session(id(1)).in_dir(real.join("old")).turn("x", "y"));
    world.dir("real/new");
    world.rejoin(args(&world.root().join("link/old"), &world.root().join("link/new"), &["--yes"])).code(0);
    assert_eq!(launch_dirs(&world)[0].2, real.join("new").display().to_string());
}

#[test]
fn map_moves_every_directory_below_prefix() {
    let world = World::new();
    let here = world.dir("workspace");
    for (number, name) in [(1, "one"), (2, "two/deep")] {
        world.add(Claude::session(id(number)).in_dir(Path::new("/workspace").join(name)).turn("x", "y"));
        std::fs::create_dir_all(here.join(name)).expect("a directory");
    }
    let map = format!("/workspace={}", here.display());
    world.rejoin(["move", "--map", &map, "--yes"]).code(0);
    let dirs: Vec<String> = launch_dirs(&world).into_iter().map(|(_, _, dir)| dir).collect();
    assert_eq!(dirs, ["one", "two/deep"].map(|name| here.join(name).display().to_string()));
}

#[test]
fn move_changes_unrelated_records_only_on_request() {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    let global = format!("{{\"n\": 1.10, \"projects\": {{ \"{}\": {{\"trust\": true}} }}}}", old.display());
    put(&world.home().join(".claude.json"), &global);
    let history = format!("{{\"display\":\"x\",\"project\":\"{}\"}}\n", old.display());
    put(&world.home().join(".claude/history.jsonl"), &history);
    let read = |name: &str| std::fs::read_to_string(world.home().join(name)).expect("a file");
    world.rejoin(args(&old, &new, &["--yes"])).code(0);
    assert_eq!((read(".claude.json"), read(".claude/history.jsonl")), (global.clone(), history.clone()));
    world.rejoin(["undo"]).code(0);
    world.rejoin(args(&old, &new, &["--yes", "--all-references"])).code(0);
    let renamed = |text: &str| text.replace(&*old.to_string_lossy(), &new.to_string_lossy());
    assert_eq!((read(".claude.json"), read(".claude/history.jsonl")), (renamed(&global), renamed(&history)));
}

#[test]
fn move_updates_pointers_and_records_in_directory() {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Leo::pointer(&new, &id(1)));
    let pointer = new.join(".agent_session.json");
    let text = std::fs::read_to_string(&pointer).expect("a pointer").replace("work/new", "work/app");
    put(&pointer, &text);
    let record = new.join(".claude/cat/sessions").join(format!("{}.cwd", id(1)));
    put(&record, old.join("src").to_str().expect("a path"));
    world.rejoin(args(&old, &new, &["--yes"])).code(0);
    assert_eq!(std::fs::read_to_string(&pointer).expect("a pointer"), text.replace("work/app", "work/new"));
    assert_eq!(std::fs::read_to_string(&record).expect("a record"), new.join("src").display().to_string());
    world.rejoin(["undo"]).code(0);
    assert_eq!(std::fs::read_to_string(&pointer).expect("a pointer"), text);
}

#[test]
fn move_takes_only_named_sessions_and_their_subagents() {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&old).turn("x", "y"));
    world.add(OldVibe::session(id(3)).in_dir(&old).turn("x", "y"));
    let before = launch_dirs(&world);
    let done: Move =
        world.rejoin(args(&old, &new, &["--yes", "--session", &id(1), "--session", &id(3), "--json"])).code(0).json();
    let mut moved: Vec<_> = done.items.iter().filter_map(|item| item.id.clone()).collect();
    moved.sort();
    assert_eq!(moved, [id(1), id(3)]);
    let after = launch_dirs(&world);
    assert_eq!(before.len(), after.len());
    assert!(after.contains(&("claude".to_owned(), id(2), old.display().to_string())));
    let none = world.rejoin(args(&old, &new, &["--yes", "--agent", "pi"])).code(5);
    assert!(none.stderr().contains("no session was started in"), "{}", none.stderr());
    assert!(!none.stderr().contains("rejoin move"), "{}", none.stderr());
}

#[test]
fn mistyped_directory_suggests_closest() {
    let world = World::new();
    let (plain, new) = (world.dir("work/plain"), world.dir("new place"));
    world.add(Claude::session(id(1)).in_dir(&plain).turn("x", "y"));
    let typed = world.root().join("work/plian");
    let stderr = world.rejoin(["move".as_ref(), typed.as_os_str(), new.as_os_str(), "--yes".as_ref()]).code(5).stderr();
    let closest = format!("`rejoin move {} '{}'`  (1 session)", plain.display(), new.display());
    assert!(stderr.contains("the closest directories are:\n      ") && stderr.contains(&closest), "{stderr}");
}

#[test]
fn move_refuses_invalid_arguments() {
    let world = World::new();
    let dir = world.dir("work/app");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    let before = picture_of_stores(&world.home());
    let new = world.root().join("work/new");
    for (args, code, words) in [
        (args(&dir, &new, &[]), 2, "--yes"),
        (args(&dir, &dir, &["--yes"]), 2, "name the old directory, then the new one"),
        (vec!["move", "/x"], 2, "NEW_DIR"),
        (vec!["move"], 2, "OLD_DIR"),
        (vec!["move", "--map", "x=y", "--yes"], 2, "absolute"),
        (args(&dir, &new, &["--apply", "abcdefabcdef"]), 4, "the plan has changed"),
    ] {
        let answer = world.rejoin(&args);
        assert!(answer.exit().is_some_and(|exit| exit == code || code == 4), "{args:?} {:?}", answer.exit());
        assert!(answer.stderr().contains(words), "{args:?} {}", answer.stderr());
    }
    assert_same(&before, &picture_of_stores(&world.home()), "nothing was changed");
    // A directory that does not exist yet is named; the sessions are not moved until it does.
    let answer = world.rejoin(args(&dir, &new, &["--yes"])).code(0);
    assert!(answer.stderr().contains("does not exist yet"), "{}", answer.stderr());
}

#[test]
fn move_refuses_two_new_paths_for_one_directory() {
    let world = World::new();
    let (dir, link) = (world.dir("work/app"), world.root().join("link"));
    crate::fixtures::link(&dir, &link);
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    let before = picture_of_stores(&world.home());
    let (dir, link) = (dir.display().to_string(), link.display().to_string());
    let maps = |from: &str| [format!("{dir}=/new/a"), format!("{from}=/new/b")];
    for from in [&dir, &format!("{dir}/"), &link] {
        let [one, two] = maps(from);
        for verb in [&["move", "--yes"][..], &["restore", "nope"], &["sync"]] {
            let refused = world.rejoin(verb.iter().chain(&["--map", &one, "--map", &two])).code(2).stderr();
            let both = format!("{dir} to /new/a, and {from} to /new/b");
            assert!(refused.contains(&both), "{verb:?} {refused}");
        }
    }
    let file = world.root().join("moves");
    put(&file, format!("\"{dir}\" -> \"/new/a\"\n\"{dir}\" -> \"/new/b\"\n"));
    let file = file.to_str().expect("a path");
    let refused = world.rejoin(["move", "--apply", file]).code(2).stderr();
    assert!(refused.contains("/new/a, and "), "{refused}");
    assert_same(&before, &picture_of_stores(&world.home()), "nothing was changed");
    // A repeated pair is not a contradiction.
    put(Path::new(file), format!("\"{dir}\" -> \"/new/a\"\n\"{dir}/\" -> \"/new/a/\"\n"));
    world.rejoin(["move", "--apply", file]).code(0);
}

#[test]
fn list_includes_earlier_paths_and_worktrees() {
    let world = World::new().keeping();
    let (old, new, tree) = (world.dir("work/app"), world.dir("work/new"), world.dir("work/tree"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&tree).turn("x", "y"));
    let git = new.join(".git/worktrees/tree");
    put(&git.join("gitdir"), format!("{}\n", tree.join(".git").display()));
    put(&tree.join(".git"), format!("gitdir: {}\n", git.display()));
    world.rejoin(args(&old, &new, &["--yes", "--session", &id(1)])).code(0);
    let marks = |dir: &Path| {
        let dir = dir.to_str().expect("a path");
        let lines = world.rejoin(["list", "--dir", dir, "--fields", "id,marks"]).code(0).stdout();
        let mut marks: Vec<String> = lines.lines().map(|line| line.replace('\t', " ")).collect();
        marks.sort();
        marks
    };
    let line = |number, mark: &str| format!("{} {mark}", id(number));
    assert_eq!(marks(&new), [line(1, ""), line(2, "earlier place"), line(3, "worktree")]);
    assert_eq!(marks(&tree), [line(1, "worktree"), line(3, "")]);
}

#[test]
fn detect_writes_moves_to_a_file_for_apply() {
    let world = World::new();
    let root = world.root().to_owned();
    for (number, dir) in [(1, "work/app"), (2, "work/app/src"), (3, "trees/feature"), (4, "work/lost")] {
        world.add(Claude::session(id(number)).in_dir(root.join(dir)).turn("x", "y"));
    }
    world.add(Claude::session(id(5)).in_dir(world.dir("repo/src")).turn("x", "y"));
    world.dir("trees");
    world.dir("work/archive/app/src");
    put(&root.join("repo/.git/worktrees/feature/gitdir"), format!("{}\n", root.join("trees/feature/.git").display()));

    let proposed = world.rejoin(["move", "--detect"]).code(0).stdout();
    let lines: Vec<String> = proposed.lines().map(|line| line.replace(&*root.to_string_lossy(), "")).collect();
    assert_eq!(
        lines,
        [
            "# Save this with `rejoin move --detect > moves`, edit it, and run `rejoin move --apply moves`.",
            "\"/trees/feature\" -> \"/repo\"  # 1 session; the main checkout of that worktree",
            "\"/work/app\" -> \"/work/archive/app\"  # 2 sessions; a directory of the same name near where it was",
            &format!("# \"/work/lost\" -> \"NEW_DIR\"  # 1 session; {}/work: the nearest parent that still exists", ""),
        ]
    );
    let home = world.home();
    let elsewhere = world.rejoin(["--home", home.to_str().expect("a path"), "move", "--detect"]).code(0).stdout();
    for rest in ["move --detect > moves`", "move --apply moves`"] {
        assert!(elsewhere.contains(&format!("`rejoin --home {} {rest}", home.display())), "{elsewhere}");
    }
    let plan: MoveMap = world.rejoin(["move", "--detect", "--json"]).code(0).json();
    let counts: Vec<(bool, u64)> =
        plan.directories.iter().map(|directory| (directory.to.is_some(), directory.sessions)).collect();
    assert_eq!(counts, [(true, 1), (true, 2), (false, 1)]);

    let file = root.join("moves");
    put(&file, proposed.replace("# \"", "\"").replace("NEW_DIR", &root.join("repo/src").to_string_lossy()));
    world.rejoin(["move", "--apply", file.to_str().expect("a path")]).code(0);
    let dirs: Vec<String> = launch_dirs(&world).into_iter().map(|(_, _, dir)| dir).collect();
    let expected = ["work/archive/app", "work/archive/app/src", "repo", "repo/src", "repo/src"];
    assert_eq!(dirs, expected.map(|dir| root.join(dir).display().to_string()));
    let after = world.rejoin(["move", "--detect"]).code(0).stdout();
    assert_eq!(after, "# The directory of every session exists.\n");

    for (text, words) in [("/a -> /b\n", "line 1 is not"), ("# nothing\n", "names no directories")] {
        put(&file, text);
        let answer = world.rejoin(["move", "--apply", file.to_str().expect("a path")]).code(2);
        assert!(answer.stderr().contains(words), "{}", answer.stderr());
    }
}

#[test]
#[cfg(feature = "sqlite")]
fn detect_finds_renamed_checkout_by_commits() {
    use crate::fixtures::{OpenCode, opencode_id};
    let world = World::new();
    let root = world.root().to_owned();
    let commit = |letters: &str| letters.repeat(20);
    let has =
        |dir: &str, commit: &str| put(&root.join(dir).join(".git/objects").join(&commit[..2]).join(&commit[2..]), "");
    let git = json!({"commit_hash": commit("ab"), "branch": "main"});
    world.add(Codex::session(id(1)).in_dir(root.join("work/shop")).meta("git", git).turn("x", "y"));
    let tool = OpenCode::session(opencode_id(2)).in_dir(root.join("work/tool")).of_project(&commit("cd"));
    world.add(tool.turn("x", "y"));
    let git = json!({"repository_url": "git@h:ana/lib"});
    world.add(Codex::session(id(3)).in_dir(root.join("work/lib")).meta("git", git).turn("x", "y"));
    // The other checkout nearby is not evidence for the missing directory.
    has("work/other", &commit("ef"));
    has("work/market", &commit("ab"));
    has("work/forge", &commit("cd"));
    put(&root.join("work/deep/library/.git/config"), "[remote \"origin\"]\n\turl = git@h:ana/lib\n");

    let plan: MoveMap = world.rejoin(["move", "--detect", "--json"]).code(0).json();
    let told: Vec<(String, &str)> = plan
        .directories
        .iter()
        .map(|directory| {
            (directory.to.as_deref().unwrap_or_default().replace(&*root.to_string_lossy(), ""), &*directory.why)
        })
        .collect();
    let by_commit = "a checkout that has a commit at which a session began there";
    let by_root = "a checkout with the same first commit";
    assert_eq!(
        told,
        [
            ("/work/deep/library".to_owned(), "a checkout of the same git remote"),
            ("/work/market".to_owned(), by_commit),
            ("/work/forge".to_owned(), by_root),
        ]
    );
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code(4).json();
    let remedies: Vec<&str> =
        report.findings.iter().flat_map(|finding| &finding.remedies).map(|it| &*it.command).collect();
    let ready = format!("rejoin move {0}/work/shop {0}/work/market", root.display());
    assert!(remedies.contains(&ready.as_str()), "{remedies:#?}");

    // The repository that a session recorded at its start is not evidence for a directory in which it worked later.
    let git = json!({"commit_hash": commit("ab"), "branch": "main"});
    let strayed = Codex::session(id(5)).in_dir(root.join("work/market")).meta("git", git).turn("x", "y");
    world.add(strayed.cd(root.join("work/never")).turn("x", "y"));
    let plan: MoveMap = world.rejoin(["move", "--detect", "--json"]).code(0).json();
    let never = plan.directories.iter().find(|directory| directory.from.ends_with("never")).expect("a directory");
    assert_eq!(never.to, None, "{}", never.why);

    // With a second checkout of that commit, neither is proposed.
    has("clone", &commit("ab"));
    world.add(Claude::session(id(4)).in_dir(world.dir("clone")).turn("x", "y"));
    let plan: MoveMap = world.rejoin(["move", "--detect", "--json"]).code(0).json();
    let shop = plan.directories.iter().find(|directory| directory.from.ends_with("shop")).expect("a directory");
    assert_eq!(shop.to, None);
    assert!(shop.why.contains("/clone") && shop.why.contains("/market"), "{}", shop.why);
}

#[test]
fn confirmation_of_large_move_counts_sessions() {
    let world = World::with_agents();
    let (old, new) = (world.dir("old"), world.dir("new"));
    for n in 1..=20 {
        world.add(Claude::session(id(n)).in_dir(&old).turn("x", "y"));
    }
    world.add(Claude::session(id(21)).in_dir(&old).turn("x", "y"));
    let pid = std::process::id();
    let registration = json!({"pid": pid, "sessionId": id(21), "procStart": start_of(pid)});
    put(&world.home().join(format!(".claude/sessions/{pid}.json")), registration.to_string());
    let args = ["move", old.to_str().expect("a path"), new.to_str().expect("a path")];
    // A pipe gets every session, a terminal their number.
    let plan = world.rejoin(args.iter().chain(&["--dry-run"])).code(3).stdout();
    assert_eq!(plan.matches("would move  claude ").count(), 20, "{plan}");
    let plan = world.on_terminal(100, args.iter().chain(&["--dry-run"])).code(3).stdout();
    assert!(
        plan.starts_with("Moving: claude 20.\n") && plan.contains(&format!("  claude {}  it is in use", id(21))),
        "{plan}"
    );
    let all = world.on_terminal(100, args.iter().chain(&["--dry-run", "--all-items"])).code(3).stdout();
    assert_eq!(all.matches("would move  claude ").count(), 20, "{all}");

    let mut command = world.from(world.root().join("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(args).args(["--color", "never"]);
    let mut seat = Seat::run(&command, 200, 30);
    seat.sees("Moving: claude 20.");
    seat.sees(&format!("Staying: claude {}", id(21)));
    seat.sees("[y/N] ");
    seat.types("y\r");
    let (status, screen) = seat.ends();
    assert_eq!(status, Some(3), "{screen}");
    assert!(screen.contains("20 sessions moved, 1 left as it is.") && !screen.contains(&id(2)), "{screen}");
}

#[test]
fn move_keeps_records_of_other_sessions() {
    for args_of in [["--session", "1"], ["--agent", "pi"]] {
        let world = World::new();
        let (old, new) = (world.dir("work/app"), world.dir("work/new"));
        world.add(Claude::session(id(2)).in_dir(&old).turn("x", "y"));
        world.add(Leo::pointer(&old, &id(2)));
        let record = old.join(".claude/cat/sessions").join(format!("{}.cwd", id(2)));
        put(&record, old.join("src").to_str().expect("a path"));
        let pointer = std::fs::read_to_string(old.join(".agent_session.json")).expect("a pointer");
        world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
        world.add(Pi::session(id(3)).in_dir(&old).turn("x", "y"));
        let [option, value] = args_of;
        let value = if value == "1" { id(1) } else { value.to_owned() };
        world.rejoin(args(&old, &new, &[option, &value, "--yes"])).code(0);
        assert_eq!(std::fs::read_to_string(&record).expect("a record"), old.join("src").display().to_string());
        assert_eq!(std::fs::read_to_string(old.join(".agent_session.json")).expect("a pointer"), pointer);
        // Other agents still have sessions in the directory.
        world.rejoin(args(&old, &new, &["--agent", "qwen", "--yes"])).code(5);
        assert_eq!(std::fs::read_to_string(old.join(".agent_session.json")).expect("a pointer"), pointer);
    }
}
