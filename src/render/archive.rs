//! What was archived, what the archive holds, and whether it is sound.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::json::{FORMAT_VERSION, HeaderJson, PathJson, ProblemJson};
use super::{table, text, write_line};
use crate::apply::archive::{Done, Item, Report, in_use};
use crate::archive::manifest::{Entry, Node, Role};
use crate::archive::verify::{Fault, Verdict};
use crate::archive::{Archive, Manifest, Snapshot};
use crate::env::Env;
use crate::session::{AgentKind, Problem, SessionKind};
use crate::ui::Styles;

/// A title takes at most so many columns.
const TITLE: usize = 60;

/// The answer of `archive`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Archive", deny_unknown_fields)]
pub struct ArchiveJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `archive-plan` for a dry run, else `archive-outcome`.
    pub kind: &'a str,
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// Every session that was meant.
    pub items: Vec<ArchiveItemJson<'a>>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields say it")]
    pub summary: ArchiveSummary<'a>,
}

/// One session and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveItem", deny_unknown_fields)]
pub struct ArchiveItemJson<'a> {
    /// Whose session it is.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// `planned` in a plan; `archived`, `unchanged` (it is there already), `refused` (it cannot be archived) or
    /// `failed`.
    pub result: &'a str,
    /// Why it was refused or failed; `null` when it was not.
    pub reason: Option<&'a str>,
    /// Why it may have been in use while it was copied; `null` when it was not.
    pub in_use: Option<String>,
    /// Which state of it is the newest in the archive; `null` when none is.
    pub state: Option<u64>,
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub size_bytes: u64,
    /// The bytes that were written for it.
    pub stored_bytes: u64,
}

/// How many sessions came to what.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchiveSummary<'a> {
    /// How many were archived, or would be.
    pub archived: usize,
    /// How many are there already.
    pub unchanged: usize,
    /// How many cannot be archived.
    pub refused: usize,
    /// How many failed.
    pub failed: usize,
    /// The bytes of all of them.
    pub size_bytes: u64,
    /// The bytes that were written, or would be.
    pub stored_bytes: u64,
    /// The bytes that were removed, because nothing needs them any more.
    pub removed_bytes: u64,
    /// What else went wrong, a line each.
    pub warnings: &'a [String],
}

/// The last line of an ndjson answer.
#[derive(Debug, Serialize)]
struct SummaryLine<T> {
    kind: &'static str,
    #[serde(flatten)]
    rest: T,
}

fn summary<'a>(report: &'a Report<'_>) -> ArchiveSummary<'a> {
    let count = |is: fn(&Done) -> bool| report.items.iter().filter(|item| is(&item.done)).count();
    ArchiveSummary {
        archived: count(|done| *done == Done::Archived),
        unchanged: count(|done| *done == Done::Unchanged),
        refused: count(|done| matches!(done, Done::Refused(_))),
        failed: count(|done| matches!(done, Done::Failed(_))),
        size_bytes: report.items.iter().map(|item| item.size_bytes).sum(),
        stored_bytes: report.items.iter().map(|item| item.stored_bytes).sum(),
        removed_bytes: report.removed_bytes,
        warnings: &report.warnings,
    }
}

fn item_json<'a>(item: &'a Item<'_>, is_dry_run: bool) -> ArchiveItemJson<'a> {
    ArchiveItemJson {
        agent: item.session.agent,
        id: &item.session.id,
        result: match &item.done {
            Done::Archived if is_dry_run => "planned",
            Done::Archived => "archived",
            Done::Unchanged => "unchanged",
            Done::Refused(_) => "refused",
            Done::Failed(_) => "failed",
        },
        reason: match &item.done {
            Done::Refused(why) | Done::Failed(why) => Some(why),
            _ => None,
        },
        in_use: in_use(item.session),
        state: item.number,
        files: item.files,
        size_bytes: item.size_bytes,
        stored_bytes: item.stored_bytes,
    }
}

fn kind(is_dry_run: bool) -> &'static str {
    if is_dry_run { "archive-plan" } else { "archive-outcome" }
}

