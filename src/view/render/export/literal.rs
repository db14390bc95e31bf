//! Text, code and addresses in which no parser of Markdown finds anything else.

use std::fmt::Write as _;

/// Writes text so that Markdown, of any kind, finds nothing in it; what begins a line may begin a block there.
pub(super) fn literal(text: &str, begins_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = None;
    let mut rest = text.chars().peekable();
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = begins_line && number.len() < text.len() && number.starts_with(['.', ')']);
    let mut is_start = begins_line;
    while let Some(c) = rest.next() {
        let after = rest.peek().copied();
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match c {
            '<' => out.push_str("&lt;"),
            '&' if after.is_some_and(|c| c == '#' || c.is_ascii_alphanumeric()) => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '{' | '}' | '~' | '$' | '^' | '|' => out.extend(['\\', c]),
            '_' if !(is_word(before) && is_word(after)) => out.push_str("\\_"),
            '%' if before == Some('%') => out.push_str("\\%"),
            '-' | '+' | '=' | ':' | '>' | '#' if is_start => out.extend(['\\', c]),
            '.' | ')' if is_numbered && is_start => out.extend(['\\', c]),
            _ => out.push(c),
        }
        is_start &= is_numbered && c.is_ascii_digit();
        before = Some(c);
    }
    out
}

/// Writes text in a fence that is longer than any in it, as lines.
pub(super) fn fenced(text: &str, language: &str) -> Vec<String> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut lines = vec![format!("{fence}{language}")];
    lines.extend(text.split('\n').map(str::to_owned));
    lines.push(fence);
    lines
}

/// Writes code within a line between more marks than are in it.
pub(super) fn code_span(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    let is_trimmed = code.starts_with(' ') && code.ends_with(' ') && !code.trim().is_empty();
    let pad = if is_trimmed || code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{mark}{pad}{code}{pad}{mark}")
}

/// Writes an address so that nothing in it ends it.
pub(super) fn destination(address: &str) -> String {
    address.chars().fold(String::with_capacity(address.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            c if c.is_ascii_alphanumeric() || !c.is_ascii() || "-._~:/?#@!$+,;=%".contains(c) => out.push(c),
            c => {
                let _ = write!(out, "%{:02X}", u32::from(c));
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("a\n````\nb", "text"), ["`````text", "a", "````", "b", "`````"]);
    }

    #[test]
    fn a_title_is_text() {
        assert_eq!(literal("# *a* <b> [c](d)", false), "# \\*a\\* &lt;b> \\[c\\](d)");
    }
}
