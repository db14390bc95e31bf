//! At a terminal: a user who presses keys, an agent that leaves settings changed, and signals during a run.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::Pty;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use signal_hook::flag;
use unicode_width::UnicodeWidthStr as _;

use crate::fixtures::{Claude, Jido, id};
use crate::world::World;

/// Time limit, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program at a terminal, and the user in front of it.
pub(crate) struct Seat {
    pty: Pty,
    size: (u16, u16),
    child: Child,
    output: Receiver<Vec<u8>>,
    /// All output of the terminal, and the length that was already searched.
    sent: Vec<u8>,
    looked_at: usize,
}

impl Seat {
    /// Runs a command with a new terminal as its controlling terminal.
    pub(crate) fn run(command: &Command, columns: u16, rows: u16) -> Self {
        hear_signals();
        let (pty, other_end) = pty_process::blocking::open().expect("a terminal");
        pty.resize(Size::new(rows, columns)).expect("a size");
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let child = pty_process::blocking::Command::new(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().expect("a directory"))
            .env_clear()
            .envs(variables)
            .spawn(other_end)
            .expect("a running program");
        let mut terminal = File::from(pty.as_fd().try_clone_to_owned().expect("the terminal"));
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = terminal.read(&mut part) {
                if send.send(part[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { pty, size: (columns, rows), child, output, sent: Vec::new(), looked_at: 0 }
    }

    /// Presses keys.
    pub(crate) fn types(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).expect("keys to press");
    }

    /// Sends any bytes; reads the terminal's output meanwhile, so that neither side blocks.
    pub(crate) fn types_bytes(&mut self, bytes: &[u8]) {
        self.pty.write_all(bytes).expect("keys to press");
        self.sent.extend(self.output.try_iter().flatten());
    }

    /// Waits until the terminal has got this text since the last call.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let new = &self.sent[self.looked_at..];
            if let Some(at) = new.windows(text.len()).position(|part| part == text.as_bytes()) {
                self.looked_at += at + text.len();
                return;
            }
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(part) => self.sent.extend(part),
                Err(_) => panic!("no {text:?} in {:?}", String::from_utf8_lossy(&self.sent[self.looked_at..])),
            }
        }
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.pty.resize(Size::new(rows, columns)).expect("a size");
    }

    /// Waits until the screen meets a condition, and returns it.
    #[track_caller]
    pub(crate) fn shows_what(&mut self, is_right: impl Fn(&str) -> bool) -> vt100::Parser {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let [rows, columns] = [self.size.1, self.size.0].map(|count| NonZeroU16::new(count).expect("a size"));
            let mut terminal = vt100::Parser::new(rows, columns, 0);
            terminal.process(&self.sent);
            let contents = terminal.screen().contents();
            if is_right(&contents) {
                return terminal;
            }
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(part) => self.sent.extend(part),
                Err(_) => panic!("the screen is:\n{contents}"),
            }
        }
    }

    /// Waits until a text is on the screen, and returns the whole screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> String {
        self.shows_what(|screen| screen.contains(text)).screen().contents()
    }

    /// Returns whether the terminal gets more output within this time.
    pub(crate) fn is_sent_more_within(&mut self, time: Duration) -> bool {
        let more = self.output.recv_timeout(time);
        self.sent.extend(more.iter().flatten());
        more.is_ok()
    }

    /// Returns the whole output of the terminal so far.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.sent).into_owned()
    }

    /// Waits until the program ends. Returns its status and the whole output of the terminal.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it goes on and on: {:?}", String::from_utf8_lossy(&self.sent));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        while let Ok(part) = self.output.recv_timeout(Duration::from_secs(5)) {
            self.sent.extend(part);
        }
        (status.code(), String::from_utf8(self.sent).expect("output in UTF-8"))
    }
}

/// Makes programs receive the signals of their terminal even if the tests were started in the background or by `nohup`,
/// which ignores them, also in child processes. A signal with a handler here is not ignored in a child.
fn hear_signals() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true))).expect("a handler");
        }
    });
}

/// Runs the program like a shell, which reads the terminal's settings before and after.
pub(crate) fn shell(world: &World, args: &str) -> Seat {
    shell_at(world, &[], args, (80, 24))
}

