//! Rewrites replies as Markdown that means the same in any place, and that does not affect the text after it.
//!
//! A reply is parsed and written again: a fence that was left open, a reference that another message defines, or HTML
//! that begins in one message and ends in the next would change the text after it.

use std::fmt::Write as _;
use std::vec::IntoIter;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Tag};

use crate::view::render::export::literal::{code_span, destination, fenced, literal};
use crate::view::render::export::reply;

/// Maximum nesting of blocks and marks, more than replies for readers have.
const MAX_DEPTH: usize = 32;
/// Maximum bytes of a word in which an address is searched for; a longer word counts as an address.
const MAX_WORD_BYTES: usize = 128;
/// Maximum bytes of the name of a code block's language.
const MAX_LANGUAGE_BYTES: usize = 32;

/// Writes a reply again; `None` if its blocks are nested too deeply, or if a part of it would be left out.
pub(super) fn rewrite(reply: &str) -> Option<String> {
    let events = reply::events(reply);
    let mut depth = 0_usize;
    for event in &events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return None;
        }
    }
    let mut rewriter = Rewriter { events: events.into_iter().peekable() };
    let (blocks, _) = rewriter.blocks();
    rewriter.events.next().is_none().then(|| join(blocks, true).join("\n"))
}

/// A block of lines.
struct LineBlock {
    lines: Vec<String>,
    /// The number of its list mark among the possible ones; a list after another one needs a different mark.
    mark: Option<usize>,
}

/// Joins blocks, with an empty line between them if they are `loose`.
fn join(blocks: Vec<LineBlock>, loose: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        if loose && !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(block.lines);
    }
    lines
}

/// Adds `first` before the first line, and as many blanks, or `rest`, before the others.
fn prefixed(lines: Vec<String>, first: &str, rest: &str) -> Vec<String> {
    let prefixed = lines.into_iter().enumerate().map(|(at, line)| {
        let prefix = if at == 0 { first } else { rest };
        if line.is_empty() { prefix.trim_end().to_owned() } else { format!("{prefix}{line}") }
    });
    prefixed.collect()
}

/// The block that lines of text belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinesBlock {
    Paragraph,
    Heading,
    Cell,
}

struct Rewriter<'a> {
    events: std::iter::Peekable<IntoIter<Event<'a>>>,
}

