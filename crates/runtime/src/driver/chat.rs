//! One chat that is awake: the single writer of its log. It takes inputs one by one, appends what the turn machine makes of them,
//! and runs what the facts ask for.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{BoxStream, ReadyChunks},
};
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, Id, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    feed::{Feed, Look},
    head::HeadData,
    runtime::Inner,
    unreadable,
    work::answer_of,
};
use crate::{
    fact::{Fact, Outcome, text_of},
    log::{Append, AppendId, Appended, LogError},
    model::{ModelError, ModelEvent, ModelRequest},
    project::conversation,
    subject::Subject,
    tool::{Answer, Question},
    turn::{ChatState, Env, Input, Reply, step_on},
};

/// How long text may wait before it is written down.
const FLUSH: Duration = Duration::from_millis(100);
/// How much text may wait: facts, and bytes.
const FLUSH_FACTS: usize = 1024;
const FLUSH_BYTES: usize = 256 * 1024;
/// How many events of the model are taken at once.
const MODEL_EVENTS: usize = 256;
/// How often an append is tried whose fate is unknown, and how long in between.
const TRIES: u32 = 5;
const RETRY: Duration = Duration::from_millis(200);

/// What a chat can be asked.
pub(super) enum Command {
    /// Something happened.
    Input { input: Box<Input>, subject: Subject, reply: oneshot::Sender<Result<Taken, ChatError>> },
    /// Somebody wants to look; `may_be_new`: at a chat that nobody has said anything in yet, too.
    Look { subject: Subject, may_be_new: bool, reply: oneshot::Sender<Result<Look, ChatError>> },
    /// A tool asks the user something.
    Ask { by: ToolCallId, question: Question, answer: oneshot::Sender<Answer> },
    /// A deadline.
    Expired { call: ToolCallId },
    /// The server has started again.
    Recover,
    /// Forget all of it.
    Delete { subject: Subject, reply: oneshot::Sender<Result<(), ChatError>> },
}

/// An input that was taken.
pub(super) struct Taken {
    pub(super) reply: Reply,
    /// Whether anything came of it.
    pub(super) is_new: bool,
    pub(super) look: Look,
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
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The task of a chat.
pub(super) struct ChatTask {
    pub(super) inner: Arc<Inner>,
    pub(super) id: ChatId,
    mailbox: mpsc::Receiver<Command>,
    pub(super) state: ChatState,
    feed: Arc<Feed>,
    title: String,
    /// How many facts are on disk.
    durable: u64,
    /// Facts that are not: text, for a moment.
    pending: Vec<Arc<Fact>>,
    pending_bytes: usize,
    flush_at: Option<Instant>,
    pub(super) model: Option<ReadyChunks<BoxStream<'static, Result<ModelEvent, ModelError>>>>,
    pub(super) tools: JoinSet<Result<Value, String>>,
    pub(super) running: HashMap<Id, (ToolCallId, AbortHandle, CancellationToken)>,
    pub(super) last_outputs: HashMap<String, Arc<Value>>,
    /// What tools have asked the user and wait for.
    questions: HashMap<ToolCallId, oneshot::Sender<Answer>>,
}

impl ChatTask {
    /// Reads the chat and serves it until nobody needs it any more.
    pub(super) async fn run(inner: Arc<Inner>, id: ChatId, mut mailbox: mpsc::Receiver<Command>) {
        let facts = match load(&inner, &id).await {
            Ok(facts) => facts,
            Err(LoadError::Unreadable(error)) => {
                tracing::error!(chat = %id, %error, "the facts of a chat can't be decoded");
                return unreadable::serve(inner, id, mailbox).await;
            }
            Err(LoadError::Log(error)) => {
                tracing::error!(chat = %id, %error, "a chat can't be read");
                inner.forget(&id, &mut mailbox);
                while let Some(command) = mailbox.recv().await {
                    command.fail(ChatError::Log(error.clone()));
                }
                return;
            }
        };
        let mut task = Self {
            inner,
            id,
            mailbox,
            state: ChatState::default(),
            feed: Arc::new(Feed::new(Vec::new())),
            title: String::new(),
            durable: facts.len() as u64,
            pending: Vec::new(),
            pending_bytes: 0,
            flush_at: None,
            model: None,
            tools: JoinSet::new(),
            running: HashMap::new(),
            last_outputs: HashMap::new(),
            questions: HashMap::new(),
        };
        facts.iter().for_each(|fact| task.state.apply(fact));
        facts.iter().for_each(|fact| task.note(fact));
        task.feed.push(facts);
        if task.state.is_running() {
            // This task has just begun, so nothing runs, whatever the log says: the server went down, or a task was given up.
            if let Err(error) = task.input(Input::Recover).await {
                tracing::warn!(chat = %task.id, %error, "a chat could not be recovered");
                return task.give_up(&error).await;
            }
        }
        task.serve().await;
    }

