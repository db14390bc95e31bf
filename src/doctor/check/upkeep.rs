//! Checks for upcoming deletion by the agent, unreadable files, and interrupted runs.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use jiff::tz::TimeZone;

use crate::agent;
use crate::agent::upkeep::{OrphanKind, Retention};
use crate::doctor::check::{Finding, selector, word};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::{InterruptedRun, OldOutput, Survey};
use crate::format::sqlite::DAMAGED;
use crate::format::text::{self, count};
use crate::session::{AgentKind, Liveness, Problem, Session, Store};

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = expiries(survey);
    // Files without a session are reported as orphans.
    let debris = survey.orphans.iter().filter(|orphan| orphan.kind == OrphanKind::Debris);
    let debris: HashSet<&Path> = debris.map(|orphan| orphan.path.as_path()).collect();
    let problems = survey.scan.problems.iter().filter(|problem| !debris.contains(problem.path.as_path()));
    findings.extend(problems.map(|problem| unreadable(problem, survey)));
    findings.extend(survey.interrupted.iter().map(interrupted));
    findings.extend(survey.outputs.iter().map(|output| large_output(output, survey)));
    findings
}

/// Reports output that fills a disk. It is not removed: its session may be in a store that this environment does not
/// select.
fn large_output(output: &OldOutput, survey: &Survey) -> Finding {
    let OldOutput { session: (agent, id), dir, size_bytes, modified_at } = output;
    let (size, day) = (text::size(*size_bytes), modified_at.to_zoned(TimeZone::UTC).date());
    let session = survey.session(*agent, id);
    let (subject, whose) = match session {
        Some(_) => ("the session", String::new()),
        None => ("a session", ", and no session of that id is read here".to_owned()),
    };
    let evidence = format!(
        "Background tasks of {subject} {agent} {id} left {size} of output in {}; none of it changed since {day}{whose}.",
        dir.display()
    );
    let finding = Finding::new(Code::LargeOutput, Severity::Note, evidence).path(dir).measured(size, "less than 1 GiB");
    let finding = match session {
        Some(session) => finding.session(session),
        None => finding.id(*agent, id),
    };
    let finding = finding.remedy(format!("du -ah {}", word(dir)), "shows the size of each file");
    let is_idle = session.is_none_or(|session| session.copies.iter().all(|copy| copy.liveness == Liveness::Idle));
    if !is_idle {
        return finding;
    }
    finding.remedy(format!("rm -r {}", word(dir)), "deletes the output permanently; the conversation stays")
}

/// Reports the sessions that their agent will delete soon and that the archive lacks, grouped by store and day.
fn expiries(survey: &Survey) -> Vec<Finding> {
    let mut by_day: BTreeMap<_, Vec<&Session>> = BTreeMap::new();
    for session in &survey.scan.sessions {
        let Some(at) =
            survey.expiry(session).filter(|_| !survey.archived.contains(&session.key()) && survey.is_named(session))
        else {
            continue;
        };
        // The agent deletes overdue sessions at its next start, regardless of their day.
        let day = (at > survey.now).then(|| at.to_zoned(TimeZone::UTC).date());
        by_day.entry((session.copy().place.store.root.as_path(), day)).or_default().push(session);
    }
    let found = by_day.into_iter();
    found
        .filter_map(|((root, day), sessions)| {
            let (agent, retention) = survey.retentions.get(root)?;
            let which = if survey.named.is_empty() {
                format!("--expiring {}", (survey.expires_within.as_hours() + 23) / 24)
            } else {
                sessions.iter().map(|session| selector(session)).collect::<Vec<_>>().join(" ")
            };
            Some(expiry_finding(*agent, retention, day.map(|day| day.to_string()), &sessions, &which))
        })
        .collect()
}

