//! The claims of a token that was verified: from JSON to an identity.

use std::time::Duration;

use holdpoint_protocol::json;
use holdpoint_runtime::{
    clock::Timestamp,
    identity::{Identity, Role},
    subject::Subject,
};
use serde::Deserialize;
use serde_json::Value;

use super::{JwtError, JwtSettings, TokenRefusal};
use crate::occasional::Occasional;

/// The most groups of a token that are read.
const MAX_GROUPS: usize = 1000;

/// The claims of a token. Every key is data.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Read(#[serde(deserialize_with = "json::value")] Value);

/// Which claims are read.
#[derive(Debug)]
pub(super) struct Claims {
    issuer: String,
    subject: Claim,
    roles: Claim,
    groups: Claim,
    /// Names that are none.
    refused: Occasional,
}

/// The place of a claim.
#[derive(Debug)]
enum Claim {
    Key(String),
    Pointer(String),
}

impl Claim {
    fn new(name: Option<&String>, key: &'static str, default: &str) -> Result<Self, JwtError> {
        match name.map_or(default, String::as_str) {
            "" => Err(JwtError::Empty(key)),
            name if name.starts_with('/') => Ok(Self::Pointer(name.to_owned())),
            name => Ok(Self::Key(name.to_owned())),
        }
    }

    fn of<'a>(&self, claims: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Key(key) => claims.get(key),
            Self::Pointer(pointer) => claims.pointer(pointer),
        }
    }
}

impl Claims {
    pub(super) fn new(settings: &JwtSettings) -> Result<Self, JwtError> {
        let JwtSettings { subject_claim, roles_claim, groups_claim, .. } = settings;
        Ok(Self {
            issuer: settings.issuer.clone(),
            subject: Claim::new(subject_claim.as_ref(), "subject_claim", JwtSettings::DEFAULT_SUBJECT_CLAIM)?,
            roles: Claim::new(roles_claim.as_ref(), "roles_claim", JwtSettings::DEFAULT_ROLES_CLAIM)?,
            groups: Claim::new(groups_claim.as_ref(), "groups_claim", JwtSettings::DEFAULT_GROUPS_CLAIM)?,
            refused: Occasional::default(),
        })
    }

    /// The identity, if the token is valid now. It is accepted until it has expired by every clock within the leeway.
    pub(super) fn identity(
        &self,
        Read(claims): &Read,
        leeway: Duration,
        now: Timestamp,
    ) -> Result<Identity, TokenRefusal> {
        // The library takes a list of issuers, of which one is ours. A token has one.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(TokenRefusal::Invalid);
        }
        // A token that never expires could never be taken back.
        let expires = time(claims.get("exp")).ok_or(TokenRefusal::Invalid)?.after(leeway);
        let begins = match claims.get("nbf") {
            None => Timestamp::default(),
            begins => time(begins).ok_or(TokenRefusal::Invalid)?,
        };
        if expires <= now || begins > now.after(leeway) {
            return Err(TokenRefusal::OutOfTime);
        }
        let name = self.subject.of(claims).and_then(Value::as_str).unwrap_or_default();
        let subject = Subject::named(name).map_err(|why| {
            // The token is good, so its owner can't fix it: the operator of the server has to.
            if let Some(left_out) = self.refused.next() {
                let name = name.escape_default();
                tracing::warn!(%why, %name, left_out, "a token of the issuer has a subject that is not a valid name");
            }
            TokenRefusal::Invalid
        })?;
        let groups = names(self.groups.of(claims)).filter(|name| !name.is_empty()).take(MAX_GROUPS);
        let identity = Identity::new(subject).with_groups(groups).expiring(expires);
        let roles: Vec<Role> = names(self.roles.of(claims))
            .flat_map(str::split_whitespace)
            // Providers have many roles that mean nothing here.
            .filter_map(|name| name.parse().ok())
            .collect();
        Ok(if roles.is_empty() { identity } else { identity.with_roles(roles) })
    }
}

/// The texts of a claim that is a list or one text.
fn names(claim: Option<&Value>) -> impl Iterator<Item = &str> {
    let (one, many) = match claim {
        Some(Value::Array(names)) => (None, names.as_slice()),
        Some(name) => (Some(name), &[][..]),
        None => (None, &[][..]),
    };
    one.into_iter().chain(many).filter_map(Value::as_str)
}

/// A time in seconds since 1970, which may have a fraction.
fn time(claim: Option<&Value>) -> Option<Timestamp> {
    let seconds = claim?.as_f64().filter(|seconds| *seconds >= 0.0)?;
    Duration::try_from_secs_f64(seconds).ok().map(|since| Timestamp::default().after(since))
}
