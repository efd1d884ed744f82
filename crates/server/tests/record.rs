//! What a person saw and decided is what happens: the stream, the lists, the history and the tool have the same value; every answer is
//! taken wherever it stands; and why a call ended is data.

mod support;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{SinkExt, StreamExt};
use holdpoint_demo::demo_tools;
use holdpoint_protocol::{ids::ChatId, json::is_forbidden_key};
use holdpoint_runtime::{
    log::{DeleteResult, Log, MemoryLog, SqliteError, SqliteLog},
    tool::{ApprovalPolicy, Execution, Tool, ToolBuilder, ToolSet},
};
use holdpoint_testkit::log_suite;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use support::{Answer, Live, Setup, Sse, TestServer};
use tokio_tungstenite::tungstenite::Message;

const PAY: &str = "send 50 dollars to Hanako";

/// What a tool was given.
type Seen = Arc<Mutex<Vec<Value>>>;

/// A tool that asks first, takes anything, and remembers it; and one that needs no approval and returns what it is given.
fn tools(seen: &Seen) -> ToolSet {
    let (ran, echoed) = (Arc::clone(seen), Arc::clone(seen));
    let deploy = Tool::server("deploy", "for tests", move |input: Value, _| {
        ran.lock().expect("not poisoned").push(input);
        async { Ok(json!({"done": true})) }
    });
    let echo = Tool::server("echo", "for tests", move |input: Value, _| {
        echoed.lock().expect("not poisoned").push(input.clone());
        async { Ok(input) }
    });
    let object = json!({"type": "object"});
    let build = |builder: ToolBuilder| builder.build().expect("a valid tool");
    let locate = ToolBuilder::browser::<Value>("locate", "for tests", Execution::Frontend).schema(object.clone());
    let mut tools: Vec<Tool> = demo_tools().iter().cloned().collect();
    tools.push(build(deploy.schema(object.clone()).approval(ApprovalPolicy::Always)));
    tools.push(build(echo.schema(object)));
    tools.push(build(locate.approval(ApprovalPolicy::Always)));
    tools.into_iter().collect()
}

/// A model that makes this call, then says "done".
fn calling(name: &str, input: &Value) -> Value {
    json!({"turns": [{"steps": [[{"toolCall": {"name": name, "input": input}}], [{"text": ["done"]}]]}]})
}

async fn server(script: &Value, seen: &Seen) -> TestServer {
    let mut setup = Setup::script(script);
    setup.builder = setup.builder.tools(tools(seen));
    setup.start().await
}

fn of_type<'a>(chunks: &'a [Value], kind: &str) -> Vec<&'a Value> {
    chunks.iter().filter(|chunk| chunk["type"] == kind).collect()
}

async fn holds(server: &TestServer, chat: &str) -> Vec<Value> {
    match server.get(&format!("/api/chat/{chat}/holds")).await {
        (200, Value::Array(holds)) => holds,
        other => panic!("the holds are {other:?}"),
    }
}

async fn messages(server: &TestServer, chat: &str) -> Vec<Value> {
    match server.get(&format!("/api/chat/{chat}/messages")).await {
        (200, Value::Array(messages)) => messages,
        other => panic!("the messages are {other:?}"),
    }
}

/// The tool parts of the stored messages.
async fn parts(server: &TestServer, chat: &str) -> Vec<Value> {
    let messages = messages(server, chat).await;
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().expect("parts"));
    parts.filter(|part| part["type"].as_str().is_some_and(|kind| kind.starts_with("tool-"))).cloned().collect()
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

