//! The picker at terminals of every size, key by key: all keys of the footer and the page of keys work as described.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pty_process::Size;

use crate::fixtures::{Claude, id};
use crate::picker::{leaves, many_sessions};
use crate::picture::{differences, picture_of_stores};
use crate::terminal::{Seat, settings_are_as_before, shell_at, two_sessions};
use crate::world::World;

/// The terminal sizes of the stored pictures.
const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 30), (200, 50)];

/// Opens the picker over many sessions, with a pager that leaves nothing on the screen.
fn open(world: &World, size: (u16, u16)) -> Seat {
    world.install("look", "cat > /dev/null");
    let mut seat = shell_at(world, &[("PAGER", "look")], "resume", size);
    seat.shows("61 of 61 sessions");
    seat
}

/// Returns the highlighted characters of a line.
fn found(screen: &vt100::Screen, row: u16) -> String {
    let cells = (0..screen.size().1.get()).filter_map(|column| screen.cell(row, column));
    cells.filter(|cell| cell.fgcolor() == vt100::Color::Idx(163)).map(vt100::Cell::contents).collect()
}

#[test]
fn footer_keys_and_search_work_at_every_width() {
    for size @ (columns, rows) in SIZES {
        let world = many_sessions();
        let before = picture_of_stores(&world.home());
        let mut seat = open(&world, size);
        // Typing, and its matches.
        seat.types("bskt");
        let screen =
            seat.shows_what(|screen| screen.contains("\n1 of 61 sessions") && !screen.contains("Look at page"));
        assert!(found(screen.screen(), 2).starts_with("bskt"), "{columns} columns");
        seat.types("\x15cookie lost");
        let screen = seat.shows("1 by its messages");
        assert!(screen.contains("    assistant: The cookie was lost."), "{screen}");
        // The terminal is resized, and back again.
        seat.resize(40, 10);
        seat.shows_what(|screen| {
            screen.lines().all(|line| line.chars().count() <= 40) && screen.contains("assistant: The cookie")
        });
        seat.resize(columns, rows);
        seat.shows("^X delete");
        // Pasted bytes are text, even if they contain keys.
        seat.types("\x15");
        seat.shows("\n61 of 61 sessions");
        seat.types("\x1b[200~basket\r\n\x18y\x19\x14\x1b[201~");
        seat.shows("> basket");
        seat.types("\x15");
        seat.shows("\n61 of 61 sessions");
        for (keys, shown) in [
            ("?", "ACT"),
            ("\x1b", "> claude     The basket"),
            ("\t", "61 of 61 sessions, 1 marked"),
            ("\x1b[Z", "61 of 61 sessions, 2 marked"),
            ("\x1b[H\t\x1b[H\x1b[B\t", "\n61 of 61 sessions\n"),
            ("\x13", "largest first"),
            ("\x13", "by directory"),
            ("\x13", "\n61 of 61 sessions\n"),
            ("\x07", "/site  30"),
            ("\x07", "\n61 of 61 sessions\n"),
            ("\x14", "1 session pinned."),
            ("\x14", "1 session unpinned."),
            ("\x18", "Delete 1 session ("),
            ("n", "Nothing was deleted."),
            ("\x12", "starts Claude Code with a briefing"),
            ("\x1b", "> amplifier  Read"),
        ] {
            seat.types(keys);
            seat.shows_what(|screen| format!("{}\n", screen.trim_end()).replace("             ", "\n").contains(shown));
        }
        assert!(world.launched().is_none(), "nothing was launched");
        seat.types("basket\x19");
        let command = format!("cd {} && claude --resume {}", world.dir("shop").display(), id(1));
        seat.sees(&format!("\x1b]52;c;{}\x07", BASE64.encode(command)));
        seat.types("\x0f");
        seat.sees("\x1b[?1049l");
        seat.sees("\x1b[?1049h");
        seat.shows("> basket");
        assert_eq!(world.launched().expect("a pager").argv, ["look"]);
        assert_eq!(differences(&before, &picture_of_stores(&world.home())), Vec::<String>::new());
        seat.types("\r");
        assert_eq!(seat.ends().0, Some(0));
        assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &id(1)]);
        settings_are_as_before(&world);
        leaves(open(&world, size), "\x1b", 130);
        settings_are_as_before(&world);
    }
}

