//! `rejoin doctor`

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::change::apply::state_dir;
use crate::change::plan::change::{Change, ChangeItem, Contents, ItemSubject, Step};
use crate::cli::{ChangeArgs, DetailArgs, DoctorArgs};
use crate::commands::{find, no_match};
use crate::doctor::accepted::{Accepted, FILE_NAME};
use crate::doctor::check::{self, Finding};
use crate::doctor::code::{Code, Severity};
use crate::doctor::repair;
use crate::doctor::survey::{self, InterruptedRun, Survey, SurveyScope};
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::command_line::in_home;
use crate::format::text;
use crate::scan;
use crate::session::Session;
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::stamp;
use crate::system::state_file;
use crate::view::render::doctor::{Checks, Detail, DoctorReport};
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::render::report::{Fix, repairs as overview};
use crate::view::ui::Ui;
use changes::journal::ItemState;

pub(crate) fn run(args: &DoctorArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.list_checks {
        ui.answer(args.format, env, &Checks)?;
        return Ok(Exit::Ok);
    }
    let codes: BTreeSet<Code> = match (args.accept, args.check.as_slice()) {
        (Some(code), _) => BTreeSet::from([code]),
        (None, []) => Code::ALL.iter().copied().collect(),
        (None, chosen) => chosen.iter().copied().collect(),
    };
    let filter = super::place_filter(&args.place, env)?;
    if (args.fix || args.accept.is_some()) && !args.dry_run {
        super::recover_first(if args.fix { "doctor --fix" } else { "doctor --accept" }, args.lock, env, ui)?;
    }
    let showing = ui.watch("Reading");
    let scope = SurveyScope {
        codes: codes.clone(),
        deep: args.deep || codes == BTreeSet::from([Code::OtherBranches]),
        expires_within: args.expiring,
    };
    let mut survey = survey::collect(env, &scope, &showing.watcher());
    drop(showing);
    survey.interrupted = interrupted(env, ui)?;
    let named = find::Finder::new(&filter, scan::ScanScope::GLANCE, env, ui).find_all("check", &args.sessions)?;
    survey.named = named.iter().map(Session::key).collect();
    let mut findings = check::run_checks(&survey, &codes, &filter);
    for remedy in findings.iter_mut().flat_map(|finding| &mut finding.remedies) {
        remedy.command = in_home(&remedy.command, &env.invocation.elsewhere).into_owned();
    }
    findings.retain(|finding| named.is_empty() || named.iter().any(|session| finding.is_about(session)));
    if let Some(code) = args.accept {
        return accept(code, &findings, args, env, ui);
    }
    let known = accepted(env, ui);
    let before = findings.len();
    findings.retain(|finding| known.contains(finding) == args.accepted);
    let accepted = if args.accepted { 0 } else { before - findings.len() };

    if args.fix {
        return fix(args, findings, &survey, env, ui);
    }
    let checked = survey.scan.sessions.iter().filter(|session| filter.matches(session) && survey.is_named(session));
    let sessions = checked.clone().count();
    let unlisted = checked.filter(|session| !session.copy().kind.is_listed()).count();
    let detail = match (args.all_findings, args.check.is_empty() && args.sessions.is_empty()) {
        (true, _) => Detail::All,
        (false, false) => Detail::Chosen,
        (false, true) => Detail::Letter,
    };
    let read_at_both_ends = survey.read_at_both_ends;
    let report = DoctorReport { findings: &findings, sessions, unlisted, accepted, read_at_both_ends, detail };
    ui.answer(args.format, env, &report)?;
    if sessions == 0 {
        no_match::note_of_filters(&filter, env, ui);
    }
    let counts = |severity| severity != Severity::Note || args.strict;
    let has_found = findings.iter().any(|finding| counts(finding.severity));
    // As in `list`: freeing each session's memory costs more than it saves.
    std::mem::forget(survey);
    Ok(if has_found { Exit::Findings } else { Exit::Ok })
}

