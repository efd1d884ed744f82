//! Getting to a server: starting its program, or calling its URL; then the list of its tools.

use std::{collections::HashMap, process::Stdio, sync::Arc, time::Duration};

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
        StreamableHttpClientTransport, TokioChildProcess, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::Command,
};

use super::{McpProblem, McpTransport, Secret, endpoint::Endpoint, handler::Handler, lines::LastLines, server::Shared};
use crate::tool::text::plain;

/// A program may have to be fetched before it runs.
const SHORTEST_WAIT: Duration = Duration::from_secs(30);
/// What every program needs, and what is handed on to it: nothing else, since our own environment has the keys of others in it.
const INHERITED: [&str; 12] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ", "SYSTEMROOT", "APPDATA"];
/// How many pages of tools are read, and how many tools are taken.
const PAGES: usize = 100;
const TOOLS: usize = 1000;
/// How much of a line of a program's own log is taken over.
const LINE: usize = 1000;
/// How much of a line is read at once.
const LONGEST: u64 = 64 * 1024;

/// A connection.
pub(super) type Running = RunningService<RoleClient, Handler>;

pub(super) async fn connect(shared: &Arc<Shared>) -> Result<(Running, Vec<McpTool>), McpProblem> {
    let patience = shared.settings.timeout.max(SHORTEST_WAIT);
    let connecting = async {
        let handler = Handler { shared: Arc::clone(shared) };
        let connected = match &shared.settings.transport {
            McpTransport::Command { command, env } => serve_client(handler, program(shared, command, env)?).await,
            McpTransport::Http { url, headers } => serve_client(handler, endpoint(url, headers)?).await,
        };
        let running = connected.map_err(|error| McpProblem::Refused(words(shared, &error)))?;
        let tools = list(shared, running.peer()).await?;
        Ok((running, tools))
    };
    tokio::time::timeout(patience, connecting).await.unwrap_or(Err(McpProblem::Slow(patience)))
}

/// All tools of a server; a bounded number of them.
pub(super) async fn list(shared: &Shared, peer: &Peer<RoleClient>) -> Result<Vec<McpTool>, McpProblem> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let page = peer.list_tools(Some(params)).await;
        let page = page.map_err(|error| McpProblem::List(short(shared, &error.to_string())))?;
        tools.extend(page.tools);
        if tools.len() > TOOLS {
            return Err(McpProblem::List(format!("there are more than {TOOLS}")));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(McpProblem::List(format!("the list has more than {PAGES} pages")))
}

fn program(shared: &Shared, command: &[String], env: &[(String, Secret)]) -> Result<TokioChildProcess, McpProblem> {
    let (program, args) = command.split_first().ok_or(McpProblem::NoCommand)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().kill_on_drop(true);
    command.envs(INHERITED.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
    // Ctrl-C is for us: what runs may still need this program.
    #[cfg(unix)]
    command.process_group(0);
    let started = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
    let (transport, log) = started.map_err(|error| McpProblem::Spawn { program: program.clone(), error })?;
    if let Some(log) = log {
        tokio::spawn(take_over(log, shared.settings.name.clone(), shared.mask.clone(), shared.lines.clone()));
    }
    Ok(transport)
}

/// A program's own log goes into ours. It must be read in any case: a program stands still when nobody does.
async fn take_over(log: impl AsyncRead + Unpin, server: String, mask: crate::tool::secret::Mask, lines: LastLines) {
    let mut log = BufReader::new(log);
    loop {
        // Whole lines, hidden before they are cut: half a secret would not be known for one.
        let mut line = Vec::new();
        match (&mut log).take(LONGEST).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = plain(&mask.hide(String::from_utf8_lossy(&line).trim_end()), LINE);
        tracing::debug!(server, "{line}");
        lines.push(line);
    }
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
    // A redirect would take the headers along to somewhere else.
    let client = reqwest::Client::builder().redirect(redirect::Policy::none()).pool_max_idle_per_host(0).build();
    let client = client.map_err(|error| McpProblem::Client(error.without_url().to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = custom;
    Ok(StreamableHttpClientTransport::with_client(Endpoint(client), config))
}

fn words(shared: &Shared, error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
        other => short(shared, &other.to_string()),
    }
}

fn short(shared: &Shared, text: &str) -> String {
    plain(&shared.mask.hide(text), 300)
}
