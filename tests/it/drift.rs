//! Formats that change: an agent renames a record type or a key, but no conversation is treated as empty or removed
//! because of that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::contract::changes::{Cleanup, KeptFor};
use crate::contract::{DoctorReport, Kind, Session, SessionList, names};
use crate::facts::copy_tree;
use crate::fixtures::{Claude, Codex, Copilot, age_tree, id, put};
use crate::ordinary;
use crate::world::{World, is_tried, stride};

/// Names that are also ids or parts of paths here, so that no reader could find the renamed file.
const NOT_IN_FORMATS: [&str; 1] = ["river"];

/// Returns every file of a home with its bytes.
fn files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(home).into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect()
}

/// The name of a key, a type, a table or a column, as written in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    /// A JSON string without its quotes.
    Json(String),
    /// A name in a database's schema.
    Column(String),
}

/// Returns every name in a file.
fn names_in(bytes: &[u8]) -> BTreeSet<Name> {
    let is_name = |text: &&str| {
        (2..=40).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
            && text.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '.' | ':' | '-'))
            && !NOT_IN_FORMATS.contains(text)
    };
    let texts = bytes.split(|byte| *byte == b'"').filter_map(|text| str::from_utf8(text).ok());
    let mut names: BTreeSet<Name> = texts.filter(is_name).map(|text| Name::Json(text.to_owned())).collect();
    if bytes.starts_with(b"SQLite format 3") {
        let text = String::from_utf8_lossy(bytes);
        for table in text.split("CREATE TABLE ").skip(1) {
            let Some((table, columns)) = table.split_once('(') else { continue };
            let columns = columns.split('\0').next().unwrap_or_default().split([',', '(']);
            let words = columns.filter_map(|column| column.split_whitespace().next());
            let words =
                words.chain([table.trim()]).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
            names.extend(words.filter(is_name).map(|word| Name::Column(word.to_owned())));
        }
    }
    names
}

/// Replaces a name in bytes by another one of the same length, so that databases stay valid.
fn renamed(bytes: &[u8], name: &Name) -> Vec<u8> {
    let (Name::Json(text) | Name::Column(text)) = name;
    let mut new = text.clone().into_bytes();
    let last = new.last_mut().expect("a name");
    *last = if *last == b'Z' { b'Y' } else { b'Z' };
    let is_word = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let mut result = bytes.to_vec();
    for at in memchr::memmem::find_iter(bytes, text.as_bytes()) {
        let (before, after) = (at.checked_sub(1), at + text.len());
        let is_it = match name {
            Name::Json(_) => before.is_some_and(|at| bytes[at] == b'"') && bytes.get(after) == Some(&b'"'),
            Name::Column(_) => !is_word(before) && !is_word(Some(after)),
        };
        if is_it {
            result[at..after].copy_from_slice(&new);
        }
    }
    result
}

/// Returns every session by agent and id, and the number of files that could not be read.
fn listed(world: &World) -> (BTreeMap<(String, String), Session>, usize) {
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code_is_one_of(&[0, 3]).json();
    let key = |session: &Session| (session.agent.to_string(), session.id.clone());
    (list.sessions.into_iter().map(|session| (key(&session), session)).collect(), list.problems.len())
}

fn is_empty(session: &Session) -> bool {
    session.kind == Kind::Empty || session.health.iter().any(|health| health == "empty-session")
}

/// Renames each name of a home in turn, except in files below directories `of_others`, and returns the sessions that
/// became empty, disappear from the list, or would be removed.
fn faults(world: &World, of_others: &[&str]) -> Vec<String> {
    let mut files = files(&world.home());
    // Aider's sessions are found through those of another agent.
    files.retain(|path, _| of_others.iter().all(|other| !path.components().any(|name| name.as_os_str() == *other)));
    let all: BTreeSet<Name> = files.values().flat_map(|bytes| names_in(bytes)).collect();
    let (before, problems) = listed(world);
    let conversations: BTreeSet<_> =
        before.into_iter().filter(|(_, session)| !is_empty(session)).map(|(key, _)| key).collect();
    assert!(!conversations.is_empty());
    let mut faults = Vec::new();
    for name in all.iter().step_by(stride(3)) {
        let changed: Vec<_> = files.iter().map(|(path, bytes)| (path, bytes, renamed(bytes, name))).collect();
        let changed: Vec<_> = changed.into_iter().filter(|(_, bytes, new)| *bytes != new).collect();
        for (path, _, new) in &changed {
            put(path, new);
        }
        let (now, problems_now) = listed(world);
        for key in &conversations {
            match now.get(key) {
                // Sessions that are left out are reported.
                None if problems_now > problems => {}
                None if now.values().any(|session| is_stand_in(session, key)) => {}
                None => faults.push(format!("{key:?} is gone after a change of {name:?}")),
                Some(session) if is_empty(session) => {
                    faults.push(format!("{key:?} is empty after a change of {name:?}"))
                }
                Some(_) => {}
            }
        }
        let plan = ["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run", "--json"];
        let plan: Cleanup = world.rejoin(plan).code_is_one_of(&[0, 3]).json();
        let removed = plan.items.iter().filter_map(|item| Some((item.agent.as_ref()?.to_string(), item.id.clone()?)));
        faults.extend(removed.filter(|key| conversations.contains(key)).map(|key| format!("{key:?} goes: {name:?}")));
        for (path, bytes, _) in changed {
            put(path, bytes);
        }
    }
    faults
}

