//! Calls that are cut off while they run. Once a request may have been sent, nobody knows what came of it, whoever ended the
//! call; before that, everybody does.
#![cfg(all(feature = "http-tools", feature = "mcp"))]

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::stream::BoxStream;
use holdpoint_protocol::{ids::ChatId, request::ChatRequest};
use holdpoint_runtime::{
    driver::Runtime,
    internals::{
        fact::{Cause, Fact, Outcome},
        project::View,
    },
    log::{AuditQuery, Log, MemoryLog},
    model::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ScriptModel},
    subject::Subject,
    tool::{
        ApprovalPolicy, Secret, Tool, ToolContext, ToolError, ToolSet,
        http::HttpEndpoint,
        mcp::{McpServer, McpSettings, McpTransport},
    },
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpListener, sync::watch};

const PATIENCE: Duration = Duration::from_secs(30);
const INTERRUPTED: &str = "interrupted: outcome unknown";
const UNKNOWN: &str = "do not repeat it without asking the user";

fn me() -> Subject {
    Subject::local()
}

fn chat() -> ChatId {
    ChatId::from("c")
}

/// The script's model, and what it was told of the calls of earlier turns.
#[derive(Debug)]
struct Listening {
    script: ScriptModel,
    told: Mutex<Vec<String>>,
}

impl Listening {
    fn new() -> Arc<Self> {
        let steps = json!([[{"toolCall": {"name": "act", "input": {}}}], [{"text": ["done"]}]]);
        let turns = json!([{"when": "^again", "steps": [[{"text": ["hello again"]}]]}, {"steps": steps}]);
        let script = ScriptModel::from_text(&json!({ "turns": turns }).to_string()).expect("a script");
        Arc::new(Self { script, told: Mutex::default() })
    }

    fn told(&self) -> String {
        self.told.lock().expect("no panic").join("\n")
    }
}

impl Model for Listening {
    fn version(&self) -> &str {
        self.script.version()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        for message in request.messages.iter() {
            if let ModelMessage::Results(results) = message {
                self.told
                    .lock()
                    .expect("no panic")
                    .extend(results.iter().map(|result| format!("{:?}", result.outcome)));
            }
        }
        self.script.stream(request)
    }
}

/// An endpoint that takes a request and never answers. Tells how many bytes it has got.
async fn silent() -> (u16, watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (told, got) = watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let told = told.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                    told.send_modify(|bytes| *bytes += read);
                }
            });
        }
    });
    (port, got)
}

fn endpoint(url: &str) -> Tool {
    let endpoint = HttpEndpoint { allow_private: true, timeout: PATIENCE, ..HttpEndpoint::new(url) };
    let schema = json!({"type": "object"});
    endpoint.tool("act", "Acts", Some(schema)).expect("an endpoint").build().expect("a tool")
}

/// How a running call is ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Shutdown,
    Stop,
    Message,
    Delete,
}

const WAYS: [Way; 4] = [Way::Shutdown, Way::Stop, Way::Message, Way::Delete];

struct Cut {
    cause: Cause,
    text: String,
    /// What the model was told about it afterwards.
    told: String,
}

/// Lets the model call `act`, waits until `begun`, and ends the call.
async fn cut(tool: Tool, begun: impl Future<Output = ()>, way: Way) -> Cut {
    let (log, model) = (Arc::new(MemoryLog::default()), Listening::new());
    let tools = || ToolSet::new([tool.clone()]).expect("one name");
    let start = async || {
        let builder = Runtime::builder().log(Arc::clone(&log) as _).model(Arc::clone(&model) as _).tools(tools());
        builder.start().await.expect("starts")
    };
    let mut runtime = start().await;
    let request = ChatRequest::user("c", "go");
    let _response = runtime.submit(&me(), request, View::default()).await.expect("is taken");
    tokio::time::timeout(PATIENCE, begun).await.expect("it is begun");
    match way {
        // Only then is a running tool cancelled.
        Way::Shutdown => {
            runtime.shutdown(Duration::from_secs(2)).await;
            runtime = start().await;
        }
        Way::Stop => runtime.stop(&me(), &chat(), None).await.expect("stops"),
        Way::Message => {
            let request = ChatRequest::user("c", "again");
            drop(runtime.submit(&me(), request, View::default()).await.expect("is taken"));
        }
        Way::Delete => runtime.delete(&me(), &chat()).await.expect("deletes"),
    }
    if way == Way::Delete {
        let entries = log.audit(AuditQuery::default(), 100).await.expect("it lists");
        let lines: Vec<Value> =
            entries.iter().map(|entry| serde_json::from_slice(&entry.data).expect("json")).collect();
        let last =
            lines.iter().rfind(|line| line["step"] == "settled").unwrap_or_else(|| panic!("not settled: {lines:?}"));
        let cause = serde_json::from_value(last["cause"].clone()).expect("a cause");
        return Cut { cause, text: String::new(), told: String::new() };
    }
    let request = ChatRequest::user("c", "again, please");
    tokio::time::timeout(PATIENCE, runtime.idle(&me(), &chat())).await.expect("in time").expect("a chat");
    drop(runtime.submit(&me(), request, View::default()).await.expect("is taken"));
    tokio::time::timeout(PATIENCE, runtime.idle(&me(), &chat())).await.expect("in time").expect("a chat");
    let batches = log.read(&chat(), 0, 1000).await.expect("it reads");
    let facts = batches.iter().flat_map(|batch| serde_json::from_slice::<Vec<Fact>>(&batch.payload).expect("facts"));
    let settled: Vec<(Outcome, Cause)> = facts
        .filter_map(|fact| match fact {
            Fact::Settled { outcome, cause, .. } => Some((outcome, cause)),
            _ => None,
        })
        .collect();
    match settled.as_slice() {
        [(Outcome::Error(text), cause)] => Cut { cause: *cause, text: text.clone(), told: model.told() },
        other => panic!("{way:?}: {other:?}"),
    }
}

