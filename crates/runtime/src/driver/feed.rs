//! The facts of a chat that is awake, for everybody who looks.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::watch;

use crate::fact::Fact;

/// Facts in memory, and a bell that rings when there are more. Text stands here a little before it is on disk; everything else after.
#[derive(Debug)]
pub(super) struct Feed {
    facts: RwLock<Vec<Arc<Fact>>>,
    len: watch::Sender<u64>,
    /// How many bytes the facts have as they are stored.
    bytes: AtomicUsize,
}

impl Feed {
    pub(super) fn new(facts: Vec<Arc<Fact>>) -> Self {
        let feed = Self { facts: RwLock::default(), len: watch::Sender::new(0), bytes: AtomicUsize::new(0) };
        feed.push(facts);
        feed
    }

    /// Adds facts, and rings once.
    pub(super) fn push(&self, new: Vec<Arc<Fact>>) {
        if new.is_empty() {
            return;
        }
        let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
        for fact in new {
            if *fact == Fact::StepAbandoned {
                take_back_step(&mut facts);
            }
            facts.push(fact);
        }
        let len = facts.len() as u64;
        drop(facts);
        self.len.send_replace(len);
    }

    pub(super) fn set_bytes(&self, bytes: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// What comes after a position.
    pub(super) fn after(&self, position: u64) -> Vec<Arc<Fact>> {
        let facts = self.facts.read().unwrap_or_else(PoisonError::into_inner);
        let from = usize::try_from(position).unwrap_or(usize::MAX).min(facts.len());
        facts[from..].to_vec()
    }

    /// Looks at it. As long as somebody does, the chat stays awake, so this must be done before its task lets go of the feed.
    pub(super) fn reader(self: &Arc<Self>) -> FeedReader {
        let bell = self.len.subscribe();
        let known = self.facts.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
        FeedReader { feed: Arc::clone(self), bell, known }
    }

    /// Whether anybody looks.
    pub(super) fn is_watched(&self) -> bool {
        self.len.receiver_count() > 0
    }

    /// Ends when nobody looks any more.
    pub(super) async fn unwatched(&self) {
        self.len.closed().await;
    }

    /// There will be no more here, whatever happens to the chat.
    pub(super) fn close(&self) {
        self.len.send_replace(CLOSED);
    }
}

/// Somebody who looks at a chat.
#[derive(Debug)]
pub(super) struct FeedReader {
    feed: Arc<Feed>,
    bell: watch::Receiver<u64>,
    /// How many facts there were when they began to look.
    pub(super) known: u64,
}

impl FeedReader {
    /// How many bytes the chat has, as it is stored.
    pub(super) fn bytes(&self) -> usize {
        self.feed.bytes.load(Ordering::Relaxed)
    }

    /// What comes after a position, as it stands.
    pub(super) fn after(&self, position: u64) -> Vec<Arc<Fact>> {
        self.feed.after(position)
    }

    /// Waits until there is something after a position; `None` when there will be nothing any more. Cancel-safe.
    pub(super) async fn next(&mut self, position: u64) -> Option<Vec<Arc<Fact>>> {
        loop {
            // The bell first, then the facts: what comes in between rings again.
            let is_closed = *self.bell.borrow_and_update() == CLOSED;
            let facts = self.feed.after(position);
            if !facts.is_empty() {
                return Some(facts);
            }
            if is_closed || self.bell.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// Rings the bell for the last time.
const CLOSED: u64 = u64::MAX;

/// Whoever looks from the beginning need not see a step that was taken back; whoever saw it keeps their place.
fn take_back_step(facts: &mut [Arc<Fact>]) {
    let step = facts.iter().rposition(|fact| **fact == Fact::StepStarted).unwrap_or(facts.len());
    for fact in &mut facts[step..] {
        *fact = Arc::new(Fact::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;

    fn facts(list: &str) -> Vec<Arc<Fact>> {
        notation::facts(list).into_iter().map(Arc::new).collect()
    }

    #[tokio::test]
    async fn a_reader_gets_what_comes_after_its_position_and_then_the_end() {
        let feed = Arc::new(Feed::new(facts("opened, said u1")));
        let mut reader = feed.reader();
        assert_eq!(reader.known, 2);
        feed.push(facts("turn, step"));
        assert_eq!(reader.next(2).await, Some(facts("turn, step")));
        let waiting = tokio::spawn(async move { (reader.next(4).await, reader) });
        tokio::task::yield_now().await;
        feed.push(facts("text"));
        let (next, mut reader) = waiting.await.expect("no panic");
        assert_eq!(next, Some(facts("text")));
        feed.close();
        assert_eq!(reader.next(4).await, Some(facts("text")), "what is there is read before the end");
        assert_eq!(reader.next(5).await, None);
    }

    #[test]
    fn an_abandoned_step_keeps_its_positions() {
        let feed = Feed::new(facts("opened, said u1, turn, step, text"));
        feed.push(vec![Arc::new(Fact::StepAbandoned), Arc::new(Fact::StepStarted)]);
        let after: Vec<Fact> = feed.after(3).iter().map(|fact| (**fact).clone()).collect();
        assert_eq!(after, [Fact::Nothing, Fact::Nothing, Fact::StepAbandoned, Fact::StepStarted]);
    }

    #[tokio::test]
    async fn a_chat_is_watched_while_somebody_reads() {
        let feed = Arc::new(Feed::new(Vec::new()));
        assert!(!feed.is_watched());
        let reader = feed.reader();
        assert!(feed.is_watched());
        drop(reader);
        feed.unwatched().await;
        assert!(!feed.is_watched());
    }
}