/// Returns whether a session is listed under the name of its file, because its own id was not found.
fn is_stand_in(session: &Session, (agent, _): &(String, String)) -> bool {
    session.agent.to_string() == *agent && session.health.iter().any(|health| health == "unknown-format")
}

/// Renames each name in the files of an agent's session.
fn survives_renames(agent: &str) {
    let world = World::new();
    if ordinary::write(agent, &world) {
        let others: &[&str] = if agent == "aider" { &[".claude"] } else { &[] };
        let faults = faults(&world, others);
        assert!(faults.is_empty(), "{}", faults.join(", "));
    }
}

const RENAMED: &str = "no conversation is empty, or goes, after its agent renamed a record type or a key";

#[test]
fn every_agent_survives_renamed_fields_first_half() {
    let chosen = agent_rules::chosen();
    agent_rules::hold_for_these(&chosen[..chosen.len() / 2], RENAMED, agent_rules::GUIDE, survives_renames);
}

#[test]
fn every_agent_survives_renamed_fields_second_half() {
    let chosen = agent_rules::chosen();
    agent_rules::hold_for_these(&chosen[chosen.len() / 2..], RENAMED, agent_rules::GUIDE, survives_renames);
}

#[test]
#[ignore = "takes minutes: every name in the data of the real agents"]
fn renamed_fields_empty_no_real_session() {
    for (_, folder) in crate::facts::corpora() {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        // Data in a log of SQLite is protected by checksums, which a rename would break.
        let has_log = files(&world.home()).keys().any(|path| path.to_string_lossy().ends_with("-wal"));
        if !has_log && !listed(&world).0.is_empty() {
            assert_eq!(faults(&world, &[]), Vec::<String>::new());
        }
    }
}

/// Writes a transcript of a newer client with other names for its records.
fn newer_claude(world: &World) -> String {
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("where?", "There."));
    let text = std::fs::read_to_string(&path)
        .expect("a transcript")
        .replace("\"version\":\"2.1.330\"", "\"version\":\"9.4.0\"");
    put(
        &path,
        text.replace("\"type\":\"user\"", "\"type\":\"human\"").replace("\"type\":\"assistant\"", "\"type\":\"model\""),
    );
    id(1)
}

#[test]
fn list_and_doctor_report_unknown_format() {
    let world = World::new();
    let session = newer_claude(&world);
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!((listed[0].kind, listed[0].health.contains(&"unknown-format".to_owned())), (Kind::Main, true));
    assert!(world.on_terminal(200, ["list"]).stdout().contains("(unknown format)"));
    let shown = world.rejoin(["show", &session]).code(0).stdout();
    assert!(
        shown.contains("2 records of type `human`, `model` could not be understood, written by claude 9.4.0"),
        "{shown}"
    );
    assert!(shown.contains("rejoin knows claude up to 2.1."), "{shown}");
    let doctor = world.rejoin(["doctor", "--check", "unknown-format"]).code(4).stdout();
    assert!(doctor.contains("update rejoin") && doctor.contains("`human`"), "{doctor}");
    assert!(!world.rejoin(["doctor", "--all-findings"]).stdout().contains("cleanup --empty"));
    world.rejoin(["doctor", "--fix"]).code_is_one_of(&[0, 4]);
    assert!(world.home().join(".claude/projects/-usr-bin").join(format!("{session}.jsonl")).is_file());
    let resumed = world.rejoin(["resume", &session, "--print"]).code(0).stdout();
    assert!(resumed.contains(&format!("claude --resume {session}")), "{resumed}");
}

