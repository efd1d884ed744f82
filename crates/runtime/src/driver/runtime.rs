//! The handle that a program holds: cheap to clone, and the owner of every task.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_protocol::{
    holds::ChatHold,
    ids::{ApprovalId, ChatId, ToolCallId},
    message::UiMessage,
    request::{AckRequest, Answer, ChatRequest, DecisionRequest, PendingApproval},
};
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Change, Limits, LiveStream, LiveTaken, ResponseStream, RuntimeBuilder, StoredChat,
    chat::{Command, Taken},
    counters::Counters,
    feed::FeedReader,
    head::HeadData,
    holds::Holds,
    load,
};
use crate::{
    clock::{Clock, Timestamp},
    fact::{CallOrder, NextTurn},
    log::{HeadQuery, Log, LogError},
    metrics::{Channel, Metrics},
    model::Model,
    project::{AdkSse, AiSdk, Listed, Profile, Projection, Resume, View, earlier},
    subject::Subject,
    tool::{Tool, ToolSet},
    turn::{Answered, FrontendResult, Input, Rejection, Reply, Submit},
};

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// It does not exist, or is somebody else's.
    #[error("no such chat")]
    NotFound,
    /// The request can't be taken.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// What is stored of the chat can't be decoded.
    #[error("what is stored of this chat can't be read: delete it, or restore a backup")]
    Unreadable,
    /// Too much is in memory already.
    #[error("the server has too much to do at the moment: try again soon")]
    Busy,
    /// The server is going down.
    #[error("the server is shutting down: try again in a moment")]
    ShuttingDown,
    /// The log could not be written in time, and what was asked for may be on its way to it.
    #[error(
        "not confirmed: the server can't write to its log right now. It may still take effect: look again, and repeat the same request, before you ask for something else"
    )]
    Unconfirmed,
    /// The log failed.
    #[error("the server can't write to its log right now: try again in a moment")]
    Log(LogError),
}

/// One line of the list of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatSummary {
    /// The chat.
    pub id: ChatId,
    /// The beginning of what was said first.
    pub title: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// How many calls wait for somebody.
    pub holds: usize,
    /// Whether an answer is being given.
    pub is_running: bool,
}

/// Agents whose turns stop at holds.
#[derive(Clone)]
pub struct Runtime {
    pub(super) inner: Arc<Inner>,
    /// When the last handle is gone, every task ends.
    _owner: Arc<DropGuard>,
}

pub(super) struct Inner {
    pub(super) log: Arc<dyn Log>,
    pub(super) tools: watch::Sender<ToolSet>,
    pub(super) model: Arc<dyn Model>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: Limits,
    pub(super) holds: Arc<Holds>,
    pub(super) metrics: Metrics,
    pub(super) counters: Counters,
    /// Chats in which something was cut off.
    pub(super) to_recover: mpsc::UnboundedSender<ChatId>,
    /// Chats that are awake.
    pub(super) chats: Mutex<HashMap<ChatId, mpsc::Sender<Command>>>,
    pub(super) tasks: TaskTracker,
    /// Cancelled when chats that only wait are to end, whoever looks at them.
    pub(super) ending: CancellationToken,
    /// Cancelled when every task is to end, wherever it is: what was not finished is taken up at the next start.
    pub(super) closing: CancellationToken,
}

impl Inner {
    /// The tools on offer now. Cheap.
    pub(super) fn tools(&self) -> ToolSet {
        self.tools.borrow().clone()
    }

    /// A tool that is not listed yet, once it is. `None` if it is not among those that are listed, or is not listed in time.
    pub(super) async fn tool_to_come(&self, name: &str, origin: Option<&str>) -> Option<Tool> {
        let patience = self.tools().patience(origin)?;
        let mut offered = self.tools.subscribe();
        let is_decided = |tools: &ToolSet| tools.of_origin(name, origin).is_some() || tools.patience(origin).is_none();
        let decided = tokio::time::timeout(patience, offered.wait_for(is_decided)).await.ok()?.ok()?;
        decided.of_origin(name, origin).cloned()
    }
}

