//! Checks for ids in several places: copies, ids of several agents, and ambiguous short ids.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use crate::agent;
use crate::agent::upkeep::StrayLog;
use crate::doctor::check::{Finding, Repair, name, selector};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::{CopyFacts, Survey};
use crate::format::copies::described;
use crate::format::text;
use crate::format::text::count;
use crate::session::select;
use crate::session::{Comparison, Health, Liveness, Session, SessionCopy, SessionKind};

/// Maximum sessions of one id for which a resume command is offered.
const FEW: usize = 3;

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = duplicates(survey);
    findings.extend(shared_ids(survey));
    findings.extend(ambiguous_prefixes(survey));
    findings
}

fn duplicates(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, facts) in &survey.copies {
        let Some(session) = survey.scan.sessions.get(*at) else { continue };
        // A session inside a copy of another one follows that copy.
        let is_inside = |copy: &SessionCopy| {
            let parent = copy.place.parent_id.as_deref().and_then(|parent| survey.session(session.agent, parent));
            parent.is_some_and(|parent| parent.copies.len() > 1)
        };
        if session.copies.iter().any(is_inside) {
            continue;
        }
        for (number, facts) in (1..session.copies.len()).zip(facts) {
            findings.push(duplicate(session, number, facts, survey.now));
        }
    }
    findings
}

/// Reports the copy at `at`, which is not the chosen one.
fn duplicate(session: &Session, at: usize, facts: &CopyFacts, now: Timestamp) -> Finding {
    let (chosen, copy) = (session.copy(), &session.copies[at]);
    let comparison = session.choice.comparisons.get(at).copied().flatten();
    let is_decided = session.choice.is_decided;
    let is_aside = !copy.place.store.is_default && chosen.place.store.is_default;
    let why = if is_decided {
        format!("Copy 1 is the one to use, because {}.", session.choice.why)
    } else {
        format!("You must choose a copy, because {}.", session.choice.why)
    };
    let what = match (comparison, facts.fold) {
        (_, Some(_)) if !has_talk(copy) => "has only events and no conversation".to_owned(),
        (Some(Comparison::Identical), _) => "has the same records as copy 1".to_owned(),
        (Some(Comparison::Longer { common }), _) => {
            format!("continues after the {} of copy 1", count(common, "record"))
        }
        (Some(Comparison::Shorter { common: 0 }), _) => "has none of copy 1's conversation".to_owned(),
        (Some(Comparison::Shorter { common }), _) => {
            format!("has only the first {} of copy 1", count(common, "record"))
        }
        (Some(Comparison::Diverged { record: 1 }), _) => {
            "is another conversation, with no record in common with copy 1".to_owned()
        }
        (Some(Comparison::Diverged { record }), _) => format!("differs from copy 1 from record {record} on"),
        (None, _) if !has_talk(copy) => "has no conversation".to_owned(),
        (None, _) => "could not be compared with copy 1".to_owned(),
    };
    let mut evidence =
        format!("{} is stored {} times: copy {} {what}. {why}", name(session), session.copies.len(), at + 1);
    let measured = match (comparison, facts.fold) {
        (_, Some(fold)) if !has_talk(copy) => match fold {
            StrayLog::AllKnown => "only events that copy 1 has too".to_owned(),
            StrayLog::AllNewer => "only events newer than those of copy 1".to_owned(),
            StrayLog::Mixed => "only events; copy 1 has some of them".to_owned(),
        },
        (Some(Comparison::Diverged { record }), _) => format!("diverged at record {record}"),
        (Some(Comparison::Shorter { common: 0 }), _) => format!("copy {} holds no messages", at + 1),
        (Some(Comparison::Shorter { .. }), _) => format!("copy {} is only the beginning of copy 1", at + 1),
        (Some(comparison), _) => comparison.name().to_owned(),
        (None, _) => "not comparable".to_owned(),
    };
    if is_aside {
        let (own, other) = (&copy.place, &chosen.place);
        // Several databases of an agent may be in one directory.
        let place = if own.store.root == other.store.root { &*own.path } else { &own.store.root };
        evidence.push_str(&format!(
            " Copy {} is in {}, which {} does not use by default; it may be a backup.",
            at + 1,
            place.display(),
            session.agent
        ));
    }
    let severity = match (is_decided, is_aside) {
        (false, _) => Severity::Error,
        (true, true) => Severity::Note,
        (true, false) => Severity::Warning,
    };
    let repair = repair(session, at, comparison, facts).filter(|_| is_decided && !is_aside);
    if repair.is_none()
        && let Some(path) = facts.only_here.as_deref().filter(|_| is_contained(comparison) && has_talk(copy))
    {
        evidence.push_str(&format!(" Only copy {} has {}.", at + 1, inside(path, copy)));
    }
    let is_other = matches!(comparison, Some(Comparison::Diverged { record: 1 }));
    let finding = Finding::new(Code::DuplicateSession, severity, evidence)
        .session(session)
        .path(&chosen.place.path)
        .path(&copy.place.path)
        .measured(measured, "one copy");
    match (repair, &facts.belongings) {
        (Some(repair), _) => finding.repaired_by(repair),
        (None, Err(why)) => finding.remedy(format!("rejoin show {}", selector(session)), format!("shows both; {why}")),
        // Neither may go, and the agent opens each in the directory of its project.
        (None, Ok(_)) if is_other && copy.place.project != chosen.place.project => {
            [1, at + 1].into_iter().fold(finding, |finding, copy| {
                let command = format!("rejoin resume {} --copy {copy}", selector(session));
                finding.remedy(command, format!("continues {}", described_copy(session, copy, now)))
            })
        }
        (None, Ok(_)) => {
            let mut removed = vec![at + 1];
            if !is_decided {
                removed.push(1);
                // The first remedy keeps the copy with more messages.
                removed.sort_by_key(|number| messages(&session.copies[number - 1]));
            }
            removed.into_iter().fold(finding, |finding, copy| {
                let command = format!("rejoin delete {} --copy {copy}", selector(session));
                finding.remedy(command, format!("removes {}", described_copy(session, copy, now)))
            })
        }
    }
}

