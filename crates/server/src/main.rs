//! The `holdpoint` command.

mod cli;
#[cfg(feature = "console")]
mod console;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
