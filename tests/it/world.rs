//! A separate world for each test: a home, programs on PATH, an environment with nothing else, and a stopped clock.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::contract;
use crate::contract::changes::Change;
use crate::fixtures::{Fixture, claude_slug, put};

/// The current time in every test.
pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rejoin");

/// Returns whether every run is a separate process, as by `.ci/full`; otherwise most run in the process of the test.
fn runs_processes_only() -> bool {
    std::env::var_os("REJOIN_PROCESS").is_some()
}

/// A program that records its start, and does nothing else.
const RECORDER: &str = r#"#!/bin/sh
# What a shell has made of the environment already is not what it was given.
record='@ROOT@/launched'
mkdir -p "$record"
printf '%s\0' "${0##*/}" "$@" > "$record/argv"
printf '%s' "$(pwd -P; printf x)" > "$record/cwd"
cat "/proc/$$/environ" > "$record/environment" 2>/dev/null || env -0 > "$record/environment"
"#;

/// Files the session under its working directory, as the real Amplifier does on a resume.
const AMPLIFIER: &str = r#"
slug=$(pwd -P | tr '/' '-')
session="$HOME/.amplifier/projects/$slug/sessions/$3"
mkdir -p "$session"
printf '{"ts": "2026-03-01T12:00:00.000+00:00", "event": "session:resume", "session_id": "%s", "data": {}}\n' "$3" >> "$session/events.jsonl"
"#;

/// Returns whether every case of the longest loops is tested, as in `.ci/full`; otherwise a fixed sample is.
pub(crate) fn tries_every_case() -> bool {
    std::env::var_os("REJOIN_FULL").is_some()
}

/// Returns the distance between the cases that a loop tests: 1, or `sampled` for a sample.
pub(crate) fn stride(sampled: usize) -> usize {
    if tries_every_case() { 1 } else { sampled }
}

/// Returns whether a loop tests its case with this number: all, or only the multiples of `sampled`.
pub(crate) fn is_tried(case: usize, sampled: usize) -> bool {
    case.is_multiple_of(stride(sampled))
}

/// Returns the directory for worlds: TMPDIR, else in memory if this machine has a file system there, because a disk
/// takes milliseconds to sync.
fn fastest_dir() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let is_writable = || rustix::fs::access(&memory, rustix::fs::Access::WRITE_OK).is_ok();
    let is_free = std::env::var_os("TMPDIR").is_none();
    if is_free && memory.is_dir() && is_writable() { memory } else { std::env::temp_dir() }
}

/// A world that is removed when the test ends.
pub(crate) struct World {
    root: TempDir,
    path: PathBuf,
    /// Set if every run is a separate process.
    has_processes: AtomicBool,
}

/// Returns a random name without vowels, digits and `b`, so that no search text of a test occurs in it by chance, not
/// even loosely: the letters of `bskt` did.
fn drawn_name() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let mut number = RandomState::new().hash_one(std::process::id());
    let mut letter = || {
        let letter = char::from(b"cdfghjkmnpqrstvwxz"[usize::try_from(number % 18).expect("a place")]);
        number /= 18;
        letter
    };
    format!("world-{}", (0..12).map(|_| letter()).collect::<String>())
}

impl World {
    /// Creates a world with an empty home and no agents.
    pub(crate) fn new() -> Self {
        Self::below(&fastest_dir())
    }

    /// Creates a world on the disk, for tests of the disk.
    pub(crate) fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    fn below(dir: &Path) -> Self {
        let root = tempfile::Builder::new().prefix(&drawn_name()).rand_bytes(0).tempdir_in(dir).expect("a directory");
        let path = root.path().canonicalize().expect("a path");
        for name in ["home", "bin", "elsewhere", "temporary"] {
            std::fs::create_dir(path.join(name)).expect("a directory");
        }
        Self { root, path, has_processes: AtomicBool::new(false) }
    }

    /// Makes every run a separate process, for a test about open files, mounts or other state of a process.
    pub(crate) fn with_processes(self) -> Self {
        self.has_processes.store(true, Ordering::Relaxed);
        self
    }

    /// Creates a world in which `amplifier` and `claude` are installed.
    pub(crate) fn with_agents() -> Self {
        let world = Self::new();
        world.install("amplifier", AMPLIFIER);
        world.install("claude", "");
        world
    }