fn described_copy(session: &Session, number: usize, now: Timestamp) -> String {
    let copy = &session.copies[number - 1];
    let dir = copy.launch_dir.as_ref().map_or(&*copy.place.path, |dir| &dir.value);
    let active = text::ago(copy.active_at.as_ref().map(|at| at.value), now);
    described(number, &dir.to_string_lossy(), messages(copy), copy.transcript_bytes, &active)
}

fn messages(copy: &SessionCopy) -> Option<u64> {
    copy.prompts.zip(copy.replies).map(|(prompts, replies)| prompts + replies)
}

fn has_talk(copy: &SessionCopy) -> bool {
    copy.transcript_bytes > 0
}

fn is_contained(comparison: Option<Comparison>) -> bool {
    matches!(comparison, Some(Comparison::Identical | Comparison::Shorter { .. }))
}

fn inside<'a>(path: &'a Path, copy: &SessionCopy) -> std::path::Display<'a> {
    let parent = copy.place.path.parent().unwrap_or(Path::new(""));
    path.strip_prefix(parent).unwrap_or(path).display()
}

/// Returns a lossless repair: the copy has no data that the chosen one lacks, or only a log that can be added to it.
fn repair(session: &Session, at: usize, comparison: Option<Comparison>, facts: &CopyFacts) -> Option<Repair> {
    let copy = &session.copies[at];
    let is_left_alone =
        |copy: &&SessionCopy| copy.liveness != Liveness::Idle || copy.health.contains(Health::UnknownFormat);
    if [session.copy(), copy].iter().any(is_left_alone) {
        return None;
    }
    if let Some(fold) = facts.fold.filter(|_| !has_talk(copy) && has_talk(session.copy())) {
        let (from, into) = (copy.place.path.to_path_buf(), session.copy().place.path.to_path_buf());
        return (fold != StrayLog::Mixed).then_some(Repair::Fold { from, into });
    }
    let paths = facts.belongings.as_ref().ok().filter(|_| is_contained(comparison) && facts.only_here.is_none())?;
    Some(Repair::Trash { paths: paths.clone(), what: "a copy" })
}

