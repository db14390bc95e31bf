//! Many runs in one process: no run changes the answer of a later one, and a separate process gives the same answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::read_only::{commands_on, commands_on_all, helpful_commands};
use crate::sample_home::sample_home;

/// The exit code, standard output and standard error of a run.
type Given = (Option<i32>, String, String);

/// Runs every command in this order and in the opposite one, so that each runs before and after every other one.
/// Returns the commands whose answers differ.
fn changed_by_order<'c>(commands: &'c [Vec<&'static str>], run: &dyn Fn(&[&str]) -> Given) -> Vec<&'c [&'static str]> {
    let forward: Vec<Given> = commands.iter().map(|words| run(words)).collect();
    let mut backward: Vec<Given> = commands.iter().rev().map(|words| run(words)).collect();
    backward.reverse();
    let differs = forward.iter().zip(&backward).zip(commands).filter(|((one, other), _)| one != other);
    differs.map(|(_, words)| words.as_slice()).collect()
}

#[test]
fn runs_in_one_process_are_independent() {
    let mut commands = commands_on_all();
    commands.extend(commands_on("latest"));
    commands.extend(helpful_commands());
    let world = sample_home();
    let run = |words: &[&str]| {
        let answer = world.rejoin(words);
        (answer.exit(), answer.stdout(), answer.stderr())
    };
    assert_eq!(changed_by_order(&commands, &run), Vec::<&[&str]>::new());
    let sample = || commands.iter().step_by(crate::world::stride(5));
    let here: Vec<Given> = sample().map(|words| run(words)).collect();
    let world = world.with_processes();
    for (words, here) in sample().zip(here) {
        let answer = world.rejoin(words);
        assert_eq!((answer.exit(), answer.stdout(), answer.stderr()), here, "{words:?}");
    }
}

#[test]
fn check_detects_planted_global_state() {
    // A static that the second command changes, and that the first one shows.
    static PLANTED: AtomicUsize = AtomicUsize::new(0);
    let commands = [vec!["list"], vec!["doctor"], vec!["config"]];
    let run = |words: &[&str]| {
        let seen = match words {
            ["doctor"] => PLANTED.fetch_max(1, Ordering::Relaxed),
            ["list"] => PLANTED.load(Ordering::Relaxed),
            _ => 0,
        };
        (Some(0), format!("{seen}"), String::new())
    };
    let found = changed_by_order(&commands, &run);
    assert!(found.contains(&&["list"][..]), "{found:?}");
}
