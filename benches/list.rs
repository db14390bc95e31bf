//! How long whole runs of the program take over generated homes, beside a floor that only opens the files.
//!
//! `cargo context --context list` measures homes of 1,000 and 10,000 sessions, with `-- --quick` the first alone, with
//! `-- --cleanup` only plans of cleanups, also in a home of 100,000 (4 GB), and with `-- --agents` each agent by itself. `-- --write DIR SESSIONS` only writes the home with all agents,
//! for a look with other tools. Each run is followed by one of the floor, or of `list` where that is what counts, so
//! that what else the machine does falls on both. Without `--context`, which only `cargo context` passes, one small home of
//! each kind is run through once to see that all works.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark lays out its own files, opens them as plainly as can be and prints what it found"
)]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

mod home;

use home::{Home, Mix};

/// Tells this program to be the floor; the stores follow.
const FLOOR: &str = "--floor";
/// How much the floor reads of each file.
const FLOOR_READS: usize = 4 * 1024;

/// Targets by which the table is read; they decide nothing here, because machines differ.
const LIST_TARGET: &str = "ratio <= 2, goal 1.5";
const DOCTOR_TARGET: &str = "ratio <= 2, 64 MiB";
const RESUME_TARGET: &str = "<= 20 ms at 10,000";
const CLEANUP_TARGET: &str = "ratio <= 1.5, 128 MiB";
/// About half of the sessions of a home were last active before that day.
const HALF: &str = "2026-04-01";

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if args.first().is_some_and(|arg| arg == FLOOR) {
        return args[1..].iter().try_for_each(|store| floor(Path::new(store), &mut [0; FLOOR_READS]));
    }
    if has("--list") {
        // A test runner asks which tests there are.
        return Ok(());
    }
    if let Some(at) = args.iter().position(|arg| arg == "--write") {
        let [dir, sessions] = [1, 2].map(|next| args.get(at + next).map_or("", String::as_str));
        fs::create_dir_all(dir)?;
        let home = Home::generate_in(Path::new(dir), Mix::All, sessions.parse().map_err(io::Error::other)?)?;
        println!("{}: {} files, {:.0} MB", home.path().display(), home.files, home.bytes as f64 / 1e6);
        return Ok(());
    }
    println!("command              sessions  rejoin ms  beside ms  ratio  peak MiB  target");
    let sizes: &[(usize, usize)] = match (has("--bench"), has("--quick")) {
        (false, _) => &[(60, 1)],
        (true, true) => &[(1_000, 31)],
        (true, false) => &[(1_000, 31), (10_000, 15)],
    };
    if has("--cleanup") {
        return [(10_000, 15), (100_000, 5)].iter().try_for_each(|(sessions, pairs)| {
            let home = Home::generate(Mix::All, *sessions)?;
            measure_cleanup(&home, *pairs)?;
            say_size(&home);
            Ok(())
        });
    }
    for (sessions, pairs) in sizes {
        measure(*sessions, *pairs, has("--agents") || !has("--bench"))?;
    }
    Ok(())
}

/// Lists the directory, opens every regular file below it and reads its beginning, in one thread.
fn floor(dir: &Path, buffer: &mut [u8]) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            floor(&entry.path(), buffer)?;
        } else if kind.is_file() {
            let read = File::open(entry.path())?.read(buffer)?;
            std::hint::black_box(read);
        }
    }
    Ok(())
}

fn measure(sessions: usize, pairs: usize, each_agent: bool) -> io::Result<()> {
    let home = Home::generate(Mix::Two, sessions)?;
    check(&home)?;
    for (name, args, target) in [
        ("list", &["list"][..], LIST_TARGET),
        ("list --json", &["list", "--json"], LIST_TARGET),
        ("resume (Claude)", &["resume", &home.claude_id, "--json"], RESUME_TARGET),
        ("resume (Amplifier)", &["resume", &home.amplifier_id, "--json"], RESUME_TARGET),
    ] {
        row(&home, name, args, &Beside::Floor(home.stores()), pairs, target)?;
    }
    say_size(&home);
    drop(home);

    let home = Home::generate(Mix::TwoWithCopies, sessions)?;
    check(&home)?;
    row(&home, "doctor, 1 % twice", &["doctor"], &Beside::List, pairs, DOCTOR_TARGET)?;
    say_size(&home);
    drop(home);

    let home = Home::generate(Mix::All, sessions)?;
    check(&home)?;
    row(&home, "list, all agents", &["list"], &Beside::Floor(home.stores()), pairs, LIST_TARGET)?;
    row(&home, "doctor, all agents", &["doctor"], &Beside::List, pairs, DOCTOR_TARGET)?;
    measure_cleanup(&home, pairs)?;
    for (agent, store) in home.agents().into_iter().filter(|_| each_agent) {
        row(&home, &format!("  {agent}"), &["list", "--agent", agent], &Beside::Floor(vec![store]), pairs, "")?;
    }
    say_size(&home);
    Ok(())
}

