//! Whole changes, on the system's disk and on the one in memory: done, undone, interrupted anywhere, failing anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bounds::Bounds;
use crate::disk::EntryKind;
use crate::disk::memory::{ActorNode, HookVerdict, Memory};
use crate::disk::{self, Access, Disk, For, System};
use crate::error::{Error, PathError};
use crate::journal::{ItemRecord, StepRecord};
use crate::outcome::{ItemResult, RunOutcome};
use crate::plan::{Contents, Edit, RunItem, Step};
use crate::run;
use crate::stamp::{self, Stamp};
use crate::state_dir::{READY, StateDir};
use crate::trash::{Purge, purge};
use crate::tree;
use crate::undo::{self, Hindrance, UndoReport, Which};

/// A store and a state directory on some disk.
pub(super) struct ScenarioDirs {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) base: PathBuf,
    pub(super) is_held: IsHeld,
}

/// Checks whether a process uses the data at these paths.
pub(super) type IsHeld = Box<dyn Fn(&[&Path]) -> bool>;

/// The steps of each item of a change.
pub(super) type StepsPerItem = Vec<Vec<Step>>;

pub(super) type FileContents = BTreeMap<PathBuf, Vec<u8>>;

impl ScenarioDirs {
    /// Lays out a store; with `apart` the state directory is on another file system, if possible.
    fn new(disk: Arc<dyn Disk>, base: PathBuf) -> Self {
        let place = Self { disk, base, is_held: Box::new(|_| false) };
        for (path, text) in [
            ("store/a.jsonl", "one\ntwo\n"),
            ("store/a/subagents/b.jsonl", "three\n"),
            ("store/a/deep/er/c.txt", "four"),
            ("store/info.json", "{\"old\":1}"),
            ("store/other.jsonl", "five\n"),
            ("store/b.jsonl", "six\nseven\n"),
            ("store/b/info.json", "{\"dir\":1}"),
            ("store/b/deep/d.txt", "eight"),
            ("store/far/c.jsonl", "nine\n"),
        ] {
            place.save_file(path, text);
        }
        place
    }

    pub(super) fn in_memory(is_apart: bool) -> (Self, Memory) {
        let memory = Memory::new();
        if is_apart {
            memory.actor().mount("/home/state");
            memory.actor().mount("/home/store/far");
        }
        let place = Self::new(memory.shared(), "/home".into());
        memory.settle();
        (place, memory)
    }

    fn on_both(scenario: impl Fn(&Self)) {
        let dir = tempfile::tempdir().expect("a directory");
        scenario(&Self::new(Arc::new(System::new(|_| Ok(()))), dir.path().to_owned()));
        for is_apart in [false, true] {
            scenario(&Self::in_memory(is_apart).0);
        }
    }

    fn save_file(&self, path: &str, text: &str) {
        let path = self.base.join(path);
        let dir =
            disk::make_dirs(&*self.disk, path.parent().expect("a directory"), Access::Private).expect("a directory");
        let file =
            self.disk.open((&dir, path.file_name().expect("a name")), For::New(Access::Private)).expect("a file");
        self.disk.add(&file, text.as_bytes()).expect("bytes");
    }

    /// Returns every file below a directory with its content.
    pub(super) fn files(&self, below: &str) -> FileContents {
        let mut files = FileContents::new();
        let root = self.base.join(below);
        let (dir, name) = disk::open_parent(&*self.disk, &root).expect("a directory");
        let mut paths = Vec::new();
        let walked = stamp::each_below(&*self.disk, (&dir, &name), &mut |path, look| {
            paths.extend((look.kind == EntryKind::File).then(|| path.to_owned()));
            Ok(())
        });
        walked.expect("a walk");
        for path in paths {
            let (dir, name) = disk::open_parent(&*self.disk, &root.join(&path)).expect("a directory");
            let file = self.disk.open((&dir, &name), For::Reading).expect("a file");
            let mut bytes = vec![0; 1 << 16];
            let count = self.disk.read_at(&file, &mut bytes, 0).expect("bytes");
            bytes.truncate(count);
            files.insert(path, bytes);
        }
        files
    }

    fn stamp(&self, path: &str) -> (PathBuf, Stamp) {
        let path = self.base.join(path);
        let (dir, name) = disk::open_parent(&*self.disk, &path).expect("a directory");
        let stamp = stamp::take_on(&*self.disk, (&dir, &name), &path).expect("a stamp");
        (path, stamp)
    }

