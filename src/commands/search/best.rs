//! `rejoin search` of words: the best match first.

use std::sync::Arc;

use crate::agent::{self, Agent};
use crate::archive::Archive;
use crate::archive::store::Holdings;
use crate::cli::{Format, SearchArgs, SearchOrder};
use crate::commands::{find, listing};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::scan::deleted::Deleted;
use crate::scan::nearest;
use crate::scan::ranked::{Ranking, WordTally, rank};
use crate::scan::search::SearchScope;
use crate::scan::search::mark_branches;
use crate::scan::sieve::Sieve;
use crate::scan::texts::TextCache;
use crate::scan::{self, ScanScope};
use crate::session::matching::Query;
use crate::session::select::{Filter, ShortIds, SortKey};
use crate::session::terms::{self, Phrase, SearchWords, Term};
use crate::session::{Located, Problem, Session, SessionCopy};
use crate::system::env::Env;
use crate::system::parallel;
use crate::view::render::search as render;
use crate::view::render::search::{Form, MatchingSession, Replaced, ResultRank, SearchSummary};
use crate::view::render::search_json as json;
use crate::view::render::table;
use crate::view::ui::Ui;

/// Maximum number of bytes of messages that are kept for a second search.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// A search for words.
struct WordSearch<'a> {
    args: &'a SearchArgs,
    archive: &'a Archive,
    filter: Filter,
    /// Filters among the words.
    query: Query,
    /// The messages of sessions that are not verbatim in a file, for a phrase whose words may be searched for next.
    texts: TextCache,
    env: &'a Env,
}

/// The words of one session, and the number of its state in the archive.
type SessionWords = Result<(Option<u64>, WordTally), Problem>;

/// The searched sessions, in the order of their activity.
struct Loaded<'a> {
    sessions: Vec<Session>,
    /// Number of copies, including those that were skipped because they have none of the words.
    searched: usize,
    hidden: usize,
    problems: Vec<Problem>,
    archive: Option<(&'a Archive, Holdings)>,
    /// Short ids, for a terminal.
    short: Option<ShortIds>,
}

pub(super) fn run(args: &SearchArgs, archive: &Archive, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (query, texts) = super::super::query::filters(&args.text, &env.clock)?;
    let words = SearchWords::parse(&texts);
    if words.terms.is_empty() || words.terms.len() > terms::MOST {
        let why = format!("a search takes 1 to {} words, not {}", terms::MOST, words.terms.len());
        let hint =
            if query.is_empty() { "name words that the session has" } else { "`rejoin list` takes filters alone" };
        return Err(Refusal::new(RefusalCode::Usage, why).hint(hint).into());
    }
    if args.archived {
        super::super::archive::must_be_there(archive, env)?;
    }
    let all = args.all || query.asks_for_hidden();
    let has_phrase = words.terms.iter().any(|term| term.word().is_none());
    let texts = TextCache::new(if has_phrase { MAX_KEPT } else { 0 });
    let best = WordSearch { args, archive, filter: super::super::filter(&args.filter, all, env)?, query, texts, env };
    let mut answer = best.search_words(&words, ui);
    // A phrase or an identifier that no message has may have a wrong letter in one of its words.
    if let Some((parts, phrases)) = words.in_parts(&answer.ranking.missing) {
        let of_parts = best.search_words(&parts, ui);
        let is_nearer = answer.ranking.matched == 0 || of_parts.has_all_of(&phrases);
        if is_nearer && of_parts.ranking.matched > answer.ranking.matched {
            answer = of_parts.with_phrases(&phrases);
        }
    }
    let has_all = |words: &SearchWords, text: &str| {
        let mut missing = vec![true; words.terms.len()];
        words.each_place(text, &mut |place| missing[place.term] = false);
        !words.excludes(text) && !missing.contains(&true)
    };
    super::super::warn_of_problems(ui, env, &answer.problems);
    if !args.archived && best.query.is_empty() {
        answer.deleted = super::deleted(args, &best.filter, env, &|text| has_all(&answer.words, text));
    }
    best.print(&answer, ui)?;
    if args.archived {
        super::note_of_archive(&answer.loaded.sessions, archive, env, ui);
    } else if answer.ranking.order.is_empty() && answer.deleted.is_empty() {
        let words = super::super::query::query(&answer.words.text, &env.clock);
        super::note_of_none(&answer.loaded.sessions, &words, &best.filter, best.format(), env, ui);
    }
    Ok(Exit::Ok)
}