    /// Sets the period of Claude Code to ten years; by default it deletes the fixtures' sessions within seven days.
    pub(crate) fn keeping(self) -> Self {
        put(&self.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
        self
    }

    /// Installs a program in `PATH` that records its start and then runs `script`.
    pub(crate) fn install(&self, name: &str, script: &str) -> PathBuf {
        let recorder = RECORDER.replace("@ROOT@", self.path.to_str().expect("a path in UTF-8"));
        let program = self.path.join("bin").join(name);
        // If the program is a link, writing would change its target.
        if program.is_symlink() {
            std::fs::remove_file(&program).expect("a removed link");
        }
        // Another process writes the program: a child that another test starts at this moment would inherit a file that
        // is open for writing here, and such a file cannot be run.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&program)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let text = recorder + script;
        writer.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a program");
        assert!(writer.wait().expect("an end").success());
        program
    }

    /// Installs a program as pip and uv do: a console script that imports a module, with the module's version next to it.
    pub(crate) fn install_python(&self, name: &str, module: &str, version: &str, script: &str) {
        let environment = self.dir(&format!("environments/{module}"));
        let script = format!("{script}\nexit 0\nfrom {module}.__main__ import main\n");
        self.install_in(&environment.join("bin"), name, name, &script);
        let packages = environment.join("lib/python3.13/site-packages");
        std::fs::create_dir_all(packages.join(format!("{module}-{version}.dist-info"))).expect("a directory");
    }

    /// Installs a program as npm does: a link to the file that a package.json names.
    pub(crate) fn install_npm(&self, name: &str, package: &str, version: &str, script: &str) {
        let folder = self.dir(&format!("lib/node_modules/{package}"));
        self.install_in(&folder.join("dist"), name, "cli.js", script);
        let manifest = serde_json::json!({"name": package, "version": version, "bin": {name: "dist/cli.js"}});
        std::fs::write(folder.join("package.json"), manifest.to_string()).expect("a file");
    }

    /// Moves a program from the path to another directory, and leaves a link.
    fn install_in(&self, dir: &Path, name: &str, file: &str, script: &str) {
        let link = self.install(name, script);
        std::fs::create_dir_all(dir).expect("a directory");
        std::fs::rename(&link, dir.join(file)).expect("a move");
        std::os::unix::fs::symlink(dir.join(file), link).expect("a link");
    }

    /// Returns the root directory of the world.
    pub(crate) fn root(&self) -> &Path {
        debug_assert!(self.root.path().exists());
        &self.path
    }

    /// Returns the home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Creates a directory in this world, outside of the home.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.path.join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        dir
    }

    /// Writes a session, or any other fixture, and returns its path.
    #[expect(clippy::needless_pass_by_value, reason = "a fixture is built where it is added")]
    pub(crate) fn add(&self, fixture: impl Fixture) -> PathBuf {
        fixture.write_to(&self.home())
    }

