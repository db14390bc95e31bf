//! Writes which sessions are pinned.

use std::time::Duration;

use crate::change::apply::state_dir::StateDir;
use crate::change::pins::{Pins, file};
use crate::system::env::Env;
use crate::system::fsio::{Access, Saving};

/// Changes the pins as `change` does, under the lock, so that no change of another process is lost.
pub(crate) fn update<T>(
    env: &Env,
    verb: &str,
    patience: Duration,
    change: impl FnOnce(&mut Pins) -> T,
) -> anyhow::Result<T> {
    let _shop = StateDir::open(env, verb, patience)?;
    let mut pins = Pins::read(env)?;
    let before = pins.clone();
    let outcome = change(&mut pins);
    if pins != before {
        let mut saving = Saving::begin(&file(env), Access::Private)?;
        saving.write(&pins.to_json()?)?;
        saving.commit()?;
    }
    Ok(outcome)
}