#[test]
fn cleanup_removes_unknown_format_only_on_request() {
    let world = World::new();
    newer_claude(&world);
    for policy in [&["--empty", "--any-age"][..], &["--older-than", "1d"], &["--any-age"], &["--max-total", "0"]] {
        let plan: Cleanup =
            world.rejoin([&["cleanup", "--allow-all", "--dry-run", "--json"], policy].concat()).code(0).json();
        assert!(plan.items.is_empty(), "{policy:?}");
    }
    let policy = ["cleanup", "--older-than", "1d", "--unknown-format", "--allow-all", "--dry-run"];
    let text = world.rejoin(policy).code(0).stdout();
    assert!(text.contains("1 session would be removed"), "{text}");
    let text = world.rejoin(["cleanup", "--older-than", "1d", "--dry-run"]).code(0).stdout();
    assert!(text.contains("Kept: 1 in an unknown format."), "{text}");
    world.rejoin(["cleanup", "--unknown-format", "--empty", "--dry-run"]).code(2);
}

#[test]
fn delete_and_doctor_keep_copy_in_unknown_format() {
    let world = World::new();
    let session = newer_claude(&world);
    // Another copy of the id, which evidence would prefer.
    world.add(Claude::session(&session).in_dir("/usr/lib").turn("where?", "There.").turn("and now?", "Here."));
    let fix = world.rejoin(["doctor", "--fix", "--dry-run"]).stdout();
    assert!(!fix.contains("would move") && !fix.contains("would remove"), "{fix}");
    let copies = world.rejoin(["show", &session, "--copy", "1", "--json"]).stdout();
    let unknown = if copies.contains("unknown-format") { "1" } else { "2" };
    let refused = world.rejoin(["delete", &session, "--copy", unknown, "--dry-run"]).code(7).stderr();
    assert!(refused.contains("unknown format"), "{refused}");
}

#[test]
fn fully_damaged_file_is_not_empty() {
    let world = World::new();
    let claude = world.add(Claude::session(id(1)).turn("a", "b"));
    let copilot = world.add(Copilot::session(id(2)).turn("a", "b"));
    put(&claude, [0; 4096]);
    put(&copilot.join("events.jsonl"), [0; 4096]);
    for session in world.rejoin(["list", "--json"]).code(0).sessions() {
        assert!(
            session.kind != Kind::Empty
                && session.health.iter().any(|health| health == "bad-lines" || health == "torn-transcript"),
            "{session:?}"
        );
    }
    let plan: Cleanup = world.rejoin(["cleanup", "--any-age", "--allow-all", "--dry-run", "--json"]).code(0).json();
    assert!(plan.items.is_empty());
}

#[test]
fn cleanup_keeps_session_with_newer_record() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).turn("a", "b").turn("c", "d"));
    let plan = || -> Cleanup {
        world.rejoin(["cleanup", "--older-than", "7d", "--allow-all", "--dry-run", "--json"]).code(0).json()
    };
    assert_eq!(plan().items.len(), 1);
    // A compaction writes the old records again, after the newest one.
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let lines: Vec<&str> = text.lines().collect();
    let newest = lines[0].replace("2026-02-01", "2026-02-26");
    for at in 0..=lines.len() {
        let mut changed: Vec<&str> = lines.clone();
        changed.insert(at, &newest);
        put(&path, changed.join("\n") + "\n" + &text.repeat(20));
        assert!(plan().items.is_empty(), "the newest record is number {at}");
    }
    put(&path, text + "{\"type\":\"custom-title\",\"customTitle\":\"without a time\"}\n");
    let file = std::fs::File::options().write(true).open(&path).expect("a file");
    let yesterday: jiff::Timestamp = "2026-02-28T10:00:00Z".parse().expect("a time");
    file.set_modified(yesterday.into()).expect("a time");
    assert!(plan().items.is_empty(), "its file was changed yesterday, and the last record has no time");
}

/// Returns a text with the times of the ordinary sessions moved to four days ago, in any style.
fn made_newer(text: &str) -> String {
    text.replace("2026-02-01", "2026-02-26").replace("1769940", "1772100")
}

/// Counts the sessions that a cleanup would remove, those that it would leave to agents, and those that are only read.
fn count_planned(world: &World) -> usize {
    let args = ["cleanup", "--older-than", "7d", "--allow-all", "--via-agent", "--dry-run", "--json"];
    let plan: Cleanup = world.rejoin(args).code(0).json();
    plan.items.len() + plan.details.left_to_agent.len() + plan.kept(KeptFor::OnlyRead) as usize
}

