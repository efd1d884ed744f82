//! `holdpoint mcp`: logins at MCP servers that are protected by OAuth.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use holdpoint_cli::config::{ConfigError, McpConfigError, Problems};
use holdpoint_runtime::tool::mcp::{McpLogin, McpLoginError};

use super::data_args::settings;

/// How long a person has in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Log in at a server, in a browser, and keep its tokens in the server's `oauth_file`. A running holdpoint takes them up.
    Login(LoginArgs),
}

#[derive(clap::Args)]
struct LoginArgs {
    /// The name of the server in the settings.
    name: String,
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port of this machine that the browser comes back to; any by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// Why the login failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("there is no MCP server {name:?} in the settings. There are: {known}")]
    Unknown { name: String, known: String },
    #[error(transparent)]
    Server(#[from] Problems<McpConfigError>),
    #[error("the MCP server {name:?}: {error}")]
    Login { name: String, error: McpLoginError },
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
    let Command::Login(args) = &args.command;
    match login(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

fn login(args: &LoginArgs) -> Result<(), Failure> {
    let config = settings(args.config.as_deref())?;
    let Some(server) = config.mcp.iter().find(|server| server.name == args.name) else {
        let known: Vec<&str> = config.mcp.iter().map(|server| server.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Failure::Unknown { name: args.name.clone(), known });
    };
    let variables = |name: &str| std::env::var(name).ok();
    let settings = config.settings_of(server, &config.known_tools(None), &variables)?;
    let failed = |error| Failure::Login { name: args.name.clone(), error };
    tokio::runtime::Runtime::new()?.block_on(async {
        let login = McpLogin::begin(&settings, args.port).await.map_err(failed)?;
        println!("Open this page in a browser on this machine, and log in:\n\n{}\n", login.url());
        login.finish(LOGIN_TIMEOUT).await.map_err(failed)?;
        let file = settings.oauth.as_ref().map(|oauth| oauth.file.display().to_string()).unwrap_or_default();
        println!("Logged in. The tokens are in {file}, which only you can read, encrypted with `oauth_key`.");
        Ok(())
    })
}
