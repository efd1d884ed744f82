//! Appending, through whatever trouble the disk has. An append whose fate is unknown is the same append at the same place until it is
//! known: nothing that happened is given up because it could not be written for a while.

use std::time::Duration;

use tokio::{pin, time};

use super::{chat::ChatError, counters::count, runtime::Inner};
use crate::{
    backoff::Backoff,
    log::{Append, Appended, Health, LogError},
};

/// Delays between two tries. System time, not the injected clock: the cause is the disk, and no deadline depends on it.
const FIRST_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// How long an append may take before the log counts as stuck.
const SLOW: Duration = Duration::from_secs(2);
/// How often an append is tried that alone can't be written, while others can.
const TRIES: u32 = 20;

/// Appends, and comes back when it is known to be on disk, or not to be the next in its chat.
pub(super) async fn append(inner: &Inner, append: Append) -> Result<(), ChatError> {
    let health = inner.log.health();
    let mut stuck = None;
    let (mut backoff, mut tries) = (Backoff::new(FIRST_DELAY, MAX_DELAY), 0);
    loop {
        let appending = inner.log.append_many(vec![append.clone()]);
        pin!(appending);
        let appended = loop {
            tokio::select! {
                appended = &mut appending => break appended,
                () = time::sleep(SLOW), if stuck.is_none() => stuck = Some(inner.counters.stuck()),
                () = inner.closing.cancelled() => return Err(ChatError::Closing),
            }
        };
        match appended.first() {
            Some(Appended::Committed { .. }) => return Ok(()),
            Some(Appended::Conflict { .. }) => return Err(ChatError::Lost),
            Some(Appended::Unknown) | None => {}
        }
        count(&inner.counters.repeated_appends);
        stuck.get_or_insert_with(|| inner.counters.stuck());
        if *health.borrow() == Health::Writable {
            tries += 1;
            if tries == TRIES {
                return Err(ChatError::Log(LogError::Failed(
                    "this append can't be written, while others can".to_owned(),
                )));
            }
        }
        tokio::select! {
            () = backoff.wait() => {}
            () = inner.closing.cancelled() => return Err(ChatError::Closing),
        }
    }
}

/// While the log can't be written, finds out again and again whether it can: nobody else may be writing.
pub(super) async fn watch_health(inner: std::sync::Arc<Inner>) {
    let mut health = inner.log.health();
    loop {
        let failing = health.wait_for(|health| *health == Health::Failing);
        tokio::select! {
            failing = failing => if failing.is_err() { return },
            () = inner.closing.cancelled() => return,
        }
        tokio::select! {
            () = time::sleep(MAX_DELAY) => {}
            () = inner.closing.cancelled() => return,
        }
        inner.log.probe().await;
    }
}
