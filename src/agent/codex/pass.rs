//! The pass over all rollouts of a thread: reads each line once for all observers.

use super::about::ABOUT;
use super::meta::Meta;
use super::records::{CodexRecord, Prompt};
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
    let (mut usage, mut division) = (UsageSum::wanted(&ABOUT.usage, observers), Division::of(&thread));
    // The lines of sent prompts, which count if none was typed, and their times, which count if none was typed in the first
    // rollout.
    let (mut sent, mut sent_at, mut root_prompts) = (Vec::new(), Vec::new(), [false; 2]);
    thread.each_line(&mut |line| {
        usage.iter_mut().filter(|_| own == Some(line.part)).for_each(|usage| usage.see(line.bytes));
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
        if !(line.is_foreign || line.is_first && Meta::parse(line.bytes).is_some()) {
            observers.has_bad_lines |= record.is_none();
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
    if thread.parts.iter().any(|part| part.is_foreign) {
        copy.notes
            .push("it is a fork; the messages before the fork are those of its parent, and are not counted".to_owned());
    }
    Ok(())
}
