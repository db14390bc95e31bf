//! Agents whose files were never measured: rejoin reads, archives and resumes their sessions, and changes none.

use crate::agent_rules;
use crate::agents::{NEEDS_SQLITE, ONLY_READ};
use crate::contract::changes::{Cleanup, KeptFor};
use crate::contract::{DoctorReport, Session};
use crate::ordinary;
use crate::picture::picture_of_stores;
use crate::world::World;

/// The text in every refusal.
const WHY: &str = "were never measured, so rejoin only reads its sessions";

/// Writes the ordinary session of an agent; `None` if this build cannot read it.
fn ordinary_session(world: &World, agent: &str) -> Option<Session> {
    let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
    let is_there = can_be_read && ordinary::write(agent, world);
    is_there.then(|| world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0))
}

#[test]
fn every_agent_stays_unchanged_if_only_read() {
    agent_rules::hold("nothing is changed if its files were never measured", "docs/agents.md", |agent| {
        let world = World::new();
        let Some(session) = ordinary_session(&world, agent) else { return };
        let (id, before) = (&session.id, picture_of_stores(&world.home()));
        if !ONLY_READ.contains(&agent) {
            let deleted = world.rejoin(["delete", id, "--yes", "--dry-run"]);
            assert!(!(deleted.stdout() + &deleted.stderr()).contains(WHY), "{agent} is not in ONLY_READ");
            return;
        }
        let dir = session.launch_path().expect("a directory");
        let elsewhere = world.dir("elsewhere");
        let elsewhere = elsewhere.to_str().expect("a path in UTF-8");
        let refused = |args: &[&str], code: i32| {
            let answer = world.rejoin(args).code(code);
            let output = answer.stdout() + &answer.stderr();
            assert!(output.contains(WHY), "{args:?}: {output}");
        };
        refused(&["delete", id, "--yes"], 7);
        refused(&["delete", id, "--yes", "--via-agent"], 7);
        refused(&["rename", id, "Another title"], 7);
        refused(&["move", dir, elsewhere, "--agent", agent, "--yes"], 3);
        world.rejoin(["rewind", id]).code(7);
        for policy in
            [&["--any-age"][..], &["--older-than", "1d"], &["--max-total", "0"], &["--any-age", "--via-agent"]]
        {
            let args = [&["cleanup", "--agent", agent, "--allow-all", "--yes", "--json"], policy].concat();
            let done: Cleanup = world.rejoin(args).code(0).json();
            // The size of rows in a database is unknown, so they never exceed a limit.
            let kept = u64::from(policy[0] != "--max-total" || !NEEDS_SQLITE.contains(&agent));
            assert!(done.items.is_empty() && done.kept(KeptFor::OnlyRead) >= kept, "{policy:?}: {done:#?}");
        }
        let stdout = world.rejoin(["cleanup", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
        assert!(stdout.contains("1 of an agent whose files were never measured"), "{stdout}");
        let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
        let changing =
            |command: &String| ["--fix", "delete", "cleanup", "move"].iter().any(|verb| command.contains(verb));
        let commands = report.findings.iter().flat_map(|found| found.remedies.iter().map(|remedy| &remedy.command));
        assert!(!commands.into_iter().any(changing), "{:?}", report.findings);
        world.rejoin(["doctor", "--fix"]).code_is_one_of(&[0, 4]);
        assert_eq!(before, picture_of_stores(&world.home()));

        world.rejoin(["export", id, "--format", "markdown"]).code(0);
        world.rejoin(["archive", id]).code(0);
        assert_eq!(before, picture_of_stores(&world.home()));
    });
}

#[test]
fn page_of_every_agent_says_if_read_only() {
    let page = include_str!("../../docs/agents.md");
    let part = |agent: &str| {
        let (_, part) = page.split_once(&format!("\n* **`{agent}` sessions**")).expect("a section");
        part.split("\n## ").next().expect("a section").to_owned()
    };
    let (_, table) = page.split_once("\n## Agents that rejoin only reads\n").expect("a part");
    let rows = table.split("\n## ").next().expect("a part").lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows, ONLY_READ.len() + 2, "a row of each agent, below the names of the columns");
    agent_rules::hold("its section says whether it was measured", "docs/agents.md", |agent| {
        assert_eq!(part(agent).contains("read, not measured"), ONLY_READ.contains(&agent));
    });
}
