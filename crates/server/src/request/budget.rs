//! Bytes in flight: what the bodies of requests that are being read, or the responses that are being written, may take together.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Failure;

/// What is smaller is not counted: decisions and short messages are taken whatever else goes on.
const FREE: usize = 16 * 1024;
/// The unit in which bytes are counted.
const UNIT: usize = 1024;
/// How long a request waits for others to be done.
const PATIENCE: Duration = Duration::from_secs(2);

/// A number of bytes that all requests share.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    all: u32,
}

/// Bytes that were taken from a budget, given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(Option<OwnedSemaphorePermit>);

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        Self { units: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Takes bytes, as soon as there are so many.
    pub(crate) async fn hold(&self, bytes: usize) -> Result<Held, Failure> {
        let mut held = Held::default();
        self.grow(&mut held, bytes).await?;
        Ok(held)
    }

    /// Makes it so many bytes in all.
    pub(crate) async fn grow(&self, held: &mut Held, bytes: usize) -> Result<(), Failure> {
        if bytes <= FREE {
            return Ok(());
        }
        // What is larger than everything there is goes alone.
        let wanted = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(self.all);
        let has = held.0.as_ref().map_or(0, |held| u32::try_from(held.num_permits()).unwrap_or(u32::MAX));
        let Some(more) = wanted.checked_sub(has).filter(|more| *more > 0) else { return Ok(()) };
        let taken = tokio::time::timeout(PATIENCE, Arc::clone(&self.units).acquire_many_owned(more)).await;
        let Ok(Ok(taken)) = taken else { return Err(Failure::Busy) };
        match &mut held.0 {
            Some(held) => held.merge(taken),
            None => held.0 = Some(taken),
        }
        Ok(())
    }

    /// How many bytes are taken, about.
    pub(crate) fn taken(&self) -> usize {
        (self.all as usize).saturating_sub(self.units.available_permits()) * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_over_the_budget_waits_and_is_then_told_to_come_again() {
        let budget = Budget::new(100 * UNIT);
        let first = budget.hold(60 * UNIT).await.expect("there is room");
        let second = budget.hold(40 * UNIT).await.expect("there is just so much room");
        assert_eq!(budget.taken(), 100 * UNIT);
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
        assert_eq!(budget.taken(), 100 * UNIT);
        drop(waited);
        assert_eq!(budget.taken(), 0);
        let large = budget.hold(1000 * UNIT).await.expect("what is larger than all goes alone");
        assert_eq!(budget.taken(), 100 * UNIT);
        drop(large);
    }
}
