//! The measured operations on one log.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use holdpoint_protocol::{
    ids::{ApprovalId, ChatId, ToolCallId},
    request::{AckRequest, ChatRequest, DecisionRequest},
};
use holdpoint_runtime::{ApprovalFilter, Next, Profile, Resume, Runtime, Subject, View, log::Store, turn::Answered};
use serde_json::json;

use crate::world::{Asked, Database, Engine, OPEN, PAY, Scripted, TALK, held, own_cpu, start};

/// The number of entries on the first page of a list.
const PAGE: usize = 50;
/// How long the runtime's own tasks are watched after a start.
const AFTER_START: Duration = Duration::from_millis(500);
/// How often to look whether the chat sleeps again.
const LOOK_AGAIN: Duration = Duration::from_micros(500);
const ASLEEP_TIMEOUT: Duration = Duration::from_secs(60);

/// A measured operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Decision,
    Message,
    /// The part of a message from the request to the moment at which the model is asked.
    MessageToModel,
    /// The part of a message from the model's answer, which is immediate, to the end of the response.
    MessageFromModel,
    Ack,
    Resume,
    Chats,
    Approvals,
    Start,
    /// What the runtime does by itself after a start.
    AfterStart,
    Metrics,
}

impl Operation {
    pub(super) const ALL: [Self; 11] = [
        Self::Decision,
        Self::Message,
        Self::MessageToModel,
        Self::MessageFromModel,
        Self::Ack,
        Self::Resume,
        Self::Chats,
        Self::Approvals,
        Self::Start,
        Self::AfterStart,
        Self::Metrics,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Decision => "a decision",
            Self::Message => "a message",
            Self::MessageToModel => "… until the model is asked",
            Self::MessageFromModel => "… from then on",
            Self::Ack => "an ack",
            Self::Resume => "a resume",
            Self::Chats => "the first page of chats",
            Self::Approvals => "the first page of approvals",
            Self::Start => "start-up",
            Self::AfterStart => "… the 0.5 s after it",
            Self::Metrics => "the metrics",
        }
    }
}

/// What one operation cost, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Until its answer.
    pub(super) time: f64,
    /// Until the chat sleeps again: everything that follows from it included. A part of an operation has none.
    pub(super) cpu: f64,
}

/// A log of one size with a runtime on it, and the costs so far.
pub(super) struct World {
    pub(super) size: usize,
    engine: Engine,
    database: Database,
    /// How many chats of one subject may be open.
    open_chats: usize,
    model: Arc<Scripted>,
    up: Option<(Arc<dyn Store>, Runtime)>,
    /// Where each round takes place.
    pub(super) spots: Vec<Spot>,
    costs: Vec<(Operation, Cost)>,
    /// The number of messages that the model was sent last.
    pub(super) sent: usize,
}

/// Where a round takes place. What waits already is answered; otherwise the round makes it wait first.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) subject: Subject,
    /// The chat of the decision and of the message.
    pub(super) decided: ChatId,
    pub(super) approval: Option<ApprovalId>,
    /// The chat of the resume and the ack.
    pub(super) acked: ChatId,
    pub(super) call: Option<ToolCallId>,
}

/// The stock client's view, in which a response waits for the browser.
fn view() -> View {
    View { profile: Profile::AiSdk, ..View::default() }
}

impl World {
    pub(super) fn new(size: usize, engine: &Engine, open_chats: usize) -> Self {
        let (engine, database) = (engine.clone(), engine.database());
        let (model, up) = (Arc::default(), None);
        Self { size, engine, database, open_chats, model, up, spots: Vec::new(), costs: Vec::new(), sent: 0 }
    }

    /// The samples of an operation.
    pub(super) fn costs(&self, operation: Operation) -> impl Iterator<Item = Cost> {
        self.costs.iter().filter(move |(of, _)| *of == operation).map(|(_, cost)| *cost)
    }

