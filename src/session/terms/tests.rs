use super::*;

fn words(texts: &[&str]) -> SearchWords {
    SearchWords::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
}

fn found(word: &str, text: &str) -> Option<(String, f32)> {
    let mut best: Option<TermMatch> = None;
    words(&[word]).each_place(text, &mut |place| {
        if best.as_ref().is_none_or(|best| place.weight > best.weight) {
            best = Some(place);
        }
    });
    best.map(|place| (text[place.range].to_owned(), place.weight))
}

#[test]
fn word_matches_inflections_identifiers_and_accents() {
    for (word, text, expected) in [
        ("relay", "The Relay.", "Relay"),
        ("relays", "a relay", "relay"),
        ("retrying", "retried twice", "retried"),
        ("happiness", "Happy", "Happy"),
        ("varies", "they vary", "vary"),
        ("dying", "to die", "die"),
        ("budget", "let retryBudget = 1", "Budget"),
        ("retry", "retry_budget", "retry"),
        ("server", "HTTPServer", "Server"),
        ("mapped", "v4mapped", "mapped"),
        ("resume", "a résumé", "résumé"),
        ("Zürich", "in zurich", "zurich"),
        ("main", "src/main.rs", "main"),
    ] {
        let found = found(word, text);
        assert_eq!(found.as_ref().map_or("", |(text, _)| text.as_str()), expected, "{word} in {text}");
        assert!(found.is_none_or(|(_, weight)| weight >= FORM), "{word} in {text}");
    }
}

#[test]
fn prefix_and_substring_matches_score_less() {
    assert_eq!(found("power", "poweroff"), Some(("poweroff".to_owned(), PREFIX)));
    assert_eq!(found("lock", "deadlocks"), Some(("deadlocks".to_owned(), INSIDE)));
    assert_eq!(found("of", "poweroff"), None, "two letters are inside of too many words");
    assert_eq!(found("日本", "日本語の"), Some(("日本語の".to_owned(), PREFIX)));
    assert_eq!(found("本", "日本語の"), Some(("日本語の".to_owned(), INSIDE)));
}

#[test]
fn phrase_matches_only_in_order() {
    assert_eq!(found("health check", "a Health Check fails"), Some(("Health Check".to_owned(), WORD)));
    assert_eq!(found("health check", "check health"), None);
    assert_eq!(found("retry_budget", "RETRY_BUDGET=1"), Some(("RETRY_BUDGET".to_owned(), WORD)));
    assert_eq!(found("é à", "…é à…"), Some(("é à".to_owned(), WORD)));
}

#[test]
fn identifier_matches_every_naming_convention() {
    for typed in ["retryBudget", "retry_budget", "retry-budget", "RETRY_BUDGET", "RetryBudget"] {
        for text in ["retryBudget", "retry_budget", "retry-budget", "RETRY_BUDGET"] {
            let found = found(typed, &format!("let {text} = 1"));
            assert_eq!(found, Some((text.to_owned(), WORD)), "{typed} in {text}");
        }
        assert_eq!(found(typed, "a retry has a budget"), None, "{typed}");
    }
    assert_eq!(found("utf8", "as UTF-8"), Some(("UTF-8".to_owned(), WORD)));
    assert_eq!(found("src/main.rs", "src_main_rs"), None, "a path is a phrase");
}

#[test]
fn hyphen_prefix_excludes_word() {
    let words = words(&["relay", "-mail", "relay"]);
    assert_eq!(words.terms.len(), 1);
    assert!(words.excludes("two mails") && !words.excludes("a relay") && !words.excludes("mailbox"));
}

#[test]
fn matching_forms_share_a_common_prefix() {
    let texts =
        ["relational", "hoping", "hop", "hopping", "skies", "sky", "dying", "generously", "ponies", "happily", "ties"];
    for word in texts {
        let term = Term::new(word);
        let TermKind::Word { stem, .. } = &term.kind else { panic!("a word") };
        for other in texts.into_iter().filter(|other| super::stem(other) == *stem) {
            assert!(other.starts_with(term.start()), "{word} and {other}: {:?}", term.start());
        }
    }
}

proptest::proptest! {
    #[test]
    fn prefix_search_equals_full_search(
        text in "([a-cA-C1é]{1,4}[ _./-]{0,2}){0,12}",
        typed in "[a-cA-Ce1]{1,4}",
    ) {
        let term = Term::new(&typed);
        let of_token = |range: Range<usize>| term.place_in(0, &text, range.clone(), &folded(&text[range]));
        let (mut found, mut expected) = (Vec::new(), tokens(&text).filter_map(of_token).collect::<Vec<_>>());
        SearchWords::all_of(vec![Term { joined: Vec::new(), ..term.clone() }]).each_place(&text, &mut |place| found.push(place));
        let order = |place: &TermMatch| (place.range.start, place.range.end);
        found.sort_by_key(order);
        expected.sort_by_key(order);
        proptest::prop_assert_eq!(found, expected);
    }
}
