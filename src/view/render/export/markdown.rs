//! A conversation as Markdown.

use std::borrow::Cow;
use std::io::{self, Write};

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::format::text;
use crate::session::{Message, Role, Session};
use crate::system::env::Env;
use crate::view::render::export::{Call, Calls, MAX_MARKDOWN_BYTES, Page, facts, is_safe_link, speaker, visible};
use crate::view::render::{local, table};

/// Writes Markdown.
pub(crate) struct MarkdownPage<'e, W> {
    out: W,
    env: &'e Env,
    calls: Calls,
}

impl<'e, W: Write> MarkdownPage<'e, W> {
    pub(crate) fn new(out: W, env: &'e Env) -> Self {
        Self { out, env, calls: Calls::default() }
    }

    fn facts(&mut self, session: &Session) -> io::Result<()> {
        for (name, value) in facts(session, self.env) {
            writeln!(self.out, "- {name}: {}", literal(&value))?;
        }
        writeln!(self.out)
    }

    fn call(&mut self, call: Option<Call>) -> io::Result<()> {
        let Some(call) = call else { return Ok(()) };
        let summary = text::one_line(&text::truncated(call.summary(), 160)).replace('&', "&amp;").replace('<', "&lt;");
        writeln!(self.out, "<details><summary>{summary}</summary>\n")?;
        fenced(&mut self.out, &visible(&call.text))?;
        writeln!(self.out, "\n</details>\n")
    }
}

impl<W: Write> Page for MarkdownPage<'_, W> {
    fn begin(&mut self, session: &Session, subagents: &[Session]) -> io::Result<()> {
        writeln!(self.out, "# {}\n", literal(&table::title(session)))?;
        self.facts(session)?;
        for (at, subagent) in subagents.iter().enumerate() {
            writeln!(self.out, "- Sub-agent {}: {}", at + 1, literal(&table::title(subagent)))?;
        }
        if subagents.is_empty() { Ok(()) } else { writeln!(self.out) }
    }

    fn subagent(&mut self, number: usize, session: &Session) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        writeln!(self.out, "---\n\n# Sub-agent {number}: {}\n", literal(&table::title(session)))?;
        self.facts(session)
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        let call = self.calls.take(message);
        self.call(call)?;
        if message.role == Role::Tool {
            return Ok(());
        }
        let at = message.at.map(|at| format!(" · {}", local(at, self.env))).unwrap_or_default();
        writeln!(self.out, "## {}{at}\n", speaker(message.role))?;
        let said = visible(message.text.trim_end());
        match message.role {
            Role::Assistant if said.len() <= MAX_MARKDOWN_BYTES => writeln!(self.out, "{}\n", harmless(&said)),
            // What a person typed may look like Markdown by accident.
            _ => {
                fenced(&mut self.out, &said)?;
                writeln!(self.out)
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        self.out.flush()
    }
}

/// Writes text in a fence that is longer than any in it.
fn fenced(out: &mut impl Write, text: &str) -> io::Result<()> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    writeln!(out, "{fence}text\n{text}{end}{fence}")
}

/// Writes a line of text so that Markdown finds nothing in it.
pub(super) fn literal(line: &str) -> String {
    line.chars().fold(String::with_capacity(line.len() + 8), |mut out, c| {
        if c.is_ascii_punctuation()
            && !matches!(c, '.' | ',' | '/' | ':' | '-' | '\'' | '"' | '(' | ')' | '?' | '=' | '%' | ';')
        {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

/// Takes HTML, and links that lead to no page, out of Markdown: they become text, and all else stays as it was written.
fn harmless(said: &str) -> Cow<'_, str> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(said, options).into_offset_iter();
    let mut at = events.filter_map(|(event, range)| match event {
        Event::Html(_) | Event::InlineHtml(_) => Some(range),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) if !is_safe_link(&dest_url) => {
            Some(range.start..range.start + 1)
        }
        _ => None,
    });
    let Some(first) = at.next() else { return Cow::Borrowed(said) };
    let (mut out, mut done) = (String::with_capacity(said.len() + 64), 0);
    for range in [first].into_iter().chain(at) {
        // What is in what was written already is text by now.
        if range.start < done {
            continue;
        }
        out.push_str(&said[done..range.start]);
        for c in said[range.clone()].chars() {
            match c {
                '<' => out.push_str("&lt;"),
                '[' | '!' => out.extend(['\\', c]),
                _ => out.push(c),
            }
        }
        done = range.end;
    }
    out.push_str(&said[done..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_and_dangerous_links_become_text_and_the_rest_stays() {
        for (said, expected) in [
            ("a **b** `<i>`", "a **b** `<i>`"),
            ("x <script>y</script>", "x &lt;script>y&lt;/script>"),
            ("[a](https://b.example)", "[a](https://b.example)"),
            ("[a](javascript:b)", "\\[a](javascript:b)"),
            ("![a](data:b)", "\\![a](data:b)"),
            ("```\n<b>\n```", "```\n<b>\n```"),
        ] {
            assert_eq!(harmless(said), expected, "{said}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        let mut out = Vec::new();
        fenced(&mut out, "a\n````\nb").expect("a fence");
        assert_eq!(String::from_utf8(out).expect("text"), "`````text\na\n````\nb\n`````\n");
    }

    #[test]
    fn a_title_is_text() {
        assert_eq!(literal("# *a* <b> [c](d)"), "\\# \\*a\\* \\<b\\> \\[c\\](d)");
    }
}
