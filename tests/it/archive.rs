//! `archive` and `restore`: data is restored byte for byte and stored once, and all damage is detected.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agents::NEEDS_SQLITE;
use crate::contract::archive::{Archived, EntryType, FaultCode, List, Show, Verify};
use crate::contract::changes::{Archive, Change, ChangeKind, ChangeResult, Cleanup, Undo};
use crate::contract::names;
use crate::facts::{copy_tree, corpora};
use crate::faults::killed_at_every_point;
use crate::fixtures::{
    Amplifier, Claude, Codex, Copilot, Gemini, Gptme, Jido, Kimi, OldVibe, OpenHands, Pi, Qwen, Vibe, age_tree, id,
    make_fifo, openhands_id, put,
};
use crate::ordinary;
use crate::picture::{Picture, differences, picture};
use crate::undo::{assert_same, other_file_system};
use crate::world::{Answer, NOW, World, stride};

/// A directory that exists on every machine, so that worlds have the same paths.
pub(crate) const APP: &str = "/usr/bin";

/// Returns a picture of the home without rejoin's own files.
pub(crate) fn stores(world: &World) -> Picture {
    let mut picture = picture(&world.home());
    let own = [Path::new(".local/state"), Path::new(".local/share/rejoin")];
    picture.retain(|path, _| !own.iter().any(|own| path.starts_with(own)) && !is_way_there(path));
    picture
}

/// Returns whether a directory is only a parent of rejoin's own, which changes its time.
fn is_way_there(path: &Path) -> bool {
    [Path::new(""), Path::new(".local"), Path::new(".local/share")].contains(&path)
}

pub(crate) fn archive_dir(world: &World) -> PathBuf {
    world.home().join(".local/share/rejoin/archive")
}

/// Returns the directory of the only machine in an archive.
pub(crate) fn machine_dir(archive: &Path) -> PathBuf {
    let dirs = std::fs::read_dir(archive).expect("an archive").map(|entry| entry.expect("an entry").path());
    let dirs: Vec<PathBuf> = dirs.filter(|path| path.is_dir()).collect();
    let [dir] = dirs.as_slice() else { panic!("{dirs:?}") };
    dir.clone()
}

/// Returns the directory of this machine in the default archive.
pub(crate) fn own_dir(world: &World) -> PathBuf {
    machine_dir(&archive_dir(world))
}

/// Size of the archive without its lock file, which names a process.
fn archive_bytes(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file() && entry.file_name() != "lock");
    files.map(|entry| entry.metadata().expect("metadata").len()).sum()
}

/// Removes all sessions, like an agent's own deletion or a lost disk.
pub(crate) fn wipe(world: &World) {
    for entry in std::fs::read_dir(world.home()).expect("a home") {
        let path = entry.expect("an entry").path();
        if !path.is_dir() {
            std::fs::remove_file(path).expect("a removed file");
        } else if !path.ends_with(".local") {
            std::fs::remove_dir_all(path).expect("a removed store");
        }
    }
    for name in ["gptme", "nanocoder", "opencode"] {
        let _ = std::fs::remove_dir_all(world.home().join(".local/share").join(name));
    }
}

pub(crate) fn archived(world: &World) -> Vec<Archived> {
    world.rejoin(["list", "--archived", "--all", "--json"]).code(0).json::<List>().sessions
}

/// Returns the original paths of an archived session, below the home.
fn paths_of(world: &World, session: &Archived) -> BTreeSet<PathBuf> {
    let shown: Show = world.rejoin(["show", "--archived", &session.id, "--json"]).code(0).json();
    let home = world.home();
    shown.entries.iter().map(|at| Path::new(&at.path).strip_prefix(&home).expect("a path in the home").into()).collect()
}

fn only(picture: &Picture, paths: &BTreeSet<PathBuf>) -> Picture {
    let is_wanted = |path: &PathBuf| paths.contains(path);
    picture.iter().filter(|(path, _)| is_wanted(path)).map(|(path, was)| (path.clone(), was.clone())).collect()
}

#[track_caller]
fn assert_sound(world: &World, when: &str) {
    let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code_is_one_of(&[0, 4]).json();
    assert!(verdict.faults.is_empty(), "{when}: {:#?}", verdict.faults);
}

/// Archives the one session of a world, wipes the stores and restores it.
#[track_caller]
pub(crate) fn archive_and_restore(world: &World, session: &str, entries_at_least: usize) {
    for entry in std::fs::read_dir(world.home()).expect("a home") {
        age_tree(&entry.expect("an entry").path());
    }
    let before = stores(world);
    let command = world.rejoin(["resume", session, "--print"]);
    let done: Archive = world.rejoin(["archive", session, "--json"]).code(0).json();
    assert_eq!((done.done, done.refused, done.failed), (1, 0, 0), "{session}: {:#?}", done.items);
    assert_same(&before, &stores(world), "archiving");
    let known = archived(world);
    assert_eq!(known.len(), 1);
    let paths = paths_of(world, &known[0]);
    assert!(paths.len() >= entries_at_least, "{session}: only {paths:#?}");

    wipe(world);
    world.rejoin(["show", session]).code(0);
    let restored: Change = world.rejoin(["restore", session, "--keep-times", "--trust", "--json"]).code(0).json();
    assert_eq!((restored.kind, restored.done, restored.failed), (ChangeKind::ChangeOutcome, 1, 0));
    assert_same(&only(&before, &paths), &only(&stores(world), &paths), session);
    let again = world.rejoin(["resume", session, "--print"]);
    assert_eq!((again.stdout(), again.exit()), (command.stdout(), command.exit()), "{session}: {}", again.stderr());
    let known: Change = world.rejoin(["restore", session, "--keep-times", "--json"]).code(0).json();
    assert_eq!((known.planned, known.done), (0, 0), "it is there already");

    world.rejoin(["undo"]).code(0);
    let left: Vec<_> = stores(world).into_keys().filter(|path| !path.starts_with(".local")).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "{session}: after undo");
}

#[test]
fn search_and_list_report_an_empty_archive_alike() {
    let world = World::with_agents();
    for command in
        [&["list", "--archived"][..], &["search", "x", "--archived"], &["search", "--exact", "x", "--archived"]]
    {
        let stderr = world.on_terminal(80, command).code(0).stderr();
        assert!(stderr.contains("No archived sessions found in ~/.local/share/rejoin/archive."), "{stderr}");
    }
}

