//! Runs `rejoin` on a host with the terminal, for a command that needs the whole screen: an agent, or a picker.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::cli::ResumeArgs;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::fleet::command::to_enter;
use crate::fleet::{Host, of_others, ourselves, ssh};
use crate::format::shell;
use crate::launch;
use crate::system::env::Env;
use crate::view::ui::Ui;

/// Runs the command on the host in this terminal.
pub(super) fn run(host: &Host, env: &Env) -> anyhow::Result<Exit> {
    match become_there(host, &of_others(&env.invocation.words, &[], &[]), true, env)? {}
}

/// Resumes a session on the host, or prints the command for it.
pub(super) fn resume(host: &Host, args: &ResumeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let words = &of_others(&env.invocation.words, &[], &[]);
    if !args.prints() {
        match become_there(host, words, env.terminal.stdin && env.terminal.stdout, env)? {}
    }
    let argv = argv(host, &of_others(words, &["--print", "-p", "--format="], &[]), args.prompt.is_none());
    let line = shell::command(&[], &BTreeMap::new(), &argv).ok_or_else(|| {
        Refusal::new(RefusalCode::NotPrintable, "the command cannot be printed: a part of it holds control characters")
    })?;
    ui.page(env)?;
    writeln!(ui.data(), "{line}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}

fn argv(host: &Host, words: &[String], has_terminal: bool) -> Vec<String> {
    match &host.destination {
        Some(destination) => to_enter(destination, words, has_terminal),
        None => ["rejoin".to_owned()].into_iter().chain(words.iter().cloned()).collect(),
    }
}

/// Replaces this process with the command on the host, whose status is then that of rejoin; returns only on failure.
fn become_there(host: &Host, words: &[String], has_terminal: bool, env: &Env) -> anyhow::Result<Infallible> {
    let program = if host.destination.is_some() { ssh(env)? } else { ourselves()? };
    let argv = argv(host, words, has_terminal);
    launch::refuse_in_test(env)?;
    let error = Command::new(&program).arg0(&argv[0]).args(&argv[1..]).exec();
    Err(launch::cannot_run(program.as_os_str(), &error).into())
}
