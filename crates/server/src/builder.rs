//! The builder of a server.

use std::sync::Arc;

use axum::http::request::Parts;
use holdpoint_runtime::{driver::Runtime, subject::Subject};

use crate::{
    app::{Limits, Server},
    auth::{IdentityError, Keys, Login, OwnLogin},
    guard::Guard,
};

/// A builder for a [`Server`]: see [`Server::builder`].
///
/// Without a login every request is the subject `local`, and only this machine is served.
#[must_use = "a builder does nothing until it is built"]
pub struct ServerBuilder {
    runtime: Runtime,
    login: Arc<dyn Login>,
    limits: Limits,
    guard: Guard,
}

impl ServerBuilder {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, login: Arc::new(Keys::default()), limits: Limits::default(), guard: Guard::default() }
    }

    /// Uses a login of your own: an async function from the parts of a request to its subject. It is called for every
    /// request and for the handshake of every WebSocket. What your middleware adds to the request, such as a session,
    /// is in the extensions of the parts.
    ///
    /// An error gives status 401 with its text, or 503 for [`IdentityError::Unavailable`]. Instead of the login, a
    /// WebSocket may use a ticket from `POST /api/ticket`.
    ///
    /// The login may be a cookie: pages of other origins are refused, and those of [`ServerBuilder::origins`] may send
    /// cookies.
    ///
    /// ```
    /// use holdpoint_server::{IdentityError, Server, runtime::{driver::Runtime, subject::Subject}};
    ///
    /// # async fn example(runtime: Runtime) {
    /// let server = Server::builder(runtime)
    ///     .identify(|parts: axum::http::request::Parts| async move {
    ///         let cookies = parts.headers.get("cookie").and_then(|value| value.to_str().ok()).unwrap_or_default();
    ///         match cookies.split("; ").find_map(|cookie| cookie.strip_prefix("session=")) {
    ///             Some("secret-of-ann") => Ok(Subject::from("ann")),
    ///             _ => Err(IdentityError::from("log in first")),
    ///         }
    ///     })
    ///     .build();
    /// # drop(server);
    /// # }
    /// ```
    pub fn identify<F, R, E>(mut self, identify: F) -> Self
    where
        F: Fn(Parts) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Subject, E>> + Send + 'static,
        E: Into<IdentityError>,
    {
        self.login = Arc::new(OwnLogin(identify));
        self
    }

    /// Uses these API keys as the login.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.login = Arc::new(keys);
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Allows pages of these origins to use the server from a browser: `https://app.example`. Pages of the server's own
    /// origin are always allowed; without a login, so are those of this machine.
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Allows these host names for a server without a login: `app.example`. By default only names of this machine are
    /// accepted, because any page can make a name of its own resolve to it.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Disables the guard: requests from any page and for any host are served, and there are no CORS headers. Only for
    /// a program that checks hosts and origins itself. Otherwise any page in the user's browser could approve calls.
    pub fn without_origin_guard(mut self) -> Self {
        self.guard.is_off = true;
        self
    }

    /// Builds the server.
    pub fn build(self) -> Server {
        let Self { runtime, login, limits, guard } = self;
        Server::assemble(runtime, login, limits, guard)
    }
}