#[test]
fn restore_brings_an_amplifier_session_with_its_directory() {
    let world = World::new();
    let session = Amplifier::session(id(1)).in_dir(APP).session_info(APP).named("Parser").turn("fix it", "Done.");
    let path = world.add(session.file("transcript.jsonl.backup", "old").file("empty", ""));
    put(&path.join("deep/er/file.bin"), [0, 255, 10, 13]);
    std::fs::set_permissions(path.join("deep"), PermissionsExt::from_mode(0o750)).expect("a mode");
    std::fs::set_permissions(path.join("metadata.json"), PermissionsExt::from_mode(0o640)).expect("a mode");
    std::os::unix::fs::symlink("deep/er", path.join("link")).expect("a link");
    archive_and_restore(&world, &id(1), 9);
}

#[test]
fn restore_brings_claude_session_with_its_files_elsewhere() {
    let world = World::new();
    let session = Claude::session(id(1)).in_dir(APP).turn("look", "ok").subagent("agent-a1", "count", "3");
    world.add(session.side_file("tool-results/a.txt", "a result"));
    let root = world.home().join(".claude");
    put(&root.join("file-history").join(id(1)).join("x@v1"), "before");
    put(&root.join("todos").join(format!("{}-agent-{}.json", id(1), id(1))), "[]");
    put(&root.join("debug").join(format!("{}.txt", id(1))), "debug");
    archive_and_restore(&world, &id(1), 8);
}

#[test]
fn restore_brings_a_jidocode_session() {
    let world = World::new();
    world.add(Jido::session(id(1)).in_dir(APP));
    archive_and_restore(&world, &id(1), 1);
}

#[test]
fn restore_brings_plain_and_compressed_codex_sessions() {
    for session in [Codex::session(id(1)), Codex::session(id(1)).packed(), Codex::session(id(1)).archived()] {
        let world = World::new();
        world.add(session.in_dir(APP).turn("look", "ok"));
        put(&world.home().join(".codex/shell_snapshots").join(format!("{}.1.sh", id(1))), "export A=1");
        archive_and_restore(&world, &id(1), 2);
    }
}

#[test]
fn restore_brings_gemini_session_with_its_project_marker() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).in_dir(APP).unregistered().turn("look", "ok"));
    let project = path.ancestors().nth(2).expect("a project");
    put(&project.join("logs").join(format!("session-{}.jsonl", id(1))), "{}\n");
    world.add(Gemini::session(id(2)).in_dir(APP).unregistered().subagent_of(id(1)).turn("count", "3"));
    archive_and_restore(&world, &id(1), 4);
}

#[test]
fn restore_of_executable_files_needs_trust() {
    let check = |add: &dyn Fn(&World) -> (PathBuf, String)| {
        let world = World::new();
        let (copy, name) = add(&world);
        let code = copy.join(name);
        put(&code, "[env]\n");
        world.rejoin(["archive", &id(1)]).code(0);
        wipe(&world);
        let stderr = world.rejoin(["restore", &id(1)]).code(0).stderr();
        assert!(!code.exists(), "{}", code.display());
        world.rejoin(["show", "--path", &id(1)]).code(0);
        let command = format!("`rejoin restore {} --trust`", id(1));
        assert!(stderr.contains(&code.display().to_string()) && stderr.contains(&command), "{stderr}");
        world.rejoin(["restore", &id(1), "--trust"]).code(0);
        assert_eq!(std::fs::read_to_string(&code).expect("the file"), "[env]\n");
        let stderr = world.rejoin(["restore", &id(1)]).code(0).stderr();
        assert!(!stderr.contains("--trust"), "{stderr}");
    };
    check(&|world| {
        world.add(Claude::session(id(1)).in_dir(APP).turn("look", "ok"));
        (world.home().join(".claude/session-env").join(id(1)), "hook-0.sh".into())
    });
    check(&|world| {
        world.add(Codex::session(id(1)).in_dir(APP).turn("look", "ok"));
        (world.home().join(".codex/shell_snapshots"), format!("{}.1.sh", id(1)))
    });
    check(&|world| {
        let session = Copilot::session(id(1)).in_dir(APP).turn("look", "ok");
        (world.add(session), "extensions/x/extension.mjs".into())
    });
    check(&|world| (world.add(Gptme::session(id(1)).turn("look", "ok")), "config.toml".into()));
    check(&|world| {
        let session = Amplifier::session(id(1)).in_dir(APP).turn("look", "ok");
        (world.add(session), "settings.yaml".into())
    });
}

#[test]
fn restore_keeps_changed_project_marker() {
    let world = World::new();
    let path = world.add(Gemini::session(id(1)).in_dir(APP).turn("look", "ok"));
    let marker = path.ancestors().nth(2).expect("a project").join(".project_root");
    world.rejoin(["archive", &id(1)]).code(0);
    std::fs::remove_file(&path).expect("a removed file");
    put(&marker, "/somewhere/else");
    world.rejoin(["restore", &id(1)]).code(0);
    assert!(path.is_file());
    assert_eq!(std::fs::read_to_string(&marker).expect("a marker"), "/somewhere/else");
}

#[test]
fn restore_brings_sessions_of_other_file_agents() {
    let add = |fixture: &dyn Fn(&World) -> PathBuf, entries| {
        let world = World::new();
        fixture(&world);
        archive_and_restore(&world, &id(1), entries);
    };
    add(&|world| world.add(Pi::session(id(1)).in_dir(APP).turn("look", "ok")), 1);
    add(&|world| world.add(Copilot::session(id(1)).in_dir(APP).turn("look", "ok")), 3);
    add(&|world| world.add(Qwen::session(id(1)).in_dir(APP).turn("look", "ok")), 1);
    add(&|world| world.add(Qwen::session(id(1)).in_dir(APP).archived().turn("look", "ok")), 1);
    add(&|world| world.add(Vibe::session(id(1)).in_dir(APP).turn("look", "ok")), 3);
    add(&|world| world.add(OldVibe::session(id(1)).in_dir(APP).turn("look", "ok")), 2);
    add(&|world| world.add(Kimi::session(id(1)).in_dir(APP).turn("look", "ok")), 3);
}

#[test]
fn restore_brings_gptme_session_with_its_workspace_link() {
    let world = World::new();
    let dir = world.add(Gptme::session("2026-02-01-quiet-blue-fox").in_dir(APP).turn("look", "ok"));
    put(&dir.join("branches/one.jsonl"), "{}\n");
    archive_and_restore(&world, "2026-02-01-quiet-blue-fox", 8);
}

