//! Searches the messages of sessions for a text.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};

use foldhash::HashSet;
use jiff::Timestamp;

use super::first::depends_on_others;
use super::pattern::Pattern;
use super::probe::Probes;
use super::{Places, Scan, ScanScope};
use crate::agent::{self, Agent, Interest, Said};
use crate::error::PathError;
use crate::format::jsonl::{self, is_shortened, lacks_text};
use crate::session::branches::BranchFilter;
use crate::session::select::Filter;
use crate::session::{AgentKind, Located, Problem, Role, SessionCopy};
use crate::system::env::Env;
use crate::system::parallel;

/// Number of characters kept before and after a match, which are more than a terminal shows on one line.
const AROUND: usize = 500;
/// Maximum number of characters of a line before and after a match; the result of a tool may be a line of megabytes.
const MAX_LINE: usize = 1 << 20;

/// A message that contains the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The number of the message, counted from 1, if numbers were requested.
    pub number: u64,
    /// The speaker.
    pub role: Role,
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The text before the match, shortened.
    pub before: String,
    /// The first match, as it is written in the message.
    pub found: String,
    /// The text after the match, shortened.
    pub after: String,
    /// Set if `before` and `after` are whole lines instead of some words.
    pub has_lines: bool,
    /// The number of its branch; `None` on the active one, and until [`mark_branches`] sets it.
    pub branch: Option<u16>,
}

/// The matches in one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionMatches {
    /// Set if the title matches.
    pub in_title: bool,
    /// Number of messages that match.
    pub messages: u64,
    /// The first of these messages.
    pub hits: Vec<Hit>,
    /// The index of the copy that was searched, if it is not the first.
    pub copy: Option<usize>,
    /// The reason why a part was not searched.
    pub problem: Option<Problem>,
}

impl SessionMatches {
    /// Returns whether anything matches.
    pub(crate) fn is_any(&self) -> bool {
        self.in_title || self.messages > 0
    }
}

/// The messages to search, and the facts to return about each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchScope<'a> {
    /// The roles whose messages count; all if empty.
    pub roles: &'a [Role],
    /// Maximum number of messages to return, the first ones.
    pub most: usize,
    /// Number of lines to return before and after a match; `None` for some words.
    pub lines: Option<usize>,
    /// Set to return the number of each message, for which all earlier messages are counted.
    pub has_numbers: bool,
    /// Set to return the branch of each message.
    pub names_branches: bool,
    /// Number of matches after which the search stops; `None` counts all.
    pub enough: Option<u64>,
}

impl Places {
    /// Reads the sessions that may contain a text, and perhaps others. Small files are searched first; a session is
    /// read only if one of its copies may contain the text.
    pub(crate) fn read_with_text(
        self,
        env: &Env,
        filter: &Filter,
        scope: ScanScope,
        is_in_file: impl Fn(&dyn Agent, &Located) -> bool + Sync,
    ) -> Scan {
        if filter.is_narrow() || depends_on_others(env, filter) {
            return self.read_with_dirs(env, filter, scope);
        }
        let name = |place: &Located| (place.agent(), place.id.clone());
        let wanted = |place: &Located| {
            let agent = agent::by_kind(place.agent()).filter(|agent| agent.about().has_verbatim_titles);
            let is_shown = filter.all || !place.is_subagent;
            (is_shown && agent.is_none_or(|agent| is_in_file(agent, place))).then(|| name(place))
        };
        let names: HashSet<(AgentKind, String)> = parallel::map(&self.places, wanted).into_iter().flatten().collect();
        let mut scan = self.read_some(env, scope, |place| names.contains(&name(place)));
        scan.add_pointers(env);
        scan
    }
}

/// Returns the copies that may have other messages than the first one, each with its index. Copies of the same length and
/// the same last time are taken for equal, so that only copies that differ are read.
pub(crate) fn differing(copies: &[SessionCopy]) -> impl Iterator<Item = (usize, &SessionCopy)> {
    let shape = |copy: &SessionCopy| (copy.transcript_bytes, copy.active_at.as_ref().map(|at| at.value));
    copies.iter().enumerate().skip(1).filter(move |(_, copy)| shape(copy) != shape(&copies[0]))
}

