//! `GET /live`: the adk profile over a WebSocket, one chat per connection.

use std::collections::HashSet;

use axum::{
    extract::{State, ws::Message},
    response::Response,
};
use futures::FutureExt;
use holdpoint_protocol::{
    chunk::{Chunk, Data, Error},
    ids::{ChatId, ToolCallId},
    json::Payload,
    live::{LiveFrame, Pong, ToolResult},
    message::{ClientMessage, Part, Role, ToolFields, ToolPart, ToolState},
    request::{AckStatus, ChatRequest, MAX_REASON_BYTES, Trigger},
    sse,
};
use holdpoint_runtime::{
    Identity, LiveStream, Next, RuntimeError,
    turn::{Answered, FrontendResult},
    wire::{Event, Profile, View},
};
use serde::Deserialize;
use serde_json::json;

use super::socket::{self, Came, Frames, Over, Read, Socket};
use crate::{
    app::Server,
    auth::{Caller, EXPIRED, expiry, require_user},
    metrics::StreamKind,
    openapi::TextHeader,
    request::{Failure, Parameters, Upgrade, shortened},
};

#[derive(Deserialize)]
pub(crate) struct LiveQuery {
    id: Option<String>,
    text: Option<String>,
}

/// Opens a WebSocket on one chat, in the adk profile.
///
/// The client sends JSON frames: `{"type":"message", …}` with the fields of a chat request,
/// `{"type":"tool_result","toolCallId","result"}`, `{"type":"interrupt"}`, `{"type":"ping","timestamp"}`. The server
/// sends one server-sent event per frame, and pongs.
#[utoipa::path(
    get,
    path = "/live",
    tag = "chat",
    operation_id = "live",
    params(
        ("id" = Option<String>, Query, description = "The chat: its open message is replayed. Without it, the first message says which."),
        ("text" = Option<TextHeader>, Query, description = "`progressive`: text is streamed as it comes."),
        ("ticket" = Option<String>, Query, description = "A ticket, where a browser can't send a key."),
    ),
    responses((status = 101, description = "The WebSocket is open.")),
)]
pub(crate) async fn get(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(parameters): Parameters<LiveQuery>,
    upgrade: Upgrade,
) -> Result<Response, Failure> {
    require_user(&identity)?;
    let is_progressive = parameters.text.as_deref() == Some("progressive");
    let view = View { profile: Profile::Adk, is_progressive, is_resubmit: false };
    let chat = parameters.id.as_deref().map(ChatId::from);
    socket::accept(server, &identity.clone(), StreamKind::Live, upgrade, move |server, socket, frames| {
        let unknown_kinds = HashSet::new();
        Connection { server, identity, view, chat, live: None, socket, unknown_kinds }.serve(frames)
    })
}

struct Connection {
    server: Server,
    identity: Identity,
    view: View,
    chat: Option<ChatId>,
    live: Option<LiveStream>,
    socket: Socket,
    /// Unknown frame types already reported to the client.
    unknown_kinds: HashSet<String>,
}

/// The chunk that tells something about the connection, and nothing about a turn: `data-holdpoint-notice`.
const NOTICE: &str = "holdpoint-notice";

/// The number of unknown frame types that do not count as abuse.
const MAX_UNKNOWN_KINDS: usize = 16;

impl Connection {
    async fn serve(mut self, mut frames: Frames) {
        let (draining, closing) = (self.server.inner.draining.clone(), self.server.inner.closing.clone());
        let mut expiry = expiry(&self.identity, &**self.server.inner.runtime.clock());
        if self.chat.is_some() && self.look().await.is_err() {
            return;
        }
        let mut written = Vec::new();
        loop {
            let is_draining = draining.is_cancelled();
            // A chat that is followed ends by itself once nothing runs in it.
            if is_draining && self.live.is_none() {
                self.socket.close(1001, "the server is shutting down").await;
                return;
            }
            let went = tokio::select! {
                came = frames.next() => match came {
                    Came::Frame(frame) => self.frame(frame).await,
                    Came::Silence => self.socket.ping().await,
                    Came::Broken(error) => Err(self.broken(&error).await),
                    Came::End => Err(Over),
                },
                next = next(&mut self.live, &mut written) => self.write(next, &mut written).await,
                () = draining.cancelled(), if !is_draining => Ok(()),
                () = closing.cancelled() => Err(self.last_words().await),
                () = &mut expiry => Err(self.expired().await),
            };
            if went.is_err() {
                return;
            }
        }
    }

