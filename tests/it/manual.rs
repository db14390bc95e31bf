//! Man pages and topics of help: their sections, and every example in them, run.

use std::path::Path;

use crate::sample_home::{NOW, sample_home};
use crate::world::{World, is_tried};

/// Returns the sections of a page, in order, each with its text as a terminal shows it.
fn sections(page: &str) -> Vec<(String, String)> {
    let plain = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\*(Aq", "'").replace("\\&", "");
    let plain = ["\\fB", "\\fI", "\\fR"].iter().fold(plain, |text, font| text.replace(font, "")).replace("\\e", "\\");
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in plain.lines().filter(|line| !line.starts_with(".ie") && !line.starts_with(".el")) {
        match line.strip_prefix(".SH ") {
            Some(title) => sections.push((title.trim_matches('"').to_owned(), String::new())),
            None => sections.iter_mut().last().into_iter().for_each(|(_, text)| *text += &format!("{line}\n")),
        }
    }
    sections
}

/// Returns a man page; a unit test of the command line keeps it up to date.
pub(crate) fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(format!("{name}.1"));
    std::fs::read_to_string(path).expect("a page")
}

fn pages() -> Vec<(String, Vec<(String, String)>)> {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("man")).expect("pages");
    let names = files.map(|file| file.expect("a page").path().file_stem().expect("a name").display().to_string());
    names.map(|name| (name.clone(), sections(&page(&name)))).collect()
}

#[test]
fn every_man_page_has_usual_sections_in_order() {
    let pages = pages();
    assert!(pages.len() > 30, "{}", pages.len());
    for (name, sections) in &pages {
        let titles: Vec<&str> = sections.iter().map(|(title, _)| title.as_str()).collect();
        let known = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "ARGUMENTS",
            "OPTIONS",
            "GLOBAL OPTIONS",
            "SUBCOMMANDS",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "EXAMPLES",
            "SEE ALSO",
            "VERSION",
        ];
        let expected: Vec<&str> = known.into_iter().filter(|title| titles.contains(title)).collect();
        assert_eq!(titles, expected, "{name}");
        for title in ["SYNOPSIS", "GLOBAL OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"] {
            let (_, text) =
                sections.iter().find(|(known, _)| known == title).unwrap_or_else(|| panic!("{name}: {title}"));
            assert!(!text.trim().is_empty(), "{name} says nothing in {title}");
        }
    }
}

#[test]
fn synopsis_lists_own_options_before_global_ones() {
    let page = sections(&page("rejoin-delete"));
    let (_, synopsis) = page.iter().find(|(title, _)| title == "SYNOPSIS").expect("a synopsis");
    let words = synopsis.replace(".B ", "").replace('\n', " ");
    let words = words.trim();
    assert!(words.starts_with("rejoin delete [--copy N|PATH…] [-a|--agent AGENT…] [--dir DIR] "), "{words}");
    assert!(words.ends_with(" [--format FORMAT] [--json] [GLOBAL OPTIONS] SESSION…"), "{words}");
    assert!(words.contains(" [--dry-run] [--apply FINGERPRINT] ") && words.contains(" [-y|--yes] "), "{words}");
}

#[test]
fn see_also_names_existing_pages() {
    let pages = pages();
    for (name, sections) in &pages {
        let (_, text) = sections.iter().find(|(title, _)| title == "SEE ALSO").expect("a section");
        let named: Vec<&str> = text.split(',').filter_map(|page| page.trim().strip_suffix("(1)")).collect();
        assert!(!named.is_empty() && !named.contains(&name.as_str()), "{name}: {named:?}");
        for page in named {
            assert!(pages.iter().any(|(known, _)| known == page), "{name} sends to {page}");
        }
    }
}

/// Returns the examples of a page.
pub(crate) fn examples(name: &str) -> Vec<String> {
    let sections = sections(&page(name));
    let (_, text) = sections.iter().find(|(title, _)| title == "EXAMPLES").expect("a section");
    let shown = text.split(".nf\n.RS 4\n").skip(1).filter_map(|part| part.split("\n.RE").next());
    shown.map(str::to_owned).collect()
}

#[test]
fn every_example_of_a_page_works_as_described() {
    let mut count = 0;
    for (name, _) in pages() {
        for example in &examples(&name) {
            count += 1;
            if !is_tried(count, 2) {
                continue;
            }
            let world = sample_home();
            world.install("claude", "");
            for args in [&["archive", "8e7d"][..], &["delete", "8e7d", "--yes"], &["pin", "31c5"]] {
                world.from(world.home()).with("REJOIN_NOW", NOW).rejoin(args).code(0);
            }
            std::fs::create_dir_all(world.home().join("sessions/a")).expect("a directory");
            let session = world.home().join(".jido_code/sessions/b1a2c3d4-e5f6-4789-8abc-def012345678.json");
            std::fs::rename(session, world.home().join("session.json")).expect("a session");
            // This example would need a terminal for the picker.
            if example == "rejoin resume" {
                continue;
            }
            let program = Path::new(env!("CARGO_BIN_EXE_rejoin")).parent().expect("a directory").display();
            let line = format!("PATH={program}:$PATH; {example}");
            let answer = world.from(world.home()).with("REJOIN_NOW", NOW).run("/bin/sh", ["-c", &line]);
            // Placeholders that cannot be filled in, and findings, also have exit codes.
            let expected: &[i32] = match example.as_str() {
                _ if example.starts_with("rejoin doctor") => &[0, 4],
                _ if example.starts_with("rejoin backfill") => &[0, 3],
                _ => &[0],
            };
            assert!(
                answer.exit().is_some_and(|code| expected.contains(&code)),
                "{name}: {example}\n{}",
                answer.stderr()
            );
            assert!(!answer.stderr().contains("error:"), "{name}: {example}\n{}", answer.stderr());
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn help_lists_every_topic_with_text() {
    let world = World::new();
    let help = world.rejoin(["help"]).code(0).stdout();
    for topic in ["all", "sessions", "filters", "words", "marks", "options", "config", "exit-codes"] {
        assert!(help.contains(topic), "{help}");
        let told = world.rejoin(["help", topic]).code(0).stdout();
        assert!(told.lines().count() > 5 && told.lines().all(|line| line.chars().count() <= 400), "{told}");
    }
    world.rejoin(["help", "nothing"]).code(2);
    for (typed, near) in [("serach", "search"), ("filtres", "filters"), ("exit-code", "exit-codes"), ("wrods", "words")]
    {
        let answer = world.rejoin(["help", typed]).code(2).stderr();
        assert!(answer.contains(&format!("run `rejoin help {near}`")), "{answer}");
    }
}

#[test]
fn glossary_matches_architecture_terms() {
    let world = World::new();
    let words = world.rejoin(["help", "words"]).code(0).stdout();
    let page = include_str!("../../docs/architecture.md");
    let mut shared = 0;
    for line in words.lines().filter(|line| line.starts_with("  ")) {
        let Some((word, meaning)) = line.trim().split_once("  ") else { continue };
        let Some(term) = page.lines().find(|line| line.starts_with(&format!("| {word} | "))) else { continue };
        let meaning = meaning.trim().split([',', ';']).next().unwrap_or_default();
        assert!(term.contains(meaning), "{word}: {meaning:?} is not in {term:?}");
        shared += 1;
    }
    assert!(shared > 8, "{shared}");
}

#[test]
fn every_version_option_prints_the_version() {
    let world = World::new();
    let version = concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n");
    for args in [&["--version"][..], &["-V"], &["--quiet", "--version"]] {
        world.rejoin(args).code(0).stdout_eq(version).stderr_eq("");
    }
}
