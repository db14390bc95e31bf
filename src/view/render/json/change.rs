//! The one JSON document of every command that changes files: the plan, or its outcome.

use std::borrow::Cow;

use serde::Serialize;

use crate::agent;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::plan::change::{Change, ChangeItem, Handed, ItemSubject, Step, Unplanned};
use crate::change::relocation::MOVED;
use crate::cli::ChangeArgs;
use crate::session::AgentKind;
use crate::session::when::When;
use crate::view::render::items::ItemList;
use crate::view::render::json::details::{CommandMembers, ItemDetails};

/// The answer of a command that changes files.
#[derive(Serialize)]
pub(crate) struct ChangeJson<'a> {
    /// The command, such as `cleanup`, `doctor --fix` or `undo --purge`.
    pub verb: &'a str,
    /// Every item, in order.
    pub items: ItemList<'a, ItemJson<'a>>,
    /// Items that could not be planned and are not changed, each with the reason.
    pub not_planned: Vec<Unplanned>,
    /// Number of items per result.
    pub totals: Totals,
    /// A digest of the plan, for `--apply`; `null` if the command does not have that option.
    pub fingerprint: Option<String>,
    /// The run, for `rejoin undo`; `null` if nothing was changed, or nothing can be undone.
    pub run: Option<&'a str>,
    /// Warnings, one per element.
    pub warnings: Vec<String>,
    /// Members that only this command has; `null` for most.
    pub details: Option<CommandMembers<'a>>,
}

/// Number of items per result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Totals {
    /// Number of items that would be done; 0 in an outcome.
    pub planned: usize,
    /// Number of items that are done; 0 in a plan.
    pub done: usize,
    /// Number of items that are already as requested.
    pub unchanged: usize,
    /// Number of items that were skipped, because they changed after the plan was made.
    pub skipped: usize,
    /// Number of items that cannot be done.
    pub refused: usize,
    /// Number of items that failed.
    pub failed: usize,
    /// The bytes that were moved to the trash, or would be; with `--permanent` and in `undo --purge`, those that were
    /// deleted permanently.
    pub freed_bytes: u64,
}

impl Totals {
    /// Counts results.
    pub(crate) fn from_results<'r>(results: impl IntoIterator<Item = &'r ItemResult>, is_plan: bool) -> Self {
        let mut totals = Self::default();
        for result in results {
            *match result {
                ItemResult::Done if is_plan => &mut totals.planned,
                ItemResult::Done => &mut totals.done,
                ItemResult::Unchanged => &mut totals.unchanged,
                ItemResult::Skipped(_) => &mut totals.skipped,
                ItemResult::Refused(_) => &mut totals.refused,
                ItemResult::Failed(_) => &mut totals.failed,
            } += 1;
        }
        totals
    }
}

impl Totals {
    /// Adds other results.
    pub(crate) fn plus(self, other: &Self) -> Self {
        Self {
            planned: self.planned + other.planned,
            done: self.done + other.done,
            unchanged: self.unchanged + other.unchanged,
            skipped: self.skipped + other.skipped,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
            freed_bytes: self.freed_bytes + other.freed_bytes,
        }
    }
}

/// One item of a change.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ItemJson<'a> {
    /// The agent that the session belongs to; `null` if it is about no session.
    pub agent: Option<AgentKind>,
    /// The full id of the session; `null` if the item is about no session.
    pub id: Option<&'a str>,
    /// The stable name of the reason.
    pub code: &'a str,
    /// The reason; `null` if the command itself is the reason.
    pub reason: Option<&'a str>,
    /// The steps for each path, in order.
    pub steps: Vec<StepJson>,
    /// The command of the agent that carries it out; `null` if rejoin does.
    pub command: Option<&'a [String]>,
    /// The bytes that are moved to the trash; the size of its rows for a session that its agent removes, and of its
    /// files for an archived one.
    pub size_bytes: u64,
    /// `planned` in a plan, `done` in an outcome; `unchanged`: already as requested; `skipped`: changed since the plan;
    /// `refused`: not possible; `failed`.
    pub result: &'static str,
    /// The reason why the item was skipped, refused or failed; `null` if it was not.
    pub error: Option<&'a str>,
    /// Members that only items of this command have; `null` for most.
    pub details: Option<ItemDetails<'a>>,
    /// Parts for users only.
    #[serde(skip)]
    pub shown: ShownItem<'a>,
}