/// Writes a line for each session that was not there already, and a summary.
pub fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>, is_dry_run: bool) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    for item in &report.items {
        let label = format!("{} {}", item.session.agent, text::one_line(&item.session.id));
        match &item.done {
            Done::Unchanged => continue,
            Done::Refused(why) => writeln!(out, "{warning}refused{warning:#}  {label}  {}", text::one_line(why))?,
            Done::Failed(why) => writeln!(out, "{warning}failed{warning:#}  {label}  {}", text::one_line(why))?,
            Done::Archived => {
                let verb = if is_dry_run { "would archive" } else { "archived" };
                let (size, stored) = (text::size(item.size_bytes), text::size(item.stored_bytes));
                let title = table::title(item.session);
                let title = text::truncated(&title, TITLE);
                writeln!(out, "{verb}  {label}  {title}  {faint}({size}, {stored} new){faint:#}")?;
            }
        }
        if let Some(why) = in_use(item.session) {
            writeln!(out, "      {faint}{}; it is archived as it is now{faint:#}", text::one_line(&why))?;
        }
    }
    writeln!(out, "{}", sentence(env, report, is_dry_run))
}

fn sentence(env: &Env, report: &Report<'_>, is_dry_run: bool) -> String {
    let ArchiveSummary { archived, unchanged, refused, failed, stored_bytes, .. } = summary(report);
    let verb = if is_dry_run { "to archive" } else { "archived" };
    let mut line = format!("{archived} {verb}, {unchanged} unchanged");
    for (count, what) in [(refused, "refused"), (failed, "failed")].iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {count} {what}"));
    }
    let dir = env.tilde(&report.dir);
    format!("{line}. {} new in {}.", text::size(stored_bytes), text::one_line(&dir))
}

/// Writes the one line of a run that nobody watches, if something happened.
pub fn line(out: &mut impl Write, env: &Env, report: &Report<'_>) -> io::Result<()> {
    let has_news = report.items.iter().any(|item| matches!(item.done, Done::Archived | Done::Failed(_)));
    if has_news { writeln!(out, "rejoin archive: {}", sentence(env, report, false)) } else { Ok(()) }
}

/// Writes one object.
pub fn json(out: &mut impl Write, report: &Report<'_>, is_dry_run: bool) -> io::Result<()> {
    let answer = ArchiveJson {
        format_version: FORMAT_VERSION,
        kind: kind(is_dry_run),
        archive: PathJson::from(report.dir.as_path()),
        items: report.items.iter().map(|item| item_json(item, is_dry_run)).collect(),
        summary: summary(report),
    };
    write_line(out, &answer)
}

/// Writes a header, a line a session, and a summary.
pub fn ndjson(out: &mut impl Write, report: &Report<'_>, is_dry_run: bool) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: kind(is_dry_run) })?;
    report.items.iter().try_for_each(|item| write_line(out, &item_json(item, is_dry_run)))?;
    write_line(out, &SummaryLine { kind: "summary", rest: summary(report) })
}

/// What `list --archived` answers.
#[derive(Debug)]
pub struct ArchivedList<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The states of each session, the oldest first, in the order that was asked for.
    pub sessions: Vec<&'a [Snapshot]>,
    /// How many passed the filters but are not shown without `--all`.
    pub hidden: usize,
    /// How many were cut off by `--limit`.
    pub beyond_limit: usize,
    /// What could not be read.
    pub problems: &'a [Problem],
}

/// The answer of `list --archived`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveList", deny_unknown_fields)]
pub struct ArchiveListJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `archive-list`.
    pub kind: &'a str,
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The sessions in the order that was asked for.
    pub sessions: Vec<ArchivedJson<'a>>,
    /// How many sessions passed the filters but are not shown without `--all`.
    pub hidden: usize,
    /// How many sessions were cut off by `--limit`.
    pub beyond_limit: usize,
    /// What could not be read.
    pub problems: Vec<ProblemJson<'a>>,
}

/// The last line of an ndjson answer of `list --archived`.
#[derive(Debug, Serialize)]
struct ArchiveListSummary<'a> {
    sessions: usize,
    hidden: usize,
    beyond_limit: usize,
    problems: Vec<ProblemJson<'a>>,
}