/// Finds ids that sessions of several agents have.
fn shared_ids(survey: &Survey) -> Vec<Finding> {
    let mut by_id: Vec<&Session> = own_sessions(survey).collect();
    by_id.sort_by(|a, b| (a.id(), a.agent).cmp(&(b.id(), b.agent)));
    let shared = by_id.chunk_by(|a, b| a.id() == b.id()).filter(|sessions| sessions.len() > 1);
    let finding = |sessions: &[&Session]| {
        let agents: Vec<&str> = sessions.iter().map(|session| session.agent.name()).collect();
        let id = sessions[0].id();
        let evidence =
            format!("{} each have a session with the id {id}, so the id alone is ambiguous.", text::list(&agents));
        let finding = Finding::new(Code::SharedId, Severity::Warning, evidence)
            .subject(id)
            .measured(format!("sessions of {} agents", sessions.len()), "a session of one agent");
        let finding = newest_first(sessions).into_iter().take(FEW).fold(finding, Finding::resumed);
        sessions.iter().fold(finding, |finding, session| finding.session(session).path(&session.copy().place.path))
    };
    shared.map(finding).collect()
}

/// Finds short ids that the agent prints and that match several sessions in its lookup.
fn ambiguous_prefixes(survey: &Survey) -> Vec<Finding> {
    let mut by_short: BTreeMap<_, Vec<&Session>> = BTreeMap::new();
    for session in own_sessions(survey) {
        let Some(agent) = agent::by_kind(session.agent) else { continue };
        // A short id that is also the full id of another session would resume that session.
        let Some(short) = agent
            .about()
            .printed_id
            .and_then(|length| session.id().get(..length))
            .filter(|short| *short != session.id())
        else {
            continue;
        };
        for place in session.copies.iter().map(|copy| &copy.place) {
            let key = (session.agent, place.store.root.as_path(), place.project.as_deref(), short);
            let sessions = by_short.entry(key).or_default();
            if sessions.last().is_none_or(|last| last.id() != session.id()) {
                sessions.push(session);
            }
        }
    }
    let ambiguous = by_short.into_iter().filter(|(_, sessions)| sessions.len() > 1);
    let finding = |((agent, _, project, short), sessions): ((_, _, Option<&str>, &str), Vec<&Session>)| {
        let place = project.map_or_else(String::new, |project| format!(" of the project {project}"));
        let evidence = format!(
            "{agent} prints {short} for {} sessions{place}, and then rejects it as ambiguous or takes one of them.",
            sessions.len()
        );
        let finding = Finding::new(Code::AmbiguousPrefix, Severity::Warning, evidence)
            .subject(short)
            .measured(format!("{} session ids start with {short}", sessions.len()), "one");
        let finding = newest_first(&sessions).into_iter().take(FEW).fold(finding, Finding::resumed);
        sessions.iter().fold(finding, |finding, session| finding.session(session).path(&session.copy().place.path))
    };
    ambiguous.map(finding).collect()
}

/// Returns the sessions that users name by an id: all except sub-agents.
fn own_sessions(survey: &Survey) -> impl Iterator<Item = &Session> {
    survey.scan.sessions.iter().filter(|session| session.copy().kind != SessionKind::Subagent)
}

