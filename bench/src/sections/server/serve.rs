//! The process that streams turns, on hyper like the binary.

use std::{path::Path, sync::Arc};

use axum::Router;
use holdpoint_demo::demo_tools;
use holdpoint_runtime::{
    Runtime,
    log::{MemoryLog, SqliteLog, Store},
};
use holdpoint_server::{ConnectionLimits, Limits, Server};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::net::TcpListener;

use super::{
    DELTAS, bare,
    models::{Opens, Talks},
};

/// Serves until it is killed: `bare`, or ours in `memory`, with `sqlite`, or for `waiting`. The tools are those of the
/// demo. Some need approval, so text is held back unless the client asks for `progressive`.
pub(super) async fn run(what: &str, folder: &Path) {
    if what == "waiting" {
        return wait(folder).await;
    }
    let router = match what {
        "memory" => ours(Arc::new(MemoryLog::default())).await,
        "sqlite" => ours(Arc::new(SqliteLog::open(folder).expect("a folder of its own"))).await,
        _ => bare::router(),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    println!("{}", listener.local_addr().expect("an address").port());
    let mut http = http1::Builder::new();
    http.writev(false).timer(TokioTimer::new());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        let connection =
            http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone())).with_upgrades();
        tokio::spawn(connection);
    }
}

/// Our server as the binary runs it, with room for many waiting connections.
async fn wait(folder: &Path) {
    let limits = holdpoint_runtime::Limits { open_chats_per_subject: usize::MAX, ..Default::default() };
    let log = Arc::new(SqliteLog::open(folder).expect("a folder of its own"));
    let builder = Runtime::builder(Arc::new(Opens)).tools(demo_tools()).limits(limits).log(log);
    let runtime = builder.start().await.expect("an empty log");
    let limits = Limits {
        streams_per_subject: usize::MAX,
        requests_per_subject: usize::MAX,
        requests_per_address: usize::MAX,
        ..Limits::default()
    };
    let server = Server::builder(runtime).limits(limits).build();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    println!("{}", listener.local_addr().expect("an address").port());
    let connections = ConnectionLimits { connections: 15_000, ..ConnectionLimits::default() };
    server.serve(listener, server.router(), connections, std::future::pending()).await;
}

async fn ours(log: Arc<dyn Store>) -> Router {
    let runtime =
        Runtime::builder(Arc::new(Talks(DELTAS))).tools(demo_tools()).log(log).start().await.expect("an empty log");
    let limits = Limits { requests_per_subject: usize::MAX, ..Limits::default() };
    Server::builder(runtime).limits(limits).build().router()
}
