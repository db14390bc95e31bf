//! The state directory of an environment: `$XDG_STATE_HOME/rejoin`, or `~/.local/state/rejoin`.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::change::apply::{bounds, refusal};
use crate::error::{Refusal, RefusalCode, reason};
use crate::format::command_line;
use crate::system::disk;
use crate::system::env::Env;
use crate::system::{fsio, links, reach};
use changes::lock;
use changes::state_dir::{StateDir, journal_name};

/// Creates the state directory if it is missing, and acquires the lock.
pub(crate) fn open(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<StateDir> {
    refuse_other_owner(env)?;
    let place = (env.state_dir(), bounds::limits_of(env));
    StateDir::open(Arc::new(disk::with_faults_of(env)), place, env.clock.now, verb, patience).map_err(refusal)
}

/// Refuses to change the home of another user, who may have planted a journal or a link there.
pub(crate) fn refuse_other_owner(env: &Env) -> Result<(), Refusal> {
    let owner = reach::metadata(&env.home).map(|home| home.uid()).map_err(|error| {
        let message = format!("the owner of {} is unknown: {}", env.home.display(), reason(&error));
        Refusal::new(RefusalCode::OtherOwner, message)
    })?;
    if links::is_trusted(owner) {
        return Ok(());
    }
    let message = format!("{} belongs to another user, {owner}, so nothing there is changed", env.home.display());
    let again = command_line::again(env, &[], &[]);
    Err(Refusal::new(RefusalCode::OtherOwner, message).hint(format!("run `sudo -u '#{owner}' {again}`")))
}

/// Returns the path of a run's journal.
pub(crate) fn journal(env: &Env, run: &str) -> PathBuf {
    env.state_dir().join("runs").join(journal_name(run))
}

/// Checks whether a run is changing something right now; writes nothing.
pub(crate) fn is_busy(env: &Env) -> bool {
    let Ok((file, _)) = fsio::open_regular(&env.state_dir().join(lock::FILE_NAME)) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}
