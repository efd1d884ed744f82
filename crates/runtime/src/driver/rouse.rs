//! Chats that the server wakes by itself: those whose deadline has come, and those in which something was cut off. Few at a time, so that
//! requests are answered meanwhile, however many there are after a long night.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time,
};

use super::{chat::Command, runtime::Inner};

/// How many chats are awake for a deadline, and how many to be recovered, at a time.
const AT_ONCE: usize = 16;
/// How long a chat that could not be recovered is left alone. The machine's own time: it is about the disk.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Tells chats when their deadlines come.
pub(super) async fn keep_time(inner: Arc<Inner>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let next = async {
            // The place first: a deadline that nobody can see to yet is left where it is.
            let permit = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((permit, inner.holds.next_expired(&*inner.clock).await))
        };
        let next = tokio::select! {
            next = next => next,
            () = inner.closing.cancelled() => return,
        };
        let Some((permit, (chat, call))) = next else { return };
        if let Some(mailbox) = inner.wake(&chat) {
            // A chat that has no room now is told again: one that is stuck must not hold up the deadlines of the others.
            let _ = mailbox.try_send(Command::Expired { call, permit });
        }
    }
}

/// Recovers chats, each until it is done.
pub(super) async fn recover(inner: Arc<Inner>, mut chats: mpsc::UnboundedReceiver<ChatId>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let next = async {
            let permit = Arc::clone(&places).acquire_owned().await.ok()?;
            inner.holds.room(&inner.limits).await;
            Some((permit, chats.recv().await?))
        };
        let next = tokio::select! {
            next = next => next,
            () = inner.closing.cancelled() => return,
        };
        let Some((permit, chat)) = next else { return };
        let task = recover_one(Arc::clone(&inner), chat);
        tokio::spawn(async move {
            task.await;
            drop(permit);
        });
    }
}

async fn recover_one(inner: Arc<Inner>, chat: ChatId) {
    let mut pause = FIRST_PAUSE;
    loop {
        // Gone, while the server goes down: it is recovered when it starts again.
        let Some(mailbox) = inner.wake(&chat) else { return };
        let (done, recovered) = oneshot::channel();
        let told = async { mailbox.send(Command::Recover { done }).await.is_ok() && recovered.await.is_ok() };
        let is_done = tokio::select! {
            is_done = told => is_done,
            () = inner.closing.cancelled() => return,
        };
        if is_done {
            return;
        }
        tokio::select! {
            () = time::sleep(pause) => {}
            () = inner.closing.cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
