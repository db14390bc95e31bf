//! Archiving with every fault on the disk in memory: no archived state is lost, and sessions reported as archived are
//! in the archive.

use std::time::Duration;

use super::*;
use crate::archive::verify::verify;
use crate::scan::{ScanScope, locate};
use crate::system::disk::Disk;
use crate::system::disk::memory::{Memory, with_every_fault};
use changes::bounds::Bounds;

const FIRST: &str = "{\"type\":\"user\",\"cwd\":\"/work\",\"sessionId\":\"5d1f6c1e-3a50-4a57-8a5e-0123456789ab\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n";
const SECOND: &str = "{\"type\":\"user\",\"cwd\":\"/work\",\"sessionId\":\"5d1f6c1e-3a50-4a57-8a5e-0123456789ab\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}\n";

const ARCHIVE: &str = "/volume/archive";

/// A home with a session of Claude Code.
struct Home {
    dir: tempfile::TempDir,
    env: Env,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut env = crate::system::env::tests::fixed();
        env.home = dir.path().to_owned();
        env.foreign_home = true;
        Self { dir, env }
    }

    #[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
    fn add_message(&self, transcript: &str) -> Vec<Session> {
        let project = self.dir.path().join(".claude/projects/-work");
        std::fs::create_dir_all(&project).expect("a directory");
        let path = project.join("5d1f6c1e-3a50-4a57-8a5e-0123456789ab.jsonl");
        std::fs::write(path, transcript).expect("a transcript");
        let scan = locate(&self.env, &[]).read_all(&self.env, ScanScope::GLANCE);
        assert_eq!(scan.sessions.len(), 1);
        scan.sessions
    }

    /// Archives the session; returns whether the report says that it is in the archive.
    fn archive(&self, sessions: &[Session], memory: &Memory) -> anyhow::Result<bool> {
        let state_dir = StateDir::open(
            memory.shared(),
            ("/state".into(), Bounds::everything()),
            self.env.clock.now,
            "archive",
            Duration::ZERO,
        )?;
        let options = ArchiveOptions::default();
        let on_disk = Archive::on_disk(memory.shared(), ARCHIVE.into(), None);
        let report = archive(sessions, &on_disk, options, Some(&state_dir), &self.env, &mut |_| {})?;
        anyhow::ensure!(report.is_whole(), "{:?}", report.items[0].done);
        Ok(report.warnings.is_empty())
    }
}

fn own_name_on(disk: &dyn Disk) -> Option<String> {
    let env = crate::system::env::tests::fixed();
    machine::name_in(disk, "/state".as_ref(), &env).expect("a name")
}

fn archive_on(memory: &Memory) -> Archive {
    Archive::on_disk(memory.shared(), ARCHIVE.into(), own_name_on(&*memory.shared()))
}

fn notes(memory: &Memory) -> MachineNotes {
    MachineNotes::read_in(&*memory.shared(), "/state".as_ref(), ARCHIVE.as_ref()).expect("notes")
}

/// Returns the archived transcripts, the oldest first.
fn archived_titles(memory: &Memory) -> Result<Vec<String>, String> {
    let archive = archive_on(memory);
    let holdings = archive.holdings();
    if let Some(problem) = holdings.problems.first() {
        return Err(format!("{}: {}", problem.path.display(), problem.reason));
    }
    let whole = |snapshot: &crate::archive::ArchivedState| {
        let (_, _, chunks) = snapshot.manifest.files().next().ok_or("a state without a file")?;
        let dir = archive.dir_of(&snapshot.manifest);
        let chunks = chunks.iter().map(|name| dir.chunk(name).map_err(|fault| format!("{name}: {fault}")));
        let bytes: Vec<u8> = chunks.collect::<Result<Vec<_>, _>>()?.concat();
        String::from_utf8(bytes).map_err(|error| error.to_string())
    };
    holdings.snapshots().map(whole).collect()
}

/// Archives one transcript after another, the last with every fault, and checks that each of `kept` stays in the
/// archive.
#[track_caller]
fn check(transcripts: &[&str], kept: &[&str], prepare: fn(&Memory)) {
    let home = Home::new();
    let start = Memory::new();
    start.actor().make_dirs("/volume");
    let (last, earlier) = transcripts.split_last().expect("a transcript");
    for transcript in earlier {
        assert!(home.archive(&home.add_message(transcript), &start).expect("an archive"));
    }
    prepare(&start);
    start.settle();
    let sessions = home.add_message(last);
    let keeps = |held: &[String]| kept.iter().all(|text| held.iter().any(|held| held.starts_with(text)));
    // One thread, so that the calls come in the same order each time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let schedules = pool.install(|| {
        with_every_fault(
            &start,
            |memory| home.archive(&sessions, memory),
            |left| {
                let now = archived_titles(&left.memory)?;
                if !keeps(&now) || (left.answer.is_some() && !now.iter().any(|held| held == last)) {
                    return Err(format!("{:?} was answered, and held is {now:?}", left.answer));
                }
                let next = home.archive(&sessions, &left.memory);
                let is_sound = next.map_err(|error| format!("the next run fails: {error:#}"))?;
                let (later, verdict) =
                    (archived_titles(&left.memory)?, verify(&archive_on(&left.memory), &notes(&left.memory)));
                let is_whole = is_sound && verdict.faults.is_empty() && verdict.unneeded == 0;
                if is_whole && keeps(&later) && later.iter().any(|held| held == last) {
                    Ok(())
                } else {
                    Err(format!("the next run leaves {verdict:?} and {later:?}"))
                }
            },
        )
    });
    assert!(schedules > 500, "only {schedules} schedules");
}

#[test]
fn no_fault_leaves_a_manifest_without_its_blobs() {
    check(&[FIRST], &[], |_| {});
}

#[test]
fn no_fault_loses_state_replaced_by_longer_one() {
    check(&[FIRST, &format!("{FIRST}{SECOND}")], &[FIRST], |_| {});
}

#[test]
fn no_fault_loses_state_missing_from_next_one() {
    check(&[FIRST, SECOND], &[FIRST], |_| {});
}

#[test]
fn no_fault_keeps_leftovers_of_killed_run() {
    check(&[FIRST, &format!("{FIRST}{SECOND}")], &[FIRST], |memory| {
        let actor = memory.actor();
        let blobs = archive_on(memory).own().expect("a name").blobs();
        actor.save_file(blobs.join("ab/.rejoin-new.tmp"), "half");
        actor.save_file(blobs.join(format!("ab/{}.zst", "ab".repeat(32))), "unneeded");
    });
}

#[test]
fn sweep_keeps_blobs_of_dangling_linked_manifest() {
    let (home, memory) = (Home::new(), Memory::new());
    let actor = memory.actor();
    actor.make_dirs("/volume");
    assert!(home.archive(&home.add_message(FIRST), &memory).expect("an archive"));
    let path = archive_on(&memory).holdings().snapshots().next().expect("a state").path.clone();
    actor.rename(&path, "/volume/annex");
    actor.symlink(&path, "/volume/gone");
    let warned = home.archive(&home.add_message(SECOND), &memory).expect("an archive");
    assert!(!warned, "the part that cannot be read is named");
    actor.rename("/volume/annex", &path);
    let held = archived_titles(&memory).expect("every blob");
    assert!([FIRST, SECOND].iter().all(|text| held.iter().any(|held| held == text)), "{held:?}");
}