/// An archived session, as it was when its newest state was archived.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Archived", deny_unknown_fields)]
pub struct ArchivedJson<'a> {
    /// Whose it is.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// What sort of session it is.
    pub kind: SessionKind,
    /// What the agent's own picker would show; `null` when it has none.
    pub title: Option<&'a str>,
    /// The first thing that a person typed.
    pub first_prompt: Option<&'a str>,
    /// Where `resume` would start the agent; `null` when nothing tells.
    pub launch_dir: Option<PathJson<'a>>,
    /// Where it was started.
    pub start_dir: Option<PathJson<'a>>,
    /// Where it last worked.
    pub last_dir: Option<PathJson<'a>>,
    /// The project of the chosen copy.
    pub project: Option<&'a str>,
    /// When it was started.
    pub created_at: Option<Timestamp>,
    /// The newest time inside it.
    pub active_at: Option<Timestamp>,
    /// What a person typed, counted.
    pub prompts: Option<u64>,
    /// Assistant messages, counted.
    pub replies: Option<u64>,
    /// The model that answered last.
    pub model: Option<&'a str>,
    /// The branch that it last worked on.
    pub git_branch: Option<&'a str>,
    /// The session that it came from.
    pub parent_id: Option<&'a str>,
    /// Where each copy of it was, the chosen one first.
    pub paths: Vec<String>,
    /// Every state of it that is in the archive, the oldest first.
    pub states: Vec<StateJson<'a>>,
}

/// One state of an archived session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchivedState", deny_unknown_fields)]
pub struct StateJson<'a> {
    /// Its number, for `restore --state`.
    pub state: u64,
    /// When it was archived.
    pub archived_at: Timestamp,
    /// On which machine.
    pub hostname: &'a str,
    /// By which version of this program.
    pub rejoin_version: &'a str,
    /// Whether it was in use then: `live`, `maybe` or `idle`.
    pub liveness: &'a str,
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub size_bytes: u64,
    /// Its manifest.
    pub manifest: PathJson<'a>,
}

fn newest(states: &[Snapshot]) -> Option<ArchivedJson<'_>> {
    Some(archived(states, &states.last()?.manifest))
}

fn archived<'a>(states: &'a [Snapshot], state: &'a Manifest) -> ArchivedJson<'a> {
    let Manifest { agent, id, facts, .. } = state;
    let dir =
        |dir: &'a Option<crate::format::path_text::PathText>| dir.as_ref().map(|dir| PathJson::from(dir.0.as_path()));
    ArchivedJson {
        agent: *agent,
        id,
        kind: facts.kind,
        title: facts.title.as_deref(),
        first_prompt: facts.first_prompt.as_deref(),
        launch_dir: dir(&facts.launch_dir),
        start_dir: dir(&facts.start_dir),
        last_dir: dir(&facts.last_dir),
        project: facts.project.as_deref(),
        created_at: facts.created_at,
        active_at: facts.active_at,
        prompts: facts.prompts,
        replies: facts.replies,
        model: facts.model.as_deref(),
        git_branch: facts.git_branch.as_deref(),
        parent_id: facts.parent_id.as_deref(),
        paths: paths(state),
        states: states.iter().map(state_json).collect(),
    }
}

fn paths(manifest: &Manifest) -> Vec<String> {
    let path = |at: &crate::archive::manifest::CopyAt| manifest.stores[at.store].0.join(&at.path);
    manifest.copies.iter().map(|at| path(at).to_string_lossy().into_owned()).collect()
}

fn state_json(snapshot: &Snapshot) -> StateJson<'_> {
    let Snapshot { path, manifest } = snapshot;
    StateJson {
        state: manifest.number,
        archived_at: manifest.archived_at,
        hostname: &manifest.hostname,
        rejoin_version: &manifest.rejoin_version,
        liveness: &manifest.facts.liveness,
        files: manifest.files().count(),
        size_bytes: manifest.size_bytes(),
        manifest: PathJson::from(path.as_path()),
    }
}

