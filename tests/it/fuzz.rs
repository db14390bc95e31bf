//! A fault in one session does not affect any other: files of every kind are changed by a seed. The program must not
//! crash, use too much time or memory, or report other sessions differently. `REJOIN_FUZZ_SEEDS=N` tries N seeds,
//! `REJOIN_FUZZ_SEED=S` only one.

mod kept;
mod mutate;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixtures::{
    Aider, Amplifier, Claude, Codex, Copilot, Fixture, Gemini, Gptme, Jido, Kimi, Leo, OldVibe, OpenHands, Pi, Qwen,
    Vibe, age, id, openhands_id, put, put_kimi_json,
};
use crate::world::{MAX_KIB, World, memory_of};
use mutate::Random;

/// Default number of seeds.
const SEEDS: u64 = 20;
/// Number of seeds for archives: each of them has a separate home and half a dozen runs of the program.
const KEPT_SEEDS: u64 = 6;
/// Maximum processor time of the program, in hundredths of a second.
const MAX_TICKS: u64 = 100;

/// The session or agent that a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owner {
    /// One session, by agent and id, with its sub-agents.
    Session(&'static str, String),
    /// Every session of an agent.
    Agent(&'static str),
    /// No session; only pins may change.
    Nobody,
}

struct Target {
    path: PathBuf,
    owner: Owner,
}

/// Sessions of every agent, and the answers about them before anything is damaged.
struct Arena {
    world: World,
    targets: Vec<Target>,
    sound: BTreeMap<(String, String), Value>,
}

fn files(world: &World) -> BTreeSet<PathBuf> {
    let entries = walkdir::WalkDir::new(world.root()).into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

impl Arena {
    fn new() -> Self {
        let world = World::new();
        let mut arena = Self { world, targets: Vec::new(), sound: BTreeMap::new() };
        arena.fill();
        let list = arena.run(&["list", "--all", "--counts", "--json"], b"").expect("a list");
        arena.sound = sessions(&list.stdout).expect("an answer");
        assert!(arena.sound.len() >= 42, "{} sessions", arena.sound.len());
        arena
    }

    fn add(&mut self, agent: &'static str, id: &str, write: impl FnOnce(&Path)) {
        let before = files(&self.world);
        write(&self.world.home());
        let new = files(&self.world).into_iter().filter(|path| !before.contains(path));
        let new =
            new.filter(|path| !path.to_string_lossy().ends_with("-wal") && !path.to_string_lossy().ends_with("-shm"));
        for path in new {
            // A registry is created with the first session, and affects also all others.
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_shared = name.ends_with(".db")
                || matches!(name, "projects.json" | "kimi.json" | ".project_root" | "sessions.json");
            let is_shared = is_shared || matches!(agent, "aider" | "letta");
            let owner = if is_shared { Owner::Agent(agent) } else { Owner::Session(agent, id.to_owned()) };
            self.targets.push(Target { path, owner });
        }
    }

    fn fill(&mut self) {
        for n in 1..=2_u32 {
            let dir = self.world.dir(&format!("work-{n}"));
            let (dir, one) = (dir.as_path(), id(n));
            let messages = ("find the needle", "found it");
            self.add("amplifier", &one, |home| {
                let session = Amplifier::session(id(n)).in_dir(dir).session_info(dir).named("Needle");
                session.turn(messages.0, messages.1).turn("more", "yes").write_to(home);
            });
            self.add("claude", &one, |home| {
                let session =
                    Claude::session(id(n)).in_dir(dir).title("Needle").turn(messages.0, messages.1).turn("more", "yes");
                session.subagent(&format!("agent-a{n}"), "look", "ok").write_to(home);
            });
            self.add("codex", &one, |home| {
                let session = Codex::session(id(n)).in_dir(dir).turn(messages.0, messages.1).tool("ls", "a b");
                drop(if n == 1 { session.write_to(home) } else { session.packed().write_to(home) });
            });
            self.add("copilot", &one, |home| {
                let session = Copilot::session(id(n)).in_dir(dir).named("Needle").turn(messages.0, messages.1);
                session.call("ls", "a b").write_to(home);
            });
            self.add("gemini", &one, |home| {
                let session = Gemini::session(id(n)).in_dir(dir).turn(messages.0, messages.1).turn("more", "yes");
                drop(if n == 1 { session.write_to(home) } else { session.document().write_to(home) });
            });
            self.add("gptme", &format!("2026-02-01-fox-{n}"), |home| {
                let session = Gptme::session(format!("2026-02-01-fox-{n}")).in_dir(dir).named("Needle");
                session.turn(messages.0, messages.1).turn("more", "yes").write_to(home);
            });
            self.add("jido", &one, |home| drop(Jido::session(id(n)).in_dir(dir).write_to(home)));
            self.add("kimi", &one, |home| {
                Kimi::session(id(n)).in_dir(dir).turn(messages.0, messages.1).turn("more", "yes").write_to(home);
            });
            self.add("openhands", &openhands_id(n), |home| {
                let session = OpenHands::session(openhands_id(n)).in_dir(dir).turn(messages.0, messages.1);
                session.call("ls", "answer").turn("more", "yes").write_to(home);
            });
            self.add("pi", &one, |home| {
                let session = Pi::session(id(n)).in_dir(dir).named("Needle").turn(messages.0, messages.1);
                session.turn("more", "yes").back_to(2).turn("or so", "no").write_to(home);
            });
            self.add("qwen", &one, |home| {
                Qwen::session(id(n))
                    .in_dir(dir)
                    .turn(messages.0, messages.1)
                    .title("Needle")
                    .turn("more", "yes")
                    .write_to(home);
            });
            self.add("vibe", &one, |home| {
                Vibe::session(id(n)).in_dir(dir).turn(messages.0, messages.1).turn("more", "yes").write_to(home);
            });
            self.add("vibe", &id(n + 10), |home| {
                OldVibe::session(id(n + 10)).in_dir(dir).named("Needle").turn(messages.0, messages.1).write_to(home);
            });
            self.add("claude", &one, |home| drop(Leo::pointer(dir, &id(n)).write_to(home)));
            self.add("aider", "", |_| drop(Aider::history().turn(messages.0, messages.1).write_in_repository(dir)));
            self.add_samples(n);
            #[cfg(feature = "sqlite")]
            self.fill_databases(n, dir);
        }
        put(&self.world.home().join(".aider/installs.json"), "{}");
        let dirs: Vec<PathBuf> = [1, 2].map(|n| self.world.dir(&format!("work-{n}"))).into();
        let home = self.world.home();
        put_kimi_json(&home, &[&dirs[0], &dirs[1]]);
        let shared = [
            (
                ".claude/settings.json",
                json!({"cleanupPeriodDays": 3650, "hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "true"}]}]}}),
                Owner::Agent("claude"),
            ),
            (
                ".claude/sessions/9.json",
                json!({"pid": 999_999_999, "sessionId": id(1), "procStart": "1"}),
                Owner::Agent("claude"),
            ),
            (
                ".amplifier/server/slack-sessions.json",
                json!([{"session_id": id(1), "channel_id": "C1", "working_dir": dirs[0]}]),
                Owner::Agent("amplifier"),
            ),
        ];
        for (name, contents, owner) in shared {
            let path = home.join(name);
            put(&path, contents.to_string());
            self.targets.push(Target { path, owner });
        }
        // Rejoin's own files.
        let before = files(&self.world);
        for args in
            [&["pin", &format!("pi:{}", id(1))][..], &["archive", "--every"], &["resume", &format!("pi:{}", id(2))]]
        {
            self.run(args, b"").expect("what is archived, pinned and launched");
        }
        let moved = self.world.root().join("moved");
        let words =
            ["move", "--agent=codex", "--yes", dirs[1].to_str().expect("a path"), moved.to_str().expect("a path")];
        self.run(&words, b"").expect("what has moved");
        for path in files(&self.world).into_iter().filter(|path| !before.contains(path)) {
            // The list of moves determines launch directories.
            let owner = if path.ends_with("moves.json") { Owner::Agent("codex") } else { Owner::Nobody };
            if !path.ends_with("lock") {
                self.targets.push(Target { path, owner });
            }
        }
        walkdir::WalkDir::new(self.world.root()).into_iter().filter_map(Result::ok).for_each(|entry| {
            if entry.file_type().is_file() {
                age(entry.path());
            }
        });
    }

    /// Adds the sessions of the agents that have a sample in their own folders, under another id each time.
    fn add_samples(&mut self, n: u32) {
        let number = n.to_string();
        let kimicode = |n| format!("session_{}", id(n));
        for (agent, id, other) in [
            ("auggie", &*id(1), id(n)),
            ("cline", "1769940000000_river", format!("176994000000{n}_river")),
            ("continue", &id(1), id(n)),
            ("droid", &id(1), id(n)),
            ("kimicode", &kimicode(1), kimicode(n)),
            ("letta", "no id that can be replaced", number),
            ("nanocoder", &id(1), id(n)),
            ("omp", "01a1f000-0000-7000-8000-000000000001", format!("01a1f000-0000-7000-8000-00000000000{n}")),
        ] {
            let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent").join(agent).join("sample");
            let entries = walkdir::WalkDir::new(&sample).into_iter().filter_map(Result::ok);
            let sample_files: Vec<_> = entries.filter(|entry| entry.file_type().is_file()).collect();
            self.add(agent, &other, |home| {
                for entry in sample_files {
                    let name = entry.path().strip_prefix(&sample).expect("a file of the sample");
                    let text = std::fs::read_to_string(entry.path()).expect("a sample");
                    let path = home.join(name.to_str().expect("a name").replace(id, &other));
                    if !path.exists() {
                        put(&path, text.replace(id, &other));
                    }
                }
            });
        }
    }

    #[cfg(feature = "sqlite")]
    fn fill_databases(&mut self, n: u32, dir: &Path) {
        use crate::fixtures::{Crush, Goose, Hermes, OpenCode, hermes_id, opencode_id, register_crush};
        let messages = ("find the needle", "found it");
        self.add("opencode", &opencode_id(n), |home| {
            OpenCode::session(opencode_id(n))
                .in_dir(dir)
                .turn(messages.0, messages.1)
                .turn("more", "yes")
                .write_to(home);
        });
        self.add("opencode", &opencode_id(n + 10), |home| {
            OpenCode::session(opencode_id(n + 10)).in_dir(dir).turn(messages.0, messages.1).write_tree(home);
        });
        self.add("kilo", &opencode_id(n + 20), |home| {
            OpenCode::of_kilo(opencode_id(n + 20))
                .in_dir(dir)
                .turn(messages.0, messages.1)
                .turn("more", "yes")
                .write_to(home);
        });
        self.add("hermes", &hermes_id(n), |home| {
            Hermes::session(hermes_id(n)).in_dir(dir).turn(messages.0, messages.1).turn("more", "yes").write_to(home);
        });
        self.add("goose", &format!("20260201_{n}"), |home| {
            Goose::session(&format!("20260201_{n}"))
                .in_dir(dir)
                .turn(messages.0, messages.1)
                .turn("more", "yes")
                .write_to(home);
        });
        let work = self.world.dir("work-1");
        self.add("crush", &id(n), |home| {
            Crush::session(id(n)).turn(messages.0, messages.1).turn("more", "yes").write_in(&work.join(".crush"));
            register_crush(home, &[(&work, &work.join(".crush"))]);
        });
    }

    /// Runs the program, which must not crash, or use too much time or memory.
    fn run(&self, args: &[&str], input: &[u8]) -> Result<Ran, String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.run_raw(&args, input)
    }

    fn run_raw(&self, args: &[OsString], input: &[u8]) -> Result<Ran, String> {
        let mut command = self.world.from(self.world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let pid = child.id();
        let mut stdin = child.stdin.take().expect("a pipe");
        let (mut stdout, mut stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        let ran = std::thread::scope(|scope| {
            // A program that does not read all input may close the pipe.
            scope.spawn(move || std::io::Write::write_all(&mut stdin, input));
            let read = |from: &mut dyn std::io::Read| {
                let mut bytes = Vec::new();
                from.read_to_end(&mut bytes).expect("an output");
                bytes
            };
            let stdout = scope.spawn(move || read(&mut stdout));
            let stderr = scope.spawn(move || read(&mut stderr));
            let (mut peak_kib, mut waited) = (0, 0);
            // The system drops the peak when the program ends, and the time when it is waited for.
            while !has_ended(pid) {
                peak_kib = peak_kib.max(memory_of(pid));
                std::thread::sleep(Duration::from_millis(1));
                waited += 1;
                if waited > 60_000 {
                    child.kill().expect("a process");
                }
            }
            let ticks = ticks_of(pid);
            let status = child.wait().expect("an end");
            Ran { status, stdout: stdout.join().expect("text"), stderr: stderr.join().expect("text"), peak_kib, ticks }
        });
        let stderr = String::from_utf8_lossy(&ran.stderr);
        let told: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().chars().take(80).collect::<String>()).collect();
        match ran.status.code() {
            Some(0..=7 | 126 | 127) => {}
            _ => return Err(format!("{told:?} ended with {}: {stderr}", ran.status)),
        }
        if ran.peak_kib > MAX_KIB {
            return Err(format!("{told:?} took {} KiB", ran.peak_kib));
        }
        if ran.ticks > MAX_TICKS {
            return Err(format!("{told:?} took {}0 ms", ran.ticks));
        }
        Ok(ran)
    }

    /// Damages a file, and checks that the answers about all others are unchanged.
    fn attempt(&self, seed: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        match random.below(6) {
            0 => self.type_something(&mut random),
            _ => {
                let target = random.one_of(&self.targets);
                let sound = std::fs::read(&target.path).map_err(|error| error.to_string())?;
                let owner = self.damage(target, &sound, &mut random);
                let outcome = owner.and_then(|owner| self.look(&owner, target, &mut random));
                for suffix in ["-wal", "-shm", "-journal"] {
                    let mut beside = target.path.clone().into_os_string();
                    beside.push(suffix);
                    let _ = std::fs::remove_file(beside);
                }
                std::fs::write(&target.path, sound).map_err(|error| error.to_string())?;
                age(&target.path);
                outcome.map_err(|why| format!("{} is damaged: {why}", target.path.display()))
            }
        }
    }

    fn damage(&self, target: &Target, sound: &[u8], random: &mut Random) -> Result<Owner, String> {
        #[cfg(feature = "sqlite")]
        if target.path.extension().is_some_and(|ending| ending == "db") && random.below(3) > 0 {
            return damage_row(&target.path, &target.owner, random);
        }
        std::fs::write(&target.path, mutate::file(sound, random)).map_err(|error| error.to_string())?;
        age(&target.path);
        Ok(target.owner.clone())
    }

    fn look(&self, owner: &Owner, target: &Target, random: &mut Random) -> Result<(), String> {
        let list = self.run(&["list", "--all", "--counts", "--json"], b"")?;
        let now = sessions(&list.stdout)?;
        for (key, sound) in &self.sound {
            let parent = sound["parent_id"].as_str().unwrap_or_default();
            let is_meant = match owner {
                Owner::Session(agent, id) => key.0 == *agent && (key.1 == *id || parent == id),
                Owner::Agent(agent) => key.0 == *agent,
                Owner::Nobody => false,
            };
            let mut told = now.get(key).cloned().unwrap_or_default();
            if *owner == Owner::Nobody {
                told["pinned"] = sound["pinned"].clone();
            }
            if !is_meant && told != *sound {
                return Err(format!("of {key:?} it is told\n{told}\nwhere it was\n{sound}"));
            }
        }
        let name = match owner {
            Owner::Session(agent, id) => format!("{agent}:{id}"),
            Owner::Agent(agent) => format!("{agent}:{}", id(1)),
            Owner::Nobody => format!("pi:{}", id(1)),
        };
        let path = target.path.to_string_lossy();
        let mut verbs: Vec<Vec<&str>> = vec![
            vec!["show", &name, "--messages", "5", "--json"],
            vec!["search", "needle", "--all", "--json"],
            vec!["doctor", "--json"],
            vec!["resume", "--print", &name],
            vec!["show", &path],
        ];
        if *owner == Owner::Nobody {
            verbs.extend([
                vec!["list", "--archived", "--all", "--json"],
                vec!["archive", "--verify", "--json"],
                vec!["show", "--archived", &name, "--transcript"],
                vec!["restore", &name, "--dry-run"],
                vec!["resume", "--last-launch"],
                vec!["undo", "--list", "--json"],
                vec!["undo", "--dry-run"],
                vec!["undo", "--purge", "--every", "--dry-run", "--json"],
            ]);
        }
        if path.ends_with("settings.json") {
            verbs = vec![
                vec!["hook", "status", "--json"],
                vec!["hook", "install", "--dry-run"],
                vec!["cleanup", "--dry-run"],
            ];
        }
        for _ in 0..2 {
            self.run(random.one_of::<Vec<&str>>(&verbs), b"")?;
        }
        Ok(())
    }

    /// Passes odd selectors and times, and sends odd events.
    fn type_something(&self, random: &mut Random) -> Result<(), String> {
        let mut word = mutate::word(random);
        word.retain(|byte| *byte != 0);
        let word = OsString::from_vec(word);
        let event = json!({"session_id": id(1), "transcript_path": "/x/y.jsonl", "cwd": "/work", "source": "compact",
            "hook_event_name": *random.one_of(&["SessionStart", "PostToolUse", "CwdChanged", "PreCompact", "SessionEnd"]),
            "tool_name": "Bash", "tool_input": {"command": "cd /tmp"}, "tool_response": {"stdout": ""}, "new_cwd": "/tmp"});
        let event = mutate::file(event.to_string().as_bytes(), random);
        let agent = OsString::from(format!("{}:", random.one_of(&["pi", "claude", "goose", "leo", "none"])));
        let selector = [agent, word.clone()].into_iter().collect::<OsString>();
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let (args, input): (Vec<OsString>, &[u8]) = match random.below(9) {
            0 => ([words(&["show"]), vec![word]].concat(), b""),
            1 => ([words(&["show"]), vec![selector]].concat(), b""),
            2 => ([words(&["list", "--since"]), vec![word]].concat(), b""),
            3 => ([words(&["list", "--older-than"]), vec![word]].concat(), b""),
            4 => ([words(&["search", "--"]), vec![word]].concat(), b""),
            5 => ([words(&["resume", "--print"]), vec![word]].concat(), b""),
            6 => ([words(&["list", "--dir"]), vec![word]].concat(), b""),
            7 => (words(&["hook", "amplifier"]), &event),
            _ => (words(&["hook", "claude"]), &event),
        };
        self.run_raw(&args, input).map(drop)
    }
}

/// Sets a column of one row to an odd value, or removes the row; returns the owner of the row.
#[cfg(feature = "sqlite")]
fn damage_row(path: &Path, owner: &Owner, random: &mut Random) -> Result<Owner, String> {
    let connection = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
    let names = |sql: &str, column: usize| -> Vec<String> {
        let mut statement = connection.prepare(sql).expect("a query");
        let rows = statement.query_map([], |row| row.get(column)).expect("rows");
        rows.map(|row| row.expect("a name")).collect()
    };
    let tables = names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", 0);
    let table = random.one_of(&tables);
    let columns = names(&format!("PRAGMA table_info({table})"), 1);
    let own = ["session_id", "id"].into_iter().find(|name| columns.iter().any(|column| column == name));
    let count: u32 =
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a number");
    let at = random.below(usize::try_from(count).expect("a number"));
    let own = if table.contains("version") || table == "project" { None } else { own };
    let own = own.unwrap_or("NULL");
    let found = connection.query_row(&format!("SELECT rowid, {own} FROM {table} LIMIT 1 OFFSET {at}"), [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))
    });
    let Ok((row, session)) = found else { return Ok(owner.clone()) };
    let column = random.one_of(&columns);
    // A value that the column refuses is not stored.
    if random.below(8) == 0 {
        let _ = connection.execute(&format!("DELETE FROM {table} WHERE rowid = {row}"), []);
    } else {
        let word = mutate::word(random);
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = {row}");
        let _ = match random.below(4) {
            0 => connection.execute(&sql, [&word]),
            1 => connection.execute(&sql, [f64::from(u32::try_from(row).unwrap_or(0)) * 1e300]),
            2 => connection.execute(&sql, [if row % 2 == 0 { i64::MAX } else { i64::MIN }]),
            _ => connection.execute(&sql, [String::from_utf8_lossy(&word)]),
        };
    }
    Ok(match (owner, session) {
        // The message may belong to another session now.
        (Owner::Agent(_), _) if column == "session_id" || column == "id" || column == "message_id" => owner.clone(),
        (Owner::Agent(agent), Some(session)) => Owner::Session(agent, session),
        _ => owner.clone(),
    })
}

struct Ran {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    peak_kib: u64,
    ticks: u64,
}

pub(crate) fn has_ended(pid: u32) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), options).expect("a child").is_some()
}

