//! The plan or the outcome of `move`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::change::outcome::ItemResult;
use crate::change::plan::change::{Change, Item, Unplanned};
use crate::change::relocation::MOVED;
use crate::change::relocation::map_file::{Proposal, quoted};
use crate::format::command_line::all_in_home;
use crate::format::text;
use crate::session::AgentKind;
use crate::session::mapping::Mapping;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{apply_hint, item_text, not_planned, steps_text, undo_hint, undo_in_line};
use crate::view::render::doctor::FEW;
use crate::view::render::json::change::{ChangeJson, Report};
use crate::view::render::json::details::{Details, DirectoryJson, MoveDetails};
use crate::view::ui::Styles;

/// A move, and its outcome.
pub(crate) struct MoveReport<'a> {
    /// The change.
    pub report: Report<'a>,
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

impl Answer for MoveReport<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let pairs = self.mapping.pairs().iter();
        let directories = pairs.map(|(from, to)| DirectoryJson { from: text(from), to: text(to) }).collect();
        let (kind, document) = self.report.document(Some(Details::Move(MoveDetails { directories })));
        (kind, ChangeJson { not_planned: self.left.to_vec(), ..document })
    }

    /// Writes the sessions by directory and agent, in a plan with their paths, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let is_plan = self.report.outcome.is_none();
        let mut groups = Groups::default();
        for (item, done) in self.report.items() {
            match done {
                Some(ItemResult::Done) | None if item.code == MOVED => groups.item(out, env, styles, item, is_plan)?,
                Some(ItemResult::Done) => {}
                _ => {
                    groups.end(out, styles)?;
                    item_text(out, env, styles, item, done, "move")?;
                }
            }
        }
        groups.end(out, styles)?;
        not_planned(out, styles, self.left)?;
        if is_plan && self.report.change.items.is_empty() {
            return writeln!(out, "No session can move{}.", self.staying());
        }
        if is_plan {
            writeln!(out, "{} would move{}. Nothing was changed.", self.moving(), self.staying())?;
            return apply_hint(out, env, styles, self.report.change);
        }
        writeln!(out, "{} moved{}.", self.moving(), self.staying())?;
        undo_hint(out, self.report.run(), None, env, styles)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        not_planned(out, styles, self.left)?;
        self.report.undone_text(out, env, styles)?;
        let undo = undo_in_line(self.report.run(), None, env);
        writeln!(out, "rejoin move: {} moved{}.{undo}", self.moving(), self.staying())
    }
}

impl MoveReport<'_> {
    /// Counts the sessions that move or have moved.
    fn moving(&self) -> String {
        let is_moving = |(item, done): &(&Item, Option<&ItemResult>)| {
            item.code == MOVED && done.is_none_or(|done| *done == ItemResult::Done)
        };
        text::count(self.report.items().filter(is_moving).count(), "session")
    }

    /// Counts the sessions that stay.
    fn staying(&self) -> String {
        if self.left.is_empty() { String::new() } else { format!(", {} left", self.left.len()) }
    }
}

/// The sessions of one agent that move for one reason, as they are written: the reason once, a few sessions, and a count.
#[derive(Default)]
struct Groups<'a> {
    /// The group, and the number of its sessions so far.
    current: Option<(AgentKind, &'a str, usize)>,
    /// The reason of the last group.
    reason: Option<&'a str>,
}

impl<'a> Groups<'a> {
    fn item(
        &mut self,
        out: &mut impl Write,
        env: &Env,
        styles: &Styles,
        item: &'a Item,
        is_plan: bool,
    ) -> io::Result<()> {
        let Some((agent, _)) = item.about.session() else { return Ok(()) };
        let reason = &*item.reason;
        if self.current.is_none_or(|(other, because, _)| (other, because) != (agent, reason)) {
            self.end(out, styles)?;
            self.current = Some((agent, reason, 0));
        }
        if self.reason != Some(reason) {
            writeln!(out, "{}:", text::one_line(reason))?;
            self.reason = Some(reason);
        }
        let Some((.., count)) = &mut self.current else { return Ok(()) };
        *count += 1;
        if *count > FEW {
            return Ok(());
        }
        let verb = if is_plan { "would move" } else { "moved" };
        writeln!(out, "  {verb}  {}", text::one_line(&item.about.to_string()))?;
        if is_plan { steps_text(out, env, styles, item) } else { Ok(()) }
    }

    /// Writes the number of sessions of the group that were not named.
    fn end(&mut self, out: &mut impl Write, styles: &Styles) -> io::Result<()> {
        let faint = styles.faint;
        match self.current.take() {
            Some((agent, _, count)) if count > FEW => {
                writeln!(out, "      {faint}and {} more of {agent}{faint:#}", count - FEW)
            }
            _ => Ok(()),
        }
    }
}

/// Returns the lines above the question: the sessions that move by agent, and those that stay, each with the reason.
pub(crate) fn about(change: &Change, left: &[Unplanned], env: &Env) -> Vec<String> {
    let mut moving: BTreeMap<AgentKind, usize> = BTreeMap::new();
    for (agent, _) in change.items.iter().filter(|item| item.code == MOVED).filter_map(|item| item.about.session()) {
        *moving.entry(agent).or_default() += 1;
    }
    let moving: Vec<String> = moving.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
    let mut lines = text::flowed("Moving:", &moving, env.terminal.columns());
    let stays = |Unplanned { about, reason }: &Unplanned| {
        format!("Staying: {}  {}", text::one_line(about), text::one_line(reason))
    };
    lines.extend(left.iter().take(FEW).map(stays));
    if left.len() > FEW {
        lines.push(format!("and {} more stay", left.len() - FEW));
    }
    lines
}