#[test]
fn restore_brings_openhands_session_with_its_sub_agents() {
    let world = World::new();
    let parent = openhands_id(1);
    let dir = world.add(OpenHands::session(&parent).in_dir(APP).turn("look", "ok"));
    world.add(OpenHands::session(openhands_id(2)).in_dir(APP).made_by(&parent).turn("count", "3"));
    put(&dir.join("observations/long.txt"), "a long output");
    archive_and_restore(&world, &parent, 12);
}

#[cfg(feature = "sqlite")]
#[test]
fn restore_brings_opencode_files() {
    use crate::fixtures::{OpenCode, opencode_id};
    let world = World::new();
    OpenCode::session(opencode_id(1)).in_dir(APP).turn("look", "ok").write_tree(&world.home());
    archive_and_restore(&world, &opencode_id(1), 5);
}

/// Creates a home with one session that was archived and continued since, and others that are not archived.
fn world() -> World {
    let world = World::new();
    let session = || Claude::session(id(1)).in_dir(APP).turn("add a test", "Added.");
    world.add(session().side_file("tool-results/a.txt", "a result"));
    age_tree(&world.home().join(".claude"));
    world.rejoin(["archive", "--every"]).code(0);
    world.add(session().turn("and another", "Done."));
    world.add(Amplifier::session(id(2)).in_dir(APP).turn("x", "y"));
    world.add(Jido::session(id(3)).in_dir(APP));
    for store in [".claude", ".amplifier", ".jido_code"] {
        age_tree(&world.home().join(store));
    }
    world
}

#[test]
fn archive_stores_only_new_data() {
    let world = World::new();
    // Digits of a digest cannot be compressed by more than a half.
    let noise = |from: u32, lines: u32| -> String {
        let line = |n: u32| (0..16).map(|part| format!("{:016x}", mix(u64::from(n) * 16 + part))).collect::<String>();
        (from..from + lines).map(|n| format!("{}\n", json!({"noise": line(n)}))).collect()
    };
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    let mut text = std::fs::read_to_string(&path).expect("a transcript");
    text.push_str(&noise(0, 10_000));
    put(&path, &text);
    assert!(text.len() > 2_500_000);

    let plan = || -> Archive { world.rejoin(["archive", &id(1), "--dry-run", "--json"]).code(0).json() };
    let all = text.len() as u64;
    assert_eq!(
        (plan().items[0].result, plan().details.size_bytes, plan().details.stored_bytes),
        (ChangeResult::Planned, all, all)
    );
    let first: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!((first.items[0].result, first.items[0].details.state), (ChangeResult::Done, Some(1)));
    let (dir, size) = (archive_dir(&world), text.len() as u64);
    let before = archive_bytes(&dir);
    assert_eq!(first.details.stored_bytes, before);
    assert!(before > size / 3 && before < size * 2 / 3, "{before} of {size}");
    let kept = picture(&machine_dir(&dir).join("blobs"));

    let second: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!((second.items[0].result, second.details.stored_bytes), (ChangeResult::Unchanged, 0));
    for (args, verb) in [(&["archive"][..], "archived"), (&["archive", "--dry-run"], "would be archived")] {
        let summary = format!("0 sessions {verb}, 1 unchanged. Nothing is new in ~/.local/share/rejoin/archive.\n");
        world.rejoin([args, &[&*id(1)]].concat()).code(0).stdout_eq(&*summary);
    }
    assert_eq!(archive_bytes(&dir), before);
    assert!(differences(&kept, &picture(&machine_dir(&dir).join("blobs"))).is_empty());

    put(&path, &text);
    assert_eq!(
        (plan().items[0].result, plan().details.stored_bytes),
        (ChangeResult::Unchanged, 0),
        "only its time is new"
    );
    let more = noise(10_000, 40);
    text.push_str(&more);
    put(&path, &text);
    let last_chunk = text.len() as u64 % (1024 * 1024);
    assert_eq!((plan().items[0].result, plan().details.stored_bytes), (ChangeResult::Planned, last_chunk));
    let latest: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!((latest.items[0].result, latest.items[0].details.state), (ChangeResult::Done, Some(2)));
    let grown = archive_bytes(&dir) - before;
    assert!(grown > 0 && grown < more.len() as u64, "{grown} bytes for {}", more.len());
    // Only the last chunk differs.
    let names =
        |picture: &Picture| picture.keys().filter(|path| path.extension().is_some()).cloned().collect::<BTreeSet<_>>();
    let now = names(&picture(&machine_dir(&dir).join("blobs")));
    assert_eq!(names(&kept).difference(&now).count(), 1);
    assert_eq!(now.difference(&names(&kept)).count(), 1);
    assert_eq!(archived(&world)[0].states.len(), 1, "the older state is a part of the newer");
    assert_sound(&world, "after all");
}

#[test]
fn archive_plan_predicts_state_of_every_session() {
    let world = World::new();
    let in_databases = names().iter().filter(|agent| ordinary::write(agent, &world) && NEEDS_SQLITE.contains(agent));
    assert!(in_databases.count() > 2 || !cfg!(feature = "sqlite"));
    let sizes = |args: &[&str]| -> Vec<(String, bool, u64, u64)> {
        let archive: Archive = world.rejoin(["archive", "--every", "--json"].iter().chain(args)).json();
        let is_in = |result| matches!(result, ChangeResult::Planned | ChangeResult::Done);
        archive
            .items
            .into_iter()
            .map(|item| (item.id.expect("an id"), is_in(item.result), item.size_bytes, item.details.files))
            .collect()
    };
    let planned = sizes(&["--dry-run"]);
    assert!(!archive_dir(&world).exists(), "a plan writes nothing");
    assert!(planned.iter().all(|(_, _, size, _)| *size > 0), "{planned:?}");
    assert_eq!(planned, sizes(&[]));
}

/// Returns a pseudo-random number.
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[test]
fn archive_keeps_and_restores_overwritten_state() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    world.rejoin(["archive", &id(1)]).code(0);
    let first = std::fs::read(&path).expect("a transcript");
    world.add(Claude::session(id(1)).in_dir(APP).turn("something else", "Yes."));
    world.rejoin(["archive", &id(1)]).code(0);
    let states: Vec<u64> = archived(&world)[0].states.iter().map(|state| state.state).collect();
    assert_eq!(states, [1, 2]);
    std::fs::remove_file(&path).expect("a removed file");
    world.rejoin(["restore", &id(1), "--state", "3"]).code(5);
    world.rejoin(["restore", &id(1), "--state", "1"]).code(0);
    assert_eq!(std::fs::read(&path).expect("a transcript"), first);
}