    /// Handles a failed socket. Nothing after a message that cannot be read is taken.
    async fn broken(&mut self, error: &axum::Error) -> Over {
        match self.socket.unreadable(error) {
            Some(message) => match self.error(&message.why).await {
                Ok(()) => self.socket.close_unreadable(&message).await,
                Err(over) => over,
            },
            None => Over,
        }
    }

    /// Follows the chat.
    async fn look(&mut self) -> Result<(), Over> {
        let Some(chat) = &self.chat else { return Ok(()) };
        match self.server.inner.runtime.live(&self.identity).follow(chat, self.view).await {
            Ok(live) => self.live = Some(live),
            Err(error) => return Err(self.refuse(error).await),
        }
        Ok(())
    }

    async fn refuse(&mut self, error: RuntimeError) -> Over {
        match self.error(&Failure::from(error).to_string()).await {
            Ok(()) => self.socket.close(1008, "this chat can't be opened").await,
            Err(over) => over,
        }
    }

    /// Sends the rest during a shutdown, when the turn has ended or reached a hold.
    async fn last_words(&mut self) -> Over {
        let mut written = Vec::new();
        while self.live.is_some() && next(&mut self.live, &mut written).await == Next::More {
            if self.write(Next::More, &mut written).await.is_err() {
                return Over;
            }
        }
        self.socket.close(1001, "the server is shutting down").await
    }

    /// Ends the connection because its login has ended.
    async fn expired(&mut self) -> Over {
        match self.error(EXPIRED).await {
            Ok(()) => self.socket.close_expired().await,
            Err(over) => over,
        }
    }

    /// Sends the ready output and flushes once.
    async fn write(&mut self, next: Next, written: &mut Vec<Event>) -> Result<(), Over> {
        for written in written.drain(..) {
            let mut records = Vec::new();
            match written.into_chunks() {
                Some(chunks) => chunks.for_each(|chunk| {
                    let mut record = Vec::new();
                    sse::encode(&chunk, &mut record);
                    records.push(record);
                }),
                None => {
                    let mut done = Vec::new();
                    sse::encode_done(&mut done);
                    records.push(done);
                }
            }
            for record in records {
                self.socket.feed(record).await?;
            }
        }
        self.socket.flush().await?;
        match next {
            Next::Gone => Err(self.socket.close(1012, "this chat has moved: connect again").await),
            Next::Deleted => Err(self.socket.close(1008, "this chat was deleted").await),
            Next::More | Next::End => Ok(()),
        }
    }

    async fn error(&mut self, text: &str) -> Result<(), Over> {
        self.record(&Error { error_text: shortened(text.to_owned()) }.into()).await
    }

    async fn record(&mut self, chunk: &Chunk) -> Result<(), Over> {
        let mut record = Vec::new();
        sse::encode(chunk, &mut record);
        self.socket.feed(record).await?;
        self.socket.flush().await
    }

    async fn frame(&mut self, frame: Message) -> Result<(), Over> {
        let (frame, _held): (LiveFrame, _) = match self.socket.read(frame).await? {
            Read::Is(frame, held) => (frame, held),
            Read::Bad(text, why, _held) => {
                return match LiveFrame::unknown_kind(&text) {
                    Some(kind) => self.unknown(kind).await,
                    None => self.bad(&why).await,
                };
            }
            Read::Nothing => return Ok(()),
        };
        match frame {
            LiveFrame::Message(request) => self.message(request).await,
            LiveFrame::ToolResult(result) => self.result(result).await,
            LiveFrame::Interrupt { reason: Some(reason) } if reason.len() > MAX_REASON_BYTES => {
                self.error(&format!("`reason` is longer than {MAX_REASON_BYTES} bytes: shorten it")).await
            }
            LiveFrame::Interrupt { reason } => {
                if let Some(chat) = &self.chat
                    && let Err(error) =
                        self.server.inner.runtime.chats(self.identity.subject()).stop(chat, reason).await
                {
                    return self.error(&Failure::from(error).to_string()).await;
                }
                Ok(())
            }
            LiveFrame::Ping { timestamp } => {
                // Send the ready output first: after a pong, nothing older is under way.
                let mut written = Vec::new();
                while let Some(next) = next(&mut self.live, &mut written).now_or_never() {
                    self.write(next, &mut written).await?;
                }
                let mut pong = Vec::new();
                sse::encode_json(&Pong { timestamp }, &mut pong);
                self.socket.feed(pong).await?;
                self.socket.flush().await
            }
        }
    }

