//! `holdpoint serve`.

use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use holdpoint_cli::config::{Config, ConfigError};
use holdpoint_protocol::status::{McpState, McpStatus};
use holdpoint_runtime::{
    Runtime,
    log::{MemoryLog, Store},
    tool::{
        ToolSet,
        mcp::{McpServer, McpServers, McpSnapshot, McpWatch},
    },
};
use holdpoint_server::{Limits, Server};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use super::{
    data_args::{Place, PlaceArgs, PlaceError, settings},
    logging,
    startup::{Options, Prepared, Refused, prepare},
};

/// Timeout for the programs of MCP servers to end.
const MCP_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(super) struct Args {
    /// The address to listen on [default: 127.0.0.1:8787].
    #[arg(long)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Keep chats in memory only.
    #[arg(long, conflicts_with_all = ["data", "log"])]
    ephemeral: bool,
    /// The model: demo, script:FILE, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL [default: demo].
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,
    /// The base URL of the model's provider.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Why the server is not running.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} is in use: stop the other server, or choose another address with --listen")]
    InUse(SocketAddr),
    #[error("can't listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error(transparent)]
    Logging(#[from] logging::LoggingError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Mcp(#[from] holdpoint_runtime::tool::mcp::McpError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Start(#[from] holdpoint_runtime::StartError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
    match begin(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

fn begin(args: &Args) -> Result<(), Failure> {
    let config = settings(args.config.as_deref())?;
    // The settings come first: their errors are reported whether or not the address is free.
    let options = Options {
        listen: args.listen,
        model: args.model.as_deref(),
        base_url: args.base_url.as_deref(),
        place: (!args.ephemeral).then_some(&args.place),
    };
    let prepared = prepare(&config, &options)?;
    let variables = |name: &str| std::env::var(name).ok();
    let _logging = logging::begin(&config.logging, config.url_secrets(&variables), variables)?;
    tokio::runtime::Runtime::new()?.block_on(serve(config, prepared))
}

async fn serve(config: Config, prepared: Prepared) -> Result<(), Failure> {
    let Prepared { address, keys, jwt, tools, mcp, model, place, secrets_key } = prepared;
    let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::InUse(address),
        _ => Failure::Listen(address, error),
    })?;
    let stop = stop_on_signal()?;
    // Wait a little for a server that is slow to list its tools, but not after a signal.
    let mcp = tokio::select! {
        mcp = McpServers::start(mcp) => mcp?,
        () = stop.cancelled() => return Ok(()),
    };
    let mut builder = Runtime::builder(model.into_model());
    if let Some(days) = config.retention_days {
        builder = builder.retention(Duration::from_secs(u64::from(days.get()) * 86_400));
    }
    if let Some(key) = &secrets_key {
        builder = builder.secrets_key(key);
    }
    let runtime = builder
        .tools(mcp.with(&tools))
        .log(log(place).await?)
        .limits(holdpoint_runtime::Limits {
            steps: config.model.max_steps.map_or(holdpoint_runtime::Limits::default().steps, NonZeroU32::get),
            budget: config.model.budget(),
            ..config.limits.runtime()
        })
        .start()
        .await?;
    let default = Limits::default();
    let limits = Limits {
        body: config.limits.body_bytes.unwrap_or(default.body),
        body_time: config.limits.body_time().unwrap_or(default.body_time),
        depth: config.limits.json_depth.unwrap_or(default.depth),
        nodes: config.limits.json_nodes.unwrap_or(default.nodes),
        streams_per_subject: config.limits.streams_per_subject.unwrap_or(default.streams_per_subject),
        requests_per_subject: config.limits.requests_per_subject.unwrap_or(default.requests_per_subject),
        requests_per_address: config.limits.requests_per_address.unwrap_or(default.requests_per_address),
        wrong_keys_per_minute: config.limits.wrong_keys_per_minute.unwrap_or(default.wrong_keys_per_minute),
        bytes_in_flight: config.limits.bytes_in_flight.unwrap_or(default.bytes_in_flight),
    };
    let watches: Vec<McpWatch> = mcp.iter().map(McpServer::watch).collect();
    let read = move || watches.iter().map(|watch| status(watch.read())).collect();
    let mut server =
        Server::builder(runtime.clone()).mcp_status(read).keys(keys).limits(limits).origins(&config.origins);
    if let Some(jwt) = jwt {
        jwt.prepare();
        server = server.jwt(jwt);
    }
    let server = server.build();
    println!("Holdpoint is ready at http://{}", listener.local_addr()?);
    let router = server.router();
    #[cfg(feature = "console")]
    let router = router.merge(crate::console::router());
    let router = Server::complete(router);
    let stopped = CancellationToken::new();
    let following = tokio::spawn(follow(mcp, tools, runtime, stopped.clone()));
    server.serve(listener, router, config.limits.connections(), stop.cancelled()).await;
    stopped.cancel();
    let _ = tokio::time::timeout(MCP_SHUTDOWN_TIMEOUT, following).await;
    Ok(())
}

/// The state of an MCP server, for admins.
fn status(server: McpSnapshot) -> McpStatus {
    McpStatus {
        name: server.name,
        state: if server.is_connected { McpState::Connected } else { McpState::Connecting },
        tools: server.tools,
        problem: server.problem,
        warnings: server.warnings.iter().map(ToString::to_string).collect(),
        last_lines: server.last_lines,
    }
}

/// Cancelled by SIGTERM or SIGINT. A second signal ends the process at once; the next start recovers what was running.
fn stop_on_signal() -> Result<CancellationToken, std::io::Error> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        next_signal(&mut terminate, &mut interrupt).await;
        stopping.cancel();
        let signal = next_signal(&mut terminate, &mut interrupt).await;
        std::process::exit(128 + signal.as_raw_value());
    });
    Ok(stop)
}

async fn next_signal(terminate: &mut Signal, interrupt: &mut Signal) -> SignalKind {
    tokio::select! {
        _ = terminate.recv() => SignalKind::terminate(),
        _ = interrupt.recv() => SignalKind::interrupt(),
    }
}

/// Keeps the runtime's tools in sync with the MCP servers until stopped, then stops the servers.
async fn follow(mut mcp: McpServers, own: ToolSet, runtime: Runtime, stopped: CancellationToken) {
    loop {
        tokio::select! {
            () = mcp.changed() => runtime.set_tools(mcp.with(&own)),
            () = stopped.cancelled() => return mcp.stop().await,
        }
    }
}

async fn log(place: Option<Place>) -> Result<Arc<dyn Store>, Failure> {
    match place {
        None => Ok(Arc::new(MemoryLog::default())),
        Some(place) => Ok(place.open().await?),
    }
}
