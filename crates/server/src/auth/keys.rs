//! API keys: the login of the settings.

use axum::http::{HeaderMap, header, request::Parts};
use futures::future::{BoxFuture, ready};
use holdpoint_runtime::subject::Subject;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Credential, Login};
use crate::request::Failure;

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
}

/// An unusable API key in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
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
        Ok(Self { keys })
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
}

/// A SHA-256 digest, as it stands in the configuration.
fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(digest)
}

impl Login for Keys {
    fn identify<'a>(&'a self, parts: &'a Parts) -> BoxFuture<'a, Result<Subject, Failure>> {
        let subject = match key_of(&parts.headers) {
            _ if self.allows_anonymous() => Ok(Subject::local()),
            Some(key) => self.subject(key.as_bytes()).ok_or(Failure::KeyInvalid),
            None => Err(Failure::KeyRequired),
        };
        Box::pin(ready(subject))
    }

    fn credential(&self) -> Credential {
        if self.allows_anonymous() { Credential::None } else { Credential::Key }
    }
}

fn key_of(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer =
        bearer.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.map(|(_, key)| key.trim()).or_else(|| headers.get("x-api-key")?.to_str().ok())
}
