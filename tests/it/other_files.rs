//! Facts that an agent stores apart from its session files: names, archive marks, lists of prompts, indexes.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent_rules;
use crate::contract::search::Search;
use crate::contract::{Details, DoctorReport, Session};
use crate::fixtures::{Claude, age_tree, id, lines, put};
use crate::ordinary;
use crate::world::World;

const DIR: &str = "/usr/bin";

/// Returns the files in which each agent names sessions, with an entry of a session without files, as in the table of
/// agents.md.
fn lists(agent: &str) -> Vec<(&'static str, Value)> {
    let (gone, text, seconds) = (id(99), "look for the carousel", 1_769_940_000_u64);
    match agent {
        "claude" => vec![
            (
                ".claude/history.jsonl",
                json!({"display": text, "timestamp": seconds * 1000, "project": DIR, "sessionId": gone}),
            ),
            (
                ".claude/projects/a/sessions-index.json",
                json!({"sessionId": gone, "firstPrompt": "No prompt", "summary": text, "messageCount": 4,
                    "modified": "2026-02-01T10:00:00Z", "projectPath": DIR, "isSidechain": false}),
            ),
        ],
        "codex" => vec![
            (".codex/history.jsonl", json!({"session_id": gone, "ts": seconds, "text": text})),
            (
                ".codex/session_index.jsonl",
                json!({"id": gone, "thread_name": text, "updated_at": "2026-02-01T10:00:00Z"}),
            ),
        ],
        "gemini" | "qwen" => {
            let path = if agent == "qwen" { ".qwen/tmp/a/logs.json" } else { ".gemini/tmp/a/logs.json" };
            vec![(
                path,
                json!({"sessionId": gone, "type": "user", "message": text, "timestamp": "2026-02-01T10:00:00Z"}),
            )]
        }
        "kimicode" => vec![(".kimi-code/session_index.jsonl", json!({"sessionId": gone, "workDir": DIR}))],
        "cline" => vec![(
            ".config/Code/User/globalStorage/saoudrizwan.claude-dev/state/taskHistory.json",
            json!({"id": gone, "task": text, "ts": seconds * 1000, "cwdOnTaskInitialization": DIR}),
        )],
        _ => Vec::new(),
    }
}

/// Returns the agents in the first column of a table of docs/agents.md, below this title.
fn documented(title: &str) -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents.md")).expect("a page");
    let (_, after) = page.split_once(title).expect("a title");
    let rows = after.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    rows.filter_map(|row| row.split('`').nth(1)).map(str::to_owned).collect()
}

#[test]
fn search_finds_deleted_session_of_every_agent() {
    let mut with_lists = Vec::new();
    agent_rules::hold(
        "a session without files in one of its lists is found",
        "docs/agents.md (Lists apart from sessions)",
        |agent| {
            let mut faults: Vec<String> = Vec::new();
            for (path, entry) in lists(agent) {
                let world = World::with_agents();
                if !cfg!(target_os = "linux") && agent == "cline" {
                    continue;
                }
                ordinary::write(agent, &world);
                std::fs::create_dir_all(
                    world.home().join(path).parent().and_then(Path::parent).expect("a path").join("tasks"),
                )
                .expect("a directory");
                let listed = world.rejoin(["list", "--all", "--json"]).sessions();
                let own = listed.first().map(|session| session.id.clone()).unwrap_or_default();
                let there: Value = entry.to_string().replace(&id(99), &own).parse().expect("JSON");
                let is_log = path.ends_with(".jsonl");
                let contents = if is_log { lines(&[entry.clone(), there]) } else { json!([entry, there]).to_string() };
                put(&world.home().join(path), contents);
                age_tree(&world.home());
                let mut fault = |what: &str, detail: String| faults.push(format!("{agent}: {path}: {what}: {detail}"));
                let report: DoctorReport = world.rejoin(["doctor", "--check", "gone-session", "--json"]).code(0).json();
                let evidence: Vec<&str> = report.findings.iter().map(|finding| finding.evidence.as_str()).collect();
                let is_named = |text: &&&str| text.contains("names 1 session without files") && text.contains(&id(99));
                if evidence.len() != 1 || evidence.iter().find(is_named).is_none() {
                    fault("doctor", format!("{evidence:?}"));
                }
                for exact in [&["carousel"][..], &["--exact", "the carousel"]] {
                    let found: Search = world.rejoin([&["search", "--json"], exact].concat()).code(0).json();
                    let ids: Vec<&str> = found.deleted.iter().map(|one| one.id.as_str()).collect();
                    let expected = if agent == "kimicode" { Vec::new() } else { vec![id(99)] };
                    if ids != expected {
                        fault("search", format!("{:?}", found.deleted));
                    }
                }
                let hint = world.rejoin(["resume", &id(99), "--json"]).code(5).error().hint.unwrap_or_default();
                let command =
                    hint.split('`').nth(1).unwrap_or_default().split(' ').skip(1).chain(["--format", "table"]);
                if agent != "kimicode" && !world.rejoin(command).code(0).stdout().contains(&id(99)) {
                    fault("resume", hint);
                }
                let after = world.rejoin(["list", "--all", "--json"]).sessions();
                if after.len() != listed.len() {
                    fault("list", format!("{after:?}"));
                }
            }
            if !lists(agent).is_empty() {
                with_lists.push((agent).to_owned());
            }
            assert!(faults.is_empty(), "{}", faults.join(", "));
        },
    );
    assert!(
        !agent_rules::are_all_chosen() || with_lists == documented("## Lists apart from sessions"),
        "{with_lists:?}"
    );
}

