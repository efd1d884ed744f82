//! Lists over all chats of a subject, read from the log page by page: chats, approval requests, open holds.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ChatId, ToolCallId},
    json,
    request::PendingApproval,
};

use super::{
    ChatSummary, Hold, Runtime, RuntimeError,
    head::HeadData,
    load::{self, load},
    runtime::Inner,
};
use crate::{
    clock::Timestamp,
    log::{HeadOrder, HeadQuery, HoldCounts, HoldQuery, HoldRow, HoldsOf, ListedHold, LogError},
    subject::Subject,
    turn::ChatState,
};

/// The number of entries read at a time.
const PAGE: usize = 1000;

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page<T, C> {
    /// The entries.
    pub items: Vec<T>,
    /// The cursor of the next page, unless this one is the last.
    pub next: Option<C>,
}

/// A position in the list of chats. Its text is for the same list only, and has no meaning to anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCursor {
    updated_at: Timestamp,
    chat: ChatId,
}

/// A position in the list of approval requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalCursor {
    since: Timestamp,
    call: ToolCallId,
    chat: ChatId,
}

/// A text is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a cursor of this list: use the one of the `next` link")]
pub struct CursorError;

impl fmt::Display for ChatCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated_at.0, self.chat)
    }
}

impl FromStr for ChatCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (updated_at, chat) = time_and_rest(text)?;
        Ok(Self { updated_at, chat: ChatId::from(chat) })
    }
}

impl fmt::Display for ApprovalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The length tells where the call ends: ids may contain anything.
        let call = self.call.as_str();
        write!(f, "{}.{}.{call}{}", self.since.0, call.len(), self.chat)
    }
}

impl FromStr for ApprovalCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (since, rest) = time_and_rest(text)?;
        let (len, ids) = rest.split_once('.').ok_or(CursorError)?;
        let len: usize = len.parse().map_err(|_| CursorError)?;
        let (call, chat) = ids.split_at_checked(len).ok_or(CursorError)?;
        Ok(Self { since, call: ToolCallId::from(call), chat: ChatId::from(chat) })
    }
}

fn time_and_rest(text: &str) -> Result<(Timestamp, &str), CursorError> {
    let (time, rest) = text.split_once('.').ok_or(CursorError)?;
    Ok((Timestamp(time.parse().map_err(|_| CursorError)?), rest))
}

/// An open hold, and its chat.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenHold {
    /// The chat.
    pub chat: ChatId,
    /// The hold.
    pub hold: Hold,
}

