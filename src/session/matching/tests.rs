use proptest::prelude::*;

use super::*;
use crate::session::tests::{copy, session};
use crate::session::{Fact, Health};

fn subject(title: &str, dir: &str, prompt: &str) -> MatchedTexts {
    let mut copy = copy("5d1f2e8a-aaaa");
    copy.first_prompt = Some(Fact::new(prompt.to_owned(), "t"));
    copy.launch_dir = Some(Fact::new(std::path::Path::new(dir), "t"));
    copy.active_at = Some(Fact::new("2026-03-01T12:00:00Z".parse::<Timestamp>().expect("a time"), "t"));
    MatchedTexts::from_session(
        &session(vec![copy]),
        title,
        dir,
        &[Health::MissingDirectory.mark().to_owned(), "exec".to_owned()],
    )
}

fn query(text: &str) -> Query {
    Query::parse(text, |value| value.parse().map_err(|_| "no time".to_owned()))
}

fn rank(text: &str, title: &str) -> Option<MatchRank> {
    SessionMatcher::default().rank(&query(text), &subject(title, "/home/ana/shop", "please look at the basket"))
}

#[test]
fn every_word_must_match_whole_words_first() {
    use MatchField::{Named, Said};
    use Quality::{Form, Part, Whole};
    for (text, expected) in [
        ("", Some((Whole, Named))),
        ("PARSER fix", Some((Whole, Named))),
        ("  fix   shop ", Some((Whole, Named))),
        ("claude", Some((Whole, Named))),
        ("\"dir gone\" exec", Some((Whole, Named))),
        ("\"the parser", Some((Whole, Named))),
        ("5d1f", Some((Whole, Named))),
        ("aaaa", None),
        ("parsers", Some((Form, Named))),
        ("pars fixes", Some((Form, Named))),
        ("arse", Some((Part, Named))),
        ("basket parser", Some((Whole, Said))),
        ("baskets", Some((Form, Said))),
        ("ana/shop", Some((Whole, Named))),
        ("http://", None),
        ("fix nothing", None),
    ] {
        let rank = rank(text, "Fix the Parser").map(|rank| (rank.quality, rank.place));
        assert_eq!(rank, expected, "{text}");
    }
    assert!(rank("ärger", "ÄRGER").is_some_and(|rank| rank.quality == Whole));
    assert!(rank("arger", "Ärger").is_some_and(|rank| rank.quality == Whole), "accents need not be typed");
    assert!(rank("budget", "set retryBudget").is_some_and(|rank| rank.quality == Form));
    assert_eq!(rank("shp", "Fix the parser"), None, "loose letters match only in a title");
}

#[test]
fn fuzzy_match_needs_letters_close_together() {
    for (word, title) in [
        ("plnkill", "Plan to kill the old server"),
        ("worktre", "Work in the linked worktree"),
        ("wrktree", "Work in the linked worktree"),
        ("fxprsr", "Fix the parser"),
        ("rfctor", "Start the refactoring of the tokenizer"),
        ("licrep", "Licence report"),
    ] {
        assert!(rank(word, title).is_some(), "{word}: {title}");
    }
    for (word, title) in [
        ("exit", "Please write examples for the index and its text"),
        ("config", "Count the files again"),
        ("parser", "Please look at the archive and ask the user for more"),
        ("ab", "a cab"),
        ("xz", "examples of z"),
    ] {
        assert!(rank(word, title).is_none_or(|rank| rank.quality != Quality::Loose), "{word}: {title}");
    }
}

#[test]
fn parses_filters_mixed_with_words() {
    for (text, expected) in [
        ("agent:claude", true),
        ("agent:cl fix", true),
        ("agent:codex,claude", true),
        ("agent:codex", false),
        ("agent:nobody", false),
        ("agent:", true),
        ("dir:SHOP", true),
        ("dir:elsewhere", false),
        ("since:2026-03-01T00:00:00Z", true),
        ("since:2026-03-02T00:00:00Z", false),
        ("before:2026-03-02T00:00:00Z", true),
        ("before:2026-03-01T00:00:00Z", false),
        ("is:", true),
        ("is:pinned", false),
        ("title:\"please look at the basket\"", true),
        ("title:PLEASE", false),
        ("!is:exec", false),
        ("-is:pinned", true),
        ("!agent:claude", false),
        ("!dir:elsewhere fix", true),
        ("!is:", true),
        ("fix -parser", false),
        ("fix -pars", true),
        ("fix !parsers", false),
        ("-", false),
    ] {
        assert_eq!(rank(text, "Fix the parser").is_some(), expected, "{text}");
    }
    let problem = |text: &str| query(text).problem.map(|problem| (problem.why, problem.near));
    let problem = |text: &str| problem(text).unwrap_or_default();
    assert_eq!(problem("since:soon x").0, "soon: no time");
    assert_eq!(problem("agent:nobody").0, "no agent is called nobody");
    assert_eq!(problem("is:lost").0, "no mark is called lost; `rejoin help marks` lists them");
    for (typed, near) in [
        ("agent:cluade", Some("agent:claude")),
        ("agent:codx", Some("agent:codex")),
        ("agent:gemnii", Some("agent:gemini")),
        ("is:pined", Some("is:pinned")),
        ("is:dirgone", Some("is:dir-gone")),
        ("is:liev", Some("is:live")),
        ("agent:xyzzy", None),
        ("is:lost", None),
    ] {
        assert_eq!(problem(typed).1.as_deref(), near, "{typed}");
    }
    assert_eq!(query("!is:lost").problem, query("is:lost").problem);
    assert_eq!(query("fix -parser !x is:dir-gone").texts(), ["fix", "-parser", "-x"]);
    assert_eq!(query("agent:claude fix \"two words\" dir:x").words().collect::<Vec<_>>(), ["fix", "two words"]);
}

#[test]
fn message_limit_needs_known_counts() {
    let few = query("").with_most_messages(Some(2));
    let counted = |prompts, replies| {
        let mut copy = copy("5d1f2e8a-aaaa");
        (copy.prompts, copy.replies) = (prompts, replies);
        few.lets_pass(&MatchedTexts::from_session(&session(vec![copy]), "", "", &[]))
    };
    assert!(counted(Some(1), Some(1)) && !counted(Some(1), Some(2)) && !counted(None, None));
}

#[test]
fn match_positions_are_those_of_matching_letters() {
    let places = |words: &str, text: &str| SessionMatcher::default().places(&query(words), text);
    assert_eq!(places("the", "Fix the parser"), [4, 5, 6]);
    assert_eq!(places("fix par", "Fix the parser"), [0, 1, 2, 8, 9, 10]);
    assert_eq!(places("fxprsr", "Fix the parser").len(), 6);
    assert_eq!(places("名前", "日本 名前"), [3, 4]);
    assert_eq!(places("nothing agent:claude", "Fix the parser"), Vec::<usize>::new());
}

proptest! {
    #[test]
    fn fuzzy_prefilter_keeps_every_match(
        word in "[abc]{3,6}", text in "[abcd é]{0,40}", most in 3_usize..20,
    ) {
        let (word, mut matching, mut letters, mut found) = (Word::new(&word), SessionMatcher::default(), Vec::new(), Vec::new());
        let text = folded(&text);
        let score = word.loose.indices(Utf32Str::new(&text, &mut letters), &mut matching.matcher, &mut found);
        let span = found.last().zip(found.first()).map_or(0, |(last, first)| last - first + 1);
        if score.is_some() && usize::try_from(span).expect("a number") <= most {
            prop_assert!(are_within(&word.folded, &text, most), "{} {text} {most}", word.text);
        }
    }
}
