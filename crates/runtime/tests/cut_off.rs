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
    Runtime,
    fact::{Cause, Fact, Outcome},
    log::{AuditQuery, Index, Log, MemoryLog},
    model::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, ScriptModel},
    subject::Subject,
    tool::{
        ApprovalPolicy, Secret, Tool, ToolContext, ToolError, ToolSet,
        http::HttpEndpoint,
        mcp::{McpServer, McpSettings, McpTransport},
    },
    wire::View,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::watch,
};

const PATIENCE: Duration = Duration::from_secs(30);
const INTERRUPTED: &str = "interrupted: outcome unknown";
const UNKNOWN: &str = "do not repeat it without asking the user";
const REPEATABLE: &str = "The call can be made again";

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
    fn name(&self) -> &str {
        self.script.name()
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
        let builder = Runtime::builder(Arc::clone(&model) as _).log(Arc::clone(&log) as _).tools(tools());
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
        Way::Stop => runtime.chats(&me()).stop(&chat(), None).await.expect("stops"),
        Way::Message => {
            let request = ChatRequest::user("c", "again");
            drop(runtime.submit(&me(), request, View::default()).await.expect("is taken"));
        }
        Way::Delete => runtime.chats(&me()).delete(&chat()).await.expect("deletes"),
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
    tokio::time::timeout(PATIENCE, runtime.chats(&me()).idle(&chat())).await.expect("in time").expect("a chat");
    drop(runtime.submit(&me(), request, View::default()).await.expect("is taken"));
    tokio::time::timeout(PATIENCE, runtime.chats(&me()).idle(&chat())).await.expect("in time").expect("a chat");
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

/// Lets the model call `act`, and waits for what comes of it.
async fn outcome(tool: Tool) -> Cut {
    let (log, model) = (Arc::new(MemoryLog::default()), Listening::new());
    let tools = ToolSet::new([tool]).expect("one name");
    let builder = Runtime::builder(Arc::clone(&model) as _).log(Arc::clone(&log) as _).tools(tools);
    let runtime = builder.start().await.expect("starts");
    let _response = runtime.submit(&me(), ChatRequest::user("c", "go"), View::default()).await.expect("is taken");
    tokio::time::timeout(PATIENCE, runtime.chats(&me()).idle(&chat())).await.expect("in time").expect("a chat");
    let batches = log.read(&chat(), 0, 1000).await.expect("it reads");
    let mut facts =
        batches.iter().flat_map(|batch| serde_json::from_slice::<Vec<Fact>>(&batch.payload).expect("facts"));
    let settled = facts.find_map(|fact| match fact {
        Fact::Settled { outcome, cause, .. } => Some((outcome, cause)),
        _ => None,
    });
    match settled.expect("an outcome") {
        (Outcome::Error(text), cause) => Cut { cause, text, told: model.told() },
        (other, cause) => Cut { cause, text: format!("{other:?}"), told: model.told() },
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
    let builder = Runtime::builder(Listening::new() as _).log(Arc::clone(&log) as _).tools(tools);
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
    let env = vec![
        ("FAKE_LOG".to_owned(), Secret::new(log.display().to_string())),
        ("FAKE_TOOL".to_owned(), Secret::new("odd")),
    ];
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

/// What an endpoint does that has got the request: it writes this, and closes the connection.
async fn answering(answer: impl Into<String>) -> u16 {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        drop(listener);
        let read = stream.read(&mut [0; 8192]).await.expect("a request");
        assert!(read > 0);
        let _ = stream.write_all(answer.replace("PORT", &port.to_string()).as_bytes()).await;
    });
    port
}

/// What the outcome of a call to an endpoint is, and what the model is told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// There was an answer, or nothing was sent.
    Yes,
    /// A request was sent, and what came back says nothing.
    No,
}

/// The table of `docs/concepts.md`.
#[tokio::test]
async fn the_outcome_is_known_by_an_answer_that_can_be_read() {
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let status = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nno");
    let mut rows = vec![
        ("an output", format!("{json}content-length: 2\r\n\r\n{{}}"), Known::Yes),
        ("no output", "HTTP/1.1 204 No Content\r\n\r\n".to_owned(), Known::Yes),
        ("closed at once", String::new(), Known::No),
        ("closed in the header", "HTTP/1.1 200 OK\r\ncontent-le".to_owned(), Known::No),
        ("closed in the body", format!("{json}content-length: 100\r\n\r\n{{"), Known::No),
        ("no HTTP", "hello\r\n\r\n".to_owned(), Known::No),
        ("no JSON", format!("{json}content-length: 1\r\n\r\n{{"), Known::No),
        ("too deep", format!("{json}content-length: 2000\r\n\r\n{}{}", "[".repeat(1000), "]".repeat(1000)), Known::No),
        ("too large", format!("{json}content-length: 9000000\r\n\r\n"), Known::No),
        ("encoded", format!("{json}content-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx"), Known::No),
        ("to another host", "HTTP/1.1 303 See Other\r\nlocation: http://localhost:PORT/\r\n\r\n".to_owned(), Known::No),
        ("to where nobody is", "HTTP/1.1 303 See Other\r\nlocation: /gone\r\n\r\n".to_owned(), Known::No),
    ];
    for refused in ["302 Found", "400 Bad Request", "401 Unauthorized", "404 Not Found", "408 Request Timeout"] {
        rows.push((refused, status(refused), Known::Yes));
    }
    for refused in ["409 Conflict", "429 Too Many Requests", "500 Internal Server Error", "501 Not Implemented"] {
        rows.push((refused, status(refused), Known::Yes));
    }
    // Somebody else answers, who does not know what the endpoint has done.
    for gateway in ["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "520 Unknown", "524 Timeout"] {
        rows.push((gateway, status(gateway), Known::No));
    }
    for (what, answer, known) in rows {
        let tool = endpoint(&format!("http://127.0.0.1:{}/pay", answering(answer).await));
        assert_known(&outcome(tool).await, known, what);
    }
    // Nobody is there; nobody answers; nobody goes on with the handshake of TLS, so that nothing is sent.
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let (port, _) = silent().await;
    for (what, url, known) in [
        ("nobody is there", format!("http://{nobody}/pay"), Known::Yes),
        ("nobody answers", format!("http://127.0.0.1:{port}/pay"), Known::No),
        ("nobody goes on", format!("https://127.0.0.1:{port}/pay"), Known::Yes),
    ] {
        let timeout = Duration::from_millis(300);
        let endpoint = HttpEndpoint { allow_private: true, timeout, ..HttpEndpoint::new(&url) };
        let tool = endpoint.tool("act", "Acts", Some(json!({"type": "object"}))).expect("an endpoint").build();
        let outcome = outcome(tool.expect("a tool")).await;
        assert_known(&outcome, known, what);
        assert!(what == "nobody answers" || outcome.text.contains("was not made"), "{what}: {}", outcome.text);
    }
}

