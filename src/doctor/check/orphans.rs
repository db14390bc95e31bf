//! Checks for orphans: files without a session, dangling pointers, stale records, temporary files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::SignedDuration;

use crate::agent;
use crate::agent::mentions::Mention;
use crate::agent::upkeep::{CwdRecord, Orphan, OrphanKind, Retention, WRITERS_TIME};
use crate::doctor::check::unread::restored;
use crate::doctor::check::{Finding, Repair, name, selector, word};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::Survey;
use crate::format::text::count;
use crate::session::{AgentKind, Liveness, Pointer, Session, SessionKind};

/// Maximum number of sessions that a finding names.
const MOST_NAMED: usize = 20;
/// An agent may create a directory long before it writes the transcript.
const STARTING_TIME: SignedDuration = SignedDuration::from_hours(24);

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    for orphan in &survey.orphans {
        findings.extend(match orphan.kind {
            OrphanKind::Belongings | OrphanKind::UnreadBelongings => belongings(orphan, survey),
            OrphanKind::Temporary | OrphanKind::Debris => temporary(orphan, survey),
            OrphanKind::Registration => Some(registration(orphan)),
        });
    }
    findings.extend(orphans(survey));
    let is_lost = |pointer: &&Pointer| pointer.session_id.as_deref().is_none_or(|id| !is_unread(survey, id));
    findings.extend(survey.scan.dangling.iter().filter(is_lost).map(dangling));
    findings.extend(pointers_elsewhere(survey));
    findings.extend(gone_sessions(survey));
    findings.extend(survey.cwd_records.iter().filter_map(|(record, exists)| cwd_record(record, *exists, survey)));
    findings
}

/// Returns whether a session with this id exists but could not be read, or has another name, so that its files are not
/// orphans.
fn is_unread(survey: &Survey, id: &str) -> bool {
    let is_of = |name: &std::ffi::OsStr| {
        name.to_str().is_some_and(|name| name == id || name.strip_suffix(".jsonl") == Some(id))
    };
    survey.scan.problems.iter().any(|problem| problem.path.iter().any(is_of))
        || survey.unread.parked.keys().any(|(_, parked)| parked == id)
}

fn trash(path: &Path, what: &'static str) -> Repair {
    Repair::Trash { paths: vec![path.to_owned()], what }
}

fn is_older(orphan: &Orphan, age: SignedDuration, survey: &Survey) -> bool {
    orphan.modified_at.is_some_and(|at| survey.now.duration_since(at) >= age)
}

fn belongings(orphan: &Orphan, survey: &Survey) -> Option<Finding> {
    if !is_older(orphan, STARTING_TIME, survey) {
        return None;
    }
    let id = orphan.session_id.as_deref().unwrap_or_default();
    let elsewhere = survey.session(orphan.agent, id);
    let parked = survey.unread.parked.get(&(orphan.agent, id.to_owned()));
    let namesake = parked.and_then(|parked| parked.logs.first()).map(|log| &log.path).or(orphan.namesakes.first());
    let (severity, why) = match (elsewhere, namesake) {
        (Some(session), _) => {
            (Severity::Note, format!("whose transcript is elsewhere: {}", session.copy().place.path.display()))
        }
        (None, Some(path)) => {
            (Severity::Warning, format!("whose transcript may be {}, which its agent does not read", path.display()))
        }
        (None, None) if is_unread(survey, id) => (Severity::Warning, "whose transcript cannot be read".to_owned()),
        (None, None) => (Severity::Warning, "whose transcript is gone".to_owned()),
    };
    let is_part_unread = orphan.kind == OrphanKind::UnreadBelongings;
    let contents = if is_part_unread { "A part of it cannot be read:" } else { "It holds" };
    let evidence = format!(
        "{} belonged to the {} session {id}, {why}. {contents} {}.",
        orphan.path.display(),
        orphan.agent,
        orphan.holds
    );
    let finding = Finding::new(Code::OrphanBelongings, severity, evidence)
        .id(orphan.agent, id)
        .path(&orphan.path)
        .measured("no transcript next to it", "a transcript next to it");
    let conversation = survey.scan.sessions.iter().find(|session| session.copy().place.path.starts_with(&orphan.path));
    Some(match (elsewhere, namesake, conversation) {
        (Some(session), ..) => {
            let copy = &session.copy().place.path;
            let into = copy.parent().unwrap_or(copy);
            finding.remedy(
                format!("mv -n {} {}", word(&orphan.path), word(&into.join(""))),
                "moves it next to the transcript",
            )
        }
        _ if is_part_unread => {
            finding.remedy(format!("ls -lR {}", word(&orphan.path)), "shows the part that cannot be read")
        }
        (None, Some(path), _) => match parked.and_then(restored) {
            Some((command, effect)) => finding.remedy(command, effect),
            None => finding.remedy(
                format!("ls -l {}", word(path)),
                format!("shows the file; if it is the transcript, {id}.jsonl is its name next to the directory"),
            ),
        },
        // The messages of a sub-agent may be the only remaining part of the session.
        (None, None, Some(subagent)) => finding
            .remedy(format!("rejoin show {} --transcript", selector(subagent)), "shows what a sub-agent said in it"),
        (None, None, None) if is_unread(survey, id) => {
            finding.remedy("rejoin doctor --check unreadable", "names the files that cannot be read")
        }
        (None, None, None) => finding.repaired_by(trash(&orphan.path, "files")),
    })
}

