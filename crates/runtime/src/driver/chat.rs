//! One chat that is awake: the single writer of its log. It takes inputs one by one, appends what the turn machine makes of them,
//! and runs what the facts ask for.

use std::{collections::HashMap, sync::Arc};

use futures::stream::{BoxStream, ReadyChunks};
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
    task::{AbortHandle, Id, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    counters::count,
    feed::{Feed, FeedReader},
    holds::Place,
    journal,
    load::{LoadError, Loaded, Memory, load},
    runtime::Inner,
    unreadable,
    work::{next_events, sleep_until},
};
use crate::{
    clock::Timestamp,
    fact::Fact,
    log::LogError,
    metrics::Channel,
    model::{ModelError, ModelEvent},
    subject::Subject,
    tool::{Prompt, PromptResponse},
    turn::{ChatState, Input, Rejection, Reply},
};

/// What a chat can be asked.
pub(super) enum Command {
    /// Something happened. Whoever asks has given up at `until`, and was told that it may not be done: it is not begun any more.
    Input {
        input: Box<Input>,
        subject: Subject,
        channel: Channel,
        until: Instant,
        reply: oneshot::Sender<Result<Taken, ChatError>>,
    },
    /// A reader of the feed is wanted; with `may_be_new`, also for a chat without any facts.
    Read { subject: Subject, may_be_new: bool, reply: oneshot::Sender<Result<FeedReader, ChatError>> },
    /// A tool asks the user something.
    Prompt { by: ToolCallId, prompt: Prompt, response: oneshot::Sender<PromptResponse> },
    /// A deadline. The server wakes few chats at a time by itself: the permit is given back when this was seen to.
    Expired { call: ToolCallId, permit: OwnedSemaphorePermit },
    /// Nothing of what the log says is running may be running. Told when that was seen to.
    Recover { done: oneshot::Sender<()> },
    /// Forget all of it, if it has not changed since then and nothing is open in it.
    Retire { before: Timestamp, reply: oneshot::Sender<Result<bool, ChatError>> },
    /// Forget all of it.
    Delete { subject: Subject, reply: oneshot::Sender<Result<(), ChatError>> },
}

/// An input that was taken.
pub(super) struct Taken {
    pub(super) reply: Reply,
    /// Whether anything came of it.
    pub(super) is_new: bool,
    pub(super) reader: FeedReader,
}

/// Why a chat did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChatError {
    #[error("no such chat")]
    NotFound,
    /// Somebody else has written to the log: ask again.
    #[error("somebody else was first")]
    Lost,
    /// Its facts can't be decoded.
    #[error("its facts can't be decoded")]
    Unreadable,
    /// Too many bytes of other chats are in memory.
    #[error("there is no room to load it")]
    NoRoom,
    /// The server is going down.
    #[error("the server is going down")]
    Closing,
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The task of a chat.
pub(super) struct ChatTask {
    pub(super) inner: Arc<Inner>,
    pub(super) id: ChatId,
    mailbox: mpsc::Receiver<Command>,
    pub(super) state: ChatState,
    pub(super) feed: Arc<Feed>,
    pub(super) memory: Memory,
    pub(super) title: String,
    /// How many facts are on disk.
    pub(super) durable: u64,
    /// Facts that are not: text, for a moment.
    pub(super) pending: Vec<Arc<Fact>>,
    pub(super) pending_bytes: usize,
    pub(super) flush_at: Option<Instant>,
    /// The place of the turn among those that run.
    pub(super) place: Option<Place>,
    pub(super) model: Option<ReadyChunks<BoxStream<'static, Result<ModelEvent, ModelError>>>>,
    pub(super) tools: JoinSet<Result<Value, String>>,
    pub(super) running: HashMap<Id, (ToolCallId, AbortHandle, CancellationToken)>,
    pub(super) last_outputs: HashMap<String, Arc<Value>>,
    /// Through which endpoint the last input came.
    pub(super) channel: Channel,
    /// What tools have asked the user and wait for.
    pub(super) prompts: HashMap<ToolCallId, oneshot::Sender<PromptResponse>>,
}

impl ChatTask {
    /// Reads the chat and serves it until nobody needs it any more.
    pub(super) async fn run(inner: Arc<Inner>, id: ChatId, mut mailbox: mpsc::Receiver<Command>) {
        let Loaded { facts, memory } = match load(&inner, &id).await {
            Ok(loaded) => loaded,
            Err(LoadError::Unreadable(error)) => {
                tracing::error!(chat = %id, %error, "the facts of a chat can't be decoded");
                return unreadable::serve(inner, id, mailbox).await;
            }
            Err(LoadError::Log(error)) => {
                tracing::error!(chat = %id, %error, "a chat can't be read");
                return inner.turn_away(&id, &mut mailbox, &ChatError::Log(error)).await;
            }
            Err(LoadError::NoRoom) => {
                tracing::warn!(chat = %id, "a chat can't be loaded: too many bytes of others are in memory");
                return inner.turn_away(&id, &mut mailbox, &ChatError::NoRoom).await;
            }
        };
        let mut task = Self {
            inner,
            id,
            mailbox,
            state: ChatState::default(),
            feed: Arc::new(Feed::new(Vec::new())),
            memory,
            title: String::new(),
            durable: facts.len() as u64,
            pending: Vec::new(),
            pending_bytes: 0,
            flush_at: None,
            place: None,
            model: None,
            tools: JoinSet::new(),
            running: HashMap::new(),
            last_outputs: HashMap::new(),
            channel: Channel::default(),
            prompts: HashMap::new(),
        };
        facts.iter().for_each(|fact| task.state.apply(fact));
        facts.iter().for_each(|fact| task.note(fact));
        task.feed.push(facts);
        task.feed.set_bytes(task.memory.bytes());
        if let Err(error) = task.resume_turn().await {
            return task.give_up(&error).await;
        }
        task.serve().await;
    }

