//! The contract's form of what changes files: the plan, and what came of it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::change::apply::run::{ItemResult, Outcome};
use crate::change::plan::change::{Change, Item, Step, Unplanned};
use crate::change::plan::handed::{Handed, fingerprint};
use crate::session::AgentKind;
use crate::view::render::items::List;
use crate::view::render::json::doctor::FindingJson;

/// One item of a change.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChangeItem", deny_unknown_fields)]
pub(crate) struct ChangeItemJson<'a> {
    /// The agent that the session belongs to; `null` if it is about no session.
    pub agent: Option<AgentKind>,
    /// The session's full id; `null` if it is about no session.
    pub id: Option<&'a str>,
    /// The stable name of the reason.
    pub code: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// What is done to each path, in order.
    pub steps: Vec<StepJson>,
    /// The bytes that go to the trash.
    pub size_bytes: u64,
    /// `planned` in a plan; `done`, `skipped` (it is no longer what was planned for) or `failed` in an outcome.
    pub result: &'a str,
    /// Why it was skipped or failed; `null` when it was not.
    pub error: Option<&'a str>,
}

/// One change to one path.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Step", deny_unknown_fields)]
pub(crate) struct StepJson {
    /// `trash`, `write`, `make-dir`, `put` or `move`.
    pub action: &'static str,
    /// The path.
    pub path: String,
}

/// How many items came to what.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeSummary<'a> {
    /// A digest of the plan, for `--apply`.
    pub fingerprint: String,
    /// How many items are planned.
    pub planned: usize,
    /// How many were done.
    pub done: usize,
    /// How many were left alone, because they are no longer what was planned for.
    pub skipped: usize,
    /// How many failed.
    pub failed: usize,
    /// The bytes that went to the trash, or would; with `--permanent` for good.
    pub freed_bytes: u64,
    /// The run, for `rejoin undo`; `null` if nothing was changed, or permanently.
    pub run: Option<&'a str>,
}

/// A change, and what came of it if it was applied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    /// The change.
    pub change: &'a Change,
    /// What came of it; `None` for a plan.
    pub outcome: Option<&'a Outcome>,
    /// Whether what is removed goes for good, not to the trash.
    pub is_permanent: bool,
    /// What agents remove, and what became of each.
    pub handed: &'a [Handed],
    pub handed_done: &'a [ItemResult],
}

/// A session that its agent removes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Handed", deny_unknown_fields)]
pub(crate) struct HandedJson<'a> {
    /// The agent that the session belongs to.
    pub agent: Option<AgentKind>,
    /// The session's full id.
    pub id: Option<&'a str>,
    /// The stable name of the reason.
    pub code: &'a str,
    /// The reason.
    pub reason: &'a str,
    /// The agent's command that removes it.
    pub command: &'a [String],
    /// What its rows hold, in bytes.
    pub size_bytes: u64,
    /// `planned` in a plan; `done`, `skipped` (it is in use, or was changed) or `failed` in an outcome.
    pub result: &'a str,
    /// Why it was skipped or failed; `null` when it was not.
    pub error: Option<&'a str>,
}

/// Returns the word for what became of something, and why if it was not done.
fn result(done: Option<&ItemResult>) -> (&'static str, Option<&str>) {
    match done {
        None => ("planned", None),
        Some(ItemResult::Done) => ("done", None),
        Some(ItemResult::Skipped(why)) => ("skipped", Some(why.as_str())),
        Some(ItemResult::Failed(why)) => ("failed", Some(why.as_str())),
    }
}

impl<'a> Report<'a> {
    /// Returns what became of each item.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&'a Item, Option<&'a ItemResult>)> {
        (0..self.change.items.len()).map(|at| self.item(at))
    }

    /// Returns one item, and what became of it.
    pub(crate) fn item(&self, at: usize) -> (&'a Item, Option<&'a ItemResult>) {
        (&self.change.items[at], self.outcome.and_then(|outcome| outcome.done.get(at)))
    }

    /// Puts the items into the contract's form.
    pub(crate) fn items_json(self) -> List<'a, ChangeItemJson<'a>> {
        List::counted(self.change.items.len(), move |at| self.item_json(at))
    }

    fn item_json(&self, at: usize) -> ChangeItemJson<'a> {
        let (item, done) = self.item(at);
        let (result, error) = result(done);
        ChangeItemJson {
            agent: item.about.session().map(|(agent, _)| agent),
            id: item.about.session().map(|(_, id)| id),
            code: item.code,
            reason: &item.reason,
            steps: item.steps.iter().map(step).collect(),
            size_bytes: item.steps.iter().map(Step::freed_bytes).sum(),
            result,
            error,
        }
    }

    /// Returns what agents remove, and what became of each.
    pub(crate) fn handed(&self) -> impl Iterator<Item = (&'a Handed, Option<&'a ItemResult>)> + use<'a> {
        let done = self.handed_done;
        self.handed.iter().enumerate().map(move |(at, one)| (one, done.get(at)))
    }

    /// Puts those into the contract's form.
    pub(crate) fn handed_json(&self) -> Vec<HandedJson<'a>> {
        let json = |(one, done): (&'a Handed, Option<&'a ItemResult>)| {
            let (result, error) = result(done);
            HandedJson {
                agent: one.about.session().map(|(agent, _)| agent),
                id: one.about.session().map(|(_, id)| id),
                code: one.code,
                reason: &one.reason,
                command: &one.command,
                size_bytes: one.size_bytes,
                result,
                error,
            }
        };
        self.handed().map(json).collect()
    }

    /// Counts.
    pub(crate) fn summary(&self) -> ChangeSummary<'a> {
        let results = || self.items().map(|(_, done)| done).chain(self.handed().map(|(_, done)| done));
        let count = |is: fn(&ItemResult) -> bool| results().filter(|done| done.is_some_and(is)).count();
        let counts_bytes = |done: Option<&ItemResult>| matches!(done, None | Some(ItemResult::Done));
        let bytes = self.items().filter(|(_, done)| counts_bytes(*done)).flat_map(|(item, _)| &item.steps);
        ChangeSummary {
            fingerprint: fingerprint(self.change, self.handed),
            planned: self.change.items.len() + self.handed.len(),
            done: count(|done| *done == ItemResult::Done),
            skipped: count(|done| matches!(done, ItemResult::Skipped(_))),
            failed: count(|done| matches!(done, ItemResult::Failed(_))),
            freed_bytes: bytes.map(Step::freed_bytes).sum(),
            run: self.outcome.and_then(|outcome| outcome.run.as_deref()),
        }
    }
}

fn step(step: &Step) -> StepJson {
    StepJson { action: step.into(), path: step.path().to_string_lossy().into_owned() }
}

/// The answer of a verb that changes files and has nothing more to say.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Change", deny_unknown_fields)]
pub(crate) struct ChangeJson<'a> {
    /// The verb.
    pub verb: &'a str,
    /// Every item.
    pub items: List<'a, ChangeItemJson<'a>>,
    /// The sessions that their agents remove, with `--via-agent`.
    pub handed: Vec<HandedJson<'a>>,
    #[serde(flatten)]
    pub summary: ChangeSummary<'a>,
}

/// The answer of `doctor --fix`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DoctorFix", deny_unknown_fields)]
pub(crate) struct FixJson<'a> {
    /// Every item.
    pub items: List<'a, ChangeItemJson<'a>>,
    /// What could not be planned.
    pub unplanned: &'a [Unplanned],
    /// What needs a decision: errors and warnings that cannot be repaired automatically.
    pub undecided: Vec<FindingJson<'a>>,
    #[serde(flatten)]
    pub summary: ChangeSummary<'a>,
}
