//! The runtime's handle: cheap to clone, and the owner of every task.

use std::sync::Arc;

use holdpoint_protocol::{
    ids::{ChatId, ToolCallId},
    request::ChatRequest,
};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    Limits, ResponseStream, RuntimeBuilder, RuntimeError,
    agent::AgentChoice,
    awake::AwakeChats,
    changes::{ChangeChannels, Changes},
    command::{Command, Taken},
    counters::Counters,
    feed::FeedReader,
    footprint::Footprints,
    lease::Lease,
    lists::HoldCountCache,
    recovery::ToRecover,
    running::Running,
    secrets::ServerSecrets,
    shown::Shown,
};
use holdpoint_core::is_unseen;

use crate::{
    clock::{Clock, SharedClock},
    fact::{CallOrder, NextTurn},
    identity::Identity,
    log::{Found, NodeId, Store},
    metrics::Metrics,
    model::Model,
    subject::Subject,
    tool::{Tool, ToolOrigin, ToolSet},
    turn::{Answered, FrontendResult, Input, Rejection, Reply, Submit},
    wire::{Channel, View, earlier},
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
    pub(super) async fn tool_to_come(&self, name: &str, origin: Option<&ToolOrigin>) -> Option<Tool> {
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
        self.submit_through(Channel::Chat, by, request, view).await
    }

    /// Like [`submit`](Self::submit), for a server with several endpoints: the metrics count the decisions of each.
    pub async fn submit_through(
        &self,
        channel: Channel,
        by: impl Into<Identity>,
        request: ChatRequest,
        view: View,
    ) -> Result<(ChatId, ResponseStream), RuntimeError> {
        let by = by.into();
        let subject = &by.subject().clone();
        let chat = self.chats(subject).chat_of(&request).await?;
        let taken = self.inner.input_request(by, &chat, request, CallOrder::Together, view, channel).await?;
        let Some(plan) = taken.plan else { return Err(Rejection::NothingToDo.into()) };
        if let Some(about) = &plan.earlier {
            let events = earlier(about, &plan, view.profile, self.inner.model_of(&chat, subject).name());
            return Ok((chat, ResponseStream::whole(events)));
        }
        Ok((chat, ResponseStream::new(taken.reader.of_response(subject), view.projection(), plan)))
    }

    /// Changes to somebody's chats, and to the approval requests that they may decide, from now on. Lossy.
    pub fn changes(&self, by: impl Into<Identity>) -> Changes {
        self.inner.changes.of(&by.into())
    }

    /// The tools of chats without an agent of their own.
    pub fn tools(&self) -> ToolSet {
        self.inner.tools()
    }

    /// Replaces the tools. Existing calls keep the settings they were made with, except for the handler.
    pub fn set_tools(&self, tools: ToolSet) {
        self.inner.tools.send_replace(tools.with_budget(self.inner.budget_tool.as_ref()));
        self.admin().model_warnings();
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }
}

impl Inner {
    pub(super) async fn input_request(
        self: &Arc<Self>,
        by: Identity,
        chat: &ChatId,
        request: ChatRequest,
        order: CallOrder,
        view: View,
        channel: Channel,
    ) -> Result<Taken, RuntimeError> {
        let subject = &by.subject().clone();
        let next = NextTurn { order, holds_text: view.holds_text(), is_resubmit: view.is_resubmit };
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
        let limit = self.limits.id_bytes;
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

    pub(super) async fn input(
        self: &Arc<Self>,
        subject: &Subject,
        chat: &ChatId,
        input: Input,
        channel: Channel,
    ) -> Result<Taken, RuntimeError> {
        self.input_shown(subject, chat, input, channel, None).await
    }

    async fn input_shown(
        self: &Arc<Self>,
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
        self.send(chat, command).await
    }

    /// Gives a call the result that a browser reports.
    pub(super) async fn take_result(
        self: &Arc<Self>,
        subject: &Subject,
        call: ToolCallId,
        result: FrontendResult,
        channel: Channel,
    ) -> Result<Answered, RuntimeError> {
        let found = self.log.find(subject, call.as_str()).await.map_err(RuntimeError::Log)?;
        let Some(Found { chat, .. }) = found else { return Ok(Answered::Unknown) };
        self.answered(subject, &chat, Input::Result { call, result: Arc::new(result) }, channel, None).await
    }

    pub(super) async fn answered(
        self: &Arc<Self>,
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

    /// A reader for a response, which the chat need not exist for.
    pub(super) async fn response_reader(
        self: &Arc<Self>,
        subject: &Subject,
        chat: &ChatId,
    ) -> Result<FeedReader, RuntimeError> {
        let mut reader = self.reader(subject, chat, true).await?.of_response(subject);
        if reader.has_room() { Ok(reader) } else { Err(RuntimeError::Busy) }
    }

    pub(super) async fn reader(
        self: &Arc<Self>,
        subject: &Subject,
        chat: &ChatId,
        may_be_new: bool,
    ) -> Result<FeedReader, RuntimeError> {
        self.send(chat, |_, reply| Command::Read { subject: subject.clone(), may_be_new, reply }).await
    }
}
