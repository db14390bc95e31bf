//! Whether the archive is sound, and what is hurt.

use std::collections::BTreeSet;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::Archive;
use crate::archive::verify::{Fault, Verdict};
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::archive::SummaryLine;
use crate::view::render::json::{FORMAT_VERSION, HeaderJson, PathJson};
use crate::view::render::write_line;
use crate::view::ui::Styles;

/// The answer of `archive --verify`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveVerify", deny_unknown_fields)]
pub(crate) struct VerifyJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `archive-verify`.
    pub kind: &'a str,
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// What is wrong.
    pub faults: Vec<FaultJson<'a>>,
    #[serde(flatten)]
    pub summary: VerifySummary,
}

/// What was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifySummary {
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
pub(crate) struct FaultJson<'a> {
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
pub(crate) struct HurtJson<'a> {
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
pub(crate) fn verdict_text(
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
pub(crate) fn verdict_json(out: &mut impl Write, archive: &Archive, verdict: &Verdict) -> io::Result<()> {
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
pub(crate) fn verdict_ndjson(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "archive-verify" })?;
    verdict.faults.iter().try_for_each(|fault| write_line(out, &fault_json(fault)))?;
    write_line(out, &SummaryLine { kind: "summary", rest: verify_summary(verdict) })
}
