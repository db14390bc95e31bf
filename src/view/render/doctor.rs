//! The findings of `doctor`, and the list of its checks.

use std::io::{self, Write};

use serde::Serialize;

use crate::doctor::check::{Finding, Remedy};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::READ_WHOLE;
use crate::format::command_line::{again, in_home};
use crate::format::text;
use crate::session::AgentKind;
use crate::session::select::short_among;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::items::ItemList;
use crate::view::render::json::doctor::{CheckJson, ChecksJson, DoctorCountsJson, DoctorJson, FindingJson};
use crate::view::ui::Styles;

/// Maximum findings of one code that are shown by default.
const FEW: usize = 3;
/// Maximum commands below the examples of a code.
const MAX_REMEDIES: usize = 3;
/// Maximum lines of codes that are only notes.
const MAX_BRIEF: usize = 5;
/// Maximum paths of one finding that are shown to users.
const MAX_PATHS: usize = 6;

/// The answer of `doctor`.
#[derive(Debug)]
pub(crate) struct DoctorReport<'a> {
    /// The findings, in order.
    pub findings: &'a [Finding],
    /// Number of sessions that were checked.
    pub sessions: usize,
    /// Number of sessions among them that `list` shows only with `--all`.
    pub unlisted: usize,
    /// Number of findings that are not shown, because the user accepted them.
    pub accepted: usize,
    /// Number of transcripts that were read only at both ends.
    pub read_at_both_ends: usize,
    /// Amount of detail for users.
    pub detail: Detail,
}

/// Amount of detail for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Examples of each code, one line each.
    Letter,
    /// All facts about some findings of the requested codes.
    Chosen,
    /// All facts about every finding.
    All,
}

impl DoctorReport<'_> {
    fn counts(&self) -> DoctorCountsJson {
        let of = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        DoctorCountsJson {
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            notes: of(Severity::Note),
            repairable: self.findings.iter().filter(|finding| finding.repair.is_some()).count(),
            sessions: self.sessions,
            accepted: self.accepted,
            read_at_both_ends: self.read_at_both_ends,
        }
    }
}

impl Answer for DoctorReport<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let findings = ItemList::from_items(self.findings, FindingJson::from);
        ("doctor-report", DoctorJson { findings, counts: self.counts() })
    }

    /// Writes the findings grouped by severity and code, the worst first, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        groups(out, env, styles, self.findings, self.detail)?;
        writeln!(out, "{}{}", if self.findings.is_empty() { "" } else { "\n" }, summary(self, env))
    }
}

/// Writes findings grouped by severity and code, the worst first. With the detail `Letter`, a code that is only a note
/// is one line if there is a more serious one.
fn groups(out: &mut impl Write, env: &Env, styles: &Styles, findings: &[Finding], detail: Detail) -> io::Result<()> {
    let groups: Vec<&[Finding]> = findings.chunk_by(|a, b| (a.severity, a.code) == (b.severity, b.code)).collect();
    let is_letter = detail == Detail::Letter;
    let has_trouble = groups.first().is_some_and(|group| group[0].severity != Severity::Note);
    let is_brief = |group: &[Finding]| is_letter && has_trouble && group[0].severity == Severity::Note;
    let briefs = groups.iter().filter(|group| is_brief(group)).count();
    let left_out = if briefs > MAX_BRIEF { briefs + 1 - MAX_BRIEF } else { 0 };
    // These codes come last.
    let (groups, others) = groups.split_at(groups.len() - left_out);
    for (at, group) in groups.iter().enumerate() {
        if is_brief(group) {
            let follows_brief = at > 0 && is_brief(groups[at - 1]);
            let blank = if at > 0 && !follows_brief { "\n" } else { "" };
            write!(out, "{blank}")?;
            brief(out, env, styles, group)?;
            continue;
        }
        write!(out, "{}", if at > 0 { "\n" } else { "" })?;
        group_text(out, env, styles, group, detail)?;
    }
    if others.is_empty() { Ok(()) } else { names(out, env, styles, others) }
}

/// Writes one line for several codes.
fn names(out: &mut impl Write, env: &Env, styles: &Styles, groups: &[&[Finding]]) -> io::Result<()> {
    let faint = styles.faint;
    let name = |group: &&[Finding]| match group.len() {
        1 => group[0].code.name().to_owned(),
        times => format!("{} ({times} times)", group[0].code.name()),
    };
    let names: Vec<String> = groups.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let command = in_home("rejoin doctor --all-findings", &env.invocation.elsewhere).into_owned();
    let strong = styles.strong;
    writeln!(out, "{strong}note{strong:#} also {}{faint} (`{command}`){faint:#}", text::list(&names))
}

