//! One file a verb: collect, ask the core, render.

pub(crate) mod backfill;
pub(crate) mod find;
pub(crate) mod generate;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod list;
pub(crate) mod resume;
pub(crate) mod save;
pub(crate) mod show;

use crate::cli::FilterArgs;
use crate::env::Env;
use crate::scan::Scan;
use crate::select::Filter;
use crate::ui::Ui;
use std::path::Path;

/// Turns the options of a command into a filter; directories get every name that records may use.
fn filter(args: &FilterArgs, dir: Option<&Path>, all: bool, env: &Env) -> Filter {
    let here = if args.here { env.cwd.as_deref() } else { None };
    let dirs = dir.or(here).map(|dir| directory_names(dir, env)).unwrap_or_default();
    Filter {
        agents: args.agent.clone(),
        dirs,
        since: args.since.map(|age| age.from_now(env.now)),
        before: args.older_than.map(|age| age.from_now(env.now)),
        all,
    }
}

/// Returns a directory as it was typed and, if it exists, as it is with its links resolved.
fn directory_names(dir: &Path, env: &Env) -> Vec<std::path::PathBuf> {
    let mut names = vec![env.absolute(dir)];
    names.extend(names[0].canonicalize().ok().filter(|resolved| *resolved != names[0]));
    names
}

/// Says what could not be read, one line each.
fn warn_of_problems(ui: &mut Ui, scan: &Scan) {
    for problem in &scan.problems {
        ui.warn(&format!("cannot read {}: {}", problem.path.display(), problem.reason));
    }
}
