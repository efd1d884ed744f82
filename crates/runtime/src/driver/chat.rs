//! The task of an awake chat, the single writer of its log. It takes inputs one by one, appends the facts that the turn
//! machine returns, and carries out their effects.

use std::collections::{BTreeMap, HashMap};
use std::{sync::Arc, time::Duration};

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, Id, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub(super) use super::command::{ChatError, Command, Taken};
use super::{
    agent::{Agent, TurnTools},
    awake::Changed,
    checkpoint::Checkpoint,
    counters::count,
    drive::{Failure, OnConflict, Sender},
    feed::{Earlier, Feed},
    follow::unless_unreadable,
    gate::CallGate,
    head::Hold,
    journal,
    load::{LoadError, Loaded, load},
    memory::Memory,
    ready::ReadyEvents,
    record::Writing,
    running::Place,
    runtime::Inner,
    shown::Shown,
    unreadable,
    work::{next_events, sleep_until},
};
use crate::{
    chat::Chat,
    clock::Timestamp,
    fact::Fact,
    log::NodeId,
    model::Model,
    subject::Subject,
    tool::{PromptResponse, ToolSet},
    turn::{Input, Rejection, Reply},
    wire::Channel,
};

/// How long a command may wait for another node.
const DEFERRED_TIMEOUT: Duration = Duration::from_secs(3600);

/// The task of a chat.
pub(super) struct ChatTask {
    pub(super) inner: Arc<Inner>,
    pub(super) id: ChatId,
    mailbox: mpsc::Receiver<Command>,
    pub(super) state: Chat,
    pub(super) feed: Arc<Feed>,
    /// The state before the first fact of the feed. Partial, unless an input needed all turns before it.
    pub(super) origin: Chat,
    pub(super) checkpoint: Option<Checkpoint>,
    /// The partial state at the checkpoint.
    pub(super) at_checkpoint: Chat,
    pub(super) memory: Memory,
    /// The size of the chat as stored.
    pub(super) bytes: usize,
    /// What was reserved for what the input that is being handled adds.
    pub(super) reserved: usize,
    /// The part of it for inputs of calls that the model has made.
    pub(super) reserved_inputs: usize,
    /// The memory of turns before the feed that inputs needed.
    pub(super) earlier_memory: Vec<Memory>,
    pub(super) title: String,
    /// The number of facts that the log had of earlier chats with this id, which were deleted.
    pub(super) base: u64,
    /// The owner of those chats. Nobody else may use the id.
    former_owner: Option<Subject>,
    /// The number of facts on disk.
    pub(super) durable: u64,
    /// The node that runs the turn, as of the facts on disk.
    pub(super) owner: Option<NodeId>,
    pub(super) changed: Arc<Changed>,
    /// Set when another node has appended something that may have consequences.
    pub(super) must_follow: bool,
    /// Commands that wait until the node that runs the turn has ended it.
    pub(super) deferred: Vec<Command>,
    /// The open holds on disk.
    pub(super) holds: Vec<Hold>,
    /// The time of the last change that a list shows.
    pub(super) updated_at: Timestamp,
    /// Facts not on disk yet: text, for a moment.
    pub(super) pending: Vec<Arc<Fact>>,
    pub(super) pending_bytes: usize,
    pub(super) flush_at: Option<Instant>,
    /// The turn's place among the running turns.
    pub(super) place: Option<Place>,
    pub(super) answer: Option<ReadyEvents>,
    pub(super) running_tools: JoinSet<super::work::Ran>,
    pub(super) running: HashMap<Id, (ToolCallId, AbortHandle, CancellationToken, Arc<CallGate>)>,
    /// The chat was this node's then, according to its last append.
    pub(super) owned_at: Instant,
    pub(super) last_outputs: HashMap<String, Arc<Value>>,
    /// The endpoint of the last input.
    pub(super) channel: Channel,
    /// The agent that the program chose for this chat.
    pub(super) agent: Option<Agent>,
    /// The tools that the model was offered in the first step of the turn that this task has seen.
    pub(super) turn_tools: TurnTools,
    /// Whether the turn began before this task, or on another node.
    pub(super) is_resumed_turn: bool,
    /// The tools that wait for the answer to a prompt.
    pub(super) prompts: BTreeMap<ToolCallId, oneshot::Sender<PromptResponse>>,
}