/// Says on a terminal what the table leaves out.
pub fn list_notes(list: &ArchivedList<'_>, env: &Env) -> Vec<String> {
    let mut notes = Vec::new();
    if list.sessions.is_empty() {
        notes.push(format!("No archived sessions found in {}.", env.tilde(list.archive.root())));
    }
    if list.beyond_limit > 0 {
        notes.push(format!("{} more beyond --limit.", list.beyond_limit));
    }
    if list.hidden > 0 {
        notes.push(format!(
            "{} not shown: sub-agents, empty sessions, and what their agent has archived itself; --all shows them.",
            list.hidden
        ));
    }
    notes
}

/// Writes one object.
pub fn list_json(out: &mut impl Write, list: &ArchivedList<'_>) -> io::Result<()> {
    let answer = ArchiveListJson {
        format_version: FORMAT_VERSION,
        kind: "archive-list",
        archive: PathJson::from(list.archive.root()),
        sessions: list.sessions.iter().filter_map(|states| newest(states)).collect(),
        hidden: list.hidden,
        beyond_limit: list.beyond_limit,
        problems: list.problems.iter().map(ProblemJson::from).collect(),
    };
    write_line(out, &answer)
}

/// Writes a header, a line a session, and a summary.
pub fn list_ndjson(out: &mut impl Write, list: &ArchivedList<'_>) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "archive-list" })?;
    list.sessions.iter().filter_map(|states| newest(states)).try_for_each(|session| write_line(out, &session))?;
    let rest = ArchiveListSummary {
        sessions: list.sessions.len(),
        hidden: list.hidden,
        beyond_limit: list.beyond_limit,
        problems: list.problems.iter().map(ProblemJson::from).collect(),
    };
    write_line(out, &SummaryLine { kind: "summary", rest })
}

/// What `show` says of an archived session.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// Every state of the session, the oldest first.
    pub states: &'a [Snapshot],
    /// The one that is shown.
    pub state: &'a Manifest,
}

/// The answer of `show` for an archived session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchivedSession", deny_unknown_fields)]
pub struct ArchivedSessionJson<'a, M> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `archived-session`.
    pub kind: &'a str,
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The session, as it was in the state that is shown.
    pub session: ArchivedJson<'a>,
    /// Everything in that state.
    pub entries: Vec<EntryJson<'a>>,
    /// The messages that were asked for, in order; `null` when none were.
    pub messages: M,
}

/// A file, a directory or a link of an archived session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchivedEntry", deny_unknown_fields)]
pub struct EntryJson<'a> {
    /// Where it was.
    pub path: String,
    /// `own`, `shared` (by all copies of the session) or `companion` (there for other sessions too).
    pub role: &'a str,
    /// `file`, `dir` or `link`.
    #[serde(rename = "type")]
    pub node: &'a str,
    /// Its bytes; `null` unless it is a file.
    pub size_bytes: Option<u64>,
    /// The SHA-256 of its content; `null` unless it is a file.
    pub sha256: Option<&'a str>,
    /// Its permissions.
    pub mode: u32,
    /// When it was modified.
    pub modified_at: Option<Timestamp>,
}

fn entry<'a>(manifest: &Manifest, entry: &'a Entry) -> EntryJson<'a> {
    let (node, size_bytes, sha256) = match &entry.node {
        Node::File { size, sha256, .. } => ("file", Some(*size), Some(sha256.as_str())),
        Node::Dir => ("dir", None, None),
        Node::Link { .. } => ("link", None, None),
    };
    let role = match entry.role {
        Role::Own => "own",
        Role::Shared => "shared",
        Role::Companion => "companion",
    };
    let (seconds, nanoseconds) = entry.modified;
    EntryJson {
        path: manifest.original(entry).to_string_lossy().into_owned(),
        role,
        node,
        size_bytes,
        sha256,
        mode: entry.mode,
        modified_at: i32::try_from(nanoseconds).ok().and_then(|nano| Timestamp::new(seconds, nano).ok()),
    }
}

