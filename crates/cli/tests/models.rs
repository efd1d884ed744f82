//! The binary with a provider's model: what the command line, the settings and the environment say, and that no key gets out.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    num::NonZeroU32,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use holdpoint_cli::config::{Config, ConfigError, ModelConfig};

const KEY: &str = "Very-Secret-0123456789";
const PROVIDERS: [(&str, &str); 4] = [
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
    ("ollama", "OLLAMA_API_KEY"),
];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    // Only what the test says: a key of whoever runs it must not change what is seen.
    for (_, variable) in PROVIDERS {
        command.env_remove(variable);
    }
    for variable in ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    command.args(["--listen", "127.0.0.1:0", "--ephemeral"]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn refused(args: &[&str]) -> String {
    let output = command(args).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A provider that gives everybody the same answer, and tells what it was asked.
fn provider(answer: String) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (tell, asked) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((mut connection, _)) = listener.accept() {
            let Some(request) = read_request(&mut connection) else { continue };
            let _ = connection.write_all(answer.as_bytes());
            if tell.send(request).is_err() {
                return;
            }
        }
    });
    (url, asked)
}

fn read_request(connection: &mut TcpStream) -> Option<String> {
    connection.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 65536];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match connection.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

fn answer(status: &str, content_type: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close");
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

struct Running {
    child: Child,
    address: String,
    /// Read from the beginning: a log that nobody reads stops the server once the pipe is full.
    log: thread::JoinHandle<String>,
}

fn start(mut command: Command) -> Running {
    let mut child = command.spawn().expect("starts");
    let stderr = child.stderr.take().expect("stderr");
    let log = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = BufReader::new(stderr).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
    Running { child, address, log }
}

impl Running {
    /// What a client gets for a message.
    fn say(&self, text: &str) -> String {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let length = body.len();
        let head = format!("POST /stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).expect("can be sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Ends the server; gives its log.
    fn log(mut self) -> String {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(kill.success());
        self.child.wait().expect("ends");
        self.log.join().expect("the log")
    }
}

#[test]
fn a_missing_key_is_refused_at_the_start() {
    for (prefix, variable) in &PROVIDERS[..3] {
        let text = refused(&["--model", &format!("{prefix}:some-model")]);
        assert!(text.contains(variable) && text.contains(&format!("{prefix}:some-model")), "{text}");
        let text = refused(&["--model", &format!("{prefix}:")]);
        assert!(text.contains(&format!("{prefix}:MODEL")), "{text}");
    }
    let text = refused(&["--model", "parrot:grey"]);
    assert!(text.contains("parrot:grey") && text.contains("anthropic:MODEL"), "{text}");
    let text = refused(&["--model", "ollama:llama3.2", "--base-url", "gopher://x"]);
    assert!(text.contains("--base-url") && text.contains("http://"), "{text}");
}

#[test]
fn a_model_answers_with_what_the_settings_say() {
    let chunk = |delta: &str, finish: &str| {
        format!(
            r#"data: {{"id":"1","object":"chat.completion.chunk","model":"m-1","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
        )
    };
    let body = [chunk(r#"{"content":"Good morning"}"#, "null"), chunk("{}", r#""stop""#), "data: [DONE]".to_owned()];
    let (url, asked) = provider(answer("200 OK", "text/event-stream", &format!("{}\n\n", body.join("\n\n"))));
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("holdpoint.toml");
    let text = format!(
        "[model]\nuse = \"openai:from-the-file\"\nbase_url = \"{url}/v1\"\nsystem = \"Be kind.\"\ntemperature = 0.5\nmax_tokens = 7\nreasoning_effort = \"low\"\n[model.options]\nx_own = {{ a = 1 }}\n[model.headers]\nx-team = \"${{TEAM}}\"\n"
    );
    std::fs::write(&config, text).expect("can be written");
    let mut with = command(&["--config", config.to_str().expect("a path")]);
    with.env("OPENAI_API_KEY", KEY).env("TEAM", "red team").env("HOLDPOINT_MODEL__MAX_TOKENS", "99");
    let server = start(with);
    let shown = server.say("Hello");
    assert!(shown.contains("Good morning") && shown.contains("[DONE]") && shown.contains("m-1"), "{shown}");
    let request = asked.recv_timeout(Duration::from_secs(5)).expect("was asked");
    for expected in [
        "/v1/chat/completions",
        KEY,
        "from-the-file",
        "Be kind.",
        "0.5",
        "99",
        r#""reasoning_effort":"low""#,
        r#""x_own":{"a":1}"#,
        "x-team: red team",
    ] {
        assert!(request.contains(expected), "{expected} in {request}");
    }
    assert!(!request.contains("get_weather"), "no demo tool: {request}");
    assert!(!server.log().contains(KEY));

    // The command line goes before the file.
    let mut with = command(&["--config", config.to_str().expect("a path"), "--model", "openai:from-the-line"]);
    let server = start({
        with.env("OPENAI_API_KEY", KEY).env("TEAM", "blue").env("HOLDPOINT_DEMO_TOOLS", "true");
        with.env("HOLDPOINT_MODEL__API", "responses");
        with
    });
    server.say("Hello");
    let request = asked.recv_timeout(Duration::from_secs(5)).expect("was asked");
    assert!(request.contains("from-the-line") && request.contains("get_weather"), "{request}");
    assert!(request.contains("/v1/responses") && request.contains(r#""store":false"#), "{request}");
    drop(server.log());
}

/// The first one is not there; the second answers, and the settings of the first provider are not for it.
#[test]
fn another_model_answers_if_the_first_one_cannot() {
    let lines = [
        r#"{"model":"m-2","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Good evening"},"done":false}"#,
        r#"{"model":"m-2","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#,
    ];
    let (url, asked) = provider(answer("200 OK", "application/x-ndjson", &format!("{}\n", lines.join("\n"))));
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("holdpoint.toml");
    let text = "[model]\nuse = \"openai:one\"\nfallback = [\"ollama:two\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n[model.options]\nx_own = 1\n";
    std::fs::write(&config, text).expect("can be written");
    let mut with = command(&["--config", config.to_str().expect("a path")]);
    with.env("OLLAMA_HOST", &url);
    let server = start(with);
    let shown = server.say("Hello");
    assert!(shown.contains("Good evening") && shown.contains("data-holdpoint-retry"), "{shown}");
    assert!(shown.contains("Asking another model.") && !shown.contains("127.0.0.1"), "{shown}");
    let request = asked.recv_timeout(Duration::from_secs(5)).expect("was asked");
    assert!(request.contains("/api/chat") && !request.contains("x_own"), "{request}");
    drop(server.log());

    std::fs::write(&config, "[model]\nuse = \"ollama:one\"\nfallback = [\"anthropic:two\"]\n").expect("written");
    let text = refused(&["--config", config.to_str().expect("a path")]);
    assert!(text.contains("anthropic:two") && text.contains("ANTHROPIC_API_KEY"), "{text}");
}

#[test]
fn no_key_appears_in_output_at_any_log_level() {
    for (prefix, variable) in PROVIDERS {
        let body = format!(r#"{{"error":{{"message":"the key {KEY} is wrong","type":"authentication_error"}}}}"#);
        let (url, asked) = provider(answer("401 Unauthorized", "application/json", &body));
        let mut with = command(&["--model", &format!("{prefix}:m"), "--base-url", &url]);
        with.env(variable, KEY).env("HOLDPOINT_LOG", "trace");
        let server = start(with);
        let shown = server.say("Hello");
        assert!(asked.recv_timeout(Duration::from_secs(5)).expect("was asked").contains(KEY));
        assert!(shown.contains(variable) && shown.contains("[DONE]"), "{shown}");
        assert!(!shown.contains(KEY), "{shown}");
        let log = server.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(KEY)).collect();
        assert!(lines.is_empty(), "{prefix}: {lines:#?}");
        assert!(log.contains("is wrong"), "{prefix}: the log says what the provider said: {log}");
    }
}

fn settings(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("it can be written");
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(Some(file.path()), environment, &[])
}

#[test]
fn a_model_can_be_set_up_in_the_file_and_in_the_environment() {
    let config = settings(
        "[model]\nuse = \"openai:m\"\nbase_url = \"http://localhost:8000/v1\"\nsystem = \"Be kind.\"\ntemperature = 1\nmax_steps = 5",
        &[
            ("HOLDPOINT_MODEL__USE", "ollama:qwen3:8b"),
            ("HOLDPOINT_MODEL__MAX_TOKENS", "700"),
            ("HOLDPOINT_MODEL__SYSTEM", "42"),
        ],
    )
    .expect("valid");
    let expected = ModelConfig {
        use_model: Some("ollama:qwen3:8b".to_owned()),
        base_url: Some("http://localhost:8000/v1".to_owned()),
        system: Some("42".to_owned()),
        temperature: Some(1.0),
        max_tokens: NonZeroU32::new(700),
        max_steps: NonZeroU32::new(5),
        ..ModelConfig::default()
    };
    assert_eq!(config.model, expected);
    let error = settings("[model]\nsystm = \"x\"", &[]).expect_err("unknown").to_string();
    assert!(error.contains("systm"), "{error}");
}

/// `config check` and the start say the same.
fn refused_twice(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("holdpoint.toml");
    std::fs::write(&config, text).expect("written");
    let config = config.to_str().expect("a path");
    let mut check = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    check.args(["config", "check", "--config", config]).stdin(Stdio::null());
    check.envs(PROVIDERS.map(|(_, variable)| (variable, KEY)));
    let check = check.output().expect("runs");
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(check.status.code(), Some(1), "{text}: {said}");
    let mut start = command(&["--config", config]);
    start.envs(PROVIDERS.map(|(_, variable)| (variable, KEY)));
    let start = start.output().expect("runs");
    assert_eq!(start.status.code(), Some(2), "{text}");
    assert_eq!(String::from_utf8_lossy(&start.stderr), said, "{text}");
    said
}

/// What would fail every message is said before the first one.
#[test]
fn settings_that_the_model_does_not_take_are_refused() {
    for (text, parts) in [
        (
            "use = 'gemini:gemini-3-pro-preview'\nreasoning_effort = 'minimal'",
            ["model.reasoning_effort is minimal", "It takes: low, high"],
        ),
        ("use = 'ollama:qwen3'\nreasoning_effort = 'xhigh'", ["ollama:qwen3", "none, low, medium, high, max"]),
        (
            "use = 'anthropic:claude-haiku-4-5'\nreasoning_effort = 'low'\ntemperature = 0.3",
            ["model.temperature", "model.reasoning_effort"],
        ),
        ("use = 'openai:m'\n[model.options]\nmessages = []", ["model.options.messages", "Remove it"]),
        ("use = 'gemini:m'\n[model.options]\ncontents = []", ["model.options.contents", "Remove it"]),
        ("use = 'openai:m'\n[model.options]\nstream = false", ["model.options.stream", "Remove it"]),
        ("use = 'ollama:m'\nfallback = ['demo']", ["model.fallback", "demo can't"]),
        ("use = 'ollama:m'\nfallback = ['parrot:x']", ["model.fallback", "ollama:MODEL"]),
        ("use = 'openai:m'\nprompt_caching = false", ["model.prompt_caching", "Anthropic"]),
    ] {
        let said = refused_twice(&format!("[model]\n{text}\n"));
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
    }
}

/// A setting that does nothing is not what somebody wanted.
#[test]
fn settings_of_real_models_are_refused_for_a_script() {
    for (name, value) in [
        ("fallback", "['ollama:m']"),
        ("base_url", "'http://127.0.0.1:9'"),
        ("system", "'Be kind.'"),
        ("temperature", "0.5"),
        ("max_tokens", "100"),
        ("api", "'chat'"),
        ("reasoning_effort", "'low'"),
        ("prompt_caching", "false"),
        ("options", "{ x = 1 }"),
        ("headers", "{ x = 'y' }"),
        ("first_byte_timeout_sec", "1"),
        ("idle_timeout_sec", "1"),
        ("timeout_sec", "1"),
    ] {
        for (r#use, model) in [("use = 'demo'\n", "demo"), ("", "demo"), ("use = 'script:x.json'\n", "script:x.json")] {
            let said = refused_twice(&format!("[model]\n{use}{name} = {value}\n"));
            assert!(said.contains(&format!("model.{name}")) && said.contains(model), "{name}: {said}");
        }
    }
}

/// A model of the command line plays with the settings of another one: they are not for it.
#[test]
fn the_demo_can_be_tried_with_the_settings_of_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("holdpoint.toml");
    let text = "[model]\nuse = 'anthropic:claude-haiku-4-5'\nsystem = 'Be kind.'\nreasoning_effort = 'low'\nprompt_caching = false\nfallback = ['ollama:m']\n";
    std::fs::write(&config, text).expect("written");
    let config = config.to_str().expect("a path");
    let server = start(command(&["--config", config, "--model", "demo"]));
    assert!(server.say("Hello").contains("[DONE]"));
    drop(server.log());
    let text = refused(&["--config", config, "--model", "demo", "--base-url", "http://127.0.0.1:9"]);
    assert!(text.contains("--base-url") && text.contains("demo"), "{text}");
}

/// The example of docs/guides/openai.md: the fallbacks have no effort, and answer.
#[test]
fn fallbacks_do_without_an_effort_that_they_do_not_have() {
    let lines = [
        r#"{"model":"m-2","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Good evening"},"done":false}"#,
        r#"{"model":"m-2","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}"#,
    ];
    let (url, asked) = provider(answer("200 OK", "application/x-ndjson", &format!("{}\n", lines.join("\n"))));
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("holdpoint.toml");
    let text = "[model]\nuse = \"openai:gpt-5.4-mini\"\nreasoning_effort = \"low\"\nfallback = [\"openai:gpt-4.1-mini\", \"ollama:llama3.2\"]\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    std::fs::write(&config, text).expect("can be written");
    let mut with = command(&["--config", config.to_str().expect("a path")]);
    with.env("OLLAMA_HOST", &url).env("OPENAI_API_KEY", KEY);
    let server = start(with);
    let shown = server.say("Hello");
    assert!(shown.contains("Good evening"), "{shown}");
    let request = asked.recv_timeout(Duration::from_secs(5)).expect("was asked");
    assert!(request.contains("llama3.2") && !request.contains("\"think\""), "{request}");
    let log = server.log();
    assert!(!log.contains("UnsupportedOption") && !log.contains("reasoning"), "{log}");
}