impl ChatTask {
    /// Loads the chat and serves it until it can sleep. With `subject`, only if it is theirs, or new.
    pub(super) async fn run(
        inner: Arc<Inner>,
        id: ChatId,
        subject: Option<Subject>,
        mut mailbox: mpsc::Receiver<Command>,
        changed: Arc<Changed>,
    ) {
        let Loaded { origin, checkpoint, title, facts, base, former_owner, owner, bytes, memory } =
            match load(&inner, &id, subject.as_ref()).await {
                Ok(loaded) => loaded,
                Err(LoadError::NotTheirs(owner)) => return inner.turn_away_others(&id, &mut mailbox, &owner).await,
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
        let earlier = Earlier { inner: Arc::clone(&inner), chat: id.clone(), base };
        let feed = Arc::new(Feed::new(origin.clone(), Some(earlier)));
        let mut task = Self {
            inner,
            id,
            mailbox,
            state: origin.clone(),
            feed,
            at_checkpoint: origin.clone(),
            durable: origin.len + facts.len() as u64,
            origin,
            bytes: checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.bytes) + bytes,
            reserved: 0,
            reserved_inputs: 0,
            checkpoint,
            earlier_memory: Vec::new(),
            memory,
            title,
            base,
            former_owner,
            owner,
            changed,
            must_follow: false,
            deferred: Vec::new(),
            holds: Vec::new(),
            updated_at: Timestamp(0),
            pending: Vec::new(),
            pending_bytes: 0,
            flush_at: None,
            place: None,
            answer: None,
            running_tools: JoinSet::new(),
            running: HashMap::new(),
            owned_at: Instant::now(),
            last_outputs: HashMap::new(),
            channel: Channel::default(),
            agent: None,
            turn_tools: TurnTools::default(),
            is_resumed_turn: false,
            prompts: BTreeMap::new(),
        };
        facts.iter().for_each(|fact| task.state.apply(fact));
        facts.iter().for_each(|fact| task.note(fact));
        task.holds = Hold::of(&task.state);
        task.choose_agent();
        task.is_resumed_turn = task.state.turn.is_some();
        task.feed.push(facts);
        task.feed.set_bytes(task.bytes, task.memory.bytes());
        if let Err(error) = task.resume_turn().await {
            return task.give_up(&error).await;
        }
        task.serve().await;
    }

    /// Asks the program for the agent of this chat, if it has facts.
    fn choose_agent(&mut self) {
        self.agent = self.state.subject.as_ref().and_then(|subject| self.inner.chosen_agent(&self.id, subject));
    }

    /// Whether this subject may begin a chat with this id.
    fn may_open(&self, subject: &Subject) -> bool {
        self.state.subject.is_none() && self.former_owner.as_ref().is_none_or(|owner| owner == subject)
    }

    /// The tools of this chat.
    pub(super) fn tools(&self) -> ToolSet {
        self.agent.as_ref().map_or_else(|| self.inner.tools(), |agent| agent.tools.clone())
    }

    /// The model of this chat.
    pub(super) fn model(&self) -> &Arc<dyn Model> {
        self.agent.as_ref().map_or(&self.inner.model, |agent| &agent.model)
    }

