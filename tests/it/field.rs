//! Public complaints of users about agents, reproduced as small homes: tests of the answers of rejoin.

use std::path::Path;

use serde_json::json;

use crate::agent_rules;
use crate::contract::{Details, DoctorReport, Kind, ResumePlan, Session};
#[cfg(feature = "sqlite")]
use crate::fixtures::Codex;
use crate::fixtures::{Claude, Gemini, age_to, gemini_hash, id, put};
use crate::ordinary;
use crate::world::World;

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

fn all(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions()
}

#[test]
fn records_repeated_by_a_compaction_count_once() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("step one", "1").turn("step two", "2"));
    let old = std::fs::read_to_string(&path).expect("a transcript");
    let newer = old.lines().take(2).collect::<Vec<_>>().join("\n");
    let newer = newer
        .replace("2026-02-01", "2026-02-20")
        .replace("step one", "step three")
        .replace("\"uuid\":\"", "\"uuid\":\"n")
        .replace("\"id\":\"", "\"id\":\"n");
    put(&path, format!("{old}{newer}\n{}", old.replace("\"parentUuid\"", "\"wasParentUuid\"")));
    age_to(&path, "2026-02-21T10:00:00Z".parse().expect("a time"));
    let session = &all(&world)[0];
    assert_eq!((session.prompts, session.replies), (Some(3), Some(3)));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-20T10:01:00Z"), "the newest record is in the middle");
    let shown: Details = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(0).json();
    let texts: Vec<String> = shown.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["step one", "1", "step two", "2", "step three", "1"]);
    let last: Details = world.rejoin(["show", &id(1), "--messages", "2", "--json"]).code(0).json();
    let last: Vec<String> = last.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(last, ["step three", "1"]);
    let found = world.rejoin(["search", "step two"]).code(0).stdout();
    assert_eq!(found.matches("step two").count(), 1, "{found}");
    let page = world.rejoin(["export", &id(1), "--format", "markdown"]).code(0).stdout();
    assert_eq!(page.matches("step two").count(), 1, "{page}");
}

#[test]
fn teammates_are_sub_agents_of_the_lead() {
    let world = World::new();
    let lead = "aaaa0001-0000-4000-8000-000000000001";
    world.add(Claude::session(lead).in_dir(APP).turn("split the module", "I start two teammates."));
    for n in [2, 3] {
        let text = "<teammate-message teammate_id=\"team-lead\">\nwrite the service\n</teammate-message>";
        let path = world.add(Claude::session(id(n)).in_dir(APP).at("2026-02-01T11:00:00Z").turn(text, "On it."));
        let text = std::fs::read_to_string(&path).expect("a transcript");
        put(
            &path,
            text.replace("{\"parentUuid\"", "{\"teamName\":\"session-aaaa0001\",\"agentName\":\"dev\",\"parentUuid\""),
        );
    }
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [lead]);
    for mate in all(&world).iter().filter(|session| session.id != lead) {
        assert_eq!((mate.kind, mate.parent_id.as_deref()), (Kind::Subagent, Some(lead)));
        assert_eq!(mate.first_prompt.as_deref(), Some("write the service"));
    }
    let shown: Details = world.rejoin(["show", lead, "--json"]).code(0).json();
    let exported: Details = world.rejoin(["export", lead, "--format", "json"]).code(0).json();
    let note = format!("it has 2 sub-agents: {} (write the service), {} (write the service)", id(2), id(3));
    assert_eq!((&shown.notes, &exported.notes), (&vec![note.clone()], &vec![note.clone()]));
    let page = world.rejoin(["show", lead]).code(0).stdout();
    assert!(page.contains(&note), "{page}");
    let page = world.rejoin(["export", lead, "--format", "markdown"]).code(0).stdout();
    assert_eq!(page.matches("On it.").count(), 2, "{page}");
    let mate: Details = world.rejoin(["show", &id(2), "--json"]).code(0).json();
    assert_eq!(mate.notes, [] as [&str; 0]);
    let resumed = world.rejoin(["resume", "latest", "--print"]).code(0).stdout();
    assert!(resumed.contains(lead), "{resumed}");
    let plan = world.rejoin(["cleanup", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert!(plan.contains("1 session with 2 sub-agents would be removed"), "{plan}");
}

/// Writes Codex's list of its sessions: id, name, file and a flag for archived ones.
#[cfg(feature = "sqlite")]
fn codex_list(path: &Path, rows: &[(&str, &str, &Path, bool)]) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let connection = rusqlite::Connection::open(path).expect("a database");
    let sql = "CREATE TABLE threads (id TEXT, name TEXT, title TEXT, first_user_message TEXT, rollout_path TEXT, archived INTEGER)";
    connection.execute_batch(sql).expect("a table");
    for (id, name, file, is_archived) in rows {
        let file = file.to_str().expect("a path");
        let sql = "INSERT INTO threads VALUES (?1, ?2, '', '', ?3, ?4)";
        connection.execute(sql, (id, name, file, is_archived)).expect("a row");
    }
}