/// Makes the lossless repairs, and lists the other findings.
fn fix(args: &DoctorArgs, findings: Vec<Finding>, survey: &Survey, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let repairs = repair::of_findings(&findings, survey);
    let change =
        ChangeArgs { dry_run: args.dry_run, apply: args.apply.clone(), detail: DetailArgs::default(), lock: args.lock };
    super::change::check_fingerprint(&repairs.change, &change, env)?;
    let (asks, overview) = (env.terminal.can_ask(), overview(&repairs.change, env));
    if asks && !args.yes && !args.dry_run && args.apply.is_none() && !repairs.change.items.is_empty() {
        let problems = findings.iter().filter(|finding| finding.repair.is_some()).count();
        super::confirm_or_refuse(&overview, &format!("Repair {}?", text::count(problems, "problem")), env, ui)?;
    }
    let outcome = super::change::apply(&repairs.change, &change, env)?;
    let mut undecided = findings;
    undecided.retain(|finding| finding.repair.is_none() && finding.severity != Severity::Note);
    let look = ReportExtras { overview: &overview, is_whole: args.all_findings, ..ReportExtras::default() };
    let report = ChangeReport { look, ..ChangeReport::new(&repairs.change, outcome.as_ref()) };
    let fix = Fix { report, unplanned: &repairs.failed, undecided: &undecided };
    ui.answer(args.format, env, &fix.answer(env))?;
    Ok(match super::change::exit(outcome.as_ref()) {
        Exit::Ok if !repairs.failed.is_empty() => Exit::Partial,
        Exit::Ok if !undecided.is_empty() => Exit::Findings,
        exit => exit,
    })
}

/// Returns the interrupted runs of rejoin, except one that is still running.
fn interrupted(env: &Env, ui: &mut Ui) -> Result<Vec<InterruptedRun>, PathError> {
    if state_dir::is_busy(env) {
        return Ok(Vec::new());
    }
    let history = super::history(env, ui)?;
    let cut_off = history.runs.iter().filter(|run| run.is_interrupted());
    let cut_off = cut_off
        .map(|run| InterruptedRun {
            run: run.id.clone(),
            verb: run.verb.clone(),
            started_at: run.at,
            steps: (run.count(|state| *state == ItemState::Done), run.items.len()),
            journal: state_dir::journal(env, &run.id),
        })
        .collect();
    Ok(cut_off)
}

fn file(env: &Env) -> PathBuf {
    env.state_dir().join(FILE_NAME)
}

/// Reads the accepted findings. If the file cannot be parsed, warns and shows every finding.
pub(super) fn accepted(env: &Env, ui: &mut Ui) -> Accepted {
    match load(env) {
        Ok(accepted) => accepted,
        Err(why) => {
            ui.warn(&why);
            Accepted::default()
        }
    }
}

fn load(env: &Env) -> Result<Accepted, String> {
    state_file::read(&SYSTEM, &file(env)).map_err(|why| format!("no finding counts as accepted: {why}"))
}

/// Accepts the findings of a code, in one run that `undo` can reverse.
pub(super) fn accept(
    code: Code,
    findings: &[Finding],
    args: &DoctorArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let args_of_change =
        ChangeArgs { dry_run: args.dry_run, apply: None, detail: DetailArgs::default(), lock: args.lock };
    let plan = || plan_accept(code, findings, env);
    super::change::carry_out_locked("doctor --accept", plan, &args_of_change, args.format, env, ui)
}

/// Plans to add the findings of a code to the accepted ones.
fn plan_accept(code: Code, findings: &[Finding], env: &Env) -> anyhow::Result<Change> {
    let refuse = |why: String| Refusal::new(RefusalCode::BadState, why).hint("fix the file or move it away");
    let mut accepted = load(env).map_err(refuse)?;
    let new = findings.iter().filter(|finding| finding.code == code && accepted.add(finding)).count();
    let mut change = Change::new("doctor --accept", Vec::new());
    if new > 0 {
        let path = file(env);
        let stamp = stamp::take_if_present(&path)?.map(Box::new);
        let step = Step::Write { path, contents: Contents::Bytes(state_file::to_json(&accepted)?), stamp };
        let what = format!("{} of {}", text::count(new, "finding"), code.name());
        change.items.push(ChangeItem::new(
            ItemSubject::Other(what.into()),
            code.name(),
            "doctor keeps them quiet",
            vec![step],
        ));
    }
    Ok(change)
}
