//! Checks the places of sessions: projects and launch directories.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use foldhash::HashSet;

use crate::agent;
use crate::doctor::check::{Finding, name, selector, word};
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::{Gone, Survey};
use crate::format::command_line::move_command;
use crate::format::text::count;
use crate::scan::moved::{self, Followers, LinkedDir, is_launched, lets_follow};
use crate::session::recorded;
use crate::session::{AgentKind, Evidence, Health, Session};
use crate::system::names;

pub(super) fn check(survey: &Survey) -> Vec<Finding> {
    let mut findings = Vec::new();
    let dirs = Dirs::from_survey(survey);
    for session in survey.scan.sessions.iter().filter(|session| is_launched(session)) {
        findings.extend(misfiled(session, &dirs));
        findings.extend(unknown(session));
    }
    findings.extend(missing(survey));
    findings.extend(survey.linked.iter().filter_map(|(dir, linked)| linked_dir(dir, linked, survey)));
    findings.extend(collisions(survey));
    findings
}

/// Launch directories of sessions.
struct Dirs<'s> {
    /// By agent, store and project: the directories of the sessions that are filed right.
    of_projects: BTreeMap<(AgentKind, &'s Path, &'s str), BTreeSet<&'s Path>>,
    /// The launch directories that exist.
    there: HashSet<&'s OsStr>,
}

impl<'s> Dirs<'s> {
    fn from_survey(survey: &'s Survey) -> Self {
        let mut of_projects: BTreeMap<_, BTreeSet<&Path>> = BTreeMap::new();
        for (project, dir) in survey.project_dirs() {
            of_projects.entry(project).or_default().insert(dir);
        }
        let there = survey.scan.sessions.iter().filter(|session| session.launch_dir_exists == Some(true));
        Self { of_projects, there: there.filter_map(Session::launch_dir).map(Path::as_os_str).collect() }
    }
}

fn misfiled(session: &Session, dirs: &Dirs<'_>) -> Option<Finding> {
    let copy = session.copy();
    let (project, dir) = (copy.place.project.as_deref()?, session.launch_dir()?);
    if copy.is_filed_right || copy.health.contains(Health::SessionInfoMismatch) {
        return None;
    }
    let evidence = format!(
        "{} is in the project {project}, but it records {}, which belongs to another project. An agent that looks in \
         that directory's project does not find it.",
        name(session),
        dir.display()
    );
    let of_project = dirs.of_projects.get(&(session.agent, copy.place.store.root.as_path(), project));
    // The launch directory of its neighbours would also find this session.
    let only = of_project.filter(|of_project| of_project.len() == 1).and_then(BTreeSet::first);
    let finding = Finding::about(session, Code::MisfiledSession, Severity::Warning, evidence)
        .measured(format!("project {project}"), format!("the project of {}", dir.display()));
    let finding = only.filter(|dir| dirs.there.contains(dir.as_os_str())).into_iter().fold(finding, |finding, dir| {
        let command = format!("rejoin resume {} --in {}", selector(session), word(dir));
        finding.remedy(command, "resumes it where the others of its project are started")
    });
    Some(finding.remedy(format!("rejoin show {}", selector(session)), "shows the evidence for each directory"))
}

fn unknown(session: &Session) -> Option<Finding> {
    let copy = session.copy();
    if copy.launch_dir.is_some() {
        return None;
    }
    let statement = |evidence: &Evidence| format!("{} says {}", evidence.detail, evidence.dir.display());
    let records = copy.evidence.iter().map(statement).collect::<Vec<_>>();
    let project = copy.place.project.as_deref().unwrap_or("none");
    let (detail, measured) = if records.is_empty() {
        ("No directory is recorded for it.".to_owned(), "no directory")
    } else if copy.evidence.iter().any(|evidence| evidence.counts) {
        let detail = format!("The sessions of its project {project} record several: {}.", records.join("; "));
        (detail, "several directories of its project")
    } else {
        let detail =
            format!("The recorded directories do not belong to its project {project}: {}.", records.join("; "));
        (detail, "only directories of other projects")
    };
    let evidence = format!("It is unknown where {} was started. {detail}", name(session));
    let finding = Finding::about(session, Code::UnknownDirectory, Severity::Warning, evidence);
    Some(finding.measured(measured, "one directory of its project").resumed_in_its_dir(session))
}

