//! The rows of open holds, and of who may decide about them.

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use rusqlite::{OptionalExtension, Transaction};

use crate::{HoldChanges, HoldRow};
use holdpoint_core::subject::Subject;

/// Writes what an append changes.
pub(super) fn change(
    transaction: &Transaction<'_>,
    number: i64,
    subject: &Subject,
    holds: &HoldChanges,
) -> rusqlite::Result<()> {
    for call in &holds.closed {
        transaction
            .prepare_cached("DELETE FROM holds WHERE chat = ?1 AND call = ?2")?
            .execute((number, call.as_str()))?;
        clear_approvers(transaction, number, call)?;
    }
    for hold in &holds.opened {
        open_hold(transaction, number, subject, hold)?;
        clear_approvers(transaction, number, &hold.call)?;
    }
    for (call, approver) in &holds.approvers {
        let (kind, name) = approver.parts();
        transaction
            .prepare_cached(
                "REPLACE INTO approvers (chat, call, kind, name, since)
                 SELECT chat, call, ?3, ?4, since FROM holds WHERE chat = ?1 AND call = ?2",
            )?
            .execute((number, call.as_str(), kind, name))?;
    }
    Ok(())
}

/// See [`crate::Index::restore_holds`].
pub(super) fn restore(
    transaction: &Transaction<'_>,
    chat: &ChatId,
    expected: u64,
    holds: &HoldChanges,
) -> rusqlite::Result<bool> {
    let found: Option<(i64, String)> = transaction
        .prepare_cached("SELECT number, subject FROM chats WHERE id = ?1 AND len = ?2 AND deleted_at IS NULL")?
        .query_row((chat.as_str(), expected.cast_signed()), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((number, subject)) = found else { return Ok(false) };
    for sql in ["DELETE FROM holds WHERE chat = ?1", "DELETE FROM approvers WHERE chat = ?1"] {
        transaction.prepare_cached(sql)?.execute([number])?;
    }
    change(transaction, number, &Subject::from(&*subject), holds)?;
    Ok(true)
}

fn clear_approvers(transaction: &Transaction<'_>, number: i64, call: &ToolCallId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM approvers WHERE chat = ?1 AND call = ?2")?
        .execute((number, call.as_str()))?;
    Ok(())
}

fn open_hold(transaction: &Transaction<'_>, number: i64, subject: &Subject, hold: &HoldRow) -> rusqlite::Result<()> {
    let HoldRow { call, tool, approval, since, due_at, data } = hold;
    transaction
        .prepare_cached(
            "REPLACE INTO holds (chat, call, subject, tool, approval, since, due_at, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            number,
            call.as_str(),
            subject.as_str(),
            tool,
            approval.as_ref().map(|approval| approval.as_str()),
            since.0.cast_signed(),
            due_at.map(|due_at| due_at.0.cast_signed()),
            &data[..],
        ))?;
    Ok(())
}
