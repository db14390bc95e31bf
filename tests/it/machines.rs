//! Three machines that share an archive through copies of it: random schedules of agents, syncs, kills, undos,
//! deletions, clocks and partial copies. No turn is lost, and every session is forwarded or named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fixtures::{Claude, Fixture as _, id, put};
use crate::sync::{Machines, picture};
use crate::world::Answer;

/// Number of schedules between two lines of progress.
const PROGRESS: u64 = 500;
/// Default number of schedules; REJOIN_SYNC_SCHEDULES sets another one, and REJOIN_SYNC_FIRST the first.
const SCHEDULES: u64 = 40;
const NAMES: [&str; 3] = ["ana", "bob", "cat"];
/// Number of sessions, counted from 1.
const SESSIONS: u32 = 3;
/// Clocks: one is far behind, one far ahead.
const CLOCKS: [&str; 4] =
    ["2026-03-01T12:00:00Z", "2020-01-01T00:00:00Z", "2031-01-01T00:00:00Z", "2026-06-01T12:00:00Z"];

/// A generator of pseudorandom numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("a number") % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// The machines, and the turns that their agents wrote.
struct Schedule {
    machines: Machines,
    draw: Draw,
    clocks: BTreeMap<&'static str, &'static str>,
    /// The turns that each machine wrote, by machine and session.
    written: BTreeMap<(&'static str, u32), Vec<String>>,
    /// The machines on which a run was undone, so that a session may keep the directory of another machine.
    undone: BTreeSet<&'static str>,
    turns: usize,
    log: Vec<String>,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let machines = Machines::new();
        let schedule = Self {
            machines,
            draw: Draw(seed),
            clocks: NAMES.map(|name| (name, CLOCKS[0])).into(),
            written: BTreeMap::new(),
            undone: BTreeSet::new(),
            turns: 0,
            log: vec![format!("seed {seed}")],
        };
        // The session that other tests of two machines begin with is not part of the schedule.
        std::fs::remove_file(schedule.machines.transcript("ana")).expect("a removal");
        for name in NAMES {
            std::fs::create_dir_all(schedule.machines.home(name).join(".claude/projects")).expect("a store");
            std::fs::create_dir_all(schedule.machines.home(name).join("app")).expect("a directory");
            let config = format!("archive.dir = \"{}\"\n", schedule.copy_of(name).display());
            put(&schedule.machines.home(name).join(".config/rejoin/config.toml"), config);
        }
        schedule
    }

    /// Returns a machine's copy of the archive.
    fn copy_of(&self, name: &str) -> PathBuf {
        self.machines.home(name).join("archive")
    }

    /// Returns the transcript of a session on a machine.
    fn transcript(&self, name: &str, session: u32) -> Option<PathBuf> {
        let file = format!("{}.jsonl", id(session));
        let mut found: Vec<PathBuf> = picture(&self.machines.home(name).join(".claude/projects")).into_keys().collect();
        found.retain(|path| path.ends_with(&file));
        assert!(found.len() < 2, "{name} has several copies: {found:?}\n{}", self.log.join("\n"));
        found.pop()
    }

    /// Returns the turns of a session that a machine has, in order.
    fn turns_of(&self, name: &str, session: u32) -> Option<Vec<String>> {
        let text = std::fs::read_to_string(self.transcript(name, session)?).expect("a transcript");
        let turn = |line: &str| Some(format!("turn-{}.", line.split_once("turn-")?.1.split_once('.')?.0));
        Some(text.lines().filter_map(turn).collect())
    }

    fn run(&mut self, name: &'static str, fault: &str, words: &[&str]) -> Answer {
        let call = self.machines.0.with("HOME", self.machines.home(name)).with("REJOIN_NOW", self.clocks[name]);
        let answer = call.with("REJOIN_FAULT", fault).rejoin(words);
        self.log.push(format!("{name} {fault} {words:?}: {:?} {}{}", answer.exit(), answer.stdout(), answer.stderr()));
        answer
    }

    /// Continues a session as its agent does, or begins it.
    fn say(&mut self, name: &'static str, session: u32) {
        self.turns += 1;
        let turn = format!("turn-{}.", self.turns);
        let (home, app) = (self.machines.home(name), self.machines.home(name).join("app"));
        let minute = format!("2026-02-01T10:{:02}:00Z", self.turns % 60);
        let new = Claude::session(id(session)).in_dir(app).at(&minute).turn(&turn, "ok");
        match self.transcript(name, session) {
            Some(path) => {
                let apart = self.machines.0.dir("apart");
                let lines = std::fs::read(new.write_to(&apart)).expect("new records");
                let old = std::fs::read(&path).expect("a transcript");
                std::fs::write(path, [old, lines].concat()).expect("a longer transcript");
            }
            // A session begins once, and is copied to the other machines.
            None if self.written.keys().all(|(_, begun)| *begun != session) => drop(new.write_to(&home)),
            None => return,
        }
        self.log.push(format!("{name} writes {turn} to {session}"));
        self.written.entry((name, session)).or_default().push(turn);
    }