/// Finds sub-agents' sessions outside a session directory whose session is gone.
fn orphans(survey: &Survey) -> Vec<Finding> {
    let orphans: BTreeSet<&Path> = survey
        .orphans
        .iter()
        .filter(|orphan| matches!(orphan.kind, OrphanKind::Belongings | OrphanKind::UnreadBelongings))
        .map(|orphan| orphan.path.as_path())
        .collect();
    let mut by_parent: BTreeMap<(AgentKind, &str), Vec<&Session>> = BTreeMap::new();
    for session in survey.scan.sessions.iter().filter(|session| session.copy().kind == SessionKind::Subagent) {
        let copy = session.copy();
        let is_gone = |parent: &&str| survey.session(session.agent, parent).is_none() && !is_unread(survey, parent);
        let Some(parent) = copy.parent_id.as_deref().filter(is_gone) else { continue };
        // Sub-agents in a stray directory are reported with the directory.
        let is_covered = copy.place.path.ancestors().any(|dir| orphans.contains(dir));
        if !is_covered && copy.liveness == Liveness::Idle {
            by_parent.entry((session.agent, parent)).or_default().push(session);
        }
    }
    let finding = |((agent, parent), sessions): ((AgentKind, &str), Vec<&Session>)| {
        let evidence = format!(
            "The {agent} session {parent} is gone, but {} of it {} still there. Only `rejoin show` still leads there.",
            count(sessions.len(), "sub-agent"),
            if sessions.len() == 1 { "is" } else { "are" }
        );
        let finding = Finding::new(Code::OrphanBelongings, Severity::Note, evidence)
            .measured("no session of that id", "the session that made them")
            .remedy(format!("rejoin show {}", selector(sessions[0])), "shows the first of them");
        sessions.iter().fold(finding, |finding, session| finding.session(session).path(&session.copy().place.path))
    };
    by_parent.into_iter().map(finding).collect()
}

fn temporary(orphan: &Orphan, survey: &Survey) -> Option<Finding> {
    let session = orphan.session_id.as_deref().and_then(|id| survey.session(orphan.agent, id));
    let is_busy = session.is_some_and(|session| session.copies.iter().any(|copy| copy.liveness != Liveness::Idle));
    if is_busy || survey.held.contains(&orphan.path) || !is_older(orphan, WRITERS_TIME, survey) {
        return None;
    }
    let (is, what) = match orphan.kind {
        OrphanKind::Debris => ("was started as a session, and has no message", "an empty file"),
        _ => ("is a temporary file of a program that died before it finished", "a temporary file"),
    };
    let evidence = format!("{} ({}) {is}; no process has it open.", orphan.path.display(), orphan.holds);
    let finding = Finding::new(Code::LeftoverTemp, Severity::Note, evidence).agent(orphan.agent).path(&orphan.path);
    let finding = session.into_iter().fold(finding, Finding::session);
    Some(finding.measured(orphan.holds.clone(), "no file").repaired_by(trash(&orphan.path, what)))
}

