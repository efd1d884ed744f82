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
    transport::{
        StreamableHttpClientTransport,
        auth::AuthClient,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};

use super::{
    McpProblem, McpTransport, Secret, SecretUrl,
    endpoint::Endpoint,
    handler::Handler,
    oauth,
    program::{self, ProgramLog},
    server::Shared,
};
use crate::tool::text::plain;

/// Long enough for a program that has to be downloaded first.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of tool pages and of tools.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 1000;
/// A connection.
pub(super) type Running = RunningService<RoleClient, Handler>;

/// A server that is connected and has listed its tools.
pub(super) struct Connection {
    pub(super) running: Running,
    pub(super) listed: Vec<McpTool>,
    /// The log of its program, if it has one.
    pub(super) log: Option<ProgramLog>,
}

pub(super) async fn connect(shared: &Arc<Shared>) -> Result<Connection, McpProblem> {
    let timeout = shared.settings.timeout.max(MIN_CONNECT_TIMEOUT);
    let connecting = async {
        let handler = Handler { shared: Arc::clone(shared) };
        let (connected, log) = match &shared.settings.transport {
            McpTransport::Command { command, env } => {
                let (program, log) = program::start(shared, command, env)?;
                (serve_client(handler, program).await, Some(log))
            }
            McpTransport::Http { url, headers } => {
                let (client, config) = endpoint(url, headers)?;
                let connected = match &shared.settings.oauth {
                    Some(oauth) => {
                        let client = AuthClient::new(client, oauth::authorized(url, oauth).await?);
                        serve_client(handler, StreamableHttpClientTransport::with_client(client, config)).await
                    }
                    None => serve_client(handler, StreamableHttpClientTransport::with_client(client, config)).await,
                };
                (connected, None)
            }
        };
        match connected {
            Ok(running) => {
                let listed = list(shared, running.peer()).await?;
                Ok(Connection { running, listed, log })
            }
            Err(error) => {
                if let Some(log) = log {
                    // Its last output usually explains why.
                    log.finish().await;
                }
                Err(match is_refused(&error) {
                    true => McpProblem::Login,
                    false => McpProblem::Refused(words(shared, &error)),
                })
            }
        }
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

pub(super) fn endpoint(
    url: &SecretUrl,
    headers: &[(String, Secret)],
) -> Result<(Endpoint, StreamableHttpClientTransportConfig), McpProblem> {
    let parsed = Url::parse(url.reveal()).map_err(|_| McpProblem::Url)?;
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
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.reveal());
    config.custom_headers = custom;
    Ok((Endpoint(client), config))
}

/// Whether the server asks for a login.
fn is_refused(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::TransportError { error, .. } = error else { return false };
    let error = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(error, Some(StreamableHttpError::AuthRequired(_)))
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
