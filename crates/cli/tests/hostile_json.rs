//! JSON that means to do harm, sent to the real binary: a parser that can be made to recurse takes the whole process with it.

mod support;

use futures::{SinkExt, StreamExt};
use holdpoint_protocol::json;
use serde_json::json;
use support::{Binary, PATIENCE};
use tokio_tungstenite::tungstenite::Message;

const RAW: &str = "$serde_json::private::RawValue";

/// `serde_json` parses what stands in the string of such an object, with a recursion budget of its own each time: 60 times 126 levels in
/// 56 KB. Escaped by numbers, a backslash grows by 5 bytes a level rather than to twice its size.
fn nested() -> String {
    (0..60).fold("1".to_owned(), |inner, _| {
        let text = format!("{}{inner}{}", "[".repeat(126), "]".repeat(126));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!("{{\"{RAW}\":\"{text}\"}}")
    })
}

/// Every place of a body in which any value may stand.
fn bodies(value: &str) -> Vec<(&'static str, String)> {
    let message = |message: String| format!(r#"{{"id":"c","messages":[{message}]}}"#);
    let part = |part: String| message(format!(r#"{{"role":"user","parts":[{part}]}}"#));
    let tool = |field: &str| {
        part(format!(r#"{{"type":"tool-x","toolCallId":"t","state":"output-available","{field}":{value}}}"#))
    };
    let chats = [
        value.to_owned(),
        message(value.to_owned()),
        message(format!(r#"{{"role":"user","content":{value}}}"#)),
        message(format!(r#"{{"role":"user","content":[{value}]}}"#)),
        message(format!(r#"{{"role":"user","content":"hi","metadata":{value}}}"#)),
        part(value.to_owned()),
        part(format!(r#"{{"type":"data-x","data":{value}}}"#)),
        part(format!(r#"{{"type":"file","mediaType":"a/b","url":"data:,","x":{value}}}"#)),
        part(format!(r#"{{"type":"text","text":"hi","providerMetadata":{value}}}"#)),
        part(format!(r#"{{"type":"text","text":"hi","citations":[{{"source":{value}}}]}}"#)),
        part(format!(r#"{{"type":"steering-message","id":"s","parts":[{value}]}}"#)),
        part(format!(r#"{{"type":"unknown","x":{value}}}"#)),
        tool("input"),
        tool("rawInput"),
        tool("output"),
        tool("approval"),
        tool("toolMetadata"),
        tool("callProviderMetadata"),
        tool("other"),
    ];
    let ack = |field: &str| {
        format!(r#"{{"toolCallId":"t","status":"success","requestedAt":"2025-02-01","{field}":{value}}}"#)
    };
    let mut bodies = vec![
        ("/api/tools/ack", value.to_owned()),
        ("/api/tools/ack", ack("output")),
        ("/api/tools/ack", ack("x")),
        ("/api/approvals/a", value.to_owned()),
        ("/api/approvals/a", format!(r#"{{"approved":true,"x":{value}}}"#)),
        ("/api/check", value.to_owned()),
        ("/api/check", format!(r#"{{"type":"data-x","data":{value}}}"#)),
        ("/api/check", format!(r#"{{"type":"start","messageId":"m","messageMetadata":{value}}}"#)),
        ("/api/check", format!(r#"{{"type":"tool-output-available","toolCallId":"t","output":{value}}}"#)),
        ("/api/check", format!(r#"{{"type":"text-start","id":"t","providerMetadata":{value}}}"#)),
        (
            "/api/check",
            format!(r#"{{"type":"tool-input-start","toolCallId":"t","toolName":"x","toolMetadata":{value}}}"#),
        ),
        ("/api/check", format!(r#"{{"x":{value},"type":"hologram"}}"#)),
        // The demo model takes a tool's input from the text.
        ("/stream", json!({"messages": [{"role": "user", "content": format!("use get_weather {value}")}]}).to_string()),
    ];
    for path in ["/api/chat", "/stream"] {
        bodies.extend(chats.iter().map(|body| (path, body.clone())));
    }
    bodies
}

#[tokio::test]
async fn no_hostile_body_crashes_the_server() {
    let mut server = Binary::start(&["--ephemeral"]);
    for (path, body) in bodies(&nested()) {
        let answered = server.try_post(path, body.clone()).await;
        let start: String = body.chars().take(120).collect();
        assert!(answered.is_some() && server.is_alive(), "POST {path} ended the process: {start}");
    }
    assert_eq!(server.get("/health").await.0, 200);
}

#[tokio::test]
async fn no_hostile_frame_crashes_the_server() {
    let mut server = Binary::start(&["--ephemeral"]);
    let value = nested();
    let chats = bodies(&value).into_iter().filter(|(path, _)| *path == "/api/chat").map(|(_, body)| body);
    let chats: Vec<String> = chats.collect();
    let live = chats.iter().map(|body| format!(r#"{{"type":"message",{}"#, &body[1..]));
    let live = live.chain([
        format!(r#"{{"type":"ping","timestamp":{value}}}"#),
        format!(r#"{{"type":"tool_result","toolCallId":"t","result":{value}}}"#),
        format!(r#"{{"type":{value}}}"#),
    ]);
    let sdk = chats.iter().map(|body| format!(r#"{{"type":"send","requestId":"r",{}"#, &body[1..]));
    let sdk = sdk.chain([
        format!(r#"{{"type":"send","requestId":"r","messages":[],"headers":{value}}}"#),
        format!(r#"{{"type":"resume","requestId":"r","id":"c","headers":{{"x":{value}}}}}"#),
        format!(r#"{{"requestId":"r","type":{value}}}"#),
    ]);
    for (path, frames) in [("/live", live.collect::<Vec<_>>()), ("/api/chat/ws", sdk.collect())] {
        for frame in frames {
            let address = format!("ws://{}{path}", server.address);
            let (mut socket, _) = tokio_tungstenite::connect_async(address).await.expect("connects");
            socket.send(Message::text(frame.clone())).await.expect("can be sent");
            let answered = tokio::time::timeout(PATIENCE, socket.next()).await.expect("an answer in time");
            let start: String = frame.chars().take(120).collect();
            assert!(matches!(answered, Some(Ok(_))) && server.is_alive(), "{path} ended the process: {start}");
        }
    }
    assert_eq!(server.get("/health").await.0, 200);
}

/// Such keys are data like any other: they reach the log, the history and the tool's output as they are.
#[tokio::test]
async fn serde_json_s_private_keys_in_a_body_are_data() {
    let server = Binary::start(&["--ephemeral"]);
    let value = json!({ RAW: "[1]", "beside": {"$serde_json::private::Number": "1"} });
    let body = json!({"id": "c", "messages": [{"role": "user", "parts": [
        {"type": "text", "text": "where am I"}, {"type": "data-x", "data": value},
    ]}]});
    let (status, text) = server.post("/stream", &body).await;
    assert_eq!(status, 200, "{text}");
    let messages = server.get_json("/api/chat/c/messages").await;
    assert_eq!(messages[0]["parts"][1]["data"], value);

    let holds = server.get_json("/api/approvals").await;
    let (approval, call) = (&holds[0]["approvalId"], &holds[0]["toolCallId"]);
    let path = format!("/api/approvals/{}", approval.as_str().expect("an id"));
    assert_eq!(server.post(&path, &json!({"approved": true})).await.0, 200);
    let ack = json!({"toolCallId": call, "status": "success", "output": value, "requestedAt": "2025-02-01"});
    assert_eq!(server.post("/api/tools/ack", &ack).await.0, 200);
    let is_done = |_, text: &str| text.contains("output-available");
    let (_, text) = server.until("/api/chat/c/messages", is_done).await;
    let messages = json::parse(text.as_bytes()).expect("JSON");
    let parts = messages[1]["parts"].as_array().expect("parts");
    let tool = parts.iter().find(|part| part["toolCallId"] == *call).expect("the call");
    assert_eq!(tool["output"], value);
}
