//! Ranks sessions by the words that they have: the best match first.
//!
//! The score is BM25 over whole sessions. Titles and prompts count more than the output of tools.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use jiff::Timestamp;

use super::search::{Hit, SearchScope, SessionMatches, differing, excerpt, lines_around, problem};
use super::sieve::Sieve;
use super::texts::SessionText;
use crate::agent::{self, Agent, Interest, Said};
use crate::format::jsonl::{is_shortened, lacks_text};
use crate::session::terms::{SearchWords, Term, TermMatch};
use crate::session::{AgentKind, Message, Role, SessionCopy};

/// Parameters of BM25: saturation of the count of a word, and weight of the length of a session.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.6;
/// Weights of the places of a word.
const TITLE: f32 = 4.0;
const DIRECTORY: f32 = 2.0;
/// Bonus of a session that was active just now; it halves every month.
const RECENCY: f64 = 0.05;
const HALF_LIFE: f64 = 30.0 * 24.0 * 3600.0;

/// The words that a session has.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordTally {
    pub found: SessionMatches,
    /// Weighted count of each word.
    counts: Vec<f32>,
    /// Worth of the best match of each word.
    best: Vec<f32>,
    /// Length of the transcript, and its agent: the same message has different lengths in different formats.
    bytes: u64,
    agent: Option<AgentKind>,
    is_excluded: bool,
}

/// The best messages of a session, with their worth.
type BestMessages = Vec<(f32, Hit)>;

/// An order of sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranking {
    /// Numbers of sessions and their scores, the best first.
    pub order: Vec<(usize, f64)>,
    /// Numbers of words that no session has.
    pub missing: Vec<usize>,
    /// Number of words that each of these sessions has: all words, if any session has them all.
    pub matched: usize,
}

impl WordTally {
    /// Counts the words in a copy, and keeps the best messages.
    pub(crate) fn count_words(copy: &SessionCopy, sieve: &Sieve<'_>, wish: SearchScope<'_>) -> Self {
        Self::while_wanted(copy, None, sieve, wish, &|| true)
    }

    /// Like [`WordTally::count_words`], but takes the messages from memory if they are there, and stops as soon as `is_wanted` returns false.
    pub(crate) fn while_wanted(
        copy: &SessionCopy,
        text: Option<&SessionText>,
        sieve: &Sieve<'_>,
        wish: SearchScope<'_>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Self {
        let (words, kind) = (sieve.words, copy.place.agent());
        let mut tally = Self { bytes: copy.transcript_bytes, agent: Some(kind), ..Self::without(words) };
        let Some(agent) = agent::by_kind(kind).filter(|_| is_wanted()) else { return tally };
        if wish.roles.is_empty() {
            tally.see_names(copy, words);
        }
        match text {
            Some(text) if sieve.may_be_in(text.joined().as_bytes()) => tally.see_text(text, sieve, wish, is_wanted),
            None if sieve.may_be_in_copy(agent, &copy.place) => {
                tally.see_messages(agent, copy, sieve, wish, is_wanted);
            }
            _ => {}
        }
        tally
    }

    /// Returns the counts of a session that has none of these words.
    pub(crate) fn without(words: &SearchWords) -> Self {
        Self { counts: vec![0.0; words.terms.len()], best: vec![0.0; words.terms.len()], ..Self::default() }
    }

    /// Returns these counts with another count for one word.
    pub(crate) fn with_term(&self, term: usize, count: f32) -> Self {
        let Self { counts, best, bytes, agent, is_excluded, .. } = self;
        let mut tally = Self {
            found: SessionMatches::default(),
            counts: counts.clone(),
            best: best.clone(),
            bytes: *bytes,
            agent: *agent,
            is_excluded: *is_excluded,
        };
        tally.counts[term] = count;
        tally
    }

    fn see_names(&mut self, copy: &SessionCopy, words: &SearchWords) {
        let label = copy.title.as_ref().or(copy.first_prompt.as_ref()).map_or("", |label| &*label.value);
        let mut in_title = vec![false; words.terms.len()];
        words.each_place(label, &mut |place| {
            in_title[place.term] = true;
            self.best[place.term] = self.best[place.term].max(place.weight);
            if copy.title.is_some() {
                self.counts[place.term] += TITLE * place.weight;
            }
        });
        self.found.in_title = in_title.iter().all(|is_there| *is_there);
        self.is_excluded |= words.excludes(label);
        let dirs = [&copy.start_dir, &copy.last_dir].into_iter().flatten();
        let mut dirs: Vec<&str> = dirs.filter_map(|dir| dir.value.to_str()).collect();
        dirs.dedup();
        for dir in dirs {
            self.is_excluded |= words.excludes(dir);
            words.each_place(dir, &mut |place| {
                self.counts[place.term] += DIRECTORY * place.weight;
                self.best[place.term] = self.best[place.term].max(place.weight);
            });
        }
    }

