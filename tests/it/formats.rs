//! Formats: every command that takes `--format` takes the same ones, and a pipe gets whole texts.

use crate::fixtures::{Claude, id};
use crate::world::World;

/// Commands whose answer is a list, which a pipe gets as tsv.
const LISTS: &[&[&str]] = &[
    &["list"],
    &["list", "--archived"],
    &["agents"],
    &["search", "relay"],
    &["search", "relay", "--exact"],
    &["search", "relay", "--sessions"],
    &["search", "relay", "--count"],
    &["stats"],
    &["config"],
    &["pin", "--list"],
    &["undo", "--list"],
    &["doctor", "--list-checks"],
];

/// Commands whose answer is text unless another format is requested.
const TEXTS: &[&[&str]] = &[
    &["show", "latest"],
    &["show", "latest", "--transcript"],
    &["doctor"],
    &["delete", "00000002", "--dry-run"],
    &["cleanup", "--older-than", "1d", "--allow-all", "--dry-run"],
    &["archive", "--every", "--dry-run"],
];

/// Creates a home with a pinned and archived session, another one, and one in the trash.
fn world() -> World {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn(&format!("the relay {}", "of the mails ".repeat(40)), "y"));
    world.add(Claude::session(id(2)).in_dir("/gone").turn("restart the relay", "the relay\tis up, \"twice\""));
    world.add(Claude::session(id(3)).in_dir("/usr").turn("gamma", "y"));
    world.rejoin(["pin", &id(1)]).code(0);
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(3), "--yes"]).code(0);
    world
}

fn in_format(world: &World, args: &[&str], format: &str) -> String {
    world.rejoin([args, &["--format", format]].concat()).code_is_one_of(&[0, 4]).stdout()
}

#[test]
fn piped_list_is_tsv() {
    let world = world();
    for args in LISTS {
        let tsv = world.rejoin(*args).code(0).stdout();
        assert_eq!(tsv, in_format(&world, args, "tsv"), "{args:?}");
        assert!(!tsv.is_empty() && tsv.lines().all(|line| line.contains('\t')), "{args:?}: {tsv}");
        assert_ne!(tsv, in_format(&world, args, "table"), "{args:?}");
    }
}

#[test]
fn piped_answer_without_list_is_text() {
    let world = world();
    for args in TEXTS {
        let text = world.rejoin(*args).code_is_one_of(&[0, 4]).stdout();
        // A printed command has the options of this one.
        assert_eq!(text, in_format(&world, args, "table").replace(" --format table", ""), "{args:?}");
        assert_ne!(text, in_format(&world, args, "tsv"), "{args:?}");
    }
}

#[test]
fn csv_has_header_and_rows_of_tsv() {
    let world = world();
    for args in LISTS.iter().chain(TEXTS) {
        let (csv, tsv) = (in_format(&world, args, "csv"), in_format(&world, args, "tsv"));
        let mut read = csv::Reader::from_reader(csv.as_bytes());
        let columns = read.headers().expect("a header").len();
        let rows: Vec<csv::StringRecord> = read.records().map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), tsv.lines().count(), "{args:?}: {csv}{tsv}");
        assert!(!rows.is_empty(), "{args:?}");
        assert!(tsv.lines().all(|line| line.split('\t').count() == columns), "{args:?}: {csv}{tsv}");
    }
}

#[test]
fn pipe_gets_whole_texts() {
    let world = world();
    let prompt = format!("the relay {}", "of the mails ".repeat(40));
    for args in [&["search", "relay"][..], &["search", "relay", "-x"], &["show", &id(1)], &["list"]] {
        let answer = world.rejoin(args).code(0).stdout();
        assert!(answer.contains(prompt.trim()), "{args:?}: {answer}");
    }
    let archived = world.rejoin(["archive", "--every", "--full", "--dry-run"]).code(0).stdout();
    assert!(!archived.contains('…'), "{archived}");
}

#[test]
fn tsv_escapes_tab_in_text() {
    let world = world();
    let line = world.rejoin(["search", "twice"]).code(0).stdout();
    assert_eq!(line.trim_end().split('\t').count(), 5, "{line}");
}
