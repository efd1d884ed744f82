//! Connecting to a server by starting its program or by URL, and listing its tools.

use std::{collections::HashMap, sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::{
    RoleClient,
    model::{PaginatedRequestParams, Tool as McpTool},
    service::{ClientInitializeError, Peer, RunningService, serve_client},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};

use super::{McpProblem, McpTransport, Secret, endpoint::Endpoint, handler::Handler, program, server::Shared};
use crate::tool::text::plain;

/// Long enough for a program that has to be downloaded first.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the log of a program that did not start is read.
const LOG_DRAIN: Duration = Duration::from_millis(500);
/// Maximum number of tool pages and of tools.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 1000;
/// A connection.
pub(super) type Running = RunningService<RoleClient, Handler>;

pub(super) async fn connect(shared: &Arc<Shared>) -> Result<(Running, Vec<McpTool>), McpProblem> {
    let timeout = shared.settings.timeout.max(MIN_CONNECT_TIMEOUT);
    let connecting = async {
        let handler = Handler { shared: Arc::clone(shared) };
        let connected = match &shared.settings.transport {
            McpTransport::Command { command, env } => {
                let (program, log) = program::start(shared, command, env)?;
                let connected = serve_client(handler, program).await;
                if connected.is_err() {
                    // Its last output usually explains why.
                    let _ = tokio::time::timeout(LOG_DRAIN, log).await;
                }
                connected
            }
            McpTransport::Http { url, headers } => serve_client(handler, endpoint(url, headers)?).await,
        };
        let running = connected.map_err(|error| McpProblem::Refused(words(shared, &error)))?;
        let tools = list(shared, running.peer()).await?;
        Ok((running, tools))
    };
    tokio::time::timeout(timeout, connecting).await.unwrap_or(Err(McpProblem::Slow(timeout)))
}

/// All tools of a server, up to a limit.
pub(super) async fn list(shared: &Shared, peer: &Peer<RoleClient>) -> Result<Vec<McpTool>, McpProblem> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let page = peer.list_tools(Some(params)).await;
        let page = page.map_err(|error| McpProblem::List(short(shared, &error.to_string())))?;
        tools.extend(page.tools);
        if tools.len() > MAX_TOOLS {
            return Err(McpProblem::List(format!("there are more than {MAX_TOOLS}")));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(McpProblem::List(format!("the list has more than {MAX_PAGES} pages")))
}

fn endpoint(url: &str, headers: &[(String, Secret)]) -> Result<StreamableHttpClientTransport<Endpoint>, McpProblem> {
    let parsed = Url::parse(url).map_err(|_| McpProblem::Url)?;
    let has_user = !parsed.username().is_empty() || parsed.password().is_some();
    if !matches!(parsed.scheme(), "http" | "https") || has_user {
        return Err(McpProblem::Url);
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let wrong = || McpProblem::Header { name: name.clone() };
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        custom.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    // A redirect would send the headers elsewhere.
    let client = reqwest::Client::builder().redirect(redirect::Policy::none()).pool_max_idle_per_host(0).build();
    let client = client.map_err(|error| McpProblem::Client(error.without_url().to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = custom;
    Ok(StreamableHttpClientTransport::with_client(Endpoint(client), config))
}

fn words(shared: &Shared, error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
        // Without the name of the library's type. The last cause says most.
        ClientInitializeError::TransportError { error, .. } => short(shared, &chain(&*error.error)),
        other => short(shared, &other.to_string()),
    }
}

/// An error and its causes, each once.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| error.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn short(shared: &Shared, text: &str) -> String {
    plain(&shared.mask.hide(text), 300)
}
