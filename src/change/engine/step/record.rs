//! The record of a step, which the journal has before the step is done.

use crate::change::engine::journal::StepRecord;
use crate::change::engine::plan::Step;
use crate::change::engine::step::StepContext;
use crate::change::engine::step::contents::each_piece;
use crate::change::engine::step::step_dir::StepDir;
use crate::change::engine::step::{StepError, failed};
use crate::system::stamp;

/// Checks whether the record of a step depends on the step alone, and so on nothing that may change in the meantime.
pub(in crate::change::engine) fn is_plain(step: &Step) -> bool {
    matches!(step, Step::Trash { .. } | Step::MakeDir { .. })
}

impl StepContext<'_> {
    /// Returns the journal's record of a step: with its path resolved, so that a link that is put there later is not
    /// followed.
    pub(in crate::change::engine) fn record(
        &self,
        step: &Step,
        item: usize,
        number: usize,
    ) -> Result<StepRecord, StepError> {
        let (disk, kept) = (self.disk, format!("{item}-{number}"));
        let path = self.resolve(step.path()).map_err(failed("cannot look at", step.path()))?;
        Ok(match step {
            Step::Trash { stamp, .. } => StepRecord::Trash { path, kept, stamp: stamp.clone() },
            Step::Write { contents, stamp, .. } => {
                let digest = each_piece(disk, contents, |_| Ok(()));
                let sha256 = digest.map_err(failed("cannot read what goes into", &path))?;
                StepRecord::Write { path, kept, stamp: stamp.as_deref().cloned(), sha256 }
            }
            Step::MakeDir { .. } => StepRecord::MakeDir { path, kept },
            Step::Put { from, .. } => {
                let fail = failed("cannot look at", from);
                let step_dir = StepDir::of(disk, from).map_err(&fail)?;
                let stamp = stamp::take_on(disk, step_dir.at(), from).map_err(&fail)?;
                StepRecord::Put { path, from: from.clone(), kept, stamp }
            }
            Step::Move { from, stamp, .. } => {
                let from = self.resolve(from).map_err(failed("cannot look at", from))?;
                let from_times = self.dir_times(&from);
                StepRecord::Move { path, from, kept, stamp: (**stamp).clone(), from_times }
            }
        })
    }
}
