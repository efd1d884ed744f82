//! `holdpoint doctor`: checks whether this installation can work.

mod data;
mod services;

use std::{
    io::{self, IsTerminal},
    net::TcpListener,
    process::ExitCode,
};

use anstyle::{AnsiColor, Style};
use holdpoint_cli::config::Config;
use holdpoint_runtime::tool::ToolSet;
use holdpoint_server::{Jwt, Keys};
use serde::Serialize;

use super::data_args::{DataArgs, Place};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The model; overrides the settings.
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,
    /// The base URL of the model's provider.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Do not ask the model for a few tokens, which costs next to nothing. Its list of models is read all the same.
    #[arg(long)]
    skip_completion: bool,
    /// Print `[{check, state, text, lines}]`.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data_args: DataArgs,
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// It works, but deserves attention.
    Warn,
    /// It does not work.
    Fail,
}

/// The result of a check.
#[derive(Debug, Serialize)]
struct Finding {
    check: String,
    state: State,
    text: String,
    /// Related output, such as the last lines of a program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<String>,
}

impl Finding {
    fn new(check: impl Into<String>, state: State, text: impl Into<String>) -> Self {
        Self { check: check.into(), state, text: text.into(), lines: Vec::new() }
    }
}

/// Exit code 0: no failures, with or without warnings; 1: failures; 2: unreadable settings, so nothing else was
/// checked.
pub(super) fn run(args: &Args) -> ExitCode {
    let mut findings = Vec::new();
    let code = match settings(args) {
        Ok(config) => {
            check(args, &config, &mut findings);
            u8::from(findings.iter().any(|finding| finding.state == State::Fail))
        }
        Err(finding) => {
            findings.push(finding);
            2
        }
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&findings).unwrap_or_default()),
        false => findings.iter().for_each(print),
    }
    ExitCode::from(code)
}

fn settings(args: &Args) -> Result<Config, Finding> {
    args.data_args.settings().map_err(|error| Finding::new("settings", State::Fail, error.to_string()))
}

fn check(args: &Args, config: &Config, findings: &mut Vec<Finding>) {
    let origin = match &args.data_args.config {
        Some(file) => format!("{} and the environment", file.display()),
        None => "no file: the defaults and the environment".to_owned(),
    };
    findings.push(Finding::new("settings", State::Ok, origin));
    let jwt = config.auth.jwt.as_ref().map(Jwt::new).transpose();
    findings.push(address(config));
    let variables = |name: &str| std::env::var(name).ok();
    let own = match config.tool_set(args.model.as_deref(), &variables) {
        Ok(tools) => {
            let text = format!("{}, not counting MCP servers", tools.iter().count());
            findings.push(Finding::new("tools", State::Ok, text));
            tools
        }
        Err(error) => {
            findings.push(Finding::new("tools", State::Fail, error.to_string()));
            ToolSet::default()
        }
    };
    let place = args.data_args.place(config);
    let key = config.key_of_secrets(&variables).unwrap_or_else(|error| {
        findings.push(Finding::new("secrets_key", State::Fail, error.to_string()));
        None
    });
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return findings.push(Finding::new("runtime", State::Fail, error.to_string())),
    };
    runtime.block_on(async {
        match place {
            Ok(Place::Folder(folder)) => {
                data::check(&folder, key.as_ref(), findings).await;
                findings.push(data::disk(&folder));
            }
            Ok(place) => findings.push(data::database(&place, key.as_ref()).await),
            Err(error) => findings.push(Finding::new("data", State::Fail, error.to_string())),
        }
        // The model is tried with the tools that it would get.
        let (tools, servers) = services::mcp(config, args.model.as_deref(), own).await;
        let asked = services::Asked {
            spec: args.model.as_deref(),
            base_url: args.base_url.as_deref(),
            is_tried: !args.skip_completion,
        };
        findings.extend(services::models(asked, config, &tools).await);
        findings.extend(servers);
        findings.extend(services::tokens(jwt).await);
    });
    // Do not wait for a program that does not end.
    runtime.shutdown_background();
}

/// Checks that the server can listen on its address.
fn address(config: &Config) -> Finding {
    let address = config.listen.unwrap_or(Config::DEFAULT_LISTEN);
    let keys = match Keys::new(&config.auth.keys) {
        Ok(keys) => keys,
        Err(error) => return Finding::new("keys", State::Fail, error.to_string()),
    };
    let finding = |state, text: &str| Finding::new("address", state, format!("{address}: {text}"));
    let is_open = keys.allows_anonymous() && config.auth.jwt.is_none();
    if is_open && !address.ip().is_loopback() {
        let text = "it can be reached from other machines, and there are no keys: set [[auth.keys]] or [auth.jwt]";
        return finding(State::Fail, text);
    }
    match TcpListener::bind(address) {
        Ok(_) if is_open => finding(State::Ok, "free; without keys, for this machine only"),
        Ok(_) => finding(State::Ok, "free"),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            finding(State::Warn, "in use, perhaps by a holdpoint that is running")
        }
        Err(error) => finding(State::Fail, &error.to_string()),
    }
}

fn print(finding: &Finding) {
    let (word, colour) = match finding.state {
        State::Ok => ("ok  ", AnsiColor::Green),
        State::Warn => ("warn", AnsiColor::Yellow),
        State::Fail => ("FAIL", AnsiColor::Red),
    };
    let is_pretty = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let style = if is_pretty { colour.on_default().bold() } else { Style::new() };
    println!("{style}{word}{style:#}  {:<16} {}", finding.check, finding.text);
    for line in &finding.lines {
        println!("      {:<16} | {line}", "");
    }
}