    pub(super) async fn start(&mut self) {
        let log = self.database.open().await;
        let runtime = start(Arc::clone(&log), Arc::clone(&self.model), self.open_chats).await;
        self.up = Some((log, runtime));
    }

    pub(super) async fn stop(&mut self) {
        if let Some((log, runtime)) = self.up.take() {
            assert_eq!(runtime.admin().counts().unreadable_heads, 0, "what was filled in is what a runtime writes");
            runtime.shutdown(Duration::from_secs(10)).await;
            drop(runtime);
            // The tasks of the runtime let go of the log a moment later, and it is to be opened again.
            let begun = Instant::now();
            while Arc::strong_count(&log) > 1 && begun.elapsed() < ASLEEP_TIMEOUT {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(log);
        }
    }

    pub(super) fn log(&self) -> &Arc<dyn Store> {
        &self.up.as_ref().expect("it is started").0
    }

    fn runtime(&self) -> &Runtime {
        &self.up.as_ref().expect("it is started").1
    }

    pub(super) fn analyze(&self) {
        self.database.analyze();
    }

    /// One sample of each operation on a chat, and of each list.
    pub(super) async fn round(&mut self, number: usize) {
        let spot = self.spots[number % self.spots.len()].clone();
        self.resume_and_ack(&spot).await;
        self.decide(&spot).await;
        self.message(&spot).await;
        self.lists(&spot).await;
    }

    async fn resume_and_ack(&mut self, spot: &Spot) {
        let call = match spot.call.clone() {
            Some(call) => call,
            None => self.hold(spot, &spot.acked, OPEN).await.0,
        };
        let runtime = self.runtime().clone();
        let begun = self.begin().await;
        let resumed =
            runtime.chats(&spot.subject).resume(&spot.acked, view(), Resume::Message).await.expect("it is served");
        let mut resumed = resumed.expect("a message is being written");
        let mut chunks = Vec::new();
        while resumed.read(&mut chunks).await == Next::More && chunks.is_empty() {}
        let time = begun.time();
        drop(resumed);
        assert!(!chunks.is_empty(), "the open message is shown");
        self.end(Operation::Resume, &begun, time).await;

        let raw = json!({"toolCallId": call, "status": "success", "output": {"ok": true}, "requestedAt": "2026-01-01T00:00:00.000Z"});
        let ack: AckRequest = serde_json::from_value(raw.clone()).expect("an ack");
        let begun = self.begin().await;
        let answered = runtime.chats(&spot.subject).ack(ack, raw).await;
        let time = begun.time();
        assert_eq!(answered, Ok(Answered::Taken));
        self.end(Operation::Ack, &begun, time).await;
    }

    async fn decide(&mut self, spot: &Spot) {
        let approval = match spot.approval.clone() {
            Some(approval) => approval,
            None => self.hold(spot, &spot.decided, PAY).await.1.expect("an approval request"),
        };
        let runtime = self.runtime().clone();
        let decision = DecisionRequest::from(true);
        let begun = self.begin().await;
        let answered = runtime.inbox(&spot.subject).decide(approval, decision).await;
        let time = begun.time();
        assert_eq!(answered, Ok(Answered::Taken));
        self.end(Operation::Decision, &begun, time).await;
        // The turn goes on when somebody looks.
        runtime.chats(&spot.subject).idle(&spot.decided).await.expect("the turn ends");
    }

    async fn message(&mut self, spot: &Spot) {
        let runtime = self.runtime().clone();
        self.model.take_asked();
        let request = ChatRequest::user(spot.decided.clone(), TALK);
        let begun = self.begin().await;
        let (_, mut response) = runtime.submit(&spot.subject, request, view()).await.expect("a turn");
        while response.read(&mut Vec::new()).await == Next::More {}
        let time = begun.time();
        drop(response);
        self.end(Operation::Message, &begun, time).await;
        let Asked { at, messages } = self.model.take_asked().expect("the model was asked");
        let until = at.duration_since(begun.at).as_secs_f64() * 1e6;
        self.costs.push((Operation::MessageToModel, Cost { time: until, cpu: f64::NAN }));
        self.costs.push((Operation::MessageFromModel, Cost { time: time - until, cpu: f64::NAN }));
        self.sent = messages;
    }

    async fn lists(&mut self, spot: &Spot) {
        let runtime = self.runtime().clone();
        let begun = self.begin().await;
        let page = runtime.chats(&spot.subject).page(None, PAGE).await.expect("it lists");
        let time = begun.time();
        assert!(!page.items.is_empty());
        self.end(Operation::Chats, &begun, time).await;
        let begun = self.begin().await;
        runtime.inbox(&spot.subject).page(&ApprovalFilter::default(), None, PAGE).await.expect("it lists");
        let time = begun.time();
        self.end(Operation::Approvals, &begun, time).await;
    }

    /// The metrics, of which the number of open holds is counted anew only now and then.
    pub(super) async fn metrics(&mut self) {
        self.restart().await;
        let runtime = self.runtime().clone();
        let begun = self.begin().await;
        runtime.admin().write_metrics(&mut String::new()).await;
        let time = begun.time();
        self.end(Operation::Metrics, &begun, time).await;
    }

    /// Stops and starts, until the first list is answered, and a moment longer.
    pub(super) async fn restart(&mut self) {
        self.stop().await;
        let subject = self.spots[0].subject.clone();
        // The database's processes come and go with the connections, so that theirs can't be counted.
        let begun = Begun { cpu: own_cpu(), at: Instant::now() };
        self.start().await;
        let page = self.runtime().chats(&subject).page(None, PAGE).await.expect("it lists");
        let (time, cpu) = (begun.time(), own_cpu());
        assert!(!page.items.is_empty());
        self.costs.push((Operation::Start, Cost { time, cpu: (cpu - begun.cpu) as f64 / 1e3 }));
        tokio::time::sleep(AFTER_START).await;
        let after = own_cpu().saturating_sub(cpu) as f64 / 1e3;
        self.costs.push((Operation::AfterStart, Cost { time: f64::NAN, cpu: after }));
    }

    /// A turn that ends, unmeasured.
    pub(super) async fn turn(&self, subject: &Subject, chat: &ChatId, text: &str) {
        let request = ChatRequest::user(chat.clone(), text);
        let (_, mut response) = self.runtime().submit(subject, request, view()).await.expect("a turn");
        while response.read(&mut Vec::new()).await == Next::More {}
    }

    /// Makes a call wait, for nobody: the client is gone.
    async fn hold(&self, spot: &Spot, chat: &ChatId, text: &str) -> (ToolCallId, Option<ApprovalId>) {
        let request = ChatRequest::user(chat.clone(), text);
        let submitted = self.runtime().submit(&spot.subject, request, view()).await.expect("a turn");
        let hold = held(&**self.log(), chat).await;
        drop(submitted);
        (hold.call, hold.approval)
    }

    async fn asleep(&self) {
        let begun = Instant::now();
        while self.runtime().admin().awake() > 0 {
            assert!(begun.elapsed() < ASLEEP_TIMEOUT, "the chat stays awake");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn begin(&self) -> Begun {
        self.asleep().await;
        Begun { cpu: self.engine.cpu(true), at: Instant::now() }
    }

    async fn end(&mut self, operation: Operation, begun: &Begun, time: f64) {
        self.asleep().await;
        let cpu = self.engine.cpu(false).saturating_sub(begun.cpu) as f64 / 1e3;
        self.costs.push((operation, Cost { time, cpu }));
    }
}

struct Begun {
    at: Instant,
    cpu: u64,
}

impl Begun {
    fn time(&self) -> f64 {
        self.at.elapsed().as_secs_f64() * 1e6
    }
}
