//! `show` of an archived session: the same conversation as before, and no temporary files remain.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::agents::NEEDS_SQLITE;
use crate::archive::{APP, archive_dir, archived, own_dir, stores, wipe};
use crate::contract::archive::Show;
use crate::contract::changes::Archive;
use crate::contract::{Message, ShowSummary};
use crate::facts::{copy_tree, corpora};
use crate::faults::killed_at_every_point;
use crate::fixtures::{Amplifier, Claude, Codex, Copilot, Gemini, Jido, Kimi, OldVibe, Pi, Qwen, Vibe, id, put};
use crate::pipes::leaves_early;
use crate::sample;
use crate::undo::assert_same;
use crate::world::{World, stride};

/// Returns the existing directories in which archived sessions are unpacked.
fn left_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let is_one = |path: &PathBuf| path.to_string_lossy().contains("rejoin-shown-");
    entries.filter(is_one).collect()
}

fn state(world: &World) -> PathBuf {
    world.home().join(".local/state/rejoin")
}

#[track_caller]
fn assert_no_leftover(world: &World) {
    assert_eq!(left_in(&state(world)), Vec::<PathBuf>::new());
}

/// A conversation in every format of `show`.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    json: Value,
    last: Value,
    lines: Vec<Value>,
}

fn said(world: &World, session: &str) -> Said {
    let answer = |args: &[&str]| {
        let args = ["show", session].into_iter().chain(args.iter().copied());
        world.rejoin(args).code(0).stderr_eq("").stdout()
    };
    let messages = |args| -> Value {
        let answer: Value = serde_json::from_str(&answer(args)).expect("JSON");
        answer["messages"].clone()
    };
    let lines = answer(&["--transcript", "--format", "ndjson"]);
    Said {
        text: answer(&["--transcript"]),
        json: messages(&["--transcript", "--json"]),
        last: messages(&["--messages", "2", "--json"]),
        lines: lines.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect(),
    }
}

/// Shows the one session of a world, archives it, wipes the stores and shows it again.
#[track_caller]
fn says_the_same(world: &World, session: &str, at_least: usize) {
    let before = said(world, session);
    assert!(before.json.as_array().expect("messages").len() >= at_least, "{before:#?}");
    world.rejoin(["archive", session]).code(0);
    wipe(world);
    let gone = stores(world);
    assert_eq!(said(world, session), before, "{session}");
    assert_same(&gone, &stores(world), session);
    assert_no_leftover(world);
}

#[test]
fn archived_file_sessions_read_the_same() {
    let check = |add: &dyn Fn(&World), at_least| {
        let world = World::new();
        add(&world);
        says_the_same(&world, &id(1), at_least);
    };
    check(&|world| drop(world.add(Amplifier::session(id(1)).in_dir(APP).turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Amplifier::session(id(1)).in_dir(APP).events_only().turn("look", "ok"))), 1);
    check(&|world| drop(world.add(Claude::session(id(1)).in_dir(APP).turn("look", "ok").side_file("a.txt", "a"))), 2);
    check(&|world| drop(world.add(Codex::session(id(1)).in_dir(APP).turn("look", "ok").tool("ls", "a"))), 3);
    check(&|world| drop(world.add(Codex::session(id(1)).in_dir(APP).turn("look", "ok").packed())), 2);
    check(&|world| drop(world.add(Codex::session(id(1)).in_dir(APP).turn("look", "ok").archived())), 2);
    check(&|world| drop(world.add(Copilot::session(id(1)).in_dir(APP).turn("look", "ok").call("ls", "a"))), 3);
    check(&|world| drop(world.add(Gemini::session(id(1)).in_dir(APP).turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Gemini::session(id(1)).in_dir(APP).document().turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Jido::session(id(1)).in_dir(APP))), 2);
    check(&|world| drop(world.add(Kimi::session(id(1)).in_dir(APP).turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Kimi::session(id(1)).in_dir(APP).without("wire.jsonl").turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Pi::session(id(1)).in_dir(APP).turn("a", "b").back_to(1).turn("c", "d"))), 3);
    check(&|world| drop(world.add(Qwen::session(id(1)).in_dir(APP).turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Qwen::session(id(1)).in_dir(APP).archived().turn("look", "ok"))), 2);
    check(&|world| drop(world.add(Vibe::session(id(1)).in_dir(APP).turn("look", "ok").effect("bash"))), 2);
    check(&|world| drop(world.add(OldVibe::session(id(1)).in_dir(APP).turn("look", "ok"))), 2);
}

