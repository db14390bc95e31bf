//! The picker at a terminal: searching, previews, actions, and every way to quit.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::process::Signal;

use crate::fixtures::{Amplifier, Claude, id};
use crate::picture::{differences, picture_of_stores};
use crate::sample_home::{NOW, sample_home};
use crate::terminal::{Seat, settings_are_as_before, shell, signal, two_sessions};
use crate::world::World;

/// Starts `resume` at a terminal of this size.
pub(crate) fn open(world: &World, columns: u16, rows: u16) -> Seat {
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    Seat::run(&command, columns, rows)
}

#[track_caller]
pub(crate) fn leaves(mut seat: Seat, key: &str, expected: i32) -> String {
    seat.types(key);
    let (status, rest) = seat.ends();
    assert_eq!(status, Some(expected), "{rest}");
    assert!(rest.ends_with("\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?1049l"), "{rest:?}");
    rest
}

#[test]
fn typed_words_find_session_and_enter_resumes() {
    let world = two_sessions();
    let mut seat = shell(&world, "resume");
    seat.shows("2 of 2 sessions");
    seat.shows("> claude  Fix the parser");
    seat.shows("assistant: It is fixed.");
    seat.types("DOCS wri");
    seat.shows("1 of 2 sessions");
    seat.shows("> claude  Write the docs");
    seat.shows("They are written.");
    seat.types("\r");
    let (status, rest) = seat.ends();
    assert_eq!(status, Some(0), "{rest}");
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["claude", "--resume", &id(2)]);
    assert_eq!(launch.cwd, world.dir("docs"));
    settings_are_as_before(&world);
}

/// Creates a world with many sessions of two agents; one of them is about a basket, in the project `shop`.
pub(crate) fn many_sessions() -> World {
    let world = World::with_agents().keeping();
    let (shop, site) = (world.dir("shop"), world.dir("site"));
    for n in 10..40 {
        let dir = if n % 2 == 0 { &shop } else { &site };
        world.add(Claude::session(id(n)).in_dir(dir).turn(&format!("Look at page {n}"), "Done."));
        world.add(Amplifier::session(id(n + 50)).in_dir(dir).turn(&format!("Read table {n}"), "Done."));
    }
    let asked = "The basket is empty after a login";
    world.add(Claude::session(id(1)).in_dir(&shop).at("2026-02-20T10:00:00Z").turn(asked, "The cookie was lost."));
    world
}

#[test]
fn five_keys_and_enter_resume_the_intended_session() {
    let world = many_sessions();
    let mut seat = shell(&world, "resume");
    seat.shows("61 of 61 sessions");
    seat.types("bsket");
    seat.shows("\n1 of 61 sessions");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &id(1)]);
}

#[test]
fn five_keys_resume_session_of_last_week() {
    let world = many_sessions();
    let (till, site) = (world.dir("till"), world.dir("site"));
    let basket = |n, dir, at: &str, what: &str| Claude::session(id(n)).in_dir(dir).at(at).turn(what, "Done.");
    world.add(basket(2, &till, "2026-02-18T10:00:00Z", "The basket loses a line"));
    world.add(basket(3, &site, "2026-02-28T10:00:00Z", "The basket is slow"));
    world.add(basket(4, &till, "2025-12-10T10:00:00Z", "The basket shows another price"));
    let mut seat = shell(&world, "resume");
    seat.shows("64 of 64 sessions");
    let keys = "ba ti";
    assert_eq!(keys.len(), 5);
    seat.types(keys);
    seat.shows("\n2 of 64 sessions");
    seat.shows("> claude     The basket loses a line");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[2].as_str(), &launch.cwd), (id(2).as_str(), &till));
}

