//! Checks of the server's dependencies: the model, the MCP servers and the keys for tokens.

use std::time::Duration;

use holdpoint_cli::config::Config;
use holdpoint_runtime::{
    model::{
        Model,
        provider::{Probed, ProviderModel},
    },
    tool::{
        ToolSet,
        mcp::{McpServer, McpServers, McpSettings},
    },
};
use holdpoint_server::{Jwt, JwtError};

use super::{Finding, State};
use crate::commands::model::{Chosen, model as choose};

/// Timeout for the model's provider.
const MODEL_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for the first words of the model. A local server may have to load it first.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for an MCP server to start and list its tools.
const MCP_START_TIMEOUT: Duration = Duration::from_secs(45);
/// Timeout for an MCP server to close.
const MCP_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What is asked of the model.
pub(super) struct Asked<'a> {
    pub(super) spec: Option<&'a str>,
    pub(super) base_url: Option<&'a str>,
    /// Whether it is asked for a few tokens.
    pub(super) is_tried: bool,
}

/// Checks that the model and its fallbacks can be reached, and take what they are sent.
pub(super) async fn models(asked: Asked<'_>, config: &Config, tools: &ToolSet) -> Vec<Finding> {
    let chosen = match choose(asked.spec, asked.base_url, &config.model) {
        Ok(chosen) => chosen,
        Err(error) => return vec![Finding::new("model", State::Fail, error.to_string())],
    };
    let provider = match chosen {
        Chosen::Demo => return vec![Finding::new("model", State::Ok, "demo: it needs no key and no network")],
        Chosen::Script(_) => {
            return vec![Finding::new("model", State::Ok, "a script: it needs no key and no network")];
        }
        Chosen::Provider(provider) => provider,
    };
    let each = provider.each();
    let checked = each.iter().enumerate().map(|(at, model)| {
        let check = if at == 0 { "model" } else { "fallback" };
        one_model(check, model, asked.is_tried, tools)
    });
    futures::future::join_all(checked).await
}

async fn one_model(check: &str, model: &ProviderModel, is_tried: bool, tools: &ToolSet) -> Finding {
    let finding = |state, text: &str| Finding::new(check, state, format!("{}: {text}", model.spec()));
    let specs = tools.offered_specs();
    let probed = match tokio::time::timeout(MODEL_TIMEOUT, model.probe()).await {
        Err(_) => return finding(State::Fail, &format!("no answer within {} s", MODEL_TIMEOUT.as_secs())),
        Ok(Err(error)) => return Finding { lines: vec![error.detail], ..finding(State::Fail, &error.message) },
        Ok(Ok(probed)) => probed,
    };
    let mut found = match (is_tried, probed) {
        // Whether it answers is what counts: not every model and not every server is in a list.
        (true, probed) => match tokio::time::timeout(COMPLETION_TIMEOUT, model.try_out(tools.catalog())).await {
            Err(_) => finding(State::Fail, &format!("no answer within {} s", COMPLETION_TIMEOUT.as_secs())),
            Ok(Err(error)) => Finding { lines: vec![error.detail], ..finding(State::Fail, &error.message) },
            Ok(Ok(())) if matches!(probed, Probed::NotListed { .. }) => {
                finding(State::Ok, "it answers, although its provider does not list it")
            }
            Ok(Ok(())) => finding(State::Ok, &format!("it answers, and takes {} tools", specs.len())),
        },
        (false, Probed::Listed) => finding(State::Ok, "it can be reached, and the key is good"),
        (false, Probed::NotListed { others }) => {
            let text = format!("it can be reached, and the model is not among the {others} that it lists");
            finding(State::Warn, &text)
        }
        (false, Probed::NoList) => {
            finding(State::Warn, "it can be reached; it has no list of models, so the key was not tried")
        }
    };
    let warnings = model.warnings(&specs);
    if !warnings.is_empty() && found.state == State::Ok {
        found = finding(State::Warn, "it answers, and is not offered all tools");
    }
    found.lines.extend(warnings);
    found
}

/// Starts each MCP server, lists its tools and stops it. Gives these tools with the others.
pub(super) async fn mcp(config: &Config, model: Option<&str>, own: ToolSet) -> (ToolSet, Vec<Finding>) {
    let variables = |name: &str| std::env::var(name).ok();
    let known = config.known_tools(model);
    let started = config.mcp.iter().map(async |server| match config.settings_of(server, &known, &variables) {
        Ok(settings) => {
            let started = McpServer::start(McpSettings { start_wait: MCP_START_TIMEOUT, ..settings }).await;
            started.map_err(|error| error.problem.to_string())
        }
        Err(error) => Err(error.to_string()),
    });
    let started = futures::future::join_all(started).await;
    // Together, as the server has them: two of them may have the same name for a tool.
    let (mut running, mut failed) = (Vec::new(), Vec::new());
    for (server, started) in config.mcp.iter().zip(started) {
        match started {
            Ok(server) => running.push(server),
            Err(error) => failed.push((server.name.as_str(), error)),
        }
    }
    let servers: McpServers = running.into_iter().collect();
    let all = servers.with(&own);
    let mut findings = Vec::new();
    for server in &config.mcp {
        let failure = failed.iter().find(|(name, _)| *name == server.name);
        findings.push(match (servers.iter().find(|running| running.name() == server.name), failure) {
            (Some(running), None) => one(running),
            (_, failure) => {
                let error = failure.map_or_else(String::new, |(_, error)| error.clone());
                Finding::new(format!("mcp {}", server.name), State::Fail, error)
            }
        });
    }
    let _ = tokio::time::timeout(MCP_SHUTDOWN_TIMEOUT, servers.stop()).await;
    (all, findings)
}

fn one(server: &McpServer) -> Finding {
    let (check, state) = (format!("mcp {}", server.name()), server.watch().read());
    let finding = match state.problem {
        Some(problem) => Finding::new(check, State::Fail, problem),
        None => {
            let found = if state.warnings.is_empty() { State::Ok } else { State::Warn };
            Finding::new(check, found, format!("{} tools", state.tools.len()))
        }
    };
    let lines = state.warnings.iter().map(ToString::to_string).chain(state.last_lines).collect();
    Finding { lines, ..finding }
}

/// Checks that the keys for tokens can be read. The server starts without them.
pub(super) async fn tokens(jwt: Result<Option<Jwt>, JwtError>) -> Option<Finding> {
    let jwt = match jwt {
        Ok(jwt) => jwt?,
        Err(error) => return Some(Finding::new("tokens", State::Fail, error.to_string())),
    };
    Some(match jwt.check().await {
        Ok(()) => Finding::new("tokens", State::Ok, "the issuer's keys can be read"),
        Err(error) => Finding::new("tokens", State::Warn, error.to_string()),
    })
}
