//! The hash chain of a chat: each batch carries the hash of the one before it, so that a change of what is stored shows.
//!
//! See `docs/adr/0020-the-hash-chain.md` for what it proves and what it does not.

use std::fmt;

use holdpoint_protocol::ids::ChatId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::{Digest, Sha256};

use super::Batch;

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

/// A text that is no hash.
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

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Break {
    /// A batch, or the end of the chat, is not where the one before it ended.
    #[error("position {expected}: events are missing or were moved: the log goes on at {found}")]
    Gap {
        /// Where the next batch should begin.
        expected: u64,
        /// Where it begins.
        found: u64,
    },
    /// The hash of what is stored is not the one that was recorded after it.
    #[error(
        "position {from}: the events from here to {to} were changed, or the hash recorded after them was: \
         their hash is {found}, and {expected} was recorded"
    )]
    Changed {
        /// Where the batch begins.
        from: u64,
        /// Where it ends.
        to: u64,
        /// The hash recorded after it: by the next batch, or by the chat.
        expected: BatchHash,
        /// The hash of what is stored.
        found: BatchHash,
    },
    /// A batch after the beginning of the chain has no hash.
    #[error(
        "position {at}: the hash {expected} of the events before is not recorded: it was removed, or something else wrote this"
    )]
    Missing {
        /// Where the batch begins.
        at: u64,
        /// The hash that should be there.
        expected: BatchHash,
    },
    /// There is no chain: neither this batch nor one before it carries a hash.
    #[error(
        "position {at}: the hash of the events before is not recorded: it was removed, or something else wrote this"
    )]
    Unchained {
        /// Where the batch begins.
        at: u64,
    },
    /// The chain begins with the hash of something that is not there.
    #[error("position {at}: the chain should begin here, but {found} is recorded as the hash of events before")]
    Beginning {
        /// Where the batch begins.
        at: u64,
        /// The hash that it carries.
        found: BatchHash,
    },
    /// The chain does not lead through a hash that was kept elsewhere.
    #[error("position {at}: the hash that was kept is {expected}, and {}", .found.map_or_else(|| "the log does not reach so far, or has no hash there".to_owned(), |found| format!("it is {found} now")))]
    NotKept {
        /// How long the chat was.
        at: u64,
        /// The hash that was kept.
        expected: BatchHash,
        /// The hash of what is stored now, if it reaches so far.
        found: Option<BatchHash>,
    },
    /// The first batch is not the opening of a chat.
    #[error("position {at}: the beginning of the chat is missing")]
    NoOpening {
        /// Where the first batch begins.
        at: u64,
    },
}

/// Walks along the chain of one chat, batch by batch.
#[derive(Debug)]
pub struct Walk {
    chat: ChatId,
    last: Option<Last>,
    /// The number of batches that are in the chain.
    pub chained: u64,
    /// The number of batches that carry no hash. Every writer writes one, so each such run of batches is a break.
    pub unchained: u64,
}

/// The batch before.
#[derive(Debug)]
struct Last {
    first: u64,
    end: u64,
    /// `None` as long as there is no chain.
    hash: Option<BatchHash>,
}

impl Walk {
    /// Begins with the first batch of a chat.
    pub fn new(chat: ChatId) -> Self {
        Self { chat, last: None, chained: 0, unchained: 0 }
    }

    /// Whether it has seen no batch yet.
    pub fn is_new(&self) -> bool {
        self.last.is_none()
    }

    /// Where the last batch ended.
    pub fn position(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.end)
    }

    /// The hash of the last batch; `None` if there is no chain so far.
    pub fn hash(&self) -> Option<BatchHash> {
        self.last.as_ref().and_then(|last| last.hash)
    }

    /// Compares the next batch with what came before. After a break, the chain goes on from what is stored.
    pub fn batch(&mut self, batch: &Batch) -> Result<(), Break> {
        let Batch { first, count, ref payload, previous_hash, .. } = *batch;
        let fits = match (&self.last, previous_hash) {
            (Some(last), _) if last.end != first => Err(Break::Gap { expected: last.end, found: first }),
            (Some(Last { hash: Some(hash), .. }), None) => Err(Break::Missing { at: first, expected: *hash }),
            (None, None) => Err(Break::Unchained { at: first }),
            (Some(last @ Last { hash: Some(_), .. }), Some(previous)) => last.must_be(previous),
            // A chat that had been deleted goes on from the hash in its tombstone, whose batches are gone.
            (None, Some(_)) if first > 0 => Ok(()),
            (_, Some(previous)) if previous != BatchHash::BEGINNING => {
                Err(Break::Beginning { at: first, found: previous })
            }
            (_, _) => Ok(()),
        };
        let before = previous_hash.or_else(|| self.hash());
        match previous_hash {
            Some(_) => self.chained += 1,
            None => self.unchained += 1,
        }
        let hash = match previous_hash {
            // A batch without a hash is passed over, as the writer of the next one has done.
            None => before,
            Some(previous) => Some(BatchHash::of(&self.chat, first, count, payload, previous)),
        };
        self.last = Some(Last { first, end: first.saturating_add(u64::from(count)), hash });
        fits
    }

    /// Compares the length and the hash that the chat has with its last batch.
    pub fn end(&self, len: u64, hash: Option<BatchHash>) -> Result<(), Break> {
        let position = self.position();
        match (&self.last, hash) {
            _ if position != len => Err(Break::Gap { expected: position, found: len }),
            (Some(Last { hash: Some(expected), end, .. }), None) => {
                Err(Break::Missing { at: *end, expected: *expected })
            }
            (Some(last), Some(recorded)) => last.must_be(recorded),
            (Some(_), None) | (None, _) => Ok(()),
        }
    }
}

impl Last {
    fn must_be(&self, recorded: BatchHash) -> Result<(), Break> {
        match self.hash {
            Some(hash) if hash == recorded => Ok(()),
            Some(found) => Err(Break::Changed { from: self.first, to: self.end, expected: recorded, found }),
            // The chat has a hash, and none of its batches has.
            None => Err(Break::Missing { at: self.first, expected: recorded }),
        }
    }
}
