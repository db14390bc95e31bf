//! The one renderer of changes: each command that changes something fills in a [`ChangeText`], and all are written alike.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::change::plan::change::{Contents, Step, Unplanned};
use crate::format::command_line::{self, all_in_home, in_home};
use crate::format::text;
use crate::session::AgentKind;
use crate::session::select::short_among;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::json::change::{ChangeJson, ItemJson, ShownItem, Totals};
use crate::view::render::write_lines;
use crate::view::ui::Styles;

/// Maximum items, and sessions that stay, that a terminal shows by default.
pub(super) const MANY: usize = 10;
/// Maximum columns of a title on a terminal.
const TITLE: usize = 60;

/// The nouns and verbs with which a command reports its items.
pub(super) struct ReportWords {
    /// The verb for an item of a plan.
    would: &'static str,
    /// The verb for an item that was done.
    pub did: &'static str,
    /// The noun for its items.
    pub unit: &'static str,
    /// Set to show the size of an item.
    has_sizes: bool,
    /// Set to show the paths of an item. A cleanup does not: it has many items, and removes all paths of each.
    has_paths: bool,
}

impl ReportWords {
    pub(super) fn for_verb(verb: &str) -> Self {
        let (would, did, unit) = match verb {
            "archive" => ("archive", "archived", "session"),
            "backfill" => ("record", "recorded", "directory"),
            "cleanup" | "delete" => ("remove", "removed", "session"),
            "doctor --accept" => ("accept", "accepted", "check"),
            "doctor --fix" => ("repair", "repaired", "problem"),
            "move" => ("move", "moved", "session"),
            "pin" => ("pin", "pinned", "session"),
            "pin --remove" => ("unpin", "unpinned", "session"),
            "rename" => ("rename", "renamed", "session"),
            "restore" => ("restore", "restored", "session"),
            "rewind" => ("make", "made", "session"),
            "sync" => ("bring", "brought", "session"),
            "tag" => ("tag", "tagged", "session"),
            "undo" => ("undo", "undone", "change"),
            _ => ("change", "changed", "item"),
        };
        Self { would, did, unit, has_sizes: did == "removed", has_paths: verb != "cleanup" }
    }

    /// Returns the verb for an item.
    pub(super) fn word(&self, is_plan: bool) -> Cow<'static, str> {
        if is_plan { format!("would {}", self.would).into() } else { self.did.into() }
    }
}

/// A plan or a result for users.
pub(crate) struct ChangeText<'a> {
    /// The document for scripts.
    pub document: ChangeJson<'a>,
    pub is_plan: bool,
    /// Set to show every item with its paths on a terminal, too; a pipe gets them all.
    pub is_whole: bool,
    /// Set if a result with a single item needs no summary.
    pub is_said_by_item: bool,
    /// Set if `--quiet` prints nothing.
    pub is_no_news: bool,
    /// Set if the summary is complete without the items.
    pub has_hidden_items: bool,
    /// Set if the items are complete without a summary.
    pub is_list: bool,
    /// Set if the lines for users are never wrapped.
    pub is_literal: bool,
    /// The lines of a diff, printed instead of all other text.
    pub difference: Vec<String>,
    /// Set if applying the plan would be refused, so that its fingerprint is useless.
    pub is_refused: bool,
    /// Items that are not changed, each with the reason; in JSON, some of them may be warnings.
    pub left: Vec<Unplanned>,
    /// Set if refused items are usual, so that `--quiet` does not report them.
    pub has_usual_refusals: bool,
    /// The option that shows every item.
    pub all_option: &'static str,
    /// Lines that a terminal shows in place of a plan's items.
    pub overview: &'a [String],
    pub summary: ChangeSummary,
    /// Sentences before the summary, and after it.
    pub notes: Vec<String>,
    pub hints: Vec<String>,
    /// The later run that continued the run of the document.
    pub followed: Option<&'a str>,
}

/// The last line: "3 sessions (claude 2, kimi 1) moved, 1 failed. Nothing was changed."
#[derive(Default)]
pub(crate) struct ChangeSummary {
    /// The subject, after which a terminal names the sessions of each agent.
    pub subject: String,
    /// The counts; empty if nothing happened.
    pub parts: Vec<String>,
    pub tail: String,
}

