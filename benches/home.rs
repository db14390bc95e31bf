//! Generated homes for the benchmarks: the shapes and sizes that the agents leave behind, in made-up words.
//!
//! About ten sessions of an agent share a project. The same number of sessions always gives the same bytes, except
//! for the path of the home, which the records repeat.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

mod claude;
#[path = "../tests/it/fixtures/mod.rs"]
#[expect(dead_code, unused_imports, clippy::expect_used, reason = "the tests use more of it")]
mod fixtures;
mod others;

/// Number of sessions of an agent per directory.
const SESSIONS_A_PROJECT: usize = 10;

/// If files are written in place, this number is written after a pause.
const NEWEST: usize = 100;
const PAUSE: Duration = Duration::from_secs(3);

/// When the first session may begin: 5 January 2026.
const FIRST_START: Timestamp = Timestamp::constant(1_767_600_000, 123_000_000);

/// The contents of a home.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Claude Code's alone.
    Claude,
    /// Claude Code's alone, with times that are those of its files.
    ClaudeInPlace,
    /// Only Claude Code's, with realistic sizes: most are small, one in a hundred has 10 to 100 MB.
    ClaudeOfAllSizes,
    /// Transcripts of Claude Code of about 17 kB, and no other file.
    Small,
    /// Transcripts of Claude Code of 60 MB, and no other file.
    Huge,
    /// Sessions of every agent that keeps them below the home, in equal parts.
    All,
}

/// A home on disk.
pub(crate) struct Home {
    dir: PathBuf,
    /// Removes it in the end, unless it is to stay.
    _guard: Option<tempfile::TempDir>,
    mix: Mix,
    /// Number of sessions that `list` shows.
    pub(crate) listed: usize,
    /// A Claude Code session whose directory exists.
    pub(crate) claude_id: String,
}

impl Home {
    /// Writes a temporary home of this many sessions, with additional sub-agents and other belongings.
    pub(crate) fn generate(mix: Mix, sessions: usize) -> io::Result<Self> {
        let guard = tempfile::Builder::new().prefix("rejoin-bench-").tempdir()?;
        let dir = guard.path().to_owned();
        Ok(Self { _guard: Some(guard), ..Self::generate_in(&dir, mix, sessions)? })
    }

    /// Writes a home into an empty directory, and keeps it.
    pub(crate) fn generate_in(dir: &Path, mix: Mix, sessions: usize) -> io::Result<Self> {
        // Agents record the directory as the system resolves it.
        let dir = dir.canonicalize()?;
        let is_in_place = mix == Mix::ClaudeInPlace;
        let mut generator = Generator { root: dir.clone(), is_in_place, ..Generator::default() };
        let agents = if mix == Mix::All { 1 + others::AGENTS.len() } else { 1 };
        let mut claude_id = String::new();
        for number in 0..sessions {
            if is_in_place && number + NEWEST == sessions {
                // A user's newest sessions are not from the same second.
                std::thread::sleep(PAUSE);
            }
            let of_its_agent = number / agents;
            let project = generator.project(of_its_agent / SESSIONS_A_PROJECT)?;
            if let Some(at) = (number % agents).checked_sub(1) {
                let turns = generator.turns();
                let n = u32::try_from(of_its_agent).map_err(io::Error::other)?;
                others::write(others::AGENTS[at].0, &dir, &project.dir, n, &turns);
                continue;
            }
            let id = match mix {
                Mix::Small => generator.claude_small(&project)?,
                Mix::Huge => generator.claude_huge(&project)?,
                Mix::ClaudeOfAllSizes => generator.claude_of_any_size(&project, of_its_agent)?,
                Mix::Claude | Mix::ClaudeInPlace | Mix::All => generator.claude(&project, of_its_agent)?,
            };
            if project.exists && number <= sessions / 2 {
                claude_id = id;
            }
        }
        Ok(Self { dir, _guard: None, mix, listed: sessions, claude_id })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    /// The agents with the directories of their files.
    pub(crate) fn agents(&self) -> Vec<(&'static str, PathBuf)> {
        let others = if self.mix == Mix::All { others::AGENTS } else { &[] };
        let agents = [("claude", ".claude")].iter().chain(others);
        agents.map(|(name, store)| (*name, self.dir.join(store))).collect()
    }

    /// Returns the number of regular files in the stores, and their size in bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        let entries = self.stores().into_iter().flat_map(|store| walkdir::WalkDir::new(store).into_iter().flatten());
        let files = entries.filter(|entry| entry.file_type().is_file());
        files.fold((0, 0), |(files, bytes), entry| (files + 1, bytes + entry.metadata().map_or(0, |data| data.len())))
    }

