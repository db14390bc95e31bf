//! Makes a private directory into which an archived session is unpacked for reading.

use crate::error::{PathError, Refusal, RefusalCode};
use crate::system::disk;
use crate::system::env::Env;
use changes::private_dir::PrivateDir;

/// Makes a private directory below the state directory, or in the system's temporary directory if that fails.
pub(crate) fn make(env: &Env) -> Result<PrivateDir, Refusal> {
    let state = env.state_dir();
    let made = disk::make_own_dirs(&disk::with_faults_of(env), &state);
    let made = made.map_err(|error| PathError::new("create", &state, error));
    let in_state = made.and_then(|_| PrivateDir::make(disk::with_faults_of(env), &state));
    // The state directory may be read-only.
    in_state.or_else(|in_state| {
        PrivateDir::make(disk::with_faults_of(env), &env.temp_dir()).map_err(|error| {
            let message = format!("there is no room to unpack the session: {in_state}; {error}");
            Refusal::new(RefusalCode::NoRoom, message).hint("set TMPDIR to a directory with more space")
        })
    })
}
