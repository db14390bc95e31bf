//! `rejoin agents`

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::{self, unread};
use crate::cli::AgentsArgs;
use crate::error::Exit;
use crate::scan::{ScanScope, stores};
use crate::session::AgentKind;
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::view::render::stores::{Agents, Pointers};
use crate::view::ui::Ui;

pub(crate) fn run(args: &AgentsArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = Filter::of_agents(&args.agents.agent);
    let mut shared = BTreeSet::new();
    let scan = super::read(&args.agents.agent, env, ui, |mut places| {
        shared = std::mem::take(&mut places.shared);
        places.read_with_dirs(env, &filter, ScanScope::GLANCE)
    });
    let owners: Vec<_> = args.agents.agent.iter().map(|agent| agent.session_owner()).collect();
    let mut tied: BTreeMap<AgentKind, usize> = BTreeMap::new();
    for pointer in scan.sessions.iter().flat_map(|session| &session.pointers) {
        *tied.entry(pointer.agent).or_default() += 1;
    }
    let stores = stores::facts(&scan.sessions, &shared, &owners, env);
    let pointers = agent::pointer_writers().iter().map(|writer| {
        let kind = writer.kind();
        let tied = tied.get(&kind).copied().unwrap_or_default();
        let dangling = scan.dangling.iter().filter(|pointer| pointer.agent == kind).count();
        Pointers { agent: kind, of: kind.session_owner(), pointers: tied + dangling, dangling }
    });
    let pointers = pointers.filter(|pointers| pointers.pointers > 0).collect();
    let not_read = if args.agents.agent.is_empty() { unread::found(env) } else { Vec::new() };
    let answer = Agents { stores, pointers, not_read };
    ui.answer(args.format, env, &answer)?;
    // As in `list`: freeing each session's memory costs more than it saves.
    std::mem::forget(scan);
    Ok(Exit::Ok)
}