#[test]
fn picker_highlights_matches_and_accepts_filters() {
    let world = many_sessions();
    let mut seat = open(&world, 80, 24);
    seat.shows("61 of 61 sessions");
    seat.types("bskt");
    let screen = seat.shows_what(|screen| screen.contains("\n1 of 61") && !screen.contains("Read table"));
    let row: Vec<(String, vt100::Color)> = (0..80)
        .filter_map(|column| screen.screen().cell(2, column))
        .map(|cell| (cell.contents().to_owned(), cell.fgcolor()))
        .collect();
    let found: String =
        row.iter().filter(|(_, color)| *color == vt100::Color::Idx(163)).map(|(c, _)| c.as_str()).collect();
    assert_eq!(found, "bskt");
    let is_reversed = |row| (0..79).filter_map(|column| screen.screen().cell(row, column)).all(vt100::Cell::inverse);
    assert_eq!([1, 2, 3].map(is_reversed), [false, true, false], "the chosen row is reversed over the whole width");
    for (query, count) in [
        ("agent:amplifier", 30),
        ("agent:amplifier dir:shop", 15),
        ("dir:shop agent:cl", 16),
        ("since:2026-02-15", 1),
        ("exec", 0),
    ] {
        seat.types(&format!("\x15{query}"));
        seat.shows(&format!("\n{count} of 61 sessions"));
    }
    seat.types("\x15since:soon");
    seat.shows("soon is neither an age nor a date");
    leaves(seat, "\x1b", 130);
}

#[test]
fn picker_searches_messages_after_a_delay() {
    let world = many_sessions();
    let mut seat = open(&world, 100, 24);
    seat.shows("61 of 61 sessions");
    seat.types("cookie lost");
    let screen = seat.shows("\n1 of 61 sessions (1 by its messages)");
    assert!(screen.contains("> claude     The basket is empty after a login"), "{screen}");
    assert!(screen.contains("assistant: The cookie was lost."), "{screen}");
    // With one more letter, the text no longer matches the message.
    seat.types("x");
    seat.shows("0 of 61 sessions");
    seat.types("\x7f");
    seat.shows("1 by its messages");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], id(1));
}

#[test]
fn enter_takes_the_only_session_with_the_word() {
    let world = sample_home();
    world.install("claude", "");
    let mut seat = open(&world, 100, 24);
    seat.shows("15 of 15 sessions");
    seat.types("relay");
    let screen = seat.shows("1 by its messages");
    assert!(screen.contains("> claude     Find out why cron mails stopped"), "{screen}");
    assert!(screen.contains("→ relay=none, status=deferred"), "{screen}");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], "5a1e0c74-9d2b-4c83-b7f6-2e8d1a0f3b95");
}

#[test]
fn picker_matches_word_forms_and_explains_no_match() {
    let world = World::new();
    let talk = Claude::session(id(1)).in_dir(world.dir("app")).title("Oil the hinge");
    world.add(talk.turn("The gate squeaks", "ok").turn("x", "The relay was rusty."));
    let gates = Claude::session(id(2)).in_dir(world.dir("app")).title("All about gates");
    world.add(gates.turn("the gates", "are shut"));
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    // The words are in two messages, and in other forms.
    seat.types("relays squeak");
    let screen = seat.shows("1 of 2 sessions (1 by its messages)");
    assert!(screen.contains("> claude  Oil the hinge"), "{screen}");
    // The title contains the word, so the message with it is not shown.
    seat.types("\x15gates");
    let screen = seat.shows("2 of 2 sessions (1 by its messages)");
    assert!(screen.contains("> claude  All about gates"), "{screen}");
    assert!(screen.contains("user: The gate squeaks") && !screen.contains("    user: the gates"), "{screen}");
    seat.types("\x15realy");
    seat.shows("0 of 2 sessions, nothing has \"realy\", but \"relay\" would match");
    seat.types("\x15rusty shut");
    seat.shows("0 of 2 sessions, 2 with 1 of the 2 words");
    leaves(seat, "\x1b", 130);
}

#[test]
fn filters_and_excluded_words_apply_to_messages() {
    let world = World::new();
    let talk = Claude::session(id(1)).in_dir(world.dir("app")).title("Oil the hinge");
    world.add(talk.turn("The gate squeaks", "ok").turn("x", "The relay was rusty."));
    world.add(Amplifier::session(id(2)).in_dir(world.dir("app")).turn("hinges", "none is loose"));
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("hinge !loose");
    let screen = seat.shows("1 of 2 sessions");
    assert!(screen.contains("> claude     Oil the hinge"), "{screen}");
    seat.types("\x15hinge !rusty");
    seat.shows("1 of 2 sessions");
    seat.shows("> amplifier  hinges");
    seat.types("\x15agent:amplifier relay");
    seat.shows("0 of 2 sessions, no session that passes the filters has \"relay\"");
    leaves(seat, "\x1b", 130);
}