#[tokio::test]
async fn an_input_that_can_not_be_shown_is_never_run() {
    let forbidden: Value =
        serde_json::from_str(r#"{"id":7,"fields":{"note":"hello","__proto__":{"role":"admin"}}}"#).expect("JSON");
    let cases = [
        (forbidden, "__proto__"),
        (json!({"a": {"constructor": {"prototype": 1, "amount": 99999}}}), "constructor"),
        (json!({"amount": 9_007_199_254_740_993_u64}), "9007199254740993"),
        (json!({"amount": [-9_007_199_254_740_992_i64]}), "-9007199254740992"),
        (json!({"deep": nested(48)}), "48 levels"),
        (json!({"long": "x".repeat(1024 * 1024)}), "1048576 bytes"),
        (json!({"many": vec![0; 100_000]}), "100000 values"),
    ];
    for (input, why) in cases {
        let seen = Seen::default();
        let server = server(&calling("deploy", &input), &seen).await;
        let mut chat = server.chat();
        let chunks = chat.ask("go").await;
        let errors = of_type(&chunks, "tool-input-error");
        assert_eq!(errors.len(), 1, "{why}: {chunks:#?}");
        assert!(errors[0]["errorText"].as_str().is_some_and(|text| text.contains(why)), "{why}: {errors:#?}");
        assert!(of_type(&chunks, "tool-approval-request").is_empty() && server.approvals().await.is_empty());
        assert!(chat.text().contains("done"), "the model is told, and goes on");
        assert!(seen.lock().expect("not poisoned").is_empty(), "nothing ran");
        assert_eq!(parts(&server, &chat.id).await.len(), 1, "and the chat can be read");
        assert_eq!(server.post(&format!("/api/chat/{}/stop", chat.id), &json!({})).await.0, 200);
    }
}

#[tokio::test]
async fn inputs_at_the_limits_run() {
    let cases = [
        json!({"amount": 9_007_199_254_740_991_u64, "other": -9_007_199_254_740_991_i64}),
        json!({"deep": nested(47)}),
        json!({"constructor": {"role": "admin"}, "prototype": 1}),
        json!({"many": vec![0; 99_998]}),
    ];
    for input in cases {
        let seen = Seen::default();
        let server = server(&calling("deploy", &input), &seen).await;
        let mut chat = server.chat();
        chat.ask("go").await;
        let approval = chat.approval(0);
        assert_eq!(server.approvals().await[0]["input"], input);
        let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
        chat.read(&mut sse).await;
        assert_eq!(*seen.lock().expect("not poisoned"), [input]);
    }
}

/// A browser shows every integer of a call that nobody decides about, but nobody relies on it.
#[tokio::test]
async fn a_large_integer_runs_in_a_call_that_needs_no_approval() {
    let (seen, input) = (Seen::default(), json!({"n": 9_007_199_254_740_993_u64}));
    let server = server(&calling("echo", &input), &seen).await;
    server.chat().ask("go").await;
    assert_eq!(*seen.lock().expect("not poisoned"), [input]);
}

/// Whatever a tool or a browser returns can be read back, or is an error.
#[tokio::test]
async fn an_output_that_can_not_be_stored_is_an_error() {
    // The input may have 48 levels, and so may the output; this tool puts its input one level deeper.
    let deeper = Tool::server("deeper", "for tests", async |input: Value, _| Ok(json!([nested(100), input])))
        .schema(json!({"type": "object"}))
        .build()
        .expect("a valid tool");
    let mut setup = Setup::script(&calling("deeper", &json!({})));
    setup.builder = setup.builder.tools([deeper].into_iter().collect());
    let server = setup.start().await;
    let mut chat = server.chat();
    let chunks = chat.ask("go").await;
    let error = of_type(&chunks, "tool-output-error")[0]["errorText"].as_str().expect("a text").to_owned();
    assert!(error.contains("ran") && error.contains("48 levels"), "it says that it was done: {error}");
    assert_eq!(parts(&server, &chat.id).await[0]["state"], "output-error");

    let server = TestServer::script(calling("open-url", &json!({"url": "https://example.com"}))).await;
    let mut chat = server.chat();
    let mut sse = chat.say("go").await;
    let mut shown = Vec::new();
    while !shown.iter().any(|payload: &String| payload.contains("tool-input-available")) {
        shown.push(sse.next().await.expect("it waits for the browser"));
    }
    let chunk: Value = serde_json::from_str(shown.last().expect("one")).expect("JSON");
    let call = chunk["toolCallId"].as_str().expect("an id").to_owned();
    let (status, answer) = server.ack(&call, "success", nested(49)).await;
    assert_eq!((status, answer["ok"].clone()), (422, json!(false)), "{answer}");
    let forbidden: Value = serde_json::from_str(r#"{"__proto__":1}"#).expect("JSON");
    assert_eq!(server.ack(&call, "success", forbidden).await.0, 422);
    assert_eq!(server.ack(&call, "success", nested(46)).await.0, 200, "it still waits");
    sse.rest().await;
}

#[tokio::test]
async fn a_message_that_can_not_be_stored_is_refused() {
    let server = TestServer::demo().await;
    let post = async |message: Value| server.post("/stream", &json!({"id": "c", "messages": [message]})).await;
    let text = json!({"type": "text", "text": "hello"});
    let forbidden: Value = serde_json::from_str(r#"{"a":{"__proto__":1}}"#).expect("JSON");
    for (message, why) in [
        (json!({"role": "user", "parts": [text], "metadata": forbidden}), "__proto__"),
        (json!({"role": "user", "parts": [text], "metadata": nested(49)}), "48 levels"),
        (json!({"role": "user", "parts": [text, {"type": "data-x", "data": nested(49)}]}), "48 levels"),
        (json!({"role": "user", "parts": [text, {"type": "text"}]}), "part 1"),
        (json!({"role": "user", "parts": [text, {"type": "hologram"}]}), "hologram"),
        (
            json!({"role": "user", "parts": [text, {"type": "file", "url": "data:,x", "mediaType": "text/plain", "providerReference": 5}]}),
            "file",
        ),
    ] {
        let (status, body) = post(message).await;
        assert_eq!(status, 422, "{body}");
        assert!(body.to_string().contains(why), "{why}: {body}");
    }
    assert_eq!(server.get("/api/chat/c/messages").await.0, 404, "nothing of it was stored");
    assert_eq!(post(json!({"role": "user", "parts": [text], "metadata": nested(48)})).await.0, 200);
    assert_eq!(messages(&server, "c").await[0]["metadata"], nested(48));
}

/// For random inputs: the JSON that the tool gets is the JSON in the stream, in the inbox, in the holds, in the history and in the log;
/// or nothing runs and everybody is told so.
#[tokio::test]
async fn a_call_runs_with_the_input_that_was_shown() {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["\u{202e}txt", "\u{ad}", "a\u{200b}b", "\u{0}", "👩‍👩‍👧"]).prop_map(Value::from),
    ];
    let key = prop_oneof![
        4 => "[a-z]{1,4}",
        1 => any::<String>(),
        1 => prop::sample::select(vec!["__proto__", "constructor", "prototype", "toString", "$serde_json::private::Number", "\u{202e}"]).prop_map(str::to_owned),
    ];
    let value = leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    let mut runner = TestRunner::deterministic();
    for _ in 0..150 {
        let input = json!({"value": value.new_tree(&mut runner).expect("a value").current()});
        let (seen, log) = (Seen::default(), Arc::new(MemoryLog::default()));
        let mut setup = Setup::script(&calling("deploy", &input)).log(log.clone());
        setup.builder = setup.builder.tools(tools(&seen));
        let server = setup.start().await;
        let mut chat = server.chat();
        let chunks = chat.ask("go").await;
        if let Some(shown) = of_type(&chunks, "tool-input-available").first() {
            assert!(!is_forbidden(&input));
            let inbox = server.approvals().await;
            let hold = &holds(&server, &chat.id).await[0];
            let part = parts(&server, &chat.id).await[0].clone();
            let approval = chat.approval(0);
            let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
            let answered = chat.read(&mut sse).await;
            let ran = seen.lock().expect("not poisoned").clone();
            assert_eq!(ran, std::slice::from_ref(&input), "{answered:#?}");
            for other in [&shown["input"], &inbox[0]["input"], &hold["input"], &part["input"]] {
                assert_eq!(other, &input);
            }
            let batches = log.read(&chat.id.as_str().into(), 0, 1000).await.expect("it reads");
            let text: String =
                batches.iter().map(|batch| String::from_utf8_lossy(&batch.payload).into_owned()).collect();
            assert!(text.contains(&input.to_string()), "{input}");
        } else {
            assert_eq!(of_type(&chunks, "tool-input-error").len(), 1, "{input}: {chunks:#?}");
            assert!(seen.lock().expect("not poisoned").is_empty());
        }
    }
}

fn is_forbidden(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_forbidden),
        Value::Object(fields) => fields.iter().any(|(key, field)| is_forbidden_key(key, field) || is_forbidden(field)),
        _ => false,
    }
}

