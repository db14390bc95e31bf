//! Homes with symbolic links: the target of a link is read once, as if it were in place of the link, and changed as a
//! dry run shows.

use std::collections::BTreeSet;
use std::os::unix::fs::{lchown, symlink};
use std::path::{Path, PathBuf};

use crate::contract::{SessionList, names};
use crate::facts::copy_tree;
use crate::fixtures::{Amplifier, Claude, age_tree, claude_slug, id, put};
use crate::ordinary;
use crate::world::{Answer, World, stride};

/// Creates an ordinary session of each agent in a separate world, for agents that have one.
fn worlds() -> impl Iterator<Item = (&'static str, World)> {
    names().iter().filter_map(|agent| {
        let world = World::new();
        ordinary::write(agent, &world).then_some((*agent, world))
    })
}

/// The fields of each session in a list, without its place and size.
fn listed(answer: &Answer) -> BTreeSet<String> {
    let list: SessionList = answer.json();
    assert!(list.problems.is_empty(), "{}", answer.stderr());
    let say = |session: crate::contract::Session| {
        let dir = session.launch_dir.map(|dir| dir.path);
        format!("{} {} {:?} {dir:?} {} copies", session.agent, session.id, session.title, session.copies.len())
    };
    list.sessions.into_iter().map(say).collect()
}

fn list(world: &World) -> BTreeSet<String> {
    listed(&world.rejoin(["list", "--all", "--json"]).code(0))
}

/// Moves everything at a depth below the home elsewhere and leaves links; returns the number of links.
fn link_at(world: &World, depth: usize) -> usize {
    let home = world.home();
    let found: Vec<PathBuf> = walkdir::WalkDir::new(&home)
        .min_depth(depth)
        .max_depth(depth)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| !entry.path_is_symlink() && entry.file_name() != "app" && entry.file_name() != "workspace")
        .map(walkdir::DirEntry::into_path)
        .collect();
    for path in &found {
        let there = world.root().join("linked").join(path.strip_prefix(&home).expect("a path below the home"));
        std::fs::create_dir_all(there.parent().expect("a directory")).expect("a directory");
        std::fs::rename(path, &there).expect("a move");
        symlink(&there, path).expect("a link");
    }
    found.len()
}

/// The arguments for a dry run, and those for the change.
type Pair<'a> = (Vec<&'a str>, Vec<&'a str>);

/// Runs a dry run and the change, and compares them: the same items, or the same refusal.
fn do_as_a_dry_run_says(world: &World, agent: &str, session: &str) -> Vec<String> {
    let name = format!("{agent}:{session}");
    let pairs: [Pair<'_>; 3] = [
        (vec!["rename", &name, "Another title", "--dry-run"], vec!["rename", &name, "Another title"]),
        (vec!["delete", &name, "--dry-run"], vec!["delete", &name, "--yes"]),
        (
            vec!["cleanup", "--older-than", "1d", "--allow-all", "--agent", agent, "--dry-run"],
            vec!["cleanup", "--older-than", "1d", "--allow-all", "--agent", agent, "--yes"],
        ),
    ];
    let mut faults = Vec::new();
    for (dry, run) in pairs {
        let (dry, run) = (world.rejoin(&dry), world.rejoin(&run));
        // If a dry run leaves items alone, the change leaves the same ones.
        let is_refused = |answer: &Answer| answer.exit() != Some(0) || answer.stdout().contains("left  ");
        if is_refused(&dry) != is_refused(&run) || run.stdout().contains("skipped") {
            faults.push(format!("{agent}\n{}{}\n{}{}", dry.stdout(), dry.stderr(), run.stdout(), run.stderr()));
        }
        if run.stdout().contains("undo") {
            world.rejoin(["undo"]).code(0);
        }
    }
    faults
}

