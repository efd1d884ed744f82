//! `GET /live`: the adk profile over a WebSocket. One chat a connection.

use std::time::Duration;

use axum::{
    extract::{
        Query, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket},
    },
    response::Response,
};
use futures::{FutureExt, SinkExt, StreamExt, stream::SplitSink};
use holdpoint_protocol::{
    chunk::Error,
    ids::ChatId,
    live::{LiveFrame, Pong, ToolResult},
    request::{AckStatus, ChatRequest},
    sse,
};
use holdpoint_runtime::{
    driver::{LiveSubscription, Next},
    project::{Out, Profile, View},
    subject::Subject,
    turn::{Answered, FrontendResult},
};
use serde::Deserialize;

use crate::{
    app::{Server, StreamPlace},
    auth::Caller,
    request::{Failure, parse},
};

/// How long a peer may say nothing before it is asked whether it is there, and then before it is given up.
const SILENCE: Duration = Duration::from_secs(30);
/// How many bad frames in a row end a connection.
const ABUSE: u32 = 20;

#[derive(Deserialize)]
pub(crate) struct Parameters {
    id: Option<String>,
    text: Option<String>,
}

pub(crate) async fn get(
    State(server): State<Server>,
    Caller(subject): Caller,
    Query(parameters): Query<Parameters>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Failure> {
    let limits = server.inner.limits;
    let place = server.inner.place(&subject).ok_or(Failure::TooManyStreams { limit: limits.streams_per_subject })?;
    let is_progressive = parameters.text.as_deref() == Some("progressive");
    let view = View { profile: Profile::Adk, is_progressive, is_resubmit: false };
    // Frames a little over the limit still get an answer; far over, the connection is closed (1009).
    let upgrade = upgrade.max_message_size(limits.body * 4).max_frame_size(limits.body * 4);
    let id = parameters.id.as_deref().map(ChatId::from);
    let sockets = server.inner.sockets.clone();
    Ok(upgrade
        .on_upgrade(move |socket| sockets.track_future(Connection::serve(server, subject, view, id, socket, place))))
}

struct Connection {
    server: Server,
    subject: Subject,
    view: View,
    chat: Option<ChatId>,
    live: Option<LiveSubscription>,
    out: SplitSink<WebSocket, Message>,
    bad_frames: u32,
}

/// The connection is over.
struct Over;

impl Connection {
    async fn serve(
        server: Server,
        subject: Subject,
        view: View,
        id: Option<ChatId>,
        socket: WebSocket,
        place: StreamPlace,
    ) {
        let (out, mut frames) = socket.split();
        let closing = server.inner.closing.clone();
        let mut connection = Self { server, subject, view, chat: id, live: None, out, bad_frames: 0 };
        if connection.chat.is_some() && connection.look().await.is_err() {
            return;
        }
        let mut written = Vec::new();
        let clock = connection.server.inner.runtime.clock().clone();
        let mut silence = clock.sleep_until(clock.now().after(SILENCE));
        let mut is_silent = false;
        loop {
            let went = tokio::select! {
                frame = frames.next() => match frame {
                    Some(Ok(frame)) => {
                        is_silent = false;
                        connection.frame(frame).await
                    }
                    Some(Err(error)) => connection.broken(&error).await,
                    None => Err(Over),
                },
                next = next(&mut connection.live, &mut written) => connection.write(next, &mut written).await,
                () = &mut silence => {
                    silence = clock.sleep_until(clock.now().after(SILENCE));
                    match std::mem::replace(&mut is_silent, true) {
                        false => connection.out.send(Message::Ping(Default::default())).await.map_err(|_| Over),
                        // Not even a pong since the last time: nobody is there.
                        true => Err(Over),
                    }
                }
                () = closing.cancelled() => connection.last_words().await,
            };
            if went.is_err() {
                break;
            }
        }
        drop(place);
    }

    /// Looks at the chat.
    async fn look(&mut self) -> Result<(), Over> {
        let Some(chat) = &self.chat else { return Ok(()) };
        match self.server.inner.runtime.live(&self.subject, chat, self.view).await {
            Ok(live) => self.live = Some(live),
            Err(error) => {
                self.error(&Failure::from(error).to_string()).await?;
                let _ = self.close(1008, "this chat can't be opened").await;
                return Err(Over);
            }
        }
        Ok(())
    }

    /// The server is going down: the chat has come to an end or to a hold, and what is left to say of it is said.
    async fn last_words(&mut self) -> Result<(), Over> {
        let mut written = Vec::new();
        while self.live.is_some() && next(&mut self.live, &mut written).await == Next::More {
            self.write(Next::More, &mut written).await?;
        }
        let _ = self.close(1001, "the server is shutting down").await;
        Err(Over)
    }

    /// Sends what is ready, and flushes once.
    async fn write(&mut self, next: Next, written: &mut Vec<Out>) -> Result<(), Over> {
        for written in written.drain(..) {
            let mut records = Vec::new();
            match written {
                Out::Chunks(chunks) => chunks.for_each(|chunk| {
                    let mut record = Vec::new();
                    sse::encode(&chunk, &mut record);
                    records.push(record);
                }),
                Out::End => {
                    let mut done = Vec::new();
                    sse::encode_done(&mut done);
                    records.push(done);
                }
            }
            for record in records {
                self.feed(record).await?;
            }
        }
        self.out.flush().await.map_err(|_| Over)?;
        if next == Next::Gone {
            let _ = self.close(1012, "this chat has moved: connect again").await;
            return Err(Over);
        }
        Ok(())
    }

    async fn feed(&mut self, record: Vec<u8>) -> Result<(), Over> {
        let text = String::from_utf8(record).unwrap_or_default();
        self.out.feed(Message::Text(text.into())).await.map_err(|_| Over)
    }

    async fn error(&mut self, text: &str) -> Result<(), Over> {
        let mut record = Vec::new();
        sse::encode(&Error { error_text: text.to_owned() }.into(), &mut record);
        self.feed(record).await?;
        self.out.flush().await.map_err(|_| Over)
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Result<(), Over> {
        let frame = CloseFrame { code, reason: reason.into() };
        self.out.send(Message::Close(Some(frame))).await.map_err(|_| Over)
    }

    /// The socket failed: a message far too large, or the other side gone.
    async fn broken(&mut self, error: &axum::Error) -> Result<(), Over> {
        if error.to_string().contains("too") {
            let _ = self.close(1009, "the message is too large").await;
        }
        Err(Over)
    }

    async fn frame(&mut self, frame: Message) -> Result<(), Over> {
        let text = match frame {
            Message::Text(text) => text,
            Message::Binary(_) => return self.bad("send text frames: this is a binary one").await,
            Message::Close(_) => return Err(Over),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
        };
        let limits = self.server.inner.limits;
        if text.len() > limits.body {
            return self.bad(&Failure::TooLarge { limit: limits.body }.to_string()).await;
        }
        let frame: LiveFrame = match parse(text.as_bytes(), limits.depth) {
            Ok(frame) => frame,
            Err(failure) => return self.bad(&failure.to_string()).await,
        };
        self.bad_frames = 0;
        match frame {
            LiveFrame::Message(request) => self.message(request).await,
            LiveFrame::ToolResult(result) => self.result(result).await,
            LiveFrame::Interrupt { reason } => {
                if let Some(chat) = &self.chat
                    && let Err(error) = self.server.inner.runtime.stop(&self.subject, chat, reason).await
                {
                    return self.error(&Failure::from(error).to_string()).await;
                }
                Ok(())
            }
            LiveFrame::Ping { timestamp } => {
                // What is ready goes first: whoever has the pong knows that nothing older is on its way.
                let mut written = Vec::new();
                while let Some(next) = next(&mut self.live, &mut written).now_or_never() {
                    self.write(next, &mut written).await?;
                }
                let mut pong = Vec::new();
                sse::encode_json(&Pong { timestamp }, &mut pong);
                self.feed(pong).await?;
                self.out.flush().await.map_err(|_| Over)
            }
        }
    }

    /// A frame that can't be used: told, and only repeated abuse ends the connection.
    async fn bad(&mut self, text: &str) -> Result<(), Over> {
        self.bad_frames += 1;
        self.error(text).await?;
        if self.bad_frames >= ABUSE {
            let _ = self.close(1008, "too many bad frames").await;
            return Err(Over);
        }
        Ok(())
    }

    async fn message(&mut self, mut request: ChatRequest) -> Result<(), Over> {
        match (&self.chat, &request.id) {
            (Some(chat), Some(id)) if chat != id => {
                return self.bad("this connection is for another chat: open one for each").await;
            }
            (Some(chat), _) => request.id = Some(chat.clone()),
            (None, _) => {
                let found = self.server.inner.runtime.chat_of(&self.subject, &request).await;
                let chat = match found {
                    Ok(chat) => chat,
                    Err(error) => return self.error(&error.to_string()).await,
                };
                request.id = Some(chat.clone());
                self.chat = Some(chat);
            }
        }
        let Some(chat) = self.chat.clone() else { return Ok(()) };
        if self.live.is_none() {
            self.look().await?;
        }
        match self.server.inner.runtime.submit_live(&self.subject, &chat, request, self.view).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let mut written = Vec::new();
                self.live.iter_mut().for_each(|live| live.nothing_new(&mut written));
                self.write(Next::More, &mut written).await
            }
            Err(error) => self.error(&Failure::from(error).to_string()).await,
        }
    }

    async fn result(&mut self, result: ToolResult) -> Result<(), Over> {
        let ToolResult { tool_call_id, result, error_text } = result;
        let status = if error_text.is_some() { AckStatus::Failed } else { AckStatus::Success };
        let result = FrontendResult { status, output: result, error_text, ack: None };
        match self.server.inner.runtime.result(&self.subject, tool_call_id, result).await {
            Ok(Answered::Taken | Answered::Again) => Ok(()),
            Ok(Answered::Contradicts) => self.error("another result for this call was taken before").await,
            Ok(Answered::TooLate) => self.error("this call is settled: its time was up").await,
            Ok(Answered::NeedsApproval) => self.error("this call waits for its approval: approval-required").await,
            Ok(Answered::Unknown) => self.error("there is no such call to give a result for").await,
            Err(error) => self.error(&error.to_string()).await,
        }
    }
}

async fn next(live: &mut Option<LiveSubscription>, out: &mut Vec<Out>) -> Next {
    match live {
        Some(live) => live.next(out).await,
        None => std::future::pending().await,
    }
}
