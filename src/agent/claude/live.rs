//! Finds the sessions that clients have open: each client registers its process and its session.

use super::records::Registration;
use crate::agent::LiveRecord;
use crate::agent::prelude::*;
use crate::session::process::State;
use crate::system::process::{self, Presence, StartTime};

/// Maximum size of a registration, which has a few hundred bytes.
const MAX_REGISTRATION: u64 = 64 * 1024;

/// The registration of a client.
pub(super) struct Registered {
    pub(super) path: PathBuf,
    /// The session that it has open.
    pub(super) id: Option<String>,
    pub(super) process: LiveRecord,
    /// The name of the job if it runs in the background.
    job: Option<String>,
}

/// Calls a function with each registration of a client.
pub(super) fn each_registration(store: &Store, found: &mut Found, mut see: impl FnMut(Registered)) {
    found.each_json(&store.root.join("sessions"), MAX_REGISTRATION, |path, bytes| {
        // A registration that a client is just writing is ignored.
        let Ok(registration) = serde_json::from_slice::<Registration<'_>>(bytes) else { return };
        let started = registration.proc_start.get().and_then(StartTime::parse);
        let id = registration.session_id.filled().map(str::to_owned);
        let state = registration.status.as_ref().map(state_of);
        let job = registration.job_id.filled().filter(|_| registration.kind.get() == Some("bg")).map(str::to_owned);
        see(Registered { path, id, process: LiveRecord { pid: registration.pid, started, state }, job });
    });
}

/// Returns the job that has a session open in the background. The client opens it with `claude attach` alone, and
/// refuses `--resume` (measured on 2.1.332).
pub(super) fn job(copy: &SessionCopy) -> Option<String> {
    let Liveness::Live { pid } = copy.liveness else { return None };
    let mut job = None;
    each_registration(&copy.place.store, &mut Found::default(), |client| {
        if client.process.pid == pid && client.id.as_ref() == Some(&copy.place.id) {
            job = client.job;
        }
    });
    job
}

fn state_of(status: &Text<'_>) -> State {
    match status.get() {
        Some("idle") => State::Waiting,
        Some("busy") => State::Working,
        _ => State::Unknown,
    }
}

/// Determines the liveness of a session from the processes that registered as its users.
pub(in crate::agent) fn liveness(records: &[LiveRecord]) -> Liveness {
    judged(records).0
}

/// Like [`liveness`], and also returns the recorded activity of the process that decides.
pub(super) fn judged(records: &[LiveRecord]) -> (Liveness, Option<State>) {
    let mut judged = (Liveness::Idle, None);
    for record in records {
        match process::presence(record.pid, record.started) {
            Presence::Running => return (Liveness::Live { pid: record.pid }, record.state),
            Presence::Ended => {}
            Presence::Unknown => {
                let why = format!("process {} registered itself and may still be running", record.pid);
                judged = (Liveness::Maybe { why }, record.state);
            }
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_status_maps_to_unknown_state() {
        let state = |json: &str| {
            let registration: Registration<'_> = serde_json::from_str(json).expect("a registration");
            registration.status.as_ref().map(state_of)
        };
        assert_eq!(state(r#"{"status":"idle"}"#), Some(State::Waiting));
        assert_eq!(state(r#"{"status":"busy"}"#), Some(State::Working));
        assert_eq!(state(r#"{"status":"shell"}"#), Some(State::Unknown));
        assert_eq!(state(r#"{"status":7}"#), Some(State::Unknown));
        assert_eq!(state(r#"{"pid":7}"#), None);
    }
}
