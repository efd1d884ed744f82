//! The rows of open holds, and of who may decide about them.

use holdpoint_protocol::ids::ToolCallId;
use rusqlite::Transaction;

use crate::{
    log::{HoldChanges, HoldRow},
    subject::Subject,
};

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