/// Facts that nobody can decode: the chat can be deleted, and what waits in it expires.
#[tokio::test]
async fn an_unreadable_chat_can_be_deleted_and_its_holds_expire() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Setup::demo().log(Arc::new(SqliteLog::open(folder.path()).expect("opens"))).start().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut chat = server.chat();
        chat.ask(PAY).await;
        ids.push((chat.id.clone(), chat.approval(0)));
    }
    server.kill().await;
    let deep = format!("[{{\"fact\":\"context\",\"messages\":{}1{}}}]", "[".repeat(200), "]".repeat(200));
    let database = rusqlite::Connection::open(folder.path().join("holdpoint.db")).expect("opens");
    let changed =
        database.execute("UPDATE batches SET payload = ?1 WHERE first = 0", [deep.as_bytes()]).expect("writes");
    assert_eq!(changed, 2);
    drop(database);

    // A server that was killed lets go of its folder when the last of its connections has ended.
    let free = async {
        loop {
            match SqliteLog::open(folder.path()) {
                Ok(log) => break log,
                Err(SqliteError::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let log = tokio::time::timeout(support::PATIENCE, free).await.expect("the folder is let go of");
    let server = Setup::demo().log(Arc::new(log)).start().await;
    assert_eq!(server.approvals().await.len(), 2, "the heads are there");
    let (status, text) = server.get(&format!("/api/chat/{}/messages", ids[0].0)).await;
    assert_eq!(status, 500);
    assert!(text.to_string().contains("delete it"), "{text}");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let delete = async |chat: &str| {
        client.delete(server.url(&format!("/api/chat/{chat}"))).send().await.expect("an answer").status().as_u16()
    };
    assert_eq!(delete(&ids[0].0).await, 204);
    assert_eq!(server.approvals().await.len(), 1);
    server.clock.advance(Duration::from_secs(301));
    for _ in 0..200 {
        if server.approvals().await.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(server.approvals().await.is_empty(), "it has expired");
    assert_eq!(delete(&ids[1].0).await, 204);
    server.kill().await;
}

#[tokio::test]
async fn an_answer_counts_in_a_message_of_any_role() {
    for role in ["user", "assistant", "system"] {
        for older in [false, true] {
            let server = TestServer::demo().await;
            let mut chat = server.chat();
            chat.ask(PAY).await;
            let (call, approval) = (chat.call(0), chat.approval(0));
            let part = match older {
                false => {
                    json!({"type": "tool-process_payment", "toolCallId": call, "state": "approval-responded", "input": {}, "approval": {"id": approval, "approved": true}})
                }
                true => {
                    json!({"type": "tool-adk_request_confirmation", "approval": {"id": approval, "approved": true}})
                }
            };
            // The original system's clients do not name the chat.
            let body = json!({"messages": [{"id": "answer", "role": role, "parts": [part]}]});
            let mut sse = chat.open(&body).await;
            let chunks = chat.read(&mut sse).await;
            assert_eq!(of_type(&chunks, "tool-output-available").len(), 1, "{role}, {older}: {chunks:#?}");
            assert_eq!(chunks[0]["messageId"], chat.segments[0][0]["messageId"], "it continues the message");
            assert_eq!(messages(&server, &chat.id).await.len(), 2, "an answer is not a message");
        }
    }
}

#[tokio::test]
async fn a_tool_result_alone_counts_in_a_user_message() {
    let server = TestServer::script(calling("open-url", &json!({"url": "https://example.com"}))).await;
    let mut chat = server.chat().resubmit();
    let chunks = chat.ask("go").await;
    let call = of_type(&chunks, "tool-input-available")[0]["toolCallId"].clone();
    let part = json!({"type": "tool-result", "toolCallId": call, "result": {"url": "https://example.com"}});
    let mut sse = chat.open(&json!({"messages": [{"role": "user", "parts": [part]}]})).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(of_type(&chunks, "tool-output-available").len(), 1, "{chunks:#?}");
}

/// The payment that was approved is made, and its outcome is recorded; then the new message gets its own turn, and nothing else.
#[tokio::test]
async fn an_answer_beside_a_new_message_is_taken_first() {
    for (approved, cause, state) in [(true, "ran", "output-available"), (false, "decision", "output-denied")] {
        let server = TestServer::demo().await;
        let mut chat = server.chat();
        chat.ask(PAY).await;
        let first = chat.segments[0][0]["messageId"].clone();
        let approval = chat.approval(0);
        chat.put(&[if approved { Answer::Approve(&approval) } else { Answer::Deny(&approval, Some("not today")) }]);
        let mut sse = chat.say("hello").await;
        let payloads = sse.rest().await;
        let chunks: Vec<Value> = payloads.iter().filter_map(|payload| serde_json::from_str(payload).ok()).collect();
        let starts = of_type(&chunks, "start");
        assert_eq!(starts.len(), 1, "{chunks:#?}");
        assert_ne!(starts[0]["messageId"], first, "its own turn only: {approved} {chunks:#?}");
        assert!(of_type(&chunks, "tool-output-available").is_empty(), "{chunks:#?}");
        let stored = messages(&server, &chat.id).await;
        let roles: Vec<&str> = stored.iter().filter_map(|message| message["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
        let part = &parts(&server, &chat.id).await[0];
        assert_eq!(
            (&part["state"], &part["callProviderMetadata"]["holdpoint"]["cause"]),
            (&json!(state), &json!(cause))
        );
        assert_eq!(server.approvals().await.len(), 0);
    }
}

/// A call that runs is waited for; the message stands in the history meanwhile, and a stop ends both turns.
#[tokio::test]
async fn a_new_message_waits_for_the_call_that_it_released() {
    let (go, gone) = (Arc::new(tokio::sync::Notify::new()), Seen::default());
    let (release, ran) = (Arc::clone(&go), Arc::clone(&gone));
    let slow = Tool::server("slow", "for tests", move |input: Value, _| {
        let (release, ran) = (Arc::clone(&release), Arc::clone(&ran));
        async move {
            release.notified().await;
            ran.lock().expect("not poisoned").push(input);
            Ok(json!({"ok": true}))
        }
    });
    let slow = slow.schema(json!({"type": "object"})).approval(ApprovalPolicy::Always).build().expect("a valid tool");
    let script = json!({"turns": [
        {"when": "go", "steps": [[{"toolCall": {"name": "slow", "input": {}}}], [{"text": ["first"]}]]},
        {"when": "next", "steps": [[{"text": ["second"]}]]},
    ]});
    for stops in [false, true] {
        let mut setup = Setup::script(&script);
        setup.builder = setup.builder.tools([slow.clone()].into_iter().collect());
        let server = setup.start().await;
        let mut chat = server.chat();
        chat.ask("go").await;
        let approval = chat.approval(0);
        chat.put(&[Answer::Approve(&approval)]);
        let mut sse = chat.say("next").await;
        let stored = messages(&server, &chat.id).await;
        assert_eq!(stored.len(), 3, "the message is stored at once: {stored:#?}");
        assert_eq!(holds(&server, &chat.id).await[0]["state"], "running");
        if stops {
            assert_eq!(server.post(&format!("/api/chat/{}/stop", chat.id), &json!({})).await.0, 200);
        } else {
            go.notify_one();
        }
        let payloads = sse.rest().await.join("\n");
        assert_eq!(payloads.contains("second"), !stops, "{payloads}");
        assert_eq!(payloads.contains("\"abort\""), stops, "{payloads}");
        assert!(!payloads.contains("first") && payloads.contains("[DONE]"), "{payloads}");
        let hold = &holds(&server, &chat.id).await[0];
        // The tool was at it when it was stopped.
        let cause = if stops { "interrupted" } else { "ran" };
        assert_eq!((&hold["state"], &hold["outcome"]["cause"]), (&json!("settled"), &json!(cause)));
        assert_eq!(gone.lock().expect("not poisoned").len(), 1, "run once, in the playing that was not stopped");
    }
}

/// A client takes no chunk before `start`. So a response that has to end before it is broken off, and not ended with an
/// error. Here the chat is removed from under the server.
#[tokio::test]
async fn a_response_that_ends_before_it_has_begun_is_broken_off() {
    let (log, go) = (Arc::new(MemoryLog::default()), Arc::new(tokio::sync::Notify::new()));
    let release = Arc::clone(&go);
    let slow = Tool::server("slow", "for tests", move |input: Value, _| {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            Ok(input)
        }
    });
    let remove = async |chat: &str| {
        let chat = ChatId::from(chat);
        let len = log.stored(&chat).await.expect("it reads").expect("a chat").len();
        assert_eq!(log.delete(&chat, log_suite::deletion(len)).await, Ok(DeleteResult::Deleted));
        go.notify_one();
    };
    let slow = slow.schema(json!({"type": "object"})).approval(ApprovalPolicy::Always).build().expect("a valid tool");
    let script = json!({"turns": [{"when": "go", "steps": [[{"toolCall": {"name": "slow", "input": {}}}]]}]});
    let mut setup = Setup::script(&script).log(Arc::clone(&log) as _);
    setup.builder = setup.builder.tools([slow].into_iter().collect());
    let server = setup.start().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    for route in ["/stream", "/api/chat", "/api/chat/ws"] {
        let mut chat = server.chat();
        chat.ask("go").await;
        let (id, approval) = (chat.id.clone(), chat.approval(0));
        // It waits for the call that it releases, and nothing is sent until that has ended.
        let part = json!({"type": "tool-slow", "toolCallId": chat.call(0), "state": "approval-responded", "input": {},
            "approval": {"id": approval, "approved": true}});
        let next = json!({"id": "next", "role": "user", "parts": [{"type": "text", "text": "next"}]});
        let messages = json!([{"id": "answer", "role": "assistant", "parts": [part]}, next]);
        if route == "/api/chat/ws" {
            let url = server.url(route).replacen("http", "ws", 1);
            let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("it connects");
            let frame =
                json!({"type": "send", "requestId": "r", "id": id, "trigger": "submit-message", "messages": messages});
            socket.send(Message::text(frame.to_string())).await.expect("it is sent");
            running(&server, &id).await;
            remove(&id).await;
            let frame = loop {
                let frame = tokio::time::timeout(Duration::from_secs(10), socket.next()).await.expect("in time");
                let frame = frame.expect("a frame").expect("it is read");
                let frame: Value = serde_json::from_str(frame.to_text().expect("text")).expect("JSON");
                if frame["type"] != "start" {
                    break frame;
                }
            };
            assert_eq!((&frame["type"], &frame["requestId"]), (&json!("error"), &json!("r")), "{frame}");
            assert!(frame["errorText"].as_str().is_some_and(|text| text.contains("try again")), "{frame}");
        } else {
            let body = json!({"id": id, "messages": messages, "trigger": "submit-message"});
            let response = client.post(server.url(route)).json(&body).send().await.expect("an answer");
            assert_eq!(response.status(), 200);
            running(&server, &id).await;
            remove(&id).await;
            let read = tokio::time::timeout(Duration::from_secs(10), response.text()).await.expect("in time");
            assert!(read.is_err(), "{route}: it ends as if it were complete: {read:?}");
        }
    }
}

/// A chat is deleted while a response waits for the call that it released.
#[tokio::test]
async fn a_response_of_a_chat_that_is_deleted_ends_in_order() {
    let slow = Tool::server("slow", "for tests", async |input: Value, _| {
        std::future::pending::<()>().await;
        Ok(input)
    });
    let slow = slow.schema(json!({"type": "object"})).approval(ApprovalPolicy::Always).build().expect("a valid tool");
    let script = json!({"turns": [{"when": "go", "steps": [[{"toolCall": {"name": "slow", "input": {}}}]]}]});
    let mut setup = Setup::script(&script);
    setup.builder = setup.builder.tools([slow].into_iter().collect());
    let server = setup.start().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut chat = server.chat();
    chat.ask("go").await;
    let approval = chat.approval(0);
    chat.put(&[Answer::Approve(&approval)]);
    let mut sse = chat.say("next").await;
    running(&server, &chat.id).await;
    let path = server.url(&format!("/api/chat/{}", chat.id));
    assert_eq!(client.delete(path).send().await.expect("an answer").status(), 204);
    let payloads = sse.rest().await.join("\n");
    assert!(payloads.contains("\"abort\"") && payloads.ends_with("[DONE]"), "{payloads}");
}

async fn running(server: &TestServer, chat: &str) {
    for _ in 0..1000 {
        if holds(server, chat).await[0]["state"] == "running" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never runs");
}

#[tokio::test]
async fn a_contradicting_answer_gets_the_decision_in_force() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let approval = chat.approval(0);
    let mut other = chat.another_tab();
    let path = format!("/api/approvals/{approval}");
    assert_eq!(server.post(&path, &json!({"approved": false, "reason": "no"})).await.0, 200);
    let mut sse = other.answer(&[Answer::Approve(&approval)]).await;
    let chunks = other.read(&mut sse).await;
    let errors = of_type(&chunks, "tool-output-error");
    assert_eq!(errors.len(), 1, "{chunks:#?}");
    assert_eq!(errors[0]["errorText"], "User denied the tool call: no");

    // The ai-sdk profile: `output-denied` beside the client's own yes would fail its validation.
    let server = TestServer::demo().await;
    let mut sse = post_chat(
        &server,
        &json!({"id": "c", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": PAY}]}]}),
    )
    .await;
    let asked = read(&mut sse).await;
    let (message, call) = (asked[0]["messageId"].clone(), of_type(&asked, "tool-approval-request")[0].clone());
    let path = format!("/api/approvals/{}", call["approvalId"].as_str().expect("an id"));
    assert_eq!(server.post(&path, &json!({"approved": false})).await.0, 200);
    let part = json!({"type": "tool-process_payment", "toolCallId": call["toolCallId"], "state": "approval-responded", "input": {}, "approval": {"id": call["approvalId"], "approved": true}});
    let body = json!({"id": "c", "messages": [{"id": message, "role": "assistant", "parts": [part]}]});
    let chunks = read(&mut post_chat(&server, &body).await).await;
    assert_eq!(chunks[0]["messageId"], message);
    assert_eq!(of_type(&chunks, "tool-output-error").len(), 1, "{chunks:#?}");
    assert!(of_type(&chunks, "tool-output-denied").is_empty());
}

/// The old button of a superseded question: the answer brings what stands, in the message that the client shows.
#[tokio::test]
async fn an_answer_to_a_superseded_request_gets_what_followed() {
    for profile in ["/stream", "/api/chat"] {
        let server = TestServer::demo().await;
        let post = async |body: Value| {
            let response = reqwest::Client::builder().no_proxy().build().expect("a client");
            let response = response.post(server.url(profile)).json(&body).send().await.expect("an answer");
            assert_eq!(response.status(), 200, "{profile}");
            read(&mut Sse::new(response)).await
        };
        let user = |id: &str, text: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
        let asked = post(json!({"id": "c", "messages": [user("u1", PAY)]})).await;
        let (message, question) = (asked[0]["messageId"].clone(), of_type(&asked, "tool-approval-request")[0].clone());
        post(json!({"id": "c", "messages": [user("u1", PAY), user("u2", "hello")]})).await;
        let part = json!({"type": "tool-process_payment", "toolCallId": question["toolCallId"], "state": "approval-responded", "input": {}, "approval": {"id": question["approvalId"], "approved": true}});
        let chunks = post(
            json!({"id": "c", "messages": [user("u1", PAY), {"id": message, "role": "assistant", "parts": [part]}]}),
        )
        .await;
        assert_eq!(chunks[0], json!({"type": "start", "messageId": message}));
        let outcome = of_type(&chunks, "tool-output-error");
        assert_eq!(outcome.len(), 1, "{profile}: {chunks:#?}");
        assert_eq!(outcome[0]["toolCallId"], question["toolCallId"]);
        assert_eq!(of_type(&chunks, "finish").len(), 1);
        assert_eq!(messages(&server, "c").await.len(), 4, "nothing changed");
        let path = format!("/api/approvals/{}", question["approvalId"].as_str().expect("an id"));
        let (status, answer) = server.post(&path, &json!({"approved": true})).await;
        assert_eq!((status, &answer["reason"]), (410, &json!("superseded")));
    }
}

async fn post_chat(server: &TestServer, body: &Value) -> Sse {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response = client.post(server.url("/api/chat")).json(body).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    Sse::new(response)
}

async fn read(sse: &mut Sse) -> Vec<Value> {
    sse.rest().await.iter().filter_map(|payload| serde_json::from_str(payload).ok()).collect()
}

/// A stock client runs a browser's call on `tool-input-available`: that comes after the approval, once, and never after a denial.
#[tokio::test]
async fn a_gated_browser_call_is_available_after_its_approval() {
    for approved in [true, false] {
        let server = server(&calling("locate", &json!({"precise": true})), &Seen::default()).await;
        let user = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "go"}]});
        let asked = read(&mut post_chat(&server, &json!({"id": "c", "messages": [user]})).await).await;
        let kinds: Vec<&str> = asked.iter().filter_map(|chunk| chunk["type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "start",
                "start-step",
                "tool-input-start",
                "tool-input-delta",
                "tool-approval-request",
                "finish-step",
                "finish"
            ]
        );
        assert_eq!(asked[3]["inputTextDelta"], "{\"precise\":true}");
        let (message, question) = (asked[0]["messageId"].clone(), &asked[4]);
        let part = json!({"type": "tool-locate", "toolCallId": question["toolCallId"], "state": "approval-responded", "input": {"precise": true}, "approval": {"id": question["approvalId"], "approved": approved}});
        let body = json!({"id": "c", "messages": [user, {"id": message, "role": "assistant", "parts": [part]}]});
        let chunks = read(&mut post_chat(&server, &body).await).await;
        let available = of_type(&chunks, "tool-input-available");
        assert_eq!(available.len(), usize::from(approved), "{chunks:#?}");
        assert_eq!(of_type(&chunks, "tool-output-denied").len(), usize::from(!approved));
        if approved {
            assert_eq!(available[0]["input"], json!({"precise": true}));
            let kinds: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["type"].as_str()).collect();
            assert_eq!(kinds, ["start", "tool-input-available", "finish"], "it resubmits: the default of this profile");
        }
    }
}

#[tokio::test]
async fn a_result_for_a_delegate_call_is_ignored_on_live() {
    let server = TestServer::script(calling("change_bgm", &json!({"track": 1}))).await;
    let mut live = Live::connect(&server, "").await;
    live.say("go").await;
    let chunks = live.until("[DONE]").await;
    let call = of_type(&chunks, "tool-input-available")[0]["toolCallId"].clone();
    live.send(&json!({"type": "tool_result", "toolCallId": call, "result": {"ok": true}})).await;
    live.send(&json!({"type": "ping", "timestamp": 1})).await;
    assert_eq!(live.next().await.expect("an answer")["type"], "pong", "no error record");
}

/// Frames of the original system's clients that are not known here. They come while a turn is open, and an `error` would
/// end it at the client.
#[tokio::test]
async fn unknown_frames_get_one_notice_of_each_kind_and_leave_the_turn_open() {
    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(PAY).await;
    live.until("finish-step").await;
    for at in 0..100 {
        live.send(&json!({"type": if at % 2 == 0 { "audio_chunk" } else { "audio_control" }, "data": "AAAA"})).await;
    }
    live.send(&json!({"type": "ping", "timestamp": 1})).await;
    let mut notices = Vec::new();
    loop {
        let record = live.next().await.expect("the connection stays");
        if record["type"] == "pong" {
            break;
        }
        assert_eq!((&record["type"], &record["transient"]), (&json!("data-holdpoint-notice"), &json!(true)));
        notices.push(record["data"]["frame"].clone());
    }
    assert_eq!(notices, ["audio_chunk", "audio_control"]);
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    live.until("[DONE]").await;
    // Between two turns, too.
    live.send(&json!({"type": "video_chunk"})).await;
    assert_eq!(live.next().await.expect("a notice")["data"]["frame"], "video_chunk");
    live.say("hello").await;
    live.until("[DONE]").await;
}

/// A message over a connection that has not seen the chat: its own turn, and nothing that nobody asked for.
#[tokio::test]
async fn a_message_on_a_new_connection_does_not_replay_earlier_turns() {
    let server = TestServer::demo().await;
    let mut first = Live::connect(&server, "?id=c").await;
    first.say(PAY).await;
    first.until("finish-step").await;
    let (call, approval) = first.last_call();
    let asked = first.chunks[0]["messageId"].clone();

    let mut second = Live::connect(&server, "").await;
    let message = json!({"id": "m2", "role": "user", "content": "hello"});
    second.send(&json!({"type": "message", "id": "c", "messages": [message]})).await;
    let chunks = second.until("[DONE]").await;
    assert_eq!(of_type(&chunks, "start").len(), 1, "{chunks:#?}");
    assert_ne!(chunks[0]["messageId"], asked);
    assert!(!chunks.iter().any(|chunk| chunk["toolCallId"] == json!(call)), "{chunks:#?}");

    // And an answer to what it superseded tells what stands, in the message that the client shows.
    let approval = approval.expect("it asks");
    let mut third = Live::connect(&server, "").await;
    let part = json!({"type": "tool-process_payment", "toolCallId": call, "state": "approval-responded", "input": {}, "approval": {"id": approval, "approved": true}});
    third.send(&json!({"type": "message", "messages": [{"id": asked, "role": "assistant", "parts": [part]}]})).await;
    assert_eq!(third.next_unchecked().await["messageId"], asked);
    assert_eq!(third.next_unchecked().await["type"], "tool-output-error");
}

#[tokio::test]
async fn an_answer_on_a_new_connection_gets_the_continuation() {
    let server = TestServer::demo().await;
    let mut first = Live::connect(&server, "?id=c").await;
    first.say(PAY).await;
    first.until("finish-step").await;
    let (call, approval) = first.last_call();
    let asked = first.chunks[0]["messageId"].clone();
    first.close().await;

    let mut second = Live::connect(&server, "").await;
    // The checker knows what the client knows.
    let part = json!({"type": "tool-process_payment", "toolCallId": call, "state": "approval-responded", "input": {}, "approval": {"id": approval, "approved": true}});
    second.send(&json!({"type": "message", "messages": [{"id": asked, "role": "assistant", "parts": [part]}]})).await;
    let start = second.next_unchecked().await;
    assert_eq!(start, json!({"type": "start", "messageId": asked}));
    let outcome = second.next_unchecked().await;
    assert_eq!((&outcome["type"], &outcome["toolCallId"]), (&json!("tool-output-available"), &json!(call)));
}

#[tokio::test]
async fn holds_say_what_waits_and_what_was_decided() {
    let server = TestServer::demo().await;
    assert_eq!(server.get("/api/chat/nowhere/holds").await.0, 404);
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    let waiting = holds(&server, &chat.id).await;
    let at = "2023-11-14T22:13:20.000Z";
    assert_eq!(
        waiting,
        [json!({
            "toolCallId": call, "toolName": "process_payment", "kind": "approval", "state": "waiting", "approvalId": approval,
            "input": waiting[0]["input"], "requestedAt": at, "expiresAt": "2023-11-14T22:18:20.000Z",
            "allowed": ["approve", "deny", "edit", "answer", "remember"], "cut": false, "messageId": chat.segments[0][0]["messageId"],
        })]
    );
    server.clock.advance(Duration::from_secs(5));
    let path = format!("/api/approvals/{approval}");
    assert_eq!(server.post(&path, &json!({"approved": false, "reason": "too much"})).await.0, 200);
    let settled = &holds(&server, &chat.id).await[0];
    let later = "2023-11-14T22:13:25.000Z";
    assert_eq!(settled["decision"], json!({"kind": "deny", "by": ["local"], "at": later, "reason": "too much"}));
    assert_eq!(settled["outcome"], json!({"cause": "decision", "at": later}));
    assert_eq!(
        (&settled["state"], &settled["allowed"], settled.get("expiresAt")),
        (&json!("settled"), &json!([]), None)
    );
    let holdpoint = parts(&server, &chat.id).await[0]["callProviderMetadata"]["holdpoint"].clone();
    assert_eq!(holdpoint, json!({"cause": "decision", "decidedBy": ["local"], "decidedAt": later, "edited": false}));

    // Nobody denied what was superseded, stopped, or has expired.
    for (cause, how) in [("superseded", 0), ("stopped", 1), ("expired", 2)] {
        let mut chat = server.chat();
        chat.ask(PAY).await;
        match how {
            0 => drop(chat.ask("hello").await),
            1 => drop(server.post(&format!("/api/chat/{}/stop", chat.id), &json!({})).await),
            _ => {
                server.clock.advance(Duration::from_secs(301));
                let path = format!("/api/approvals/{}", chat.approval(0));
                assert_eq!(server.post(&path, &json!({"approved": true})).await.0, 410);
            }
        }
        let hold = &holds(&server, &chat.id).await[0];
        assert_eq!((&hold["outcome"]["cause"], hold.get("decision")), (&json!(cause), None), "{hold:#}");
        let holdpoint = &parts(&server, &chat.id).await[0]["callProviderMetadata"]["holdpoint"];
        assert_eq!((&holdpoint["cause"], &holdpoint["decidedBy"]), (&json!(cause), &json!([])));
    }
}

/// Asking again never hides a payment that was made.
#[tokio::test]
async fn a_payment_that_was_regenerated_away_stays_in_the_holds() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    let again = json!({"id": chat.id, "messages": [chat.messages[0]], "trigger": "regenerate-message"});
    let chunks = read(&mut Sse::new(chat.request(&again).await)).await;
    let message = chunks[0]["messageId"].clone();
    let all = holds(&server, &chat.id).await;
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!((&all[0]["toolCallId"], &all[0]["cut"], &all[0]["messageId"]), (&json!(call), &json!(true), &message));
    assert_eq!(all[0]["outcome"]["output"]["success"], true);
    assert_eq!((&all[1]["cut"], &all[1]["state"]), (&json!(false), &json!("waiting")));
    assert_eq!(messages(&server, &chat.id).await.len(), 2, "the conversation is what it is");
}

/// Calls that needed nobody are listed where they are asked for.
#[tokio::test]
async fn all_calls_are_listed_on_request() {
    let server = TestServer::script(calling("get_weather", &json!({"location": "Tokyo"}))).await;
    let mut chat = server.chat();
    chat.ask("go").await;
    assert!(holds(&server, &chat.id).await.is_empty());
    let (status, all) = server.get(&format!("/api/chat/{}/holds?calls=all", chat.id)).await;
    assert_eq!((status, &all[0]["kind"], &all[0]["outcome"]["cause"]), (200, &json!("none"), &json!("ran")));
    assert_eq!(server.get(&format!("/api/chat/{}/holds?calls=none", chat.id)).await.0, 422);
}