/// Returns whether a small file of a copy may match.
type IsInFile<'f> = &'f (dyn Fn(&dyn Agent, &Located) -> bool + Sync);

/// The results of a search before they are printed.
struct SearchAnswer<'a> {
    words: SearchWords,
    loaded: Arc<Loaded<'a>>,
    counted: Vec<(Option<u64>, WordTally)>,
    problems: Vec<Problem>,
    ranking: Ranking,
    replaced: Vec<Replaced>,
    /// Sessions without files that have the words.
    deleted: Vec<Deleted>,
}

impl SearchAnswer<'_> {
    /// Returns whether sessions have every word of these phrases, or one near to it.
    fn has_all_of(&self, phrases: &[Phrase]) -> bool {
        let missing: Vec<&str> = self.ranking.missing.iter().map(|term| &*self.words.terms[*term].text).collect();
        !phrases.iter().flat_map(|phrase| &phrase.parts).any(|part| missing.contains(&part.as_str()))
    }

    /// Reports the phrases whose words were searched for, each with the words that were found, in place of these words.
    fn with_phrases(mut self, phrases: &[Phrase]) -> Self {
        let missing: Vec<&str> = self.ranking.missing.iter().map(|term| &*self.words.terms[*term].text).collect();
        for Phrase { text, parts } in phrases {
            let found = |part: &&String| {
                let at = self.replaced.iter().position(|replaced| replaced.typed == **part);
                at.map_or_else(|| (*part).clone(), |at| self.replaced[at].used.clone())
            };
            let is_whole = self.ranking.matched == self.words.terms.len();
            let counts = |part: &&String| is_whole || !Term::new(part).is_function_word();
            let parts = parts.iter().filter(|part| !missing.contains(&part.as_str())).filter(counts);
            let used = parts.map(|part| found(&part)).collect::<Vec<_>>().join(" ");
            self.replaced.push(Replaced { typed: text.clone(), used });
        }
        let is_part = |typed: &String| phrases.iter().any(|phrase| phrase.parts.contains(typed));
        self.replaced.retain(|replaced| !is_part(&replaced.typed));
        self
    }
}

