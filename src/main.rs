//! The entry point; all code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    rejoin::run(std::env::args_os()).into()
}