#[cfg(feature = "sqlite")]
#[test]
fn archived_opencode_files_read_the_same() {
    use crate::fixtures::{OpenCode, opencode_id};
    let world = World::new();
    OpenCode::session(opencode_id(1)).in_dir(APP).turn("look", "ok").write_tree(&world.home());
    says_the_same(&world, &opencode_id(1), 2);
}

#[test]
fn archived_flat_pi_directory_reads_the_same() {
    let world = World::new();
    let dir = world.dir("flat");
    world.add(Pi::session(id(1)).in_dir(APP).sessions(&dir).filed_under("").turn("look", "ok"));
    let flat = |args: &[&str]| world.with("PI_CODING_AGENT_SESSION_DIR", &dir).rejoin(args).code(0).stdout();
    let before = flat(&["show", &id(1), "--transcript"]);
    assert!(before.contains("look"), "{before}");
    flat(&["archive", &id(1)]);
    std::fs::remove_dir_all(&dir).expect("a removed store");
    assert_eq!(world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout(), before);
}

#[test]
fn archived_full_home_reads_the_same() {
    let world = World::new();
    sample::fill(&world);
    all_say_the_same(&world, 20);
}

#[test]
fn archived_real_sessions_read_the_same() {
    // Sessions in databases cannot be archived.
    for (_, folder) in corpora().into_iter().filter(|(agent, _)| !NEEDS_SQLITE.contains(agent)) {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        all_say_the_same(&world, 1);
    }
}

/// Archives a whole home and compares every conversation with that from its store.
#[track_caller]
fn all_say_the_same(world: &World, at_least: u64) {
    let done: Archive = world.rejoin(["archive", "--every", "--json"]).code_is_one_of(&[0, 3]).json();
    assert!(done.done >= at_least, "{}", done.done);
    let known = archived(world).into_iter().step_by(stride(4));
    // Several agents may use the same id.
    let known: Vec<String> = known.map(|session| format!("{}:{}", session.agent, session.id)).collect();
    // Messages on standard error are about the stores.
    let transcript = |session: &String| world.rejoin(["show", session, "--transcript"]).code(0).stdout();
    let before: Vec<String> = known.iter().map(transcript).collect();
    wipe(world);
    for (session, before) in known.iter().zip(before) {
        assert_eq!(transcript(session), before, "{session}");
    }
    assert_no_leftover(world);
}

