//! The server: the state that all handlers share, and the table of routes.

use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state, map_request, map_response},
    response::IntoResponse,
};
use holdpoint_protocol::status::McpStatus;
use holdpoint_runtime::{Runtime, log::PAGE_BYTES, subject::Subject};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    auth::{Credential, Login, Tickets},
    builder::ServerBuilder,
    guard::Guard,
    metrics::{Metrics, StreamKind, Transport, measure},
    openapi,
    request::{Budget, Failure, Held, Rate, RouteClass, deadline, even_time, private, shape, traced},
    transport,
};

/// Limits of the HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body or a frame.
    pub body: usize,
    /// The time within which the body of a request must arrive.
    pub body_time: Duration,
    /// Nesting depth of the JSON in a body or a frame.
    pub depth: usize,
    /// Values in the JSON of a body or a frame.
    pub nodes: usize,
    /// Open streams of a subject.
    pub streams_per_subject: usize,
    /// Requests of a subject per second; `usize::MAX` means no limit. Those that end or free work are counted on their own.
    pub requests_per_subject: usize,
    /// Requests from an address per second, if [`Server::serve`] accepts the connections; `usize::MAX` means no limit.
    pub requests_per_address: usize,
    /// Wrong keys and tokens from an address per minute, if its address is known; `usize::MAX` means no limit. Beyond
    /// it, further wrong ones get 429. Right ones are never slowed down.
    pub wrong_keys_per_minute: usize,
    /// Bytes of all bodies being read at the same time; separately, the memory of what is parsed of them; and separately,
    /// all responses being written.
    pub bytes_in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 4 * 1024 * 1024,
            body_time: Duration::from_secs(60),
            depth: 64,
            nodes: 100_000,
            streams_per_subject: 1000,
            requests_per_subject: 1000,
            requests_per_address: 2000,
            wrong_keys_per_minute: 30,
            bytes_in_flight: 64 * 1024 * 1024,
        }
    }
}

impl Limits {
    /// The limits on the JSON of a body or a frame.
    pub(crate) fn json(&self) -> holdpoint_protocol::json::JsonLimits {
        holdpoint_protocol::json::JsonLimits { levels: self.depth, nodes: self.nodes }
    }
}

/// How long connections have to close once the turns have ended.
pub(crate) const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// The HTTP server.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
    guard: Guard,
}

/// Shows none of its fields: keys and conversations must not reach a log.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) login: Arc<dyn Login>,
    pub(crate) tickets: Tickets,
    pub(crate) limits: Limits,
    streams: Mutex<HashMap<Subject, usize>>,
    pub(crate) metrics: Metrics,
    pub(crate) subjects: Rate<(Subject, RouteClass)>,
    pub(crate) addresses: Rate<IpAddr>,
    /// Budget for the bodies being read.
    pub(crate) bodies: Budget,
    /// Budget for what is parsed of the bodies.
    pub(crate) parsed: Budget,
    /// Budget for the responses being written.
    pub(crate) responses: Budget,
    /// Budget for the pages being read from the log, whose size is known only then.
    reads: Budget,
    /// Cancelled when the server takes no new work: responses and sockets that only wait end.
    pub(crate) draining: CancellationToken,
    /// Cancelled when open connections should end.
    pub(crate) closing: CancellationToken,
    /// Reads the states of the MCP servers.
    pub(crate) mcp: Option<McpReader>,
    /// Open WebSockets.
    pub(crate) sockets: TaskTracker,
}

impl Server {
    /// A server without a login: every request is the subject `local` with all roles, and only this machine is served.
    pub fn new(runtime: Runtime) -> Self {
        Self::builder(runtime).build()
    }

    /// Returns a builder, to set a login, origins and limits.
    pub fn builder(runtime: Runtime) -> ServerBuilder {
        ServerBuilder::new(runtime)
    }

