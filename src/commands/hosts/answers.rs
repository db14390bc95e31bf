//! What each host answers to a command whose answers are not merged: one after the other, each under its name.

use std::io::Write as _;

use serde_json::value::RawValue;

use crate::cli::Format;
use crate::commands::hosts::{Asking, conclude};
use crate::error::Exit;
use crate::fleet::rows::{Report, Rows};
use crate::fleet::{self, Answering, FORM, of_others};
use crate::view::render::hosts as render;
use crate::view::render::hosts::{Answers, HostAnswer};
use crate::view::ui::Ui;

/// Prints what each host prints: under its name for people, and with its name before each line in a pipe, unless the answer
/// is a file's.
pub(super) fn text(is_file: bool, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = of_others(&asking.env.words, &[], &[]);
    let mut statuses = Vec::new();
    let mut reports = Vec::new();
    let answering = fleet::ask(&asking.hosts, &words, asking.manner, asking.env)?;
    let is_one = answering.len() == 1;
    for mut answering in answering {
        let host = answering.host.name.clone();
        let mut is_first = !is_one && asking.env.stdout_is_terminal;
        while let Some(line) = answering.next() {
            if std::mem::take(&mut is_first) {
                render::head(ui, &host, reports.len())?;
            }
            match asking.env.stdout_is_terminal || is_file {
                true => writeln!(ui.data(), "{line}")?,
                false => writeln!(ui.data(), "{host}\t{line}")?,
            }
        }
        ui.flush()?;
        let ended = answering.end();
        let status = ended.status.and_then(|status| u8::try_from(status).ok());
        ui.relay(&host, &ended.said);
        statuses.extend(status.filter(|_| ended.fault.is_none()));
        reports.push(Report { host, status, fault: ended.fault, ..Report::default() });
    }
    let exit = conclude(&reports, Format::Table, ui);
    Ok(together(&statuses, exit))
}

/// Prints the objects that the hosts answer with.
pub(super) fn json(format: Format, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = of_others(&asking.env.words, FORM, &["--json".to_owned()]);
    let answering = fleet::ask(&asking.hosts, &words, asking.manner, asking.env)?;
    let answers: Vec<HostAnswer> = answering.into_iter().map(answer).collect();
    let statuses: Vec<u8> = answers.iter().filter(|it| it.fault.is_none()).filter_map(|it| it.status).collect();
    let has_fault = answers.iter().any(|answer| answer.fault.is_some());
    ui.answer(format, asking.env, &Answers(answers))?;
    Ok(together(&statuses, if has_fault { Exit::Partial } else { Exit::Ok }))
}

fn answer(mut answering: Answering) -> HostAnswer {
    let host = answering.host.name.clone();
    let answer = answering.next();
    let ended = answering.end();
    let status = ended.status.and_then(|status| u8::try_from(status).ok());
    // What a refusal says is on standard error, and an object too.
    let object = |line: &str| RawValue::from_string(line.to_owned()).ok().filter(|value| value.get().starts_with('{'));
    let answer = answer.as_deref().and_then(object).or_else(|| ended.said.lines().rev().find_map(object));
    let fault = ended.fault.or_else(|| answer.is_none().then(|| Rows::last_of(&ended.said)));
    HostAnswer { host, status, fault, answer }
}

/// Returns how a run ends in which hosts ended so: as all of them did, or partly done. A session that one host does not have
/// may be on another.
fn together(statuses: &[u8], exit: Exit) -> Exit {
    let not_found = Exit::NotFound.code();
    let told: Vec<u8> = if statuses.iter().all(|status| *status == not_found) {
        statuses.to_vec()
    } else {
        statuses.iter().copied().filter(|status| *status != not_found).collect()
    };
    let worst = told.iter().copied().find(|status| *status != 0);
    match (exit, worst) {
        (Exit::Ok, None) => Exit::Ok,
        (Exit::Ok, Some(status)) if told.iter().all(|it| *it == status || *it == 0) => Exit::Agent(status),
        _ => Exit::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_end_alike_end_the_run_so_and_a_session_need_be_on_one_only() {
        let code = |statuses: &[u8]| together(statuses, Exit::Ok).code();
        assert_eq!(code(&[0, 0]), 0);
        assert_eq!(code(&[5, 5]), 5);
        assert_eq!(code(&[5, 0]), 0);
        assert_eq!(code(&[4, 0]), 4);
        assert_eq!(code(&[4, 7]), 3);
        assert_eq!(together(&[0], Exit::Partial).code(), 3);
    }
}