#[test]
fn picker_finds_message_written_later() {
    let world = two_sessions();
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("nowhere");
    seat.shows("0 of 2 sessions, nothing has \"nowhere\"");
    let longer = Claude::session(id(2)).in_dir(world.dir("docs")).turn("Write the docs", "They are written.");
    world.add(longer.turn("and now?", "It is nowhere."));
    seat.types("\x15nowhere");
    seat.shows("1 of 2 sessions (1 by its messages)");
    leaves(seat, "\x1b", 130);
}

#[test]
fn every_size_shows_highlighted_session_and_keys() {
    let world = two_sessions();
    for (columns, rows) in [(60, 20), (80, 24), (120, 30), (200, 50)] {
        let mut seat = open(&world, columns, rows);
        let screen = seat.shows("assistant: It is fixed.");
        assert!(screen.contains("2 of 2 sessions") && screen.contains("> claude  Fix the parser"), "{screen}");
        let last = screen.lines().last().unwrap_or_default();
        assert!(last.starts_with("enter resume  ? all keys  ^Y copy  ^O open  ^X delete"), "{screen}");
        let beside = screen.lines().any(|line| line.starts_with("> claude") && line.contains('│'));
        assert_eq!(beside, columns > 170, "{screen}");
        seat.types("?");
        seat.shows("ACT");
        seat.types("\x1b");
        seat.shows("> claude  Fix the parser");
        leaves(seat, "\x1b", 130);
    }
    let mut seat = open(&world, 10, 2);
    seat.shows("\n> Fix th…");
    seat.types("docs");
    seat.shows("> docs\n> Write …");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], id(2));
}

#[test]
fn wider_terminals_never_show_less_of_a_title() {
    let world = sample_home();
    let mut least = 0;
    for columns in [60, 80, 100, 112, 140, 160, 180, 200] {
        let mut command = world.from(world.home()).with("REJOIN_NOW", NOW).command(env!("CARGO_BIN_EXE_rejoin"));
        command.arg("resume");
        let mut seat = Seat::run(&command, columns, 24);
        let screen = seat.shows_what(|screen| screen.contains("15 of 15 sessions") && screen.contains("restore last"));
        let screen = screen.screen().contents();
        let line = screen.lines().find(|line| line.contains("restore last")).expect("the session");
        let title = line.split("restore last").nth(1).and_then(|rest| rest.split("  ").next()).expect("a title");
        let shown = "restore last".len() + title.trim_end_matches('…').chars().count();
        assert!(shown >= least, "{columns} columns: {screen}");
        assert!(line.contains("no info"), "{columns} columns: {screen}");
        least = match columns {
            ..80 => 15,
            80..112 => 22,
            _ => "restore last night's dump into a scratch".len(),
        };
        leaves(seat, "\x1b", 130);
    }
}

#[test]
fn arrows_work_after_the_terminal_shrinks() {
    let world = two_sessions();
    let mut seat = shell(&world, "resume --print");
    seat.shows("> claude  Fix the parser");
    for (key, expected) in [
        ("\x1b[B", "> claude  Write"),
        ("\x0b", "> claude  Fix"),
        ("\n", "> claude  Write"),
        ("\x10", "> claude  Fix"),
        ("\x0e", "> claude  Write"),
        ("\x1b[H", "> claude  Fix"),
        ("\x1b[6~", "> claude  Write"),
    ] {
        seat.types(key);
        seat.shows(expected);
    }
    seat.resize(20, 2);
    seat.shows("\n> Write the docs");
    seat.types("\x1b[A");
    seat.shows("> Fix the parser");
    seat.types("\r");
    let (status, rest) = seat.ends();
    assert_eq!(status, Some(0), "{rest}");
    assert!(rest.contains(&format!("claude --resume {}", id(1))), "{rest}");
    settings_are_as_before(&world);
}

#[test]
fn escape_and_ctrl_c_launch_nothing() {
    for key in ["\x1b", "\x03"] {
        let world = two_sessions();
        let mut seat = shell(&world, "resume");
        seat.shows("2 of 2 sessions");
        leaves(seat, key, 130);
        assert!(world.launched().is_none());
        settings_are_as_before(&world);
    }
}

