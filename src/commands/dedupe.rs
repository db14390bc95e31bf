//! `rejoin dedupe`

use crate::cli::DedupeArgs;
use crate::commands::find::{self, Target};
use crate::doctor::repair;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::scan::Wanted;
use crate::system::env::Env;
use crate::view::ui::Ui;

pub(crate) fn run(args: &DedupeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::recover_first("dedupe", args.change.lock, env, ui)?;
    }
    super::refuse_number(&args.session)?;
    let filter = super::place_filter(&args.place, env);
    let Target::Session(mut session) = find::Finder::new(&filter, Wanted::RESUME, env, ui).one(&args.session)? else {
        return Err(Refusal::new(
            Exit::NotFound,
            RefusalCode::NotFound,
            "cannot find the session that the pointer names",
        )
        .into());
    };
    if session.copies.len() == 1 {
        ui.note(&format!("{} session {} has only one copy, so there is nothing to do.", session.agent, session.id()));
    }
    find::take_copy(&mut session, &args.keep, env).map_err(|mut refusal| {
        // What this command takes is not called as elsewhere.
        refusal.candidates.iter_mut().for_each(|one| one.select = one.select.replace(" --copy ", " --keep "));
        refusal
    })?;
    let change = repair::keep_first(&session).map_err(|why| {
        let message = format!("{} session {} cannot be reduced to one copy: {why}", session.agent, session.id());
        Refusal::new(Exit::Refused, RefusalCode::NotRemovable, message)
    })?;
    super::change::carry_out(&change, &args.change, args.format, env, ui)
}
