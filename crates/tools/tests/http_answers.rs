//! What HTTP endpoints answer, byte by byte: charsets, encodings, files, and secrets in them.
#![cfg(feature = "http")]

use holdpoint_runtime::tool::{Secret, ToolContext, ToolError, http::HttpEndpoint};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const KEY: &str = "hunter22-and-more";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR";

/// Calls an endpoint that answers with this status line, these headers and this body. The request is given back too.
async fn ask(status: &str, headers: &str, body: &[u8]) -> (Result<Value, ToolError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let answer = [head.as_bytes(), body].concat();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = vec![0; 8192];
        let length = stream.read(&mut request).await.expect("a request");
        stream.write_all(&answer).await.expect("written");
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let headers = vec![("x-shop".to_owned(), Secret::new(KEY))];
    let endpoint = HttpEndpoint { allow_private: true, headers, ..HttpEndpoint::new(&url) };
    let tool = endpoint.tool("call", "Calls", None).expect("an endpoint").build().expect("a tool");
    let output = (tool.handler.expect("a handler"))(json!({}), ToolContext::new("chat", "ann", "call")).await;
    (output, answering.await.expect("it was asked"))
}

async fn output(headers: &str, body: &[u8]) -> Result<Value, ToolError> {
    ask("200 OK", headers, body).await.0
}

fn link(kind: &str, media_type: &str, body: &[u8]) -> Value {
    json!({"type": kind, "mimeType": media_type, "bytes": body.len(), "url": "/api/chat/chat/files/call/0"})
}

#[tokio::test]
async fn a_text_is_read_in_its_charset() {
    for (kind, body, text) in [
        ("text/plain; charset=iso-8859-1", &b"caf\xe9"[..], "café"),
        ("text/plain; Charset=\"Shift_JIS\"", b"\x93\xfa\x96\x7b", "日本"),
        ("text/plain; charset=utf-8", "日本".as_bytes(), "日本"),
        ("text/plain; charset=made-up", b"plain", "plain"),
        ("text/plain", b"\xef\xbb\xbfmarked", "marked"),
        ("text/plain", b"\xff\xfea\x00b\x00", "ab"),
    ] {
        assert_eq!(output(&format!("content-type: {kind}\r\n"), body).await, Ok(json!(text)), "{kind}");
    }
    let json = output("content-type: application/json; charset=iso-8859-1\r\n", b"{\"a\":\"caf\xe9\"}").await;
    assert_eq!(json, Ok(json!({"a": "café"})));
    let json = output("content-type: application/json\r\n", b"\xef\xbb\xbf{\"a\":1}").await;
    assert_eq!(json, Ok(json!({"a": 1})));
}

#[tokio::test]
async fn a_body_that_is_not_text_in_its_charset_is_a_file() {
    for (kind, body, media_type) in [
        ("text/plain", PNG, "image/png"),
        ("text/plain; charset=iso-8859-1", PNG, "image/png"),
        ("text/plain", b"caf\xe9", "application/octet-stream"),
        ("text/plain; charset=made-up", b"caf\xe9", "application/octet-stream"),
        ("text/csv", b"a\x00b", "application/octet-stream"),
        ("application/x-own", b"\x00\xff", "application/x-own"),
    ] {
        let wanted = link(if media_type == "image/png" { "image" } else { "file" }, media_type, body);
        assert_eq!(output(&format!("content-type: {kind}\r\n"), body).await, Ok(wanted), "{kind} {body:?}");
    }
}

/// Nobody asked for it, and a secret in it could not be found.
#[tokio::test]
async fn an_encoded_answer_is_refused() {
    let gzip = b"\x1f\x8b\x08\x00";
    let (refused, request) = ask("200 OK", "content-type: text/plain\r\ncontent-encoding: gzip\r\n", gzip).await;
    assert!(request.contains("accept-encoding: identity\r\n"), "{request}");
    let refused = refused.unwrap_err();
    assert!(refused.0.contains("gzip") && refused.is_outcome_unknown(), "{refused}");
    let (failed, _) = ask("500 Oh", "content-encoding: br\r\n", gzip).await;
    let failed = failed.unwrap_err().0;
    assert!(failed.starts_with("The endpoint answered 500") && !failed.contains('\u{8b}'), "{failed}");
    assert!(!failed.contains('\\') && !failed.contains('\u{fffd}'), "{failed}");
    assert_eq!(output("content-encoding: identity\r\n", b"plain").await, Ok(json!("plain")));
}

/// To mask bytes would break the file, so it is not stored.
#[tokio::test]
async fn a_file_with_a_secret_in_it_is_not_stored() {
    let body = [PNG, b" key=", KEY.as_bytes()].concat();
    let output = output("content-type: image/png\r\n", &body).await.expect("an output");
    assert!(output.get("url").is_none(), "{output}");
    assert!(output["note"].as_str().is_some_and(|note| note.contains("secret")), "{output}");
    assert_eq!((&output["mimeType"], &output["bytes"]), (&json!("image/png"), &json!(body.len())));
}