#[test]
fn signal_ends_picker_and_restores_terminal() {
    for (sent, expected) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let world = two_sessions();
        let mut seat = shell(&world, "resume");
        seat.shows("2 of 2 sessions");
        signal(&world, sent);
        let (status, rest) = seat.ends();
        assert_eq!(status, Some(expected), "{rest}");
        assert!(rest.ends_with("\x1b[?1049l"), "{rest:?}");
        assert!(world.launched().is_none());
        settings_are_as_before(&world);
    }
}

#[test]
fn ctrl_z_suspends_the_picker() {
    let world = two_sessions();
    let mut command = world.from(world.dir("elsewhere")).with("PS1", "ready> ").command("/bin/sh");
    command.arg("-im");
    let mut seat = Seat::run(&command, 100, 24);
    seat.types(&format!("{} resume\r", env!("CARGO_BIN_EXE_rejoin")));
    seat.shows("2 of 2 sessions");
    seat.types("\x1a");
    seat.sees("Stopped");
    seat.types("fg\r");
    seat.shows("2 of 2 sessions");
    seat.types("docs");
    seat.shows("1 of 2 sessions");
    seat.types("\x03");
    seat.sees("1049l");
    // A return that is typed in raw mode ends no line of the shell.
    seat.sees("ready> ");
    seat.types("exit\r");
    assert!(seat.ends().0.is_some());
    assert!(world.launched().is_none());
}

#[test]
fn filters_limit_the_picker() {
    let world = two_sessions();
    world.add(Amplifier::session(id(3)).in_dir(world.dir("docs")).turn("Name the thing", "Named."));
    let mut seat = shell(&world, "resume --agent amplifier");
    seat.shows("1 of 1 session");
    leaves(seat, "\x1b", 130);
    let (status, output) = shell(&world, "resume --since 1h").ends();
    assert_eq!(status, Some(5));
    assert!(output.contains("no session passes the filters"), "{output}");
}

#[test]
fn resume_without_capable_terminal_needs_a_session() {
    let world = two_sessions();
    world.rejoin(["resume"]).code(2).stdout_eq("").stderr_eq(snapbox::str![[r#"
error: no SESSION was given, and there is no terminal to pick one from
hint: name a session, or use `latest` for the newest; run `rejoin list` to see them

"#]]);
    assert_eq!(world.rejoin(["resume", "--json"]).code(2).error().code, "usage");
    let mut command = world.with("TERM", "dumb").command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    let (status, output) = Seat::run(&command, 80, 24).ends();
    assert_eq!(status, Some(2));
    assert!(output.contains("this terminal cannot show a list") && !output.contains('\x1b'), "{output:?}");
    assert!(world.launched().is_none());
}

#[test]
fn pasted_newline_is_text() {
    let world = two_sessions();
    let mut seat = open(&world, 80, 24);
    seat.shows("2 of 2 sessions");
    assert!(seat.sent().contains("\x1b[?2004h"), "what is pasted is told apart");
    seat.types("\x1b[200~write\r\n\x18y the\x19\x1b[201~");
    seat.shows("> write");
    seat.types("\x15");
    seat.shows("2 of 2 sessions");
    // A terminal without bracketed paste sends pasted text like keys.
    seat.types("write\rthe docs");
    seat.shows("> write the docs");
    leaves(seat, "\x1b", 130);
    assert!(world.launched().is_none());
}

#[test]
fn ten_thousand_random_bytes_do_nothing() {
    let world = two_sessions();
    let before = picture_of_stores(&world.home());
    let mut seat = open(&world, 80, 24);
    seat.shows("2 of 2 sessions");
    // Enter, the keys of the footer, and those that quit.
    let keys = [b'\r', 0x19, 0x18, 0x14, 0x0f, 0x12, 0x03, 0x1b];
    let mut number = 1_u32;
    let mut bytes = Vec::new();
    while bytes.len() < 10_000 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let byte = number.to_be_bytes()[0];
        match byte {
            byte if !keys.contains(&byte) => bytes.push(byte),
            // Key sequences that the picker ignores, and those of a mouse.
            0x1b => bytes.extend_from_slice(b"\x1b[<0;10;20M"),
            0x03 => bytes.extend_from_slice(b"\x1b[24;5~"),
            _ => {}
        }
    }
    for part in bytes.chunks(500) {
        seat.types_bytes(part);
    }
    seat.types_bytes(b"\x01\x15\x05\x15marked");
    seat.shows("> marked");
    let sent = leaves(seat, "\x1b\x1b", 130);
    assert!(!sent.contains("\x1b]52"), "nothing was copied");
    assert!(world.launched().is_none());
    assert_eq!(differences(&before, &picture_of_stores(&world.home())), Vec::<String>::new());
    assert!(!world.home().join(".local/state/rejoin/pins.json").exists());
}

#[test]
fn second_click_resumes_and_wheel_scrolls() {
    let world = two_sessions();
    let mut seat = shell(&world, "resume");
    seat.shows("> claude  Fix the parser");
    // Columns and rows count from 1; the second session is in row 4.
    seat.types("\x1b[<0;20;4M\x1b[<0;20;4m");
    seat.shows("> claude  Write the docs");
    seat.types("\x1b[<64;20;4M");
    seat.shows("> claude  Fix the parser");
    seat.types("\x1b[<0;20;3M\x1b[<0;20;3m\x1b[<0;20;4M\x1b[<0;20;4m");
    seat.shows("> claude  Write the docs");
    assert!(world.launched().is_none(), "two clicks on different sessions resume neither");
    seat.types("\x1b[<0;20;4M\x1b[<0;20;4m");
    let (status, sent) = seat.ends();
    assert_eq!(status, Some(0), "{sent}");
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &id(2)]);
    let (on, off) = (sent.rfind("\x1b[?1000h"), sent.rfind("\x1b[?1006l\x1b[?1000l"));
    assert!(on.is_some() && on < off, "{sent:?}");
    settings_are_as_before(&world);
}

