//! `--host`: runs a command on other hosts, and merges their answers.

mod answers;
mod enter;
mod list;
mod named;
mod resume;
mod search;

use crate::cli::{Cli, Command, Format};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::fleet::command::Manner;
use crate::fleet::rows::{HostReport, HostRows};
use crate::fleet::{self, Host, destination};
use crate::format::{command_line, text};
use crate::system::env::Env;
use crate::view::ui::Ui;

pub(crate) use named::take_host;

/// A command for other hosts.
struct Asking<'a> {
    hosts: Vec<Host>,
    manner: Manner,
    env: &'a Env,
}

impl Asking<'_> {
    /// Sends these words to every host, and waits until each begins to answer with rows of this kind, with at most
    /// `limit` rows.
    fn rows(&self, kind: &str, words: &[String], limit: Option<usize>, ui: &Ui) -> Result<Vec<HostRows>, Refusal> {
        let showing = ui.watch("Asking hosts");
        let watcher = showing.watcher();
        watcher.begin(self.hosts.len());
        let answering = fleet::ask_hosts(&self.hosts, words, self.manner, self.env)?;
        let mut rows: Vec<HostRows> = answering.into_iter().map(|one| HostRows::from_answer(one, limit)).collect();
        for rows in &mut rows {
            rows.begin(kind);
            watcher.done(1);
        }
        Ok(rows)
    }
}

/// Runs a command on other hosts; `format` is the requested one.
pub(crate) fn run(cli: &Cli, format: Option<Format>, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let json = format.filter(|format| format.is_json());
    let hosts = destination::resolve(&cli.global.hosts, &env.config.hosts)?;
    refuse_here(&env.invocation.words)?;
    let columns = env.terminal.screen_width();
    let manner = Manner {
        timeout: cli.global.connect_timeout,
        silence: cli.global.answer_timeout,
        is_asked: hosts.len() == 1
            && changes(&cli.command)
            && json.is_none()
            && env.terminal.can_ask()
            && env.terminal.stdout,
        columns,
        has_colors: ui.has_colors(),
    };
    let asking = Asking { hosts, manner, env };
    match (&cli.command, asking.hosts.as_slice()) {
        (Command::List(args), _) if !args.archived => list::run(args, &asking, ui),
        (Command::Search(args), _) if !args.pick => search::run(args, &asking, ui),
        (Command::Resume(args), [host]) if args.plan().is_none() => enter::resume(host, args, env, ui),
        (Command::Resume(args), _) if args.plan().is_none() && !args.last_launch => resume::run(args, &asking, ui),
        (Command::Completions(_) | Command::Help(_) | Command::Save(_) | Command::Hook(_), _) => {
            let message = "this command is about the machine that it runs on, and takes no --host";
            Err(Refusal::new(RefusalCode::Usage, message).into())
        }
        // A picker needs the whole screen, and this machine always filters its output.
        (command, [host]) if manner.is_asked && (picks(command) || host.destination.is_none()) => enter::run(host, env),
        (command, hosts) if hosts.len() > 1 && !is_for_several(command) => Err(several(hosts, env)),
        (_, hosts) if hosts.len() > 1 && format == Some(Format::Csv) => {
            let message = "the csv of several hosts is not merged for this command";
            Err(Refusal::new(RefusalCode::Usage, message).hint("use --format tsv or --format ndjson").into())
        }
        _ => match json {
            Some(format) => answers::json(format, &asking, ui),
            None => {
                let is_file = matches!(&cli.command, Command::Export(_)) || is_path(&cli.command);
                let is_file = is_file || format == Some(Format::Csv);
                answers::text(is_file, &asking, ui)
            }
        },
    }
}

/// Returns whether a command prints only a path.
fn is_path(command: &Command) -> bool {
    matches!(command, Command::Show(args) if args.path)
}

fn picks(command: &Command) -> bool {
    matches!(command, Command::Search(args) if args.pick)
}

/// Returns whether a command may ask before a change, or ask for the choice of a session.
fn changes(command: &Command) -> bool {
    match command {
        Command::Search(_) => picks(command),
        Command::Doctor(args) => args.fix,
        Command::Undo(args) => !args.list,
        command => command.verb().may_change(),
    }
}

/// Returns whether a command answers for several hosts one after the other.
fn is_for_several(command: &Command) -> bool {
    matches!(command, Command::List(_) | Command::Show(_)) && !is_path(command)
}

fn several(hosts: &[Host], env: &Env) -> anyhow::Error {
    let message = format!("this command is for one host, and {} were named", hosts.len());
    let first = hosts.first().map_or("NAME", |host| host.name.as_str());
    let one = command_line::again(env, &["--host=", "--hosts="], &["--host", first]);
    Refusal::new(RefusalCode::Usage, message).hint(format!("name one, as in `{one}`")).into()
}

/// Refuses options for the current directory, which is one of this machine.
fn refuse_here(words: &[String]) -> Result<(), Refusal> {
    let mut own = words.iter().take_while(|word| *word != "--");
    if own.any(|word| word == "--here") {
        let message = "--here is a directory of this machine, and other hosts are asked";
        return Err(Refusal::new(RefusalCode::Usage, message).hint("name the directory there with --dir DIR"));
    }
    Ok(())
}

/// Warns about rows that are not shown because this rejoin does not know their agent.
fn warn_of_unknown(unknown: usize, ui: &mut Ui) {
    if unknown > 0 {
        let unknown = text::count(unknown, "session");
        ui.warn(&format!("{unknown} of agents that this rejoin does not know: not shown; --json shows all"));
    }
}

/// Prints the messages of each host, and the reason of a missing answer; returns the exit status.
fn conclude(reports: &[HostReport], format: Format, ui: &mut Ui) -> Exit {
    for report in reports {
        ui.relay(&report.host, &report.stderr);
        if let Some(fault) = &report.fault {
            let refusal = Refusal::new(RefusalCode::HostFailed, format!("{}: {fault}", report.host));
            let refusal = report.hint.iter().fold(refusal, |refusal, hint| refusal.hint(hint.clone()));
            match format {
                Format::Json | Format::Ndjson => {
                    ui.error_json(&crate::view::render::json::error(&refusal.into(), &Default::default()));
                }
                _ => ui.error(&refusal.into()),
            }
        }
    }
    if reports.iter().any(|report| report.fault.is_some()) { Exit::Partial } else { Exit::Ok }
}
