//! Checks the contents of sessions: empty ones, other branches, and sessions that their agent refuses to load.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent;
use crate::doctor::check::{Finding, Repair, broken_lines, name, selector, size};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::Survey;
use crate::format::text::{self, count};
use crate::scan::off_branch::OffBranch;
use crate::session::stuck::Stuck;
use crate::session::{AgentKind, CLOCK_SKEW, Health, Liveness, Session, SessionKind};

/// Maximum line numbers to report.
const MOST_LINES: usize = 20;
/// Maximum characters of an error that are quoted.
const MOST_OF_ERROR: usize = 200;

/// The reasons why agents refuse to load a session, with the expected state.
const REFUSED: [(Health, Code, &str); 5] = [
    (Health::SignatureInvalid, Code::SignatureInvalid, "a signature that matches the content and this machine"),
    (Health::UnsupportedVersion, Code::UnsupportedVersion, "a version that this machine's agent knows"),
    (Health::MissingFields, Code::MissingFields, "every field that the agent requires"),
    (Health::Oversize, Code::Oversize, "a size that the agent loads"),
    (Health::InvalidContent, Code::InvalidContent, "content in the agent's format"),
];

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, session) in survey.scan.sessions.iter().enumerate() {
        findings.extend(empty(session));
        findings.extend(survey.large.contains(&at).then(|| size::large(session)));
        findings.extend(unknown_format(session));
        findings.extend(refused(session));
        findings.extend(unsigned(session));
        findings.extend(archive_mismatch(session));
        findings.extend(planted(session));
        findings.extend(future(session, survey));
        findings.extend(survey.stuck.get(&at).map(|stuck| stuck_session(session, stuck)));
        if let Some(off_branch) = survey.off_branch.get(&at) {
            findings.extend(broken_chain(session, off_branch));
            findings.extend(other_branches(session, off_branch));
        }
        for (path, lines) in survey.lines.get(&at).into_iter().flatten() {
            findings.extend(broken_lines::torn(session, path, lines));
            findings.extend(broken_lines::bad_lines(session, path, lines));
        }
    }
    findings.extend(unlisted(survey));
    findings.extend(obstructed(survey));
    findings
}

/// Reports the sessions that their agents cannot open: one finding per cause, and one per session that `doctor --fix`
/// can repair.
fn obstructed(survey: &Survey) -> Vec<Finding> {
    let mut by_cause: BTreeMap<(AgentKind, &Path, &str), Vec<&Session>> = BTreeMap::new();
    let mut findings = Vec::new();
    for session in &survey.scan.sessions {
        let copy = session.copy();
        let Some(obstacle) = &copy.obstacle else { continue };
        if obstacle.is_mendable && copy.liveness == Liveness::Idle {
            let evidence = format!("{} cannot be opened: {}.", name(session), obstacle.why);
            let finding = Finding::about(session, Code::CannotOpen, Severity::Error, evidence)
                .measured(&obstacle.why, "a session that its agent opens")
                .repaired_by(Repair::Mend { path: copy.place.path.to_path_buf() });
            findings.push(with_export_remedy(finding, session));
        } else {
            by_cause.entry((session.agent, &copy.place.store.root, &obstacle.why)).or_default().push(session);
        }
    }
    let of_cause = |((agent, _, why), sessions): ((AgentKind, &Path, &str), Vec<&Session>)| {
        let evidence = match sessions.as_slice() {
            [session] => format!("{} cannot be opened: {why}.", name(session)),
            _ => format!("{} of {agent} cannot be opened: {why}.", count(sessions.len(), "session")),
        };
        let finding =
            sessions.iter().fold(Finding::new(Code::CannotOpen, Severity::Error, evidence), |finding, session| {
                finding.session(session).path(&session.copy().place.path)
            });
        let finding = finding.measured(why, "sessions that their agent opens");
        sessions.first().map_or(finding.clone(), |session| with_export_remedy(finding, session))
    };
    findings.extend(by_cause.into_iter().map(of_cause));
    findings
}

/// Adds the command that exports a conversation that its agent cannot open.
fn with_export_remedy(finding: Finding, session: &Session) -> Finding {
    let Some(obstacle) = &session.copy().obstacle else { return finding };
    let finding = if obstacle.is_size { size::slimmed(finding, session) } else { finding };
    finding.remedy(obstacle.export(&selector(session)), "keeps the conversation")
}

