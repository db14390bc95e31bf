//! Plain English: sentences that readers stumbled over do not come back, in messages, help, comments or pages.

use std::path::Path;

/// What nobody should have to read, with plainer words for it. A phrase counts as whole words, in any case.
const FORBIDDEN: &[(&str, &str)] = &[
    // The fourteen worst sentences, by the part that makes each of them hard to read.
    ("which that does not encode to", "is not the directory of its project"),
    ("holds nothing of the conversation of", "has none of copy 1's conversation"),
    ("left alone and said so", "is left alone and reported"),
    ("the newest that can be undone is", "undoes the newest run that can be undone"),
    ("which is no failure", "does nothing and succeeds"),
    ("needs a yes", "needs confirmation"),
    ("nobody to ask", "there is no terminal to ask on"),
    ("have a session of the id", "each have a session with the id"),
    ("\"of one agent\"", "a session of one agent"),
    ("is in the titles of", "6 sessions have X in their titles"),
    ("does just this", "pass --apply X to do exactly this"),
    ("of these when it is next started", "of these sessions when it next starts"),
    ("for it keeps", "because it keeps"),
    ("turn the order round", "reverse the order"),
    ("every known trouble", "problems"),
    ("what to type against it", "the command that fixes it"),
    ("took away is deleted", "purged what 2 runs removed"),
    // Words of the house.
    ("of which", "a sentence of its own"),
    ("found nowhere", "cannot be found"),
    ("takes it back", "undoes it"),
    ("trouble", "problem"),
    ("troubles", "problems"),
    ("tells whether", "returns whether"),
    ("people are told of", "the page says about"),
    ("looked into", "read"),
    ("looked through", "searched"),
    ("nobody looked", "it was not checked"),
    ("mend", "fix, repair"),
    ("mends", "fixes, repairs"),
];

/// Returns a file's prose on one line, with the offset at which each line of the file begins: without what marks a
/// comment or continues a string, so that a sentence may run over the end of a line.
fn prose(file: &str) -> (String, Vec<usize>) {
    let (mut text, mut starts) = (String::new(), Vec::new());
    for line in file.lines() {
        starts.push(text.len());
        let line = line.trim().trim_start_matches(['/', '!', '#', '>']).trim_end_matches('\\').trim();
        text.push_str(&line.replace("\\-", "-").to_lowercase());
        text.push(' ');
    }
    (text, starts)
}

/// Returns the forbidden phrases in a file, each with its line and the words to use instead.
fn found(file: &str) -> Vec<(usize, &'static str, &'static str)> {
    let (text, starts) = prose(file);
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for (phrase, instead) in FORBIDDEN {
        for (at, _) in text.match_indices(phrase) {
            let (before, after) = (text[..at].chars().next_back(), text[at + phrase.len()..].chars().next());
            if !is_part(before) && !is_part(after) {
                found.push((starts.partition_point(|start| *start <= at), *phrase, *instead));
            }
        }
    }
    found
}

#[test]
fn what_was_hard_to_read_does_not_come_back() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["src", "docs", "man", "completions", "contrib", "e2e", "README.md", "CONTRIBUTING.md"];
    let files = pages.iter().flat_map(|page| walkdir::WalkDir::new(root.join(page)).sort_by_file_name());
    let mut lines = Vec::new();
    for file in files.map(|file| file.expect("a page")).filter(|file| file.file_type().is_file()) {
        // Pictures have no sentences.
        let Ok(text) = std::fs::read_to_string(file.path()) else { continue };
        let name = file.path().strip_prefix(root).expect("a page of the repository").display();
        let found = found(&text).into_iter();
        lines.extend(found.map(|(line, phrase, instead)| format!("{name}:{line}: {phrase:?}; say: {instead}")));
    }
    assert!(lines.is_empty(), "words that are hard to read:\n{}", lines.join("\n"));
}

#[test]
fn a_phrase_is_found_in_any_case_across_lines_and_as_whole_words() {
    let found = |text: &str| found(text).into_iter().map(|(line, phrase, _)| (line, phrase)).collect::<Vec<_>>();
    assert_eq!(found("/// A list, any Of\n    /// which may be empty."), [(1, "of which")]);
    assert_eq!(found("x\n\"it is \\\n   found nowhere\""), [(3, "found nowhere")]);
    assert_eq!(found(".SH NAME\nTurn the order\nround"), [(2, "turn the order round")]);
    assert_eq!(found("pub mended: a recommendation, troublesome"), []);
}
