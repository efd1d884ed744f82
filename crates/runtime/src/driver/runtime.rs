//! The runtime's handle: cheap to clone, and the owner of every task.

use std::sync::Arc;

use holdpoint_protocol::{
    holds::ChatHold,
    ids::{ChatId, ToolCallId},
    message::UiMessage,
    request::{AckRequest, Answer, ChatRequest},
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Limits, LiveStream, LiveTaken, ResponseStream, RuntimeBuilder, RuntimeError, StoredChat,
    agent::AgentChoice,
    awake::AwakeChats,
    changes::{ChangeChannels, Changes},
    chat::{Command, Taken},
    counters::Counters,
    feed::FeedReader,
    footprint::Footprints,
    lease::Lease,
    lists::HoldCountCache,
    recovery::ToRecover,
    running::Running,
    secrets::ServerSecrets,
    shown::Shown,
    tickets,
};
use holdpoint_core::is_unseen;

use crate::{
    clock::{Clock, SharedClock, Timestamp},
    fact::{CallOrder, NextTurn},
    identity::Identity,
    log::{Found, NodeId, Store, Stored},
    metrics::Metrics,
    model::Model,
    subject::Subject,
    tool::{Tool, ToolSet},
    turn::{Answered, FrontendResult, Input, Rejection, Reply, Submit},
    wire::{AdkSse, AiSdk, Channel, Listed, Profile, Projection, Resume, View, earlier},
};

/// Agents whose turns stop at holds.
#[derive(Clone)]
pub struct Runtime {
    pub(super) inner: Arc<Inner>,
    /// Every task ends when the last handle is dropped.
    _owner: Arc<DropGuard>,
}

pub(super) struct Inner {
    pub(super) log: Arc<dyn Store>,
    pub(super) secrets: ServerSecrets,
    pub(super) tools: watch::Sender<ToolSet>,
    /// The tool that asks whether to go on when the token budget is used up, if there is one.
    pub(super) budget_tool: Option<Tool>,
    pub(super) model: Arc<dyn Model>,
    pub(super) agents: Option<AgentChoice>,
    pub(super) clock: Arc<dyn Clock>,
    /// The same, if several nodes share one.
    pub(super) shared_clock: Option<Arc<SharedClock>>,
    pub(super) limits: Limits,
    /// This node, the owner of the chats in which it runs something.
    pub(super) node: NodeId,
    pub(super) running: Arc<Running>,
    pub(super) changes: ChangeChannels,
    /// Signalled when holds have opened or closed.
    pub(super) holds_changed: Notify,
    pub(super) hold_counts: HoldCountCache,
    pub(super) footprints: Footprints,
    pub(super) metrics: Metrics,
    pub(super) counters: Counters,
    /// One piece of heavy work at a time: others have the remaining processors.
    pub(super) heavy: tokio::sync::Semaphore,
    pub(super) lease: Lease,
    /// The queue of chats to recover.
    pub(super) to_recover: mpsc::UnboundedSender<ToRecover>,
    /// Chats that are awake.
    pub(super) chats: AwakeChats,
    pub(super) tasks: TaskTracker,
    /// Cancelled to end the tasks of chats that only wait, even if they are followed.
    pub(super) ending: CancellationToken,
    /// The parent of every running tool's cancellation.
    pub(super) cancelling: CancellationToken,
    /// Cancelled to end every task at once. Unfinished work is recovered at the next start.
    pub(super) closing: CancellationToken,
}

impl Inner {
    /// The available tools. Cheap.
    pub(super) fn tools(&self) -> ToolSet {
        self.tools.borrow().clone()
    }

    /// Waits for a tool that is not listed yet. `None` if its server does not list it, or not in time.
    pub(super) async fn tool_to_come(&self, name: &str, origin: Option<&str>) -> Option<Tool> {
        let timeout = self.tools().catalog().pending_timeout(origin)?;
        let mut offered = self.tools.subscribe();
        let is_decided = |tools: &ToolSet| {
            tools.of_origin(name, origin).is_some() || tools.catalog().pending_timeout(origin).is_none()
        };
        let decided = tokio::time::timeout(timeout, offered.wait_for(is_decided)).await.ok()?.ok()?;
        decided.of_origin(name, origin).cloned()
    }
}

