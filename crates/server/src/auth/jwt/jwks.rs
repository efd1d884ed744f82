//! A JSON Web Key Set: the public keys of an issuer.

use std::sync::Arc;

use holdpoint_protocol::json;
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse},
};
use serde_json::Value;

use super::SharedKey;

/// The largest set that is read.
pub(super) const MAX_BYTES: usize = 1024 * 1024;
/// The most keys of a set that are used.
const MAX_KEYS: usize = 200;

/// Why a set can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JwksError {
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it is not a JSON Web Key Set: {{\"keys\": [...]}}")]
    NotASet,
    #[error("it has no key for RS, PS, ES or EdDSA signatures")]
    NoKey,
}

/// One public key.
#[derive(Debug)]
pub(super) struct Key {
    id: Option<String>,
    /// What it may be used for: the algorithm that its entry names, or all algorithms of its kind.
    algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct KeySet(Vec<SharedKey>);

/// The result of looking for a key.
#[derive(Debug)]
pub(super) enum Match {
    Key(SharedKey),
    /// The set has no key of this id. A newer set may have one.
    UnknownId,
    /// No key fits, and a newer set would not help.
    None,
}

impl KeySet {
    /// Reads a set. Keys that are of no use here are left out.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, JwksError> {
        if bytes.len() > MAX_BYTES {
            return Err(JwksError::TooLarge);
        }
        let set = json::parse(bytes).map_err(|_| JwksError::NotASet)?;
        let entries = set.get("keys").and_then(Value::as_array).ok_or(JwksError::NotASet)?;
        let keys: Vec<_> = entries.iter().filter_map(Key::read).take(MAX_KEYS).map(Arc::new).collect();
        if keys.is_empty() { Err(JwksError::NoKey) } else { Ok(Self(keys)) }
    }

    /// The key for a token. A token without a key id is for the only key that fits its algorithm.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Match {
        let mut named = self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id).peekable();
        if named.peek().is_none() {
            return Match::UnknownId;
        }
        let mut fitting = named.filter(|key| key.algorithms.contains(&algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Match::Key(Arc::clone(key)),
            _ => Match::None,
        }
    }
}

impl Key {
    fn read(entry: &Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(entry.clone()).ok()?;
        if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let of_kind: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa.algorithms(),
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => &[Algorithm::ES256],
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => &[Algorithm::ES384],
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
            // Shared secrets, and what is not known.
            _ => return None,
        };
        let algorithms = match jwk.common.key_algorithm {
            None => of_kind.to_vec(),
            Some(named) => {
                of_kind.iter().copied().filter(|of_kind| Algorithm::try_from(named).ok() == Some(*of_kind)).collect()
            }
        };
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        (!algorithms.is_empty()).then_some(Self { id: jwk.common.key_id, algorithms, key })
    }
}