/// Plans only: what is removed has to be made anew.
fn measure_cleanup(home: &Home, pairs: usize) -> io::Result<()> {
    for (name, before) in
        [("cleanup, none go", "2020-01-01"), ("cleanup, half go", HALF), ("cleanup, all go", "2036-01-01")]
    {
        let args = ["cleanup", "--dry-run", "--allow-all", "--older-than", before];
        row(home, name, &args, &Beside::List, pairs, CLEANUP_TARGET)?;
    }
    Ok(())
}

fn row(home: &Home, name: &str, args: &[&str], beside: &Beside, pairs: usize, target: &str) -> io::Result<()> {
    let times = Times::of(home, args, beside, pairs)?;
    println!(
        "{name:<20} {:>8}  {:>9.1}  {:>9.1}  {:>5.2}  {:>8}  {target}",
        home.listed,
        milliseconds(median(times.program)),
        milliseconds(median(times.beside)),
        median(times.ratios),
        peak_memory(home, args)?.map_or("?".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1_048_576.0)),
    );
    Ok(())
}

fn say_size(home: &Home) {
    println!("  the stores: {} files, {:.0} MB", home.files, home.bytes as f64 / 1e6);
}

/// What a command is measured beside.
enum Beside {
    /// The floor of these stores.
    Floor(Vec<PathBuf>),
    /// The list of the same home.
    List,
}

/// A number means nothing if the program did not do its work.
fn check(home: &Home) -> io::Result<()> {
    let listed = program(home, &["list"]).output()?;
    let lines = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, home.listed, "a line for each session");
    for id in [&home.claude_id, &home.amplifier_id] {
        let planned = program(home, &["resume", id, "--json"]).output()?;
        let plan = String::from_utf8_lossy(&planned.stdout);
        assert!(plan.contains(id.as_str()) && plan.contains(r#""refusals":[]"#), "a plan without refusals: {plan}");
    }
    Ok(())
}

#[derive(Default)]
struct Times {
    program: Vec<Duration>,
    beside: Vec<Duration>,
    ratios: Vec<f64>,
}

impl Times {
    /// Runs the two in turn; the first pair warms the caches and does not count.
    fn of(home: &Home, args: &[&str], beside: &Beside, pairs: usize) -> io::Result<Self> {
        let mut times = Self::default();
        for pair in 0..=pairs {
            let own = time(&mut program(home, args))?;
            let other = match beside {
                Beside::Floor(stores) => time(Command::new(std::env::current_exe()?).arg(FLOOR).args(stores))?,
                Beside::List => time(&mut program(home, &["list"]))?,
            };
            if pair > 0 {
                times.program.push(own);
                times.beside.push(other);
                times.ratios.push(own.as_secs_f64() / other.as_secs_f64());
            }
        }
        Ok(times)
    }
}

fn program(home: &Home, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("--home").arg(home.path()).args(args);
    command
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// Measures a run from its start to its end, its output read through a pipe.
fn time(command: &mut Command) -> io::Result<Duration> {
    let start = Instant::now();
    let mut child = spawn(command)?;
    read_all(&mut child)?;
    let status = child.wait()?;
    let elapsed = start.elapsed();
    // `doctor` tells by its status that it found something.
    assert!(matches!(status.code(), Some(0 | 4)), "{command:?}: {status}");
    Ok(elapsed)
}

/// Reads as much at a time as a pipe holds, so that the reader holds up nothing.
fn read_all(child: &mut Child) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    while child.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(&mut buffer))? > 0 {}
    Ok(())
}

/// Returns the most memory that a run held, in a run of its own; only Linux tells.
fn peak_memory(home: &Home, args: &[&str]) -> io::Result<Option<u64>> {
    let mut child = spawn(&mut program(home, args))?;
    let status = format!("/proc/{}/status", child.id());
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || stdout.map(|mut stdout| io::copy(&mut stdout, &mut io::sink())));
    let mut peak = None;
    // The figure is gone when the process ends, and may be zero right before.
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kibibytes.map(|kibibytes| kibibytes * 1024));
    }
    // What was read does not matter, only that the program could write it.
    let _ = reader.join();
    Ok(peak)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}
