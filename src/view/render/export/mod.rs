//! Whole conversations for other programs and for users without rejoin: Markdown, and pages of HTML.
//!
//! The exported text comes from agents, models and web pages. It remains text in every format, regardless of its
//! contents.

mod escape;
mod html;
mod literal;
mod markdown;
mod reply;
mod rewrite;
#[cfg(any(test, fuzzing))]
pub(crate) mod safety;

use std::borrow::Cow;
use std::io::{self, Write};

use jiff::Timestamp;

use crate::format::text;
use crate::session::fields::Field;
use crate::session::{Message, Role, Session};
use crate::system::env::Env;
use crate::view::render::export::escape::escaped;
use crate::view::render::export::html::head;
use crate::view::render::export::literal::literal;
use crate::view::render::fields;
pub(crate) use html::HtmlPage;
pub(crate) use markdown::MarkdownPage;

/// Maximum bytes of text that is parsed as Markdown; a longer text is output, not prose.
const MAX_MARKDOWN_BYTES: usize = 1 << 20;

/// An unfinished conversation: its head, then its messages in order, then those of the sub-agents, then its end.
pub(crate) trait ExportPage {
    /// Writes the head of the page.
    fn begin(&mut self, session: &Session, subagents: &[Session]) -> io::Result<()>;

    /// Begins the conversation of a sub-agent, by its place among them.
    fn subagent(&mut self, number: usize, session: &Session) -> io::Result<()>;

    /// Adds a message.
    fn message(&mut self, message: &Message) -> io::Result<()>;

    /// Writes the remaining text.
    fn end(&mut self) -> io::Result<()>;
}

/// A call of a tool with its answer, which are folded together.
#[derive(Debug, PartialEq, Eq)]
struct CallWithAnswer {
    text: String,
    at: Option<Timestamp>,
}

impl CallWithAnswer {
    /// Returns the text that is visible while it is folded.
    fn summary(&self) -> &str {
        self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("(nothing)")
    }
}

/// Joins the answers of tools with their calls.
#[derive(Debug, Default)]
struct Calls {
    open: Option<CallWithAnswer>,
}

impl Calls {
    /// Consumes a message of a tool, and returns the call that it ends; ignores other messages.
    fn take_call(&mut self, message: &Message) -> Option<CallWithAnswer> {
        if message.role != Role::Tool {
            return self.open.take();
        }
        // Every agent's reader begins the answer of a tool with an arrow.
        match &mut self.open {
            Some(call) if message.text.starts_with('→') => {
                call.text.push('\n');
                call.text.push_str(&message.text);
                None
            }
            open => open.replace(CallWithAnswer { text: message.text.clone(), at: message.at }),
        }
    }

    fn end(&mut self) -> Option<CallWithAnswer> {
        self.open.take()
    }
}

/// Returns text without hidden or reordering characters; lines and tabs stay.
pub(super) fn visible(foreign_text: &str) -> String {
    foreign_text.replace("\r\n", "\n").split('\t').map(text::printable).collect::<Vec<_>>().join("\t")
}

/// The facts about a session for a reader, each with its name.
const FACTS: [(&str, Field); 7] = [
    ("Agent", Field::Agent),
    ("Session", Field::Id),
    ("Directory", Field::Dir),
    ("Branch", Field::Branch),
    ("Model", Field::Model),
    ("Started", Field::Created),
    ("Last active", Field::Active),
];

/// Returns the known facts about a session, each with its name.
fn facts(session: &Session, env: &Env) -> impl Iterator<Item = (&'static str, String)> {
    FACTS.into_iter().filter_map(|(name, field)| Some((name, fields::words(&field.value(session)?, env))))
}

/// Returns the name of the speaker for a reader.
fn speaker(message: &Message) -> Cow<'static, str> {
    let name = match message.role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
        Role::System => "System",
    };
    message.branch.map_or(name.into(), |number| format!("{name} (branch {number})").into())
}

/// Returns whether an address is that of a page or a mailbox, which runs nothing.
fn is_safe_link(address: &str) -> bool {
    let is = |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    is("https://") || is("http://") || is("mailto:")
}

/// One session that was exported.
#[derive(Debug)]
pub(crate) struct ExportedSession {
    /// The name of its file, which needs no quoting in a link.
    pub file: String,
    pub title: String,
    pub agent: &'static str,
    pub dir: String,
    /// The day of its last activity.
    pub day: String,
    pub messages: u64,
}

const TITLE: &str = "Sessions";

/// Writes a page that links to the others.
pub(crate) fn html_index(out: &mut impl Write, entries: &[ExportedSession]) -> io::Result<()> {
    head(out, TITLE)?;
    writeln!(out, "<header><h1>{TITLE}</h1></header>\n<main>\n<table>")?;
    writeln!(
        out,
        "<thead><tr><th scope=col>Last active</th><th scope=col>Agent</th><th scope=col>Session</th>\
         <th scope=col>Directory</th><th scope=col>Messages</th></tr></thead>\n<tbody>"
    )?;
    for ExportedSession { file, title, agent, dir, day, messages } in entries {
        let (title, dir) = (escaped(title), escaped(dir));
        writeln!(
            out,
            "<tr><td>{day}</td><td>{agent}</td><td><a href=\"{file}\">{title}</a></td><td>{dir}</td><td>{messages}</td></tr>"
        )?;
    }
    writeln!(out, "</tbody></table>\n</main>\n</body>\n</html>")?;
    out.flush()
}

/// Writes the index as Markdown.
pub(crate) fn markdown_index(out: &mut impl Write, entries: &[ExportedSession]) -> io::Result<()> {
    writeln!(
        out,
        "# {TITLE}\n\n| Last active | Agent | Session | Directory | Messages |\n| --- | --- | --- | --- | ---: |"
    )?;
    for ExportedSession { file, title, agent, dir, day, messages } in entries {
        let (title, dir) = (literal(title, false), literal(dir, false));
        writeln!(out, "| {day} | {agent} | [{title}]({file}) | {dir} | {messages} |")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, text: &str) -> Message {
        Message::new(role, text.to_owned(), None)
    }

    #[test]
    fn tool_results_follow_their_tool_call() {
        let mut calls = Calls::default();
        let mut ended = Vec::new();
        let messages = [
            (Role::User, "hi"),
            (Role::Tool, "ls"),
            (Role::Tool, "→ a"),
            (Role::Tool, "→ b"),
            (Role::Tool, "pwd"),
            (Role::Assistant, "done"),
        ];
        for (role, text) in messages {
            ended.extend(calls.take_call(&message(role, text)).map(|call| call.text));
        }
        ended.extend(calls.end().map(|call| call.text));
        assert_eq!(ended, ["ls\n→ a\n→ b", "pwd"]);
    }

    #[test]
    fn only_http_and_mailto_become_links() {
        for (address, is_safe) in [
            ("https://a.example/x", true),
            ("HTTP://a.example", true),
            ("mailto:a@b.example", true),
            ("javascript:alert(1)", false),
            ("JaVaScRiPt:alert(1)", false),
            ("data:text/html,x", false),
            ("file:///etc/passwd", false),
            ("//a.example", false),
            ("/etc", false),
            ("ä", false),
        ] {
            assert_eq!(is_safe_link(address), is_safe, "{address}");
        }
    }
}