#[test]
fn keys_work_on_screen_of_two_lines() {
    let world = many_sessions();
    let before = picture_of_stores(&world.home());
    world.install("look", "cat > /dev/null");
    let mut seat = shell_at(&world, &[("PAGER", "look")], "resume", (10, 2));
    seat.shows("\n> The ba…");
    seat.types("bskt");
    let screen = seat.shows_what(|screen| screen.contains("> bskt\n> The ba…"));
    assert_eq!(found(screen.screen(), 1), "b…", "what is found is highlighted as far as it is seen");
    seat.types("\x15cookie lost");
    seat.resize(80, 24);
    seat.shows("1 by its messages");
    seat.resize(10, 2);
    seat.shows("\n> The ba…");
    seat.types("\x15\x1b[200~basket\r\x18y\x1b[201~");
    seat.shows("> …");
    seat.types("\x15basket");
    seat.shows("> basket\n> The ba…");
    for (keys, shown) in [
        ("?", "\nACT"),
        ("\x1b", "\n> The ba…"),
        ("\x18", "\nDelete 1…"),
        ("n", "\n> The ba…"),
        ("\t\t\x13\x07", "\n> The ba…"),
    ] {
        seat.types(keys);
        seat.shows(shown);
    }
    // The message is visible when there is enough space again.
    for said in ["1 session pinned.", "1 session unpinned."] {
        seat.types("\x14");
        seat.resize(80, 24);
        seat.shows(said);
        seat.resize(10, 2);
        seat.shows("> basket\n> The");
    }
    seat.types("\x0f");
    seat.sees("\x1b[?1049l");
    seat.sees("\x1b[?1049h");
    seat.types("\x19");
    seat.sees("\x1b]52;c;");
    assert_eq!(differences(&before, &picture_of_stores(&world.home())), Vec::<String>::new());
    assert_eq!(world.launched().expect("a pager").argv, ["look"]);
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], id(1));
    settings_are_as_before(&world);
}

#[test]
fn hangup_of_terminal_ends_picker() {
    for (columns, rows) in SIZES.into_iter().chain([(10, 2)]) {
        let world = two_sessions();
        let (mut pty, other_end) = pty_process::blocking::open().expect("a terminal");
        pty.resize(Size::new(rows, columns)).expect("a size");
        let command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let program = pty_process::blocking::Command::new(command.get_program());
        let mut child = program.arg("resume").env_clear().envs(variables).spawn(other_end).expect("a program");
        let (mut sent, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&sent).contains("Fix th") {
            let count = pty.read(&mut part).expect("a screen");
            sent.extend_from_slice(&part[..count]);
        }
        drop(pty);
        let status = child.wait().expect("an end");
        assert!(matches!(status.code(), Some(129 | 130)), "{status:?}");
        assert!(world.launched().is_none());
    }
}

/// Returns a world with a session of many messages, so that its preview scrolls, and many others.
fn long_talk() -> World {
    let world = many_sessions();
    let long = Claude::session(id(2)).in_dir(world.dir("shop")).at("2026-02-25T10:00:00Z").title("A long talk");
    world.add((1..=30).fold(long, |long, n| long.turn(&format!("ask {n}"), &format!("answer {n}"))));
    world
}