/// Writes what the manifest says.
pub fn show_text(out: &mut impl Write, env: &Env, styles: &Styles, shown: &Shown<'_>) -> io::Result<()> {
    let session = archived(shown.states, shown.state);
    let Styles { strong, faint, .. } = styles;
    writeln!(out, "{} {strong}{}{strong:#}", session.agent, text::one_line(session.id))?;
    let mut line = |name: &str, value: &str| writeln!(out, "  {faint}{name:<12}{faint:#}  {}", text::one_line(value));
    let time = |at: Option<Timestamp>| at.map(|at| format!("{at}, {}", text::ago(Some(at), env.now)));
    let dir = |dir: Option<PathJson<'_>>| dir.map(|dir| dir.path.into_owned());
    let messages = session.prompts.zip(session.replies);
    let fields = [
        ("title", session.title.map(str::to_owned)),
        ("first prompt", session.first_prompt.map(|prompt| text::truncated(&text::one_line(prompt), 300).into_owned())),
        ("kind", Some(session.kind.name().to_owned())),
        ("parent", session.parent_id.map(str::to_owned)),
        ("launch dir", dir(session.launch_dir)),
        ("started in", dir(session.start_dir)),
        ("last in", dir(session.last_dir)),
        ("created", time(session.created_at)),
        ("active", time(session.active_at)),
        ("messages", messages.map(|(prompts, replies)| format!("{prompts} prompts, {replies} replies"))),
        ("model", session.model.map(str::to_owned)),
        ("git branch", session.git_branch.map(str::to_owned)),
    ];
    line("archived in", &env.tilde(shown.archive.root()))?;
    for (name, value) in fields {
        if let Some(value) = value {
            line(name, &value)?;
        }
    }
    for path in &session.paths {
        line("was in", path)?;
    }
    for state in &session.states {
        let StateJson { state, archived_at, hostname, files, size_bytes, .. } = state;
        let size = text::size(*size_bytes);
        line("state", &format!("{state}: archived at {archived_at} on {hostname}, {files} files, {size}"))?;
    }
    line("restore", &format!("rejoin restore {}:{}", session.agent, session.id))
}

/// Writes one object.
pub fn show_json(out: &mut impl Write, shown: &Shown<'_>, messages: impl Serialize) -> io::Result<()> {
    let entries = shown.state.entries.iter().map(|at| entry(shown.state, at)).collect();
    write_line(out, &ArchivedSessionJson { entries, ..answer(shown, messages) })
}

/// Writes the answer without its entries, a line an entry, and a summary.
pub fn show_ndjson(out: &mut impl Write, shown: &Shown<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct Summary {
        entries: usize,
    }
    let entries = &shown.state.entries;
    show_head(out, shown)?;
    entries.iter().try_for_each(|at| write_line(out, &entry(shown.state, at)))?;
    write_line(out, &SummaryLine { kind: "summary", rest: Summary { entries: entries.len() } })
}

/// Writes the answer without its entries and messages, as the first of several lines.
pub fn show_head(out: &mut impl Write, shown: &Shown<'_>) -> io::Result<()> {
    write_line(out, &answer(shown, ()))
}

fn answer<'a, M>(shown: &Shown<'a>, messages: M) -> ArchivedSessionJson<'a, M> {
    ArchivedSessionJson {
        format_version: FORMAT_VERSION,
        kind: "archived-session",
        archive: PathJson::from(shown.archive.root()),
        session: archived(shown.states, shown.state),
        entries: Vec::new(),
        messages,
    }
}

/// The answer of `archive --verify`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveVerify", deny_unknown_fields)]
pub struct VerifyJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `archive-verify`.
    pub kind: &'a str,
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// What is wrong.
    pub faults: Vec<FaultJson<'a>>,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields say it")]
    pub summary: VerifySummary,
}

/// What was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifySummary {
    /// How many sessions there are.
    pub sessions: usize,
    /// How many states of them.
    pub states: usize,
    /// How many blobs they need.
    pub blobs: usize,
    /// What the sound ones take on the disk, in bytes.
    pub stored_bytes: u64,
    /// How many files nothing needs: what a run that was cut off left, for the next to remove.
    pub unneeded_files: usize,
}