/// Searches the first copy of a session, and if that has nothing, the others.
pub(crate) fn search_copies(copies: &[SessionCopy], look: impl Fn(&SessionCopy) -> SessionMatches) -> SessionMatches {
    let found = look(&copies[0]);
    if found.is_any() {
        return found;
    }
    let mut others = differing(copies).map(|(at, copy)| SessionMatches { copy: Some(at), ..look(copy) });
    others.find(SessionMatches::is_any).unwrap_or(found)
}

/// Searches every readable message of a copy, streamed.
pub(crate) fn search_copy(copy: &SessionCopy, pattern: &Pattern, wish: SearchScope<'_>) -> SessionMatches {
    let in_title = wish.roles.is_empty() && is_named(copy, pattern);
    let found = SessionMatches { in_title, ..SessionMatches::default() };
    let agent = agent::by_kind(copy.place.agent());
    // If no messages are shown, a match in the title is enough.
    let is_enough = in_title && wish.most == 0 && wish.enough.is_some();
    let Some(agent) = agent.filter(|_| !is_enough) else { return found };
    let probes = pattern.probes(agent, &copy.place);
    if probes.may_be_in_file(u64::MAX) { look_through(agent, copy, pattern, &probes, wish, found) } else { found }
}

/// Returns whether the title of a copy matches, or its first prompt if there is no title.
pub(crate) fn is_named(copy: &SessionCopy, pattern: &Pattern) -> bool {
    let label = copy.title.as_ref().or(copy.first_prompt.as_ref());
    label.is_some_and(|label| pattern.find(&label.value).is_some())
}

