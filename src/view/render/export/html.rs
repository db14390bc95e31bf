//! A conversation as one self-contained page of HTML without scripts.

use std::io::{self, Write};

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::format::text;
use crate::session::{Message, Role, Session};
use crate::system::env::Env;
use crate::view::render::export::escape::escaped;
use crate::view::render::export::{
    CallWithAnswer, Calls, ExportPage, MAX_MARKDOWN_BYTES, facts, reply, speaker, visible,
};
use crate::view::render::table;

const STYLE: &str = include_str!("page.css");

/// Content security policy, as a second defence: nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes a page of HTML.
pub(crate) struct HtmlPage<'e, W> {
    out: W,
    env: &'e Env,
    calls: Calls,
    prompts: usize,
}

/// Writes the head of a page, up to the beginning of its body.
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

    fn call(&mut self, call: Option<CallWithAnswer>) -> io::Result<()> {
        let Some(call) = call else { return Ok(()) };
        let summary = escaped(&text::one_line(&text::truncated(call.summary(), 160)));
        let body = escaped(&visible(&call.text));
        writeln!(self.out, "<details class=tool><summary>{summary}</summary><pre>{body}</pre></details>")
    }

    fn write_message(&mut self, message: &Message) -> io::Result<()> {
        let name = speaker(message);
        let at = message.at.map(|at| format!(" <time datetime=\"{at}\">{}</time>", self.env.clock.local_time(at)));
        let id = match message.role {
            Role::User => {
                self.prompts += 1;
                format!(" id=prompt-{}", self.prompts)
            }
            _ => String::new(),
        };
        let class = message.role.name();
        writeln!(self.out, "<section class={class}{id}><h2>{name}{}</h2>", at.unwrap_or_default())?;
        let visible_text = visible(message.text.trim_end());
        // A prompt is shown as it was typed.
        if message.role == Role::Assistant && visible_text.len() <= MAX_MARKDOWN_BYTES {
            markdown(&mut self.out, &visible_text)?;
        } else {
            writeln!(self.out, "<pre class=said>{}</pre>", escaped(&visible_text))?;
        }
        writeln!(self.out, "</section>")
    }
}

impl<W: Write> ExportPage for HtmlPage<'_, W> {
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
        let call = self.calls.take_call(message);
        self.call(call)?;
        if message.role == Role::Tool { Ok(()) } else { self.write_message(message) }
    }

    fn end(&mut self) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        writeln!(self.out, "</main>\n</body>\n</html>")?;
        self.out.flush()
    }
}

/// Writes a reply as HTML.
fn markdown(out: &mut impl Write, reply: &str) -> io::Result<()> {
    let mut code: Option<String> = None;
    let events = reply::events(reply).into_iter().filter_map(|event| match (event, &mut code) {
        (Event::Start(Tag::CodeBlock(_)), _) => {
            code = Some(String::new());
            None
        }
        (Event::End(TagEnd::CodeBlock), _) => {
            let text = code.take()?;
            Some(Event::Html(format!("<pre><code>{}</code></pre>\n", escaped(&text)).into()))
        }
        (event, Some(text)) => {
            if let Event::Text(piece) = event {
                text.push_str(&piece);
            }
            None
        }
        (Event::Start(Tag::Link { dest_url, .. }), None) => {
            let start = format!("<a rel=\"noopener noreferrer\" href=\"{}\">", escaped(&dest_url));
            Some(Event::Html(start.into()))
        }
        (event, None) => Some(event),
    });
    pulldown_cmark::html::write_html_io(out, events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(reply_text: &str) -> String {
        let mut out = Vec::new();
        markdown(&mut out, reply_text).expect("a page");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn export_renders_markdown_and_escapes_html() {
        for (reply_text, expected) in [
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
            assert_eq!(html(reply_text), expected, "{reply_text}");
        }
    }
}