#[test]
fn newer_record_of_every_agent_keeps_session() {
    let mut tried = BTreeSet::new();
    agent_rules::hold("a newer record anywhere in a log keeps its session", agent_rules::GUIDE, |agent| {
        let world = World::new();
        if !ordinary::write(agent, &world) {
            return;
        }
        let is_log = |path: &Path| path.extension().is_some_and(|end| end == "jsonl" || end == "md");
        for (path, bytes) in files(&world.home()).iter().filter(|(path, _)| is_log(path)) {
            // Aider's log is a file of the project, which cleanup never removes.
            let text = String::from_utf8(bytes.clone()).expect("text");
            if !text.contains("river") || made_newer(&text) == text || agent == "aider" {
                continue;
            }
            let before = count_planned(&world);
            put(path, made_newer(&text) + &text.repeat(20));
            assert_eq!(count_planned(&world), before - 1, "{agent} {}", path.display());
            put(path, bytes);
            tried.insert(agent);
        }
    });
    assert!(tried.len() >= 14 || !agent_rules::are_all_chosen(), "{tried:?}");
}

#[test]
fn newer_record_in_compressed_log_keeps_session() {
    let world = World::new();
    let path = world.add(Codex::session(id(1)).turn("a", "b").turn("c", "d").packed());
    assert_eq!(count_planned(&world), 1);
    let packed = std::fs::read(&path).expect("a file");
    let text = String::from_utf8(zstd::decode_all(&*packed).expect("a packed file")).expect("text");
    put(&path, zstd::encode_all((made_newer(&text) + &text.repeat(20)).as_bytes(), 0).expect("a packed text"));
    assert_eq!(count_planned(&world), 0);
    // Half of a packed file may have held a newer time.
    put(&path, &packed[..packed.len() - 8]);
    let plan: Cleanup =
        world.rejoin(["cleanup", "--older-than", "7d", "--allow-all", "--dry-run", "--json"]).code(0).json();
    assert!(plan.items.iter().all(|item| item.result != crate::contract::changes::ChangeResult::Planned), "{plan:#?}");
}

