//! Tokens that are accepted, tokens that are not, and an issuer that changes its keys or is away.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Router, http::StatusCode, routing::get};
use holdpoint_runtime::identity::Role;
use holdpoint_testkit::until;
use jsonwebtoken::{Algorithm, Header};
use serde_json::{Value, json};

use super::*;

#[path = "../../../tests/support/issuer.rs"]
mod issuer;
use issuer::{AUDIENCE, ISSUER, Issuer, claims, key_set};

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const NOW_SEC: u64 = NOW.0 / 1000;

fn settings() -> JwtSettings {
    JwtSettings { issuer: ISSUER.to_owned(), audience: AUDIENCE.to_owned(), ..JwtSettings::default() }
}

/// A login with the keys of a file, which is there as long as the login.
struct FileLogin {
    jwt: Jwt,
    _file: tempfile::NamedTempFile,
}

impl FileLogin {
    async fn identify(&self, token: &str, now: Timestamp) -> Result<Identity, TokenRefusal> {
        self.jwt.identify(token, now).await
    }
}

fn login(set: &str, change: impl FnOnce(&mut JwtSettings)) -> FileLogin {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), set).expect("it can be written");
    let mut settings = settings();
    settings.jwks_file = Some(file.path().to_owned());
    change(&mut settings);
    FileLogin { jwt: Jwt::new(&settings).expect("good settings"), _file: file }
}

fn good() -> Value {
    claims("ann", NOW_SEC + 300)
}

/// The claims with one of them changed; `null` removes it.
fn with(key: &str, value: Value) -> Value {
    let mut claims = good();
    match value {
        Value::Null => drop(claims.as_object_mut().expect("claims").remove(key)),
        value => claims[key] = value,
    }
    claims
}

#[tokio::test]
async fn every_asymmetric_algorithm_is_accepted() {
    use Algorithm::*;
    for algorithm in [RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA] {
        let issuer = Issuer::new("k", algorithm);
        // With the algorithm in the entry, and by the kind of key alone.
        let mut bare = issuer.jwk();
        bare.as_object_mut().expect("an entry").remove("alg");
        for set in [key_set(&[&issuer]), json!({"keys": [bare]}).to_string()] {
            let login = login(&set, |_| {});
            let identity = login.identify(&issuer.sign(&good()), NOW).await;
            let ann = Identity::new("ann").expiring(Timestamp((NOW_SEC + 360) * 1000));
            assert_eq!(identity, Ok(ann), "{algorithm:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_the_issuers_is_refused() {
    let (issuer, other) = (Issuer::new("k", Algorithm::ES256), Issuer::new("k", Algorithm::ES256));
    let login = login(&key_set(&[&issuer]), |_| {});
    let token = issuer.sign(&good());
    assert!(login.identify(&token, NOW).await.is_ok());

    let [header, payload, signature] = token.split('.').collect::<Vec<_>>().try_into().expect("three parts");
    let encoded = |value: Value| {
        use base64::Engine;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string())
    };
    let none = encoded(json!({"alg": "none", "kid": "k"}));
    let renamed = issuer.sign(&with("sub", json!("bob")));
    let bobs_payload = renamed.split('.').nth(1).expect("a payload").to_owned();
    let mut unknown_id = Header::new(Algorithm::ES256);
    unknown_id.kid = Some("another".to_owned());
    let mut critical = Header::new(Algorithm::ES256);
    (critical.kid, critical.crit) = (Some("k".to_owned()), Some(vec!["exp".to_owned()]));
    let mut secret = Issuer::new("k", Algorithm::HS256);
    let hs256 = secret.sign(&good());
    secret.algorithm = Algorithm::HS512;
    let forged = [
        ("alg none, no signature", format!("{none}.{payload}.")),
        ("alg none, with a signature", format!("{none}.{payload}.{signature}")),
        ("no signature", format!("{header}.{payload}.")),
        ("another payload", format!("{header}.{bobs_payload}.{signature}")),
        ("HS256", hs256),
        ("HS512", secret.sign(&good())),
        ("another key of the same id", other.sign(&good())),
        ("an unknown key id", issuer.sign_as(&unknown_id, &good())),
        ("an extension that must be understood", issuer.sign_as(&critical, &good())),
        ("two parts", format!("{header}.{payload}")),
        ("nothing", "..".to_owned()),
        ("no JSON", "e30.e30.e30".to_owned()),
    ];
    for (what, token) in forged {
        assert_eq!(login.identify(&token, NOW).await, Err(TokenRefusal::Invalid), "{what}");
    }
    for (key, value) in [
        ("iss", json!("https://evil.example")),
        ("iss", json!("https://login.example/")),
        ("iss", json!([ISSUER])),
        ("iss", json!(["https://evil.example", ISSUER])),
        ("iss", json!({ISSUER: true})),
        ("iss", Value::Null),
        ("aud", json!("another")),
        ("aud", json!([])),
        ("aud", json!(["another", "holdpoint2"])),
        ("aud", Value::Null),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!(7)),
        ("sub", json!("x".repeat(257))),
        ("sub", json!("ann\u{200b}")),
        ("sub", json!("ann ")),
        ("exp", Value::Null),
        ("exp", json!("tomorrow")),
        ("exp", json!(-1)),
        ("exp", json!({})),
        ("nbf", json!("yesterday")),
    ] {
        let refused = login.identify(&issuer.sign(&with(key, value.clone())), NOW).await;
        assert_eq!(refused, Err(TokenRefusal::Invalid), "{key} = {value}");
    }
    let several = with("aud", json!(["another", AUDIENCE]));
    assert!(login.identify(&issuer.sign(&several), NOW).await.is_ok(), "for several servers");
}

#[tokio::test]
async fn times_are_compared_with_the_leeway() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let set = key_set(&[&issuer]);
    for (leeway, exp, nbf, is_valid) in [
        (60, -59, 0, true),
        (60, -60, 0, false),
        (60, 300, 60, true),
        (60, 300, 61, false),
        (0, 1, 0, true),
        (0, 0, 0, false),
        (0, 300, 1, false),
    ] {
        let login = login(&set, |settings| settings.leeway_sec = Some(leeway));
        let at = |seconds: i64| json!(NOW_SEC.checked_add_signed(seconds).expect("a time"));
        let mut claims = with("exp", at(exp));
        claims["nbf"] = at(nbf);
        let identity = login.identify(&issuer.sign(&claims), NOW).await;
        match is_valid {
            true => {
                let end = Timestamp(NOW.0.checked_add_signed((exp + i64::from(leeway)) * 1000).expect("a time"));
                assert_eq!(identity, Ok(Identity::new("ann").expiring(end)), "{leeway} {exp} {nbf}");
            }
            false => assert_eq!(identity, Err(TokenRefusal::OutOfTime), "{leeway} {exp} {nbf}"),
        }
    }
}

