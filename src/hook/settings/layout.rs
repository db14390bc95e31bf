//! The layout of text that is inserted into settings.json: indentation and separators like those around it.

use std::ops::Range;

use super::HookSettings;

/// Seconds that the client waits for an answer. At a session's end it waits 1.5 unless a hook asks for more.
const TIMEOUT: u32 = 5;

/// An insertion point for one more part of an object or a list.
pub(super) struct Slot<'a> {
    pub(super) at: usize,
    /// Text between the new part and the one before.
    separator: String,
    /// Indentation of the line.
    pub(super) indent: String,
    pub(super) block: BlockLayout<'a>,
}

impl<'a> Slot<'a> {
    /// Finds the insertion point after the last part, with the separators of that part.
    pub(super) fn new(settings: &HookSettings<'a>, open: usize, parts: &[Range<usize>]) -> Self {
        let text = settings.text;
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let block = |is_flat| BlockLayout { line_end, unit: unit(text, settings), is_flat };
        let Some(last) = parts.last() else {
            let line = &text[..open].rsplit('\n').next().unwrap_or_default();
            let own = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let is_flat = !text.trim().contains('\n') && !settings.members.is_empty();
            let block = block(is_flat);
            return Self { at: open + 1, separator: String::new(), indent: format!("{own}{}", block.unit), block };
        };
        let before = parts.len().checked_sub(2).map_or(open + 1, |before| parts[before].end);
        let blanks = text[before..last.start].rsplit(',').next().unwrap_or_default();
        let indent = blanks.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        Self {
            at: last.end,
            separator: format!(",{blanks}"),
            block: block(indent.is_none()),
            indent: indent.unwrap_or_default(),
        }
    }

    pub(super) fn filled(&self, part: &str) -> (Range<usize>, String) {
        (self.at..self.at, format!("{}{part}", self.separator))
    }
}

/// Returns the indentation of one level: that of the first member.
fn unit<'a>(text: &'a str, settings: &HookSettings<'_>) -> &'a str {
    let blanks = settings.members.first().map_or("", |first| &text[settings.root.start + 1..first.span.start]);
    match blanks.rsplit_once('\n') {
        Some((_, indent)) if !indent.is_empty() => indent,
        _ => "  ",
    }
}

/// The layout of a new object or list.
#[derive(Clone, Copy)]
pub(super) struct BlockLayout<'a> {
    pub(super) line_end: &'a str,
    pub(super) unit: &'a str,
    /// Set if everything is on one line.
    pub(super) is_flat: bool,
}

impl BlockLayout<'_> {
    /// Formats parts between brackets; `indent` is that of the line with the opening bracket.
    pub(super) fn between(self, brackets: [&str; 2], indent: &str, parts: &[String]) -> String {
        let [open, close] = brackets;
        if self.is_flat {
            return format!("{open} {} {close}", parts.join(", "));
        }
        let inner = format!("{}{indent}{}", self.line_end, self.unit);
        let parts = parts.join(&format!(",{inner}"));
        format!("{open}{inner}{parts}{}{indent}{close}", self.line_end)
    }

    pub(super) fn deeper(self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    pub(super) fn hooks(self, command: &str, indent: &str, events: &[(&str, Option<&str>)]) -> String {
        let inner = self.deeper(indent);
        let list =
            |(event, matcher): &(&str, Option<&str>)| format!("\"{event}\": {}", self.list(command, *matcher, &inner));
        self.between(["{", "}"], indent, &events.iter().map(list).collect::<Vec<_>>())
    }

    pub(super) fn list(self, command: &str, matcher: Option<&str>, indent: &str) -> String {
        self.between(["[", "]"], indent, &[self.group(command, matcher, &self.deeper(indent))])
    }

    pub(super) fn group(self, command: &str, matcher: Option<&str>, indent: &str) -> String {
        let inner = self.deeper(indent);
        let call = [
            "\"type\": \"command\"".to_owned(),
            format!("\"command\": {}", quoted(command)),
            format!("\"timeout\": {TIMEOUT}"),
        ];
        let call = self.between(["{", "}"], &self.deeper(&inner), &call);
        let calls = format!("\"hooks\": {}", self.between(["[", "]"], &inner, &[call]));
        let matcher = matcher.map(|matcher| format!("\"matcher\": \"{matcher}\""));
        self.between(["{", "}"], indent, &matcher.into_iter().chain([calls]).collect::<Vec<_>>())
    }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
