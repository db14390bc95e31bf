//! Text, code and addresses that no parser of Markdown takes for anything else.

use std::fmt::Write as _;

/// Escapes text for all kinds of Markdown; text that begins a line could begin a block.
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

/// Writes a prompt as it was typed, as lines that wrap: its breaks and indentation stay, and its fences are code.
pub(super) fn typed(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut out, mut at) = (Vec::with_capacity(lines.len()), 0);
    // An unclosed fence is text, and so is every longer one after it.
    let mut unclosed = usize::MAX;
    while let Some(line) = lines.get(at) {
        at += 1;
        let fence = opening_fence(line).filter(|(length, _)| *length < unclosed);
        let end = fence.and_then(|(length, _)| lines[at..].iter().position(|line| closes(line, length)));
        if let (Some((_, language)), Some(end)) = (fence, end) {
            out.push(String::new());
            out.extend(fenced(&lines[at..at + end].join("\n"), language));
            out.push(String::new());
            at += end + 1;
            continue;
        }
        unclosed = fence.map_or(unclosed, |(length, _)| length);
        let mut written = text_line(line);
        let next = lines.get(at).filter(|next| !next.trim().is_empty());
        let is_code_next = next.and_then(|next| opening_fence(next)).is_some_and(|(length, _)| length < unclosed);
        if !written.is_empty() && next.is_some() && !is_code_next {
            written.push('\\');
        }
        out.push(written);
    }
    out
}

/// Writes a line of text with its blanks.
fn text_line(line: &str) -> String {
    const BLANK: &str = "&nbsp;";
    let rest = line.trim();
    let indent: usize =
        line[..line.len() - line.trim_start().len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    if rest.is_empty() {
        return String::new();
    }
    let text = literal(rest, indent == 0).replace('\t', &BLANK.repeat(4)).replace("  ", "&nbsp; ");
    format!("{}{text}", BLANK.repeat(indent))
}

/// Returns the length of the fence that a line opens, and its language.
fn opening_fence(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('`');
    let language = rest.trim();
    let is_name = language.chars().all(|c| c.is_ascii_alphanumeric() || "+#._-".contains(c));
    let length = line.len() - rest.len();
    (length >= 3 && is_name).then_some((length, if language.is_empty() { "text" } else { language }))
}

fn closes(line: &str, length: usize) -> bool {
    let line = line.trim_end();
    line.len() >= length && line.chars().all(|c| c == '`')
}

/// Writes code within a line, between more backticks than it contains.
pub(super) fn code_span(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    let is_trimmed = code.starts_with(' ') && code.ends_with(' ') && !code.trim().is_empty();
    let pad = if is_trimmed || code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{mark}{pad}{code}{pad}{mark}")
}

/// Writes an address so that no character in it ends it.
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
    fn code_fence_is_longer_than_any_in_text() {
        assert_eq!(fenced("a\n````\nb", "text"), ["`````text", "a", "````", "b", "`````"]);
    }

    #[test]
    fn prompt_wraps_and_keeps_its_lines() {
        let prompt = "sort **these**\n\tby size\n\n- a  b\n```rust\nlet *x*\n  = 1;\n```\nend\n```\nopen";
        let lines = typed(prompt);
        assert_eq!(
            lines,
            [
                "sort \\*\\*these\\*\\*\\",
                "&nbsp;&nbsp;&nbsp;&nbsp;by size",
                "",
                "\\- a&nbsp; b",
                "",
                "```rust",
                "let *x*",
                "  = 1;",
                "```",
                "",
                "end",
                "\\`\\`\\`\\",
                "open",
            ]
        );
        let longest = "`".repeat(9).to_owned() + "\n" + &"```\na\n".repeat(3);
        assert!(typed(&longest).iter().filter(|line| line.starts_with("```")).count() == 2, "{:?}", typed(&longest));
    }

    #[test]
    fn export_escapes_title() {
        assert_eq!(literal("# *a* <b> [c](d)", false), "# \\*a\\* &lt;b> \\[c\\](d)");
    }
}