fn empty(session: &Session) -> Option<Finding> {
    let copy = session.copy();
    let is_busy = copy.liveness != Liveness::Idle;
    if copy.kind == SessionKind::Subagent || !copy.health.contains(Health::EmptySession) || is_busy {
        return None;
    }
    let what = match copy.transcript_bytes {
        0 if copy.size_bytes == 0 => "zero bytes",
        0 => "no transcript",
        _ if copy.title.is_some() => "a title and no conversation",
        _ => "no conversation",
    };
    let evidence = format!("{} has neither a prompt nor a reply: {what}.", name(session));
    let finding =
        Finding::about(session, Code::EmptySession, Severity::Note, evidence).measured(what, "a prompt or a reply");
    let selector = selector(session);
    // Only its agent can remove a row of its database.
    let agent = agent::by_kind(session.agent);
    let managed = || session.copies.iter().filter_map(|copy| agent?.agent_managed(&copy.place));
    let title = agent::about(session.agent).title;
    Some(if managed().next().is_none() {
        finding
            .remedy(format!("rejoin delete {selector}"), "moves it to the trash")
            .remedy("rejoin cleanup --empty --any-age", "moves every empty session to the trash")
    } else if managed().all(|managed| managed.removes_unasked) {
        finding
            .remedy(format!("rejoin delete {selector} --via-agent"), format!("archives it, and lets {title} remove it"))
            .remedy("rejoin cleanup --empty --any-age --via-agent", "removes every empty session")
    } else {
        finding.remedy(format!("rejoin show {selector}"), "shows what is known about it")
    })
}

fn unknown_format(session: &Session) -> Option<Finding> {
    let copy = session.copy();
    if !copy.health.contains(Health::UnknownFormat) {
        return None;
    }
    let seen = copy.notes.first().map_or_else(|| Health::UnknownFormat.meaning().to_owned(), Clone::clone);
    let evidence = format!(
        "{} may hold a conversation that rejoin cannot read: {seen}. Its agent may be newer than this rejoin. No cleanup \
         takes the session unless it is asked to.",
        name(session)
    );
    let finding = Finding::about(session, Code::UnknownFormat, Severity::Warning, evidence)
        .measured(seen, "records that rejoin understands");
    Some(finding.remedy(format!("rejoin show {}", selector(session)), "shows what is known about it"))
}

fn refused(session: &Session) -> Vec<Finding> {
    let copy = session.copy();
    let own = REFUSED.iter().filter(|(health, ..)| copy.health.contains(*health));
    own.map(|(health, code, expected)| {
        // Quote a message of the agent first, if there is one.
        let detail = match health {
            Health::SignatureInvalid => copy.notes.last(),
            _ => copy.notes.first(),
        };
        let detail = detail.map_or_else(|| health.meaning().to_owned(), Clone::clone);
        let evidence = format!("{} cannot be loaded: {detail}.", name(session));
        let measured = match health {
            Health::Oversize => format!("{} bytes", copy.size_bytes),
            _ => health.code().replace('-', " "),
        };
        let finding = Finding::about(session, *code, Severity::Error, evidence).measured(measured, *expected);
        match health {
            // The transcript can be read, but not loaded.
            Health::SignatureInvalid => {
                finding.remedy(format!("rejoin show {} --transcript", selector(session)), "shows what was said in it")
            }
            _ => finding.remedy(format!("rejoin show {}", selector(session)), "shows what its agent rejects"),
        }
    })
    .collect()
}