#[test]
fn verify_reports_every_flipped_bit() {
    let world = world();
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    let before = stores(&world);
    let files = walkdir::WalkDir::new(archive_dir(&world)).into_iter().map(|entry| entry.expect("an entry"));
    let files: Vec<PathBuf> = files
        .filter(|entry| entry.file_type().is_file() && entry.file_name() != "lock")
        .map(walkdir::DirEntry::into_path)
        .collect();
    assert!(files.len() >= 8, "{files:#?}");
    for path in &files {
        let sound = std::fs::read(path).expect("contents");
        for at in [0, sound.len() / 2, sound.len() - 1] {
            let mut damaged = sound.clone();
            damaged[at] ^= 0x10;
            std::fs::write(path, &damaged).expect("a damage");
            let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code(4).json();
            assert_eq!(verdict.faults.len(), 1, "{}: {:#?}", path.display(), verdict.faults);
            let fault = &verdict.faults[0];
            assert_eq!(Path::new(&fault.path.path), path);
            match fault.code {
                FaultCode::DamagedBlob => {
                    assert_eq!(fault.hurt.len(), 1);
                    world.rejoin(["restore", &fault.hurt[0].id]).code(1);
                }
                FaultCode::DamagedManifest => assert!(path.extension().is_some_and(|ending| ending == "json")),
                FaultCode::MissingManifest | FaultCode::MissingBlob => panic!("{} is there", path.display()),
            }
        }
        std::fs::write(path, &sound).expect("the sound one");
        let is_blob = path.extension().is_some_and(|ending| ending == "zst");
        let code = if is_blob { FaultCode::MissingBlob } else { FaultCode::MissingManifest };
        std::fs::remove_file(path).expect("a removed file");
        let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code(4).json();
        assert_eq!((verdict.faults.len(), verdict.faults[0].code), (1, code), "{}", path.display());
        std::fs::write(path, &sound).expect("the sound one");
    }
    assert_same(&before, &stores(&world), "nothing was restored");
    assert_sound(&world, "after all");
}

#[test]
fn verify_counts_only_files_that_next_run_removes() {
    let world = world();
    world.rejoin(["archive", "--every"]).code(0);
    let extra = own_dir(&world).join("blobs/ab").join(format!("{}.zst", "ab".repeat(32)));
    put(&extra, "unneeded");
    let printed = world.rejoin(["archive", "--verify"]).code(0).stdout();
    assert!(printed.contains("The next `rejoin archive --every` removes 1 unneeded file."), "{printed}");
    let manifests = walkdir::WalkDir::new(own_dir(&world).join("sessions")).into_iter().filter_map(Result::ok);
    let is_manifest = |entry: &walkdir::DirEntry| entry.path().extension().is_some_and(|ending| ending == "json");
    let manifest = manifests.filter(is_manifest).last().expect("a manifest").into_path();
    let sound = std::fs::read(&manifest).expect("contents");
    std::fs::write(&manifest, "damaged").expect("a damage");
    // The damaged manifest may need any of the blobs.
    let printed = world.rejoin(["archive", "--verify"]).code(4).stdout();
    assert!(!printed.contains("unneeded"), "{printed}");
    std::fs::write(&manifest, &sound).expect("the sound one");
    world.rejoin(["archive", "--every"]).code(0);
    assert!(!extra.exists());
}

#[test]
fn archive_full_repairs_damage_from_the_session() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    world.rejoin(["archive", &id(1)]).code(0);
    let blobs = walkdir::WalkDir::new(own_dir(&world).join("blobs")).into_iter().map(|entry| entry.expect("an entry"));
    let blob = blobs.filter(|entry| entry.file_type().is_file()).last().expect("a blob").into_path();
    std::fs::write(&blob, "damaged").expect("a damage");
    let hint = format!("`rejoin archive --full claude:{}` repairs what that session still has", id(1));
    let verdict = world.rejoin(["archive", "--verify"]).code(4);
    assert!(verdict.stdout().contains(&hint), "{}", verdict.stdout());
    // The printed command for another archive has its path.
    let other = world.root().join("usb");
    copy_tree(&archive_dir(&world), &other);
    let verdict = world.rejoin(["archive", "--verify", "--archive-dir", other.to_str().expect("a path")]).code(4);
    let hint = format!("`rejoin archive --full claude:{} --archive-dir {}`", id(1), other.display());
    assert!(verdict.stdout().contains(&hint), "{}", verdict.stdout());
    // Unchanged sessions and their archived files are not read.
    let known: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!((known.unchanged, known.details.stored_bytes), (1, 0));
    world.rejoin(["archive", "--verify"]).code(4);
    let mended: Archive = world.rejoin(["archive", "--full", &id(1), "--json"]).code(0).json();
    assert!(mended.details.stored_bytes > 0);
    assert_sound(&world, "mended");
    // A missing blob is noticed immediately.
    std::fs::remove_file(&blob).expect("a removed blob");
    world.rejoin(["archive", &id(1)]).code(0);
    assert_sound(&world, "back again");
}

#[test]
fn archive_rereads_file_with_unchanged_mtime() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    let now = std::fs::FileTimes::new().set_modified(NOW.parse::<jiff::Timestamp>().expect("a time").into());
    let change = |text: &str| {
        put(&path, text);
        let file = std::fs::File::options().append(true).open(&path).expect("a transcript");
        file.set_times(now).expect("a time");
    };
    let text = std::fs::read_to_string(&path).expect("a transcript");
    change(&text);
    world.rejoin(["archive", &id(1)]).code(0);
    change(&text.replace("Added.", "Tested"));
    let done: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!((done.done, done.unchanged), (1, 0));
}

