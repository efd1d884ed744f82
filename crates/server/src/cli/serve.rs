//! `holdpoint serve`.

use std::{net::SocketAddr, process::ExitCode};

use axum::{Router, http::StatusCode, response::Html, routing::get};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The address to listen on.
    #[arg(long, env = "HOLDPOINT_LISTEN", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
}

/// Why the server is not running.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} is in use: stop the other server, or choose another address with --listen")]
    InUse(SocketAddr),
    #[error("{0} is not a loopback address, and there are no keys: anybody could use the server. Listen on 127.0.0.1")]
    Open(SocketAddr),
    #[error("can't listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
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
    if !args.listen.ip().is_loopback() {
        return Err(Failure::Open(args.listen));
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::InUse(args.listen),
        _ => Failure::Listen(args.listen, error),
    })?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    println!("Holdpoint is ready at http://{}", listener.local_addr()?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    axum::serve(listener, router()).with_graceful_shutdown(stop).await?;
    Ok(())
}

fn router() -> Router {
    Router::new()
        .route("/health", get(|| async { StatusCode::OK }))
        .route("/ready", get(|| async { StatusCode::OK }))
        .route("/", get(|| async { Html(include_str!("index.html")) }))
}
