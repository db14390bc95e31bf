//! A report on plain English: the patterns that make prose hard to search and to read, per folder, and the lengths of pages.
//!
//! `cargo test` leaves it out. `.ci/full` prints it, and fails if a count is higher than in `wording.tsv` or a page too long.
//! `SNAPSHOTS=overwrite cargo test --test it -- --ignored wording::` lowers the counts; nothing raises them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::generated::is_overwriting;

/// A pattern by its name, with what it matches and what to write instead.
struct Pattern {
    name: &'static str,
    regex: &'static str,
    instead: &'static str,
}

/// Matched in the prose of a line, without the marks of a comment, ignoring case. A name that begins with "test:" is for names
/// of functions only.
const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "clause for a noun",
        regex: r"^(what|who|where|whether|how|which|whatever|whoever) ",
        instead: "begin with a verb or a noun: \"Parses …\", \"Facts about …\"",
    },
    Pattern { name: "of its own", regex: r"\bof (its|their) own\b", instead: "its own, separate" },
    Pattern { name: "beside", regex: r"\bbesides?\b", instead: "next to, with, compared with" },
    Pattern {
        name: "tell",
        regex: r"\b(told|tells?|telling)\b",
        instead: "say, report, show, know, distinguish, return",
    },
    Pattern { name: "is no", regex: r"\b(is|are|was|were) (no|none)\b", instead: "is not a, there is no" },
    Pattern { name: "where for if", regex: r"(^|[.;:] )where\b[^.?]*,", instead: "if, when" },
    Pattern {
        name: "people as actors",
        regex: r"\b(nobody|somebody|anybody|whoever|a person|people)\b",
        instead: "name the thing: the receiver, another process, the user",
    },
    Pattern {
        name: "position verbs",
        regex: r"\b(lies?|lay|stands?|stood|goes on|go on|went on)\b",
        instead: "is, is in, continues",
    },
    Pattern { name: "fronted of", regex: r"(^|[.;:] )of ", instead: "If two keys are equal, …" },
    Pattern {
        name: "a for per",
        regex: r"\b(one|a) \w+ an? (verb|command|session|line|row|host|agent|file|item|copy|store|second|day)\b",
        instead: "per: one file per command",
    },
    Pattern {
        name: "put",
        regex: r"\bput (in|into) words\b|\bput (back|aside|right|away)\b",
        instead: "restored, deferred, recovered",
    },
    Pattern {
        name: "does the same",
        regex: r"\b(does (the same|so)|returns the same|reads of the same|the same of)\b",
        instead: "repeat the verb and the object",
    },
    Pattern {
        name: "quantity without a unit",
        regex: r"\bso (much|many)\b|\b(all|nothing|any|some|most) of it\b",
        instead: "the unit: bytes, items, at most 16 connections",
    },
    Pattern { name: "anew", regex: r"\banew\b", instead: "again, from scratch" },
    Pattern {
        name: "looks at, knows of",
        regex: r"\b(look(s|ed|ing)? (at|into)|know(s|n)? of)\b",
        instead: "read, check, examine, inspect; know, have a record of",
    },
    Pattern {
        name: "goes",
        regex: r"\b(goes|errands?)\b",
        instead: "is removed, is moved, is next; a command of the agent",
    },
    Pattern {
        name: "test: passive",
        regex: r"^[a-z0-9 ]+ (is|are|was|were) (not |never |only )?(\w+ed|read|kept|left|made|written|shown|found|put|held|sent|told|known)\b",
        instead: "subject, verb, object: command_refuses_input",
    },
    Pattern { name: "test: article", regex: r"^(a|an|the) [a-z0-9]+( [a-z0-9]+)+$", instead: "no article" },
    Pattern {
        name: "clause with a stranded preposition",
        regex: r"\bthat (it|they|the \w+|a \w+) (is|are|was|were) \w+ed (in|at|from|to|by|with|under|below)\b",
        instead: "in which, from which, by which",
    },
    Pattern {
        name: "fraction as a measure",
        regex: r"\b(thirds?|quarters?|fifths?|sixths?|tenths?|twentieths?)\b",
        instead: "33 % faster",
    },
];

/// Returns the prose of a line: a comment, a sentence of a page, or the name of a test as words.
fn prose(line: &str) -> String {
    match function(line) {
        Some(name) => name.replace('_', " "),
        None => line.trim().trim_start_matches(['/', '!', '#', '>', '*', '-', '|']).trim().to_owned(),
    }
}

/// Returns the name of the function that a line defines, such as a test.
fn function(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("pub(crate) fn "))?;
    name.split('(').next()
}

/// Returns the folder that a file is counted in: a room of `src`, a crate, another top-level folder, or the page itself.
fn folder(file: &Path) -> String {
    let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    match &parts[..] {
        [top, name, _, ..] if top == "src" || top == "crates" => format!("{top}/{name}"),
        [first, ..] => first.clone().into_owned(),
        [] => String::new(),
    }
}

/// Returns the files whose prose is counted, with their paths. Generated pages are left out, because their sources are counted.
fn files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let roots = [
        "src",
        "crates",
        "tests",
        "benches",
        "docs",
        "contrib",
        "e2e",
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ];
    let files = roots.iter().flat_map(|page| walkdir::WalkDir::new(root.join(page)).sort_by_file_name());
    let files = files.map(|file| file.expect("a page")).filter(|file| file.file_type().is_file());
    let read = files.filter_map(|file| {
        let name = file.path().strip_prefix(root).expect("a page of the repository");
        let is_prose = name.extension().is_some_and(|ending| ending == "rs" || ending == "md");
        let is_own = name.ends_with("wording.rs");
        let text = std::fs::read_to_string(file.path()).ok().filter(|_| is_prose && !is_own)?;
        Some((name.to_owned(), text))
    });
    read.collect()
}

