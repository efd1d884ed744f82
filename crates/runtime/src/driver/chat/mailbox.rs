//! The mailbox of a chat's task: what reaches it from outside.
//!
//! It begins with the task, and may have commands before the chat is loaded. It ends when it is closed: what is in it then, and
//! what was deferred, is answered with the reason, and whoever sends later wakes the chat again.

use std::sync::Arc;

use holdpoint_protocol::ids::ChatId;
use tokio::sync::mpsc;

use crate::{
    driver::{
        awake::Changed,
        command::{ChatError, Command},
        runtime::Inner,
    },
    subject::Subject,
    wire::Channel,
};

/// The mailbox of a chat.
pub(in crate::driver) struct Mailbox {
    inner: Arc<Inner>,
    chat: ChatId,
    commands: mpsc::Receiver<Command>,
    /// Those that wait until the node that runs the turn has ended it.
    deferred: Vec<Command>,
    /// Signalled when another node may have appended.
    changed: Arc<Changed>,
    /// The endpoint of the last input.
    channel: Channel,
}

impl Mailbox {
    pub(super) fn new(
        inner: Arc<Inner>,
        chat: ChatId,
        commands: mpsc::Receiver<Command>,
        changed: Arc<Changed>,
    ) -> Self {
        Self { inner, chat, commands, deferred: Vec::new(), changed, channel: Channel::default() }
    }

    /// The next command. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Command> {
        self.commands.recv().await
    }

    /// Whether no command is there. Deferred ones do not count.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// The signal that another node may have appended.
    pub(super) fn changed(&self) -> Arc<Changed> {
        Arc::clone(&self.changed)
    }

    /// Keeps a command until the node that runs the turn has ended it.
    pub(in crate::driver) fn defer(&mut self, command: Command) {
        self.deferred.push(command);
    }

    /// Whether commands were deferred.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// The deferred commands, to be carried out now.
    pub(super) fn take_deferred(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.deferred)
    }

    /// The endpoint of the last input.
    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    /// An input has come through this endpoint.
    pub(super) fn came_through(&mut self, channel: Channel) {
        self.channel = channel;
    }

    /// Closes it, and answers every command with the reason.
    pub(super) async fn close(&mut self, error: &ChatError) {
        for command in self.deferred.drain(..) {
            command.fail(error.clone());
        }
        self.inner.turn_away(&self.chat, &mut self.commands, error).await;
    }

    /// Closes that of a chat that was not loaded, because somebody else than its owner has asked for it.
    pub(super) async fn close_to_others(&mut self, owner: &Subject) {
        self.inner.turn_away_others(&self.chat, &mut self.commands, owner).await;
    }

    /// The commands alone, for a chat that can't be read.
    pub(super) fn into_commands(self) -> mpsc::Receiver<Command> {
        self.commands
    }
}
