//! Tools of MCP servers: real ones from npm, and one of our own that misbehaves (`tests/mcp/fake.mjs`).
#![cfg(feature = "mcp")]

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::FutureExt as _;
use holdpoint_runtime::{
    subject::Subject,
    tool::{
        ApprovalPolicy, Prompt, PromptResponse, Prompter, Secret, Tool, ToolContext, ToolError, ToolSet,
        mcp::{McpProtocol, McpServer, McpServers, McpSettings, McpToolSettings, McpTransport, SecretUrl},
    },
};
use holdpoint_testkit::{PATIENCE, until, within};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn npm(package: &str) -> String {
    let path = root().join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js");
    assert!(path.exists(), "{} is not there: run `cargo xtask setup`", path.display());
    path.display().to_string()
}

fn command(name: &str, command: &[&str], env: &[(&str, &str)]) -> McpSettings {
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect();
    let settings = McpSettings::new(name, McpTransport::Command { command, env });
    McpSettings { start_wait: PATIENCE, ..settings }
}

/// The server of our own, and the file with what it was told.
struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn settings(&self, env: &[(&str, &str)]) -> McpSettings {
        let script = root().join("tests/mcp/fake.mjs").display().to_string();
        let log = self.log().display().to_string();
        let mut all = vec![("FAKE_LOG", log.as_str())];
        all.extend(env);
        McpSettings { approval: ApprovalPolicy::Never, ..command("fake", &["node", &script], &all) }
    }

    /// Waits until the server has been told this.
    async fn told(&self, line: &str) {
        let told = || std::fs::read_to_string(self.log()).unwrap_or_default();
        until(&format!("the server is told {line:?}"), async || told().lines().any(|told| told == line)).await;
    }
}

fn context(chat: &str, ask: Option<Prompter>) -> ToolContext {
    let mut context = ToolContext::new(chat, Subject::local(), "call");
    context.prompter = ask;
    context
}

/// Answers every question with this, and notes it.
fn answering(answer: PromptResponse) -> (Prompter, Arc<Mutex<Vec<Prompt>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let ask: Prompter = Arc::new(move |question| {
        notes.lock().expect("no panic").push(question);
        futures::future::ready(answer.clone()).boxed()
    });
    (ask, asked)
}

fn tool(server: &McpServer, name: &str) -> Tool {
    let tools = server.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    tools.iter().find(|tool| tool.spec.name == name).unwrap_or_else(|| panic!("{name} among {names:?}")).clone()
}

async fn run(tool: &Tool, input: Value, context: ToolContext) -> Result<Value, ToolError> {
    let running = (tool.handler.as_ref().expect("a handler"))(input, context);
    within("the call ends", running).await
}

async fn call(server: &McpServer, name: &str, input: Value) -> Result<Value, ToolError> {
    run(&tool(server, name), input, context("chat", None)).await
}

/// The everything server registers some of its tools only after the connection is there, and says so.
async fn with_tool(server: &mut McpServer, name: &str) -> Tool {
    let listed = async {
        while !server.tools().iter().any(|tool| tool.spec.name == name) {
            server.changed().await;
        }
    };
    within(&format!("{name} is listed"), listed).await;
    tool(server, name)
}