#[test]
fn restore_overwrites_no_file() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added.").side_file("a.txt", "a"));
    world.rejoin(["archive", &id(1)]).code(0);
    let old = std::fs::read(&path).expect("a transcript");
    let newer = [&old[..], b"{\"type\":\"user\"}\n"].concat();
    std::fs::write(&path, &newer).expect("a newer one");
    let before = stores(&world);
    let refused = world.rejoin(["restore", &id(1), "--json"]).code(7).error();
    assert_eq!(refused.code, "in-the-way");
    assert!(refused.message.ends_with("exists and is longer"), "{}", refused.message);
    assert_same(&before, &stores(&world), "newer");

    // Missing files are added to existing equal ones.
    std::fs::write(&path, &old).expect("the old one");
    let side = path.with_extension("").join("a.txt");
    std::fs::remove_file(&side).expect("a removed file");
    world.rejoin(["restore", &id(1)]).code(0);
    assert_eq!(std::fs::read_to_string(&side).expect("a file"), "a");
    world.rejoin(["restore", &id(1)]).code(0).stderr_eq(snapbox::str![[r#"
claude session 00000001-aaaa-4aaa-8aaa-000000000001 already exists with the same content.

"#]]);

    // A link in the path could lead anywhere.
    let (project, elsewhere) = (path.parent().expect("a project"), world.dir("other"));
    std::fs::remove_dir_all(project).expect("a removed project");
    std::os::unix::fs::symlink(&elsewhere, project).expect("a link");
    world.rejoin(["restore", &id(1)]).code(7);
    assert_eq!(picture(&elsewhere).len(), 1);
}

#[test]
fn restore_renews_times_for_an_agent_with_retention() {
    let world = World::new();
    let claude = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    let amplifier = world.add(Amplifier::session(id(2)).in_dir(APP).turn("x", "y"));
    let times = [claude.metadata().expect("metadata").modified(), amplifier.metadata().expect("metadata").modified()];
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    world.rejoin(["restore", &id(1)]).code(0).stderr_eq(snapbox::str![[r#"
Its files get the current time, because claude deletes old files; --keep-times keeps the original times.

"#]]);
    world.rejoin(["restore", &id(2)]).code(0).stderr_eq("");
    let now: jiff::Timestamp = NOW.parse().expect("a time");
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
    assert_eq!(jiff::Timestamp::try_from(modified(&claude)).expect("a time"), now);
    assert_eq!(modified(&amplifier), times[1].as_ref().copied().expect("a time"));

    world.rejoin(["undo"]).code(0);
    world.rejoin(["undo"]).code(0);
    // The sessions are four weeks old; two weeks later, their deletion is overdue.
    let later = world.with("REJOIN_NOW", "2026-03-15T12:00:00Z").rejoin(["restore", &id(1), "--keep-times"]).code(0);
    later.stderr_eq("warning: claude will delete it again when it next starts.\n");
    assert_eq!(modified(&claude), times[0].as_ref().copied().expect("a time"));
}

#[test]
fn archive_selects_sessions_by_age_and_by_expiry() {
    let world = World::new();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 30}"#);
    world.add(Claude::session(id(1)).in_dir(APP).turn("old", "ok"));
    let young = world.add(Claude::session(id(2)).in_dir(APP).at("2026-02-27T10:00:00Z").turn("young", "ok"));
    std::fs::File::options()
        .write(true)
        .open(&young)
        .and_then(|file| file.set_modified("2026-02-27T10:00:00Z".parse::<jiff::Timestamp>().expect("a time").into()))
        .expect("a time");
    world.add(Amplifier::session(id(3)).in_dir(APP).turn("x", "y"));
    world.add(Amplifier::session(id(4)).in_dir(APP).file("transcript.jsonl", "").file("events.jsonl", ""));
    let ids = |args: &[&str]| -> Vec<String> {
        let args = ["archive", "--dry-run", "--json"].iter().chain(args);
        let plan: Archive = world.rejoin(args).code(0).json();
        assert!(plan.items.iter().all(|item| item.result == ChangeResult::Planned && item.details.stored_bytes > 0));
        plan.items.into_iter().filter_map(|item| item.id).collect()
    };
    assert_eq!(ids(&["--every"]), [id(3), id(1), id(2)]);
    assert_eq!(ids(&["--older-than", "14d"]), [id(3), id(1)]);
    assert_eq!(ids(&["--expiring", "7"]), [id(1)]);
    assert_eq!(ids(&["--expiring", "7d"]), [id(1)]);
    assert_eq!(ids(&["--expiring", "30"]), [id(1), id(2)]);
    for verb in ["archive", "doctor"] {
        let refused = world.rejoin([verb, "--expiring", "3m"]).code(2).stderr();
        assert!(refused.contains("m may mean minutes or months; use 3min or 3mo"), "{refused}");
    }
    assert_eq!(ids(&["--every", "--agent", "amplifier"]), [id(3)]);
    assert_eq!(ids(&[&id(2), &id(1), &id(2)]), [id(2), id(1)]);
    assert!(!archive_dir(&world).exists(), "a dry run writes nothing");
    world.rejoin(["archive"]).code(2);
    world.rejoin(["archive", "--every", &id(1)]).code(2);
    world.rejoin(["archive", &id(9)]).code(5);
}

#[test]
fn archive_includes_sub_agents() {
    let world = World::new();
    let child = format!("{}-1234567890abcdef_helper", id(1));
    world.add(Amplifier::session(id(1)).in_dir(APP).turn("x", "y"));
    world.add(Amplifier::session(&child).in_dir(APP).metadata("parent_id", json!(id(1))).turn("count", "3"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("look", "ok").subagent("agent-a1", "count", "3"));
    let done: Archive = world.rejoin(["archive", &id(1), &id(2), "--json"]).code(0).json();
    let ids: Vec<&str> = done.items.iter().filter_map(|item| item.id.as_deref()).collect();
    assert_eq!(ids, [id(1), id(2), child.clone()]);
    wipe(&world);
    let restored: Change = world.rejoin(["restore", &id(1), "--json"]).code(0).json();
    assert_eq!(restored.done, 2, "{restored:#?}");
    let all = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(all.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [id(1).as_str(), &child]);
}

#[test]
fn archive_refuses_special_files_and_follows_no_link() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).in_dir(APP).turn("x", "y"));
    std::os::unix::fs::symlink("/etc", session.join("link")).expect("a link");
    world.rejoin(["archive", &id(1)]).code(0);
    let shown: Show = world.rejoin(["show", "--archived", &id(1), "--json"]).code(0).json();
    assert_eq!(shown.entries.iter().filter(|entry| entry.node == EntryType::Link).count(), 1);
    assert!(shown.entries.iter().all(|entry| !entry.path.contains("passwd")));

    let fifo = session.join("fifo");
    make_fifo(&fifo);
    let refused: Archive = world.rejoin(["archive", &id(1), "--json"]).code(3).json();
    let why = refused.items[0].error.as_deref().expect("a reason");
    assert!(why.ends_with("fifo is neither a file nor a directory"), "{why}");
    assert_eq!(refused.items[0].details.state, Some(1), "the state of before is still there");
}

#[test]
fn archive_reports_paths_that_it_could_not_read() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y"));
    age_tree(&world.home());
    world.rejoin(["archive", "--every", "--quiet"]).code(0);
    let transcript = world.add(Claude::session(id(2)).in_dir(APP).turn("x", "y"));
    std::fs::remove_file(&transcript).expect("a file");
    make_fifo(&transcript);
    let sessions = world.home().join(".codex/sessions");
    std::fs::create_dir_all(sessions.parent().expect("a store")).expect("a directory");
    std::os::unix::fs::symlink(&sessions, &sessions).expect("a link to itself");
    for choice in [&["--every"][..], &["--older-than", "1d"], &["--expiring", "30"]] {
        let args = || ["archive"].iter().chain(choice);
        let quiet = world.rejoin(args().chain(&["--quiet"])).code(3);
        let stdout = quiet.stdout();
        assert!(
            stdout.contains("\nrejoin archive: 0 sessions archived, 1 unchanged, 2 paths could not be read."),
            "{stdout}"
        );
        assert_eq!((stdout.matches("left  ").count(), quiet.stderr()), (2, String::new()), "{choice:?}");
        for plan in [&[][..], &["--dry-run"]] {
            let answer: Archive = world.rejoin(args().chain(plan).chain(&["--json"])).code(3).json();
            let about: Vec<&str> = answer.not_planned.iter().map(|one| one.about.as_str()).collect();
            assert_eq!(about.len(), 2, "{choice:?}: {about:?}");
            for path in [&transcript, &sessions] {
                assert!(about.contains(&path.to_str().expect("a path")), "{choice:?}: {about:?}");
            }
        }
    }
    // Stores that are not requested do not count.
    let pi: Archive = world.rejoin(["archive", "--every", "--agent", "pi", "--json"]).code(0).json();
    assert_eq!(pi.not_planned.len(), 0);
    world.rejoin(["archive", &id(1)]).code(0);
}

#[test]
fn archive_notes_session_in_use() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).in_dir(APP).at("2026-03-01T11:59:00Z").turn("x", "y"));
    let done: Archive = world.rejoin(["archive", &id(1), "--json"]).code(0).json();
    assert_eq!(done.items[0].result, ChangeResult::Done);
    assert!(
        done.items[0].details.in_use.as_deref().is_some_and(|why| why.starts_with("maybe in use")),
        "{:?}",
        done.items
    );
}