impl ChangeSummary {
    /// Adds a number of items that were not done.
    pub(super) fn add(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.parts.push(format!("{count} {what}"));
        }
    }

    /// Adds the number of sessions that are kept.
    pub(super) fn add_left(&mut self, count: usize) {
        self.add(count, if count == 1 { "left as it is" } else { "left as they are" });
    }

    fn sentence(&self, by_agent: &str) -> String {
        if self.parts.is_empty() {
            return format!("Nothing to do.{}", self.tail);
        }
        let blank = if self.subject.is_empty() { "" } else { " " };
        let clause = format!("{}{by_agent}{blank}{}", self.subject, self.parts.join(", "));
        text::one_line(&(text::sentence(&clause) + &self.tail)).into_owned()
    }
}

/// Writes an item, with its paths in lines below, unless the id is short.
fn item_text(
    out: &mut impl Write,
    (env, styles): (&Env, &Styles),
    item: &ItemJson<'_>,
    words: &ReportWords,
    short: Option<&str>,
) -> io::Result<()> {
    let is_whole = short.is_none();
    let Styles { faint, warning, .. } = styles;
    let ItemJson { code, reason, shown, .. } = item;
    let id = item.id.unwrap_or_default();
    let agent = item.agent.map(AgentKind::name).unwrap_or_default();
    let about = shown.about.clone().unwrap_or_else(|| format!("{agent} {id}").into());
    let about = match short {
        Some(short) if !id.is_empty() => about.replacen(id, short, 1).into(),
        _ => about,
    };
    let about = text::one_line(&about);
    let mut below = Vec::new();
    if let Some(why) = item.error {
        let why = all_in_home(why, &env.invocation.elsewhere);
        writeln!(out, "{warning}{}{warning:#}  {about}  {}", item.result, text::one_line(&why))?;
    } else {
        let size = words.has_sizes.then(|| text::size(item.size_bytes));
        let title = shown.title.as_deref().map(text::one_line);
        let title = title.as_deref().map(|title| text::truncated(title, env.terminal.room(TITLE)));
        let reason = || reason.map(|reason| format!("{code}: {reason}")).unwrap_or_default();
        let note = shown.note.clone().unwrap_or_else(reason);
        let note = Some(text::one_line(&note)).filter(|note| !note.is_empty());
        let note = note.map(|note| format!("{faint}({note}){faint:#}"));
        let word = shown.word.clone().unwrap_or_else(|| words.word(item.result == "planned"));
        let facts = [size.as_deref(), title.as_deref(), note.as_deref()].into_iter().flatten();
        let facts: String = facts.filter(|fact| !fact.is_empty()).map(|fact| format!("  {fact}")).collect();
        writeln!(out, "{word}  {about}{facts}")?;
        if is_whole && words.has_paths {
            below = steps(shown, env);
        }
    }
    below
        .iter()
        .chain(&shown.below)
        .try_for_each(|line| writeln!(out, "      {faint}{}{faint:#}", text::unbroken(line)))
}

/// Describes the paths of steps.
fn steps(shown: &ShownItem<'_>, env: &Env) -> Vec<String> {
    let ShownItem { steps, is_permanent, .. } = shown;
    let edited = steps.iter().filter_map(|step| match step {
        Step::Write { stamp: None, contents: Contents::Edited { from, .. }, .. } => Some(from.as_path()),
        _ => None,
    });
    // An edited copy at a new path names the old path in its own line.
    let shown: Vec<&Path> = edited.collect();
    let path = |path: &Path| text::one_line(&env.tilde(path)).into_owned();
    let line = |step: &Step| {
        let what = match step {
            Step::Trash { stamp, .. } if *is_permanent => format!("deleted permanently, {}", text::size(stamp.size)),
            Step::Trash { stamp, .. } => format!("to the trash, {}", text::size(stamp.size)),
            Step::Write { stamp: None, contents: Contents::Edited { from, .. }, .. } => {
                format!("from {}, with the new directory", path(from))
            }
            Step::Write { stamp: None, .. } => "new".to_owned(),
            Step::Write { .. } => "replaced, the old version goes to the trash".to_owned(),
            Step::MakeDir { .. } => "new directory".to_owned(),
            Step::Put { .. } => "restored".to_owned(),
            Step::Move { from, .. } => format!("from {}", path(from)),
        };
        format!("{}  ({what})", path(step.path()))
    };
    steps.iter().filter(|step| !shown.contains(&step.path())).map(line).collect()
}

