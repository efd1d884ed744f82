//! Tools of MCP servers that speak protocol 2026-07-28: a strict one of our own (`tests/mcp/modern.mjs`), over stdio and
//! over HTTP. What survives a restart of Holdpoint is tested in `crates/cli/tests/mcp_resume.rs`.
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
        ApprovalPolicy, Prompt, PromptResponse, Prompter, Secret, Tool, ToolContext, ToolError,
        mcp::{McpServer, McpSettings, McpTransport, SecretUrl},
    },
};
use serde_json::{Value, json};

/// Longer than anything here takes, shorter than anybody waits.
const PATIENCE: Duration = Duration::from_secs(60);

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp").join(name).display().to_string()
}

/// A server, and the folder with what it was told.
struct Fake {
    folder: tempfile::TempDir,
    /// Over HTTP, the program runs by itself.
    program: Mutex<Option<Child>>,
}

impl Fake {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), program: Mutex::default() }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn count(&self, line: &str) -> usize {
        self.read().lines().filter(|told| *told == line).count()
    }

    /// A file beside the log, by which the server is told what to do.
    fn touch(&self, extension: &str) {
        std::fs::write(self.folder.path().join(format!("log.{extension}")), "").expect("written");
    }

    fn stdio(&self, script_name: &str, env: &[(&str, &str)]) -> McpSettings {
        let mut all = vec![("FAKE_LOG".to_owned(), Secret::new(self.log().display().to_string()))];
        all.extend(env.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))));
        let command = vec!["node".to_owned(), script(script_name)];
        settings(McpTransport::Command { command, env: all })
    }

    /// Starts the program on a port.
    async fn serve(&self, port: u16) {
        let before = self.count("listening");
        let mut command = Command::new("node");
        command.arg(script("modern.mjs")).env("FAKE_LOG", self.log()).env("PORT", port.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("starts");
        *self.program.lock().expect("no panic") = Some(child);
        self.until(|| self.count("listening") > before, "it listens").await;
    }

    fn kill(&self) {
        if let Some(mut child) = self.program.lock().expect("no panic").take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    async fn until(&self, is_so: impl Fn() -> bool, what: &str) {
        let waited = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, waited).await.is_ok(), "not so: {what}\n{}", self.read());
    }

    async fn told(&self, line: &str) {
        self.until(|| self.count(line) > 0, line).await;
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.kill();
    }
}

fn settings(transport: McpTransport) -> McpSettings {
    let settings = McpSettings::new("new", transport);
    McpSettings { start_wait: PATIENCE, approval: ApprovalPolicy::Never, ..settings }
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address").port()
}

fn http(port: u16) -> McpSettings {
    let url = SecretUrl::new(format!("http://127.0.0.1:{port}/mcp"));
    settings(McpTransport::Http { url, headers: Vec::new() })
}

async fn start(settings: McpSettings) -> McpServer {
    let server = McpServer::start(settings).await.expect("starts");
    assert_eq!(server.problem(), None);
    server
}

fn tool(server: &McpServer, name: &str) -> Tool {
    let tools = server.tools();
    tools.iter().find(|tool| tool.spec.name == name).unwrap_or_else(|| panic!("{name} is not there")).clone()
}

fn context(ask: Option<Prompter>) -> ToolContext {
    let mut context = ToolContext::new("chat", Subject::local(), "call");
    context.prompter = ask;
    context
}

/// Answers every prompt, and notes it.
fn answering(answer: PromptResponse) -> (Prompter, Arc<Mutex<Vec<Prompt>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    let ask: Prompter = Arc::new(move |prompt| {
        notes.lock().expect("no panic").push(prompt);
        futures::future::ready(answer.clone()).boxed()
    });
    (ask, asked)
}

fn ada() -> PromptResponse {
    PromptResponse::Accepted(json!({"name": "Ada"}))
}

async fn run(tool: &Tool, context: ToolContext) -> Result<Value, ToolError> {
    let running = (tool.handler.as_ref().expect("a handler"))(json!({}), context);
    tokio::time::timeout(PATIENCE, running).await.expect("an end")
}

async fn call(server: &McpServer, name: &str, answer: PromptResponse) -> Result<Value, ToolError> {
    run(&tool(server, name), context(Some(answering(answer).0))).await
}

