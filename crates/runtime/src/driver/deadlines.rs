//! Delivery of deadlines: wakes a few chats at a time, so that requests are still answered meanwhile.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};

use super::{command::Command, runtime::Inner};
use crate::{clock::Timestamp, log::LogError};

/// The number of chats woken for a deadline at a time.
const MAX_CONCURRENT_CHATS: usize = 16;
/// The number of deadlines read at a time.
const PAGE: usize = 64;
/// The time after which a deadline is delivered again, if the chat has not handled it.
const REDELIVERY_INTERVAL: Duration = Duration::from_secs(1);
/// How often a log that other nodes write to is asked, in case a wakeup was lost. System time: no deadline depends on
/// it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

type HeldCall = (ChatId, ToolCallId);

/// Delivers every deadline to its chat.
pub(super) async fn run(inner: Arc<Inner>) {
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_CHATS));
    let mut delivered = HashMap::new();
    loop {
        let step = step(&inner, &places, &mut delivered);
        let went = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            went = step => went,
        };
        if let Err(error) = went {
            tracing::warn!(%error, "the deadlines can't be read; retrying");
            tokio::select! {
                biased;
                () = time::sleep(POLL_INTERVAL) => {}
                () = inner.closing.cancelled() => return,
            }
        }
    }
}

/// Delivers what is due, or else waits for the next deadline. `delivered` has the time at which each is delivered again.
async fn step(
    inner: &Arc<Inner>,
    places: &Arc<Semaphore>,
    delivered: &mut HashMap<HeldCall, Timestamp>,
) -> Result<(), LogError> {
    let mut changed = pin!(inner.holds_changed.notified());
    changed.as_mut().enable();
    let now = inner.clock.now();
    delivered.retain(|_, again| *again > now);
    let due = inner.log.due(now, delivered.len() + PAGE).await?;
    let mut is_idle = true;
    for (_, chat, call) in due {
        if delivered.contains_key(&(chat.clone(), call.clone())) {
            continue;
        }
        is_idle = false;
        let Ok(permit) = Arc::clone(places).acquire_owned().await else { return Ok(()) };
        delivered.insert((chat.clone(), call.clone()), now.after(REDELIVERY_INTERVAL));
        deliver(inner, &chat, call, permit);
    }
    if !is_idle {
        return Ok(());
    }
    let next = inner.log.due(Timestamp(u64::MAX), delivered.len() + 1).await?;
    let next = next.into_iter().filter(|(_, chat, call)| !delivered.contains_key(&(chat.clone(), call.clone())));
    let next = next.map(|(at, ..)| at).chain(delivered.values().copied()).min();
    tokio::select! {
        biased;
        () = async { match next {
            Some(at) => inner.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }} => {}
        () = changed => {}
        () = time::sleep(POLL_INTERVAL), if inner.log.cluster().lease().is_some() => {}
    }
    Ok(())
}

fn deliver(inner: &Arc<Inner>, chat: &ChatId, call: ToolCallId, permit: OwnedSemaphorePermit) {
    if let Some(mailbox) = inner.wake(chat) {
        // If the mailbox is full, the deadline is delivered again later. A stuck chat must not delay those of others.
        let _ = mailbox.try_send(Command::Due { call, permit });
    }
}
