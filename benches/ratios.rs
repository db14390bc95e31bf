//! Ratios of small homes, compared with stored ones: times depend on the machine, ratios on the program.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::home::{Home, Mix};
use crate::measure::{Times, Versus, median};

/// Number of sessions in the homes.
const SESSIONS: usize = 1_000;
/// Number of runs of each command.
const PAIRS: usize = 7;
/// Maximum growth of a ratio compared with the stored one.
const LOSS: f64 = 1.3;
/// The processor time is counted in steps, which are a large part of a short run.
const STEP: f64 = 0.05;

type Ratios = BTreeMap<String, f64>;

/// Fails if a ratio is much larger than the stored one, also in two more measurements: the smallest counts.
pub(crate) fn check(file: &Path) -> io::Result<()> {
    let kept = read(file)?;
    let mut measured = measure()?;
    let is_lost = |measured: &Ratios, name: &String| {
        measured.get(name).zip(kept.get(name)).is_none_or(|(own, kept)| *own > kept * LOSS + STEP)
    };
    for _ in 0..2 {
        if !kept.keys().any(|name| is_lost(&measured, name)) {
            break;
        }
        println!("once more, for something else may have disturbed it");
        for (name, again) in measure()? {
            measured.entry(name).and_modify(|ratio| *ratio = ratio.min(again));
        }
    }
    let mut lost = Vec::new();
    for (name, kept_ratio) in &kept {
        let own = measured.get(name).copied().unwrap_or(f64::NAN);
        println!("{name:<28} {own:>6.2}, kept {kept_ratio:.2}");
        if is_lost(&measured, name) {
            lost.push(name.as_str());
        }
    }
    if lost.is_empty() && !kept.is_empty() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "slower by more than 30 %: {}; if that is meant to be, `.ci/bench --keep`",
            lost.join(", ")
        )))
    }
}

/// Writes the measured ratios to the file.
pub(crate) fn keep(file: &Path) -> io::Result<()> {
    let lines = measure()?.into_iter().map(|(name, ratio)| format!("{name}\t{ratio:.2}\n"));
    fs::write(file, lines.collect::<String>())
}

fn read(file: &Path) -> io::Result<Ratios> {
    let text = fs::read_to_string(file)?;
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(name, ratio)| Ok((name.to_owned(), ratio.parse().map_err(io::Error::other)?))).collect()
}

fn measure() -> io::Result<Ratios> {
    let mut ratios = Ratios::new();
    let mut put = |home: &Home, name: &str, args: &[&str], versus: &Versus| -> io::Result<()> {
        let times = Times::of(home, args, versus, PAIRS)?;
        // On a busy machine, the processor time is more reliable than the clock.
        ratios.insert(name.to_owned(), times.ratio_of_cpu().unwrap_or_else(|| median(times.ratios)));
        Ok(())
    };
    let home = Home::generate(Mix::All, SESSIONS)?;
    put(&home, "list to floor", &["list"], &Versus::Floor(home.stores()))?;
    put(&home, "list --json to list", &["list", "--json"], &Versus::List)?;
    put(&home, "doctor to list", &["doctor"], &Versus::List)?;
    put(&home, "search to list", &["search", "nowhere-to-be-found"], &Versus::List)?;
    put(
        &home,
        "cleanup to list",
        &["cleanup", "--dry-run", "--allow-all", "--older-than", "2036-01-01"],
        &Versus::List,
    )?;
    put(&home, "archive plan to list", &["archive", "--every", "--dry-run"], &Versus::List)?;
    let moved = format!("{}=/moved", home.path().join("work").display());
    put(&home, "move plan to list", &["move", "--map", &moved, "--dry-run"], &Versus::List)?;
    let home = Home::generate(Mix::ClaudeInPlace, 3 * SESSIONS)?;
    put(&home, "list --limit 20 to list", &["list", "--limit", "20"], &Versus::List)?;
    put(&home, "resume ID to list", &["resume", &home.claude_id, "--json"], &Versus::List)?;
    Ok(ratios)
}
