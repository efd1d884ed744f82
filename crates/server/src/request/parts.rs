//! The parts of a request besides its body. An invalid part is a [`Failure`].

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, Path, Query, WebSocketUpgrade},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use super::Failure;
use crate::listen::Inflow;

/// The query.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        if !is_unicode(parts.uri.query().unwrap_or_default()) {
            return Err(Failure::invalid("the query can't be read: it has bytes that are not valid Unicode (UTF-8)"));
        }
        let Query(parameters) =
            Query::try_from_uri(&parts.uri).map_err(|rejection| Failure::invalid(wrong_query(&rejection)))?;
        Ok(Self(parameters))
    }
}

/// Whether a query is text once it is unescaped. The library replaces what is not: several ids would become one.
fn is_unicode(query: &str) -> bool {
    let mut bytes = query.bytes();
    let mut text = Vec::with_capacity(query.len());
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut ahead = bytes.clone();
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                text.push(high * 16 + low);
                bytes = ahead;
            }
            _ => text.push(byte),
        }
    }
    std::str::from_utf8(&text).is_ok()
}

/// What is wrong with a query, without the words of the library.
fn wrong_query(rejection: &axum::extract::rejection::QueryRejection) -> String {
    let text = std::error::Error::source(rejection).map_or_else(|| rejection.body_text(), ToString::to_string);
    format!("the query can't be read: {text}")
}

/// The id in the path.
pub(crate) struct PathId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        // Every id is UTF-8, so anything else is unknown.
        let Path(id) = Path::from_request_parts(parts, state).await.map_err(|_| Failure::NotFound)?;
        Ok(Self(id))
    }
}

/// The three ids in the path.
pub(crate) struct PathIds(pub(crate) String, pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathIds {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path((first, second, third)) =
            Path::from_request_parts(parts, state).await.map_err(|_| Failure::NotFound)?;
        Ok(Self(first, second, third))
    }
}

/// A WebSocket handshake, with the counter of incoming bytes if our own listener accepted the connection.
pub(crate) struct Upgrade(pub(crate) WebSocketUpgrade, pub(crate) Option<Arc<Inflow>>);

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let inflow = parts.extensions.get::<Arc<Inflow>>().cloned();
        let upgrade = WebSocketUpgrade::from_request_parts(parts, state).await;
        upgrade.map(|upgrade| Self(upgrade, inflow)).map_err(|_| Failure::UpgradeRequired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_text() {
        for query in ["", "a=b&c=d", "id=%F0%9F%98%80", "id=%", "id=%4", "id=%zz", "id=100%25", "%e3%81%82=%E3%81%82"] {
            assert!(is_unicode(query), "{query}");
        }
        for query in ["id=%ff", "%C0%AF=1", "id=%ed%a0%bd", "id=%F0%9F%98", "id=a%80", "id=%E3&%81%82"] {
            assert!(!is_unicode(query), "{query}");
        }
    }
}
