//! `rejoin doctor`

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::check::{self, Code, Severity};
use crate::cli::{DoctorArgs, Format};
use crate::env::Env;
use crate::error::Exit;
use crate::render::doctor::{self as render, Report};
use crate::select::Filter;
use crate::survey::{self, Wanted};
use crate::ui::Ui;

pub(crate) fn run(args: &DoctorArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.list_checks {
        return list_checks(args, ui);
    }
    let codes: BTreeSet<Code> = match args.check.as_slice() {
        [] => Code::ALL.into(),
        chosen => chosen.iter().copied().collect(),
    };
    let dirs = args.dir.as_deref().map(|dir| super::directory_names(dir, env)).unwrap_or_default();
    let filter = Filter { agents: args.agent.clone(), dirs, ..Filter::default() };
    let expires_within = SignedDuration::from_hours(24 * i64::from(args.expires_within));
    let survey = survey::collect(env, &Wanted { codes: codes.clone(), deep: args.deep, expires_within });
    let findings = check::all(&survey, &codes, &filter);

    let sessions = survey.scan.sessions.iter().filter(|session| filter.matches(session)).count();
    let shows_all = !args.check.is_empty();
    let report = Report { findings: &findings, sessions, read_at_both_ends: survey.read_at_both_ends, shows_all };
    let styles = ui.styles;
    match args.format.get() {
        Format::Table => render::text(ui.data(), env, &styles, &report)?,
        Format::Json => render::json(ui.data(), &report)?,
        Format::Ndjson => render::ndjson(ui.data(), &report)?,
    }
    ui.flush()?;
    let counts = |severity| severity != Severity::Info || args.strict;
    let has_found = findings.iter().any(|finding| counts(finding.severity));
    // As in `list`: giving each session's memory back takes longer than it is worth.
    std::mem::forget(survey);
    Ok(if has_found { Exit::Findings } else { Exit::Ok })
}

fn list_checks(args: &DoctorArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let styles = ui.styles;
    match args.format.get() {
        Format::Table => render::checks_text(ui.data(), &styles)?,
        Format::Json => render::checks_json(ui.data())?,
        Format::Ndjson => render::checks_ndjson(ui.data())?,
    }
    ui.flush()?;
    Ok(Exit::Ok)
}
