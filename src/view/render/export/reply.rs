//! Replies of models, which are Markdown, as events that are safe for every renderer.

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use crate::format::text;
use crate::view::render::export::is_safe_link;

/// Extensions of Markdown that models write. Footnotes and reference definitions would affect other messages.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Reads a reply as events without HTML, without pictures, and with links to pages and mailboxes only. HTML becomes
/// text. A picture, which a renderer would load, becomes a link; an address that runs something becomes text. Headings
/// are below that of the speaker, so that a reply cannot imitate the message of another one.
pub(super) fn events(reply: &str) -> Vec<Event<'_>> {
    let mut links = Vec::new();
    let mut headings = Headings::default();
    let mut events = Events::default();
    let mut is_code = false;
    for event in Parser::new_ext(reply, OPTIONS) {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                is_code = !is_code;
                events.push(event);
            }
            Event::Text(text) if is_code => events.push(Event::Text(text)),
            Event::Code(code) => events.push(Event::Code(code.replace('\t', " ").into())),
            // An entity may encode a character that hides text.
            Event::Text(text) => events.text(&text),
            Event::Html(html) => events.lines(&html, true),
            Event::InlineHtml(html) => events.lines(&html, false),
            Event::Start(Tag::HtmlBlock) => events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => events.end_paragraph(),
            Event::Start(Tag::Heading { level, .. }) => {
                let level = headings.below(level);
                events.push(Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() }));
            }
            Event::End(TagEnd::Heading(_)) => events.push(Event::End(TagEnd::Heading(headings.level()))),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let address = text::one_line(&dest_url).into_owned();
                // A link in a link, such as a picture in one, is text of the outer one.
                let is_link = is_safe_link(&address);
                let is_inner = links.contains(&Some(Event::End(TagEnd::Link)));
                links.push(if !is_link {
                    Some(Event::Text(format!(" ({address})").into()))
                } else if is_inner {
                    None
                } else {
                    events.push(Event::Start(link(address)));
                    Some(Event::End(TagEnd::Link))
                });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => match links.pop().flatten() {
                Some(Event::Text(address)) => events.text(&address),
                Some(end) => events.push(end),
                None => {}
            },
            event => events.push(event),
        }
    }
    events.flush();
    events.done
}

fn link<'a>(address: String) -> Tag<'a> {
    Tag::Link {
        link_type: LinkType::Inline,
        dest_url: address.into(),
        title: CowStr::Borrowed(""),
        id: CowStr::Borrowed(""),
    }
}

#[derive(Default)]
struct Events<'a> {
    done: Vec<Event<'a>>,
    /// The text so far: the parser splits text at every possible start of markup.
    text: String,
}

impl<'a> Events<'a> {
    fn push(&mut self, event: Event<'a>) {
        self.flush();
        self.done.push(event);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Event::Text(std::mem::take(&mut self.text).into()));
        }
    }

    fn text(&mut self, more: &str) {
        self.text.push_str(&text::unbroken(&more.replace(['\n', '\t'], " ")));
    }

    /// Adds lines of text; an empty one ends a paragraph, unless the lines are part of one.
    fn lines(&mut self, lines: &str, are_block: bool) {
        for (at, line) in lines.split('\n').enumerate() {
            if at > 0 {
                self.flush();
                match self.done.last() {
                    Some(Event::SoftBreak) if are_block => {
                        self.end_paragraph();
                        self.push(Event::Start(Tag::Paragraph));
                    }
                    Some(Event::SoftBreak | Event::Start(Tag::Paragraph)) => {}
                    _ => self.push(Event::SoftBreak),
                }
            }
            if !line.trim().is_empty() {
                self.text(line.trim());
            }
        }
    }

    fn end_paragraph(&mut self) {
        self.flush();
        if matches!(self.done.last(), Some(Event::SoftBreak)) {
            self.done.pop();
        }
        match self.done.last() {
            Some(Event::Start(Tag::Paragraph)) => drop(self.done.pop()),
            _ => self.push(Event::End(TagEnd::Paragraph)),
        }
    }
}

/// Levels of the headings of a reply that the next one may be below. The speaker's name is above all of them, and the
/// levels have no gaps, because screen-reader users navigate by heading.
#[derive(Default)]
struct Headings(Vec<HeadingLevel>);

impl Headings {
    /// Returns the level of a heading on the page.
    fn below(&mut self, level: HeadingLevel) -> HeadingLevel {
        while self.0.last().is_some_and(|above| *above >= level) {
            self.0.pop();
        }
        self.0.push(level);
        self.level()
    }

    /// Returns the level of the last heading.
    fn level(&self) -> HeadingLevel {
        match self.0.len() {
            0 | 1 => HeadingLevel::H3,
            2 => HeadingLevel::H4,
            3 => HeadingLevel::H5,
            _ => HeadingLevel::H6,
        }
    }
}
