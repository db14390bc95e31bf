//! `rejoin list --host`

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::{Format, ListArgs};
use crate::commands::config;
use crate::commands::hosts::{Asking, conclude, warn_of_unknown};
use crate::commands::listing::{room_of_screen, says_more};
use crate::config::Config;
use crate::config::in_words;
use crate::error::Exit;
use crate::fleet::merge::Merged;
use crate::fleet::rows::{HostReport, HostRows};
use crate::fleet::{NO_ANSWER, of_others, row};
use crate::session::Session;
use crate::session::fields::Field;
use crate::session::select::{self, ShortIds, SortKey};
use crate::system::env::Env;
use crate::view::render::hosts as render;
use crate::view::render::hosts::HostsDocument;
use crate::view::render::list::ListLayout;
use crate::view::render::table;
use crate::view::render::table::TableLayout;
use crate::view::ui::Ui;

const KIND: &str = "session-list";
/// Options that this machine applies to the merged rows.
const OURS: &[&str] = &["--format=", "--json", "--limit=", "-n=", "--fields=", "--wide", "-w", "--group=", "--counts"];
/// Number of sessions that are formatted together.
const PART: usize = 1024;

/// A session on a host.
struct HostRow {
    host: Arc<str>,
    line: String,
    /// The parsed session. `None` if it is not needed, or if this version does not know its agent.
    session: Option<Session>,
}

/// The sort key of a row.
#[derive(PartialEq, Eq)]
struct HostRowOrder {
    /// `None` for a row that cannot be parsed. It is sorted first, so that it is not overlooked.
    place: Option<row::RowSortKey>,
    is_reversed: bool,
}

impl Ord for HostRowOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.place.cmp(&other.place);
        let is_unknown = |it: &Self| it.place.as_ref().is_some_and(|(rank, ..)| rank.is_unknown());
        let reversed = || is_unknown(self).cmp(&is_unknown(other)).then(order.reverse());
        if self.is_reversed { reversed() } else { order }
    }
}

impl PartialOrd for HostRowOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads the next session of a host; a document only needs the line.
fn next(rows: &mut HostRows, args: &ListArgs, is_document: bool) -> Option<(HostRowOrder, HostRow)> {
    let line = rows.next()?;
    let host = Arc::clone(rows.host());
    let session = if is_document { None } else { row::session(&line, &host).ok() };
    let place = match &session {
        Some(session) => Some(row::place_of(session, args.order())),
        None => row::place(&line, &host, args.order()),
    };
    if !row::is_object(&line) {
        rows.give_up(NO_ANSWER.to_owned());
        return None;
    }
    Some((HostRowOrder { place, is_reversed: args.reverse }, HostRow { host, line, session }))
}

/// Returns the filters and the order that the config file adds to what was typed.
fn of_config(typed: &ListArgs, args: &ListArgs, config: &Config) -> Vec<String> {
    let agents: Vec<&str> = args.filter.place.agents.agent.iter().map(|agent| agent.name()).collect();
    let has_agents = typed.filter.place.agents.agent.is_empty() && !agents.is_empty();
    let since = config.setting("list.since").map(|set| in_words(&set.value));
    let since = since.filter(|_| typed.filter.since.is_none() && args.filter.since.is_some());
    let sort = config.setting("list.sort").map(|set| in_words(&set.value));
    let sort = sort.filter(|_| typed.sort.is_none() && args.sort.is_some());
    let agents = has_agents.then(|| format!("--agent={}", agents.join(",")));
    let others = [("--since", since), ("--sort", sort)];
    let others = others.into_iter().filter_map(|(option, value)| Some(format!("{option}={}", value?)));
    agents.into_iter().chain(others).collect()
}