#[test]
fn archived_show_keeps_to_json_contract() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).title("Tests").turn("add a test", "Added.").turn("run it", "Ran."));
    world.rejoin(["archive", "--every"]).code(0);
    let none: Show = world.rejoin(["show", "--archived", &id(1), "--json"]).code(0).json();
    assert!(none.messages.is_none());
    let last: Show = world.rejoin(["show", "--archived", &id(1), "--messages", "3", "--json"]).code(0).json();
    let texts: Vec<String> = last.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["Added.", "run it", "Ran."]);
    assert_eq!(last.entries.len(), 1);

    let lines = world.rejoin(["show", "--archived", &id(1), "--transcript", "--format", "ndjson"]).code(0).stdout();
    let lines: Vec<&str> = lines.lines().collect();
    let head: Show = serde_json::from_str(lines[0]).expect("a header");
    assert!(head.entries.is_empty() && head.messages.is_none());
    let messages: Vec<Message> =
        lines[1..5].iter().map(|line| serde_json::from_str(line).expect("a message")).collect();
    assert_eq!(messages[3].text, "Ran.");
    let summary: ShowSummary = serde_json::from_str(lines[5]).expect("a summary");
    assert_eq!((summary.messages, lines.len()), (4, 6));

    wipe(&world);
    world.rejoin(["show", "Tests", "--messages", "1"]).code(0).stderr_eq("").stdout_eq(snapbox::str![[r#"
claude 00000001-aaaa-4aaa-8aaa-000000000001
  archived in   ~/.local/share/rejoin/archive
  title         Tests
  first prompt  add a test
  kind          main
  launch dir    /usr/bin
  started in    /usr/bin
  last in       /usr/bin
  created       2026-02-01 10:01:00
  active        2026-02-01 10:04:00
  messages      2 prompts, 2 replies
  model         model-a
  git branch    main
  was in        [ROOT]/home/.claude/projects/-usr-bin/00000001-aaaa-4aaa-8aaa-000000000001.jsonl
  state         1: archived at 2026-03-01 12:00:00 on [..] 1 file, [..]
  restore       rejoin restore claude:00000001-aaaa-4aaa-8aaa-000000000001

assistant  2026-02-01 10:04:00
  Ran.


"#]]);
}

#[test]
fn show_prints_older_archived_state() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).title("First").turn("add a test", "Added."));
    world.rejoin(["archive", &id(1)]).code(0);
    world.add(Claude::session(id(1)).in_dir(APP).title("Second").turn("something else", "Yes."));
    world.rejoin(["archive", &id(1)]).code(0);
    let shown = |args: &[&str]| -> (String, Vec<u64>, Vec<String>) {
        let id = id(1);
        let args = ["show", "--archived", &id, "--transcript", "--json"].into_iter().chain(args.iter().copied());
        let shown: Show = world.rejoin(args).code(0).json();
        let messages = shown.messages.expect("messages").into_iter().map(|message| message.text);
        let states = shown.session.states.iter().map(|state| state.state);
        (shown.session.title.expect("a title"), states.collect(), messages.collect())
    };
    let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    assert_eq!(shown(&["--state", "1"]), ("First".to_owned(), vec![1, 2], words(["add a test", "Added."])));
    assert_eq!(shown(&["--state", "2"]), ("Second".to_owned(), vec![1, 2], words(["something else", "Yes."])));
    assert_eq!(shown(&[]), shown(&["--state", "2"]));
    let missing = world.rejoin(["show", "--archived", &id(1), "--state", "3", "--json"]).code(5).error();
    assert_eq!(missing.code, "no-such-state");
    world.rejoin(["show", &id(1), "--state", "1"]).code(2);
}

#[test]
fn printed_restore_command_restores_shown_state() {
    let world = World::new();
    let archive = world.root().join("the archive");
    let archive = archive.to_str().expect("a path");
    for (title, prompt) in [("First", "add a test"), ("Second", "something else")] {
        world.add(Claude::session(id(1)).in_dir(APP).title(title).turn(prompt, "Yes."));
        world.rejoin(["archive", &id(1), "--archive-dir", archive]).code(0);
    }
    wipe(&world);
    let show = ["show", "--archived", &id(1), "--archive-dir", archive];
    let newest = world.rejoin(show).code(0).stdout();
    assert!(newest.contains(&format!("rejoin restore claude:{} --archive-dir '{archive}'\n", id(1))), "{newest}");
    let older = world.rejoin(show.iter().chain(&["--state", "1"])).code(0).stdout();
    let marks: Vec<bool> =
        older.lines().filter(|line| line.contains("  state ")).map(|line| line.ends_with("; shown here")).collect();
    assert_eq!(marks, [true, false], "{older}");
    assert!(older.contains("1 prompt, 1 reply\n"), "{older}");
    let (_, command) = older.split_once("  rejoin ").expect("a command");
    world
        .from(world.dir("elsewhere"))
        .run("sh", ["-c", &format!("{} {command}", env!("CARGO_BIN_EXE_rejoin"))])
        .code(0);
    let restored = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(restored.iter().map(|session| session.title.as_deref()).collect::<Vec<_>>(), [Some("First")]);
}

/// Returns a home with a session that is only in the archive, and whose conversation is larger than a pipe.
fn lost_world() -> World {
    let world = World::new();
    let session = Claude::session(id(1)).in_dir(APP).side_file("tool-results/a.txt", "a result");
    world.add((0..3000).fold(session, |session, _| session.turn("why?", &"because ".repeat(10))));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    world
}

