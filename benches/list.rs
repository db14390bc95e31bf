//! Measures whole runs of the program over generated homes, compared with a floor that only opens the files.
//!
//! `cargo bench --bench list` measures homes of 1,000 and 10,000 sessions, with `-- --quick` only the first, with
//! `-- --large` listings of homes of 100,000 (2 to 4 GB), with `-- --cleanup` only plans of cleanups, with
//! `-- --agents` each agent by itself, and with `-- --transcripts` homes of transcripts and no other files (3 GB).
//! `-- --write DIR SESSIONS [all|claude|in-place|sizes|small|huge]` only writes a home, for other tools; `-- --plot`
//! draws the growth of time and memory (12 GB), and `-- --check FILE` compares the ratios of a small home with those
//! in a file, which `-- --keep FILE` writes. Each run is followed by one of the floor, or of `list` if that is the
//! reference, so that other load of the machine affects both. Without `--bench`, which only `cargo bench` passes, one
//! small home of each kind is run once as a test.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark lays out its own files, opens them as plainly as can be and prints what it found"
)]

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

mod floor;
mod growth;
mod home;
mod measure;
mod plot;
mod ratios;

use home::{Home, Mix};
use measure::{FLOORS, Times, Versus, median, milliseconds, peak_memory, program};

/// Targets by which the table is read; they decide nothing here, because machines differ.
const LIST_TARGET: &str = "ratio <= 1.8, goal 1.5";
const JSON_TARGET: &str = "ratio <= 2.2";
const NEWEST_TARGET: &str = "ratio <= 1.6";
const DOCTOR_TARGET: &str = "ratio <= 2, 64 MiB";
const RESUME_TARGET: &str = "<= 20 ms at 10,000";
const CLEANUP_TARGET: &str = "ratio <= 1.5, 128 MiB";
/// A word that no session contains.
const ABSENT: &str = "qqzzqq";
/// About half of the sessions of a home were last active before that day.
const HALF: &str = "2026-04-01";

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if let Some((_, least)) = args.first().and_then(|arg| FLOORS.iter().find(|(name, _)| arg == name)) {
        return floor::run(*least, &args[1..]);
    }
    if has("--list") {
        // A test runner asks which tests there are.
        return Ok(());
    }
    if let Some(at) = args.iter().position(|arg| arg == "--write") {
        let [dir, sessions] = [1, 2].map(|next| args.get(at + next).map_or("", String::as_str));
        fs::create_dir_all(dir)?;
        let mix = match args.get(at + 3).map(String::as_str) {
            Some("claude") => Mix::Claude,
            Some("in-place") => Mix::ClaudeInPlace,
            Some("sizes") => Mix::ClaudeOfAllSizes,
            Some("small") => Mix::Small,
            Some("huge") => Mix::Huge,
            _ => Mix::All,
        };
        let home = Home::generate_in(Path::new(dir), mix, sessions.parse().map_err(io::Error::other)?)?;
        let (files, bytes) = home.size();
        println!("{}: {files} files, {:.0} MB", home.path().display(), bytes as f64 / 1e6);
        return Ok(());
    }
    let file = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).map(Path::new);
    match (file("--check"), file("--keep")) {
        (Some(file), _) => return ratios::check(file),
        (None, Some(file)) => return ratios::keep(file),
        (None, None) => {}
    }
    if has("--plot") {
        return growth::draw(has("--quick"));
    }
    println!("command              sessions  rejoin ms  versus ms  ratio  of CPU  peak MB  target");
    let sizes: &[(usize, usize)] = match (has("--bench"), has("--quick")) {
        (false, _) => &[(60, 1)],
        (true, true) => &[(1_000, 31)],
        (true, false) => &[(1_000, 31), (10_000, 15)],
    };
    if !has("--bench") {
        measure_transcripts(Mix::Small, 60, 1)?;
    }
    if has("--large") {
        [Mix::Claude, Mix::All].into_iter().try_for_each(|mix| measure_lists(mix, 100_000, 10))?;
        return measure_newest(100_000, 10);
    }
    if has("--transcripts") {
        measure_transcripts(Mix::Small, 10_000, 11)?;
        return measure_transcripts(Mix::Huge, 40, 5);
    }
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

fn measure(sessions: usize, pairs: usize, each_agent: bool) -> io::Result<()> {
    measure_lists(Mix::Claude, sessions, pairs)?;
    measure_newest(sessions, pairs)?;

    let home = Home::generate(Mix::All, sessions)?;
    check(&home)?;
    row(&home, "list, all agents", &["list"], &Versus::Floor(home.stores()), pairs, LIST_TARGET)?;
    let resume = ["resume", &home.claude_id, "--json"];
    row(&home, "resume", &resume, &Versus::Floor(home.stores()), pairs, RESUME_TARGET)?;
    row(&home, "doctor, all agents", &["doctor"], &Versus::List, pairs, DOCTOR_TARGET)?;
    measure_cleanup(&home, pairs)?;
    for (agent, store) in home.agents().into_iter().filter(|_| each_agent) {
        row(&home, &format!("  {agent}"), &["list", "--agent", agent], &Versus::Floor(vec![store]), pairs, "")?;
    }
    say_size(&home);
    Ok(())
}

