//! MCP servers from the settings to the chat: approvals, questions, stop; and the binary, from its start to its end.

mod support;

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use holdpoint_runtime::tool::{
    ApprovalPolicy, Secret, ToolSet,
    mcp::{McpServers, McpSettings, McpTransport},
};
use serde_json::{Value, json};
use support::{Chat, PATIENCE, Setup, Sse, TestServer};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.mjs")
}

/// A server whose model calls a tool of the misbehaving MCP server.
struct Fixture {
    server: TestServer,
    _mcp: McpServers,
    log: tempfile::NamedTempFile,
}

async fn fixture(tool: &str) -> Fixture {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let command = vec!["node".to_owned(), script().display().to_string()];
    let env = vec![("FAKE_LOG".to_owned(), Secret::new(log.path().display().to_string()))];
    let settings = McpSettings::new("fake", McpTransport::Command { command, env });
    let mcp = McpServers::start([McpSettings { approval: ApprovalPolicy::Never, start_wait: PATIENCE, ..settings }])
        .await
        .expect("starts");
    let call = json!({"toolCall": {"name": tool, "input": {}}});
    let mut setup = Setup::script(&json!({"turns": [{"steps": [[call], [{"text": ["done"]}]]}]}));
    setup.builder = setup.builder.tools(mcp.with(&ToolSet::default()));
    Fixture { server: setup.start().await, _mcp: mcp, log }
}

impl Fixture {
    async fn told(&self, line: &str) {
        told(self.log.path(), line).await;
    }
}

async fn told(log: &Path, line: &str) {
    let told = async {
        while !std::fs::read_to_string(log).unwrap_or_default().lines().any(|told| told == line) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, told).await.is_ok(), "{line:?} was never told");
}

/// Reads until the user is asked; gives what was read, and the call that asks.
async fn asked(sse: &mut Sse) -> (Vec<String>, Value) {
    let mut read = Vec::new();
    loop {
        let payload = sse.next().await.expect("the question comes");
        let chunk: Value = serde_json::from_str(&payload).unwrap_or_default();
        read.push(payload);
        if chunk["type"] == "tool-input-available" && chunk["toolName"] == "ask_user" {
            return (read, chunk);
        }
    }
}

/// The output of the MCP tool's call.
fn output(chat: &Chat<'_>, tool: &str) -> Value {
    let message = serde_json::to_value(chat.messages.last().expect("a message")).expect("JSON");
    let parts = message["parts"].as_array().expect("parts");
    let part = parts.iter().find(|part| part["type"] == format!("tool-{tool}")).expect("the call");
    if part["output"].is_null() { part["errorText"].clone() } else { part["output"].clone() }
}

#[tokio::test]
async fn a_prompt_of_an_mcp_server_is_a_hold() {
    let fixture = fixture("fake_ask").await;
    let mut chat = fixture.server.chat();
    let mut sse = chat.say("go").await;
    let (mut read, question) = asked(&mut sse).await;
    assert_eq!(question["input"]["message"], "Who are you?");
    assert_eq!(question["input"]["schema"]["required"], json!(["name"]));
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    let acked = fixture.server.ack(question["toolCallId"].as_str().expect("an id"), "success", answer).await;
    assert_eq!(acked.0, 200, "{acked:?}");
    read.extend(sse.rest().await);
    chat.take(read);
    assert!(output(&chat, "fake_ask").to_string().contains("Ada"), "{}", output(&chat, "fake_ask"));
    assert_eq!(chat.text(), "done");
}

#[tokio::test]
async fn an_unanswered_prompt_is_declined() {
    let fixture = fixture("fake_ask").await;
    let mut chat = fixture.server.chat();
    let mut sse = chat.say("go").await;
    let (mut read, _) = asked(&mut sse).await;
    fixture.server.clock.advance(Duration::from_secs(301));
    read.extend(sse.rest().await);
    chat.take(read);
    assert!(output(&chat, "fake_ask").to_string().contains("decline"), "{}", output(&chat, "fake_ask"));
}

