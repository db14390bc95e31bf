//! The record of a step, which the journal has before the step is done.

use crate::journal::StepRecord;
use crate::plan::Step;
use crate::stamp;
use crate::step::StepContext;
use crate::step::contents::each_piece;
use crate::step::step_dir::StepDir;
use crate::step::{StepError, failed};

/// Checks whether the record of a step depends on the step alone, and so on nothing that may change in the meantime.
pub(crate) fn is_plain(step: &Step) -> bool {
    matches!(step, Step::Trash { .. } | Step::MakeDir { .. })
}

impl StepContext<'_> {
    /// Returns the journal's record of a step: with its path resolved, so that a link that is put there later is not
    /// followed.
    pub(crate) fn record(&self, step: &Step, item: usize, number: usize) -> Result<StepRecord, StepError> {
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
                let step_dir = StepDir::open_parent(disk, from).map_err(&fail)?;
                let stamp = stamp::take_on(disk, step_dir.name_in_dir(), from).map_err(&fail)?;
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
