//! Appends that survive disk failures. An append whose result is unknown is repeated at the same position until the
//! result is known, so that no fact is lost because the disk failed for a while.

use std::time::Duration;

use tokio::{pin, time};

use super::{command::ChatError, counters::count, runtime::Inner};
use crate::{
    backoff::{self, Backoff},
    log::{Append, AppendResult, Health, LogError},
};

/// Delays between attempts. They use system time instead of the injected clock: the cause is the disk, and no deadline
/// depends on it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// The time after which a pending append counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(2);
/// The number of attempts for an append that fails while others succeed.
const MAX_ATTEMPTS: u32 = 20;

/// Appends, and returns once the facts are on disk or the position turns out to be taken.
pub(super) async fn append(inner: &Inner, append: Append) -> Result<(), ChatError> {
    let health = inner.log.health();
    let mut stuck = None;
    let (mut backoff, mut tries) = (Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF), 0);
    loop {
        let appending = inner.log.append_many(vec![append.clone()]);
        pin!(appending);
        let appended = loop {
            tokio::select! {
                biased;
                appended = &mut appending => break appended,
                () = time::sleep(STUCK_AFTER), if stuck.is_none() => stuck = Some(inner.counters.stuck()),
                () = inner.closing.cancelled() => return Err(ChatError::Closing),
            }
        };
        match appended.first() {
            Some(AppendResult::Committed { .. }) => return Ok(()),
            Some(AppendResult::Conflict { .. }) => return Err(ChatError::Conflict),
            Some(AppendResult::NotGranted) => return Err(ChatError::NotGranted),
            Some(AppendResult::Unknown) | None => {}
        }
        count(&inner.counters.repeated_appends);
        stuck.get_or_insert_with(|| inner.counters.stuck());
        if *health.borrow() == Health::Writable {
            tries += 1;
            if tries == MAX_ATTEMPTS {
                return Err(ChatError::Log(LogError::Failed(
                    "this append can't be written, while others can".to_owned(),
                )));
            }
        }
        tokio::select! {
            biased;
            () = backoff::wait(&mut backoff) => {}
            () = inner.closing.cancelled() => return Err(ChatError::Closing),
        }
    }
}

/// Probes a failing log until it can be written again, because no other write may be under way.
pub(super) async fn watch_health(inner: std::sync::Arc<Inner>) {
    let mut health = inner.log.health();
    loop {
        let failing = health.wait_for(|health| *health != Health::Writable);
        tokio::select! {
            biased;
            failing = failing => if failing.is_err() { return },
            () = inner.closing.cancelled() => return,
        }
        tokio::select! {
            biased;
            () = time::sleep(MAX_BACKOFF) => {}
            () = inner.closing.cancelled() => return,
        }
        inner.log.probe().await;
    }
}