/// A tool that waits for a person does not hold up the server's end: it is told that nobody answers, and the turn finishes.
#[tokio::test]
async fn an_open_prompt_does_not_delay_the_shutdown() {
    let fixture = fixture("fake_ask").await;
    let mut chat = fixture.server.chat();
    let mut sse = chat.say("go").await;
    let (mut read, _) = asked(&mut sse).await;
    // The clock of the test does not move: it would wait for ever.
    let runtime = fixture.server.server.runtime().clone();
    let ended = tokio::time::timeout(PATIENCE, runtime.shutdown(Duration::from_secs(25))).await;
    assert!(ended.is_ok(), "the question is waited for");
    read.extend(sse.rest().await);
    chat.take(read);
    assert!(output(&chat, "fake_ask").to_string().contains("cancel"), "{}", output(&chat, "fake_ask"));
    assert_eq!(chat.text(), "done");
}

#[tokio::test]
async fn a_stopped_turn_stops_the_call_at_its_server() {
    let fixture = fixture("fake_slow").await;
    let mut chat = fixture.server.chat();
    let mut sse = chat.say("go").await;
    fixture.told("call slow").await;
    let stopped = fixture.server.post(&format!("/api/chat/{}/stop", chat.id), &json!({})).await;
    assert_eq!(stopped.0, 200, "{stopped:?}");
    sse.rest().await;
    fixture.told("cancelled the call was stopped").await;
}

#[tokio::test]
async fn the_inbox_says_what_the_server_says_of_its_tool() {
    let fixture = fixture("fake_wipe").await;
    fixture.server.chat().ask("go").await;
    let waiting = fixture.server.approvals().await;
    let reason = waiting[0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("marks this tool as destructive"), "{reason}");
}

/// The approvers of a tool of an MCP server are those of its settings: the hold is theirs, and nobody else's.
#[tokio::test]
async fn a_servers_tool_has_the_approvers_of_the_settings() {
    let text = format!(
        "[[mcp]]\nname = 'fake'\ncommand = ['node', '{}']\napproval = 'never'\n[tools.fake_echo]\ntitle = 'Repeat'\n\
         approval = {{ when = '/text', equals = 'pay' }}\ndecisions = ['approve', 'deny']\napprovers = {{ by = ['group:finance'] }}",
        script().display()
    );
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let config = holdpoint_cli::config::Config::load(Some(file.path()), [], &[]).expect("good");
    let settings = config.mcp_settings(&ToolSet::default(), &|_| None).expect("good");
    let settings = settings.into_iter().map(|settings| McpSettings { start_wait: PATIENCE, ..settings });
    let mcp = McpServers::start(settings).await.expect("starts");
    let spec = &mcp.with(&ToolSet::default()).get("fake_echo").expect("it is there").spec.clone();
    assert_eq!((spec.title.as_deref(), spec.approvers.by.len()), (Some("Repeat"), 1));
    let call = json!({"toolCall": {"name": "fake_echo", "input": {"text": "pay"}}});
    let mut setup = Setup::script(&json!({"turns": [{"steps": [[call], [{"text": ["done"]}]]}]}));
    setup.builder = setup.builder.tools(mcp.with(&ToolSet::default()));
    let server = setup.start().await;
    let mut chat = server.chat();
    chat.ask("go").await;
    let approval = chat.approval(0);
    let decided = server.post(&format!("/api/approvals/{approval}"), &json!({"approved": true})).await;
    assert_eq!(decided.0, 403, "whoever asked is not in the group: {decided:?}");
}

/// A call that was approved after its tool went away has an end, and the turn goes on.
#[tokio::test]
async fn a_call_approved_after_its_tool_went_away_ends() {
    let fixture = fixture("fake_wipe").await;
    let mut chat = fixture.server.chat();
    chat.ask("go").await;
    fixture.server.server.runtime().set_tools(ToolSet::default());
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[support::Answer::Approve(&approval)]).await;
    chat.read(&mut sse).await;
    assert!(output(&chat, "fake_wipe").to_string().contains("is not there any more"), "{}", output(&chat, "fake_wipe"));
    assert_eq!(chat.text(), "done");
}