#[test]
#[cfg(feature = "sqlite")]
fn codex_config_selects_database() {
    let world = World::new();
    let path = world.add(Codex::session(id(1)).in_dir(APP).turn("fix it", "Done."));
    let root = world.home().join(".codex");
    codex_list(&root.join("state_5.sqlite"), &[(&id(1), "Stale", "/old/place/a.jsonl".as_ref(), false)]);
    codex_list(&root.join("lists/state_5.sqlite"), &[(&id(1), "Named in the app", &path, false)]);
    let elsewhere = world.dir("elsewhere");
    codex_list(&elsewhere.join("state_5.sqlite"), &[(&id(1), "By variable", &path, false)]);
    let title = |world: &World| all(world)[0].title.clone();
    let listed = world.with("CODEX_SQLITE_HOME", &elsewhere).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed[0].title.as_deref(), Some("By variable"));
    put(&root.join("config.toml"), format!("model = \"m\"\nsqlite_home = \"{}\"\n", root.join("lists").display()));
    assert_eq!(title(&world).as_deref(), Some("Named in the app"));
    let listed = world.with("CODEX_SQLITE_HOME", &elsewhere).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed[0].title.as_deref(), Some("Named in the app"), "the configuration comes first");
    assert!(!all(&world)[0].health.contains(&"unlisted".to_owned()));
    let config = std::fs::read_to_string(root.join("config.toml")).expect("a file");
    put(&root.join("config.toml"), format!("sqlite_home = \"{}\"\n", world.dir("no list yet").display()));
    assert_eq!(title(&world), None, "the list in the store is not in use");
    put(&root.join("config.toml"), config);
    // The hint for a damaged list names that list.
    put(&root.join("lists/state_5.sqlite"), "SQLite format 3\0 is what this says");
    let told = world.rejoin(["doctor", "--check", "unreadable"]).code(4).stdout();
    assert!(told.contains(&format!("mv {}/state_*.sqlite*", root.join("lists").display())), "{told}");
}

#[test]
#[cfg(feature = "sqlite")]
fn resume_refuses_session_archived_by_list_or_place() {
    let world = World::new();
    let path = world.add(Codex::session(id(1)).in_dir(APP).turn("fix it", "Done."));
    let list = world.home().join(".codex/state_5.sqlite");
    codex_list(&list, &[(&id(1), "A name", &path, true)]);
    let session = &all(&world)[0];
    assert_eq!((session.kind, session.resumable), (Kind::Archived, false));
    assert!(session.health.contains(&"archive-mismatch".to_owned()), "{:?}", session.health);
    let refused = world.rejoin(["resume", &id(1), "--print"]).code(7).stderr();
    assert!(refused.contains(&format!("codex unarchive {}", id(1))), "{refused}");
    let archived = world.home().join(".codex/archived_sessions").join(path.file_name().expect("a name"));
    std::fs::create_dir_all(archived.parent().expect("a directory")).expect("a directory");
    std::fs::rename(&path, &archived).expect("a move");
    std::fs::remove_file(&list).expect("a list");
    codex_list(&list, &[(&id(1), "A name", &archived, false)]);
    let told = world.rejoin(["doctor", "--check", "archive-mismatch"]).code(4).stdout();
    assert!(told.contains("not closed"), "{told}");
    std::fs::remove_file(&list).expect("a list");
    codex_list(&list, &[(&id(1), "A name", &archived, true)]);
    world.rejoin(["doctor", "--check", "archive-mismatch"]).code(0);
}

/// Returns the transcript of the n-th session, which begins with three turns.
fn three_turns(world: &World, n: u32) -> std::path::PathBuf {
    world.add(Claude::session(id(n)).in_dir(APP).turn("first", "1").turn("second", "2").turn("third", "3"))
}