    fn see_messages(
        &mut self,
        agent: &dyn Agent,
        copy: &SessionCopy,
        sieve: &Sieve<'_>,
        wish: SearchScope<'_>,
        is_wanted: &dyn Fn() -> bool,
    ) {
        let (mut number, mut best, mut has_skipped) = (0, BestMessages::new(), false);
        let counts = Cell::new(wish.has_numbers && wish.most > 0);
        let interest = |record: &[u8]| match (sieve.may_be_in(record) || lacks_text(record), counts.get()) {
            (true, _) => Interest::Messages,
            (false, true) => Interest::Count,
            (false, false) => Interest::Nothing,
        };
        let looked = agent.messages_with(copy, &interest, &mut |record_messages| {
            match record_messages {
                Said::Uninteresting(count) => number += count,
                Said::Message(message) => {
                    number += 1;
                    has_skipped |= is_shortened(&message);
                    let Message { role, at, text, .. } = &message;
                    self.see_message((number, *role, *at), text, sieve.words, wish, &mut best);
                }
            }
            if is_wanted() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.keep_best(best);
        self.found.problem = problem(copy, looked, has_skipped);
    }

    fn see_text(&mut self, text: &SessionText, sieve: &Sieve<'_>, wish: SearchScope<'_>, is_wanted: &dyn Fn() -> bool) {
        let mut best = BestMessages::new();
        for (number, (role, at, text)) in (1..).zip(text.messages()).take_while(|_| is_wanted()) {
            // Folding letters beyond ASCII is much slower than searching the words.
            if text.is_ascii() || sieve.may_be_in(text.as_bytes()) {
                self.see_message((number, role, at), text, sieve.words, wish, &mut best);
            }
        }
        self.keep_best(best);
    }

    fn keep_best(&mut self, mut best: BestMessages) {
        best.sort_by_key(|(_, hit)| hit.number);
        self.found.hits = best.into_iter().map(|(_, hit)| hit).collect();
    }

    fn see_message(
        &mut self,
        (number, role, at): (u64, Role, Option<Timestamp>),
        text: &str,
        words: &SearchWords,
        wish: SearchScope<'_>,
        best: &mut BestMessages,
    ) {
        if !wish.roles.is_empty() && !wish.roles.contains(&role) {
            return;
        }
        self.is_excluded |= words.excludes(text);
        let mut places: Vec<TermMatch> = Vec::new();
        words.each_place(text, &mut |place| places.push(place));
        if places.is_empty() {
            return;
        }
        self.found.messages += 1;
        for place in &places {
            self.counts[place.term] += place.weight * weight_of(role);
            self.best[place.term] = self.best[place.term].max(place.weight);
        }
        let (worth, place) = best_passage(&mut places, words.terms.len());
        let is_better = |(other, _): &(f32, Hit)| *other < worth;
        if best.len() >= wish.most && !best.last().is_some_and(is_better) {
            return;
        }
        let [before, found, after] = match wish.lines {
            Some(lines) => lines_around(text, place, lines),
            None => excerpt(text, place),
        };
        let hit = Hit { number, role, at, before, found, after, has_lines: wish.lines.is_some(), branch: None };
        let at = best.partition_point(|other| !is_better(other));
        best.insert(at, (worth, hit));
        best.truncate(wish.most);
    }

    /// Returns the counts of the copy with the most words, the first of these copies.
    pub(crate) fn best_of(first: Self, copies: &[SessionCopy], count: impl Fn(&SessionCopy) -> Self) -> Self {
        let mut best = first;
        let mut others = differing(copies);
        while best.terms().count() < best.counts.len() && !best.is_excluded {
            let Some((at, copy)) = others.next() else { break };
            let mut other = count(copy);
            other.found.copy = Some(at);
            if other.terms().count() > best.terms().count() {
                best = other;
            }
        }
        best
    }

    /// Returns the worth of the worst match of a word; `None` if a word is missing, or an excluded one occurs.
    pub(crate) fn worst(&self) -> Option<f32> {
        let has_all = !self.is_excluded && self.terms().count() == self.counts.len();
        self.best.iter().copied().min_by(f32::total_cmp).filter(|_| has_all)
    }

    /// Returns whether a message, the title or a directory has an excluded word.
    pub(crate) fn is_excluded(&self) -> bool {
        self.is_excluded
    }

    /// Returns the indexes of the words that occur.
    pub(crate) fn terms(&self) -> impl Iterator<Item = usize> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0).map(|(term, _)| term)
    }
}

/// Returns the weight of a word in a message.
pub(super) fn weight_of(role: Role) -> f32 {
    match role {
        Role::User => 1.2,
        Role::Assistant => 1.0,
        Role::Tool | Role::System => 0.5,
    }
}

