//! Draws the growth of time and memory with the number of sessions.

use std::fs;
use std::io;
use std::path::Path;

use crate::home::{Home, Mix};
use crate::measure::{FLOORS, Times, Versus, floor, median, milliseconds, peak_memory, program};
use crate::plot::{Line, draw as picture};

/// The path of the picture.
const PICTURE: &str = "docs/pictures/growth.svg";
/// Numbers of sessions, each with the number of measured pairs.
const SIZES: [(usize, usize); 6] = [(1_000, 15), (3_000, 11), (10_000, 9), (30_000, 7), (100_000, 5), (300_000, 3)];

/// Measures listings of Claude Code's sessions compared with the floor, and draws them.
pub(crate) fn draw(is_quick: bool) -> io::Result<()> {
    let commands: [(&str, &[&str]); 2] = [("list", &["list"]), ("list --json", &["list", "--json"])];
    let names = commands.iter().map(|(name, _)| *name).chain(["floor"]);
    let mut times: Vec<Line> = names.map(|name| Line { name: name.to_owned(), points: Vec::new() }).collect();
    let mut memory: Vec<Line> = times.iter().map(|line| Line { name: line.name.clone(), points: Vec::new() }).collect();
    println!("command              sessions         ms  peak MB");
    for (sessions, pairs) in SIZES.into_iter().take(if is_quick { 3 } else { SIZES.len() }) {
        let home = Home::generate(Mix::Claude, sessions)?;
        let mut put = |line: usize, name: &str, milliseconds: f64, bytes: Option<u64>| {
            let megabytes = bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
            println!("{name:<20} {sessions:>8}  {milliseconds:>9.1}  {megabytes:>7.1}");
            times[line].points.push((sessions as f64, milliseconds));
            memory[line].points.push((sessions as f64, megabytes));
        };
        let mut versus = Vec::new();
        for (line, (name, args)) in commands.iter().enumerate() {
            let measured = Times::of(&home, args, &Versus::Floor(home.stores()), pairs)?;
            versus.extend(measured.versus);
            put(line, name, milliseconds(median(measured.program)), peak_memory(&mut program(&home, args))?);
        }
        let peak = peak_memory(&mut floor(FLOORS[0].0, &home.stores())?)?;
        put(commands.len(), "floor", milliseconds(median(versus)), peak);
    }
    let drawn = picture(&[("Time of a whole run, in ms", times), ("Peak memory, in MB", memory)]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PICTURE);
    fs::write(&path, drawn)?;
    println!("{}", path.display());
    Ok(())
}