impl<'a> WordSearch<'a> {
    /// Searches for these words, with the nearest one in place of each that no session has.
    fn search_words(&self, words: &SearchWords, ui: &mut Ui) -> SearchAnswer<'a> {
        let sieve = Sieve::new(words);
        let loaded = Arc::new(self.load(&|agent, place| sieve.passes(agent, place), ui));
        let answer = self.count(&loaded, &sieve, ui);
        let Some((words, replaced)) = self.meant(&answer, &sieve, ui) else { return answer };
        let sieve = Sieve::new(&words);
        let loaded =
            if self.needs_all() { loaded } else { Arc::new(self.load(&|agent, place| sieve.passes(agent, place), ui)) };
        SearchAnswer { replaced, ..self.count(&loaded, &sieve, ui) }
    }

    /// Returns whether the answer depends on sessions without the words: on their number, or on ids that are shortened among
    /// all sessions. Lines for scripts have neither.
    fn needs_all(&self) -> bool {
        !self.format().is_rows()
    }

    fn load(&self, is_in_file: IsInFile<'_>, ui: &mut Ui) -> Loaded<'a> {
        let (env, filter) = (self.env, &self.filter);
        let mut loaded = if self.args.archived {
            let mut holdings = self.archive.holdings();
            let sessions = holdings.newest_sessions();
            let problems = std::mem::take(&mut holdings.problems);
            let archive = Some((self.archive, holdings));
            Loaded { searched: sessions.len(), sessions, hidden: 0, problems, archive, short: None }
        } else {
            let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
            let showing = ui.watch("Reading");
            let places = scan::locate(env, &filter.agents).watched(showing.watcher());
            let searched = places.places.len();
            let scan = if self.needs_all() {
                places.read_with_dirs(env, filter, scope)
            } else {
                places.read_with_text(env, filter, scope, is_in_file)
            };
            Loaded { sessions: scan.sessions, searched, hidden: 0, problems: scan.problems, archive: None, short: None }
        };
        if self.query.has_labels() {
            // Marks of deletion and use do not apply to archived sessions.
            match loaded.archive {
                Some(_) => super::super::labels(env, ui).mark_archived(&mut loaded.sessions),
                None => super::super::mark(&mut loaded.sessions, &self.query, env, ui),
            }
        }
        if !self.query.is_empty() {
            loaded.sessions.retain(|session| super::super::query::are_in(&self.query, session, env));
        }
        loaded.short = (self.format() == Format::Table).then(|| ShortIds::from_sessions(&loaded.sessions));
        loaded.hidden = listing::put_in_order(&mut loaded.sessions, filter, SortKey::Active);
        loaded
    }

    fn count(&self, loaded: &Arc<Loaded<'a>>, sieve: &Sieve<'_>, ui: &mut Ui) -> SearchAnswer<'a> {
        let words = sieve.words;
        let showing = ui.watch("Searching");
        let watcher = showing.watcher();
        watcher.begin(loaded.sessions.len());
        let one = |session: &Session| {
            let counted = self.count_one(session, sieve, loaded.archive.as_ref());
            if let Some(worth) = counted.as_ref().ok().and_then(|(_, tally)| tally.worst()) {
                watcher.found(worth, &|| table::title(session));
            }
            watcher.done(1);
            counted
        };
        let counted = parallel::map(&loaded.sessions, one);
        let mut problems = loaded.problems.clone();
        let keep = |counted: SessionWords| {
            let (state, mut tally) = counted.unwrap_or_else(|problem| {
                problems.push(problem);
                (None, WordTally::without(words))
            });
            problems.extend(tally.found.problem.take());
            (state, tally)
        };
        let counted: Vec<(Option<u64>, WordTally)> = counted.into_iter().map(keep).collect();
        let active: Vec<_> = loaded.sessions.iter().map(Session::active_at).collect();
        let tallies: Vec<&WordTally> = counted.iter().map(|(_, tally)| tally).collect();
        let mut ranking = rank(&tallies, loaded.searched, &active, &words.terms, self.env.clock.now);
        if self.args.sort == SearchOrder::Active {
            ranking.order.sort_by_key(|(at, _)| *at);
        }
        let loaded = Arc::clone(loaded);
        SearchAnswer {
            words: words.clone(),
            loaded,
            counted,
            problems,
            ranking,
            replaced: Vec::new(),
            deleted: Vec::new(),
        }
    }

    /// Returns the words with the nearest ones in place of those that no session has; `None` if no word is replaced.
    fn meant(&self, answer: &SearchAnswer<'a>, sieve: &Sieve<'_>, ui: &mut Ui) -> Option<(SearchWords, Vec<Replaced>)> {
        let (words, missing) = (&answer.words, &answer.ranking.missing);
        if self.args.archived || !sieve.has_near(missing) {
            return None;
        }
        let counted;
        let answer = if self.needs_all() || sieve.passed_near(missing) {
            answer
        } else {
            // The files contain a word that no message has, so sessions with similar words were not read.
            let may_be_near = |agent: &dyn Agent, place: &Located| {
                missing.iter().any(|term| sieve.near_may_be_in_copy(*term, agent, place))
            };
            let loaded = self.load(&|agent, place| sieve.passes(agent, place) || may_be_near(agent, place), ui);
            counted = self.count(&Arc::new(loaded), sieve, ui);
            &counted
        };
        let copies: Vec<&SessionCopy> = answer.loaded.sessions.iter().map(Session::copy).collect();
        let tallies = answer.counted.iter().map(|(_, tally)| tally.clone()).collect();
        let (mut meant, mut replaced) = (words.clone(), Vec::new());
        for (term, used) in nearest::meant(sieve, missing, tallies, &copies, &self.texts, &self.args.role, &|| true) {
            meant = meant.with_term(term, &used);
            replaced.push(Replaced { typed: words.terms[term].text.clone(), used });
        }
        (!replaced.is_empty()).then_some((meant, replaced))
    }

    fn count_one(&self, session: &Session, sieve: &Sieve<'_>, archive: Option<&(&Archive, Holdings)>) -> SessionWords {
        let count = |copy: &SessionCopy| WordTally::count_words(copy, sieve, self.wish());
        let Some((archive, holdings)) = archive else {
            let copy = session.copy();
            let agent = agent::by_kind(session.agent);
            if agent.is_some_and(|agent| agent.verbatim(&copy.place).is_none()) {
                self.texts.keep_copy(copy);
            }
            let text = self.texts.kept_text(copy);
            let first = WordTally::while_wanted(copy, text.as_deref(), sieve, self.wish(), &|| true);
            return Ok((None, WordTally::best_of(first, &session.copies, count)));
        };
        let look = |copies: &[SessionCopy]| WordTally::best_of(count(&copies[0]), copies, count);
        let (state, mut tally) = super::in_archive(session, archive, holdings, self.env, look)?;
        tally.found.problem = tally.found.problem.map(|problem| super::unread(session, problem.reason));
        Ok((Some(state), tally))
    }

    fn format(&self) -> Format {
        self.args.format.for_list(self.env.terminal.stdout)
    }

    fn wish(&self) -> SearchScope<'_> {
        super::wish(self.args, self.format())
    }

    fn print(&self, answer: &SearchAnswer<'_>, ui: &mut Ui) -> anyhow::Result<()> {
        let SearchAnswer { words, loaded, counted, problems, ranking, replaced, deleted } = answer;
        let Loaded { sessions, hidden, short, .. } = &**loaded;
        let (args, search_for) = (self.args, render::SearchFor::Words(words));
        let limit = args.limit();
        let shown = ranking.order.iter().take(limit).map(|(at, score)| {
            let (state, tally) = &counted[*at];
            let names = tally.terms().map(|term| words.terms[term].text.clone()).collect();
            let rank = Some(ResultRank { score: *score, words: names });
            let one = MatchingSession::in_session(&sessions[*at], tally.found.clone(), rank);
            MatchingSession { state: *state, ..one }
        });
        let mut shown: Vec<MatchingSession<'_>> = shown.collect();
        // A row has no branch, and an archived session was unpacked only for the search.
        let is_marked = |one: &&mut MatchingSession<'_>| !self.format().is_rows() && one.state.is_none();
        parallel::map(shown.iter_mut().filter(is_marked), |one| {
            let copy = &one.session.copies[one.found.copy.unwrap_or(0)];
            mark_branches(copy, &mut one.found.hits);
        });
        let missing: Vec<String> = ranking.missing.iter().map(|term| words.terms[*term].text.clone()).collect();
        let summary = SearchSummary {
            searched: sessions.len(),
            hidden: *hidden,
            is_limited: ranking.order.len() > shown.len(),
            replaced,
            missing: &missing,
            is_partial: ranking.matched > 0 && ranking.matched < words.terms.len(),
            deleted,
            problems,
        };
        let form = Form::from_args(args);
        let styles = ui.styles;
        if short.is_some() {
            ui.page(self.env)?;
        }
        match self.format() {
            Format::Json => json::json(ui.data(), search_for, &shown, &summary)?,
            Format::Ndjson => {
                json::ndjson_header(ui.data())?;
                shown.iter().try_for_each(|one| json::ndjson(ui.data(), one))?;
                json::ndjson_summary(ui.data(), shown.len(), &summary)?;
            }
            Format::Table => shown.iter().try_for_each(|one| {
                let id = short.as_ref().map_or(one.session.id(), |short| short.get(one.session));
                render::text(ui.data(), self.env, &styles, id, one, form, search_for)
            })?,
            format => {
                render::head(ui.data(), form, format, false)?;
                shown.iter().try_for_each(|one| render::rows(ui.data(), one, form, format, None))?;
            }
        }
        super::show_deleted(deleted, args, self.format(), self.env, ui)?;
        ui.flush()?;
        if short.is_some() && self.env.terminal.stdout {
            render::notes(search_for, shown.len(), &summary).iter().for_each(|note| ui.print_note(note));
            if !shown.is_empty() && args.can_pick() && find::can_pick(&self.env.terminal) {
                // The picker corrects no words.
                let mut env = self.env.clone();
                for Replaced { typed, used } in replaced {
                    env.invocation
                        .words
                        .iter_mut()
                        .filter(|word| *word == typed)
                        .for_each(|word| word.clone_from(used));
                }
                ui.print_note(&format!("`{}` opens the picker at them.", command_line::again(&env, &[], &["--pick"])));
            }
        } else if self.format().is_rows() {
            render::notes_on_words(shown.len(), &summary).iter().for_each(|note| ui.print_note(note));
        }
        Ok(())
    }
}
