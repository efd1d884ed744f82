//! `holdpoint config`: checks the settings without starting anything.

use std::{path::PathBuf, process::ExitCode};

use holdpoint_server::{Jwt, Keys, config::Config};

use super::{data_args::settings, model::model};

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
    let problems = problems(&config);
    problems.iter().for_each(|problem| eprintln!("holdpoint: {problem}"));
    if !problems.is_empty() {
        return ExitCode::from(1);
    }
    let origin = args.config.as_ref().map_or("the environment".to_owned(), |file| file.display().to_string());
    let (tools, servers) = (config.tools.len(), config.mcp.len());
    println!("{origin}: good. Settings of {tools} tools, {servers} MCP servers, {} keys", config.auth.keys.len());
    ExitCode::SUCCESS
}

/// Everything that would keep the server from starting, as far as the settings say it.
fn problems(config: &Config) -> Vec<String> {
    let variables = |name: &str| std::env::var(name).ok();
    let known = config.known_tools(None);
    let mut problems = Vec::new();
    let mut add = |problem: Option<String>| problems.extend(problem);
    let keys = Keys::new(&config.auth.keys);
    let is_open = keys.as_ref().is_ok_and(Keys::allows_anonymous) && config.auth.jwt.is_none();
    add(keys.err().map(|error| error.to_string()));
    add(config.auth.jwt.as_ref().and_then(|jwt| Jwt::new(jwt).err()).map(|error| error.to_string()));
    let address = config.listen.unwrap_or(Config::DEFAULT_LISTEN);
    if is_open && !address.ip().is_loopback() {
        add(Some(format!(
            "listen: {address} can be reached from other machines, and there are no keys: set [[auth.keys]] or [auth.jwt]"
        )));
    }
    add(config.own_tools(&known, &variables).err().map(|error| error.to_string()));
    for server in &config.mcp {
        add(config.settings_of(server, &known, &variables).err().map(|error| error.to_string()));
    }
    add(model(None, None, &config.model).err().map(|error| error.to_string()));
    problems
}