fn registration(orphan: &Orphan) -> Finding {
    let evidence = format!("{} registers {}, so the session is not in use.", orphan.path.display(), orphan.holds);
    let finding = Finding::new(Code::LeftoverTemp, Severity::Note, evidence).agent(orphan.agent).path(&orphan.path);
    let finding = orphan.session_id.iter().fold(finding, |finding, id| finding.id(orphan.agent, id));
    finding.measured("no such process", "a process that runs").repaired_by(trash(&orphan.path, "a process record"))
}

fn dangling(pointer: &Pointer) -> Finding {
    let path = pointer.path.display();
    let (severity, evidence, measured) = match &pointer.session_id {
        Some(id) => (
            Severity::Warning,
            format!(
                "{path} names the session {id}, which cannot be found; {} starts a new session or takes the newest one \
                 of the directory.",
                pointer.agent
            ),
            "no such session",
        ),
        None => (Severity::Note, format!("{path} names no session."), "no id"),
    };
    Finding::new(Code::DanglingPointer, severity, evidence)
        .agent(pointer.agent)
        .path(&pointer.path)
        .measured(measured, "the id of an existing session")
        .remedy(format!("rejoin resume {} --fresh", word(&pointer.dir)), "starts a new session there")
}

/// Finds pointers whose session is in a place that the pointer's program does not read.
fn pointers_elsewhere(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    for session in survey.scan.sessions.iter().filter(|session| !session.pointers.is_empty()) {
        let projects: BTreeSet<&str> = session.copies.iter().filter_map(|copy| copy.place.project.as_deref()).collect();
        for pointer in &session.pointers {
            let Some(expected) = agent::writer_of(pointer).map(|writer| writer.project_of(&pointer.dir)) else {
                continue;
            };
            if projects.contains(expected.as_str()) {
                continue;
            }
            let project = session.copy().place.project.as_deref().unwrap_or("none");
            let dir = session.launch_dir().map_or_else(|| "unknown".to_owned(), |dir| dir.display().to_string());
            let evidence = format!(
                "{} names the {}, which is in the project {project}, not in the project of {}. It is resumed in {dir}.",
                pointer.path.display(),
                name(session),
                pointer.dir.display()
            );
            findings.push(
                Finding::new(Code::DanglingPointer, Severity::Note, evidence)
                    .agent(pointer.agent)
                    .session(session)
                    .path(&pointer.path)
                    .measured(format!("project {project}"), format!("project {expected}"))
                    .resumed(session),
            );
        }
    }
    findings
}

/// Reports the sessions without files that each agent's list names.
fn gone_sessions(survey: &Survey) -> Vec<Finding> {
    let mut lists: BTreeMap<(AgentKind, &Path), Vec<&Mention>> = BTreeMap::new();
    for mention in &survey.gone_sessions {
        lists.entry((mention.agent, &mention.list)).or_default().push(mention);
    }
    lists.into_iter().map(|((agent, list), mentions)| gone_from(agent, list, &mentions, survey)).collect()
}

