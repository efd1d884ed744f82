//! Deletion of chats. Of a deleted chat only its lines in the record are left, so the deletion is a line too: it says who
//! deleted the chat, and has the hash of the lines before it. The tombstone has the hash of that line.

use std::fmt;

use holdpoint_protocol::ids::ChatId;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use super::{
    Admin, RuntimeError, audit,
    chat::ChatTask,
    command::{ChatError, Command},
    runtime::Inner,
};
use crate::{
    clock::Timestamp,
    log::{AuditEntry, AuditQuery, BatchHash, DeleteResult, Deletion, LogError, REVOCATION, Store, Stored},
    subject::Subject,
    turn::Input,
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

impl ChatTask {
    /// Deletes the chat if it is old, nothing in it is open and nobody follows it.
    pub(super) async fn retire(
        &mut self,
        before: Timestamp,
        reply: oneshot::Sender<Result<bool, ChatError>>,
    ) -> Result<(), ChatError> {
        let stored = self.inner.log.stored(&self.id).await?;
        let is_old = matches!(stored, Some(Stored::Chat { head, .. }) if head.updated_at < before && !head.is_open);
        if !is_old || self.log.state().turn.is_some() || self.followers.exist() {
            let _ = reply.send(Ok(false));
            return Ok(());
        }
        let deleted = delete(&self.inner, &self.id, self.log.end(), None).await;
        let is_deleted = deleted.map(|deleted| deleted == DeleteResult::Deleted);
        if let (Ok(true), Some(subject)) = (&is_deleted, self.log.subject()) {
            self.inner.footprints.shrank(subject, self.log.bytes());
        }
        let _ = reply.send(is_deleted.map_err(ChatError::Log));
        // Whatever came of it, the next task reads what is there.
        Err(ChatError::NotFound)
    }

    /// Deletes the chat. If another node runs its turn, that ends it first.
    pub(super) async fn delete(
        &mut self,
        subject: Subject,
        by: Subject,
        reply: oneshot::Sender<Result<(), ChatError>>,
    ) -> Result<(), ChatError> {
        if self.log.subject() != Some(&subject) {
            let _ = reply.send(Err(ChatError::NotFound));
            return Ok(());
        }
        if self.inner.lease.is_shared()
            && let Err(error) = self.catch_up_or_end().await
        {
            // Another node may have deleted it.
            let _ = reply.send(Err(error.clone()));
            return if matches!(error, ChatError::Log(_)) { Ok(()) } else { Err(error) };
        }
        if self.log.is_elsewhere() {
            self.input(Input::Stop { reason: Some("deleted".to_owned()) }).await?;
            self.mailbox.defer(Command::Delete { subject, by, reply });
            return Ok(());
        }
        // The record tells how its calls have ended, those that ran included, and the lists of those who could decide lose
        // them. If the deletion fails, the turn has been stopped all the same.
        if self.log.state().open_calls().next().is_some()
            && let Err(error) = self.input(Input::Stop { reason: Some("deleted".to_owned()) }).await
        {
            let _ = reply.send(Err(error.clone()));
            return Err(error);
        }
        match delete(&self.inner, &self.id, self.log.end(), Some(by)).await {
            Ok(DeleteResult::Deleted) => {
                self.inner.footprints.shrank(&subject, self.log.bytes());
                let _ = reply.send(Ok(()));
                Err(ChatError::NotFound)
            }
            Ok(DeleteResult::Conflict) => {
                let _ = reply.send(Err(ChatError::Lost));
                Err(ChatError::Lost)
            }
            Err(error) => {
                // The chat still exists, and so does what runs in it.
                let _ = reply.send(Err(ChatError::Log(error)));
                Ok(())
            }
        }
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
