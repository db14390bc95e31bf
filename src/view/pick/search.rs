//! Searches whole sessions for the typed words, in other threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::item::ItemKey;
use super::state::{BestMessage, Searched};
use crate::scan::nearest::meant;
use crate::scan::ranked::{Ranking, WordTally, rank};
use crate::scan::search;
use crate::scan::sieve::Sieve;
use crate::scan::texts::TextCache;
use crate::session::matching::Quality;
use crate::session::terms::SearchWords;
use crate::session::{Session, SessionCopy};
use crate::system::parallel;

/// Number of sessions that are searched between two reports.
const PART: usize = 32;
/// Number of the best sessions whose branches are read to mark matches outside of the active branch.
const MARKED: usize = 64;
/// Minimum time between two reports of matches, because each one sorts the list again. A short search reports once.
const SEND_INTERVAL: Duration = Duration::from_millis(120);
/// The picker shows the best message of each session.
const WISH: search::SearchScope<'static> =
    search::SearchScope { roles: &[], most: 1, lines: None, has_numbers: true, names_branches: false, enough: None };

/// A search of sessions.
pub(super) struct PickerSearch {
    pub(super) words: SearchWords,
    pub(super) sessions: Vec<Arc<Session>>,
    /// The messages in memory.
    pub(super) kept: Arc<TextCache>,
    /// Set if the filters exclude other sessions.
    pub(super) is_filtered: bool,
    pub(super) now: Timestamp,
}

/// A result of a search.
pub(super) enum SearchResult {
    /// More sessions with the words.
    Some(Vec<(ItemKey, BestMessage)>),
    /// All sessions were searched.
    All(Searched),
}

impl PickerSearch {
    /// Searches until the text changes, and reports the results. Checks the files for changes only after the first
    /// report, because that takes as long as the search.
    pub(super) fn run(&self, is_wanted: &(dyn Fn() -> bool + Sync), report: &(dyn Fn(SearchResult) + Sync)) {
        self.run_once(is_wanted, report);
        let has_changed = |session: &Arc<Session>| is_wanted() && self.kept.forget_changed(session.copy());
        if parallel::map(&self.sessions, has_changed).contains(&true) {
            self.run_once(is_wanted, report);
        }
    }

    fn run_once(&self, is_wanted: &(dyn Fn() -> bool + Sync), report: &(dyn Fn(SearchResult) + Sync)) {
        let (sieve, sessions) = (Sieve::new(&self.words), &self.sessions);
        let (mut found_messages, mut sent_at, mut tallies) = (Vec::new(), Instant::now(), Vec::new());
        for part in sessions.chunks(PART) {
            let count = |session: &Arc<Session>| {
                let (copy, text) = (session.copy(), self.kept.kept_text(session.copy()));
                WordTally::while_wanted(copy, text.as_deref(), &sieve, WISH, is_wanted)
            };
            let counted = parallel::map(part, count);
            if !is_wanted() {
                return;
            }
            found_messages
                .extend(part.iter().zip(&counted).filter_map(|(session, tally)| said_in(session, tally, 0.0)));
            tallies.extend(counted);
            if !found_messages.is_empty() && sent_at.elapsed() >= SEND_INTERVAL {
                report(SearchResult::Some(std::mem::take(&mut found_messages)));
                sent_at = Instant::now();
            }
        }
        let active: Vec<_> = sessions.iter().map(|session| session.active_at()).collect();
        let terms = &self.words.terms;
        let ranking = rank(&tallies.iter().collect::<Vec<_>>(), tallies.len(), &active, terms, self.now);
        let ranked = ranking.order.iter();
        let all_messages: Vec<(ItemKey, BestMessage)> =
            ranked.filter_map(|(at, score)| said_in(&sessions[*at], &tallies[*at], *score)).collect();
        let best: Vec<(ItemKey, BestMessage)> = all_messages.iter().take(MARKED).cloned().collect();
        let is_excluded = tallies.iter().zip(sessions).filter(|(tally, _)| tally.is_excluded());
        let excluded = is_excluded.map(|(_, session)| session.key()).collect();
        let no_match = (ranking.matched != terms.len()).then(|| self.no_match(&sieve, &ranking, tallies, is_wanted));
        if !is_wanted() {
            return;
        }
        report(SearchResult::All(Searched { found_messages: all_messages, excluded, no_match }));
        let on_branches = on_other_branches(best, sessions, is_wanted);
        if is_wanted() && !on_branches.is_empty() {
            report(SearchResult::Some(on_branches));
        }
    }

    /// Explains why no session has all words, and names words that some have.
    fn no_match(
        &self,
        sieve: &Sieve<'_>,
        ranking: &Ranking,
        tallies: Vec<WordTally>,
        is_wanted: &(dyn Fn() -> bool + Sync),
    ) -> String {
        let copies: Vec<&SessionCopy> = self.sessions.iter().map(|session| session.copy()).collect();
        let typed = |term: usize| self.words.terms[term].text.as_str();
        let missing: Vec<String> = ranking.missing.iter().map(|term| format!("\"{}\"", typed(*term))).collect();
        let missing = missing.join(" or ");
        let near = meant(sieve, &ranking.missing, tallies, &copies, &self.kept, &[], is_wanted);
        let near: Vec<String> = near.iter().map(|(_, used)| format!("\"{used}\"")).collect();
        let nothing = if self.is_filtered { "no session that passes the filters" } else { "nothing" };
        match (missing.is_empty(), near.is_empty()) {
            (true, _) => {
                format!("{} with {} of the {} words", ranking.order.len(), ranking.matched, self.words.terms.len())
            }
            (false, true) => format!("{nothing} has {missing}"),
            (false, false) => format!("{nothing} has {missing}, but {} would match", near.join(" and ")),
        }
    }
}

/// Returns the best message of a session that has all words.
fn said_in(session: &Session, tally: &WordTally, score: f64) -> Option<(ItemKey, BestMessage)> {
    let (worst, hit) = (tally.worst()?, tally.found.hits.first()?);
    let quality = Quality::from_weight(worst);
    Some((session.key(), BestMessage { hit: hit.clone(), messages: tally.found.messages, quality, score }))
}

/// Returns the messages that are not on the active branch, each with the number of its branch.
fn on_other_branches(
    found: Vec<(ItemKey, BestMessage)>,
    sessions: &[Arc<Session>],
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Vec<(ItemKey, BestMessage)> {
    let marked = parallel::map(found, |((agent, id), mut said)| {
        let session = sessions.iter().find(|session| session.agent == agent && session.id() == id)?;
        if is_wanted() {
            search::mark_branches(session.copy(), std::slice::from_mut(&mut said.hit));
        }
        said.hit.branch.is_some().then_some(((agent, id), said))
    });
    marked.into_iter().flatten().collect()
}