fn gone_from(agent: AgentKind, list: &Path, mentions: &[&Mention], survey: &Survey) -> Finding {
    let ids: BTreeSet<&str> = mentions.iter().filter_map(|one| one.id.as_deref()).collect();
    let lost: Vec<&Mention> = mentions.iter().copied().filter(|one| one.id.is_none()).collect();
    let named = |names: Vec<String>| {
        let more = if names.len() > MOST_NAMED { ", …" } else { "" };
        format!("{}{more}", names.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join(", "))
    };
    let entry = |one: &&Mention| one.entry.as_deref().and_then(Path::file_name).map(|name| name.display().to_string());
    let times = || mentions.iter().filter_map(|one| one.at);
    let since = times()
        .min()
        .zip(times().max())
        .map(|(first, last)| format!(", of {} to {}", first.strftime("%F"), last.strftime("%F")));
    let mut evidence = Vec::new();
    if !ids.is_empty() {
        let sessions = count(ids.len(), "session");
        let names = named(ids.iter().map(|id| (*id).to_owned()).collect());
        let since = since.unwrap_or_default();
        evidence.push(format!("{} names {sessions} without files{since}: {names}.", list.display()));
        if mentions.iter().any(|one| one.id.is_some() && !one.text.is_empty()) {
            evidence.push("`rejoin search` also searches what it has of them.".to_owned());
        }
    }
    if !lost.is_empty() {
        let entries = count(lost.len(), "entry");
        let names = named(lost.iter().filter_map(entry).collect());
        let place = if ids.is_empty() { list.display().to_string() } else { "It".to_owned() };
        evidence.push(format!(
            "{place} has {entries} without the id of a session: {names}. The app says that such a session is gone, but its \
             transcript may be there; `rejoin list` has it."
        ));
    }
    let retention = survey.retentions.values().find(|(of, _)| *of == agent && !ids.is_empty());
    if let Some((_, Retention { setting: (path, key), .. })) = retention {
        evidence.push(format!("{agent} deletes old sessions; `{key}` in {} sets their age.", path.display()));
    }
    let finding = Finding::new(Code::GoneSession, Severity::Note, evidence.join(" "))
        .agent(agent)
        .path(list)
        .measured(format!("{} without files", count(ids.len() + lost.len(), "entry")), "a session for each entry");
    finding.remedy("rejoin archive --every", "keeps the sessions that are there, whatever their agent deletes")
}

