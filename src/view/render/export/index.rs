//! The index of a directory of exported sessions.

use std::io::{self, Write};

use crate::view::render::export::code::escaped;
use crate::view::render::export::html::head;
use crate::view::render::export::literal::literal;

/// One session that was exported.
#[derive(Debug)]
pub(crate) struct Entry {
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
pub(crate) fn html_index(out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    head(out, TITLE)?;
    writeln!(out, "<header><h1>{TITLE}</h1></header>\n<main>\n<table>")?;
    writeln!(
        out,
        "<thead><tr><th scope=col>Last active</th><th scope=col>Agent</th><th scope=col>Session</th>\
         <th scope=col>Directory</th><th scope=col>Messages</th></tr></thead>\n<tbody>"
    )?;
    for Entry { file, title, agent, dir, day, messages } in entries {
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
pub(crate) fn markdown_index(out: &mut impl Write, entries: &[Entry]) -> io::Result<()> {
    writeln!(
        out,
        "# {TITLE}\n\n| Last active | Agent | Session | Directory | Messages |\n| --- | --- | --- | --- | ---: |"
    )?;
    for Entry { file, title, agent, dir, day, messages } in entries {
        let (title, dir) = (literal(title, false), literal(dir, false));
        writeln!(out, "| {day} | {agent} | [{title}]({file}) | {dir} | {messages} |")?;
    }
    out.flush()
}