/// Returns the processor time of a process, in user and system mode.
pub(crate) fn ticks_of(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn sessions(json: &[u8]) -> Result<BTreeMap<(String, String), Value>, String> {
    let list: Value = serde_json::from_slice(json).map_err(|error| format!("the list is no JSON: {error}"))?;
    let sessions = list["sessions"].as_array().ok_or("the list has no sessions")?;
    let key = |session: &Value| {
        let text = |name: &str| session[name].as_str().unwrap_or_default().to_owned();
        (text("agent"), text("id"))
    };
    Ok(sessions.iter().map(|session| (key(session), session.clone())).collect())
}

/// Tries seeds on all processors; `begin` creates the function that tries one.
fn try_seeds<A: FnMut(u64) -> Result<(), String>>(usual: u64, begin: impl Fn() -> A + Sync) {
    let variable = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match variable("REJOIN_FUZZ_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("REJOIN_FUZZ_SEEDS").unwrap_or(usual),
    };
    let next = AtomicU64::new(seeds.start);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut attempt = begin();
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return failed;
                }
                if let Err(why) = attempt(seed) {
                    failed.push(format!("REJOIN_FUZZ_SEED={seed}: {why}"));
                }
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    assert!(failed.is_empty(), "{} seeds failed\n{}", failed.len(), failed.join("\n\n"));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads time and memory figures of Linux")]
fn damaged_session_affects_no_other_session() {
    try_seeds(SEEDS, || {
        let arena = Arena::new();
        move |seed| arena.attempt(seed)
    });
}

#[test]
fn damaged_journals_manifests_and_moves_lose_no_data() {
    try_seeds(KEPT_SEEDS, || kept::attempt);
}
