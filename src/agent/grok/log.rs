//! Parses the updates in `updates.jsonl`, and `summary.json` about the session.
//!
//! Facts: xai-org/grok-build 19d42e35, xai-grok-shell/src/session: storage/mod.rs and acp_session_impl/turn.rs.

use super::{MAX_SUMMARY, is_id, summary};
use crate::agent::claude::liveness;
use crate::agent::document::{compact, set_title};
use crate::agent::lines::{self, Ends, Log};
use crate::agent::prelude::*;
use crate::agent::tree::Turns;
use crate::format::content::call;
use crate::format::json::{self, epoch, list, record};
use crate::session::branches::Branches;
use crate::session::obstacle::Obstacle;

/// The texts of `summary.json` that are read.
const OF_SUMMARY: [&str; 8] = [
    "generated_title",
    "session_summary",
    "created_at",
    "last_active_at",
    "current_model_id",
    "head_branch",
    "parent_session_id",
    "session_kind",
];

/// The log of a session.
pub(super) struct Updates;

/// The prompts so far.
#[derive(Default)]
pub(super) struct Prompts {
    turns: Turns,
    /// The number of the prompt on the previous line, if it belongs to one.
    last: Option<Option<usize>>,
    have_numbers: bool,
}

/// An update of the Agent Client Protocol or of xAI's extension, which older versions wrote without an envelope.
pub(super) struct GrokUpdate<'a> {
    at: Option<Timestamp>,
    kind: Text<'a>,
    update: Option<&'a RawValue>,
}

impl GrokUpdate<'_> {
    /// Returns whether a flag of the update is set.
    fn has_mark(&self, mark: &str) -> bool {
        member(member(self.update, "_meta"), mark).is_some_and(|flag| flag.get() == "true")
    }
}