#[tokio::test]
async fn roles_and_groups_come_from_their_claims() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let read = async |change: fn(&mut JwtSettings), more: Value| {
        let mut claims = good();
        claims.as_object_mut().expect("claims").extend(more.as_object().expect("claims").clone());
        let identity = login(&key_set(&[&issuer]), change).identify(&issuer.sign(&claims), NOW).await;
        let identity = identity.unwrap_or_else(|refused| panic!("{refused:?}: {claims}"));
        let roles: Vec<Role> = identity.roles().iter().copied().collect();
        let groups: Vec<String> = identity.groups().iter().map(|group| group.as_str().to_owned()).collect();
        (identity.subject().as_str().to_owned(), roles, groups)
    };
    let user = vec![Role::User];
    let ann = |roles: Vec<Role>, groups: &[&str]| {
        ("ann".to_owned(), roles, groups.iter().map(|group| (*group).to_owned()).collect())
    };
    for (more, expected) in [
        (json!({}), ann(user.clone(), &[])),
        (json!({"roles": ["approver", "admin"]}), ann(vec![Role::Approver, Role::Admin], &[])),
        (json!({"roles": "approver user"}), ann(vec![Role::User, Role::Approver], &[])),
        (json!({"roles": ["offline_access", "Admin", 7, null]}), ann(user.clone(), &[])),
        (json!({"roles": {"admin": true}}), ann(user.clone(), &[])),
        (json!({"groups": ["finance", "Domain Users", "", 7]}), ann(user.clone(), &["Domain Users", "finance"])),
        (json!({"groups": "Domain Users"}), ann(user.clone(), &["Domain Users"])),
    ] {
        assert_eq!(read(|_| {}, more.clone()).await, expected, "{more}");
    }
    let nested = |settings: &mut JwtSettings| {
        settings.subject_claim = Some("email".to_owned());
        settings.roles_claim = Some("/realm_access/roles".to_owned());
        settings.groups_claim = Some("https://example.com/groups".to_owned());
    };
    let more = json!({
        "email": "ann@example.com",
        "realm_access": {"roles": ["admin"]},
        "https://example.com/groups": ["finance"],
    });
    let expected = ("ann@example.com".to_owned(), vec![Role::Admin], vec!["finance".to_owned()]);
    assert_eq!(read(nested, more).await, expected);
}

