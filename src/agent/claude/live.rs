//! Which sessions clients have open: each client registers its process and the session that it is in.

use std::path::PathBuf;

use super::records::Registration;
use crate::agent::{Found, LiveRecord};
use crate::session::{Liveness, Store};
use crate::system::process::{self, Presence, StartTime};

/// A registration is a few hundred bytes.
const MAX_REGISTRATION: u64 = 64 * 1024;

/// Shows each registration of a client: its file, the session that it is in, and its process.
pub(super) fn each_registration(
    store: &Store,
    found: &mut Found,
    mut see: impl FnMut(PathBuf, Option<String>, LiveRecord),
) {
    found.each_json(&store.root.join("sessions"), MAX_REGISTRATION, |path, bytes| {
        // A client may be writing it just now; then it says nothing.
        let Ok(registration) = serde_json::from_slice::<Registration<'_>>(bytes) else { return };
        let started = registration.proc_start.get().and_then(StartTime::parse);
        let id = registration.session_id.filled().map(str::to_owned);
        see(path, id, LiveRecord { pid: registration.pid, started });
    });
}

/// Judges the processes that registered themselves as users of one session.
pub(in crate::agent) fn liveness(records: &[LiveRecord]) -> Liveness {
    let mut liveness = Liveness::Idle;
    for record in records {
        match process::presence(record.pid, record.started) {
            Presence::Running => return Liveness::Live { pid: record.pid },
            Presence::Ended => {}
            Presence::Unknown => {
                liveness = Liveness::Maybe {
                    why: format!("process {} registered itself and may still be running", record.pid),
                };
            }
        }
    }
    liveness
}
