//! The screens of changes: a plan is an overview, a result one or two lines, and every line breaks between words.

use crate::fixtures::{Claude, Codex, id, put};
use crate::pictures::{Size, assert_picture, at_terminal, picture};
use crate::sample_home::sample_home;
use crate::world::World;

const WIDTHS: [u16; 4] = [60, 80, 120, 200];

/// Commands whose output is written for a terminal, in an order in which each changes something.
const CHANGES: &[&[&str]] = &[
    &["tag", "c7e8", "+shop"],
    &["rename", "licence", "Licences of the packages"],
    &["delete", "8e7d", "--dry-run"],
    &["delete", "8e7d", "--yes"],
    &["undo", "--dry-run"],
    &["undo", "--yes"],
    &["move", "/opt/shop", "/usr/share", "--dry-run"],
    &["move", "/opt/shop", "/usr/share", "--yes"],
    &["doctor", "--fix", "--dry-run"],
    &["doctor", "--fix", "--yes"],
    &["cleanup", "--any-age", "--allow-all", "--dry-run"],
    &["cleanup", "--any-age", "--allow-all", "--yes"],
    &["undo", "--yes"],
    &["undo", "--purge", "--every", "--yes"],
];

#[test]
fn screens_of_plans_and_results_match_snapshots() {
    for columns in WIDTHS {
        let (world, size) = (sample_home(), Size { columns, rows: 90 });
        let mut screen = String::new();
        for args in CHANGES {
            let (_, sent) = at_terminal(&world, size, args).ends();
            screen.push_str(&format!("$ rejoin {}\r\n{}", args.join(" "), without_fingerprints(&sent)));
        }
        assert_picture(&format!("tests/it/screens/changes-{columns}.svg"), &picture(&world, size, "", &screen));
    }
}

/// Replaces the fingerprints of plans, which differ with every world, by zeros.
fn without_fingerprints(sent: &str) -> String {
    let mut pieces = sent.split("--apply ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        text + "--apply " + &"0".repeat(piece.len() - rest.len()) + rest
    })
}

/// Removes the codes of colours.
fn plain(sent: &str) -> String {
    let mut pieces = sent.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or(piece, |(_, rest)| rest))
}

#[test]
fn every_line_of_a_change_breaks_between_words() {
    let others: &[&[&str]] = &[
        &["backfill", "--every"],
        &["archive", "--every", "--dry-run"],
        &["sync", "--dry-run"],
        &["cleanup", "--any-age", "--allow-all", "--dry-run", "--all-items"],
        &["doctor"],
        &["doctor", "--all-findings"],
        &["show", "licence"],
    ];
    for columns in WIDTHS {
        let (world, size) = (sample_home(), Size { columns, rows: 90 });
        for args in others.iter().chain(CHANGES) {
            let (_, sent) = at_terminal(&world, size, args).ends();
            for line in plain(&sent).split("\r\n").filter(|line| !line.contains('\r')) {
                // A path or a command is pasted whole, and so is a word.
                let text = line.trim();
                let is_whole = !text.contains(' ') || line.starts_with("    ") || text.contains(['/', '`']);
                assert!(line.chars().count() <= columns.into() || is_whole, "{columns} {args:?}: {line}");
            }
        }
    }
}

