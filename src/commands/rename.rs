//! `rejoin rename`

use crate::change::retitle;
use crate::cli::RenameArgs;
use crate::commands::find;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::scan::{ScanScope, processes};
use crate::system::env::Env;
use crate::view::ui::Ui;

pub(crate) fn run(args: &RenameArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::recover_first("rename", args.change.lock, env, ui)?;
    }
    super::refuse_number(&args.session)?;
    let filter = super::place_filter(&args.place, env)?;
    let mut session =
        find::Finder::new(&filter, ScanScope::RESUME, env, ui).find_one("rename", &args.session)?.session()?;
    processes::verify(std::slice::from_mut(&mut session));
    let change = retitle::plan(&session, &args.title).map_err(|unable| {
        let message = format!("{} session {} cannot be renamed: {unable}", session.agent, session.id());
        Refusal { hint: unable.hint, ..Refusal::new(RefusalCode::NotRenamable, message) }
    })?;
    super::change::carry_out(&change, &args.change, args.format, env, ui)
}
