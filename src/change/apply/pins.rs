//! Writes the pinned sessions.

use std::time::Duration;

use crate::change::apply::state_dir;
use crate::change::pins::{FILE_NAME, Pins};
use crate::system::disk::{self, Access};
use crate::system::env::Env;
use crate::system::state_file;
use changes::state_dir::StateDir;

/// Changes the pins with `change` under the lock, so that no change of another process is lost.
pub(crate) fn update<T>(
    env: &Env,
    verb: &str,
    patience: Duration,
    change: impl FnOnce(&mut Pins) -> T,
) -> anyhow::Result<T> {
    update_in(&state_dir::open(env, verb, patience)?, change)
}

/// Changes the pins in this state directory.
fn update_in<T>(state_dir: &StateDir, change: impl FnOnce(&mut Pins) -> T) -> anyhow::Result<T> {
    let path = state_dir.path().join(FILE_NAME);
    let mut pins = Pins::read_on(state_dir.disk(), &path)?;
    let before = pins.clone();
    let outcome = change(&mut pins);
    if pins != before {
        disk::save(state_dir.disk(), &path, Access::Private, &state_file::to_json(&pins)?)?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::session::AgentKind;
    use crate::system::disk::memory::{Memory, with_every_fault};
    use changes::bounds::Bounds;

    fn now() -> jiff::Timestamp {
        "2026-03-01T12:00:00Z".parse().expect("a time")
    }

    fn pin(memory: &Memory, id: &str) -> anyhow::Result<bool> {
        let state_dir =
            StateDir::open(memory.shared(), ("/state".into(), Bounds::everything()), now(), "pin", Duration::ZERO)?;
        update_in(&state_dir, |pins| pins.add(AgentKind::Claude, id, now()))
    }

    fn pinned(memory: &Memory) -> Result<Vec<String>, String> {
        let pins = Pins::read_on(memory, Path::new("/state/pins.json")).map_err(|error| error.to_string())?;
        Ok(pins.sessions().map(|(_, id)| id.to_owned()).collect())
    }

    #[test]
    fn no_fault_loses_a_pin() {
        for earlier in [&[] as &[&str], &["a"]] {
            let start = Memory::new();
            for id in earlier {
                assert!(pin(&start, id).expect("a pin"));
            }
            start.settle();
            let schedules = with_every_fault(
                &start,
                |memory| pin(memory, "b"),
                |left| {
                    let now = pinned(&left.memory)?;
                    let has = |id: &str| now.iter().any(|it| it == id);
                    let is_as_said = left.answer.is_none() || has("b");
                    if !earlier.iter().all(|id| has(id)) || !is_as_said || now.len() > 2 {
                        return Err(format!("{:?} was answered, and pinned is {now:?}", left.answer));
                    }
                    pin(&left.memory, "c").map_err(|error| format!("the next pin fails: {error:#}"))?;
                    let later = pinned(&left.memory)?;
                    let is_kept = now.iter().all(|id| later.contains(id)) && later.len() == now.len() + 1;
                    if is_kept { Ok(()) } else { Err(format!("{now:?} became {later:?}")) }
                },
            );
            assert!(schedules > 300, "only {schedules} schedules");
        }
    }

    #[test]
    fn pins_behind_dangling_link_are_an_error() {
        let memory = Memory::new();
        memory.actor().make_dirs("/state");
        memory.actor().symlink("/state/pins.json", "/gone");
        assert!(pinned(&memory).is_err_and(|why| why.contains("leads nowhere")));
    }
}
