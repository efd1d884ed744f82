//! The `holdpoint` command.

mod cli;
mod page;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
