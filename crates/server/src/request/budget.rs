//! Bytes in flight: what the bodies of requests that are being read, or the responses that are being written, may take together, and
//! what those of one subject may take of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use holdpoint_runtime::subject::Subject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Failure;

/// What is smaller is not counted: decisions and short messages are taken whatever else goes on.
pub(crate) const FREE: usize = 16 * 1024;
/// The unit in which bytes are counted.
const UNIT: usize = 1024;
/// How long a request waits for others to be done.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// The part of it that one of several subjects may take.
const PART: u32 = 4;
/// How many subjects are remembered before those without anything in flight are forgotten.
const SUBJECTS: usize = 1000;

/// A number of bytes that all requests share.
#[derive(Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    all: u32,
    /// How much one subject may take.
    share: u32,
    shares: Mutex<HashMap<Subject, Weak<Semaphore>>>,
}

/// What one subject may take of it.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    units: Arc<Semaphore>,
    own: Arc<Semaphore>,
    most: u32,
}

/// Bytes that were taken from a budget, given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>);

impl Budget {
    /// `is_shared`: whether there can be several subjects.
    pub(crate) fn new(bytes: usize, is_shared: bool) -> Self {
        let all = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        let share = if is_shared { all.div_ceil(PART) } else { all };
        Self { units: Arc::new(Semaphore::new(all as usize)), all, share, shares: Mutex::default() }
    }

    /// The share of a subject.
    pub(crate) fn of(&self, subject: &Subject) -> Share {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= SUBJECTS {
            shares.retain(|_, own| own.strong_count() > 0);
        }
        let own = shares.get(subject).and_then(Weak::upgrade).unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(self.share as usize));
            shares.insert(subject.clone(), Arc::downgrade(&own));
            own
        });
        Share { units: Arc::clone(&self.units), own, most: self.share }
    }

    /// How many bytes are taken, about.
    pub(crate) fn taken(&self) -> usize {
        (self.all as usize).saturating_sub(self.units.available_permits()) * UNIT
    }
}

impl Share {
    /// Takes bytes, as soon as there are so many.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Held, Failure> {
        let mut held = Held::default();
        self.grow(&mut held, bytes).await?;
        Ok(held)
    }

    /// Makes it so many bytes in all.
    pub(crate) async fn grow(&self, held: &mut Held, bytes: usize) -> Result<(), Failure> {
        let Some(more) = self.missing(held, bytes) else { return Ok(()) };
        let taking = async {
            let own = Arc::clone(&self.own).acquire_many_owned(more).await.ok()?;
            Some((own, Arc::clone(&self.units).acquire_many_owned(more).await.ok()?))
        };
        let taken = tokio::time::timeout(PATIENCE, taking).await.ok().flatten().ok_or(Failure::Busy)?;
        held.add(taken);
        Ok(())
    }

    /// The same without waiting: whether there was so much room.
    pub(crate) fn try_grow(&self, held: &mut Held, bytes: usize) -> bool {
        let Some(more) = self.missing(held, bytes) else { return true };
        let Ok(own) = Arc::clone(&self.own).try_acquire_many_owned(more) else { return false };
        let Ok(all) = Arc::clone(&self.units).try_acquire_many_owned(more) else { return false };
        held.add((own, all));
        true
    }

    /// How many units are missing. What is larger than the whole share takes all of it, and so goes alone.
    fn missing(&self, held: &Held, bytes: usize) -> Option<u32> {
        if bytes <= FREE {
            return None;
        }
        let wanted = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.most);
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
        let all = Budget::new(100 * UNIT, false);
        let budget = all.of(&ann());
        let first = budget.hold(60 * UNIT).await.expect("there is room");
        let second = budget.hold(40 * UNIT).await.expect("there is just so much room");
        assert_eq!(all.taken(), 100 * UNIT);
        assert_eq!(budget.hold(FREE).await.map(drop), Ok(()), "small ones always have room");
        assert_eq!(budget.hold(FREE + 1).await.map(drop), Err(Failure::Busy));
        drop(second);
        assert_eq!(budget.hold(40 * UNIT + 1).await.map(drop), Err(Failure::Busy));
        let (waited, ()) = tokio::join!(budget.hold(41 * UNIT), async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        });
        let mut waited = waited.expect("the first one was done in time");
        budget.grow(&mut waited, 100 * UNIT).await.expect("it may grow");
        assert_eq!(all.taken(), 100 * UNIT);
        drop(waited);
        assert_eq!(all.taken(), 0);
        let large = budget.hold(1000 * UNIT).await.expect("what is larger than all goes alone");
        assert_eq!(all.taken(), 100 * UNIT);
        drop(large);
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_several_subjects_takes_a_part_of_it() {
        let all = Budget::new(400 * UNIT, true);
        let (own, other) = (all.of(&ann()), all.of(&Subject::from("bob")));
        let held = own.hold(90 * UNIT).await.expect("there is room");
        assert_eq!(own.hold(20 * UNIT).await.map(drop), Err(Failure::Busy), "above the share");
        let mut more = Held::default();
        assert!(all.of(&ann()).try_grow(&mut more, 0), "nothing is always there");
        assert!(!all.of(&ann()).try_grow(&mut more, 20 * UNIT), "the same share, however it is asked for");
        assert!(other.hold(90 * UNIT).await.is_ok(), "others have theirs");
        drop(held);
        assert!(own.hold(100 * UNIT).await.is_ok(), "at the share");
        drop((own, other, more));
        (0..2 * SUBJECTS).for_each(|number| drop(all.of(&Subject::from(&*number.to_string()))));
        assert!(all.shares.lock().unwrap_or_else(PoisonError::into_inner).len() <= SUBJECTS);
        assert_eq!(all.taken(), 0);
    }
}
