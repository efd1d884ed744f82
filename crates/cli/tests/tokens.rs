//! JSON Web Tokens by the settings of the command. What is taken and refused is tested with the server.

mod support;

use std::io::Write;

use jsonwebtoken::Algorithm;
use support::{
    Binary, PATIENCE,
    issuer::{AUDIENCE, ISSUER, Issuer, claims},
};

/// The server starts although its issuer is away, on any address, and says that it can't tell.
#[tokio::test]
async fn the_binary_serves_tokens_from_a_url() {
    let issuer = Issuer::new("k", Algorithm::EdDSA);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let token = issuer.sign(&claims("ann", now + 300));
    // Nobody listens there yet.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let mut config = tempfile::NamedTempFile::new().expect("a file");
    let url = format!("http://127.0.0.1:{port}/keys");
    write!(config, "[auth.jwt]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks_url = \"{url}\"\n")
        .expect("written");
    let config = config.path().to_str().expect("a path");
    let server = Binary::start(&["--listen", "0.0.0.0:0", "--ephemeral", "--config", config]);
    let url = server.url("/api/me").replace("0.0.0.0", "127.0.0.1");
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
    let ask = async || client.get(&url).bearer_auth(&token).send().await.expect("an answer");
    let refused = ask().await;
    assert_eq!(refused.status().as_u16(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(client.get(&url).send().await.expect("an answer").status().as_u16(), 401);
}
