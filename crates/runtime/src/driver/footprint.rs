//! What each subject stores: the number and the size of its chats, for the limits on them.
//!
//! They are counted from the heads of the chats, which are a list of the log, and from then on by this node's own appends.
//! So no request counts anything, except the first of a subject. What other nodes append is seen at the next count, which
//! runs beside the requests.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{head::HeadData, lists::PAGE, runtime::Inner};
use crate::{
    log::{HeadOrder, HeadQuery, LogError},
    subject::Subject,
};

/// How long a count is good, and how many times as long as it took.
const MIN_AGE: Duration = Duration::from_secs(10);
const SHARE: u32 = 20;
/// The number of subjects at which those that were counted longest ago are counted anew.
const MAX_SUBJECTS: usize = 10_000;

/// What a subject stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Footprint {
    /// The number of its chats.
    pub(super) chats: usize,
    /// Their size in bytes.
    pub(super) bytes: usize,
}

#[derive(Debug)]
struct Known {
    stored: Footprint,
    counted: Instant,
    cost: Duration,
    is_counting: bool,
}

/// What is known of each subject. System time: no deadline depends on it.
#[derive(Debug, Default)]
pub(super) struct Footprints(Mutex<HashMap<Subject, Known>>);

impl Footprints {
    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an append of this node, which may have begun a chat.
    pub(super) fn grew(&self, subject: &Subject, chats: usize, bytes: usize) {
        if let Some(Known { stored, .. }) = self.lock().get_mut(subject) {
            stored.chats += chats;
            stored.bytes += bytes;
        }
    }

    /// Counts the deletion of a chat of this size.
    pub(super) fn shrank(&self, subject: &Subject, bytes: usize) {
        if let Some(Known { stored, .. }) = self.lock().get_mut(subject) {
            stored.chats = stored.chats.saturating_sub(1);
            stored.bytes = stored.bytes.saturating_sub(bytes);
        }
    }

    /// What is known, and whether it is to be counted again. Whoever is told so counts.
    fn get(&self, subject: &Subject) -> Option<(Footprint, bool)> {
        let mut known = self.lock();
        let known = known.get_mut(subject)?;
        let is_old = !known.is_counting && known.counted.elapsed() > MIN_AGE.max(known.cost * SHARE);
        known.is_counting |= is_old;
        Some((known.stored, is_old))
    }

    fn set(&self, subject: &Subject, stored: Footprint, begun: Instant) {
        let mut known = self.lock();
        if known.len() >= MAX_SUBJECTS && !known.contains_key(subject) {
            let mut ages: Vec<Instant> = known.values().map(|known| known.counted).collect();
            let (_, median, _) = ages.select_nth_unstable(MAX_SUBJECTS / 2);
            let median = *median;
            known.retain(|_, known| known.counted > median);
        }
        let counted = Known { stored, counted: Instant::now(), cost: begun.elapsed(), is_counting: false };
        known.insert(subject.clone(), counted);
    }
}

impl Inner {
    /// What a subject stores.
    pub(super) async fn footprint(self: &Arc<Self>, subject: &Subject) -> Result<Footprint, LogError> {
        match self.footprints.get(subject) {
            Some((stored, false)) => Ok(stored),
            Some((stored, true)) => {
                let (inner, subject) = (Arc::clone(self), subject.clone());
                self.tasks.spawn(async move {
                    let counted = inner.count_stored(&subject).await;
                    if let Err(error) = counted {
                        tracing::warn!(%error, "what a subject stores could not be counted");
                        inner.footprints.set(&subject, stored, Instant::now());
                    }
                });
                Ok(stored)
            }
            None => self.count_stored(subject).await,
        }
    }

    async fn count_stored(&self, subject: &Subject) -> Result<Footprint, LogError> {
        let (begun, mut stored, mut after) = (Instant::now(), Footprint::default(), None);
        loop {
            let order = HeadOrder::Id { after };
            let query = HeadQuery { subject: Some(subject.clone()), only_open: false, order };
            let heads = self.log.heads(query, PAGE).await?;
            stored.chats += heads.len();
            let sizes = heads.iter().filter_map(|(_, _, head)| HeadData::read(head).ok());
            stored.bytes += sizes.map(|head| head.bytes).sum::<usize>();
            if heads.len() < PAGE {
                self.footprints.set(subject, stored, begun);
                return Ok(stored);
            }
            after = heads.into_iter().last().map(|(id, ..)| id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_counted_once_and_then_kept() {
        let footprints = Footprints::default();
        let ann = Subject::from("ann");
        footprints.grew(&ann, 1, 5);
        assert_eq!(footprints.get(&ann), None, "what was never counted is not known");
        footprints.set(&ann, Footprint { chats: 2, bytes: 10 }, Instant::now());
        footprints.grew(&ann, 1, 5);
        footprints.grew(&ann, 0, 7);
        assert_eq!(footprints.get(&ann), Some((Footprint { chats: 3, bytes: 22 }, false)));
        footprints.shrank(&ann, 12);
        assert_eq!(footprints.get(&ann), Some((Footprint { chats: 2, bytes: 10 }, false)));
    }

    #[test]
    fn the_number_of_subjects_is_bounded() {
        let footprints = Footprints::default();
        for number in 0..3 * MAX_SUBJECTS {
            footprints.set(&Subject::from(&*number.to_string()), Footprint::default(), Instant::now());
        }
        assert!(footprints.lock().len() <= MAX_SUBJECTS);
    }
}
