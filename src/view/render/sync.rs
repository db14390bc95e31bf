//! The plan or the result of `sync`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::archive::Archive;
use crate::archive::sync::{IN_DATABASE, IN_USE, Left};
use crate::archive::write::Item;
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::format::command_line::in_home;
use crate::format::path_json::PathJson;
use crate::format::{shell, text};
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::archive::item_json;
use crate::view::render::change::{not_done, undo_hint, undo_in_line};
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, Report, Totals};
use crate::view::render::json::details::{Details, SyncDetails};
use crate::view::render::table;
use crate::view::ui::Styles;

/// Maximum columns of a title.
const TITLE: usize = 50;

/// A session that comes here.
#[derive(Clone, Debug)]
pub(crate) struct BroughtRow {
    /// The machine that continued it.
    pub machine: String,
    /// Set if this machine did not have it.
    pub is_new: bool,
    /// The session as that machine archived it.
    pub session: Session,
}

/// A session that stays as it is, although another machine has another state of it.
#[derive(Clone, Debug)]
pub(crate) struct LeftRow {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// Its full id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Set if this machine has it.
    pub is_here: bool,
    /// The reason.
    pub left: Left,
}

impl LeftRow {
    /// Makes the row of a session that is here.
    pub(crate) fn of(session: &Session, left: Left) -> Self {
        Self {
            agent: session.agent,
            id: session.id().to_owned(),
            title: Some(table::title(session)),
            is_here: true,
            left,
        }
    }

    /// Returns whether this is normal, and may be different at the next sync.
    pub(crate) fn is_usual(&self) -> bool {
        [IN_USE, IN_DATABASE].contains(&self.left.code)
    }

    /// Returns the selector of the session for a shell.
    fn selector(&self) -> String {
        shell::word(&format!("{}:{}", self.agent, self.id)).into_owned()
    }

    fn label(&self) -> String {
        let title = self.title.iter().map(|title| format!("  {}", text::truncated(title, TITLE))).collect::<String>();
        format!("{} {}{title}", self.agent, self.id)
    }
}

/// A sync and its result.
pub(crate) struct Syncing<'a> {
    /// The archive's directory.
    pub dir: &'a Path,
    /// The sessions that go into it.
    pub sent: &'a [Item<'a>],
    /// The files that come here, and the result.
    pub report: Report<'a>,
    /// The session of each item of `report`.
    pub brought: &'a [BroughtRow],
    /// The sessions that stay as they are.
    pub left: &'a [LeftRow],
    /// The number of sessions of other machines that were deleted here.
    pub deleted: usize,
    /// The number of sessions that are the same as in the archive.
    pub unchanged: usize,
}

impl Answer for Syncing<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let is_plan = self.report.outcome.is_none();
        let details = SyncDetails {
            archive: PathJson::from(self.dir),
            stored_bytes: self.sent.iter().map(|item| item.stored_bytes).sum(),
            unchanged: self.unchanged,
            deleted: self.deleted,
            followed: self.report.followed,
        };
        let (kind, brought) = self.report.document(Some(Details::Sync(details)));
        let (sent, items) = (self.sent, brought.items);
        let came = items.len();
        let results = sent.iter().map(|item| &item.done);
        let totals = Totals::of(results, is_plan).plus(&brought.totals);
        let items = List::counted(came + sent.len(), move |at| match at.checked_sub(came) {
            None => items.item(at),
            Some(at) => item_json(&sent[at], is_plan),
        });
        let not_planned = self
            .left
            .iter()
            .map(|row| Unplanned { about: format!("{} {}", row.agent, row.id), reason: row.left.reason.clone() });
        (kind, ChangeJson { items, totals, not_planned: not_planned.collect(), ..brought })
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let is_plan = self.report.outcome.is_none();
        for item in self.sent.iter().filter(|item| item.done != ItemResult::Unchanged) {
            let label = format!("{} {}", item.session.agent, item.session.id());
            if !not_done(out, styles, &label, &item.done)? {
                row(
                    out,
                    env,
                    styles,
                    if is_plan { "would archive" } else { "archived" },
                    item.session,
                    &text::size(item.size_bytes),
                )?;
            }
        }
        for (at, brought) in self.brought.iter().enumerate() {
            let (item, done) = self.report.item(at);
            let is_done = !done.map_or(Ok(false), |done| not_done(out, styles, &item.about.to_string(), done))?;
            let verb = match (is_plan, brought.is_new) {
                (true, true) => "would bring",
                (true, false) => "would update",
                (false, true) => "new",
                (false, false) => "updated",
            };
            if is_done {
                row(out, env, styles, verb, &brought.session, &format!("from {}", brought.machine))?;
            }
        }
        self.left_text(out, styles)?;
        writeln!(out, "{}", self.sentence(env))?;
        self.hint(out, env, styles)?;
        undo_hint(out, self.report.run(), self.report.followed, env, styles)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let faults = self.left.iter().any(|row| !row.is_usual());
        let is_news =
            self.sent.iter().any(|item| item.done != ItemResult::Unchanged) || !self.brought.is_empty() || faults;
        self.left_text(out, styles)?;
        if is_news {
            let undo = undo_in_line(self.report.run(), self.report.followed, env);
            writeln!(out, "rejoin sync: {}{undo}", self.sentence(env))?;
        }
        Ok(())
    }
}

