//! A conversation as one page of HTML that needs nothing else and runs nothing.

use std::io::{self, Write};

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::format::text;
use crate::session::{Message, Role, Session};
use crate::system::env::Env;
use crate::view::render::export::code::{escaped, highlighted};
use crate::view::render::export::{Call, Calls, MAX_MARKDOWN_BYTES, Page, facts, is_safe_link, speaker, visible};
use crate::view::render::{local, table};

const STYLE: &str = include_str!("page.css");

/// Whatever comes through nonetheless: nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes a page of HTML.
pub(crate) struct HtmlPage<'e, W> {
    out: W,
    env: &'e Env,
    calls: Calls,
    prompts: usize,
}

/// Writes the head of a page, up to where its body begins.
pub(super) fn head(out: &mut impl Write, title: &str) -> io::Result<()> {
    let title = escaped(title);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"rejoin\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )
}

impl<'e, W: Write> HtmlPage<'e, W> {
    pub(crate) fn new(out: W, env: &'e Env) -> Self {
        Self { out, env, calls: Calls::default(), prompts: 0 }
    }

    fn facts(&mut self, session: &Session) -> io::Result<()> {
        writeln!(self.out, "<dl>")?;
        for (name, value) in facts(session, self.env) {
            writeln!(self.out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value))?;
        }
        writeln!(self.out, "</dl>")
    }

    fn call(&mut self, call: Option<Call>) -> io::Result<()> {
        let Some(call) = call else { return Ok(()) };
        let summary = escaped(&text::one_line(&text::truncated(call.summary(), 160)));
        let body = escaped(&visible(&call.text));
        writeln!(self.out, "<details class=tool><summary>{summary}</summary><pre>{body}</pre></details>")
    }

    fn said(&mut self, message: &Message) -> io::Result<()> {
        let name = speaker(message.role);
        let at = message.at.map(|at| format!(" <time datetime=\"{at}\">{}</time>", local(at, self.env)));
        let id = match message.role {
            Role::User => {
                self.prompts += 1;
                format!(" id=prompt-{}", self.prompts)
            }
            _ => String::new(),
        };
        let class = message.role.name();
        writeln!(self.out, "<section class={class}{id}><h2>{name}{}</h2>", at.unwrap_or_default())?;
        let said = visible(message.text.trim_end());
        // What a person typed is shown as it was typed.
        if message.role == Role::Assistant && said.len() <= MAX_MARKDOWN_BYTES {
            markdown(&mut self.out, &said)?;
        } else {
            writeln!(self.out, "<pre class=said>{}</pre>", escaped(&said))?;
        }
        writeln!(self.out, "</section>")
    }
}

impl<W: Write> Page for HtmlPage<'_, W> {
    fn begin(&mut self, session: &Session, subagents: &[Session]) -> io::Result<()> {
        let title = table::title(session);
        head(&mut self.out, &title)?;
        writeln!(self.out, "<header><h1>{}</h1>", escaped(&title))?;
        self.facts(session)?;
        if !subagents.is_empty() {
            writeln!(self.out, "<nav aria-label=\"Sub-agents\"><p>Sub-agents</p><ul>")?;
            for (at, subagent) in subagents.iter().enumerate() {
                let title = escaped(&table::title(subagent));
                writeln!(self.out, "<li><a href=\"#sub-agent-{}\">{title}</a></li>", at + 1)?;
            }
            writeln!(self.out, "</ul></nav>")?;
        }
        writeln!(self.out, "</header>\n<main>")
    }

    fn subagent(&mut self, number: usize, session: &Session) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        let title = escaped(&table::title(session));
        writeln!(self.out, "<section class=sub-agent id=sub-agent-{number}><h2>Sub-agent: {title}</h2>")?;
        self.facts(session)?;
        writeln!(self.out, "</section>")
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        let call = self.calls.take(message);
        self.call(call)?;
        if message.role == Role::Tool { Ok(()) } else { self.said(message) }
    }

    fn end(&mut self) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        writeln!(self.out, "</main>\n</body>\n</html>")?;
        self.out.flush()
    }
}

