//! Finds the word or the name that a mistyped one probably means.

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

/// Returns the name with the fewest letters that are wrong, missing or in the wrong order, or one that begins as it was typed.
pub(crate) fn nearest<N: AsRef<str>>(typed: &str, names: impl IntoIterator<Item = N>) -> Option<N> {
    let typed = typed.to_lowercase();
    let letters = typed.trim_start_matches('-').chars().count();
    let most = (letters / 3).max(1);
    let slips = |name: &N| {
        let name = name.as_ref();
        if name.starts_with(&typed) && letters > 1 { 1 } else { osa_distance(name, &typed) }
    };
    let begins_alike = |name: &N| name.as_ref().chars().zip(typed.chars()).take_while(|(a, b)| a == b).count();
    let near = names.into_iter().filter(|name| slips(name) <= most);
    near.min_by_key(|name| (slips(name), usize::MAX - begins_alike(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_accepts_typos_only() {
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
