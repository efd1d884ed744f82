//! Rows of holds that somebody else has changed or removed are written anew, from the facts: otherwise such a hold would
//! expire late, and could not be decided from the inbox.

use std::{collections::HashMap, sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;

use super::{
    chat::ChatTask,
    command::{ChatError, Command},
    head::{HeadData, Hold},
    runtime::Inner,
};
use crate::{
    clock::Timestamp,
    log::{Head, HeadOrder, HeadQuery, HoldApprover, HoldQuery, HoldRow, HoldsOf, LogError, Store},
};

/// How often some of the open chats are looked at, and how many.
const INTERVAL: Duration = Duration::from_secs(10);
const CHATS: usize = 256;
/// A chat whose rows do not fit is woken again after this time at the earliest: its facts may be unreadable too.
const WAKE_INTERVAL: Duration = Duration::from_secs(60);
/// The number of rows per read.
const ROWS: usize = 256;

/// All rows of the holds of a chat.
pub(super) async fn hold_rows(log: &dyn Store, chat: &ChatId) -> Result<Vec<HoldRow>, LogError> {
    let mut query = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: false, after: None };
    let mut rows = Vec::new();
    loop {
        let page = log.holds(query.clone(), ROWS).await?;
        let Some((chat, last)) = page.last() else { return Ok(rows) };
        query.after = Some((last.since, last.call.clone(), chat.clone()));
        rows.extend(page.into_iter().map(|(_, row)| row));
    }
}

/// Whether these rows are those of these holds. Rows that can't be decoded are not.
fn are_stored(
    holds: &[Hold],
    rows: Result<Vec<HoldRow>, LogError>,
    approvers: Result<Vec<HoldApprover>, LogError>,
) -> Result<bool, LogError> {
    let (rows, mut stored) = match (rows, approvers) {
        (Err(LogError::Damaged(_)), _) | (_, Err(LogError::Damaged(_))) => return Ok(false),
        (rows, approvers) => (rows?, approvers?),
    };
    let is_there = |hold: &Hold| rows.iter().any(|row| row.call == hold.call && hold.is_stored_as(row));
    let named = |hold: &Hold| hold.others().map(|who| (hold.call.clone(), Some(who.clone()))).collect::<Vec<_>>();
    let mut wanted: Vec<HoldApprover> = holds.iter().flat_map(named).collect();
    wanted.sort();
    wanted.dedup();
    stored.sort();
    Ok(holds.len() == rows.len() && holds.iter().all(is_there) && wanted == stored)
}

impl ChatTask {
    /// Writes the rows of the holds anew, unless they are what the facts say.
    pub(super) async fn mend_holds(&mut self) -> Result<(), ChatError> {
        if self.inner.lease.is_shared() {
            self.catch_up_or_end().await?;
        }
        let log = &self.inner.log;
        let holds = Hold::of(self.log.state());
        if are_stored(&holds, hold_rows(&**log, &self.id).await, log.approvers(&self.id).await)? {
            return Ok(());
        }
        let changes = Hold::changes(&[], &holds);
        // If another node has appended since, the rows are those of a state that is not known here yet.
        if log.restore_holds(&self.id, self.log.end(), changes).await? {
            tracing::error!(
                chat = %self.id,
                "the stored rows of holds were not what the facts say, so something else than this program has changed \
                 them; they were written anew: run `holdpoint verify` to see whether anything else was changed"
            );
            self.inner.holds_changed.notify_waiters();
        }
        Ok(())
    }
}

/// Looks at the rows of the open chats, some at a time, until the runtime ends. The chats whose rows do not fit are woken.
pub(super) async fn sweep(inner: Arc<Inner>) {
    let (mut after, mut woken) = (None, HashMap::new());
    loop {
        let pause = inner.clock.sleep_until(inner.clock.now().after(INTERVAL));
        let look = async {
            pause.await;
            look(&inner, after.take(), &mut woken).await
        };
        let looked = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            looked = look => looked,
        };
        match looked {
            Ok(next) => after = next,
            Err(error) => tracing::warn!(%error, "the rows of holds can't be read; retrying"),
        }
    }
}

/// Looks at some chats. Returns the last one, if there are more.
async fn look(
    inner: &Arc<Inner>,
    after: Option<ChatId>,
    woken: &mut HashMap<ChatId, Timestamp>,
) -> Result<Option<ChatId>, LogError> {
    let now = inner.clock.now();
    woken.retain(|_, again| *again > now);
    let query = HeadQuery { subject: None, only_open: true, order: HeadOrder::Id { after } };
    let heads = inner.log.heads(query, CHATS).await?;
    let next = heads.last().filter(|_| heads.len() == CHATS).map(|(chat, ..)| chat.clone());
    for (chat, _, head) in heads {
        if !woken.contains_key(&chat) && !is_whole(&*inner.log, &chat, &head).await? {
            woken.insert(chat.clone(), now.after(WAKE_INTERVAL));
            if let Some(mailbox) = inner.wake(&chat) {
                // If its mailbox is full, it is woken again.
                let _ = mailbox.try_send(Command::Mend);
            }
        }
    }
    Ok(next)
}

/// Whether a chat has as many rows as its head says, and each can be read and agrees with itself. Facts are not read for this:
/// there may be many chats. A row that was changed with care is found when somebody decides.
async fn is_whole(log: &dyn Store, chat: &ChatId, head: &Head) -> Result<bool, LogError> {
    let rows = match hold_rows(log, chat).await {
        Err(LogError::Damaged(_)) => return Ok(false),
        rows => rows?,
    };
    let is_one = |row: &HoldRow| Hold::read(row).is_ok_and(|hold| hold.is_stored_as(row));
    Ok(HeadData::read(head).is_ok_and(|head| head.holds == rows.len()) && rows.iter().all(is_one))
}
