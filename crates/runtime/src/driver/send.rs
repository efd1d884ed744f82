//! Commands to chats. A command wakes its chat, and is sent again if the chat fell asleep meanwhile.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;
use tokio::{
    sync::{mpsc, oneshot},
    time::{self, Instant},
};
use tracing::Instrument;

use super::{
    RuntimeError,
    awake::Awake,
    chat::ChatTask,
    command::{ChatError, Command},
    counters::count,
    runtime::Inner,
};
use crate::{
    backoff::{self, Backoff},
    log::Health,
    subject::Subject,
    turn::Input,
};

/// The capacity of a chat's mailbox.
const MAILBOX_CAPACITY: usize = 64;
/// How long a request waits for a log that can't be written. The client gets an answer after 5 seconds at most.
const LOG_TIMEOUT: Duration = Duration::from_secs(4);
/// How often a request that waits longer checks whether the log is the cause.
const LOG_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Delays before a command is sent again.
const INITIAL_BACKOFF: Duration = Duration::from_millis(1);
const MAX_BACKOFF: Duration = Duration::from_millis(100);

impl Command {
    /// The subject that it is for. Those that the server sends itself are for nobody.
    fn subject(&self) -> Option<&Subject> {
        match self {
            Command::Input { subject, .. } | Command::Read { subject, .. } | Command::Delete { subject, .. } => {
                Some(subject)
            }
            Command::Retire { .. }
            | Command::Prompt { .. }
            | Command::Keeper { .. }
            | Command::Progress { .. }
            | Command::Due { .. }
            | Command::Mend
            | Command::Recover { .. } => None,
        }
    }

    /// Answers a subject to whom the chat does not belong.
    pub(super) fn refuse(self) {
        let begins = match &self {
            Command::Input { input, .. } => matches!(**input, Input::Submit(_)),
            Command::Read { may_be_new, .. } => *may_be_new,
            _ => false,
        };
        self.fail(ChatError::not_theirs(begins));
    }

    /// Answers that it could not be carried out.
    pub(super) fn fail(self, error: ChatError) {
        match self {
            Command::Input { reply, .. } => drop(reply.send(Err(error))),
            Command::Read { reply, .. } => drop(reply.send(Err(error))),
            Command::Delete { reply, .. } => drop(reply.send(Err(error))),
            Command::Retire { reply, .. } => drop(reply.send(Err(error))),
            Command::Prompt { .. }
            | Command::Keeper { .. }
            | Command::Progress { .. }
            | Command::Due { .. }
            | Command::Mend
            | Command::Recover { .. } => {}
        }
    }
}

impl Inner {
    /// Closes the mailbox of a chat that falls asleep. Commands already in it can still be received.
    pub(super) fn forget(&self, id: &ChatId, mailbox: &mut mpsc::Receiver<Command>) {
        let mut chats = self.chats.lock();
        mailbox.close();
        if chats.get(id).is_some_and(|awake| awake.mailbox.is_closed()) {
            chats.remove(id);
        }
    }

    /// Closes the mailbox and fails the commands in it.
    pub(super) async fn turn_away(&self, id: &ChatId, mailbox: &mut mpsc::Receiver<Command>, error: &ChatError) {
        self.forget(id, mailbox);
        while let Some(command) = mailbox.recv().await {
            command.fail(error.clone());
        }
    }

    /// Closes the mailbox of a chat that somebody else than its owner has asked for. It was not loaded for them; whoever
    /// may have it sends again.
    pub(super) async fn turn_away_others(&self, id: &ChatId, mailbox: &mut mpsc::Receiver<Command>, owner: &Subject) {
        self.forget(id, mailbox);
        while let Some(command) = mailbox.recv().await {
            let is_theirs = command.subject().is_none_or(|subject| subject == owner);
            if is_theirs { command.fail(ChatError::Lost) } else { command.refuse() }
        }
    }

    /// The mailbox of a chat. Wakes the chat if necessary.
    pub(super) fn wake(self: &Arc<Self>, id: &ChatId) -> Option<mpsc::Sender<Command>> {
        self.wake_for(id, None)
    }

    /// Like `wake`, for a subject. A chat of somebody else is not loaded.
    fn wake_for(self: &Arc<Self>, id: &ChatId, subject: Option<&Subject>) -> Option<mpsc::Sender<Command>> {
        let mut chats = self.chats.lock();
        if let Some(awake) = chats.get(id).filter(|awake| !awake.mailbox.is_closed()) {
            return Some(awake.mailbox.clone());
        }
        if self.tasks.is_closed() {
            return None;
        }
        let (sender, mailbox) = mpsc::channel(MAILBOX_CAPACITY);
        let changed = Arc::default();
        chats.insert(id.clone(), Awake { mailbox: sender.clone(), changed: Arc::clone(&changed) });
        // No parent span: the task outlives the request that woke the chat.
        let span = tracing::info_span!(parent: None, "chat", chat = %id);
        let task = ChatTask::run(Arc::clone(self), id.clone(), subject.cloned(), mailbox, changed);
        self.tasks.spawn(task.instrument(span));
        Some(sender)
    }

    /// Sends a command to a chat, again if the chat fell asleep or lost its place in the log. The command is built anew
    /// each time, with the time at which the sender gives up.
    pub(super) async fn send<T>(
        self: &Arc<Self>,
        id: &ChatId,
        command: impl Fn(Instant, oneshot::Sender<Result<T, ChatError>>) -> Command,
    ) -> Result<T, RuntimeError> {
        let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
        loop {
            let (reply, answer) = oneshot::channel();
            let until = Instant::now() + LOG_TIMEOUT;
            let command = command(until, reply);
            let mailbox = self.wake_for(id, command.subject()).ok_or(RuntimeError::ShuttingDown)?;
            let asked = async {
                match mailbox.send(command).await {
                    Ok(()) => answer.await.unwrap_or(Err(ChatError::Lost)),
                    Err(_) => Err(ChatError::Lost),
                }
            };
            let answer = tokio::select! {
                biased;
                answer = asked => answer,
                () = self.log_timeout(until) => {
                    count(&self.counters.unanswered);
                    return Err(RuntimeError::Unconfirmed);
                }
            };
            match answer {
                Err(ChatError::Lost | ChatError::Conflict | ChatError::NotGranted) => backoff::wait(&mut backoff).await,
                answer => return answer.map_err(RuntimeError::from),
            }
        }
    }

    /// Completes when the deadline has passed and the log is the cause.
    async fn log_timeout(&self, until: Instant) {
        time::sleep_until(until).await;
        while self.is_writable() {
            time::sleep(LOG_CHECK_INTERVAL).await;
        }
    }

    /// Whether the log can be written, as far as known.
    pub(super) fn is_writable(&self) -> bool {
        *self.log.health().borrow() == Health::Writable && self.counters.stuck_appends() == 0
    }
}

impl From<ChatError> for RuntimeError {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::NotFound => Self::NotFound,
            ChatError::IdTaken => Self::IdTaken,
            ChatError::Unreadable => Self::Unreadable,
            ChatError::NotAsShown => Self::NotAsShown,
            ChatError::NoRoom => Self::Busy,
            ChatError::Log(error) => Self::Log(error),
            ChatError::Closing | ChatError::Lost | ChatError::Conflict | ChatError::NotGranted => Self::ShuttingDown,
        }
    }
}