#[test]
fn links_change_neither_list_nor_dry_runs() {
    let mut faults = Vec::new();
    for (number, (agent, plain)) in worlds().enumerate() {
        let expected = list(&plain);
        let doctor = plain.rejoin(["doctor", "--all-findings"]).exit();
        for depth in (1 + number % stride(3)..).step_by(stride(3)) {
            let world = World::new();
            copy_tree(&plain.home(), &world.home());
            age_tree(&world.home());
            if link_at(&world, depth) == 0 && depth > 1 {
                break;
            }
            let found = list(&world);
            if found != expected {
                faults.push(format!("{agent}, links {depth} below the home: {found:?}, not {expected:?}"));
                continue;
            }
            let now = world.rejoin(["doctor", "--all-findings"]);
            if now.exit() != doctor {
                faults.push(format!("{agent}, links {depth} below the home: {}{}", now.stdout(), now.stderr()));
            }
            let sessions = world.rejoin(["list", "--all", "--json"]).sessions();
            for session in sessions.iter().filter(|session| session.agent.to_string() == agent) {
                let found = do_as_a_dry_run_says(&world, agent, &session.id);
                faults.extend(found.into_iter().map(|fault| format!("links {depth} below the home: {fault}")));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// The variables that select the stores of agents, each with the default path.
const STORES: [(&str, &str); 15] = [
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CLINE_DIR", ".cline"),
    ("CODEX_HOME", ".codex"),
    ("CONTINUE_GLOBAL_DIR", ".continue"),
    ("COPILOT_HOME", ".copilot"),
    ("GEMINI_CLI_HOME", "."),
    ("GPTME_LOGS_HOME", ".local/share/gptme/logs"),
    ("HERMES_HOME", ".hermes"),
    ("KIMI_CODE_HOME", ".kimi-code"),
    ("KIMI_SHARE_DIR", ".kimi"),
    ("GROK_HOME", ".grok"),
    ("QODER_CONFIG_DIR", ".qoder"),
    ("QWEN_HOME", ".qwen"),
    ("VIBE_HOME", ".vibe"),
    ("XDG_DATA_HOME", ".local/share"),
];

#[test]
fn store_with_two_paths_has_no_duplicate_copies() {
    let mut faults = Vec::new();
    for (agent, world) in worlds() {
        let expected = list(&world);
        let links = world.dir("links");
        let mut call = world.from(world.dir("elsewhere"));
        for (variable, usual) in STORES {
            let link = links.join(variable);
            symlink(world.home().join(usual), &link).expect("a link");
            call = call.with(variable, &link);
        }
        let found = listed(&call.rejoin(["list", "--all", "--json"]).code(0));
        if found != expected {
            faults.push(format!("{agent}: {found:?}, not {expected:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Creates two accounts that share one directory of projects, and another one that shares one project.
fn shared_projects() -> (World, PathBuf) {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays":365}"#);
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("plan the release", "Planned."));
    for dir in [".claude-work", ".claude-third/projects"] {
        std::fs::create_dir_all(world.home().join(dir)).expect("a directory");
    }
    symlink("../.claude/projects", world.home().join(".claude-work/projects")).expect("a link");
    symlink("../../.claude/projects/-usr-bin", world.home().join(".claude-third/projects/-usr-bin")).expect("a link");
    (world, path)
}

#[test]
fn accounts_with_shared_projects_have_one_copy() {
    let (world, path) = shared_projects();
    let session = id(1);
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!((listed.len(), listed[0].copies.len()), (1, 1));
    let shown = world.rejoin(["show", &session]).code(0).stdout();
    assert!(shown.contains(&*path.to_string_lossy()), "{shown}");
    assert!(world.rejoin(["doctor", "--all-findings"]).code(0).stdout().contains("No problems found"));
    assert!(world.rejoin(["delete", &session, "--copy", "1"]).code(7).stderr().contains("no other copy"));
    assert!(path.is_file());
    let agents = world.on_terminal(160, ["agents"]).code(0).stdout();
    for account in [".claude-third", ".claude-work"] {
        let note = format!("claude shares sessions in ~/.claude with ~/{account} through links");
        assert!(agents.contains(&note), "{agents}");
    }
    assert!(world.rejoin(["archive", "--every"]).code(0).stdout().contains("1 session archived"));
    world.rejoin(["rename", &session, "Another title"]).code(0);
    world.rejoin(["cleanup", "--older-than", "1d", "--allow-all", "--yes"]).code(0);
    assert!(!path.exists());
    world.rejoin(["undo"]).code(0);
    let moved = world.rejoin(["move", "--map", "/usr/bin=/usr/lib", "--yes"]).code(0).stdout();
    assert!(moved.contains("1 session moved") && !path.exists(), "{moved}");
    assert!(world.home().join(".claude/projects/-usr-lib").join(format!("{session}.jsonl")).is_file());
    world.rejoin(["delete", &session, "--yes"]).code(0);
    assert!(world.rejoin(["list", "--all", "--json"]).code(0).sessions().is_empty());
}

#[test]
fn list_shows_session_of_linked_transcript_once() {
    let world = World::with_agents();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays":365}"#);
    let history = world.home().join("history/projects");
    let projects = world.home().join(".claude/projects");
    for (n, name) in [(1, "shop"), (2, "blog"), (3, "cart")] {
        world.add(Claude::session(id(n)).in_dir(world.dir(name)).turn(&format!("about the {name}"), "Yes."));
    }
    std::fs::create_dir_all(&history).expect("a directory");
    let slug = |name: &str| claude_slug(world.root().join(name));
    std::fs::rename(projects.join(slug("shop")), history.join("shop")).expect("a move");
    symlink(history.join("shop"), projects.join(slug("shop"))).expect("a link");
    symlink(slug("blog"), projects.join(slug("weblog"))).expect("a link");
    let cart = projects.join(slug("cart")).join(format!("{}.jsonl", id(3)));
    std::fs::rename(&cart, history.join("cart.jsonl")).expect("a move");
    symlink(history.join("cart.jsonl"), &cart).expect("a link");
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.iter().map(|session| session.copies.len()).collect::<Vec<_>>(), [1, 1, 1]);
    for (n, name) in [(1, "shop"), (2, "blog"), (3, "cart")] {
        assert!(world.rejoin(["search", &format!("about the {name}")]).code(0).stdout().contains(&id(n)[..8]));
        let resumed = world.rejoin(["resume", &id(n), "--print"]).code(0).stdout();
        assert!(resumed.contains(&format!("/{name} && ")) && resumed.contains(&id(n)), "{resumed}");
    }
    assert!(world.rejoin(["doctor", "--all-findings"]).code(0).stdout().contains("No problems found"));
    assert!(world.rejoin(["archive", "--every"]).code(0).stdout().contains("3 sessions archived"));
    // The target of a link is not changed through the link, and a dry run reports that.
    for (n, link) in [(1, &projects.join(slug("shop"))), (3, &cart)] {
        let session = id(n);
        let refusal = format!("{} is a link that leads out of the store", link.display());
        for args in [
            &["delete", &session, "--dry-run"][..],
            &["delete", &session, "--yes"],
            &["rename", &session, "Another title", "--dry-run"],
            &["rename", &session, "Another title"],
        ] {
            assert!(world.rejoin(args).code(7).stderr().contains(&refusal), "{args:?}");
        }
        let map = format!("{0}/{1}={0}/elsewhere", world.root().display(), if n == 1 { "shop" } else { "cart" });
        for args in [["move", "--map", &map, "--dry-run"], ["move", "--map", &map, "--yes"]] {
            let left = world.rejoin(args);
            assert!((left.stdout() + &left.stderr()).contains(&refusal), "{args:?} {}", left.stdout());
        }
    }
    world.rejoin(["delete", &id(2), "--yes"]).code(0);
}

#[test]
fn session_with_linked_subagent_outlives_its_link() {
    let world = World::new();
    let app = world.dir("app");
    let old = Claude::session(id(1)).in_dir(&app).at("2025-11-01T10:00:00Z").turn("count the nests", "Twelve.");
    let old = world.add(old.subagent("agent-a1", "survey the heronry", "Twelve nests of avocets."));
    let new = world.add(Claude::session(id(2)).in_dir(&app).turn("count the nests", "Twelve."));
    // A session that continues another in the background links to the transcripts of the sub-agents that still run
    // (anthropics/claude-code 79764).
    let subagents = |log: &Path| log.with_extension("").join("subagents");
    std::fs::create_dir_all(subagents(&new)).expect("a directory");
    symlink(subagents(&old).join("agent-a1.jsonl"), subagents(&new).join("agent-a1.jsonl")).expect("a link");
    age_tree(&world.home());

    let refused = world.rejoin(["delete", &id(1), "--yes"]).code(7).stderr();
    assert!(
        refused.contains(&format!("claude session {} has a link to its files; remove that one first", id(2))),
        "{refused}"
    );
    let kept = world.rejoin(["cleanup", "--older-than", "30d", "--dry-run"]).code(0).stdout();
    assert!(kept.contains("1 parent of a kept session") && !kept.contains("would remove"), "{kept}");
    assert!(world.rejoin(["search", "avocets", "--all"]).code(0).stdout().contains("agent-a1"));
    world.rejoin(["delete", &id(1), &id(2), "--yes"]).code(0);
    assert!(!old.exists() && !new.exists());
}

#[test]
fn backfill_refuses_link() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let project = session.ancestors().nth(2).expect("a project");
    std::fs::rename(project, world.root().join("shared")).expect("a move");
    symlink(world.root().join("shared"), project).expect("a link");
    for args in [&["backfill", "--every", "--dry-run"][..], &["backfill", "--every"], &["doctor", "--fix"]] {
        let refused = world.rejoin(args);
        let output = refused.stdout() + &refused.stderr();
        assert!(output.contains("is a link that leads out of the store"), "{args:?}: {output}");
        assert!(!session.join("session-info.json").exists());
    }
}

#[test]
fn list_ignores_link_of_project() {
    let world = World::new();
    let app = world.dir("app");
    put(&world.home().join("secret"), "# aider chat started at 2026-02-01 10:00:00\n\n#### the secret\n");
    put(&world.home().join(".aider/installs.json"), "{}");
    world.add(Claude::session(id(1)).in_dir(&app).turn("a", "b"));
    symlink(world.home().join("secret"), app.join(".aider.chat.history.md")).expect("a link");
    std::fs::create_dir(app.join(".crush")).expect("a directory");
    symlink(world.home().join("secret"), app.join(".crush/crush.db")).expect("a link");
    let listed = world.from(&app).rejoin(["list", "--all", "--json"]);
    assert_eq!(listed.sessions().len(), 1);
    assert!(listed.stderr().contains("it is a link in a project, which is not followed"), "{}", listed.stderr());
    assert!(!world.from(&app).rejoin(["search", "the secret"]).stdout().contains("the secret"));
}

#[test]
fn agents_and_doctor_name_unfollowed_links() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let projects = world.home().join(".claude/projects");
    symlink(world.root().join("unplugged/history"), projects.join("-gone")).expect("a link");
    symlink("..", projects.join("-loop")).expect("a link");
    let mut not_followed = vec!["-gone", "-loop"];
    let others = world.dir("of-others");
    symlink(&others, projects.join("-others")).expect("a link");
    if lchown(&others, Some(12_345), None).is_ok() {
        not_followed.push("-others");
    }
    for args in [&["agents"][..], &["doctor"], &["list"]] {
        let answer = world.rejoin(args).code_is_one_of(&[0, 3, 4]);
        let output = answer.stdout() + &answer.stderr();
        for name in &not_followed {
            assert!(output.contains(&format!(".claude/projects/{name}: it is a link to ")), "{args:?}: {output}");
        }
    }
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);
    // Another account that shares the projects adds no new sessions.
    std::fs::create_dir(world.home().join(".claude-work")).expect("a directory");
    symlink("../.claude/projects", world.home().join(".claude-work/projects")).expect("a link");
    for args in [&["agents"][..], &["doctor", "--all-findings"], &["list"]] {
        let answer = world.rejoin(args);
        let output = answer.stdout() + &answer.stderr();
        assert_eq!(output.matches("unplugged/history, which does not exist").count(), 1, "{args:?}: {output}");
    }
}

#[test]
fn list_reads_linked_home() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let link = world.root().join("another-home");
    symlink(world.home(), &link).expect("a link");
    let home = Path::new("--home");
    let listed = world.rejoin([home, &link, Path::new("list"), Path::new("--json")]).code(0).sessions();
    assert_eq!(listed.len(), 1);
}