    /// Handles a frame of an unknown type. Clients of other servers send such frames all the time, so each type is
    /// reported once and does not count as abuse. A client takes an `error` for the failure of its open turn, so it gets
    /// a notice.
    async fn unknown(&mut self, kind: String) -> Result<(), Over> {
        if self.unknown_kinds.contains(&kind) {
            return Ok(());
        }
        let text = format!("frames of type {kind:?} are not known here, and are ignored");
        if self.unknown_kinds.len() >= MAX_UNKNOWN_KINDS {
            return self.bad(&text).await;
        }
        let data = Payload::from(json!({"message": text, "frame": kind}));
        self.unknown_kinds.insert(kind);
        let notice = Data { name: NOTICE.to_owned(), id: None, data, transient: Some(true) };
        self.record(&notice.into()).await
    }

    /// Handles an invalid frame.
    async fn bad(&mut self, text: &str) -> Result<(), Over> {
        self.error(text).await?;
        self.socket.was_bad().await
    }

    async fn message(&mut self, mut request: ChatRequest) -> Result<(), Over> {
        match (&self.chat, &request.id) {
            (Some(chat), Some(id)) if chat != id => {
                return self.bad("this connection is for another chat: open one for each").await;
            }
            (Some(chat), _) => request.id = Some(chat.clone()),
            (None, _) => {
                let found = self.server.inner.runtime.chats(self.identity.subject()).chat_of(&request).await;
                let chat = match found {
                    Ok(chat) => chat,
                    Err(error) => return self.error(&Failure::from(error).to_string()).await,
                };
                request.id = Some(chat.clone());
                self.chat = Some(chat);
            }
        }
        let Some(chat) = self.chat.clone() else { return Ok(()) };
        let runtime = self.server.inner.runtime.clone();
        if self.live.is_none() {
            match runtime.live(&self.identity).follow_from_now(&chat, self.view).await {
                Ok(live) => self.live = Some(live),
                Err(error) => return Err(self.refuse(error).await),
            }
        }
        match runtime.live(&self.identity).submit(&chat, request, self.view).await {
            Ok(taken) => {
                let mut written = Vec::new();
                if let Some(live) = &mut self.live
                    && !live.respond(taken, &mut written)
                {
                    return self.bad("this request is being answered: wait for the response").await;
                }
                self.write(Next::More, &mut written).await
            }
            Err(error) => self.error(&Failure::from(error).to_string()).await,
        }
    }

    async fn result(&mut self, result: ToolResult) -> Result<(), Over> {
        let ToolResult { tool_call_id, result, error_text } = result;
        let status = if error_text.is_some() { AckStatus::Failed } else { AckStatus::Success };
        let result = FrontendResult { status, output: result, error_text, ack: None };
        let in_message = in_message(tool_call_id.clone(), &result);
        match self.server.inner.runtime.live(&self.identity).result(tool_call_id, result).await {
            Ok(Answered::Taken | Answered::Again | Answered::NotAwaited) => Ok(()),
            // The client shows its own result, and gets what is in force and what followed.
            Ok(Answered::Contradicts | Answered::TooLate(_)) => self.message(in_message).await,
            Ok(Answered::InvalidValue(error)) => self.error(&format!("the result can't be used: {error}")).await,
            Ok(Answered::UnfitAnswer { text, .. }) => {
                self.error(&format!("the result does not answer the prompt: {text}")).await
            }
            Ok(Answered::NeedsApproval) => self.error("this call waits for its approval: approval-required").await,
            // All but the last are of decisions.
            Ok(
                Answered::InvalidInput(_)
                | Answered::UnfitInput { .. }
                | Answered::NotAllowed(_)
                | Answered::Remembered(_)
                | Answered::NotRemembered(_)
                | Answered::NotTheirs
                | Answered::Voted { .. }
                | Answered::Unknown,
            ) => self.error("there is no such call to give a result for").await,
            Err(error) => self.error(&Failure::from(error).to_string()).await,
        }
    }
}

/// The same result in a message, which gets a response.
fn in_message(tool_call_id: ToolCallId, result: &FrontendResult) -> ChatRequest {
    let state = if result.error_text.is_some() { ToolState::OutputError } else { ToolState::OutputAvailable };
    let (output, error_text) = (result.output.clone(), result.error_text.clone());
    let fields = ToolFields { output, error_text, ..ToolFields::default() };
    let part = ToolPart { name: "any".to_owned(), dynamic: true, tool_call_id, state, fields };
    let message = ClientMessage { id: None, role: Role::User, metadata: None, parts: vec![Part::Tool(Box::new(part))] };
    ChatRequest { id: None, messages: vec![message], trigger: Trigger::SubmitMessage, message_id: None }
}

async fn next(live: &mut Option<LiveStream>, out: &mut Vec<Event>) -> Next {
    match live {
        Some(live) => live.next(out).await,
        None => std::future::pending().await,
    }
}
