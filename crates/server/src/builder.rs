//! The builder of a server.

use std::{fmt, sync::Arc};

use axum::http::request::Parts;
use holdpoint_protocol::status::McpStatus;
use holdpoint_runtime::{Runtime, identity::Identity};

use crate::{
    app::{Limits, McpReader, Server},
    auth::{Credentials, IdentityError, Keys, Login, OwnLogin, TokenLogin},
    guard::Guard,
};

/// A builder for a [`Server`]: see [`Server::builder`].
///
/// Without a login every request is the subject `local` with all roles, and only this machine is served.
#[must_use = "a builder does nothing until it is built"]
pub struct ServerBuilder {
    runtime: Runtime,
    /// A program's own login, which takes the place of keys and tokens.
    pub(crate) own: Option<Arc<dyn Login>>,
    keys: Keys,
    pub(crate) tokens: Option<Box<dyn TokenLogin>>,
    limits: Limits,
    guard: Guard,
    mcp: Option<McpReader>,
}

/// Shows none of its fields: keys must not reach a log.
impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder").finish_non_exhaustive()
    }
}

impl ServerBuilder {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            own: None,
            keys: Keys::default(),
            tokens: None,
            limits: Limits::default(),
            guard: Guard::default(),
            mcp: None,
        }
    }

    /// Uses a login of your own: an async function from the parts of a request to its [`Identity`]: subject, roles,
    /// groups, and when the login ends. A [`Subject`](holdpoint_runtime::Subject) alone is a user. It is called for every
    /// request and for the handshake of every WebSocket. What your middleware adds to the request, such as a session,
    /// is in the extensions of the parts.
    ///
    /// An error gives status 401 with its text, or 503 for [`IdentityError::Unavailable`]. Instead of the login, a
    /// WebSocket may use a ticket from `POST /api/ticket`.
    ///
    /// The login may be a cookie: pages of other origins are refused, except the origins of [`ServerBuilder::origins`],
    /// which may send cookies.
    ///
    /// ```
    /// use holdpoint_server::{Identity, IdentityError, Role, Server, runtime::Runtime};
    ///
    /// # async fn example(runtime: Runtime) {
    /// let server = Server::builder(runtime)
    ///     .identify(|parts: axum::http::request::Parts| async move {
    ///         let cookies = parts.headers.get("cookie").and_then(|value| value.to_str().ok()).unwrap_or_default();
    ///         match cookies.split("; ").find_map(|cookie| cookie.strip_prefix("session=")) {
    ///             Some("secret-of-ann") => Ok(Identity::new("ann")),
    ///             Some("secret-of-carol") => {
    ///                 let roles = [Role::User, Role::Approver];
    ///                 Ok(Identity::new("carol").with_roles(roles).with_groups(["finance"]))
    ///             }
    ///             _ => Err(IdentityError::from("log in first")),
    ///         }
    ///     })
    ///     .build();
    /// # drop(server);
    /// # }
    /// ```
    pub fn identify<F, R, I, E>(mut self, identify: F) -> Self
    where
        F: Fn(Parts) -> R + Send + Sync + 'static,
        R: Future<Output = Result<I, E>> + Send + 'static,
        I: Into<Identity>,
        E: Into<IdentityError>,
    {
        self.own = Some(Arc::new(OwnLogin(identify)));
        self
    }

    /// Uses these API keys as the login, in place of a login of your own.
    pub fn keys(mut self, keys: Keys) -> Self {
        (self.own, self.keys) = (None, keys);
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Shows the states of MCP servers in `GET /api/status`. The function is called for every such request.
    pub fn mcp_status(mut self, read: impl Fn() -> Vec<McpStatus> + Send + Sync + 'static) -> Self {
        self.mcp = Some(Arc::new(read));
        self
    }

    /// Allows pages of these origins to use the server from a browser: `https://app.example`. Pages of the server's own
    /// origin are always allowed; without a login, so are pages of this machine.
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
        let Self { runtime, own, keys, tokens, limits, guard, mcp } = self;
        let credentials = || Arc::new(Credentials::new(keys, tokens, limits.wrong_keys_per_minute));
        let login = own.unwrap_or_else(|| credentials());
        Server::assemble(runtime, login, limits, guard, mcp)
    }
}
