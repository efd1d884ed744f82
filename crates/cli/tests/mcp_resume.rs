//! Calls to MCP servers of protocol 2026-07-28 survive the end of the binary, killed or told to end: their prompts find
//! them again, and nothing is done twice. The MCP server is `tests/mcp/modern.mjs`.

mod support;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use support::{Binary, PATIENCE};

const CHAT: &str = "chat-1";

/// A folder with the settings, the data and what the MCP server was told.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// The model calls this tool. `more` are further settings, `env` goes to the program.
    fn new(tool: &str, more: &str, env: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        let turn = json!({"steps": [[{"toolCall": {"name": tool, "input": {}}}], [{"text": ["done"]}]]});
        let script = place.path("script.json");
        std::fs::write(&script, json!({"turns": [turn]}).to_string()).expect("written");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/modern.mjs");
        let config = format!(
            "[[mcp]]\nname = 'new'\ncommand = ['node', '{}']\n{more}\nenv = {{ FAKE_LOG = '{}'{env} }}\n",
            program.display(),
            place.path("log").display()
        );
        std::fs::write(place.path("config.toml"), config).expect("written");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self) -> Binary {
        let path = |name: &str| self.path(name).display().to_string();
        let (data, config, model) = (path("data"), path("config.toml"), format!("script:{}", path("script.json")));
        Binary::start(&["--data", &data, "--config", &config, "--model", &model])
    }

    fn told(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn count(&self, line: &str) -> usize {
        self.told().lines().filter(|told| *told == line).count()
    }

    fn touch(&self, extension: &str) {
        std::fs::write(self.path(&format!("log.{extension}")), "").expect("written");
    }

    async fn until(&self, line: &str) {
        let told = async {
            while self.count(line) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, told).await.is_ok(), "{line:?} was never told:\n{}", self.told());
    }
}

/// Sends the message that begins the turn. Nobody reads the response.
fn go(binary: &Binary) -> tokio::task::JoinHandle<()> {
    let message = json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]});
    let body = json!({"id": CHAT, "messages": [message], "trigger": "submit-message"});
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let sent = client.post(binary.url("/stream")).json(&body).send();
    tokio::spawn(async move {
        if let Ok(response) = sent.await {
            let _ = response.text().await;
        }
    })
}

/// The open prompts, once there are so many.
async fn prompts(binary: &Binary, count: usize) -> Vec<Value> {
    let open = |text: &str| -> Vec<Value> {
        let holds: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        holds.into_iter().filter(|hold| hold["toolName"] == "ask_user" && hold["state"] == "waiting").collect()
    };
    let path = format!("/api/chat/{CHAT}/holds");
    let (_, text) = binary.until(&path, |status, text| status == 200 && open(text).len() == count).await;
    open(&text)
}

async fn answer(binary: &Binary, prompt: &Value, output: Value) {
    let ack = json!({
        "toolCallId": prompt["toolCallId"], "status": "success", "output": output, "errorText": null,
        "requestedAt": "2025-02-01T12:34:56.789Z",
    });
    let (status, text) = binary.post("/api/tools/ack", &ack).await;
    assert_eq!(status, 200, "{text}");
}

