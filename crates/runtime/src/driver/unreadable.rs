//! Chats whose facts can't be decoded. Nothing runs in them, but they can be deleted, and their holds still expire.

use std::sync::Arc;

use bytes::Bytes;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::sync::mpsc;

use super::{
    append,
    chat::{ChatError, Command},
    head::HeadData,
    runtime::Inner,
};
use crate::{
    clock::Timestamp,
    fact::{Cause, Fact, Outcome},
    log::{Append, AppendId, LogError},
    metrics::HoldKind,
    subject::Subject,
};

/// Answers the commands in the mailbox, and ends.
pub(super) async fn serve(inner: Arc<Inner>, id: ChatId, mut mailbox: mpsc::Receiver<Command>) {
    inner.forget(&id, &mut mailbox);
    while let Some(command) = mailbox.recv().await {
        match command {
            Command::Delete { subject, reply } => drop(reply.send(delete(&inner, &id, &subject).await)),
            Command::Retire { before, reply } => drop(reply.send(retire(&inner, &id, before).await)),
            Command::Expired { call, permit } => {
                if let Err(error) = expire(&inner, &id, &call).await {
                    tracing::warn!(chat = %id, %error, "a hold of an unreadable chat could not be settled");
                }
                drop(permit);
            }
            // Recovery is impossible, so do not retry.
            Command::Recover { done } => drop(done.send(())),
            other => other.fail(ChatError::Unreadable),
        }
    }
}

async fn delete(inner: &Inner, id: &ChatId, subject: &Subject) -> Result<(), ChatError> {
    let head = inner.log.head(id).await?;
    if head.is_none_or(|(_, head)| head.subject != *subject) {
        return Err(ChatError::NotFound);
    }
    inner.log.delete(id).await?;
    inner.holds.set(id, subject, Vec::new());
    Ok(())
}

async fn retire(inner: &Inner, id: &ChatId, before: Timestamp) -> Result<bool, ChatError> {
    let head = inner.log.head(id).await?;
    if head.is_none_or(|(_, head)| head.updated_at >= before || head.is_open) {
        return Ok(false);
    }
    inner.log.delete(id).await?;
    Ok(true)
}

/// Settles an expired hold, using only the chat's head.
async fn expire(inner: &Inner, id: &ChatId, call: &ToolCallId) -> Result<(), ChatError> {
    let Some((len, head)) = inner.log.head(id).await? else { return Ok(()) };
    let now = inner.clock.now();
    let Ok(mut data) = HeadData::read(&head) else { return Err(ChatError::Unreadable) };
    let is_due = |deadline| deadline <= now;
    let due = data.holds.iter().position(|hold| hold.call == *call && hold.deadline.is_some_and(is_due));
    let Some(hold) = due.map(|at| data.holds.remove(at)) else { return Ok(()) };
    let text = match hold.request {
        Some(_) => "Approval request timed out",
        None => "Tool execution timed out: the browser gave no answer in time",
    };
    let settled =
        Fact::Settled { call: call.clone(), outcome: Outcome::Error(text.to_owned()), cause: Cause::Expired, at: now };
    let payload = serde_json::to_vec(&[settled]).map_err(|error| LogError::Failed(error.to_string()))?;
    let append = Append {
        chat: id.clone(),
        expected: len,
        append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
        count: 1,
        payload: Bytes::from(payload),
        head: data.write(&head.subject, now),
        keys: Vec::new(),
    };
    append::append(inner, append).await?;
    inner.metrics.expired(HoldKind::of(&hold));
    inner.holds.set(id, &head.subject, data.holds);
    Ok(())
}