    async fn serve(&mut self) {
        loop {
            if std::mem::take(&mut self.must_follow)
                && let Err(error) = self.follow().await
            {
                return self.give_up(&error).await;
            }
            let is_quiet = self.answer.is_none() && self.running_tools.is_empty() && self.pending.is_empty();
            let is_quiet = is_quiet && self.deferred.is_empty() && !self.must_follow;
            let (changed, known) = (Arc::clone(&self.changed), self.base + self.durable);
            let is_shared = self.inner.lease.is_shared();
            let is_ending = self.inner.ending.is_cancelled();
            if is_ending {
                self.suspend();
                // Nobody will answer a prompt any more. Cancel the prompts, so that their tools can finish.
                self.prompts.clear();
            }
            if is_quiet && (is_ending || !self.feed.is_watched()) && self.mailbox.is_empty() {
                // Senders of commands that arrive in between send them again, and so wake the chat.
                return self.leave(&ChatError::Lost).await;
            }
            let flush_at = self.flush_at;
            let went = tokio::select! {
                biased;
                () = self.inner.closing.cancelled() => return,
                Some(command) = self.mailbox.recv() => self.command(command).await,
                Some(done) = self.running_tools.join_next_with_id(), if !self.running_tools.is_empty() => self.tool_done(done).await,
                events = next_events(&mut self.answer), if self.answer.is_some() => self.model_said(events).await,
                () = sleep_until(flush_at), if flush_at.is_some() => self.commit(Vec::new(), Writing::HAPPENED).await,
                () = changed.beyond(known), if is_shared => unless_unreadable(self.catch_up_or_end().await).await,
                () = self.feed.unwatched(), if is_quiet => Ok(()),
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
        self.answer = None;
        self.running_tools.shutdown().await;
        self.place = None;
        journal::left(&self.id, error);
        if matches!(error, ChatError::NotFound) {
            self.feed.set_deleted();
        }
        self.leave(error).await;
        match error {
            ChatError::NotFound | ChatError::Closing => {}
            _ => {
                // A turn may be in progress, so recover it without waiting for a request.
                self.inner.recover(self.id.clone());
            }
        }
    }

    /// Closes the mailbox and fails the commands in it.
    async fn leave(&mut self, error: &ChatError) {
        for command in self.deferred.drain(..) {
            command.fail(error.clone());
        }
        self.inner.turn_away(&self.id, &mut self.mailbox, error).await;
    }

    /// Takes an input of a client.
    async fn take(
        &mut self,
        input: &Input,
        subject: &Subject,
        channel: Channel,
        shown: Option<&Shown>,
    ) -> Result<Taken, Failure> {
        let is_submit = matches!(input, Input::Submit(_));
        let is_new_chat = is_submit && self.may_open(subject);
        if !is_new_chat && self.state.subject.as_ref() != Some(subject) {
            return Err(Failure::Refused(ChatError::not_theirs(is_submit)));
        }
        self.look_back(input).await.map_err(Failure::Refused)?;
        if let Some(error) = self.refuses_as_shown(input, shown).await? {
            return Err(Failure::Refused(error));
        }
        let before = self.state.len;
        self.channel = channel;
        let mut refuses = None;
        if is_submit {
            self.agent = self.inner.chosen_agent(&self.id, subject);
            refuses = self.refusal(subject).await.map_err(Failure::Refused)?;
        }
        let reply = self.drive(vec![input.clone()], OnConflict::Decide, Sender::Client { refuses }).await?;
        if let Reply::Rejected(Rejection::Limit(_)) = reply {
            count(&self.inner.counters.refused_turns);
        }
        Ok(Taken { reply, is_new: self.state.len > before, reader: self.feed.reader() })
    }

    pub(super) async fn command(&mut self, command: Command) -> Result<(), ChatError> {
        match command {
            Command::Input { input, subject, channel, shown, until, reply } => {
                if until <= Instant::now() {
                    return Ok(());
                }
                let is_stop = matches!(*input, Input::Stop { .. });
                match self.take(&input, &subject, channel, shown.as_ref()).await {
                    Ok(_) if is_stop && self.is_elsewhere() && self.state.turn.is_some() => {
                        let until = Instant::now() + DEFERRED_TIMEOUT;
                        self.deferred.push(Command::Input { input, subject, channel, shown, until, reply });
                    }
                    // The sender may be gone. The facts stay.
                    Ok(taken) => drop(reply.send(Ok(taken))),
                    Err(Failure::Refused(error)) => drop(reply.send(Err(error))),
                    Err(Failure::Lost(error)) => {
                        let _ = reply.send(Err(error.clone()));
                        return Err(error);
                    }
                }
                Ok(())
            }
            Command::Read { subject, may_be_new, reply } => {
                if let Err(error) = self.catch_up_for_reader().await? {
                    let _ = reply.send(Err(ChatError::Log(error)));
                    return Ok(());
                }
                let is_theirs = match &self.state.subject {
                    Some(owner) => *owner == subject,
                    None => may_be_new && self.may_open(&subject),
                };
                let refusal = ChatError::not_theirs(may_be_new);
                let _ = reply.send(if is_theirs { Ok(self.feed.reader()) } else { Err(refusal) });
                Ok(())
            }
            Command::Prompt { by, prompt, response } => {
                // If the prompt is refused, the dropped channel tells the tool.
                if let Reply::Prompted(call) = self.input(Input::Prompt { by, prompt }).await? {
                    self.prompts.insert(call, response);
                }
                Ok(())
            }
            Command::Keeper { call, command } => self.keep(call, command).await,
            Command::Progress { call, output } => self.input(Input::Progress { call, output }).await.map(drop),
            Command::Due { call, permit } => {
                let is_watched = self.feed.is_watched();
                let expired = self.input(Input::Due { call, is_watched }).await.map(drop);
                drop(permit);
                expired
            }
            Command::Mend => match self.mend_holds().await {
                Err(ChatError::Log(error)) => {
                    // It is looked at again.
                    tracing::warn!(chat = %self.id, %error, "the rows of holds could not be compared with the facts");
                    Ok(())
                }
                mended => mended,
            },
            Command::Recover { is_abandoned, done } => {
                // The task recovered the chat when it started, unless another node ran it.
                if is_abandoned {
                    self.take_over().await?;
                }
                // The receiver is gone during a shutdown.
                let _ = done.send(());
                Ok(())
            }
            Command::Retire { before, reply } => self.retire(before, reply).await,
            Command::Delete { subject, by, reply } => self.delete(subject, by, reply).await,
        }
    }
}

/// Tells every reader, however the task ends.
impl Drop for ChatTask {
    fn drop(&mut self) {
        self.feed.close();
    }
}