async fn everything(mut server: McpServer) {
    let sum = with_tool(&mut server, "every_get-sum").await;
    assert_eq!(sum.spec.input.as_value()["properties"]["a"]["type"], "number", "the schema is passed on");
    assert!(sum.spec.input.check(&json!({"a": "two"})).is_err());
    let output = run(&sum, json!({"a": 2, "b": 40}), context("chat", None)).await.expect("an output");
    assert!(output.as_str().is_some_and(|text| text.contains("42")), "{output}");
    let structured = call(&server, "every_get-structured-content", json!({"location": "Chicago"})).await;
    assert!(structured.expect("an output")["temperature"].is_number());
    let image = call(&server, "every_get-tiny-image", json!({})).await.expect("an output");
    assert!(image["content"].as_array().expect("parts").iter().any(|part| part["type"] == "image"), "{image}");

    let asks = with_tool(&mut server, "every_trigger-elicitation-request").await;
    let given = json!({"name": "Ada", "check": true});
    let (ask, asked) = answering(PromptResponse::Accepted(given));
    let output = run(&asks, json!({}), context("chat", Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("Name: Ada"), "{output}");
    let question = asked.lock().expect("no panic").pop().expect("a question");
    assert!(question.message.contains("Please provide inputs"), "{question:?}");
    assert_eq!(question.schema["properties"]["check"]["type"], "boolean", "{question:?}");
    for (answer, words) in [
        (PromptResponse::Declined, "declined"),
        (PromptResponse::Expired, "declined"),
        (PromptResponse::Cancelled, "cancelled"),
        // An answer that does not fit the schema counts as declined.
        (PromptResponse::Accepted(json!({"name": 5})), "declined"),
    ] {
        let output = run(&asks, json!({}), context("chat", Some(answering(answer).0))).await.expect("an output");
        assert!(output.to_string().contains(words), "{output}");
    }
    server.stop().await;
    assert!(call(&server, "every_echo", json!({"message": "x"})).await.is_err(), "a stopped server takes no calls");
}

#[tokio::test]
async fn the_everything_server_over_stdio() {
    let settings = command("every", &["node", &npm("server-everything"), "stdio"], &[]);
    everything(McpServer::start(settings).await.expect("starts")).await;
}

struct HttpServer(Child);

impl HttpServer {
    async fn start(port: u16) -> Self {
        let mut command = Command::new("node");
        command.args([&npm("server-everything"), "streamableHttp"]).env("PORT", port.to_string());
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("node runs"));
        until("it listens", async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
        server
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port()
}

fn http(port: u16) -> McpSettings {
    let headers = vec![("x-api-key".to_owned(), Secret::new("hunter22"))];
    let url = format!("http://127.0.0.1:{port}/mcp");
    let transport = McpTransport::Http { url: SecretUrl::new(url), headers };
    McpSettings { start_wait: PATIENCE, ..McpSettings::new("every", transport) }
}

#[tokio::test]
async fn the_everything_server_over_http() {
    let port = free_port().await;
    let _server = HttpServer::start(port).await;
    everything(McpServer::start(http(port)).await.expect("starts")).await;
}

#[tokio::test]
async fn a_server_over_http_may_come_late_and_be_started_again() {
    let port = free_port().await;
    // A call waits for its server as long as it may take: long for one that is being started, and a moment for one that is
    // gone. The client may have noticed that by itself.
    let mut settings = McpSettings { timeout: PATIENCE, ..http(port) };
    let moment = McpToolSettings { timeout: Some(Duration::from_secs(5)), ..McpToolSettings::default() };
    settings.tools = [("every_get-sum".to_owned(), moment)].into();
    let mut client = McpServer::start(settings).await.expect("a missing server is not an error");
    assert!(client.tools().is_empty());
    assert!(client.problem().is_some());
    let server = HttpServer::start(port).await;
    let echo = with_tool(&mut client, "every_echo").await;
    let says = |text: &'static str| run(&echo, json!({"message": text}), context("chat", None));
    assert_eq!(says("one").await, Ok(json!("Echo: one")));
    drop(server);
    let sum = with_tool(&mut client, "every_get-sum").await;
    let error = run(&sum, json!({"a": 1, "b": 1}), context("chat", None)).await.unwrap_err();
    assert_eq!(error.0, "The MCP server `every` is not connected, so the call was not made");
    let server = HttpServer::start(port).await;
    assert_eq!(says("three").await, Ok(json!("Echo: three")), "the next call finds it again");
    // Started anew between two calls: the first of them finds out that its session is gone, unless the client has already.
    drop(server);
    let _server = HttpServer::start(port).await;
    let first = run(&sum, json!({"a": 1, "b": 3}), context("chat", None)).await;
    assert!(first.is_err() || first.is_ok_and(|output| output.to_string().contains('4')));
    assert_eq!(says("five").await, Ok(json!("Echo: five")));
}

/// Errors of its tools name neither the address of a server nor the key in it.
#[tokio::test]
async fn a_server_address_is_shown_to_operators_only() {
    let port = free_port().await;
    let url = format!("http://127.0.0.1:{port}/mcp?apiKey=s3cr3t-of-the-url");
    let transport = McpTransport::Http { url: SecretUrl::new(url), headers: Vec::new() };
    let settings = McpSettings { start_wait: PATIENCE, ..McpSettings::new("every", transport) };
    let settings = McpSettings { timeout: Duration::from_secs(2), ..settings };
    let mut client = McpServer::start(settings).await.expect("a missing server is not an error");
    let problem = client.problem().expect("it is not there");
    assert!(
        problem.contains(&format!("127.0.0.1:{port}")),
        "the problem names the address for the operator: {problem}"
    );
    assert!(!problem.contains("s3cr3t"), "{problem}");
    let server = HttpServer::start(port).await;
    let echo = with_tool(&mut client, "every_echo").await;
    drop(server);
    // The first finds out that it is gone; the next waits for it, in vain.
    for _ in 0..2 {
        let error = run(&echo, json!({"message": "hi"}), context("chat", None)).await.unwrap_err();
        assert_eq!(error.0, "The MCP server `every` is not connected, so the call was not made");
    }
}

/// Whether a process runs. One that is dead and was not waited for by whoever is its parent now does not.
fn runs(pid: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().expect("ps runs");
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

async fn ends(pid: &str) {
    until(&format!("process {pid} ends"), async || !runs(pid)).await;
}

/// A program is often the child of another (`sh -c`, `npx`): it ends with its server, whatever it does about the end of its input.
#[cfg(unix)]
#[tokio::test]
async fn what_a_program_has_started_ends_with_it() {
    let node = format!("node '{}'", root().join("tests/mcp/fake.mjs").display());
    for (wrapper, env) in [
        // It outlives the end of its input, and so does the shell that waits for it.
        (format!("{node}; true"), [("FAKE_STAYS", "1")]),
        // The server goes, something that it has started stays.
        (format!("sleep 600 & echo \"pid $!\" >> \"$FAKE_LOG\"; exec {node}"), [("OTHER", "1")]),
    ] {
        for is_stopped in [true, false] {
            let fake = Fake::new();
            let mut settings = fake.settings(&env);
            if let McpTransport::Command { command, .. } = &mut settings.transport {
                *command = vec!["sh".to_owned(), "-c".to_owned(), wrapper.clone()];
            }
            let server = McpServer::start(settings).await.expect("starts");
            assert_eq!(call(&server, "fake_echo", json!({"text": "hi"})).await, Ok(json!("hi")));
            let log = std::fs::read_to_string(fake.log()).expect("a log");
            let pids: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("pid ")).collect();
            assert!(!pids.is_empty() && pids.iter().all(|pid| runs(pid)), "{log}");
            if is_stopped {
                server.stop().await;
            }
            drop(server);
            for pid in pids {
                ends(pid).await;
            }
        }
    }
}

#[tokio::test]
async fn the_filesystem_server_says_what_its_tools_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a path");
    std::fs::write(folder.join("note.txt"), "remember the milk").expect("written");
    let path = folder.display().to_string();
    let settings = command("files", &["node", &npm("server-filesystem"), &path], &[]);
    let server = McpServer::start(McpSettings { approval: ApprovalPolicy::Never, ..settings }).await.expect("starts");
    let note = folder.join("note.txt").display().to_string();
    let read = call(&server, "files_read_text_file", json!({"path": note})).await.expect("an output");
    assert!(read.to_string().contains("remember the milk"), "{read}");
    let outside = call(&server, "files_read_text_file", json!({"path": "/etc/hostname"})).await.unwrap_err();
    assert!(outside.0.contains("denied"), "{outside}");
    // `never` in the settings: what only reads runs, what the server calls destructive asks all the same.
    let asks = |name: &str| tool(&server, name).spec.approval.approval_reason(&json!({}));
    assert_eq!(asks("files_read_text_file"), None);
    let reason = asks("files_write_file").expect("somebody is asked");
    assert!(reason.contains("marks this tool as destructive"), "{reason}");
}

#[tokio::test]
async fn a_died_server_is_started_again() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    for _ in 0..2 {
        let error = call(&server, "fake_die", json!({})).await.unwrap_err();
        assert!(error.0.contains("program of the MCP server `fake` ended during the call"), "{error}");
        assert!(error.is_outcome_unknown(), "{error}");
        assert_eq!(call(&server, "fake_echo", json!({"text": "back"})).await, Ok(json!("back")));
    }
    let log = std::fs::read_to_string(fake.log()).expect("a log");
    assert_eq!(log.lines().filter(|line| *line == "start").count(), 3, "{log}");
    assert_eq!(log.lines().filter(|line| *line == "call die").count(), 2, "nothing is called twice: {log}");
}