    pub(crate) fn assemble(
        runtime: Runtime,
        login: Arc<dyn Login>,
        limits: Limits,
        guard: Guard,
        mcp: Option<McpReader>,
    ) -> Self {
        let is_shared = login.credential() != Credential::None;
        let in_flight = || Budget::new(limits.bytes_in_flight, is_shared);
        let inner = Inner {
            runtime,
            login,
            tickets: Tickets::default(),
            limits,
            mcp,
            streams: Mutex::default(),
            metrics: Metrics::new(),
            subjects: Rate::new(limits.requests_per_subject),
            addresses: Rate::new(limits.requests_per_address),
            bodies: in_flight(),
            parsed: in_flight(),
            responses: in_flight(),
            reads: Budget::new(CONCURRENT_READS * PAGE_BYTES, is_shared),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
            sockets: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner), guard }
    }

    /// Whether there can be several subjects.
    pub(crate) fn is_shared(&self) -> bool {
        self.inner.login.credential() != Credential::None
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// The metrics of this server and its runtime, in the OpenMetrics text format, as `/metrics` returns them.
    pub async fn metrics(&self) -> String {
        self.inner.metrics.text(&self.inner.runtime).await
    }

    /// The approximate number of bytes of bodies being read and of responses being written. Small ones are not counted.
    pub fn bytes_in_flight(&self) -> (usize, usize) {
        (self.inner.bodies.taken(), self.inner.responses.taken())
    }

    /// Shuts down this server and its runtime. `/ready` returns 503 from now on, and event streams and sockets that only
    /// wait end. Running turns have up to `grace` to end or to reach a hold; interrupted ones are recovered at the next
    /// start. Then the WebSockets are closed, which takes a second at most.
    ///
    /// [`Server::serve`] does this by itself. A program with a listener of its own does it while that listener stops:
    ///
    /// ```no_run
    /// # async fn example(runtime: holdpoint_server::runtime::Runtime) -> std::io::Result<()> {
    /// let server = holdpoint_server::Server::new(runtime);
    /// let app = server.router();
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8788").await?;
    /// let stop = async move {
    ///     let _ = tokio::signal::ctrl_c().await;
    ///     server.shutdown(std::time::Duration::from_secs(10)).await;
    /// };
    /// axum::serve(listener, app).with_graceful_shutdown(stop).await
    /// # }
    /// ```
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.draining.cancel();
        self.inner.runtime.shutdown(grace).await;
        self.inner.closing.cancel();
        self.inner.sockets.close();
        let _ = tokio::time::timeout(CLOSE_GRACE, self.inner.sockets.wait()).await;
    }

    /// The response for an unknown route, in the form of every other error.
    pub async fn not_found() -> axum::response::Response {
        private(Failure::NoRoute.into_response()).await
    }

    /// The routes, behind the guard against other hosts and origins.
    pub fn router(&self) -> Router {
        let router = Router::from(routes())
            // A chat with an empty id can no longer be created, but it can be deleted.
            .route("/api/chat/", axum::routing::delete(transport::chats::delete_unnamed))
            .method_not_allowed_fallback(async || Failure::MethodNotAllowed)
            .layer(DefaultBodyLimit::disable())
            .layer(map_request(deadline(Arc::clone(self.inner.runtime.clock()), self.inner.limits.body_time)));
        let router = self
            .guard
            .protect(router, self.inner.login.credential())
            .layer(from_fn_with_state(self.clone(), shape))
            .layer(map_response(private))
            .layer(from_fn(even_time))
            .layer(from_fn_with_state(self.clone(), measure));
        traced(router).with_state(self.clone())
    }
}

/// Reads the states of the MCP servers, for `GET /api/status`.
pub(crate) type McpReader = Arc<dyn Fn() -> Vec<McpStatus> + Send + Sync>;

/// The table of routes. Each is described where it is implemented, and `/openapi.json` is built from the descriptions.
pub(crate) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(transport::stream::post))
        .routes(routes!(transport::live::get))
        .routes(routes!(transport::chat::post))
        .routes(routes!(transport::chat_ws::get, transport::chats::delete_ws))
        .routes(routes!(transport::chat::resume))
        .routes(routes!(transport::ack::post))
        .routes(routes!(transport::approvals::list))
        .routes(routes!(transport::approvals::get, transport::approvals::decide))
        .routes(routes!(transport::approvals::record))
        .routes(routes!(transport::audit::list))
        .routes(routes!(transport::grants::list))
        .routes(routes!(transport::grants::revoke))
        .routes(routes!(transport::chats::list))
        .routes(routes!(transport::chats::delete))
        .routes(routes!(transport::chats::messages))
        .routes(routes!(transport::chats::holds))
        .routes(routes!(transport::chats::stop))
        .routes(routes!(transport::files::get))
        .routes(routes!(transport::tools::list))
        .routes(routes!(transport::check::post))
        .routes(routes!(transport::events::get))
        .routes(routes!(transport::me::get))
        .routes(routes!(transport::ticket::post))
        .routes(routes!(transport::health::alive))
        .routes(routes!(transport::health::ready))
        .routes(routes!(transport::metrics::get))
        .routes(routes!(transport::status::get))
        .routes(routes!(openapi::json))
        .routes(routes!(openapi::docs))
}

/// A place among a subject's open streams, released on drop.
pub(crate) struct StreamPlace {
    inner: Arc<Inner>,
    subject: Subject,
    kind: StreamKind,
}

/// The number of pages that are read at a time. One of several subjects reads one.
const CONCURRENT_READS: usize = 4;

impl Inner {
    /// Waits until this subject may read a page from the log. What was read is then counted among the responses, with its
    /// actual size, before this is released.
    pub(crate) async fn reading(&self, subject: &Subject) -> Result<Held, Failure> {
        self.reads.of(subject).hold(PAGE_BYTES).await
    }

    /// A place for one more stream, within the limit.
    pub(crate) fn place(self: &Arc<Self>, subject: &Subject, kind: StreamKind) -> Result<StreamPlace, Failure> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let open = streams.entry(subject.clone()).or_default();
        let limit = self.limits.streams_per_subject;
        if *open >= limit {
            return Err(Failure::TooManyStreams { limit });
        }
        *open += 1;
        self.metrics.opened(kind);
        Ok(StreamPlace { inner: Arc::clone(self), subject: subject.clone(), kind })
    }
}

impl StreamPlace {
    /// Counts bytes written to the stream.
    pub(crate) fn sent(&self, bytes: usize) {
        self.inner.metrics.sent(Transport::Http, bytes);
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.inner.metrics.closed(self.kind);
        let mut streams = self.inner.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = streams.get_mut(&self.subject) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.subject);
            }
        }
    }
}
