//! `rejoin search --host`

use std::cmp::Reverse;
use std::io::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cli::{Format, SearchArgs};
use crate::commands::hosts::{Asking, conclude, warn_of_unknown};
use crate::commands::search::pattern;
use crate::error::Exit;
use crate::fleet::merge::Merged;
use crate::fleet::rows::{Report, Rows};
use crate::fleet::{NO_ANSWER, of_others, row};
use crate::scan::pattern::Pattern;
use crate::scan::search::{Found, Hit};
use crate::session::{Role, Session};
use crate::view::render::hosts as render;
use crate::view::render::hosts::Document;
use crate::view::render::search::{self, Form, Match};
use crate::view::ui::Ui;

const KIND: &str = "search";
/// An id that is cut off to so many characters still tells sessions apart that were found together.
const SHORT: usize = 8;

/// A session on a host that has the text.
struct Row {
    host: Arc<str>,
    line: String,
    /// What is understood of it: a newer rejoin may know more agents.
    found: Option<(Session, Matching)>,
}

#[derive(Deserialize)]
struct Matching {
    #[serde(default)]
    in_title: bool,
    #[serde(default)]
    matches: u64,
    state: Option<u64>,
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    number: u64,
    role: Role,
    at: Option<Timestamp>,
    excerpt: String,
}

/// What has the text in its name comes first, then the newest.
type Place = (bool, Reverse<(bool, Option<Timestamp>)>);

fn next(rows: &mut Rows) -> Option<(Place, Row)> {
    let line = rows.next()?;
    let host = Arc::clone(rows.host());
    let found = row::session(&line, &host).ok().zip(serde_json::from_str::<Matching>(&line).ok());
    if !row::is_object(&line) {
        rows.give_up(NO_ANSWER.to_owned());
        return None;
    }
    let place = found.as_ref().map(|(session, found)| (!found.in_title, Reverse(session.recency())));
    Some((place.unwrap_or((false, Reverse((true, None)))), Row { host, line, found }))
}

pub(super) fn run(args: &SearchArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let env = asking.env;
    let pattern = pattern(args)?;
    let words = of_others(
        &env.invocation.words,
        &["--format=", "--json", "--sessions", "-l", "--count", "-c"],
        &["--format=ndjson".to_owned()],
    );
    let mut sources = asking.rows(KIND, &words, args.limit, ui)?;
    let mut merged = Merged::new(sources.iter_mut().map(|rows| || next(rows)).collect());
    let format = Format::from(args.format);
    let mut document = match format {
        Format::Table => None,
        format => Some(Document::begin(ui.data(), KIND, "sessions", format)?),
    };
    let (mut count, mut unknown) = (0, 0);
    for row in merged.by_ref().take(args.limit.unwrap_or(usize::MAX)) {
        count += 1;
        match &mut document {
            Some(document) => document.row(ui.data(), &row.line, &row.host)?,
            None if row.found.is_none() => unknown += 1,
            None => show(&row, args, &pattern, asking, ui)?,
        }
        ui.flush()?;
    }
    let beyond = merged.count();
    let reports: Vec<Report> = sources.into_iter().map(Rows::report).collect();
    if let Some(document) = &document {
        document.end(ui.data(), &reports, beyond)?;
    }
    ui.flush()?;
    if format == Format::Table && env.terminal.stdout && count == 0 {
        ui.note(&render::nothing_has(&pattern, &reports));
    }
    warn_of_unknown(unknown, ui);
    Ok(conclude(&reports, format, ui))
}

fn show(row: &Row, args: &SearchArgs, pattern: &Pattern, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<()> {
    let Some((session, matching)) = &row.found else { return Ok(()) };
    let hits = matching.messages.iter().map(|message| hit(message, pattern, args.context.is_some())).collect();
    let found = Found { in_title: matching.in_title, messages: matching.matches, hits, ..Found::default() };
    let one = Match { session, state: matching.state, found };
    let form = if args.count { Form::Counts } else { Form::Messages };
    let (host, styles) = (&*row.host, ui.styles);
    let out = ui.data();
    if asking.env.terminal.stdout {
        let short: String = session.id().chars().take(SHORT).collect();
        search::text(out, asking.env, &styles, &format!("{host}:{short}"), &one, form)?;
        return Ok(());
    }
    let mut lines = Vec::new();
    if args.sessions {
        search::name(&mut lines, &one)?
    } else {
        search::lines(&mut lines, &one, form)?
    }
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        write!(out, "{host}\t")?;
        out.write_all(line)?;
    }
    Ok(())
}

/// Finds in an excerpt what was found there.
fn hit(message: &Message, pattern: &Pattern, has_lines: bool) -> Hit {
    let text = &message.excerpt;
    let place = pattern.find(text).unwrap_or(0..0);
    let part = |text: &str| text.to_owned();
    let (before, found, after) = (part(&text[..place.start]), part(&text[place.clone()]), part(&text[place.end..]));
    Hit { number: message.number, role: message.role, at: message.at, before, found, after, has_lines }
}