    async fn serve(&mut self) {
        loop {
            let is_quiet = self.model.is_none() && self.tools.is_empty() && self.pending.is_empty();
            let is_ending = self.inner.ending.is_cancelled();
            if is_ending {
                // No person is waited for any more: tools that have asked one are told so, and can come to an end.
                self.questions.clear();
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
                tracing::warn!(chat = %self.id, %error, "a chat is given up, to be read again");
                self.give_up(&error).await;
                return;
            }
        }
    }

    /// The log is not what this task thinks it is: whoever comes next reads it again.
    async fn give_up(&mut self, error: &ChatError) {
        self.model = None;
        self.tools.shutdown().await;
        self.leave(error).await;
    }

    /// From here on nobody can ask this task; who has done so is told.
    async fn leave(&mut self, error: &ChatError) {
        self.inner.forget(&self.id, &mut self.mailbox);
        while let Some(command) = self.mailbox.recv().await {
            command.fail(error.clone());
        }
    }

    async fn command(&mut self, command: Command) -> Result<(), ChatError> {
        match command {
            Command::Input { input, subject, reply } => {
                let is_new = self.state.subject.is_none() && matches!(*input, Input::Submit(_));
                if !is_new && self.state.subject.as_ref() != Some(&subject) {
                    let _ = reply.send(Err(ChatError::NotFound));
                    return Ok(());
                }
                let before = self.state.len;
                let taken = self.input(*input).await;
                let is_new = self.state.len > before;
                let result = taken.as_ref().map(|_| ()).map_err(Clone::clone);
                // Whoever asked may be gone; what was taken stands.
                let _ = reply.send(taken.map(|reply| Taken { reply, is_new, look: self.feed.look() }));
                result
            }
            Command::Look { subject, may_be_new, reply } => {
                let is_theirs = match &self.state.subject {
                    Some(owner) => *owner == subject,
                    None => may_be_new,
                };
                let _ = reply.send(if is_theirs { Ok(self.feed.look()) } else { Err(ChatError::NotFound) });
                Ok(())
            }
            Command::Ask { by, question, answer } => {
                // Whoever asked learns by the dropped channel that there is no answer.
                if let Reply::Asked(call) = self.input(Input::Ask { by, question }).await? {
                    self.questions.insert(call, answer);
                }
                Ok(())
            }
            Command::Expired { call } => {
                let is_watched = self.feed.is_watched();
                self.input(Input::Expired { call, is_watched }).await.map(drop)
            }
            Command::Recover => {
                // Asked twice, or asked while something runs here, there is nothing to recover.
                if self.model.is_some() || !self.tools.is_empty() {
                    return Ok(());
                }
                self.input(Input::Recover).await.map(drop)
            }
            Command::Delete { subject, reply } => {
                if self.state.subject.as_ref() != Some(&subject) {
                    let _ = reply.send(Err(ChatError::NotFound));
                    return Ok(());
                }
                self.model = None;
                self.tools.shutdown().await;
                let forgotten = self.inner.log.forget(&self.id).await.map_err(ChatError::Log);
                if forgotten.is_ok() {
                    self.inner.holds.set(&self.id, &subject, Vec::new());
                }
                let _ = reply.send(forgotten);
                Err(ChatError::NotFound)
            }
        }
    }

    /// Takes one input and does what follows from it.
    pub(super) async fn input(&mut self, input: Input) -> Result<Reply, ChatError> {
        let mut facts = Vec::new();
        let mut reply = Reply::None;
        self.decide(|state, env| reply = step_on(state, input, env, &mut facts));
        self.record(facts).await?;
        Ok(reply)
    }

    /// Asks the turn machine, at one moment of time.
    pub(super) fn decide(&mut self, ask: impl FnOnce(&mut ChatState, &mut Env<'_>)) {
        let mut new_id = || uuid::Uuid::now_v7().simple().to_string();
        let tools = self.inner.tools();
        let mut env = Env {
            now: self.inner.clock.now(),
            tools: &tools,
            model: self.inner.model.version(),
            max_steps: self.inner.limits.steps,
            max_holds: self.inner.limits.holds_per_chat,
            new_id: &mut new_id,
        };
        ask(&mut self.state, &mut env);
    }

    /// Shows facts, after they are on disk where they must be, and does what they ask for.
    pub(super) async fn record(&mut self, facts: Vec<Fact>) -> Result<(), ChatError> {
        if facts.is_empty() {
            return Ok(());
        }
        let facts: Vec<Arc<Fact>> = facts.into_iter().map(Arc::new).collect();
        facts.iter().for_each(|fact| self.note(fact));
        if facts.iter().any(|fact| fact.must_be_durable()) {
            self.commit(facts).await
        } else {
            self.pending_bytes += facts.iter().map(|fact| fact.text_len()).sum::<usize>();
            self.pending.extend(facts.iter().cloned());
            self.feed.push(facts);
            self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH);
            if self.pending.len() < FLUSH_FACTS && self.pending_bytes < FLUSH_BYTES {
                return Ok(());
            }
            self.commit(Vec::new()).await
        }
    }

