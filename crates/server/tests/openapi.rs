//! `/openapi.json`: what it describes is served, what is served answers as described, and `/docs` shows it.

mod support;

use reqwest::Method;
use serde_json::Value;
use support::TestServer;

fn client() -> &'static reqwest::Client {
    static CLIENT: std::sync::OnceLock<reqwest::Client> = std::sync::OnceLock::new();
    CLIENT.get_or_init(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client"))
}

/// Every operation: its path, its method, what is written of it.
fn operations(api: &Value) -> Vec<(String, Method, Value)> {
    let paths = api["paths"].as_object().expect("paths").clone();
    let each = paths.into_iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("operations").clone();
        methods.into_iter().map(move |(method, operation)| {
            let method = method.to_uppercase().parse().expect("a method");
            (path.clone(), method, operation)
        })
    });
    each.collect()
}

/// With ids of things that do not exist.
fn filled(path: &str) -> String {
    path.replace("{id}", "nobody").replace("{approvalId}", "nobody").replace("{call}", "nobody").replace("{index}", "0")
}

#[tokio::test]
async fn every_operation_is_served_and_answers_as_described() {
    let server = TestServer::demo().await;
    let (status, api) = server.get("/openapi.json").await;
    assert_eq!(status, 200);
    let operations = operations(&api);
    assert!(operations.len() >= 22, "{}", operations.len());
    for (path, method, operation) in &operations {
        let name = format!("{method} {path}");
        for body in ["", "{", "{}", "[1]"] {
            let request = client().request(method.clone(), server.url(&filled(path))).body(body);
            // Streams that stay open are not read to their end.
            let response = request.send().await.expect("an answer");
            let status = response.status().as_u16();
            let described = &operation["responses"][status.to_string()];
            assert!(described.is_object(), "{name} answers {status} to {body:?}, which is not described");
            assert!(response.headers().contains_key("x-request-id"), "{name}");
            let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default();
            match described["content"].as_object() {
                Some(content) => assert!(content.contains_key(kind), "{name} answers {status} as {kind:?}"),
                None => assert_eq!(kind, "", "{name} answers {status} with a body"),
            }
        }
    }
}

#[tokio::test]
async fn no_path_takes_a_method_that_is_not_described() {
    let server = TestServer::demo().await;
    let (_, api) = server.get("/openapi.json").await;
    for (path, item) in api["paths"].as_object().expect("paths") {
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            // A chat may have this name, and can be deleted.
            let is_chat = method == Method::DELETE && path == "/api/chat/ws";
            if is_chat || item.get(method.as_str().to_lowercase()).is_some() {
                continue;
            }
            let response = client().request(method.clone(), server.url(&filled(path))).send().await.expect("an answer");
            assert_eq!(response.status(), 405, "{method} {path}");
            let allowed = response.headers()["allow"].to_str().expect("text").to_owned();
            assert!(!allowed.split(',').any(|one| one.trim() == method.as_str()), "{method} {path}: {allowed}");
        }
    }
}

#[tokio::test]
async fn the_docs_page_loads_nothing_from_elsewhere() {
    let server = TestServer::demo().await;
    let response = client().get(server.url("/docs")).send().await.expect("an answer");
    assert_eq!(response.status(), 200);
    let policy = response.headers()["content-security-policy"].to_str().expect("text").to_owned();
    let page = response.text().await.expect("a page");
    let nonce = policy.split_once("'nonce-").and_then(|(_, rest)| rest.split_once('\'')).expect("a nonce").0;
    assert!(page.contains(&format!("<script nonce=\"{nonce}\">")) && !page.contains("NONCE"), "{policy}");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    let again = client().get(server.url("/docs")).send().await.expect("an answer");
    assert_ne!(again.headers()["content-security-policy"].to_str().expect("text"), policy, "a nonce is used once");
}
