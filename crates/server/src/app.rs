//! What all handlers share, and the table of routes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use holdpoint_runtime::{driver::Runtime, subject::Subject};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{auth::Keys, guard::Guard, request::deadline, transport};

/// What is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body or a frame.
    pub body: usize,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// Levels of JSON.
    pub depth: usize,
    /// Open streams of a subject.
    pub streams_per_subject: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 4 * 1024 * 1024, body_time: Duration::from_secs(60), depth: 64, streams_per_subject: 1000 }
    }
}

/// Holdpoint's HTTP side.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
    guard: Guard,
}

pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) keys: Keys,
    pub(crate) limits: Limits,
    streams: Mutex<HashMap<Subject, usize>>,
    /// Cancelled when no new work is taken: responses and sockets that only wait are ended.
    pub(crate) draining: CancellationToken,
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
        let inner = Inner {
            runtime,
            keys,
            limits,
            streams: Mutex::default(),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
            sockets: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner), guard: Guard::default() }
    }

    /// Lets pages of these origins use the server from a browser: `https://app.example`. Pages of its own origin may anyway; without
    /// keys, those of this machine too.
    #[must_use]
    pub fn allow_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Lets a server without keys be addressed by these names: `app.example`. Otherwise only names of this machine lead to it, since any
    /// page can make a name of its own lead here.
    #[must_use]
    pub fn allow_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Takes the guard away: requests of any page and for any host are served, and there are no CORS headers. Only for a program that
    /// checks hosts and origins itself: without keys, any page that the user's browser visits could otherwise approve calls.
    #[must_use]
    pub fn without_origin_guard(mut self) -> Self {
        self.guard.is_off = true;
        self
    }

    /// The runtime behind it.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// The server is about to go: `/ready` is 503 from here on, and event streams and sockets that only wait are ended.
    pub fn drain(&self) {
        self.inner.draining.cancel();
    }

    /// Asks open connections to end: streams that only wait are closed, those that write may go on.
    pub fn close(&self) {
        self.drain();
        self.inner.closing.cancel();
    }

    /// Ends when every WebSocket has, after [`Server::close`].
    pub async fn closed(&self) {
        self.inner.sockets.close();
        self.inner.sockets.wait().await;
    }

    /// The routes, behind the guard against other hosts and foreign pages.
    pub fn router(&self) -> Router {
        self.guard.protect(self.routes(), self.inner.keys.is_open())
    }

    fn routes(&self) -> Router {
        Router::new()
            .route("/stream", post(transport::stream::post))
            .route("/live", get(transport::live::get))
            .route("/api/chat", post(transport::chat::post))
            .route("/api/chat/ws", get(transport::chat_ws::get))
            .route("/api/chat/{id}/stream", get(transport::chat::resume))
            .route("/api/tools/ack", post(transport::ack::post))
            .route("/api/approvals", get(transport::approvals::list))
            .route("/api/approvals/{id}", post(transport::approvals::decide))
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
            .layer(DefaultBodyLimit::disable())
            .layer(axum::middleware::map_request(deadline(self.inner.limits.body_time)))
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
