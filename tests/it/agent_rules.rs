//! Rules that hold for every agent. `cargo test every_agent` tests all of them; with `REJOIN_AGENT=otter`, only that
//! one.
//!
//! A failure begins with `agent NAME: RULE: `, and names the reason and the page to read.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::contract::names;

/// The page for rules about code and samples.
pub(crate) const GUIDE: &str = "docs/adding-an-agent.md";

/// Returns the agents that are tested: all of them, or the one in `REJOIN_AGENT`.
pub(crate) fn chosen() -> Vec<&'static str> {
    let only = std::env::var("REJOIN_AGENT").ok();
    let chosen: Vec<&str> =
        names().iter().copied().filter(|name| only.as_deref().is_none_or(|only| only == *name)).collect();
    let hint = "docs/agents.md has no section of it, so add one";
    assert!(!chosen.is_empty(), "agent {}: {hint}; see {GUIDE}", only.unwrap_or_default());
    chosen
}

/// Returns whether every agent is tested, so that totals over all of them are complete.
pub(crate) fn are_all_chosen() -> bool {
    std::env::var_os("REJOIN_AGENT").is_none()
}

/// Tests a rule for each agent, and reports the agents that break it.
#[track_caller]
pub(crate) fn hold(rule: &str, page: &str, hold_for: impl FnMut(&'static str)) {
    hold_for_these(&chosen(), rule, page, hold_for);
}

/// Like [`hold`], for a part of the agents.
#[track_caller]
pub(crate) fn hold_for_these(agents: &[&'static str], rule: &str, page: &str, mut hold_for: impl FnMut(&'static str)) {
    let mut broken = Vec::new();
    for agent in agents {
        if let Err(why) = catch_unwind(AssertUnwindSafe(|| hold_for(agent))) {
            broken.push(format!("agent {agent}: {rule}: {}; see {page}", words(&*why)));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// Returns the message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").trim()
}

#[test]
fn error_names_agent_rule_and_page() {
    let broken = catch_unwind(|| {
        hold_for_these(&["otter", "pi"], "its session is listed", GUIDE, |agent| {
            assert!(agent == "pi", "the list is empty");
        });
    });
    let broken = broken.expect_err("a broken rule");
    assert_eq!(words(&*broken), "agent otter: its session is listed: the list is empty; see docs/adding-an-agent.md");
}

#[test]
fn every_agent_rule_is_run_by_one_command() {
    let tests = walkdir::WalkDir::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")).into_iter();
    let mut wrong = Vec::new();
    for file in tests.map(|file| file.expect("a file").into_path()).filter(|file| !file.ends_with("agent_rules.rs")) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let functions = text.split("\nfn ").skip(1);
        let rules = functions.filter(|function| function.contains("agent_rules::hold"));
        let names =
            rules.filter_map(|function| function.split('(').next()).filter(|name| !name.contains("every_agent"));
        wrong.extend(names.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(wrong.is_empty(), "name these …every_agent…, so that `cargo test every_agent` runs them: {wrong:#?}");
}
