//! The pass over all rollouts of a thread: reads each line once for all observers.

use super::about::ABOUT;
use super::meta::Meta;
use super::records::{CodexRecord, Prompt};
use super::replay::Replay;
use super::rollbacks::Division;
use super::thread::Thread;
use crate::agent::prelude::*;
use crate::agent::usage::UsageSum;

/// Implements [`Reading::observe`].
pub(super) fn observe(copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
    let thread = Thread::of(&copy.place)?;
    let part_at = |path: &Path| thread.parts.iter().position(|part| part.path == path);
    // Only the rollout of the copy has its usage.
    let (root, own) = (part_at(thread.root()), part_at(&copy.place.path));
    let has_parent = copy.parent_id.is_some() || copy.kind == SessionKind::Subagent;
    let replay = if has_parent { read_replay(&thread, &copy.place.store, true)? } else { None };
    let copied = replay.as_ref().map_or(0, |replay| replay.copied);
    let mut lines = 0;
    let (mut usage, mut division) = (UsageSum::wanted(&ABOUT.usage, observers), Division::of(&thread));
    // The lines of sent prompts, which count if none was typed, and their times, which count if none was typed in the first
    // rollout.
    let (mut sent, mut sent_at, mut root_prompts) = (Vec::new(), Vec::new(), [false; 2]);
    thread.each_line(&mut |line| {
        lines += u64::from(!line.is_foreign);
        let is_own = !line.is_foreign && lines > copied;
        if let Some(usage) = usage.as_mut().filter(|_| is_own) {
            if replay.is_some() {
                usage.see_inherited(line.bytes);
            }
            if own == Some(line.part) {
                usage.see(line.bytes);
            }
        }
        if !observers.counts {
            return ControlFlow::Continue(());
        }
        let record = CodexRecord::parse(line.bytes);
        let prompt = record.as_ref().and_then(CodexRecord::prompt);
        let is_typed = matches!(prompt, Some(Prompt::Typed(_)));
        division.see(observers.line, &line, prompt.as_ref());
        if prompt.is_some() && root == Some(line.part) {
            root_prompts[usize::from(is_typed)] = true;
        }
        if let (Some(days), Some(record)) = (&mut observers.days, &record) {
            match record.at().filter(|at| days.lacks(*at)) {
                Some(at) if is_typed || record.message().is_some() => days.add(at),
                at => sent_at.extend(at.filter(|_| prompt.is_some())),
            }
        }
        let is_of_session = !(line.is_foreign || line.is_first && Meta::parse(line.bytes).is_some());
        observers.has_bad_lines |= is_of_session && record.is_none();
        if is_own && is_of_session {
            if let (None, Some(Prompt::Typed(text))) = (&copy.first_prompt, &prompt) {
                copy.first_prompt = Some(Fact::new(text.as_str(), "transcript")).filter(|_| !text.is_empty());
            }
            sent.extend((prompt.is_some() && !is_typed).then_some(observers.line));
            observers.count(is_typed, record.is_some_and(|record| record.is_reply()));
        }
        observers.line += 1;
        ControlFlow::Continue(())
    })?;
    copy.usage = usage.map(UsageSum::finish).or(copy.usage);
    if !observers.counts {
        return Ok(());
    }
    if let (Some(days), [true, false]) = (&mut observers.days, root_prompts) {
        sent_at.into_iter().for_each(|at| days.add(at));
    }
    let branches = division.branches(observers.line);
    observers.finish_on(&branches, None, copy);
    if copy.prompts == Some(0) {
        copy.prompts = Some(sent.iter().filter(|line| branches.other(**line).is_none()).count() as u64);
    }
    copy.notes.extend(thread.lacks.filter(|lacks| !copy.notes.contains(lacks)));
    if copied > 0 || thread.parts.iter().any(|part| part.is_foreign) {
        let what = if copy.kind == SessionKind::Subagent { "sub-agent" } else { "fork" };
        copy.notes.push(format!(
            "it is a {what}; the messages before the {what} are those of its parent, and are not counted"
        ));
    }
    Ok(())
}

/// Finds the copied history at the start of a thread; `None` if the thread has no parent.
fn read_replay(thread: &Thread, store: &Arc<Store>, has_start: bool) -> Result<Option<Replay>, PathError> {
    let mut replay = None;
    thread.each_line(&mut |line| {
        match &mut replay {
            _ if line.is_foreign => return ControlFlow::Continue(()),
            None => replay = Meta::parse(line.bytes).and_then(|meta| Replay::after(&meta, store, has_start)),
            Some(replay) => drop(replay.see(line.bytes)),
        }
        match &replay {
            Some(replay) if !replay.is_over => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    })?;
    match replay {
        Some(replay) if replay.lacks_start() => read_replay(thread, store, false),
        replay => Ok(replay),
    }
}
