//! Lists over all chats of a subject, read from the log page by page: chats and open holds. Approval requests are in
//! [`super::approvals`].

use std::{
    collections::BTreeMap,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use holdpoint_protocol::ids::{ChatId, ToolCallId};

use super::{
    Admin, Chats, Hold, RuntimeError,
    head::{Awaited, HeadData},
    load::{self, load},
    runtime::Inner,
};
use crate::{
    approvers::Approver,
    chat::Chat,
    clock::Timestamp,
    identity::Identity,
    log::{Head, HeadOrder, HeadQuery, HoldCounts, HoldQuery, HoldRow, HoldsOf, ListedHold, LogError, Stored},
    subject::Subject,
};

/// The number of entries read at a time.
pub(super) const PAGE: usize = 1000;

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page<T, C> {
    /// The entries.
    pub items: Vec<T>,
    /// The cursor of the next page, unless this one is the last.
    pub next: Option<C>,
}

/// A chat in the list of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatSummary {
    /// The chat.
    pub id: ChatId,
    /// Its owner.
    pub subject: Subject,
    /// The beginning of the first user message.
    pub title: String,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The number of open holds.
    pub holds: usize,
    /// Whether a turn is running.
    pub is_running: bool,
    awaited: Awaited,
}

impl ChatSummary {
    /// Whether an open hold waits for somebody: an approval request that they may decide and have not approved yet or, in
    /// a chat of their own, a call in the browser or a prompt.
    pub fn waits_for(&self, by: &Identity) -> bool {
        self.awaited.is_for(by, &self.subject, self.holds)
    }
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

impl ApprovalCursor {
    /// The position of a hold.
    pub(super) fn of(chat: &ChatId, row: &HoldRow) -> Self {
        Self { since: row.since, call: row.call.clone(), chat: chat.clone() }
    }
}

/// The cursor is malformed.
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

pub(super) fn time_and_rest(text: &str) -> Result<(Timestamp, &str), CursorError> {
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

impl Chats<'_> {
    /// All chats, most recently changed first.
    pub async fn list(&self) -> Result<Vec<ChatSummary>, RuntimeError> {
        let (mut chats, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(after, PAGE).await?;
            chats.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(chats);
            }
        }
    }

