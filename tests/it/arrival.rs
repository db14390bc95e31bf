//! An archive that a program copies from machine to machine: its files arrive in any order, and some only in part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::fixtures::{Claude, Fixture as _, id, put};
use crate::sync::Machines;
use crate::world::Answer;

/// Returns the files of a directory, except those that name a process, by their relative path.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |path: PathBuf| path.strip_prefix(dir).expect("a path below").to_owned();
    let mut files: BTreeMap<_, _> =
        crate::sync::picture(dir).into_iter().map(|(path, bytes)| (below(path), bytes)).collect();
    files.retain(|path, _| !path.ends_with("lock"));
    files
}

/// Machines that each have a copy of the archive.
struct Copied(Machines);

impl Copied {
    fn new() -> Self {
        let machines = Machines::new();
        let app = machines.home("ana").join("app");
        Claude::session(id(2)).in_dir(&app).turn("count the tests", "nine").write_to(&machines.home("ana"));
        Self(machines)
    }

    fn copy_of(&self, name: &str) -> PathBuf {
        let dir = self.0.home(name).join("Sync");
        std::fs::create_dir_all(&dir).expect("a directory");
        dir.join("archive")
    }

    fn run(&self, name: &str, now: &str, words: &[&str]) -> Answer {
        let copy = self.copy_of(name);
        let archive = format!("archive.dir = \"{}\"\n", copy.display());
        put(&self.0.home(name).join(".config/rejoin/config.toml"), archive);
        self.0.0.with("HOME", self.0.home(name)).with("REJOIN_NOW", now).rejoin(words)
    }

    /// Copies a part of the files of one machine's archive to another one.
    fn copy<'f>(&self, files: impl IntoIterator<Item = (&'f PathBuf, &'f Vec<u8>)>, to: &str) {
        for (path, bytes) in files {
            put(&self.copy_of(to).join(path), bytes);
        }
    }
}

/// Every command that removes something from an archive.
const REMOVING: [&[&str]; 5] = [
    &["sync"],
    &["archive", "--every"],
    &["archive", "--every", "--full"],
    &["cleanup", "--any-age", "--allow-all", "--archive", "--yes"],
    &["sync", "--restore-deleted"],
];
const MARCH: &str = "2026-03-01T12:00:00Z";
/// A time at which no unneeded file is kept any more.
const JUNE: &str = "2026-06-01T12:00:00Z";

#[test]
fn no_command_removes_files_of_another_machine() {
    let source = Copied::new();
    source.run("ana", MARCH, &["sync"]).code(0);
    let arriving = files(&source.copy_of("ana"));
    assert_eq!(arriving.len(), 4, "two blobs and two manifests: {:?}", arriving.keys());
    for words in REMOVING {
        let machines = Copied::new();
        // One machine already has its own states in the archive, the other one has none.
        let own = Claude::session(id(3)).in_dir(machines.0.home("cat").join("app")).turn("own", "ok");
        own.write_to(&machines.0.home("cat"));
        machines.run("cat", MARCH, &["sync"]).code(0);
        // Every order of arrival consists of these subsets.
        for subset in 0_u32..1 << arriving.len() {
            for (name, now) in [("bob", MARCH), ("bob", JUNE), ("cat", JUNE)] {
                let copy = machines.copy_of(name);
                let arrived: Vec<_> =
                    arriving.iter().zip(0..).filter(|(_, at)| subset & (1 << at) != 0).map(|(file, _)| file).collect();
                machines.copy(arrived.iter().copied(), name);
                machines.run(name, now, words).code_is_one_of(&[0, 3]);
                for (path, bytes) in &arrived {
                    let kept = std::fs::read(copy.join(path)).unwrap_or_default();
                    assert!(kept == **bytes, "{words:?} on {name} at {now}, {subset:b}: {}", path.display());
                }
                for path in arriving.keys() {
                    let _ = std::fs::remove_file(copy.join(path));
                }
            }
        }
        for name in ["bob", "cat"] {
            machines.copy(&arriving, name);
            machines.run(name, JUNE, &["sync", "--restore-deleted"]).code(0);
            machines.run(name, JUNE, &["archive", "--verify"]).code(0);
            for (number, text) in [(1, "fix the cart"), (2, "count the tests")] {
                let stdout = machines.run(name, JUNE, &["show", &id(number), "--transcript"]).code(0).stdout();
                assert!(stdout.contains(text), "{words:?} on {name}: {stdout}");
            }
        }
    }
}

