//! Folds case and accents, and splits a text into words.

use std::ops::Range;

use nucleo_matcher::chars::{normalize, to_lower_case};

/// Converts a text to lower case without accents.
pub(crate) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for part in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        // A chunk ends at the end of a letter.
        let part = str::from_utf8(part).unwrap_or_default();
        let start = folded.len();
        if part.is_ascii() {
            folded.push_str(part);
            folded[start..].make_ascii_lowercase();
        } else {
            folded.extend(part.chars().filter(|c| !is_mark(*c)).map(fold));
        }
    }
    folded
}

/// Converts a letter to lower case without its accent, and a typographic quotation mark to the one of a keyboard.
pub(crate) fn fold(c: char) -> char {
    match c {
        '‘' | '’' => return '\'',
        '“' | '”' => return '"',
        _ => {}
    }
    let base = to_lower_case(normalize(c));
    // The base of a capital such as `Ā` is only known for its small letter.
    if base.is_ascii() { base } else { normalize(to_lower_case(c)) }
}

/// Returns whether a character is an accent on the letter before it.
pub(crate) fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Returns the words of a text: runs of letters and digits.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let is_part = |c: char| c.is_alphanumeric() || is_mark(c);
        let (start, _) = letters.find(|(_, c)| c.is_alphanumeric())?;
        let mut end = None;
        while let Some((at, c)) = letters.peek() {
            if !is_part(*c) {
                end = Some(*at);
                break;
            }
            letters.next();
        }
        Some(start..end.unwrap_or(text.len()))
    })
}

/// Returns the parts of an identifier: `retryBudget`, `HTTPServer` and `v4mapped` have two. Empty for a word without
/// parts.
pub(crate) fn parts(token: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = token.as_bytes();
    let begins = move |at: usize| {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let is_hump = here.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase));
        is_hump
            || before.is_ascii_alphabetic() && here.is_ascii_digit()
            || before.is_ascii_digit() && here.is_ascii_alphabetic()
    };
    let is_whole = !token.is_ascii() || !(1..bytes.len()).any(begins);
    let mut start = if is_whole { bytes.len() } else { 0 };
    std::iter::from_fn(move || {
        let from = start;
        start = (from + 1..bytes.len()).find(|at| begins(*at)).unwrap_or(bytes.len());
        (from < bytes.len()).then_some(from..start)
    })
}

/// Finds a folded phrase in a text; `whole` is the folded text.
pub(super) fn find<'t>(text: &'t str, whole: &'t str, phrase: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    // Folding may change the length of a letter, so positions are counted in letters.
    let offsets: Vec<usize> = if text.is_ascii() {
        Vec::new()
    } else {
        text.char_indices().filter(|(_, c)| !is_mark(*c)).map(|(at, _)| at).chain([text.len()]).collect()
    };
    let letters = phrase.chars().count();
    let (mut counted, mut first) = (0, 0);
    whole.match_indices(phrase).filter(|(_, found)| !found.is_empty()).filter_map(move |(at, found)| {
        if offsets.is_empty() {
            return Some(at..at + found.len());
        }
        first += whole[counted..at].chars().count();
        counted = at;
        Some(*offsets.get(first)?..*offsets.get(first + letters)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_maps_capitals_like_lower_case() {
        for (word, base) in
            [("Āpple", "apple"), ("ÉTÉ", "ete"), ("Łódź", "lodz"), ("\u{212a}elvin", "kelvin"), ("don’t", "don't")]
        {
            assert_eq!(folded(word), base);
        }
        let differs = |c: &char| {
            let mut small = c.to_lowercase();
            small.len() == 1 && small.next().is_some_and(|small| fold(small) != fold(*c) && fold(small).is_ascii())
        };
        assert_eq!(('\u{c0}'..='\u{17f}').find(differs), None);
    }
}
