//! A conversation as Markdown.

use std::io::{self, Write};

use crate::format::text;
use crate::session::{Message, Role, Session};
use crate::system::env::Env;
use crate::view::render::export::literal::{fenced, literal, typed};
use crate::view::render::export::rewrite::rewrite;
use crate::view::render::export::{CallWithAnswer, Calls, ExportPage, MAX_MARKDOWN_BYTES, facts, speaker, visible};
use crate::view::render::table;

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
            writeln!(self.out, "- {name}: {}", literal(&value, false))?;
        }
        writeln!(self.out)
    }

    fn call(&mut self, call: Option<CallWithAnswer>) -> io::Result<()> {
        let Some(call) = call else { return Ok(()) };
        let summary = text::one_line(&text::truncated(call.summary(), 160)).replace('&', "&amp;").replace('<', "&lt;");
        writeln!(self.out, "<details><summary>{summary}</summary>\n")?;
        writeln!(self.out, "{}\n\n</details>\n", fenced(&visible(&call.text), "text").join("\n"))
    }
}

impl<W: Write> ExportPage for MarkdownPage<'_, W> {
    fn begin(&mut self, session: &Session, subagents: &[Session]) -> io::Result<()> {
        writeln!(self.out, "# {}\n", literal(&table::title(session), false))?;
        self.facts(session)?;
        for (at, subagent) in subagents.iter().enumerate() {
            writeln!(self.out, "- Sub-agent {}: {}", at + 1, literal(&table::title(subagent), false))?;
        }
        if subagents.is_empty() { Ok(()) } else { writeln!(self.out) }
    }

    fn subagent(&mut self, number: usize, session: &Session) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        writeln!(self.out, "---\n\n# Sub-agent {number}: {}\n", literal(&table::title(session), false))?;
        self.facts(session)
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        let call = self.calls.take_call(message);
        self.call(call)?;
        if message.role == Role::Tool {
            return Ok(());
        }
        let at = message.at.map(|at| format!(" · {}", self.env.clock.local_time(at))).unwrap_or_default();
        writeln!(self.out, "## {}{at}\n", speaker(message))?;
        let visible_text = visible(message.text.trim_end());
        if message.role != Role::Assistant {
            // A prompt may contain Markdown by accident.
            return writeln!(self.out, "{}\n", typed(&visible_text).join("\n"));
        }
        let reply = if visible_text.len() <= MAX_MARKDOWN_BYTES { rewrite(&visible_text) } else { None };
        writeln!(self.out, "{}\n", reply.unwrap_or_else(|| fenced(&visible_text, "text").join("\n")))
    }

    fn end(&mut self) -> io::Result<()> {
        let call = self.calls.end();
        self.call(call)?;
        self.out.flush()
    }
}
