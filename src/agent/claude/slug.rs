//! The names of the folders in which Claude Code files the sessions of a directory.

use crate::system::names;

/// Maximum length of a slug that is not cut and hashed.
const MAX_SLUG: usize = 200;

/// Encodes a directory: each UTF-16 unit that is not an ASCII letter or digit becomes a hyphen.
pub(crate) fn slug(dir: &str) -> impl Iterator<Item = char> {
    dir.encode_utf16().map(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '-',
    })
}

/// Returns whether Claude Code files the sessions of a directory under this project, in any spelling of its accents: on
/// macOS, the recorded one and the encoded one may differ.
pub(crate) fn is_slug_of(project: &str, dir: &str) -> bool {
    if dir.is_ascii() && dir.len() <= MAX_SLUG {
        // The usual case, in which each byte is a UTF-16 unit.
        let is_kept = |(kept, byte): (u8, u8)| kept == if byte.is_ascii_alphanumeric() { byte } else { b'-' };
        return project.len() == dir.len() && project.bytes().zip(dir.bytes()).all(is_kept);
    }
    names::spellings(dir).any(|dir| encodes(project, &dir))
}

fn encodes(project: &str, dir: &str) -> bool {
    let encoded = slug(dir);
    if dir.encode_utf16().count() <= MAX_SLUG {
        return encoded.eq(project.chars());
    }
    // Runtimes have different hashes, so only the first part of a cut slug can be compared (reference: SDK).
    let Some((start, hash)) = project.split_at_checked(MAX_SLUG) else { return false };
    let is_hash = hash.len() > 1 && hash.starts_with('-') && hash[1..].bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_hash && encoded.take(MAX_SLUG).eq(start.chars()) && (hash[1..] == *path_hash(dir) || !is_native_hash(&hash[1..]))
}

/// Returns the project name of a directory like the native client, which composes accents first (measured on 2.1.330
/// and 2.1.197).
pub(crate) fn project_of(dir: &str) -> String {
    encoded(&names::composed(dir))
}

/// Returns the project name of a directory in this spelling.
pub(super) fn encoded(dir: &str) -> String {
    let mut project: String = slug(dir).take(MAX_SLUG).collect();
    if dir.encode_utf16().count() > MAX_SLUG {
        project.push('-');
        project.push_str(&path_hash(dir));
    }
    project
}

/// Returns whether a hash may be the native client's: at most six digits of base 36; other runtimes have longer ones.
fn is_native_hash(hash: &str) -> bool {
    hash.len() <= 6
}

/// Returns the client's hash of a long path: the 32-bit `31 * h + unit` in base 36 (measured on 2.1.330).
fn path_hash(dir: &str) -> String {
    let hash = dir.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    base36(hash.unsigned_abs())
}

/// Formats a number in base 36.
pub(in crate::agent) fn base36(mut rest: u32) -> String {
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit(rest % 36, 36).unwrap_or('0'));
        rest /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slug_replaces_all_but_letters_and_digits() {
        for (dir, slug) in [
            ("/home/ana/my_app.v2", "-home-ana-my-app-v2"),
            ("/w/ünïcode-名前", "-w--n-code---"),
            ("/w/emoji-🚀-dir", "-w-emoji----dir"),
            ("/w/MixedCASE", "-w-MixedCASE"),
            ("/w/it's \"q\" $HOME", "-w-it-s--q---HOME"),
            ("/", "-"),
        ] {
            assert!(is_slug_of(slug, dir), "{dir}");
            assert!(!is_slug_of(slug, &format!("{dir}x")), "{dir}");
            assert_eq!(project_of(dir), slug);
        }
    }

    #[test]
    fn both_unicode_forms_of_an_accent_match() {
        let (composed, decomposed) = ("/w/caf\u{e9}", "/w/cafe\u{301}");
        for dir in [composed, decomposed] {
            assert!(is_slug_of("-w-caf-", dir) && is_slug_of("-w-cafe-", dir), "{dir}");
            assert!(!is_slug_of("-w-cafe", dir), "{dir}");
            assert_eq!(project_of(dir), "-w-caf-");
        }
    }

    #[test]
    fn long_slug_is_truncated_and_hashed() {
        assert_eq!(path_hash("hello"), "1n1e4y");
        let dir = format!("/work/{}", "a".repeat(250));
        let cut: String = format!("-work-{}", "a".repeat(194));
        assert!(is_slug_of(&format!("{cut}-58fult"), &dir));
        assert_eq!(project_of(&dir), format!("{cut}-58fult"));
        assert!(!is_slug_of(&format!("{cut}-58fulu"), &dir), "another directory with the same beginning");
        assert!(is_slug_of(&format!("{cut}-1a2b3c4d5e6f"), &dir), "another runtime's hash cannot be checked");
        assert!(!is_slug_of(&cut, &dir));
        let exact = format!("/{}", "y".repeat(199));
        assert!(is_slug_of(&format!("-{}", "y".repeat(199)), &exact));
    }
}
