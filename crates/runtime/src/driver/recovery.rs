//! Recovery: turns that were running when the server went down or a chat's task gave up resume by themselves.
//!
//! A chat's task recovers the chat when it starts (`ChatTask::resume_turn`): nothing runs in a new task, whatever the
//! log says. The queue here wakes the chats that need it, a few at a time, and retries each until it succeeds.
//! `turn/recover.rs` decides what recovery means for a turn.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{self, Instant},
};

use super::{
    chat::ChatTask,
    command::{ChatError, Command},
    runtime::Inner,
};
use crate::{
    backoff::{self, Backoff},
    turn::Input,
};

/// The number of chats recovered at a time.
const MAX_CONCURRENT_CHATS: usize = 16;
/// How often a node that may not take over looks whether it may.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// How often within a lease a node looks for those whose lease has lapsed. What is found late is taken over late.
const SWEEPS_PER_LEASE: u32 = 8;
/// The number of interrupted chats read at a time.
const SWEEP_PAGE: usize = 64;
/// The time after which a chat that is still listed is queued again: it may have been taken over by another node that is
/// gone by now.
const REQUEUE_AFTER: Duration = Duration::from_secs(10);
/// Delays before a failed recovery is retried. They use system time instead of the injected clock: the cause is the
/// disk.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A chat whose turn may have been interrupted.
pub(super) struct ToRecover {
    chat: ChatId,
    /// Whether the node that ran the turn is gone.
    is_abandoned: bool,
}

impl Inner {
    /// Queues a chat whose task on this node gave up.
    pub(super) fn recover(&self, chat: ChatId) {
        // The queue is closed during a shutdown.
        let _ = self.to_recover.send(ToRecover { chat, is_abandoned: false });
    }
}

impl ChatTask {
    /// Resumes the turn that is running according to the log. Called once, when the task starts.
    pub(super) async fn resume_turn(&mut self) -> Result<(), ChatError> {
        if self.log.is_elsewhere() {
            return Ok(());
        }
        if self.log.state().is_running() {
            self.input(Input::Recover).await?;
        } else if self.log.owner().is_some() {
            // It went down before it had acted on what other nodes have added.
            self.log.claim();
            self.input(Input::Follow { is_watched: false }).await?;
        }
        Ok(())
    }

    /// Takes over the turn of a node that is gone.
    pub(super) async fn take_over(&mut self) -> Result<(), ChatError> {
        // Another node may have been quicker.
        self.catch_up().await?;
        let Some(owner) = self.log.owner().filter(|_| self.log.is_elsewhere()) else { return Ok(()) };
        if !self.inner.log.cluster().is_gone(owner).await? {
            return Ok(());
        }
        tracing::warn!(chat = %self.id, "the node that ran this chat is gone; its turn is taken over");
        self.log.claim();
        self.resume_turn().await?;
        self.log.set_news();
        Ok(())
    }
}

/// Queues the chats whose owner is gone: once if this node alone uses the log, else again and again.
pub(super) async fn sweep(inner: Arc<Inner>) {
    // Those that are queued, or can't be recovered, and until when they are not queued again.
    let mut known: HashMap<ChatId, Instant> = HashMap::new();
    loop {
        if !inner.lease.may_take_over() {
            tokio::select! {
                biased;
                () = inner.closing.cancelled() => return,
                () = time::sleep(LEASE_CHECK_INTERVAL) => continue,
            }
        }
        let limit = known.len() + SWEEP_PAGE;
        let found = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            found = inner.log.abandoned(inner.node, limit) => found,
        };
        let pause = match found {
            Ok(chats) => {
                let now = Instant::now();
                if chats.len() < limit {
                    let listed: HashSet<&ChatId> = chats.iter().collect();
                    known.retain(|chat, until| *until > now && listed.contains(chat));
                }
                let fresh: Vec<ChatId> = chats.into_iter().filter(|chat| !known.contains_key(chat)).collect();
                match (fresh.is_empty(), inner.log.cluster().lease()) {
                    (true, None) => return,
                    (true, Some(lease)) => lease / SWEEPS_PER_LEASE,
                    (false, _) => {
                        for chat in &fresh {
                            let _ = inner.to_recover.send(ToRecover { chat: chat.clone(), is_abandoned: true });
                        }
                        known.extend(fresh.into_iter().map(|chat| (chat, now + REQUEUE_AFTER)));
                        continue;
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "interrupted turns can't be looked for; retrying");
                MAX_BACKOFF
            }
        };
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            () = time::sleep(pause) => {}
        }
    }
}

/// Recovers the queued chats, each until it succeeds.
pub(super) async fn run(inner: Arc<Inner>, mut chats: mpsc::UnboundedReceiver<ToRecover>) {
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_CHATS));
    loop {
        let next = async {
            let permit = Arc::clone(&places).acquire_owned().await.ok()?;
            inner.running.room(&inner.limits).await;
            Some((permit, chats.recv().await?))
        };
        let next = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            next = next => next,
        };
        let Some((permit, chat)) = next else { return };
        let task = recover_one(Arc::clone(&inner), chat);
        tokio::spawn(async move {
            task.await;
            drop(permit);
        });
    }
}

async fn recover_one(inner: Arc<Inner>, ToRecover { chat, is_abandoned }: ToRecover) {
    let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
    loop {
        // The server is shutting down. The next start recovers the chat.
        let Some(mailbox) = inner.wake(&chat) else { return };
        let (done, recovered) = oneshot::channel();
        let told =
            async { mailbox.send(Command::Recover { is_abandoned, done }).await.is_ok() && recovered.await.is_ok() };
        let is_done = tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            is_done = told => is_done,
        };
        if is_done {
            return;
        }
        tokio::select! {
            biased;
            () = inner.closing.cancelled() => return,
            () = backoff::wait(&mut backoff) => {}
        }
    }
}
