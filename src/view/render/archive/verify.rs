//! The check of an archive, and the damage that it found.

use std::collections::BTreeSet;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::Archive;
use crate::archive::verify::{Fault, Verdict};
use crate::format::command_line::in_home;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::PathJson;
use crate::view::ui::Styles;

/// The result of checking an archive.
pub(crate) struct Verified<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The verdict.
    pub verdict: &'a Verdict,
}

/// The answer of `archive --verify`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ArchiveVerify", deny_unknown_fields)]
pub(crate) struct VerifyJson<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// Damage that was found.
    pub faults: List<'a, FaultJson<'a>>,
    /// Number of sessions.
    pub sessions: usize,
    /// Number of states.
    pub states: usize,
    /// Number of blobs that the states need.
    pub blobs: usize,
    /// Bytes on the disk of the intact blobs and the manifests.
    pub stored_bytes: u64,
    /// Number of files that nothing needs, which an interrupted run left and the next one removes.
    pub unneeded_files: usize,
}

/// Something in the archive that has changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveFault", deny_unknown_fields)]
pub(crate) struct FaultJson<'a> {
    /// `damaged-manifest`, `damaged-blob` or `missing-blob`.
    pub code: &'a str,
    /// The file in the archive.
    pub path: PathJson<'a>,
    /// The reason.
    pub reason: &'a str,
    /// Files of sessions that cannot be restored because of it.
    pub hurt: Vec<HurtJson<'a>>,
}

/// A file of a session that cannot be restored.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hurt", deny_unknown_fields)]
pub(crate) struct HurtJson<'a> {
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// The number of the state.
    pub state: u64,
    /// The original path of the file.
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

impl Answer for Verified<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let Verdict { sessions, snapshots, blobs, stored_bytes, ref faults, unneeded } = *self.verdict;
        let fields = VerifyJson {
            archive: PathJson::from(self.archive.root()),
            faults: List::of(faults, fault_json),
            sessions,
            states: snapshots,
            blobs,
            stored_bytes,
            unneeded_files: unneeded,
        };
        ("archive-verify", fields)
    }

    /// Writes the damaged files, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Self { archive, verdict } = self;
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
        let hurt: BTreeSet<_> =
            verdict.faults.iter().flat_map(|fault| &fault.hurt).map(|at| (at.agent, &at.id)).collect();
        for (agent, id) in hurt {
            let id = text::one_line(id);
            let command = format!("rejoin archive --full {agent}:{id}");
            let command = in_home(&command, &env.invocation.elsewhere);
            writeln!(out, "{faint}`{command}` repairs what that session still has.{faint:#}")?;
        }
        let Verdict { sessions, snapshots: states, blobs, stored_bytes, unneeded, .. } = verdict;
        let verdict = match verdict.faults.len() {
            0 => "no damage found".to_owned(),
            faults => text::count(faults, "fault"),
        };
        let dir = env.tilde(archive.root());
        let size = text::size(*stored_bytes);
        writeln!(
            out,
            "{} in {}, {}, {size} in {}: {verdict}.",
            text::count(*sessions, "session"),
            text::count(*states, "state"),
            text::count(*blobs, "blob"),
            text::one_line(&dir)
        )?;
        if *unneeded > 0 {
            let files = text::count(*unneeded, "unneeded file");
            writeln!(out, "{faint}The next `rejoin archive` removes {files}.{faint:#}")?;
        }
        Ok(())
    }
}