impl<'a> ChangeText<'a> {
    /// Makes the text of a document, with a summary of its totals.
    pub(crate) fn new(document: ChangeJson<'a>, is_plan: bool) -> Self {
        let (words, Totals { planned, done, skipped, refused, failed, .. }) =
            (ReportWords::for_verb(document.verb), document.totals);
        let mut summary = ChangeSummary::default();
        if document.items.len() > 0 {
            summary.subject = text::count(if is_plan { planned } else { done }, words.unit);
            summary.parts.push(format!("{}{}", if is_plan { "would be " } else { "" }, words.did));
        }
        summary.add(skipped, "skipped");
        summary.add(refused, "refused");
        summary.add(failed, "failed");
        Self {
            left: document.not_planned.clone(),
            document,
            is_plan,
            is_whole: false,
            is_said_by_item: false,
            is_no_news: false,
            has_hidden_items: false,
            is_list: false,
            is_literal: false,
            difference: Vec::new(),
            is_refused: false,
            has_usual_refusals: false,
            all_option: "--all-items",
            overview: &[],
            summary,
            notes: Vec::new(),
            hints: Vec::new(),
            followed: None,
        }
    }

    /// Writes one item.
    fn item(&self, out: &mut impl Write, env: &Env, styles: &Styles, at: usize) -> io::Result<()> {
        item_text(out, (env, styles), &self.document.items.item(at), &ReportWords::for_verb(self.document.verb), None)
    }

    /// Writes one item in a line; a failed one has its whole id.
    fn line(&self, out: &mut impl Write, env: &Env, styles: &Styles, at: usize) -> io::Result<()> {
        let items = &self.document.items;
        let item = items.item(at);
        let id = item.id.unwrap_or_default();
        let others = (0..items.len()).filter_map(|other| items.item(other).id);
        let short = if item.error.is_some() { id } else { short_among(id, others) };
        item_text(out, (env, styles), &item, &ReportWords::for_verb(self.document.verb), Some(short))
    }