#[tokio::test]
async fn a_server_that_fails_at_first_is_tried_again() {
    let fake = Fake::new();
    let mut server =
        McpServer::start(fake.settings(&[("FAKE_FAILS", "3")])).await.expect("the start goes on without it");
    assert!(server.problem().is_some_and(|problem| problem.contains("closed")), "{:?}", server.problem());
    let echo = with_tool(&mut server, "fake_echo").await;
    assert_eq!(run(&echo, json!({"text": "hi"}), context("chat", None)).await, Ok(json!("hi")));
    assert_eq!(server.problem(), None);
}

#[tokio::test]
async fn settings_that_can_never_work_are_an_error() {
    let error = |settings| async { McpServer::start(settings).await.map(drop).unwrap_err().to_string() };
    let missing = error(command("gone", &["there-is-no-such-program"], &[])).await;
    assert!(missing.contains("\"gone\"") && missing.contains("there-is-no-such-program"), "{missing}");
    assert!(error(command("no name", &["node"], &[])).await.contains("its name"));
    assert!(error(command("none", &[], &[])).await.contains("`command` is empty"));
    let header = ("x-key".to_owned(), Secret::new("two\nlines"));
    let transport = McpTransport::Http { url: "http://127.0.0.1:1/".into(), headers: vec![header] };
    let text = error(McpSettings::new("h", transport)).await;
    assert!(text.contains("x-key") && !text.contains("lines\""), "{text}");
    let transport = McpTransport::Http { url: "http://me:hunter22@127.0.0.1:1/".into(), headers: vec![] };
    let text = error(McpSettings::new("h", transport)).await;
    assert!(!text.contains("hunter22"), "{text}");
    let twice = McpServers::start([command("a", &["node"], &[]), command("a", &["node"], &[])]).await;
    assert!(twice.map(drop).unwrap_err().to_string().contains("two of that name"));
}

