//! The command line: `serve` (the default) and `check`.

mod check;
mod masked;
mod model;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Holds for AI agents: the moment an agent has to stop and wait for somebody.
#[derive(Parser)]
#[command(name = "holdpoint", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Args,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server (the default command).
    Serve(serve::Args),
    /// Tell what in a captured stream would break an AI SDK client.
    Check(check::Args),
}

/// Runs the command that was asked for.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::run(&args),
        Command::Check(args) => check::run(&args),
    }
}
