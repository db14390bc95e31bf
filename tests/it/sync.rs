//! `sync`: two machines with one archive.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::SessionList;
use crate::contract::changes::Sync;
use crate::faults::{failing_at_every_point, killed_at_every_point};
use crate::fixtures::{Amplifier, Claude, Codex, Fixture, Gemini, OpenCode, Pi, claude_slug, id, put};
use crate::world::{Answer, NOW, World};

/// Two machines that share an archive.
pub(crate) struct Machines(pub(crate) World);

impl Machines {
    /// Makes two homes, the first with a session.
    pub(crate) fn new() -> Self {
        let machines = Self(World::new());
        for name in ["ana", "bob"] {
            std::fs::create_dir_all(machines.home(name).join(".claude/projects")).expect("a store");
            std::fs::create_dir_all(machines.home(name).join("app")).expect("a directory");
        }
        let session = Claude::session(id(1)).in_dir(machines.home("ana").join("app")).turn("fix the cart", "done");
        session.write_to(&machines.home("ana"));
        machines
    }

    pub(crate) fn home(&self, name: &str) -> PathBuf {
        self.0.root().join("homes").join(name)
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.0.root().join("volume/archive")
    }

    pub(crate) fn on(&self, name: &str, args: &[&str]) -> Answer {
        self.0.with("HOME", self.home(name)).rejoin(args)
    }

    pub(crate) fn sync_with(&self, name: &str, args: &[&str]) -> Answer {
        std::fs::create_dir_all(self.archive().parent().expect("a directory")).expect("a volume");
        let archive = self.archive();
        let words = ["sync", "--archive-dir", archive.to_str().expect("a path")];
        self.on(name, &[&words[..], args].concat())
    }

    pub(crate) fn sync(&self, name: &str) -> Answer {
        self.sync_with(name, &[])
    }

    pub(crate) fn transcript(&self, name: &str) -> PathBuf {
        let project = claude_slug(self.home(name).join("app"));
        self.home(name).join(".claude/projects").join(project).join(format!("{}.jsonl", id(1)))
    }

    /// Continues the session as the agent of a machine.
    pub(crate) fn say(&self, name: &str, text: &str) {
        let mut file = std::fs::OpenOptions::new().append(true).open(self.transcript(name)).expect("a transcript");
        let minute = text.len();
        for (kind, content) in [("user", json!(text)), ("assistant", json!([{"type": "text", "text": "ok"}]))] {
            let record = json!({"type": kind, "cwd": self.home(name).join("app"), "sessionId": id(1),
                "timestamp": format!("2026-03-01T11:{minute:02}:00.000Z"), "message": {"role": kind, "content": content}});
            writeln!(file, "{record}").expect("a record");
        }
    }

    /// Returns the conversation as a machine shows it.
    pub(crate) fn said(&self, name: &str) -> String {
        self.on(name, &["show", &id(1), "--transcript"]).code(0).stdout()
    }

    fn directory(&self, name: &str) -> String {
        let list: SessionList = self.on(name, &["list", "--json"]).code(0).json();
        assert_eq!(list.sessions.len(), 1);
        list.sessions[0].launch_dir.as_ref().expect("a directory").path.clone()
    }

    /// Returns the directory of a machine in the archive.
    pub(crate) fn dir_of(&self, name: &str) -> PathBuf {
        let identity = std::fs::read(self.home(name).join(".local/state/rejoin/machine.json")).expect("a name");
        let identity: Value = serde_json::from_slice(&identity).expect("JSON");
        self.archive().join(identity["name"].as_str().expect("a name"))
    }
}

/// Every file below a directory with its content.
pub(crate) fn picture(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.expect("an entry").into_path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect()
}

