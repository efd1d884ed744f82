//! Deletions.

use holdpoint_protocol::ids::ChatId;
use rusqlite::{OptionalExtension, Transaction};

use super::{audit, writer::Deleted};
use crate::Deletion;
use holdpoint_core::subject::Subject;

/// Deletes a chat of this length, and leaves its tombstone.
pub(super) fn delete(transaction: &Transaction<'_>, chat: &ChatId, deletion: &Deletion) -> rusqlite::Result<Deleted> {
    let Deletion { expected, hash, row } = deletion;
    let found: Option<(i64, i64, String)> = transaction
        .prepare_cached("SELECT number, len, subject FROM chats WHERE id = ?1 AND deleted_at IS NULL")?
        .query_row([chat.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((number, len, subject)) = found else { return Ok(Deleted::Nothing) };
    if len.cast_unsigned() != *expected {
        return Ok(Deleted::Conflict);
    }
    transaction
        .prepare_cached(
            "UPDATE chats
             SET len = len + 1, is_open = 0, head = x'', owner = NULL, hash = ?2, deleted_at = ?3
             WHERE number = ?1",
        )?
        .execute((number, hash.as_bytes(), row.at.0.cast_signed()))?;
    for sql in [
        "DELETE FROM batches WHERE chat = ?1",
        "DELETE FROM digests WHERE chat = ?1",
        "DELETE FROM keys WHERE chat = ?1",
        "DELETE FROM holds WHERE chat = ?1",
        "UPDATE audit SET contents = NULL WHERE chat = ?1 AND contents IS NOT NULL",
        "DELETE FROM approvers WHERE chat = ?1",
        "DELETE FROM grants WHERE chat = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([number])?;
    }
    audit::add(transaction, number, *expected, &subject, std::slice::from_ref(row))?;
    Ok(Deleted::Chat(Subject::from(&*subject)))
}