#[test]
fn nul_bytes_hide_no_complete_record() {
    let world = World::new();
    let lines = |path: &Path| -> Vec<Vec<u8>> {
        std::fs::read(path).expect("a transcript").split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let nul_in_the_middle = three_turns(&world, 1);
    let mut changed = lines(&nul_in_the_middle);
    changed[2].splice(0..0, [0; 4096]);
    put(&nul_in_the_middle, changed.join(&b'\n'));
    let glued = three_turns(&world, 2);
    let mut changed = lines(&glued);
    let whole = changed.remove(4);
    changed[3].truncate(120);
    changed[3].extend(whole);
    put(&glued, changed.join(&b'\n'));
    let nul_only = three_turns(&world, 3);
    // More than a reader holds at once.
    put(&nul_only, vec![0; 3 * 1024 * 1024]);
    let nul_at_the_end = three_turns(&world, 4);
    put(&nul_at_the_end, [std::fs::read(&nul_at_the_end).expect("a transcript"), vec![0; 2048]].concat());

    let texts = |n: u32| -> Vec<String> {
        let shown: Details = world.rejoin(["show", &id(n), "--transcript", "--json"]).code(0).json();
        shown.messages.expect("messages").into_iter().map(|message| message.text).collect()
    };
    assert_eq!(texts(1), ["first", "1", "second", "2", "third", "3"]);
    assert_eq!(texts(2), ["first", "1", "second", "third", "3"], "the reply to the second one is half a record");
    assert_eq!(texts(4), ["first", "1", "second", "2", "third", "3"]);
    let found = world.rejoin(["search", "third"]).code(0).stdout();
    assert!([1, 2, 4].iter().all(|n| found.contains(&id(*n))), "{found}");
    let sessions = all(&world);
    let of = |n: u32| sessions.iter().find(|session| session.id == id(n)).expect("a session");
    assert_eq!((of(2).prompts, of(2).replies), (Some(3), Some(2)));
    assert_eq!((of(3).kind, of(3).health.as_slice()), (Kind::Main, &["bad-lines".to_owned()][..]));
    assert_eq!(of(4).health, [] as [&str; 0]);
    let plan = world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert!(plan.contains("Nothing to do"), "{plan}");
    let told = world.rejoin(["doctor", "--all-findings"]).code(4).stdout();
    assert!(told.contains("every record before them is whole, and none is lost"), "{told}");
    assert!(!told.contains("so its last record is lost"), "{told}");

    let before = std::fs::read(&glued).expect("a transcript");
    world.rejoin(["doctor", "--fix"]).code(4);
    assert_eq!(lines(&glued).len(), changed.len() + 1, "the whole record has a line of its own");
    assert_eq!(texts(2), ["first", "1", "second", "third", "3"]);
    world.rejoin(["undo"]).code(0);
    assert!(before == std::fs::read(&glued).expect("a transcript"));
}

/// Saves a chat as `/chat save` does, in a project of Gemini CLI.
fn save_chat(world: &World, project: &str, tag: &str, talk: &[&str]) -> std::path::PathBuf {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "model" };
    let turn = |(at, text): (usize, &&str)| json!({"role": role(at), "parts": [{"text": text}]});
    let history: Vec<_> = talk.iter().enumerate().map(turn).collect();
    let path = world.home().join(format!(".gemini/tmp/{project}/checkpoint-{tag}.json"));
    put(&path, serde_json::to_string_pretty(&json!({"history": history, "authType": "x"})).expect("JSON"));
    age_to(&path, "2026-01-01T10:00:00Z".parse().expect("a time"));
    path
}

