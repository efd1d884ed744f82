//! Export of chats from a log.

use std::io::{self, Write};

use holdpoint_protocol::ids::ChatId;
use serde_json::Value;

use super::{Line, VERSION};
use crate::{
    fact::Fact,
    log::{Batch, LogError, Store, Stored},
};

/// The number of batches per read.
const PAGE: usize = 64;

/// Why a chat was not exported.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ExportError {
    #[error("there is no such chat")]
    NotFound,
    #[error("what is stored of it can't be decoded: fact {at}: {problem}")]
    Unreadable { at: u64, problem: String },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the output can't be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes one chat, as of this call: later appends are left out. Returns the number of its facts.
pub async fn export(log: &dyn Store, chat: &ChatId, out: &mut dyn Write) -> Result<u64, ExportError> {
    let Some(Stored::Chat { len, head, .. }) = log.stored(chat).await? else { return Err(ExportError::NotFound) };
    let updated_at = head.updated_at;
    // The facts are counted from the beginning of this chat. The log counts those of deleted chats with the same id too.
    let (mut end, mut base, mut hash) = (0, None, None);
    while end < len {
        let batches = log.read(chat, end, PAGE).await?;
        if let (None, Some(Batch { first: position, .. })) = (base, batches.first()) {
            let (subject, position) = (head.subject.clone(), *position);
            line(out, &Line::Chat { version: VERSION, chat: chat.clone(), subject, updated_at, position })?;
        }
        if batches.is_empty() {
            return Err(ExportError::Unreadable { at: end, problem: "it is missing".to_owned() });
        }
        for batch in batches.into_iter().take_while(|batch| batch.first < len) {
            let base = *base.get_or_insert(batch.first);
            let unreadable =
                |error: serde_json::Error| ExportError::Unreadable { at: batch.first, problem: error.to_string() };
            // Decoded as facts, so that everything exported can be imported. Written as stored, so that nothing is
            // lost.
            serde_json::from_slice::<Vec<Fact>>(&batch.payload).map_err(unreadable)?;
            let facts: Vec<Value> = serde_json::from_slice(&batch.payload).map_err(unreadable)?;
            let (first, previous_hash) = (batch.first - base, batch.previous_hash);
            line(out, &Line::Facts { chat: chat.clone(), first, facts, previous_hash })?;
            hash = batch.hash(chat);
            end = batch.first + u64::from(batch.count);
        }
    }
    let length = len - base.unwrap_or_default();
    line(out, &Line::End { chat: chat.clone(), length, hash })?;
    Ok(length)
}

fn line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}