impl Rewriter<'_> {
    /// Writes blocks up to the end of their container; returns them, and whether one of them is a paragraph.
    fn blocks(&mut self) -> (Vec<LineBlock>, bool) {
        let (mut blocks, mut is_loose) = (Vec::<LineBlock>::new(), false);
        while let Some(event) = self.events.peek() {
            let mut mark = None;
            let lines = match event {
                Event::End(_) => break,
                Event::Start(tag) if is_block(tag) => {
                    let Some(Event::Start(tag)) = self.events.next() else { break };
                    is_loose |= matches!(tag, Tag::Paragraph);
                    let before = blocks.last().and_then(|block| block.mark);
                    mark = matches!(tag, Tag::List(_)).then(|| before.map_or(0, |before| 1 - before));
                    let lines = self.block(&tag, mark);
                    self.events.next();
                    lines
                }
                Event::Rule => {
                    self.events.next();
                    vec!["***".to_owned()]
                }
                // The text of a list item without paragraphs.
                _ => self.inlines(LinesBlock::Paragraph),
            };
            if !lines.iter().all(String::is_empty) {
                blocks.push(LineBlock { lines, mark });
            }
        }
        (blocks, is_loose)
    }

    /// Writes a block up to before its end.
    fn block(&mut self, tag: &Tag<'_>, mark: Option<usize>) -> Vec<String> {
        match tag {
            Tag::Heading { level, .. } => {
                let mark = "#".repeat(*level as usize);
                let mut text = self.inlines(LinesBlock::Heading).join(" ");
                // Marks at the end of a heading would belong to it.
                if text.ends_with('#') {
                    text.insert(text.len() - 1, '\\');
                }
                vec![format!("{mark} {text}")]
            }
            Tag::BlockQuote(_) => {
                let (blocks, _) = self.blocks();
                prefixed(join(blocks, true), "> ", "> ")
            }
            Tag::CodeBlock(kind) => {
                let mut text = String::new();
                while let Some(Event::Text(piece)) = self.events.next_if(|event| matches!(event, Event::Text(_))) {
                    text.push_str(&piece);
                }
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.split([' ', ',']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_');
                let is_name = language.len() <= MAX_LANGUAGE_BYTES && language.chars().all(is_plain);
                fenced(&text, if is_name { language } else { "" })
            }
            Tag::List(start) => self.list(*start, mark.unwrap_or_default()),
            Tag::Table(alignments) => self.table(alignments),
            _ => self.inlines(LinesBlock::Paragraph),
        }
    }

    fn list(&mut self, start: Option<u64>, mark: usize) -> Vec<String> {
        let (mut items, mut is_loose) = (Vec::new(), false);
        while self.events.next_if(|event| matches!(event, Event::Start(Tag::Item))).is_some() {
            let (blocks, is_item_loose) = self.blocks();
            self.events.next();
            is_loose |= is_item_loose;
            items.push(blocks);
        }
        let mut lines = Vec::new();
        for (at, blocks) in items.into_iter().enumerate() {
            let mark = match start {
                // Markdown accepts no longer number in a list.
                Some(start) => format!("{}{} ", (start.saturating_add(at as u64)).min(999_999_999), [".", ")"][mark]),
                None => ["- ", "+ "][mark].to_owned(),
            };
            if is_loose && at > 0 {
                lines.push(String::new());
            }
            let mut item = join(blocks, is_loose);
            if item.is_empty() {
                item.push(String::new());
            }
            lines.extend(prefixed(item, &mark, &" ".repeat(mark.len())));
        }
        lines
    }

    fn table(&mut self, alignments: &[Alignment]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(Event::Start(row)) = self.events.next_if(|event| matches!(event, Event::Start(_))) {
            let mut line = String::from("|");
            while self.events.next_if(|event| matches!(event, Event::Start(_))).is_some() {
                let _ = write!(line, " {} |", self.inlines(LinesBlock::Cell).join(" "));
                self.events.next();
            }
            self.events.next();
            lines.push(line);
            if matches!(row, Tag::TableHead) {
                let marks = alignments.iter().map(|alignment| match alignment {
                    Alignment::None => " --- |",
                    Alignment::Left => " :--- |",
                    Alignment::Center => " :---: |",
                    Alignment::Right => " ---: |",
                });
                lines.push(std::iter::once("|").chain(marks).collect());
            }
        }
        lines
    }

    /// Writes text and marks as lines, up to a block or to the end of their container.
    fn inlines(&mut self, within: LinesBlock) -> Vec<String> {
        let (mut lines, mut line) = (Vec::new(), String::new());
        // The end of each mark that is open.
        let mut open: Vec<String> = Vec::new();
        let mut is_opened = false;
        let end = |line: &mut String| Some(std::mem::take(line)).filter(|line| !line.trim().is_empty());
        loop {
            match self.events.peek() {
                None => break,
                Some(Event::End(_)) if open.is_empty() => break,
                Some(Event::Start(tag)) if is_block(tag) => break,
                Some(_) => {}
            }
            let follows_mark = std::mem::replace(&mut is_opened, matches!(self.events.peek(), Some(Event::Start(_))));
            match self.events.next() {
                Some(Event::Start(Tag::Emphasis)) => {
                    let mark = if open.last().is_some_and(|mark| mark == "*") { "_" } else { "*" };
                    line.push_str(mark);
                    open.push(mark.to_owned());
                }
                Some(Event::Start(Tag::Strong)) => {
                    line.push_str("**");
                    open.push("**".to_owned());
                }
                Some(Event::Start(Tag::Strikethrough)) => {
                    // Four of them would open a fence.
                    let mark = if open.iter().any(|mark| mark == "~~") { "" } else { "~~" };
                    line.push_str(mark);
                    open.push(mark.to_owned());
                }
                Some(Event::Start(Tag::Link { dest_url, .. })) => {
                    if line.ends_with('!') {
                        line.insert(line.len() - 1, '\\');
                    }
                    line.push('[');
                    open.push(format!("]({})", destination(&dest_url)));
                }
                Some(Event::End(_)) => line.push_str(&open.pop().unwrap_or_default()),
                Some(Event::Text(text)) => {
                    let mut text = if line.is_empty() { text.trim_start() } else { &text };
                    // A mark followed by a blank is either text or an item of a list.
                    if let Some(rest) = text.strip_prefix(' ').filter(|_| follows_mark) {
                        line.push_str("&#32;");
                        text = rest;
                    }
                    line.push_str(&literal(text, line.is_empty()));
                }
                Some(Event::Code(code)) => {
                    // Three marks may open a fence. A row of a table is split before it is parsed. Some parsers include
                    // a mark after an address in the address.
                    let is_fence = line.is_empty() && code.contains("``");
                    let is_cut = within == LinesBlock::Cell && code.contains("\\|");
                    let end = &line[line.ceil_char_boundary(line.len().saturating_sub(MAX_WORD_BYTES))..];
                    let word = end.rsplit(char::is_whitespace).next().unwrap_or_default();
                    let is_address = (word.len() == end.len() && end.len() < line.len())
                        || ["://", "www.", "@"].iter().any(|part| word.contains(part));
                    line.push_str(&if is_fence || is_cut || is_address {
                        literal(code.trim(), line.is_empty())
                    } else if within == LinesBlock::Cell {
                        code_span(&code).replace('|', "\\|")
                    } else {
                        code_span(&code)
                    });
                }
                Some(Event::SoftBreak) => lines.extend(end(&mut line)),
                Some(Event::HardBreak) => {
                    line.push_str(if within == LinesBlock::Paragraph { "\\" } else { "" });
                    lines.extend(end(&mut line));
                }
                Some(Event::TaskListMarker(is_done)) => {
                    line.push_str(if is_done { "[x] " } else { "[ ] " });
                    // Without text after it, the mark opens nothing.
                    is_opened = true;
                }
                _ => {}
            }
        }
        lines.extend(end(&mut line));
        lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
        lines
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrite_keeps_meaning_of_markdown() {
        for (reply, expected) in [
            ("a **b** `<i>` *c* ~~d~~", "a **b** `<i>` *c* ~~d~~"),
            (
                "[a](https://b.example/?x=1&lt=2) snake_case http://a.example/_b",
                "[a](https://b.example/?x=1&amp;lt=2) snake_case http://a.example/\\_b",
            ),
            ("# Top\n\n### Below\n\ntext", "### Top\n\n#### Below\n\ntext"),
            ("Over\n===", "### Over"),
            ("- a\n- b\n  - c\n- [x] d", "- a\n- b\n  - c\n- [x] d"),
            ("- a\n\n- b\n\n  ```sh\n  c  \n\n  d\n  ```", "- a\n\n- b\n\n  ```sh\n  c  \n\n  d\n  ```"),
            ("- a\n\n* b\n\n+ c", "- a\n\n+ b\n\n- c"),
            ("3. a\n4. b\n\n1) c", "3. a\n4. b\n\n1) c"),
            ("> a\nb\n>\n> > c", "> a\n> b\n>\n> > c"),
            ("| a | b |\n|:-:|--:|\n| `c|d` | \\| |", "| a | b |\n| :---: | ---: |\n| \\`c | d\\` |"),
            ("| a | b |\n|---|---|\n| `c\\|d` | \\| |", "| a | b |\n| --- | --- |\n| `c\\|d` | \\| |"),
            ("    code\n      more", "```\ncode\n  more\n```"),
            ("a\\\nb  \nc", "a\\\nb\\\nc"),
            ("---", "***"),
            ("1\\. a - b + c #1", "1\\. a - b + c #1"),
            ("\\- a\n\\# b\n\\> c\n\\+ d", "\\- a\n\\# b\n\\> c\n\\+ d"),
        ] {
            assert_eq!(rewrite(reply).as_deref(), Some(expected), "{reply}");
        }
    }

    #[test]
    fn rewrite_turns_scripts_images_and_references_into_text() {
        for (reply, expected) in [
            ("x <script>y</script>", "x &lt;script>y&lt;/script>"),
            ("<script>\n\n\nalert(1)\n</script>", "&lt;script>\n\nalert(1)\n&lt;/script>"),
            ("[a](javascript:b)", "a (javascript:b)"),
            ("![a](data:b)", "a (data:b)"),
            ("\\![a](data:b)", "!a (data:b)"),
            ("![a](https://b.example)", "[a](https://b.example)"),
            ("[![a](https://b.example)](https://c.example)", "[a](https://c.example)"),
            ("[a]: javascript:b\n\n[a]", "a (javascript:b)"),
            ("[a]: https://b.example", ""),
            ("[a]", "\\[a\\]"),
            ("```html\n<b>", "```html\n<b>\n```"),
            ("~~~x\n```", "````x\n```\n````"),
            ("<!-- a", "&lt;!-- a"),
            ("*x <!-- a\n\u{a0}\nb --> y* z\n\nafter", "*x &lt;!-- a\nb --> y* z\n\nafter"),
            ("x <!-- a\n\u{a0}\nb -->\n===\n\nafter", "### x &lt;!-- a b -->\n\nafter"),
            ("a &lt;b> &#x202e; &#10;c", "a &lt;b> \\\\u\\{202e\\}  c"),
        ] {
            assert_eq!(rewrite(reply).as_deref(), Some(expected), "{reply}");
        }
    }

    #[test]
    fn deeply_nested_blocks_are_not_rewritten() {
        assert_eq!(rewrite(&">".repeat(1000)), None);
    }
}
