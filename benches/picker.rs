//! Measures the waiting times of a user in the picker: for the first sessions, for a key, for matches in messages, and
//! for the ranked list.
//!
//! `cargo bench --bench picker` measures homes of 10,000 sessions, with `-- --quick` of 1,000: one of all agents, and
//! one of transcripts of 17 kB, in which words are searched after their messages were read into memory. The picker runs
//! at a pseudo-terminal. Each figure is printed next to that of a whole run of `list` or `search` of the same home,
//! because machines differ. Without `--bench`, one small home is run once as a test.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark lays out its own files and prints what it found"
)]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::Pty;

#[expect(dead_code, reason = "the other benchmark measures more of it")]
mod home;

use home::{Home, Mix};

/// No wait is as long as this.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if has("--list") {
        return Ok(());
    }
    let (sessions, times) = match (has("--bench"), has("--quick")) {
        (false, _) => (60, 1),
        (true, true) => (1_000, 15),
        (true, false) => (10_000, 9),
    };
    let home = Home::generate(Mix::All, sessions)?;
    let word = word_said(&home)?;
    let mut figures: [Vec<(Duration, Duration)>; 3] = Default::default();
    let mut slowest = (Duration::ZERO, "");
    // The first round warms the caches and does not count.
    for round in 0..=times {
        let list = run(&home, &["list"])?;
        let search = run(&home, &["search", &word])?;
        let measured = Picker::open(&home)?.measure(&word)?;
        if round > 0 {
            figures[0].push((measured.first, list));
            figures[1].push((measured.key, list));
            figures[2].push((measured.said, search));
            slowest = slowest.max(measured.slowest_key);
        }
    }
    println!("wait for              sessions  picker ms  versus ms  ratio  target");
    for ((name, target), values) in
        [("the first sessions", "<= 100 ms"), ("a key", "<= 16 ms"), ("what was said", "<= 500 ms")]
            .into_iter()
            .zip(figures)
    {
        let ratio = median(values.iter().map(|(own, versus)| own.as_secs_f64() / versus.as_secs_f64()).collect());
        let [own, versus] = [
            median(values.iter().map(|(own, _)| own.as_secs_f64()).collect()),
            median(values.iter().map(|(_, versus)| versus.as_secs_f64()).collect()),
        ];
        println!("{name:<20} {:>9}  {:>9.1}  {:>9.1}  {ratio:>5.2}  {target}", home.listed, own * 1e3, versus * 1e3);
    }
    println!("the slowest of all keys: {}, {:.1} ms", slowest.1, slowest.0.as_secs_f64() * 1e3);
    if has("--bench") { measure_ranking(sessions, times) } else { Ok(()) }
}

/// Measures the time from the last letter of some words to the list in its order.
fn measure_ranking(sessions: usize, times: usize) -> io::Result<()> {
    let home = Home::generate(Mix::Small, sessions)?;
    let word = word_said(&home)?;
    let queries = [
        ("a word", word.clone()),
        ("a word nowhere", "qzxqzx".to_owned()),
        ("three words", format!("{word} the error")),
    ];
    println!("ranked rows after     sessions  picker ms  versus ms  ratio  target");
    for (name, query) in queries {
        let mut args = vec!["search"];
        args.extend(query.split(' '));
        let search = median((0..3).map(|_| run(&home, &args)).collect::<io::Result<Vec<_>>>()?);
        let mut picker = Picker::open(&home)?;
        picker.wait_until_read()?;
        // The first round waits for the messages to be read.
        std::thread::sleep(Duration::from_secs(5));
        let ranked = (0..times).map(|_| picker.rank(&query)).collect::<io::Result<Vec<_>>>()?;
        picker.press("\x03")?;
        picker.child.wait()?;
        let [ranked, search] = [median(ranked), search].map(|time| time.as_secs_f64());
        let ratio = ranked / search;
        println!("{name:<20} {sessions:>9}  {:>9.1}  {:>9.1}  {ratio:>5.2}  <= 150 ms", ranked * 1e3, search * 1e3);
    }
    Ok(())
}

fn program(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("--home").arg(home.path());
    command
}

/// Measures a whole run, its output read through a pipe.
fn run(home: &Home, args: &[&str]) -> io::Result<Duration> {
    let start = Instant::now();
    let output = program(home).args(args).stdin(Stdio::null()).output()?;
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(start.elapsed())
}

/// Returns a word of a reply that is in no title, so that only a search finds it.
fn word_said(home: &Home) -> io::Result<String> {
    let read = |args: &[&str]| -> io::Result<String> {
        Ok(String::from_utf8_lossy(&program(home).args(args).output()?.stdout).into_owned())
    };
    let titles = read(&["list", "--all"])?;
    let said = read(&["show", &home.claude_id, "--transcript"])?;
    let words = said.split(|c: char| !c.is_ascii_lowercase()).filter(|word| word.len() >= 5);
    let is_said = |word: &&str| {
        let found = program(home).args(["search", word]).output();
        !titles.contains(*word) && found.is_ok_and(|found| !found.stdout.is_empty())
    };
    words
        .into_iter()
        .find(is_said)
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other("every word that is said stands in a title"))
}