#[test]
fn picker_copies_command_through_terminal() {
    let world = two_sessions();
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("\x19");
    let command = format!("cd {} && claude --resume {}", world.dir("parser").display(), id(1));
    seat.sees(&format!("\x1b]52;c;{}\x07", BASE64.encode(command)));
    seat.shows("Copied: cd ");
    seat.types("\t\t\x19");
    seat.sees(&format!("\x1b]52;c;{}\x07", BASE64.encode(format!("claude:{} claude:{}", id(1), id(2)))));
    leaves(seat, "\x1b", 130);
    assert!(world.launched().is_none());
}

#[test]
fn picker_continues_after_a_pager() {
    let world = two_sessions();
    let shown = world.root().join("shown");
    world.install("look", &format!("cat > '{}'", shown.display()));
    let mut command = world.with("PAGER", "look -x").command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    let mut seat = Seat::run(&command, 80, 24);
    seat.shows("2 of 2 sessions");
    seat.types("docs\x0f");
    // The picker enters the alternate screen again.
    seat.sees("\x1b[?1049l");
    seat.sees("\x1b[?1049h");
    seat.shows("> docs");
    leaves(seat, "\x1b", 130);
    assert_eq!(world.launched().expect("a pager").argv, ["look", "-x"]);
    let text = std::fs::read_to_string(shown).expect("a text");
    assert!(text.contains(&id(2)) && text.contains("launch dir") && text.contains("They are written."), "{text}");
}

#[test]
fn picker_deletion_asks_and_can_be_undone() {
    let world = two_sessions();
    let before = picture_of_stores(&world.home());
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("docs\x18");
    let screen = seat.shows("Delete 1 session");
    let named = screen.lines().find(|line| line.contains("Write the docs")).unwrap_or_default();
    assert!(named.contains("claude, ") && named.contains("/docs") && named.contains("2026-02-01"), "{screen}");
    seat.types("\r");
    seat.shows("Nothing was deleted.");
    assert_eq!(differences(&before, &picture_of_stores(&world.home())), Vec::<String>::new());
    seat.types("\x18");
    seat.shows("Delete 1 session");
    seat.types("y");
    seat.shows("1 session removed; `rejoin undo` restores it");
    seat.types("\x15");
    seat.shows("1 of 1 session");
    leaves(seat, "\x1b", 130);
    assert_eq!(world.rejoin(["list"]).code(0).stdout().lines().count(), 1);
    world.rejoin(["undo"]).code(0);
    assert_eq!(world.rejoin(["list"]).code(0).stdout().lines().count(), 2);
}