/// What any server of the protocol has to do, over any transport.
async fn works(fake: &Fake, server: &mut McpServer) {
    assert_eq!(call(server, "new_effect", ada()).await, Ok(json!("effect done")));

    let (ask, asked) = answering(ada());
    let output = run(&tool(server, "new_ask"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("accept") && output.contains("Ada"), "{output}");
    let prompt = asked.lock().expect("no panic").pop().expect("a prompt");
    assert_eq!((prompt.message.as_str(), &prompt.schema["required"]), ("Who are you?", &json!(["name"])));

    // The clock of the specification: a task is polled until it has ended.
    let running = tokio::spawn({
        let (task, shown) = (tool(server, "new_task"), Arc::new(Mutex::new(Vec::new())));
        let reported = Arc::clone(&shown);
        let context =
            context(None).with_reporter(Arc::new(move |progress| reported.lock().expect("no panic").push(progress)));
        async move { (run(&task, context).await, std::mem::take(&mut *shown.lock().expect("no panic"))) }
    });
    fake.told("call task").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!running.is_finished(), "the task is not done");
    fake.touch("finish");
    let (output, shown) = running.await.expect("no panic");
    assert_eq!(output, Ok(json!("task done null")));
    assert_eq!(shown, [json!({"message": "half way"})], "once, although it was polled more often");

    fake.told("listen").await;
    assert!(!server.tools().iter().any(|tool| tool.spec.name == "new_extra"));
    fake.touch("extra");
    let changed = async {
        while !server.tools().iter().any(|tool| tool.spec.name == "new_extra") {
            server.changed().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, changed).await.is_ok(), "the new tool is never listed\n{}", fake.read());
    assert_eq!(fake.count("listen"), 1, "one subscription is enough\n{}", fake.read());
    assert!(!fake.read().contains("refused"), "the server has nothing to refuse:\n{}", fake.read());
}

#[tokio::test]
async fn a_program_of_the_new_protocol() {
    let fake = Fake::new();
    works(&fake, &mut start(fake.stdio("modern.mjs", &[])).await).await;
}

#[tokio::test]
async fn a_url_of_the_new_protocol() {
    let (fake, port) = (Fake::new(), free_port().await);
    fake.serve(port).await;
    works(&fake, &mut start(http(port)).await).await;
}

#[tokio::test]
async fn a_server_that_speaks_both_is_used_by_the_newer_one() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[("FAKE_BOTH", "1")])).await;
    assert_eq!(call(&server, "new_effect", ada()).await, Ok(json!("effect done")));
    assert_eq!(fake.count("initialize"), 0, "{}", fake.read());
}

/// A server that is made with the official SDK.
#[tokio::test]
async fn the_official_sdk() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../node_modules/@modelcontextprotocol/server");
    assert!(package.exists(), "{} is not there: run `cargo xtask setup`", package.display());
    let fake = Fake::new();
    let mut server = start(fake.stdio("sdk.mjs", &[])).await;
    assert_eq!(fake.count("era modern"), 1, "it speaks both: {}", fake.read());
    let output = call(&server, "new_ask", ada()).await.expect("an output").to_string();
    assert!(output.starts_with("\"ask") && output.matches("Ada").count() == 2, "{output}");
    let output = call(&server, "new_ask", PromptResponse::Declined).await.expect("an output").to_string();
    assert_eq!(output.matches("decline").count(), 2, "{output}");
    // The SDK knows what we have not announced.
    let error = call(&server, "new_visit", ada()).await.expect_err("pages to visit are not offered");
    assert!(error.0.contains("refused the call") && error.0.contains("capabilities"), "{}", error.0);
    assert_eq!(fake.count("effect ask"), 2, "{}", fake.read());

    // The process that asked is not the one that gets the answers.
    let log = fake.log();
    let ask: Prompter = Arc::new(move |_| {
        let log = log.clone();
        async move {
            let told = || std::fs::read_to_string(&log).unwrap_or_default();
            let first =
                told().lines().find_map(|line| line.strip_prefix("pid ").map(str::to_owned)).expect("a process");
            // Of the two prompts, the second finds nobody to kill.
            let _ = Command::new("kill").args(["-9", &first]).stderr(Stdio::null()).status();
            while told().lines().filter(|line| *line == "start").count() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            ada()
        }
        .boxed()
    });
    let output = run(&tool(&server, "new_ask"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.starts_with("\"ask") && output.matches("Ada").count() == 2, "{output}");

    assert_eq!(call(&server, "new_more", ada()).await, Ok(json!("there is more now")));
    let changed = async {
        while !server.tools().iter().any(|tool| tool.spec.name == "new_extra") {
            server.changed().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, changed).await.is_ok(), "the new tool is never listed");
}