#[test]
fn gemini_checkpoints_are_sessions() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Gemini::session(id(1)).in_dir(&app).turn("an ordinary session", "Yes."));
    let path = save_chat(&world, "app", "draft%20one", &["design the module", "A design.", "add pallets", "Added."]);
    let gone = gemini_hash("/srv/gone/away");
    let old = save_chat(&world, &gone, "old", &[]);
    put(&old, json!([{"role": "user", "parts": [{"text": "an old form"}]}]).to_string());

    let sessions = all(&world);
    let of = |id: &str| sessions.iter().find(|session| session.id == id).expect("a session");
    let saved = of("draft%20one@app");
    assert_eq!((saved.title.as_deref(), saved.first_prompt.as_deref()), (Some("draft one"), Some("design the module")));
    assert_eq!((saved.kind, saved.prompts, saved.replies), (Kind::Saved, Some(2), Some(2)));
    assert_eq!((saved.launch_path(), saved.active_at.as_deref()), (app.to_str(), None));
    assert_eq!(saved.created_at.as_deref(), Some("2026-01-01T10:00:00Z"));
    assert_eq!(of(&format!("old@{gone}")).health, ["unknown-directory"]);
    let found = world.rejoin(["search", "pallets"]).code(0).stdout();
    assert!(found.contains("draft%20one@app"), "{found}");
    let page = world.rejoin(["export", "draft one", "--format", "markdown"]).code(0).stdout();
    assert!(page.contains("add pallets") && page.contains("Added."), "{page}");
    let latest = world.rejoin(["resume", "latest", "--print"]).code(0).stdout();
    assert!(latest.contains(&id(1)), "a saved chat does not say when it was active: {latest}");

    world.install("gemini", "");
    let plan: ResumePlan = world.rejoin(["resume", "draft one", "--json"]).plan();
    assert_eq!((plan.resume.argv, plan.resume.dir.as_deref()), (vec!["gemini".to_owned()], app.to_str()));
    assert_eq!(plan.resume.then_type.as_deref(), Some("/chat resume draft one"));
    let refused = world.rejoin(["resume", "draft one", "--prompt", "go on"]).code(7).stderr();
    assert!(refused.contains("resume it without --prompt"), "{refused}");
    let refused = world.rejoin(["resume", &format!("gemini:old@{gone}"), "--print"]).code(7).stderr();
    assert!(refused.contains("unknown"), "{refused}");

    // A cleanup of any age keeps it, and deleting it leaves everything else.
    let kept =
        world.rejoin(["cleanup", "--any-age", "--allow-all", "--exclude", &id(1), "--yes", "--json"]).code(0).stdout();
    assert!(kept.contains(r#""reason":"undated","sessions":2"#), "{kept}");
    assert!(path.exists() && old.exists());
    let archive = world.dir("archive");
    let archive = archive.to_str().expect("a path");
    world.rejoin(["archive", "draft one", "--archive-dir", archive]).code(0);
    world.rejoin(["delete", "draft one", "--yes"]).code(0);
    assert!(!path.exists() && old.exists());
    world.rejoin(["restore", "draft%20one@app", "--archive-dir", archive]).code(0);
    assert!(path.exists());
}

#[test]
fn gemini_checkpoint_is_never_empty() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Gemini::session(id(1)).in_dir(&app).turn("a", "b"));
    save_chat(&world, "app", "nothing", &[]);
    put(&save_chat(&world, "app", "newer", &[]), r#"{"history":[],"turns":[{"who":"me","said":"hello"}]}"#);
    put(&save_chat(&world, "app", "torn", &[]), r#"{"history":[{"role":"user","parts":[{"te"#);
    for session in all(&world).iter().filter(|session| session.id != id(1)) {
        assert_eq!((session.kind, session.health.contains(&"empty-session".to_owned())), (Kind::Main, false));
        let says =
            ["unknown-format", "invalid-content"].iter().any(|code| session.health.iter().any(|has| has == code));
        assert!(says, "{}: {:?}", session.id, session.health);
    }
    let plan = world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert!(plan.contains("Nothing to do"), "{plan}");
}

/// Tests that every log next to the sessions of an agent is read or reported, whatever its name.
#[test]
fn list_reads_or_reports_log_of_every_agent() {
    let mut agents = Vec::new();
    agent_rules::hold("a log with another name is read or reported by `doctor`", agent_rules::GUIDE, |agent| {
        let world = World::new();
        if !ordinary::write(agent, &world) {
            return;
        }
        let before = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
        let Some(own) = before.iter().find(|session| session.agent.to_string() == agent) else { return };
        let path = Path::new(&own.copies[0].path);
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            return;
        }
        // Some writers are killed between the writing and the renaming of a file.
        let copies = ["the same before the update.jsonl", "the same.jsonl.tmp"].map(|name| path.with_file_name(name));
        copies.iter().for_each(|copy| _ = std::fs::copy(path, copy).expect("a copy"));
        let found: DoctorReport = world.rejoin(["doctor", "--check", "unread-file", "--json"]).code(0).json();
        let [finding] = &found.findings[..] else { panic!("{agent}: {} findings", found.findings.len()) };
        let named: Vec<&Path> = finding.paths.iter().map(|it| Path::new(&it.path)).collect();
        assert_eq!(named, copies, "{agent}");
        assert_eq!(world.rejoin(["list", "--all", "--json"]).sessions().len(), before.len(), "{agent}");
        world.rejoin(["doctor", "--fix", "--yes"]);
        world.rejoin(["cleanup", "--any-age", "--allow-all", "--yes"]);
        assert!(copies.iter().all(|copy| copy.is_file()), "{agent}");
        agents.push(agent);
    });
    assert!(agents.len() > 5 || !agent_rules::are_all_chosen(), "{agents:?}");
}