    /// Writes the items, those that are kept, and the summary.
    fn whole(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let faint = styles.faint;
        let is_screen = env.terminal.stdout && !self.is_whole;
        let mut by_agent = String::new();
        let mut is_one = false;
        if is_screen && self.is_plan && !self.overview.is_empty() {
            for line in self.overview {
                writeln!(out, "{}", text::unbroken(&all_in_home(line, &env.invocation.elsewhere)))?;
            }
            self.failed(out, env, styles, MANY)?;
            self.left_text(out, env, styles, MANY)?;
        } else if is_screen {
            (by_agent, is_one) = self.few(out, env, styles)?;
            self.left_text(out, env, styles, MANY)?;
        } else {
            let (items, totals) = (&self.document.items, &self.document.totals);
            let mut changed: Vec<usize> = (0..self.shown_items()).collect();
            if totals.unchanged > 0 {
                changed.retain(|at| items.item(*at).result != "unchanged");
            }
            write_lines(out, changed.len(), |at, out| self.item(out, env, styles, changed[at]))?;
            self.left_text(out, env, styles, usize::MAX)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "{faint}{}{faint:#}", text::one_line(note)))?;
        if !is_one {
            let is_change = self.is_plan && !self.is_no_news && !self.summary.parts.is_empty();
            let unchanged = if is_change { " Nothing was changed." } else { "" };
            writeln!(out, "{}{unchanged}", self.summary.sentence(&by_agent))?;
        }
        // Without an item that can be done, there is no fingerprint.
        let fingerprint = self
            .document
            .fingerprint
            .as_ref()
            .filter(|_| self.is_plan && !self.is_refused && self.document.totals.planned > 0);
        let apply = fingerprint.map(|it| format!("`{}` does exactly this.", command_line::apply(env, it)));
        let done = apply.or_else(|| self.undo(env));
        let hints = self.hints.iter().map(|hint| all_in_home(hint, &env.invocation.elsewhere).into_owned());
        done.into_iter().chain(hints).try_for_each(|hint| writeln!(out, "{faint}{}{faint:#}", text::unbroken(&hint)))
    }

    /// Returns the number of items that users see.
    fn shown_items(&self) -> usize {
        if self.has_hidden_items { 0 } else { self.document.items.len() }
    }

    /// Writes the items that were not done, and one line about the rest.
    fn short(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let is_usual = |item: &ItemJson<'_>| self.has_usual_refusals && item.result == "refused";
        let is_news = |item: &ItemJson<'_>| item.error.is_some() && !is_usual(item);
        let mut undone = (0..self.document.items.len()).filter(|at| is_news(&self.document.items.item(*at)));
        undone.try_for_each(|at| self.item(out, env, styles, at))?;
        self.left_text(out, env, styles, usize::MAX)?;
        if self.is_no_news || self.summary.parts.is_empty() {
            return Ok(());
        }
        // A script continues with the new session.
        if self.document.verb == "rewind" {
            let new = (0..self.document.items.len()).filter(|at| self.document.items.item(*at).result == "done");
            let mut ids = new.filter_map(|at| self.document.items.item(at).id);
            return ids.try_for_each(|id| writeln!(out, "{id}"));
        }
        let undo = self.undo(env).map(|undo| format!(" {undo}")).unwrap_or_default();
        writeln!(out, "rejoin {}: {}{undo}", self.document.verb, self.summary.sentence(""))
    }

    /// Writes the items of a plan, or the items that were not done and a single one that was, up to the number that a
    /// terminal shows. Returns the other sessions by agent, and whether no summary is needed.
    fn few(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<(String, bool)> {
        let mut agents: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut shown, mut others, mut done) = (Vec::new(), 0, Vec::new());
        for at in 0..self.shown_items() {
            let item = self.document.items.item(at);
            match item.result {
                "unchanged" => {}
                "done" => {
                    // Items without an agent are records that follow the sessions, and need no line.
                    if let Some(agent) = item.agent {
                        *agents.entry(agent.name()).or_default() += 1;
                        done.push(at);
                    }
                }
                // The reason of a failure is shown nowhere else.
                _ if shown.len() < MANY || !self.is_plan => shown.push(at),
                _ => others += 1,
            }
        }
        let is_one = done.len() == 1 && shown.is_empty();
        shown.extend(done.into_iter().filter(|_| is_one));
        shown.into_iter().try_for_each(|at| self.line(out, env, styles, at))?;
        self.more_text(out, styles, others)?;
        let counts: Vec<String> = agents.iter().map(|(agent, count)| format!("{agent} {count}")).collect();
        let by_agent = if counts.len() > 1 && !self.summary.subject.is_empty() {
            format!(" ({})", counts.join(", "))
        } else {
            String::new()
        };
        Ok((by_agent, is_one && self.is_said_by_item && self.left.is_empty()))
    }

    /// Writes the items of a plan that cannot be done, up to the number that a terminal shows.
    fn failed(&self, out: &mut impl Write, env: &Env, styles: &Styles, most: usize) -> io::Result<()> {
        let Totals { skipped, refused, failed, .. } = self.document.totals;
        if skipped + refused + failed == 0 {
            return Ok(());
        }
        let items = &self.document.items;
        let mut failed = (0..items.len()).filter(|at| items.item(*at).error.is_some());
        failed.by_ref().take(most).try_for_each(|at| self.line(out, env, styles, at))?;
        self.more_text(out, styles, failed.count())
    }

    fn left_text(&self, out: &mut impl Write, env: &Env, styles: &Styles, most: usize) -> io::Result<()> {
        let (warning, left) = (styles.warning, &self.left);
        for Unplanned { about, reason } in left.iter().take(most) {
            let reason = all_in_home(reason, &env.invocation.elsewhere);
            writeln!(out, "{warning}left{warning:#}  {}  {}", text::one_line(about), text::one_line(&reason))?;
        }
        self.more_text(out, styles, left.len().saturating_sub(most))
    }

    /// Writes the number of items that are not shown.
    fn more_text(&self, out: &mut impl Write, styles: &Styles, count: usize) -> io::Result<()> {
        let (faint, option) = (styles.faint, self.all_option);
        if count == 0 { Ok(()) } else { writeln!(out, "  {faint}and {count} more ({option} shows them){faint:#}") }
    }

    /// Names the later run first, because it must be undone before the run whose files it changed.
    fn undo(&self, env: &Env) -> Option<String> {
        let command = |run: &str| in_home(&format!("rejoin undo {run}"), &env.invocation.elsewhere).into_owned();
        match (self.document.run, self.followed) {
            (Some(run), Some(later)) => Some(format!("`{}` and then `{}` undo this.", command(later), command(run))),
            (None, Some(run)) | (Some(run), None) => Some(format!("`{}` undoes this.", command(run))),
            (None, None) => None,
        }
    }
}

impl Answer for ChangeText<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        (if self.is_plan { "change-plan" } else { "change-outcome" }, &self.document)
    }

    fn is_plan(&self) -> Option<bool> {
        Some(self.is_plan)
    }

    fn is_literal(&self) -> bool {
        self.is_literal
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { strong, faint, .. } = styles;
        if self.is_list {
            return write_lines(out, self.document.items.len(), |at, out| self.item(out, env, styles, at));
        }
        if self.difference.is_empty() {
            return self.whole(out, env, styles);
        }
        self.difference.iter().try_for_each(|line| {
            let style = if line.starts_with(['+', '-']) { strong } else { faint };
            writeln!(out, "{style}{}{style:#}", text::printable(line))
        })
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.short(out, env, styles)
    }
}
