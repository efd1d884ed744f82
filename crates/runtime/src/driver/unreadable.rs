//! Chats whose facts can't be decoded. Nothing runs in them, but they can be deleted, and their holds still expire.

use std::sync::Arc;

use bytes::Bytes;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::mpsc;

use super::{
    append, audit,
    command::{ChatError, Command},
    deletion,
    head::{Awaited, HeadData, Hold},
    runtime::Inner,
};
use crate::{
    clock::Timestamp,
    fact::{Cause, Fact, Outcome},
    log::{
        Append, AppendId, DeleteResult, GrantChanges, Head, HoldChanges, HoldQuery, HoldRow, HoldsOf, LogError,
        Ownership, Stored,
    },
    metrics::HoldKind,
    subject::Subject,
};

/// Answers the commands in the mailbox, and ends.
pub(super) async fn serve(inner: Arc<Inner>, id: ChatId, mut mailbox: mpsc::Receiver<Command>) {
    inner.forget(&id, &mut mailbox);
    while let Some(command) = mailbox.recv().await {
        match command {
            Command::Delete { subject, by, reply } => drop(reply.send(delete(&inner, &id, &subject, by).await)),
            Command::Retire { before, reply } => drop(reply.send(retire(&inner, &id, before).await)),
            Command::Due { call, permit } => {
                if let Err(error) = expire(&inner, &id, &call).await {
                    tracing::warn!(chat = %id, %error, "a hold of an unreadable chat could not be settled");
                }
                drop(permit);
            }
            // Recovery is impossible, so do not retry.
            Command::Recover { done, .. } => drop(done.send(())),
            other => other.fail(ChatError::Unreadable),
        }
    }
}

async fn delete(inner: &Inner, id: &ChatId, subject: &Subject, by: Subject) -> Result<(), ChatError> {
    let (len, head) = stored(inner, id).await?;
    if head.subject != *subject {
        return Err(ChatError::NotFound);
    }
    match deletion::delete(inner, id, len, Some(by)).await? {
        DeleteResult::Deleted => Ok(()),
        DeleteResult::Conflict => Err(ChatError::Lost),
    }
}

async fn retire(inner: &Inner, id: &ChatId, before: Timestamp) -> Result<bool, ChatError> {
    let (len, head) = stored(inner, id).await?;
    if head.updated_at >= before || head.is_open {
        return Ok(false);
    }
    Ok(deletion::delete(inner, id, len, None).await? == DeleteResult::Deleted)
}

async fn stored(inner: &Inner, id: &ChatId) -> Result<(u64, Head), ChatError> {
    match inner.log.stored(id).await? {
        Some(Stored::Chat { len, head, .. }) => Ok((len, head)),
        Some(Stored::Tombstone { .. }) | None => Err(ChatError::NotFound),
    }
}

/// Settles an expired hold, using only what is stored beside the facts.
async fn expire(inner: &Inner, id: &ChatId, call: &ToolCallId) -> Result<(), ChatError> {
    let (len, head) = stored(inner, id).await?;
    let now = inner.clock.now();
    let query = HoldQuery { of: HoldsOf::Chat(id.clone()), only_approvals: false, after: None };
    let holds = inner.log.holds(query, usize::MAX).await?;
    // A request that escalates is due before it expires. Without its facts, it can only expire.
    let expires_at = |row: &HoldRow| Hold::read(row).map_or(row.due_at, |hold| hold.deadline);
    let is_over = |row: &HoldRow| row.call == *call && expires_at(row).is_some_and(|at| at <= now);
    let Some((_, hold)) = holds.iter().find(|(_, hold)| is_over(hold)) else { return Ok(()) };
    let text = match hold.approval {
        Some(_) => "Approval request timed out",
        None => "Tool execution timed out: the browser gave no answer in time",
    };
    let settled = Fact::Settled {
        call: call.clone(),
        outcome: Outcome::Error(text.to_owned()),
        cause: Cause::Expired,
        at: now,
        channel: None,
        is_repeatable: false,
    };
    let payload = serde_json::to_vec(&[settled]).map_err(|error| LogError::Failed(error.to_string()))?;
    let others = holds.iter().filter(|(_, other)| other.call != *call);
    let left: Vec<Hold> = others.filter_map(|(_, other)| Hold::read(other).ok()).collect();
    let data =
        HeadData { holds: holds.len() - 1, awaited: Awaited::of(&left), ..HeadData::read(&head).unwrap_or_default() };
    let append = Append {
        chat: id.clone(),
        expected: len,
        append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
        count: 1,
        payload: Bytes::from(payload),
        head: data.write(&head.subject, now),
        keys: Vec::new(),
        holds: HoldChanges { closed: vec![call.clone()], ..HoldChanges::default() },
        ownership: Ownership::Keep,
        digest: None,
        audit: vec![audit::expired(call, &hold.tool, now)],
        grants: GrantChanges::default(),
    };
    append::append(inner, append).await?;
    inner.metrics.expired(HoldKind::of(hold.approval.is_some(), &hold.tool));
    Ok(())
}