/// An older server may refuse what it does not know, end, or answer with nonsense. Its tools are there all the same.
#[tokio::test]
async fn an_older_server_is_found_out() {
    for (how, starts) in [("", 1), ("ends", 3), ("nonsense", 3)] {
        let fake = Fake::new();
        let mut server = McpServer::start(fake.stdio("fake.mjs", &[("FAKE_UNKNOWN", how)])).await.expect("starts");
        while !server.is_listed() {
            tokio::time::timeout(PATIENCE, server.changed()).await.expect("its tools are listed");
        }
        let (ask, _) = answering(ada());
        let output = run(&tool(&server, "new_ask"), context(Some(ask))).await.expect("an output").to_string();
        assert!(output.contains("Ada"), "{how}: {output}");
        assert_eq!(fake.count("start"), starts, "{how}: {}", fake.read());
    }
}

#[tokio::test]
async fn answers_reach_the_server_as_they_were_given() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let two = call(&server, "new_two", ada()).await.expect("an output").to_string();
    assert_eq!(two.matches("Ada").count(), 2, "{two}");
    for (answer, action) in [
        (PromptResponse::Declined, "decline"),
        (PromptResponse::Expired, "decline"),
        (PromptResponse::Cancelled, "cancel"),
        (PromptResponse::Accepted(json!({"name": 7})), "decline"),
    ] {
        let output = call(&server, "new_ask", answer).await.expect("an output").to_string();
        assert!(output.contains(action) && !output.contains("content"), "{action}: {output}");
    }
    let rich = PromptResponse::Accepted(json!({"place": {"town": "Bern"}}));
    let output = call(&server, "new_rich", rich).await.expect("an output").to_string();
    assert!(output.contains("Bern"), "a schema beyond those of the protocol: {output}");
    let (ask, asked) = answering(ada());
    let output = run(&tool(&server, "new_again"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("Ada"), "{output}");
    let asked: Vec<String> = asked.lock().expect("no panic").drain(..).map(|prompt| prompt.message).collect();
    assert_eq!(asked, ["Question 1?", "Question 2?", "Question 3?"]);
    let output = call(&server, "new_large", ada()).await.expect("an output").to_string();
    assert!(output.contains("Ada"), "a state that is too large to be saved: {output}");
    assert_eq!(call(&server, "new_busy", ada()).await, Ok(json!("busy done")));
    assert!(!fake.read().contains("refused"), "{}", fake.read());
}

#[tokio::test]
async fn what_a_server_says_about_its_tools_is_read() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[("FAKE_SAYS", "Ask first.")])).await;
    let said = server.instructions().expect("it says something");
    assert_eq!((said.server(), said.text()), ("new", "Ask first."));
    server.stop().await;
}

#[tokio::test]
async fn what_is_not_offered_is_declined_or_an_error() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let (ask, asked) = answering(ada());
    let output = run(&tool(&server, "new_url"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("decline"), "{output}");
    assert!(asked.lock().expect("no panic").is_empty(), "nobody is asked to visit a page");
    let error = call(&server, "new_sample", ada()).await.expect_err("it is not offered");
    assert!(error.0.contains("`sampling/createMessage`"), "{}", error.0);
    assert_eq!(fake.count("call sample again"), 0, "it is not called again");
}