impl Syncing<'_> {
    fn left_text(&self, out: &mut impl Write, styles: &Styles) -> io::Result<()> {
        let warning = styles.warning;
        self.left.iter().try_for_each(|row| {
            writeln!(
                out,
                "{warning}left{warning:#}  {}: {}",
                text::one_line(&row.label()),
                text::one_line(&row.left.reason)
            )
        })
    }

    /// Names the commands for the first session whose other state can be taken here.
    fn hint(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let faint = styles.faint;
        let Some((row, state)) = self.left.iter().find_map(|row| Some((row, row.left.state.as_ref()?))) else {
            return Ok(());
        };
        let (name, dir) = (row.selector(), Archive::option(self.dir, env));
        let command = |text: String| in_home(&text, &env.invocation.elsewhere).into_owned();
        // The agent starts in a directory that only the archive names.
        let (via_agent, trust) = if row.left.is_in_database { (" --via-agent", " --trust") } else { ("", "") };
        let show = command(format!("rejoin show --archived {name} --state {state}{dir}"));
        let delete = command(format!("rejoin delete {name}{via_agent}"));
        let restore = command(format!("rejoin restore {name} --state {state}{trust}{dir}"));
        let first = if row.is_here { format!("`{delete}`, then ") } else { String::new() };
        let here = format!("To continue that one here: {first}`{restore}`.");
        writeln!(out, "{faint}`{show}` shows the other state. {here}{faint:#}")
    }

    /// Summarizes the outcome in one sentence.
    pub(crate) fn sentence(&self, env: &Env) -> String {
        let is_plan = self.report.outcome.is_none();
        let count = |is_new: bool| {
            let rows = self.brought.iter().enumerate().filter(|(_, row)| row.is_new == is_new);
            rows.filter(|(at, _)| matches!(self.report.item(*at).1, None | Some(ItemResult::Done))).count()
        };
        let sent = self.sent.iter().filter(|item| item.done == ItemResult::Done).count();
        let failed = self.sent.len() - self.sent.iter().filter(|item| item.done.why().is_none()).count()
            + self.report.items().filter(|(_, done)| done.is_some_and(|done| done.why().is_some())).count();
        let words = if is_plan {
            [(sent, "to archive"), (count(true), "to bring here"), (count(false), "to update")]
        } else {
            [(sent, "archived"), (count(true), "new here"), (count(false), "updated")]
        };
        let mut parts: Vec<String> = words.iter().map(|(count, what)| format!("{count} {what}")).collect();
        let further = [(self.left.len(), "left as they are"), (failed, "not done")];
        parts.extend(further.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
        let mut sentence = format!("{}, {} unchanged, with {}.", parts.join(", "), self.unchanged, env.tilde(self.dir));
        if self.deleted > 0 {
            let deleted = text::count(self.deleted, "session");
            sentence.push_str(&format!(" {deleted} deleted here before; --restore-deleted brings such sessions back."));
        }
        text::one_line(&sentence).into_owned()
    }
}

fn row(out: &mut impl Write, env: &Env, styles: &Styles, verb: &str, session: &Session, more: &str) -> io::Result<()> {
    let faint = styles.faint;
    let (label, title) = (format!("{} {}", session.agent, session.id()), table::title(session));
    let title = text::truncated(&title, env.terminal.room(TITLE));
    writeln!(out, "{verb}  {}  {title}  {faint}({}){faint:#}", text::one_line(&label), text::one_line(more))
}
