//! `GET /api/chat/ws`: the protocol of the SDK's own `WebSocketChatTransport` (`ai` 7). A connection carries many
//! requests, each answered by `start`, numbered chunks and `end`.

use axum::{
    extract::{State, ws::Message},
    response::Response,
};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use holdpoint_protocol::{
    chunk::{Chunk, Chunks},
    ids::{ChatId, RequestId},
    sse::encode_json,
    websocket::{WsRequest, WsResponse, WsResume, WsSend},
};
use holdpoint_runtime::{
    Channel, Identity, Next, ResponseStream, gone_chunks, gone_message,
    wire::{Profile, Resume, View},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    socket::{self, Came, Frames, Over, Read, Socket},
    turn::{WAIT, view},
};
use crate::{
    app::{Server, StreamPlace},
    auth::{Caller, EXPIRED, expiry, require_user},
    metrics::StreamKind,
    openapi::WaitHeader,
    request::{Failure, Parameters, Upgrade, shortened},
};

/// The query of the handshake. A browser can't send headers with it, so `wait` stands in for `x-holdpoint-wait`.
#[derive(Deserialize)]
pub(crate) struct SocketQuery {
    wait: Option<String>,
}

/// Opens a WebSocket for the SDK's `WebSocketChatTransport` (`ai` 7).
///
/// The client sends `send`, `resume` and `abort`; the server answers with `start`, `chunk` (with `sequence`), `end`,
/// `error` and `no-active`, each with the `requestId`.
#[utoipa::path(
    get,
    path = "/api/chat/ws",
    tag = "chat",
    operation_id = "chatSocket",
    params(
        ("wait" = Option<WaitHeader>, Query, description = "What `x-holdpoint-wait` says over HTTP."),
        ("ticket" = Option<String>, Query, description = "A ticket, where a browser can't send a key."),
    ),
    responses((status = 101, description = "The WebSocket is open.")),
)]
pub(crate) async fn get(
    State(server): State<Server>,
    Caller(identity): Caller,
    Parameters(parameters): Parameters<SocketQuery>,
    upgrade: Upgrade,
) -> Result<Response, Failure> {
    require_user(&identity)?;
    socket::accept(server, &identity.clone(), StreamKind::Ws, upgrade, move |server, socket, frames| {
        let (responses, active) = (FuturesUnordered::new(), Vec::new());
        Connection { server, identity, wait: parameters.wait, socket, responses, active }.serve(frames)
    })
}

struct Connection {
    server: Server,
    identity: Identity,
    /// The `wait` of the handshake. A request's own `x-holdpoint-wait` takes precedence.
    wait: Option<String>,
    socket: Socket,
    /// The open responses: each future yields the next chunks of one.
    responses: FuturesUnordered<BoxFuture<'static, NextChunks>>,
    /// The chat of each open response.
    active: Vec<(RequestId, ChatId)>,
}

/// One response.
struct OpenResponse {
    request: RequestId,
    response: ResponseStream,
    sequence: u64,
    /// The sequence number to begin with. The client has the chunks before it.
    from: u64,
    _place: StreamPlace,
}

/// The next chunks of a response.
struct NextChunks {
    open: OpenResponse,
    chunks: Vec<Chunks>,
    next: Next,
}

