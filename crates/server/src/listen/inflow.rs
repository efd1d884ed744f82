//! The received bytes of an incomplete WebSocket message. The library buffers them and reports nothing before the end,
//! so they are counted here among the bytes in flight, and their time is limited.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use crate::request::{BUSY_TIMEOUT, Held, Share, UNCOUNTED_BYTES};

/// The step in which bytes in flight are reserved.
const RESERVE_STEP_BYTES: usize = 256 * 1024;
/// How often a waiting connection checks for room.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The overhead of a control frame.
const FRAME_OVERHEAD_BYTES: usize = 6;

/// The read side of a connection that has become a WebSocket.
#[derive(Debug, Default)]
pub(crate) struct Inflow {
    socket: Mutex<Option<Pending>>,
}

#[derive(Debug)]
struct Pending {
    share: Share,
    /// The time limit for a message.
    time: Duration,
    bytes: usize,
    held: Held,
    /// The start of the message being read, if it is large enough to count.
    since: Option<Instant>,
}

impl Inflow {
    fn lock(&self) -> MutexGuard<'_, Option<Pending>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts counting: the connection is now a WebSocket.
    pub(crate) fn begin(&self, share: Share, time: Duration) {
        *self.lock() = Some(Pending { share, time, bytes: 0, held: Held::default(), since: None });
    }

    /// Resets the count after a complete message.
    pub(crate) fn message(&self) {
        if let Some(pending) = &mut *self.lock() {
            (pending.bytes, pending.held, pending.since) = (0, Held::default(), None);
        }
    }

    /// Discounts a control frame, which may come between the fragments of a message.
    pub(crate) fn control(&self, content: usize) {
        if let Some(pending) = &mut *self.lock() {
            pending.bytes = pending.bytes.saturating_sub(content + FRAME_OVERHEAD_BYTES);
        }
    }

    /// Counts bytes that were read.
    pub(super) fn came(&self, bytes: usize) {
        if let Some(pending) = &mut *self.lock() {
            pending.bytes += bytes;
            if pending.bytes > UNCOUNTED_BYTES {
                pending.since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// The deadline of the message being read, if it is large enough to count.
    fn deadline(&self) -> Option<Instant> {
        self.lock().as_ref().and_then(|pending| Some(pending.since? + pending.time))
    }

    /// Reserves room for the next bytes.
    fn has_room(&self) -> bool {
        match &mut *self.lock() {
            Some(pending) if pending.bytes > UNCOUNTED_BYTES => {
                let wanted = (pending.bytes + UNCOUNTED_BYTES).next_multiple_of(RESERVE_STEP_BYTES);
                let Pending { share, held, .. } = pending;
                share.try_grow(held, wanted)
            }
            _ => true,
        }
    }
}

/// The timers of the read side.
#[derive(Default)]
pub(super) struct Timers {
    deadline: Option<std::pin::Pin<Box<Sleep>>>,
    look: Option<std::pin::Pin<Box<Sleep>>>,
    waiting_since: Option<Instant>,
}

impl Timers {
    /// Ready when more may be read. Fails if the message took too long or found no room.
    pub(super) fn poll(&mut self, inflow: &Inflow, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(deadline) = inflow.deadline() else {
            *self = Self::default();
            return Poll::Ready(Ok(()));
        };
        let sleep = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        if sleep.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        loop {
            if inflow.has_room() {
                (self.look, self.waiting_since) = (None, None);
                return Poll::Ready(Ok(()));
            }
            if self.waiting_since.get_or_insert_with(Instant::now).elapsed() > BUSY_TIMEOUT {
                return Poll::Ready(Err(io::Error::other("too many bytes are in flight")));
            }
            ready!(self.look.get_or_insert_with(|| Box::pin(tokio::time::sleep(POLL_INTERVAL))).as_mut().poll(cx));
            self.look = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_runtime::subject::Subject;

    use super::*;
    use crate::request::Budget;

    async fn poll(timers: &mut Timers, inflow: &Inflow) -> io::Result<()> {
        std::future::poll_fn(|cx| timers.poll(inflow, cx)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_takes_room_and_time() {
        let budget = Budget::new(RESERVE_STEP_BYTES, false);
        let time = Duration::from_secs(10);
        let begun = || {
            let inflow = Inflow::default();
            inflow.begin(budget.of(&Subject::local()), time);
            (inflow, Timers::default())
        };
        let (one, mut timers) = begun();
        one.came(UNCOUNTED_BYTES);
        assert!(poll(&mut timers, &one).await.is_ok() && budget.taken() == 0, "a small one is free");
        one.came(1);
        assert!(poll(&mut timers, &one).await.is_ok());
        assert_eq!(budget.taken(), RESERVE_STEP_BYTES);
        let (other, mut others) = begun();
        other.came(UNCOUNTED_BYTES + 1);
        assert!(poll(&mut others, &other).await.is_err(), "there is no room, however long it waits");
        one.message();
        assert!(budget.taken() == 0 && poll(&mut timers, &one).await.is_ok(), "a complete one gives it back");

        let (slow, mut timers) = begun();
        slow.came(UNCOUNTED_BYTES + 1);
        assert!(poll(&mut timers, &slow).await.is_ok());
        tokio::time::advance(time).await;
        assert_eq!(poll(&mut timers, &slow).await.expect_err("late").kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn control_frames_are_no_message() {
        let (inflow, mut timers) = (Inflow::default(), Timers::default());
        inflow.begin(Budget::new(0, false).of(&Subject::local()), Duration::from_secs(1));
        for _ in 0..10_000 {
            inflow.came(125 + FRAME_OVERHEAD_BYTES);
            inflow.control(125);
        }
        assert!(poll(&mut timers, &inflow).await.is_ok());
    }
}