#[test]
fn cleanup_plan_shows_ten_sessions_and_totals() {
    let world = World::new();
    for number in 1..=40 {
        world.add(Claude::session(id(number)).in_dir("/usr/bin").turn("an old one", "yes"));
    }
    for number in 41..=50 {
        world.add(Codex::session(id(number)).in_dir("/usr/lib").turn("an old one", "yes"));
    }
    let plan = |columns, more: &[&str]| {
        let args = ["cleanup", "--any-age", "--allow-all", "--dry-run"].iter().chain(more);
        world.on_terminal(columns, args).code(0).stdout()
    };
    for columns in WIDTHS {
        let shown = plan(columns, &[]);
        assert!(shown.starts_with("AGENT") && shown.contains("\nand 40 more\n"), "{shown}");
        assert!(
            shown.contains("\nBy agent: claude 40 (") && shown.contains("50 sessions would be removed,"),
            "{shown}"
        );
        assert!(shown.contains(" --apply ") && shown.lines().count() <= 24, "{shown}");
        assert_eq!(plan(columns, &["--all-items"]).matches("would remove  ").count(), 50);
    }
    // A pipe gets all items.
    let piped = world.rejoin(["cleanup", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert_eq!(piped.matches("would remove  ").count(), 50, "{piped}");
}

#[test]
fn terminal_result_names_session_or_counts_by_agent() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("second", "yes"));
    world.add(Codex::session(id(3)).in_dir("/usr/lib").turn("last", "yes"));
    let run = |args: &[&str]| plain(&world.on_terminal(200, args).code(0).stdout());
    assert_eq!(
        run(&["tag", &id(1), "+shop"]),
        "tagged  claude 00000001  +shop\n`rejoin undo 20260301-120000` undoes this.\n"
    );
    let removed = run(&["delete", &id(1), "--yes"]);
    let [line, undo, space] = removed.lines().collect::<Vec<_>>()[..] else { panic!("{removed}") };
    assert!(line.starts_with("removed  claude 00000001  ") && line.ends_with("  first"), "{removed}");
    assert_eq!(undo, "`rejoin undo 20260301-120000-2` undoes this.");
    let free = "`rejoin cleanup` frees the space after 14 days; `rejoin undo --purge 20260301-120000-2` frees it now.";
    assert_eq!(space, free);
    let restored = run(&["undo", "--yes"]);
    assert_eq!(restored, "restored  claude 00000001  first\nRun 20260301-120000-2 (delete): 1 restored.\n");
    let removed = run(&["delete", &id(1), &id(2), &id(3), "--yes"]);
    assert!(removed.starts_with("3 sessions (claude 2, codex 1) removed, "), "{removed}");
    let restored = run(&["undo", "--yes"]);
    assert_eq!(restored, "Run 20260301-120000-3 (delete): 3 (claude 2, codex 1) restored.\n");
    // Only removed items are restored.
    let undone = run(&["undo", "20260301-120000", "--yes"]);
    assert!(undone.ends_with("Run 20260301-120000 (tag): 1 undone.\n"), "{undone}");
}

#[test]
fn removal_plan_shows_the_chosen_copy() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes").filed_under("-elsewhere"));
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes").title("Newest title").turn("x", "y"));
    let shown = plain(&world.on_terminal(120, ["delete", &id(1), "--dry-run"]).code(0).stdout());
    assert!(shown.contains("  Newest title  "), "{shown}");
}

#[test]
fn delete_prints_trash_retention_of_config() {
    let world = World::new();
    put(&world.home().join(".config/rejoin/config.toml"), "[cleanup]\ntrash-keep = \"30d\"\n");
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    let stdout = world.rejoin(["delete", &id(1), "--yes"]).code(0).stdout();
    assert!(stdout.contains("\n`rejoin cleanup` frees the space after 30 days; "), "{stdout}");
}

#[test]
fn terminal_fix_result_is_short() {
    let (world, size) = (sample_home(), Size { columns: 120, rows: 50 });
    let (_, sent) = at_terminal(&world, size, &["doctor", "--fix", "--yes"]).ends();
    let sent = plain(&sent);
    assert!(sent.starts_with("5 problems (amplifier 4, claude 1) repaired, "), "{sent}");
    assert!(sent.contains("7 other problems need a decision; `rejoin doctor` names them."), "{sent}");
    assert_eq!(sent.lines().count(), 3, "{sent}");
}

#[test]
fn terminal_result_reports_permanent_deletion() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    let shown = plain(&world.on_terminal(120, ["delete", &id(1), "--permanent", "--yes"]).code(0).stdout());
    assert!(shown.contains("1 session deleted permanently, ") && !shown.contains("trash"), "{shown}");
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("second", "yes"));
    let piped = world.rejoin(["delete", &id(2), "--permanent", "--yes"]).code(0).stdout();
    assert!(piped.contains(".jsonl  (deleted permanently, "), "{piped}");
}

#[test]
fn undo_plan_names_refused_items() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "yes"));
    let path = world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("second", "yes"));
    world.rejoin(["delete", &id(1), &id(2), "--yes"]).code(0);
    put(&path, "newer\n");
    let shown = plain(&world.on_terminal(120, ["undo", "--dry-run"]).stdout());
    assert!(shown.contains("refused  claude 00000002") && shown.contains("exists again"), "{shown}");
    assert!(shown.contains("Nothing was changed."), "{shown}");
}

#[test]
fn terminal_result_names_every_failure() {
    let world = World::new();
    let numbers = 1..=14;
    let ids: Vec<String> = numbers.clone().map(id).collect();
    let add = |number| world.add(Claude::session(id(number)).in_dir("/usr/bin").turn("first", "yes"));
    let paths: Vec<_> = numbers.map(add).collect();
    world.rejoin(["delete", "--yes"].into_iter().chain(ids.iter().map(String::as_str))).code(0);
    paths.iter().for_each(|path| put(path, "newer\n"));
    let shown = plain(&world.on_terminal(120, ["undo", "--yes"]).code(7).stdout());
    assert_eq!(shown.matches("refused  claude ").count(), 14, "{shown}");
}