#[test]
fn archive_refuses_unmounted_directory() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    let to = world.root().join("volume");
    let to = to.to_str().expect("a path");
    world.rejoin(["archive", "--verify", "--archive-dir", to]).code(5);
    world.rejoin(["list", "--archived", "--archive-dir", to]).code(5);
    world.rejoin(["archive", "--every", "--archive-dir", &format!("{to}/not/there")]).code(1);
    world.rejoin(["archive", "--every", "--archive-dir", to]).code(0);
    assert!(!archive_dir(&world).exists());
    world.rejoin(["archive", "--verify", "--archive-dir", to]).code(0);
    let list: List = world.rejoin(["list", "--archived", "--archive-dir", to, "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 1);
    let inside = world.home().join(".claude/backup");
    world.rejoin(["archive", "--every", "--archive-dir", inside.to_str().expect("a path")]).code(2);
}

#[test]
fn hint_names_the_searched_archive() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    let volume = world.root().join("volume");
    let to = ["--archive-dir", volume.to_str().expect("a path")];
    world.rejoin(["archive", "--every"].iter().chain(&to)).code(0);
    let hint = format!("`rejoin list --archived --all {}`", to.join(" "));
    for args in [
        &["restore", "nope"][..],
        &["show", "--archived", "nope"],
        &["export", "--archived", "nope"],
        &["export", "--archived", "--every", "--agent", "pi"],
    ] {
        let refused = world.rejoin(args.iter().chain(&to)).code(5).stderr();
        assert!(refused.contains(&hint), "{args:?} {refused}");
    }
}

#[test]
fn restore_maps_other_home_to_this_or_named_store() {
    let world = World::new();
    let session = Claude::session(id(1)).in_dir(APP).turn("add a test", "Added.");
    let other = world.dir("container");
    let path = crate::fixtures::Fixture::write_to(&session, &other);
    let volume = world.root().join("volume");
    let (other, volume) = (other.to_str().expect("a path"), volume.to_str().expect("a path"));
    world.rejoin(["--home", other, "archive", "--every", "--archive-dir", volume]).code(0);
    world.rejoin(["restore", &id(1), "--archive-dir", volume]).code(0);
    let below = path.strip_prefix(other).expect("a path below");
    assert_eq!(std::fs::read(world.home().join(below)).expect("a file"), std::fs::read(&path).expect("a file"));

    let store = world.root().join("store");
    world.rejoin(["restore", &id(1), "--archive-dir", volume, "--to-store", store.to_str().expect("a path")]).code(0);
    let below = below.strip_prefix(".claude").expect("a path below");
    assert!(store.join(below).is_file());

    // A session goes to a directory outside of all stores only if the user names it.
    let odd = world.dir("odd");
    crate::fixtures::Fixture::write_to(
        &Claude::session(id(2)).in_dir(APP).config_dir(&odd).turn("x", "y"),
        &world.home(),
    );
    world.with("CLAUDE_CONFIG_DIR", &odd).rejoin(["archive", &id(2), "--archive-dir", volume]).code(0);
    std::fs::remove_dir_all(odd.join("projects")).expect("a removed store");
    assert_eq!(
        world.rejoin(["restore", &id(2), "--archive-dir", volume, "--json"]).code(7).error().code,
        "unknown-store"
    );
    assert!(!odd.join("projects").exists());
}

