//! `rejoin search`

mod best;

use std::io;
use std::ops::ControlFlow;

use crate::archive::Archive;
use crate::archive::store::Holdings;
use crate::archive::unpacked::UnpackedSession;
use crate::cli::{Format, SearchArgs};
use crate::commands::{find, listing, no_match, query, resume};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::scan::deleted::{self, Deleted};
use crate::scan::pattern::{CaseRule, Pattern};
use crate::scan::search::{self, SearchScope, SessionMatches};
use crate::scan::{Scan, ScanScope};
use crate::session::matching::Query;
use crate::session::select::{Filter, ShortIds, SortKey};
use crate::session::{Problem, Role, Session, SessionCopy};
use crate::system::env::Env;
use crate::system::in_order::in_order;
use crate::view::render::archive::none_found;
use crate::view::render::search as render;
use crate::view::render::search::{Form, MatchingSession, SearchSummary};
use crate::view::render::search_json as json;
use crate::view::ui::Ui;

/// Number of sessions to search, newest first, before matches are printed.
const PART: usize = 64;
/// Number of sessions that are searched after a slow one.
const AHEAD: usize = 256;

pub(crate) fn run(args: &SearchArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.pick {
        return pick(args, env, ui);
    }
    let archive = Archive::open(env, args.archive_dir.as_deref());
    if args.is_ranked() {
        return best::run(args, &archive, env, ui);
    }
    let pattern = pattern(args)?;
    // A session with the text in its title is the likeliest one.
    let is_first = |session: &Session| args.role.is_empty() && search::is_named(session.copy(), &pattern);
    let put_in_order = |sessions: &mut Vec<Session>, filter: &Filter| {
        let hidden = listing::put_in_order(sessions, filter, SortKey::Active);
        sessions.sort_by_cached_key(|session| !is_first(session));
        hidden
    };
    let filter = super::filter(&args.filter, args.all, env)?;
    let format = args.format.for_list(env.terminal.stdout);
    if !args.archived {
        let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
        let Scan { mut sessions, problems, .. } = super::read(&filter.agents, env, ui, |places| {
            // Only lines for a script leave out the number of sessions without the text.
            if format.is_rows() {
                places.read_with_text(env, &filter, scope, |agent, place| pattern.is_in_file(agent, place))
            } else {
                places.read_with_dirs(env, &filter, scope)
            }
        });
        let short = (format == Format::Table).then(|| ShortIds::from_sessions(&sessions));
        let hidden = put_in_order(&mut sessions, &filter);
        let deleted = deleted(args, &filter, env, &|text| pattern.find(text).is_some());
        let search = SearchRun { args, format, pattern, archive: None, short, deleted, env };
        let (exit, count) = search.search_all(&sessions, hidden, problems, ui)?;
        if count == 0 {
            let words: Vec<String> = if args.regex { Vec::new() } else { args.text.clone() };
            note_of_none(&sessions, &query::query(&words.join(" "), &env.clock), &filter, format, env, ui);
        }
        return Ok(exit);
    }
    super::archive::must_be_there(&archive, env)?;
    let mut holdings = archive.holdings();
    let problems = std::mem::take(&mut holdings.problems);
    let mut sessions = holdings.newest_sessions();
    super::warn_of_problems(ui, env, &problems);
    let short = (format == Format::Table).then(|| ShortIds::from_sessions(&sessions));
    let hidden = put_in_order(&mut sessions, &filter);
    let deleted = Vec::new();
    let search = SearchRun { args, format, pattern, archive: Some((&archive, &holdings)), short, deleted, env };
    let (exit, _) = search.search_all(&sessions, hidden, problems, ui)?;
    note_of_archive(&sessions, &archive, env, ui);
    Ok(exit)
}

/// Explains an answer without a match: no session of the archive passes the filters.
fn note_of_archive(searched: &[Session], archive: &Archive, env: &Env, ui: &mut Ui) {
    if searched.is_empty() && env.terminal.stdout {
        ui.print_note(&none_found(archive, env));
    }
}

/// Explains an answer without a match: no session passes the filters, or the archive or the trash may have one.
fn note_of_none(searched: &[Session], words: &Query, filter: &Filter, format: Format, env: &Env, ui: &mut Ui) {
    if searched.is_empty() {
        no_match::note_of_search(filter, env, ui);
    } else if format == Format::Table && env.terminal.stdout {
        no_match::note_of_messages(filter, words, env, ui);
    }
}