#[test]
fn picker_marks_and_keeps_pinned_session() {
    let world = two_sessions();
    let mut seat = open(&world, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("\x14");
    seat.shows("1 session pinned.");
    seat.shows("Fix the parser  pinned");
    seat.types("is:pinned");
    seat.shows("1 of 2 sessions");
    seat.types("\x15");
    seat.shows("2 of 2 sessions");
    assert!(world.rejoin(["pin", "--list"]).code(0).stdout().contains(&id(1)));
    seat.types("\x18");
    seat.shows("It is pinned; ^T unpins it.");
    seat.types("\x14");
    seat.shows("1 session unpinned.");
    assert!(!world.rejoin(["pin", "--list"]).code(0).stdout().contains(&id(1)));
    leaves(seat, "\x1b", 130);
}

#[test]
fn picker_has_keys_for_marks_order_and_groups() {
    let world = many_sessions();
    let mut seat = open(&world, 80, 24);
    seat.shows("61 of 61 sessions");
    seat.types("\t\t");
    seat.shows("61 of 61 sessions, 2 marked");
    seat.types("\x13");
    seat.shows("2 marked, largest first");
    seat.types("\x13");
    seat.shows("2 marked, by directory");
    seat.types("\x1b[H\x07");
    seat.shows("/shop  31");
    leaves(seat, "\x1b", 130);
}

#[test]
fn picker_explains_refused_resume_and_offers_actions() {
    let world = two_sessions();
    let gone = world.dir("repo/gone");
    std::fs::create_dir(world.dir("repo").join(".git")).expect("a directory");
    world.add(Claude::session(id(3)).in_dir(&gone).at("2026-02-20T10:00:00Z").turn("Move the house", "Moved."));
    std::fs::remove_dir(&gone).expect("no directory");
    let mut seat = open(&world, 120, 24);
    seat.shows("dir gone");
    seat.shows("its launch directory does not exist here");
    seat.types("house\r");
    let screen = seat.shows("> rejoin resume");
    let command = format!("> rejoin resume claude:{} --in {}", id(3), world.dir("repo").display());
    assert!(screen.contains(&command), "{screen}");
    assert!(screen.contains("the repository that it was part of"), "{screen}");
    seat.types("\x1b");
    seat.shows("> house");
    assert!(world.launched().is_none());
    seat.types("\r");
    seat.shows("> rejoin resume");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[2].as_str(), launch.cwd.as_path()), (id(3).as_str(), world.dir("repo").as_path()));
}

#[test]
fn resume_offers_other_directories_at_a_terminal() {
    let world = two_sessions();
    let gone = world.dir("repo/gone");
    std::fs::create_dir(world.dir("repo").join(".git")).expect("a directory");
    world.add(Claude::session(id(3)).in_dir(&gone).at("2026-02-20T10:00:00Z").turn("Move the house", "Moved."));
    std::fs::remove_dir(&gone).expect("no directory");
    let resumed = || {
        let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["resume", &id(3)]);
        Seat::run(&command, 160, 24)
    };
    let mut seat = resumed();
    let way = format!("> rejoin resume claude:{} --in {}", id(3), world.dir("repo").display());
    let screen = seat.shows(&way);
    assert_eq!(screen.matches(&way[2..]).count(), 1, "each directory once: {screen}");
    seat.types("\x1b");
    assert_eq!(seat.ends().0, Some(130));
    assert!(world.launched().is_none());
    let mut seat = resumed();
    seat.shows(&way);
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").cwd, world.dir("repo"));
    // Nobody can choose in a script.
    let refused = world.rejoin(["resume", &id(3)]).code(7).stderr();
    assert!(refused.contains("does not exist"), "{refused}");
}