fn accept(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// What the call gave in the end, once the turn is over.
async fn outcome(binary: &Binary, tool: &str) -> String {
    let path = format!("/api/chat/{CHAT}/messages");
    let (_, text) = binary.until(&path, |_, text| text.contains("\"done\"")).await;
    let messages: Value = serde_json::from_str(&text).expect("JSON");
    let parts = messages[1]["parts"].as_array().expect("parts");
    let part = parts.iter().find(|part| part["type"] == format!("tool-{tool}")).expect("the call");
    assert!(!text.contains("requestState"), "no client sees the state: {text}");
    if part["output"].is_null() { part["errorText"].to_string() } else { part["output"].to_string() }
}

fn terminate(binary: Binary) {
    assert!(Command::new("kill").arg(binary.id().to_string()).status().expect("kill runs").success());
    let begun = std::time::Instant::now();
    let mut binary = binary;
    while binary.is_alive() {
        assert!(begun.elapsed() < Duration::from_secs(8), "an open prompt holds up the end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A prompt is answered after the restart, and the tool does its work once.
#[tokio::test]
async fn a_prompt_finds_its_call_after_a_restart() {
    for is_killed in [true, false] {
        let place = Place::new("new_ask", "approval = 'never'", "");
        let binary = place.start();
        go(&binary);
        let asked = prompts(&binary, 1).await;
        if is_killed {
            binary.kill();
        } else {
            terminate(binary);
        }
        let binary = place.start();
        assert_eq!(prompts(&binary, 1).await[0]["toolCallId"], asked[0]["toolCallId"], "it is the same prompt");
        answer(&binary, &asked[0], accept("Ada")).await;
        let output = outcome(&binary, "new_ask").await;
        assert!(output.contains("Ada"), "{output}");
        let told = place.told();
        assert_eq!((place.count("call ask"), place.count("effect ask")), (1, 1), "killed: {is_killed}\n{told}");
        assert!(!told.contains("refused"), "{told}");
    }
}

/// It was killed between the answer and the call that was to be made with it, or during several prompts.
#[tokio::test]
async fn answers_before_the_restart_count() {
    let place = Place::new("new_two", "approval = 'never'", "");
    let binary = place.start();
    go(&binary);
    let asked = prompts(&binary, 2).await;
    let message = |prompt: &Value| prompt["input"]["message"].as_str().unwrap_or_default().to_owned();
    let (first, second) = match message(&asked[0]).as_str() {
        "First?" => (&asked[0], &asked[1]),
        _ => (&asked[1], &asked[0]),
    };
    answer(&binary, first, accept("Ada")).await;
    binary.kill();
    let binary = place.start();
    prompts(&binary, 1).await;
    answer(&binary, second, json!({"action": "decline"})).await;
    let output = outcome(&binary, "new_two").await;
    assert!(output.contains("Ada") && output.contains("decline"), "{output}");
    assert_eq!(place.count("effect two"), 1, "{}", place.told());
}

/// The tool asks three times, with a restart at each.
#[tokio::test]
async fn every_round_of_prompts_survives_a_restart() {
    let place = Place::new("new_again", "approval = 'never'", "");
    let mut binary = place.start();
    go(&binary);
    for round in 1..=3 {
        let asked = prompts(&binary, 1).await;
        assert_eq!(asked[0]["input"]["message"], format!("Question {round}?"));
        binary.kill();
        binary = place.start();
        answer(&binary, &prompts(&binary, 1).await[0], accept("Ada")).await;
    }
    assert!(outcome(&binary, "new_again").await.contains("Ada"));
    assert_eq!(place.count("effect again"), 1, "{}", place.told());
}

/// Once the call was made with the answers, nobody knows what came of it. It is not made again.
#[tokio::test]
async fn a_call_that_was_made_again_is_not_repeated() {
    let place = Place::new("new_ask", "approval = 'never'", ", FAKE_HANGS = '1'");
    let binary = place.start();
    go(&binary);
    answer(&binary, &prompts(&binary, 1).await[0], accept("Ada")).await;
    place.until("effect ask").await;
    binary.kill();
    let binary = place.start();
    let error = outcome(&binary, "new_ask").await;
    assert!(error.contains("interrupted: outcome unknown"), "{error}");
    assert_eq!((place.count("effect ask"), place.count("call ask again")), (1, 1), "{}", place.told());
}

/// The deadline of a prompt passes while nothing runs.
#[tokio::test]
async fn a_prompt_expires_across_a_restart() {
    let place = Place::new("new_ask", "approval = 'never'\napproval_timeout_sec = 2", "");
    let binary = place.start();
    go(&binary);
    prompts(&binary, 1).await;
    binary.kill();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let binary = place.start();
    let output = outcome(&binary, "new_ask").await;
    assert!(output.contains("decline"), "{output}");
}

/// A state that is too large is not saved: the call works, and a restart ends it as any other.
#[tokio::test]
async fn a_call_state_over_the_limit_does_not_survive_a_restart() {
    let place = Place::new("new_large", "approval = 'never'", "");
    let binary = place.start();
    go(&binary);
    prompts(&binary, 1).await;
    binary.kill();
    let binary = place.start();
    let error = outcome(&binary, "new_large").await;
    assert!(error.contains("interrupted: outcome unknown"), "{error}");
    assert_eq!(place.count("call large again"), 0, "{}", place.told());
}

/// A task goes on while nothing runs here, and its result is fetched after the restart.
#[tokio::test]
async fn a_task_is_followed_after_a_restart() {
    for is_killed in [true, false] {
        let place = Place::new("new_task", "approval = 'never'", "");
        let binary = place.start();
        go(&binary);
        // What is polled is saved.
        place.until("get task").await;
        if is_killed {
            binary.kill();
        } else {
            terminate(binary);
        }
        place.touch("finish");
        let binary = place.start();
        let output = outcome(&binary, "new_task").await;
        assert!(output.contains("task done"), "killed: {is_killed}: {output}");
        assert_eq!((place.count("call task"), place.count("cancel task")), (1, 0), "{}", place.told());
    }
}

/// A task that the server has forgotten has an end, which says that nobody knows.
#[tokio::test]
async fn a_task_that_the_server_forgot_has_an_unknown_outcome() {
    let place = Place::new("new_task", "approval = 'never'", "");
    let binary = place.start();
    go(&binary);
    place.until("get task").await;
    binary.kill();
    let told = place.told();
    let task = told.lines().find_map(|line| line.strip_prefix("task ")).expect("a task");
    std::fs::remove_file(place.path(&format!("log.{task}"))).expect("removed");
    let binary = place.start();
    let error = outcome(&binary, "new_task").await;
    assert!(error.contains("does not know its task any more"), "{error}");
}

/// A task asks, the binary is killed, and the answer reaches the task.
#[tokio::test]
async fn a_prompt_of_a_task_finds_it_after_a_restart() {
    let place = Place::new("new_task_ask", "approval = 'never'", "");
    place.touch("finish");
    let binary = place.start();
    go(&binary);
    let asked = prompts(&binary, 1).await;
    binary.kill();
    let binary = place.start();
    answer(&binary, &asked[0], accept("Ada")).await;
    let output = outcome(&binary, "new_task_ask").await;
    assert!(output.contains("Ada"), "{output}");
    assert_eq!(place.told().lines().filter(|line| line.starts_with("update ")).count(), 1, "{}", place.told());
}

/// A stop is told to the server of a task, also after a restart.
#[tokio::test]
async fn a_stopped_turn_cancels_a_task_from_before_the_restart() {
    let place = Place::new("new_task", "approval = 'never'", "");
    let binary = place.start();
    go(&binary);
    place.until("get task").await;
    binary.kill();
    let binary = place.start();
    let (status, text) = binary.post(&format!("/api/chat/{CHAT}/stop"), &json!({})).await;
    assert_eq!(status, 200, "{text}");
    place.until("cancel task").await;
}

/// The call was approved once. It is resumed without another approval, and the record says that it was started once.
#[tokio::test]
async fn an_approved_call_is_resumed_without_another_approval() {
    let place = Place::new("new_ask", "approval = 'always'", "");
    let binary = place.start();
    go(&binary);
    let (_, text) = binary.until("/api/approvals", |_, text| text.contains("approvalId")).await;
    let waiting: Value = serde_json::from_str(&text).expect("JSON");
    let approval = waiting[0]["approvalId"].as_str().expect("an id");
    let (status, text) = binary.post(&format!("/api/approvals/{approval}"), &json!({"approved": true})).await;
    assert_eq!(status, 200, "{text}");
    let asked = prompts(&binary, 1).await;
    binary.kill();
    let binary = place.start();
    answer(&binary, &asked[0], accept("Ada")).await;
    assert!(outcome(&binary, "new_ask").await.contains("Ada"));
    assert_eq!(binary.get_json("/api/approvals").await, json!([]));
    let (_, audit) = binary.get("/api/audit").await;
    let of_tool = |line: &str| line.contains("new_ask") && line.contains("\"started\"");
    assert_eq!(audit.lines().filter(|line| of_tool(line)).count(), 1, "{audit}");
}