/// What a server says about how far a call is, is shown as the call's progress.
#[tokio::test]
async fn progress_is_shown() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let reporter = Arc::new(move |progress| notes.lock().expect("no panic").push(progress));
    let output = run(&tool(&server, "fake_steps"), json!({}), context("chat", None).with_reporter(reporter)).await;
    assert_eq!(output, Ok(json!("done")));
    let step = |at: f64| json!({"progress": at, "total": 2.0, "message": format!("step {at}")});
    assert_eq!(*seen.lock().expect("no panic"), [step(1.0), step(2.0)]);
}

/// A picture is stored, and the output has a link in its place.
#[tokio::test]
async fn a_picture_is_a_link() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    let output = call(&server, "fake_picture", json!({})).await.expect("an output");
    assert_eq!(output["content"][0]["text"], "a picture");
    let link =
        json!({"type": "image", "mimeType": "image/png", "bytes": 600_000, "url": "/api/chat/chat/files/call/0"});
    assert_eq!(output["content"][1], link, "{}", output.to_string().len());
}

/// One entry that can't be read does not take the others with it.
#[tokio::test]
async fn an_odd_tool_is_left_out_and_named() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[("FAKE_ODD", "1")])).await.expect("starts");
    let names: Vec<String> = server.tools().iter().map(|tool| tool.spec.name.clone()).collect();
    assert!(names.contains(&"fake_echo".to_owned()) && !names.iter().any(|name| name.contains("bare")), "{names:?}");
    let warnings: Vec<String> = server.warnings().iter().map(ToString::to_string).collect();
    for name in ["bare", "hinted", "without a name"] {
        let is_named = |warning: &String| warning.contains(name) && warning.contains("left out");
        assert!(warnings.iter().any(is_named), "{name}: {warnings:?}");
    }
    server.stop().await;
}