#[test]
fn picker_offers_to_create_missing_directory() {
    let world = two_sessions();
    let gone = world.dir("gone");
    world.add(Amplifier::session(id(3)).in_dir(&gone).turn("Move the house", "Moved."));
    std::fs::remove_dir(&gone).expect("no directory");
    let mut seat = open(&world, 120, 24);
    seat.shows("3 of 3 sessions");
    seat.types("house\r");
    let screen = seat.shows(&format!("mkdir -p {}", gone.display()));
    assert!(screen.contains("creates it again, empty") && !screen.contains("--in "), "{screen}");
    seat.types("\x1b");
    seat.shows("> house");
    leaves(seat, "\x1b", 130);
}

#[test]
fn picker_starts_another_agent_with_briefing() {
    let world = two_sessions();
    let mut seat = open(&world, 120, 24);
    seat.shows("2 of 2 sessions");
    seat.types("docs\x12");
    seat.shows("No other agent that takes a briefing is installed.");
    leaves(seat, "\x1b", 130);

    world.install("codex", "");
    world.install("gemini", "");
    let mut seat = open(&world, 120, 24);
    seat.shows("2 of 2 sessions");
    seat.types("docs");
    seat.shows("1 of 2 sessions");
    for back in ["\x1b", "\x03"] {
        seat.types("\x12");
        let screen = seat.shows(&format!("> rejoin resume claude:{} --with codex", id(2)));
        assert!(screen.contains(&format!("Continue claude session {} with another agent", id(2))), "{screen}");
        assert!(screen.contains("starts Codex with a briefing on it, as a new session"), "{screen}");
        assert!(!screen.contains("--with claude") && !screen.contains("--with qwen"), "{screen}");
        seat.types(back);
        seat.shows_what(|screen| screen.contains("> docs") && !screen.contains("another agent"));
    }
    assert!(world.launched().is_none());
    seat.types("\x12");
    seat.shows("--with gemini");
    seat.types("\x1b[B");
    seat.shows(&format!("> rejoin resume claude:{} --with gemini", id(2)));
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[0].as_str(), &launch.cwd), ("gemini", &world.dir("docs")));
    assert!(launch.argv[2].starts_with(&format!("Continues claude session {} ", id(2))), "{:?}", launch.argv);
}

#[test]
fn picker_opened_with_agent_starts_it() {
    let world = two_sessions();
    world.install("codex", "");
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["resume", "--with", "codex"]);
    let mut seat = Seat::run(&command, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.types("docs\x19");
    seat.shows(&format!("Copied: rejoin resume claude:{} --with codex", id(2)));
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[0], "codex");
}

#[test]
fn picker_marks_message_on_another_branch() {
    let world = two_sessions();
    let talk = Claude::session(id(3)).in_dir(world.dir("parser")).chained().title("Walk");
    let talk = talk.turn("start", "Started.").turn("the lantern went out", "Light it.").back_to(2);
    world.add(talk.turn("the bridge is closed", "Go around."));
    let mut seat = open(&world, 100, 24);
    seat.shows("3 of 3 sessions");
    seat.types("lantern");
    let screen = seat.shows_what(|screen| screen.matches("user (branch 2): the lantern went out").count() == 2);
    assert!(screen.screen().contents().contains("\nuser: the bridge is closed"), "the active branch has no number");
    seat.types("\x15bridge closed");
    seat.shows("    user: the bridge is closed");
    leaves(seat, "\x1b", 130);
}

