//! Directories of Windows, seen from here: absolute, never searched for below the caller's directory, and compared as
//! on Windows.

use std::path::Path;

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::{DoctorReport, names};
use crate::fixtures::{Claude, id, put};
use crate::ordinary;
use crate::world::{World, is_tried};

/// Agents that store sessions in their directory, so that it cannot be a Windows directory here.
const IN_PROJECTS: [&str; 2] = ["aider", "crush"];
const FOREIGN: [&str; 3] = [r"C:\Users\ana\shop", "C:/Users/ana/shop", r"\\server\share\shop"];

/// Lists and shows sessions of an agent that record one of these directories. In a sample, each agent has one of the
/// directories.
fn check_foreign_dirs(agent: &str, dirs: &[&str], look: impl Fn(&str, &str, &World)) {
    let number = names().iter().position(|name| *name == agent).unwrap_or_default();
    let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
    if !can_be_read || IN_PROJECTS.contains(&agent) {
        return;
    }
    for (_, dir) in dirs.iter().enumerate().filter(|(at, _)| is_tried(number + at, dirs.len())) {
        let world = World::with_agents();
        assert!(ordinary::write_in(agent, &world, dir), "{agent}");
        // A directory that a search below the caller's directory would find.
        std::fs::create_dir_all(world.dir("elsewhere").join(dir.trim_start_matches('\\'))).expect("a directory");
        std::fs::create_dir_all(world.dir("elsewhere").join(dir)).expect("a directory");
        look(agent, dir, &world);
    }
}

#[test]
fn windows_directory_is_missing_for_every_agent() {
    agent_rules::hold("a directory of Windows is gone, wherever rejoin is started", agent_rules::GUIDE, |agent| {
        check_foreign_dirs(agent, &FOREIGN, |agent, dir, world| {
            let list = world.from(world.dir("elsewhere")).rejoin(["list", "--agent", agent, "--all", "--json"]);
            let sessions = list.code(0).sessions();
            let [session] = sessions.as_slice() else { panic!("{agent}: {} sessions", sessions.len()) };
            assert_eq!(session.launch_path(), Some(dir), "{agent}");
            assert_eq!(session.launch_dir.as_ref().and_then(|dir| dir.exists), Some(false), "{agent} {dir}");
            assert!(session.health.contains(&"missing-directory".to_owned()), "{agent}: {:?}", session.health);
            let resume = world.from(world.dir("elsewhere")).rejoin(["resume", &session.id, "--print"]);
            assert_eq!(resume.exit(), Some(7), "{agent}: {}{}", resume.stdout(), resume.stderr());
            let here = world.from(world.dir("elsewhere"));
            let report: DoctorReport = here.rejoin(["doctor", "--all-findings", "--json"]).json();
            for finding in &report.findings {
                let text = format!("{:?}", finding.remedies.iter().map(|remedy| &remedy.command).collect::<Vec<_>>());
                assert!(!text.contains("mkdir"), "{agent}: {text}");
            }
            for same in [dir.to_owned(), dir.to_lowercase(), dir.replace('\\', "/").replacen("//", r"\\", 1)] {
                let listed = world.rejoin(["list", "--agent", agent, "--all", "--dir", &same, "--json"]).sessions();
                assert_eq!(listed.len(), 1, "{agent} {same}");
            }
        })
    });
}

#[test]
fn relative_directory_of_every_agent_is_not_evidence() {
    agent_rules::hold("a relative directory is not evidence", agent_rules::GUIDE, |agent| {
        check_foreign_dirs(agent, &["shop", "./shop", r"C:shop", r"\shop"], |agent, dir, world| {
            let list = world.from(world.dir("elsewhere")).rejoin(["list", "--agent", agent, "--all", "--json"]);
            for session in list.code(0).sessions() {
                let recorded = session.launch_path().filter(|recorded| !Path::new(recorded).is_absolute());
                assert_eq!(recorded, None, "{agent}");
                assert_ne!(session.launch_dir.as_ref().and_then(|dir| dir.exists), Some(true), "{agent} {dir}");
            }
        })
    });
}