    async fn serve(&mut self) {
        loop {
            let is_quiet = self.model.is_none() && self.tools.is_empty() && self.pending.is_empty();
            let is_ending = self.inner.ending.is_cancelled();
            if is_ending {
                // No person is waited for any more: tools that have asked one are told so, and can come to an end.
                self.prompts.clear();
            }
            if is_quiet && (is_ending || !self.feed.is_watched()) && self.mailbox.is_empty() {
                // Whoever asked in between asks again, and wakes the chat anew.
                return self.leave(&ChatError::Lost).await;
            }
            let flush_at = self.flush_at;
            let went = tokio::select! {
                biased;
                () = self.inner.closing.cancelled() => return,
                Some(command) = self.mailbox.recv() => self.command(command).await,
                Some(done) = self.tools.join_next_with_id(), if !self.tools.is_empty() => self.tool_done(done).await,
                events = next_events(&mut self.model), if self.model.is_some() => self.model_said(events).await,
                () = sleep_until(flush_at), if flush_at.is_some() => self.commit(Vec::new()).await,
                () = self.feed.unwatched(), if is_quiet => Ok(()),
                () = self.inner.ending.cancelled(), if !is_ending => Ok(()),
            };
            if let Err(error) = went {
                return self.give_up(&error).await;
            }
        }
    }

    /// The log is not what this task thinks it is, or the chat was deleted: whoever comes next reads it again.
    async fn give_up(&mut self, error: &ChatError) {
        self.model = None;
        self.tools.shutdown().await;
        self.place = None;
        journal::left(&self.id, error);
        self.leave(error).await;
        match error {
            ChatError::NotFound | ChatError::Closing => {}
            _ => {
                // It must not wait for somebody to come by: a turn may be in the middle of something.
                self.inner.recover(self.id.clone());
            }
        }
    }

    /// From here on nobody can ask this task; who has done so is told.
    async fn leave(&mut self, error: &ChatError) {
        self.inner.turn_away(&self.id, &mut self.mailbox, error).await;
    }

    async fn command(&mut self, command: Command) -> Result<(), ChatError> {
        match command {
            Command::Input { input, subject, channel, until, reply } => {
                if until <= Instant::now() {
                    return Ok(());
                }
                let is_submit = matches!(*input, Input::Submit(_));
                let is_new = self.state.subject.is_none() && is_submit;
                if !is_new && self.state.subject.as_ref() != Some(&subject) {
                    let _ = reply.send(Err(ChatError::NotFound));
                    return Ok(());
                }
                let before = self.state.len;
                self.channel = channel;
                let refuses = if is_submit { self.refusal(&subject) } else { None };
                let taken = self.input_within(*input, refuses).await;
                if let Ok(Reply::Rejected(Rejection::Limit(_))) = taken {
                    count(&self.inner.counters.refused_turns);
                }
                let is_new = self.state.len > before;
                let result = taken.as_ref().map(|_| ()).map_err(Clone::clone);
                // Whoever asked may be gone; what was taken stands.
                let _ = reply.send(taken.map(|reply| Taken { reply, is_new, reader: self.feed.reader() }));
                result
            }
            Command::Read { subject, may_be_new, reply } => {
                let is_theirs = match &self.state.subject {
                    Some(owner) => *owner == subject,
                    None => may_be_new,
                };
                let _ = reply.send(if is_theirs { Ok(self.feed.reader()) } else { Err(ChatError::NotFound) });
                Ok(())
            }
            Command::Prompt { by, prompt, response } => {
                // Whoever asked learns by the dropped channel that there is no answer.
                if let Reply::Prompted(call) = self.input(Input::Prompt { by, prompt }).await? {
                    self.prompts.insert(call, response);
                }
                Ok(())
            }
            Command::Expired { call, permit } => {
                let is_watched = self.feed.is_watched();
                let expired = self.input(Input::Expired { call, is_watched }).await.map(drop);
                drop(permit);
                expired
            }
            Command::Recover { done } => {
                // The task has recovered the chat when it started. The receiver is gone while the server goes down.
                let _ = done.send(());
                Ok(())
            }
            Command::Retire { before, reply } => self.retire(before, reply).await,
            Command::Delete { subject, reply } => {
                if self.state.subject.as_ref() != Some(&subject) {
                    let _ = reply.send(Err(ChatError::NotFound));
                    return Ok(());
                }
                if let Err(error) = self.inner.log.forget(&self.id).await {
                    // It is there still, and so is what runs in it.
                    let _ = reply.send(Err(ChatError::Log(error)));
                    return Ok(());
                }
                self.inner.holds.set(&self.id, &subject, Vec::new());
                let _ = reply.send(Ok(()));
                Err(ChatError::NotFound)
            }
        }
    }
}

/// However the task ends, whoever looks is told.
impl Drop for ChatTask {
    fn drop(&mut self) {
        self.feed.close();
    }
}

impl Command {
    pub(super) fn fail(self, error: ChatError) {
        match self {
            Command::Input { reply, .. } => drop(reply.send(Err(error))),
            Command::Read { reply, .. } => drop(reply.send(Err(error))),
            Command::Delete { reply, .. } => drop(reply.send(Err(error))),
            Command::Retire { reply, .. } => drop(reply.send(Err(error))),
            Command::Prompt { .. } | Command::Expired { .. } | Command::Recover { .. } => {}
        }
    }
}