    /// One page of the chats, most recently changed first.
    pub async fn page(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<Page<ChatSummary, ChatCursor>, RuntimeError> {
        self.runtime.inner.summaries(Some(self.owner), after, limit).await
    }

    /// The open holds in all chats: approval requests, calls in a browser, and prompts of running tools.
    pub async fn open_holds(&self) -> Result<Vec<OpenHold>, RuntimeError> {
        let inner = &self.runtime.inner;
        let (mut open, mut after) = (Vec::new(), None);
        loop {
            let of = HoldsOf::Subject(self.owner.clone());
            let page = inner.held(of, false, after, PAGE).await?;
            for (chat, row) in page.items {
                let hold = inner.hold(&chat, &row).await;
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

impl Admin<'_> {
    /// One page of the chats of all subjects, most recently changed first.
    pub async fn chats(
        &self,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<Page<ChatSummary, ChatCursor>, RuntimeError> {
        self.runtime.inner.summaries(None, after, limit).await
    }

    /// The subject that owns a chat, if there is such a chat: an administrator acts in its place.
    pub async fn owner_of(&self, chat: &ChatId) -> Result<Option<Subject>, RuntimeError> {
        self.runtime.inner.owner_of(chat).await
    }
}

impl Inner {
    /// The subject that owns a chat, if there is such a chat.
    pub(super) async fn owner_of(&self, chat: &ChatId) -> Result<Option<Subject>, RuntimeError> {
        Ok(match self.log.stored(chat).await.map_err(RuntimeError::Log)? {
            Some(Stored::Chat { head, .. }) => Some(head.subject),
            Some(Stored::Tombstone { .. }) | None => None,
        })
    }

    async fn summaries(
        self: &Arc<Self>,
        subject: Option<&Subject>,
        after: Option<ChatCursor>,
        limit: usize,
    ) -> Result<Page<ChatSummary, ChatCursor>, RuntimeError> {
        let after = after.map(|ChatCursor { updated_at, chat }| (updated_at, chat));
        let order = HeadOrder::Newest { after };
        let query = HeadQuery { subject: subject.cloned(), only_open: false, order };
        let heads = self.log.heads(query, limit).await.map_err(RuntimeError::Log)?;
        let is_full = heads.len() >= limit;
        let mut items = Vec::with_capacity(heads.len());
        for (id, _, head) in heads {
            let HeadData { title, is_running, holds, awaited, .. } = load::head(self, &id, &head).await;
            let Head { subject, updated_at, .. } = head;
            items.push(ChatSummary { id, subject, title, updated_at, holds, is_running, awaited });
        }
        let last = items.last().filter(|_| is_full);
        let next = last.map(|last| ChatCursor { updated_at: last.updated_at, chat: last.id.clone() });
        Ok(Page { items, next })
    }

    /// The approval requests of an identity's own chats, and those that name it. Each list is read by itself, from an
    /// index, so what it costs does not grow with the requests that others decide.
    pub(super) async fn to_decide(
        &self,
        by: &Identity,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<ListedHold, ApprovalCursor>, RuntimeError> {
        let own = self.held(HoldsOf::Subject(by.subject().clone()), true, after.clone(), limit).await?;
        if !by.is_approver() {
            return Ok(own);
        }
        let mut merged = Merged::new(own, limit);
        let groups = by.groups().iter().cloned().map(Approver::Group);
        for approver in [Approver::Subject(by.subject().clone())].into_iter().chain(groups) {
            merged.add(self.held(HoldsOf::Approver(approver), true, after.clone(), limit).await?);
        }
        Ok(merged.page())
    }

    pub(super) async fn held(
        &self,
        of: HoldsOf,
        only_approvals: bool,
        after: Option<ApprovalCursor>,
        limit: usize,
    ) -> Result<Page<ListedHold, ApprovalCursor>, RuntimeError> {
        let after = after.map(|ApprovalCursor { since, call, chat }| (since, call, chat));
        let query = HoldQuery { of, only_approvals, after };
        let items = self.log.holds(query, limit).await.map_err(RuntimeError::Log)?;
        let bytes: usize = items.iter().map(|(_, row)| row.data.len()).sum();
        let is_full = items.len() >= limit || bytes > crate::log::PAGE_BYTES;
        let last = items.last().filter(|_| is_full);
        let next = last.map(|(chat, row)| ApprovalCursor::of(chat, row));
        Ok(Page { items, next })
    }

    /// The hold of a row. If the row can't be decoded, it is computed from the facts.
    pub(super) async fn hold(self: &Arc<Self>, chat: &ChatId, row: &HoldRow) -> Option<Hold> {
        let error = match Hold::read(row) {
            Ok(hold) => return Some(hold),
            Err(error) => error,
        };
        super::counters::count(&self.counters.unreadable_heads);
        tracing::error!(%chat, call = %row.call, %error, "a stored hold can't be decoded; its chat is folded instead");
        let loaded = load(self, chat, None).await.ok()?;
        let mut state = Chat::default();
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

/// Pages of several lists, as one page of all of them.
struct Merged {
    holds: BTreeMap<(Timestamp, ToolCallId, ChatId), HoldRow>,
    /// The end of the first of the pages that ends before its list does. What comes after it may lack something.
    until: Option<(Timestamp, ToolCallId, ChatId)>,
    limit: usize,
}

impl Merged {
    fn new(page: Page<ListedHold, ApprovalCursor>, limit: usize) -> Self {
        let mut merged = Self { holds: BTreeMap::new(), until: None, limit };
        merged.add(page);
        merged
    }

    fn add(&mut self, page: Page<ListedHold, ApprovalCursor>) {
        self.holds.extend(page.items.into_iter().map(|(chat, row)| ((row.since, row.call.clone(), chat), row)));
        let end = page.next.map(|ApprovalCursor { since, call, chat }| (since, call, chat));
        self.until = self.until.take().into_iter().chain(end).min();
        while self.holds.len() > self.limit {
            self.holds.pop_last();
            self.until =
                self.holds.last_key_value().map(|(last, _)| last.clone()).into_iter().chain(self.until.take()).min();
        }
        if let Some(until) = &self.until {
            // Inputs can be large, so what is for a later page is not kept.
            let mut later = self.holds.split_off(until);
            let last = later.remove(until);
            self.holds.extend(last.map(|last| (until.clone(), last)));
        }
    }

    fn page(self) -> Page<ListedHold, ApprovalCursor> {
        let next = self.until.map(|(since, call, chat)| ApprovalCursor { since, call, chat });
        let items = self.holds.into_iter().map(|((.., chat), row)| (chat, row)).collect();
        Page { items, next }
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
