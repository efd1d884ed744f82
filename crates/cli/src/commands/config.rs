//! `holdpoint config`: checks the settings without starting anything.

use std::{path::PathBuf, process::ExitCode};

use super::{
    data_args::{PlaceArgs, settings},
    startup::{Options, prepare},
};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check the settings, without network and without starting anything. `holdpoint doctor` also tries the services.
    Check(CheckArgs),
}

#[derive(clap::Args)]
struct CheckArgs {
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Exit code 0: the server would start with these settings; 1: it would not.
pub(super) fn run(args: &Args) -> ExitCode {
    let Command::Check(args) = &args.command;
    let config = match settings(args.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("holdpoint: {error}");
            return ExitCode::from(1);
        }
    };
    let prepared = match prepare(&config, &Options { place: Some(&PlaceArgs::default()), ..Options::default() }) {
        Ok(prepared) => prepared,
        Err(refused) => {
            eprintln!("holdpoint: {refused}");
            return ExitCode::from(1);
        }
    };
    for warning in prepared.model.into_model().warnings(&prepared.tools.offered_specs()) {
        eprintln!("holdpoint: warning: {warning}");
    }
    let origin = args.config.as_ref().map_or("the environment".to_owned(), |file| file.display().to_string());
    let (tools, servers) = (config.tools.len(), config.mcp.len());
    println!("{origin}: good. Settings of {tools} tools, {servers} MCP servers, {} keys", config.auth.keys.len());
    ExitCode::SUCCESS
}
