//! The `holdpoint` command.

mod commands;
#[cfg(feature = "console")]
mod console;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run()
}
