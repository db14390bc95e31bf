//! Sessions that contain a text, each with the messages that have it.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{Format, SearchArgs};
use crate::format::text;
use crate::scan;
use crate::scan::deleted::Deleted;
use crate::scan::pattern::Pattern;
use crate::scan::search::{Hit, SessionMatches};
use crate::session::terms::SearchWords;
use crate::session::{Problem, Session};
use crate::system::env::Env;
use crate::view::render::list::more_with_all;
use crate::view::render::{rows, table};
use crate::view::ui::Styles;

/// Columns of the longest name of a speaker.
const ROLE: usize = 9;
/// Minimum columns of a directory.
const NARROWEST_DIR: usize = 8;
/// Maximum columns of a title.
const WIDEST_TITLE: usize = 60;

/// A session that contains the text.
#[derive(Clone, Debug)]
pub(crate) struct MatchingSession<'a> {
    /// The session.
    pub session: &'a Session,
    /// The number of the session's state in the archive, if the archive was searched.
    pub state: Option<u64>,
    /// The matches.
    pub found: SessionMatches,
    /// The number of the copy that has the matches, if the first copy has fewer.
    pub copy: Option<usize>,
    /// The rank; `None` in a search for a literal text.
    pub rank: Option<ResultRank>,
}

impl<'a> MatchingSession<'a> {
    /// Creates a match in a session, with the number by which `show` names the copy.
    pub(crate) fn in_session(session: &'a Session, found: SessionMatches, rank: Option<ResultRank>) -> Self {
        let copy = found.copy.filter(|_| found.is_any()).map(|at| scan::number_of_copy(session, at));
        Self { session, state: None, found, copy, rank }
    }
}

/// Rank of a session.
#[derive(Clone, Debug)]
pub(crate) struct ResultRank {
    /// The score: higher is better; comparable within one answer.
    pub score: f64,
    /// The words that the session has.
    pub words: Vec<String>,
}

/// The text or the words of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SearchFor<'a> {
    /// A literal text, or a regular expression.
    Pattern(&'a Pattern),
    /// Words in any form.
    Words(&'a SearchWords),
}

impl<'a> SearchFor<'a> {
    /// Finds the first match in a text.
    pub(crate) fn find(self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Pattern(pattern) => pattern.find(text),
            Self::Words(words) => {
                let mut first: Option<Range<usize>> = None;
                words.each_place(text, &mut |place| {
                    first = Some(place.range).into_iter().chain(first.take()).min_by_key(|range| range.start);
                });
                first
            }
        }
    }

    /// Returns the text as it was typed.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Pattern(pattern) => &pattern.text,
            Self::Words(words) => &words.text,
        }
    }
}

/// A word or a phrase that no session has, and the words that were searched for in its place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Replaced {
    /// The word as it was typed.
    pub typed: String,
    /// The nearest word that a session has, or the words of the phrase.
    pub used: String,
}

/// The numbers that are reported after a search.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SearchSummary<'a> {
    /// Number of sessions that were searched.
    pub searched: usize,
    /// Number of sessions that passed the filters, but are searched only with `--all`.
    pub hidden: usize,
    /// True if there are or may be more matches, because `--limit` was reached.
    #[serde(rename = "limit_reached")]
    pub is_limited: bool,
    /// Words that no session has, each with the nearest one, which was searched for.
    pub replaced: &'a [Replaced],
    /// Words that no session has.
    pub missing: &'a [String],
    /// Set if no session has all words, so that the sessions with most of them are listed.
    #[serde(rename = "partial")]
    pub is_partial: bool,
    /// Sessions without files that have the text in a prompt or title in a list of their agent.
    pub deleted: &'a [Deleted],
    /// Files and directories that could not be read.
    pub problems: &'a [Problem],
}

impl<'a> SearchSummary<'a> {
    /// Creates the summary of a search for a literal text.
    pub(crate) fn for_pattern(
        searched: usize,
        hidden: usize,
        is_limited: bool,
        deleted: &'a [Deleted],
        problems: &'a [Problem],
    ) -> Self {
        Self { searched, hidden, is_limited, replaced: &[], missing: &[], is_partial: false, deleted, problems }
    }
}

/// The output for a matching session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The messages.
    Messages,
    /// The number of messages.
    Counts,
    /// Only the session.
    Sessions,
}

impl Form {
    /// Returns the requested form.
    pub(crate) fn from_args(args: &SearchArgs) -> Self {
        match (args.count, args.sessions) {
            (true, _) => Self::Counts,
            (false, true) => Self::Sessions,
            (false, false) => Self::Messages,
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Messages => &["agent", "id", "role", "at", "text"],
            Self::Counts => &["agent", "id", "matches"],
            Self::Sessions => &["agent", "id", "title"],
        }
    }
}

