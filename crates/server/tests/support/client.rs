//! An adk client over SSE: builds its message with the SDK's own reducer, sends its whole history back, and runs the rule checker over
//! everything it gets.

use futures::StreamExt;
use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker},
    message::{Part, Role, TextPart, ToolState, UiMessage},
    reduce::{Reducer, Sdk},
    sse::{Decoder, Event},
};
use serde_json::{Value, json};

use super::{PATIENCE, TestServer};

pub(crate) fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// One chat of one client.
pub(crate) struct Chat<'a> {
    server: &'a TestServer,
    pub(crate) id: String,
    pub(crate) messages: Vec<UiMessage>,
    headers: Vec<(&'static str, String)>,
    checker: StreamChecker,
    lines: u64,
    /// Every chunk, segment by segment.
    pub(crate) segments: Vec<Vec<Value>>,
}

/// A response that is being read.
pub(crate) struct Sse {
    bytes: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    decoder: Option<Decoder>,
    ready: std::collections::VecDeque<String>,
    pub(crate) comments: usize,
}

/// What a person or a browser answers.
pub(crate) enum Answer<'a> {
    Approve(&'a str),
    Deny(&'a str, Option<&'a str>),
    Output(&'a str, Value),
    Error(&'a str, &'a str),
}

impl Sse {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        let bytes = response.bytes_stream().boxed();
        Self { bytes, decoder: Some(Decoder::new(1 << 24)), ready: Default::default(), comments: 0 }
    }

    /// The next payload; `None` at the end of the response.
    pub(crate) async fn next(&mut self) -> Option<String> {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("the server goes on in time")
    }

    async fn read(&mut self) -> Option<String> {
        loop {
            if let Some(payload) = self.ready.pop_front() {
                return Some(payload);
            }
            let bytes = self.bytes.next().await;
            let (ready, comments) = (&mut self.ready, &mut self.comments);
            let mut each = |event: Event<'_>| match event {
                Event::Data { data, .. } => ready.push_back(String::from_utf8_lossy(data).into_owned()),
                Event::Comment { .. } => *comments += 1,
                other => panic!("the server sent {other:?}"),
            };
            match bytes {
                Some(bytes) => self.decoder.as_mut()?.feed(&bytes.expect("the response does not break"), &mut each),
                None => {
                    self.decoder.take()?.finish(&mut each);
                    if self.ready.is_empty() {
                        return None;
                    }
                }
            }
        }
    }

    /// All payloads up to the end.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut payloads = Vec::new();
        while let Some(payload) = self.next().await {
            payloads.push(payload);
        }
        payloads
    }
}

impl<'a> Chat<'a> {
    pub(crate) fn new(server: &'a TestServer) -> Self {
        Self {
            server,
            id: format!("chat-{}", uuid::Uuid::new_v4().simple()),
            messages: Vec::new(),
            headers: Vec::new(),
            checker: StreamChecker::new(Options { profile: Profile::AdkSse, progressive_text: false }),
            lines: 0,
            segments: Vec::new(),
        }
    }

    pub(crate) fn progressive(mut self) -> Self {
        self.headers.push(("x-holdpoint-text", "progressive".to_owned()));
        self.checker = StreamChecker::new(Options { profile: Profile::AdkSse, progressive_text: true });
        self
    }

    pub(crate) fn resubmit(mut self) -> Self {
        self.headers.push(("x-holdpoint-wait", "resubmit".to_owned()));
        self
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.headers.push(("authorization", format!("Bearer {key}")));
        self
    }

