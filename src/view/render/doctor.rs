//! What `doctor` found, and what it can find.

use std::io::{self, Write};

use serde::Serialize;

use crate::doctor::check::Finding;
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::READ_WHOLE;
use crate::format::text;
use crate::system::env::Env;
use crate::view::render::answer::{Answer, List};
use crate::view::render::json::doctor::{CheckJson, ChecksJson, DoctorCountsJson, DoctorJson, FindingJson};
use crate::view::ui::Styles;

/// How many findings of severity info are shown for each code, unless the code was asked for.
const FEW: usize = 3;
/// Paths of one finding that are shown to people.
const MAX_PATHS: usize = 6;

/// What `doctor` answers.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// What was found, in order.
    pub findings: &'a [Finding],
    /// How many sessions were checked.
    pub sessions: usize,
    /// How many transcripts were read only at both ends.
    pub read_at_both_ends: usize,
    /// Whether every finding is shown to people, however many there are.
    pub shows_all: bool,
}

impl Report<'_> {
    fn counts(&self) -> DoctorCountsJson {
        let of = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        DoctorCountsJson {
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            infos: of(Severity::Info),
            repairable: self.findings.iter().filter(|finding| finding.repair.is_some()).count(),
            sessions: self.sessions,
            read_at_both_ends: self.read_at_both_ends,
        }
    }
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let findings = List::of(self.findings, FindingJson::from);
        ("doctor-report", DoctorJson { findings, counts: self.counts() })
    }

    /// Writes the findings grouped by severity and code, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { strong, faint, .. } = styles;
        for group in self.findings.chunk_by(|a, b| (a.severity, a.code) == (b.severity, b.code)) {
            let (severity, code) = (group[0].severity, group[0].code);
            let style = match severity {
                Severity::Error => styles.error,
                Severity::Warning => styles.warning,
                Severity::Info => styles.faint,
            };
            writeln!(out, "{style}{}{style:#} {strong}{}{strong:#}: {}", severity.name(), code.name(), code.meaning())?;
            let shown = if severity == Severity::Info && !self.shows_all { FEW } else { group.len() };
            for finding in group.iter().take(shown) {
                finding_text(out, env, styles, finding)?;
            }
            if group.len() > shown {
                let more = group.len() - shown;
                writeln!(out, "  {faint}and {more} more: rejoin doctor --check {}{faint:#}", code.name())?;
            }
            writeln!(out)?;
        }
        writeln!(out, "{}", summary(self))
    }
}

fn finding_text(out: &mut impl Write, env: &Env, styles: &Styles, finding: &Finding) -> io::Result<()> {
    let Styles { strong, faint, .. } = styles;
    writeln!(out, "  {}", text::one_line(&finding.evidence))?;
    for path in finding.paths.iter().take(MAX_PATHS) {
        writeln!(out, "      {faint}{}{faint:#}", text::one_line(&env.tilde(path)))?;
    }
    if finding.paths.len() > MAX_PATHS {
        writeln!(out, "      {faint}and {} more{faint:#}", finding.paths.len() - MAX_PATHS)?;
    }
    let (measured, expected) = (text::one_line(&finding.measured), text::one_line(&finding.expected));
    writeln!(out, "      {faint}found: {measured}; expected: {expected}{faint:#}")?;
    writeln!(out, "      {strong}{}{strong:#}", text::unbroken(&finding.remedy))
}

fn summary(report: &Report<'_>) -> String {
    let counts = report.counts();
    let sessions = text::count(counts.sessions, "session");
    let mut summary = if report.findings.is_empty() {
        format!("No problems found in {sessions}.")
    } else {
        let parts = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.infos, "info")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, one)| text::count(*count, one)).collect();
        format!("{} in {sessions}.", parts.join(", "))
    };
    if counts.repairable > 0 {
        summary.push_str(&format!(" `rejoin doctor --fix` fixes {} without losing anything.", counts.repairable));
    }
    if counts.read_at_both_ends > 0 {
        summary.push_str(&format!(
            " Of {} larger than {}, only the two ends were read; --deep reads everything.",
            text::count(counts.read_at_both_ends, "transcript"),
            text::size(READ_WHOLE)
        ));
    }
    summary
}

/// Every check, with what it means.
pub(crate) struct Checks;

impl Answer for Checks {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("doctor-checks", ChecksJson { checks: List::of(Code::ALL, CheckJson::from) })
    }

    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        let strong = styles.strong;
        let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or_default();
        let severities =
            |code: &Code| code.severities().iter().map(|severity| severity.name()).collect::<Vec<_>>().join(", ");
        let second = Code::ALL.iter().map(|code| severities(code).len()).max().unwrap_or_default();
        for code in Code::ALL {
            let (name, severities) = (code.name(), severities(code));
            writeln!(out, "{strong}{name:<width$}{strong:#}  {severities:<second$}  {}", code.meaning())?;
        }
        Ok(())
    }
}