impl Runtime {
    /// A builder. Every chat talks to this model, unless [`RuntimeBuilder::agent_for`] chooses another.
    pub fn builder(model: Arc<dyn Model>) -> RuntimeBuilder {
        RuntimeBuilder::new(model)
    }

    pub(super) fn own(inner: Arc<Inner>) -> Self {
        let owner = Arc::new(inner.closing.clone().drop_guard());
        Self { inner, _owner: owner }
    }

    /// Takes a chat request and returns its response. A request without a chat id goes to the chat of the calls that
    /// its last message answers, or else to a new chat.
    pub async fn submit(
        &self,
        by: impl Into<Identity>,
        request: ChatRequest,
        view: View,
    ) -> Result<(ChatId, ResponseStream), RuntimeError> {
        let by = by.into();
        let subject = &by.subject().clone();
        let chat = self.chat_of(subject, &request).await?;
        let taken = self.input_request(by, &chat, request, CallOrder::Together, view, view.channel).await?;
        let Reply::Response(plan) = taken.reply else { return Err(Rejection::NothingToDo.into()) };
        if let Some(about) = &plan.earlier {
            let chunks = earlier(about, &plan, view.profile, self.inner.model_of(&chat, subject).version());
            return Ok((chat, ResponseStream::whole(chunks)));
        }
        let projection: Box<dyn Projection> = match view.profile {
            Profile::Adk => Box::new(AdkSse::new(view)),
            Profile::AiSdk => Box::new(AiSdk::new(view)),
        };
        Ok((chat, ResponseStream::new(taken.reader.of_response(subject), projection, plan)))
    }

    /// Like `submit`, for a connection that already follows the chat.
    pub async fn submit_live(
        &self,
        by: impl Into<Identity>,
        chat: &ChatId,
        request: ChatRequest,
        view: View,
    ) -> Result<LiveTaken, RuntimeError> {
        let by = by.into();
        let subject = &by.subject().clone();
        let taken = self.input_request(by, chat, request, CallOrder::OneByOne, view, Channel::Live).await?;
        let Taken { reply, is_new, .. } = taken;
        let Reply::Response(plan) = reply else { return Err(Rejection::NothingToDo.into()) };
        let model = self.inner.model_of(chat, subject);
        let earlier = plan.earlier.as_ref().map(|about| earlier(about, &plan, view.profile, model.version()));
        Ok(LiveTaken { plan, is_new, earlier })
    }

    async fn input_request(
        &self,
        by: Identity,
        chat: &ChatId,
        request: ChatRequest,
        order: CallOrder,
        view: View,
        channel: Channel,
    ) -> Result<Taken, RuntimeError> {
        let subject = &by.subject().clone();
        let holds_text = view.profile == Profile::Adk
            && !view.is_progressive
            && self.inner.tools_of(chat, subject).catalog().may_need_approval();
        let next = NextTurn { order, holds_text, is_resubmit: view.is_resubmit };
        self.check_ids(chat, &request)?;
        let submit = Submit { request, by, next };
        let taken = self.input(subject, chat, Input::Submit(Arc::new(submit)), channel).await?;
        match taken.reply {
            Reply::Rejected(rejection) => Err(rejection.into()),
            _ => Ok(taken),
        }
    }

