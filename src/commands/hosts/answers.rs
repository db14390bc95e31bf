//! Prints the answers of hosts to a command whose answers are not merged: one after the other, each under its name.

use std::io::Write as _;

use serde_json::value::RawValue;

use crate::cli::Format;
use crate::commands::hosts::{Asking, conclude};
use crate::error::Exit;
use crate::fleet::rows::{HostReport, HostRows, fault_of};
use crate::fleet::{self, Answering, FORM, NO_ANSWER, of_others};
use crate::view::render::hosts as render;
use crate::view::render::hosts::HostAnswer;
use crate::view::ui::Ui;

/// Maximum bytes of an object that a host may answer: a whole conversation is one.
const MOST_OBJECT: usize = 64 * 1024 * 1024;

/// Prints the output of each host: under its name for users, and with its name before each line in a pipe, unless the
/// answer is that of a file. The user at this terminal answers a question of a single host, and sees it at once.
pub(super) fn text(is_file: bool, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = of_others(&asking.env.invocation.words, &[], &[]);
    let mut statuses = Vec::new();
    let mut reports = Vec::new();
    let answering = fleet::ask_hosts(&asking.hosts, &words, asking.manner, asking.env)?;
    let is_one = answering.len() == 1;
    let is_named = !asking.env.terminal.stdout && !is_file;
    for mut answering in answering {
        let host = answering.host.name.clone();
        let mut is_first = !is_one && asking.env.terminal.stdout;
        let mut is_inside_line = false;
        while let Some(text) = answering.text() {
            for part in text.split_inclusive('\n') {
                if std::mem::take(&mut is_first) {
                    render::head(ui, &host, reports.len())?;
                }
                if is_named && !is_inside_line {
                    write!(ui.data(), "{host}\t")?;
                }
                write!(ui.data(), "{part}")?;
                is_inside_line = !part.ends_with('\n');
            }
            ui.flush()?;
        }
        if is_inside_line {
            writeln!(ui.data())?;
        }
        ui.flush()?;
        let ended = answering.end();
        let status = ended.status;
        ui.relay(&host, &ended.stderr);
        statuses.extend(status.filter(|_| ended.fault.is_none()));
        reports.push(HostReport { host, status, fault: ended.fault, ..HostReport::default() });
    }
    let exit = conclude(&reports, Format::Table, ui);
    Ok(together(&statuses, exit))
}

/// Prints the objects that the hosts answer with, one in memory at a time.
pub(super) fn json(format: Format, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = of_others(&asking.env.invocation.words, FORM, &["--json".to_owned()]);
    let answering = fleet::ask_hosts(&asking.hosts, &words, asking.manner, asking.env)?;
    let mut statuses = Vec::new();
    let mut reports = Vec::new();
    let answers = answering.into_iter().map(|answering| {
        let answer = answer(answering);
        let HostAnswer { host, status, fault, .. } = &answer;
        statuses.extend(status.filter(|_| fault.is_none()));
        reports.push(HostReport { host: host.clone(), status: *status, fault: fault.clone(), ..HostReport::default() });
        answer
    });
    render::write_answers(ui.data(), format, answers)?;
    ui.flush()?;
    let exit = conclude(&reports, format, ui);
    Ok(together(&statuses, exit))
}

/// Reads the object that a host answers with.
pub(super) fn answer(mut answering: Answering) -> HostAnswer {
    let host = answering.host.name.clone();
    let line = answering.line(MOST_OBJECT);
    let ended = answering.end();
    // The text of a refusal is on standard error, and is an object, too.
    let object = |line: String| RawValue::from_string(line).ok().filter(|value| value.get().starts_with('{'));
    let is_answered = line.is_some();
    let of_refusal = || ended.stderr.lines().rev().find_map(|line| object(line.to_owned()));
    let answer = line.and_then(object).or_else(of_refusal);
    let fault = ended.fault.or_else(|| match &answer {
        Some(answer) => fault_of(answer.get(), None),
        None if is_answered => Some(NO_ANSWER.to_owned()),
        None => Some(HostRows::last_of(&ended.stderr)),
    });
    let answer = answer.filter(|_| fault.is_none());
    HostAnswer { host, status: ended.status.filter(|_| fault.is_none()), fault, answer }
}

/// Combines the exit statuses of hosts: the common one, or partial success. A session that is missing on one host may
/// be on another.
fn together(statuses: &[u8], exit: Exit) -> Exit {
    let not_found = Exit::NotFound.code();
    let answered: Vec<u8> = if statuses.iter().all(|status| *status == not_found) {
        statuses.to_vec()
    } else {
        statuses.iter().copied().filter(|status| *status != not_found).collect()
    };
    let worst = answered.iter().copied().find(|status| *status != 0);
    match (exit, worst) {
        (Exit::Ok, None) => Exit::Ok,
        (Exit::Ok, Some(status)) if answered.iter().all(|it| *it == status || *it == 0) => Exit::Agent(status),
        _ => Exit::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_status_of_hosts_is_common_or_partial() {
        let code = |statuses: &[u8]| together(statuses, Exit::Ok).code();
        assert_eq!(code(&[0, 0]), 0);
        assert_eq!(code(&[5, 5]), 5);
        assert_eq!(code(&[5, 0]), 0);
        assert_eq!(code(&[4, 0]), 4);
        assert_eq!(code(&[4, 7]), 3);
        assert_eq!(together(&[0], Exit::Partial).code(), 3);
    }
}