/// Like [`shell`], with variables, at a terminal of this size.
pub(crate) fn shell_at(world: &World, variables: &[(&str, &str)], args: &str, (columns, rows): (u16, u16)) -> Seat {
    let script = format!(
        "trap : INT; stty -a > '{root}/before'; sh -c 'echo $$ > \"{root}/pid\"; exec \"$0\" {args}' \"$0\"; \
         status=$?; stty -a > '{root}/after'; exit $status",
        root = world.root().display()
    );
    let call = world.from(world.dir("elsewhere"));
    let call = variables.iter().fold(call, |call, (name, value)| call.with(name, value));
    let mut command = call.command("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_rejoin")]);
    Seat::run(&command, columns, rows)
}

/// Sends a signal to the program that `shell` runs.
pub(crate) fn signal(world: &World, signal: Signal) {
    let pid = std::fs::read_to_string(world.root().join("pid")).expect("a process id");
    let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process id");
    kill_process(pid, signal).expect("a process");
}

#[track_caller]
pub(crate) fn settings_are_as_before(world: &World) {
    let read = |name: &str| {
        let settings = std::fs::read_to_string(world.root().join(name)).expect("settings");
        // The first line is the size, which is not a setting.
        settings.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    let before = read("before");
    assert!(before.contains("icanon"), "{before}");
    assert_eq!(before, read("after"));
}

/// Returns a world with two sessions; the one of `parser` was active last.
pub(crate) fn two_sessions() -> World {
    let world = World::with_agents().keeping();
    let (parser, docs) = (world.dir("parser"), world.dir("docs"));
    world.add(Claude::session(id(1)).in_dir(parser).at("2026-02-02T10:00:00Z").turn("Fix the parser", "It is fixed."));
    world.add(Claude::session(id(2)).in_dir(docs).turn("Write the docs", "They are written."));
    world
}

#[test]
fn jidocode_starts_in_project_and_prints_command() {
    let world = World::new();
    world.install("jido_code", "");
    let app = world.dir("app");
    world.add(Jido::session(id(1)).in_dir(&app));
    let mut seat = shell(&world, &format!("resume {}", id(1)));
    seat.sees(&format!("Type there: /resume {}", id(1)));
    let (status, rest) = seat.ends();
    assert_eq!(status, Some(0), "{rest}");
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv.as_slice(), launch.cwd), (&["jido_code".to_owned()][..], app));
}

#[test]
fn escape_codes_do_not_reach_the_screen() {
    let world = World::with_agents();
    let evil = "ok\x1b]52;c;ZXZpbA==\x07\u{9b}2J\u{202e}";
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn(evil, evil).title(evil));
    let mut seat = shell(&world, "resume");
    seat.shows("assistant: ok\\u{1b}]52");
    seat.types("\x1b");
    let (_, rest) = seat.ends();
    let (status, list) = shell(&world, "list").ends();
    assert_eq!(status, Some(0));
    assert!(list.contains("ok\\u{1b}]52"), "{list:?}");
    for hostile in ["\x1b]", "\x07", "\u{9b}", "\u{202e}"] {
        assert!(!rest.contains(hostile) && !list.contains(hostile), "{hostile:?}: {rest:?} {list:?}");
    }
}

#[test]
fn list_table_fits_the_terminal() {
    let world = World::with_agents();
    let dir = world.dir("a-directory/with/a/rather/long/name");
    world.add(Claude::session(id(1)).in_dir(dir).turn(&"日本語 and more words ".repeat(9), "Yes."));
    for columns in [60, 80, 132] {
        let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["--color", "never", "list"]);
        let (status, table) = Seat::run(&command, columns, 24).ends();
        assert_eq!(status, Some(0));
        assert!(table.contains("日本語"), "{table}");
        for line in table.lines() {
            assert!(line.width() <= usize::from(columns), "{columns}: {line}");
        }
    }
}

