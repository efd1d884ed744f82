//! Tools that are HTTP endpoints, against a small server on this machine.
#![cfg(feature = "http")]

use std::{sync::Arc, time::Duration};

use holdpoint_runtime::{
    subject::Subject,
    tool::{
        Secret, ToolContext, ToolError,
        http::{HttpEndpoint, InputPlacement},
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_util::sync::CancellationToken;

const KEY: &str = "hunter22-and-more";

/// A request as it came.
struct Request {
    head: String,
    body: String,
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header =
                |name: &str| head.lines().find_map(|line| line.to_lowercase().strip_prefix(name).map(str::to_owned));
            let length = header("content-length: ").map_or(0, |length| length.parse().expect("a length"));
            if body.len() >= length {
                return Some(Request { head: head.to_owned(), body: body.to_owned() });
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
}

/// What became of a call of the slow path.
#[derive(Default)]
struct Slow {
    begun: Notify,
    given_up: Notify,
}

/// Serves what each path of these tests stands for.
async fn serve() -> (String, Arc<Slow>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let slow = Arc::new(Slow::default());
    let notes = Arc::clone(&slow);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let slow = Arc::clone(&notes);
            tokio::spawn(async move {
                while let Some(request) = read(&mut stream).await {
                    let target = request.head.split(' ').nth(1).unwrap_or_default().to_owned();
                    let (status, headers, body) = answer(&request, target.split('?').next().unwrap_or_default(), port);
                    if status == "cut" {
                        let _ = stream.write_all(body.as_bytes()).await;
                        return;
                    }
                    if status == "slow" {
                        slow.begun.notify_one();
                        // Until the other side goes away.
                        let _ = stream.read(&mut [0; 1]).await;
                        slow.given_up.notify_one();
                        return;
                    }
                    let length = if headers.contains("chunked") {
                        String::new()
                    } else {
                        format!("content-length: {}\r\n", body.len())
                    };
                    let response = format!("HTTP/1.1 {status}\r\n{headers}{length}\r\n{body}");
                    if stream.write_all(response.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (format!("http://127.0.0.1:{port}"), slow)
}

fn answer(request: &Request, path: &str, port: u16) -> (&'static str, String, String) {
    const JSON: &str = "content-type: application/json; charset=utf-8\r\n";
    match path {
        "/echo" | "/users/a%2Fb/notes" => {
            let body =
                json!({"head": request.head, "body": request.body, "hasKey": request.head.contains(KEY)}).to_string();
            ("200 OK", JSON.to_owned(), body)
        }
        "/text" => ("200 OK", "content-type: text/plain\r\n".to_owned(), "just text".to_owned()),
        "/picture" => ("200 OK", "content-type: image/png\r\n".to_owned(), "\u{89}PNG".to_owned()),
        "/nothing" => ("204 No Content", String::new(), String::new()),
        "/error" => ("403 Forbidden", String::new(), format!("no:\n{}", request.head)),
        "/odd" => ("200 OK", JSON.to_owned(), "{".to_owned()),
        "/large" => ("200 OK", String::new(), "x".repeat(2000)),
        // Without a length: only by counting can it be found to be too large.
        "/stream" => {
            let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
            ("200 OK", "transfer-encoding: chunked\r\n".to_owned(), format!("{}0\r\n\r\n", chunk.repeat(2)))
        }
        // Taken, and then the connection is closed: before the answer, in its header, and in its body.
        "/cut" => ("cut", String::new(), String::new()),
        "/cut-header" => ("cut", String::new(), "HTTP/1.1 200 OK\r\ncontent-le".to_owned()),
        "/cut-body" => ("cut", String::new(), "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nbegun".to_owned()),
        "/slow" => ("slow", String::new(), String::new()),
        "/here" => ("307 Temporary Redirect", "location: /echo\r\n".to_owned(), String::new()),
        "/round" => ("307 Temporary Redirect", "location: /round\r\n".to_owned(), String::new()),
        // The same machine by another name is another host.
        "/elsewhere" => ("302 Found", format!("location: http://localhost:{port}/echo\r\n"), String::new()),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

fn endpoint(url: &str) -> HttpEndpoint {
    let headers = vec![("authorization".to_owned(), Secret::new(format!("Bearer {KEY}")))];
    HttpEndpoint { allow_private: true, max_bytes: 1500, headers, ..HttpEndpoint::new(url) }
}

fn context(cancellation: CancellationToken) -> ToolContext {
    ToolContext::new("chat", Subject::local(), "call").with_cancellation(cancellation)
}

async fn call(endpoint: HttpEndpoint, input: Value) -> Result<Value, ToolError> {
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let tool = endpoint.tool("call", "Calls", Some(schema)).expect("a good endpoint").build().expect("a good tool");
    assert!(!format!("{tool:?}").contains("hunter22"));
    (tool.handler.expect("a handler"))(input, context(CancellationToken::new())).await
}

#[tokio::test]
async fn the_input_goes_out_as_json() {
    let (base, _) = serve().await;
    let input = json!({"id": "a/b", "text": "こんにちは", "n": [1, 2]});
    let output = call(endpoint(&format!("{base}/users/{{id}}/notes?lang=en")), input).await.expect("an output");
    let head = output["head"].as_str().expect("a head");
    assert!(head.starts_with("POST /users/a%2Fb/notes?lang=en HTTP/1.1"), "{head}");
    assert_eq!(output["hasKey"], true, "the secret is sent");
    assert!(head.contains("authorization: •••\r\n"), "an answer that repeats it is masked: {head}");
    assert!(!output.to_string().contains(KEY), "{output}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("idempotency-key: call\r\n"), "the endpoint can tell which call it is: {head}");
    let body: Value = serde_json::from_str(output["body"].as_str().expect("a body")).expect("JSON");
    assert_eq!(body, json!({"text": "こんにちは", "n": [1, 2]}), "what is in the URL is not sent twice");
}

#[tokio::test]
async fn the_input_goes_out_as_a_query() {
    let (base, _) = serve().await;
    let get = HttpEndpoint { method: "get".to_owned(), ..endpoint(&format!("{base}/echo?v=1")) };
    let input = json!({"q": "a&b c", "tags": ["x", "y"], "n": 5, "none": null, "deep": {"a": 1}});
    let output = call(get.clone(), input).await.expect("an output");
    let head = output["head"].as_str().expect("a head");
    assert!(head.starts_with("GET /echo?v=1&q=a%26b+c&tags=x&tags=y&n=5&deep=%7B%22a%22%3A1%7D HTTP/1.1"), "{head}");
    let output = call(get.clone(), json!({})).await.expect("an output");
    assert!(output["head"].as_str().expect("a head").starts_with("GET /echo?v=1 HTTP/1.1"));
    let post = HttpEndpoint { send: Some(InputPlacement::Query), method: "POST".to_owned(), ..get };
    let output = call(post, json!({"q": 1})).await.expect("an output");
    assert!(output["head"].as_str().expect("a head").starts_with("POST /echo?v=1&q=1 HTTP/1.1"));
    assert_eq!(output["body"], "");
}

/// What the settings put into the URL is not the model's to change.
#[tokio::test]
async fn a_field_of_the_input_does_not_override_the_url() {
    let (base, _) = serve().await;
    let get = |url: String| HttpEndpoint { method: "GET".to_owned(), ..endpoint(&url) };
    let url = format!("{base}/echo?fixed=1&f={{id}}&a%5Bb%5D=2");
    for name in ["fixed", "FIXED", "fixed[]", "fixed[x]", "f", "a[b]", "a", "fi\u{78}ed"] {
        let refused = call(get(url.clone()), json!({"id": "y", name: "9"})).await.unwrap_err();
        assert!(refused.0.contains("URL sets it"), "{name}: {refused}");
    }
    // The name of a parameter comes from the input.
    let refused = call(get(format!("{base}/echo?fixed=1&{{id}}=2")), json!({"id": "fixed"})).await.unwrap_err();
    assert!(refused.0.contains("URL sets it"), "{refused}");
    let output = call(get(format!("{base}/echo?fixed=1&{{id}}=2")), json!({"id": "x"})).await.expect("an output");
    assert!(output["head"].as_str().expect("a head").starts_with("GET /echo?fixed=1&x=2 HTTP/1.1"), "{output}");
    let output = call(get(url.clone()), json!({"id": "y", "fix": "9"})).await.expect("an output");
    let head = output["head"].as_str().expect("a head");
    assert!(head.starts_with("GET /echo?fixed=1&f=y&a%5Bb%5D=2&fix=9 HTTP/1.1"), "{head}");
    // In a body it is another thing.
    let posted = call(endpoint(&url), json!({"id": "y", "fixed": "9"})).await.expect("an output");
    assert_eq!(posted["body"], r#"{"fixed":"9"}"#);
    // What could never be sent is said before the first call.
    let schema = json!({"type": "object", "properties": {"id": {}, "fixed": {"type": "string"}}});
    let wrong = get(url).tool("call", "Calls", Some(schema)).map(drop).expect_err("refused").to_string();
    assert!(wrong.contains("`fixed`"), "{wrong}");
}

/// What the model is told follows from that, and from whether the tool says that a call can be made again.
#[tokio::test]
async fn a_call_without_a_usable_answer_has_an_unknown_outcome() {
    let (base, _) = serve().await;
    let of = |path: &str| {
        let url = format!("{base}/{path}");
        let timeout = if path == "slow" { Duration::from_millis(100) } else { Duration::from_secs(30) };
        [
            HttpEndpoint { timeout, ..endpoint(&url) },
            HttpEndpoint { timeout, method: "GET".to_owned(), ..endpoint(&url) },
            HttpEndpoint { timeout, idempotent: true, ..endpoint(&url) },
        ]
    };
    for path in ["slow", "elsewhere", "odd", "cut", "cut-header", "cut-body"] {
        for endpoint in of(path) {
            let said = call(endpoint, json!({})).await.unwrap_err();
            assert!(said.is_outcome_unknown(), "{path}: {said}");
        }
    }
    for endpoint in [of("large"), of("stream")].concat() {
        let is_post = endpoint.method == "POST" && !endpoint.idempotent;
        let said = call(endpoint, json!({})).await.unwrap_err();
        assert!(said.is_outcome_unknown(), "{said}");
        assert_eq!(said.0.contains("ask for less"), !is_post, "{said}");
    }
}

#[tokio::test]
async fn an_answer_is_json_or_text_or_nothing() {
    let (base, _) = serve().await;
    assert_eq!(call(endpoint(&format!("{base}/text")), json!({})).await, Ok(json!("just text")));
    assert_eq!(call(endpoint(&format!("{base}/nothing")), json!({})).await, Ok(json!({"status": 204})));
    let odd = call(endpoint(&format!("{base}/odd")), json!({})).await.unwrap_err();
    assert!(odd.0.contains("JSON"), "{odd}");
}

/// A binary body is stored, and the output links to it.
#[tokio::test]
async fn a_picture_is_a_link() {
    let (base, _) = serve().await;
    let link = json!({"type": "image", "mimeType": "image/png", "bytes": 5, "url": "/api/chat/chat/files/call/0"});
    assert_eq!(call(endpoint(&format!("{base}/picture")), json!({})).await, Ok(link));
}

#[tokio::test]
async fn an_error_does_not_show_the_secret() {
    let (base, _) = serve().await;
    let error = call(endpoint(&format!("{base}/error")), json!({})).await.unwrap_err();
    assert!(error.0.starts_with("The endpoint answered 403 Forbidden: no:"), "{error}");
    assert!(error.0.contains("•••") && !error.0.contains("hunter22"), "{error}");
    let missing = call(endpoint(&format!("{base}/{{id}}")), json!({})).await.unwrap_err();
    assert_eq!(missing.0, "id is missing, and the URL needs it");
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let error = call(endpoint(&format!("http://{nobody}/?q={{id}}")), json!({"id": "private"})).await.unwrap_err();
    assert_eq!(error.0, "The endpoint can't be reached, so the call was not made");
}

#[tokio::test]
async fn too_much_is_refused() {
    let (base, _) = serve().await;
    for path in ["large", "stream"] {
        let error = call(endpoint(&format!("{base}/{path}")), json!({})).await.unwrap_err();
        assert_eq!(error.0, "The endpoint's answer is larger than 1500 bytes and was not read", "{path}");
        let roomy = HttpEndpoint { max_bytes: 2000, ..endpoint(&format!("{base}/{path}")) };
        assert_eq!(call(roomy, json!({})).await, Ok(json!("x".repeat(2000))), "{path}");
    }
}

/// An endpoint closes idle connections, after 5 s in Node.js. A call that is sent at that moment would be lost, and nobody
/// could know that.
#[tokio::test]
async fn a_call_is_not_sent_on_a_connection_that_the_endpoint_may_close() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                read(&mut stream).await;
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
                // The second request on the same connection arrives too late.
                read(&mut stream).await;
            });
        }
    });
    let tool = endpoint(&url).tool("call", "Calls", None).expect("a good endpoint").build().expect("a good tool");
    let handler = tool.handler.expect("a handler");
    for _ in 0..2 {
        let output = handler(json!({}), context(CancellationToken::new())).await;
        assert_eq!(output, Ok(json!({"status": 204})));
    }
}

#[tokio::test]
async fn a_slow_endpoint_is_given_up() {
    let (base, slow) = serve().await;
    let impatient = HttpEndpoint { timeout: Duration::from_millis(100), ..endpoint(&format!("{base}/slow")) };
    let error = call(impatient, json!({})).await.unwrap_err();
    assert_eq!(error, ToolError::outcome_unknown("The endpoint did not answer within 0.1 s"));
    slow.given_up.notified().await;
}

/// What was delivered may have been carried out, whatever became of the answer; what was never sent was not.
#[tokio::test]
async fn a_call_that_broke_off_says_what_is_known() {
    let (base, _) = serve().await;
    for path in ["/cut", "/cut-header", "/cut-body"] {
        let error = call(endpoint(&format!("{base}{path}")), json!({"amount": 5})).await.unwrap_err();
        assert!(error.is_outcome_unknown() && error.0.contains("broke off"), "{path}: {error}");
    }
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        listener.local_addr().expect("an address").port()
    };
    for url in [format!("http://127.0.0.1:{port}/"), "http://nobody.invalid/".to_owned()] {
        let error = call(endpoint(&url), json!({})).await.unwrap_err();
        assert_eq!(error.0, "The endpoint can't be reached, so the call was not made", "{url}");
    }
    // A TLS handshake that fails is on the way.
    let error = call(endpoint(&base.replace("http:", "https:")), json!({})).await.unwrap_err();
    assert_eq!(error.0, "The endpoint can't be reached, so the call was not made");
}

/// Keys in an address are as secret as those in headers.
#[tokio::test]
async fn an_error_has_no_key_of_the_address() {
    let (base, _) = serve().await;
    let error = call(endpoint(&format!("{base}/error?token=s3cr3t-in-the-url")), json!({})).await.unwrap_err();
    assert!(error.0.contains("403") && !error.0.contains("s3cr3t"), "{error}");
}

#[tokio::test]
async fn a_stopped_call_is_given_up() {
    let (base, slow) = serve().await;
    let tool = endpoint(&format!("{base}/slow")).tool("call", "Calls", None).expect("good").build().expect("good");
    let cancellation = CancellationToken::new();
    let running = tokio::spawn((tool.handler.expect("a handler"))(json!({}), context(cancellation.clone())));
    slow.begun.notified().await;
    cancellation.cancel();
    assert_eq!(
        running.await.expect("no panic"),
        Err(ToolError::outcome_unknown("The call was stopped after it was sent"))
    );
    slow.given_up.notified().await;
}

#[tokio::test]
async fn a_redirect_stays_with_its_host() {
    let (base, _) = serve().await;
    let output = call(endpoint(&format!("{base}/here")), json!({"a": 1})).await.expect("an output");
    assert_eq!(output["body"], json!({"a": 1}).to_string());
    let error = call(endpoint(&format!("{base}/elsewhere")), json!({})).await.unwrap_err();
    assert_eq!(error, ToolError::outcome_unknown("The endpoint redirected to another host, which is refused"));
    let error = call(endpoint(&format!("{base}/round")), json!({})).await.unwrap_err();
    assert!(error.0.contains("307"), "{error}");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_they_are_allowed() {
    let (base, _) = serve().await;
    let by_name = base.replace("127.0.0.1", "localhost");
    let careful = HttpEndpoint { allow_private: false, ..endpoint(&format!("{by_name}/text")) };
    let error = call(careful, json!({})).await.unwrap_err();
    assert_eq!(error.0, "The endpoint's host has a private address, and this tool may not call those");
    assert_eq!(call(endpoint(&format!("{by_name}/text")), json!({})).await, Ok(json!("just text")));
    // An address that is written down is refused before anything runs.
    for url in [format!("{base}/text"), "http://169.254.169.254/latest".to_owned(), "http://[::1]/".to_owned()] {
        let careful = HttpEndpoint { allow_private: false, ..endpoint(&url) };
        let error = careful.tool("call", "Calls", None).map(drop).unwrap_err().to_string();
        assert!(error.contains("allow_private"), "{error}");
    }
}

#[tokio::test]
async fn what_can_never_work_is_an_error_at_once() {
    let error = |endpoint: HttpEndpoint, schema: Option<Value>| {
        endpoint.tool("call", "Calls", schema).map(drop).unwrap_err().to_string()
    };
    let url = "http://api.example/{id}";
    let bad = |name: &str, value: &str| HttpEndpoint {
        headers: vec![(name.to_owned(), Secret::new(value))],
        ..HttpEndpoint::new(url)
    };
    for endpoint in [bad("x key", KEY), bad("x-key", &format!("{KEY}\r\nx-other: 1"))] {
        let text = error(endpoint, None);
        assert!(text.contains("the header") && !text.contains("hunter22"), "{text}");
    }
    assert!(error(HttpEndpoint { method: "GO AWAY".to_owned(), ..HttpEndpoint::new(url) }, None).contains("`GO AWAY`"));
    assert!(error(HttpEndpoint::new(url), Some(json!({"type": "object"}))).contains("`{id}`"));
    assert!(error(HttpEndpoint::new("http://{id}.example/"), None).contains("host"));
    let tool = HttpEndpoint::new(url).tool("call", "Calls", None).expect("good").build().expect("good");
    assert_eq!(tool.spec.input.as_value()["required"], json!(["id"]), "without a schema, the URL's own fields are it");
}
