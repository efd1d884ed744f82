//! Authentication: API keys, and tickets for a browser's WebSocket.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{FromRequestParts, MatchedPath, Query},
    http::{HeaderMap, header, request::Parts},
};
use holdpoint_runtime::{clock::Timestamp, subject::Subject};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{app::Server, request::Failure};

/// The lifetime of a ticket.
const TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// How many unused tickets a subject may have. The oldest is dropped.
const MAX_TICKETS: usize = 100;

/// One API key of the configuration. It holds the digest, never the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuthKey {
    /// The SHA-256 digest of the key, in hex.
    pub key_sha256: String,
    /// The key's subject.
    pub subject: String,
    /// The roles of the key: user, approver, admin. Rejected until roles are enforced.
    #[serde(default)]
    pub roles: Vec<Role>,
}

/// A role of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    User,
    Approver,
    Admin,
}

/// The API keys of a server. Without any it is open, and every caller is `local`.
#[derive(Debug, Default)]
pub struct Keys {
    keys: Vec<([u8; 32], Subject)>,
    tickets: Mutex<HashMap<String, (Subject, Timestamp)>>,
}

/// An unusable API key in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum KeyError {
    #[error("key_sha256 of {subject:?} must be 64 hexadecimal digits: `printf %s KEY | sha256sum`")]
    Hash { subject: String },
    #[error("auth.keys: a key has no `subject`. Add one")]
    NoSubject,
    #[error("auth.keys: {first:?} and {second:?} have the same key. Give each its own")]
    Shared { first: String, second: String },
    /// Rejected because nothing enforces roles yet, and an operator might rely on them.
    #[error("auth.keys, {subject:?}: `roles` is not supported yet. Remove it: every key has the rights of a user")]
    Roles { subject: String },
}

impl Keys {
    /// Reads the keys of a configuration.
    pub fn new(keys: &[AuthKey]) -> Result<Self, KeyError> {
        let read = |key: &AuthKey| {
            let subject = || key.subject.clone();
            let hash = digest(&key.key_sha256).ok_or_else(|| KeyError::Hash { subject: subject() })?;
            if !key.roles.is_empty() {
                return Err(KeyError::Roles { subject: subject() });
            }
            Ok((hash, Subject::from(key.subject.as_str())))
        };
        let keys: Vec<([u8; 32], Subject)> = keys.iter().map(read).collect::<Result<_, _>>()?;
        for (at, (hash, subject)) in keys.iter().enumerate() {
            if subject.as_str().is_empty() {
                return Err(KeyError::NoSubject);
            }
            if let Some((_, first)) = keys[..at].iter().find(|(other, first)| other == hash && first != subject) {
                return Err(KeyError::Shared { first: first.as_str().to_owned(), second: subject.as_str().to_owned() });
            }
        }
        Ok(Self { keys, tickets: Mutex::default() })
    }

    /// Whether no key is required.
    pub fn allows_anonymous(&self) -> bool {
        self.keys.is_empty()
    }

    fn subject(&self, key: &[u8]) -> Option<Subject> {
        let hash: [u8; 32] = Sha256::digest(key).into();
        // Compare all keys, each in constant time, so that timing reveals nothing.
        let mut found = None;
        for (known, subject) in &self.keys {
            if bool::from(known.ct_eq(&hash)) {
                found = Some(subject.clone());
            }
        }
        found
    }

    /// Issues a ticket for one WebSocket.
    pub(crate) fn issue(&self, subject: Subject, now: Timestamp) -> String {
        let ticket = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, until)| *until > now);
        let own = tickets.iter().filter(|(_, (owner, _))| *owner == subject);
        let own: Vec<(String, Timestamp)> = own.map(|(ticket, (_, until))| (ticket.clone(), *until)).collect();
        if own.len() >= MAX_TICKETS
            && let Some((oldest, _)) = own.into_iter().min_by_key(|(_, until)| *until)
        {
            tickets.remove(&oldest);
        }
        tickets.insert(ticket.clone(), (subject, now.after(TICKET_LIFETIME)));
        ticket
    }

    fn redeem(&self, ticket: &str, now: Timestamp) -> Option<Subject> {
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.remove(ticket).filter(|(_, until)| *until > now).map(|(subject, _)| subject)
    }
}

/// A SHA-256 digest, as it stands in the configuration.
fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(digest)
}

/// The authenticated subject of a request. Its extractor rejects unauthenticated requests with 401.
pub(crate) struct Caller(pub(crate) Subject);

impl FromRequestParts<Server> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Failure> {
        let subject = identify(parts, server)?;
        match server.inner.subjects.admits(&subject) {
            true => Ok(Self(subject)),
            false => Err(Failure::TooManyRequests { limit: server.inner.limits.requests_per_subject }),
        }
    }
}

fn identify(parts: &Parts, server: &Server) -> Result<Subject, Failure> {
    let keys = &server.inner.keys;
    if keys.allows_anonymous() {
        return Ok(Subject::local());
    }
    if let Some(key) = key_of(&parts.headers) {
        return keys.subject(key.as_bytes()).ok_or(Failure::KeyInvalid);
    }
    if !is_socket(parts) {
        return Err(Failure::KeyRequired);
    }
    // As pairs: other parameters may be repeated, and of several tickets the first counts.
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(|_| Failure::TicketRequired)?;
    let (_, ticket) = query.iter().find(|(name, _)| name == "ticket").ok_or(Failure::TicketRequired)?;
    keys.redeem(ticket, server.inner.runtime.clock().now()).ok_or(Failure::TicketInvalid)
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

fn key_of(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer =
        bearer.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.map(|(_, key)| key.trim()).or_else(|| headers.get("x-api-key")?.to_str().ok())
}