fn head(out: &mut impl Write, styles: &Styles, group: &[Finding]) -> io::Result<()> {
    let strong = styles.strong;
    let (severity, code) = (group[0].severity, group[0].code);
    let style = match severity {
        Severity::Error => styles.error,
        Severity::Warning => styles.warning,
        Severity::Note => styles.strong,
    };
    let times = if group.len() > 1 { format!(" ({} times)", group.len()) } else { String::new() };
    let (severity, name) = (severity.name(), code.name());
    write!(out, "{style}{severity}{style:#} {strong}{name}{strong:#}: {}{times}", code.meaning())
}

/// Writes one line for all findings of a code.
fn brief(out: &mut impl Write, env: &Env, styles: &Styles, group: &[Finding]) -> io::Result<()> {
    let faint = styles.faint;
    head(out, styles, group)?;
    let command = format!("rejoin doctor --check {}", group[0].code.name());
    writeln!(out, "{faint} (`{}`){faint:#}", in_home(&command, &env.invocation.elsewhere))
}

fn group_text(out: &mut impl Write, env: &Env, styles: &Styles, group: &[Finding], detail: Detail) -> io::Result<()> {
    let faint = styles.faint;
    head(out, styles, group)?;
    writeln!(out)?;
    let shown = if detail == Detail::All { group.len() } else { group.len().min(FEW) };
    match detail {
        Detail::Letter => examples(out, env, styles, &group[..shown])?,
        Detail::Chosen | Detail::All => {
            group[..shown].iter().try_for_each(|finding| finding_text(out, env, styles, finding))?;
        }
    }
    if group.len() > shown {
        let (more, code) = (group.len() - shown, group[0].code.name());
        let command = format!("rejoin doctor --check {code} --all-findings");
        writeln!(out, "  {faint}and {more} more (`{}`){faint:#}", in_home(&command, &env.invocation.elsewhere))?;
    }
    Ok(())
}

/// Writes one line per finding. Commands that all findings share follow the last one; commands of the first finding
/// follow it.
fn examples(out: &mut impl Write, env: &Env, styles: &Styles, examples: &[Finding]) -> io::Result<()> {
    let first = &examples[0].remedies;
    let is_shared = examples.iter().all(|finding| finding.remedies == *first);
    let last = if is_shared { examples.len() - 1 } else { 0 };
    for (at, finding) in examples.iter().enumerate() {
        writeln!(out, "  {}", example(finding, env))?;
        if at == last {
            first.iter().take(MAX_REMEDIES).try_for_each(|remedy| remedy_text(out, env, styles, 4, remedy))?;
        }
    }
    Ok(())
}

/// Describes the subject of a finding and its state in a few words.
fn example(finding: &Finding, env: &Env) -> String {
    let named = |(agent, id): &(AgentKind, String)| {
        format!(
            "{agent} {}  {}",
            short_among(id, []),
            finding.title.as_deref().map(|title| text::truncated(title, env.terminal.room(40))).unwrap_or_default()
        )
    };
    let subject = match (&finding.subject, finding.sessions.as_slice(), finding.paths.as_slice()) {
        (Some(subject), ..) => subject.clone(),
        (None, [session], _) => named(session),
        (None, _, [path, ..]) => env.tilde(path),
        (None, [session, ..], []) => named(session),
        (None, [], []) => finding.evidence.clone(),
    };
    // For a directory, the subject is enough.
    let measured =
        if matches!(finding.code, Code::MissingDirectory | Code::LinkedDirectory) { "" } else { &finding.measured };
    text::one_line(&format!("{}{}{measured}", subject.trim_end(), if measured.is_empty() { "" } else { ": " }))
        .into_owned()
}

/// Writes a whole finding: its evidence, its paths, and every command.
fn finding_text(out: &mut impl Write, env: &Env, styles: &Styles, finding: &Finding) -> io::Result<()> {
    let faint = styles.faint;
    let evidence = text::one_line(&finding.evidence);
    writeln!(out, "  {evidence}")?;
    let unsaid = finding.paths.iter().filter(|path| !finding.evidence.contains(&*path.to_string_lossy()));
    let unsaid: Vec<_> = unsaid.collect();
    for path in unsaid.iter().take(MAX_PATHS) {
        writeln!(out, "      {faint}{}{faint:#}", text::one_line(&env.tilde(path)))?;
    }
    if unsaid.len() > MAX_PATHS {
        writeln!(out, "      {faint}and {} more{faint:#}", unsaid.len() - MAX_PATHS)?;
    }
    finding.remedies.iter().try_for_each(|remedy| remedy_text(out, env, styles, 6, remedy))
}

