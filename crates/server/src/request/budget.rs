//! Bytes in flight: a limit on the bodies being read, or the responses being written, for all requests together and for
//! the requests of one subject.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use holdpoint_runtime::subject::Subject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Failure;

/// Smaller requests are not counted, so that decisions and short messages always get through.
pub(crate) const UNCOUNTED_BYTES: usize = 16 * 1024;
/// The unit in which bytes are counted.
const UNIT_BYTES: usize = 1024;
/// How long a request waits for others to finish.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// The divisor for the share of one subject, if there can be several.
const SUBJECT_SHARE_DIVISOR: u32 = 4;
/// The number of subjects at which those without bytes in flight are removed.
const MAX_SUBJECTS: usize = 1000;

/// A number of bytes shared by all requests.
#[derive(Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    all: u32,
    /// The share of one subject.
    share: u32,
    shares: Mutex<HashMap<Subject, Weak<Semaphore>>>,
}

/// The share of one subject.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    units: Arc<Semaphore>,
    own: Arc<Semaphore>,
    most: u32,
}

/// Bytes reserved from a budget, released on drop.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>);

impl Budget {
    /// `is_shared`: whether there can be several subjects.
    pub(crate) fn new(bytes: usize, is_shared: bool) -> Self {
        let all = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        let share = if is_shared { all.div_ceil(SUBJECT_SHARE_DIVISOR) } else { all };
        Self { units: Arc::new(Semaphore::new(all as usize)), all, share, shares: Mutex::default() }
    }

    /// The share of a subject.
    pub(crate) fn of(&self, subject: &Subject) -> Share {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= MAX_SUBJECTS {
            shares.retain(|_, own| own.strong_count() > 0);
        }
        let own = shares.get(subject).and_then(Weak::upgrade).unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(self.share as usize));
            shares.insert(subject.clone(), Arc::downgrade(&own));
            own
        });
        Share { units: Arc::clone(&self.units), own, most: self.share }
    }

    /// The approximate number of reserved bytes.
    pub(crate) fn taken(&self) -> usize {
        (self.all as usize).saturating_sub(self.units.available_permits()) * UNIT_BYTES
    }
}

impl Share {
    /// Reserves bytes, waiting until they are available.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Held, Failure> {
        let mut held = Held::default();
        self.grow(&mut held, bytes).await?;
        Ok(held)
    }

    /// Raises a reservation to this number of bytes.
    pub(crate) async fn grow(&self, held: &mut Held, bytes: usize) -> Result<(), Failure> {
        let Some(more) = self.missing(held, bytes) else { return Ok(()) };
        let taking = async {
            let own = Arc::clone(&self.own).acquire_many_owned(more).await.ok()?;
            Some((own, Arc::clone(&self.units).acquire_many_owned(more).await.ok()?))
        };
        let taken = tokio::time::timeout(BUSY_TIMEOUT, taking).await.ok().flatten().ok_or(Failure::Busy)?;
        held.add(taken);
        Ok(())
    }

    /// Like `grow`, without waiting. Returns whether there was room.
    pub(crate) fn try_grow(&self, held: &mut Held, bytes: usize) -> bool {
        let Some(more) = self.missing(held, bytes) else { return true };
        let Ok(own) = Arc::clone(&self.own).try_acquire_many_owned(more) else { return false };
        let Ok(all) = Arc::clone(&self.units).try_acquire_many_owned(more) else { return false };
        held.add((own, all));
        true
    }

    /// The number of missing units. A request larger than the whole share reserves all of it, and so runs alone.
    fn missing(&self, held: &Held, bytes: usize) -> Option<u32> {
        if bytes <= UNCOUNTED_BYTES {
            return None;
        }
        let wanted = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).min(self.most);
        let has = held.0.as_ref().map_or(0, |(own, _)| u32::try_from(own.num_permits()).unwrap_or(u32::MAX));
        wanted.checked_sub(has).filter(|more| *more > 0)
    }
}

impl Held {
    fn add(&mut self, (own, all): (OwnedSemaphorePermit, OwnedSemaphorePermit)) {
        match &mut self.0 {
            Some(held) => {
                held.0.merge(own);
                held.1.merge(all);
            }
            None => self.0 = Some((own, all)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ann() -> Subject {
        Subject::from("ann")
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_the_budget_waits_and_is_then_told_to_come_again() {
        let all = Budget::new(100 * UNIT_BYTES, false);
        let budget = all.of(&ann());
        let first = budget.hold(60 * UNIT_BYTES).await.expect("there is room");
        let second = budget.hold(40 * UNIT_BYTES).await.expect("there is just so much room");
        assert_eq!(all.taken(), 100 * UNIT_BYTES);
        assert_eq!(budget.hold(UNCOUNTED_BYTES).await.map(drop), Ok(()), "small ones always have room");
        assert_eq!(budget.hold(UNCOUNTED_BYTES + 1).await.map(drop), Err(Failure::Busy));
        drop(second);
        assert_eq!(budget.hold(40 * UNIT_BYTES + 1).await.map(drop), Err(Failure::Busy));
        let (waited, ()) = tokio::join!(budget.hold(41 * UNIT_BYTES), async {
            tokio::time::sleep(BUSY_TIMEOUT / 2).await;
            drop(first);
        });
        let mut waited = waited.expect("the first one was done in time");
        budget.grow(&mut waited, 100 * UNIT_BYTES).await.expect("it may grow");
        assert_eq!(all.taken(), 100 * UNIT_BYTES);
        drop(waited);
        assert_eq!(all.taken(), 0);
        let large = budget.hold(1000 * UNIT_BYTES).await.expect("what is larger than all goes alone");
        assert_eq!(all.taken(), 100 * UNIT_BYTES);
        drop(large);
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_several_subjects_takes_a_part_of_it() {
        let all = Budget::new(400 * UNIT_BYTES, true);
        let (own, other) = (all.of(&ann()), all.of(&Subject::from("bob")));
        let held = own.hold(90 * UNIT_BYTES).await.expect("there is room");
        assert_eq!(own.hold(20 * UNIT_BYTES).await.map(drop), Err(Failure::Busy), "above the share");
        let mut more = Held::default();
        assert!(all.of(&ann()).try_grow(&mut more, 0), "nothing is always there");
        assert!(!all.of(&ann()).try_grow(&mut more, 20 * UNIT_BYTES), "the same share, however it is asked for");
        assert!(other.hold(90 * UNIT_BYTES).await.is_ok(), "others have theirs");
        drop(held);
        assert!(own.hold(100 * UNIT_BYTES).await.is_ok(), "at the share");
        drop((own, other, more));
        (0..2 * MAX_SUBJECTS).for_each(|number| drop(all.of(&Subject::from(&*number.to_string()))));
        assert!(all.shares.lock().unwrap_or_else(PoisonError::into_inner).len() <= MAX_SUBJECTS);
        assert_eq!(all.taken(), 0);
    }
}
