//! The command line: `serve` (the default) and the offline commands.

mod check;
mod data_args;
mod doctor;
mod export;
mod import;
mod logging;
mod masked;
mod model;
#[cfg(feature = "otlp")]
mod otlp;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Holds for AI agents: durable approvals and browser tools.
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
    /// Check a captured stream for what would break an AI SDK client.
    Check(check::Args),
    /// Write chats as lines of JSON; a server may be running.
    Export(export::Args),
    /// Import an export into a data folder that no server is using.
    Import(import::Args),
    /// Check the settings, the data folder, the disk, the model and the MCP servers.
    Doctor(doctor::Args),
}

/// Runs the chosen command.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => serve::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Doctor(args) => doctor::run(&args),
    }
}
