//! The received bytes of an incomplete WebSocket message. The library buffers them and reports nothing before the end,
//! so they are counted here among the bytes in flight, and their time is limited.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_runtime::clock::Clock;

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
    /// The number of the message being read, and whether it has become large enough to count.
    number: u64,
    counts: bool,
}

impl Inflow {
    fn lock(&self) -> MutexGuard<'_, Option<Pending>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts counting: the connection is now a WebSocket.
    pub(crate) fn begin(&self, share: Share, time: Duration) {
        *self.lock() = Some(Pending { share, time, bytes: 0, held: Held::default(), number: 0, counts: false });
    }

    /// Resets the count after a complete message.
    pub(crate) fn message(&self) {
        if let Some(pending) = &mut *self.lock() {
            (pending.bytes, pending.held) = (0, Held::default());
            (pending.number, pending.counts) = (pending.number + 1, false);
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
            pending.counts |= pending.bytes > UNCOUNTED_BYTES;
        }
    }

    /// The number and the time limit of the message being read, if it has become large enough to count.
    fn counted(&self) -> Option<(u64, Duration)> {
        self.lock().as_ref().filter(|pending| pending.counts).map(|pending| (pending.number, pending.time))
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
pub(super) struct Timers {
    clock: Arc<dyn Clock>,
    /// The end of the time for a message, by its number.
    deadline: Option<(u64, BoxFuture<'static, ()>)>,
    /// The end of the wait for room, and the next look for it.
    waiting: Option<BoxFuture<'static, ()>>,
    look: Option<BoxFuture<'static, ()>>,
}

impl Timers {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, deadline: None, waiting: None, look: None }
    }

    /// Ready when more may be read. Fails if the message took too long or found no room.
    pub(super) fn poll(&mut self, inflow: &Inflow, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some((number, time)) = inflow.counted() else {
            (self.deadline, self.waiting, self.look) = (None, None, None);
            return Poll::Ready(Ok(()));
        };
        let deadline = match &mut self.deadline {
            Some((of, deadline)) if *of == number => deadline,
            other => &mut other.insert((number, self.clock.sleep(time))).1,
        };
        if deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        loop {
            if inflow.has_room() {
                (self.waiting, self.look) = (None, None);
                return Poll::Ready(Ok(()));
            }
            let waiting = self.waiting.get_or_insert_with(|| self.clock.sleep(BUSY_TIMEOUT));
            if waiting.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::Error::other("too many bytes are in flight")));
            }
            ready!(self.look.get_or_insert_with(|| self.clock.sleep(POLL_INTERVAL)).as_mut().poll(cx));
            self.look = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use holdpoint_runtime::{clock::Timestamp, subject::Subject};
    use holdpoint_testkit::ManualClock;

    use super::*;
    use crate::request::Budget;

    fn poll(timers: &mut Timers, inflow: &Inflow) -> Poll<io::Result<()>> {
        timers.poll(inflow, &mut Context::from_waker(Waker::noop()))
    }

    fn is_ok(polled: Poll<io::Result<()>>) -> bool {
        matches!(polled, Poll::Ready(Ok(())))
    }

    #[test]
    fn a_message_takes_room_and_time() {
        let clock = Arc::new(ManualClock::new(Timestamp(1000)));
        let budget = Budget::new(RESERVE_STEP_BYTES, false);
        let time = Duration::from_secs(10);
        let begun = || {
            let inflow = Inflow::default();
            inflow.begin(budget.of(&Subject::local()), time);
            (inflow, Timers::new(Arc::clone(&clock) as _))
        };
        let (one, mut timers) = begun();
        one.came(UNCOUNTED_BYTES);
        assert!(is_ok(poll(&mut timers, &one)) && budget.taken() == 0, "a small one is free");
        one.came(1);
        assert!(is_ok(poll(&mut timers, &one)));
        assert_eq!(budget.taken(), RESERVE_STEP_BYTES);
        let (other, mut others) = begun();
        other.came(UNCOUNTED_BYTES + 1);
        assert!(poll(&mut others, &other).is_pending(), "it waits for room");
        clock.advance(BUSY_TIMEOUT);
        assert!(matches!(poll(&mut others, &other), Poll::Ready(Err(_))), "and is given up");
        let (next, mut nexts) = begun();
        next.came(UNCOUNTED_BYTES + 1);
        assert!(poll(&mut nexts, &next).is_pending());
        one.message();
        assert!(budget.taken() == 0 && is_ok(poll(&mut timers, &one)), "a complete one gives it back");
        clock.advance(POLL_INTERVAL);
        assert!(is_ok(poll(&mut nexts, &next)), "whoever waits finds it");
        next.message();

        let (slow, mut timers) = begun();
        slow.came(UNCOUNTED_BYTES + 1);
        assert!(is_ok(poll(&mut timers, &slow)));
        clock.advance(time - Duration::from_millis(1));
        assert!(is_ok(poll(&mut timers, &slow)), "below the limit");
        // The next message has a time of its own.
        slow.message();
        slow.came(UNCOUNTED_BYTES + 1);
        assert!(is_ok(poll(&mut timers, &slow)));
        clock.advance(time - Duration::from_millis(1));
        assert!(is_ok(poll(&mut timers, &slow)));
        clock.advance(Duration::from_millis(1));
        let Poll::Ready(Err(late)) = poll(&mut timers, &slow) else { panic!("it is late") };
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn control_frames_do_not_count_as_a_message() {
        let clock = Arc::new(ManualClock::new(Timestamp(1000)));
        let (inflow, mut timers) = (Inflow::default(), Timers::new(clock));
        inflow.begin(Budget::new(0, false).of(&Subject::local()), Duration::from_secs(1));
        for _ in 0..10_000 {
            inflow.came(125 + FRAME_OVERHEAD_BYTES);
            inflow.control(125);
        }
        assert!(is_ok(poll(&mut timers, &inflow)));
    }
}