    /// Another tab of the same user, with the same history.
    pub(crate) fn another_tab(&self) -> Chat<'a> {
        let mut tab = Chat::new(self.server);
        tab.id.clone_from(&self.id);
        tab.messages.clone_from(&self.messages);
        tab.headers.clone_from(&self.headers);
        for segment in &self.segments {
            segment.iter().for_each(|chunk| tab.check(chunk));
        }
        tab.segments.clone_from(&self.segments);
        tab
    }

    fn check(&mut self, chunk: &Value) {
        self.lines += 1;
        match chunk.as_str() {
            Some("[DONE]") => self.checker.done(self.lines),
            _ => self.checker.payload(self.lines, chunk.to_string().as_bytes()),
        }
    }

    pub(crate) fn body(&self, trigger: &str) -> Value {
        json!({"id": self.id, "messages": self.messages, "trigger": trigger})
    }

    pub(crate) async fn request(&self, body: &Value) -> reqwest::Response {
        let mut request = http().post(self.server.url("/stream")).json(body);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.send().await.expect("an answer")
    }

    pub(crate) async fn open(&mut self, body: &Value) -> Sse {
        let response = self.request(body).await;
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap_or_default());
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        assert_eq!(header("content-type").as_deref(), Some("text/event-stream"));
        assert_eq!(header("x-vercel-ai-ui-message-stream").as_deref(), Some("v1"));
        assert_eq!(header("cache-control").as_deref(), Some("no-cache, no-transform"));
        assert_eq!(header("x-accel-buffering").as_deref(), Some("no"));
        Sse::new(response)
    }

    /// The user says something.
    pub(crate) async fn say(&mut self, text: &str) -> Sse {
        let id = format!("user-{}", uuid::Uuid::new_v4().simple());
        let parts = vec![Part::Text(TextPart::done(text))];
        self.messages.push(UiMessage { id: id.as_str().into(), role: Role::User, metadata: None, parts });
        let body = self.body("submit-message");
        self.open(&body).await
    }

    /// Says something and reads the whole segment.
    pub(crate) async fn ask(&mut self, text: &str) -> Vec<Value> {
        let mut sse = self.say(text).await;
        self.read(&mut sse).await
    }

    /// Answers, as the SDK's client would put it into its message.
    pub(crate) fn put(&mut self, answers: &[Answer<'_>]) {
        for part in self.messages.iter_mut().flat_map(|message| &mut message.parts) {
            let Part::Tool(tool) = part else { continue };
            for answer in answers {
                let approval = tool.fields.approval.as_mut();
                match answer {
                    Answer::Approve(id) | Answer::Deny(id, _)
                        if approval.as_ref().is_some_and(|approval| approval.id.as_str() == *id) =>
                    {
                        tool.state = ToolState::ApprovalResponded;
                        if let Some(approval) = approval {
                            approval.approved = Some(matches!(answer, Answer::Approve(_)));
                            approval.reason = match answer {
                                Answer::Deny(_, reason) => reason.map(str::to_owned),
                                _ => None,
                            };
                        }
                    }
                    Answer::Output(id, output) if tool.tool_call_id.as_str() == *id => {
                        tool.state = ToolState::OutputAvailable;
                        tool.fields.output = Some(output.clone());
                    }
                    Answer::Error(id, text) if tool.tool_call_id.as_str() == *id => {
                        tool.state = ToolState::OutputError;
                        tool.fields.error_text = Some((*text).to_owned());
                    }
                    _ => {}
                }
            }
        }
    }

    /// Answers and opens the response.
    pub(crate) async fn answer(&mut self, answers: &[Answer<'_>]) -> Sse {
        self.put(answers);
        let body = self.body("submit-message");
        self.open(&body).await
    }

    /// Reads a response to its end, into the message and through the checker.
    pub(crate) async fn read(&mut self, sse: &mut Sse) -> Vec<Value> {
        let payloads = sse.rest().await;
        self.take(payloads)
    }

    /// Takes payloads that were read.
    pub(crate) fn take(&mut self, payloads: Vec<String>) -> Vec<Value> {
        let chunks: Vec<Value> =
            payloads
                .iter()
                .map(|payload| {
                    if payload == "[DONE]" {
                        json!("[DONE]")
                    } else {
                        serde_json::from_str(payload).expect("valid JSON")
                    }
                })
                .collect();
        chunks.iter().for_each(|chunk| self.check(chunk));
        self.reduce(&payloads);
        self.segments.push(chunks.clone());
        let violations = self.checker.take_violations();
        assert!(violations.is_empty(), "{violations:#?}\n{:#?}", self.segments);
        chunks
    }

    /// Puts the chunks into the last message, as both SDK versions would: and they must agree.
    fn reduce(&mut self, payloads: &[String]) {
        let last = self.messages.last().filter(|message| message.role == Role::Assistant).cloned();
        let build = |sdk: Sdk| {
            let mut reducer = match last.clone() {
                Some(message) => Reducer::continue_from(sdk, message),
                None => Reducer::new(sdk, "made-up".into()),
            };
            for payload in payloads.iter().filter(|payload| *payload != "[DONE]") {
                let chunk = sdk.read(payload.as_bytes()).expect("a chunk that this client can read");
                if reducer.apply_read(&chunk).is_err() {
                    break;
                }
            }
            reducer.written()
        };
        let message = build(Sdk::V7);
        if let Some(message) = message {
            if last.is_some_and(|last| last.id == message.id) {
                self.messages.pop();
            }
            self.messages.push(message);
        }
    }

    /// The last tool calls of the message, as the client sees them: name, id, approval id.
    pub(crate) fn calls(&self) -> Vec<(String, String, Option<String>)> {
        let parts = self.messages.last().into_iter().flat_map(|message| &message.parts).filter_map(Part::as_tool);
        parts
            .map(|tool| {
                let approval = tool.fields.approval.as_ref().map(|approval| approval.id.to_string());
                (tool.name.clone(), tool.tool_call_id.to_string(), approval)
            })
            .collect()
    }

    pub(crate) fn call(&self, at: usize) -> String {
        self.calls()[at].1.clone()
    }

    pub(crate) fn approval(&self, at: usize) -> String {
        self.calls()[at].2.clone().expect("an approval was asked")
    }

    /// The text of the last message.
    pub(crate) fn text(&self) -> String {
        let parts = self.messages.last().into_iter().flat_map(|message| &message.parts);
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// The types of chunks, reasoning and the middles of text left out.
pub(crate) fn types(chunks: &[Value]) -> Vec<String> {
    let named = chunks.iter().map(|chunk| chunk.as_str().or(chunk["type"].as_str()).unwrap_or("?").to_owned());
    let mut types: Vec<String> =
        named.filter(|name| !name.starts_with("reasoning") && name != "text-start" && name != "text-end").collect();
    types.dedup_by(|a, b| a == b && a == "text-delta");
    types
}
