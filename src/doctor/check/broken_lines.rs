//! Checks the lines of transcripts: a last line that was cut off, and lines that are not records.

use std::path::Path;

use crate::agent;
use crate::agent::upkeep::{BadLine, HalfLine};
use crate::doctor::check::{Finding, Repair, name, selector};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::{LastLine, LineNumber, LineRepairs, TranscriptLines};
use crate::format::text::count;
use crate::session::{Liveness, Session};

/// Reports a last line without a newline, unless a running agent may still be writing it.
pub(super) fn torn(session: &Session, path: &Path, lines: &TranscriptLines) -> Option<Finding> {
    let agent = agent::by_kind(session.agent);
    let half_line = agent.map_or(HalfLine::PassedOver, |agent| agent.about().half_line);
    if session.copy().liveness != Liveness::Idle || (lines.has_nothing() && half_line != HalfLine::Failing) {
        return None;
    }
    let (effect, severity_of_nul) = match half_line {
        HalfLine::Failing => {
            (", but its agent fails on every session of this store while that line is there", Severity::Warning)
        }
        HalfLine::PassedOver | HalfLine::WrittenOn => ("", Severity::Note),
    };
    let (severity, evidence, measured) = match lines.last {
        LastLine::Ended => return None,
        LastLine::CutOff => {
            let evidence = format!(
                "The last line of the transcript of {} was cut off, so its last record is lost; everything before it is \
                 intact{effect}.",
                name(session)
            );
            (Severity::Warning, evidence, "half a record")
        }
        LastLine::Nul => (
            severity_of_nul,
            format!(
                "The transcript of {} ends in NUL bytes, as after a loss of power; every record before them is whole, and \
                 none is lost{effect}.",
                name(session)
            ),
            "NUL bytes after the last record",
        ),
        LastLine::WithoutNewline => (
            Severity::Note,
            format!(
                "The last record of the transcript of {} is complete but has no newline; some versions of an agent write \
                 the next record on the same line, and then both are lost.",
                name(session)
            ),
            "a record without a newline",
        ),
    };
    let finding = Finding::new(Code::TornTranscript, severity, evidence)
        .session(session)
        .path(path)
        .measured(measured, "a newline at the end");
    let needs_newline = agent.is_some_and(|agent| agent.about().needs_newline());
    let path = path.to_owned();
    Some(match (half_line, lines.last) {
        (_, LastLine::Nul) | (HalfLine::Failing, LastLine::CutOff) => finding.repaired_by(Repair::CutLine { path }),
        (HalfLine::PassedOver, LastLine::WithoutNewline) if needs_newline => {
            finding.repaired_by(Repair::EndLine { path })
        }
        (HalfLine::PassedOver, _) => finding.resumed(session),
        (HalfLine::Failing | HalfLine::WrittenOn, _) => finding.repaired_by(Repair::EndLine { path }),
    })
}

/// Reports lines that are not records.
pub(super) fn bad_lines(session: &Session, path: &Path, lines: &TranscriptLines) -> Option<Finding> {
    if lines.has_nothing() && session.copy().liveness == Liveness::Idle {
        let evidence = format!(
            "No line of the transcript of {} is a record, so its agent may find no conversation.",
            name(session)
        );
        let finding = Finding::new(Code::BadLines, Severity::Warning, evidence).session(session).path(path);
        return Some(finding.measured("no line is a record", "one record per line"));
    }
    if lines.bad_count == 0 {
        return None;
    }
    let (lines_are, record) =
        if lines.bad_count == 1 { ("line", "is not a record") } else { ("lines", "are not records") };
    let measured = format!("{lines_are} {} {record}", numbers(&lines.bad, lines.bad_count));
    let bad_line = agent::by_kind(session.agent).map_or(BadLine::Unknown, |agent| agent.about().bad_line);
    let effect = match bad_line {
        BadLine::Skipped => "Its agent skips such lines.",
        BadLine::Unknown => "What its agent does with such lines was not measured.",
        BadLine::Ending => "At the next resume, its agent drops the first such line and everything after it.",
        BadLine::Failing => "Its agent fails on every session of this store while there is such a line.",
    };
    let mut evidence = format!("In the transcript of {}, {measured}. {effect}", name(session));
    let LineRepairs { edits, glued, divided, removed } = &lines.repairs;
    for (number, noun, repair) in [
        (*glued, "whole record", "on a line with other bytes can be moved to a separate line"),
        (*divided, "record", "divided into several lines can be joined"),
        (*removed, "line", "with half of a record can be removed"),
    ] {
        if number > 0 {
            evidence.push_str(&format!(" {} {repair}.", count(number, noun)));
        }
    }
    let finding = Finding::new(Code::BadLines, Severity::Warning, evidence)
        .session(session)
        .path(path)
        .measured(measured, "one record per line");
    let is_repaired = !edits.is_empty() && session.copy().liveness == Liveness::Idle;
    Some(if is_repaired {
        finding.repaired_by(Repair::EditLines { path: path.to_owned() })
    } else {
        finding.remedy(format!("rejoin show {} --transcript", selector(session)), "shows every record that can be read")
    })
}

fn numbers(lines: &[LineNumber], count: u64) -> String {
    let number = |number: &LineNumber| match number {
        LineNumber::FromStart(number) => number.to_string(),
        LineNumber::FromEnd(number) => format!("{number} from the end"),
    };
    let known = lines.iter().map(number).collect::<Vec<_>>().join(", ");
    let more = if count > lines.len() as u64 { ", …" } else { "" };
    format!("{known}{more}")
}
