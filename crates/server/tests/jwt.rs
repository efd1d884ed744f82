//! JSON Web Tokens over HTTP: with and without keys beside them, what is refused, and what a wrong credential costs.

mod support;

use std::time::Duration;

use holdpoint_runtime::clock::Clock;
use holdpoint_server::{AuthKey, Jwt, JwtSettings, Keys};
use jsonwebtoken::{Algorithm, Header};
use reqwest::Response;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    Setup, Sse, TestServer,
    issuer::{AUDIENCE, ISSUER, Issuer, claims, key_set},
};

const NOW_SEC: u64 = support::START / 1000;

fn settings() -> JwtSettings {
    JwtSettings { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned(), ..JwtSettings::default() }
}

fn keys() -> Keys {
    let key_sha256 = Sha256::digest("key-of-carol").iter().map(|byte| format!("{byte:02x}")).collect();
    let carol = AuthKey { key_sha256, subject: "carol".to_owned(), roles: Vec::new(), groups: Vec::new() };
    Keys::new(&[carol]).expect("a good key")
}

/// A server, and the file with the keys of its issuer.
struct Served {
    server: TestServer,
    _file: tempfile::NamedTempFile,
}

impl std::ops::Deref for Served {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.server
    }
}

/// A server that takes the tokens of an issuer, and these keys.
async fn start(issuer: &Issuer, keys: Keys) -> Served {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), key_set(&[issuer])).expect("it can be written");
    let mut settings = settings();
    settings.jwks_file = Some(file.path().to_owned());
    let mut setup = Setup::demo();
    setup.keys = keys;
    let server = setup.start_with(|server| server.jwt(Jwt::new(&settings).expect("good settings"))).await;
    Served { server, _file: file }
}

async fn send(server: &TestServer, path: &str, credential: &str) -> Response {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    client.get(server.url(path)).bearer_auth(credential).send().await.expect("an answer")
}

async fn get(server: &TestServer, path: &str, credential: &str) -> (u16, Value) {
    let response = send(server, path, credential).await;
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a body")).unwrap_or_default())
}

#[tokio::test]
async fn tokens_and_keys_work_side_by_side() {
    let issuer = Issuer::new("k", Algorithm::RS256);
    let server = start(&issuer, keys()).await;
    let mut token = claims("ann", NOW_SEC + 300);
    token["roles"] = json!(["user", "approver"]);
    token["groups"] = json!(["finance"]);
    let ann = json!({
        "subject": "ann", "roles": ["user", "approver"], "groups": ["finance"],
        "expiresAt": holdpoint_runtime::clock::Timestamp((NOW_SEC + 360) * 1000).iso8601(),
    });
    assert_eq!(get(&server, "/api/me", &issuer.sign(&token)).await, (200, ann));
    let carol = json!({"subject": "carol", "roles": ["user"], "groups": []});
    assert_eq!(get(&server, "/api/me", "key-of-carol").await, (200, carol));
    assert_eq!(get(&server, "/api/me", "wrong").await.1["type"], "urn:holdpoint:problem:key-invalid");
    // A token alone closes the server to everybody else.
    let server = start(&issuer, Keys::default()).await;
    assert_eq!(server.get("/api/me").await.0, 401);
    assert_eq!(get(&server, "/api/me", &issuer.sign(&token)).await.0, 200);
}

/// Nothing says what is wrong with a token.
#[tokio::test]
async fn every_bad_token_gets_the_same_answer() {
    let (issuer, other) = (Issuer::new("k", Algorithm::ES256), Issuer::new("k", Algorithm::ES256));
    let server = start(&issuer, Keys::default()).await;
    let good = claims("ann", NOW_SEC + 300);
    let with = |key: &str, value: Value| {
        let mut claims = good.clone();
        claims[key] = value;
        issuer.sign(&claims)
    };
    let mut unknown = Header::new(Algorithm::ES256);
    unknown.kid = Some("unknown".to_owned());
    let mut answers = Vec::new();
    for token in [
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.".to_owned(),
        Issuer::new("k", Algorithm::HS256).sign(&good),
        other.sign(&good),
        issuer.sign_as(&unknown, &good),
        with("aud", json!("another")),
        with("iss", json!("https://evil.example")),
        with("exp", json!(NOW_SEC - 60)),
        with("nbf", json!(NOW_SEC + 61)),
    ] {
        let response = send(&server, "/api/me", &token).await;
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        answers.push((response.status().as_u16(), response.text().await.expect("a body")));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].0 == 401 && answers[0].1.contains("urn:holdpoint:problem:token-invalid"), "{answers:?}");
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let server = start(&issuer, keys()).await;
    let token = issuer.sign(&claims("ann", NOW_SEC + 300));
    let mut events = Sse::new(send(&server, "/api/events", &token).await);
    let mut lasting = Sse::new(send(&server, "/api/events", "key-of-carol").await);
    for events in [&mut events, &mut lasting] {
        assert_eq!(events.next().await.as_deref(), Some(r#"{"type":"ready"}"#));
    }
    server.clock.until_sleepers(1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // With the leeway of a minute.
    server.clock.advance(Duration::from_secs(359));
    assert_eq!(get(&server, "/api/me", &token).await.0, 200);
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(events.rest().await, Vec::<String>::new());
    assert_eq!(get(&server, "/api/me", &token).await.0, 401);
    // A key does not expire.
    let waited = tokio::time::timeout(Duration::from_millis(300), lasting.next()).await;
    assert!(waited.is_err(), "{waited:?}");
    assert!(server.clock.now().0 > support::START);
}

/// Whoever guesses has to wait. Whoever was let in before from the same address does not.
#[tokio::test]
async fn wrong_keys_are_slowed_down() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let mut setup = Setup::demo();
    setup.keys = keys();
    setup.limits.wrong_keys_per_minute = 5;
    let server = setup.start().await;
    assert_eq!(get(&server, "/api/me", "key-of-carol").await.0, 200);
    for number in 0..5 {
        assert_eq!(get(&server, "/api/me", &format!("guess {number}")).await.0, 401);
    }
    let refused = send(&server, "/api/me", "guess").await;
    assert_eq!(refused.status().as_u16(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str().expect("text").parse().expect("a number");
    assert!((1..=13).contains(&wait), "{wait}");
    let problem: Value = serde_json::from_str(&refused.text().await.expect("a body")).expect("JSON");
    assert_eq!(problem["type"], "urn:holdpoint:problem:too-many-wrong-keys");
    assert_eq!(get(&server, "/api/me", "key-of-carol").await.0, 200, "she was let in before");
    // Nothing is counted without a key, and what needs none is served.
    assert_eq!(server.get("/api/me").await.0, 401);
    assert_eq!(server.get("/health").await.0, 200);
    let metrics = get_text(&server, "/metrics", "key-of-carol").await;
    assert!(metrics.contains(r#"holdpoint_rejections_total{limit="wrong_keys"} 1"#), "{metrics}");

    // A token that has expired is not a guess.
    let server = start(&issuer, keys()).await;
    let expired = issuer.sign(&claims("ann", NOW_SEC - 100));
    for _ in 0..100 {
        assert_eq!(get(&server, "/api/me", &expired).await.0, 401);
    }
}

async fn get_text(server: &TestServer, path: &str, credential: &str) -> String {
    send(server, path, credential).await.text().await.expect("a body")
}