#[test]
fn show_reports_damaged_chunk() {
    let world = lost_world();
    let blobs = walkdir::WalkDir::new(own_dir(&world).join("blobs")).into_iter();
    let blobs = blobs.map(|entry| entry.expect("an entry").into_path()).filter(|path| path.is_file());
    let blobs: Vec<PathBuf> = blobs.collect();
    assert!(blobs.len() >= 3, "{blobs:#?}");
    for blob in blobs {
        let sound = std::fs::read(&blob).expect("a blob");
        std::fs::write(&blob, [&sound[..20], b"x", &sound[21..]].concat()).expect("a damage");
        let answer = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(1).stdout_eq("");
        let refused = answer.error();
        assert_eq!(refused.code, "archive-damaged");
        let named = format!("blob {}: its seal does not match its bytes", blob.display());
        assert!(refused.message.ends_with(&named), "{}", refused.message);
        world.rejoin(["show", &id(1)]).code(0);
        std::fs::write(&blob, &sound).expect("the sound one");
        assert_no_leftover(&world);
    }
    std::fs::remove_dir_all(own_dir(&world).join("blobs")).expect("blobs that go");
    let refused = world.rejoin(["show", &id(1), "--messages", "1", "--json"]).code(1).error();
    assert!(refused.message.ends_with(": it is missing"), "{}", refused.message);
    assert_no_leftover(&world);
    let elsewhere = world.root().join("other archive");
    std::fs::rename(archive_dir(&world), &elsewhere).expect("another archive");
    let option = ["--archive-dir", elsewhere.to_str().expect("a path")];
    let refused = world.rejoin(["show", &id(1), "--archived", "--transcript", option[0], option[1]]).code(1).stderr();
    assert!(refused.contains(&format!("`rejoin archive --verify {} '{}'`", option[0], option[1])), "{refused}");
}