/// Opens the picker with its search of messages.
fn pick(args: &SearchArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if let Some(why) = find::why_nobody_picks(&env.terminal) {
        return Err(Refusal::new(RefusalCode::Usage, why).hint("leave out --pick to print what is found").into());
    }
    let is_phrase = |text: &str| text.contains(char::is_whitespace);
    let typed = |text: &String| if is_phrase(text) { format!("\"{text}\"") } else { text.clone() };
    let words: Vec<String> = args.text.iter().map(typed).collect();
    resume::pick(args.filter.clone(), &words.join(" "), env, ui)
}

/// Finds the sessions without files that have a text in a list of their agent, which has no replies.
fn deleted(args: &SearchArgs, filter: &Filter, env: &Env, is_match: &dyn Fn(&str) -> bool) -> Vec<Deleted> {
    let is_wanted = args.role.is_empty() || args.role.contains(&Role::User);
    if is_wanted { deleted::find_deleted(env, filter, is_match) } else { Vec::new() }
}

/// Shows the sessions without files to a user, and mentions them to a script whose rows have none.
fn show_deleted(deleted: &[Deleted], args: &SearchArgs, format: Format, env: &Env, ui: &mut Ui) -> io::Result<()> {
    if format == Format::Table {
        let styles = ui.styles;
        return render::deleted(ui.data(), env, &styles, deleted, (args.limit(), args.matches));
    }
    if format.is_rows() && !deleted.is_empty() {
        let sessions = crate::format::text::count(deleted.len(), "deleted session");
        ui.print_note(&format!("Prompts of {sessions} match; --format table or json has them."));
    }
    Ok(())
}

/// Parses the search pattern.
pub(super) fn pattern(args: &SearchArgs) -> Result<Pattern, Refusal> {
    let case = match (args.case_sensitive, args.ignore_case) {
        (true, _) => CaseRule::Exact,
        (_, true) => CaseRule::Ignored,
        _ => CaseRule::Smart,
    };
    if !args.regex {
        return Ok(Pattern::of_texts(&args.text, case));
    }
    let usage = |message: String, hint: &str| Refusal::new(RefusalCode::Usage, message).hint(hint);
    match args.text.as_slice() {
        [regex] => {
            Pattern::of_regex(regex, case).map_err(|why| usage(why, "search for it as it is typed without --regex"))
        }
        several => {
            Err(usage(format!("--regex takes one TEXT, not {}", several.len()), "put quotation marks around it"))
        }
    }
}

/// Returns the parts of a session that an answer needs; a script gets whole lines.
fn wish(args: &SearchArgs, format: Format) -> SearchScope<'_> {
    let most = if args.sessions || args.count { 0 } else { args.matches };
    let lines = args.context.or((format != Format::Table).then_some(0));
    SearchScope {
        roles: &args.role,
        most,
        lines,
        has_numbers: format.is_json(),
        names_branches: !format.is_rows(),
        enough: None,
    }
}

struct SearchRun<'a> {
    args: &'a SearchArgs,
    format: Format,
    pattern: Pattern,
    /// The archive that is searched instead of the stores.
    archive: Option<(&'a Archive, &'a Holdings)>,
    /// Shortened ids for users; `None` for a script.
    short: Option<ShortIds>,
    /// Sessions without files that have the text.
    deleted: Vec<Deleted>,
    env: &'a Env,
}