impl Connection {
    async fn serve(mut self, mut frames: Frames) {
        let (draining, closing) = (self.server.inner.draining.clone(), self.server.inner.closing.clone());
        let mut expiry = expiry(&self.identity, &**self.server.inner.runtime.clock());
        loop {
            let is_draining = draining.is_cancelled();
            if is_draining && self.responses.is_empty() {
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
                Some(next_chunks) = self.responses.next(), if !self.responses.is_empty() => self.write(next_chunks).await,
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
            // It is unknown which request it was.
            Some(message) => match self.fail(RequestId::from(""), message.why.clone()).await {
                Ok(()) => self.socket.close_unreadable(&message).await,
                Err(over) => over,
            },
            None => Over,
        }
    }

    /// Sends the rest of every response during a shutdown, when each turn has ended or reached a hold.
    async fn last_words(&mut self) -> Over {
        while let Some(next_chunks) = self.responses.next().await {
            if self.write(next_chunks).await.is_err() {
                return Over;
            }
        }
        self.socket.close(1001, "the server is shutting down").await
    }

    /// Ends the connection, and every response on it, because its login has ended.
    async fn expired(&mut self) -> Over {
        for (request, _) in std::mem::take(&mut self.active) {
            if let Err(over) = self.fail(request, EXPIRED.to_owned()).await {
                return over;
            }
        }
        self.socket.close_expired().await
    }

    /// Sends the ready chunks and flushes once.
    async fn write(&mut self, next_chunks: NextChunks) -> Result<(), Over> {
        let NextChunks { mut open, chunks, next } = next_chunks;
        let mut ready: Vec<Chunk> = Vec::new();
        chunks.into_iter().for_each(|chunks| chunks.for_each(|chunk| ready.push(chunk)));
        if let Some(message) = gone_message(next) {
            match gone_chunks(message, open.sequence > 0 || !ready.is_empty()) {
                Some(chunks) => ready.extend(chunks),
                None => {
                    self.active.retain(|(request, _)| *request != open.request);
                    return self.fail(open.request, message.to_owned()).await;
                }
            }
        }
        for chunk in ready {
            let sequence = open.sequence;
            open.sequence += 1;
            if sequence >= open.from {
                self.feed(&WsResponse::Chunk { request_id: open.request.clone(), sequence, chunk }).await?;
            }
        }
        if next == Next::More {
            self.follow(open);
        } else {
            self.active.retain(|(request, _)| *request != open.request);
            self.feed(&WsResponse::End { request_id: open.request }).await?;
        }
        self.socket.flush().await
    }

    fn follow(&mut self, mut open: OpenResponse) {
        self.responses.push(Box::pin(async move {
            let mut chunks = Vec::new();
            let next = open.response.read(&mut chunks).await;
            NextChunks { open, chunks, next }
        }));
    }

    async fn feed(&mut self, frame: &WsResponse) -> Result<(), Over> {
        let mut text = Vec::new();
        encode_json(frame, &mut text);
        self.socket.feed(text).await
    }

    async fn send(&mut self, frame: &WsResponse) -> Result<(), Over> {
        self.feed(frame).await?;
        self.socket.flush().await
    }

    async fn fail(&mut self, request_id: RequestId, text: String) -> Result<(), Over> {
        self.send(&WsResponse::Error { request_id, error_text: Some(shortened(text)) }).await
    }

    async fn frame(&mut self, frame: Message) -> Result<(), Over> {
        let (request, _held): (WsRequest, _) = match self.socket.read(frame).await? {
            Read::Is(request, held) => (request, held),
            Read::Bad(frame, why, _held) => return self.bad(&frame, &why).await,
            Read::Nothing => return Ok(()),
        };
        let (WsRequest::Send(WsSend { request_id, .. })
        | WsRequest::Resume(WsResume { request_id, .. })
        | WsRequest::Abort { request_id }) = &request;
        let limit = self.server.inner.runtime.admin().limits().id_bytes;
        if request_id.as_str().len() > limit {
            // It would be repeated in every frame. The client finds its request by it, so this frame has it once more.
            let text = format!("`requestId` is longer than {limit} bytes: use a shorter one");
            self.fail(request_id.clone(), text).await?;
            return self.socket.was_bad().await;
        }
        match request {
            WsRequest::Send(send) => self.submit(send).await,
            WsRequest::Resume(resume) => self.resume(resume).await,
            WsRequest::Abort { request_id } => {
                // A complete response has nothing to stop.
                let active = self.active.iter().find(|(request, _)| *request == request_id);
                if let Some((_, chat)) = active {
                    // The response ends properly, whether or not its client still reads it.
                    let _ = self.server.inner.runtime.chats(self.identity.subject()).stop(chat, None).await;
                }
                Ok(())
            }
        }
    }

    /// Reports an invalid frame to the request that it names, if any.
    async fn bad(&mut self, frame: &str, text: &str) -> Result<(), Over> {
        // Only the id is read. Everything else is skipped.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Named {
            request_id: String,
        }
        let named = serde_json::from_str::<Named>(frame).map(|named| named.request_id).unwrap_or_default();
        self.fail(RequestId::from(&*named), text.to_owned()).await?;
        self.socket.was_bad().await
    }

    fn view(&self, headers: &serde_json::Map<String, Value>) -> View {
        view(Profile::AiSdk, |name| {
            let header = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            let header = header.and_then(|(_, value)| value.as_str());
            header.or(self.wait.as_deref().filter(|_| name == WAIT))
        })
    }

    /// A place for one more response.
    fn place(&self, request: &RequestId) -> Result<StreamPlace, Failure> {
        if self.active.iter().any(|(active, _)| active == request) {
            return Err(Failure::Conflict("this request id is in use on this connection".to_owned()));
        }
        let place = self.server.inner.place(self.identity.subject(), StreamKind::WsResponse);
        place.inspect_err(|failure| self.socket.rejected(failure))
    }

    async fn submit(&mut self, send: WsSend) -> Result<(), Over> {
        let WsSend { request_id, headers, request } = send;
        let view = self.view(&headers);
        let place = match self.place(&request_id) {
            Ok(place) => place,
            Err(failure) => return self.fail(request_id, failure.to_string()).await,
        };
        match self.server.inner.runtime.submit_through(Channel::Ws, &self.identity, request, view).await {
            Ok((chat, response)) => self.begin(request_id, chat, response, 0, place).await,
            Err(error) => self.fail(request_id, Failure::from(error).to_string()).await,
        }
    }

    async fn resume(&mut self, resume: WsResume) -> Result<(), Over> {
        let WsResume { request_id, id, headers, last_sequence } = resume;
        let view = self.view(&headers);
        let place = match self.place(&request_id) {
            Ok(place) => place,
            Err(failure) => return self.fail(request_id, failure.to_string()).await,
        };
        let (what, from) = match last_sequence {
            Some(last) => (Resume::Segment, last.saturating_add(1)),
            None => (Resume::Message, 0),
        };
        let reading = match self.server.inner.reading(self.identity.subject()).await {
            Ok(reading) => reading,
            Err(failure) => return self.fail(request_id, failure.to_string()).await,
        };
        let resumed = self.server.inner.runtime.chats(self.identity.subject()).resume(&id, view, what).await;
        drop(reading);
        match resumed {
            Ok(Some(response)) => self.begin(request_id, id, response, from, place).await,
            Ok(None) => self.send(&WsResponse::NoActive { request_id }).await,
            Err(error) => self.fail(request_id, Failure::from(error).to_string()).await,
        }
    }

    async fn begin(
        &mut self,
        request: RequestId,
        chat: ChatId,
        response: ResponseStream,
        from: u64,
        place: StreamPlace,
    ) -> Result<(), Over> {
        self.send(&WsResponse::Start { request_id: request.clone() }).await?;
        self.active.push((request.clone(), chat));
        self.follow(OpenResponse { request, response, sequence: 0, from, _place: place });
        Ok(())
    }
}