#[test]
fn sync_continues_session_on_two_machines() {
    let machines = Machines::new();
    let stdout = machines.sync("ana").code(0).stdout();
    assert!(stdout.contains("1 archived, 0 brought, 0 updated, 0 unchanged"), "{stdout}");
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("fix the cart") && stdout.contains("0 archived, 1 brought"), "{stdout}");
    for (turn, name, other) in [(1, "bob", "ana"), (2, "ana", "bob"), (3, "bob", "ana"), (4, "ana", "bob")] {
        for _ in 0..2 {
            let stdout = machines.sync(other).code(0).stdout();
            assert!(stdout.contains("0 archived, 0 brought, 0 updated, 1 unchanged"), "{stdout}");
        }
        machines.say(name, &format!("turn {turn} {}", "x".repeat(turn)));
        let stdout = machines.sync(name).code(0).stdout();
        assert!(stdout.contains("1 archived, 0 brought, 0 updated"), "{stdout}");
        let stdout = machines.sync(other).code(0).stdout();
        assert!(stdout.contains("0 archived, 0 brought, 1 updated, 0 unchanged"), "{stdout}");
        assert_eq!(machines.said("ana"), machines.said("bob"));
        assert!(machines.said(other).contains(&format!("turn {turn}")));
        for name in ["ana", "bob"] {
            assert_eq!(machines.directory(name), machines.home(name).join("app").to_str().expect("a path"));
        }
    }
}

#[test]
fn sync_keeps_and_reports_conflicting_sessions() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.say("ana", "on the laptop");
    machines.say("bob", "on the desktop");
    machines.sync("ana").code(0);
    let before = std::fs::read(machines.transcript("bob")).expect("a transcript");
    let stdout = machines.sync("bob").code(3).stdout();
    assert!(stdout.contains("it was continued separately here and on "), "{stdout}");
    assert!(stdout.contains("1 archived, 0 brought, 0 updated, 1 left as it is"), "{stdout}");
    assert_eq!(std::fs::read(machines.transcript("bob")).expect("a transcript"), before);
    assert!(!machines.said("ana").contains("desktop"));
    // Both states are in the archive, and each sync names them.
    for name in ["ana", "bob"] {
        machines.sync(name).code(3);
    }
    // The printed commands use the other state.
    let commands: Vec<&str> = stdout.split('`').skip(1).step_by(2).filter(|line| line.starts_with("rejoin ")).collect();
    let [show, delete, restore] = commands[..3] else { panic!("{stdout}") };
    let run = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        machines.on("bob", &words)
    };
    assert!(run(show).code(0).stdout().contains("state"));
    run(&format!("{delete} --yes")).code(0);
    run(restore).code(0);
    assert!(machines.said("bob").contains("laptop"));
    machines.sync("bob").code(0);
    machines.sync("ana").code(0);
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("0 archived, 0 brought, 0 updated, 1 unchanged"), "{stdout}");
}

/// Cron mails every output, so a conflict causes one mail; the exit code shows that it still exists.
#[test]
fn quiet_sync_reports_a_conflict_once() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.say("ana", "on the laptop");
    machines.say("bob", "on the desktop");
    machines.sync("ana").code(0);
    let plan: Sync = machines.sync_with("bob", &["--dry-run", "--json"]).code(3).json();
    assert_eq!((plan.details.left, plan.not_planned.len()), (1, 1));
    let quiet = || machines.sync_with("bob", &["--quiet"]).code(3).stderr_eq("").stdout();
    let stdout = quiet();
    assert!(stdout.starts_with("left  claude ") && stdout.contains("1 left as it is"), "{stdout}");
    assert_eq!(quiet(), "");
    // Without `--quiet`, a sync reports the conflict every time.
    assert!(machines.sync("bob").code(3).stdout().contains("it was continued separately"));
    assert_eq!(quiet(), "");
    machines.say("ana", "on the laptop again");
    machines.sync("ana").code(3);
    let stdout = quiet();
    assert!(stdout.starts_with("left  claude "), "{stdout}");
    assert_eq!(quiet(), "");
}

#[test]
fn sync_plan_prints_its_apply_command() {
    let machines = Machines::new();
    let plan = machines.sync_with("ana", &["--dry-run"]).code(0).stdout();
    let command = plan.split('`').find(|part| part.contains(" --apply ")).expect("a command");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let stdout = machines.on("ana", &words).code(0).stdout();
    assert!(stdout.contains("1 archived, 0 brought, 0 updated"), "{stdout}");
}