/// Reports each store whose agent's own list names other files, with all sessions that the agent does not find; and
/// each session that needs a separate command.
fn unlisted(survey: &Survey) -> Vec<Finding> {
    let mut by_store: BTreeMap<(AgentKind, &Path), Vec<&Session>> = BTreeMap::new();
    let mut findings = Vec::new();
    for session in &survey.scan.sessions {
        let copy = session.copy();
        if !copy.health.contains(Health::Unlisted) {
            continue;
        }
        if let Some((command, effect)) = agent::by_kind(session.agent).and_then(|agent| agent.help_unlisted(copy)) {
            let evidence = format!("{}: {}.", name(session), copy.notes.join("; "));
            let finding = Finding::about(session, Code::Unlisted, Severity::Warning, evidence);
            let expected = "a session that its agent finds as a whole";
            findings.push(finding.measured("not found, or in part", expected).remedy(command, effect));
        } else {
            by_store.entry((session.agent, &session.copy().place.store.root)).or_default().push(session);
        }
    }
    let finding = |((agent, root), sessions): ((AgentKind, &Path), Vec<&Session>)| {
        let evidence = format!(
            "{agent} does not find {} of {}: its own list names other files for them, as after the store was moved, and \
             it looks nowhere else.",
            count(sessions.len(), "session"),
            root.display()
        );
        // A copy of another home has more serious problems.
        let is_at_home = sessions.iter().any(|session| session.launch_dir_exists == Some(true));
        let severity = if is_at_home { Severity::Warning } else { Severity::Note };
        let finding = Finding::new(Code::Unlisted, severity, evidence)
            .path(root)
            .measured("a list that names other files", "a list that names these files, or none");
        let finding = sessions.iter().fold(finding, |finding, session| finding.session(session));
        match (agent::about(agent).list_anew)(root) {
            Some(command) => {
                finding.remedy(command, format!("rebuilds {agent}'s list of sessions; quit {agent} first"))
            }
            None => finding,
        }
    };
    findings.extend(by_store.into_iter().map(finding));
    findings
}

fn archive_mismatch(session: &Session) -> Option<Finding> {
    let copy = session.copy();
    if !copy.health.contains(Health::ArchiveMismatch) {
        return None;
    }
    let seen = copy.notes.iter().find(|note| note.starts_with("Codex's list says"));
    let seen = seen.map_or_else(|| Health::ArchiveMismatch.meaning().to_owned(), Clone::clone);
    let evidence = format!("{} may not be resumed as it is: {seen}.", name(session));
    let finding = Finding::about(session, Code::ArchiveMismatch, Severity::Warning, evidence)
        .measured(seen, "a list and a place that agree");
    Some(finding.remedy(format!("rejoin show {}", selector(session)), "shows what is known about it"))
}

fn planted(session: &Session) -> Option<Finding> {
    let copy = session.copy();
    if !copy.is_planted() {
        return None;
    }
    let evidence = format!(
        "{} has not registered the session in {}. It may have come with the directory, as part of a repository, so \
         anybody may have written it.",
        session.agent,
        copy.place.path.display()
    );
    let finding = Finding::about(session, Code::Planted, Severity::Warning, evidence);
    let finding = finding.measured("not registered", "registered by its agent");
    Some(finding.remedy(format!("rejoin show {} --transcript", selector(session)), "shows what was said in it"))
}

fn future(session: &Session, survey: &Survey) -> Option<Finding> {
    let copy = session.copy();
    let times = [&copy.created_at, &copy.active_at].into_iter().flatten();
    // The time of the file is not a time of a record.
    let newest = times.filter(|at| at.source != "mtime").map(|at| at.value).max();
    let newest = newest.filter(|newest| newest.duration_since(survey.now) > CLOCK_SKEW)?;
    let evidence = format!(
        "{} holds the time {newest}, which is still to come, so it comes after every other session.",
        name(session)
    );
    Some(
        Finding::about(session, Code::FutureTime, Severity::Warning, evidence)
            .measured(newest.to_string(), format!("at most {}", survey.now))
            .remedy(format!("rejoin show {}", selector(session)), "shows its times and where each was read"),
    )
}

fn unsigned(session: &Session) -> Option<Finding> {
    session.copy().health.contains(Health::Unsigned).then(|| {
        let evidence = format!(
            "{} has no signature, so a change to it goes unnoticed; {} loads it with a warning and signs it when it is \
             closed.",
            name(session),
            session.agent
        );
        Finding::about(session, Code::Unsigned, Severity::Note, evidence)
            .measured("no signature", "a signature")
            .resumed(session)
    })
}

