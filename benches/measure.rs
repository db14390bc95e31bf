//! Runs the program and its comparison in turn.

use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::floor::Least;
use crate::home::Home;

/// Options that make this program the floor; the stores follow.
pub(crate) const FLOORS: [(&str, Least); 3] =
    [("--floor", Least::Ends), ("--floor-of-times", Least::Times), ("--floor-of-names", Least::Names)];

/// The comparison for a command.
pub(crate) enum Versus {
    /// The floor of these stores.
    Floor(Vec<PathBuf>),
    /// A program that only reads the times or the names in them.
    Less(&'static str, Vec<PathBuf>),
    /// The list of the same home.
    List,
    /// `rg`, counting a word in these directories.
    Ripgrep(&'static str, Vec<PathBuf>),
}

#[derive(Default)]
pub(crate) struct Times {
    pub(crate) program: Vec<Duration>,
    pub(crate) versus: Vec<Duration>,
    pub(crate) ratios: Vec<f64>,
    /// The processor time of all counted runs of each, in ticks: on a busy machine, it is more reliable than the clock.
    cpu: [Option<u64>; 2],
}

impl Times {
    /// Runs the two in turn; the first pair warms the caches and does not count.
    pub(crate) fn of(home: &Home, args: &[&str], versus: &Versus, pairs: usize) -> io::Result<Self> {
        let mut times = Self { cpu: [Some(0); 2], ..Self::default() };
        for pair in 0..=pairs {
            let ticks = [children_ticks()];
            let own = time(&mut program(home, args))?;
            let ticks = [ticks[0], children_ticks()];
            let other = match versus {
                Versus::Floor(stores) => time(&mut floor(FLOORS[0].0, stores)?)?,
                Versus::Less(name, stores) => time(&mut floor(name, stores)?)?,
                Versus::List => time(&mut program(home, &["list"]))?,
                Versus::Ripgrep(word, dirs) => time(Command::new("rg").args(["-j2", "-c", word]).args(dirs))?,
            };
            if pair > 0 {
                times.program.push(own);
                times.versus.push(other);
                times.ratios.push(own.as_secs_f64() / other.as_secs_f64());
                for (sum, (before, after)) in
                    times.cpu.iter_mut().zip([(ticks[0], ticks[1]), (ticks[1], children_ticks())])
                {
                    *sum = sum.and_then(|sum| Some(sum + after? - before?));
                }
            }
        }
        Ok(times)
    }

    /// Returns the ratio of the processor times, if the system reports them.
    pub(crate) fn ratio_of_cpu(&self) -> Option<f64> {
        let [own, versus] = self.cpu;
        versus.filter(|ticks| *ticks > 0).zip(own).map(|(versus, own)| own as f64 / versus as f64)
    }
}

pub(crate) fn program(home: &Home, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("--home").arg(home.path()).args(args);
    command
}

pub(crate) fn floor(name: &str, stores: &[PathBuf]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(name).args(stores);
    Ok(command)
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
    // Exit statuses of programs that worked: `rg` found nothing, `doctor` found something, or a part of a plan is
    // impossible.
    assert!(matches!(status.code(), Some(0 | 1 | 3 | 4)), "{command:?}: {status}");
    Ok(elapsed)
}

/// Reads up to a pipe's capacity at a time, so that the reader does not delay the program.
fn read_all(child: &mut Child) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    while child.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(&mut buffer))? > 0 {}
    Ok(())
}

/// Returns the processor time of the runs that have ended, in ticks; only Linux reports it.
fn children_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain blanks; the 14th and 15th fields after it are the times.
    let mut fields = stat.rsplit(") ").next()?.split(' ').skip(13).map(str::parse::<u64>);
    Some(fields.next()?.ok()? + fields.next()?.ok()?)
}

/// Returns the peak memory of a run, in a separate run; only Linux reports it.
pub(crate) fn peak_memory(command: &mut Command) -> io::Result<Option<u64>> {
    let mut child = spawn(command)?;
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
    // The output does not matter, only that the program could write it.
    let _ = reader.join();
    Ok(peak)
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values[values.len() / 2]
}