    /// Client ids are stored, looked up and shown, so their length is limited, and every character of them is seen.
    fn check_ids(&self, chat: &ChatId, request: &ChatRequest) -> Result<(), Rejection> {
        let limit = self.inner.limits.id_bytes;
        let too_long = |id: &str| id.len() > limit;
        // In a URL, `.` and `..` are not names.
        if ["", ".", ".."].contains(&chat.as_str()) {
            return Err(Rejection::UnusableId(chat.to_string()));
        }
        let ids = request.messages.iter().filter_map(|message| message.id.as_ref()).chain(&request.message_id);
        if too_long(chat.as_str()) {
            return Err(Rejection::LongId { what: "id", limit });
        }
        if ids.clone().any(|id| too_long(id.as_str())) {
            return Err(Rejection::LongId { what: "messages", limit });
        }
        let is_unseen = |id: &str| id.chars().any(is_unseen);
        if is_unseen(chat.as_str()) {
            return Err(Rejection::UnseenId { what: "id" });
        }
        if ids.into_iter().any(|id| is_unseen(id.as_str())) {
            return Err(Rejection::UnseenId { what: "messages" });
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
        self.input_shown(subject, chat, input, channel, None).await
    }

    async fn input_shown(
        &self,
        subject: &Subject,
        chat: &ChatId,
        input: Input,
        channel: Channel,
        shown: Option<Shown>,
    ) -> Result<Taken, RuntimeError> {
        // This event alone has both ids: the request's, in its span, and the chat's.
        tracing::info!(%chat, ?channel, "a request for a chat");
        let command = |until, reply| {
            let input = Box::new(input.clone());
            Command::Input { input, subject: subject.clone(), channel, shown: shown.clone(), until, reply }
        };
        self.inner.send(chat, command).await
    }

    /// The chat that a request belongs to.
    pub async fn chat_of(&self, subject: &Subject, request: &ChatRequest) -> Result<ChatId, RuntimeError> {
        if let Some(id) = &request.id {
            return Ok(id.clone());
        }
        for answer in request.messages.last().map(|message| message.answers()).unwrap_or_default() {
            let key = match &answer {
                Answer::Approval { approval_id, .. } => approval_id.as_str(),
                Answer::Result { tool_call_id, .. } => tool_call_id.as_str(),
            };
            if let Some(found) = self.inner.log.find(subject, key).await.map_err(RuntimeError::Log)? {
                return Ok(found.chat);
            }
        }
        Ok(ChatId::from(&*format!("chat_{}", uuid::Uuid::now_v7().simple())))
    }

    /// Takes a browser's ack.
    pub async fn ack(&self, subject: &Subject, ack: AckRequest, raw: Value) -> Result<Answered, RuntimeError> {
        let result =
            FrontendResult { status: ack.status, output: ack.output, error_text: ack.error_text, ack: Some(raw) };
        self.take_result(subject, ack.tool_call_id, result, Channel::Inbox).await
    }

    /// Takes a browser's result from a live connection.
    pub async fn result(
        &self,
        subject: &Subject,
        call: ToolCallId,
        result: FrontendResult,
    ) -> Result<Answered, RuntimeError> {
        self.take_result(subject, call, result, Channel::Live).await
    }

    async fn take_result(
        &self,
        subject: &Subject,
        call: ToolCallId,
        result: FrontendResult,
        channel: Channel,
    ) -> Result<Answered, RuntimeError> {
        let found = self.inner.log.find(subject, call.as_str()).await.map_err(RuntimeError::Log)?;
        let Some(Found { chat, .. }) = found else { return Ok(Answered::Unknown) };
        self.answered(subject, &chat, Input::Result { call, result: Arc::new(result) }, channel, None).await
    }

    pub(super) async fn answered(
        &self,
        subject: &Subject,
        chat: &ChatId,
        input: Input,
        channel: Channel,
        shown: Option<Shown>,
    ) -> Result<Answered, RuntimeError> {
        match self.input_shown(subject, chat, input, channel, shown).await {
            Ok(Taken { reply: Reply::Answered(answered), .. }) => Ok(answered),
            Ok(_) | Err(RuntimeError::NotFound) => Ok(Answered::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Stops the open turn of a chat, if there is one.
    pub async fn stop(&self, subject: &Subject, chat: &ChatId, reason: Option<String>) -> Result<(), RuntimeError> {
        self.input(subject, chat, Input::Stop { reason }, Channel::Inbox).await.map(drop)
    }

    /// Follows a chat from a live connection. The chat need not exist yet.
    pub async fn live(&self, subject: &Subject, chat: &ChatId, view: View) -> Result<LiveStream, RuntimeError> {
        let live = LiveStream::new(self.response_reader(subject, chat).await?, subject.clone(), view);
        // The client has connected, so an idle turn resumes.
        match self.input(subject, chat, Input::ResumeIdle, Channel::Live).await {
            Ok(_) | Err(RuntimeError::NotFound) => Ok(live),
            Err(error) => Err(error),
        }
    }

    /// Like `live`, but shows only what happens from now on.
    pub async fn live_from_now(
        &self,
        subject: &Subject,
        chat: &ChatId,
        view: View,
    ) -> Result<LiveStream, RuntimeError> {
        Ok(LiveStream::joining(self.response_reader(subject, chat).await?, subject.clone(), view))
    }

    /// A reader for a response, which the chat need not exist for.
    async fn response_reader(&self, subject: &Subject, chat: &ChatId) -> Result<FeedReader, RuntimeError> {
        let mut reader = self.reader(subject, chat, true).await?.of_response(subject);
        if reader.has_room() { Ok(reader) } else { Err(RuntimeError::Busy) }
    }

    pub(super) async fn reader(
        &self,
        subject: &Subject,
        chat: &ChatId,
        may_be_new: bool,
    ) -> Result<FeedReader, RuntimeError> {
        self.inner.send(chat, |_, reply| Command::Read { subject: subject.clone(), may_be_new, reply }).await
    }

    /// Resumes the message that is being written, in the ai-sdk profile: the whole message from its `start`, then what
    /// follows. With [`Resume::Segment`], only the open segment. `None` if nothing is being written.
    pub async fn resume(
        &self,
        subject: &Subject,
        chat: &ChatId,
        view: View,
        resume: Resume,
    ) -> Result<Option<ResponseStream>, RuntimeError> {
        match self.response_reader(subject, chat).await {
            Ok(reader) => Ok(ResponseStream::resume(reader, view, resume)),
            // This must not reveal whether another subject has a chat with this id.
            Err(RuntimeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a subject owns a chat with this id. `false` if the log can't tell.
    pub async fn knows(&self, subject: &Subject, chat: &ChatId) -> bool {
        let stored = self.inner.log.stored(chat).await;
        matches!(stored, Ok(Some(Stored::Chat { head, .. })) if head.subject == *subject)
    }

    /// Opens a chat for reading.
    pub async fn open(&self, subject: &Subject, chat: &ChatId) -> Result<StoredChat, RuntimeError> {
        Ok(StoredChat(self.reader(subject, chat, false).await?))
    }

    /// The stored messages.
    pub async fn messages(&self, subject: &Subject, chat: &ChatId) -> Result<Vec<UiMessage>, RuntimeError> {
        self.open(subject, chat).await?.messages().await
    }

    /// The holds of a chat, open and past, with their decisions.
    pub async fn holds_of(
        &self,
        by: impl Into<Identity>,
        chat: &ChatId,
        listed: Listed,
    ) -> Result<Vec<ChatHold>, RuntimeError> {
        let by = by.into();
        self.open(by.subject(), chat).await?.holds(listed, &by).await
    }

    /// Changes to somebody's chats, and to the approval requests that they may decide, from now on. Lossy.
    pub fn changes(&self, by: impl Into<Identity>) -> Changes {
        self.inner.changes.of(&by.into())
    }

    /// The tools of chats without an agent of their own.
    pub fn tools(&self) -> ToolSet {
        self.inner.tools()
    }

    /// The tools of a chat of this subject.
    pub fn tools_of(&self, subject: &Subject, chat: &ChatId) -> ToolSet {
        self.inner.tools_of(chat, subject)
    }

    /// Replaces the tools. Existing calls keep the settings they were made with, except for the handler.
    pub fn set_tools(&self, tools: ToolSet) {
        self.inner.tools.send_replace(tools.with_budget(self.inner.budget_tool.as_ref()));
        self.model_warnings();
    }

    /// Keeps a ticket that every node that shares the log may redeem, once. The log gets a keyed digest of it. Returns `false`
    /// if no other node uses the log.
    pub async fn keep_ticket(
        &self,
        ticket: &str,
        identity: &Identity,
        expires: Timestamp,
    ) -> Result<bool, RuntimeError> {
        let row = tickets::row(&self.inner.secrets.tickets, ticket, identity, expires);
        self.inner.log.cluster().keep_ticket(row).await.map_err(RuntimeError::Log)
    }

    /// Redeems a ticket that a node has kept. A row that no node has written is none.
    pub async fn redeem_ticket(&self, ticket: &str) -> Result<Option<Identity>, RuntimeError> {
        let (key, now) = (&self.inner.secrets.tickets, self.inner.clock.now());
        let digest = tickets::digest(key, ticket);
        let data = self.inner.log.cluster().redeem_ticket(&digest, now).await.map_err(RuntimeError::Log)?;
        Ok(data.and_then(|data| tickets::identity(key, &digest, &data, now)))
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }
}