    /// Runs the program from a directory that is not related to any session.
    pub(crate) fn rejoin<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        self.from(self.path.join("elsewhere")).rejoin(args)
    }

    /// Prepares a run in a directory.
    pub(crate) fn from(&self, dir: impl AsRef<Path>) -> Call<'_> {
        Call { world: self, cwd: dir.as_ref().to_owned(), variables: Vec::new() }
    }

    /// Prepares a run with a variable in the environment.
    pub(crate) fn with(&self, name: &str, value: impl AsRef<OsStr>) -> Call<'_> {
        self.from(self.path.join("elsewhere")).with(name, value)
    }

    /// Runs the program, and also returns the peak of its memory in KiB, as [`memory_of`] does.
    pub(crate) fn measured<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (Answer, u64) {
        let mut command = self.from(self.path.join("elsewhere")).command(PROGRAM);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("a running program");
        let pid = child.id();
        let waiter = std::thread::spawn(move || child.wait_with_output().expect("an end"));
        let mut peak = 0;
        // The system drops the peak when the program ends, so it is read repeatedly.
        while !waiter.is_finished() {
            peak = peak.max(memory_of(pid));
            std::thread::sleep(Duration::from_micros(200));
        }
        let output = waiter.join().expect("an output");
        (Answer { output, root: self.path.clone(), command: format!("{command:?}") }, peak)
    }

    /// Runs the program with a terminal of this width for its answer.
    pub(crate) fn on_terminal<S: AsRef<OsStr>>(&self, columns: u16, args: impl IntoIterator<Item = S>) -> Answer {
        let (terminal, other_end) = open_terminal(columns);
        let mut command = self.from(self.path.join("elsewhere")).command(PROGRAM);
        command.args(args).stdin(Stdio::null()).stdout(other_end).stderr(Stdio::piped());
        self.read_terminal(terminal, command)
    }

    /// Reads the output of a command at a terminal until the other end is closed.
    fn read_terminal(&self, mut terminal: File, mut command: Command) -> Answer {
        let child = command.spawn().expect("a running program");
        let described = format!("{command:?}");
        drop(command);
        let mut stdout = Vec::new();
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut part) {
            stdout.extend_from_slice(&part[..count]);
        }
        let mut output = child.wait_with_output().expect("an end");
        output.stdout = String::from_utf8(stdout).expect("output in UTF-8").replace("\r\n", "\n").into_bytes();
        Answer { output, root: self.path.clone(), command: described }
    }

    /// Returns the paths that a change would move to the trash, in order.
    pub(crate) fn would_trash<S: AsRef<OsStr>>(&self, change: impl IntoIterator<Item = S>) -> Vec<PathBuf> {
        let args =
            change.into_iter().map(|arg| arg.as_ref().to_owned()).chain(["--dry-run", "--json"].map(OsString::from));
        let plan: Change = self.rejoin(args).code(0).json();
        let steps = plan.items.iter().flat_map(|item| &item.steps);
        let mut paths: Vec<PathBuf> = steps.map(|step| PathBuf::from(&step.path)).collect();
        paths.sort();
        // A session and its sub-agent both name their common files.
        paths.dedup();
        paths
    }

    /// Runs a change, and interferes after its plan is made: a lock that is held until then makes it wait.
    pub(crate) fn interfered(&self, args: &[&str], interfere: impl FnOnce()) -> Output {
        let state = self.home().join(".local/state/rejoin");
        std::fs::create_dir_all(&state).expect("a directory");
        let holder = File::create(state.join("lock")).expect("a lock");
        rustix::fs::flock(&holder, rustix::fs::FlockOperation::NonBlockingLockExclusive).expect("the lock");
        let mut command = self.from(self.root()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(args).args(["--lock-timeout", "60s"]).stdout(Stdio::piped());
        let running = command.spawn().expect("a run");
        std::thread::sleep(Duration::from_millis(1500));
        interfere();
        drop(holder);
        running.wait_with_output().expect("an end")
    }

    /// Returns the recorded start of the agent, and removes the record.
    pub(crate) fn launched(&self) -> Option<Launch> {
        let record = self.path.join("launched");
        let read = |name: &str| std::fs::read(record.join(name)).ok();
        let strings = |bytes: Vec<u8>| -> Vec<String> {
            let text = String::from_utf8(bytes).expect("text in UTF-8");
            text.split_terminator('\0').map(str::to_owned).collect()
        };
        let cwd = String::from_utf8(read("cwd")?).expect("a path in UTF-8");
        let launch = Launch {
            argv: strings(read("argv")?),
            cwd: PathBuf::from(cwd.strip_suffix("\nx").expect("the end of pwd's line")),
            environment: strings(read("environment")?),
        };
        std::fs::remove_dir_all(record).expect("a record to forget");
        Some(launch)
    }
}

/// Opens a terminal: the end to read from, and the end for a program.
fn open_terminal(columns: u16) -> (File, File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a terminal that can be used");
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a name in UTF-8");
    let other_end = File::options().read(true).write(true).open(name).expect("the other end");
    let size = rustix::termios::Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&other_end, size).expect("a size");
    (File::from(terminal), other_end)
}

/// The start of an agent.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: PathBuf,
    environment: Vec<String>,
}

impl Launch {
    /// Returns a variable of the agent's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// A prepared run.
pub(crate) struct Call<'a> {
    world: &'a World,
    cwd: PathBuf,
    variables: Vec<(String, OsString)>,
}

