//! Sessions in databases: archived with all of their rows, shown from the archive, and restored by their agents.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

use crate::agents::NEEDS_SQLITE;
use crate::archive::{archive_dir, own_dir};
use crate::contract::Details;
use crate::contract::archive::{List, Show, Verify};
use crate::contract::changes::{Archive, Change, ChangeResult, Cleanup};
use crate::contract::search::Search;
use crate::facts::{copy_tree, corpora};
use crate::fixtures::{
    Claude, Crush, Goose, Hermes, OpenCode, age_tree, goose_db, hermes_db, id, opencode_db, opencode_id, put,
    register_crush,
};
use crate::world::World;

/// Adds two sessions of each agent that keeps them in a database; returns the ids of the first ones.
fn with_databases(world: &World) -> Vec<(&'static str, String)> {
    let app = world.dir("app");
    let ids = [opencode_id(1), id(2), "20260201_1".to_owned(), "20260201_100000_0a1b2c".to_owned()];
    let others = [opencode_id(9), id(9), "20260201_9".to_owned(), "20260201_100000_999999".to_owned()];
    for (ids, prompt) in [(&ids, "find the needle"), (&others, "not yours")] {
        world.add(OpenCode::session(&ids[0]).in_dir(&app).turn(prompt, "found it"));
        Crush::session(&ids[1]).turn(prompt, "found it").write_in(&app.join(".crush"));
        world.add(Goose::session(&ids[2]).in_dir(&app).turn(prompt, "found it"));
        world.add(Hermes::session(&ids[3]).in_dir(&app).turn(prompt, "found it"));
    }
    register_crush(&world.home(), &[(&app, &app.join(".crush"))]);
    ["opencode", "crush", "goose", "hermes"].into_iter().zip(ids).collect()
}

/// Returns every manifest of a session.
fn manifests(world: &World, agent: &str, id: &str) -> Vec<serde_json::Value> {
    let dir = own_dir(world).join("sessions").join(agent).join(id);
    let entries = std::fs::read_dir(dir).expect("a session").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.collect();
    paths.sort();
    let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).expect("a manifest")).expect("JSON");
    paths.iter().map(read).collect()
}

#[test]
fn archive_keeps_rows_of_database_session() {
    let world = World::new();
    let sessions = with_databases(&world);
    for (agent, id) in &sessions {
        let name = format!("{agent}:{id}");
        let shown: Details = world.rejoin(["show", &name, "--messages", "9", "--json"]).code(0).json();
        let archived: Archive = world.rejoin(["archive", &name, "--json"]).code(0).stderr_eq("").json();
        let item = &archived.items[0];
        assert_eq!((item.result, item.details.files), (ChangeResult::Done, 1), "{agent}");
        assert!(item.size_bytes > 0, "{agent}");
        // An older program must not mistake the rows for a file that it may write into the store.
        let manifest = &manifests(&world, agent, id)[0];
        assert_eq!((&manifest["format_version"], &manifest["entries"][0]["type"]), (&"2.0".into(), &"rows".into()));
        assert!(manifest["facts"]["size_bytes"].as_u64() > Some(0), "{agent}");
        let kept: Show = world.rejoin(["show", "--archived", &name, "--messages", "9", "--json"]).code(0).json();
        let texts = |messages: &Option<Vec<crate::contract::Message>>| -> Vec<String> {
            messages.iter().flatten().map(|message| message.text.clone()).collect()
        };
        assert_eq!(texts(&kept.messages), texts(&shown.messages), "{agent}");
        assert_eq!(kept.session.first_prompt.as_deref(), Some("find the needle"), "{agent}");
        let again: Archive = world.rejoin(["archive", &name, "--json"]).code(0).json();
        assert_eq!(again.items[0].result, ChangeResult::Unchanged, "{agent}");
    }
    let list: List = world.rejoin(["list", "--archived", "--json"]).code(0).stderr_eq("").json();
    assert_eq!(list.sessions.len(), sessions.len());
    assert!(list.sessions.iter().all(|session| session.launch_dir.is_some()));
    let found: Search = world.rejoin(["search", "needle", "--archived", "--json"]).code(0).stderr_eq("").json();
    assert_eq!(found.sessions.len(), sessions.len());
    let none: Search = world.rejoin(["search", "not yours", "--archived", "--json"]).code(0).json();
    assert!(none.sessions.is_empty(), "nothing of another session is kept");
    let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code(0).json();
    assert!(verdict.faults.is_empty() && verdict.blobs == sessions.len() as u64);
}

