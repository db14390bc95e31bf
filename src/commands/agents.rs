//! `rejoin agents`

use crate::agent;
use crate::cli::AgentsArgs;
use crate::error::Exit;
use crate::scan::{self, Wanted, stores};
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::view::render::stores::{Agents, Pointers};
use crate::view::ui::Ui;

pub(crate) fn run(args: &AgentsArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = Filter::of_agents(&args.agents.agent);
    let showing = ui.watch("Reading");
    let watcher = showing.watcher();
    let mut scan = scan::locate(env, &args.agents.agent).watched(watcher.clone()).read_all(env, Wanted::GLANCE);
    scan.add_those_in_dirs(env, &filter, Wanted::GLANCE, &watcher);
    scan.add_pointers(env);
    drop(showing);
    super::warn_of_problems(ui, &scan.problems);
    let owners: Vec<_> = args.agents.agent.iter().map(|agent| agent.session_owner()).collect();
    let pointers = agent::pointer_writers().iter().map(|writer| {
        let kind = writer.kind();
        let tied = scan.sessions.iter().flat_map(|session| &session.pointers).filter(|pointer| pointer.agent == kind);
        let dangling = scan.dangling.iter().filter(|pointer| pointer.agent == kind).count();
        Pointers { agent: kind, of: kind.session_owner(), pointers: tied.count() + dangling, dangling }
    });
    let pointers = pointers.filter(|pointers| pointers.pointers > 0).collect();
    let answer = Agents { stores: stores::facts(&scan.sessions, &owners, env), pointers };
    ui.answer(args.format, env, &answer)?;
    // As in `list`: giving each session's memory back takes longer than it is worth.
    std::mem::forget(scan);
    Ok(Exit::Ok)
}