impl Call<'_> {
    /// Adds a variable.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs the program, in the process of the test unless the run is about a process.
    pub(crate) fn rejoin<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Answer {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        if self.is_about_a_process(&args) { self.run(PROGRAM, args) } else { self.in_this_process(args, "") }
    }

    /// Returns whether a run must be a separate process: it becomes an agent, dies of a fault, or depends on state that
    /// a process has once.
    fn is_about_a_process(&self, args: &[OsString]) -> bool {
        let own: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
        let has = |known: &[&str]| own.iter().any(|arg| known.contains(arg));
        let becomes_an_agent = has(&["resume"]) && !has(&["--json", "--print", "-p"]);
        let special = ["TZ", "RAYON_NUM_THREADS", "COMPLETE"];
        let ends = |fault: &OsString| fault.to_string_lossy().contains(|letter: char| letter.is_ascii_alphabetic());
        let is_special = self
            .variables
            .iter()
            .any(|(name, value)| special.contains(&name.as_str()) || (name == "REJOIN_FAULT" && ends(value)));
        let has_processes = self.world.has_processes.load(Ordering::Relaxed);
        becomes_an_agent || is_special || has_processes || runs_processes_only()
    }

    /// Runs the program in this process.
    fn in_this_process(self, args: Vec<OsString>, input: impl AsRef<[u8]>) -> Answer {
        let (root, cwd) = (self.world.path.clone(), self.cwd.canonicalize().unwrap_or(self.cwd.clone()));
        let mut command = self.command(PROGRAM);
        command.args(&args);
        let described = format!("{command:?}");
        let variables = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        let streams = rejoin::CapturedStreams::with_input(input.as_ref());
        let args = [OsString::from(PROGRAM)].into_iter().chain(args).collect();
        let surroundings = rejoin::Surroundings::captured(args, variables, cwd, &streams);
        // A thread of a test has a smaller stack than a program.
        let run = std::thread::Builder::new().stack_size(8 * 1024 * 1024).spawn(move || rejoin::run_in(&surroundings));
        let exit = match run.expect("a thread").join() {
            Ok(exit) => exit,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let status = std::os::unix::process::ExitStatusExt::from_raw(i32::from(exit.code()) << 8);
        let output = Output { status, stdout: streams.out(), stderr: streams.err() };
        Answer { output, root, command: described }
    }

    /// Runs the program with this text on its standard input.
    pub(crate) fn fed<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]> + Send,
    ) -> Answer {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        if !self.is_about_a_process(&args) {
            return self.in_this_process(args, input);
        }
        let root = self.world.path.clone();
        let mut command = self.command(PROGRAM);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a running program");
        let mut stdin = child.stdin.take().expect("a pipe");
        let output = std::thread::scope(|scope| {
            // A program that does not read to the end may close the pipe.
            scope.spawn(move || stdin.write_all(input.as_ref()));
            child.wait_with_output().expect("an end")
        });
        Answer { output, root, command: format!("{command:?}") }
    }

    /// Runs any program in the same environment.
    pub(crate) fn run<S: AsRef<OsStr>>(self, program: impl AsRef<OsStr>, args: impl IntoIterator<Item = S>) -> Answer {
        let root = self.world.path.clone();
        let mut command = self.command(program);
        command.args(args).stdin(Stdio::null());
        let output = command.output().expect("a program that runs");
        Answer { output, root, command: format!("{command:?}") }
    }

    /// Runs the program under `strace` with these expressions, and returns its log, too.
    pub(crate) fn under_strace(self, expressions: &[&str], args: &[&str]) -> (Answer, String) {
        let log = self.world.root().join("strace.log");
        // Only the traced calls stop the program, which halves the time.
        let fixed = ["-f", "--seccomp-bpf", "-y", "-qq", "-s", "300", "-o", log.to_str().expect("a path in UTF-8")];
        let expressions = expressions.iter().flat_map(|expression| ["-e", expression]);
        let program = [PROGRAM];
        let all: Vec<&str> = fixed.into_iter().chain(expressions).chain(program).chain(args.iter().copied()).collect();
        let answer = self.run("strace", all);
        let noted = String::from_utf8_lossy(&std::fs::read(&log).expect("a trace")).into_owned();
        std::fs::remove_file(&log).expect("a trace");
        (answer, noted)
    }

    /// Runs a command line in a shell, with a terminal for both streams and without input.
    pub(crate) fn types(self, shell: &str, line: &str, columns: u16) -> Answer {
        let world = self.world;
        let (terminal, other_end) = open_terminal(columns);
        let errors = other_end.try_clone().expect("the other end");
        let mut command = self.command(shell);
        command.args(["-euc", line]).stdin(Stdio::null()).stdout(other_end).stderr(errors);
        world.read_terminal(terminal, command)
    }

    /// Returns the command, for a test that does more than wait for its end.
    pub(crate) fn command(self, program: impl AsRef<OsStr>) -> Command {
        let bin = self.world.path.join("bin");
        let mut path = bin.into_os_string();
        path.push(":/usr/bin:/bin");
        let mut command = Command::new(program);
        command
            .current_dir(&self.cwd)
            .env_clear()
            .env("HOME", self.world.home())
            .env("PATH", path)
            .env("TERM", "xterm")
            .env("PAGER", "")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            // Not the directory of the machine: agents write output there.
            .env("TMPDIR", self.world.path.join("temporary"))
            .env("REJOIN_NOW", NOW)
            .envs(self.variables);
        command
    }
}