#[test]
fn search_prints_prompts_of_deleted_session() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("the carousel turns", "Yes."));
    let history = [lists("claude").remove(0).1];
    put(&world.home().join(".claude/history.jsonl"), lines(&history));
    let shown = world.on_terminal(100, ["search", "carousel"]).code(0).stdout();
    assert!(shown.contains(&id(99)) && shown.contains(&format!("(deleted, prompts only)  {DIR}")), "{shown}");
    assert!(shown.contains("user      look for the carousel  ") && shown.contains("2026-02-01 10:00"), "{shown}");
    let rows = world.rejoin(["search", "carousel"]).code(0);
    assert!(!rows.stdout().contains(&id(99)) && rows.stderr().contains("Prompts of 1 deleted session match"));
    let count = |args: &[&str]| {
        let found: Search = world.rejoin([&["search", "carousel", "--json"], args].concat()).code(0).json();
        found.deleted.len()
    };
    assert_eq!([count(&[]), count(&["--dir", DIR]), count(&["--until", "2026-02-02"])], [1, 1, 1]);
    assert_eq!(
        [count(&["--agent", "codex"]), count(&["--dir", "/usr/lib"]), count(&["--since", "2026-02-02"])],
        [0; 3]
    );
    assert_eq!([count(&["--role", "assistant"]), count(&["!look"])], [0, 0]);
}

/// Returns the ids of sessions without files that a search finds, and the number of lists in which `doctor` finds any.
fn without_files(world: &World) -> (Vec<String>, usize) {
    let found: Search = world.rejoin(["search", "carousel", "--json"]).code_is_one_of(&[0, 6]).json();
    let report: DoctorReport = world.rejoin(["doctor", "--check", "gone-session", "--json"]).code(0).json();
    (found.deleted.into_iter().map(|one| one.id).collect(), report.findings.len())
}