/// Writes a command, followed by its effect.
fn remedy_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    indent: usize,
    Remedy { command, effect }: &Remedy,
) -> io::Result<()> {
    let Styles { strong, faint, .. } = styles;
    // An escape inside quotes would name another path, so a command that cannot be printed is left out.
    let is_printable = *text::unbroken(command) == **command;
    let command = if is_printable {
        command.clone()
    } else {
        in_home("rejoin doctor --json", &env.invocation.elsewhere).into_owned()
    };
    let effect = if is_printable {
        effect.clone()
    } else {
        format!("prints the command ({effect}), whose path has control characters")
    };
    let effect = text::one_line(&effect).into_owned();
    writeln!(out, "{:indent$}{strong}{command}{strong:#}  {faint}{effect}{faint:#}", "")
}

fn summary(report: &DoctorReport<'_>, env: &Env) -> String {
    let counts = report.counts();
    let mut sessions = text::count(counts.sessions - report.unlisted, "session");
    if report.unlisted > 0 {
        sessions.push_str(&format!(" and {} that `list` shows with --all", report.unlisted));
    }
    let mut summary = if report.findings.is_empty() && report.sessions == 0 {
        "No sessions to check.".to_owned()
    } else if report.findings.is_empty() {
        format!("No problems found in {sessions}.")
    } else {
        let parts = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, one)| text::count(*count, one)).collect();
        format!("{} in {sessions}.", parts.join(", "))
    };
    if counts.repairable > 0 {
        // Only these are fixed, so the filters of this run stay.
        let command = again(env, &["--all-findings", "--strict", "--format="], &["--fix"]);
        let command = in_home(&command, &env.invocation.elsewhere);
        summary.push_str(&format!(" `{command}` fixes {} without losing anything.", counts.repairable));
    }
    if report.accepted > 0 {
        let findings = text::count(report.accepted, "accepted finding");
        let command = in_home("rejoin doctor --accepted", &env.invocation.elsewhere);
        summary.push_str(&format!(" {findings} not shown; `{command}` shows them."));
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

/// Every check, with its meaning.
pub(crate) struct Checks;

impl Answer for Checks {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("doctor-checks", ChecksJson { checks: ItemList::from_items(Code::ALL, CheckJson::from) })
    }

    fn is_list(&self) -> bool {
        true
    }

    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        let severities = |code: &Code| code.severities().iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
        let columns = vec![
            Column::new("", Fit::Whole, Code::ALL.iter().map(|code| code.name())).styled(styles.strong),
            Column::new("", Fit::Whole, Code::ALL.iter().map(severities)),
            Column::new("", Fit::Whole, Code::ALL.iter().map(|code| code.meaning())),
        ];
        grid::write_bare(out, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::code::Code;
    use crate::system::env::tests::fixed;

    #[test]
    fn many_codes_of_notes_take_few_lines() {
        let codes = [
            (Severity::Warning, Code::BadLines),
            (Severity::Note, Code::SlugCollision),
            (Severity::Note, Code::SessionInfoMissing),
            (Severity::Note, Code::EmptySession),
            (Severity::Note, Code::Unlisted),
            (Severity::Note, Code::LeftoverTemp),
            (Severity::Note, Code::LeftoverTemp),
            (Severity::Note, Code::GoneSession),
        ];
        let written = |count: usize| {
            let findings = codes[..count].iter().map(|(severity, code)| Finding::new(*code, *severity, String::new()));
            let (findings, mut out): (Vec<Finding>, _) = (findings.collect(), Vec::new());
            groups(&mut out, &fixed(), &Styles::default(), &findings, Detail::Letter).expect("a text");
            String::from_utf8(out).expect("text")
        };
        let all = written(codes.len());
        assert_eq!(all.lines().filter(|line| line.starts_with("note ")).count(), MAX_BRIEF, "{all}");
        let last = "note also leftover-temp (2 times) and gone-session (`rejoin doctor --all-findings`)\n";
        assert!(all.ends_with(last), "{all}");
        assert!(!written(codes.len() - 1).contains("also"), "five lines are few");
    }
}
