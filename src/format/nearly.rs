//! Finds the word that was probably meant by a mistyped one.

use strsim::osa_distance;

/// Returns the number of letters that are wrong, missing, extra or swapped; `None` if there are more than one (two in a
/// long word).
pub(crate) fn slips(word: &str, typed: &str) -> Option<usize> {
    let most = most_slips(typed);
    let may_be = word.len().abs_diff(typed.len()) <= 4 * most;
    may_be.then(|| osa_distance(word, typed)).filter(|slips| *slips <= most)
}

/// Returns the maximum number of slips in a near word.
pub(crate) fn most_slips(typed: &str) -> usize {
    if typed.chars().count() < 8 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_near_and_another_word_is_not() {
        for (word, typed, expected) in [
            ("till", "till", Some(0)),
            ("till", "til", Some(1)),
            ("till", "tlil", Some(1)),
            ("till", "bell", None),
            ("certificates", "certficaet", None),
            ("certificates", "certficatse", Some(2)),
            ("certificates", "cert", None),
            ("d8c7b6a5", "d8c7b6a4", Some(1)),
            ("日本語", "日本", Some(1)),
        ] {
            assert_eq!(slips(word, typed), expected, "{word} {typed}");
        }
    }
}