#[test]
#[cfg(feature = "sqlite")]
fn newer_message_in_file_tree_keeps_session() {
    use crate::fixtures::{OpenCode, opencode_id};
    let world = World::new();
    OpenCode::session(opencode_id(1)).turn("a", "b").turn("c", "d").write_tree(&world.home());
    let messages = |kind: &str| -> Vec<(PathBuf, Vec<u8>)> {
        let dir = world.home().join(".local/share/opencode/storage").join(kind);
        files(&dir).into_iter().collect()
    };
    assert_eq!(count_planned(&world), 1);
    for (path, bytes) in messages("message") {
        put(&path, made_newer(str::from_utf8(&bytes).expect("text")));
        assert_eq!(count_planned(&world), 0, "{}", path.display());
        put(&path, bytes);
    }
    let (path, bytes) = messages("part").remove(0);
    put(&path, r#"{"type":"text","text":"a","time":{"start":1772100000000,"end":1772100000001}}"#);
    assert_eq!(count_planned(&world), 0);
    put(&path, bytes);
    assert_eq!(count_planned(&world), 1);
}

#[test]
#[cfg(feature = "sqlite")]
fn newer_message_in_database_keeps_session() {
    use crate::fixtures::{goose_db, hermes_db, kilo_db, opencode_db};
    for (agent, table, column, newer) in [
        ("opencode", "message", "time_created", 1_772_100_000_000_i64),
        ("kilo", "message", "time_created", 1_772_100_000_000),
        // These two agents write seconds.
        ("goose", "messages", "created_timestamp", 1_772_100_000),
        ("crush", "messages", "created_at", 1_772_100_000),
        ("hermes", "messages", "timestamp", 1_772_100_000),
    ] {
        let world = World::new();
        assert!(ordinary::write(agent, &world));
        let home = world.home();
        let path = match agent {
            "opencode" => opencode_db(&home),
            "kilo" => kilo_db(&home),
            "goose" => goose_db(&home),
            "hermes" => hermes_db(&home),
            _ => world.root().join("app/.crush/crush.db"),
        };
        assert_eq!(count_planned(&world), 1, "{agent}");
        let connection = rusqlite::Connection::open(&path).expect("a database");
        // The order of the rows is not that of their times.
        let sql = format!("UPDATE {table} SET {column} = {newer} WHERE rowid = (SELECT min(rowid) FROM {table})");
        assert_eq!(connection.execute(&sql, []).expect("a row"), 1);
        assert_eq!(count_planned(&world), 0, "{agent}");
    }
}

/// Half of a record without a newline, as a crash leaves it.
const HALF: &str = r#"{"type":"us"#;

#[test]
fn every_agent_reads_record_after_torn_one() {
    let (mut tried, mut faults) = (BTreeSet::new(), Vec::new());
    agent_rules::hold("a whole record after half a record is read", agent_rules::GUIDE, |agent| {
        let number = names().iter().position(|name| *name == agent).unwrap_or_default();
        let world = World::new();
        if !ordinary::write(agent, &world) || agent == "aider" {
            return;
        }
        let seen = || {
            let list = world.rejoin(["list", "--all", "--counts", "--json"]);
            let sessions = list.sessions();
            let facts = |session: &Session| (session.id.clone(), session.kind, session.prompts, session.replies);
            let facts: Vec<_> = sessions.iter().map(facts).collect();
            let id = sessions.first().map(|session| session.id.clone()).unwrap_or_default();
            let shown = world.rejoin(["show", &id, "--transcript"]).stdout();
            let page = world.rejoin(["export", &id, "--format", "markdown"]).stdout();
            let found = world.rejoin(["search", "river"]).stdout();
            let glance = world.rejoin(["list", "--all", "--json"]).sessions();
            let glance: Vec<_> = glance.iter().map(|session| (session.kind, session.first_prompt.clone())).collect();
            (
                facts,
                shown.matches("river").count(),
                page.matches("river").count(),
                found.matches("river").count(),
                glance,
            )
        };
        let before = seen();
        for (path, bytes) in files(&world.home()) {
            let Some(text) = str::from_utf8(&bytes).ok().filter(|_| path.extension().is_some_and(|end| end == "jsonl"))
            else {
                continue;
            };
            for (at, line) in text.lines().enumerate() {
                let has_words = line.contains("river") || line.contains("In the sea");
                if !has_words || !is_tried(number + at, 2) {
                    continue;
                }
                tried.insert(agent);
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines[at].insert_str(0, HALF);
                put(&path, lines.join("\n") + "\n");
                let after = seen();
                if after != before {
                    faults.push(format!("{agent} {} line {at}:\n {before:?}\n {after:?}", path.display()));
                }
            }
            put(&path, [&bytes[..], &[0; 512]].concat());
            let told = world.rejoin(["doctor", "--all-findings"]).stdout();
            if seen() != before || told.contains("last record is lost") {
                faults.push(format!("{agent} {} with NUL bytes: {told}", path.display()));
            }
            put(&path, &bytes);
        }
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried.len() >= 14 || !agent_rules::are_all_chosen(), "{tried:?}");
}

#[test]
fn fix_removes_nul_tail_of_every_agent() {
    let mut fixed = BTreeSet::new();
    agent_rules::hold("NUL bytes after the last record can be removed", agent_rules::GUIDE, |agent| {
        let world = World::new();
        if !ordinary::write(agent, &world) {
            return;
        }
        let before = files(&world.home());
        for (path, bytes) in before.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl")) {
            put(path, [&bytes[..], &[0; 512]].concat());
        }
        age_tree(&world.home());
        let report: DoctorReport = world.rejoin(["doctor", "--all-findings", "--json"]).json();
        assert!(report.findings.iter().all(|finding| finding.code != "bad-lines"), "{agent}: {:?}", report.findings);
        // Agents that were never measured are only read.
        let torn = report.findings.iter().filter(|it| it.measured.contains("NUL bytes") && it.repair.is_some());
        let paths: Vec<_> = torn.flat_map(|finding| &finding.paths).map(|path| &path.path).collect();
        world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]);
        for path in paths.into_iter().map(PathBuf::from) {
            assert!(std::fs::read(&path).expect("a file") == before[&path], "{agent} {}", path.display());
            fixed.insert(agent);
        }
    });
    assert!(fixed.len() >= 14 || !agent_rules::are_all_chosen(), "{fixed:?}");
}

#[test]
fn torn_prompt_of_every_agent_is_not_empty() {
    let mut tried = BTreeSet::new();
    agent_rules::hold("half a prompt before a silent record is not an empty session", agent_rules::GUIDE, |agent| {
        let world = World::new();
        if !ordinary::write(agent, &world) {
            return;
        }
        for (path, bytes) in
            files(&world.home()).iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"))
        {
            let text = str::from_utf8(bytes).expect("text");
            let Some(at) = text.lines().position(|line| line.contains("river")).filter(|at| *at > 0) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            let end = lines[at].find("river").expect("a prompt");
            put(path, lines[..at].join("\n") + "\n" + &lines[at][..end] + lines[0] + "\n");
            let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).sessions();
            assert!(sessions.iter().all(|session| !is_empty(session)), "{agent} {}: {sessions:?}", path.display());
            put(path, bytes);
            tried.insert(agent);
        }
    });
    assert!(tried.len() >= 8 || !agent_rules::are_all_chosen(), "{tried:?}");
}
