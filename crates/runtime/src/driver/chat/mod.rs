//! The task of an awake chat, the single writer of its log on this node.
//!
//! It has four parts, each with its own fields and its own life: its log (`log`), its work (`work.rs`), its followers
//! (`followers.rs`) and its mailbox (`mailbox.rs`). None has another: what it needs of one, it is given. What connects them is
//! here:
//!
//! ```text
//! mailbox ─► commands ─┐
//! work ────► progress ─┼─► drive: decide, commit (log) ─┐
//!            follow ───┘                                ├─► show (followers) ─► react (work)
//! other nodes ─► follow: read, absorb (log) ────────────┘
//! ```
//!
//! Invariants:
//! - Inputs are handled one by one, each to its end. Nothing else changes the state.
//! - A fact that must be durable is on disk before it is shown, and shown before it is carried out (`ChatTask::commit`).
//! - Only `drive` decides, and only `react` acts. Both are for own facts as for those of other nodes.
//! - The task ends when nothing runs, nothing is in the mailbox and nobody follows; or when what it knows is not what the log
//!   has, whatever the reason. What it knows is never patched: the next task reads the chat again.

mod commands;
mod drive;
mod follow;
mod followers;
mod log;
mod mailbox;
mod react;
mod work;

use std::sync::Arc;

use holdpoint_protocol::ids::ChatId;
use tokio::{sync::mpsc, time::Instant};

use self::{followers::Followers, log::ChatLog, mailbox::Mailbox, work::Work};
use super::{
    awake::Changed,
    command::{ChatError, Command},
    journal,
    load::{LoadError, load},
    runtime::Inner,
    unreadable,
};
use crate::subject::Subject;

/// The task of a chat.
pub(super) struct ChatTask {
    pub(super) inner: Arc<Inner>,
    pub(super) id: ChatId,
    pub(super) log: ChatLog,
    pub(super) work: Work,
    pub(super) followers: Followers,
    pub(super) mailbox: Mailbox,
}

impl ChatTask {
    /// Loads the chat and serves it until it can sleep. With `subject`, only if it is theirs, or new.
    pub(super) async fn run(
        inner: Arc<Inner>,
        id: ChatId,
        subject: Option<Subject>,
        commands: mpsc::Receiver<Command>,
        changed: Arc<Changed>,
    ) {
        let mut mailbox = Mailbox::new(Arc::clone(&inner), id.clone(), commands, changed);
        let loaded = match load(&inner, &id, subject.as_ref()).await {
            Ok(loaded) => loaded,
            Err(LoadError::NotTheirs(owner)) => return mailbox.close_to_others(&owner).await,
            Err(LoadError::Unreadable(error)) => {
                tracing::error!(chat = %id, %error, "the facts of a chat can't be decoded");
                return unreadable::serve(inner, id, mailbox.into_commands()).await;
            }
            Err(LoadError::Log(error)) => {
                tracing::error!(chat = %id, %error, "a chat can't be read");
                return mailbox.close(&ChatError::Log(error)).await;
            }
            Err(LoadError::NoRoom) => {
                tracing::warn!(chat = %id, "a chat can't be loaded: too many bytes of others are in memory");
                return mailbox.close(&ChatError::NoRoom).await;
            }
        };
        let (log, facts) = ChatLog::new(Arc::clone(&inner), id.clone(), loaded);
        let mut work = Work::new(Arc::clone(&inner), id.clone(), log.state().turn.is_some());
        facts.iter().for_each(|fact| work.note_output(fact, log.state()));
        if let Some(owner) = log.subject() {
            work.choose_agent(owner);
        }
        let followers = Followers::new(log.origin().clone(), log.earlier(), facts);
        followers.set_bytes(log.bytes(), log.loaded_bytes());
        let mut task = Self { inner, id, log, work, followers, mailbox };
        if let Err(error) = task.resume_turn().await {
            return task.give_up(&error).await;
        }
        task.serve().await;
    }

    async fn serve(&mut self) {
        loop {
            if self.log.take_news()
                && let Err(error) = self.follow().await
            {
                return self.give_up(&error).await;
            }
            let is_quiet = self.work.is_idle() && !self.log.has_pending() && !self.log.has_news();
            let is_quiet = is_quiet && !self.mailbox.has_deferred();
            let (changed, known) = (self.mailbox.changed(), self.log.end());
            let is_shared = self.inner.lease.is_shared();
            let is_ending = self.inner.ending.is_cancelled();
            if is_ending {
                self.work.suspend(self.log.state());
            }
            if is_quiet && (is_ending || !self.followers.exist()) && self.mailbox.is_empty() {
                // Senders of commands that arrive in between send them again, and so wake the chat.
                return self.mailbox.close(&ChatError::Lost).await;
            }
            let flush_at = self.log.flush_at();
            let went = tokio::select! {
                biased;
                () = self.inner.closing.cancelled() => return,
                Some(command) = self.mailbox.next() => self.command(command).await,
                progress = self.work.next(), if !self.work.is_idle() => self.progressed(progress).await,
                () = sleep_until(flush_at), if flush_at.is_some() => self.flush().await,
                () = changed.beyond(known), if is_shared => self.catch_up_if_readable().await,
                () = self.followers.gone(), if is_quiet => Ok(()),
                () = self.inner.ending.cancelled(), if !is_ending => Ok(()),
            };
            if let Err(error) = went {
                return self.give_up(&error).await;
            }
        }
    }

    /// Ends the task because the log has diverged from its state, or the chat was deleted. The next task loads it
    /// again.
    async fn give_up(&mut self, error: &ChatError) {
        self.work.end().await;
        journal::left(&self.id, error);
        if matches!(error, ChatError::NotFound) {
            self.followers.set_deleted();
        }
        self.mailbox.close(error).await;
        match error {
            ChatError::NotFound | ChatError::Closing => {}
            _ => {
                // A turn may be in progress, so recover it without waiting for a request.
                self.inner.recover(self.id.clone());
            }
        }
    }
}

/// Sleeps until then, or forever if there is no time.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
