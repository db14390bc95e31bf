//! `rejoin search --host`

use std::cmp::Reverse;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cli::{Format, SearchArgs, SearchOrder};
use crate::commands::hosts::{Asking, conclude, warn_of_unknown};
use crate::commands::search::pattern;
use crate::error::Exit;
use crate::fleet::merge::Merged;
use crate::fleet::rows::{HostReport, HostRows};
use crate::fleet::{NO_ANSWER, of_others, row};
use crate::scan::search::{Hit, SessionMatches};
use crate::session::terms::SearchWords;
use crate::session::{Role, Session};
use crate::view::render::hosts as render;
use crate::view::render::hosts::HostsDocument;
use crate::view::render::search::{self, Form, MatchingSession};
use crate::view::ui::Ui;

const KIND: &str = "search";
/// Length of shortened ids, which still distinguishes the sessions of one answer.
const SHORT: usize = 8;

/// A session on a host that has the text.
struct HostMatch {
    host: Arc<str>,
    line: String,
    /// The parsed session and its matches. `None` if this version does not know its agent.
    found: Option<(Session, HostMatches)>,
}

#[derive(Deserialize)]
struct HostMatches {
    #[serde(default)]
    in_title: bool,
    #[serde(default)]
    matches: u64,
    copy: Option<usize>,
    state: Option<u64>,
    score: Option<f64>,
    words: Option<Vec<String>>,
    #[serde(default)]
    messages: Vec<HostMatchMessage>,
}

#[derive(Deserialize)]
struct HostMatchMessage {
    number: u64,
    role: Role,
    at: Option<Timestamp>,
    excerpt: String,
    #[serde(default)]
    branch: Option<u16>,
}

/// Sort key: sessions with most of the words first, then the best match, then a match in the name, then the newest.
type SearchSortKey = (Reverse<(usize, u64)>, bool, Reverse<(bool, Option<Timestamp>)>);

fn next(rows: &mut HostRows, args: &SearchArgs) -> Option<(SearchSortKey, HostMatch)> {
    let line = rows.next()?;
    let host = Arc::clone(rows.host());
    let found = row::session(&line, &host).ok().zip(serde_json::from_str::<HostMatches>(&line).ok());
    if !row::is_object(&line) {
        rows.give_up(NO_ANSWER.to_owned());
        return None;
    }
    let is_by_score = args.is_ranked() && args.sort == SearchOrder::Score;
    let score =
        |found: &HostMatches| (found.words.as_ref().map_or(0, Vec::len), (found.score.unwrap_or(0.0) * 1000.0) as u64);
    let place = |(session, found): &(Session, HostMatches)| {
        let score = if is_by_score { score(found) } else { (0, 0) };
        (Reverse(score), !args.is_ranked() && !found.in_title, Reverse(session.recency()))
    };
    let place = found.as_ref().map(place).unwrap_or((Reverse((0, 0)), false, Reverse((true, None))));
    Some((place, HostMatch { host, line, found }))
}

pub(super) fn run(args: &SearchArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let env = asking.env;
    let (_, texts) = super::super::query::filters(&args.text, &env.clock)?;
    let (words, pattern) = (SearchWords::parse(&texts), if args.is_ranked() { None } else { Some(pattern(args)?) });
    let search_for = pattern.as_ref().map_or(search::SearchFor::Words(&words), search::SearchFor::Pattern);
    let format = args.format.for_list(env.terminal.stdout);
    // Rows contain whole lines.
    let whole = (format.is_rows() && args.context.is_none()).then_some("--context=0");
    let whole = whole.filter(|_| Form::from_args(args) == Form::Messages).map(str::to_owned);
    let with: Vec<String> = ["--format=ndjson".to_owned()].into_iter().chain(whole).collect();
    let words = of_others(&env.invocation.words, &["--format=", "--json", "--sessions", "-l", "--count", "-c"], &with);
    let mut sources = asking.rows(KIND, &words, args.limit.filter(|limit| *limit > 0), ui)?;
    let mut merged = Merged::new(sources.iter_mut().map(|rows| || next(rows, args)).collect());
    let mut document = match format {
        Format::Table => None,
        Format::Tsv | Format::Csv => {
            search::head(ui.data(), Form::from_args(args), format, true)?;
            None
        }
        format => Some(HostsDocument::begin(ui.data(), KIND, "sessions", format)?),
    };
    let (mut count, mut unknown) = (0, 0);
    for row in merged.by_ref().take(args.limit()) {
        count += 1;
        match &mut document {
            Some(document) => document.row(ui.data(), &row.line, &row.host)?,
            None if row.found.is_none() => unknown += 1,
            None => show_results(&row, args, search_for, asking, ui)?,
        }
        ui.flush()?;
    }
    let beyond = merged.count();
    let reports: Vec<HostReport> = sources.into_iter().map(HostRows::report).collect();
    if let Some(document) = &document {
        document.end(ui.data(), &reports, beyond)?;
    }
    ui.flush()?;
    if format == Format::Table && env.terminal.stdout && count == 0 {
        ui.print_note(&render::nothing_has(search_for.text(), &reports));
    }
    warn_of_unknown(unknown, ui);
    Ok(conclude(&reports, format, ui))
}

fn show_results(
    row: &HostMatch,
    args: &SearchArgs,
    requested: search::SearchFor<'_>,
    asking: &Asking<'_>,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let Some((session, matching)) = &row.found else { return Ok(()) };
    let hits = matching.messages.iter().map(|message| hit(message, requested, args.context.is_some())).collect();
    let found =
        SessionMatches { in_title: matching.in_title, messages: matching.matches, hits, ..SessionMatches::default() };
    let one = MatchingSession { session, state: matching.state, found, copy: matching.copy, rank: None };
    let (form, format) = (Form::from_args(args), args.format.for_list(asking.env.terminal.stdout));
    let (host, styles) = (&*row.host, ui.styles);
    let out = ui.data();
    if format == Format::Table {
        let short: String = session.id().chars().take(SHORT).collect();
        search::text(out, asking.env, &styles, &format!("{host}:{short}"), &one, form, requested)?;
        return Ok(());
    }
    Ok(search::rows(out, &one, form, format, Some(host))?)
}

/// Finds the match in an excerpt.
fn hit(message: &HostMatchMessage, search_for: search::SearchFor<'_>, has_lines: bool) -> Hit {
    let text = &message.excerpt;
    let place = search_for.find(text).unwrap_or(0..0);
    let part = |text: &str| text.to_owned();
    let (before, found, after) = (part(&text[..place.start]), part(&text[place.clone()]), part(&text[place.end..]));
    Hit {
        number: message.number,
        role: message.role,
        at: message.at,
        before,
        found,
        after,
        has_lines,
        branch: message.branch,
    }
}
