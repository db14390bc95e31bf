//! Records that are very long, that follow a byte order mark, or that have a byte that is not UTF-8: every agent's log
//! is read as the agent reads it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::fixtures::{Claude, age, id};
use crate::ordinary;
use crate::world::{MAX_KIB, World, tries_every_case};

/// Length of the data in a long record, longer than the longest line that is read unchanged.
const DATA: usize = 9 << 20;
/// Agents that refuse a whole log for a byte that is not UTF-8.
const REFUSES_BYTES: [&str; 1] = ["amplifier"];

/// Returns the agents in the row of a table of docs/agents.md.
fn documented(row: &str) -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents.md")).expect("a page");
    let line = page.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect("a row");
    let agents = line.split('|').nth(2).expect("a column");
    agents.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
}

/// Returns the logs in a home that contain a text.
fn logs(home: &Path, text: &str) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(home).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    logs.filter(|path| std::fs::read_to_string(path).is_ok_and(|log| log.contains(text))).collect()
}

/// Returns the messages and their numbers.
fn messages_of(world: &World, id: &str) -> Value {
    let shown: Value = world.rejoin(["show", id, "--counts", "--transcript", "--json"]).code(0).json();
    let text = json!([shown["messages"], shown["session"]["prompts"], shown["session"]["replies"]]).to_string();
    text.replace('\u{fffd}', "").parse().expect("JSON")
}

#[test]
fn every_agent_reads_long_records() {
    agent_rules::hold(
        "a long record, a byte order mark and a byte that is not UTF-8 are read as the agent reads them",
        "docs/agents.md (Large and damaged records)",
        |agent| {
            let mut faults: Vec<String> = Vec::new();
            let world = World::with_agents();
            let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
            if !can_be_read || !ordinary::write(agent, &world) || ["leo", "aider"].contains(&agent) {
                return;
            }
            let [session] = <[_; 1]>::try_from(world.rejoin(["list", "--json"]).sessions()).expect("one session");
            let prompt = session.first_prompt.clone().expect("a prompt");
            let logs = logs(&world.home(), &prompt);
            let before = messages_of(&world, &session.id);
            if logs.is_empty() {
                return;
            }
            let texts: Vec<Vec<u8>> = logs.iter().map(|log| std::fs::read(log).expect("a log")).collect();
            for case in ["a long record", "a byte order mark", "a byte"] {
                for (log, text) in logs.iter().zip(&texts) {
                    let mut text = text.clone();
                    let at = memchr::memmem::find(&text, prompt.as_bytes()).expect("the prompt");
                    match case {
                        "a long record" => {
                            let end = at + memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - at) - 1;
                            text.splice(end..end, format!(",\"blob\":\"{}\"", "A".repeat(DATA)).into_bytes());
                        }
                        "a byte order mark" => _ = text.splice(0..0, "\u{feff}".bytes()),
                        _ => text.insert(at + prompt.len(), 0xff),
                    }
                    std::fs::write(log, text).expect("a log");
                    age(log);
                }
                let mut fault = |what: &str, detail: String| faults.push(format!("{agent}: {case}: {what}: {detail}"));
                let after = messages_of(&world, &session.id);
                if after != before {
                    fault("show", format!("{after} is not {before}"));
                }
                let listed = world.rejoin(["list", "--json"]).sessions();
                if listed
                    .first()
                    .and_then(|one| one.first_prompt.as_deref())
                    .is_none_or(|text| !text.starts_with(&prompt))
                {
                    fault("list", format!("{listed:?}"));
                }
                let found = world.rejoin(["search", "--exact", &prompt, "--format", "tsv"]).stdout();
                if !found.contains(&session.id) {
                    fault("search", found);
                }
                let checked = world.rejoin(["doctor", "--check", "bad-lines", "--json"]);
                let is_refused = case == "a byte" && REFUSES_BYTES.contains(&agent);
                if checked.stdout().contains("\"bad-lines\"") != is_refused {
                    fault("doctor", checked.stdout());
                }
            }
            assert!(faults.is_empty(), "{}", faults.join(", "));
            let other =
                ["a document", "a database"].iter().find(|row| documented(row).iter().any(|name| name == agent));
            assert_eq!(other, None, "its session is a log, and the table has it in another row");
        },
    );
}

/// Adds a prompt with a result of a tool: some MB of a text with a word at its end.
fn append_result(path: &Path, part: &str, megabytes: usize) {
    let text = std::fs::read_to_string(path).expect("a transcript");
    let mut record: Value = text.lines().last().expect("a record").parse().expect("JSON");
    let result = format!("{} and the viaduct", part.repeat(megabytes * 1_000_000 / part.len()));
    record["type"] = json!("user");
    record["message"] =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]});
    record["uuid"] = json!("last");
    std::fs::write(path, format!("{text}{record}\n")).expect("a transcript");
    age(path);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads memory figures of Linux")]
fn line_of_100_megabytes_needs_little_memory() {
    let world = World::new();
    for (n, part, megabytes) in
        [(1, "iVBORw0KGgo", 100), (2, "a line of a log\n", if tries_every_case() { 100 } else { 20 })]
    {
        append_result(
            &world.add(Claude::session(id(n)).turn("begin", "begun").turn("finish", "finished")),
            part,
            megabytes,
        );
    }
    let measured = |args: &[&str]| {
        let (answer, peak) = world.measured(args);
        assert!((1..MAX_KIB).contains(&peak), "{args:?}: {peak} KiB");
        answer.code(0)
    };
    let counted: Value = measured(&["show", &id(1), "--counts", "--json"]).json();
    assert_eq!([&counted["session"]["prompts"], &counted["session"]["replies"]], [&json!(2), &json!(2)]);
    let shown = measured(&["show", &id(1), "--transcript"]).stdout();
    assert!(shown.contains("bytes left out by rejoin] and the viaduct") && shown.contains("finished"), "{shown}");
    let last = measured(&["show", &id(2), "--messages", "1"]).stdout();
    assert!(last.contains("a line of a log") && last.contains("bytes of text left out by rejoin]"));
    let found = measured(&["search", "--exact", "viaduct"]);
    assert!(found.stdout().contains(&id(1)) && !found.stdout().contains(&id(2)), "{}", found.stdout());
    assert!(found.stderr().contains("not searched to its end"), "{}", found.stderr());
    let listed = measured(&["list"]).stdout();
    assert_eq!(listed.matches("begin").count(), 2, "{listed}");
}
