//! Each file that `save` and the hooks write, with every fault on the disk in memory.

use std::path::Path;

use jiff::tz::TimeZone;

use crate::save::jido::Signed;
use crate::save::leo::PointerEntry;
use crate::save::write::{cwd_record, jido, pointer, session_info, transcript};
use crate::system::disk::memory::{Memory, with_every_fault};

/// A kind of data to save, and the file for it.
struct SaveCase {
    name: &'static str,
    file: &'static str,
    save: fn(&Memory) -> anyhow::Result<()>,
}

const CASES: [SaveCase; 7] = [
    SaveCase { name: "session info", file: "/session/session-info.json", save: save_session_info },
    SaveCase { name: "transcript", file: "/session/transcript.jsonl", save: save_transcript },
    SaveCase { name: "longer transcript", file: "/session/transcript.jsonl", save: save_longer_transcript },
    SaveCase { name: "pointer of Leo", file: "/app/.agent_session.json", save: save_pointer },
    SaveCase { name: "JidoCode session", file: "/jido/sessions/s.json", save: save_jido },
    SaveCase { name: "JidoCode secret", file: "/jido/machine_secret", save: save_secret },
    SaveCase { name: "record of a directory", file: "/project/.claude/cat/sessions/s.cwd", save: save_record },
];

fn now() -> jiff::Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

fn save_session_info(memory: &Memory) -> anyhow::Result<()> {
    Ok(session_info::record(memory, Path::new("/session"), Path::new("/work"), now())?)
}

fn save_transcript(memory: &Memory) -> anyhow::Result<()> {
    let mut input: &[u8] = b"{\"role\":\"user\"}\n";
    transcript::from_reader(memory, Path::new("/session"), &mut input, false)?;
    Ok(())
}

fn save_longer_transcript(memory: &Memory) -> anyhow::Result<()> {
    let mut input: &[u8] = b"{\"old\":1}\n{\"role\":\"user\"}\n";
    transcript::from_reader(memory, Path::new("/session"), &mut input, false)?;
    Ok(())
}

fn save_pointer(memory: &Memory) -> anyhow::Result<()> {
    let entry = PointerEntry { session_id: "s", app_dir: Path::new("/app"), cwd: Path::new("/work"), context: None };
    pointer::save(memory, &entry, now(), &TimeZone::UTC)?;
    Ok(())
}

fn save_jido(memory: &Memory) -> anyhow::Result<()> {
    let signed = Signed { id: "s".to_owned(), bytes: b"{\"signed\":true}".to_vec() };
    jido::save(memory, Path::new("/jido"), &signed)?;
    Ok(())
}

fn save_secret(memory: &Memory) -> anyhow::Result<()> {
    Ok(jido::save_secret(memory, Path::new("/jido"), "0123")?)
}

fn save_record(memory: &Memory) -> anyhow::Result<()> {
    Ok(cwd_record::record(memory, Path::new("/project"), "s", Path::new("/work/deep"))?)
}

fn forget_record(memory: &Memory) -> anyhow::Result<()> {
    Ok(cwd_record::forget(memory, Path::new("/project"), "s")?)
}

/// Returns a disk with the directories that programs have created, and perhaps an older file.
fn disk(old: Option<(&str, &str)>) -> Memory {
    let memory = Memory::new();
    let actor = memory.actor();
    for dir in ["/session", "/app", "/project", "/jido"] {
        actor.make_dirs(dir);
    }
    if let Some((path, text)) = old {
        actor.save_file(path, text);
    }
    memory.settle();
    memory
}

/// Runs `run` with every fault: the file has the old or the new contents, and the next run writes the new ones.
fn check(name: &str, file: &str, old: Option<&str>, run: fn(&Memory) -> anyhow::Result<()>) {
    let start = disk(old.map(|text| (file, text)));
    let whole = start.fork();
    run(&whole).expect("a run without faults");
    let (was, requested) = (start.actor().read(file), whole.actor().read(file));
    let schedules = with_every_fault(&start, run, |left| {
        let is = left.memory.actor().read(file);
        if is != requested && (is != was || left.answer.is_some()) {
            return Err(format!("{name}: {:?} was answered, and there is {is:?}", left.answer));
        }
        run(&left.memory).map_err(|error| format!("{name}: the next run fails: {error:#}"))?;
        let later = left.memory.actor().read(file);
        if later == requested { Ok(()) } else { Err(format!("{name}: the next run leaves {later:?}")) }
    });
    assert!(schedules > 50, "{name}: only {schedules} schedules");
}

#[test]
fn failed_save_leaves_old_or_new_file() {
    for SaveCase { name, file, save } in CASES {
        for old in [None, Some("{\"old\":1}\n")] {
            check(name, file, old, save);
        }
    }
}

#[test]
fn failed_removal_leaves_or_removes_the_record() {
    check("forgotten record", CASES[6].file, Some("/work/deep"), forget_record);
}