#[test]
fn no_color_disables_colors_in_picker() {
    let world = two_sessions();
    let mut command = world.with("NO_COLOR", "1").command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    let mut seat = Seat::run(&command, 80, 24);
    seat.shows("> claude  Fix the parser");
    let sent = leaves(seat, "\x1b", 130);
    let codes = sent.split("\x1b[").skip(1).filter_map(|part| part.split_once('m')).map(|(code, _)| code);
    let codes: Vec<&str> =
        codes.filter(|code| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')).collect();
    assert!(codes.iter().all(|code| *code == "0"), "{codes:?}");
}

#[test]
fn picker_writes_nothing() {
    let world = two_sessions();
    let before = picture_of_stores(&world.home());
    let mut seat = open(&world, 80, 24);
    seat.shows("It is fixed.");
    seat.types("docs");
    seat.shows("They are written.");
    leaves(seat, "\x1b", 130);
    assert_eq!(differences(&before, &picture_of_stores(&world.home())), Vec::<String>::new());
    assert!(!Path::new(&world.home()).join(".local").exists());
}

#[test]
fn ambiguous_words_open_the_picker() {
    let world = many_sessions();
    let mut seat = shell(&world, "resume look page");
    seat.shows("\n30 of 61 sessions");
    seat.types(" 17");
    seat.shows("\n1 of 61 sessions");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], id(17));
    // A session picked for another command is not resumed.
    let mut seat = shell(&world, "show table");
    seat.shows("\n30 of 61 sessions");
    assert!(seat.shows("enter show").contains("> table"));
    seat.types(" 39\r");
    let (status, rest) = seat.ends();
    assert_eq!(status, Some(0), "{rest}");
    assert!(rest.contains(&format!("amplifier \u{1b}[1m{}", id(89))), "{rest}");
    assert!(world.launched().is_none());
}

#[test]
fn search_pick_shows_the_matching_message() {
    let world = many_sessions();
    let talk =
        Claude::session(id(2)).in_dir(world.dir("site")).turn("Paint the gate", "The hinge was rusty, so I oiled it.");
    world.add((1..=40).fold(talk, |talk, n| talk.turn(&format!("next {n}"), &format!("done {n}"))));
    let mut seat = shell(&world, "search hinge rusty");
    let (status, printed) = seat.ends();
    assert_eq!(status, Some(0), "{printed}");
    assert!(printed.contains("`rejoin search hinge rusty --pick` opens the picker at them."), "{printed}");
    seat = shell(&world, "search --agent claude hinge rusty --pick");
    seat.shows("1 of 32 sessions (1 by its messages)");
    let screen = seat.shows_what(|screen| screen.matches("hinge").count() == 3).screen().contents();
    assert!(screen.contains("> hinge rusty\n"), "{screen}");
    assert!(screen.contains("assistant: The hinge was rusty, so I oiled it.\n"), "{screen}");
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(world.launched().expect("a launch").argv[2], id(2));
    let error = world.rejoin(["search", "hinge", "--pick"]).code(2).stderr();
    assert!(error.contains("no terminal to pick one from") && error.contains("leave out --pick"), "{error}");
    world.rejoin(["search", "hinge", "--pick", "--json"]).code(2);
    world.rejoin(["search", "hinge", "--pick", "--regex"]).code(2);
}

#[test]
fn no_command_opens_picker_or_prints_help() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("the relay", "ok"));
    let help = world.rejoin([""; 0]).code(0).stderr_eq("").stdout();
    assert!(help.contains("Usage: rejoin") && help.contains("resume"), "{help}");
    let command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    let mut seat = Seat::run(&command, 100, 24);
    seat.shows("1 of 1 session");
    leaves(seat, "\x03", 130);
}

#[test]
fn words_without_command_open_picker_with_them() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("elsewhere")).turn("the relay", "ok"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("the lamp", "it flickers"));
    for (args, typed, count) in [
        ("relay", "> relay", "1 of 2 sessions"),
        ("flickers lamp", "> flickers lamp", "1 of 2 sessions"),
        ("0000", "> 0000", "2 of 2 sessions"),
        ("--here", "> ", "1 of 1 session"),
        ("--agent claude relay", "> relay", "1 of 2 sessions"),
    ] {
        let mut seat = shell(&world, args);
        let screen = seat.shows(count);
        assert!(screen.contains(typed), "{args}: {screen}");
        leaves(seat, "\x1b", 130);
    }
    // Sessions are not searched for a mistyped command.
    for (args, tip) in [
        ("lst", "a similar subcommand exists"),
        ("dleete 0000", "a similar subcommand"),
        ("trash", "`rejoin undo --list`"),
    ] {
        let (status, screen) = shell(&world, args).ends();
        assert_eq!(status, Some(2), "{args}: {screen}");
        assert!(screen.contains(tip), "{args}: {screen}");
    }
    let stderr = world.rejoin(["cron", "it's"]).code(2).stderr();
    assert!(stderr.contains("tip: `rejoin search cron \"it's\" --pick` looks for it in every session"), "{stderr}");
    assert!(world.launched().is_none());
}
