//! Connecting to a server by starting its program or by URL, and listing its tools.

use std::{collections::HashMap, sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::{
    RoleClient,
    service::{ClientCacheConfig, ClientInitializeError, RunningService, serve_client_with_lifecycle as serve},
    transport::{
        StreamableHttpClientTransport,
        auth::AuthClient,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};

use tokio::time::Instant;

use super::{
    McpProblem, McpTransport, Secret, SecretUrl,
    endpoint::Endpoint,
    handler::Handler,
    list::{Listed, list},
    oauth,
    program::{self, ProgramLog},
    rounds::is_modern,
    server::Shared,
    tokens::SentTokens,
};
use crate::text::plain;

/// Long enough for a program that has to be downloaded first.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection.
pub(super) type Running = RunningService<RoleClient, Handler>;

/// A server that is connected and has listed its tools.
pub(super) struct Connection {
    pub(super) running: Running,
    pub(super) listed: Listed,
    /// The log of its program, if it has one.
    pub(super) log: Option<ProgramLog>,
}

pub(super) async fn connect(shared: &Arc<Shared>) -> Result<Connection, McpProblem> {
    let timeout = shared.settings.timeout.max(MIN_CONNECT_TIMEOUT);
    let connecting = async {
        let handler = Handler { shared: Arc::clone(shared) };
        let (lifecycle, begun) = (shared.handshake().next(), Instant::now());
        let (connected, log) = match &shared.settings.transport {
            McpTransport::Command { command, env } => {
                let (program, log) = program::start(shared, command, env)?;
                (serve(handler, program, lifecycle).await, Some(log))
            }
            McpTransport::Http { url, headers } => {
                let (client, config) = endpoint(url, headers, &shared.tokens)?;
                let connected = match &shared.settings.oauth {
                    Some(oauth) => {
                        let client = AuthClient::new(client, oauth::authorized(url, oauth).await?);
                        serve(handler, StreamableHttpClientTransport::with_client(client, config), lifecycle).await
                    }
                    None => serve(handler, StreamableHttpClientTransport::with_client(client, config), lifecycle).await,
                };
                (connected, None)
            }
        };
        match connected {
            Ok(running) => {
                shared.handshake().connected(is_modern(running.peer()), begun.elapsed());
                // A list is read because it may have changed.
                running.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
                let listed = list(shared, running.peer()).await?;
                Ok(Connection { running, listed, log })
            }
            Err(error) => {
                if let Some(log) = log {
                    // Its last output usually explains why.
                    log.finish().await;
                }
                if is_refused(&error) {
                    return Err(McpProblem::Login);
                }
                shared.handshake().failed(&error);
                Err(McpProblem::Refused(words(shared, &error)))
            }
        }
    };
    tokio::time::timeout(timeout, connecting).await.unwrap_or(Err(McpProblem::Slow(timeout)))
}

pub(super) fn endpoint(
    url: &SecretUrl,
    headers: &[(String, Secret)],
    tokens: &SentTokens,
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
    Ok((Endpoint { client, tokens: tokens.clone() }, config))
}

/// Whether the server asks for a login.
fn is_refused(error: &ClientInitializeError) -> bool {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return is_refused(fallback);
    }
    let ClientInitializeError::TransportError { error, .. } = error else { return false };
    let error = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(error, Some(StreamableHttpError::AuthRequired(_)))
}

fn words(shared: &Shared, error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => words(shared, fallback),
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

pub(super) fn short(shared: &Shared, text: &str) -> String {
    plain(&shared.mask.hide(text), 300)
}
