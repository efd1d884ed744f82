//! Checks of the server's dependencies: the model, the MCP servers and the keys for tokens.

use std::time::Duration;

use holdpoint_runtime::{
    model::provider::Probed,
    tool::mcp::{McpServer, McpServers, McpSettings},
};
use holdpoint_server::{Jwt, JwtError, config::Config};

use super::{Finding, State};
use crate::cli::model::{Chosen, model as choose};

/// Timeout for the model's provider.
const MODEL_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for an MCP server to start and list its tools.
const MCP_START_TIMEOUT: Duration = Duration::from_secs(45);
/// Timeout for an MCP server to close.
const MCP_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks that the model can be reached.
pub(super) async fn model(spec: Option<&str>, base_url: Option<&str>, config: &Config) -> Finding {
    let chosen = match choose(spec, base_url, &config.model) {
        Ok(chosen) => chosen,
        Err(error) => return Finding::new("model", State::Fail, error.to_string()),
    };
    let provider = match chosen {
        Chosen::Demo => return Finding::new("model", State::Ok, "demo: it needs no key and no network"),
        Chosen::Script(_) => return Finding::new("model", State::Ok, "a script: it needs no key and no network"),
        Chosen::Provider(provider) => provider,
    };
    let name = spec.or(config.model.use_model.as_deref()).unwrap_or_default();
    let finding = |state, text: String| Finding::new("model", state, format!("{name}: {text}"));
    match tokio::time::timeout(MODEL_TIMEOUT, provider.probe()).await {
        Err(_) => finding(State::Fail, format!("no answer within {} s", MODEL_TIMEOUT.as_secs())),
        Ok(Err(error)) => finding(State::Fail, error.message),
        Ok(Ok(Probed::Listed)) => finding(State::Ok, "it can be reached, and the key is good".to_owned()),
        Ok(Ok(Probed::NotListed { others })) => {
            finding(State::Warn, format!("it can be reached, and the model is not among the {others} that it lists"))
        }
        Ok(Ok(Probed::NoList)) => {
            finding(State::Warn, "it can be reached; it has no list of models, so the key was not tried".to_owned())
        }
    }
}

/// Starts each MCP server, lists its tools and stops it.
pub(super) async fn mcp(config: &Config, model: Option<&str>, findings: &mut Vec<Finding>) {
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
    let own = config.own_tools(&known, &variables).unwrap_or_default();
    let (mut running, mut failed) = (Vec::new(), Vec::new());
    for (server, started) in config.mcp.iter().zip(started) {
        match started {
            Ok(server) => running.push(server),
            Err(error) => failed.push((server.name.as_str(), error)),
        }
    }
    let servers: McpServers = running.into_iter().collect();
    servers.with(&own);
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