#[test]
fn archive_adds_state_only_after_data_loss() {
    let world = World::new();
    let app = world.dir("app");
    let id = opencode_id(1);
    world.add(OpenCode::session(&id).in_dir(&app).turn("one", "1"));
    world.rejoin(["archive", "--every"]).code(0);
    let database = Connection::open(opencode_db(&world.home())).expect("a database");
    let more =
        "INSERT INTO message SELECT 'msg_zzz', session_id, time_created + 9, time_updated, data FROM message LIMIT 1;
        UPDATE session SET time_updated = time_updated + 9";
    database.execute_batch(more).expect("a turn");
    world.rejoin(["archive", "--every"]).code(0);
    let states: Vec<_> = manifests(&world, "opencode", &id).iter().map(|one| one["number"].clone()).collect();
    assert_eq!(states, [2], "all of the first state is in the second");
    database.execute_batch("DELETE FROM message WHERE id = 'msg_zzz'").expect("a loss");
    world.rejoin(["archive", "--every"]).code(0);
    let states: Vec<_> = manifests(&world, "opencode", &id).iter().map(|one| one["number"].clone()).collect();
    assert_eq!(states, [2, 3]);
}

#[test]
fn archive_stores_no_part_of_damaged_database() {
    let world = World::new();
    let app = world.dir("app");
    let mut session = Goose::session("20260201_1").in_dir(&app);
    for turn in 0..200 {
        session = session.turn(&format!("prompt {turn} {}", "x".repeat(400)), "an answer");
    }
    world.add(session);
    world.rejoin(["archive", "--every"]).code(0);
    let path = goose_db(&world.home());
    Connection::open(&path).expect("a database").pragma_update(None, "journal_mode", "DELETE").expect("no log");
    damage(&path);
    let archived: Archive = world.rejoin(["archive", "--every", "--json"]).code(3).json();
    assert_eq!(archived.items[0].result, ChangeResult::Failed);
    let kept = world.rejoin(["show", "--archived", "goose:20260201_1", "--transcript"]).code(0).stdout();
    assert!(kept.contains("prompt 199 "), "what was archived before is whole");
}

#[test]
fn real_databases_read_the_same_in_archive() {
    for (agent, folder) in corpora().into_iter().filter(|(agent, _)| NEEDS_SQLITE.contains(agent)) {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        let done: Archive = world.rejoin(["archive", "--every", "--agent", agent, "--json"]).code(0).json();
        assert!(done.done > 10, "{agent}");
        for item in &done.items {
            let name = format!("{agent}:{}", item.id.as_deref().unwrap_or_default());
            let now = world.rejoin(["show", &name, "--transcript"]).code(0).stdout();
            let kept = world.rejoin(["show", "--archived", &name, "--transcript"]).code(0).stdout();
            assert_eq!(kept, now, "{name}");
            let json = |args: &[&str]| -> serde_json::Value { world.rejoin(args).code(0).json() };
            let (now, kept) = (json(&["show", &name, "--json"]), json(&["show", "--archived", &name, "--json"]));
            for fact in ["title", "first_prompt", "prompts", "replies", "active_at", "model"] {
                assert_eq!(kept["session"][fact], now["session"][fact], "{name} {fact}");
            }
        }
    }
}

/// Blanks a page in the middle.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a database");
    let page = bytes.len() / 4096 / 2;
    bytes[page * 4096..(page + 1) * 4096].fill(0);
    std::fs::write(path, bytes).expect("damage");
}

