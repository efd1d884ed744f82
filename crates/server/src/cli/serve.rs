//! `holdpoint serve`.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use holdpoint_runtime::{
    driver::{self, Runtime},
    log::{Log, MemoryLog, SqliteLog},
    tool::{ToolSet, demo::demo_tools, mcp::McpServers},
};
use holdpoint_server::{
    Keys, Limits, Server,
    config::{Config, ConfigError, McpConfigError, ToolConfig, ToolConfigError},
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

/// How long the programs of MCP servers have to end.
const FAREWELL: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(super) struct Args {
    /// The address to listen on [default: 127.0.0.1:8787].
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Where chats are kept [default: ./holdpoint-data].
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    data: Option<PathBuf>,
    /// Keep chats in memory only.
    #[arg(long)]
    ephemeral: bool,
    /// The model: demo, script:FILE, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL [default: demo].
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,
    /// Where the model's provider is, if not at its usual address.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Why the server is not running.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} is in use: stop the other server, or choose another address with --listen")]
    InUse(SocketAddr),
    #[error(
        "{0} can be reached from other machines, and there are no keys: anybody could use the server. Listen on 127.0.0.1, or set [[auth.keys]]"
    )]
    Open(SocketAddr),
    #[error("can't listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error(transparent)]
    Model(#[from] super::model::ModelSetupError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Tools(#[from] ToolConfigError),
    #[error(transparent)]
    Mcp(#[from] holdpoint_runtime::tool::mcp::McpError),
    #[error(transparent)]
    McpConfig(#[from] McpConfigError),
    #[error(transparent)]
    Keys(#[from] holdpoint_server::KeyError),
    #[error(transparent)]
    Sqlite(#[from] holdpoint_runtime::log::SqliteError),
    #[error(transparent)]
    Log(#[from] holdpoint_runtime::log::LogError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HOLDPOINT_LOG").unwrap_or_else(|_| "warn".into());
    // At its lower levels it writes out whole messages, and whatever secrets an MCP server puts into its own.
    let filter = match "rmcp=warn".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| super::masked::Masked(std::io::stderr())).init();
    let served = tokio::runtime::Runtime::new().map_err(Failure::Io).and_then(|runtime| runtime.block_on(serve(args)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

async fn serve(args: &Args) -> Result<(), Failure> {
    let demo = demo_tools();
    let names: Vec<String> = demo.iter().map(|tool| tool.spec.name.clone()).collect();
    let environment = std::env::vars().filter(|(name, _)| name != "HOLDPOINT_LOG");
    let config = Config::load(args.config.as_deref(), environment, &names)?;
    let address = args.listen.or(config.listen).unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8787)));
    let keys = Keys::new(&config.auth.keys)?;
    if keys.is_open() && !address.ip().is_loopback() {
        return Err(Failure::Open(address));
    }
    // The settings first: what is wrong with them is said whether or not the address is free.
    let variables = |name: &str| std::env::var(name).ok();
    let tools = ToolConfig::apply(&demo, &config.tools, &variables)?;
    let mcp: Result<Vec<_>, _> = config.mcp.iter().map(|server| server.settings(&variables)).collect();
    let mcp = mcp?;
    let model = super::model::model(args.model.as_deref(), args.base_url.as_deref(), &config.model)?;
    let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::InUse(address),
        _ => Failure::Listen(address, error),
    })?;
    let stop = stop_on_signal()?;
    // A server that is slow to list its tools can be waited for, but not after a signal.
    let mcp = tokio::select! {
        mcp = McpServers::start(mcp) => mcp?,
        () = stop.cancelled() => return Ok(()),
    };
    let runtime_limits = driver::Limits::default();
    let runtime = Runtime::builder()
        .tools(mcp.with(&tools))
        .model(model)
        .log(log(args, config.data.as_deref())?)
        .limits(driver::Limits {
            steps: config.model.max_steps.unwrap_or(runtime_limits.steps),
            holds_per_chat: config.limits.holds_per_chat.unwrap_or(runtime_limits.holds_per_chat),
        })
        .start()
        .await?;
    let default = Limits::default();
    let limits = Limits {
        body: config.limits.body_bytes.unwrap_or(default.body),
        body_time: config.limits.body_time().unwrap_or(default.body_time),
        depth: config.limits.json_depth.unwrap_or(default.depth).min(100),
        streams_per_subject: config.limits.streams_per_subject.unwrap_or(default.streams_per_subject),
    };
    let server = Server::with(runtime.clone(), keys, limits).allow_origins(&config.origins);
    println!("Holdpoint is ready at http://{}", listener.local_addr()?);
    let router = server.router().merge(crate::console::router());
    let stopped = CancellationToken::new();
    let following = tokio::spawn(follow(mcp, tools, runtime, stopped.clone()));
    server.serve(listener, router, config.limits.connections(), stop.cancelled()).await;
    stopped.cancel();
    let _ = tokio::time::timeout(FAREWELL, following).await;
    Ok(())
}

/// Cancelled by SIGTERM or SIGINT. A second signal ends the process at once: what runs is taken up at the next start.
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

/// Offers the tools of MCP servers as they change, until it is told to end them.
async fn follow(mut mcp: McpServers, own: ToolSet, runtime: Runtime, stopped: CancellationToken) {
    loop {
        tokio::select! {
            () = mcp.changed() => runtime.set_tools(mcp.with(&own)),
            () = stopped.cancelled() => return mcp.stop().await,
        }
    }
}

fn log(args: &Args, data: Option<&Path>) -> Result<Arc<dyn Log>, Failure> {
    if args.ephemeral {
        return Ok(Arc::new(MemoryLog::default()));
    }
    let folder = args.data.as_deref().or(data).unwrap_or(Path::new("holdpoint-data"));
    Ok(Arc::new(SqliteLog::open(folder)?))
}
