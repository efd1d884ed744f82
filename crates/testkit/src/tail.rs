//! Following a chat: existing batches, then new ones.

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration};

use futures::{Stream, stream};
use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time,
};

use holdpoint_runtime::log::{Batch, LogError, Store, Wakeup};

/// Batches per read.
const PAGE: usize = 64;

/// The batches of a chat with facts after the first `after`, as they are committed, each once and in order. It never
/// ends.
///
/// A wakeup only makes it read sooner: a lost one costs at most `poll`. After an error it waits as after an empty read,
/// then continues from the same position.
pub fn tail(
    log: Arc<dyn Store>,
    chat: ChatId,
    after: u64,
    poll: Duration,
) -> impl Stream<Item = Result<Batch, LogError>> + Send {
    // Subscribe before the first read, so that nothing falls between the two.
    let wakeups = log.wakeups();
    let tail = Tail { log, chat, after, poll, wakeups, ready: VecDeque::new(), is_waiting: false };
    stream::unfold(tail, |mut tail| async move { Some((tail.next().await, tail)) })
}

struct Tail {
    log: Arc<dyn Store>,
    chat: ChatId,
    after: u64,
    poll: Duration,
    wakeups: broadcast::Receiver<Wakeup>,
    /// Read but not yet yielded.
    ready: VecDeque<Batch>,
    /// Whether everything available has been read.
    is_waiting: bool,
}

impl Tail {
    async fn next(&mut self) -> Result<Batch, LogError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(batch);
            }
            if self.is_waiting {
                self.wait().await;
            }
            let read = self.log.read(&self.chat, self.after, PAGE).await;
            self.is_waiting = read.as_ref().map_or(true, |batches| batches.len() < PAGE);
            self.ready = read?.into();
            if let Some(last) = self.ready.back() {
                self.after = last.first + u64::from(last.count);
            }
        }
    }

    /// Completes when the chat may have changed.
    async fn wait(&mut self) {
        let mut polled = pin!(time::sleep(self.poll));
        loop {
            tokio::select! {
                woken = self.wakeups.recv() => match woken {
                    Ok(Wakeup::Chat(change)) if change.chat != self.chat => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => return polled.await,
                },
                () = &mut polled => return,
            }
        }
    }
}