impl lines::Record for GrokUpdate<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.at
    }

    fn turn(&self) -> Option<Turn> {
        let text = |raw| text_in(member(raw, "content"), "text").get().unwrap_or_default().to_owned();
        let role = match self.kind.get()? {
            "user_message_chunk" => Role::User,
            "agent_message_chunk" => Role::Assistant,
            "tool_call" | "tool_call_update" => Role::Tool,
            "turn_completed" => Role::System,
            _ => return None,
        };
        let mut turn = Turn::new(role, self.at);
        let [name, input, status, content, output] =
            members(self.update, ["title", "rawInput", "status", "content", "rawOutput"]);
        match (role, inner::<Text<'_>>(status).get()) {
            (Role::Tool, _) if self.kind.get() == Some("tool_call") => {
                let input = input.map(|input| compact(input.get()));
                turn.tool(call(inner::<Text<'_>>(name).filled(), input.as_deref()));
            }
            (Role::Tool, Some("completed" | "failed")) => {
                let message_text: String = list(content).into_iter().map(|part| text(Some(part))).collect();
                let output = || output.map(|output| compact(output.get())).unwrap_or_default();
                turn.tool(format!("→ {}", if message_text.is_empty() { output() } else { message_text }));
            }
            (Role::Tool, _) => return None,
            (Role::System, _) => {
                let [reason, error] = texts_in(self.update, ["stop_reason", "agent_result"]);
                turn.error(error.filled().filter(|_| reason.get() == Some("error"))?);
            }
            _ => turn.add_text(text(self.update)),
        }
        // Some prompts come from the program itself, such as the question about a task that has ended.
        turn.counts = !self.has_mark("hostTurn") && !self.has_mark("hideFromScrollback");
        Some(turn)
    }
}

impl Log for Updates {
    type Record<'a> = GrokUpdate<'a>;
    type Facts = Prompts;

    const FILE: Option<&'static str> = Some("updates.jsonl");
    const HAS_BRANCHES: bool = true;

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            found.add_folders(store, dir, Some(project), only, &|id| {
                // A folder with only images is not a session.
                let has = |file: &str| is_there(&dir.join(id).join(file));
                is_id(id) && (has("summary.json") || has("updates.jsonl") || has("chat_history.jsonl"))
            });
        })
    }

    fn parse(line: &[u8]) -> Option<GrokUpdate<'_>> {
        let whole: &RawValue = record(line)?;
        let [at, params] = members(Some(whole), ["timestamp", "params"]);
        let update = member(params.or(Some(whole)), "update");
        let at = epoch(at, 1).filter(|at| at.as_second() > 0);
        Some(GrokUpdate { at, kind: text_in(update, "sessionUpdate"), update })
    }

    /// Follows `/rewind` as Grok Build does when it loads a session.
    fn divide(line: usize, update: Option<&GrokUpdate<'_>>, Prompts { turns, last, have_numbers }: &mut Prompts) {
        let of_prompt = update.filter(|update| update.kind.get() == Some("user_message_chunk"));
        let number = of_prompt.map(|update| json::number(member(member(update.update, "_meta"), "promptIndex")));
        *have_numbers |= number.flatten().is_some();
        // Once prompts have numbers, one without a number is a remark within a turn.
        if number.is_some_and(|number| number.is_some() || !*have_numbers) && number != *last {
            turns.begin(line);
        }
        let marker = update.filter(|update| update.kind.get() == Some("rewind_marker"));
        let target = marker.and_then(|marker| json::number(member(marker.update, "target_prompt_index")));
        target.into_iter().for_each(|target| turns.truncate(target));
        *last = number;
    }

    fn branches(prompts: &Prompts, lines: usize) -> Branches {
        prompts.turns.branches(lines)
    }

    fn finish(
        copy: &mut SessionCopy,
        ends: &Ends,
        _facts: Prompts,
        context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        copy.modified_at = ends.modified;
        let registered = liveness(context.notes.live.get(&copy.place.id).map_or(&[], Vec::as_slice));
        if registered != Liveness::Idle {
            copy.liveness = registered;
        }
        let bytes = fsio::read_if_present(&summary(&copy.place), MAX_SUMMARY)?.unwrap_or_default();
        match record::<&RawValue>(&bytes) {
            Some(summary) => fill(copy, summary),
            None => copy
                .obstruct(Obstacle::damage("it has no summary.json that can be read, so Grok Build does not find it")),
        }
        Ok(())
    }
}

/// Fills in a copy from `summary.json`.
fn fill(copy: &mut SessionCopy, summary: &RawValue) {
    let [title, first_title, created, active, model, branch, parent, kind] = texts_in(Some(summary), OF_SUMMARY);
    let [info, hidden] = members(Some(summary), ["info", "hidden"]);
    let fact = |text: &Text<'_>| text.filled().map(|text| Fact::<Arc<str>>::new(text, "session"));
    set_title(copy, title.filled().or_else(|| first_title.filled()));
    copy.created_at = created.instant().map(|at| Fact::new(at, "session"));
    copy.active_at = copy.active_at.take().or_else(|| active.instant().map(|at| Fact::new(at, "session")));
    (copy.model, copy.git_branch) = (fact(&model), fact(&branch));
    copy.parent_id = parent.filled().map(str::to_owned);
    copy.kind = match kind.get() {
        Some(kind) if kind.starts_with("subagent") => SessionKind::Subagent,
        _ if copy.kind == SessionKind::Empty => SessionKind::Empty,
        _ if hidden.is_some_and(|hidden| hidden.get() == "true") => SessionKind::Archived,
        _ if copy.parent_id.is_some() => SessionKind::Fork,
        _ => SessionKind::Main,
    };
    copy.set_dir(text_in(info, "cwd").filled(), "info.cwd of its summary.json");
    // Grok Build finds the session by the name of the project.
    copy.evidence.iter_mut().for_each(|evidence| evidence.counts = counts(&copy.place, &evidence.dir));
}