/// Writes what a model said, which is Markdown, as HTML; HTML in it is text.
fn markdown(out: &mut impl Write, said: &str) -> io::Result<()> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut code: Option<(String, String)> = None;
    // Whether the links around here were left as text, from the outermost on.
    let mut links = Vec::new();
    let mut headings = Headings::default();
    let events = Parser::new_ext(said, options).filter_map(|event| {
        if let Some((_, text)) = &mut code {
            match event {
                Event::End(TagEnd::CodeBlock) => {
                    let (language, text) = code.take()?;
                    let html = format!("<pre><code>{}</code></pre>\n", highlighted(&text, &language));
                    return Some(Event::Html(html.into()));
                }
                Event::Text(piece) => text.push_str(&piece),
                _ => {}
            }
            return None;
        }
        Some(match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::Start(Tag::HtmlBlock) => Event::Html(CowStr::Borrowed("<p>")),
            Event::End(TagEnd::HtmlBlock) => Event::Html(CowStr::Borrowed("</p>\n")),
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                code = Some((language, String::new()));
                return None;
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let level = headings.below(level);
                Event::Start(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() })
            }
            Event::End(TagEnd::Heading(_)) => Event::End(TagEnd::Heading(headings.level())),
            // A picture would be loaded from elsewhere.
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let is_safe = is_safe_link(&dest_url);
                let address = escaped(&dest_url);
                links.push((!is_safe).then(|| address.clone()));
                let start =
                    if is_safe { format!("<a rel=\"noopener noreferrer\" href=\"{address}\">") } else { String::new() };
                Event::Html(start.into())
            }
            Event::End(TagEnd::Link | TagEnd::Image) => Event::Html(match links.pop().flatten() {
                Some(address) => format!(" ({address})").into(),
                None => CowStr::Borrowed("</a>"),
            }),
            event => event,
        })
    });
    pulldown_cmark::html::write_html_io(out, events)
}

/// The headings of a message that the next one may be below. The speaker's name is above all of them, and no level is left
/// out, wherever the model began and whatever it left out: who listens to a page goes from heading to heading.
#[derive(Default)]
struct Headings(Vec<HeadingLevel>);

impl Headings {
    /// Takes a heading, and returns the level that it has on the page.
    fn below(&mut self, level: HeadingLevel) -> HeadingLevel {
        while self.0.last().is_some_and(|above| *above >= level) {
            self.0.pop();
        }
        self.0.push(level);
        self.level()
    }

    /// Returns the level of the heading that was taken last.
    fn level(&self) -> HeadingLevel {
        match self.0.len() {
            0 | 1 => HeadingLevel::H3,
            2 => HeadingLevel::H4,
            3 => HeadingLevel::H5,
            _ => HeadingLevel::H6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(said: &str) -> String {
        let mut out = Vec::new();
        markdown(&mut out, said).expect("a page");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn markdown_becomes_html_and_html_stays_text() {
        for (said, expected) in [
            ("a *b* `c`", "<p>a <em>b</em> <code>c</code></p>\n"),
            ("# Head", "<h3>Head</h3>\n"),
            (
                "## Small\n\n#### Smaller\n\n# Large\n\n###### Tiny",
                "<h3>Small</h3>\n<h4>Smaller</h4>\n<h3>Large</h3>\n<h4>Tiny</h4>\n",
            ),
            ("x <script>alert(1)</script>", "<p>x &lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
            ("<script>\nalert(1)\n</script>", "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n"),
            ("```html\n</pre><b>\n```", "<pre><code>&lt;/pre&gt;&lt;b&gt;\n</code></pre>\n"),
            ("[x](javascript:alert(1))", "<p>x (javascript:alert(1))</p>\n"),
            (
                "![x](http://a.example/p.png)",
                "<p><a rel=\"noopener noreferrer\" href=\"http://a.example/p.png\">x</a></p>\n",
            ),
            (
                "[x](https://a.example/\"onclick=\"y)",
                "<p><a rel=\"noopener noreferrer\" href=\"https://a.example/&quot;onclick=&quot;y\">x</a></p>\n",
            ),
            ("<javascript:alert(1)>", "<p>javascript:alert(1) (javascript:alert(1))</p>\n"),
        ] {
            assert_eq!(html(said), expected, "{said}");
        }
    }
}
