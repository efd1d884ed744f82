//! What the login asks of tokens, whether or not this build can read any.

use std::fmt;

use futures::future::BoxFuture;
use holdpoint_runtime::{clock::Timestamp, identity::Identity};

/// Identifies people by their tokens.
pub(crate) trait TokenLogin: Send + Sync + fmt::Debug + 'static {
    /// Whether a credential has the form of a token.
    fn is_token(&self, credential: &str) -> bool;

    /// The identity of a token.
    fn identify<'a>(&'a self, token: &'a str, now: Timestamp) -> BoxFuture<'a, Result<Identity, TokenRefusal>>;
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRefusal {
    /// It is not a token of the issuer for this server.
    Invalid,
    /// It is one, but it has expired or is not yet valid.
    OutOfTime,
    /// It can't be told at the moment: the issuer's keys are not known.
    Unavailable,
}