    /// Writes down what is pending and these facts, then shows these.
    async fn commit(&mut self, facts: Vec<Arc<Fact>>) -> Result<(), ChatError> {
        let mut batch = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        self.flush_at = None;
        batch.extend(facts.iter().cloned());
        let Some(subject) = self.state.subject.clone() else { return Ok(()) };
        let Ok(count) = u32::try_from(batch.len()) else { return Err(ChatError::Lost) };
        let encoded: Vec<&Fact> = batch.iter().map(|fact| &**fact).collect();
        let payload = serde_json::to_vec(&encoded).map_err(|error| LogError(error.to_string()))?;
        let head = HeadData::of(&self.state, &self.title);
        let append = Append {
            chat: self.id.clone(),
            expected: self.durable,
            append_id: AppendId(uuid::Uuid::new_v4().as_u128()),
            count,
            payload: Bytes::from(payload),
            head: head.write(&subject, self.inner.clock.now()),
            keys: encoded.iter().filter_map(|fact| key_of(fact)).collect(),
        };
        append_once(&self.inner, append).await?;
        self.durable += u64::from(count);
        if facts.is_empty() {
            return Ok(());
        }
        self.inner.holds.set(&self.id, &subject, head.holds);
        self.feed.push(facts.clone());
        facts.iter().for_each(|fact| self.effect(fact));
        Ok(())
    }

    /// What a fact asks for, once it is on disk.
    fn effect(&mut self, fact: &Fact) {
        match fact {
            Fact::StepStarted => {
                let messages = conversation(&self.feed.after(0)).into();
                let request = ModelRequest { messages, tools: self.inner.tools().specs() };
                self.model = Some(self.inner.model.stream(request).ready_chunks(MODEL_EVENTS));
            }
            Fact::Started { call, .. } => self.start_tool(call),
            Fact::Settled { call, outcome, cause, .. } => {
                if let Some(answer) = self.questions.remove(call) {
                    let _ = answer.send(answer_of(outcome, *cause));
                }
                self.cancel_tool(call);
            }
            Fact::TurnEnded { .. } | Fact::StepAbandoned => self.model = None,
            _ => {}
        }
    }

    /// Things that are needed of the whole chat.
    fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Said { message, .. } if self.title.is_empty() => {
                self.title = text_of(message).chars().take(80).collect();
            }
            Fact::Settled { call, outcome: Outcome::Output(output), .. } => {
                if let Some(call) = self.state.calls.get(call) {
                    self.last_outputs.insert(call.name.clone(), Arc::new(output.clone()));
                }
            }
            _ => {}
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
            Command::Look { reply, .. } => drop(reply.send(Err(error))),
            Command::Delete { reply, .. } => drop(reply.send(Err(error))),
            Command::Ask { .. } | Command::Expired { .. } | Command::Recover => {}
        }
    }
}

pub(super) async fn append_once(inner: &Inner, append: Append) -> Result<(), ChatError> {
    for _ in 0..TRIES {
        match inner.log.append_many(vec![append.clone()]).await.first() {
            Some(Appended::Committed { .. }) => return Ok(()),
            Some(Appended::Conflict { .. }) => return Err(ChatError::Lost),
            // The same append at the same place: it is done once, whatever became of the last try.
            // A pause for the disk, not a time that anybody is promised: it is the machine's own, not the injected one.
            Some(Appended::Unknown) | None => tokio::time::sleep(RETRY).await,
        }
    }
    Err(ChatError::Log(LogError("it is not known whether the last append was written".to_owned())))
}

/// Why a chat can't be served.
enum LoadError {
    /// The log failed: later it may work.
    Log(LogError),
    /// What the log has is not facts.
    Unreadable(String),
}

/// All facts of a chat.
async fn load(inner: &Inner, id: &ChatId) -> Result<Vec<Arc<Fact>>, LoadError> {
    let mut facts: Vec<Arc<Fact>> = Vec::new();
    loop {
        let batches = inner.log.read(id, facts.len() as u64, 256).await.map_err(LoadError::Log)?;
        if batches.is_empty() {
            return Ok(facts);
        }
        for batch in batches {
            let read: Vec<Fact> = serde_json::from_slice(&batch.payload)
                .map_err(|error| LoadError::Unreadable(format!("fact {}: {error}", batch.first)))?;
            facts.extend(read.into_iter().map(Arc::new));
        }
    }
}

/// An id by which the chat can be found.
fn key_of(fact: &Fact) -> Option<Box<str>> {
    match fact {
        Fact::Called { call, .. } => Some(call.as_str().into()),
        Fact::Asked { approval, .. } => Some(approval.as_str().into()),
        _ => None,
    }
}

async fn next_events<S: futures::Stream + Unpin>(stream: &mut Option<S>) -> Option<S::Item> {
    match stream {
        Some(stream) => stream.next().await,
        None => None,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
