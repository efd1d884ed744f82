//! Authentication: from a request to its identity, by API keys, by JSON Web Tokens or by a program's own login, and tickets
//! for a browser's WebSocket.

mod attempts;
mod credentials;
#[cfg(feature = "jwt")]
pub(crate) mod jwt;
mod keys;
mod tickets;
#[cfg_attr(not(feature = "jwt"), expect(dead_code, reason = "nothing refuses tokens that can't be read"))]
mod token;

use axum::{
    extract::{FromRequestParts, MatchedPath, Query},
    http::{header, request::Parts},
};
pub(crate) use credentials::{Credentials, PeerAddress};
use futures::future::{BoxFuture, pending};
use holdpoint_runtime::{
    clock::{Clock, Timestamp},
    identity::{Identity, Role},
    subject::{NameError, Subject},
};
pub use keys::{AuthKey, KeyError, Keys};
pub(crate) use tickets::Tickets;
pub(crate) use token::TokenLogin;

use crate::{
    app::Server,
    listen::Connection,
    request::{Failure, RouteClass},
};

/// From the parts of a request to its identity.
pub(crate) trait Login: Send + Sync + 'static {
    fn identify<'a>(&'a self, parts: &'a Parts, now: Timestamp) -> BoxFuture<'a, Result<Identity, Failure>>;

    /// What a request is identified by.
    fn credential(&self) -> Credential;
}

/// What a login goes by. The guard needs it: a page of another origin must not act for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential {
    /// None: everyone is `local`.
    None,
    /// An API key or a token, which a browser never sends by itself.
    Key,
    /// A program's own login. It may be a cookie, which a browser sends with every request, whatever page makes it.
    Own,
}

/// Why a login does not identify a request. The texts are shown to the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The request is not authenticated: it gets status 401.
    #[error("{0}")]
    Unauthenticated(String),
    /// It can't be told at the moment, for example because the session store is down: the request gets status 503.
    #[error("{0}")]
    Unavailable(String),
}

impl From<&str> for IdentityError {
    /// The request is not authenticated, for this reason.
    fn from(reason: &str) -> Self {
        Self::Unauthenticated(reason.to_owned())
    }
}

impl From<String> for IdentityError {
    /// The request is not authenticated, for this reason.
    fn from(reason: String) -> Self {
        Self::Unauthenticated(reason)
    }
}

/// A program's own login: see [`ServerBuilder::identify`](crate::ServerBuilder::identify).
pub(crate) struct OwnLogin<F>(pub(crate) F);

impl<F, R, I, E> Login for OwnLogin<F>
where
    F: Fn(Parts) -> R + Send + Sync + 'static,
    R: Future<Output = Result<I, E>> + Send + 'static,
    I: Into<Identity>,
    E: Into<IdentityError>,
{
    fn identify<'a>(&'a self, parts: &'a Parts, now: Timestamp) -> BoxFuture<'a, Result<Identity, Failure>> {
        let identified = (self.0)(parts.clone());
        Box::pin(async move {
            match identified.await.map(Into::into).map_err(Into::into) {
                Ok(identity) if has_expired(&identity, now) => {
                    Err(Failure::Unauthenticated("your login has expired: log in again".to_owned()))
                }
                Ok(identity) => named(identity),
                Err(IdentityError::Unauthenticated(reason)) => Err(Failure::Unauthenticated(reason)),
                Err(IdentityError::Unavailable(reason)) => Err(Failure::Unavailable(reason)),
            }
        })
    }

    fn credential(&self) -> Credential {
        Credential::Own
    }
}

/// The identity with the one spelling of its name.
fn named(identity: Identity) -> Result<Identity, Failure> {
    match Subject::named(identity.subject().as_str()) {
        Ok(subject) if subject == *identity.subject() => Ok(identity),
        Ok(subject) => Ok(identity.renamed(subject)),
        // A chat without an owner's name would be everybody's whose name is missing.
        Err(NameError::Empty) => Err(Failure::Unauthenticated("the login has no name for you".to_owned())),
        Err(why) => Err(Failure::Unauthenticated(format!("your name can't be used here: {why}"))),
    }
}

/// Whether the login of an identity has ended.
fn has_expired(identity: &Identity, now: Timestamp) -> bool {
    identity.expires_at().is_some_and(|at| at <= now)
}

/// What a stream says when the login that opened it ends.
pub(crate) const EXPIRED: &str = "Your login has expired. Please sign in again.";

/// Completes when the login of an identity ends.
pub(crate) fn expiry(identity: &Identity, clock: &dyn Clock) -> BoxFuture<'static, ()> {
    identity.expires_at().map_or_else(|| Box::pin(pending()) as _, |at| clock.sleep_until(at))
}

/// Refuses an identity that may not chat.
pub(crate) fn require_user(identity: &Identity) -> Result<(), Failure> {
    if identity.is_user() { Ok(()) } else { Err(Failure::RoleRequired { role: Role::User }) }
}

/// The authenticated identity of a request. Its extractor rejects unauthenticated requests with 401.
pub(crate) struct Caller(pub(crate) Identity);

impl FromRequestParts<Server> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Failure> {
        let identity = identify(parts, server).await?;
        if let Some(connection) = parts.extensions.get::<Connection>() {
            let counted = connection.belongs_to(identity.subject());
            counted.map_err(|limit| Failure::TooManyOfSubject { limit })?;
        }
        // A flood of other requests does not prevent ending work.
        let class = RouteClass::of(&parts.method, parts.uri.path());
        match server.inner.subjects.admits(&(identity.subject().clone(), class)) {
            true => Ok(Self(identity)),
            false => Err(Failure::TooManyRequests { limit: server.inner.limits.requests_per_subject }),
        }
    }
}

async fn identify(parts: &Parts, server: &Server) -> Result<Identity, Failure> {
    let now = server.inner.runtime.clock().now();
    let refused = match server.inner.login.identify(parts, now).await {
        Err(refused @ (Failure::KeyRequired | Failure::Unauthenticated(_))) if is_socket(parts) => refused,
        identified => return identified,
    };
    match (ticket_of(parts), refused) {
        (Some(ticket), _) => {
            let redeemed = server.inner.tickets.redeem(&server.inner.runtime, &ticket).await?;
            // The login may have ended since the ticket was issued.
            redeemed.filter(|identity| !has_expired(identity, now)).ok_or(Failure::TicketInvalid)
        }
        (None, Failure::KeyRequired) => Err(Failure::TicketRequired),
        (None, refused) => Err(refused),
    }
}

/// The ticket in the URL. Read as pairs: other parameters may be repeated, and of several tickets the first counts.
fn ticket_of(parts: &Parts) -> Option<String> {
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    query.into_iter().find(|(name, _)| name == "ticket").map(|(_, ticket)| ticket)
}

/// Whether this is a WebSocket handshake on a WebSocket route. Elsewhere a key can be sent, so tickets are not
/// accepted.
fn is_socket(parts: &Parts) -> bool {
    let upgrade = parts.headers.get(header::UPGRADE);
    let is_upgrade = upgrade.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"));
    // An embedding program may nest the router below its own path.
    let path = parts.extensions.get::<MatchedPath>();
    is_upgrade && path.is_some_and(|path| SOCKETS.iter().any(|socket| path.as_str().ends_with(socket)))
}

/// The WebSocket routes.
const SOCKETS: [&str; 2] = ["/live", "/api/chat/ws"];
