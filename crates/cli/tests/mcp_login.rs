//! Logins at an MCP server behind OAuth (`tests/mcp/oauth.mjs`): by the binary, in a browser that always agrees.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use holdpoint_runtime::tool::{
    Secret, ToolContext,
    mcp::{McpOAuth, McpServer, McpSettings, McpTransport, SecretUrl},
};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server, and its address.
fn serve(env: &[(&str, &str)]) -> (Running, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/oauth.mjs");
    let mut command = Command::new("node");
    command.arg(script).envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a port");
    (Running(child), format!("http://127.0.0.1:{}", line.trim()))
}

/// The key of the file with the tokens.
const KEY: &str = "a key of the test";

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// Logs in with the binary: what the browser is shown, and how the binary ends.
async fn login(folder: &Path, base: &str) -> (u16, Option<i32>, String) {
    let config = format!("[[mcp]]\nname = 'work'\nurl = '{base}/mcp'\noauth_file = 'tokens.json'\noauth_key = '{KEY}'");
    std::fs::write(folder.join("config.toml"), config).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["mcp", "login", "work", "--config", "config.toml"]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut out = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let url = out.by_ref().map(|line| line.expect("text")).find(|line| line.starts_with("http")).expect("a page");
    let page = client().get(url).send().await.expect("a page").status().as_u16();
    out.for_each(drop);
    let ended = child.wait_with_output().expect("ends");
    (page, ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

fn settings(folder: &Path, base: &str) -> McpSettings {
    let transport = McpTransport::Http { url: SecretUrl::new(format!("{base}/mcp")), headers: Vec::new() };
    let oauth = McpOAuth { file: folder.join("tokens.json"), key: Secret::new(KEY), client_id: None };
    McpSettings { oauth: Some(oauth), start_wait: PATIENCE, ..McpSettings::new("work", transport) }
}

async fn ask(server: &McpServer, tool: &str) -> Result<String, String> {
    let tools = server.tools();
    let tool = tools.iter().find(|listed| listed.spec.name == tool).expect("it is listed");
    let called = (tool.handler.as_ref().expect("a handler"))(json!({}), ToolContext::new("chat", "ann", "call"));
    let output = tokio::time::timeout(PATIENCE, called).await.expect("an end");
    output.map(|output| output.to_string()).map_err(|error| error.0)
}

async fn whoami(server: &McpServer) -> String {
    ask(server, "work_whoami").await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn tokens_of_an_mcp_login_are_stored_and_sent() {
    let (_server, base) = serve(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let before = McpServer::start(settings(folder.path(), &base)).await.expect("is no error");
    assert!(before.problem().is_some_and(|problem| problem.contains("holdpoint mcp login")), "{:?}", before.problem());
    let plain = McpSettings { oauth: None, ..settings(folder.path(), &base) };
    let plain = McpServer::start(plain).await.expect("is no error");
    assert!(plain.problem().is_some_and(|problem| problem.contains("holdpoint mcp login")), "{:?}", plain.problem());

    let (page, code, errors) = login(folder.path(), &base).await;
    assert_eq!((page, code), (200, Some(0)), "{errors}");
    let mode = std::fs::metadata(folder.path().join("tokens.json")).expect("the tokens").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner reads it");

    let server = McpServer::start(settings(folder.path(), &base)).await.expect("starts");
    assert_eq!(server.problem(), None);
    assert_eq!(whoami(&server).await, "\"ann\"");
    // One that has been running takes the login up.
    let mut before = before;
    let listed = async {
        while !before.is_listed() {
            before.changed().await;
        }
    };
    tokio::time::timeout(PATIENCE, listed).await.expect("it connects by itself");
    assert_eq!(whoami(&before).await, "\"ann\"");
}

/// Tokens that have nearly expired are refreshed, and the new ones are kept: a refresh token is for one use.
#[tokio::test]
async fn tokens_are_refreshed() {
    let (_server, base) = serve(&[("TOKEN_SECONDS", "20")]);
    let folder = tempfile::tempdir().expect("a folder");
    let (_, code, errors) = login(folder.path(), &base).await;
    assert_eq!(code, Some(0), "{errors}");
    let first = std::fs::read(folder.path().join("tokens.json")).expect("the tokens");
    for _ in 0..2 {
        let server = McpServer::start(settings(folder.path(), &base)).await.expect("starts");
        assert_eq!(server.problem(), None);
        assert_eq!(whoami(&server).await, "\"ann\"");
        server.stop().await;
    }
    let refreshes = client().get(format!("{base}/refreshes")).send().await.expect("an answer");
    let refreshes: u32 = refreshes.text().await.expect("a number").parse().expect("a number");
    assert!(refreshes >= 2, "{refreshes}");
    assert_ne!(std::fs::read(folder.path().join("tokens.json")).expect("the tokens"), first);
}

/// Neither a chat nor a model gets the token, whatever the server says.
#[tokio::test]
async fn a_token_that_the_server_repeats_is_masked() {
    let (_server, base) = serve(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(login(folder.path(), &base).await.1, Some(0));
    let server = McpServer::start(settings(folder.path(), &base)).await.expect("starts");
    assert_eq!(ask(&server, "work_leak").await.as_deref(), Ok("\"you sent •••\""));
    server.stop().await;
}

/// A call that the server did not even look at was not carried out, and whoever asked for it is told that.
#[tokio::test]
async fn a_call_after_the_tokens_were_revoked_was_not_made() {
    let (_server, base) = serve(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let (_, code, errors) = login(folder.path(), &base).await;
    assert_eq!(code, Some(0), "{errors}");
    let server = McpServer::start(settings(folder.path(), &base)).await.expect("starts");
    assert_eq!(whoami(&server).await, "\"ann\"");
    client().get(format!("{base}/revoke")).send().await.expect("an answer");
    let error = ask(&server, "work_whoami").await.expect_err("nobody is logged in");
    assert!(error.contains("wants a new login") && error.contains("was not made"), "{error}");
    server.stop().await;
}

#[tokio::test]
async fn a_denied_mcp_login_exits_with_its_reason() {
    let (_server, base) = serve(&[("DENY", "1")]);
    let folder = tempfile::tempdir().expect("a folder");
    let (_, code, errors) = login(folder.path(), &base).await;
    assert!(code == Some(2) && errors.contains("access_denied"), "{errors}");
    assert!(!folder.path().join("tokens.json").exists());
}

/// A callback that did not begin with us, as an attacker would send it, is refused.
#[tokio::test]
async fn a_callback_with_a_foreign_state_is_refused() {
    let (_server, base) = serve(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let login =
        holdpoint_runtime::tool::mcp::McpLogin::begin(&settings(folder.path(), &base), 0).await.expect("begins");
    let page = reqwest::Url::parse(login.url()).expect("a URL");
    let back =
        page.query_pairs().find(|(key, _)| key == "redirect_uri").expect("a place to come back to").1.into_owned();
    let finished = tokio::spawn(login.finish(PATIENCE));
    let answer = client().get(format!("{back}?code=stolen&state=guessed")).send().await.expect("an answer");
    assert_eq!(answer.status(), 400);
    assert!(finished.await.expect("no panic").is_err());
    assert!(!folder.path().join("tokens.json").exists());
}
