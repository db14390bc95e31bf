//! Rules for session ids that several agents share.
//!
//! An id that follows any of these rules is a single file name, so it cannot lead out of a directory.

/// Returns whether a text is a UUID with hyphens, in either case.
pub(crate) fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && [8, 13, 18, 23].iter().all(|at| bytes[*at] == b'-')
        && bytes.iter().filter(|byte| byte.is_ascii_hexdigit()).count() == 32
}

/// Returns whether a text is a random UUID (version 4) with hyphens, in either case.
pub(crate) fn is_random_uuid(text: &str) -> bool {
    let at = |at: usize| text.as_bytes()[at].to_ascii_lowercase();
    is_uuid(text) && at(14) == b'4' && matches!(at(19), b'8' | b'9' | b'a' | b'b')
}

/// Returns whether a text has 1 to `max` characters, each an ASCII letter, a digit or one of `others`.
pub(super) fn consists_of(text: &str, others: &[u8], max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || others.contains(&byte))
}

/// Returns whether a text is a word of up to 128 letters, digits and `others` that begins with a letter or digit, so it
/// is neither an option nor a hidden file.
pub(super) fn is_word_with(text: &str, others: &[u8]) -> bool {
    consists_of(text, others, 128) && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// Returns whether a text is a UUID, or a word that can be chosen as an id. A UUID with an ending is the name of a conflict
/// copy, such as Syncthing's.
pub(super) fn is_word(text: &str) -> bool {
    is_word_with(text, b"-_.") && !text.split_once('.').is_some_and(|(id, _)| is_uuid(id))
}

/// Returns whether a text is safe as an argument of a program: neither an option nor a path. A database does not
/// restrict the ids of its rows.
pub(super) fn is_argument(text: &str) -> bool {
    consists_of(text, b"-_.$:", 256) && !text.starts_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "550e8400-e29b-41d4-a716-446655440000";

    #[test]
    fn uuid_needs_hyphens_and_ignores_case() {
        for id in [RANDOM, &RANDOM.to_uppercase(), "019a0000-e29b-71d4-c716-446655440000"] {
            assert!(is_uuid(id) && is_word(id) && is_argument(id), "{id}");
        }
        for id in [
            "",
            &RANDOM[1..],
            &RANDOM.replace('-', ""),
            &RANDOM.replace('-', "+"),
            &format!("{RANDOM}\n"),
            "../../../-e29b-41d4-a716-446655440000",
            "550e8400-e29b-41d4-a716-4466554400é",
        ] {
            assert!(!is_uuid(id), "{id:?}");
        }
    }

    #[test]
    fn random_uuid_needs_version_4_and_variant() {
        for id in [RANDOM, "550E8400-E29B-41D4-BFFF-446655440000"] {
            assert!(is_random_uuid(id), "{id}");
        }
        for id in ["", "550e8400-e29b-11d4-a716-446655440000", "550e8400-e29b-41d4-c716-446655440000", "é"] {
            assert!(!is_random_uuid(id), "{id}");
        }
    }

    #[test]
    fn ids_refuse_options_and_paths() {
        for id in ["", "-x", "--help", ".", "..", "a/b", "a b", "a\nb", "é", "a\\b", &"a".repeat(257)] {
            assert!(!is_word(id) && !is_argument(id), "{id:?}");
        }
        for id in ["ses_e0000112effeZXa8PMr09rOEPn", "20260820_1", "a.b"] {
            assert!(is_word(id) && is_argument(id), "{id}");
        }
        for id in ["m$$call_1", "agent:main", "_x", &"a".repeat(256)] {
            assert!(is_argument(id) && !is_word(id), "{id}");
        }
        let conflict = format!("{RANDOM}.sync-conflict-20261120-101500-ABCDEFG");
        assert!(is_argument(&conflict) && !is_word(&conflict));
        assert!(is_word(&"a".repeat(128)) && !is_word(&"a".repeat(129)));
        assert!(is_word_with("a_b", b"_") && !is_word_with("a.b", b"_") && !is_word_with("_a", b"_"));
        assert!(consists_of("-a", b"-", 2) && !consists_of("-ab", b"-", 2) && !consists_of("", b"-", 2));
    }
}