#[test]
fn sync_does_not_restore_deleted_session() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.on("bob", &["delete", &id(1), "--yes"]).code(0);
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("1 session removed here before; --restore-deleted restores such sessions"), "{stdout}");
    machines.say("ana", "more");
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    assert!(!machines.transcript("bob").exists() && machines.transcript("ana").exists());
    let stdout = machines.sync_with("bob", &["--restore-deleted"]).code(0).stdout();
    assert!(stdout.contains("1 brought"), "{stdout}");
    assert!(machines.said("bob").contains("more"));
}

#[test]
fn sync_ignores_missing_store() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    let (store, away) = (machines.home("bob").join(".claude"), machines.home("bob").join("unmounted"));
    std::fs::rename(&store, &away).expect("a move");
    let warning = machines.sync("bob").code(0).stderr();
    assert!(warning.contains("claude: 1 session not counted as deleted"), "{warning}");
    assert!(!store.exists(), "nothing is brought to where a store may be mounted again");
    // Another readable store of the agent does not matter.
    let elsewhere = machines.home("bob").join("settings");
    std::fs::create_dir_all(elsewhere.join("projects")).expect("a store");
    let archive = machines.archive();
    let sync = ["sync", "--archive-dir", archive.to_str().expect("a path")];
    machines.0.with("HOME", machines.home("bob")).with("CLAUDE_CONFIG_DIR", &elsewhere).rejoin(sync).code(0);
    // An unreadable store may still contain its sessions.
    std::os::unix::fs::symlink(&store, &store).expect("a link to itself");
    machines.sync_with("bob", &["--restore-deleted"]).code_is_one_of(&[0, 3]);
    std::fs::remove_file(&store).expect("a link");
    std::fs::rename(&away, &store).expect("a move");
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("0 archived, 0 brought, 0 updated, 1 unchanged"), "{stdout}");
}

#[test]
fn sync_skips_session_in_use() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.say("bob", "more");
    machines.sync("bob").code(0);
    let process = json!({"pid": std::process::id(), "sessionId": id(1), "procStart": crate::world::start_of(std::process::id()),
        "cwd": machines.home("ana").join("app")});
    put(&machines.home("ana").join(format!(".claude/sessions/{}.json", std::process::id())), process.to_string());
    let before = std::fs::read(machines.transcript("ana")).expect("a transcript");
    let stdout = machines.sync("ana").code(0).stdout();
    assert!(stdout.contains("it is in use by process"), "{stdout}");
    assert_eq!(std::fs::read(machines.transcript("ana")).expect("a transcript"), before);
}

#[test]
fn sync_skips_session_that_a_process_has_open() {
    let machines = Machines(Machines::new().0.with_processes());
    let ana = machines.home("ana");
    let session = || Codex::session(id(5)).in_old_words().in_dir(ana.join("app")).turn("one", "1");
    let path = session().write_to(&ana);
    let copy = machines.home("bob").join(path.strip_prefix(&ana).expect("a path in the home"));
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    session().turn("two", "2").write_to(&ana);
    machines.sync("ana").code(0);
    let before = std::fs::read(&copy).expect("a rollout");
    let open = std::fs::File::options().append(true).open(&copy).expect("a writer");
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("it is in use by process"), "{stdout}");
    assert_eq!(std::fs::read(&copy).expect("a rollout"), before);
    drop(open);
    machines.sync("bob").code(0);
    assert_ne!(std::fs::read(&copy).expect("a rollout"), before);
}