#[test]
fn run_restores_terminal_after_agent() {
    for (end, expected) in [("exit 3", 3), ("kill -KILL $$", 137)] {
        let world = two_sessions();
        world.install("claude", &format!("stty raw -echo; printf '\\033[?25l'; {end}"));
        let (status, output) = shell(&world, "resume --wait latest").ends();
        assert_eq!(status, Some(expected), "{output}");
        assert_eq!(output.contains("\x1b[?25h"), expected == 137, "a screen is reset after a kill only: {output:?}");
        settings_are_as_before(&world);
    }
}

#[test]
fn signals_reach_agent_whose_status_rejoin_returns() {
    let script = "trap 'exit 7' INT; trap 'exit 9' TERM; trap 'exit 11' HUP; echo READY; while :; do sleep 0.05; done";
    for (sent, expected) in [(None, 7), (Some(Signal::TERM), 9), (Some(Signal::HUP), 11)] {
        let world = two_sessions();
        world.install("claude", script);
        let mut seat = shell(&world, "resume --wait latest");
        seat.sees("READY");
        match sent {
            None => seat.types("\x03"),
            Some(sent) => signal(&world, sent),
        }
        assert_eq!(seat.ends().0, Some(expected), "{sent:?}");
        settings_are_as_before(&world);
    }
}

#[test]
fn signals_reach_agent_started_by_picker() {
    let world = two_sessions();
    world.install("claude", "trap 'exit 7' INT; echo READY; while :; do sleep 0.05; done");
    let mut seat = shell(&world, "resume --wait");
    seat.shows("2 of 2 sessions");
    seat.types("\r");
    seat.sees("READY");
    seat.types("\x03");
    assert_eq!(seat.ends().0, Some(7));
    settings_are_as_before(&world);
}