fn expiry_finding(
    agent: AgentKind,
    retention: &Retention,
    day: Option<String>,
    sessions: &[&Session],
    which: &str,
) -> Finding {
    let days = retention.period.as_hours() / 24;
    let (file, key) = &retention.setting;
    let since = if retention.is_by_record { "since its last record" } else { "since its file was last changed" };
    let setting =
        if retention.is_set { format!("{key} in {}", file.display()) } else { format!("its default for {key}") };
    let when = match (&day, &retention.only_in) {
        (Some(day), None) => format!("when it starts on {day} or later"),
        (Some(day), Some(dir)) => format!("when it is started in {} on {day} or later", dir.display()),
        (None, _) => retention.next_start(),
    };
    let sessions_in_words = count(sessions.len(), "session");
    let evidence = match &retention.refused {
        Some(value) => format!(
            "{agent} may delete {sessions_in_words} {when}: {key} in {} is {value}, which is not a whole number of days. \
             Some versions then keep nothing, others ignore the value or the whole file. Set it to the number of days that \
             sessions are to be kept.",
            file.display()
        ),
        None => format!(
            "{agent} deletes {sessions_in_words} {when}: it keeps a session for {days} days {since} ({setting}). To keep them \
             longer, set {key} in {}.",
            file.display()
        ),
    };
    // A store that the agent does not use by default is a backup, or rarely swept.
    let is_default = sessions.iter().any(|session| session.copy().place.store.is_default);
    let severity = if is_default { Severity::Warning } else { Severity::Note };
    let measured = match (&retention.refused, day) {
        (Some(value), _) => format!("{key} is {value}"),
        (None, Some(day)) => format!("deleted from {day} on"),
        (None, None) => "deleted when the agent next starts".to_owned(),
    };
    let finding = Finding::new(Code::ExpiresSoon, severity, evidence)
        .measured(measured, "kept")
        .subject(format!("{} of {agent}", count(sessions.len(), "session")))
        .remedy(format!("rejoin archive {which}"), "copies them to the archive, out of its reach");
    sessions.iter().fold(finding, |finding, session| finding.session(session).path(&session.copy().place.path))
}

fn unreadable(problem: &Problem, survey: &Survey) -> Finding {
    let Problem { path, reason } = problem;
    let evidence = format!("{} cannot be read: {reason}.", path.display());
    let finding = Finding::new(Code::Unreadable, Severity::Error, evidence)
        .path(path)
        .measured(reason.clone(), "a file or directory that can be read");
    let mut stores = survey.stores.iter().filter(|store| is_in(path, &store.root));
    if reason.starts_with(DAMAGED) {
        return damaged(finding, path, stores.next());
    }
    let finding = finding.remedy(format!("ls -ld {}", word(path)), "shows whose it is and who may read it");
    stores.fold(finding, |finding, store| {
        let finding = finding.agent(store.agent);
        rebuild_command(path, store)
            .into_iter()
            .fold(finding, |finding, (command, effect)| finding.remedy(command, effect))
    })
}

/// Returns the command that makes an agent rebuild its list of sessions, if the path is that list, and its effect.
fn rebuild_command(path: &Path, store: &Store) -> Option<(String, String)> {
    let is_list = path.extension().is_some_and(|extension| extension == "sqlite");
    let command = (agent::about(store.agent).list_anew)(&store.root).filter(|_| is_list)?;
    Some((command, format!("rebuilds {0}'s list of sessions; quit {0} first", store.agent)))
}

/// Adds the commands that save what can be read of a damaged database.
fn damaged(finding: Finding, path: &Path, store: Option<&Store>) -> Finding {
    let owner = store.map_or_else(|| "its program".to_owned(), |store| store.agent.to_string());
    let finding = store.into_iter().fold(finding, |finding, store| finding.agent(store.agent));
    let finding = match store.map(|store| (store, rebuild_command(path, store))) {
        Some((_, Some((command, effect)))) => finding.remedy(command, effect),
        Some((store, None)) => finding.remedy(
            format!("rejoin export --every --agent {0} --output {0}-sessions", store.agent),
            "writes the sessions that can be read whole to a new directory",
        ),
        None => finding,
    };
    let (damaged, new) = (word(path), word(&path.with_added_extension("recovered")));
    finding
        .remedy(
            format!("sqlite3 {damaged} .recover | sqlite3 {new}"),
            format!("writes what is left to a new database; quit {owner} first"),
        )
        .remedy(
            // A dump with errors ends with a rollback.
            format!("sqlite3 {damaged} .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 {new}"),
            "writes less, but also with an sqlite3 that lacks .recover, as on Debian 12",
        )
}