/// Writes a session for users: one line about it, and one line per message, or several with context.
pub(crate) fn text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    id: &str,
    one: &MatchingSession<'_>,
    form: Form,
    search_for: SearchFor<'_>,
) -> io::Result<()> {
    let Styles { header, found: highlight, faint, .. } = styles;
    let MatchingSession { session, found, .. } = one;
    let width = env.terminal.columns();
    let id = text::one_line(id);
    let (title, active) = (table::title(session), table::active(session, env));
    let dir = session.launch_dir().map(|dir| table::shown_dir(dir, env)).unwrap_or_default();
    // Blanks and a comma separate the parts.
    let room = width.saturating_sub(session.agent.name().len() + id.width() + active.width() + 7);
    let title = text::truncated(&title, WIDEST_TITLE.min(room.saturating_sub(dir.width()).max(room * 3 / 5)));
    let room = room.saturating_sub(title.width());
    let dir = if room < NARROWEST_DIR.min(dir.width()) { "".into() } else { text::truncated_path(&dir, room) };
    let about: Vec<&str> = [active.as_str(), &dir].into_iter().filter(|words| !words.is_empty()).collect();
    writeln!(out, "{header}{} {id}{header:#}  {title}  {}", session.agent, about.join(", "))?;
    if form == Form::Counts {
        return writeln!(out, "  {}", text::count(usize::try_from(found.messages).unwrap_or(usize::MAX), "message"));
    }
    for hit in &found.hits {
        let branch = hit.branch.map(|number| format!("branch {number}"));
        let marks: Vec<String> = one.copy.map(|number| format!("copy {number}")).into_iter().chain(branch).collect();
        let branch = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
        let room = width.saturating_sub(ROLE + 3 + branch.len());
        let role = hit.role.name();
        if hit.has_lines {
            let lines = lines_of(hit, styles, room);
            for (at, line) in lines.iter().enumerate() {
                let (role, branch) = if at == 0 { (role, branch.as_str()) } else { ("", "") };
                writeln!(out, "  {role:<ROLE$} {line}{faint}{branch}{faint:#}")?;
            }
            continue;
        }
        let [before, within, after] = fit(words(hit), room);
        let [before, after] = [before, after].map(|part| highlighted(&part, search_for, styles));
        writeln!(out, "  {role:<ROLE$} {before}{highlight}{within}{highlight:#}{after}{faint}{branch}{faint:#}")?;
    }
    if found.hits.is_empty() {
        return Ok(());
    }
    let more = found.messages - found.hits.len() as u64;
    match more {
        0 => Ok(()),
        1 => writeln!(out, "  {faint}and 1 more message{faint:#}"),
        _ => writeln!(out, "  {faint}and {more} more messages{faint:#}"),
    }
}

/// Writes the sessions without files for users, each with the first of its prompts.
pub(crate) fn deleted(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    deleted: &[Deleted],
    (sessions, prompts): (usize, usize),
) -> io::Result<()> {
    let Styles { header, faint, .. } = styles;
    let room = env.terminal.columns().saturating_sub(ROLE + 3);
    for one in deleted.iter().take(sessions) {
        let dir = one.dir.as_deref().map(|dir| format!("  {}", text::one_line(dir))).unwrap_or_default();
        writeln!(out, "{header}{} {}{header:#}  (deleted, prompts only){dir}", one.agent, text::one_line(&one.id))?;
        for prompt in one.prompts.iter().take(prompts) {
            let at = prompt.at.map(|at| env.clock.local_time(at)).unwrap_or_default();
            let prompt_line = text::one_line(&prompt.text);
            writeln!(out, "  {:<ROLE$} {}  {faint}{at}{faint:#}", "user", text::truncated(&prompt_line, room))?;
        }
    }
    Ok(())
}

/// Highlights the words of a search in a part of a message.
fn highlighted(part: &str, search_for: SearchFor<'_>, styles: &Styles) -> String {
    let Styles { found: highlight, .. } = styles;
    let SearchFor::Words(words) = search_for else { return part.to_owned() };
    let mut ranges = Vec::new();
    words.each_place(part, &mut |place| ranges.push(place.range));
    ranges.sort_by_key(|range| (range.start, range.end));
    let (mut text, mut end) = (String::with_capacity(part.len()), 0);
    for range in ranges {
        if range.start >= end {
            text.push_str(&part[end..range.start]);
            text.push_str(&format!("{highlight}{}{highlight:#}", &part[range.clone()]));
            end = range.end;
        }
    }
    text + &part[end..]
}