    /// A change with every kind of step.
    pub(super) fn change(&self) -> StepsPerItem {
        let trash = |path| {
            let (path, stamp) = self.stamp(path);
            Step::Trash { path: path.into(), stamp }
        };
        let (path, stamp) = self.stamp("store/info.json");
        let contents = |text: &str| Contents::Bytes(text.into());
        let rewrite = Step::Write { path, contents: contents("{\"new\":22}"), stamp: Some(Box::new(stamp)) };
        let write = Step::Write { path: self.base.join("store/new.json"), contents: contents("{}"), stamp: None };
        let made = self.base.join("store/made");
        let put = Step::Put { from: self.base.join("state").join(READY).join("x"), path: made.join("x") };
        let far = |name: &str| self.base.join("store/far/new").join(name);
        let (from, stamp) = self.stamp("store/b");
        let relocate = Step::Move { from, path: far("b"), stamp: Box::new(stamp) };
        let edits = vec![Edit::replace(0..3, "SIX!"), Edit::replace(10..10, "more\n")];
        let edited = Contents::Edited { from: self.base.join("store/b.jsonl"), edits };
        let steps = [
            vec![trash("store/a"), trash("store/a.jsonl")],
            vec![rewrite, write],
            vec![Step::MakeDir { path: made }, put],
            vec![
                Step::MakeDir { path: self.base.join("store/far/new") },
                relocate,
                Step::Write { path: far("b.jsonl"), contents: edited, stamp: None },
                trash("store/b.jsonl"),
            ],
        ];
        steps.into()
    }

    pub(super) fn state(&self, verb: &str) -> Result<StateDir, Error> {
        StateDir::open(
            Arc::clone(&self.disk),
            (self.base.join("state"), Bounds::everything()),
            now(),
            verb,
            Duration::ZERO,
        )
    }

    /// Makes the file that the change puts in place.
    fn prepare(&self) -> io::Result<()> {
        let ready = disk::make_dirs(&*self.disk, &self.base.join("state").join(READY), Access::Private)?;
        let file = self.disk.open((&ready, "x".as_ref()), For::New(Access::Private))?;
        self.disk.add(&file, b"put")?;
        self.disk.sync(&file)
    }

    pub(super) fn run(&self, change: &StepsPerItem) -> Result<RunOutcome, Error> {
        let state_dir = self.state("delete")?;
        self.prepare().map_err(|error| PathError::new("prepare", &self.base, error))?;
        let look = |number: usize| {
            let paths: Vec<&Path> = change[number].iter().map(Step::path).collect();
            (self.is_held)(&paths).then(|| HELD.to_owned())
        };
        let items: Vec<_> = change.iter().map(|steps| RunItem::new(&"something", "named", steps)).collect();
        Ok(run::run(&state_dir, ("delete", &items), now(), &look, &mut |_| {})?)
    }

    fn hindrance(&self, record: &ItemRecord) -> Option<Hindrance> {
        let paths: Vec<&Path> = record.steps.iter().map(StepRecord::path).collect();
        (self.is_held)(&paths).then(|| Hindrance::held_by_process(HELD))
    }

    /// Recovers interrupted runs, and undoes the newest run; `None` if that fails.
    pub(super) fn try_undo_all(&self) -> Option<UndoReport> {
        let state_dir = self.state("undo").ok()?;
        undo::recover(&state_dir, now(), &mut |record| self.hindrance(record)).ok()?;
        undo::undo(&state_dir, &Which::Newest, |_| true, false, now(), &mut |record| self.hindrance(record)).ok()
    }

    /// Recovers interrupted runs, and returns the messages.
    pub(super) fn recover(&self) -> Vec<String> {
        let state_dir = self.state("delete").expect("a state directory");
        undo::recover(&state_dir, now(), &mut |record| self.hindrance(record)).expect("a recovery")
    }

    /// Recovers interrupted runs, and undoes every run; returns the messages.
    pub(super) fn undo_all(&self) -> Vec<String> {
        let state_dir = self.state("undo").expect("a state directory");
        let mut messages = undo::recover(&state_dir, now(), &mut |record| self.hindrance(record)).expect("a recovery");
        while let Ok(report) =
            undo::undo(&state_dir, &Which::Newest, |_| true, false, now(), &mut |record| self.hindrance(record))
        {
            messages.extend(report.items.iter().filter_map(|item| match item {
                ItemResult::Refused(why) => Some(why.clone()),
                _ => None,
            }));
            if !report.items.contains(&ItemResult::Done) {
                break;
            }
        }
        messages
    }
}

