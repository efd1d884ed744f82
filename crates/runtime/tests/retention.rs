//! Retention: old chats go, a few at a time; those in which something is open stay, and are counted.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::{ids::ChatId, request::ChatRequest};
use holdpoint_runtime::{
    Next, ResponseStream, Runtime,
    clock::{Clock, Timestamp},
    log::{HeadQuery, Index, MemoryLog},
    subject::Subject,
    wire::View,
};
use holdpoint_testkit::ManualClock;
use serde_json::json;

const DAY: Duration = Duration::from_secs(86_400);
const MINUTE: Duration = Duration::from_secs(60);

struct World {
    clock: Arc<ManualClock>,
    log: Arc<MemoryLog>,
    runtime: Runtime,
}

impl World {
    async fn start() -> Self {
        let (clock, log) = (Arc::new(ManualClock::new(Timestamp(1_700_000_000_000))), Arc::new(MemoryLog::default()));
        let builder = holdpoint_demo::builder().clock(clock.clone()).log(log.clone()).retention(10 * DAY);
        Self { runtime: builder.start().await.expect("it starts"), clock, log }
    }

    async fn say(&self, chat: &str, text: &str) -> ResponseStream {
        let message = json!({"role": "user", "parts": [{"type": "text", "text": text}]});
        let request: ChatRequest = serde_json::from_value(json!({"id": chat, "messages": [message]})).expect("valid");
        self.runtime.submit(&Subject::local(), request, View::default()).await.expect("taken").1
    }

    async fn play(&self, chat: &str, text: &str) {
        let mut response = self.say(chat, text).await;
        while response.read(&mut Vec::new()).await == Next::More {}
    }

    async fn chats(&self) -> Vec<String> {
        let heads = self.log.heads(HeadQuery::default(), 10_000).await.expect("it lists");
        heads.into_iter().map(|(id, ..)| id.as_str().to_owned()).collect()
    }

    /// Lets the sweep do some steps, until the chats are these.
    async fn until(&self, wanted: &[&str]) {
        let steps = async {
            while self.chats().await != wanted {
                self.clock.advance(MINUTE);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), steps).await;
        assert!(found.is_ok(), "{:?} are left, not {wanted:?}", self.chats().await);
    }

    async fn metric(&self, name: &str) -> f64 {
        let mut text = String::new();
        self.runtime.admin().write_metrics(&mut text).await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        line.unwrap_or_else(|| panic!("{name} in {text}"))
    }
}

#[tokio::test]
async fn old_chats_go_and_open_ones_stay() {
    let world = World::start().await;
    world.play("done", "hello").await;
    // Demo approvals expire: this one is made to wait for as long as it likes by its own deadline being far away.
    world.play("late", "hello").await;
    world.clock.advance(5 * DAY);
    world.play("young", "hello").await;
    world.until(&["done", "late", "young"]).await;
    world.clock.advance(6 * DAY);
    world.until(&["young"]).await;
    assert_eq!(world.metric("holdpoint_retention_removed_total").await, 2.0);
    // A chat that is used again is young again.
    world.clock.advance(3 * DAY);
    world.play("young", "hello again").await;
    world.clock.advance(8 * DAY);
    for _ in 0..20 {
        world.clock.advance(MINUTE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(world.chats().await, ["young"]);
}

#[tokio::test]
async fn a_chat_with_an_open_hold_is_kept_and_counted() {
    let clock = Arc::new(ManualClock::new(Timestamp(1_700_000_000_000)));
    let log = Arc::new(MemoryLog::default());
    let tools = holdpoint_demo::demo_tools();
    let tools: holdpoint_runtime::tool::ToolSet = tools
        .iter()
        .cloned()
        .map(|mut tool| {
            Arc::make_mut(&mut tool.spec).approval_timeout = None.into();
            tool
        })
        .collect();
    let builder = holdpoint_demo::builder().clock(clock.clone()).log(log.clone()).tools(tools).retention(10 * DAY);
    let world = World { runtime: builder.start().await.expect("it starts"), clock, log };
    world.play("pays", "send 50 dollars to Hanako").await;
    world.play("talks", "hello").await;
    world.clock.advance(30 * DAY);
    world.until(&["pays"]).await;
    assert_eq!(world.metric("holdpoint_retention_kept").await, 1.0);
    let waiting = world.runtime.inbox(Subject::local()).list().await.expect("it lists");
    assert_eq!(waiting.len(), 1, "it can still be decided");

    // Decided, it is not open any more, and goes when it is old enough again.
    world.runtime.inbox(Subject::local()).decide(waiting[0].approval_id.clone(), false).await.expect("decided");
    assert_eq!(world.chats().await, ["pays"]);
    world.clock.advance(11 * DAY);
    world.until(&[]).await;
}

#[tokio::test]
async fn a_chat_that_somebody_looks_at_is_kept() {
    let world = World::start().await;
    let chat = ChatId::from("seen");
    world.play("seen", "hello").await;
    let live = world.runtime.live(Subject::local()).follow(&chat, View::default()).await.expect("it looks");
    world.clock.advance(20 * DAY);
    for _ in 0..20 {
        world.clock.advance(MINUTE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(world.chats().await, ["seen"]);
    drop(live);
    world.until(&[]).await;
    assert!(world.clock.now() > Timestamp(0));
}

#[tokio::test]
async fn many_old_chats_go_in_batches() {
    let world = World::start().await;
    for number in 0..250 {
        drop(world.say(&format!("chat-{number:03}"), "hello").await);
    }
    let settled = async {
        while world.runtime.admin().awake() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), settled).await.expect("all turns end");
    world.clock.advance(11 * DAY);
    let mut before = world.chats().await.len();
    while before > 0 {
        world.clock.advance(MINUTE);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let left = world.chats().await.len();
        assert!(before - left <= 100, "{} at once", before - left);
        before = left;
    }
    assert_eq!(world.metric("holdpoint_retention_removed_total").await, 250.0);
}