#[track_caller]
fn assert_known(outcome: &Cut, known: Known, what: &str) {
    let Cut { cause, text, told } = outcome;
    let expected = if known == Known::Yes { Cause::Ran } else { Cause::Interrupted };
    assert_eq!(*cause, expected, "{what}: {text}");
    assert_eq!(text.starts_with(INTERRUPTED), known == Known::No, "{what}: {text}");
    assert_eq!(told.contains(UNKNOWN), known == Known::No, "{what}: {told}");
}

/// The same table, for MCP servers.
#[tokio::test]
async fn the_outcome_of_an_mcp_call_is_known_by_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let timeout = Duration::from_millis(500);
    let server = McpServer::start(McpSettings { timeout, ..fake_server(&log) }).await.expect("starts");
    for (name, known) in [
        ("fake_leak", Known::Yes),
        ("fake_wipe", Known::Yes),
        ("fake_slow", Known::No),
        ("fake_odd", Known::No),
        ("fake_die", Known::No),
    ] {
        let tools = server.tools();
        let tool = tools.iter().find(|tool| tool.spec.name == name).unwrap_or_else(|| panic!("no tool {name}"));
        let handler = tool.handler.clone().expect("a handler");
        let act = move |input: Value, context: ToolContext| handler(input, context);
        assert_known(&outcome(Tool::server("act", "Acts", act).build().expect("a tool")).await, known, name);
    }
    server.stop().await;
}

/// The same table, for handlers of a program.
#[tokio::test]
async fn the_outcome_of_a_handler_is_its_own_word() {
    let failing = |_: Value, _: ToolContext| async move { Err::<(), _>(ToolError::new("no money")) };
    let unsure = |_: Value, _: ToolContext| async move { Err::<(), _>(ToolError::outcome_unknown("the line is dead")) };
    let panicking = |input: Value, _: ToolContext| async move {
        assert!(!input.is_object(), "a bug");
        Ok(())
    };
    let slow = |_: Value, context: ToolContext| async move {
        context.cancellation.cancelled().await;
        Err::<(), _>(ToolError::new("gave up"))
    };
    let limit = Duration::from_millis(100);
    for (what, tool, known) in [
        ("it fails", Tool::server("act", "Acts", failing), Known::Yes),
        ("it does not know", Tool::server("act", "Acts", unsure), Known::No),
        ("it panics", Tool::server("act", "Acts", panicking), Known::No),
        ("it takes too long", Tool::server("act", "Acts", slow).timeout(limit), Known::No),
    ] {
        assert_known(&outcome(tool.build().expect("a tool")).await, known, what);
    }
}

/// A read changes nothing, and an idempotent call nothing a second time: there is nobody to ask.
#[tokio::test]
async fn a_call_that_can_be_made_again_is_told_so() {
    let tool = |port: u16, is_get: bool, timeout: Duration| {
        let method = if is_get { "GET" } else { "POST" }.to_owned();
        let url = format!("http://127.0.0.1:{port}/rates");
        let endpoint =
            HttpEndpoint { allow_private: true, timeout, method, idempotent: !is_get, ..HttpEndpoint::new(&url) };
        let tool = endpoint.tool("act", "Acts", Some(json!({"type": "object"}))).expect("an endpoint").build();
        tool.expect("a tool")
    };
    for is_get in [true, false] {
        for way in [Way::Shutdown, Way::Stop, Way::Message] {
            let (port, mut got) = silent().await;
            let begun = async { drop(got.wait_for(|bytes| *bytes > 0).await.expect("an endpoint")) };
            let cut = cut(tool(port, is_get, PATIENCE), begun, way).await;
            assert_eq!(cut.cause, Cause::Interrupted, "{way:?}: {}", cut.text);
            assert!(cut.told.contains(REPEATABLE) && !cut.told.contains(UNKNOWN), "{way:?}: {}", cut.told);
        }
        let (port, _) = silent().await;
        let cut = outcome(tool(port, is_get, Duration::from_millis(200))).await;
        assert_eq!(cut.cause, Cause::Interrupted, "{}", cut.text);
        assert!(cut.told.contains(REPEATABLE) && !cut.told.contains(UNKNOWN), "{}", cut.told);
    }
}
