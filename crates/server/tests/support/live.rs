//! An adk client over WebSocket, with the checker over everything it gets.

use futures::{SinkExt, StreamExt};
use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker},
    sse::{Decoder, Event},
};
use serde_json::{Value, json};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, protocol::CloseFrame},
};

use super::{PATIENCE, TestServer};

pub(crate) struct Live {
    socket: WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>,
    pub(crate) checker: StreamChecker,
    lines: u64,
    /// Everything since the connection was opened.
    pub(crate) chunks: Vec<Value>,
    pub(crate) closed: Option<CloseFrame>,
}

impl Live {
    pub(crate) async fn connect(server: &TestServer, query: &str) -> Self {
        let (socket, _) =
            tokio_tungstenite::connect_async(format!("ws://{}/live{query}", server.address)).await.expect("connects");
        let progressive_text = query.contains("text=progressive");
        let checker = StreamChecker::new(Options { profile: Profile::AdkLive, progressive_text });
        Self { socket, checker, lines: 0, chunks: Vec::new(), closed: None }
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    /// Sends a text frame with any bytes in it.
    pub(crate) async fn send_text_bytes(&mut self, bytes: &'static [u8]) {
        use tokio_tungstenite::tungstenite::protocol::frame::{Frame, coding};
        let frame = Frame::message(bytes, coding::OpCode::Data(coding::Data::Text), true);
        self.socket.send(Message::Frame(frame)).await.expect("can be sent");
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("can be sent");
    }

    pub(crate) async fn say(&mut self, text: &str) {
        let id = format!("user-{}", uuid::Uuid::new_v4().simple());
        self.send(
            &json!({"type": "message", "version": "1.0", "messages": [{"id": id, "role": "user", "content": text}]}),
        )
        .await;
    }

    /// An approval in the SDK's shape.
    pub(crate) async fn decide(&mut self, call: &str, approval: &str, approved: bool) {
        let part = json!({"type": "tool-any", "toolCallId": call, "state": "approval-responded", "input": {}, "approval": {"id": approval, "approved": approved}});
        self.send(&json!({"type": "message", "messages": [{"id": "a", "role": "assistant", "parts": [part]}]})).await;
    }

    /// The next chunk, `"[DONE]"`, or a pong; `None` when the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let message = loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the server goes on in time");
            if !matches!(message, Some(Ok(Message::Ping(_) | Message::Pong(_)))) {
                break message;
            }
        };
        match message {
            Some(Ok(Message::Text(text))) => Some(self.take(&text)),
            Some(Ok(Message::Close(frame))) => {
                self.closed = frame;
                None
            }
            Some(Ok(other)) => panic!("the server sent {other:?}"),
            Some(Err(_)) | None => None,
        }
    }

    /// The next record of a stream that continues what another connection has begun: the checker has not seen that.
    pub(crate) async fn next_unchecked(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the server goes on in time");
            if let Some(Ok(Message::Text(text))) = message {
                let record = text.strip_prefix("data: ").expect("a record").trim_end();
                return serde_json::from_str(record).unwrap_or_else(|_| json!(record));
            }
        }
    }

    fn take(&mut self, text: &str) -> Value {
        if let Ok(pong) = serde_json::from_str::<Value>(text) {
            return pong;
        }
        let mut payload = None;
        let mut decoder = Decoder::new(1 << 24);
        decoder.feed(text.as_bytes(), |event| match event {
            Event::Data { data, .. } => payload = Some(String::from_utf8_lossy(data).into_owned()),
            other => panic!("the server sent {other:?}"),
        });
        let payload = payload.expect("one record a frame");
        self.lines += 1;
        let chunk =
            if payload == "[DONE]" { json!("[DONE]") } else { serde_json::from_str(&payload).expect("valid JSON") };
        // An error outside a turn is an answer to a frame, not part of a stream.
        let is_answer = chunk["type"] == "error" && self.chunks.last().is_none_or(|last| last == "[DONE]");
        if !is_answer {
            match chunk.as_str() {
                Some(_) => self.checker.done(self.lines),
                None => self.checker.payload(self.lines, payload.as_bytes()),
            }
            self.chunks.push(chunk.clone());
        }
        let violations = self.checker.take_violations();
        assert!(violations.is_empty(), "{violations:#?}\n{:#?}", self.chunks);
        chunk
    }

    /// Reads up to a chunk of this type (or `"[DONE]"`), and gives all that was read.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut chunks = Vec::new();
        loop {
            let chunk = self.next().await.unwrap_or_else(|| panic!("closed before {kind}: {chunks:#?}"));
            let is_it = chunk.as_str() == Some(kind) || chunk["type"] == kind;
            chunks.push(chunk);
            if is_it {
                return chunks;
            }
        }
    }

    /// The id of the last call, and of its question.
    pub(crate) fn last_call(&self) -> (String, Option<String>) {
        let call = self.chunks.iter().rfind(|chunk| chunk["type"] == "tool-input-available").expect("a call");
        let id = call["toolCallId"].as_str().expect("an id").to_owned();
        let question = self
            .chunks
            .iter()
            .rfind(|chunk| chunk["type"] == "tool-approval-request" && chunk["toolCallId"] == call["toolCallId"]);
        (id, question.and_then(|chunk| chunk["approvalId"].as_str()).map(str::to_owned))
    }

    pub(crate) async fn close(mut self) {
        let _ = self.socket.close(None).await;
    }
}
