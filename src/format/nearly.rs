//! Words that are nearly the same: what a person meant by one that was mistyped.

use strsim::osa_distance;

/// Returns how many letters are wrong, missing, too many or in the wrong order, if that is at most one or, of long words, two.
pub(crate) fn slips(word: &str, typed: &str) -> Option<usize> {
    let most = most_slips(typed);
    let may_be = word.len().abs_diff(typed.len()) <= 4 * most;
    may_be.then(|| osa_distance(word, typed)).filter(|slips| *slips <= most)
}

/// Returns the number of slips that a near word may have.
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