/// Reason to leave an item alone whose data a process uses.
const HELD: &str = "it is in use by process 9";

pub(super) fn now() -> jiff::Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

#[track_caller]
fn nothing_is_lost(before: &FileContents, place: &ScenarioDirs, when: &str) {
    let everything: BTreeSet<Vec<u8>> = place.files("").into_values().collect();
    for (path, bytes) in before {
        assert!(everything.contains(bytes), "{when}: {} is lost", path.display());
    }
}

#[test]
fn every_disk_supports_every_kind_of_step() {
    ScenarioDirs::on_both(|place| {
        let before = place.files("store");
        let outcome = place.run(&place.change()).expect("a run");
        assert_eq!(outcome.done, vec![ItemResult::Done; 4]);
        let after = place.files("store");
        let texts: Vec<(&Path, &[u8])> = after.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice())).collect();
        assert_eq!(
            texts,
            [
                (Path::new("far/c.jsonl"), &b"nine\n"[..]),
                (Path::new("far/new/b/deep/d.txt"), b"eight"),
                (Path::new("far/new/b/info.json"), b"{\"dir\":1}"),
                (Path::new("far/new/b.jsonl"), b"SIX!\nseven\nmore\n"),
                (Path::new("info.json"), b"{\"new\":22}"),
                (Path::new("made/x"), b"put"),
                (Path::new("new.json"), b"{}"),
                (Path::new("other.jsonl"), b"five\n"),
            ]
        );
        nothing_is_lost(&before, place, "after the run");
        assert_eq!(place.undo_all(), Vec::<String>::new());
        assert_eq!(place.files("store"), before);

        let state_dir = place.state("trash purge").expect("a state directory");
        let purged = purge(&state_dir, now(), &Purge::All).expect("a purge");
        assert_eq!((purged.runs.len(), purged.failed.len()), (1, 0));
        assert!(place.files("state").into_keys().all(|path| path == Path::new("lock")));
    });
}

#[test]
fn run_skips_items_changed_by_other_programs() {
    ScenarioDirs::on_both(|place| {
        let change = place.change();
        for path in ["store/a/deep/er/d.txt", "store/new.json", "store/made/y", "store/far/new/y"] {
            place.save_file(path, "mine");
        }
        let before = place.files("store");
        let outcome = place.run(&change).expect("a run");
        assert!(outcome.done.iter().all(|done| matches!(done, ItemResult::Skipped(_))), "{:?}", outcome.done);
        assert_eq!(outcome.run, None);
        assert_eq!(place.files("store"), before);
    });
}

#[test]
fn undo_follows_new_link_on_no_disk() {
    ScenarioDirs::on_both(|place| {
        let disk = &*place.disk;
        let before = place.files("store");
        place.run(&place.change()).expect("a run");
        let after = place.files("store");
        let outside = disk::make_dirs(disk, &place.base.join("outside"), Access::Private).expect("a directory");
        let (base, _) = disk::open_parent(disk, &place.base.join("store")).expect("a directory");
        disk.rename_to_free((&base, "store".as_ref()), (&base, "aside".as_ref())).expect("a move");
        disk.make_link((&base, "store".as_ref()), &place.base.join("outside")).expect("a link");
        let messages = place.undo_all();
        assert!(messages.len() == 4 && messages.iter().all(|why| why.contains("link")), "{messages:?}");
        assert_eq!((disk.list(&outside).expect("names").len(), place.files("aside")), (0, after));
        disk.unlink((&base, "store".as_ref())).expect("no link");
        disk.rename_to_free((&base, "aside".as_ref()), (&base, "store".as_ref())).expect("a move");
        assert_eq!((place.undo_all(), place.files("store")), (Vec::new(), before));
    });
}

