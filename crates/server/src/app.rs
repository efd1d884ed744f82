//! What all handlers share, and the table of routes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    response::IntoResponse,
    routing::{get, post},
};
use holdpoint_runtime::{driver::Runtime, subject::Subject};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    auth::Keys,
    request::{Budget, Failure, shape},
    transport,
};

/// Limits of the HTTP side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body or a frame.
    pub body: usize,
    /// Levels of JSON in a body or a frame.
    pub depth: usize,
    /// Values in the JSON of a body or a frame.
    pub nodes: usize,
    /// Open streams of a subject.
    pub streams_per_subject: usize,
    /// Bytes of the bodies that are being read at the same time; as many again of the responses that are being written.
    pub bytes_in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 4 * 1024 * 1024,
            depth: 64,
            nodes: 100_000,
            streams_per_subject: 1000,
            bytes_in_flight: 64 * 1024 * 1024,
        }
    }
}

impl Limits {
    /// How much the JSON of a body or a frame may hold.
    pub(crate) fn json(&self) -> holdpoint_protocol::json::Limits {
        holdpoint_protocol::json::Limits { levels: self.depth, nodes: self.nodes }
    }
}

/// Holdpoint's HTTP side.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) keys: Keys,
    pub(crate) limits: Limits,
    streams: Mutex<HashMap<Subject, usize>>,
    /// Bytes of bodies that are being read.
    pub(crate) bodies: Budget,
    /// Bytes of responses that are being written.
    pub(crate) responses: Budget,
    /// Cancelled when open connections should end.
    pub(crate) closing: CancellationToken,
    /// Open WebSockets.
    pub(crate) sockets: TaskTracker,
}

impl Server {
    /// A server without keys: everybody is the subject `local`.
    pub fn new(runtime: Runtime) -> Self {
        Self::with(runtime, Keys::default(), Limits::default())
    }

    /// A server with these keys and limits.
    pub fn with(runtime: Runtime, keys: Keys, limits: Limits) -> Self {
        let (closing, sockets) = (CancellationToken::new(), TaskTracker::new());
        let in_flight = || Budget::new(limits.bytes_in_flight);
        let (bodies, responses) = (in_flight(), in_flight());
        let inner = Inner { runtime, keys, limits, streams: Mutex::default(), bodies, responses, closing, sockets };
        Self { inner: Arc::new(inner) }
    }

    /// The runtime behind it.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// How many bytes of bodies are being read, and of responses being written, about. Small ones are not counted.
    pub fn bytes_in_flight(&self) -> (usize, usize) {
        (self.inner.bodies.taken(), self.inner.responses.taken())
    }

    /// Asks open connections to end: streams that only wait are closed, those that write may go on.
    pub fn close(&self) {
        self.inner.closing.cancel();
    }

    /// Ends when every WebSocket has, after [`Server::close`].
    pub async fn closed(&self) {
        self.inner.sockets.close();
        self.inner.sockets.wait().await;
    }

    /// Answers what no route takes, in the same shape as every other error. For a program whose fallback is ours.
    pub async fn not_found() -> axum::response::Response {
        Failure::NoRoute.into_response()
    }

    /// The routes.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/stream", post(transport::stream::post))
            .route("/live", get(transport::live::get))
            .route("/api/chat", post(transport::chat::post))
            // A chat may have the name of this route; one without a name can't be made any more, and can be deleted.
            .route("/api/chat/ws", get(transport::chat_ws::get).delete(transport::chats::delete_ws))
            .route("/api/chat/", axum::routing::delete(transport::chats::delete_unnamed))
            .route("/api/chat/{id}/stream", get(transport::chat::resume))
            .route("/api/tools/ack", post(transport::ack::post))
            .route("/api/approvals", get(transport::approvals::list))
            .route("/api/approvals/{approvalId}", post(transport::approvals::decide))
            .route("/api/chats", get(transport::chats::list))
            .route("/api/chat/{id}", axum::routing::delete(transport::chats::delete))
            .route("/api/chat/{id}/messages", get(transport::chats::messages))
            .route("/api/chat/{id}/holds", get(transport::chats::holds))
            .route("/api/chat/{id}/stop", post(transport::chats::stop))
            .route("/api/tools", get(transport::tools::list))
            .route("/api/check", post(transport::check::post))
            .route("/api/events", get(transport::events::get))
            .route("/api/ticket", post(transport::ticket::post))
            .route("/health", get(transport::health::alive))
            .route("/ready", get(transport::health::ready))
            .method_not_allowed_fallback(async || Failure::MethodNotAllowed)
            .layer(DefaultBodyLimit::disable())
            .layer(axum::middleware::from_fn(shape))
            .with_state(self.clone())
    }
}

/// A place among a subject's open streams, given back when it is dropped.
pub(crate) struct StreamPlace {
    inner: Arc<Inner>,
    subject: Subject,
}

impl Inner {
    /// A place for one more stream, if there is one.
    pub(crate) fn place(self: &Arc<Self>, subject: &Subject) -> Option<StreamPlace> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let open = streams.entry(subject.clone()).or_default();
        if *open >= self.limits.streams_per_subject {
            return None;
        }
        *open += 1;
        Some(StreamPlace { inner: Arc::clone(self), subject: subject.clone() })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streams = self.inner.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = streams.get_mut(&self.subject) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.subject);
            }
        }
    }
}
