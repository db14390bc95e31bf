//! The pager at a terminal: output longer than the screen, line breaks between words, distinct speakers, and every way
//! to quit.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::fixtures::{Claude, id};
use crate::terminal::{Seat, settings_are_as_before, shell_at, signal};
use crate::world::World;

/// Creates a world with a long conversation, and a pager that stores its input and its flags.
fn with_pager() -> (World, PathBuf) {
    let world = World::new();
    let long = "When the relay is back, flush the queue and look at the mails that are missing since Sunday.";
    let talk = Claude::session(id(1)).in_dir("/usr");
    world.add((0..20).fold(talk, |talk, at| talk.turn(&format!("{at}. {long}"), &format!("{at} is done. {long}"))));
    let shown = world.root().join("shown");
    world.install(
        "look",
        &format!("cat > '{0}'\necho \"$LESS $LESSCHARSET\" > '{0}.flags'\necho LOOKED", shown.display()),
    );
    (world, shown)
}

fn open(world: &World, pager: &str, args: &[&str], (columns, rows): (u16, u16)) -> Seat {
    let mut command = world.with("PAGER", pager).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(args);
    Seat::run(&command, columns, rows)
}

#[test]
fn long_answer_goes_to_the_pager() {
    let (world, shown) = with_pager();
    for args in [
        &["show", "-t", &id(1)][..],
        &["show", &id(1)],
        &["search", "relay", "--context", "1"],
        &["search", "--exact", "relay"],
        &["help", "marks"],
        &["help", "list"],
        &["stats"],
    ] {
        let _ = std::fs::remove_file(&shown);
        let (status, sent) = open(&world, "look -x", args, (60, 5)).ends();
        assert_eq!((status, sent.trim()), (Some(0), "LOOKED"), "{args:?}");
        assert_eq!(world.launched().expect("a pager").argv, ["look", "-x"]);
        let text = std::fs::read_to_string(&shown).expect("a text");
        assert!(text.lines().count() > 4, "{args:?}: {text}");
        assert_eq!(std::fs::read_to_string(shown.with_extension("flags")).expect("flags"), "FRX utf-8\n");
    }
}

#[test]
fn short_answer_needs_no_pager() {
    let (world, shown) = with_pager();
    let (status, sent) = open(&world, "look", &["show", &id(1)], (200, 40)).ends();
    assert_eq!(status, Some(0), "{sent}");
    assert!(sent.contains("launch dir") && !shown.exists(), "{sent}");
    let (status, sent) = open(&world, "look", &["list"], (60, 12)).ends();
    assert!(status == Some(0) && sent.contains(&id(1)[..8]) && !shown.exists(), "{sent}");
}

/// With `q` in a pager, the totals and the command that undoes the change would never be seen.
#[test]
fn result_of_change_needs_no_pager() {
    let (world, shown) = with_pager();
    for number in 2..9 {
        world.add(Claude::session(id(number)).in_dir("/usr").turn("old", "gone"));
    }
    let ids: Vec<String> = (2..9).map(id).collect();
    let removal: Vec<&str> = ["delete", "--yes"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    for args in [removal.as_slice(), &["undo", "--yes"]] {
        let (status, sent) = open(&world, "look", args, (60, 4)).ends();
        assert_eq!(status, Some(0), "{sent}");
        assert!(!shown.exists() && sent.contains("20260301-120000"), "{args:?}: {sent}");
    }
}

#[test]
fn run_prints_everything_without_pager() {
    let (world, shown) = with_pager();
    for pager in ["cat", "", " "] {
        let (status, sent) = open(&world, pager, &["show", "-t", &id(1)], (60, 8)).ends();
        assert!(status == Some(0) && sent.contains("19 is done."), "{pager:?}: {sent}");
    }
    // A pipe and a terminal without cursor movement have no pager.
    world.with("PAGER", "look").rejoin(["show", "-t", &id(1)]).code(0);
    let mut command = world.with("PAGER", "look").with("TERM", "dumb").command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["show", "-t", &id(1)]);
    let (status, sent) = Seat::run(&command, 60, 8).ends();
    assert!(status == Some(0) && sent.contains("19 is done."), "{sent}");
    // The pager is a program that does not exist, and there is no other one.
    let mut command = world.with("PAGER", "nowhere").command(env!("CARGO_BIN_EXE_rejoin"));
    command.env("PATH", "/no/such/place").args(["show", "-t", &id(1)]);
    let (status, sent) = Seat::run(&command, 60, 8).ends();
    assert!(status == Some(0) && sent.contains("19 is done."), "{sent}");
    assert!(!shown.exists());
}