/// The settings of a tool count under the name under which it is offered; one that is not there is told to the operator.
#[tokio::test]
async fn tools_are_filtered_and_set_by_name() {
    let fake = Fake::new();
    let mut settings = fake.settings(&[]);
    settings.offered = Some(["echo", "slow", "wipe"].map(str::to_owned).into());
    settings.denied = ["wipe".to_owned()].into();
    let slow = McpToolSettings { timeout: Some(Duration::from_millis(100)), ..McpToolSettings::default() };
    settings.tools = [("fake_slow".to_owned(), slow), ("fake_wpe".to_owned(), McpToolSettings::default())].into();
    let server = McpServer::start(settings).await.expect("an unknown tool does not keep the others away");
    let names: Vec<String> = server.tools().iter().map(|tool| tool.spec.name.clone()).collect();
    assert_eq!(names, ["fake_echo", "fake_slow"]);
    let [warning] = server.warnings().try_into().expect("one warning");
    assert!(warning.to_string().contains("\"fake_wpe\"") && warning.to_string().contains("fake_echo"), "{warning}");
    let error = call(&server, "fake_slow", json!({})).await.unwrap_err();
    assert!(error.0.contains("did not answer within 0.1 s"), "{error}");
}

/// Which of the two the model would call would depend on their order. Nobody takes the name of another.
#[tokio::test]
async fn two_servers_with_one_name_for_a_tool_both_lose_it() {
    let script = root().join("tests/mcp/fake.mjs").display().to_string();
    let of = |name: &str, tool: &str| command(name, &["node", &script], &[("FAKE_TOOL", tool)]);
    let servers = McpServers::start([of("a", "b_c"), of("a_b", "c"), of("other", "x")]).await.expect("they start");
    let tools = servers.with(&holdpoint_runtime::tool::ToolSet::default());
    assert!(tools.get("a_b_c").is_none(), "both are left out");
    assert!(tools.get("a_echo").is_some() && tools.get("a_b_echo").is_some() && tools.get("other_x").is_some());
    let mut told = Vec::new();
    for server in servers.iter() {
        let warnings = server.watch().read().warnings;
        assert_eq!(warnings, server.warnings());
        told.push(warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    }
    assert!(told[0].contains("\"a_b_c\"") && told[0].contains("\"a_b\""), "{told:?}");
    assert!(told[1].contains("\"a_b_c\"") && told[1].contains("\"a\""), "{told:?}");
    assert_eq!(told[2], "");
    // A tool of the program itself keeps its name, and the server is told.
    let own = servers.with(&tools);
    assert!(own.get("a_echo").is_some());
    let warnings = servers.iter().next().expect("a server").warnings();
    assert!(warnings.iter().any(|warning| warning.to_string().contains("\"a_echo\"")), "{warnings:?}");
    // What is no longer so is no longer said.
    servers.with(&holdpoint_runtime::tool::ToolSet::default());
    assert_eq!(servers.iter().next().expect("a server").warnings().len(), 1);
    servers.stop().await;
}

/// The version that the settings say is the one that is spoken, also where the server knows a newer one.
#[tokio::test]
async fn the_protocol_can_be_set() {
    let script = root().join("tests/mcp/sdk.mjs").display().to_string();
    for (protocol, is_modern) in [
        (None, true),
        (Some(McpProtocol::V2026_07_28), true),
        (Some(McpProtocol::V2025_11_25), false),
        (Some(McpProtocol::V2025_06_18), false),
    ] {
        let fake = Fake::new();
        let log = fake.log().display().to_string();
        let settings = command("s", &["node", &script], &[("FAKE_LOG", &log)]);
        let server = McpServer::start(McpSettings { protocol, ..settings }).await.expect("starts");
        assert!(server.problem().is_none() && !server.tools().is_empty(), "{protocol:?}: {:?}", server.problem());
        server.stop().await;
        let told = std::fs::read_to_string(fake.log()).expect("it has begun");
        assert_eq!(told.lines().any(|line| line == "era modern"), is_modern, "{protocol:?}: {told}");
    }
}

/// What a server says about its tools is offered with them, without its secrets, if it offers any and the settings do not forbid it.
#[tokio::test]
async fn what_a_server_says_about_its_tools_is_offered_with_them() {
    let said = async |change: fn(&mut McpSettings)| {
        let fake = Fake::new();
        let token = ("API_TOKEN", "s3cr3t-of-the-server");
        let says = ("FAKE_SAYS", "Search before you read.\nThe token is s3cr3t-of-the-server.");
        let mut settings = fake.settings(&[says, token]);
        change(&mut settings);
        let servers = McpServers::start([settings]).await.expect("starts");
        let tools = servers.with(&ToolSet::default());
        servers.stop().await;
        tools.instructions()
    };
    let [instructions] = &*said(|_| {}).await else { panic!("one server says something") };
    assert_eq!(instructions.server(), "fake");
    let text = instructions.text();
    assert!(text.starts_with("Search before you read.\nThe token is ") && !text.contains("s3cr3t"), "{text}");
    assert!(said(|settings| settings.instructions = false).await.is_empty(), "the settings forbid it");
    assert!(said(|settings| settings.offered = Some([].into())).await.is_empty(), "it offers no tools");
}

/// A server that says something else after it was started again has changed, even if its tools are the same.
#[tokio::test]
async fn what_a_server_says_anew_is_a_change() {
    let fake = Fake::new();
    let settings = fake.settings(&[("FAKE_SAYS", "start "), ("FAKE_SAYS_MORE", "1")]);
    let mut servers = McpServers::start([settings]).await.expect("starts");
    let said = |servers: &McpServers| {
        let tools = servers.with(&ToolSet::default());
        tools.instructions().iter().map(|said| said.text().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said(&servers), ["start 0"]);
    let server = servers.iter().next().expect("a server");
    assert!(call(server, "fake_die", json!({})).await.is_err());
    within("the change is reported", servers.changed()).await;
    assert_eq!(said(&servers), ["start 1"]);
    servers.stop().await;
}

/// A program that says nothing does not keep the start waiting, and its tools appear when it speaks.
#[tokio::test]
async fn a_silent_server_does_not_hold_up_the_start() {
    let fake = Fake::new();
    let script = root().join("tests/mcp/fake.mjs").display().to_string();
    let go = fake.folder.path().join("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.05; done; exec node '{script}'", go.display());
    let settings = McpSettings { start_wait: Duration::from_millis(100), ..command("fake", &["sh", "-c", &wait], &[]) };
    let mut server = McpServer::start(settings).await.expect("the start goes on without it");
    assert!(server.problem().is_some_and(|problem| problem.contains("has not answered yet")), "{:?}", server.problem());
    assert!(server.tools().is_empty() && !server.is_listed());
    std::fs::write(&go, "").expect("written");
    with_tool(&mut server, "fake_echo").await;
    assert_eq!(server.problem(), None);
}

/// Who waits for the tools of a server learns that it has failed.
#[tokio::test]
async fn a_server_that_fails_late_is_waited_for_no_longer() {
    let fake = Fake::new();
    let go = fake.folder.path().join("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.05; done; exit 1", go.display());
    let settings = McpSettings { start_wait: Duration::from_millis(100), ..command("fake", &["sh", "-c", &wait], &[]) };
    let mut servers = McpServers::start([settings]).await.expect("the start goes on without it");
    let is_awaited = |servers: &McpServers| servers.with(&ToolSet::default()).is_awaiting();
    assert!(is_awaited(&servers));
    std::fs::write(&go, "").expect("written");
    within("the change is reported", servers.changed()).await;
    assert!(!is_awaited(&servers));
}

#[tokio::test]
async fn a_slow_call_times_out_and_is_cancelled_at_the_server() {
    let fake = Fake::new();
    let timeout = Duration::from_millis(200);
    let server = McpServer::start(McpSettings { timeout, ..fake.settings(&[]) }).await.expect("starts");
    let error = call(&server, "fake_slow", json!({})).await.unwrap_err();
    assert!(error.0.contains("did not answer within 0.2 s") && error.is_outcome_unknown(), "{error}");
    fake.told("cancelled the call took too long").await;
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_at_the_server() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    let (slow, stopped) = (tool(&server, "fake_slow"), context("chat", None));
    let cancellation = stopped.cancellation.clone();
    let running = tokio::spawn(async move { run(&slow, json!({}), stopped).await });
    fake.told("call slow").await;
    cancellation.cancel();
    assert_eq!(
        running.await.expect("no panic"),
        Err(ToolError::outcome_unknown("The call was stopped after it was sent"))
    );
    fake.told("cancelled the call was stopped").await;

    // A task that is simply thrown away, as the driver does it, tells the server too.
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    let slow = tool(&server, "fake_slow");
    let running = tokio::spawn(async move { run(&slow, json!({}), context("chat", None)).await });
    fake.told("call slow").await;
    running.abort();
    fake.told("cancelled the call was stopped").await;
}

#[tokio::test]
async fn tools_that_change_are_listed_again() {
    let fake = Fake::new();
    let mut servers = McpServers::start([fake.settings(&[])]).await.expect("starts");
    let before = servers.with(&holdpoint_demo::demo_tools());
    assert!(before.get("fake_extra").is_none());
    assert!(before.get("process_payment").is_some() && before.get("fake_echo").is_some());
    let more = before.get("fake_more").expect("it is listed");
    run(more, json!({}), context("chat", None)).await.expect("an output");
    within("the change is reported", servers.changed()).await;
    let after = servers.with(&before);
    let extra = after.get("fake_extra").expect("it is listed");
    assert_eq!(run(extra, json!({}), context("chat", None)).await, Ok(json!("extra")));
    servers.stop().await;
}

#[tokio::test]
async fn hints_are_stricter_than_the_settings() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    assert!(tool(&server, "fake_wipe").spec.approval.approval_reason(&json!({})).is_some());
    assert!(tool(&server, "fake_echo").spec.approval.approval_reason(&json!({})).is_none());
}

#[tokio::test]
async fn a_server_gets_its_own_secrets_only() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[("TOKEN", "hunter22")])).await.expect("starts");
    let error = call(&server, "fake_leak", json!({})).await.unwrap_err();
    assert_eq!(error.0, "the token ••• is wrong");
    let names = call(&server, "fake_environment", json!({})).await.expect("an output");
    let names: Vec<&str> = names["names"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"TOKEN") && names.contains(&"PATH"), "{names:?}");
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "our own environment stays here: {names:?}");
}