/// The answer goes to the program that was started in place of the one that asked.
#[tokio::test]
async fn a_prompt_outlives_the_program_that_asked() {
    let fake = Arc::new(Fake::new());
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let killer = Arc::clone(&fake);
    let ask: Prompter = Arc::new(move |_| {
        let fake = Arc::clone(&killer);
        async move {
            let log = fake.read();
            let pid = log.lines().find_map(|line| line.strip_prefix("pid ")).expect("a process");
            assert!(Command::new("kill").args(["-9", pid]).status().expect("kill runs").success());
            fake.until(|| fake.count("start") == 2, "it is started again").await;
            ada()
        }
        .boxed()
    });
    let output = run(&tool(&server, "new_ask"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("Ada"), "{output}");
    assert_eq!((fake.count("call ask"), fake.count("effect ask")), (1, 1), "{}", fake.read());
}

/// There is no session to lose: a server behind a URL that was restarted is used as before.
#[tokio::test]
async fn a_restart_behind_a_url_goes_unnoticed() {
    let (fake, port) = (Fake::new(), free_port().await);
    fake.serve(port).await;
    let mut server = start(http(port)).await;
    fake.told("listen").await;
    fake.kill();
    fake.serve(port).await;
    assert_eq!(call(&server, "new_effect", ada()).await, Ok(json!("effect done")));
    fake.until(|| fake.count("listen") == 2, "it is subscribed to again").await;
    fake.touch("extra");
    let changed = async {
        while !server.tools().iter().any(|tool| tool.spec.name == "new_extra") {
            server.changed().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, changed).await.is_ok(), "the new tool is never listed\n{}", fake.read());
}

#[tokio::test]
async fn a_stopped_task_is_cancelled_at_its_server() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let context = context(None);
    let cancellation = context.cancellation.clone();
    let running = tokio::spawn({
        let task = tool(&server, "new_task");
        async move { run(&task, context).await }
    });
    fake.told("call task").await;
    cancellation.cancel();
    let error = running.await.expect("no panic").expect_err("stopped");
    assert!(error.0.contains("stopped"), "{}", error.0);
    fake.told("cancel task").await;
    assert_eq!(fake.read().lines().filter(|line| line.starts_with("cancelled ")).count(), 0, "{}", fake.read());
}

/// A task is its server's, not its program's.
#[tokio::test]
async fn a_task_outlives_the_program_that_made_it() {
    let fake = Fake::new();
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let running = tokio::spawn({
        let task = tool(&server, "new_task");
        async move { run(&task, context(None)).await }
    });
    fake.told("get task").await;
    let log = fake.read();
    let pid = log.lines().find_map(|line| line.strip_prefix("pid ")).expect("a process");
    assert!(Command::new("kill").args(["-9", pid]).status().expect("kill runs").success());
    fake.until(|| fake.count("start") == 2, "it is started again").await;
    fake.touch("finish");
    assert_eq!(running.await.expect("no panic"), Ok(json!("task done null")));
    assert_eq!(fake.count("call task"), 1, "{}", fake.read());
}

#[tokio::test]
async fn a_task_has_the_timeout_of_its_call() {
    let fake = Fake::new();
    let timeout = Duration::from_millis(300);
    let server = start(McpSettings { timeout, ..fake.stdio("modern.mjs", &[]) }).await;
    let error = call(&server, "new_task", ada()).await.expect_err("too slow");
    assert!(error.0.contains("0.3 s") && error.is_outcome_unknown(), "{}", error.0);
    fake.told("cancel task").await;
}

#[tokio::test]
async fn a_task_that_needs_input_asks_once() {
    let fake = Fake::new();
    fake.touch("finish");
    let server = start(fake.stdio("modern.mjs", &[])).await;
    let (ask, asked) = answering(ada());
    // A dot can't be in the name of a tool.
    let output = run(&tool(&server, "new_task_ask"), context(Some(ask))).await.expect("an output").to_string();
    assert!(output.contains("Ada"), "{output}");
    assert_eq!(asked.lock().expect("no panic").len(), 1);
    assert_eq!(fake.read().lines().filter(|line| line.starts_with("update ")).count(), 1, "{}", fake.read());
}

/// A cancelled call is a closed stream over HTTP, and a notification over stdio.
#[tokio::test]
async fn a_slow_call_is_cancelled() {
    let timeout = Duration::from_millis(300);
    let fake = Fake::new();
    let server = start(McpSettings { timeout, ..fake.stdio("modern.mjs", &[]) }).await;
    let error = call(&server, "new_slow", ada()).await.expect_err("too slow");
    assert!(error.0.contains("0.3 s") && error.is_outcome_unknown(), "{}", error.0);
    fake.told("cancelled the call took too long").await;

    let (fake, port) = (Fake::new(), free_port().await);
    fake.serve(port).await;
    let server = start(McpSettings { timeout, ..http(port) }).await;
    call(&server, "new_slow", ada()).await.expect_err("too slow");
    fake.told("closed tools/call").await;
}