/// Parts of an item for users only.
#[derive(Debug, Default)]
pub(crate) struct ShownItem<'a> {
    /// The verb; `None` for that of the command.
    pub word: Option<Cow<'static, str>>,
    /// The subject; `None` for the agent and the id.
    pub about: Option<Cow<'a, str>>,
    /// The title.
    pub title: Option<Cow<'a, str>>,
    /// The reason; `None` for that of the item.
    pub note: Option<String>,
    /// The steps.
    pub steps: &'a [Step],
    /// Set if removed files are deleted instead of moved to the trash.
    pub is_permanent: bool,
    /// Further lines.
    pub below: Vec<String>,
}

/// One change to one path.
#[derive(Debug, Serialize)]
pub(crate) struct StepJson {
    /// `trash`, `write`, `make-dir`, `put` or `move`.
    pub action: &'static str,
    /// The path.
    pub path: String,
}

impl StepJson {
    /// Makes a step.
    pub(crate) fn new(action: &'static str, path: &std::path::Path) -> Self {
        Self { action, path: path.to_string_lossy().into_owned() }
    }
}

impl<'a> ItemJson<'a> {
    /// Makes an item with its result.
    pub(crate) fn new(
        session: Option<(AgentKind, &'a str)>,
        code: &'a str,
        result: &'a ItemResult,
        is_plan: bool,
    ) -> Self {
        Self {
            agent: session.map(|(agent, _)| agent),
            id: session.map(|(_, id)| id),
            code,
            result: if is_plan && *result == ItemResult::Done { "planned" } else { result.into() },
            error: result.why(),
            ..Self::default()
        }
    }
}

/// Returns the reason of an item if the user typed it; it is then shown in place of the title.
pub(crate) fn typed<'a>(code: &str, reason: &'a str) -> Option<&'a str> {
    ["title", "tag"].contains(&code).then_some(reason)
}

impl<'a> ChangeJson<'a> {
    /// Makes the document of a command whose items have these results.
    pub(crate) fn new(
        verb: &'a str,
        is_plan: bool,
        items: ItemList<'a, ItemJson<'a>>,
        results: impl IntoIterator<Item = &'a ItemResult>,
    ) -> Self {
        Self {
            verb,
            items,
            not_planned: Vec::new(),
            totals: Totals::from_results(results, is_plan),
            fingerprint: None,
            run: None,
            warnings: Vec::new(),
            details: None,
        }
    }
}

/// Parts of a report for users only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportExtras<'a> {
    /// Lines that a terminal shows in place of the items of a plan.
    pub overview: &'a [String],
    /// Set to show every item with its paths on a terminal, too.
    pub is_whole: bool,
    /// The time for which the trash is kept; `None` for that of the config file.
    pub trash_keep: Option<When>,
}

impl ReportExtras<'_> {
    /// Creates the parts that the options request.
    pub(crate) fn from_args(args: &ChangeArgs) -> Self {
        Self { is_whole: args.detail.all_items, ..Self::default() }
    }
}

/// A change, and its outcome if it was applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeReport<'a> {
    /// The change.
    pub change: &'a Change,
    /// The outcome; `None` for a plan.
    pub outcome: Option<&'a ChangeOutcome>,
    /// Set if files are deleted instead of moved to the trash.
    pub is_permanent: bool,
    /// The later run in which restored sessions got their directories; it is undone before the run of the outcome.
    pub followed: Option<&'a str>,
    /// The reasons why items of a plan cannot be done, in the order of the items; empty if all can.
    pub refused: &'a [Option<ItemResult>],
    /// Parts for users only.
    pub look: ReportExtras<'a>,
}

impl<'a> ChangeReport<'a> {
    /// Makes the report of a change whose removals go to the trash.
    pub(crate) fn new(change: &'a Change, outcome: Option<&'a ChangeOutcome>) -> Self {
        Self { change, outcome, is_permanent: false, followed: None, refused: &[], look: ReportExtras::default() }
    }