#[test]
fn restore_matches_its_dry_run() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    let before = stores(&world);
    let plan: Change = world.rejoin(["restore", &id(1), "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.kind, plan.planned), (ChangeKind::ChangePlan, 1));
    assert_same(&before, &stores(&world), "after a dry run");
    world.rejoin(["restore", &id(1), "--apply", "000000000000"]).code(7);
    let done: Change = world.rejoin(["restore", &id(1), "--apply", plan.fingerprint(), "--json"]).code(0).json();
    assert_eq!(done.done, 1);
    let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
    assert_eq!(undone.done, 1);
    assert_same(&before, &stores(&world), "after undo");
}

#[test]
fn undo_keeps_a_session_continued_after_its_restore() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added."));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    world.rejoin(["restore", &id(1)]).code(0);
    let longer = std::fs::read_to_string(&path).expect("a transcript") + "{\"type\":\"user\"}\n";
    std::fs::write(&path, &longer).expect("a newer one");
    world.rejoin(["undo"]).code(7);
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), longer);
}

/// Returns a picture of the archive without files that name a process.
fn archive_of(world: &World) -> Picture {
    let mut picture = picture(&own_dir(world));
    picture.retain(|path, _| !path.ends_with("lock"));
    for (_, seconds, nanoseconds, _) in picture.values_mut() {
        (*seconds, *nanoseconds) = (0, 0);
    }
    picture
}

