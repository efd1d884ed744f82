//! Facts that other nodes append to a chat that is awake here.
//!
//! They are folded behind what is already shown here, be it on disk or not: what another node may append while this one
//! runs the turn (decisions, results, expiries, new messages, requests to stop) does not depend on the order.

use super::{ChatTask, log::Foreign, react::AppendedBy};
use crate::{
    driver::command::ChatError,
    log::{LogError, Stored},
    turn::Input,
};

/// How often a chat that is longer than what was read of it is read again.
const MAX_ATTEMPTS: usize = 8;
/// The pause after a read that failed. System time: the cause is the log, and no deadline depends on it.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

impl ChatTask {
    /// Reads what others have appended, and acts on it. Returns whether there was anything.
    pub(in crate::driver) async fn catch_up(&mut self) -> Result<bool, ChatError> {
        let foreign = self.log.read().await?;
        let is_news = !foreign.facts().is_empty();
        self.absorb(foreign).await;
        Ok(is_news)
    }

    /// Like `catch_up`, for who wants to read: whatever was acknowledged by any node is seen on every node. If the log
    /// can't be read, the reader is told, and what runs here goes on.
    pub(super) async fn catch_up_for_reader(&mut self) -> Result<Result<(), LogError>, ChatError> {
        if !self.inner.lease.is_shared() {
            return Ok(Ok(()));
        }
        match self.catch_up().await {
            Err(ChatError::Log(error @ LogError::Failed(_))) => Ok(Err(error)),
            caught_up => caught_up.map(|_| Ok(())),
        }
    }

    /// Whether what is known of the chat is all there is. If not, the rest is read.
    pub(super) async fn is_current(&mut self) -> Result<bool, ChatError> {
        Ok(!self.inner.lease.is_shared() || !self.catch_up().await?)
    }

    /// Like `catch_up`, for a chat that has changed as far as is known. Without new facts, it was deleted.
    pub(in crate::driver) async fn catch_up_or_end(&mut self) -> Result<(), ChatError> {
        for _ in 0..MAX_ATTEMPTS {
            if self.catch_up().await? {
                return Ok(());
            }
            let known = self.log.end();
            return match self.inner.log.stored(&self.id).await? {
                Some(Stored::Chat { len, .. }) if len == known => Ok(()),
                // It was appended to in between.
                Some(Stored::Chat { len, .. }) if len > known => continue,
                Some(Stored::Chat { .. }) => Err(ChatError::Lost),
                None if known == 0 => Ok(()),
                Some(Stored::Tombstone { len, .. }) if self.log.is_new() && len == known => Ok(()),
                Some(Stored::Tombstone { .. }) | None => Err(ChatError::NotFound),
            };
        }
        Err(ChatError::Lost)
    }

    /// Like `catch_up_or_end`, because of a signal. A log that can't be read at the moment is no reason to give up a chat: it
    /// is read again a little later.
    pub(super) async fn catch_up_if_readable(&mut self) -> Result<(), ChatError> {
        match self.catch_up_or_end().await {
            Err(ChatError::Log(LogError::Failed(_))) => {
                tokio::time::sleep(PAUSE).await;
                Ok(())
            }
            other => other,
        }
    }

    /// Reads what has caused a conflict. If that can't be found, the chat is read anew.
    pub(super) async fn after_conflict(&mut self) -> Result<(), ChatError> {
        let foreign = self.log.read_conflict().await?;
        if foreign.facts().is_empty() {
            return Err(ChatError::Lost);
        }
        self.absorb(foreign).await;
        Ok(())
    }

    /// Folds and shows facts that were appended elsewhere. What follows from them is done next.
    pub(super) async fn absorb(&mut self, foreign: Foreign) {
        if foreign.facts().is_empty() {
            return;
        }
        let unwritten = self.log.absorb(&foreign);
        if let Some(unwritten) = &unwritten {
            self.followers.take_back(unwritten);
        }
        self.followers.set_bytes(self.log.bytes(), self.log.loaded_bytes());
        self.followers.show(foreign.facts().to_vec());
        if unwritten.is_some() {
            tracing::warn!(chat = %self.id, "another node has taken over the chat");
            self.work.end().await;
        }
        self.react(foreign.facts(), AppendedBy::Another);
    }

    /// Does what follows from facts that were appended elsewhere.
    pub(super) async fn follow(&mut self) -> Result<(), ChatError> {
        let is_watched = self.followers.exist();
        if self.log.is_ours() {
            self.input(Input::Follow { is_watched }).await?;
        } else if self.log.owner().is_none() && self.log.state().is_idle() && is_watched {
            // Its last hold expired on a node where nobody follows it.
            self.input(Input::ResumeIdle).await?;
        } else if !self.log.is_elsewhere() && self.log.state().is_running() {
            // The node that took it over from this one is gone too.
            self.input(Input::Recover).await?;
        }
        self.count_turn();
        if self.log.is_elsewhere() {
            return Ok(());
        }
        for command in self.mailbox.take_deferred() {
            self.command(command).await?;
        }
        Ok(())
    }
}