impl SearchRun<'_> {
    /// Searches these sessions, newest activity first, and shows each match when it is found; `hidden` others are not
    /// searched.
    fn search_all<'s>(
        &'s self,
        sessions: &'s [Session],
        hidden: usize,
        mut problems: Vec<Problem>,
        ui: &mut Ui,
    ) -> anyhow::Result<(Exit, usize)> {
        let Self { args, format, pattern, short, env, .. } = self;
        let limit = args.limit();
        let (mut matches, mut count, mut beyond, mut searched) = (Vec::new(), 0, 0, 0);
        match format {
            Format::Ndjson => json::ndjson_header(ui.data())?,
            format => render::head(ui.data(), Form::from_args(args), *format, false)?,
        }
        if short.is_some() {
            ui.page(env)?;
        }
        let showing = ui.watch("Searching");
        let watcher = showing.watcher();
        watcher.begin(sessions.len());
        let mut show = |part: &mut Vec<Result<MatchingSession<'s>, Problem>>| -> anyhow::Result<ControlFlow<()>> {
            searched += part.len();
            showing.clear();
            let known = problems.len();
            for looked in part.drain(..) {
                let mut looked = looked.map_err(|problem| problems.push(problem)).ok();
                problems.extend(looked.as_mut().and_then(|one| one.found.problem.take()));
                match looked.filter(|one| one.found.is_any()) {
                    None => {}
                    Some(_) if count >= limit => beyond += 1,
                    Some(one) => {
                        count += 1;
                        self.print(&one, ui)?;
                        matches.extend(Some(one).filter(|_| *format == Format::Json));
                    }
                }
            }
            ui.hand_on()?;
            if ui.is_paged() {
                showing.end();
            }
            super::warn_of_problems(ui, env, &problems[known..]);
            Ok(if count >= limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let mut part = Vec::with_capacity(PART);
        let work = |at| self.search_one(&sessions[at]);
        in_order(sessions.len(), AHEAD, &work, &mut || watcher.done(1), &mut |looked| {
            part.push(looked);
            if part.len() < PART { Ok(ControlFlow::Continue(())) } else { show(&mut part) }
        })?;
        let _ = show(&mut part)?;
        drop(showing);
        let is_limited = beyond > 0 || searched < sessions.len();
        let summary = SearchSummary::for_pattern(searched, hidden, is_limited, &self.deleted, &problems);
        match format {
            Format::Json => json::json(ui.data(), render::SearchFor::Pattern(pattern), &matches, &summary)?,
            Format::Ndjson => json::ndjson_summary(ui.data(), count, &summary)?,
            Format::Table | Format::Tsv | Format::Csv => {}
        }
        show_deleted(&self.deleted, args, *format, env, ui)?;
        ui.flush()?;
        if short.is_some() && env.terminal.stdout {
            render::notes(render::SearchFor::Pattern(pattern), count, &summary)
                .iter()
                .for_each(|note| ui.print_note(note));
            if count > 0 && args.can_pick() && find::can_pick(&env.terminal) {
                ui.print_note(&format!("`{}` opens the picker at them.", command_line::again(env, &[], &["--pick"])));
            }
        }
        Ok((Exit::Ok, count))
    }

    /// Prints the matches of one session, unless they are a part of one document.
    fn print(&self, one: &MatchingSession<'_>, ui: &mut Ui) -> io::Result<()> {
        let form = Form::from_args(self.args);
        let styles = ui.styles;
        match (self.format, &self.short) {
            (Format::Json, _) => Ok(()),
            (Format::Ndjson, _) => json::ndjson(ui.data(), one),
            (_, Some(short)) => {
                let search_for = render::SearchFor::Pattern(&self.pattern);
                render::text(ui.data(), self.env, &styles, short.get(one.session), one, form, search_for)
            }
            (format, None) => render::rows(ui.data(), one, form, format, None),
        }
    }

    fn search_one<'s>(&self, session: &'s Session) -> Result<MatchingSession<'s>, Problem> {
        let Some((archive, holdings)) = self.archive else {
            let found = search::search_copies(&session.copies, |copy| self.search_copy(copy));
            return Ok(MatchingSession::in_session(session, found, None));
        };
        let look = |copies: &[SessionCopy]| search::search_copies(copies, |copy| self.search_copy(copy));
        let (state, mut found) = in_archive(session, archive, holdings, self.env, look)?;
        found.problem = found.problem.map(|problem| unread(session, problem.reason));
        Ok(MatchingSession { state: Some(state), ..MatchingSession::in_session(session, found, None) })
    }

    fn search_copy(&self, copy: &SessionCopy) -> SessionMatches {
        let args = self.args;
        let wish = wish(args, self.format);
        // A user sees the number of further matches; a line for a script has none.
        let says_how_many = self.format.is_json() || args.count || (self.short.is_some() && !args.sessions);
        let enough = (!says_how_many).then_some(wish.most.max(1) as u64);
        search::search_copy(copy, &self.pattern, SearchScope { enough, ..wish })
    }
}

/// Reports that a session could not be searched. The temporary directory of an archived session is already removed.
fn unread(session: &Session, reason: String) -> Problem {
    Problem { path: session.copy().place.path.to_path_buf(), reason }
}

/// Unpacks the newest state of a session and searches it; returns the number of the state and the result.
fn in_archive<T>(
    session: &Session,
    archive: &Archive,
    holdings: &Holdings,
    env: &Env,
    look: impl FnOnce(&[SessionCopy]) -> T,
) -> Result<(u64, T), Problem> {
    let newest = holdings.newest(session.agent, session.id());
    let manifest = &newest.ok_or_else(|| unread(session, "it is gone".to_owned()))?.manifest;
    let unpacked =
        UnpackedSession::unpack(manifest, archive, env).map_err(|error| unread(session, format!("{error:#}")))?;
    Ok((manifest.number, look(&manifest.copies_in(unpacked.root()))))
}