/// Reports a stuck conversation.
fn stuck_session(session: &Session, stuck: &Stuck) -> Finding {
    let Stuck { errors, since, error, good, causes } = stuck;
    let since = since.map(|at| format!(" since {at}")).unwrap_or_default();
    let replies = if *errors == 1 { "reply".to_owned() } else { format!("{errors} replies") };
    let are = if *errors == 1 { "is an API error" } else { "are API errors" };
    let error = text::truncated(&text::one_line(error), MOST_OF_ERROR).into_owned();
    let good = good.at.map(|at| format!("The last good reply is of {at}. ")).unwrap_or_default();
    let found: Vec<String> =
        causes.iter().map(|found| format!("{} (line {})", found.cause.words(), found.line)).collect();
    let measured = std::iter::once(count(*errors, "API error")).chain(found.iter().cloned());
    let measured = measured.collect::<Vec<_>>().join("; ");
    let causes = match found.as_slice() {
        [] => String::new(),
        [cause] => format!(" Its transcript has a usual cause: {cause}."),
        causes => format!(" Its transcript has usual causes: {}.", causes.join("; ")),
    };
    let evidence = format!(
        "The last {replies} of {}{since} {are} that a retry does not fix: {error:?}. {good}A resume sends the \
         same conversation again, so it will most likely fail.{causes}",
        name(session)
    );
    let selector = selector(session);
    let finding =
        Finding::about(session, Code::StuckSession, Severity::Warning, evidence).measured(measured, "a reply");
    let can_rewind = agent::about(session.agent).rewind.is_some();
    let finding = if can_rewind {
        finding.remedy(format!("rejoin rewind {selector}"), "makes a new session up to the last good reply")
    } else {
        finding
    };
    finding.remedy(format!("rejoin export {selector} -o conversation.md"), "keeps the conversation for a new session")
}

/// Reports messages before records whose parents are missing.
fn broken_chain(session: &Session, off_branch: &OffBranch) -> Option<Finding> {
    let OffBranch { shown, cut_off, breaks, .. } = off_branch;
    if *cut_off == 0 {
        return None;
    }
    let known = breaks.iter().take(MOST_LINES).map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if breaks.len() > MOST_LINES { ", …" } else { "" };
    let records = match breaks.len() {
        1 => format!("the record in line {known} names a parent"),
        records => format!("{records} records (in lines {known}{more}) name parents"),
    };
    let total = shown + cut_off;
    let since = off_branch.cut_off_at.map(|(from, to)| format!(", from {from} to {to}")).unwrap_or_default();
    let evidence = format!(
        "A resume of {} sends {shown} of its {}, and not the {cut_off} before{since}: {records} that the file does not have.",
        name(session),
        count(total, "message")
    );
    let copy = session.copy();
    let agent = agent::by_kind(session.agent);
    let path = agent.and_then(|agent| agent.transcript(&copy.place));
    let finding = Finding::new(Code::BrokenChain, Severity::Warning, evidence)
        .session(session)
        .path(path.as_deref().unwrap_or(&copy.place.path))
        .measured(format!("{cut_off} of {total} messages cut off"), "one chain of records");
    let selector = selector(session);
    let is_repaired = copy.liveness == Liveness::Idle && agent.is_some_and(|agent| agent.about().parent_at.is_some());
    let finding = match path {
        Some(path) if is_repaired => finding.repaired_by(Repair::JoinChain { path }),
        _ => finding,
    };
    Some(finding.remedy(format!("rejoin show {selector} --all-branches"), "prints every message"))
}

/// Reports messages that the agent's resume does not show.
fn other_branches(session: &Session, off_branch: &OffBranch) -> Option<Finding> {
    if off_branch.messages == 0 {
        return None;
    }
    let messages = count(off_branch.messages, "message");
    let (are, branches) = match (off_branch.messages, off_branch.branches) {
        (1, _) => ("is", "another branch".to_owned()),
        (_, 1) => ("are", "another branch".to_owned()),
        (_, others) => ("are", format!("{others} other branches")),
    };
    let (severity, newest) =
        if off_branch.has_newest() { (Severity::Warning, ", the newest among them") } else { (Severity::Note, "") };
    let evidence = format!(
        "{messages} of {} {are} on {branches}{newest}, as after a rewind; its agent's resume does not show them.",
        name(session)
    );
    let selector = selector(session);
    // The parts before a missing parent come first.
    let newest_other = off_branch.parts + 2;
    let finding = Finding::about(session, Code::OtherBranches, severity, evidence)
        .measured(format!("{messages} on {branches}"), "one branch")
        .remedy(format!("rejoin show {selector} --branches"), "lists the branches")
        .remedy(format!("rejoin show {selector} --branch {newest_other}"), "prints the newest of the others");
    let can_rewind = agent::about(session.agent).rewind.is_some();
    Some(if can_rewind {
        finding.remedy(format!("rejoin rewind {selector} --branch {newest_other}"), "makes a new session of it")
    } else {
        finding
    })
}