fn newest_first<'s>(sessions: &[&'s Session]) -> Vec<&'s Session> {
    let mut sessions = sessions.to_vec();
    select::newest_first(&mut sessions);
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::tests::survey;
    use crate::session::tests::{copy, session};
    use crate::session::{CopyChoice, Store};

    /// Creates a session with two copies; `comparison` is that of the second one.
    fn two(comparison: Option<Comparison>) -> Session {
        let (mut one, mut two) = (copy("a"), copy("a"));
        one.transcript_bytes = 9;
        two.transcript_bytes = 9;
        two.place.path = Path::new("/s/projects/-q/a.jsonl").into();
        let mut session = session(vec![one, two]);
        session.choice =
            CopyChoice { comparisons: vec![None, comparison], ..CopyChoice::new("it is the longer one", true) }.into();
        session
    }

    fn facts() -> CopyFacts {
        CopyFacts { belongings: Ok(vec!["/s/projects/-q/a.jsonl".into()]), only_here: None, fold: None }
    }

    fn found(session: Session, facts: CopyFacts) -> Finding {
        let mut survey = survey(vec![session]);
        survey.copies.insert(0, vec![facts]);
        let mut findings = duplicates(&survey);
        assert_eq!(findings.len(), 1);
        findings.remove(0)
    }

    #[test]
    fn repair_removes_only_redundant_copy() {
        for (comparison, is_mended) in [
            (Some(Comparison::Identical), true),
            (Some(Comparison::Shorter { common: 2 }), true),
            (Some(Comparison::Longer { common: 2 }), false),
            (Some(Comparison::Diverged { record: 2 }), false),
            (None, false),
        ] {
            assert_eq!(found(two(comparison), facts()).repair.is_some(), is_mended, "{comparison:?}");
        }
        let more = CopyFacts { only_here: Some("/s/projects/-q/a/tool-results/1.txt".into()), ..facts() };
        let finding = found(two(Some(Comparison::Identical)), more);
        assert!(finding.repair.is_none() && finding.evidence.ends_with("Only copy 2 has a/tool-results/1.txt."));
    }

    #[test]
    fn repair_skips_copies_in_use() {
        for at in [0, 1] {
            let mut session = two(Some(Comparison::Identical));
            session.copies[at].liveness = Liveness::Maybe { why: "it was just written".to_owned() };
            assert!(found(session, facts()).repair.is_none());
        }
    }

    #[test]
    fn repair_skips_undecided_copies() {
        let mut session = two(Some(Comparison::Identical));
        session.choice = CopyChoice { is_decided: false, ..CopyChoice::clone(&session.choice) }.into();
        let finding = found(session, facts());
        assert_eq!((finding.severity, finding.repair.is_some()), (Severity::Error, false));
        let commands: Vec<&str> = finding.remedies.iter().map(|remedy| remedy.command.as_str()).collect();
        assert_eq!(commands, ["rejoin delete claude:a --copy 2", "rejoin delete claude:a --copy 1"]);
    }

    #[test]
    fn first_remedy_keeps_copy_with_more_messages() {
        for (counts, removed) in [([2, 4], "--copy 1"), ([4, 2], "--copy 2"), ([2, 2], "--copy 2")] {
            let mut session = two(Some(Comparison::Diverged { record: 1 }));
            session.choice = CopyChoice { is_decided: false, ..CopyChoice::clone(&session.choice) }.into();
            for (copy, count) in session.copies.iter_mut().zip(counts) {
                (copy.prompts, copy.replies) = (Some(count), Some(0));
            }
            let first = found(session, facts()).remedies.remove(0);
            assert!(first.command.ends_with(removed), "{counts:?}: {}", first.command);
        }
    }

    #[test]
    fn repair_skips_copy_in_non_default_store() {
        let mut session = two(Some(Comparison::Identical));
        let store = Store { is_default: false, ..(*session.copies[1].place.store).clone() };
        session.copies[1].place.store = store.into();
        let finding = found(session, facts());
        assert_eq!((finding.severity, finding.repair.is_some()), (Severity::Note, false));
    }

    #[test]
    fn remedy_names_agent_command_that_removes_copy() {
        let own = CopyFacts { belongings: Err("remove it with `agent delete a`".into()), ..facts() };
        let finding = found(two(Some(Comparison::Identical)), own);
        assert!(finding.repair.is_none());
        assert_eq!(finding.remedies[0].effect, "shows both; remove it with `agent delete a`");
    }

    #[test]
    fn repair_does_not_merge_mixed_log() {
        for (fold, is_mended) in [(StrayLog::AllKnown, true), (StrayLog::AllNewer, true), (StrayLog::Mixed, false)] {
            let mut session = two(None);
            session.copies[1].transcript_bytes = 0;
            let finding = found(session, CopyFacts { fold: Some(fold), ..facts() });
            let is_fold = matches!(finding.repair, Some(Repair::Fold { .. }));
            assert_eq!((is_fold, finding.repair.is_some()), (is_mended, is_mended), "{fold:?}");
        }
    }
}
