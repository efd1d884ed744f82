//! The binary's own log: structured, with ids, and without contents, keys or colours.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

const SECRET: &str = "hunter2-the-secret";
const KEY: &str = "key-that-nobody-should-see";

/// Runs a server with these variables, plays a turn with a payment on it, and gives its log.
fn play(variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["--listen", "127.0.0.1:0", "--ephemeral"]).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("HOLDPOINT_LOG").env_remove("HOLDPOINT_LOG_FORMAT").envs(variables.iter().copied());
    let mut child = command.spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
    let mut stderr = child.stderr.take().expect("stderr");
    let reading = std::thread::spawn(move || {
        let mut log = String::new();
        stderr.read_to_string(&mut log).expect("text");
        log
    });
    let text = format!("send 50 dollars to {SECRET}");
    let body =
        format!(r#"{{"id":"chat\"-1","messages":[{{"role":"user","parts":[{{"type":"text","text":"{text}"}}]}}]}}"#);
    let length = body.len();
    let request = format!(
        "POST /api/chat HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\nx-request-id: req-1\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut answer = String::new();
    let mut stream = TcpStream::connect(&address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("can be sent");
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("x-request-id: req-1"), "{answer}");
    assert!(answer.contains("tool-approval-request"), "{answer}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("kill runs").success());
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    reading.join().expect("it reads")
}

#[test]
fn json_has_ids_and_no_contents() {
    let log = play(&[("HOLDPOINT_LOG", "trace"), ("HOLDPOINT_LOG_FORMAT", "json")]);
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let find = |message: &str| {
        let found = events.iter().find(|event| event["message"] == message);
        found.unwrap_or_else(|| panic!("no event {message:?} in\n{log}"))
    };
    let taken = find("a request for a chat");
    assert_eq!((&taken["chat"], &taken["span"]["request"]), (&"chat\"-1".into(), &"req-1".into()), "{taken}");
    assert_eq!(taken["span"]["route"], "/api/chat", "{taken}");
    let asked = find("an approval is requested");
    assert_eq!(asked["span"]["chat"], "chat\"-1", "{asked}");
    assert!(asked["call"].is_string() && asked["approval"].is_string(), "{asked}");
    assert_eq!(find("a request was answered")["status"], 200);
    for hidden in [SECRET, KEY, "dollars", "amount"] {
        assert!(!log.contains(hidden), "{hidden} is in the log:\n{log}");
    }
}

#[test]
fn text_is_plain_when_redirected_and_one_line_an_event() {
    let log = play(&[("HOLDPOINT_LOG", "info")]);
    assert!(log.contains("a turn began") && log.contains("req-1"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
    assert!(log.lines().all(|line| line.starts_with("20")), "each line begins with its time:\n{log}");
    assert!(!log.contains(SECRET) && !log.contains(KEY), "{log}");
}

#[test]
fn a_quiet_run_logs_nothing_and_bad_logging_settings_are_refused() {
    assert_eq!(play(&[]), "");
    let config = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(config.path(), "[logging]\nformat = \"xml\"").expect("written");
    let fails = |args: &[&str], variables: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_holdpoint"))
            .args(["--listen", "127.0.0.1:0", "--ephemeral"])
            .args(args)
            .envs(variables.iter().copied())
            .output()
            .expect("runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = fails(&["--config", config.path().to_str().expect("a path")], &[]);
    assert!(text.contains("xml") && text.contains("line 2"), "{text}");
    assert!(fails(&[], &[("HOLDPOINT_LOG", "holdpoint=loud")]).contains("HOLDPOINT_LOG"));
    let text = fails(&[], &[("HOLDPOINT_LOG", "postgres://ann:s3cret@db/log")]);
    assert!(text.contains("--log") && !text.contains("s3cret"), "{text}");
    assert!(fails(&[], &[("HOLDPOINT_LOG_FORMAT", "xml")]).contains("HOLDPOINT_LOG_FORMAT"));
}