fn look_through(
    agent: &dyn Agent,
    copy: &SessionCopy,
    pattern: &Pattern,
    probes: &Probes,
    wish: SearchScope<'_>,
    mut found: SessionMatches,
) -> SessionMatches {
    let (mut number, mut has_skipped) = (0, false);
    // Messages after the last one shown need no number.
    let counts = Cell::new(wish.has_numbers && wish.most > 0);
    let looked = agent.messages_with(copy, &|record| interest(probes, record, counts.get()), &mut |record_messages| {
        let message = match record_messages {
            Said::Message(message) => message,
            Said::Uninteresting(count) => {
                number += count;
                return ControlFlow::Continue(());
            }
        };
        number += 1;
        has_skipped |= is_shortened(&message);
        let is_asked_for = wish.roles.is_empty() || wish.roles.contains(&message.role);
        if let Some(place) = Some(&message.text).filter(|_| is_asked_for).and_then(|text| pattern.find(text)) {
            found.messages += 1;
            if found.hits.len() < wish.most {
                let [before, within, after] = match wish.lines {
                    Some(lines) => lines_around(&message.text, place, lines),
                    None => excerpt(&message.text, place),
                };
                found.hits.push(Hit {
                    number,
                    role: message.role,
                    at: message.at,
                    before,
                    found: within,
                    after,
                    has_lines: wish.lines.is_some(),
                    branch: None,
                });
                counts.set(wish.has_numbers && found.hits.len() < wish.most);
            }
        }
        let is_enough = wish.enough.is_some_and(|enough| found.messages >= enough);
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if wish.names_branches {
        mark_branches(copy, &mut found.hits);
    }
    found.problem = problem(copy, looked, has_skipped);
    found
}

/// Returns the reason why a part of a copy was not searched.
pub(super) fn problem(copy: &SessionCopy, looked: Result<(), PathError>, has_skipped: bool) -> Option<Problem> {
    let skipped =
        || format!("it has a record of more than {} MiB, which is not searched to its end", jsonl::MAX_LINE >> 20);
    let reason = looked.err().map(|error| error.reason()).or_else(|| has_skipped.then(skipped))?;
    Some(Problem { path: copy.place.path.to_path_buf(), reason })
}

/// Sets the branch of these messages of a copy, if it is not the active one.
pub(crate) fn mark_branches(copy: &SessionCopy, hits: &mut [Hit]) {
    let Some(agent) = agent::by_kind(copy.place.agent()).filter(|_| !hits.is_empty()) else { return };
    if agent.branches(copy).map_or(1, |branches| branches.count()) == 1 {
        return;
    }
    // An unreadable file is a problem of the search itself.
    let _ = agent.messages_on(copy, BranchFilter::All, &mut |message| {
        let is_hit =
            |hit: &&mut Hit| (hit.role, hit.at) == (message.role, message.at) && message.text.contains(&hit.found);
        let of_branch = hits.iter_mut().filter(|_| message.branch.is_some());
        of_branch.filter(is_hit).for_each(|hit| hit.branch = message.branch);
        ControlFlow::Continue(())
    });
}

/// Decides which parts of a record are needed.
fn interest(probes: &Probes, record: &[u8], counts: bool) -> Interest {
    match (probes.may_be_in(record) || lacks_text(record), counts) {
        (true, _) => Interest::Messages,
        (false, true) => Interest::Count,
        (false, false) => Interest::Nothing,
    }
}

/// Cuts the line around a match out of a text, with a number of lines before and after it.
pub(super) fn lines_around(text: &str, place: Range<usize>, lines: usize) -> [String; 3] {
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let start = before.rmatch_indices('\n').nth(lines).map_or(0, |(at, _)| at + 1);
    let end = after.match_indices('\n').nth(lines).map_or(after.len(), |(at, _)| at);
    let room = MAX_LINE * (lines + 1);
    let first = before[start..].char_indices().rev().take(room).last().map_or(place.start, |(at, _)| start + at);
    let last = after[..end].char_indices().nth(room).map_or(end, |(at, _)| at);
    let cut = |is: bool| if is { "…" } else { "" };
    let before = format!("{}{}", cut(first > start), &before[first..]);
    let after = format!("{}{}", &after[..last], cut(last < end));
    [before, text[place].to_owned(), after]
}

/// Cuts a text around a match; an ellipsis marks omitted text.
pub(super) fn excerpt(text: &str, place: Range<usize>) -> [String; 3] {
    let (before, after) = (&text[..place.start], &text[place.end..]);
    let start = before.char_indices().rev().take(AROUND).last().map_or(place.start, |(at, _)| at);
    let end = after.char_indices().nth(AROUND).map_or(after.len(), |(at, _)| at);
    let mut before = before[start..].to_owned();
    if start > 0 {
        before.insert(0, '…');
    }
    let mut rest = after[..end].to_owned();
    if end < after.len() {
        rest.push('…');
    }
    [before, text[place].to_owned(), rest]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::scan::needle::Needle;
    use crate::scan::pattern::CaseRule;

    #[test]
    fn excerpt_marks_omitted_text_with_an_ellipsis() {
        let text = format!("{}needle{}", "ü".repeat(600), "ö".repeat(AROUND));
        let place = Needle::new("needle", false).find_in(&text).expect("a place");
        let [before, found, after] = excerpt(&text, place);
        assert_eq!(
            (before.chars().count(), found.as_str(), after.as_str()),
            (1 + AROUND, "needle", &*"ö".repeat(AROUND))
        );
        assert!(before.starts_with('…') && !after.ends_with('…'));
    }

    #[test]
    fn context_has_limited_number_of_complete_lines() {
        let text = "one\ntwo\nthree needle\nfour\nfive";
        let place = Needle::new("needle", false).find_in(text).expect("a place");
        let lines = |count| lines_around(text, place.clone(), count).concat();
        assert_eq!(lines(0), "three needle");
        assert_eq!(lines(1), "two\nthree needle\nfour");
        assert_eq!(lines(9), text);
        let long = format!("{}needle{}", "ü".repeat(MAX_LINE + 9), "ö".repeat(MAX_LINE + 9));
        let place = Needle::new("needle", false).find_in(&long).expect("a place");
        assert_eq!(lines_around(&long, place, 0).map(|part| part.chars().count()), [MAX_LINE + 1, 6, MAX_LINE + 1]);
    }

    #[test]
    fn prefilter_skips_no_text_of_any_agent() {
        let mut env = crate::system::env::tests::fixed();
        env.home = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let scan = crate::scan::locate(&env, &[]).read_all(&env, ScanScope::GLANCE);
        let (mut passed_over, mut words) = (0, BTreeSet::new());
        for copy in scan.sessions.iter().flat_map(|session| &session.copies) {
            let agent = agent::by_kind(copy.place.agent()).expect("an agent");
            let mut seen = BTreeSet::new();
            let _ = agent.messages(copy, &mut |message| {
                let is_word = |word: &&str| word.len() > 2;
                let mine = message.text.split(|letter: char| !letter.is_alphanumeric()).filter(is_word);
                seen.extend(mine.map(str::to_owned));
                ControlFlow::Continue(())
            });
            for word in seen.iter().chain(words.iter().step_by(7)) {
                let pattern = Pattern::of_texts(std::slice::from_ref(word), CaseRule::Smart);
                let wish = SearchScope {
                    roles: &[],
                    most: 1,
                    lines: None,
                    has_numbers: true,
                    names_branches: false,
                    enough: None,
                };
                let (quick, whole) = (
                    search_copy(copy, &pattern, wish),
                    look_through(agent, copy, &pattern, &Probes::default(), wish, SessionMatches::default()),
                );
                assert_eq!((quick.messages, &quick.hits), (whole.messages, &whole.hits), "{word} in {copy:?}");
                let bare = search_copy(copy, &pattern, SearchScope { has_numbers: false, ..wish });
                let texts = |found: &SessionMatches| {
                    found.hits.iter().map(|hit| (hit.at, hit.after.clone())).collect::<Vec<_>>()
                };
                assert_eq!((bare.messages, texts(&bare)), (whole.messages, texts(&whole)), "{word} in {copy:?}");
                let first = search_copy(copy, &pattern, SearchScope { enough: Some(1), ..wish });
                assert_eq!((first.messages, &first.hits), (whole.messages.min(1), &whole.hits), "{word} in {copy:?}");
                passed_over += usize::from(!pattern.probes(agent, &copy.place).may_be_in_file(u64::MAX));
            }
            words.append(&mut seen);
        }
        assert!(passed_over > 100, "{passed_over}");
    }

    #[test]
    fn prefiltered_search_equals_full_search() {
        let mut env = crate::system::env::tests::fixed();
        env.home = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let filter = Filter::of_agents(&[AgentKind::Claude]);
        let wish = SearchScope {
            roles: &[],
            most: 0,
            lines: None,
            has_numbers: false,
            names_branches: false,
            enough: Some(1),
        };
        let found = |scan: &Scan, pattern: &Pattern| -> Vec<String> {
            let found = scan.sessions.iter().filter(|session| search_copy(session.copy(), pattern, wish).is_any());
            found.map(|session| session.id().to_owned()).collect()
        };
        let all = crate::scan::locate(&env, &filter.agents).read_with_dirs(&env, &filter, ScanScope::GLANCE);
        let labels: Vec<&str> = all.sessions.iter().filter_map(|session| session.label()).collect();
        let words: BTreeSet<&str> = labels.iter().flat_map(|label| label.split(' ')).chain(["qqzzqq"]).collect();
        let mut unread = 0;
        for text in words.into_iter().chain(labels.iter().copied()).filter(|text| !text.is_empty()) {
            let pattern = Pattern::of_texts(&[text.to_owned()], CaseRule::Smart);
            let places = crate::scan::locate(&env, &filter.agents);
            let some = places
                .read_with_text(&env, &filter, ScanScope::GLANCE, |agent, place| pattern.is_in_file(agent, place));
            assert_eq!(found(&some, &pattern), found(&all, &pattern), "{text}");
            unread += all.sessions.len() - some.sessions.len();
        }
        assert!(unread > 100, "{unread}");
    }

    proptest! {
        #[test]
        fn search_finds_needle_in_any_context(before in ".*", needle in ".+", after in ".*") {
            let text = format!("{before}{needle}{after}");
            let exact = Needle::new(&needle, true).find_in(&text);
            prop_assert_eq!(exact.clone(), text.find(&needle).map(|at| at..at + needle.len()));
            let place = Needle::new(&needle, false).find_in(&text);
            let place = place.expect("a place");
            // The match begins and ends between characters.
            prop_assert!(text.get(place.clone()).is_some());
            let excerpt = excerpt(&text, place);
            prop_assert!(excerpt.concat().chars().count() <= text.chars().count() + 2);
        }
    }
}
