//! `rejoin list`

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use crate::agent;
use crate::change::pins::Pins;
use crate::cli::{ListArgs, ListForm};
use crate::commands::{nowhere, words};
use crate::error::Exit;
use crate::scan::git::checkouts_with;
use crate::scan::relocated::Relocated;
use crate::scan::{self, Card, ManyPlaces, Shelf, Wanted};
use crate::session::fields::Field;
use crate::session::select::{self, Filter, Name, Rank, ShortIds, SortKey};
use crate::session::{InOrder, Kin, Session, SessionKind};
use crate::system::env::Env;
use crate::view::render::list as render;
use crate::view::render::list::{Layout, Listing};
use crate::view::render::table::Look;
use crate::view::ui::Ui;

/// Lines of a screen that are kept for the head of a table, the notes below it and the next prompt.
const AROUND_TABLE: usize = 6;
/// A table on a screen that is hardly one still has so many lines.
const FEWEST: usize = 5;

/// What decides whether a session is shown, and where.
#[derive(Debug)]
pub(super) struct Line {
    /// Whether it is of those that were asked for.
    is_meant: bool,
    /// Whether its kind is shown.
    is_listed: bool,
    is_subagent: bool,
    /// Whether it comes before all that are not, whatever their rank.
    is_first: bool,
    rank: Rank,
}

impl Line {
    pub(super) fn of(session: &Session, key: SortKey, filter: &Filter) -> Self {
        Self {
            is_meant: filter.matches(session),
            is_listed: filter.shows_kind(session),
            is_subagent: session.copy().kind == SessionKind::Subagent,
            is_first: false,
            rank: Rank::of(session, key),
        }
    }

    /// Leaves it out where it is not meant for another reason.
    pub(super) fn only_if(self, is_meant: bool) -> Self {
        Self { is_meant: self.is_meant && is_meant, ..self }
    }

    /// Says whether it comes before all that are not meant so.
    pub(super) fn first(self, is_first: bool) -> Self {
        Self { is_first, ..self }
    }
}

/// The sessions that are shown.
pub(super) struct Shown<'a> {
    pub(super) shelf: &'a Shelf<Line>,
    pub(super) cards: Vec<Card<Line>>,
    pub(super) pins: Pins,
    pub(super) filter: &'a Filter,
}

impl InOrder for Shown<'_> {
    fn count(&self) -> usize {
        self.cards.len()
    }

    fn at(&self, place: usize) -> Cow<'_, Session> {
        let mut session = self.shelf.get(&self.cards[place]);
        session.is_pinned = self.pins.has(session.agent, &session.id);
        session.kin = self.filter.kin_of(&session);
        Cow::Owned(session)
    }
}

pub(crate) fn run(typed: &ListArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (args, from_config) = &super::config::list(typed, env);
    let mut filter = super::filter(&args.filter, args.all, env);
    let query = words::sound_query(&args.words, env)?;
    if args.archived {
        return super::archive::list(args, &filter, &query, env, ui);
    }
    filter.kin = kin(&filter.dirs, env);
    let wanted = Wanted { counts: args.counts(), ..Wanted::GLANCE };
    let showing = ui.watch("Reading");
    let line = |session: &Session| {
        Line::of(session, args.order(), &filter).only_if(args.words.is_empty() || words::are_in(&query, session, env))
    };
    let passes = |session: &Session| filter.matches(session) && filter.shows_kind(session);
    let mut shelf = match count_of_first(args, env) {
        None => {
            let places = scan::locate_many(env, &filter.agents).watched(showing.watcher());
            places.shelve(env, &filter, wanted, true, line)
        }
        Some(count) => {
            let places = scan::locate(env, &filter.agents).watched(showing.watcher());
            let first = places.first(env, &filter, wanted, count, passes, line);
            first.unwrap_or_else(|| ManyPlaces::from(places).shelve(env, &filter, wanted, true, line))
        }
    };
    drop(showing);
    super::warn_of_problems(ui, &shelf.problems);

    let layout = layout(args, || short_ids(&shelf), env);
    let pins = super::pins(env, ui);
    let mut cards = shelf.take_cards();
    let read = cards.len();
    let dir = |card: &Card<Line>| shelf.get(card).launch_dir().map(Path::to_owned);
    let hidden = put_in_order(&mut cards, |card| &card.said, |a, b| shelf.by_name(a, b));
    let beyond_limit = cut(&mut cards, dir, args, env);

    let looked_in = if read == 0 { agent::roots(env, &filter.agents) } else { Vec::new() };
    let (mut dangling, problems) = (std::mem::take(&mut shelf.dangling), std::mem::take(&mut shelf.problems));
    // What leads to no session has no words of one.
    dangling.retain(|_| args.words.is_empty());
    let shown = Shown { shelf: &shelf, cards, pins, filter: &filter };
    let sessions = &shown;
    let listing = Listing { env, layout, sessions, read, looked_in, hidden, beyond_limit, dangling, problems };
    ui.answer(args.format.json_or_table(), env, &listing)?;
    let has_none = listing.sessions.count() == 0 && hidden == 0 && read > 0;
    let is_nowhere =
        has_none && (args.filter.place.dir.is_some() || says_more(args, env)) && nowhere::note(&filter, env, ui);
    if says_more(args, env) && !is_nowhere {
        render::notes(&listing, &filter, typed.is_narrowed()).iter().for_each(|note| ui.note(note));
    }
    from_config.iter().for_each(|note| ui.note(note));
    // The process ends here; giving back each session's memory by itself would take longer than printing it.
    std::mem::forget(listing);
    std::mem::forget((shown.cards, shelf));
    Ok(Exit::Ok)
}

