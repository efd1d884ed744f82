//! The hash of a batch of a log.
//!
//! See `docs/adr/0020-the-hash-chain.md` for what it proves and what it does not.

use std::fmt;

use holdpoint_protocol::ids::ChatId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::{Digest, Sha256};

/// The SHA-256 of a batch: of the hash before it, its position, its chat and its payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchHash([u8; 32]);

impl BatchHash {
    /// Stands before the first batch of a chain.
    pub const BEGINNING: Self = Self([0; 32]);

    /// The hash of a batch. All that comes before the payload has a fixed or a given length, so two different batches
    /// never have the same bytes hashed.
    pub fn of(chat: &ChatId, first: u64, count: u32, payload: &[u8], previous: Self) -> Self {
        let chat = chat.as_str().as_bytes();
        let mut hasher = Sha256::new();
        hasher.update(previous.0);
        hasher.update(first.to_be_bytes());
        hasher.update(count.to_be_bytes());
        hasher.update((chat.len() as u64).to_be_bytes());
        hasher.update(chat);
        hasher.update(payload);
        Self(hasher.finalize().into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for BatchHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for BatchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BatchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for BatchHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let digits = text.as_bytes();
        let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let (high, low) = digit(2 * at).zip(digit(2 * at + 1)).ok_or(NoHash)?;
            *byte = u8::try_from(high * 16 + low).map_err(|_| NoHash)?;
        }
        if digits.len() == 64 { Ok(Self(bytes)) } else { Err(NoHash) }
    }
}

/// The text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 hexadecimal digits")]
pub struct NoHash;

impl Serialize for BatchHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BatchHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