/// The places of each pattern in each folder.
type Places = BTreeMap<(String, String), Vec<String>>;
type Counts = BTreeMap<(String, String), usize>;

fn find(files: &[(PathBuf, String)], patterns: &[(&str, Regex)]) -> Places {
    let mut places = Places::new();
    let any = any_pattern();
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            let is_function = function(line).is_some();
            let line = prose(line);
            // "There is no archive" is what to write.
            let line = if line.contains("here ") {
                let verbs = ["is", "are", "was", "were"].iter();
                verbs.fold(line, |line, verb| line.replace(&format!("here {verb} no"), ""))
            } else {
                line
            };
            for at in any.matches(&line) {
                let (name, regex) = &patterns[at];
                if name.starts_with("test: ") && !is_function {
                    continue;
                }
                let found = places.entry((folder(file), (*name).to_owned())).or_default();
                let place = format!("{}:{}: {}", file.display(), number + 1, line.trim());
                found.extend(regex.find_iter(&line).map(|_| place.clone()));
            }
        }
    }
    places
}

fn count(places: &Places) -> Counts {
    places.iter().map(|(key, found)| (key.clone(), found.len())).collect()
}

fn patterns() -> Vec<(&'static str, Regex)> {
    let regex = |text| RegexBuilder::new(text).case_insensitive(true).build().expect("a regular expression");
    PATTERNS.iter().map(|pattern| (pattern.name, regex(pattern.regex))).collect()
}

/// Matches all patterns in one pass, because few lines have any.
fn any_pattern() -> RegexSet {
    let regexes = PATTERNS.iter().map(|pattern| pattern.regex);
    RegexSetBuilder::new(regexes).case_insensitive(true).build().expect("regular expressions")
}

/// Returns the counts that rose, each with its places and what to write instead.
fn risen(kept: &Counts, places: &Places) -> Vec<String> {
    let risen = places.iter().filter_map(|(place, found)| {
        let was = kept.get(place).copied().unwrap_or(0);
        let (folder, name) = place;
        let instead = PATTERNS.iter().find(|pattern| pattern.name == name).map_or("", |pattern| pattern.instead);
        let lines = found.join("\n  ");
        let is = found.len();
        (is > was).then(|| format!("{folder}: \"{name}\" {is} times, kept {was}; write instead: {instead}\n  {lines}"))
    });
    risen.collect()
}

/// Returns the kept counts.
fn kept() -> Counts {
    let text = std::fs::read_to_string(kept_file()).expect("the kept counts");
    let counts = text.lines().map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().expect("a field").to_owned();
        ((field(), field()), field().parse().expect("a number"))
    });
    counts.collect()
}

fn kept_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wording.tsv")
}

#[test]
#[ignore = "a report, which .ci/full prints"]
#[expect(clippy::disallowed_macros, reason = "it is a report")]
fn pattern_counts_never_rise() {
    let (kept, places) = (kept(), find(&files(), &patterns()));
    let counted = count(&places);
    for ((folder, name), found) in &places {
        let was = kept.get(&(folder.clone(), name.clone())).copied().unwrap_or(0);
        println!("{folder}: \"{name}\" {} times, kept {was}", found.len());
        found.iter().for_each(|place| println!("  {place}"));
    }
    let risen = risen(&kept, &places);
    assert!(risen.is_empty(), "these counts rose:\n{}", risen.join("\n"));
    if is_overwriting() && kept != counted {
        let lines = counted.iter().map(|((folder, name), count)| format!("{folder}\t{name}\t{count}\n"));
        std::fs::write(kept_file(), lines.collect::<String>()).expect("the kept counts");
    }
}

#[test]
fn report_lists_places_of_rising_count() {
    let places = |text: &str| find(&[(PathBuf::from("src/scan/mod.rs"), text.to_owned())], &patterns());
    let before = places("/// What is read.\n// Nobody is told.\nfn what_is_read() {}\n");
    let number = |name: &str| before.get(&("src/scan".to_owned(), name.to_owned())).map(Vec::len);
    assert_eq!(
        ["clause for a noun", "people as actors", "tell", "test: passive", "beside"].map(number),
        [Some(2), Some(1), Some(1), Some(1), None]
    );
    let after = places("/// What is read.\n// The caller gets no error.\nfn reads() {}\n");
    assert!(risen(&count(&before), &after).is_empty());
    let rose = risen(&count(&after), &before);
    assert_eq!(rose.len(), 4);
    assert!(rose.iter().any(|line| line.contains("\n  src/scan/mod.rs:2: Nobody is told.")), "{rose:?}");
}

#[test]
#[ignore = "a report, which .ci/full prints"]
fn pages_stay_within_length_limits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = |name: &str| std::fs::read_to_string(root.join("docs").join(name)).expect("a page");
    for (name, most) in [("json.md", 400), ("performance.md", 120), ("../README.md", 150)] {
        let lines = page(name).lines().count();
        assert!(lines <= most, "docs/{name} has {lines} lines, not {most} at most");
    }
    for entry in std::fs::read_dir(root.join("docs")).expect("pages") {
        let name = entry.expect("a page").file_name().into_string().expect("a name");
        // The generated page of agents grows with each of them.
        if name.ends_with(".md") && !["json.md", "agents.md"].contains(&name.as_str()) {
            let lines = page(&name).lines().count();
            assert!(lines <= 250, "docs/{name} has {lines} lines, not 250 at most");
        }
    }
    let words = page("architecture.md").split_whitespace().count();
    assert!(words <= 3_000, "docs/architecture.md has {words} words, not 3,000 at most");
}
