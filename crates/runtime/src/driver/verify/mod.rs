//! Says what of the record is not as it was written: walks the hash chain of a chat, and compares everything that is stored
//! beside its facts with what follows from them.
//!
//! See `docs/guides/record.md` for what this finds and what it can't.

mod beside;
mod finding;
mod grants;
mod lines;
mod walk;

pub use finding::{Finding, LineChange};
pub use grants::{GrantAnchor, verify_grants};
use holdpoint_protocol::ids::ChatId;
use serde::{Deserialize, Serialize};
use walk::{ChatWalk, Depth, Done};

use crate::{
    clock::Timestamp,
    log::{BatchHash, Break, LogError, Store},
    subject::Subject,
};

/// How often a chat is looked at again because it was deleted, or begun again, meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// What was found in a chat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of batches that are in the chain.
    pub chained: u64,
    /// The number of batches without a hash.
    pub unchained: u64,
    /// The number of findings.
    pub findings: u64,
    /// The number of facts.
    pub len: u64,
    /// The hash of the last batch, or of the deletion. Kept elsewhere, it proves later that nothing before it was changed.
    pub hash: Option<BatchHash>,
    /// For a deleted chat: when, and by whom. Nobody has deleted what was removed because of its age.
    pub deleted: Option<(Timestamp, Option<Subject>)>,
}

/// The hash of a chat at some length. Kept elsewhere, it shows later what was changed or removed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The chat.
    pub chat: ChatId,
    /// The number of its facts.
    pub len: u64,
    /// The hash of the last of them.
    pub hash: BatchHash,
    /// Whether it was deleted then: the last fact is its deletion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

/// Verifies a chat, also while it is written, and what was kept of it elsewhere: its chain, and everything beside its facts.
/// Of a deleted chat, its lines in the record and the chain of its deletions. Calls `report` for each finding, at most a hundred
/// times. `None` if there has never been such a chat.
pub async fn verify(
    log: &dyn Store,
    chat: &ChatId,
    anchor: Option<&Anchor>,
    report: &mut (dyn FnMut(Finding) + Send),
) -> Result<Option<Verified>, LogError> {
    run(log, chat, anchor, Depth::Facts, report).await
}

/// Compares what the log stores twice, and looks for what belongs to no chat. Calls `report` for each finding.
pub async fn verify_tables(log: &dyn Store, report: &mut (dyn FnMut(Finding) + Send)) -> Result<(), LogError> {
    log.misfits().await?.into_iter().map(Finding::Misfit).for_each(report);
    Ok(())
}

/// Walks the chain of a chat that is not deleted, whatever is in its batches. Calls `report` for each break.
pub async fn verify_chain(
    log: &dyn Store,
    chat: &ChatId,
    anchor: Option<&Anchor>,
    report: &mut (dyn FnMut(Break) + Send),
) -> Result<Option<Verified>, LogError> {
    let mut breaks = |finding| {
        if let Finding::Chain(broken) = finding {
            report(broken);
        }
    };
    run(log, chat, anchor, Depth::Chain, &mut breaks).await
}

async fn run(
    log: &dyn Store,
    chat: &ChatId,
    anchor: Option<&Anchor>,
    depth: Depth,
    report: &mut (dyn FnMut(Finding) + Send),
) -> Result<Option<Verified>, LogError> {
    for _ in 0..MAX_ATTEMPTS {
        let mut walk = ChatWalk::new(log, chat, anchor, depth);
        match walk.run().await? {
            Done::Again => {}
            Done::Nothing => return Ok(None),
            Done::Verified(verified) => {
                walk.findings.list.into_iter().for_each(report);
                return Ok(Some(verified));
            }
        }
    }
    Err(LogError::Failed(format!("chat {chat} was deleted and begun again each time it was looked at")))
}
