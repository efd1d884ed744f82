//! The hash chain of a chat: each batch carries the hash of the one before it, so that a change of what is stored shows.
//!
//! See `docs/adr/0020-the-hash-chain.md` for what it proves and what it does not.

use super::Batch;
pub use holdpoint_core::hash::{BatchHash, NoHash};
use holdpoint_protocol::ids::ChatId;

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Break {
    /// A batch, or the end of the chat, is not where the one before it ended.
    #[error("position {expected}: facts are missing or were moved: the log goes on at {found}")]
    Gap {
        /// Where the next batch should begin.
        expected: u64,
        /// Where it begins.
        found: u64,
    },
    /// The hash of what is stored is not the one that was recorded after it.
    #[error(
        "position {from}: the facts from here to {to} were changed, or the hash recorded after them was: \
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
        "position {at}: the hash {expected} of the facts before is not recorded: it was removed, or something else wrote this"
    )]
    Missing {
        /// Where the batch begins.
        at: u64,
        /// The hash that should be there.
        expected: BatchHash,
    },
    /// There is no chain: neither this batch nor one before it carries a hash.
    #[error(
        "position {at}: the hash of the facts before is not recorded: it was removed, or something else wrote this"
    )]
    Unchained {
        /// Where the batch begins.
        at: u64,
    },
    /// The chain begins with the hash of something that is not there.
    #[error("position {at}: the chain should begin here, but {found} is recorded as the hash of facts before")]
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