#[test]
fn closed_pipe_leaves_no_unpacked_files() {
    let world = lost_world();
    for args in [&["--transcript"][..], &["--transcript", "--json"], &["--transcript", "--format", "ndjson"]] {
        let args: Vec<&str> = ["show", "latest", "--archived"].iter().chain(args).copied().collect();
        leaves_early(&world, &args);
        assert_no_leftover(&world);
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn next_run_removes_files_of_killed_show() {
    let world = lost_world();
    let (gone, before) = (stores(&world), world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout());
    let next = [vec!["show".to_owned(), id(1), "--messages".to_owned(), "1".to_owned()], vec!["undo".to_owned()]];
    let mut leftovers = 0;
    killed_at_every_point(8, |fault, point| {
        let show = world.with("REJOIN_FAULT", fault).rejoin(["show", &id(1), "--transcript"]);
        if !show.was_killed() {
            assert_eq!(show.code(0).stdout(), before);
            return false;
        }
        leftovers += left_in(&state(&world)).len();
        world.rejoin(&next[point % 2]).code_is_one_of(&[0, 5]);
        assert_no_leftover(&world);
        assert_same(&gone, &stores(&world), fault);
        true
    });
    assert!(leftovers > 5, "only {leftovers} times something was left");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failing_system_call_leaves_no_files() {
    let world = lost_world();
    let gone = stores(&world);
    let elsewhere = world.dir("temporary");
    // No space left, permission denied.
    for error in [28, 13] {
        for point in (1..).step_by(stride(12)) {
            let fault = format!("{error}:{point}");
            let call = world.with("REJOIN_FAULT", &fault).with("TMPDIR", &elsewhere);
            let answer = call.rejoin(["show", &id(1), "--transcript"]).code_is_one_of(&[0, 1]);
            assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
            // The last points are in the removal; the next run then removes the files.
            let is_whole = answer.exit() == Some(0);
            assert!(is_whole || answer.stdout().is_empty(), "{fault}");
            world.with("TMPDIR", &elsewhere).rejoin(["show", &id(1), "--messages", "1"]).code(0);
            assert_no_leftover(&world);
            assert_eq!(left_in(&elsewhere), Vec::<PathBuf>::new());
            if is_whole && point > 30 {
                break;
            }
        }
    }
    assert_same(&gone, &stores(&world), "after all");
}

#[test]
fn show_keeps_files_in_use_by_another_run() {
    let world = lost_world();
    let whole = world.rejoin(["show", &id(1), "--transcript", "--format", "ndjson"]).code(0).stdout();
    let mut command = world.from(world.home()).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["show", &id(1), "--transcript", "--format", "ndjson"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a running program");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut text = vec![0; 1000];
    // The pipe is soon full, and the program waits.
    stdout.read_exact(&mut text).expect("the beginning of an answer");
    assert_eq!(left_in(&state(&world)).len(), 1);
    assert_eq!(world.rejoin(["show", &id(1), "--transcript", "--format", "ndjson"]).code(0).stdout(), whole);
    // A run that changes something searches for leftover files, too.
    world.add(Jido::session(id(2)).in_dir(APP));
    world.rejoin(["archive", "--every"]).code(0);
    assert_eq!(left_in(&state(&world)).len(), 1);
    stdout.read_to_end(&mut text).expect("the rest");
    assert_eq!(String::from_utf8(text).expect("text"), whole);
    assert!(child.wait().expect("an end").success());
    assert_no_leftover(&world);
}

#[test]
fn show_works_during_another_run() {
    let world = lost_world();
    let lock = std::fs::File::options().write(true).open(state(&world).join("lock")).expect("a lock");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock that is free");
    world.rejoin(["show", &id(1), "--messages", "1"]).code(0);
    let busy = world.rejoin(["restore", &id(1), "--lock-timeout", "0s", "--json"]).code(7).error();
    assert_eq!(busy.code, "locked");
}

#[test]
fn unwritable_state_directory_falls_back_to_tmpdir() {
    let world = lost_world();
    let before = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    // Root may write in every directory, but not below a file.
    let (blocked, temporary) = (world.root().join("blocked"), world.dir("temporary"));
    put(&blocked, "");
    let show = |temporary: &Path| {
        let call = world.with("XDG_STATE_HOME", &blocked).with("TMPDIR", temporary);
        call.rejoin(["show", &id(1), "--transcript", "--json"])
    };
    let shown: Show = show(&temporary).code(0).stderr_eq("").json();
    assert_eq!(shown.messages.expect("messages").len(), before.matches("why?").count() * 2);
    assert_eq!(left_in(&temporary), Vec::<PathBuf>::new());
    let refused = show(&blocked).code(1).error();
    assert_eq!(refused.code, "no-room");
    assert_eq!(refused.hint.as_deref(), Some("set TMPDIR to a directory with more space"));
    assert!(refused.message.contains(&format!("{}", blocked.display())), "{}", refused.message);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn unpacked_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = lost_world();
    world.with("REJOIN_FAULT", "kill:9").rejoin(["show", &id(1), "--transcript"]);
    let left = left_in(&state(&world));
    assert_eq!(left.len(), 1);
    let modes: Vec<u32> = walkdir::WalkDir::new(&left[0])
        .into_iter()
        .map(|entry| entry.expect("an entry").metadata().expect("metadata").permissions().mode() & 0o777)
        .collect();
    assert!(modes.len() >= 4 && modes.iter().all(|mode| mode.trailing_zeros() >= 6), "{modes:?}");
}

#[test]
fn show_refuses_archived_link() {
    let world = World::new();
    let secret = world.root().join("secret.jsonl");
    put(&secret, "{\"role\":\"user\",\"content\":\"the secret\"}\n");
    let session = world.add(Amplifier::session(id(1)).in_dir(APP).turn("look", "ok"));
    std::fs::remove_file(session.join("transcript.jsonl")).expect("a removed transcript");
    std::os::unix::fs::symlink(&secret, session.join("transcript.jsonl")).expect("a link");
    world.rejoin(["archive", &id(1)]).code(0);
    let in_store = world.rejoin(["show", &id(1), "--transcript"]);
    assert!(in_store.stdout().contains("the secret"), "in a store, links of the same user are followed");
    wipe(&world);
    let shown = world.rejoin(["show", &id(1), "--transcript"]);
    assert!(!shown.stdout().contains("the secret"), "{}", shown.stdout());
    assert_no_leftover(&world);
}

#[test]
fn show_refuses_manifest_writing_through_its_link() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).in_dir(APP).turn("look", "ok"));
    world.rejoin(["archive", &id(1)]).code(0);
    let outside = world.dir("outside");
    let manifests = walkdir::WalkDir::new(own_dir(&world).join("sessions")).into_iter();
    let manifests = manifests.map(|entry| entry.expect("an entry").into_path()).filter(|path| path.is_file());
    let path = manifests.last().expect("a manifest");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("a manifest")).expect("JSON");
    let entries = manifest["entries"].as_array_mut().expect("entries");
    let file = entries.iter().find(|entry| entry["type"] == "file").expect("a file").clone();
    let below = session.strip_prefix(world.home().join(".amplifier")).expect("a path below the store");
    let (mut link, mut planted) = (file.clone(), file);
    link["type"] = json!("link");
    link["path"] = json!(below.join("way"));
    link["target"] = json!(outside);
    planted["path"] = json!(below.join("way/planted"));
    entries.extend([link, planted]);
    let bytes = serde_json::to_vec(&manifest).expect("JSON");
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::remove_file(&path).expect("a removed manifest");
    put(&path.with_file_name(format!("000001-{digest}.json")), &bytes);
    wipe(&world);
    let stderr = world.rejoin(["list", "--archived"]).code(0).stderr();
    assert!(stderr.contains("way/planted is below something that is not a directory"), "{stderr}");
    world.rejoin(["restore", &id(1)]).code(5);
    world.rejoin(["show", &id(1), "--transcript"]).code(5);
    assert_eq!(std::fs::read_dir(&outside).expect("a directory").count(), 0);
}