/// Reports each missing launch directory once, with all its sessions.
fn missing(survey: &Survey) -> Vec<Finding> {
    let mut by_dir: BTreeMap<Cow<'_, Path>, (&Path, Vec<&Session>)> = BTreeMap::new();
    for session in survey.scan.sessions.iter().filter(|session| is_launched(session)) {
        if let Some(dir) = session.launch_dir().filter(|_| session.launch_dir_exists == Some(false)) {
            by_dir.entry(recorded::one_spelling(dir)).or_insert_with(|| (dir, Vec::new())).1.push(session);
        }
    }
    let followers = Followers::among(&survey.scan.sessions);
    let finding = |(dir, sessions): (&Path, Vec<&Session>)| {
        missing_dir(dir, &sessions, followers.count(dir), survey.gone.get(dir)?)
    };
    by_dir.into_values().filter_map(finding).collect()
}

/// Reports a directory that leads to another one, with the sessions that are not found through it.
fn linked_dir(dir: &Path, linked: &LinkedDir, survey: &Survey) -> Option<Finding> {
    let sessions: Vec<&Session> = linked.sessions.iter().map(|at| &survey.scan.sessions[*at]).collect();
    let newest = sessions.iter().copied().max_by_key(|session| session.recency())?;
    let agents: BTreeSet<&str> = sessions.iter().map(|session| agent::about(session.agent).title).collect();
    let agents = agents.into_iter().collect::<Vec<_>>().join(", ");
    let (count, target) = (count(sessions.len(), "session"), linked.target.display());
    let evidence = format!(
        "{} leads to {target}. Started there, {agents} sees {target} as its directory and does not find {count}.",
        dir.display()
    );
    let command = move_command(dir, &linked.target);
    let finding = Finding::about(newest, Code::LinkedDirectory, Severity::Warning, evidence)
        .subject(format!("{}: {count}; it leads to {target}", dir.display()))
        .path(dir)
        .measured(format!("a link to {target}"), "the directory in which they were started");
    Some(finding.remedy(command, format!("{}, if it moved there", lets_follow(sessions.len()))))
}

fn missing_dir(dir: &Path, sessions: &[&Session], followers: usize, gone: &Gone) -> Option<Finding> {
    let is_movable =
        |session: &Session| agent::by_kind(session.agent).is_some_and(|agent| !agent.about().needs_own_dir);
    let newest = sessions.iter().copied().max_by_key(|session| (is_movable(session), session.recency()))?;
    let mut evidence = format!(
        "{} belong{} to {}, which {}.",
        count(sessions.len(), "session"),
        if sessions.len() == 1 { "s" } else { "" },
        dir.display(),
        match () {
            () if gone.is_no_directory => "is not a directory",
            () if recorded::is_foreign(dir) => "is a directory of Windows and does not exist here",
            () => "does not exist here",
        }
    );
    if let Some(point) = &gone.unmounted {
        evidence.push_str(&format!(" Nothing is mounted at {}, where it would be.", point.display()));
    }
    for instead in &gone.instead {
        evidence.push_str(&format!(" There is {}, {}.", instead.dir.display(), instead.why.words()));
    }
    let measured = if gone.is_no_directory { "no directory" } else { "missing" };
    let mut clauses = vec![count(sessions.len(), "session")];
    // The best replacement for the directory.
    clauses.extend(gone.unmounted.iter().map(|point| format!("nothing is mounted at {}", point.display())));
    let best = gone.instead.first().filter(|_| gone.unmounted.is_none());
    // If several places have equal evidence, none of them is suggested.
    let equal: Vec<String> = gone
        .instead
        .iter()
        .filter(|other| Some(other.why) == best.map(|best| best.why))
        .map(|other| other.dir.display().to_string())
        .collect();
    let named = match best {
        Some(best) if best.why.is_only_near() => "near it",
        _ if equal.len() == 1 => "best",
        _ => "may be",
    };
    clauses.extend(best.map(|best| format!("{named}: {} ({})", equal.join(" or "), best.why.words())));
    let finding = Finding::new(Code::MissingDirectory, Severity::Warning, evidence)
        .subject(format!("{}: {}", dir.display(), clauses.join("; ")))
        .path(dir)
        .measured(measured, "a directory");
    let selector = selector(newest);
    let follow = lets_follow(followers);
    let new = moved::best(&gone.instead, dir).filter(|_| gone.unmounted.is_none());
    let finding = match new {
        Some(ref new) => finding.remedy(move_command(dir, new), format!("{follow}, if it moved there")),
        None => finding,
    };
    let finding = match gone.worktree.as_ref().filter(|_| gone.unmounted.is_none()) {
        Some(lost) => finding.remedy(
            format!("rejoin resume {selector} --recreate-worktree"),
            format!("makes the git worktree again on {}, and resumes the newest of its sessions", lost.head_in_words()),
        ),
        None => finding,
    };
    let finding = match (&gone.unmounted, gone.instead.iter().find(|instead| !instead.why.is_only_near())) {
        (Some(point), _) => finding.remedy(format!("mount {}", word(point)), "mounts its file system"),
        (None, _) if gone.is_no_directory || !is_movable(newest) => finding,
        (None, Some(instead)) => finding.remedy(
            format!("rejoin resume {selector} --in {}", word(&instead.dir)),
            "resumes the newest of its sessions there",
        ),
        (None, None) => finding.remedy(
            format!("rejoin resume {selector} --in ."),
            "resumes the newest of its sessions in the directory that you are in",
        ),
    };
    let may_be_it = gone.instead.iter().filter(|found| found.why.may_be_it() && new.as_ref() != Some(&found.dir));
    let finding = may_be_it.filter(|_| gone.unmounted.is_none()).fold(finding, |finding, found| {
        let command = move_command(dir, &found.dir);
        finding.remedy(command, format!("{follow} to {}", found.why.words()))
    });
    let is_movable_elsewhere = gone.instead.iter().all(|found| !found.why.may_be_it()) && gone.worktree.is_none();
    let finding = if is_movable_elsewhere && gone.unmounted.is_none() && !gone.is_no_directory {
        finding.remedy(move_command(dir, Path::new("NEW_DIR")), format!("{follow} to where it is now"))
    } else {
        finding
    };
    // A second directory of the same name would look like the first.
    let is_respelled = gone.instead.iter().any(|found| names::is_alike(&found.dir, dir));
    let finding = if gone.is_no_directory || gone.unmounted.is_some() || recorded::is_foreign(dir) || is_respelled {
        finding
    } else {
        finding.remedy(format!("mkdir -p {}", word(dir)), "creates it again, empty")
    };
    let finding = finding.remedy(format!("rejoin list --dir {}", word(dir)), "lists its sessions");
    Some(sessions.iter().fold(finding, |finding, session| finding.session(session)))
}

