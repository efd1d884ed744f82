//! The wrapper of a log that the documentation shows is as safe as the log in it, also if several nodes share that.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_protocol::{ids::ChatId, request::ChatRequest};
use holdpoint_runtime::{
    Runtime, Subject, View,
    fact::{Cause, Fact},
    log::{Append, AppendResult, ForwardLog, MemoryLog, Store},
    model::ScriptModel,
    tool::{Tool, ToolContext, ToolSet},
};
use holdpoint_testkit::{Gate, SharedLog, facts, within};
use serde_json::{Value, json};

const LEASE: Duration = Duration::from_millis(500);

// The same as in the documentation of `Store`, which a test below checks.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    bytes: AtomicUsize,
}

impl ForwardLog for Counting {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
        let sizes: Vec<usize> = appends.iter().map(|append| append.payload.len()).collect();
        Box::pin(async move {
            let results = self.inner.append_many(appends).await;
            for (result, size) in results.iter().zip(sizes) {
                if matches!(result, AppendResult::Committed { .. }) {
                    self.bytes.fetch_add(size, Ordering::Relaxed);
                }
            }
            results
        })
    }
}

fn counting(inner: Arc<dyn Store>) -> Arc<Counting> {
    Arc::new(Counting { inner, bytes: AtomicUsize::default() })
}

fn around_memory() -> ((), Arc<dyn Store>) {
    ((), counting(Arc::new(MemoryLog::default())))
}

holdpoint_testkit::log_contract_suite!(counting_log, around_memory);

#[test]
fn it_is_the_one_of_the_documentation() {
    let read = |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file");
    let documented: Vec<String> = read("../log/src/store/mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("///"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
        .collect();
    let (documented, here) = (documented.join("\n"), read("tests/wrapped_log.rs"));
    let shown = |text: &str| {
        let from = text.find("#[derive(Debug)]\nstruct Counting").expect("the wrapper");
        let length = text[from..].find("\n}\n\n").expect("its fields");
        let end = text[from + length + 4..].find("\n}\n").expect("its methods");
        text[from..from + length + 4 + end].to_owned()
    };
    assert_eq!(shown(&documented), shown(&here));
}

/// The node that runs the call is alive for longer than its lease, and another one is there to take over.
#[tokio::test]
async fn the_call_of_a_living_node_is_left_to_it() {
    let shared: Arc<dyn Store> = Arc::new(SharedLog::new(Arc::new(MemoryLog::default()), LEASE));
    let (slow, started) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
    let start = async || {
        let (slow, started) = (slow.clone(), Arc::clone(&started));
        let tool = Tool::server("slow", "Takes its time", move |_: Value, _: ToolContext| {
            let slow = slow.clone();
            started.fetch_add(1, Ordering::SeqCst);
            async move {
                slow.pass().await;
                Ok("done")
            }
        });
        // Idempotent: a node that took it over would run it again.
        let tools = ToolSet::new([tool.idempotent().build().expect("a tool")]).expect("one name");
        let steps = json!([[{"toolCall": {"name": "slow", "input": {}}}], [{"text": ["done"]}]]);
        let script = json!({"turns": [{"steps": steps}]}).to_string();
        let model = Arc::new(ScriptModel::from_text(&script).expect("a script"));
        let log = counting(Arc::clone(&shared)) as Arc<dyn Store>;
        Runtime::builder(model).log(log).tools(tools).start().await.expect("starts")
    };
    let (me, chat) = (Subject::local(), ChatId::from("c"));
    let a = start().await;
    drop(a.submit(&me, ChatRequest::user("c", "go"), View::default()).await.expect("is taken"));
    slow.arrived().await;
    let b = start().await;
    tokio::time::sleep(LEASE * 5).await;
    slow.open();
    within("the chat is idle", b.chats(&me).idle(&chat)).await.expect("a chat");
    let causes: Vec<Cause> = facts(&*shared, "c")
        .await
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Settled { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    assert_eq!((causes, started.load(Ordering::SeqCst)), (vec![Cause::Ran], 1));
}

/// Whoever prints a log, or what has one, prints no conversation.
#[tokio::test]
async fn a_log_shows_how_much_it_has_and_nothing_of_it() {
    let log = Arc::new(MemoryLog::default());
    let runtime = holdpoint_demo::builder().log(Arc::clone(&log) as _).start().await.expect("starts");
    let request = ChatRequest::user("c", "my number is hunter2");
    let (chat, _) = runtime.submit(&Subject::local(), request, View::default()).await.expect("is taken");
    within("the chat is idle", runtime.chats(&Subject::local()).idle(&chat)).await.expect("a chat");
    let shared = SharedLog::new(Arc::clone(&log) as _, LEASE);
    let builder = holdpoint_demo::builder().log(Arc::clone(&log) as _);
    for shown in [format!("{log:?}"), format!("{shared:?}"), format!("{runtime:?}"), format!("{builder:?}")] {
        let bytes = format!("{:?}", b"hunter2");
        let bytes = bytes.trim_matches(['[', ']']);
        assert!(!shown.contains("hunter2") && !shown.contains(bytes), "{shown}");
    }
    assert!(format!("{log:?}").contains("chats: 1"), "{log:?}");
}
