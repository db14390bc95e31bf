//! Empty sessions: all commands decide alike, and a session with anything that the user or a model wrote is not empty.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::changes::Cleanup;
use crate::contract::search::Search;
use crate::contract::{Details, DoctorReport, Kind, Session, Severity};
use crate::fixtures::{Claude, Copilot, Gemini, age_tree, id, lines, put};
use crate::ordinary;
use crate::world::World;

/// The texts of an ordinary session.
const WORDS: [&str; 2] = ["where does the river end?", "In the sea."];

fn sessions(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--json"]).code_is_one_of(&[0, 6]).sessions()
}

/// Returns the sessions that a list marks as empty.
fn marked(world: &World) -> BTreeSet<String> {
    sessions(world).into_iter().filter(is_empty).map(|session| session.id).collect()
}

fn is_empty(session: &Session) -> bool {
    session.kind == Kind::Empty || session.health.contains(&"empty-session".to_owned())
}

/// Returns the sessions that `cleanup --empty` would remove.
fn taken(world: &World) -> BTreeSet<String> {
    let args = ["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run", "--json"];
    let plan: Cleanup = world.rejoin(args).code_is_one_of(&[0, 6]).json();
    plan.items.into_iter().filter_map(|item| item.id).collect()
}

fn files(home: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(home).sort_by_file_name().into_iter().map(|entry| entry.expect("an entry"));
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

fn has_words(home: &Path) -> bool {
    let has = |path: &PathBuf| {
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        WORDS.iter().any(|words| text.contains(words))
    };
    // A title is not a conversation.
    files(home).iter().filter(|path| !path.ends_with("workspace.yaml")).any(has)
}

#[test]
fn every_agent_finds_text_in_remaining_files() {
    agent_rules::hold("its session is not empty while a file has its words", agent_rules::GUIDE, |agent| {
        let mut faults = Vec::new();
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        let count = {
            let world = World::new();
            if !can_be_read || !ordinary::write(agent, &world) {
                return;
            }
            files(&world.home()).len()
        };
        for at in 0..count {
            let world = World::new();
            ordinary::write(agent, &world);
            let cut = files(&world.home()).swap_remove(at);
            std::fs::write(&cut, "").expect("a file");
            age_tree(&world.home());
            let (marked, taken) = (marked(&world), taken(&world));
            let cut = cut.strip_prefix(world.home()).expect("a file of the home").display().to_string();
            if !taken.is_subset(&marked) {
                faults.push(format!("{agent}: without {cut}, cleanup takes {taken:?}, and list marks {marked:?}"));
            }
            let own =
                sessions(&world).into_iter().filter(|session| session.agent.to_string() == agent && is_empty(session));
            if has_words(&world.home()) && own.count() > 0 {
                faults.push(format!("{agent}: without {cut}, its session is empty, and a file has the words"));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join(", "));
    });
}

#[test]
fn cleanup_takes_the_empty_subagents_that_list_marks() {
    let world = World::new();
    world.add(Gemini::session(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let head = json!({"sessionId": id(2), "projectHash": "x", "startTime": "2026-02-01T10:00:00.000Z", "lastUpdated": "2026-02-01T10:00:00.000Z", "kind": "subagent"});
    let chats = chats(&world);
    put(&chats.join("session-2026-02-01T10-00-00000002.jsonl"), lines(&[head]));
    age_tree(&world.home());
    assert_eq!(marked(&world), BTreeSet::from([id(2)]));
    assert_eq!(taken(&world), BTreeSet::from([id(2)]));
}

fn chats(world: &World) -> PathBuf {
    let is_chat = |path: &PathBuf| path.parent().is_some_and(|parent| parent.ends_with("chats"));
    let chat = files(&world.home()).into_iter().find(is_chat).expect("a chat");
    chat.parent().expect("a directory").to_owned()
}

#[test]
fn subagent_file_with_parent_id_stays_subagent() {
    let world = World::new();
    world.install("gemini", "");
    let app = world.dir("app");
    world.add(Gemini::session(id(1)).in_dir(&app).turn("write about lighthouses", "An article."));
    let chats = chats(&world);
    let main = files(&chats).swap_remove(0);
    let text = std::fs::read_to_string(&main).expect("a chat");
    let text = text.replace("write about lighthouses", "find the help").replace("An article.", "Here it is.");
    let mut records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    records[0]["kind"] = json!("subagent");
    let copy = chats.join("session-2026-02-02T10-00-00000001.jsonl");
    put(&copy, lines(&records).replace("2026-02-01T", "2026-02-02T"));
    age_tree(&world.home());

    let all = sessions(&world);
    let of = |kind: Kind| all.iter().find(|session| session.kind == kind).expect("a session");
    assert_eq!((all.len(), of(Kind::Main).id.as_str(), of(Kind::Main).copies.len()), (2, id(1).as_str(), 1));
    assert_eq!(of(Kind::Subagent).parent_id.as_deref(), Some(id(1).as_str()));
    let shown: Details = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(0).json();
    assert_eq!(shown.messages.expect("messages")[0].text, "write about lighthouses");
    world.rejoin(["resume", &id(1), "--print"]).code(0);
    let subagent = of(Kind::Subagent).id.clone();
    world.rejoin(["delete", &subagent, "--yes"]).code(0);
    assert!(main.exists() && !copy.exists());
}

#[test]
fn commands_keep_texts_without_their_log() {
    for is_gone in [false, true] {
        let world = World::with_agents();
        world.add(Copilot::session(id(1)).in_dir("/usr/bin").turn("build it", "Done."));
        world.add(Copilot::session(id(2)).in_dir("/usr/bin").turn("a stub", "Ok."));
        let of = |n, name: &str| world.home().join(".copilot/session-state").join(id(n)).join(name);
        put(&of(1, "plan.md"), "# Plan\n\n1. build the aqueduct\n");
        put(&of(1, "checkpoints/001-arches.md"), "<overview>The aqueduct has three arches.</overview>\n");
        put(&of(2, "checkpoints/index.md"), "# Checkpoint History\n");
        for n in [1, 2] {
            let log = of(n, "events.jsonl");
            if is_gone { std::fs::remove_file(log).expect("a file") } else { put(&log, "") }
        }
        age_tree(&world.home());
        assert_eq!(marked(&world), BTreeSet::from([id(2)]), "{is_gone}");
        assert_eq!(taken(&world), BTreeSet::from([id(2)]), "{is_gone}");
        let report: DoctorReport = world.rejoin(["doctor", "--check", "cannot-open", "--json"]).code(4).json();
        let finding = &report.findings[0];
        assert_eq!((report.findings.len(), finding.severity), (1, Severity::Error));
        assert!(finding.evidence.contains("plan.md and 001-arches.md are left of it"), "{}", finding.evidence);
        let refused = world.rejoin(["resume", &id(1), "--print"]).code(7).stderr();
        assert!(refused.contains("plan.md"), "{refused}");
        let exported = world.rejoin(["export", &id(1)]).code(0).stdout();
        assert!(exported.contains("build the aqueduct") && exported.contains("three arches"), "{exported}");
        let found: Search = world.rejoin(["search", "aqueduct", "--json"]).code(0).json();
        assert_eq!(found.sessions.len(), 1);
        let old = world.rejoin(["cleanup", "--older-than", "1d", "--allow-all", "--dry-run"]).code(0).stdout();
        assert!(!old.contains("build it") && !old.contains("/usr/bin  7"), "{old}");
    }
}

#[test]
fn unreadable_texts_keep_their_session() {
    let world = World::with_agents();
    let of = |n, name: &str| world.home().join(".copilot/session-state").join(id(n)).join(name);
    for n in 1..=5 {
        world.add(Copilot::session(id(n)).in_dir("/usr/bin").turn("build it", "Done."));
        put(&of(n, "events.jsonl"), "");
        put(&of(n, "checkpoints/001-arches.md"), "");
    }
    std::os::unix::fs::symlink("/nowhere/plan.md", of(2, "plan.md")).expect("a link");
    std::os::unix::fs::symlink("/nowhere/002.md", of(3, "checkpoints/002-piers.md")).expect("a link");
    std::fs::remove_dir_all(of(4, "checkpoints")).expect("a directory");
    std::os::unix::fs::symlink("/nowhere", of(4, "checkpoints")).expect("a link");
    age_tree(&world.home());
    let mode = |mode| std::fs::set_permissions(of(5, "checkpoints"), Permissions::from_mode(mode)).expect("a mode");
    // Root can read the file.
    let mut empty = BTreeSet::from([id(1)]);
    empty.extend(rustix::process::geteuid().is_root().then(|| id(5)));
    mode(0o000);
    assert_eq!(marked(&world), empty);
    assert_eq!(taken(&world), empty);
    mode(0o755);
    let refused = world.rejoin(["resume", &id(2), "--print"]).code(7).stderr();
    assert!(refused.contains("plan.md is left of it"), "{refused}");
}

#[test]
fn cleanup_keeps_empty_transcript_with_subagents() {
    let world = World::new();
    let session = Claude::session(id(1)).in_dir("/usr/bin").record("custom-title", &json!({"customTitle": "Bridge"}));
    world.add(session.clone());
    assert_eq!(taken(&world), BTreeSet::from([id(1)]));
    world.add(session.subagent("agent-a1", "look at the bridge", "It is old."));
    age_tree(&world.home());
    assert!(!taken(&world).contains(&id(1)) && !marked(&world).contains(&id(1)));
}

#[cfg(feature = "sqlite")]
mod opencode {
    use super::*;
    use crate::fixtures::{OpenCode, open_opencode, opencode_id};

    fn storage(world: &World) -> PathBuf {
        world.home().join(".local/share/opencode/storage")
    }

    fn message_id(session: &str, n: usize) -> String {
        format!("msg_{session}{n:03}")
    }

    /// Writes the messages of a session as files, as versions before 1.2 do.
    fn write(world: &World, session: &str, talk: &[&str]) {
        for (n, text) in talk.iter().enumerate() {
            let (message, role) = (message_id(session, n), if n % 2 == 0 { "user" } else { "assistant" });
            let at = 1_769_940_000_000_u64 + n as u64 * 60_000;
            let data = json!({"id": message, "sessionID": session, "role": role, "time": {"created": at}, "path": {"cwd": "/usr/bin"}});
            put(&storage(world).join(format!("message/{session}/{message}.json")), data.to_string());
            put_part(world, &message, text);
        }
        age_tree(&world.home());
    }

    fn put_part(world: &World, message: &str, text: &str) {
        let part = json!({"id": format!("prt_{message}"), "messageID": message, "type": "text", "text": text});
        put(&storage(world).join(format!("part/{message}/prt_{message}.json")), part.to_string());
    }

    fn put_session(world: &World, session: &str) {
        let file = json!({"id": session, "directory": "/usr/bin", "title": "t", "time": {"created": 1_769_940_000_000_u64, "updated": 1_769_940_060_000_u64}});
        put(&storage(world).join(format!("session/global/{session}.json")), file.to_string());
    }

    fn texts(world: &World, session: &str) -> Vec<String> {
        let shown: Details = world.rejoin(["show", session, "--transcript", "--json"]).code(0).json();
        shown.messages.expect("messages").into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn show_and_search_read_leftover_parts_of_import() {
        let world = World::new();
        let session = opencode_id(1);
        let path = world.add(OpenCode::session(&session).in_dir("/usr/bin").turn("one", "1").turn("two", "2"));
        let connection = open_opencode(&path);
        let ids: Vec<String> = connection
            .prepare("SELECT id FROM message ORDER BY time_created, id")
            .and_then(|mut query| query.query_map([], |row| row.get(0))?.collect())
            .expect("messages");
        connection.execute("DELETE FROM part WHERE message_id IN (?1, ?2)", [&ids[1], &ids[2]]).expect("a deletion");
        drop(connection);
        put_part(&world, &ids[1], "It burns blau gas.");
        put_part(&world, &ids[2], "and the zeppelin?");
        age_tree(&world.home());
        assert_eq!(texts(&world, &session), ["one", "It burns blau gas.", "and the zeppelin?", "2"]);
        let found: Search = world.rejoin(["search", "zeppelin", "--json"]).code(0).json();
        assert_eq!(found.sessions.len(), 1);
        let shown: Details = world.rejoin(["show", &session, "--counts", "--json"]).code(0).json();
        assert_eq!((shown.session.prompts, shown.session.replies), (Some(2), Some(2)));
        assert!(shown.notes[0].starts_with("storage/part alone"), "{:?}", shown.notes);
    }

    #[test]
    fn messages_without_session_file_form_session() {
        let world = World::new();
        let session = opencode_id(1);
        write(&world, &session, &["write the parser", "Written."]);
        let listed = sessions(&world).remove(0);
        assert_eq!((listed.id.as_str(), listed.first_prompt.as_deref()), (session.as_str(), Some("write the parser")));
        assert_eq!((listed.launch_path(), listed.resumable), (Some("/usr/bin"), false));
        assert_eq!(texts(&world, &session), ["write the parser", "Written."]);
        assert!(taken(&world).is_empty());
        let old = world.rejoin(["cleanup", "--older-than", "1d", "--allow-all", "--dry-run"]).code(0).stdout();
        assert!(old.contains("Nothing to do"), "{old}");
        world.rejoin(["delete", &session, "--yes"]).code(0);
        assert!(sessions(&world).is_empty());
        world.rejoin(["undo", "--yes"]).code(0);
        assert_eq!(texts(&world, &session).len(), 2);
        put_session(&world, &session);
        assert!(sessions(&world)[0].health.is_empty());
    }

    #[test]
    fn empty_part_file_makes_session_unopenable() {
        let world = World::new();
        let session = opencode_id(1);
        write(&world, &session, &["test the balloon", "Tested."]);
        put_session(&world, &session);
        let message = message_id(&session, 1);
        put(&storage(&world).join(format!("part/{message}/prt_{message}.json")), "");
        age_tree(&world.home());
        assert_eq!(texts(&world, &session), ["test the balloon"]);
        let report: DoctorReport = world.rejoin(["doctor", "--check", "cannot-open", "--json"]).code(4).json();
        assert!(
            report.findings[0].evidence.contains("Unexpected end of JSON input"),
            "{}",
            report.findings[0].evidence
        );
    }
}

#[test]
fn typed_commands_and_queued_prompts_of_claude_are_prompts() {
    let world = World::new();
    let command = "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>the ferry schedule</command-args>";
    let local = "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>";
    let queued = |prompt: &str, mode: &str| json!({"attachment": {"type": "queued_command", "prompt": prompt, "commandMode": mode}});
    let session = |n| Claude::session(id(n)).in_dir("/usr/bin");
    world.add(session(1).prompt(command));
    world.add(session(2).prompt("<bash-input>make sloop</bash-input>"));
    world.add(session(3).record("attachment", &queued("paint the gondola", "prompt")));
    world.add(
        session(4).turn("start", "Started.").record("attachment", &queued("and the anchor", "prompt")).reply("Both."),
    );
    // Settings and messages of programs are not a conversation.
    world.add(session(5).prompt(local).record("attachment", &queued("a task has ended", "task-notification")));
    age_tree(&world.home());

    let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    let prompts = |n| {
        listed.iter().find(|session| session.id == id(n)).map(|session| (session.first_prompt.clone(), session.prompts))
    };
    for (n, first, count) in [
        (1, Some("/plan the ferry schedule"), 1),
        (2, Some("! make sloop"), 1),
        (3, Some("paint the gondola"), 1),
        (4, Some("start"), 2),
        (5, None, 0),
    ] {
        assert_eq!(prompts(n), Some((first.map(str::to_owned), Some(count))), "{n}");
    }
    assert_eq!(taken(&world), BTreeSet::from([id(5)]));
    for (word, n) in [("ferry", 1), ("sloop", 2), ("gondola", 3), ("anchor", 4)] {
        let found: Search = world.rejoin(["search", word, "--json"]).code(0).json();
        assert_eq!(found.sessions.iter().map(|found| &found.id).collect::<Vec<_>>(), [&id(n)], "{word}");
    }
    assert!(world.rejoin(["export", &id(4)]).code(0).stdout().contains("and the anchor"));
}