#[test]
fn old_title_in_archive_leads_to_stored_session() {
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir(APP).title("Tests").turn("x", "y"));
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["rename", &id(1), "Another one"]).code(0);
    for verb in ["resume", "show"] {
        let stderr = world.rejoin([verb, "Tests", "--since", "2020"]).code(5).stderr();
        let hint = format!("when it was archived; run `rejoin {verb} --since 2020 claude:{}`", id(1));
        assert!(stderr.contains("Another one\n") && stderr.contains(&hint) && !stderr.contains("restore"), "{stderr}");
        world.rejoin([verb, "--json", "--since", "2020", &format!("claude:{}", id(1))]).code(0);
    }
}

#[test]
fn resume_of_archived_session_suggests_restore() {
    let world = World::with_agents();
    world.add(Jido::session(id(3)).in_dir(APP));
    world.add(Pi::session(id(3)).in_dir(APP).turn("x", "y"));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    let both = world.rejoin(["resume", &format!("pi:{}", id(3)), "--json"]).code(5).error();
    let hint = format!("it is in the archive; run `rejoin restore pi:{}` to put it back", id(3));
    assert_eq!(both.hint, Some(hint));
    let both = world.rejoin(["resume", &id(3), "--json"]).code(5).error();
    let hint = "several archived sessions match; run `rejoin list --archived --all` to see them";
    assert_eq!(both.hint.as_deref(), Some(hint));

    let path = world.add(Claude::session(id(1)).in_dir(APP).title("Tests").turn("add a test", "Added."));
    world.add(Claude::session(id(2)).in_dir(APP).turn("x", "y"));
    world.rejoin(["archive", &id(1)]).code(0);
    std::fs::remove_file(&path).expect("a removed file");
    let path = path.to_str().expect("a path");
    let (short, hint) = (&id(1)[..8], format!("it is in the archive; run `rejoin restore {}` to put it back", id(1)));
    for name in [&id(1), short, "Tests", &format!("claude:{}", id(1)), path] {
        for args in [&["resume", name, "--json"][..], &["delete", name, "--yes", "--json"], &["pin", name, "--json"]] {
            let refused = world.rejoin(args).code(5).error();
            assert_eq!((refused.code.as_str(), refused.hint.as_deref()), ("not-found", Some(&*hint)), "{args:?}");
        }
    }
    assert!(world.launched().is_none());
    let stderr = world.rejoin(["resume", &id(1)]).code(5).stderr();
    assert!(stderr.ends_with(&format!("hint: {hint}\n")), "{stderr}");
    let unknown = world.rejoin(["resume", &id(9), "--json"]).code(5).error();
    assert_eq!(unknown.hint.as_deref(), Some("run `rejoin list --all` to see every session"));
    world.rejoin(["restore", &id(1)]).code(0);
    world.rejoin(["resume", &id(1), "--print"]).code(0);
}