/// Creates a world with sessions of one directory in two spellings, and of one below it.
fn windows() -> World {
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir(r"C:\Users\ana\shop").turn("one", "Yes."));
    world.add(Claude::session(id(2)).in_dir(r"c:\Users\ana\shop").turn("two", "Yes."));
    world.add(Claude::session(id(3)).in_dir(r"D:\other").turn("three", "Yes."));
    world
}

#[test]
fn move_maps_windows_directory_and_subdirectories() {
    let world = windows();
    let new = world.dir("ana");
    std::fs::create_dir(new.join("shop")).expect("a directory");
    let map = format!(r"C:\Users\ana={}", new.display());
    world.rejoin(["move", "--map", &map, "--yes"]).code(0);
    for session in world.rejoin(["list", "--all", "--json"]).code(0).sessions() {
        let expected =
            if session.id == id(3) { r"D:\other".to_owned() } else { new.join("shop").display().to_string() };
        assert_eq!(session.launch_path(), Some(&*expected), "{}", session.id);
    }
    world.rejoin(["resume", &id(2), "--print"]).code(0);
    world.rejoin(["undo"]).code(0);
    let listed = world.rejoin(["list", "--dir", r"c:\users\ANA", "--json"]).code(0).sessions();
    assert_eq!(listed.len(), 2);
}

#[test]
fn move_maps_windows_directory_for_every_agent() {
    agent_rules::hold("its sessions follow a directory of Windows", agent_rules::GUIDE, |agent| {
        check_foreign_dirs(agent, &FOREIGN[..1], |agent, _, world| {
            let new = world.dir("ana");
            std::fs::create_dir(new.join("shop")).expect("a directory");
            let map = format!(r"c:\users\ana={}", new.display());
            let moved = world.rejoin(["move", "--map", &map, "--yes"]).code_is_one_of(&[0, 3]);
            let session = world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0);
            if moved.exit() == Some(0) {
                assert_eq!(session.launch_path(), new.join("shop").to_str(), "{agent}: {}", moved.stdout());
                assert!(!session.health.contains(&"misfiled-session".to_owned()), "{agent}: {}", moved.stdout());
                let project = session.project.clone().unwrap_or_default();
                assert!(!project.contains("Users"), "{agent} stays in {project}: {}", moved.stdout());
            }
        })
    });
}

