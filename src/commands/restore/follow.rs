//! The directory of a restored session, if its path differs from that on the machine that archived it.

use std::path::PathBuf;

use crate::archive::Manifest;
use crate::change::apply::run::run_arrived;
use crate::change::apply::state_dir;
use crate::change::relocation::{self, MoveOptions};
use crate::cli::RestoreArgs;
use crate::commands::relocate::mapping_of;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::shell;
use crate::scan::{self, ScanScope, processes};
use crate::session::mapping::Mapping;
use crate::system::env::Env;
use crate::view::ui::Ui;

/// The mapping from the recorded directory of a restored session to the one on this machine.
pub(super) struct Follow {
    mapping: Mapping,
    from: PathBuf,
    to: PathBuf,
}

/// Maps the directories of the machine that archived a session to those here.
fn mapping(args: &RestoreArgs, manifest: &Manifest, env: &Env) -> Mapping {
    // A store that the user names does not belong to this home.
    let home = manifest.homes(env).filter(|_| args.to_store.is_none());
    mapping_of(&mut args.map.iter().chain(&home).map(|(from, to)| (from, to)), env)
}

/// Returns the directory of an archived session with its path here.
pub(super) fn dir_here(args: &RestoreArgs, manifest: &Manifest, env: &Env) -> Option<PathBuf> {
    let from = manifest.facts.launch_dir.as_ref()?.0.clone();
    Some(mapping(args, manifest, env).new_location(&from).unwrap_or(from))
}

/// Returns whether a mapping of the user applies to the directory of an archived session.
pub(super) fn is_mapped(args: &RestoreArgs, manifest: &Manifest, env: &Env) -> bool {
    let named = mapping_of(&mut args.map.iter().map(|(from, to)| (from, to)), env);
    manifest.facts.launch_dir.as_ref().is_some_and(|dir| named.new_location(&dir.0).is_some())
}

impl Follow {
    /// Returns the move of a session whose directory has another path here; `None` if it is the same.
    ///
    /// A moved session is in another place than in the archive. If its id exists there already, the move is refused,
    /// because it would create a second copy.
    pub(super) fn plan_move(args: &RestoreArgs, manifest: &Manifest, env: &Env) -> Result<Option<Self>, Refusal> {
        let mapping = mapping(args, manifest, env);
        let Some(from) = manifest.facts.launch_dir.as_ref().map(|dir| dir.0.clone()) else { return Ok(None) };
        let Some(to) = mapping.new_location(&from) else { return Ok(None) };
        let (agent, id) = (manifest.agent, &manifest.id);
        let found = scan::locate(env, &[agent]);
        if let Some(there) = found.places.iter().find(|place| place.id == *id && place.parent_id.is_none()) {
            let message = format!("{agent} session {id} already exists: {}", there.path.display());
            let name = shell::selector(agent, id);
            let dirs = [&from, &to].map(|dir| dir.to_string_lossy());
            let [from, to] = dirs.each_ref().map(|dir| shell::word(dir));
            return Err(Refusal::new(RefusalCode::InTheWay, message).hint(format!(
                "see it with `rejoin show {name}`; if an interrupted restore left it there, complete that with `rejoin move \
                 {from} {to} --session {name}`; else remove it first with `rejoin delete {name}`"
            )));
        }
        Ok(Some(Self { mapping, from, to }))
    }

    /// Moves the session to its directory, in a separate run.
    ///
    /// Returns that run with the exit status.
    pub(super) fn run(
        self,
        args: &RestoreArgs,
        manifest: &Manifest,
        env: &Env,
        ui: &mut Ui,
    ) -> anyhow::Result<(Exit, Option<String>)> {
        let (from, to) = (self.from.display().to_string(), env.tilde(&self.to));
        if args.change.dry_run {
            ui.print_note(&format!("Its directory would be {to} instead of {from}."));
            return Ok((Exit::Ok, None));
        }
        let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
        // Restored files are new, which does not show that the session is in use.
        let mut scan = scan::locate(env, &[manifest.agent]).read_all(&env.after_arrival(), scope);
        processes::verify(&mut scan.sessions);
        let only = [(manifest.agent, manifest.id.clone())].into();
        let wish = MoveOptions { mapping: &self.mapping, only: Some(&only), all_references: false };
        let planned = relocation::plan(&scan.sessions, wish, env)?;
        if let Some(left) = planned.left.first() {
            ui.warn(&format!("its directory stays {from}: {}", left.reason));
            return Ok((Exit::Partial, None));
        }
        if planned.change.items.is_empty() {
            return Ok((Exit::Ok, None));
        }
        let state_dir = state_dir::open(env, "move", args.change.lock.lock_timeout)?;
        let outcome = run_arrived(&state_dir, &planned.change, env)?;
        let exit = crate::commands::change::exit(Some(&outcome));
        match exit {
            Exit::Ok => ui.print_note(&format!("Its directory is {to} here; it was {from}.")),
            _ => ui.warn(&format!(
                "its directory stays {from}; try again with `rejoin move {} {}`",
                shell::word(&from),
                shell::word(&self.to.to_string_lossy())
            )),
        }
        Ok((exit, outcome.run))
    }
}