#[test]
fn deep_trees_need_few_open_handles() {
    ScenarioDirs::on_both(|place| {
        let disk = &*place.disk;
        let (root, _) = disk::open_parent(disk, &place.base.join("x")).expect("a directory");
        disk.make_dir((&root, "deep".as_ref()), Access::Private).expect("a directory");
        let mut dir = disk.open((&root, "deep".as_ref()), For::Dir).expect("a directory");
        for _ in 0..1200 {
            disk.make_dir((&dir, "d".as_ref()), Access::Private).expect("a directory");
            dir = disk.open((&dir, "d".as_ref()), For::Dir).expect("a directory");
        }
        disk.add(&disk.open((&dir, "f".as_ref()), For::New(Access::Private)).expect("a file"), b"x").expect("bytes");
        let (deep, copy) = ((&root, "deep".as_ref()), (&root, "copy".as_ref()));
        tree::copy(disk, deep, copy).expect("a copy");
        assert!(tree::is_same(disk, deep, copy).expect("a comparison"));
        assert_eq!(tree::size(disk, copy), 1);
        disk.add(&disk.open((&dir, "g".as_ref()), For::New(Access::Private)).expect("a file"), b"y").expect("bytes");
        assert!(!tree::is_same(disk, deep, copy).expect("a comparison"));
        tree::remove(disk, deep).expect("a removal");
        tree::remove(disk, copy).expect("a removal");
        assert!(disk::look_if_present(disk, deep).expect("a look").is_none());
    });
}

#[test]
fn run_keeps_concurrent_writes_at_any_call() {
    for at in 1..400 {
        for act in 0..4 {
            let (place, memory) = ScenarioDirs::in_memory(at % 2 == 0);
            let (before, change) = (place.files("store"), place.change());
            memory.before_each(move |call, actor| {
                if call.number == at {
                    match act {
                        0 => actor.add("/home/store/a.jsonl", "mine\n"),
                        1 => actor.save_file("/home/store/info.json", "mine\n"),
                        2 => actor.add("/home/store/a/subagents/b.jsonl", "mine\n"),
                        _ => {
                            actor.rename("/home/store", "/home/away");
                            actor.symlink("/home/store", "/home/elsewhere");
                        }
                    }
                }
                HookVerdict::Go
            });
            let _ = place.run(&change);
            let has_acted = memory.calls() >= at;
            memory.restart();
            let everything: Vec<Vec<u8>> = place.files("").into_values().collect();
            if act < 3 && has_acted {
                let mine = everything.iter().filter(|bytes| bytes.ends_with(b"mine\n")).count();
                assert!(mine >= 1, "what was written at {at} ({act}) is lost");
            }
            for (path, bytes) in &before {
                let is_there = everything.iter().any(|found| found.starts_with(bytes));
                let is_replaced = act == 1 && path.ends_with("info.json");
                assert!(is_there || is_replaced, "{} is lost at {at} ({act})", path.display());
            }
        }
    }
}

#[test]
fn actor_changes_memory_disk_like_another_process() {
    let memory = Memory::new();
    let actor = memory.actor();
    actor.save_file("/a/b/f", "one");
    actor.add("/a/b/f", "two");
    actor.age("/a/b/f", 5);
    actor.symlink("/a/l", "/a/b");
    actor.rename("/a/b/f", "/a/b/g");
    assert_eq!(actor.read("/a/l/g").as_deref(), Some(&b"onetwo"[..]));
    assert_eq!(actor.files().get(Path::new("/a/l")), Some(&ActorNode::Link("/a/b".into())));
    let held = actor.lock("/a/b/g").expect("a lock");
    assert!(actor.lock("/a/b/g").is_none());
    drop(held);
    assert!(actor.lock("/a/b/g").is_some());
    memory.settle();
    actor.remove("/a/b/g");
    let seen = Arc::new(AtomicU64::new(0));
    memory.before_each({
        let seen = Arc::clone(&seen);
        move |call, _| {
            seen.fetch_add(
                u64::from(call.name == "open_dir" && !call.changes && call.about == "/a"),
                Ordering::Relaxed,
            );
            HookVerdict::Go
        }
    });
    let dir = memory.open_dir(Path::new("/a")).expect("a directory");
    assert_eq!((memory.calls(), seen.load(Ordering::Relaxed)), (1, 1));
    memory.crash(|outcomes| outcomes - 1);
    assert!(memory.list(&dir).is_err(), "a handle goes with its process");
    assert_eq!(actor.read("/a/b/g").as_deref(), Some(&b"onetwo"[..]), "its removal was not on the disk");
}