    /// Returns each item with its result, `None` in a plan.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&'a ChangeItem, Option<&'a ItemResult>)> {
        (0..self.change.items.len()).map(|at| self.item(at))
    }

    /// Returns one item with its result.
    pub(crate) fn item(&self, at: usize) -> (&'a ChangeItem, Option<&'a ItemResult>) {
        let done = match self.outcome {
            Some(outcome) => outcome.done.get(at),
            None => self.refused.get(at).and_then(Option::as_ref),
        };
        (&self.change.items[at], done)
    }

    /// Returns the sessions that agents remove, each with its result.
    pub(crate) fn handed(&self) -> impl Iterator<Item = (&'a Handed, Option<&'a ItemResult>)> + use<'a> {
        let outcome = self.outcome;
        let result = move |at: usize| outcome.and_then(|outcome| outcome.handed.get(at));
        self.change.handed.iter().enumerate().map(move |(at, one)| (one, result(at)))
    }

    /// Counts the items and the sessions that agents remove.
    pub(crate) fn totals(&self) -> Totals {
        let results = self.items().map(|(_, done)| done).chain(self.handed().map(|(_, done)| done));
        let totals = Totals::from_results(results.flatten(), false);
        let goes = |done: Option<&ItemResult>| matches!(done, None | Some(ItemResult::Done));
        let steps = self.items().filter(|(_, done)| goes(*done)).flat_map(|(item, _)| &item.steps);
        let can_be_done = self.items().filter(|(_, done)| done.is_none()).count();
        let planned = if self.outcome.is_none() { can_be_done + self.change.handed.len() } else { 0 };
        Totals { planned, freed_bytes: steps.map(Step::freed_bytes).sum(), ..totals }
    }

    /// Returns the run that can be undone.
    pub(crate) fn run(&self) -> Option<&'a str> {
        self.outcome.and_then(|outcome| outcome.run.as_deref())
    }

    /// Converts the change to the JSON contract.
    pub(crate) fn document(self, details: Option<CommandMembers<'a>>) -> ChangeJson<'a> {
        let own = self.change.items.len();
        let items = ItemList::counted(own + self.change.handed.len(), move |at| match at.checked_sub(own) {
            None => self.item_json(at),
            Some(at) => self.handed_json(at),
        });
        let doubt = self.outcome.and_then(|outcome| outcome.doubt.as_deref());
        ChangeJson {
            totals: self.totals(),
            fingerprint: Some(self.change.fingerprint()),
            run: self.run(),
            warnings: doubt.map(|why| format!("a loss of power may still take this back: {why}")).into_iter().collect(),
            details,
            ..ChangeJson::new(self.change.verb, self.outcome.is_none(), items, [])
        }
    }

    fn shown_item(&self, item: &'a ChangeItem) -> ShownItem<'a> {
        // The agent's data and rejoin's record are changed after the sessions of a move.
        let follows = self.change.verb == "move" && item.code != MOVED;
        let word = if self.outcome.is_none() { "would prepare" } else { "prepared" };
        let typed = typed(item.code, &item.reason);
        ShownItem {
            word: follows.then(|| word.into()),
            about: (!matches!(item.about, ItemSubject::Session(..) | ItemSubject::Copy(_)))
                .then(|| item.about.to_string().into()),
            title: typed.or(item.title.as_deref()).map(Into::into),
            note: (typed.is_some() || item.code == "named").then(String::new),
            steps: &item.steps,
            is_permanent: self.is_permanent,
            below: Vec::new(),
        }
    }

    fn shown_handed(&self, one: &'a Handed) -> ShownItem<'a> {
        let program = one.command.first().map_or("", String::as_str);
        let store = one.seen.first().map(|seen| &seen.place.store);
        let command = store.map_or_else(String::new, |store| agent::typed(&one.command, store));
        let is_plan = self.outcome.is_none();
        let word = if is_plan { format!("would have {program} remove") } else { format!("removed by {program}") };
        ShownItem {
            word: Some(word.into()),
            title: one.title.as_deref().map(Into::into),
            note: Some(format!("{}: archived first, then `{command}`", one.code)),
            ..ShownItem::default()
        }
    }

    fn item_json(&self, at: usize) -> ItemJson<'a> {
        let (item, done) = self.item(at);
        ItemJson {
            reason: Some(&item.reason),
            steps: item.steps.iter().map(|step| StepJson::new(step.into(), step.path())).collect(),
            size_bytes: item.steps.iter().map(Step::freed_bytes).sum(),
            shown: self.shown_item(item),
            ..ItemJson::new(item.about.session(), item.code, done.unwrap_or(&ItemResult::Done), done.is_none())
        }
    }

    fn handed_json(&self, at: usize) -> ItemJson<'a> {
        let one = &self.change.handed[at];
        let done = self.outcome.and_then(|outcome| outcome.handed.get(at));
        ItemJson {
            reason: Some(&one.reason),
            command: Some(&one.command),
            size_bytes: one.size_bytes,
            shown: self.shown_handed(one),
            ..ItemJson::new(one.about.session(), one.code, done.unwrap_or(&ItemResult::Done), done.is_none())
        }
    }
}