/// A server whose MCP server has not listed its tools yet when the approval comes, since it fails to start a few times.
async fn approved_after_restart(timeout: Duration, fails: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let told = folder.path().join("told");
    let servers = async |fails: &str| {
        let command = vec!["node".to_owned(), script().display().to_string()];
        let env = [("FAKE_LOG", told.display().to_string()), ("FAKE_FAILS", fails.to_owned())];
        let env = env.map(|(name, value)| (name.to_owned(), Secret::new(value))).to_vec();
        let settings = McpSettings::new("fake", McpTransport::Command { command, env });
        McpServers::start([McpSettings { timeout, start_wait: PATIENCE, ..settings }]).await.expect("starts")
    };
    let start = async |mcp: &McpServers| {
        let call = json!({"toolCall": {"name": "fake_echo", "input": {"text": "approved"}}});
        let mut setup = Setup::script(&json!({"turns": [{"steps": [[call], [{"text": ["done"]}]]}]}));
        setup.builder = setup.builder.tools(mcp.with(&ToolSet::default()));
        let log = holdpoint_runtime::log::SqliteLog::open(&folder.path().join("data")).expect("a log");
        setup.log(std::sync::Arc::new(log)).start().await
    };
    let mcp = servers("0").await;
    let server = start(&mcp).await;
    let mut chat = server.chat();
    chat.ask("go").await;
    let (id, approval) = (chat.id.clone(), chat.approval(0));
    server.kill().await;
    drop(mcp);

    let mut mcp = servers(fails).await;
    assert!(!mcp.iter().any(|server| server.is_listed()), "it is not there yet");
    let server = start(&mcp).await;
    let runtime = server.server.runtime().clone();
    let following = tokio::spawn(async move {
        loop {
            mcp.changed().await;
            runtime.set_tools(mcp.with(&ToolSet::default()));
        }
    });
    let decided = server.post(&format!("/api/approvals/{approval}"), &json!({"approved": true})).await;
    assert_eq!(decided.0, 200, "the decision waits for nothing: {decided:?}");
    let settled = async {
        loop {
            let (_, messages) = server.get(&format!("/api/chat/{id}/messages")).await;
            let parts = messages[1]["parts"].as_array().cloned().unwrap_or_default();
            let call = parts.iter().find(|part| part["type"] == "tool-fake_echo").cloned();
            // A message that is being written is not in the history yet.
            if let Some(call) = call.filter(|call| !call["output"].is_null() || !call["errorText"].is_null()) {
                return call;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let call = tokio::time::timeout(PATIENCE, settled).await.expect("the call has an outcome");
    following.abort();
    (call, std::fs::read_to_string(&told).expect("a log"))
}

/// An approval is not used up because a server is slower to come back than the person was to answer.
#[tokio::test]
async fn an_approved_call_waits_for_its_tool_to_be_listed() {
    let (call, told) = approved_after_restart(Duration::from_secs(15), "3").await;
    assert_eq!(call["output"], "approved", "{call}");
    assert_eq!(told.lines().filter(|line| *line == "call echo").count(), 1, "{told}");
}

#[tokio::test]
async fn an_approved_call_waits_a_limited_time_for_its_tool() {
    let (call, told) = approved_after_restart(Duration::from_secs(1), "1000").await;
    let text = call["errorText"].as_str().expect("an error");
    assert!(text.contains("not run"), "{call}");
    assert!(!told.contains("call echo"), "{told}");
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program that ignores the end of its input, behind a shell, ends with the binary: in order, at a second signal, and when it is killed.
#[test]
fn mcp_programs_end_with_the_binary() {
    for signals in [["TERM"].as_slice(), &["TERM", "TERM"], &["KILL"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let config = format!(
            "[[mcp]]\nname = 'fake'\ncommand = ['sh', '-c', 'node \"$0\"; true', '{}']\nenv = {{ FAKE_STAYS = '1', FAKE_LOG = '{}' }}",
            script().display(),
            log.display()
        );
        std::fs::write(folder.path().join("config.toml"), config).expect("written");
        let path = folder.path().join("config.toml").display().to_string();
        let mut server = support::process::start(&["--ephemeral", "--config", &path]);
        let told = std::fs::read_to_string(&log).expect("a log");
        let pid = told.lines().find_map(|line| line.strip_prefix("pid ")).expect("it runs").to_owned();
        for signal in signals {
            let signal = format!("-{signal}");
            let kill =
                Command::new("kill").args([&signal, &server.child.id().to_string()]).status().expect("kill runs");
            assert!(kill.success());
            std::thread::sleep(Duration::from_millis(100));
        }
        server.child.wait().expect("ends");
        let begun = std::time::Instant::now();
        let runs = || {
            let output = Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().expect("ps runs");
            let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            !state.is_empty() && !state.starts_with('Z')
        };
        while runs() {
            assert!(begun.elapsed() < Duration::from_secs(5), "{signals:?}: the program is still running");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// An operator finds in the log why a program ended, at the default level, and no secret.
#[test]
fn the_log_says_why_a_program_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "[[mcp]]\nname = 'broken'\nenv = { SECRET = 'hunter22' }\n\
                  command = ['sh', '-c', 'read -r _; echo starting >&2; echo \"no database at $SECRET\" >&2; exit 3']\n";
    std::fs::write(folder.path().join("config.toml"), config).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["--listen", "127.0.0.1:0", "--ephemeral", "--config", "config.toml"]).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("starts"));
    let mut line = String::new();
    BufReader::new(running.0.stderr.take().expect("stderr")).read_line(&mut line).expect("a line");
    assert!(
        line.contains("broken") && line.contains("starting | no database at ••• | (it ended: exit status: 3)"),
        "{line}"
    );
    assert!(!line.contains("hunter22"), "{line}");
}

#[tokio::test]
async fn the_binary_keeps_its_servers_and_their_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let step = |tool: &str| json!([[{"toolCall": {"name": tool, "input": {}}}], [{"text": ["done"]}]]);
    let turns = json!({"turns": [
        {"when": "leak", "steps": step("fake_leak")},
        {"when": "more", "steps": step("fake_more")},
    ]});
    std::fs::write(folder.path().join("script.json"), turns.to_string()).expect("written");
    let config = format!(
        "[[mcp]]\nname = 'fake'\ncommand = ['node', '{}']\napproval = 'never'\nenv = {{ TOKEN = '${{FAKE_TOKEN}}', FAKE_LOG = '{}' }}\n\
         [[mcp]]\nname = 'away'\nurl = 'http://127.0.0.1:1/mcp?apiKey=hunter22-of-the-url'",
        script().display(),
        log.display()
    );
    std::fs::write(folder.path().join("config.toml"), config).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args([
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--model",
        "script:script.json",
        "--config",
        "config.toml",
    ]);
    command.current_dir(folder.path()).env("FAKE_TOKEN", "hunter22").env("HOLDPOINT_LOG", "trace");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("starts"));
    let mut errors = running.0.stderr.take().expect("stderr");
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let base = format!("http://{}", line.trim().rsplit_once("http://").expect("an address").1);
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let tools = || async {
        http.get(format!("{base}/api/tools")).send().await.expect("an answer").text().await.expect("a body")
    };
    let say = |text: &'static str| {
        let body = json!({"messages": [{"role": "user", "content": text}]});
        let sent = http.post(format!("{base}/stream")).json(&body).send();
        async move { sent.await.expect("an answer").text().await.expect("a body") }
    };
    let listed = tools().await;
    assert!(listed.contains("fake_echo") && !listed.contains("fake_extra") && !listed.contains("hunter22"), "{listed}");
    let leaked = say("leak").await;
    assert!(leaked.contains("the token ••• is wrong"), "{leaked}");
    say("more").await;
    let changed = async { while !tools().await.contains("fake_extra") {} };
    tokio::time::timeout(PATIENCE, changed).await.expect("the new tool is offered");

    let kill = Command::new("kill").arg(running.0.id().to_string()).status().expect("kill runs");
    assert!(kill.success());
    assert_eq!(running.0.wait().expect("ends").code(), Some(0));
    let told = std::fs::read_to_string(&log).expect("a log");
    assert!(told.lines().any(|line| line == "end"), "the program is ended too: {told}");
    let errors = errors.join().expect("no panic").expect("text");
    assert!(errors.contains("the token is •••"), "a program's own log goes into ours");
    assert!(errors.contains("http://127.0.0.1:1/mcp?•••"), "an operator finds the address: {errors}");
    assert!(!errors.contains("hunter22"), "no secret is logged");
}