/// Maximum bytes between the first and the last word of a passage.
const PASSAGE: usize = 60;

/// Finds the passage of a text with the most words close together; returns its worth and its first match.
fn best_passage(places: &mut [TermMatch], terms: usize) -> (f32, Range<usize>) {
    places.sort_by_key(|place| (place.range.start, place.range.end));
    let (mut best, mut weights) = ((0.0, 0..0), vec![0.0_f32; terms]);
    for (at, first) in places.iter().enumerate() {
        weights.fill(0.0);
        let near = places[at..].iter().take_while(|place| place.range.end <= first.range.end + PASSAGE);
        for place in near {
            weights[place.term] = weights[place.term].max(place.weight);
        }
        let worth = weights.iter().sum();
        if worth > best.0 {
            best = (worth, first.range.clone());
        }
    }
    best
}

/// Ranks the sessions with most of the words among `searched` ones. Equal scores keep their order.
/// Sessions without any of the words may be left out, which changes no score.
pub(crate) fn rank(
    tallies: &[&WordTally],
    searched: usize,
    active: &[Option<Timestamp>],
    words: &[Term],
    now: Timestamp,
) -> Ranking {
    let terms = words.len();
    let mut sessions_with = vec![0_u32; terms];
    tallies.iter().flat_map(|tally| tally.terms()).for_each(|term| sessions_with[term] += 1);
    let missing = (0..terms).filter(|term| sessions_with[*term] == 0).collect();
    let is_wanted = |tally: &&&WordTally| !tally.is_excluded;
    let most = |count: &dyn Fn(&WordTally) -> usize| {
        tallies.iter().filter(is_wanted).map(|tally| count(tally)).max().unwrap_or(0)
    };
    let all = |tally: &WordTally| tally.terms().count();
    let content = |tally: &WordTally| tally.terms().filter(|term| !words[*term].is_function_word()).count();
    // `cron` decides in "what did we do about cron", unless a session has all of these words.
    let counts_all = most(&all) == terms || most(&content) == 0;
    let count = |tally: &WordTally| if counts_all { all(tally) } else { content(tally) };
    let matched = most(&count);
    let mut bytes: BTreeMap<Option<AgentKind>, (f64, f64)> = BTreeMap::new();
    for tally in tallies.iter().filter(|tally| tally.bytes > 0 && tally.terms().next().is_some()) {
        let (sum, count) = bytes.entry(tally.agent).or_default();
        (*sum, *count) = (*sum + tally.bytes as f64, *count + 1.0);
    }
    let rarity = |term: usize| {
        let with = f64::from(sessions_with[term]);
        (1.0 + (searched as f64 - with + 0.5).max(0.0) / (with + 0.5)).ln()
    };
    let score = |tally: &WordTally, active: Option<Timestamp>| -> f64 {
        let mean = bytes.get(&tally.agent).filter(|_| tally.bytes > 0).map(|(sum, count)| sum / count);
        let length = mean.map_or(1.0, |mean| tally.bytes as f64 / mean);
        let by_term = tally.terms().map(|term| {
            let count = f64::from(tally.counts[term]);
            rarity(term) * count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH + LENGTH * length))
        });
        let age = active.map_or(f64::INFINITY, |at| now.duration_since(at).as_secs_f64().max(0.0));
        by_term.sum::<f64>() * (1.0 + RECENCY * (-age / HALF_LIFE).exp2())
    };
    let ranked =
        tallies.iter().enumerate().filter(|(_, tally)| is_wanted(tally) && matched > 0 && count(tally) == matched);
    let mut order: Vec<(usize, f64)> =
        ranked.map(|(at, tally)| (at, score(tally, active.get(at).copied().flatten()))).collect();
    order.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Ranking { order, missing, matched }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::scan::texts::TextCache;
    use crate::scan::{self, ScanScope};
    use crate::session::Session;

    fn words(texts: &[&str]) -> SearchWords {
        SearchWords::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn sample() -> Vec<Session> {
        let mut env = crate::system::env::tests::fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        scan::locate(&env, &[]).read_all(&env, ScanScope::GLANCE).sessions
    }

    #[test]
    fn byte_scan_keeps_every_matching_session() {
        let wish =
            SearchScope { roles: &[], most: 3, lines: None, has_numbers: true, names_branches: false, enough: None };
        let sessions = sample();
        let copies: Vec<&SessionCopy> = sessions.iter().flat_map(|session| &session.copies).collect();
        let (mut texts, mut unread) = (BTreeSet::from(["relays".to_owned(), "Cafe".to_owned()]), 0);
        for copy in &copies {
            let agent = agent::by_kind(copy.place.agent()).expect("an agent");
            let _ = agent.messages(copy, &mut |message| {
                texts.extend(
                    message.text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_owned),
                );
                ControlFlow::Continue(())
            });
        }
        let kept = TextCache::new(usize::MAX);
        copies.iter().for_each(|copy| kept.keep_copy(copy));
        for text in texts.iter().step_by(5) {
            // Another form, the end of the word, and the word with an accent.
            let forms = [text.clone(), format!("{text}s"), text.chars().skip(1).collect(), text.replacen('e', "é", 1)];
            for form in forms.iter().filter(|form| !form.is_empty()) {
                let words = words(&[form]);
                let (sieve, open) = (Sieve::new(&words), Sieve::open(&words));
                for copy in &copies {
                    let agent = agent::by_kind(copy.place.agent()).expect("an agent");
                    let [quick, whole] = [&sieve, &open].map(|sieve| WordTally::count_words(copy, sieve, wish));
                    let text = kept.kept_text(copy);
                    let kept = WordTally::while_wanted(copy, text.as_deref(), &sieve, wish, &|| true);
                    for other in [quick, kept] {
                        let both = (&other.counts, &other.found.hits);
                        assert_eq!(both, (&whole.counts, &whole.found.hits), "{form} in {copy:?}");
                    }
                    unread += usize::from(!sieve.may_be_in_copy(agent, &copy.place));
                }
            }
        }
        assert!(unread > 100, "{unread}");
    }

    #[test]
    fn ranking_needs_most_of_the_words() {
        let tally = |counts: &[f32], bytes| WordTally { counts: counts.to_vec(), bytes, ..WordTally::default() };
        let two = words(&["relay", "mails"]).terms;
        let tallies = [tally(&[1.0, 0.0], 10), tally(&[1.0, 1.0], 10), tally(&[3.0, 1.0], 10), tally(&[0.0, 0.0], 10)];
        let ranking = rank(&tallies.iter().collect::<Vec<_>>(), 4, &[None; 4], &two, Timestamp::UNIX_EPOCH);
        let order: Vec<usize> = ranking.order.iter().map(|(at, _)| *at).collect();
        assert_eq!((order, ranking.matched, ranking.missing), (vec![2, 1], 2, Vec::new()));
        let partial = rank(&[&tallies[0], &tallies[3]], 2, &[None; 2], &two, Timestamp::UNIX_EPOCH);
        assert_eq!((partial.order.len(), partial.matched, partial.missing), (1, 1, vec![1]));
        let excluded = WordTally { is_excluded: true, ..tallies[1].clone() };
        assert_eq!(rank(&[&excluded], 1, &[None], &two, Timestamp::UNIX_EPOCH).order, []);
    }

    #[test]
    fn function_words_decide_only_if_a_session_has_all_words() {
        let question = words(&["what", "about", "cron"]).terms;
        let order = |counts: &[[f32; 3]]| {
            let tally = |counts: &[f32; 3]| WordTally { counts: counts.to_vec(), bytes: 10, ..WordTally::default() };
            let tallies: Vec<_> = counts.iter().map(tally).collect();
            let all = tallies.iter().collect::<Vec<_>>();
            let ranking = rank(&all, counts.len(), &[], &question, Timestamp::UNIX_EPOCH);
            ranking.order.into_iter().map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(order(&[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), [1]);
        assert_eq!(order(&[[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), [0]);
        assert_eq!(order(&[[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), [0], "no session has another word");
    }

    #[test]
    fn ranking_normalizes_length_per_agent() {
        let tally =
            |agent, count, bytes| WordTally { counts: vec![count], bytes, agent: Some(agent), ..WordTally::default() };
        let tallies = [
            tally(AgentKind::Claude, 1.0, 10),
            tally(AgentKind::Claude, 0.0, 10),
            tally(AgentKind::Codex, 1.1, 1000),
            tally(AgentKind::Codex, 0.0, 1000),
            tally(AgentKind::Goose, 1.05, 0),
        ];
        let ranking =
            rank(&tallies.iter().collect::<Vec<_>>(), 5, &[None; 5], &words(&["relay"]).terms, Timestamp::UNIX_EPOCH);
        let order: Vec<usize> = ranking.order.iter().map(|(at, _)| *at).collect();
        assert_eq!(order, [2, 4, 0], "the count decides, not the format of the transcript");
    }

    #[test]
    fn best_passage_is_densest_run_of_matches() {
        let text = format!("relay {} the relay lost mails", "x ".repeat(200));
        let words = words(&["relay", "mails", "lost"]);
        let mut places = Vec::new();
        words.each_place(&text, &mut |place| places.push(place));
        let (worth, first) = best_passage(&mut places, 3);
        assert_eq!((worth, &text[first.clone()], first.start > 100), (3.0, "relay", true));
    }
}