/// Asserts that every session can be restored from the archive, in its state before or after the run.
fn nothing_is_lost(world: &World, when: &str) {
    assert_sound(world, when);
    let known = archived(world);
    assert!(known.iter().any(|session| session.id == id(1)), "{when}: what was archived before is gone");
    let store = world.root().join("tried");
    for session in &known {
        let args = ["restore", &session.id, "--to-store", store.to_str().expect("a path"), "--keep-times"];
        world.rejoin(args).code(0);
    }
    let transcript = walkdir::WalkDir::new(&store).into_iter().map(|entry| entry.expect("an entry").into_path());
    let transcript = transcript.filter(|path| path.ends_with(format!("{}.jsonl", id(1)))).last().expect("a transcript");
    let text = std::fs::read_to_string(transcript).expect("a transcript");
    assert!(text.contains("add a test") && text.ends_with('\n'), "{when}: {text}");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn next_run_completes_a_killed_archive() {
    let complete = {
        let world = world();
        world.rejoin(["archive", "--every"]).code(0);
        archive_of(&world)
    };
    killed_at_every_point(20, |fault, _| {
        let world = world();
        let before = stores(&world);
        if !world.with("REJOIN_FAULT", fault).rejoin(["archive", "--every"]).was_killed() {
            return false;
        }
        assert_same(&before, &stores(&world), &format!("after {fault}"));
        nothing_is_lost(&world, &format!("after {fault}"));
        world.rejoin(["archive", "--every"]).code(0);
        // A manifest contains the time and the home, which differ in each world.
        let names = |picture: &Picture| -> Vec<_> {
            let paths = picture.keys().filter(|path| path.extension().is_none_or(|ending| ending != "json"));
            paths.cloned().collect()
        };
        assert_eq!(names(&archive_of(&world)), names(&complete), "completed after {fault}");
        let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code(0).json();
        assert_eq!((verdict.sessions, verdict.states, verdict.unneeded_files), (3, 3, 0), "{fault}");
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failing_system_call_during_archive_loses_nothing() {
    // No space left, input or output error.
    for error in [28, 5] {
        let mut points = 0;
        loop {
            let fault = format!("{error}:{}", points + 1);
            let world = world();
            let answer = world.with("REJOIN_FAULT", &fault).rejoin(["archive", "--every"]);
            if answer.exit() == Some(0) && points > 60 {
                break;
            }
            points += stride(6);
            let answer = answer.code_is_one_of(&[0, 1, 3]);
            assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
            nothing_is_lost(&world, &format!("after {fault}"));
        }
    }
}

/// Creates a home whose sessions are only in the archive.
fn lost_world() -> World {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added.").side_file("tool-results/a.txt", "a"));
    age_tree(&world.home().join(".claude"));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    world
}

fn restore(world: &World, state: Option<&Path>, fault: Option<&str>) -> Answer {
    let mut call = world.from(world.root());
    if let Some(state) = state {
        call = call.with("XDG_STATE_HOME", state);
    }
    if let Some(fault) = fault {
        call = call.with("REJOIN_FAULT", fault);
    }
    call.rejoin(["restore", &id(1), "--keep-times"])
}

/// Files, and the modes and times of everything that an agent made; parent directories are created again.
fn restored(world: &World) -> Picture {
    let mut stores = stores(world);
    stores.retain(|path, _| path.components().count() > 3);
    stores
}

#[track_caller]
fn a_killed_restore_is_undone_or_completed(state: Option<&Path>, at_least: usize) {
    let complete = {
        let world = lost_world();
        restore(&world, state, None).code(0);
        restored(&world)
    };
    assert!(complete.len() >= 4, "{:?}", complete.keys());
    // The next worlds have the same state directory, but other homes.
    state.into_iter().for_each(|state| std::fs::remove_dir_all(state.join("rejoin")).expect("no state"));
    killed_at_every_point(at_least, |fault, _| {
        let (undone, completed) = (lost_world(), lost_world());
        let before = stores(&undone);
        let clean = || state.map(|state| std::fs::remove_dir_all(state.join("rejoin")));
        if !restore(&undone, state, Some(fault)).was_killed() {
            return false;
        }
        let mut undo = undone.from(undone.root());
        if let Some(state) = state {
            undo = undo.with("XDG_STATE_HOME", state);
        }
        undo.rejoin(["undo"]).code_is_one_of(&[0, 5]);
        assert_same(&before, &stores(&undone), &format!("undone after {fault}"));
        clean();
        assert!(restore(&completed, state, Some(fault)).was_killed());
        restore(&completed, state, None).code(0);
        assert_same(&complete, &restored(&completed), &format!("completed after {fault}"));
        clean();
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_reverts_or_completes_killed_restore() {
    a_killed_restore_is_undone_or_completed(None, 20);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_recovers_killed_restore_across_file_systems() {
    let Some(elsewhere) = other_file_system() else { return };
    a_killed_restore_is_undone_or_completed(Some(elsewhere.path()), 30);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failed_restore_leaves_no_half_session() {
    for error in [28, 13] {
        let mut points = 0;
        loop {
            let fault = format!("{error}:{}", points + 1);
            let world = lost_world();
            let before = stores(&world);
            let answer = restore(&world, None, Some(&fault));
            if answer.exit() == Some(0) && points > 40 {
                break;
            }
            points += 1;
            let answer = answer.code_is_one_of(&[0, 1, 3]);
            assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
            if answer.exit() != Some(0) {
                world.rejoin(["undo"]).code_is_one_of(&[0, 5]);
                assert_same(&before, &stores(&world), &format!("after {fault}"));
            }
        }
    }
}

#[test]
fn restore_works_from_another_file_system() {
    let Some(elsewhere) = other_file_system() else { return };
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("add a test", "Added.").side_file("a.txt", "a"));
    age_tree(&world.home().join(".claude"));
    let before = restored(&world);
    let volume = elsewhere.path().join("archive");
    let volume = volume.to_str().expect("a path");
    world.rejoin(["archive", "--every", "--archive-dir", volume]).code(0);
    wipe(&world);
    world.rejoin(["restore", &id(1), "--archive-dir", volume, "--keep-times"]).code(0);
    assert_same(&before, &restored(&world), "from another file system");
}

#[test]
fn only_a_complete_current_state_counts_as_archived() {
    let world = World::new();
    let claude = world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y").side_file("a.txt", "a"));
    world.add(Amplifier::session(id(2)).in_dir(APP).turn("x", "y"));
    world.add(Jido::session(id(3)).in_dir(APP));
    // A cleanup that would remove every session of an agent is refused, unless they are archived.
    let held = || -> Vec<String> {
        age_tree(&world.home());
        let is_held = |agent: &str| {
            let args = ["cleanup", "--agent", agent, "--any-age", "--dry-run", "--json"];
            let plan: Cleanup = world.rejoin(args).json();
            plan.details.refused.is_none()
        };
        let agents = [("amplifier", id(2)), ("claude", id(1)), ("jido", id(3))];
        agents.into_iter().filter(|(agent, _)| is_held(agent)).map(|(_, id)| id).collect()
    };
    assert_eq!(held(), Vec::<String>::new());
    world.rejoin(["archive", &id(1), &id(2)]).code(0);
    assert_eq!(held(), [id(2), id(1)]);
    // An extra file, other content, and a damaged blob.
    put(&claude.with_extension("").join("b.txt"), "b");
    assert_eq!(held(), [id(2)]);
    world.rejoin(["archive", "--every"]).code(0);
    assert_eq!(held(), [id(2), id(1), id(3)]);
    put(&claude.with_extension("").join("b.txt"), "c");
    assert_eq!(held(), [id(2), id(3)]);
    std::fs::remove_dir_all(own_dir(&world).join("blobs")).expect("blobs that go");
    assert_eq!(held(), Vec::<String>::new());
}

#[test]
fn list_and_show_read_only_archive_manifests() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).title("Tests").turn("add a test", "Added."));
    world.rejoin(["archive", "--every"]).code(0);
    std::fs::remove_dir_all(own_dir(&world).join("blobs")).expect("blobs that go");
    wipe(&world);
    let list: List = world.rejoin(["list", "--archived", "--json"]).code(0).json();
    let session = &list.sessions[0];
    assert_eq!((session.title.as_deref(), session.prompts, session.replies), (Some("Tests"), Some(1), Some(1)));
    assert_eq!(session.launch_dir.as_ref().map(|dir| dir.path.as_str()), Some(APP));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:02:00Z"));
    world.rejoin(["list", "--archived", "--agent", "jido"]).code(0).stdout_eq("");
    world.rejoin(["list", "--archived"]).code(0).stdout_eq(snapbox::str![[r#"
claude	00000001-aaaa-4aaa-8aaa-000000000001	Tests	/usr/bin	2026-02-01T10:02:00Z	[..]	

"#]]);
    for format in ["table", "json", "ndjson"] {
        world.rejoin(["show", "Tests", "--format", format]).code(0);
        world.rejoin(["list", "--archived", "--format", format]).code(0);
        world.rejoin(["archive", "--verify", "--format", format]).code(4);
    }
    world.rejoin(["show", "nothing"]).code(5);
    let shown: Show = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(shown.entries.len(), 1);
}

#[test]
fn restore_recreates_real_sessions_byte_for_byte() {
    // Sessions in databases are not restored as files; `kept` tests them.
    for (agent, folder) in corpora().into_iter().filter(|(agent, _)| !NEEDS_SQLITE.contains(agent)) {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        let before = stores(&world);
        let done: Archive = world.rejoin(["archive", "--every", "--json"]).code_is_one_of(&[0, 3]).json();
        let refused = done.items.iter().filter(|item| !matches!(item.result, ChangeResult::Done));
        let reasons: Vec<_> = refused.map(|item| item.error.clone()).collect();
        assert!(reasons.iter().all(|why| why.as_deref().is_some_and(|why| why.contains("database"))), "{reasons:?}");
        assert!(done.done > 0, "{agent}");
        let known: Vec<_> = archived(&world).into_iter().step_by(stride(4)).collect();
        let paths: BTreeSet<PathBuf> = known.iter().flat_map(|session| paths_of(&world, session)).collect();
        wipe(&world);
        for session in &known {
            world.rejoin(["restore", &session.id, "--keep-times", "--trust"]).code(0);
        }
        assert_same(&only(&before, &paths), &only(&stores(&world), &paths), agent);
        assert_sound(&world, agent);
    }
}

#[test]
fn archive_without_parent_directory_suggests_mkdir() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    let dir = world.home().join("back up/sessions");
    let dir_text = dir.to_str().expect("a path");
    put(&world.home().join(".config/rejoin/config.toml"), "archive.dir = \"~/back up/sessions\"\n");
    let (shown, parent) = ("[ROOT]/home/back up/sessions", "[ROOT]/home/back up");
    for args in [
        &["archive", "--every"][..],
        &["archive", "--every", "--archive-dir", dir_text],
        &["sync"],
        &["cleanup", "--any-age", "--allow-all", "--archive", "--yes"],
    ] {
        world.rejoin(args).code(1).stderr_eq(format!(
            "error: cannot create the archive {shown}: {parent} does not exist\nhint: mount the disk that it is on, or \
             create it with `mkdir -p '{parent}'`\n"
        ));
    }
    // No archived session exists, so a new directory would not help.
    let args = ["restore", &id(1), "--archive-dir", dir_text];
    world.rejoin(args).code(5).stderr_eq(format!(
        "error: there is no archive in {shown}\nhint: {parent} does not exist; mount the disk that it is on\n"
    ));
    std::fs::create_dir(world.home().join("back up")).expect("a directory");
    world.rejoin(["archive", "--every"]).code(0);
}