/// Returns the lines around a match, each cut to a width.
fn lines_of(hit: &Hit, styles: &Styles, width: usize) -> Vec<String> {
    let Styles { found: highlight, .. } = styles;
    let (above, before) =
        hit.before.rsplit_once('\n').map_or((None, hit.before.as_str()), |(above, own)| (Some(above), own));
    let (after, below) =
        hit.after.split_once('\n').map_or((hit.after.as_str(), None), |(own, below)| (own, Some(below)));
    let plain = |line: &str| text::truncated(&text::one_line(line), width).into_owned();
    let own = Hit { before: before.to_owned(), after: after.to_owned(), ..hit.clone() };
    let [before, within, after] = fit(words(&own), width);
    let mut lines: Vec<String> = above.into_iter().flat_map(str::lines).map(plain).collect();
    lines.push(format!("{before}{highlight}{within}{highlight:#}{after}"));
    lines.extend(below.into_iter().flat_map(str::lines).map(plain));
    lines
}

/// Returns a message on one line of at most `width` columns: the text before the match, the match, and the text after
/// it.
pub(crate) fn excerpt(hit: &Hit, width: usize) -> [String; 3] {
    fit(words(hit), width)
}

/// Cuts the text around a match to fit a line into a number of columns.
fn fit([before, within, after]: [String; 3], width: usize) -> [String; 3] {
    let room = width.saturating_sub(within.width());
    // The text before the match is less informative than the text after it.
    let least = after.width().min(room - room / 3);
    let skipped = before.width().saturating_sub(room - least);
    let before = match skipped {
        0 => before,
        _ => format!("…{}", before.chars().skip(skipped + 1).collect::<String>()),
    };
    let after = text::truncated(&after, room.saturating_sub(before.width())).into_owned();
    [before, within, after]
}

/// Writes the names of the columns, which only csv has; `host` adds the column of several hosts.
pub(crate) fn head(out: &mut impl Write, form: Form, format: Format, has_host: bool) -> io::Result<()> {
    let host = has_host.then_some("host");
    rows::head(out, format, host.iter().chain(form.columns()))
}

/// Writes a session as tsv or csv: one row per message, or one row for a session that matches only in its title.
pub(crate) fn rows(
    out: &mut impl Write,
    one: &MatchingSession<'_>,
    form: Form,
    format: Format,
    host: Option<&str>,
) -> io::Result<()> {
    let MatchingSession { session, found, .. } = one;
    let mut row = |rest: &[&str]| {
        let session = [session.agent.name(), session.id()];
        rows::row(out, format, host.iter().chain(&session).chain(rest))
    };
    let copy = &session.copies[found.copy.unwrap_or(0)];
    let title = copy.title.as_ref().or(copy.first_prompt.as_ref()).map_or("", |label| &*label.value);
    match form {
        Form::Counts => row(&[&found.messages.to_string()]),
        Form::Sessions => row(&[title]),
        Form::Messages if found.hits.is_empty() => row(&["title", "", title]),
        Form::Messages => found.hits.iter().try_for_each(|hit| {
            let at = hit.at.map(|at| at.to_string()).unwrap_or_default();
            row(&[hit.role.name(), &at, &words(hit).concat()])
        }),
    }
}

/// Formats a message on one line, in three parts.
fn words(hit: &Hit) -> [String; 3] {
    // Blanks at the ends of a part belong to the message.
    let part = |text: &str| {
        let line = text::one_line(text);
        let [first, last] = [text.starts_with(char::is_whitespace), text.ends_with(char::is_whitespace)];
        let blank = |is: bool| if is { " " } else { "" };
        if line.is_empty() { blank(first).to_owned() } else { format!("{}{line}{}", blank(first), blank(last)) }
    };
    let [before, within, after] = [part(&hit.before), part(&hit.found), part(&hit.after)];
    [before.trim_start().to_owned(), within, after.trim_end().to_owned()]
}

/// Returns the notes on a terminal about omitted parts of the answer.
pub(crate) fn notes(search_for: SearchFor<'_>, matching: usize, summary: &SearchSummary<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if matching == 0 && summary.deleted.is_empty() && summary.searched > 0 {
        notes.push(format!("No match for {:?} in {}.", search_for.text(), text::count(summary.searched, "session")));
    }
    notes.extend(notes_on_words(matching, summary));
    if summary.is_limited {
        notes.push("There may be more beyond --limit.".to_owned());
    }
    notes.extend(more_with_all(summary.hidden, "searched"));
    notes
}

/// Returns the notes on words that no session has, or that no session has together.
pub(crate) fn notes_on_words(matching: usize, summary: &SearchSummary<'_>) -> Vec<String> {
    let replaced = summary.replaced.iter().map(|Replaced { typed, used }| {
        if used.contains(' ') {
            format!("Nothing has {typed:?}; showing the words {used}.")
        } else {
            format!("Nothing has {typed:?}; showing {used:?}.")
        }
    });
    let mut notes: Vec<String> = replaced.collect();
    if matching > 0 && !summary.missing.is_empty() {
        let missing: Vec<String> = summary.missing.iter().map(|word| format!("{word:?}")).collect();
        notes.push(format!("Nothing has {}.", missing.join(" or ")));
    } else if matching > 0 && summary.is_partial {
        notes.push("No session has all of the words; these have most of them.".to_owned());
    }
    notes
}
