//! The plan or the outcome of `move`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::change::plan::change::{Change, Unplanned};
use crate::change::relocation::MOVED;
use crate::change::relocation::map_file::{Proposal, quoted};
use crate::format::command_line::all_in_home;
use crate::format::text;
use crate::session::AgentKind;
use crate::session::mapping::Mapping;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{ChangeText, MANY};
use crate::view::render::json::change::ChangeReport;
use crate::view::render::json::details::{CommandMembers, DirectoryJson, MoveDetails};
use crate::view::ui::Styles;

/// A move, and its outcome.
pub(crate) struct MoveReport<'a> {
    /// The change.
    pub report: ChangeReport<'a>,
    /// The old and the new directories.
    pub mapping: &'a Mapping,
    /// Sessions that stay where they are, each with the reason.
    pub left: &'a [Unplanned],
}

/// The answer of `move --detect`.
#[derive(Serialize)]
pub(crate) struct MoveMap {
    /// The directories that are gone.
    pub directories: Vec<Proposal>,
}

impl Answer for MoveMap {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("move-map", self)
    }

    fn is_literal(&self) -> bool {
        true
    }

    /// Writes the file that `move --apply` reads.
    fn table(&self, out: &mut impl Write, env: &Env, _styles: &Styles) -> io::Result<()> {
        if self.directories.is_empty() {
            return writeln!(out, "# The directory of every session exists.");
        }
        let how = "Save this with `rejoin move --detect > moves`, edit it, and run `rejoin move --apply moves`.";
        writeln!(out, "# {}", text::unbroken(&all_in_home(how, &env.invocation.elsewhere)))?;
        for Proposal { from, to, sessions, why } in &self.directories {
            let what = text::count(*sessions, "session");
            let reason = if why.is_empty() { String::new() } else { format!("; {}", text::one_line(why)) };
            let pair = to.as_deref().and_then(|to| Some((quoted(from)?, quoted(to)?)));
            match pair {
                Some((from, to)) => writeln!(out, "{from} -> {to}  # {what}{reason}")?,
                None => {
                    let from = quoted(from).unwrap_or_else(|| text::one_line(&from.to_string_lossy()).into_owned());
                    writeln!(out, "# {from} -> \"NEW_DIR\"  # {what}{reason}")?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> MoveReport<'a> {
    /// Returns the answer.
    pub(crate) fn answer(&self, env: &Env) -> ChangeText<'a> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let pairs = self.mapping.pairs().iter();
        let directories = pairs.map(|(from, to)| DirectoryJson { from: text(from), to: text(to) }).collect();
        let mut text = self.report.text(Some(CommandMembers::Move(MoveDetails { directories })), self.left, env);
        text.summary.add_left(self.left.len());
        text
    }
}

/// Describes the sessions that move, by agent.
pub(crate) fn moving(change: &Change, env: &Env) -> Vec<String> {
    let mut moving: BTreeMap<AgentKind, usize> = BTreeMap::new();
    for (agent, _) in change.items.iter().filter(|item| item.code == MOVED).filter_map(|item| item.about.session()) {
        *moving.entry(agent).or_default() += 1;
    }
    let moving: Vec<String> = moving.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
    if moving.is_empty() { Vec::new() } else { text::flowed("Moving:", &moving, env.terminal.columns()) }
}

/// Describes the sessions that stay, each with the reason, above the question.
pub(crate) fn staying(left: &[Unplanned]) -> impl Iterator<Item = String> + '_ {
    let stays = left
        .iter()
        .take(MANY)
        .map(|Unplanned { about, reason }| format!("Staying: {}  {}", text::one_line(about), text::one_line(reason)));
    let more = left.len().checked_sub(MANY).filter(|more| *more > 0).map(|more| format!("and {more} more stay"));
    stays.chain(more)
}