/// Finds projects with one name for several directories.
fn collisions(survey: &Survey) -> Vec<Finding> {
    let mut by_project: BTreeMap<_, BTreeMap<PathBuf, BTreeSet<&Path>>> = BTreeMap::new();
    for (project, dir) in survey.project_dirs() {
        let real = survey.resolved.get(dir).cloned().unwrap_or_else(|| dir.to_owned());
        by_project.entry(project).or_default().entry(real).or_default().insert(dir);
    }
    by_project.retain(|_, dirs| dirs.len() > 1);
    let mut sessions: BTreeMap<_, Vec<&Session>> = BTreeMap::new();
    for session in survey.scan.sessions.iter().filter(|session| is_launched(session)) {
        let place = &session.copy().place;
        let Some(project) = place.project.as_deref() else { continue };
        let key = (session.agent, place.store.root.as_path(), project);
        if by_project.contains_key(&key) {
            sessions.entry(key).or_default().push(session);
        }
    }
    by_project.into_iter().map(|((agent, root, project), dirs)| {
        let named: Vec<String> = dirs.keys().map(|dir| dir.display().to_string()).collect();
        let evidence = format!(
            "{agent} files the sessions of {} directories in one project, {project}: {}. Resuming the newest session of \
             a directory may open a session of another; resuming by id is safe.",
            dirs.len(),
            named.join(", ")
        );
        let mut finding = Finding::new(Code::SlugCollision, Severity::Note, evidence)
            .measured(count(dirs.len(), "directory"), "one directory");
        let sessions = sessions.remove(&(agent, root, project)).unwrap_or_default();
        let newest = sessions.iter().copied().max_by_key(|session| session.recency());
        let dir = newest.and_then(|session| session.launch_dir());
        let lists = |finding: Finding, dir: &Path| {
            finding.remedy(format!("rejoin list --dir {}", word(dir)), "lists the sessions of one of them, with their ids")
        };
        finding = dir.into_iter().fold(finding.subject(project), lists);
        finding = sessions.iter().fold(finding, |finding, session| finding.session(session));
        dirs.keys().fold(finding, |finding, dir| finding.path(dir))
    })
    .collect()
}