#[track_caller]
fn assert_unknown(cut: &Cut, way: Way) {
    assert_eq!(cut.cause, Cause::Interrupted, "{way:?}: {}", cut.text);
    if way != Way::Delete {
        assert!(cut.text.starts_with(INTERRUPTED), "{way:?}: {}", cut.text);
        assert!(cut.told.contains(UNKNOWN), "{way:?}: {}", cut.told);
    }
}

#[tokio::test]
async fn an_endpoint_that_has_the_request_may_have_carried_it_out() {
    for way in WAYS {
        let (port, mut got) = silent().await;
        let tool = endpoint(&format!("http://127.0.0.1:{port}/pay"));
        let begun = async { drop(got.wait_for(|bytes| *bytes > 0).await.expect("an endpoint")) };
        assert_unknown(&cut(tool, begun, way).await, way);
    }
}

/// The handshake of TLS does not come to its end, so nothing of the call was sent.
#[tokio::test]
async fn an_endpoint_that_was_never_sent_the_request_has_not_carried_it_out() {
    for way in WAYS {
        let (port, mut got) = silent().await;
        let tool = endpoint(&format!("https://127.0.0.1:{port}/pay"));
        let begun = async { drop(got.wait_for(|bytes| *bytes > 0).await.expect("an endpoint")) };
        let cut = cut(tool, begun, way).await;
        assert_eq!(cut.cause, Cause::Stopped, "{way:?}: {}", cut.text);
        assert!(!cut.told.contains(UNKNOWN), "{way:?}: {}", cut.told);
    }
}

/// What a handler has done by the time it is cancelled is known to nobody, unless it comes to its end.
#[tokio::test]
async fn a_handler_that_was_running_may_have_done_its_work() {
    for way in WAYS {
        let (told, mut begun) = watch::channel(false);
        let act = move |_: Value, context: ToolContext| {
            told.send_replace(true);
            async move {
                context.cancellation.cancelled().await;
                Err::<(), _>(ToolError::new("gave up"))
            }
        };
        let tool = Tool::server("act", "Acts", act).build().expect("a tool");
        let begun = async { drop(begun.wait_for(|begun| *begun).await.expect("a tool")) };
        let cut = cut(tool, begun, way).await;
        assert_unknown(&cut, way);
        assert!(way != Way::Shutdown || cut.text.contains("gave up"), "{}", cut.text);
    }
}

#[tokio::test]
async fn a_handler_that_comes_to_its_end_in_spite_of_a_shutdown_has_run() {
    let (told, mut begun) = watch::channel(false);
    let act = move |_: Value, context: ToolContext| {
        told.send_replace(true);
        async move {
            context.cancellation.cancelled().await;
            Ok("paid")
        }
    };
    let tool = Tool::server("act", "Acts", act).build().expect("a tool");
    let log = Arc::new(MemoryLog::default());
    let tools = ToolSet::new([tool]).expect("one name");
    let builder = Runtime::builder().log(Arc::clone(&log) as _).model(Listening::new() as _).tools(tools);
    let runtime = builder.start().await.expect("starts");
    let request = ChatRequest::user("c", "go");
    let _response = runtime.submit(&me(), request, View::default()).await.expect("is taken");
    begun.wait_for(|begun| *begun).await.expect("a tool");
    runtime.shutdown(Duration::from_secs(2)).await;
    let batches = log.read(&chat(), 0, 1000).await.expect("it reads");
    let written: String = batches.iter().map(|batch| String::from_utf8_lossy(&batch.payload)).collect();
    assert!(written.contains(r#""cause":"ran""#) && written.contains("paid"), "{written}");
}

fn fake_server(log: &Path) -> McpSettings {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.mjs").display().to_string();
    let env = vec![("FAKE_LOG".to_owned(), Secret::new(log.display().to_string()))];
    let transport = McpTransport::Command { command: vec!["node".to_owned(), script], env };
    let settings = McpSettings::new("fake", transport);
    McpSettings { approval: ApprovalPolicy::Never, start_wait: PATIENCE, timeout: PATIENCE, ..settings }
}

#[tokio::test]
async fn an_mcp_server_that_has_the_request_may_have_carried_it_out() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let server = McpServer::start(fake_server(&log)).await.expect("starts");
        let tools = server.tools();
        let slow = tools.iter().find(|tool| tool.spec.name == "fake_slow").expect("a tool");
        // Under the name that the script calls.
        let handler = slow.handler.clone().expect("a handler");
        let act = move |input: Value, context: ToolContext| handler(input, context);
        let tool = Tool::server("act", "Acts", act).build().expect("a tool");
        let begun = async {
            while !std::fs::read_to_string(&log).unwrap_or_default().lines().any(|line| line == "call slow") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert_unknown(&cut(tool, begun, way).await, way);
        server.stop().await;
    }
}
