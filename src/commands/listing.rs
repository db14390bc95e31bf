//! The rules of a listing, shared by the verbs that list sessions: what is shown, in which order, how many and in which form.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::path::PathBuf;

use crate::change::pins::Pins;
use crate::cli::{ListArgs, ListForm};
use crate::scan::{Card, Shelf};
use crate::session::fields::Field;
use crate::session::select::{self, Filter, Name, Rank, ShortIds, SortKey};
use crate::session::{InOrder, Session, SessionKind};
use crate::system::env::Env;
use crate::view::render::list::Layout;
use crate::view::render::table::Look;

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

/// Shortens the ids of all sessions on a shelf.
pub(super) fn short_ids(shelf: &Shelf<Line>) -> ShortIds {
    let cards = shelf.cards().iter();
    let names = cards.map(|card| Name { agent: card.agent, id: shelf.id(card), is_subagent: card.said.is_subagent });
    ShortIds::of_names(&names.collect::<Vec<_>>())
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
