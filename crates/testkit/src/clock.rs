//! A clock that moves only when the test moves it.

use std::{
    collections::BTreeMap,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_runtime::clock::{Clock, Timestamp};
use tokio::sync::Notify;

/// Time under the test's control. Clones share one clock.
#[derive(Clone)]
pub struct ManualClock(Arc<Shared>);

struct Shared {
    time: Mutex<Time>,
    /// Notified when a sleeper is added.
    asleep: Notify,
}

struct Time {
    now: Timestamp,
    /// Sleepers by wake-up time. The number distinguishes equal times.
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    numbers: u64,
}

impl ManualClock {
    /// A clock set to this time.
    pub fn new(start: Timestamp) -> Self {
        let time = Time { now: start, sleepers: BTreeMap::new(), numbers: 0 };
        Self(Arc::new(Shared { time: Mutex::new(time), asleep: Notify::new() }))
    }

    /// Moves the clock forward and wakes sleepers whose time has come, earliest first.
    ///
    /// All of them see the new time. To go from deadline to deadline, `set` it to
    /// [`next_deadline`](Self::next_deadline).
    pub fn advance(&self, duration: Duration) {
        let to = self.now().after(duration);
        self.set(to);
    }

    /// Sets the clock. It may go back, as wall clocks do.
    pub fn set(&self, now: Timestamp) {
        let mut due = Vec::new();
        {
            let mut time = self.time();
            time.now = now;
            while let Some(first) = time.sleepers.first_entry().filter(|first| first.key().0 <= now) {
                due.push(first.remove());
            }
        }
        due.into_iter().for_each(Waker::wake);
    }

    /// The earliest time that a sleeper waits for.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.time().sleepers.keys().next().map(|(at, _)| *at)
    }

    /// Number of sleepers.
    pub fn sleepers(&self) -> usize {
        self.time().sleepers.len()
    }

    /// Waits for somebody who sleeps exactly this long from now, among whoever else sleeps.
    pub async fn until_sleeper_for(&self, duration: Duration) {
        let sleeps = || {
            let time = self.time();
            let at = time.now.after(duration);
            time.sleepers.range((at, 0)..=(at, u64::MAX)).next().is_some()
        };
        loop {
            let mut asleep = pin!(self.0.asleep.notified());
            asleep.as_mut().enable();
            if sleeps() {
                return;
            }
            asleep.await;
        }
    }

    /// Waits for at least this many sleepers. Call it before moving the clock.
    pub async fn until_sleepers(&self, count: usize) {
        loop {
            let mut asleep = pin!(self.0.asleep.notified());
            asleep.as_mut().enable();
            if self.sleepers() >= count {
                return;
            }
            asleep.await;
        }
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.time().now
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { clock: self.clone(), at, number: None })
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time();
        write!(f, "ManualClock({}, {} asleep)", time.now.iso8601(), time.sleepers.len())
    }
}

struct Sleep {
    clock: ManualClock,
    at: Timestamp,
    /// Its number among the sleepers, once registered.
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut time = clock.time();
        if time.now >= self.at {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            time.numbers += 1;
            time.numbers
        });
        time.sleepers.insert((self.at, number), context.waker().clone());
        drop(time);
        clock.0.asleep.notify_waiters();
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.clock.time().sleepers.remove(&(self.at, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::join_all, poll};

    use super::*;

    fn clock() -> ManualClock {
        ManualClock::new(Timestamp(1000))
    }

    #[tokio::test]
    async fn a_sleeper_wakes_exactly_when_its_time_is_reached() {
        let clock = clock();
        let mut sleep = clock.sleep_until(Timestamp(1500));
        assert!(poll!(&mut sleep).is_pending());
        clock.advance(Duration::from_millis(499));
        assert!(poll!(&mut sleep).is_pending());
        clock.advance(Duration::from_millis(1));
        assert!(poll!(&mut sleep).is_ready());
        assert_eq!(clock.now(), Timestamp(1500));
        assert!(clock.sleep_until(Timestamp(1500)).now_or_never().is_some(), "a time in the past is reached at once");
    }

    #[tokio::test]
    async fn a_task_is_really_woken() {
        let clock = clock();
        let task = tokio::spawn(clock.sleep_until(Timestamp(2000)));
        clock.until_sleepers(1).await;
        clock.until_sleeper_for(Duration::from_secs(1)).await;
        assert_eq!(clock.next_deadline(), Some(Timestamp(2000)));
        clock.set(Timestamp(2000));
        task.await.expect("it ends");
        assert_eq!(clock.sleepers(), 0);
    }

    #[tokio::test]
    async fn who_stops_waiting_is_forgotten() {
        let clock = clock();
        let mut sleeps = [1100, 1200, 1200].map(|at| clock.sleep_until(Timestamp(at)));
        for sleep in &mut sleeps {
            assert!(poll!(&mut *sleep).is_pending());
            assert!(poll!(&mut *sleep).is_pending(), "asked twice, asleep once");
        }
        assert_eq!(clock.sleepers(), 3);
        let [first, second, mut third] = sleeps;
        drop((first, second));
        assert_eq!((clock.sleepers(), clock.next_deadline()), (1, Some(Timestamp(1200))));
        clock.set(Timestamp(1200));
        assert!(poll!(&mut third).is_ready());
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_keeps_its_sleepers_asleep() {
        let clock = clock();
        let mut sleep = clock.sleep_until(Timestamp(1100));
        assert!(poll!(&mut sleep).is_pending());
        clock.set(Timestamp(1100));
        clock.set(Timestamp(500));
        assert!(poll!(&mut sleep).is_pending());
        clock.set(Timestamp(u64::MAX));
        assert!(poll!(&mut sleep).is_ready());
    }

    #[tokio::test]
    async fn many_sleepers_wake_in_the_order_of_their_times() {
        const MANY: u64 = 100_000;
        let clock = clock();
        let woken = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..MANY)
            .map(|number| {
                let (woken, at) = (Arc::clone(&woken), Timestamp(1001 + number * 7919 % MANY));
                let sleep = clock.sleep_until(at);
                tokio::spawn(async move {
                    sleep.await;
                    woken.lock().expect("no panic").push(at);
                })
            })
            .collect();
        clock.until_sleepers(usize::try_from(MANY).expect("fits")).await;
        clock.advance(Duration::from_secs(1000));
        join_all(tasks).await;
        assert!(woken.lock().expect("no panic").is_sorted());
    }
}