/// The keys that are pressed, one after the other: letters, which match more and less, a move, orders and groups.
const KEYS: [(&str, &str); 14] = [
    ("e", "a first letter"),
    ("r", "a second letter"),
    ("s", "a third letter"),
    ("\x7f", "a letter erased"),
    ("\x7f", "a letter erased"),
    ("\x7f", "the last letter erased"),
    ("\x1b[B", "down"),
    ("\x1b[6~", "page down"),
    ("\x13", "sort by size"),
    ("\x13", "sort by directory"),
    ("\x13", "sort by activity"),
    ("\x07", "group"),
    ("\x07", "no groups"),
    ("\t", "mark"),
];

#[derive(Debug)]
struct Measured {
    first: Duration,
    key: Duration,
    slowest_key: (Duration, &'static str),
    said: Duration,
}

/// The end of a drawing: the cursor is shown.
const SHOWN: &str = "\x1b[?25h";

/// The program at a terminal.
struct Picker {
    start: Instant,
    pty: Pty,
    child: std::process::Child,
    output: Receiver<Vec<u8>>,
    sent: String,
}

impl Picker {
    fn open(home: &Home) -> io::Result<Self> {
        let (pty, other_end) = pty_process::blocking::open().map_err(io::Error::other)?;
        pty.resize(Size::new(50, 160)).map_err(io::Error::other)?;
        let start = Instant::now();
        let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_rejoin"));
        let command = command.arg("--home").arg(home.path()).arg("resume").env("TERM", "xterm").env("NO_COLOR", "1");
        let child = command.spawn(other_end).map_err(io::Error::other)?;
        let mut terminal = File::from(pty.as_fd().try_clone_to_owned()?);
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 64 * 1024];
            while let Ok(count @ 1..) = terminal.read(&mut part) {
                if send.send(part[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { start, pty, child, output, sent: String::new() })
    }

    /// Waits until the screen was sent this since the last key, and returns when.
    fn sees(&mut self, is_there: impl Fn(&str) -> bool) -> io::Result<Instant> {
        while !is_there(&self.sent) {
            let Ok(part) = self.output.recv_timeout(PATIENCE) else {
                return Err(io::Error::other(format!("the picker does not go on: {:?}", self.sent)));
            };
            self.sent.push_str(&String::from_utf8_lossy(&part));
        }
        Ok(Instant::now())
    }

    fn press(&mut self, keys: &str) -> io::Result<Instant> {
        while let Ok(part) = self.output.try_recv() {
            self.sent.push_str(&String::from_utf8_lossy(&part));
        }
        self.sent.clear();
        self.pty.write_all(keys.as_bytes())?;
        Ok(Instant::now())
    }

    fn wait_until_read(&mut self) -> io::Result<()> {
        self.sees(|sent| sent.rsplit(" sessions").next().is_some_and(|rest| !rest.contains("reading…")))?;
        self.sees(|sent| sent.rsplit_once("sessions").is_some_and(|(_, rest)| rest.contains(SHOWN)))?;
        Ok(())
    }

    /// Types words letter by letter, and returns the time from the last letter to the end of the search.
    fn rank(&mut self, words: &str) -> io::Result<Duration> {
        let (first, last) = words.split_at(words.len() - 1);
        for letter in first.chars() {
            self.press(&letter.to_string())?;
            std::thread::sleep(Duration::from_millis(100));
        }
        std::thread::sleep(Duration::from_millis(600));
        let pressed = self.press(last)?;
        let is_ranked = |rest: &str| rest.split_once("sessions").is_some_and(|(_, rest)| rest.contains(SHOWN));
        let ranked =
            self.sees(|sent| sent.rsplit_once("searching messages…").is_some_and(|(_, rest)| is_ranked(rest)))?;
        self.press("\x15")?;
        std::thread::sleep(Duration::from_millis(300));
        Ok(ranked - pressed)
    }

    fn measure(mut self, word: &str) -> io::Result<Measured> {
        let is_row = |sent: &str| sent.split("\x1b[3;1H\x1b[K> ").nth(1).is_some_and(|row| row.contains(SHOWN));
        let first = self.sees(is_row)? - self.start;
        self.wait_until_read()?;
        // The preview of the first session appears by itself.
        std::thread::sleep(Duration::from_millis(300));
        let mut keys = Vec::new();
        for (key, name) in KEYS {
            let pressed = self.press(key)?;
            keys.push((self.sees(|sent| sent.contains(SHOWN))? - pressed, name));
            std::thread::sleep(Duration::from_millis(30));
        }
        let pressed = self.press(word)?;
        let said = self.sees(|sent| sent.contains("by what was said"))? - pressed;
        self.press("\x03")?;
        self.child.wait()?;
        let slowest_key = keys.iter().copied().max().unwrap_or_default();
        Ok(Measured { first, key: median(keys.into_iter().map(|(time, _)| time).collect()), slowest_key, said })
    }
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}