#[test]
#[cfg(target_os = "linux")]
fn stopped_agent_returns_to_shell() {
    let world = two_sessions();
    world.install("claude", "echo READY; kill -STOP $$; exit 5");
    let mut seat = shell(&world, "resume --wait latest");
    seat.sees("READY");
    let pid = std::fs::read_to_string(world.root().join("pid")).expect("a process id");
    let stat = format!("/proc/{}/stat", pid.trim());
    let deadline = Instant::now() + PATIENCE;
    while !std::fs::read_to_string(&stat).expect("a process").contains(") T ") {
        assert!(Instant::now() < deadline, "it does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&world, Signal::CONT);
    assert_eq!(seat.ends().0, Some(5));
}

#[test]
fn wait_does_not_change_the_launch() {
    let world = two_sessions();
    let launch = |args: &[&str]| {
        world.with("CLAUDECODE", "1").with("OLDPWD", "/").rejoin(args).code(0);
        let launch = world.launched().expect("a launch");
        let variables = ["CLAUDECODE", "OLDPWD", "PWD", "HOME"].map(|name| launch.variable(name).map(str::to_owned));
        (launch.argv, launch.cwd, variables)
    };
    let usual = launch(&["resume", "latest", "--no-limit"]);
    assert_eq!(launch(&["resume", "latest", "--no-limit", "--wait"]), usual);
    assert_eq!(usual.1, world.dir("parser"));
    assert_eq!(usual.2[..2], [None, None]);
}

#[test]
fn resume_warns_if_agent_wrote_elsewhere() {
    let grow = |world: &World, path: &Path| {
        world.install("claude", &format!("echo '{{}}' >> '{}'", path.display()));
        world.rejoin(["resume", "--wait", "--no-limit", "latest"]).code(0).stderr()
    };
    let world = two_sessions();
    let asked = world.home().join(".claude/projects").join(crate::fixtures::claude_slug(world.dir("parser")));
    let stderr = grow(&world, &asked.join(format!("{}.jsonl", id(1))));
    assert!(!stderr.contains("warning"), "{stderr}");
    let stderr = grow(&world, &asked.join(format!("{}.jsonl", id(9))));
    assert!(stderr.contains(&format!("warning: the agent started a new session, {}", id(9))), "{stderr}");
    assert!(stderr.contains(&format!("{}.jsonl stayed as it was", id(1))), "{stderr}");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds read REJOIN_PAUSE")]
fn interrupt_stops_a_search_with_a_message() {
    let world = World::new();
    let long = |n| (0..3000).fold(Claude::session(id(n)), |session, _| session.turn("why?", "because"));
    (1..=12).for_each(|n| _ = world.add(long(n)));
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["search", "--regex", "no.such.thing"]).env("REJOIN_PAUSE", "0");
    let mut seat = Seat::run(&command, 80, 24);
    seat.sees("Searching [");
    seat.types("\x03");
    let (status, rest) = seat.ends();
    // A shell converts the signal to 130.
    assert_eq!(status, None, "{rest}");
    assert!(rest.ends_with("Stopped.\r\n"), "{rest:?}");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds read REJOIN_PAUSE")]
fn interrupted_change_prints_undo_command() {
    let world = World::new();
    (1..=20).for_each(|n| _ = world.add(Jido::session(id(n))));
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command
        .args(["cleanup", "--any-age", "--allow-all", "--yes"])
        .env("REJOIN_PAUSE", "0")
        .env("REJOIN_FAULT", "interrupt:60");
    let seat = Seat::run(&command, 80, 24);
    let (status, rest) = seat.ends();
    assert_eq!(status, None, "{rest}");
    assert!(rest.contains("Stopped.") && rest.contains("`rejoin undo --list`"), "{rest:?}");
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!(world.rejoin(["list", "--limit", "0"]).code(0).stdout().lines().count(), 20);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds read REJOIN_PAUSE")]
fn cleanup_shows_and_removes_progress_line() {
    let world = World::new();
    for n in 1..=60 {
        world.add(Jido::session(id(n)));
    }
    let plan = |world: &World| {
        let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["cleanup", "--any-age", "--allow-all", "--yes"]).env("REJOIN_PAUSE", "0");
        command
    };
    let (status, output) = Seat::run(&plan(&world), 80, 24).ends();
    assert_eq!(status, Some(0), "{output}");
    assert!(output.contains("\r\x1b[KRemoving [") && output.contains("/60"), "{output:.2000}");
    let (_, after) = output.rsplit_once("\r\x1b[K").expect("a line that is taken away");
    assert!(
        after.contains("60 sessions removed, 57 KiB to the trash") && !after.contains("Removing ["),
        "{after:.2000}"
    );
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds read REJOIN_PAUSE")]
fn answer_replaces_progress_of_reading() {
    let world = two_sessions();
    let run = |args: &str, pause: &str| {
        let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(args.split(' ')).env("REJOIN_PAUSE", pause);
        Seat::run(&command, 80, 24).ends().1
    };
    for (args, whats, answer) in [
        ("list", &["Reading"][..], "Fix the parser"),
        ("search parser", &["Reading", "Searching"], "Fix the parser"),
        ("doctor", &["Reading", "Reading lines"], "2 sessions"),
        ("cleanup --any-age --allow-all --dry-run", &["Reading", "Looking closer"], "Fix the parser"),
        ("archive --every --dry-run", &["Reading"], "Fix the parser"),
        // A refusal is printed on a clean line, too.
        ("cleanup --any-age --yes", &["Reading", "Looking closer"], "error:"),
    ] {
        let output = run(args, "0");
        let (before, after) = output.rsplit_once("\r\x1b[K").expect("a line that is taken away");
        for what in whats {
            assert!(before.contains(&format!("\r\x1b[K{what} [")), "{args}: {what}: {output:?}");
        }
        let last = if args.starts_with("search") { "/2, 1 found: Fix the parser" } else { "/2" };
        assert!(before.ends_with(last) && !before.contains('\n'), "{args}: {output:?}");
        assert!(after.contains(answer), "{args}: {output:?}");
        // Half a minute is far more than two sessions need.
        for quick in [run(args, "30000"), run(&format!("{args} --quiet"), "0")] {
            assert!(!quick.contains("\x1b[K"), "{args}: {quick:?}");
        }
    }
}

#[test]
fn declined_confirmation_changes_nothing() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/w/app").turn("add a test", "Added."));
    let mut seat = shell(&world, &format!("delete {}", id(1)));
    seat.sees("Remove 1 session");
    seat.types("n\r");
    let (status, output) = seat.ends();
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("Nothing was changed.") && !output.contains("error"), "{output}");
    assert!(path.exists(), "{output}");
}