impl Runtime {
    /// All chats of a subject, most recently changed first.
    pub async fn chats(&self, subject: &Subject) -> Result<Vec<ChatSummary>, RuntimeError> {
        let (mut chats, mut after) = (Vec::new(), None);
        loop {
            let page = self.chats_page(subject, after, PAGE).await?;
            chats.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(chats);
            }
        }
    }

    /// One page of a subject's chats, most recently changed first.
    pub async fn chats_page(
        &self,
        subject: &Subject,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<Page<ChatSummary, ChatCursor>, RuntimeError> {
        let after = after.map(|ChatCursor { updated_at, chat }| (updated_at, chat));
        let order = HeadOrder::Newest { after };
        let query = HeadQuery { subject: Some(subject.clone()), only_open: false, order };
        let heads = self.inner.log.heads(query, limit).await.map_err(RuntimeError::Log)?;
        let is_full = heads.len() >= limit;
        let mut items = Vec::with_capacity(heads.len());
        for (id, _, head) in heads {
            let HeadData { title, is_running, holds, .. } = load::head(&self.inner, &id, &head).await;
            items.push(ChatSummary { id, title, updated_at: head.updated_at, holds, is_running });
        }
        let last = items.last().filter(|_| is_full);
        let next = last.map(|last| ChatCursor { updated_at: last.updated_at, chat: last.id.clone() });
        Ok(Page { items, next })
    }

    /// All open approval requests of a subject, oldest first.
    pub async fn approvals(&self, subject: &Subject) -> Result<Vec<PendingApproval>, RuntimeError> {
        let (mut approvals, mut after) = (Vec::new(), None);
        loop {
            let page = self.approvals_page(subject, after, PAGE).await?;
            approvals.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(approvals);
            }
        }
    }

    /// One page of a subject's open approval requests, oldest first. A page with large inputs has fewer than `limit`.
    pub async fn approvals_page(
        &self,
        subject: &Subject,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<PendingApproval, ApprovalCursor>, RuntimeError> {
        let rows = self.inner.held(subject, true, after, limit).await?;
        let mut items = Vec::with_capacity(rows.items.len());
        for (chat_id, row) in rows.items {
            let Some(hold) = self.inner.hold(&chat_id, &row).await else { continue };
            let Some(request) = &hold.request else { continue };
            items.push(PendingApproval {
                approval_id: request.approval.clone(),
                tool_call_id: hold.call.clone(),
                chat_id,
                tool_name: hold.name.to_string(),
                input: json::parse(hold.input.as_bytes()).unwrap_or_default(),
                reason: Some(request.reason.to_string()),
                requested_at: request.asked_at.iso8601(),
                expires_at: hold.deadline.map(Timestamp::iso8601),
                allowed: vec![DecisionKind::Approve, DecisionKind::Deny],
            });
        }
        Ok(Page { items, next: rows.next })
    }

    /// A subject's open holds in all chats: approval requests, calls in a browser, and prompts of running tools.
    pub async fn open_holds(&self, subject: &Subject) -> Result<Vec<OpenHold>, RuntimeError> {
        let (mut open, mut after) = (Vec::new(), None);
        loop {
            let page = self.inner.held(subject, false, after, PAGE).await?;
            for (chat, row) in page.items {
                let hold = self.inner.hold(&chat, &row).await;
                open.extend(hold.map(|hold| OpenHold { chat, hold }));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        open.sort_by(|a, b| (&a.chat, a.hold.since, &a.hold.call).cmp(&(&b.chat, b.hold.since, &b.hold.call)));
        Ok(open)
    }
}

impl Inner {
    async fn held(
        &self,
        subject: &Subject,
        only_approvals: bool,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<ListedHold, ApprovalCursor>, RuntimeError> {
        let after = after.map(|ApprovalCursor { since, call, chat }| (since, call, chat));
        let query = HoldQuery { of: HoldsOf::Subject(subject.clone()), only_approvals, after };
        let items = self.log.holds(query, limit).await.map_err(RuntimeError::Log)?;
        let bytes: usize = items.iter().map(|(_, row)| row.data.len()).sum();
        let is_full = items.len() >= limit || bytes > crate::log::PAGE_BYTES;
        let last = items.last().filter(|_| is_full);
        let next =
            last.map(|(chat, row)| ApprovalCursor { since: row.since, call: row.call.clone(), chat: chat.clone() });
        Ok(Page { items, next })
    }

    /// The hold of a row. If the row can't be decoded, it is computed from the facts.
    async fn hold(self: &Arc<Self>, chat: &ChatId, row: &HoldRow) -> Option<Hold> {
        let error = match Hold::read(row) {
            Ok(hold) => return Some(hold),
            Err(error) => error,
        };
        super::counters::count(&self.counters.unreadable_heads);
        tracing::error!(%chat, call = %row.call, %error, "a stored hold can't be decoded; its chat is folded instead");
        let loaded = load(self, chat).await.ok()?;
        let mut state = ChatState::default();
        loaded.facts.iter().for_each(|fact| state.apply(fact));
        Hold::of(&state).into_iter().find(|hold| hold.call == row.call)
    }

    /// The number of open holds. Counting looks at all of them, so it takes at most a twentieth of the time: in between,
    /// the last count is given.
    pub(super) async fn count_holds(&self) -> Result<(Timestamp, HoldCounts), LogError> {
        const SHARE: u32 = 20;
        let last = self.hold_counts.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(last) = last.filter(|last| last.counted.elapsed() < last.cost * SHARE) {
            return Ok((last.now, last.counts));
        }
        let (now, begun) = (self.clock.now(), Instant::now());
        let counts = self.log.count_holds(crate::metrics::age_limits(now)).await?;
        let last = LastCount { now, counted: Instant::now(), cost: begun.elapsed(), counts: counts.clone() };
        *self.hold_counts.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        Ok((now, counts))
    }
}

/// The last count of the open holds.
#[derive(Debug, Default)]
pub(super) struct HoldCountCache(Mutex<Option<LastCount>>);

#[derive(Debug, Clone)]
struct LastCount {
    now: Timestamp,
    counted: Instant,
    cost: Duration,
    counts: HoldCounts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_nothing_else_is_one() {
        for chat in ["c", "", "a.b", "ü.1.x"] {
            let cursor = ChatCursor { updated_at: Timestamp(7), chat: chat.into() };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
            for call in ["call", "", "3.x", "é"] {
                let cursor = ApprovalCursor { since: Timestamp(7), call: call.into(), chat: chat.into() };
                assert_eq!(cursor.to_string().parse(), Ok(cursor));
            }
        }
        for text in ["", "x", "-1.c", "99999999999999999999.c", ".c", "7"] {
            assert_eq!(text.parse::<ChatCursor>(), Err(CursorError), "{text}");
        }
        for text in ["7.c", "7..c", "7.9.c", "7.1.é", "7.-1.c"] {
            assert_eq!(text.parse::<ApprovalCursor>(), Err(CursorError), "{text}");
        }
    }
}