#[tokio::test]
async fn a_key_is_used_for_what_it_is_for() {
    let issuer = Issuer::new("k", Algorithm::RS256);
    let another = Issuer::new("l", Algorithm::RS256);
    let entry = |key: &str, value: Value| {
        let mut entry = issuer.jwk();
        entry[key] = value;
        entry
    };
    let set = |entries: &[Value]| json!({"keys": entries}).to_string();
    let odd = [json!(7), json!({"kty": "new"}), json!({"kty": "oct", "k": "AAAA", "kid": "k"})];
    let mut rs384 = Header::new(Algorithm::RS384);
    rs384.kid = Some("k".to_owned());
    let nameless = Header::new(Algorithm::RS256);
    let named = issuer.sign(&good());
    for (what, set, token, is_valid) in [
        ("an entry for another algorithm", set(&[entry("alg", json!("PS256")), another.jwk()]), named.clone(), false),
        ("a token with another algorithm", set(&[issuer.jwk()]), issuer.sign_as(&rs384, &good()), false),
        ("a key for encryption", set(&[entry("use", json!("enc")), another.jwk()]), named.clone(), false),
        ("a key for signatures", set(&[entry("use", json!("sig"))]), named.clone(), true),
        ("odd entries are left out", set(&[&odd[..], &[issuer.jwk()]].concat()), named.clone(), true),
        ("no id, and one key", set(&[issuer.jwk()]), issuer.sign_as(&nameless, &good()), true),
        ("no id, and two keys", set(&[issuer.jwk(), another.jwk()]), issuer.sign_as(&nameless, &good()), false),
        ("two keys of one id", set(&[issuer.jwk(), entry("n", another.jwk()["n"].clone())]), named.clone(), false),
    ] {
        let identity = login(&set, |_| {}).identify(&token, NOW).await;
        assert_eq!(identity.is_ok(), is_valid, "{what}: {identity:?}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused = |change: &dyn Fn(&mut JwtSettings)| {
        let mut settings = settings();
        settings.jwks_url = Some("https://login.example/keys".to_owned());
        change(&mut settings);
        Jwt::new(&settings).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(&|_| {}), "");
    for url in ["http://localhost:1/keys", "http://127.0.0.1/keys", "http://[::1]/keys"] {
        assert_eq!(refused(&|settings| settings.jwks_url = Some(url.to_owned())), "", "{url}");
    }
    for url in
        ["http://login.example/keys", "login.example", "file:///etc/passwd", "https://ann:hunter22@login.example/"]
    {
        let error = refused(&|settings| settings.jwks_url = Some(url.to_owned()));
        assert!(error.contains("auth.jwt.jwks_url") && !error.contains("hunter22"), "{url}: {error}");
    }
    assert!(refused(&|settings| settings.issuer.clear()).contains("auth.jwt.issuer"));
    assert!(refused(&|settings| settings.audience.clear()).contains("auth.jwt.audience"));
    assert!(refused(&|settings| settings.subject_claim = Some(String::new())).contains("auth.jwt.subject_claim"));
    assert!(refused(&|settings| settings.leeway_sec = Some(3601)).contains("auth.jwt.leeway_sec"));
    assert!(refused(&|settings| settings.jwks_url = None).contains("jwks_file"));
    assert!(refused(&|settings| settings.jwks_file = Some("/x".into())).contains("either"));
    let file = tempfile::NamedTempFile::new().expect("a file");
    for (set, problem) in [
        ("", "not a JSON Web Key Set"),
        ("[]", "not a JSON Web Key Set"),
        (r#"{"keys": []}"#, "has no key"),
        (r#"{"keys": [{"kty": "oct", "k": "AAAA"}]}"#, "has no key"),
    ] {
        std::fs::write(file.path(), set).expect("it can be written");
        let error = refused(&|settings| (settings.jwks_url, settings.jwks_file) = (None, Some(file.path().to_owned())));
        assert!(error.contains("auth.jwt.jwks_file") && error.contains(problem), "{set}: {error}");
    }
}

/// An issuer that publishes its keys over HTTP.
#[derive(Clone, Default)]
struct Published {
    answer: Arc<Mutex<Option<String>>>,
    fetches: Arc<AtomicUsize>,
}

impl Published {
    async fn start(&self) -> SocketAddr {
        let published = self.clone();
        let answer = move || {
            published.fetches.fetch_add(1, Ordering::Relaxed);
            let answer = published.answer.lock().expect("the answer").clone();
            std::future::ready(answer.ok_or(StatusCode::SERVICE_UNAVAILABLE))
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let app = Router::new().route("/keys", get(answer));
        tokio::spawn(async move { axum::serve(listener, app).await });
        address
    }

    fn publish(&self, issuers: &[&Issuer]) {
        *self.answer.lock().expect("the answer") = Some(key_set(issuers));
    }

    fn go_away(&self) {
        *self.answer.lock().expect("the answer") = None;
    }
}

const GAP: Duration = Duration::from_millis(300);

fn remote(address: SocketAddr, interval: Duration) -> Jwt {
    let mut settings = settings();
    settings.jwks_url = Some(format!("http://{address}/keys"));
    let timing = Timing { interval, retry: GAP, gap: GAP, patience: Duration::from_secs(5) };
    Jwt::with_timing(&settings, timing).expect("good settings")
}

#[tokio::test]
async fn an_unknown_key_is_looked_up_once_in_a_while() {
    let (old, new) = (Issuer::new("old", Algorithm::EdDSA), Issuer::new("new", Algorithm::EdDSA));
    let published = Published::default();
    published.publish(&[&old]);
    let login = remote(published.start().await, Duration::from_secs(3600));
    assert!(login.identify(&old.sign(&good()), NOW).await.is_ok(), "the first request waits for the keys");
    assert!(login.identify(&old.sign(&good()), NOW).await.is_ok());
    assert_eq!(published.fetches.load(Ordering::Relaxed), 1, "they are kept");

    published.publish(&[&new]);
    tokio::time::sleep(GAP).await;
    assert!(login.identify(&new.sign(&good()), NOW).await.is_ok(), "a rotated key");
    assert_eq!(login.identify(&old.sign(&good()), NOW).await, Err(TokenRefusal::Invalid), "the old one is gone");
    let fetches = published.fetches.load(Ordering::Relaxed);
    for number in 0..200 {
        let guess = Issuer::new(&format!("guess {number}"), Algorithm::EdDSA);
        assert_eq!(login.identify(&guess.sign(&good()), NOW).await, Err(TokenRefusal::Invalid));
    }
    assert!(published.fetches.load(Ordering::Relaxed) <= fetches + 3, "guesses do not make many fetches");
}

#[tokio::test]
async fn keys_are_refreshed_and_kept_while_the_issuer_is_away() {
    let (old, new) = (Issuer::new("old", Algorithm::EdDSA), Issuer::new("new", Algorithm::EdDSA));
    let published = Published::default();
    let login = remote(published.start().await, GAP);
    // It starts although the issuer is away. Nobody can tell whether a token is good.
    assert_eq!(login.identify(&old.sign(&good()), NOW).await, Err(TokenRefusal::Unavailable));
    published.publish(&[&old]);
    until("the key is fetched", async || login.identify(&old.sign(&good()), NOW).await.is_ok()).await;

    published.go_away();
    let fetches = published.fetches.load(Ordering::Relaxed);
    until("it is fetched again", async || published.fetches.load(Ordering::Relaxed) >= fetches + 2).await;
    assert!(login.identify(&old.sign(&good()), NOW).await.is_ok(), "the last keys stay in use");
    // It may be a new key of the issuer's.
    assert_eq!(login.identify(&new.sign(&good()), NOW).await, Err(TokenRefusal::Unavailable));

    published.publish(&[&new]);
    until("the new key is fetched", async || login.identify(&new.sign(&good()), NOW).await.is_ok()).await;
    assert_eq!(login.identify(&old.sign(&good()), NOW).await, Err(TokenRefusal::Invalid), "a withdrawn key");

    drop(login);
    tokio::time::sleep(GAP).await;
    let fetches = published.fetches.load(Ordering::Relaxed);
    tokio::time::sleep(3 * GAP).await;
    assert_eq!(published.fetches.load(Ordering::Relaxed), fetches, "a login that is gone fetches nothing");
}

/// Counts what is logged as a warning.
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Anybody with a token can send it again and again.
#[tokio::test(start_paused = true)]
async fn a_name_that_is_none_is_logged_now_and_then() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let login = login(&key_set(&[&issuer]), |_| {});
    let token = issuer.sign(&with("sub", json!("bo\u{200b}b")));
    let warnings = Arc::new(AtomicUsize::new(0));
    let _counting = tracing::subscriber::set_default(Warnings(Arc::clone(&warnings)));
    for minute in 1..=3 {
        for _ in 0..50 {
            assert_eq!(login.identify(&token, NOW).await, Err(TokenRefusal::Invalid));
        }
        assert_eq!(warnings.load(Ordering::SeqCst), minute);
        tokio::time::advance(Duration::from_secs(60)).await;
    }
}