/// Measures every form of a listing; for many sessions, the memory matters.
fn measure_lists(mix: Mix, sessions: usize, pairs: usize) -> io::Result<()> {
    let home = Home::generate(mix, sessions)?;
    println!("{}", if mix == Mix::All { "sessions of all agents" } else { "sessions of Claude Code alone" });
    for (name, args, target) in [
        ("list", &["list"][..], LIST_TARGET),
        ("list --format ndjson", &["list", "--format", "ndjson"], JSON_TARGET),
        ("list --json", &["list", "--json"], JSON_TARGET),
    ] {
        row(&home, name, args, &Versus::Floor(home.stores()), pairs, target)?;
    }
    say_size(&home);
    Ok(())
}

/// Measures transcripts and no other files, so that the floor opens exactly the files that `list` reads.
fn measure_transcripts(mix: Mix, sessions: usize, pairs: usize) -> io::Result<()> {
    let home = Home::generate(mix, sessions)?;
    println!("{}", if mix == Mix::Huge { "transcripts of 60 MB" } else { "transcripts of 17 kB" });
    let floor = Versus::Floor(home.stores());
    row(&home, "list", &["list"], &floor, pairs, "ratio <= 2.3")?;
    row(&home, "list --json", &["list", "--json"], &floor, pairs, "ratio <= 2.7")?;
    row(&home, "stats", &["stats"], &Versus::List, pairs, "ratio <= 3")?;
    row(&home, "doctor", &["doctor"], &Versus::List, pairs, "ratio <= 2.5")?;
    if Command::new("rg").arg("--version").output().is_ok() {
        let rg = Versus::Ripgrep(ABSENT, home.stores());
        row(&home, "search, no hit", &["search", "--exact", ABSENT], &rg, pairs, "ratio <= 2")?;
    }
    say_size(&home);
    Ok(())
}

/// Measures commands that need only the newest sessions or one of them, with files written in place.
fn measure_newest(sessions: usize, pairs: usize) -> io::Result<()> {
    let home = Home::generate(Mix::ClaudeInPlace, sessions)?;
    check_newest(&home)?;
    println!("sessions of Claude Code alone, written in place");
    let [.., (times, _), (names, _)] = FLOORS;
    for (name, args, floor) in [
        ("list --limit 20", &["list", "--limit", "20"][..], times),
        ("resume latest", &["resume", "latest", "--json"], times),
        ("resume (Claude)", &["resume", &home.claude_id, "--json"], names),
    ] {
        row(&home, name, args, &Versus::Less(floor, home.stores()), pairs, NEWEST_TARGET)?;
    }
    say_size(&home);
    Ok(())
}

/// Plans only: removed sessions would have to be created again.
fn measure_cleanup(home: &Home, pairs: usize) -> io::Result<()> {
    for (name, before) in
        [("cleanup, none go", "2020-01-01"), ("cleanup, half go", HALF), ("cleanup, all go", "2036-01-01")]
    {
        let args = ["cleanup", "--dry-run", "--allow-all", "--older-than", before];
        row(home, name, &args, &Versus::List, pairs, CLEANUP_TARGET)?;
    }
    Ok(())
}

fn row(home: &Home, name: &str, args: &[&str], versus: &Versus, pairs: usize, target: &str) -> io::Result<()> {
    let times = Times::of(home, args, versus, pairs)?;
    let of_cpu = times.ratio_of_cpu();
    println!(
        "{name:<20} {:>8}  {:>9.1}  {:>9.1}  {:>5.2}  {:>6}  {:>7}  {target}",
        home.listed,
        milliseconds(median(times.program)),
        milliseconds(median(times.versus)),
        median(times.ratios),
        of_cpu.map_or("?".to_owned(), |ratio| format!("{ratio:.2}")),
        peak_memory(&mut program(home, args))?.map_or("?".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6)),
    );
    Ok(())
}

fn say_size(home: &Home) {
    let (files, bytes) = home.size();
    println!("  the stores: {files} files, {:.0} MB", bytes as f64 / 1e6);
}

/// Checks that the program did its work; otherwise a number means nothing.
fn check(home: &Home) -> io::Result<()> {
    let listed = program(home, &["list"]).output()?;
    let lines = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, home.listed, "a line for each session");
    let id = &home.claude_id;
    let planned = program(home, &["resume", id, "--json"]).output()?;
    let plan = String::from_utf8_lossy(&planned.stdout);
    assert!(plan.contains(id.as_str()) && plan.contains(r#""refusals":[]"#), "a plan without refusals: {plan}");
    Ok(())
}

/// Checks that the newest sessions are the first among all.
fn check_newest(home: &Home) -> io::Result<()> {
    let [all, newest] = [&["list"][..], &["list", "--limit", "20"]].map(|args| program(home, args).output());
    let all = String::from_utf8_lossy(&all?.stdout).lines().take(20).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(String::from_utf8_lossy(&newest?.stdout).lines().collect::<Vec<_>>(), all);
    Ok(())
}
