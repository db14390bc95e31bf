//! `rejoin doctor --accept`: keeps findings quiet from now on.

use std::path::PathBuf;

use crate::change::plan::change::{About, Change, Contents, Item, Step};
use crate::change::state_file;
use crate::cli::{ChangeArgs, DoctorArgs};
use crate::doctor::accepted::{Accepted, FILE_NAME};
use crate::doctor::check::Finding;
use crate::doctor::code::Code;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::text;
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::stamp;
use crate::view::ui::Ui;

fn file(env: &Env) -> PathBuf {
    env.state_dir().join(FILE_NAME)
}

/// Reads the accepted findings. A file that cannot be understood is a warning, and then every finding is shown.
pub(super) fn read(env: &Env, ui: &mut Ui) -> Accepted {
    match load(env) {
        Ok(accepted) => accepted,
        Err(why) => {
            ui.warn(&why);
            Accepted::default()
        }
    }
}

fn load(env: &Env) -> Result<Accepted, String> {
    state_file::read(&SYSTEM, &file(env)).map_err(|why| format!("no finding counts as accepted: {why}"))
}

/// Accepts the findings of a code, in one run that `undo` can reverse.
pub(super) fn run(code: Code, findings: &[Finding], args: &DoctorArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let refuse = |why: String| Refusal::new(RefusalCode::BadState, why).hint("fix the file or move it away");
    let mut accepted = load(env).map_err(refuse)?;
    let new = findings.iter().filter(|finding| finding.code == code && accepted.add(finding)).count();
    let mut change = Change::new("doctor --accept", Vec::new());
    if new > 0 {
        let path = file(env);
        let stamp = stamp::take_if_present(&path)?.map(Box::new);
        let step = Step::Write { path, contents: Contents::Bytes(state_file::to_json(&accepted)?), stamp };
        let what = format!("{} of {}", text::count(new, "finding"), code.name());
        change.items.push(Item::new(About::Other(what.into()), code.name(), "doctor keeps them quiet", vec![step]));
    }
    let args_of_change = ChangeArgs { dry_run: args.dry_run, apply: None, lock: args.lock };
    super::change::carry_out(&change, &args_of_change, args.format, env, ui)
}