#[test]
fn every_documented_key_works() {
    let world = long_talk();
    world.install("look", "cat > /dev/null");
    let mut seat = shell_at(&world, &[("PAGER", "look")], "resume", (100, 40));
    seat.shows("62 of 62 sessions");
    seat.types("?");
    let page = seat.shows("close this, or leave");
    let keys = page.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let keys: Vec<&str> = keys.map(|line| line[2..26].trim_end()).collect();
    let expected = [
        "enter",
        "^Y",
        "^O",
        "^X",
        "^T",
        "^R",
        "tab",
        "up down ^K ^J ^P ^N",
        "page-up page-down",
        "home end",
        "click",
        "wheel",
        "left right ^B ^F",
        "^A ^E",
        "^W ^U",
        "^D",
        "fix parser",
        "\"fix the\"",
        "agent:claude",
        "dir:shop",
        "since:7d before:2026-03",
        "is:pinned is:dir-gone",
        "tag:shop",
        "!draft -draft",
        "^S",
        "^G",
        "shift-up shift-down",
        "^L ^Z",
        "? F1",
        "esc ^C",
    ];
    assert_eq!(keys, expected.map(|key| &key[..key.len().min(24)]), "a new key needs a line below");
    // Keys with an action are pressed at every width above; these are the others. Each line: the keys, and the expected
    // screen.
    for (keys, shown) in [
        ("?", "> claude     A long talk"),
        ("\x1bOP", "ACT"),
        ("\x1b", "> claude     A long talk"),
        // Move.
        ("\x1b[B", "> claude     The basket"),
        ("\x1b[A", "> claude     A long"),
        ("\x0a", "> claude     The basket"),
        ("\x0b", "> claude     A long"),
        ("\x0e", "> claude     The basket"),
        ("\x10", "> claude     A long"),
        ("\x1b[F", "> claude     Look at page 39"),
        ("\x1b[H", "> claude     A long"),
        ("\x1b[6~\x1b[6~\x1b[6~\x1b[6~", "> claude     Look at page 39"),
        ("\x1b[5~\x1b[5~\x1b[5~\x1b[5~", "> claude     A long"),
        ("\x1b[<0;9;4M\x1b[<0;9;4m", "> claude     The basket"),
        ("\x1b[<64;9;9M", "> claude     A long"),
        ("\x1b[<64;9;30M\x1b[<64;9;30M\x1b[<64;9;30M\x1b[<64;9;30M", "assistant: answer 26\n"),
        ("\x1b[<65;9;30M\x1b[<65;9;30M\x1b[<65;9;30M\x1b[<65;9;30M", "assistant: answer 30"),
        // Scroll the preview, and redraw.
        ("\x1b[1;2A\x1b[1;2A\x1b[1;3A\x1b[1;3A", "assistant: answer 26\n"),
        ("\x1b[1;2B\x1b[1;2B\x1b[1;3B\x1b[1;3B", "assistant: answer 30"),
        ("\x0c", "assistant: answer 30"),
        // Type.
        ("one two", "> one two\n"),
        ("\x01x", "> xone two\n"),
        ("\x05y", "> xone twoy\n"),
        ("\x1b[D\x02z", "> xone twzoy\n"),
        ("\x1b[C\x06w", "> xone twzoyw\n"),
        ("\x01\x04", "> one twzoyw\n"),
        ("\x05\x7f\x17", "> one \n"),
        ("\x15", "> claude     A long"),
        // Find.
        ("page look", "\n30 of 62 sessions"),
        ("\x15\"page look\"", "\n0 of 62 sessions"),
        ("\x15\"look at\"", "\n30 of 62 sessions"),
        ("\x15agent:claude", "\n32 of 62 sessions"),
        ("\x15agent:claude,amplifier", "\n62 of 62 sessions"),
        ("\x15dir:shop", "\n32 of 62 sessions"),
        ("\x15since:7d", "\n1 of 62 sessions"),
        ("\x15is:pinned", "\n0 of 62 sessions"),
        ("\x15is:", "\n62 of 62 sessions"),
        ("\x15!basket", "\n61 of 62 sessions"),
        ("\x15before:2026-02-15", "\n60 of 62 sessions"),
    ] {
        seat.types(keys);
        seat.shows_what(|screen| {
            let lines: String = screen.lines().map(|line| format!("{line}\n")).collect();
            format!("\n{lines}").contains(shown) || (shown == "> one \n" && lines.starts_with("> one\n"))
        });
    }
    assert!(world.launched().is_none());
    let rest = leaves(seat, "\x03", 130);
    assert!(!rest.contains("\x1b]52"), "nothing was copied");
    settings_are_as_before(&world);
}

#[test]
fn global_options_alone_open_the_picker() {
    let world = two_sessions();
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["--home".as_ref(), world.home().as_os_str()]);
    let mut seat = Seat::run(&command, 100, 24);
    seat.shows("2 of 2 sessions");
    leaves(seat, "\x1b", 130);
    let home = world.home();
    world.rejoin(["--home".as_ref(), home.as_os_str()]).code(2);
}