/// Installs an OpenCode that imports a session by restoring a database that has it, and prints text that is not for
/// users.
fn installed(world: &World, with: &Path) {
    let import = "cp \"$2\" taken.json && cp PREPARED DATABASE && rm -f DATABASE-wal DATABASE-shm && echo Imported";
    let database = opencode_db(&world.home());
    let import = import.replace("PREPARED", with.to_str().expect("a path"));
    let import = import.replace("DATABASE", database.to_str().expect("a path"));
    world.install("opencode", &format!("case $1 in import) {import};; *) exit 9;; esac\n"));
}

/// Creates a world whose archive has a session of OpenCode that its database has lost, and a copy of the database from
/// before.
fn with_one_gone(id: &str) -> (World, PathBuf, PathBuf) {
    let world = World::new();
    let app = world.dir("app");
    world.add(OpenCode::session(id).in_dir(&app).turn("find the needle", "found it"));
    world.add(Claude::session("00000001-aaaa-4aaa-8aaa-000000000001").in_dir(&app).prompt("one").reply("two"));
    world.rejoin(["archive", "--every"]).code(0);
    let (database, before) = (opencode_db(&world.home()), world.root().join("before.db"));
    let connection = Connection::open(&database).expect("a database");
    connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
    std::fs::copy(&database, &before).expect("a copy");
    connection.execute_batch("DELETE FROM part; DELETE FROM message; DELETE FROM session").expect("a loss");
    (world, app, before)
}

