//! A doorway: everything is in the library.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::CompleteEnv;

fn main() -> ExitCode {
    // A shell that asks for completions must get nothing else.
    CompleteEnv::with_factory(rejoin::cli::Cli::command).complete();
    rejoin::run(std::env::args_os()).into()
}