#[test]
fn no_word_of_pager_reaches_a_shell() {
    let (world, _) = with_pager();
    let (status, sent) = open(&world, "look $(touch evil) `touch evil`", &["show", "-t", &id(1)], (60, 8)).ends();
    assert!(status == Some(0), "{sent}");
    assert_eq!(world.launched().expect("a pager").argv, ["look", "$(touch", "evil)", "`touch", "evil`"]);
    assert!(!world.home().join("evil").exists() && !world.dir("elsewhere").join("evil").exists());
}

#[test]
fn closing_the_pager_early_is_not_an_error() {
    let (world, _) = with_pager();
    let big = "many words to read ".repeat(20_000);
    world.add(Claude::session(id(2)).in_dir("/usr").turn("Write much", &big));
    world.install("quit", "head -n 1");
    let (status, sent) = shell_at(&world, &[("PAGER", "quit")], &format!("show -t {}", id(2)), (80, 24)).ends();
    assert_eq!(status, Some(0), "{sent}");
    assert_eq!(sent.lines().count(), 1, "{sent}");
    settings_are_as_before(&world);
}

#[test]
fn interrupt_reaches_pager_and_rejoin_waits() {
    let (world, _) = with_pager();
    // The shell handles a signal only when `read` is interrupted.
    world.install("wait", "trap 'echo INTERRUPTED' INT\ncat > /dev/null\n(sleep 0.3; echo READY) &\nuntil [ -n \"$line\" ]; do read -r line < /dev/tty; done\necho \"GOT $line\"");
    let show = || shell_at(&world, &[("PAGER", "wait")], &format!("show -t {}", id(1)), (80, 8));
    let mut seat = show();
    seat.sees("READY");
    seat.types("\x03");
    seat.sees("INTERRUPTED");
    seat.types("more\n");
    let (status, sent) = seat.ends();
    assert!(status == Some(0) && sent.contains("GOT more"), "{sent}");
    let mut seat = show();
    seat.sees("READY");
    signal(&world, Signal::TERM);
    seat.types("on\n");
    seat.sees("GOT on");
    assert_eq!(seat.ends().0, Some(143), "the signal ends it");
}

#[test]
fn notes_follow_the_pager() {
    let (world, shown) = with_pager();
    world.add(Claude::session(id(3)).in_dir("/no/such/place").turn("Gone", "ok").torn());
    (10..40).for_each(|n| drop(world.add(Claude::session(id(n)).in_dir("/usr").turn("x", "y"))));
    let (status, sent) = open(&world, "look", &["list", "--limit", "30"], (80, 12)).ends();
    assert_eq!(status, Some(0), "{sent}");
    let (_, notes) = sent.split_once("LOOKED\r\n").expect("a pager");
    assert!(notes.contains("2 more; --limit 0 shows all."), "{sent}");
    assert!(!std::fs::read_to_string(shown).expect("a table").contains("more; --limit"));
}

#[test]
fn paged_text_wraps_and_marks_speakers() {
    let (world, _) = with_pager();
    let (_, sent) = open(&world, "cat", &["--color", "never", "show", "-t", &id(1)], (60, 8)).ends();
    let text = sent.replace("\r\n", "\n");
    let expected = "\
> 0. When the relay is back, flush the queue and look at the
> mails that are missing since Sunday.

assistant";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n  0 is done. When the relay is back,"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    let (_, sent) = open(&world, "cat", &["show", "-t", &id(1)], (60, 8)).ends();
    assert!(sent.contains("\x1b[1m\x1b[38;5;163muser\x1b[0m") && sent.contains("\x1b[1massistant\x1b[0m"), "{sent:?}");
}
