//! MCP servers that send what no good one does. A parser that can be made to recurse would end this whole process.
#![cfg(feature = "mcp")]

use std::time::{Duration, Instant};

use holdpoint_runtime::{
    subject::Subject,
    tool::{
        ToolContext, ToolError,
        mcp::{McpServer, McpSettings, McpTransport, SecretUrl},
    },
};
use holdpoint_testkit::within;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Of a call.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An object that `serde_json` takes for something else, 60 times 126 levels deep.
fn bomb() -> String {
    (0..60).fold("1".to_owned(), |inner, _| {
        let text = format!("{}{inner}{}", "[".repeat(126), "]".repeat(126));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!("{{\"$serde_json::private::RawValue\":\"{text}\"}}")
    })
}

/// The result of a call, as JSON text.
fn result(tool: &str) -> String {
    let content = |structured: &str| format!(r#"{{"content":[],"structuredContent":{structured}}}"#);
    match tool {
        "bomb" => content(&format!(r#"{{"x":{}}}"#, bomb())),
        "deep" => content(&format!(r#"{{"x":{}1{}}}"#, "[".repeat(500), "]".repeat(500))),
        "huge" => content(&format!(r#"{{"x":"{}"}}"#, "x".repeat(17 * 1024 * 1024))),
        _ => content(r#"{"fine":true}"#),
    }
}

/// What is answered to a message; `None` for a notification.
fn answer(message: &Value) -> Option<String> {
    let id = message.get("id")?;
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "hostile", "version": "1"},
        })
        .to_string(),
        Some("tools/list") => {
            let tools =
                ["bomb", "deep", "huge", "fine"].map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            json!({ "tools": tools }).to_string()
        }
        Some("tools/call") => result(message["params"]["name"].as_str().unwrap_or_default()),
        _ => {
            return Some(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no such method"}}}}"#
            ));
        }
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Serves streamable HTTP, in one of its two forms.
async fn serve(is_sse: bool) -> McpSettings {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(respond(stream, is_sse));
        }
    });
    let settings = McpSettings::new("hostile", McpTransport::Http { url: SecretUrl::new(url), headers: Vec::new() });
    McpSettings { timeout: TIMEOUT, start_wait: Duration::from_secs(60), ..settings }
}

async fn respond(stream: TcpStream, is_sse: bool) {
    let mut stream = BufReader::new(stream);
    let (mut length, mut first) = (0, String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if first.is_empty() {
            first.clone_from(&line);
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    let answered = serde_json::from_slice(&body).ok().and_then(|message| answer(&message));
    let (status, kind, body) = match answered {
        _ if !first.starts_with("POST") => ("405 Method Not Allowed", "text/plain", String::new()),
        None => ("202 Accepted", "text/plain", String::new()),
        Some(answer) if is_sse => ("200 OK", "text/event-stream", format!("data: {answer}\n\n")),
        Some(answer) => ("200 OK", "application/json", answer),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The client may have seen enough of it.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

async fn call(server: &McpServer, name: &str) -> Result<Value, ToolError> {
    let tools = server.tools();
    let tool = tools.iter().find(|tool| tool.spec.name == format!("hostile_{name}")).expect("it is listed").clone();
    let context = ToolContext::new("chat", Subject::local(), "call");
    let running = (tool.handler.as_ref().expect("a handler"))(json!({}), context);
    within("the call ends", running).await
}

#[tokio::test]
async fn what_can_not_be_read_is_an_error_of_the_call_and_the_server_goes_on() {
    for is_sse in [false, true] {
        let server = McpServer::start(serve(is_sse).await).await.expect("starts");
        for name in ["bomb", "deep", "huge"] {
            let begun = Instant::now();
            let error = call(&server, name).await.expect_err("it can't be used");
            assert!(begun.elapsed() < TIMEOUT, "{name}, sse {is_sse}: nobody waits for an answer that is there");
            assert!(error.0.contains("hostile") || error.0.contains("can't be"), "{name}, sse {is_sse}: {error}");
            // It may have to be connected to again.
            let mut fine = call(&server, "fine").await;
            for _ in 0..3 {
                if fine.is_ok() {
                    break;
                }
                fine = call(&server, "fine").await;
            }
            assert_eq!(fine, Ok(json!({"fine": true})), "after {name}, sse {is_sse}");
        }
    }
}