impl Runtime {
    /// What a server without any configuration runs: all of it can be changed.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    pub(super) fn own(inner: Arc<Inner>) -> Self {
        let owner = Arc::new(inner.closing.clone().drop_guard());
        Self { inner, _owner: owner }
    }

    /// Takes a chat request and shows what comes of it. Without an id the chat is found by what the last message answers; if it
    /// answers nothing, it is a new one.
    pub async fn submit(
        &self,
        subject: &Subject,
        request: ChatRequest,
        view: View,
    ) -> Result<(ChatId, ResponseStream), RuntimeError> {
        let chat = self.chat_of(subject, &request).await?;
        let taken = self.input_request(subject, &chat, request, CallOrder::Together, view, view.channel).await?;
        let Reply::Response(plan) = taken.reply else { return Err(Rejection::NothingToDo.into()) };
        if let Some(about) = &plan.earlier {
            let chunks = earlier(about, &plan, view.profile, self.inner.model.version());
            return Ok((chat, ResponseStream::whole(chunks)));
        }
        let projection: Box<dyn Projection> = match view.profile {
            Profile::Adk => Box::new(AdkSse::new(view)),
            Profile::AiSdk => Box::new(AiSdk::new(view)),
        };
        Ok((chat, ResponseStream::new(taken.reader, projection, plan)))
    }

    /// The same for a connection that looks at the chat already.
    pub async fn submit_live(
        &self,
        subject: &Subject,
        chat: &ChatId,
        request: ChatRequest,
        view: View,
    ) -> Result<LiveTaken, RuntimeError> {
        let taken = self.input_request(subject, chat, request, CallOrder::OneByOne, view, Channel::Live).await?;
        let Taken { reply, is_new, .. } = taken;
        let Reply::Response(plan) = reply else { return Err(Rejection::NothingToDo.into()) };
        let version = self.inner.model.version();
        let earlier = plan.earlier.as_ref().map(|about| earlier(about, &plan, view.profile, version));
        Ok(LiveTaken { plan, is_new, earlier })
    }

    async fn input_request(
        &self,
        subject: &Subject,
        chat: &ChatId,
        request: ChatRequest,
        order: CallOrder,
        view: View,
        channel: Channel,
    ) -> Result<Taken, RuntimeError> {
        let holds_text = self.inner.tools().may_need_approval() && !view.is_progressive && view.profile == Profile::Adk;
        let next = NextTurn { order, holds_text, is_resubmit: view.is_resubmit };
        self.check_ids(chat, &request)?;
        let submit = Submit { request, subject: subject.clone(), next };
        let taken = self.input(subject, chat, Input::Submit(Arc::new(submit)), channel).await?;
        match taken.reply {
            Reply::Rejected(rejection) => Err(rejection.into()),
            _ => Ok(taken),
        }
    }

    /// Ids that clients make up are kept, and looked up again and again.
    fn check_ids(&self, chat: &ChatId, request: &ChatRequest) -> Result<(), Rejection> {
        let limit = self.inner.limits.id_bytes;
        let too_long = |id: &str| id.len() > limit;
        // A path with dots in a segment's place is another path.
        if ["", ".", ".."].contains(&chat.as_str()) {
            return Err(Rejection::UnusableId(chat.to_string()));
        }
        let ids = request.messages.iter().filter_map(|message| message.id.as_ref()).chain(&request.message_id);
        if too_long(chat.as_str()) {
            return Err(Rejection::LongId { what: "id", limit });
        }
        if ids.into_iter().any(|id| too_long(id.as_str())) {
            return Err(Rejection::LongId { what: "messages", limit });
        }
        Ok(())
    }

    async fn input(
        &self,
        subject: &Subject,
        chat: &ChatId,
        input: Input,
        channel: Channel,
    ) -> Result<Taken, RuntimeError> {
        // The one event that has both ids: that of the request, in its span, and that of the chat.
        tracing::info!(%chat, ?channel, "a request for a chat");
        let command = |until, reply| {
            let input = Box::new(input.clone());
            Command::Input { input, subject: subject.clone(), channel, until, reply }
        };
        self.inner.send(chat, command).await
    }

    /// The chat that a request is about.
    pub async fn chat_of(&self, subject: &Subject, request: &ChatRequest) -> Result<ChatId, RuntimeError> {
        if let Some(id) = &request.id {
            return Ok(id.clone());
        }
        for answer in request.messages.last().map(|message| message.answers()).unwrap_or_default() {
            let key = match &answer {
                Answer::Approval { approval_id, .. } => approval_id.as_str(),
                Answer::Result { tool_call_id, .. } => tool_call_id.as_str(),
            };
            if let Some(chat) = self.inner.log.find(subject, key).await.map_err(RuntimeError::Log)? {
                return Ok(chat);
            }
        }
        Ok(ChatId::from(&*format!("chat_{}", uuid::Uuid::now_v7().simple())))
    }

    /// A browser's ack.
    pub async fn ack(&self, subject: &Subject, ack: AckRequest, raw: Value) -> Result<Answered, RuntimeError> {
        let result =
            FrontendResult { status: ack.status, output: ack.output, error_text: ack.error_text, ack: Some(raw) };
        self.result(subject, ack.tool_call_id, result).await
    }

    /// A browser's result, by whatever way.
    pub async fn result(
        &self,
        subject: &Subject,
        call: ToolCallId,
        result: FrontendResult,
    ) -> Result<Answered, RuntimeError> {
        let found = self.inner.log.find(subject, call.as_str()).await.map_err(RuntimeError::Log)?;
        let Some(chat) = found else { return Ok(Answered::Unknown) };
        self.answered(subject, &chat, Input::Result { call, result: Arc::new(result) }).await
    }

    /// A person's decision, from the inbox.
    pub async fn decide(
        &self,
        subject: &Subject,
        approval: ApprovalId,
        decision: impl Into<DecisionRequest>,
    ) -> Result<Answered, RuntimeError> {
        let found = self.inner.log.find(subject, approval.as_str()).await.map_err(RuntimeError::Log)?;
        let Some(chat) = found else { return Ok(Answered::Unknown) };
        self.answered(subject, &chat, Input::Decide { approval, decision: decision.into(), by: subject.clone() }).await
    }

    async fn answered(&self, subject: &Subject, chat: &ChatId, input: Input) -> Result<Answered, RuntimeError> {
        match self.input(subject, chat, input, Channel::Inbox).await {
            Ok(Taken { reply: Reply::Answered(answered), .. }) => Ok(answered),
            Ok(_) | Err(RuntimeError::NotFound) => Ok(Answered::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Stops the turn of a chat, if one runs or waits.
    pub async fn stop(&self, subject: &Subject, chat: &ChatId, reason: Option<String>) -> Result<(), RuntimeError> {
        self.input(subject, chat, Input::Stop { reason }, Channel::Inbox).await.map(drop)
    }

    /// Looks at a chat from a live connection. A chat that does not exist yet is looked at from its beginning.
    pub async fn live(&self, subject: &Subject, chat: &ChatId, view: View) -> Result<LiveStream, RuntimeError> {
        let live = LiveStream::new(self.reader(subject, chat, true).await?, subject.clone(), view);
        // A turn that stands still after an expiry that nobody saw goes on: now somebody is here.
        match self.input(subject, chat, Input::GoOn, Channel::Live).await {
            Ok(_) | Err(RuntimeError::NotFound) => Ok(live),
            Err(error) => Err(error),
        }
    }

    /// The same, from now on: nothing that happened before is shown.
    pub async fn live_from_now(
        &self,
        subject: &Subject,
        chat: &ChatId,
        view: View,
    ) -> Result<LiveStream, RuntimeError> {
        Ok(LiveStream::joining(self.reader(subject, chat, true).await?, subject.clone(), view))
    }

    async fn reader(&self, subject: &Subject, chat: &ChatId, may_be_new: bool) -> Result<FeedReader, RuntimeError> {
        self.inner.send(chat, |_, reply| Command::Read { subject: subject.clone(), may_be_new, reply }).await
    }

    /// Takes up the answer that is being written, in the ai-sdk profile: the whole message from its beginning, then what comes. With
    /// [`Resume::Segment`], the response that is open now, as whoever asked for it gets it. `None` when nothing is being written.
    pub async fn resume(
        &self,
        subject: &Subject,
        chat: &ChatId,
        view: View,
        resume: Resume,
    ) -> Result<Option<ResponseStream>, RuntimeError> {
        match self.reader(subject, chat, true).await {
            Ok(reader) => Ok(ResponseStream::resume(reader, view, resume)),
            // Nobody learns here whether somebody else has a chat of this name.
            Err(RuntimeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a subject has a chat of this name. `false` where the log can't say.
    pub async fn knows(&self, subject: &Subject, chat: &ChatId) -> bool {
        let head = self.inner.log.head(chat).await;
        head.is_ok_and(|head| head.is_some_and(|(_, head)| head.subject == *subject))
    }

    /// A chat as it stands.
    pub async fn open(&self, subject: &Subject, chat: &ChatId) -> Result<StoredChat, RuntimeError> {
        Ok(StoredChat(self.reader(subject, chat, false).await?))
    }

    /// The stored messages.
    pub async fn messages(&self, subject: &Subject, chat: &ChatId) -> Result<Vec<UiMessage>, RuntimeError> {
        Ok(self.open(subject, chat).await?.messages())
    }

    /// The calls of a chat that wait or waited for somebody, and what was decided about them.
    pub async fn holds_of(
        &self,
        subject: &Subject,
        chat: &ChatId,
        listed: Listed,
    ) -> Result<Vec<ChatHold>, RuntimeError> {
        Ok(self.open(subject, chat).await?.holds(listed))
    }

    /// A subject's chats, the last changed first.
    pub async fn chats(&self, subject: &Subject) -> Result<Vec<ChatSummary>, RuntimeError> {
        let mut chats = Vec::new();
        let mut query = HeadQuery { subject: Some(subject.clone()), ..HeadQuery::default() };
        loop {
            let page = self.inner.log.heads(query.clone(), 1000).await.map_err(RuntimeError::Log)?;
            let Some((last, ..)) = page.last() else { break };
            query.after = Some(last.clone());
            for (id, _, head) in page {
                let HeadData { title, is_running, holds } = load::head(&self.inner, &id, &head).await;
                chats.push(ChatSummary { id, title, updated_at: head.updated_at, holds: holds.len(), is_running });
            }
        }
        chats.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id)));
        Ok(chats)
    }

    /// Deletes a chat and all that happened in it.
    pub async fn delete(&self, subject: &Subject, chat: &ChatId) -> Result<(), RuntimeError> {
        self.inner.send(chat, |_, reply| Command::Delete { subject: subject.clone(), reply }).await
    }

    /// What waits for a subject's approval, oldest first.
    pub fn approvals(&self, subject: &Subject) -> Vec<PendingApproval> {
        self.inner.holds.approvals(subject)
    }

    /// How many bytes the inputs of what waits for a subject's approval have.
    pub fn approvals_bytes(&self, subject: &Subject) -> usize {
        self.inner.holds.approvals_bytes(subject)
    }

    /// Which chats and approvals of a subject changed, from now on. Lossy.
    pub fn changes(&self, subject: &Subject) -> broadcast::Receiver<Change> {
        self.inner.holds.changes.of(subject)
    }

    /// The tools on offer.
    pub fn tools(&self) -> ToolSet {
        self.inner.tools()
    }

    /// Offers other tools from now on. Calls that were made before keep what they were made with, but for the handler.
    pub fn set_tools(&self, tools: ToolSet) {
        self.inner.tools.send_replace(tools);
    }

    /// Where time comes from.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// Lets running turns finish or come to a hold, for as long as `grace`, then stops everything. What was cut off is taken up when the
    /// server starts again.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.tasks.close();
        self.inner.ending.cancel();
        let deadline = self.inner.clock.now().after(grace);
        tokio::select! {
            () = self.inner.tasks.wait() => {}
            () = self.inner.clock.sleep_until(deadline) => {}
        }
        self.inner.closing.cancel();
    }
}
