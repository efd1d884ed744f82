//! Files that calls produce: whoever may read the chat may read them, and for everybody else they do not exist.

mod support;

use std::sync::Arc;

use holdpoint_runtime::{
    log::{SqliteError, SqliteLog},
    tool::{Tool, ToolContext},
};
use holdpoint_server::{AuthKey, Keys, Role};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{Setup, TestServer};

fn keys() -> Keys {
    let key = |subject: &str, roles: &[Role]| AuthKey {
        key_sha256: Sha256::digest(format!("key-of-{subject}")).iter().map(|byte| format!("{byte:02x}")).collect(),
        subject: subject.to_owned(),
        roles: roles.to_vec(),
        groups: Vec::new(),
    };
    let keys =
        [key("ann", &[]), key("bob", &[]), key("carol", &[Role::Approver]), key("dora", &[Role::User, Role::Admin])];
    Keys::new(&keys).expect("good keys")
}

/// A server whose only tool produces a picture and a page.
async fn serve(folder: &std::path::Path) -> TestServer {
    let draw = Tool::server("draw", "Draws", |_: Value, context: ToolContext| async move {
        let picture = context.store_file("image/png", b"\x89PNG");
        Ok(json!([picture, context.store_file("text/html", b"<script>alert(1)</script>")]))
    });
    let call = json!({"toolCall": {"name": "draw", "input": {}}});
    let mut setup = Setup::script(&json!({"turns": [{"steps": [[call], [{"text": ["done"]}]]}]}));
    setup.keys = keys();
    setup.builder = setup.builder.tools([draw.build().expect("a tool")].into_iter().collect());
    // The one before lets go of the folder when its last connection has ended.
    let log = loop {
        match SqliteLog::open(folder) {
            Ok(log) => break log,
            Err(SqliteError::InUse { .. }) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            Err(error) => panic!("{error}"),
        }
    };
    setup.log(Arc::new(log)).start().await
}

async fn request(server: &TestServer, method: &str, path: &str, who: &str, body: String) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let request = client.request(method.parse().expect("a method"), server.url(path)).body(body);
    let request = request.header("content-type", "application/json").bearer_auth(format!("key-of-{who}"));
    request.send().await.expect("an answer")
}

async fn get(server: &TestServer, path: &str, who: &str) -> reqwest::Response {
    request(server, "GET", path, who, String::new()).await
}

#[tokio::test]
async fn only_readers_of_the_chat_read_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path()).await;
    let said = json!({"id": "c", "messages": [{"role": "user", "content": "draw"}]}).to_string();
    let stream = request(&server, "POST", "/stream", "ann", said).await.text().await.expect("a stream");
    let (_, after) = stream.split_once("/api/chat/c/files/").unwrap_or_else(|| panic!("a link in {stream}"));
    let call = after.split('/').next().expect("a call");
    let picture = format!("/api/chat/c/files/{call}/0");
    let page = format!("/api/chat/c/files/{call}/1");
    server.kill().await;

    let server = serve(folder.path()).await;
    for who in ["ann", "dora"] {
        let answer = get(&server, &picture, who).await;
        assert_eq!(answer.status(), 200, "{who}");
        let header = |name: &str| answer.headers()[name].to_str().expect("text").to_owned();
        assert_eq!((header("content-type"), header("content-disposition")), ("image/png".into(), "inline".into()));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("cache-control").starts_with("private"));
        assert_eq!(answer.bytes().await.expect("a body").as_ref(), b"\x89PNG");
    }
    let answer = get(&server, &page, "ann").await;
    assert_eq!(answer.headers()["content-disposition"], "attachment", "a page of a tool does not run here");
    assert!(answer.headers()["content-security-policy"].to_str().expect("text").contains("sandbox"));

    let nothing = get(&server, &format!("/api/chat/none/files/{call}/0"), "bob").await;
    let nothing = (nothing.status(), nothing.text().await.expect("a body"));
    for who in ["bob", "carol"] {
        let answer = get(&server, &picture, who).await;
        assert_eq!((answer.status(), answer.text().await.expect("a body")), nothing, "{who}");
    }
    for path in
        ["/api/chat/c/files/none/0", &format!("/api/chat/c/files/{call}/2"), &format!("/api/chat/c/files/{call}/x")]
    {
        assert_eq!(get(&server, path, "ann").await.status(), 404, "{path}");
    }
    assert_eq!(request(&server, "DELETE", "/api/chat/c", "ann", String::new()).await.status(), 204);
    assert_eq!(get(&server, &picture, "ann").await.status(), 404, "it is deleted with the chat");
}