fn cwd_record(record: &CwdRecord, exists: bool, survey: &Survey) -> Option<Finding> {
    let CwdRecord { agent, path, session_id, dir, written_at } = record;
    let session = survey.session(*agent, session_id);
    let is_live = session.is_some_and(|session| session.copies.iter().any(|copy| copy.liveness != Liveness::Idle));
    let is_old = written_at.is_some_and(|at| survey.now.duration_since(at) >= STARTING_TIME);
    let why = match (dir, session) {
        (None, _) => "names no directory".to_owned(),
        (Some(dir), _) if !exists => format!("names {}, which does not exist", dir.display()),
        (Some(_), None) if is_old && !is_unread(survey, session_id) => {
            format!("is about the session {session_id}, which cannot be found")
        }
        (Some(_), Some(session)) if is_old && !is_live => format!("is about {}, which is not in use", name(session)),
        _ => return None,
    };
    let measured = match (dir, exists) {
        (None, _) => "no directory".to_owned(),
        (Some(dir), false) => format!("{} is missing", dir.display()),
        _ => "a session that ended".to_owned(),
    };
    Some(
        Finding::new(Code::StaleCwdRecord, Severity::Note, format!("The record {} {why}.", path.display()))
            .id(*agent, session_id)
            .path(path)
            .measured(measured, "a directory that exists and a session in use")
            .repaired_by(trash(path, "a directory record")),
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::doctor::check::tests::survey;
    use crate::doctor::survey::{Parked, ParkedLog};
    use crate::session::Problem;
    use crate::session::tests::{copy, session};

    fn orphan(kind: OrphanKind, minutes_ago: i64, survey: &Survey) -> Orphan {
        Orphan {
            agent: AgentKind::Claude,
            kind,
            session_id: Some("a".to_owned()),
            path: "/s/projects/-p/a".into(),
            holds: "1 file".to_owned(),
            modified_at: Some(survey.now - SignedDuration::from_mins(minutes_ago)),
            namesakes: Vec::new(),
        }
    }

    fn codes(survey: &Survey) -> Vec<(Code, Severity, bool)> {
        check(survey).into_iter().map(|finding| (finding.code, finding.severity, finding.repair.is_some())).collect()
    }

    #[test]
    fn doctor_reports_old_closed_temporary_file() {
        for (minutes, is_held, is_busy, is_reported) in [
            (61, false, false, true),
            (59, false, false, false),
            (-5, false, false, false),
            (61, true, false, false),
            (61, false, true, false),
        ] {
            let mut session = session(vec![copy("a")]);
            if is_busy {
                session.copies[0].liveness = Liveness::Live { pid: 7 };
            }
            let mut survey = survey(vec![session]);
            let orphan = orphan(OrphanKind::Temporary, minutes, &survey);
            survey.held.extend(is_held.then(|| orphan.path.clone()));
            survey.orphans.push(orphan);
            let expected = if is_reported { vec![(Code::LeftoverTemp, Severity::Note, true)] } else { Vec::new() };
            assert_eq!(codes(&survey), expected, "{minutes} {is_held} {is_busy}");
        }
    }

    #[test]
    fn belongings_are_orphans_only_without_any_transcript() {
        let mut gone = survey(Vec::new());
        gone.orphans.push(orphan(OrphanKind::Belongings, 25 * 60, &gone));
        assert_eq!(codes(&gone), [(Code::OrphanBelongings, Severity::Warning, true)]);
        let mut unread = survey(Vec::new());
        unread.orphans.push(orphan(OrphanKind::UnreadBelongings, 25 * 60, &unread));
        assert_eq!(codes(&unread), [(Code::OrphanBelongings, Severity::Warning, false)]);
        let mut elsewhere = survey(vec![session(vec![copy("a")])]);
        elsewhere.orphans.push(orphan(OrphanKind::Belongings, 25 * 60, &elsewhere));
        assert_eq!(codes(&elsewhere), [(Code::OrphanBelongings, Severity::Note, false)]);
        let mut new = survey(Vec::new());
        new.orphans.push(orphan(OrphanKind::Belongings, 23 * 60, &new));
        assert_eq!(codes(&new), []);
    }

    #[test]
    fn doctor_keeps_belongings_while_transcript_may_exist() {
        let orphaned = |change: fn(&mut Survey)| {
            let mut survey = survey(Vec::new());
            survey.orphans.push(orphan(OrphanKind::Belongings, 25 * 60, &survey));
            change(&mut survey);
            let [finding] = <[Finding; 1]>::try_from(check(&survey)).expect("one finding");
            assert!(finding.repair.is_none() && !finding.evidence.contains("gone"), "{finding:?}");
            finding.remedies[0].command.clone()
        };
        let named = orphaned(|survey| survey.orphans[0].namesakes.push("/s/projects/-p/old/a.jsonl.gz".into()));
        assert_eq!(named, "ls -l /s/projects/-p/old/a.jsonl.gz");
        let parked = orphaned(|survey| {
            let log = ParkedLog { path: "/s/projects/-q/a.jsonl.bak".into(), messages: Some(2) };
            let place = Some("/s/projects/-q/a.jsonl".into());
            let parked = Parked { logs: vec![log], place, ..Parked::default() };
            survey.unread.parked.insert((AgentKind::Claude, "a".to_owned()), parked);
        });
        assert_eq!(parked, "mv -n /s/projects/-q/a.jsonl.bak /s/projects/-q/a.jsonl");
        let unreadable = orphaned(|survey| {
            let problem = Problem { path: "/s/projects/-q/a.jsonl".into(), reason: "permission denied".to_owned() };
            survey.scan.problems.push(problem);
        });
        assert_eq!(unreadable, "rejoin doctor --check unreadable");
    }

    #[test]
    fn files_of_an_unreadable_session_are_not_orphans() {
        let mut child = copy("agent-1");
        child.kind = SessionKind::Subagent;
        child.parent_id = Some("a".to_owned());
        let mut survey = survey(vec![session(vec![child])]);
        let path = PathBuf::from("/s/projects/-p/a.jsonl");
        survey.scan.problems.push(Problem { path, reason: "permission denied".to_owned() });
        assert_eq!(codes(&survey), []);
    }

    #[test]
    fn doctor_reports_orphaned_sub_agent_with_its_directory() {
        let mut child = copy("agent-1");
        child.kind = SessionKind::Subagent;
        child.parent_id = Some("a".to_owned());
        child.place.path = Path::new("/s/projects/-p/a/subagents/agent-1.jsonl").into();
        let mut survey = survey(vec![session(vec![child])]);
        assert_eq!(codes(&survey), [(Code::OrphanBelongings, Severity::Note, false)]);
        survey.orphans.push(orphan(OrphanKind::Belongings, 25 * 60, &survey));
        // The messages of the sub-agent may be the only remaining part of the session, so no repair is planned.
        assert_eq!(codes(&survey), [(Code::OrphanBelongings, Severity::Warning, false)]);
    }
}