    /// The directories of the agents' files.
    pub(crate) fn stores(&self) -> Vec<PathBuf> {
        self.agents().into_iter().map(|(_, store)| store).collect()
    }
}

/// A directory in which sessions were started.
struct Project {
    dir: String,
    exists: bool,
}

#[derive(Default)]
struct Generator {
    root: PathBuf,
    /// Set if the times in sessions are those of writing them.
    is_in_place: bool,
    seed: u64,
}

/// The common fields of the records of one session.
struct Session {
    id: String,
    cwd: String,
    branch: &'static str,
    version: &'static str,
    entrypoint: &'static str,
    at: Timestamp,
    /// Set if all its records have the same time.
    is_of_a_moment: bool,
    parent: Option<String>,
}

impl Session {
    fn tick(&mut self, milliseconds: usize) -> Timestamp {
        let milliseconds = if self.is_of_a_moment { 0 } else { milliseconds };
        self.at += SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
        self.at
    }
}

const WORDS: &[&str] = &[
    "parser",
    "window",
    "record",
    "please",
    "the",
    "a",
    "of",
    "and",
    "checks",
    "before",
    "after",
    "river",
    "lantern",
    "tests",
    "fails",
    "because",
    "naïve",
    "order",
    "cache",
    "first",
    "second",
    "then",
    "copper",
    "harbour",
    "reads",
    "writes",
    "fixture",
    "module",
    "branch",
    "quietly",
    "long",
    "short",
    "meadow",
    "build",
    "step",
    "value",
    "größer",
    "than",
    "expected",
    "again",
    "number",
    "file",
    "directory",
    "with",
    "without",
    "error",
    "handle",
];

impl Generator {
    /// The generator known as splitmix64.
    fn random(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % below as u64).unwrap_or_default()
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random(list.len())]
    }

    fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(b"0123456789abcdef"[self.random(16)])).collect()
    }

    fn uuid(&mut self) -> String {
        let all = self.hex(31);
        format!("{}-{}-4{}-8{}-{}", &all[..8], &all[8..12], &all[12..15], &all[15..18], &all[19..31])
    }

    /// Text of about this length in the form of a JSON string, with line breaks, quotes and dashes.
    fn prose(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(self.pick(WORDS));
            text.push_str(match self.random(24) {
                0 => ".\\n",
                1 => " \\\"x\\\" ",
                2 => " — ",
                _ => " ",
            });
        }
        text.truncate(text.trim_end_matches([' ', '\\', 'n', '.']).len());
        text
    }

    /// Both agents work in the same directories; one in eight is missing.
    fn project(&mut self, number: usize) -> io::Result<Project> {
        let dir = self.root.join("work").join(format!("{}-{number}.app", WORDS[number % 4]));
        let exists = number % 8 != 5;
        if exists {
            fs::create_dir_all(&dir)?;
        }
        let dir = dir.into_os_string().into_string().map_err(|_| io::Error::other("the path is not UTF-8"))?;
        Ok(Project { dir, exists })
    }

    fn write(&mut self, path: &Path, contents: impl AsRef<[u8]>, modified: Timestamp) -> io::Result<()> {
        let contents = contents.as_ref();
        let mut file = File::create(path)?;
        file.write_all(contents)?;
        // A file that was written just now may belong to a live session; these are old.
        file.set_modified(SystemTime::from(modified))?;
        Ok(())
    }

    /// Returns prompts and replies of 8 to 24 kB in all.
    fn turns(&mut self) -> Vec<(String, String)> {
        let mut text = |length| self.prose(length).replace("\\n", "\n").replace("\\\"", "\"");
        let count = 4 + text(1).len() % 9;
        (0..count).map(|_| (text(60), text(1_900))).collect()
    }

    fn session(&mut self, project: &Project) -> Session {
        let minutes = i64::try_from(self.random(250_000)).unwrap_or_default();
        Session {
            id: self.uuid(),
            cwd: project.dir.clone(),
            branch: self.pick(&["main", "fix/windows", "HEAD"]),
            version: self.pick(&["2.1.330", "2.1.197"]),
            entrypoint: self.pick(&["cli", "cli", "sdk-cli"]),
            at: if self.is_in_place { Timestamp::now() } else { FIRST_START + SignedDuration::from_mins(minutes) },
            is_of_a_moment: self.is_in_place,
            parent: None,
        }
    }
}

fn put(text: &mut String, record: &str) {
    text.push_str(record);
    text.push('\n');
}