pub(super) fn run(typed: &ListArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let env = asking.env;
    let (args, from_config) = &config::list(typed, env);
    let limit = match args.limit {
        Some(0) => None,
        None if says_more(args, &env.terminal) => room_of_screen(&env.terminal),
        limit => limit,
    };
    let with = ["--format=ndjson".to_owned()].into_iter().chain(limit.map(|limit| format!("--limit={limit}")));
    // With `--counts`, a host also sends tokens and costs.
    let counts = (args.counts() || args.usage()).then(|| "--counts".to_owned());
    let with = with.chain(counts).chain(of_config(typed, args, &env.config));
    let with: Vec<String> = with.collect();
    let mut sources = asking.rows(KIND, &of_others(&env.invocation.words, OURS, &with), limit, ui)?;
    let format = args.format.for_list(env.terminal.stdout);
    let is_document = format.is_json() && args.group.is_none();
    let nexts = sources.iter_mut().map(|rows| || next(rows, args, is_document)).collect();
    let mut merged = Merged::new(nexts);
    let shown = merged.by_ref().take(limit.unwrap_or(usize::MAX));
    let mut rows: Box<dyn Iterator<Item = HostRow>> = if args.group.is_some() {
        let mut rows: Vec<HostRow> = shown.collect();
        select::put_projects_together(&mut rows, project);
        Box::new(rows.into_iter())
    } else {
        Box::new(shown)
    };
    let counted = match format {
        Format::Json | Format::Ndjson => objects(&mut rows, format, ui)?,
        Format::Table => write_table(&mut rows, args, env, ui)?,
        Format::Tsv | Format::Csv => lines(&mut rows, args, format, env, ui)?,
    };
    drop(rows);
    let beyond = merged.count();
    let reports: Vec<HostReport> = sources.into_iter().map(HostRows::report).collect();
    if let WrittenRows::Document(document) = &counted {
        document.end(ui.data(), &reports, beyond)?;
    }
    ui.flush()?;
    if let WrittenRows::Sessions { shown, unknown, legend } = counted {
        if says_more(args, &env.terminal) {
            legend.iter().chain(&render::notes(&reports, shown, beyond)).for_each(|note| ui.print_note(note));
        }
        warn_of_unknown(unknown, ui);
    }
    from_config.iter().for_each(|note| ui.print_note(note));
    Ok(conclude(&reports, format, ui))
}

/// The output that was written.
enum WrittenRows {
    Document(HostsDocument),
    Sessions {
        shown: usize,
        unknown: usize,
        /// The meanings of the letters in the table.
        legend: Vec<String>,
    },
}

/// Returns the project of a session: a directory of its host.
fn project(row: &HostRow) -> Option<PathBuf> {
    let dir = row.session.as_ref()?.launch_dir()?;
    Some(PathBuf::from(&*row.host).join(dir.strip_prefix("/").unwrap_or(dir)))
}

fn objects(rows: &mut dyn Iterator<Item = HostRow>, format: Format, ui: &mut Ui) -> anyhow::Result<WrittenRows> {
    let mut document = HostsDocument::begin(ui.data(), KIND, "sessions", format)?;
    for row in rows {
        document.row(ui.data(), &row.line, &row.host)?;
    }
    Ok(WrittenRows::Document(document))
}

fn write_table(
    rows: &mut dyn Iterator<Item = HostRow>,
    args: &ListArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<WrittenRows> {
    let mut unknown = 0;
    let known = rows.filter_map(|row| {
        unknown += usize::from(row.session.is_none());
        row.session
    });
    let sessions: Vec<Session> = known.collect();
    let look = TableLayout {
        short: ShortIds::from_sessions(&sessions),
        fields: Some(args.fields.clone()).filter(|fields| !fields.is_empty()),
        is_of_running: args.running,
        is_wide: args.wide,
        has_groups: args.group.is_some(),
        has_places: false,
        is_by_size: args.order() == SortKey::Size,
    };
    let legend = table::legend(&sessions, &look, env);
    let styles = ui.styles;
    ListLayout::Table(look).write(ui.data(), env, &styles, &sessions)?;
    Ok(WrittenRows::Sessions { shown: sessions.len(), unknown, legend })
}

fn lines(
    rows: &mut dyn Iterator<Item = HostRow>,
    args: &ListArgs,
    format: Format,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<WrittenRows> {
    let usual = || [Field::Host].into_iter().chain(args.usual_fields()).collect();
    let fields: Vec<Field> = if args.fields.is_empty() { usual() } else { args.fields.clone() };
    let (mut shown, mut unknown, mut is_first) = (0, 0, true);
    let styles = ui.styles;
    loop {
        let part: Vec<HostRow> = rows.take(PART).collect();
        let is_last = part.len() < PART;
        let all = part.len();
        let sessions: Vec<Session> = part.into_iter().filter_map(|row| row.session).collect();
        unknown += all - sessions.len();
        shown += sessions.len();
        let layout = match format {
            Format::Csv => ListLayout::Csv { fields: fields.clone(), has_head: is_first },
            _ => ListLayout::Lines(fields.clone()),
        };
        layout.write(ui.data(), env, &styles, &sessions)?;
        is_first = false;
        if is_last {
            return Ok(WrittenRows::Sessions { shown, unknown, legend: Vec::new() });
        }
    }
}
