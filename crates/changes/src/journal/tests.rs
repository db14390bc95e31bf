//! Journals: written, cut off, damaged and read again.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::bounds::Bounds;
use crate::disk::{self, System};
use crate::tests::SYSTEM;

/// A journal with one item, the name of its run, and its path.
fn begun(state_dir: &StateDir) -> (Journal<'_>, String, PathBuf) {
    let at = "2026-03-01T12:00:00Z".parse().expect("a time");
    let (mut journal, id, _) = Journal::begin(state_dir, "cleanup", at).expect("a journal");
    let steps = vec![StepRecord::MakeDir { path: odd_path(), kept: "0-0".to_owned() }];
    let record = ItemRecord {
        item: 0,
        label: "editor a".to_owned(),
        title: None,
        agent: Some("editor".to_owned()),
        id: Some("a".to_owned()),
        code: "old".to_owned(),
        reason: "it is old".to_owned(),
        needs: None,
        steps,
    };
    journal.write(&JournalEvent::Item(record)).expect("a line");
    let path = state_dir.journal_of(&id);
    (journal, id, path)
}

fn read(state_dir: &StateDir, path: &Path) -> Result<Option<Run>, PathError> {
    let name = path.file_name().expect("a name");
    Run::read(state_dir.disk(), (&state_dir.runs, name), path, state_dir.bounds.is_known)
}

fn odd_path() -> PathBuf {
    PathBuf::from(OsStr::from_bytes(b"/x/\xff\n"))
}

fn state_dir(home: &Path) -> StateDir {
    let place = (home.join("state"), Bounds::everything());
    let now = "2026-03-01T12:00:00Z".parse().expect("a time");
    StateDir::open(Arc::new(System::new(|_| Ok(()))), place, now, "cleanup", Duration::ZERO).expect("a state directory")
}

#[test]
fn journal_round_trips_and_continues_after_torn_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = state_dir(dir.path());
    let (mut journal, id, path) = begun(&state_dir);
    assert_eq!(id, "20260301-120000");
    journal.line(b"{\"event\":\"sta").expect("a part of a line");
    let mut journal = Journal::reopen(&state_dir, &id).expect("a journal");
    journal.write(&JournalEvent::Done { item: 0 }).expect("a line");
    let run = read(&state_dir, &path).expect("a journal").expect("a run");
    assert_eq!((run.items[0].0.steps[0].path(), &run.items[0].1), (odd_path().as_path(), &ItemState::Done));
    assert!(!run.has_ended && run.is_undoable());

    let (_, next, _) = begun(&state_dir);
    assert_eq!(next, "20260301-120000-2");
    drop(journal);
}

#[test]
fn journal_with_invalid_line_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = state_dir(dir.path());
    let lines: [&[u8]; 10] = [
        b"{\"event\":\"sta\n",
        b"\xff\n",
        b"\0\0\0\0\n",
        b"{\"event\":\"done\",\"item\":1}\n",
        b"{\"event\":\"start\",\"item\":0,\"step\":1,\"dir_times\":null}\n",
        b"{\"event\":\"made\",\"kept\":\"1-0\",\"device\":1,\"inode\":1}\n",
        b"{\"event\":\"begin\",\"format_version\":1,\"run\":\"x\",\"verb\":\"x\",\"at\":\"2026-03-01T12:00:00Z\",\"pid\":1}\n",
        b"{\"event\":\"moved\",\"item\":0}\n",
        b"{\"event\":\"item\",\"item\":2,\"label\":\"\",\"agent\":null,\"id\":null,\"code\":\"\",\"reason\":\"\",\"steps\":[]}\n",
        b"{\"event\":\"item\",\"item\":1,\"label\":\"\",\"agent\":\"stranger\",\"id\":null,\"code\":\"\",\"reason\":\"\",\"steps\":[]}\n",
    ];
    for line in lines {
        let (mut journal, _, path) = begun(&state_dir);
        journal.line(line).expect("a line");
        journal.write(&JournalEvent::Done { item: 0 }).expect("a line");
        let error = read(&state_dir, &path).expect_err("a refusal").to_string();
        assert!(error.contains("line 3 of it"), "{error}");
    }
}

#[test]
fn journal_refuses_other_version_or_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let state_dir = state_dir(dir.path());
    let (_, _, path) = begun(&state_dir);
    let text = String::from_utf8(disk::read_if_present(&SYSTEM, &path, 1 << 20).expect("text").expect("a file"))
        .expect("UTF-8");
    let later = text.replace("\"format_version\":1", "\"format_version\":2,\"more\":[]");
    for (text, why) in [(later, "is of version 2"), (text.replace("20260301", "20260302"), "another run")] {
        disk::replace(&SYSTEM, &path, text.as_bytes()).expect("a journal");
        let error = read(&state_dir, &path).expect_err("a refusal").to_string();
        assert!(error.contains(why), "{error}");
    }
}