#[test]
fn restore_runs_the_agents_import_in_its_directory() {
    let id = opencode_id(1);
    let (world, app, before) = with_one_gone(&id);
    installed(&world, &before);
    let planned: Change = world.rejoin(["restore", &id, "--dry-run", "--json"]).code(0).json();
    assert_eq!(planned.items[0].result, ChangeResult::Planned);
    assert!(world.launched().is_none(), "a plan starts nothing");
    let done: Change = world.rejoin(["restore", &id, "--json"]).code(0).json();
    assert_eq!((done.items[0].result, done.run), (ChangeResult::Done, None));
    let launch = world.launched().expect("a launch");
    assert_eq!((&launch.argv[..2], &launch.cwd), (&["opencode".to_owned(), "import".to_owned()][..], &app));
    let taken: serde_json::Value =
        serde_json::from_slice(&std::fs::read(app.join("taken.json")).expect("a file")).expect("JSON");
    assert_eq!(taken["info"]["id"], id.as_str());
    assert_eq!(taken["info"]["time"]["created"].as_i64(), Some(1_769_940_000_000));
    let [prompt, reply] = [0, 1].map(|at| &taken["messages"][at]);
    assert_eq!((&prompt["info"]["role"], &prompt["info"]["sessionID"]), (&"user".into(), &id.as_str().into()));
    assert_eq!(prompt["parts"][0]["text"], "find the needle");
    let parts = reply["parts"].as_array().expect("parts");
    assert!(parts.iter().any(|part| part["text"] == "found it"), "{parts:?}");
    assert_eq!(prompt["parts"][0]["messageID"], prompt["info"]["id"]);
    world.rejoin(["restore", &id]).code(0).stderr_eq(snapbox::str![[r#"
opencode session [..] already exists with the same content.

"#]]);
    Connection::open(opencode_db(&world.home()))
        .expect("a database")
        .execute_batch("UPDATE session SET title = 'x'")
        .expect("a change");
    let refused = world.rejoin(["restore", &id]).code(7).stderr();
    assert!(refused.contains("with other rows"), "{refused}");
}

#[test]
fn restore_leaves_file_and_command_if_import_fails() {
    let id = opencode_id(1);
    let left = |world: &World, why: &str| {
        // A plan reports it too, unless only the import itself can show it.
        let plan: Change = world.rejoin(["restore", &id, "--dry-run", "--json"]).code_is_one_of(&[0, 3]).json();
        let planned = plan.items[0].error.clone().unwrap_or_default();
        assert_eq!(planned.starts_with(why), !why.to_lowercase().starts_with("opencode ") || why.ends_with("PATH"));
        assert_eq!((plan.planned == 0, plan.refused), (!planned.is_empty(), u64::from(!planned.is_empty())));
        let done: Change = world.rejoin(["restore", &id, "--json"]).code(3).json();
        let error = done.items[0].error.clone().expect("a reason");
        assert!(error.starts_with(why) && error.contains("run `opencode import "), "{error}");
        let file = world.home().join(format!(".local/share/rejoin/restored/opencode-{id}.json"));
        assert!(error.contains(file.to_str().expect("a path")), "{error}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("a file").permissions());
        assert_eq!(mode & 0o777, 0o600);
    };
    let (world, app, before) = with_one_gone(&id);
    left(&world, "opencode is not on PATH");
    world.install("opencode", "echo no such thing >&2; exit 3");
    left(&world, "opencode ended with status 3: no such thing");
    world.install("opencode", "exit 0");
    left(&world, "OpenCode says that it took it in, but does not have it");
    std::fs::remove_dir(&app).expect("no directory");
    installed(&world, &before);
    left(&world, "its directory ");
    // A directory that the user names becomes the new one.
    let moved = world.dir("moved");
    let map = format!("{}={}", app.display(), moved.display());
    let printed = world.rejoin(["restore", &id, "--dry-run"]).code(3).stdout();
    assert!(
        printed.starts_with("refused  opencode ")
            && printed.ends_with("0 sessions would be restored, 1 refused. Nothing was changed.\n"),
        "{printed}"
    );
    let plan: Change = world.rejoin(["restore", &id, "--map", &map, "--dry-run", "--json"]).code(0).json();
    // The fingerprint of a plan includes the directory.
    world.rejoin(["restore", &id, "--trust", "--apply", plan.fingerprint()]).code(7);
    world.rejoin(["restore", &id, "--map", &map, "--apply", plan.fingerprint()]).code(0);
    assert!(moved.join("taken.json").is_file());
}

#[test]
fn restore_writes_sql_for_agents_without_an_import() {
    for (agent, path) in [("goose", goose_db as fn(&Path) -> PathBuf), ("hermes", hermes_db)] {
        let world = World::new();
        let sessions = with_databases(&world);
        let id = &sessions.iter().find(|(name, _)| *name == agent).expect("an agent").1;
        let name = format!("{agent}:{id}");
        world.rejoin(["archive", &name]).code(0);
        let shown = world.rejoin(["show", &name, "--transcript"]).code(0).stdout();
        let connection = Connection::open(path(&world.home())).expect("a database");
        connection
            .execute_batch(&format!(
                "DELETE FROM messages WHERE session_id = '{id}'; DELETE FROM sessions WHERE id = '{id}'"
            ))
            .expect("a loss");
        let planned = world.rejoin(["restore", &name, "--dry-run"]).code(3).stdout();
        assert!(planned.contains("takes no session in by itself"), "{planned}");
        let stdout = world.rejoin(["restore", &name]).code(3).stdout();
        let file = world.home().join(format!(".local/share/rejoin/restored/{agent}-{id}.sql"));
        assert!(
            stdout.contains(&format!("run `sqlite3 {} <{}`", path(&world.home()).display(), file.display())),
            "{stdout}"
        );
        world.rejoin(["show", &name, "--transcript"]).code(0);
        let script = std::fs::read_to_string(&file).expect("a script").replace(".bail on\n", "");
        connection.execute_batch(&script).expect("the rows");
        assert_eq!(world.rejoin(["show", &name, "--transcript"]).code(0).stdout(), shown);
        world.rejoin(["restore", &name]).code(0);
    }
}

/// Creates a world with two sessions of OpenCode, and an OpenCode that removes all sessions, regardless of its
/// arguments.
fn with_a_remover() -> (World, [String; 2]) {
    let world = World::new();
    let app = world.dir("app");
    let ids = [opencode_id(1), opencode_id(2)];
    for id in &ids {
        world.add(OpenCode::session(id).in_dir(&app).turn("find the needle", "found it"));
    }
    let (database, empty) = (opencode_db(&world.home()), world.root().join("empty.db"));
    let connection = Connection::open(&database).expect("a database");
    connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
    std::fs::copy(&database, &empty).expect("a copy");
    let all = "DELETE FROM part; DELETE FROM message; DELETE FROM session";
    for id in &ids {
        let without = world.root().join(format!("without-{id}.db"));
        std::fs::copy(&database, &without).expect("a copy");
        let one = format!(
            "DELETE FROM part WHERE session_id = '{id}'; DELETE FROM message WHERE session_id = '{id}'; \
             DELETE FROM session WHERE id = '{id}'"
        );
        Connection::open(&without).expect("a database").execute_batch(&one).expect("a session less");
    }
    Connection::open(&empty).expect("a database").execute_batch(all).expect("no session");
    let (empty, database) = (empty.to_str().expect("a path"), database.to_str().expect("a path"));
    let root = world.root().to_str().expect("a path");
    // The program reads its input, like one that asks. The second session that it removes is the last one.
    let remove = format!(
        "if [ -e {root}/one-gone ]; then cp {empty} {database}; else cp \"{root}/without-$3.db\" {database} && touch {root}/one-gone; fi"
    );
    world.install("opencode", &format!("read answer && exit 9; [ \"$1 $2\" = 'session delete' ] && {{ {remove}; }}"));
    (world, ids)
}

#[test]
fn delete_names_other_sessions_removed_by_the_agent() {
    let (world, [id, other]) = with_a_remover();
    let (empty, database) = (world.root().join("empty.db"), opencode_db(&world.home()));
    world.install("opencode", &format!("cp {} {}", empty.display(), database.display()));
    let done: Change = world.rejoin(["delete", &id, "--via-agent", "--yes", "--json"]).code(3).json();
    assert_eq!((done.handed()[0].result, done.failed), (ChangeResult::Failed, 1));
    let why = done.handed()[0].error.as_deref().expect("a reason");
    assert!(
        why.starts_with(&format!("OpenCode removed 1 other session with it that were not named: {other}")),
        "{why}"
    );
    assert!(why.contains("the archive has 0 of them"), "{why}");
}

#[test]
fn delete_via_agent_archives_session_first() {
    let (world, [id, other]) = with_a_remover();
    let refused = world.rejoin(["delete", &id, "--yes"]).code(7).stderr();
    assert!(refused.contains("only OpenCode removes it") && refused.contains("--via-agent`"), "{refused}");
    assert!(world.launched().is_none());
    let planned: Change = world.rejoin(["delete", &id, "--via-agent", "--dry-run", "--json"]).code(0).json();
    let handed = &planned.handed()[0];
    assert_eq!((handed.result, planned.planned, planned.items.len()), (ChangeResult::Planned, 1, 1));
    let command = handed.command.as_deref().expect("a command");
    assert_eq!(command, ["opencode", "session", "delete", &id]);
    assert!(handed.size_bytes > 0 && world.launched().is_none() && !archive_dir(&world).exists());
    world.rejoin(["delete", &id, "--via-agent", "--apply", "000000000000"]).code(7);
    let apply = ["delete", &id, "--via-agent", "--apply", planned.fingerprint(), "--json"];
    let done: Change = world.rejoin(apply).code(0).stderr_eq("").json();
    assert_eq!((done.handed()[0].result, done.done, done.run), (ChangeResult::Done, 1, None));
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv.as_slice(), launch.cwd), (command, world.home()));
    let left = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(left.iter().map(|session| &session.id).collect::<Vec<_>>(), [&other]);
    let kept = world.rejoin(["show", &format!("opencode:{id}"), "--transcript"]).code(0).stdout();
    assert!(kept.contains("find the needle"), "{kept}");
}

#[test]
fn delete_via_agent_needs_the_archive() {
    let (world, [id, _]) = with_a_remover();
    let transcript = world.add(Claude::session(crate::fixtures::id(7)).in_dir(world.dir("app")).turn("x", "y"));
    age_tree(&world.home());
    put(&archive_dir(&world), "a file where the archive should be");
    let claude = crate::fixtures::id(7);
    world.rejoin(["delete", &claude, &id, "--via-agent", "--yes"]).code(1);
    world.rejoin(["cleanup", "--any-age", "--allow-all", "--via-agent", "--yes"]).code(1);
    assert!(transcript.exists() && world.launched().is_none());
}

/// Changes the only manifest of a world's archive, with a matching digest.
fn edit_manifest(world: &World, edit: impl FnOnce(&mut serde_json::Value)) {
    let manifests = walkdir::WalkDir::new(own_dir(world).join("sessions")).into_iter();
    let manifests = manifests.map(|entry| entry.expect("an entry").into_path()).filter(|path| path.is_file());
    let is_opencode = |path: &PathBuf| std::fs::read_to_string(path).expect("a manifest").contains("opencode");
    let path = manifests.filter(is_opencode).last().expect("a manifest");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a manifest")).expect("JSON");
    edit(&mut manifest);
    let bytes = serde_json::to_vec(&manifest).expect("JSON");
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::remove_file(&path).expect("a removed manifest");
    put(&path.with_file_name(format!("000001-{digest}.json")), &bytes);
}

#[test]
fn manifest_cannot_redirect_import_to_other_database() {
    for elsewhere in ["elsewhere", "home/.local/share/opencode/../../../../elsewhere"] {
        let id = opencode_id(1);
        let (world, _, before) = with_one_gone(&id);
        installed(&world, &before);
        let store = world.root().join(elsewhere);
        edit_manifest(&world, |manifest| manifest["stores"][0] = serde_json::json!(store));
        let answer = world.rejoin(["restore", &id]).code_is_one_of(&[0, 1, 3, 5]);
        if let Some(launch) = world.launched() {
            assert_eq!(launch.variable("OPENCODE_DB"), None, "{elsewhere}");
            assert!(answer.stderr().contains("is not a database of OpenCode here"), "{}", answer.stderr());
        }
        assert_eq!(std::fs::read_dir(world.root().join("elsewhere")).expect("a directory").count(), 0);
    }
}

#[test]
fn manifest_cannot_choose_start_directory() {
    let id = opencode_id(1);
    let (world, _, before) = with_one_gone(&id);
    installed(&world, &before);
    let evil = world.dir("evil");
    edit_manifest(&world, |manifest| manifest["facts"]["launch_dir"] = serde_json::json!(evil));
    let planned = world.rejoin(["restore", &id, "--dry-run"]).code(3).stdout();
    assert!(planned.contains("only the archive names its directory"), "{planned}");
    let stdout = world.rejoin(["restore", &id]).code(3).stdout();
    assert!(stdout.contains("only the archive names its directory"), "{stdout}");
    // A mapping of other directories does not name this one.
    world.rejoin(["restore", &id, "--map", "/old=/new"]).code(3);
    assert!(world.launched().is_none());
    world.rejoin(["restore", &id, "--trust"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, evil);
}

#[test]
fn manifest_id_cannot_be_a_path() {
    let id = opencode_id(1);
    let (world, _, _) = with_one_gone(&id);
    world.dir("home/.local/share/rejoin/restored/opencode-x");
    edit_manifest(&world, |manifest| manifest["id"] = "x/../../../../escaped".into());
    world.rejoin(["restore", "opencode:x/../../../../escaped"]).code_is_one_of(&[1, 3, 5]);
    let escaped = walkdir::WalkDir::new(world.root()).into_iter().filter_map(Result::ok);
    let escaped: Vec<_> = escaped.filter(|entry| entry.file_name().to_string_lossy().starts_with("escaped")).collect();
    assert!(escaped.is_empty(), "{escaped:?}");
}

#[test]
fn restore_imports_session_into_its_channel_database() {
    let world = World::new();
    let (app, id) = (world.dir("app"), opencode_id(1));
    world.add(OpenCode::session(&id).in_dir(&app).turn("find the needle", "found it"));
    let usual = opencode_db(&world.home());
    let channel = usual.with_file_name("opencode-dev.db");
    Connection::open(&usual).expect("a database").pragma_update(None, "journal_mode", "DELETE").expect("no log");
    std::fs::rename(&usual, &channel).expect("a database of another channel");
    world.install("opencode", "exit 3");
    let refused = world.rejoin(["delete", &id, "--yes"]).code(7).stderr();
    assert!(
        refused.contains(&format!("env OPENCODE_DB={} opencode session delete {id}", channel.display())),
        "{refused}"
    );
    let planned = world.rejoin(["delete", &id, "--via-agent", "--dry-run"]).code(0).stdout();
    let command = format!("env OPENCODE_DB={} opencode session delete {id}", channel.display());
    assert!(planned.contains(&command), "{planned}");
    world.rejoin(["archive", "--every"]).code(0);
    let connection = Connection::open(&channel).expect("a database");
    connection.execute_batch("DELETE FROM part; DELETE FROM message; DELETE FROM session").expect("a loss");
    let stdout = world.rejoin(["restore", &id, "--trust"]).code(3).stdout();
    assert!(stdout.contains(&format!("run `env OPENCODE_DB={} opencode import", channel.display())), "{stdout}");
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.variable("OPENCODE_DB"), channel.to_str());
}

#[test]
fn delete_reports_session_not_removed_by_agent() {
    let (world, [id, other]) = with_a_remover();
    let failed = |world: &World, why: &str| {
        let done: Change = world.rejoin(["delete", &id, "--via-agent", "--yes", "--json"]).code(3).json();
        assert_eq!((done.handed()[0].result, done.failed), (ChangeResult::Failed, 1));
        assert_eq!(done.handed()[0].error.as_deref(), Some(why));
        world.rejoin(["show", "--archived", &id]).code(0);
    };
    let still = format!("OpenCode still has it in {}", opencode_db(&world.home()).display());
    world.install("opencode", "exit 0");
    failed(&world, &format!("`opencode session delete {id}` ended well, but {still}"));
    world.install("opencode", "echo no >&2; exit 5");
    failed(&world, &format!("opencode ended with status 5: no; {still}"));
    std::fs::remove_file(world.root().join("bin/opencode")).expect("a program less");
    failed(&world, &format!("opencode is not on PATH; {still}"));

    world.rejoin(["pin", &other]).code(0);
    let pinned = world.rejoin(["delete", &other, "--via-agent", "--yes"]).code(7).stderr();
    assert!(pinned.contains("it is pinned"), "{pinned}");
    let soon = |args: &[&str]| world.with("REJOIN_NOW", "2026-02-01T10:03:00Z").rejoin(args);
    let used = soon(&["delete", &id, "--via-agent", "--yes"]).code(7).stderr();
    assert!(used.contains("it may be in use"), "{used}");
}

#[test]
fn cleanup_hands_over_or_lists_sessions_of_databases() {
    let (world, ids) = with_a_remover();
    world.add(Goose::session("20260201_1").in_dir(world.dir("app")).turn("a", "b"));
    let left = world.rejoin(["cleanup", "--any-age", "--allow-all", "--yes"]).code(0);
    assert_eq!(left.stderr().lines().count(), 2, "{}", left.stderr());
    assert!(
        left.stderr().starts_with("2 sessions of opencode in ~/.local/share/opencode/opencode.db "),
        "{}",
        left.stderr()
    );
    assert!(left.stderr().contains("--via-agent archives each"), "{}", left.stderr());
    let args = ["cleanup", "--any-age", "--allow-all", "--via-agent"];
    let planned: Cleanup = world.rejoin(args.iter().chain(&["--dry-run", "--json"])).code(0).json();
    assert_eq!((planned.planned, planned.handed().len(), planned.details.left_to_agent.len()), (2, 2, 1));
    let done: Cleanup = world.rejoin(args.iter().chain(&["--yes", "--json"])).code(0).json();
    assert_eq!((done.done, done.handed().len(), done.details.archived, done.failed), (2, 2, 2, 0));
    assert!(done.handed().iter().all(|one| one.result == ChangeResult::Done));
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["20260201_1"]);
    for id in &ids {
        world.rejoin(["show", "--archived", id]).code(0);
    }
}