fn is_in(path: &Path, root: &Path) -> bool {
    path.starts_with(root)
}

fn interrupted(run: &InterruptedRun) -> Finding {
    let InterruptedRun { run: id, verb, started_at, steps: (done, all), journal } = run;
    let evidence = format!(
        "`rejoin {verb}`, started at {started_at}, was interrupted after {done} of {all} steps. Undo these steps, or run \
         it again to do the rest."
    );
    Finding::new(Code::InterruptedRun, Severity::Error, evidence)
        .path(journal)
        .measured(format!("{done} of {all} steps"), "all or none")
        .subject(id)
        .remedy(format!("rejoin undo {id}"), "undoes what it did")
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::doctor::check::tests::survey;
    use crate::session::tests::{copy, session};

    /// Sessions whose files were modified at these times, in a store that keeps them for ten days.
    fn found(times: &[&str], within_days: i64) -> Vec<(String, usize)> {
        let one = |(number, time): (usize, &&str)| {
            let mut copy = copy(&number.to_string());
            copy.modified_at = Some(time.parse().expect("a time"));
            session(vec![copy])
        };
        let mut survey = survey(times.iter().enumerate().map(one).collect());
        let setting = ("/s/settings.json".into(), "keepDays");
        let retention = Retention { is_set: true, ..Retention::new(SignedDuration::from_hours(240), setting) };
        survey.retentions.insert("/s".into(), (AgentKind::Claude, retention));
        survey.expires_within = SignedDuration::from_hours(24 * within_days);
        expiries(&survey).into_iter().map(|finding| (finding.measured, finding.sessions.len())).collect()
    }

    #[test]
    fn doctor_quotes_commands_for_damaged_database() {
        let mut survey = survey(Vec::new());
        survey.stores.push(Store::usual(AgentKind::Goose, "/s/a b"));
        let problem = |reason: &str| Problem { path: "/s/a b/x.db".into(), reason: reason.to_owned() };
        let commands = |problem: &Problem| {
            unreadable(problem, &survey).remedies.into_iter().map(|remedy| remedy.command).collect::<Vec<_>>()
        };
        let expected = [
            "rejoin export --every --agent goose --output goose-sessions",
            "sqlite3 '/s/a b/x.db' .recover | sqlite3 '/s/a b/x.db.recovered'",
            "sqlite3 '/s/a b/x.db' .dump | sed 's/^ROLLBACK;.*/COMMIT;/' | sqlite3 '/s/a b/x.db.recovered'",
        ];
        assert_eq!(commands(&problem("it is damaged: database disk image is malformed")), expected);
        assert_eq!(commands(&problem("permission denied")), ["ls -ld '/s/a b/x.db'"]);
    }

    #[test]
    fn doctor_groups_expiries_by_day() {
        let times = ["2026-02-19T01:00:00Z", "2026-02-10T00:00:00Z", "2026-02-19T23:00:00Z", "2026-02-21T00:00:00Z"];
        let expected = [
            ("deleted when the agent next starts".to_owned(), 1),
            ("deleted from 2026-03-01 on".to_owned(), 1),
            ("deleted from 2026-03-03 on".to_owned(), 1),
        ];
        // The first session was due this morning.
        assert_eq!(found(&times, 7), [(expected[0].0.clone(), 2), expected[1].clone(), expected[2].clone()]);
        assert_eq!(found(&times, 1), [(expected[0].0.clone(), 2), expected[1].clone()]);
        assert_eq!(found(&["2026-02-28T00:00:00Z"], 7), []);
    }
}