#[test]
fn search_does_not_call_unread_session_deleted() {
    let world = World::with_agents();
    let write = |agent: &str| {
        for (path, entry) in lists(agent) {
            let contents = if path.ends_with(".jsonl") { lines(&[entry]) } else { json!([entry]).to_string() };
            put(&world.home().join(path), contents);
        }
    };
    world.add(Claude::session(id(1)).in_dir(DIR).turn("the carousel turns", "Yes."));
    write("claude");
    assert_eq!(without_files(&world), (vec![id(99)], 2));
    let store = world.home().join(".claude/projects/-elsewhere");
    std::os::unix::fs::symlink("/nowhere/projects", &store).expect("a link");
    assert_eq!(without_files(&world), (vec![], 0));
    write("codex");
    assert_eq!(without_files(&world), (vec![id(99)], 2), "a directory of Claude Code has no session of Codex");
    let sessions = world.home().join(".codex/sessions");
    std::os::unix::fs::symlink("/nowhere/sessions", sessions).expect("a link");
    assert_eq!(without_files(&world), (vec![], 0), "the volume with its sessions is not mounted");
    std::fs::remove_file(store).expect("a link");
    std::fs::remove_dir_all(world.home().join(".codex")).expect("a directory");

    write("gemini");
    assert_eq!(without_files(&world), (vec![id(99), id(99)], 3));
    let name = format!("session-2026-02-01T10-00-{}.jsonl", &id(99)[..8]);
    put(&world.home().join(".gemini/tmp/a/chats").join(name), "{\"kind\":\"main\"}\n");
    assert_eq!(without_files(&world), (vec![id(99)], 2), "the file has the beginning of the id in its name");
}

fn listed(world: &World, id: &str) -> Session {
    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    sessions.into_iter().find(|session| session.id == id).expect("the session")
}

#[test]
fn title_comes_from_file_next_to_transcript() {
    let world = World::new();
    let name = |title: &str| json!({"customTitle": title, "by": "user", "at": "2026-02-01T10:01:00Z"}).to_string();
    let long = "a log line\n".repeat(20_000);
    let session = |n| Claude::session(id(n)).in_dir(DIR).ai_title("made up");
    world
        .add(session(1).title("harbour crane").turn("x", &long).side_file("custom-title.json", &name("harbour crane")));
    world.add(session(2).turn("x", "y").title("in the record").side_file("custom-title.json", &name("in the file")));
    world.add(session(3).title("early").turn("x", &long).side_file("custom-title.json", &name("later")));
    world.add(session(4).turn("x", "y").side_file("custom-title.json", "{"));
    for (n, expected) in [(1, "harbour crane"), (2, "in the record"), (3, "later"), (4, "made up")] {
        assert_eq!(listed(&world, &id(n)).title.as_deref(), Some(expected));
        let shown: Details = world.rejoin(["show", &id(n), "--json", "--counts"]).code(0).json();
        assert_eq!(shown.session.title.as_deref(), Some(expected), "also after the whole file was read");
    }
    assert!(world.rejoin(["search", "--exact", "harbour crane"]).stdout().contains(&id(1)));
    assert!(world.rejoin(["resume", "harbour crane", "--print"]).stdout().contains(&id(1)));
}

#[test]
fn rename_and_undo_change_record_and_file() {
    let world = World::new();
    let name = json!({"customTitle": "old", "by": "user"}).to_string();
    let path =
        world.add(Claude::session(id(1)).in_dir(DIR).turn("x", "y").title("old").side_file("custom-title.json", &name));
    let side = path.with_extension("").join("custom-title.json");
    let read = || (std::fs::read(&path).expect("a transcript"), std::fs::read_to_string(&side).expect("a file"));
    let before = read();
    world.rejoin(["rename", &id(1), "new"]).code(0);
    assert_eq!(read().1, name.replace("old", "new"));
    let added = String::from_utf8_lossy(&read().0[before.0.len()..]).into_owned();
    assert!(read().0.starts_with(&before.0) && added.contains("\"new\""), "{added}");
    assert_eq!(listed(&world, &id(1)).title.as_deref(), Some("new"));
    world.rejoin(["undo", "--yes"]).code(0);
    assert!(read() == before);
}

#[test]
fn list_shows_archive_mark_until_session_continues() {
    let world = World::new();
    let mark = |archived, at| json!({"archived": archived, "at": at}).to_string();
    for (n, contents) in [
        (1, mark(true, "2026-02-03T10:00:00Z")),
        (2, mark(true, "2026-01-01T10:00:00Z")),
        (3, mark(false, "2026-02-03T10:00:00Z")),
        (4, "[".to_owned()),
    ] {
        world.add(Claude::session(id(n)).in_dir(DIR).turn("x", "y").side_file("archived.json", &contents));
        let kind = format!("{:?}", listed(&world, &id(n)).kind);
        assert_eq!(kind, if n == 1 { "Archived" } else { "Main" }, "{n}");
    }
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("archived it at 2026-02-03 10:00"), "{shown}");
}