    /// Copies files of one machine's directory to another machine's copy of the archive: each with this probability in
    /// percent, some of them truncated.
    fn deliver(&mut self, from: &'static str, to: &'static str, chance: usize) {
        let Ok(identity) = std::fs::read(self.machines.home(from).join(".local/state/rejoin/machine.json")) else {
            return;
        };
        let Ok(identity) = serde_json::from_slice::<serde_json::Value>(&identity) else { return };
        let own = identity["name"].as_str().expect("a name").to_owned();
        let (source, target) = (self.copy_of(from), self.copy_of(to));
        if !source.join(&own).is_dir() {
            return;
        }
        let mut count = 0;
        for (path, mut bytes) in picture(&source.join(own)) {
            if path.ends_with("lock") || self.draw.below(100) >= chance {
                continue;
            }
            if chance < 100 && self.draw.below(8) == 0 {
                bytes.truncate(bytes.len() / 2);
            }
            put(&target.join(path.strip_prefix(&source).expect("a path below")), bytes);
            count += 1;
        }
        self.log.push(format!("{count} files of {from} arrive at {to}"));
    }

    fn step(&mut self) {
        let (name, session) = (self.draw.one(&NAMES), self.draw.one(&[1, 2, 3]));
        match self.draw.below(14) {
            0..=2 => self.say(name, session),
            3 | 4 => drop(self.run(name, "", &["sync"])),
            5 | 6 => {
                // Every later call also fails, as after a kill.
                let at = 1 + self.draw.below(140);
                self.run(name, &format!("5:{at}+"), &["sync"]);
            }
            7 => {
                self.undone.insert(name);
                self.run(name, "", &["undo", "--yes"]);
            }
            8 => {
                let answer = self.run(name, "", &["delete", &id(session), "--yes"]);
                if answer.exit() == Some(0) {
                    // The turns are in the trash now.
                    self.written.entry((name, session)).or_default().clear();
                }
            }
            9 => {
                let clock = self.draw.one(&CLOCKS);
                self.clocks.insert(name, clock);
            }
            _ => {
                let (from, to) = (name, self.draw.one(&NAMES));
                let chance = self.draw.one(&[30, 70, 100]);
                if from != to {
                    self.deliver(from, to, chance);
                }
            }
        }
        self.check_own_turns();
    }

    /// Checks that no turn of a machine is missing on it.
    fn check_own_turns(&self) {
        for ((name, session), turns) in &self.written {
            let have = self.turns_of(name, *session).unwrap_or_default();
            let missing: Vec<&String> = turns.iter().filter(|turn| !have.contains(turn)).collect();
            // Until the next change recovers it, an interrupted run may have a file in its trash.
            let is_interrupted = || self.machines.on(name, &["undo", "--list"]).stdout().contains("interrupted");
            assert!(
                missing.is_empty() || is_interrupted(),
                "{name} lost {missing:?} of {session}\n{}",
                self.log.join("\n")
            );
        }
    }

    /// Copies all files, and checks that each session is forwarded or named.
    fn settle(&mut self) {
        for _ in 0..3 {
            for name in NAMES {
                self.run(name, "", &["sync"]);
                for to in NAMES.into_iter().filter(|to| *to != name) {
                    self.deliver(name, to, 100);
                }
            }
        }
        let mut named: BTreeSet<u32> = BTreeSet::new();
        for name in NAMES {
            let answer = self.run(name, "", &["sync"]);
            let left = (1..=SESSIONS).filter(|session| answer.stdout().contains(&format!("claude {}", id(*session))));
            named.extend(left);
            assert!(matches!(answer.exit(), Some(0 | 3)), "{name}\n{}", self.log.join("\n"));
            if self.copy_of(name).exists() {
                let verify = self.run(name, "", &["archive", "--verify"]);
                assert_eq!(verify.exit(), Some(0), "{name}\n{}", self.log.join("\n"));
            }
            let interrupted = self.run(name, "", &["undo", "--list"]).stdout().contains("interrupted");
            assert!(!interrupted, "{name} has an interrupted run\n{}", self.log.join("\n"));
        }
        self.check_own_turns();
        for session in 1..=SESSIONS {
            let states: BTreeSet<Vec<String>> = NAMES.iter().filter_map(|name| self.turns_of(name, session)).collect();
            assert!(states.len() < 2 || named.contains(&session), "{session}: {states:?}\n{}", self.log.join("\n"));
            for name in NAMES.into_iter().filter(|name| !self.undone.contains(name)) {
                let Some(path) = self.transcript(name, session) else { continue };
                let is_there = path.starts_with(self.machines.home(name).join(".claude/projects"))
                    && project_of(&path) == crate::fixtures::claude_slug(self.machines.home(name).join("app"));
                assert!(is_there || named.contains(&session), "{name}: {}\n{}", path.display(), self.log.join("\n"));
            }
        }
    }
}

fn project_of(path: &Path) -> String {
    path.parent().and_then(Path::file_name).expect("a project").to_string_lossy().into_owned()
}

fn play(seed: u64) {
    let mut schedule = Schedule::new(seed);
    schedule.say("ana", 1);
    for _ in 0..4 + schedule.draw.below(8) {
        schedule.step();
    }
    schedule.settle();
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
#[expect(clippy::disallowed_macros, reason = "a long run says what it played")]
fn no_schedule_of_machines_loses_a_turn() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first = number("REJOIN_SYNC_FIRST").unwrap_or(0);
    let end = first + number("REJOIN_SYNC_SCHEDULES").unwrap_or(SCHEDULES);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    play(seed);
                    // Before a run is stopped, it has played all earlier schedules.
                    if seed.is_multiple_of(PROGRESS) && seed > first {
                        println!("schedule {seed} is played");
                    }
                }
            });
        }
    });
    println!("schedules {first} to {end} were played");
}
