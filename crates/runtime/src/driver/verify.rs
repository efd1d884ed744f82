//! Walks the hash chain of a chat and says where it is broken.

use holdpoint_protocol::ids::ChatId;
use serde::{Deserialize, Serialize};

use crate::log::{Batch, BatchHash, Break, Log, LogError, Stored, Walk};

/// The number of batches per read.
const PAGE: usize = 64;

/// What was found in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of batches that are in the chain.
    pub chained: u64,
    /// The number of batches that an earlier version wrote, before the chain begins.
    pub unchained: u64,
    /// The number of breaks.
    pub breaks: u64,
    /// The number of events.
    pub len: u64,
    /// The hash of the last batch. Kept elsewhere, it proves later that nothing before it was changed.
    pub hash: Option<BatchHash>,
}

/// The hash of a chat at some length. Kept elsewhere, it shows later what was changed or removed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The chat.
    pub chat: ChatId,
    /// The number of its events.
    pub len: u64,
    /// The hash of the last of them.
    pub hash: BatchHash,
}

/// Walks the chain of a chat from its beginning, also while it is written, and through what was kept of it elsewhere. Calls
/// `report` for each break. `None` if there is no such chat, or if it is deleted meanwhile.
pub async fn verify(
    log: &dyn Log,
    chat: &ChatId,
    anchor: Option<&Anchor>,
    report: &mut (dyn FnMut(Break) + Send),
) -> Result<Option<Verified>, LogError> {
    let mut walk = Walk::new(chat.clone());
    let mut breaks = 0;
    let mut anchor = anchor;
    let mut found = |broken: Result<(), Break>| {
        if let Err(broken) = broken {
            breaks += 1;
            report(broken);
        }
    };
    loop {
        // Read first, so that there are batches up to this length at least.
        let (len, hash) = match log.stored(chat).await? {
            Some(Stored::Chat { len, hash, .. }) => (len, hash),
            Some(Stored::Tombstone { .. }) | None => return Ok(None),
        };
        // A log does not get shorter. So if a walk is past its end, what is stored was changed.
        let is_past = walk.position() > len;
        let mut was_empty = false;
        while walk.position() < len && !was_empty {
            let batches = log.read(chat, walk.position(), PAGE).await?;
            was_empty = batches.is_empty();
            for batch in &batches {
                if walk.is_new() && !opens(batch) {
                    found(Err(Break::NoOpening { at: batch.first }));
                }
                // The chat was deleted and begun again since then: its events are gone, and its tombstone was the trace.
                anchor = anchor.filter(|anchor| !walk.is_new() || batch.first < anchor.len);
                found(walk.batch(batch));
                if let Some(Anchor { len, hash, .. }) = anchor.take_if(|anchor| anchor.len == walk.position())
                    && walk.hash() != Some(*hash)
                {
                    found(Err(Break::NotKept { at: *len, expected: *hash, found: walk.hash() }));
                }
            }
        }
        // It may have grown meanwhile: then its hash is that of a later batch.
        if walk.position() > len && !is_past {
            continue;
        }
        if was_empty && matches!(log.stored(chat).await?, Some(Stored::Tombstone { .. }) | None) {
            return Ok(None);
        }
        if let Some(Anchor { len, hash, .. }) = anchor {
            found(Err(Break::NotKept { at: *len, expected: *hash, found: None }));
        }
        found(walk.end(len, hash));
        let hash = walk.hash();
        return Ok(Some(Verified { chained: walk.chained, unchained: walk.unchained, breaks, len, hash }));
    }
}

/// Whether a batch is the first of a chat. If the first ones were removed, the chain alone would not show it: it may go
/// on from a deleted chat.
fn opens(batch: &Batch) -> bool {
    #[derive(Deserialize)]
    struct Tag<'a> {
        fact: std::borrow::Cow<'a, str>,
    }
    let tags: Result<Vec<Tag<'_>>, _> = serde_json::from_slice(&batch.payload);
    tags.is_ok_and(|tags| tags.first().is_some_and(|tag| tag.fact == "opened"))
}
