//! The search pattern for messages: texts that must all occur, or a regular expression.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::agent::Agent;
use crate::scan::needle::Needle;
use crate::scan::probe::{MAX_SEARCHED_FIRST, Probe, Probes};
use crate::session::Located;

/// Longest regular expression, in characters. The time to search a text is the product of its length and that of the
/// expression; one that compiles to more than 10 MiB is refused by regex itself.
const MOST_LETTERS: usize = 1000;

/// The treatment of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseRule {
    /// Case is distinguished if the pattern has a capital letter, as in other search tools.
    Smart,
    /// Case is distinguished.
    Exact,
    /// Case is ignored.
    Ignored,
}

/// A pattern that a message must match.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The typed text.
    pub text: String,
    /// Set if case matters.
    pub is_exact: bool,
    kind: PatternKind,
}

#[derive(Clone, Debug)]
enum PatternKind {
    /// Every one of these texts must occur.
    All(Vec<Needle>),
    Regex(Regex),
}

impl Pattern {
    /// Matches messages that contain every one of these literal texts.
    pub(crate) fn of_texts(texts: &[String], case: CaseRule) -> Self {
        let text = texts.join(" ");
        let is_exact = is_exact(&text, case);
        let needle =
            |text: &String| if is_exact { Needle::new(text, true) } else { Needle::new(&text.to_lowercase(), false) };
        Self { kind: PatternKind::All(texts.iter().map(needle).collect()), text, is_exact }
    }

    /// Matches a regular expression; fails with the syntax error.
    pub(crate) fn of_regex(text: &str, case: CaseRule) -> Result<Self, String> {
        if text.chars().nth(MOST_LETTERS).is_some() {
            return Err(format!("the regular expression is longer than {MOST_LETTERS} characters"));
        }
        // `\W` does not count as a capital letter.
        let typed = text.replace("\\\\", "");
        let letters: String =
            typed.split('\\').enumerate().map(|(at, part)| if at == 0 { part } else { skip(part) }).collect();
        let is_exact = is_exact(&letters, case);
        let built = RegexBuilder::new(text).case_insensitive(!is_exact).multi_line(true).build();
        let regex = built.map_err(|error| error.to_string())?;
        Ok(Self { text: text.to_owned(), is_exact, kind: PatternKind::Regex(regex) })
    }

    /// Returns whether it is a regular expression.
    pub(crate) fn is_regex(&self) -> bool {
        matches!(self.kind, PatternKind::Regex(_))
    }

    /// Finds the first match in a text that matches completely, in bytes; for several texts, the match of the first
    /// one.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        match &self.kind {
            PatternKind::All(needles) => {
                let (first, rest) = needles.split_first()?;
                let place = first.find_in(text)?;
                rest.iter().all(|needle| needle.find_in(text).is_some()).then_some(place)
            }
            // An empty match cannot be shown.
            PatternKind::Regex(regex) => {
                regex.find_iter(text).map(|found| found.range()).find(|place| !place.is_empty())
            }
        }
    }

    /// Returns whether a small file of a copy may have the text; a larger one is searched when its session is read.
    pub(crate) fn is_in_file(&self, agent: &dyn Agent, place: &Located) -> bool {
        self.probes(agent, place).may_be_in_file(MAX_SEARCHED_FIRST)
    }

    /// Returns the probes for the bytes of a copy, if a file has the text of its messages verbatim.
    pub(crate) fn probes(&self, agent: &dyn Agent, place: &Located) -> Probes {
        let file = agent.verbatim(place);
        match &self.kind {
            PatternKind::All(needles) if file.is_some() => {
                Probes { file, all: needles.iter().filter_map(Probe::from_needle).collect() }
            }
            _ => Probes::default(),
        }
    }
}

fn is_exact(text: &str, case: CaseRule) -> bool {
    match case {
        CaseRule::Smart => text.chars().any(char::is_uppercase),
        CaseRule::Exact => true,
        CaseRule::Ignored => false,
    }
}

/// Drops the letter after a backslash.
fn skip(part: &str) -> &str {
    let mut letters = part.chars();
    letters.next();
    letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str], case: CaseRule) -> Pattern {
        Pattern::of_texts(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), case)
    }

    fn regex(text: &str, case: CaseRule) -> Pattern {
        Pattern::of_regex(text, case).expect("a regular expression")
    }

    #[test]
    fn every_text_must_match_in_any_order() {
        let pattern = texts(&["parser", "fix the"], CaseRule::Smart);
        assert_eq!(pattern.find("Fix the PARSER"), Some(8..14));
        assert_eq!(pattern.find("the parser is fixed"), None);
        assert_eq!(
            texts(&["Fix", "parser"], CaseRule::Smart).find("Fix the PARSER"),
            None,
            "one capital letter counts for all"
        );
        assert_eq!(texts(&["Fix", "parser"], CaseRule::Ignored).find("fix the PARSER"), Some(0..3));
        assert_eq!(texts(&["fix"], CaseRule::Exact).find("Fix"), None);
    }

    #[test]
    fn smart_case_ignores_regex_classes() {
        assert_eq!(regex(r"par\w+r", CaseRule::Smart).find("the PARSER"), Some(4..10));
        assert_eq!(regex(r"par\Wser", CaseRule::Smart).find("PAR-SER"), Some(0..7));
        assert_eq!(regex(r"Par\w+", CaseRule::Smart).find("the PARSER"), None);
        assert_eq!(regex(r"\\Par", CaseRule::Smart).find(r"\par"), None);
        assert_eq!(regex("^second", CaseRule::Smart).find("first\nsecond"), Some(6..12));
        assert_eq!(regex("x*", CaseRule::Smart).find("ab"), None);
        assert!(Pattern::of_regex("(", CaseRule::Smart).is_err());
        assert_eq!(regex(&r"\w".repeat(100), CaseRule::Smart).find("abc"), None);
        assert!(Pattern::of_regex(r"\w{5000}", CaseRule::Smart).is_err(), "compiled, it is too large");
    }
}
