//! `rejoin backfill`

use std::time::Duration;

use crate::agent;
use crate::change::apply::backfill as apply;
use crate::change::hindrance::out_of_store;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::plan::backfill::{self, Action, SessionBackfill};
use crate::cli::BackfillArgs;
use crate::commands::find::{self, SelectorTarget};
use crate::commands::no_match;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::scan::{self, ScanScope};
use crate::session::select::{Filter, Selector};
use crate::session::{AgentKind, Problem, Session, SessionKind};
use crate::system::env::Env;
use crate::view::render::backfill::BackfillReport;
use crate::view::ui::Ui;

pub(crate) fn run(args: &BackfillArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.in_dir.is_some() && args.sessions.len() > 1 {
        let message = "--in applies to one session only";
        return Err(Refusal::new(RefusalCode::Usage, message).hint("run it once for each session").into());
    }
    if !args.dry_run {
        super::recover_first("backfill", args.lock, env, ui)?;
    }
    let given = args.in_dir.as_deref().map(|dir| env.resolve(dir));
    let mut problems = Vec::new();
    let sessions = {
        let filter = super::place_filter(&args.place, env)?;
        if args.every { read_all(&filter, env, ui, &mut problems) } else { named(args, filter, env, ui)? }
    };
    let plan: Vec<(&Session, SessionBackfill)> = sessions
        .iter()
        .map(|session| {
            let encodes = |dir: &std::path::Path| agent::leads_back(&session.copy().place, dir) == Some(true);
            let mut item = backfill::plan(session, given.as_deref().map(|dir| (dir, encodes(dir))));
            if let (Action::Keep, Some(dir)) = (&item.action, &given) {
                let mut of_file = item.evidence.iter().filter(|evidence| evidence.source == "session-info");
                let why = match of_file.next() {
                    Some(recorded) if env.resolve(&recorded.dir) == *dir => None,
                    Some(recorded) => Some(format!(
                        "its session-info.json is good and records {}, not {}",
                        recorded.dir.display(),
                        dir.display()
                    )),
                    None => Some("a sub-session needs no session-info.json".to_owned()),
                };
                if let Some(why) = why {
                    (item.action, item.reason) = (Action::Refuse { wants_dir: false }, why);
                }
            }
            let hindrance = out_of_store(&session.copy().place);
            if let (Action::Write { .. }, Some(why)) = (&item.action, hindrance) {
                (item.action, item.reason) = (Action::Refuse { wants_dir: false }, why);
            }
            (session, item)
        })
        .collect();

    let outcome = if args.dry_run {
        ChangeOutcome { done: plan.iter().map(|(_, item)| item.planned()).collect(), ..ChangeOutcome::default() }
    } else {
        apply::apply(&plan, "backfill", env, args.lock.lock_timeout)?
    };
    let (is_dry_run, is_whole) = (args.dry_run, args.detail.all_items);
    let report = BackfillReport { is_dry_run, plan: &plan, outcome: &outcome, problems: &problems, is_whole };
    ui.answer(args.format, env, &report.answer(env))?;
    Ok(if outcome.done.iter().any(|result| result.why().is_some()) { Exit::Partial } else { Exit::Ok })
}

/// Reads every Amplifier session that a user would resume.
fn read_all(filter: &Filter, env: &Env, ui: &mut Ui, problems: &mut Vec<Problem>) -> Vec<Session> {
    let mut scan = scan::locate(env, &[AgentKind::Amplifier]).read_all(env, ScanScope::THOROUGH);
    super::warn_of_problems(ui, env, &scan.problems);
    problems.append(&mut scan.problems);
    scan.sessions.retain(|session| {
        filter.matches(session) && !matches!(session.copy().kind, SessionKind::Subagent | SessionKind::Empty)
    });
    if scan.sessions.is_empty() {
        no_match::note_of_filters(filter, env, ui);
    }
    scan.sessions
}

fn named(args: &BackfillArgs, mut filter: Filter, env: &Env, ui: &mut Ui) -> anyhow::Result<Vec<Session>> {
    let of_any = filter.clone();
    if filter.agents.is_empty() {
        filter.agents.push(AgentKind::Amplifier);
    }
    let not_of_amplifier = || Refusal::new(RefusalCode::Usage, "only Amplifier sessions have a session-info.json");
    args.sessions.iter().try_for_each(super::refuse_number)?;
    args.sessions
        .iter()
        .map(|selector| {
            let found = find::Finder::new(&filter, ScanScope::THOROUGH, env, ui).find_one("record directory", selector);
            match found.map_err(|error| super::or_in(error, &args.place, env)) {
                Ok(SelectorTarget::Session(session)) if session.agent == AgentKind::Amplifier => Ok(*session),
                Ok(_) => Err(not_of_amplifier().into()),
                Err(error) if *selector != Selector::Latest && find::is_not_found(&error) => {
                    let other = find::Finder::new(&of_any, ScanScope::GLANCE, env, ui).unambiguous(selector);
                    Err(other.map_or(error, |_| not_of_amplifier().into()))
                }
                Err(error) => Err(error),
            }
        })
        .collect()
}

/// Records the directory of a session after a resume that found it from evidence, for the next resume.
pub(super) fn after_resume(session: &Session, item: &SessionBackfill, env: &Env, ui: &mut Ui) {
    // Do not delay the start of the agent to wait for the lock of another run.
    let outcome = apply::apply(&[(session, item.clone())], "resume", env, Duration::ZERO);
    let why = match &outcome {
        Ok(outcome) => outcome.done.iter().find_map(ItemResult::why).map(str::to_owned),
        Err(error) => Some(format!("{error:#}")),
    };
    if let Some(why) = why {
        ui.warn(&format!("cannot record the directory in {}: {why}", item.session_dir.display()));
    }
}
