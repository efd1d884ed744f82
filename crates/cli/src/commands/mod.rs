//! The command line: `serve` (the default) and the offline commands.

mod allocator;
mod check;
mod config;
mod data_args;
mod doctor;
mod export;
mod import;
mod init;
mod key;
mod log;
mod logging;
mod masked;
mod mcp;
mod model;
#[cfg(feature = "otlp")]
mod otlp;
mod serve;
mod startup;
mod terminal;
mod tools;
mod verify;

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
    /// Make API keys, and the entries of the settings for them.
    Key(key::Args),
    /// Print what happened to the calls of a chat: who was asked, who decided, what ran; a server may be running.
    Log(log::Args),
    /// Check that nothing in the chats' logs was changed, removed or moved; a server may be running.
    Verify(verify::Args),
    /// Write a settings file with comments, after three questions.
    Init(init::Args),
    /// Check the settings without starting anything.
    Config(config::Args),
    /// Log in at MCP servers.
    Mcp(mcp::Args),
    /// Make tools of an HTTP API.
    Tools(tools::Args),
    /// Check the settings, the data folder, the disk, the model and the MCP servers.
    Doctor(doctor::Args),
}

/// Runs the chosen command.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.unwrap_or(Command::Serve(cli.serve)) {
        Command::Serve(args) => {
            allocator::return_freed_memory();
            serve::run(&args)
        }
        Command::Check(args) => check::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Log(args) => log::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Doctor(args) => doctor::run(&args),
    }
}