#[test]
fn sync_keeps_own_files_that_arrive_again() {
    let machines = Copied::new();
    machines.run("ana", MARCH, &["sync"]).code(0);
    let whole = files(&machines.copy_of("ana"));
    let is_blob = |path: &Path| path.extension().is_some_and(|ending| ending == "zst");
    // The directory was set up again, and the blobs arrive from the other machines before the manifests.
    std::fs::remove_dir_all(machines.copy_of("ana")).expect("a removal");
    machines.copy(whole.iter().filter(|(path, _)| is_blob(path)), "ana");
    for words in REMOVING.iter().filter(|words| !words.contains(&"--full") && !words.contains(&"--restore-deleted")) {
        machines.run("ana", JUNE, &["delete", &id(2), "--yes"]).code_is_one_of(&[0, 5]);
        let answer = machines.run("ana", JUNE, words);
        assert!(answer.stderr().contains("is missing"), "{words:?}: {}", answer.stderr());
        let now = files(&machines.copy_of("ana"));
        assert!(whole.iter().all(|(path, bytes)| !is_blob(path) || now.get(path) == Some(bytes)), "{words:?}");
    }
    machines.copy(&whole, "ana");
    machines.run("ana", JUNE, &["archive", "--verify"]).code(0);
    machines.run("ana", JUNE, &["restore", &id(2)]).code(0);
    // States that are lost are removed from the records with the printed command.
    std::fs::remove_dir_all(machines.copy_of("ana")).expect("a removal");
    std::fs::create_dir(machines.copy_of("ana")).expect("a directory");
    machines.run("ana", JUNE, &["delete", &id(2), "--yes"]).code(0);
    machines.run("ana", JUNE, &["archive", "--every"]).code(0);
    let stdout = machines.run("ana", JUNE, &["archive", "--verify"]).code(4).stdout();
    assert!(stdout.contains("`rejoin archive --every --full` forgets"), "{stdout}");
    machines.run("ana", JUNE, &["archive", "--every", "--full"]).code(0);
    machines.run("ana", JUNE, &["archive", "--verify"]).code(0);
}

#[test]
fn archive_stores_missing_blobs_of_unchanged_session_again() {
    for words in [&["sync"][..], &["archive", "--every"]] {
        let machines = Copied::new();
        machines.run("ana", MARCH, words).code(0);
        let whole = files(&machines.copy_of("ana"));
        for path in whole.keys().filter(|path| path.extension().is_some_and(|ending| ending == "zst")) {
            let path = machines.copy_of("ana").join(path);
            std::fs::remove_file(&path).expect("a removal");
            machines.run("ana", MARCH, words).code(0);
            assert!(path.is_file(), "{words:?}");
            machines.run("ana", MARCH, &["archive", "--verify"]).code(0);
        }
    }
}

#[test]
fn sync_ignores_clocks_of_machines() {
    let machines = Copied::new();
    machines.run("ana", "2031-01-01T00:00:00Z", &["sync"]).code(0);
    machines.copy(&files(&machines.copy_of("ana")), "bob");
    machines.run("bob", "2026-03-01T12:00:00Z", &["sync"]).code(0);
    machines.0.say("ana", "more");
    machines.run("ana", "2026-03-02T12:00:00Z", &["sync"]).code(0);
    machines.copy(&files(&machines.copy_of("ana")), "bob");
    let stdout = machines.run("bob", "2026-03-02T13:00:00Z", &["sync"]).code(0).stdout();
    assert!(stdout.contains("1 updated"), "{stdout}");
    assert!(machines.0.said("bob").contains("more"));
}

#[test]
fn concurrent_first_syncs_both_succeed() {
    for _ in 0..8 {
        let machines = Machines::new();
        let other = Claude::session(id(2)).in_dir(machines.home("bob").join("app")).turn("look", "ok");
        other.write_to(&machines.home("bob"));
        std::thread::scope(|scope| {
            let both = ["ana", "bob"].map(|name| scope.spawn(|| machines.sync(name)));
            for one in both {
                one.join().expect("an answer").code(0);
            }
        });
        for name in ["ana", "bob"] {
            machines.sync(name).code(0);
            assert!(machines.said(name).contains("fix the cart"));
        }
    }
}