#[test]
fn sync_ignores_partly_copied_archive() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.say("bob", "more");
    machines.sync("bob").code(0);
    let whole = picture(&machines.archive());
    let before = picture(&machines.home("ana").join(".claude"));
    let theirs = machines.dir_of("bob");
    let is_of_others = |path: &Path| !path.ends_with("lock") && path.starts_with(&theirs);
    for path in whole.keys().filter(|path| is_of_others(path)) {
        for cut in [None, Some(0), Some(whole[path].len() / 2)] {
            match cut {
                None => std::fs::remove_file(path).expect("a removal"),
                Some(length) => std::fs::write(path, &whole[path][..length]).expect("a part"),
            }
            let conflict = path.with_extension("sync-conflict-20261126-101010-ABCDEFG.json");
            std::fs::write(&conflict, &whole[path]).expect("a conflict");
            std::fs::write(path.with_file_name(".syncthing.part.tmp"), "x").expect("a part");
            machines.sync("ana").code_is_one_of(&[0, 3]);
            let after = picture(&machines.home("ana").join(".claude"));
            assert!(after == before || machines.said("ana") == machines.said("bob"), "{path:?} {cut:?}");
            // The other files arrive.
            for (path, bytes) in &whole {
                if is_of_others(path) {
                    put(path, bytes);
                }
            }
            std::fs::remove_file(conflict).expect("a removal");
            std::fs::remove_file(path.with_file_name(".syncthing.part.tmp")).expect("a removal");
            machines.sync("ana").code(0);
            assert_eq!(machines.said("ana"), machines.said("bob"), "{path:?} {cut:?}");
            if machines.on("ana", &["undo", "--yes"]).exit() != Some(0) {
                continue;
            }
        }
    }
    machines.sync("ana").code(0);
    assert_eq!(machines.said("ana"), machines.said("bob"));
    machines.on("ana", &["archive", "--verify", "--archive-dir", machines.archive().to_str().expect("a path")]).code(0);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn next_sync_completes_a_killed_one() {
    killed_at_every_point(60, |fault, point| {
        let machines = Machines::new();
        machines.sync("ana").code(0);
        machines.sync("bob").code(0);
        machines.say("bob", "more");
        machines.sync("bob").code(0);
        let other = Claude::session(id(2)).in_dir(machines.home("bob").join("app")).turn("look", "ok");
        other.write_to(&machines.home("bob"));
        let new = Claude::session(id(3)).in_dir(machines.home("ana").join("app")).turn("count", "three");
        new.write_to(&machines.home("ana"));
        machines.sync("bob").code(0);
        let archive = machines.archive();
        let sync = ["sync", "--archive-dir", archive.to_str().expect("a path")];
        let killed =
            machines.0.with("HOME", machines.home("ana")).with("REJOIN_FAULT", fault).rejoin(sync).was_killed();
        for name in ["ana", "bob", "ana", "bob"] {
            machines.sync(name).code(0);
        }
        for (number, text) in [(1, "more"), (2, "look"), (3, "count")] {
            for name in ["ana", "bob"] {
                let stdout = machines.on(name, &["show", &id(number), "--transcript"]).code(0).stdout();
                assert!(stdout.contains(text), "{fault} ({point}): {name}: {stdout}");
            }
        }
        let stdout = machines.sync("ana").code(0).stdout();
        assert!(stdout.contains("0 archived, 0 brought, 0 updated, 3 unchanged"), "{fault} ({point}): {stdout}");
        killed
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn killed_sync_makes_no_conflict() {
    for has_it in [false, true] {
        killed_at_every_point(40, |fault, _| {
            let machines = Machines::new();
            machines.sync("ana").code(0);
            if has_it {
                machines.sync("bob").code(0);
                machines.say("ana", "first");
                machines.sync("ana").code(0);
            }
            let archive = machines.archive();
            let sync = ["sync", "--archive-dir", archive.to_str().expect("a path")];
            let killed =
                machines.0.with("HOME", machines.home("bob")).with("REJOIN_FAULT", fault).rejoin(sync).was_killed();
            machines.say("ana", "more");
            machines.sync("ana").code(0);
            for name in ["bob", "ana", "bob"] {
                machines.sync(name).code(0);
            }
            assert_eq!(machines.said("ana"), machines.said("bob"), "{fault}");
            assert!(machines.said("bob").contains("more"), "{fault}");
            for name in ["ana", "bob"] {
                let app = machines.home(name).join("app");
                assert_eq!(machines.directory(name), app.to_str().expect("a path"), "{fault}");
            }
            killed
        });
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn sync_on_a_full_disk_loses_nothing() {
    let begun = || {
        let machines = Machines::new();
        machines.sync("ana").code(0);
        machines.sync("bob").code(0);
        machines.say("bob", "more");
        machines.sync("bob").code(0);
        machines
    };
    let sync = |machines: &Machines, fault: &str| {
        let archive = machines.archive();
        let args = ["sync", "--archive-dir", archive.to_str().expect("a path")];
        machines.0.with("HOME", machines.home("ana")).with("REJOIN_FAULT", fault).rejoin(args)
    };
    // 28 means that the disk is full.
    failing_at_every_point(
        "28",
        true,
        |fault| sync(&begun(), fault).was_killed(),
        |fault| {
            let machines = begun();
            let answer = sync(&machines, fault).code_is_one_of(&[0, 1, 3]);
            assert!(!answer.stderr().contains("a bug in rejoin"), "{fault}: {}", answer.stderr());
            if std::fs::read_to_string(machines.transcript("ana")).unwrap_or_default().contains("more") {
                assert!(answer.stdout().contains("`rejoin undo "), "{fault}: {}", answer.stdout());
            }
            for name in ["ana", "bob", "ana"] {
                machines.sync(name).code(0);
            }
            assert_eq!(machines.said("ana"), machines.said("bob"), "{fault}");
            assert!(machines.said("ana").contains("more"), "{fault}");
        },
    );
}

#[test]
fn sync_refuses_unmounted_archive() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    std::fs::rename(machines.archive(), machines.0.root().join("elsewhere/archive")).expect("a move");
    let stderr = machines.sync("ana").code(5).stderr();
    assert!(stderr.contains("lacks the directory of this machine, which has archived sessions there"), "{stderr}");
    assert!(!machines.archive().exists());
    machines.sync_with("ana", &["--restore-deleted"]).code(0);
    machines.sync("ana").code(0);
}

#[test]
fn dry_run_changes_nothing_and_undo_reverses_sync() {
    let machines = Machines::new();
    let nothing = picture(machines.0.root());
    let plan: Sync = machines.sync_with("ana", &["--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.items.len(), plan.items[0].code.as_str()), (1, "archive"));
    assert_eq!(picture(machines.0.root()), nothing);
    machines.sync("ana").code(0);
    machines.sync("bob").code(0);
    machines.say("bob", "more");
    machines.sync("bob").code(0);
    let before = picture(machines.0.root());
    let plan: Sync = machines.sync_with("ana", &["--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.items.len(), plan.items[0].code.as_str()), (1, "continued-elsewhere"));
    let stdout = machines.sync_with("ana", &["--dry-run"]).code(0).stdout();
    assert!(stdout.contains("would update  claude"), "{stdout}");
    assert_eq!(picture(machines.0.root()), before);
    machines.sync_with("ana", &["--apply", "000000000000"]).code(7);
    let done: Sync = machines.sync_with("ana", &["--apply", plan.fingerprint(), "--json"]).code(0).json();
    assert_eq!((done.totals.done, done.details.unchanged), (1, 0));
    assert!(machines.said("ana").contains("more"));
    machines.on("ana", &["undo", "--yes"]).code(0);
    let transcript = machines.transcript("ana");
    assert_eq!(std::fs::read(&transcript).expect("a transcript"), before[&transcript]);
}

#[test]
fn sync_respects_agent_and_directory_filters() {
    let machines = Machines::new();
    machines.sync_with("ana", &["--agent", "codex"]).code(0);
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("0 brought"), "{stdout}");
    machines.sync("ana").code(0);
    let stdout = machines.sync_with("bob", &["--dir", "/nowhere"]).code(0).stdout();
    assert!(stdout.contains("0 brought"), "{stdout}");
    let (from, to) = (machines.home("ana").join("app"), machines.home("bob").join("shop"));
    let config = format!("[sync]\nmap = [\"{}={}\"]\n", from.display(), to.display());
    put(&machines.home("bob").join(".config/rejoin/config.toml"), &config);
    machines.sync_with("bob", &["--dir", to.to_str().expect("a path")]).code(0);
    assert_eq!(machines.directory("bob"), to.to_str().expect("a path"));
    // A sync of another agent does not treat it as deleted.
    machines.sync_with("bob", &["--agent", "codex"]).code(0);
}

#[test]
fn sync_archives_but_does_not_import_database_session() {
    let machines = Machines::new();
    std::fs::remove_file(machines.transcript("ana")).expect("a removal");
    let session = OpenCode::session("ses_1").in_dir(machines.home("ana").join("app")).turn("look", "ok");
    session.write_to(&machines.home("ana"));
    let stdout = machines.sync("ana").code(0).stdout();
    assert!(stdout.contains("1 archived"), "{stdout}");
    let stdout = machines.sync("ana").code(0).stdout();
    assert!(stdout.contains("0 archived, 0 brought, 0 updated, 1 unchanged"), "{stdout}");
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("only opencode writes into its database"), "{stdout}");
    assert!(stdout.contains("`rejoin restore opencode:ses_1 --state 1@"), "{stdout}");
    assert!(stdout.contains(" --trust --archive-dir "), "{stdout}");
}

#[test]
fn sync_brings_sessions_with_shared_files() {
    let machines = Machines::new();
    let (ana, app) = (machines.home("ana"), machines.home("ana").join("app"));
    for number in 2..5 {
        Gemini::session(id(number)).in_dir(&app).turn("look", "ok").write_to(&ana);
    }
    let base = Codex::session(id(7)).in_dir(&app).turn("first", "one").write_to(&ana);
    let length = base.metadata().expect("a file").len();
    let history = json!({"thread_id": id(7), "end_ordinal_exclusive": 5, "end_byte_offset": length});
    let fork = Codex::session(id(6)).in_dir(&app).fork_of(&id(7)).meta("history_base", history);
    fork.turn("fork it", "forked").write_to(&ana);
    machines.sync("ana").code(0);
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("6 brought"), "{stdout}");
    let stdout = machines.on("bob", &["show", &id(6), "--transcript"]).code(0).stdout();
    assert!(stdout.contains("first") && stdout.contains("forked"), "{stdout}");
    let stdout = machines.sync("bob").code(0).stdout();
    assert!(stdout.contains("0 archived, 0 brought, 0 updated, 6 unchanged"), "{stdout}");
}

#[test]
fn sync_ignores_equal_sessions_without_transcript() {
    let machines = Machines::new();
    for name in ["ana", "bob"] {
        let session = Amplifier::session(id(2)).in_dir("/usr/bin").turn("a", "b").write_to(&machines.home(name));
        std::fs::remove_file(session.join("transcript.jsonl")).expect("a transcript");
    }
    for name in ["ana", "bob", "ana", "bob"] {
        let answer = machines.sync(name);
        assert!(!answer.stdout().contains("cannot be compared"), "{}", answer.stdout());
        answer.code(0);
    }
}

#[test]
fn sync_maps_directory_of_recent_session() {
    let machines = Machines::new();
    // The agent keeps no lock, so a new record may mean that the session is in use.
    let session = |name: &str| Pi::session(id(5)).in_dir(machines.home(name).join("app")).at(NOW).turn("one", "1");
    machines.sync("bob").code(0);
    session("ana").write_to(&machines.home("ana"));
    machines.sync("ana").code(0);
    machines.sync("bob").code(0).stderr_eq("");
    let list: SessionList = machines.on("bob", &["list", "--agent", "pi", "--json"]).code(0).json();
    let dir = list.sessions[0].launch_dir.as_ref().expect("a directory");
    assert_eq!(dir.path, machines.home("bob").join("app").to_str().expect("a path"));
    assert!(machines.sync("bob").code(0).stdout().contains("2 unchanged"));
}

#[test]
fn sync_keeps_gemini_checkpoint_as_one_session() {
    let machines = Machines::new();
    let project = machines.home("ana").join(".gemini/tmp/app");
    let dir = machines.home("ana").join("app");
    put(&project.join(".project_root"), dir.to_str().expect("a path"));
    let message = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
    put(
        &project.join("checkpoint-my-tag.json"),
        json!({"history": [message("user", "one"), message("model", "1")]}).to_string(),
    );
    std::fs::create_dir_all(project.join("chats")).expect("a directory");
    put(
        &machines.home("ana").join(".gemini/projects.json"),
        json!({"projects": {dir.to_str().expect("a path"): "app"}}).to_string(),
    );
    for name in ["ana", "bob", "bob", "ana", "bob"] {
        machines.sync(name).code(0);
        let chats: SessionList = machines.on(name, &["list", "--agent", "gemini", "--all", "--json"]).code(0).json();
        let chats: Vec<_> = chats.sessions.iter().map(|chat| (chat.id.as_str(), chat.launch_dir.as_ref())).collect();
        let [(id, dir)] = chats.as_slice() else { panic!("{name}: {chats:?}") };
        assert_eq!(*id, "my-tag@app");
        assert_eq!(dir.expect("a directory").path, machines.home(name).join("app").to_str().expect("a path"));
    }
}

#[test]
fn sync_ignores_reimported_opencode_rows() {
    let machines = Machines::new();
    std::fs::remove_file(machines.transcript("ana")).expect("a removal");
    let session = |name: &str| OpenCode::session("ses_1").in_dir(machines.home(name).join("app")).turn("look", "ok");
    session("ana").write_to(&machines.home("ana"));
    for _ in 0..2 {
        machines.sync("ana").code(0);
    }
    // An import writes new times, and leaves out the to-do list.
    let database = session("bob").write_to(&machines.home("bob"));
    let connection = rusqlite::Connection::open(database).expect("a database");
    connection.execute("UPDATE message SET time_updated = time_updated + 5", []).expect("a change");
    connection.execute("UPDATE part SET time_updated = time_updated + 5", []).expect("a change");
    drop(connection);
    for name in ["bob", "ana", "bob", "ana"] {
        let stdout = machines.sync(name).code(0).stdout();
        assert!(!stdout.contains("left"), "{name}: {stdout}");
    }
    // The commands of a real conflict can be pasted.
    session("ana").turn("on the laptop", "ok").write_to(&machines.home("ana"));
    session("bob").turn("on the desktop", "ok").write_to(&machines.home("bob"));
    for name in ["ana", "bob", "ana"] {
        machines.sync(name).code_is_one_of(&[0, 3]);
    }
    let stdout = machines.sync("bob").code(3).stdout();
    assert!(stdout.contains("it was continued separately here and on "), "{stdout}");
    let commands: Vec<&str> = stdout.split('`').skip(1).step_by(2).filter(|line| line.starts_with("rejoin ")).collect();
    let [show, delete, restore] = commands[..3] else { panic!("{stdout}") };
    let words = |line: &str| -> Vec<String> { line.split_whitespace().skip(1).map(str::to_owned).collect() };
    let run = |line: &str| machines.on("bob", &words(line).iter().map(String::as_str).collect::<Vec<_>>());
    assert!(run(show).code(0).stdout().contains("state"));
    assert!(delete.contains(" --via-agent") && restore.contains(" --trust"), "{stdout}");
    let state = machines.home("bob").join("state");
    machines.0.install("opencode", &format!("{}\nexit 1\n", r#"echo "$@" >>"$HOME/state""#));
    run(&format!("{delete} --yes")).code_is_one_of(&[1, 3]);
    assert!(std::fs::read_to_string(&state).expect("a call").contains("session delete ses_1"));
}

#[test]
fn sync_does_not_read_huge_sparse_file() {
    let machines = Machines::new();
    machines.sync("ana").code(0);
    let dir = machines.archive().join("laptop-1a2b3c4d").join("sessions/claude").join(id(9));
    std::fs::create_dir_all(&dir).expect("a directory");
    let manifest = dir.join(format!("000001-{}.json", "ab".repeat(32)));
    std::fs::File::create(&manifest).expect("a file").set_len(500 * 1024 * 1024).expect("a hole");
    let archive = machines.archive();
    for words in [&["sync"][..], &["archive", "--every"], &["list", "--archived"]] {
        let words = [words, &["--archive-dir", archive.to_str().expect("a path")]].concat();
        let answer = machines.on("bob", &words).code_is_one_of(&[0, 3]);
        assert!(!answer.stderr().contains("panicked"), "{}", answer.stderr());
    }
    let stderr = machines.sync("bob").code(0).stderr();
    assert!(stderr.contains("it is larger than 67108864 bytes"), "{stderr}");
}
