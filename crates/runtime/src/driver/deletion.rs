//! Deletion of chats. Of a deleted chat only its lines in the record are left, so the deletion is a line too: it says who
//! deleted the chat, and has the hash of the lines before it. The tombstone has the hash of that line.

use std::fmt;

use holdpoint_protocol::ids::ChatId;
use sha2::{Digest, Sha256};

use super::{Admin, RuntimeError, audit, chat::Command, runtime::Inner};
use crate::{
    log::{AuditEntry, AuditQuery, BatchHash, DeleteResult, Deletion, LogError, REVOCATION, Store, Stored},
    subject::Subject,
};

/// The number of lines per read.
const PAGE: usize = 1000;

impl Admin<'_> {
    /// Deletes a chat of its owner on behalf of somebody else. The record says who it was.
    pub async fn delete(&self, owner: &Subject, chat: &ChatId, by: &Subject) -> Result<(), RuntimeError> {
        let command = |_, reply| Command::Delete { subject: owner.clone(), by: by.clone(), reply };
        self.runtime.inner.send(chat, command).await
    }
}

/// Deletes a chat of this length. Nobody does it if it is removed because of its age.
pub(super) async fn delete(
    inner: &Inner,
    chat: &ChatId,
    expected: u64,
    by: Option<Subject>,
) -> Result<DeleteResult, LogError> {
    let (owner, hash) = match inner.log.stored(chat).await? {
        Some(Stored::Chat { len, head, hash }) if len == expected => (head.subject, hash),
        Some(Stored::Chat { .. }) => return Ok(DeleteResult::Conflict),
        Some(Stored::Tombstone { .. }) | None => return Ok(DeleteResult::Deleted),
    };
    let previous = hash.unwrap_or(BatchHash::BEGINNING);
    // Lines are added with appends, so as long as the length is the same there are no others. The log compares it.
    let row = audit::deleted(inner.clock.now(), by, previous, lines_before(&*inner.log, chat).await?);
    let line = AuditEntry {
        chat: chat.clone(),
        position: expected,
        owner,
        at: row.at,
        tool: row.tool.clone(),
        by: row.by.clone(),
        data: row.data.clone(),
        contents: None,
    };
    let hash = hash_of(&line, previous);
    inner.log.delete(chat, Deletion { expected, hash, row }).await
}

/// The hash of a deletion, which its tombstone has: that of its line and, through that, of all lines before.
pub(super) fn hash_of(line: &AuditEntry, previous: BatchHash) -> BatchHash {
    let mut bytes = Vec::new();
    write(line, &mut bytes);
    BatchHash::of(&line.chat, line.position, 1, &bytes, previous)
}

/// The hash of all lines of a chat. Revocations are left out: there may be more of them later.
async fn lines_before(log: &dyn Store, chat: &ChatId) -> Result<LinesHash, LogError> {
    let mut hash = LinesHash::default();
    let mut query = AuditQuery { chat: Some(chat.clone()), ..AuditQuery::default() };
    loop {
        let lines = log.audit(query.clone(), PAGE).await?;
        for line in lines.iter().filter(|line| line.position < REVOCATION) {
            hash.add(line);
        }
        let Some(last) = lines.last().filter(|last| last.position < REVOCATION) else { return Ok(hash) };
        query.after = Some((last.at, last.chat.clone(), last.position));
    }
}

/// The SHA-256 of lines of the record, one after the other, without what a deletion removes.
#[derive(Debug, Clone, Default)]
pub(super) struct LinesHash(Sha256);

impl LinesHash {
    /// Adds the next line.
    pub(super) fn add(&mut self, line: &AuditEntry) {
        let mut bytes = Vec::new();
        write(line, &mut bytes);
        self.0.update(bytes);
    }
}

impl fmt::Display for LinesHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.clone().finalize().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A line as bytes. Each part has a fixed or a given length, so two different lines never have the same.
fn write(line: &AuditEntry, bytes: &mut Vec<u8>) {
    let AuditEntry { chat: _, position, owner, at, tool, by, data, contents: _ } = line;
    bytes.extend(position.to_be_bytes());
    bytes.extend(at.0.to_be_bytes());
    bytes.push(u8::from(by.is_some()));
    let by = by.as_ref().map_or("", Subject::as_str);
    for part in [owner.as_str().as_bytes(), tool.as_bytes(), by.as_bytes(), data] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::clock::Timestamp;

    fn line() -> AuditEntry {
        AuditEntry {
            chat: "chat".into(),
            position: 3,
            owner: "ann".into(),
            at: Timestamp(5),
            tool: "pay".into(),
            by: Some("bob".into()),
            data: Bytes::from_static(b"{}"),
            contents: None,
        }
    }

    #[test]
    fn every_field_of_a_line_counts() {
        let others = [
            AuditEntry { position: 4, ..line() },
            AuditEntry { owner: "eve".into(), ..line() },
            AuditEntry { at: Timestamp(6), ..line() },
            AuditEntry { tool: "p".into(), by: Some("aybob".into()), ..line() },
            AuditEntry { by: None, ..line() },
            AuditEntry { by: Some("".into()), ..line() },
            AuditEntry { data: Bytes::from_static(b"{ }"), ..line() },
            AuditEntry { chat: "other".into(), ..line() },
        ];
        let hash = |line: &AuditEntry| hash_of(line, BatchHash::BEGINNING);
        for other in &others {
            assert_ne!(hash(other), hash(&line()), "{other:?}");
        }
        assert_eq!(hash(&AuditEntry { contents: Some(Bytes::new()), ..line() }), hash(&line()), "it is removed");
        assert_ne!(hash_of(&line(), hash(&line())), hash(&line()), "and so does what came before");
    }
}