/// Writes an entry of the index of Claude Desktop's Code tab.
fn entry(world: &World, n: u32, more: &Value) {
    let config = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let mut entry =
        json!({"sessionId": format!("local_{n}"), "cwd": DIR, "title": format!("Name {n}"), "isArchived": false});
    entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let index = world.home().join(config).join("Claude/claude-code-sessions").join(id(8)).join(id(9));
    put(&index.join(format!("local_{n}.json")), entry.to_string());
}

#[test]
fn code_tab_index_gives_titles_and_archive_marks() {
    let world = World::with_agents();
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir(DIR).ai_title("made up").turn("build", "y"));
    }
    world.add(Claude::session(id(4)).in_dir(DIR).turn("build", "y").title("by the user"));
    entry(&world, 1, &json!({"cliSessionId": id(1)}));
    entry(&world, 2, &json!({"cliSessionId": id(2), "isArchived": true}));
    entry(&world, 3, &json!({"transcriptUnavailable": true}));
    entry(&world, 4, &json!({"cliSessionId": id(4)}));
    entry(&world, 5, &json!({"cliSessionId": id(5)}));
    for (n, title, kind) in
        [(1, "Name 1", "Main"), (2, "Name 2", "Archived"), (3, "made up", "Main"), (4, "by the user", "Main")]
    {
        let session = listed(&world, &id(n));
        assert_eq!((session.title.as_deref(), &*format!("{:?}", session.kind)), (Some(title), kind), "{n}");
        assert!(
            world
                .rejoin(["resume", &id(n), "--print"])
                .code(0)
                .stdout()
                .contains(&format!("claude --resume {}", id(n)))
        );
    }
    let report: DoctorReport = world.rejoin(["doctor", "--check", "gone-session", "--json"]).code(0).json();
    let [finding] = <[_; 1]>::try_from(report.findings).expect("one finding");
    assert!(finding.evidence.contains(&format!("names 1 session without files: {}", id(5))), "{}", finding.evidence);
    assert!(finding.evidence.contains("1 entry without the id of a session: local_3.json"), "{}", finding.evidence);
}

#[test]
fn search_reads_index_of_claude_projects() {
    let world = World::new();
    let transcript = world.add(Claude::session(id(1)).in_dir(DIR).turn("build the lighthouse", "Built."));
    let entry = |n: u32, first: &str, summary: &str| {
        json!({"sessionId": id(n), "fullPath": format!("/gone/{}.jsonl", id(n)), "firstPrompt": first, "summary": summary,
            "created": "2026-01-20T09:00:00.000Z", "modified": "2026-01-20T10:00:00.000Z", "projectPath": DIR})
    };
    let entries =
        [entry(1, "build the lighthouse", "Lighthouse"), entry(2, "tidy the viaduct", "Arches tidied"), json!(7)];
    let index = json!({"version": 1, "entries": entries, "originalPath": DIR});
    put(&transcript.with_file_name("sessions-index.json"), index.to_string());
    for word in ["viaduct", "arches"] {
        let found: Search = world.rejoin(["search", word, "--json"]).code(0).json();
        let deleted: Vec<_> = found.deleted.iter().map(|one| (one.id.clone(), one.dir.as_deref())).collect();
        assert_eq!(deleted, [(id(2), Some(DIR))], "{word}");
        assert_eq!(found.deleted[0].prompts[0].at.as_deref(), Some("2026-01-20T10:00:00Z"), "{word}");
    }
    let report: DoctorReport = world.rejoin(["doctor", "--check", "gone-session", "--json"]).code(0).json();
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert!(finding.evidence.contains("names 1 session without files, of 2026-01-20"), "{}", finding.evidence);
    for damaged in ["{", "[]", r#"{"entries": {}}"#, r#"{"version": 2}"#] {
        put(&transcript.with_file_name("sessions-index.json"), damaged);
        let report: DoctorReport = world.rejoin(["doctor", "--check", "gone-session", "--json"]).code(0).json();
        assert!(report.findings.is_empty(), "{damaged}: {report:?}");
    }
}
