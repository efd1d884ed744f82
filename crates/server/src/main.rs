//! The `holdpoint` command.

mod cli;
mod console;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