/// Returns how many sessions are shown where these are those that were active last, and nothing is said of the others.
fn count_of_first(args: &ListArgs, env: &Env) -> Option<usize> {
    let is_plain = args.words.is_empty() && args.order() == SortKey::Active && !args.reverse && args.group.is_none();
    let is_bare = matches!(args.format.form(env.stdout_is_terminal), ListForm::Tsv | ListForm::Csv);
    args.limit.filter(|_| is_plain && is_bare)
}

/// Shortens the ids of all sessions on a shelf.
pub(super) fn short_ids(shelf: &Shelf<Line>) -> ShortIds {
    let cards = shelf.cards().iter();
    let names = cards.map(|card| Name { agent: card.agent, id: shelf.id(card), is_subagent: card.said.is_subagent });
    ShortIds::of_names(&names.collect::<Vec<_>>())
}

/// Finds the directories that hold the same work as these: where they were before, and their git worktrees.
fn kin(dirs: &[PathBuf], env: &Env) -> Vec<(PathBuf, Kin)> {
    // What cannot be read is a problem that the scan tells of.
    let moves = if dirs.is_empty() { Relocated::default() } else { Relocated::read(env).unwrap_or_default() };
    let earlier = dirs.iter().flat_map(|dir| moves.earlier(dir)).map(|dir| (dir, Kin::Earlier));
    let worktrees = dirs.iter().flat_map(|dir| checkouts_with(dir)).map(|dir| (dir, Kin::Worktree));
    earlier.chain(worktrees).filter(|(dir, _)| !dirs.contains(dir)).collect()
}

/// Returns whether a person reads the table where it is written, so that notes stand below it.
pub(super) fn says_more(args: &ListArgs, env: &Env) -> bool {
    env.stdout_is_terminal && args.format.form(env.stdout_is_terminal) == ListForm::Table
}

/// Decides how the sessions are laid out; ids are shortened among all that there are.
pub(super) fn layout(args: &ListArgs, short: impl FnOnce() -> ShortIds, env: &Env) -> Layout {
    let fields = || {
        let counts = Field::COUNTS.into_iter().filter(|_| args.counts());
        let usual = || Field::OF_LINES.into_iter().chain(counts).collect();
        if args.fields.is_empty() { usual() } else { args.fields.clone() }
    };
    match args.format.form(env.stdout_is_terminal) {
        ListForm::Table => Layout::Table(Look {
            short: short(),
            fields: Some(args.fields.clone()).filter(|fields| !fields.is_empty()),
            is_wide: args.wide,
            has_groups: args.group.is_some(),
            has_places: args.has_places() && env.stdout_is_terminal,
        }),
        ListForm::Csv => Layout::Csv { fields: fields(), has_head: true },
        _ => Layout::Lines(fields()),
    }
}

/// Leaves what was asked for, in order of rank and then of name; returns how many are not shown without `--all`.
pub(super) fn put_in_order<S>(
    sessions: &mut Vec<S>,
    line: impl Fn(&S) -> &Line,
    by_name: impl Fn(&S, &S) -> Ordering,
) -> usize {
    sessions.retain(|session| line(session).is_meant);
    let matching = sessions.len();
    sessions.retain(|session| line(session).is_listed);
    sessions.sort_unstable_by(|a, b| {
        let (one, other) = (line(a), line(b));
        let firsts = other.is_first.cmp(&one.is_first);
        firsts.then_with(|| one.rank.cmp(&other.rank)).then_with(|| by_name(a, b))
    });
    matching - sessions.len()
}

/// Leaves as many as are wanted or fit the screen, in the order that was asked for; returns how many there are beyond.
pub(super) fn cut<S>(sessions: &mut Vec<S>, dir: impl Fn(&S) -> Option<PathBuf>, args: &ListArgs, env: &Env) -> usize {
    if args.reverse {
        sessions.reverse();
    }
    if args.group.is_some() {
        select::put_projects_together(sessions, &dir);
    }
    let shown = match args.limit {
        Some(0) => sessions.len(),
        Some(limit) => limit,
        None if says_more(args, env) => screenful(sessions, args.group.is_some(), &dir, env),
        None => sessions.len(),
    };
    let beyond_limit = sessions.len().saturating_sub(shown);
    sessions.truncate(shown);
    beyond_limit
}

/// Returns how many lines of a table fit the screen.
pub(super) fn room_of_screen(env: &Env) -> Option<usize> {
    env.height.map(|height| usize::from(height).saturating_sub(AROUND_TABLE).max(FEWEST))
}

/// Returns how many of the sessions fit the screen.
fn screenful<S>(sessions: &[S], has_groups: bool, dir: impl Fn(&S) -> Option<PathBuf>, env: &Env) -> usize {
    let Some(room) = room_of_screen(env) else { return sessions.len() };
    let begins_group = |at: usize| has_groups && (at == 0 || dir(&sessions[at]) != dir(&sessions[at - 1]));
    let lines = (0..sessions.len()).scan(0, |used, at| {
        *used += 1 + usize::from(begins_group(at));
        Some(*used)
    });
    lines.take_while(|used| *used <= room).count()
}
