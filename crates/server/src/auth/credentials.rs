//! The login of the settings: API keys and JSON Web Tokens.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, header, request::Parts},
};
use futures::future::BoxFuture;
use holdpoint_runtime::{clock::Timestamp, identity::Identity};
use sha2::{Digest, Sha256};

use super::{
    Credential, Keys, Login,
    attempts::Attempts,
    token::{TokenLogin, TokenRefusal},
};
use crate::request::Failure;

/// The address of a request's peer, if our own listener accepted the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// The login of the settings. Without keys and tokens, everybody is `local`.
#[derive(Debug)]
pub(crate) struct Credentials {
    keys: Keys,
    tokens: Option<Box<dyn TokenLogin>>,
    attempts: Attempts,
}

impl Credentials {
    pub(crate) fn new(keys: Keys, tokens: Option<Box<dyn TokenLogin>>, wrong_per_minute: usize) -> Self {
        Self { keys, tokens, attempts: Attempts::new(wrong_per_minute) }
    }

    fn is_open(&self) -> bool {
        self.keys.allows_anonymous() && self.tokens.is_none()
    }

    async fn check(&self, parts: &Parts, now: Timestamp) -> Result<Identity, Failure> {
        if self.is_open() {
            return Ok(Identity::local());
        }
        let credential = credential_of(&parts.headers).ok_or(Failure::KeyRequired)?;
        // It is looked at first, and only a wrong one is slowed down: a guesser does not lock out others.
        let (checked, is_wrong) = match self.keys.identity(&Sha256::digest(credential).into()) {
            Some(identity) => (Ok(identity), false),
            None => self.check_token(credential, now).await,
        };
        match address_of(parts).filter(|_| is_wrong).and_then(|address| self.attempts.was_wrong(address)) {
            Some(wait) => Err(Failure::TooManyWrongKeys { wait }),
            None => checked,
        }
    }

    /// The identity of a credential that is not a key, and whether it counts as wrong: a token that has expired is not
    /// a guess.
    async fn check_token(&self, credential: &str, now: Timestamp) -> (Result<Identity, Failure>, bool) {
        let Some(tokens) = self.tokens.as_ref().filter(|tokens| tokens.is_token(credential)) else {
            return (Err(Failure::KeyInvalid), true);
        };
        match tokens.identify(credential, now).await {
            Ok(identity) => (Ok(identity), false),
            Err(TokenRefusal::Invalid) => (Err(Failure::TokenInvalid), true),
            Err(TokenRefusal::OutOfTime) => (Err(Failure::TokenInvalid), false),
            Err(TokenRefusal::Unavailable) => {
                let why =
                    "tokens can't be checked at the moment, because the issuer's keys can't be fetched: try again";
                (Err(Failure::Unavailable(why.to_owned())), false)
            }
        }
    }
}

impl Login for Credentials {
    fn identify<'a>(&'a self, parts: &'a Parts, now: Timestamp) -> BoxFuture<'a, Result<Identity, Failure>> {
        Box::pin(self.check(parts, now))
    }

    fn credential(&self) -> Credential {
        if self.is_open() { Credential::None } else { Credential::Key }
    }
}

fn credential_of(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer =
        bearer.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let credential = bearer.map(|(_, key)| key.trim()).or_else(|| headers.get("x-api-key")?.to_str().ok());
    // An empty header is none.
    credential.filter(|credential| !credential.is_empty())
}

/// The address of the peer. A program that serves the router itself tells it by axum's `ConnectInfo`.
fn address_of(parts: &Parts) -> Option<IpAddr> {
    let own = parts.extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
    own.or_else(|| parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| address.ip()))
}