#[tokio::test]
async fn a_prompt_pauses_the_timeout_and_may_be_repeated() {
    let timeout = Duration::from_secs(20);
    let fake = Fake::new();
    let server = McpServer::start(McpSettings { timeout, ..fake.settings(&[]) }).await.expect("starts");
    // The user takes twice as long as a call may: for each question.
    let ask: Prompter = Arc::new(move |_| {
        async move {
            // The call learns that somebody is asked before the clock moves.
            tokio::time::sleep(Duration::from_millis(50)).await;
            tokio::time::pause();
            tokio::time::advance(timeout * 2).await;
            tokio::time::resume();
            PromptResponse::Accepted(json!({"name": "Ada"}))
        }
        .boxed()
    });
    let output = run(&tool(&server, "fake_ask_twice"), json!({}), context("chat", Some(ask))).await.expect("an output");
    assert_eq!(output.as_str().expect("a text").matches("Ada").count(), 2, "{output}");
}

#[tokio::test]
async fn a_prompt_is_declined_if_its_chat_is_uncertain() {
    let fake = Fake::new();
    let server = McpServer::start(fake.settings(&[])).await.expect("starts");
    let slow = tool(&server, "fake_slow");
    let other = tokio::spawn(async move { run(&slow, json!({}), context("somebody else's", None)).await });
    fake.told("call slow").await;
    let (ask, asked) = answering(PromptResponse::Accepted(json!({"name": "Ada"})));
    let asks = tool(&server, "fake_ask");
    let output = run(&asks, json!({}), context("chat", Some(Arc::clone(&ask)))).await.expect("an output");
    assert!(output.to_string().contains("decline"), "{output}");
    assert!(asked.lock().expect("no panic").is_empty());
    // The other call is given up, but the server may still be busy with it: what it asks now may be of that.
    other.abort();
    let _ = other.await;
    let output = run(&asks, json!({}), context("chat", Some(Arc::clone(&ask)))).await.expect("an output");
    assert!(output.to_string().contains("decline"), "{output}");
    assert!(asked.lock().expect("no panic").is_empty());
    // In the chat that gave it up, it is nobody else's in any case.
    let output = run(&asks, json!({}), context("somebody else's", Some(ask))).await.expect("an output");
    assert!(output.to_string().contains("Ada"), "{output}");
}