#[test]
fn move_accepts_plan_of_detect() {
    let world = windows();
    let plan = world.rejoin(["move", "--detect"]).code(0).stdout();
    assert!(plan.contains("# 2 sessions") && plan.matches(r#""C:\\Users"#).count() == 1, "{plan}");
    assert!(!plan.contains(r#""c:\\Users"#), "{plan}");
    let new = world.dir("shop");
    let reviewed = plan.replace("# \"C:", "\"C:").replace("NEW_DIR", new.to_str().expect("a path"));
    let file = world.root().join("moves");
    put(&file, reviewed);
    world.rejoin(["move", "--apply", file.to_str().expect("a path")]).code(0);
    let listed = world.rejoin(["list", "--dir", new.to_str().expect("a path"), "--json"]).code(0).sessions();
    assert_eq!(listed.len(), 2);
}

/// Tests a home that is mounted into a container: `/workspaces/shop` in it is one of two directories here.
#[test]
fn move_names_two_candidates_with_reasons() {
    let world = World::new();
    let (known, other) = (world.home().join("code/shop"), world.home().join("old/x/Shop"));
    for dir in [&known, &other] {
        std::fs::create_dir_all(dir).expect("a directory");
    }
    let gone = "/workspaces/shop";
    world.add(Claude::session(id(1)).in_dir(gone).turn("made in the container", "y"));
    world.add(Claude::session(id(2)).in_dir(&known).turn("made on the host", "y"));
    let words = [
        "a directory of the same name, ignoring case, in which another session worked",
        "a directory of the same name, ignoring case",
    ];
    let name = format!("claude:{}", id(1));
    let lines: Vec<String> =
        [&known, &other]
            .iter()
            .zip(words)
            .map(|(dir, why)| format!("`rejoin resume {name} --print --in {}`  ({why})", dir.display()))
            .chain([&known, &other].iter().zip(words).map(|(dir, why)| {
                format!("`rejoin move {gone} {}`  (lets the session follow to {why})", dir.display())
            }))
            .collect();
    let refused = world.rejoin(["resume", &id(1), "--print"]).code(7).stderr();
    let places: Vec<usize> = lines.iter().filter_map(|line| refused.find(line)).collect();
    assert_eq!(places.len(), lines.len(), "{lines:#?}\n{refused}");
    assert!(places.is_sorted(), "the best one is first: {refused}");

    let report: DoctorReport = world.rejoin(["doctor", "--check", "missing-directory", "--json"]).code(4).json();
    let commands: Vec<&str> = report.findings[0].remedies.iter().map(|remedy| &*remedy.command).collect();
    for dir in [&known, &other] {
        assert!(commands.contains(&&*format!("rejoin move {gone} {}", dir.display())), "{commands:#?}");
    }
    let detected = world.rejoin(["move", "--detect"]).code(0).stdout();
    let line = detected.lines().find(|line| line.contains(gone)).expect("a line");
    assert!(line.starts_with("# ") && line.contains("~/code/shop: ") && line.contains("~/old/x/Shop: "), "{line}");
    // Each printed command works.
    world.rejoin(["resume", &id(1), "--in", other.to_str().expect("a path"), "--print"]).code(0);
    world.rejoin(["move", gone, other.to_str().expect("a path"), "--yes"]).code(0);
    let moved = world.rejoin(["list", "--dir", other.to_str().expect("a path"), "--json"]).code(0).sessions();
    assert_eq!(moved.len(), 1);
}

#[test]
fn wsl_directory_is_own_path_in_its_distribution() {
    let world = World::with_agents();
    let dir = world.dir("shop");
    let named = |server: &str| format!(r"\\{server}\Ubuntu{}", dir.display().to_string().replace('/', r"\"));
    let (new, old) = (named("wsl.localhost"), named("wsl$"));
    world.add(Claude::session(id(1)).in_dir(&new).turn("through Windows 11", "Yes."));
    world.add(Claude::session(id(2)).in_dir(&old).turn("through Windows 10", "Yes."));
    let in_wsl = |distribution: &str| world.from(&dir).with("WSL_DISTRO_NAME", distribution);
    let listed = |distribution: &str, args: &[&str]| {
        let args = [&["list", "--json"], args].concat();
        in_wsl(distribution).rejoin(args).code(0).sessions().len()
    };
    // The two names of the server are equal everywhere, this path only in the distribution.
    for distribution in ["", "ubuntu", "Debian"] {
        assert_eq!(listed(distribution, &["--dir", &old]), 2, "{distribution}");
        let here = if distribution == "ubuntu" { 2 } else { 0 };
        assert_eq!(listed(distribution, &["--here"]), here, "{distribution}");
        let detected = in_wsl(distribution).rejoin(["move", "--detect"]).code(0).stdout();
        let line = detected.lines().find(|line| line.contains("wsl")).expect("a line");
        let (begin, end) = match distribution {
            "ubuntu" => ("\"", "2 sessions; that directory, as this WSL distribution names it"),
            "" => ("\"", "2 sessions; the directory of that path on this system"),
            _ => ("# ", "2 sessions"),
        };
        assert!(line.starts_with(begin) && line.ends_with(end), "{distribution} {line}");
    }
    let refused = in_wsl("Ubuntu").rejoin(["resume", ".", "--print"]).code(7).stderr();
    assert!(refused.lines().nth(2).is_some_and(|first| first.contains("`rejoin move ")), "{refused}");
    let moves = world.root().join("moves");
    put(&moves, in_wsl("Ubuntu").rejoin(["move", "--detect"]).code(0).stdout());
    in_wsl("Ubuntu").rejoin(["move", "--apply", moves.to_str().expect("a path")]).code(0);
    let printed = in_wsl("Ubuntu").rejoin(["resume", ".", "--print"]).code(0).stdout();
    assert!(printed.starts_with(&format!("cd {} && ", dir.display())), "{printed}");
}