/// The result of a run.
pub(crate) struct Answer {
    output: Output,
    root: PathBuf,
    command: String,
}

impl Answer {
    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        let (stdout, stderr) = (self.stdout(), self.stderr());
        assert_eq!(self.output.status.code(), Some(expected), "{}\n{stdout}\n{stderr}", self.command);
        self
    }

    /// Checks the exit status if more than one is right.
    #[track_caller]
    pub(crate) fn code_is_one_of(self, expected: &[i32]) -> Self {
        let is_right = self.exit().is_some_and(|code| expected.contains(&code));
        assert!(is_right, "{} {:?}\n{}\n{}", self.command, self.exit(), self.stdout(), self.stderr());
        self
    }

    /// Returns the exit status, unless a signal ended it.
    pub(crate) fn exit(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// Returns whether a signal killed the process.
    pub(crate) fn was_killed(&self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        self.output.status.signal() == Some(9)
    }

    /// Returns standard output.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).expect("output in UTF-8")
    }

    /// Returns standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Compares standard output with a snapshot in which `[ROOT]` is the world's directory and `[SLUG]` its slug as
    /// agents encode it.
    #[track_caller]
    pub(crate) fn stdout_eq(self, expected: impl snapbox::IntoData) -> Self {
        self.compare(self.stdout(), expected);
        self
    }

    /// Compares standard error with a snapshot.
    #[track_caller]
    pub(crate) fn stderr_eq(self, expected: impl snapbox::IntoData) -> Self {
        self.compare(self.stderr(), expected);
        self
    }

    #[track_caller]
    fn compare(&self, actual: String, expected: impl snapbox::IntoData) {
        let mut redactions = snapbox::Redactions::new();
        redactions.insert("[ROOT]", self.root.clone()).expect("a redaction");
        redactions.insert("[SLUG]", claude_slug(&self.root)).expect("a redaction");
        snapbox::Assert::new()
            .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
            .normalize_paths(false)
            .redact_with(redactions)
            .eq(actual, expected);
    }

    /// Returns standard output as an answer of the contract.
    #[track_caller]
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        contract::parse(&self.stdout())
    }

    /// Returns the answer of `list --json`.
    #[track_caller]
    pub(crate) fn sessions(&self) -> Vec<contract::Session> {
        self.json::<contract::SessionList>().sessions
    }

    /// Returns the answer of `resume --json`, whose first refusal is the exit code.
    #[track_caller]
    pub(crate) fn plan(self) -> contract::ResumePlan {
        let plan: contract::ResumePlan = self.json();
        self.code(plan.refusals.first().map_or(0, |refusal| refusal.exit));
        plan
    }

    /// Returns standard error as the contract's error.
    #[track_caller]
    pub(crate) fn error(&self) -> contract::Error {
        contract::parse(&self.stderr())
    }
}

/// Returns when a process started, as Claude Code notes it: clock ticks on Linux, a date elsewhere.
pub(crate) fn start_of(pid: u32) -> String {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
        // The program's name is in parentheses and may contain any characters.
        let fields = stat.rsplit_once(')').expect("a name").1;
        return fields.split_ascii_whitespace().nth(19).expect("a time").to_owned();
    }
    ps("lstart=", pid)
}

/// The maximum memory of the program in KiB: 64 MiB, minus the 20 MiB that the code of a release build takes.
pub(crate) const MAX_KIB: u64 = 44 * 1024;

/// Returns the memory of a process in KiB without its code, because an unoptimised build has more code: the peak on
/// Linux, its current memory elsewhere; 0 if it has ended, or has not executed its own program yet.
///
/// Until then it shares the memory of this test process, whose peak would be returned instead.
pub(crate) fn memory_of(pid: u32) -> u64 {
    if !cfg!(target_os = "linux") {
        return ps("rss=", pid).parse().unwrap_or(0);
    }
    let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    if program(&pid.to_string()).is_none_or(|it| Some(it) == program("self")) {
        return 0;
    }
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse().ok()
    };
    field("VmHWM:").zip(field("RssFile:")).map_or(0, |(peak, files)| peak.saturating_sub(files))
}

fn ps(column: &str, pid: u32) -> String {
    let mut ps = Command::new("/bin/ps");
    let ps_output = ps.env("LC_ALL", "C").env("TZ", "UTC").args(["-o", column, "-p", &pid.to_string()]).output();
    String::from_utf8(ps_output.expect("ps").stdout).expect("text").trim().to_owned()
}