/// Something in the archive that is not what it was.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveFault", deny_unknown_fields)]
pub struct FaultJson<'a> {
    /// `damaged-manifest`, `damaged-blob` or `missing-blob`.
    pub code: &'a str,
    /// The file in the archive.
    pub path: PathJson<'a>,
    /// What is wrong with it.
    pub reason: &'a str,
    /// The files of sessions that cannot be put back because of it.
    pub hurt: Vec<HurtJson<'a>>,
}

/// A file of a session that cannot be put back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hurt", deny_unknown_fields)]
pub struct HurtJson<'a> {
    /// Whose session.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Which state of it.
    pub state: u64,
    /// Where the file was.
    pub path: PathJson<'a>,
}

fn fault_json(fault: &Fault) -> FaultJson<'_> {
    let hurt = fault.hurt.iter().map(|hurt| HurtJson {
        agent: hurt.agent,
        id: &hurt.id,
        state: hurt.number,
        path: PathJson::from(hurt.path.as_path()),
    });
    FaultJson {
        code: fault.kind.name(),
        path: PathJson::from(fault.path.as_path()),
        reason: &fault.reason,
        hurt: hurt.collect(),
    }
}

fn verify_summary(verdict: &Verdict) -> VerifySummary {
    VerifySummary {
        sessions: verdict.sessions,
        states: verdict.snapshots,
        blobs: verdict.blobs,
        stored_bytes: verdict.stored_bytes,
        unneeded_files: verdict.unneeded,
    }
}

/// Writes what is damaged, and a summary.
pub fn verdict_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    archive: &Archive,
    verdict: &Verdict,
) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    for fault in &verdict.faults {
        let path = env.tilde(&fault.path);
        let (code, reason) = (fault.kind.name(), text::one_line(&fault.reason));
        writeln!(out, "{warning}{code}{warning:#}  {}  {reason}", text::one_line(&path))?;
        for hurt in &fault.hurt {
            let (id, path) = (text::one_line(&hurt.id), env.tilde(&hurt.path));
            writeln!(
                out,
                "      {faint}{} {id}, state {}: {}{faint:#}",
                hurt.agent,
                hurt.number,
                text::one_line(&path)
            )?;
        }
    }
    let hurt: BTreeSet<_> = verdict.faults.iter().flat_map(|fault| &fault.hurt).map(|at| (at.agent, &at.id)).collect();
    for (agent, id) in hurt {
        let id = text::one_line(id);
        writeln!(out, "{faint}`rejoin archive --full {agent}:{id}` mends what that session still has.{faint:#}")?;
    }
    let VerifySummary { sessions, states, blobs, stored_bytes, unneeded_files } = verify_summary(verdict);
    let verdict = match verdict.faults.len() {
        0 => "everything is as it was written".to_owned(),
        1 => "1 fault".to_owned(),
        faults => format!("{faults} faults"),
    };
    let dir = env.tilde(archive.root());
    let size = text::size(stored_bytes);
    writeln!(
        out,
        "{sessions} sessions in {states} states, {blobs} blobs, {size} in {}: {verdict}.",
        text::one_line(&dir)
    )?;
    if unneeded_files > 0 {
        writeln!(
            out,
            "{faint}{unneeded_files} files are not needed; the next `rejoin archive` removes them.{faint:#}"
        )?;
    }
    Ok(())
}

/// Writes one object.
pub fn verdict_json(out: &mut impl Write, archive: &Archive, verdict: &Verdict) -> io::Result<()> {
    let answer = VerifyJson {
        format_version: FORMAT_VERSION,
        kind: "archive-verify",
        archive: PathJson::from(archive.root()),
        faults: verdict.faults.iter().map(fault_json).collect(),
        summary: verify_summary(verdict),
    };
    write_line(out, &answer)
}

/// Writes a header, a line a fault, and a summary.
pub fn verdict_ndjson(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "archive-verify" })?;
    verdict.faults.iter().try_for_each(|fault| write_line(out, &fault_json(fault)))?;
    write_line(out, &SummaryLine { kind: "summary", rest: verify_summary(verdict) })
}
