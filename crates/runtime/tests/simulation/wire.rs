//! What clients are sent: every response, for the checker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_protocol::{
    check::{Checker, Options, Profile, Rule, StreamChecker, Violation},
    chunk::{Chunk, Chunks},
    ids::ChatId,
};
use holdpoint_runtime::{
    LiveStream, Next, ResponseStream, gone_chunks, gone_message,
    wire::{self, Event, View},
};
use serde_json::{Value, json};

use super::world::World;

/// All responses of a run.
#[derive(Default)]
pub(crate) struct Responses(Mutex<Vec<Sent>>);

/// What was sent in one response, or on one live connection.
pub(crate) struct Sent {
    pub(crate) chat: ChatId,
    node: usize,
    options: Options,
    /// The request, as a line of a transcript; `None` on a live connection.
    request: Option<Value>,
    payloads: Vec<String>,
    pub(crate) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on.
    Open,
    /// The server has ended it.
    Done,
    /// The client has left.
    Left,
    /// The node was killed, or the chat was not served there any more.
    Cut,
    /// The server has broken it off before anything was sent.
    Broken,
}

impl Responses {
    fn lock(&self) -> MutexGuard<'_, Vec<Sent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a response.
    pub(crate) fn begin(&self, chat: &ChatId, node: usize, view: View, request: Option<Value>) -> usize {
        let profile = match (view.profile, &request) {
            (wire::Profile::AiSdk, _) => Profile::AiSdk,
            (wire::Profile::Adk, Some(_)) => Profile::AdkSse,
            (wire::Profile::Adk, None) => Profile::AdkLive,
        };
        let options = Options { profile, progressive_text: view.is_progressive };
        let mut all = self.lock();
        let payloads = Vec::new();
        all.push(Sent { chat: chat.clone(), node, options, request, payloads, end: End::Open });
        all.len() - 1
    }

    fn add(&self, number: usize, chunks: Vec<Chunks>) {
        let sent = &mut self.lock()[number];
        for chunks in chunks {
            chunks.for_each(|chunk: Chunk| sent.payloads.push(serde_json::to_string(&chunk).expect("JSON")));
        }
    }

    fn done(&self, number: usize) {
        self.lock()[number].payloads.push("[DONE]".to_owned());
    }

    fn is_empty(&self, number: usize) -> bool {
        self.lock()[number].payloads.is_empty()
    }

    pub(crate) fn end(&self, number: usize, end: End) {
        self.lock()[number].end = end;
    }

    /// Cuts the responses of a node.
    pub(crate) fn cut(&self, node: usize) {
        let mut all = self.lock();
        let open = all.iter_mut().filter(|sent| sent.node == node && sent.end == End::Open);
        open.for_each(|sent| sent.end = End::Cut);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// The responses that go on in a chat, live connections not included.
    pub(crate) fn open(&self, chat: &ChatId) -> Vec<String> {
        let all = self.lock();
        let open = all.iter().filter(|sent| sent.chat == *chat && sent.end == End::Open && sent.request.is_some());
        open.map(Sent::show).collect()
    }

    /// What the checker says.
    pub(crate) fn violations(&self) -> Vec<String> {
        let all = self.lock();
        let found = all.iter().filter_map(|sent| {
            let found = sent.check();
            (!found.is_empty()).then(|| {
                let found: Vec<_> = found.iter().map(|found| format!("{}: {}", found.rule, found.text)).collect();
                format!("a response breaks a rule: {}\n{}", found.join("\n"), sent.show())
            })
        });
        found.collect()
    }
}

impl Sent {
    fn check(&self) -> Vec<Violation> {
        let Some(request) = &self.request else {
            let mut checker = StreamChecker::new(self.options);
            for (line, payload) in self.payloads.iter().enumerate() {
                checker.payload(line as u64 + 1, payload.as_bytes());
            }
            return checker.take_violations();
        };
        let mut checker = Checker::new(self.options);
        let mut feed = |line: Value| checker.feed((line.to_string() + "\n").as_bytes());
        feed(json!({ "request": request }));
        feed(json!({"status": 200}));
        for payload in &self.payloads {
            feed(json!({"frame": format!("data: {payload}\n\n")}));
        }
        if self.end == End::Broken {
            // Whatever was sent before would have had to be ended.
            let text = || "a response is broken off after it has begun".to_owned();
            let payload = self.payloads.concat();
            let begun = (!payload.is_empty()).then(|| Violation { line: 1, rule: Rule::F5, text: text(), payload });
            return begun.into_iter().collect();
        }
        // A response that was cut has no end to check.
        if self.end == End::Done {
            checker.finish();
        }
        checker.take_violations()
    }

    fn show(&self) -> String {
        let request = self.request.as_ref().map_or("live".to_owned(), Value::to_string);
        let payloads: String = self.payloads.iter().map(|payload| format!("    {payload}\n")).collect();
        let Sent { chat, node, options, end, .. } = self;
        format!("  {chat} on node {node}, {:?}, {end:?}: {request}\n{payloads}", options.profile)
    }
}

/// Reads a response to its end.
pub(crate) async fn read(world: Arc<World>, number: usize, mut response: ResponseStream) {
    loop {
        let mut chunks = Vec::new();
        let next = response.read(&mut chunks).await;
        if let Some(message) = gone_message(next) {
            // As the server does it.
            match gone_chunks(message, !chunks.is_empty() || !world.responses.is_empty(number)) {
                Some(last) => chunks.extend(last.map(Chunks::One)),
                None => return world.responses.end(number, End::Broken),
            }
        }
        world.responses.add(number, chunks);
        if next != Next::More {
            world.responses.done(number);
            return world.responses.end(number, End::Done);
        }
    }
}

/// Writes down what a live connection is sent.
pub(crate) fn write_live(world: &World, number: usize, written: Vec<Event>) {
    for written in written {
        match written.into_chunks() {
            Some(chunks) => world.responses.add(number, vec![chunks]),
            None => world.responses.done(number),
        }
    }
}

/// Reads a live connection until the chat is not served there any more.
pub(crate) async fn read_live(world: &World, number: usize, live: &mut LiveStream) {
    loop {
        let mut written = Vec::new();
        let next = live.next(&mut written).await;
        write_live(world, number, written);
        if matches!(next, Next::Gone | Next::Deleted) {
            return world.responses.end(number, End::Cut);
        }
    }
}
