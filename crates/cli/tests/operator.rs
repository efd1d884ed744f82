//! What an operator does with the binary besides serving: export, import, doctor, keys.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(folder, args).output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// A server on a data folder, killed when it is dropped.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(folder: &Path, data: &str) -> Self {
        Self::begin(command(folder, &["--listen", "127.0.0.1:0", "--data", data]))
    }

    fn begin(mut command: Command) -> Self {
        let mut child = command.spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
        Self { child, address }
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let answer = self.answer(method, path, "", body);
        assert!(answer.starts_with("HTTP/1.0 200"), "{method} {path}: {answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    fn answer(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("can be sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.request("GET", path, "")).expect("JSON")
    }

    fn say(&self, chat: &str, text: &str) {
        let message = json!({"id": format!("{chat}-1"), "role": "user", "parts": [{"type": "text", "text": text}]});
        self.request("POST", "/stream", &json!({"id": chat, "messages": [message]}).to_string());
    }

    fn stop(mut self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs").success());
        self.child.wait().expect("ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that a client can see.
fn seen(server: &Running) -> Value {
    let chats = server.json("/api/chats");
    let each = chats.as_array().expect("a list").iter().map(|chat| {
        let id = chat["id"].as_str().expect("an id");
        json!([
            id,
            server.json(&format!("/api/chat/{id}/messages")),
            server.json(&format!("/api/chat/{id}/holds?calls=all"))
        ])
    });
    json!([chats, each.collect::<Vec<_>>(), server.json("/api/approvals")])
}

#[test]
fn what_is_exported_from_a_running_server_is_imported_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(folder.path(), "a");
    server.say("talk", "hello");
    server.say("pay", "send 50 dollars to Hanako");
    server.say("weather", "what is the weather in Tokyo");
    let before = seen(&server);
    assert_eq!(before[2].as_array().map(Vec::len), Some(1), "one waits: {before:#}");
    let (code, lines, said) = run(folder.path(), &["export", "--all", "--data", "a"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 chats"), "{said}");
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    let (code, one, _) = run(folder.path(), &["export", "pay", "--data", "a"]);
    assert_eq!(code, Some(0));
    assert!(lines.contains(&one) && one.lines().count() < lines.lines().count());

    // Not into a folder that is in use.
    std::fs::write(folder.path().join("all.ndjson"), &lines).expect("written");
    let (code, _, said) = run(folder.path(), &["import", "all.ndjson", "--data", "a"]);
    assert!(code == Some(2) && said.contains("in use"), "{said}");
    server.stop();

    let (code, _, said) = run(folder.path(), &["import", "all.ndjson", "--data", "b"]);
    assert!(code == Some(0) && said.contains("3 imported"), "{said}");
    let (code, _, said) = run(folder.path(), &["import", "all.ndjson", "--data", "b"]);
    assert!(code == Some(0) && said.contains("0 imported, 3 already present"), "{said}");
    let (_, again, _) = run(folder.path(), &["export", "--all", "--data", "b"]);
    assert_eq!(again, lines);

    let server = Running::start(folder.path(), "b");
    assert_eq!(seen(&server), before);
    let approval = before[2][0]["approvalId"].as_str().expect("an id");
    let decided = server.request("POST", &format!("/api/approvals/{approval}"), r#"{"approved":true}"#);
    assert_eq!(decided, r#"{"ok":true}"#);
}

#[test]
fn verify_finds_changed_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(folder.path(), "a");
    server.say("talk", "hello");
    server.say("pay", "send 50 dollars to Hanako");
    let (code, found, said) = run(folder.path(), &["verify", "--data", "a"]);
    assert!(code == Some(0) && said.contains("2 chats with") && said.contains(", 0 broken"), "{found}{said}");
    server.stop();
    let (code, found, _) = run(folder.path(), &["verify", "pay", "--data", "a"]);
    assert!(code == Some(0) && found.contains("its last hash is "), "{found}");
    let (code, _, said) = run(folder.path(), &["verify", "other", "--data", "a"]);
    assert!(code == Some(2) && said.contains("no chat \"other\""), "{said}");
    let (code, _, said) = run(folder.path(), &["verify", "--data", "nowhere"]);
    assert!(code == Some(2) && said.contains("nowhere"), "{said}");

    let (code, lines, said) = run(folder.path(), &["log", "pay", "--data", "a"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        lines.contains("process_payment  proposed {\"amount\":50") && lines.contains("asked for approval"),
        "{lines}"
    );
    let (code, lines, _) = run(folder.path(), &["log", "pay", "--json", "--data", "a"]);
    let steps: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(code == Some(0) && steps.len() == 2 && steps[1]["step"] == "asked", "{lines}");
    assert_eq!(run(folder.path(), &["log", "other", "--data", "a"]).0, Some(2));

    let file = folder.path().join("a/holdpoint.db");
    let mut bytes = std::fs::read(&file).expect("read");
    let input = br#""recipient":"Hanako""#;
    let all: Vec<usize> = (0..bytes.len() - input.len()).filter(|at| bytes[*at..].starts_with(input)).collect();
    assert!(!all.is_empty());
    all.into_iter().for_each(|at| bytes[at + input.len() - 2] = b'a');
    std::fs::write(&file, bytes).expect("written");
    let (code, found, said) = run(folder.path(), &["verify", "--data", "a"]);
    assert!(code == Some(1) && said.contains("2 chats with") && said.contains(", 1 broken"), "{found}{said}");
    assert!(found.starts_with("\"pay\": position ") && found.contains("were changed"), "{found}");
}

/// Somebody who can write to the file can also cover their tracks. What was kept elsewhere shows it.
#[test]
fn verify_against_saved_hashes_finds_removals_and_rehashing() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::start(folder.path(), "a");
    server.say("talk", "hello");
    server.say("pay", "send 50 dollars to Hanako");
    server.say("old", "hello");
    let verify = |data: &str, more: &[&str]| run(folder.path(), &[&["verify", "--data", data], more].concat());
    let (code, _, said) = verify("a", &["--save", "kept.ndjson"]);
    assert!(code == Some(0) && said.contains("3 chats"), "{said}");
    let (code, _, said) = verify("a", &["--save", "kept.ndjson"]);
    assert!(code == Some(2) && said.contains("kept.ndjson"), "nothing is overwritten: {said}");
    server.say("pay", "hello");
    assert!(server.answer("DELETE", "/api/chat/old", "", "").starts_with("HTTP/1.0 204"));
    let (code, found, said) = verify("a", &["--against", "kept.ndjson"]);
    assert!(code == Some(0) && said.contains("1 that were saved have been deleted since"), "{found}{said}");
    server.stop();
    for (name, change, is_found) in [
        ("nothing", "", ""),
        (
            "hashes",
            "UPDATE batches SET payload = CAST(replace(CAST(payload AS TEXT), '50', '5') AS BLOB), previous_hash = NULL;
             UPDATE chats SET hash = NULL",
            "\"pay\": position ",
        ),
        ("end", "DELETE FROM batches WHERE first > 0", "\"pay\": position "),
        ("chat", "DELETE FROM batches; DELETE FROM chats", "\"pay\": it is gone"),
    ] {
        let (from, to) = (folder.path().join("a"), folder.path().join(name));
        std::fs::create_dir(&to).expect("a folder");
        std::fs::copy(from.join("holdpoint.db"), to.join("holdpoint.db")).expect("copied");
        let file = rusqlite::Connection::open(to.join("holdpoint.db")).expect("opened");
        file.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        drop(file);
        let (code, found, said) = verify(name, &["--against", "kept.ndjson"]);
        let expected = if is_found.is_empty() { 0 } else { 1 };
        assert!(code == Some(expected) && found.contains(is_found), "{name}: {code:?} {found}{said}");
    }
    std::fs::write(folder.path().join("odd"), "{}\n").expect("written");
    let (code, _, said) = verify("a", &["--against", "odd"]);
    assert!(code == Some(2) && said.contains("line 1"), "{said}");
}

#[test]
fn a_failed_export_or_import_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, said) = run(folder.path(), &["export", "--all", "--data", "nowhere"]);
    assert!(code == Some(2) && said.contains("nowhere"), "{said}");
    assert!(!folder.path().join("nowhere").exists(), "looking makes nothing");
    let server = Running::start(folder.path(), "a");
    server.say("talk", "hello");
    let (code, out, said) = run(folder.path(), &["export", "nobody", "--data", "a"]);
    assert!(code == Some(1) && out.is_empty() && said.contains("no such chat"), "{said}");
    let (code, ..) = run(folder.path(), &["export", "--all", "--data", "a", "--output", "out.ndjson"]);
    assert_eq!(code, Some(0));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder.path().join("out.ndjson")).expect("a file").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "for its owner only");
    let (code, _, said) = run(folder.path(), &["export", "--all", "--data", "a", "--output", "out.ndjson"]);
    assert!(code == Some(2) && said.contains("out.ndjson"), "nothing is overwritten: {said}");

    let whole = std::fs::read_to_string(folder.path().join("out.ndjson")).expect("text");
    let cut: Vec<&str> = whole.lines().take(2).collect();
    std::fs::write(folder.path().join("cut.ndjson"), cut.join("\n")).expect("written");
    let (code, _, said) = run(folder.path(), &["import", "cut.ndjson", "--data", "c"]);
    assert!(code == Some(1) && said.contains("cut.ndjson, line 3") && said.contains("end"), "{said}");
    let (_, out, _) = run(folder.path(), &["export", "--all", "--data", "c"]);
    assert_eq!(out, "", "nothing of it was written");
    // Another chat of the same id.
    let other = Running::start(folder.path(), "d");
    other.say("talk", "good evening");
    other.stop();
    let (code, _, said) = run(folder.path(), &["import", "out.ndjson", "--data", "d"]);
    assert!(code == Some(1) && said.contains("\"talk\"") && said.contains("1 rejected"), "{said}");
}

fn findings(folder: &Path, args: &[&str]) -> (Option<i32>, Value) {
    let args = [&["doctor", "--json"], args].concat();
    let (code, out, said) = run(folder, &args);
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{said}")))
}

fn finding<'a>(findings: &'a Value, check: &str) -> &'a Value {
    let found = findings.as_array().and_then(|all| all.iter().find(|finding| finding["check"] == check));
    found.unwrap_or_else(|| panic!("no check {check} in {findings:#}"))
}

#[test]
fn the_doctor_passes_on_default_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    // Never the default port: somebody may have a server there.
    std::fs::write(folder.path().join("ok.toml"), "listen = \"127.0.0.1:0\"").expect("written");
    let (code, all) = findings(folder.path(), &["--config", "ok.toml"]);
    assert_eq!(code, Some(0), "{all:#}");
    for check in ["settings", "address", "tools", "data", "disk", "model"] {
        assert_ne!(finding(&all, check)["state"], "fail", "{all:#}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "looking makes nothing");

    let server = Running::start(folder.path(), "a");
    server.say("pay", "send 50 dollars to Hanako");
    let (code, all) = findings(folder.path(), &["--config", "ok.toml", "--data", "a"]);
    let text = finding(&all, "data")["text"].as_str().expect("a text");
    assert!(code == Some(0) && text.contains("in use by a holdpoint") && text.contains("1 chats"), "{text}");
}

#[test]
fn the_doctor_reports_each_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("typo.toml"), "lisen = 1").expect("written");
    let (code, all) = findings(folder.path(), &["--config", "typo.toml"]);
    assert!(code == Some(2) && all.as_array().map(Vec::len) == Some(1), "{all:#}");
    assert!(finding(&all, "settings")["text"].as_str().is_some_and(|text| text.contains("lisen")), "{all:#}");

    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    std::fs::write(empty.join("holdpoint.db"), "").expect("written");
    let (code, all) = findings(folder.path(), &["--data", "empty"]);
    let data = finding(&all, "data");
    assert!(code == Some(1) && data["text"].as_str().is_some_and(|text| text.contains("0 bytes")), "{data}");

    std::fs::write(
        folder.path().join("bad.toml"),
        "listen = \"127.0.0.1:0\"\n[[mcp]]\nname = \"broken\"\n\
         command = [\"sh\", \"-c\", \"echo 'cannot open the database: hunter2' >&2; exit 3\"]\nenv = { SECRET = \"hunter2\" }\n\
         [[mcp]]\nname = \"missing\"\ncommand = [\"no-such-program-here\"]\n",
    )
    .expect("written");
    let (code, all) = findings(
        folder.path(),
        &["--config", "bad.toml", "--model", "openai:gpt", "--base-url", "http://127.0.0.1:9/v1"],
    );
    assert_eq!(code, Some(1), "{all:#}");
    let broken = finding(&all, "mcp broken");
    assert_eq!(broken["state"], "fail", "{broken}");
    let lines = broken["lines"].to_string();
    assert!(lines.contains("cannot open the database") && !all.to_string().contains("hunter2"), "{all:#}");
    assert_eq!(finding(&all, "mcp missing")["state"], "fail");
    let model = finding(&all, "model");
    assert!(model["state"] == "fail" && model["text"].as_str().is_some_and(|text| text.contains("address")), "{model}");
    assert_eq!(finding(&all, "data")["state"], "ok", "one failure hides no other check");

    std::fs::create_dir(folder.path().join("junk")).expect("made");
    std::fs::write(folder.path().join("junk/holdpoint.db"), "this is no database at all, and never was")
        .expect("written");
    let (code, all) = findings(folder.path(), &["--config", "bad.toml", "--data", "junk"]);
    assert!(code == Some(1) && finding(&all, "data")["state"] == "fail", "{all:#}");
}

/// A start and the doctor say the same of the key for the server's own secrets.
#[test]
fn another_secrets_key_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = |file: &str, key: &str| {
        let text = format!("listen = \"127.0.0.1:0\"\ndata = \"data\"\n{key}");
        std::fs::write(folder.path().join(file), text).expect("written");
    };
    settings("own.toml", "secrets_key = \"a key of sixteen\"");
    settings("other.toml", "secrets_key = \"another key of s\"");
    settings("none.toml", "");
    settings("short.toml", "secrets_key = \"hunter22\"");
    settings("missing.toml", "secrets_key = { env = \"NO_SUCH_KEY\" }");
    Running::begin(command(folder.path(), &["--config", "own.toml"])).stop();
    let (code, all) = findings(folder.path(), &["--config", "own.toml"]);
    assert_eq!((code, &finding(&all, "data")["state"]), (Some(0), &"ok".into()), "{all:#}");
    for (file, says) in [
        ("other.toml", "`secrets_key` is not the key"),
        ("none.toml", "set `secrets_key`"),
        ("short.toml", "`secrets_key` must have at least 16 characters"),
        ("missing.toml", "the environment variable NO_SUCH_KEY is not set"),
    ] {
        let (code, _, said) = run(folder.path(), &["--config", file]);
        assert!(code == Some(2) && said.contains(says) && !said.contains("hunter22"), "{file}: {said}");
        let (code, all) = findings(folder.path(), &["--config", file]);
        assert!(code == Some(1) && all.to_string().contains(says), "{file}: {all:#}");
        let (code, _, said) = run(folder.path(), &["config", "check", "--config", file]);
        // The settings alone do not tell which key it was.
        let is_seen = matches!(file, "short.toml" | "missing.toml");
        assert_eq!((code, said.contains(says)), (Some(i32::from(is_seen)), is_seen), "{file}: {said}");
    }
    Running::begin(command(folder.path(), &["--config", "own.toml"])).stop();
}

/// What the doctor says of the data folder is what a start would do.
#[cfg(unix)]
#[test]
fn the_doctor_says_whether_the_data_folder_is_open() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ok.toml"), "listen = \"127.0.0.1:0\"").expect("written");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    let set = |mode| std::fs::set_permissions(&data, PermissionsExt::from_mode(mode)).expect("it is ours");
    let look = || {
        let (code, all) = findings(folder.path(), &["--config", "ok.toml", "--data", "data"]);
        let data = finding(&all, "data");
        (code, data["state"].clone(), data["text"].as_str().expect("a text").to_owned())
    };
    set(0o755);
    let (_, state, text) = look();
    assert!(state == "warn" && text.contains("open to other users (its mode is 755)"), "{text}");
    assert_eq!(std::fs::metadata(&data).expect("it is there").permissions().mode() & 0o777, 0o755, "it only looks");
    set(0o700);
    assert_eq!(look().1, "ok");
    std::fs::write(data.join("notes.txt"), "mine").expect("written");
    assert_eq!(look().1, "ok");
    for mode in [0o755, 0o770] {
        set(mode);
        let (code, state, text) = look();
        assert!(code == Some(1) && state == "fail" && text.contains("chmod 700"), "{mode:o}: {text}");
    }
}

/// Both are left out, and whoever runs the server has to know.
#[test]
fn the_doctor_names_a_tool_that_two_servers_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.mjs");
    let server = |name: &str, tool: &str| {
        format!(
            "[[mcp]]\nname = '{name}'\ncommand = ['node', '{}']\nenv = {{ FAKE_TOOL = '{tool}' }}\n",
            script.display()
        )
    };
    let text = format!("listen = '127.0.0.1:0'\n{}{}", server("a", "b_c"), server("a_b", "c"));
    std::fs::write(folder.path().join("two.toml"), text).expect("written");
    let (code, all) = findings(folder.path(), &["--config", "two.toml"]);
    assert_eq!(code, Some(0), "{all:#}");
    for (check, other) in [("mcp a", "a_b"), ("mcp a_b", "a")] {
        let found = finding(&all, check);
        assert_eq!(found["state"], "warn", "{found}");
        let lines = found["lines"].to_string();
        assert!(lines.contains("a_b_c") && lines.contains(&format!("the MCP server \\\"{other}\\\"")), "{lines}");
    }
}

/// A provider with one model, for whoever has the key. It refuses a tool without a type, as the real ones do.
fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let (mut request, mut piece) = (Vec::new(), [0; 4096]);
            let body = loop {
                let read = stream.read(&mut piece).expect("a request");
                request.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) || read == 0 {
                    break body.to_owned();
                }
            };
            let head = String::from_utf8_lossy(&request).to_lowercase();
            let asked: Value = serde_json::from_str(&body).unwrap_or_default();
            let models = r#"{"object":"list","data":[{"id":"gpt-x","object":"model","created":1,"owned_by":"us"}]}"#;
            let chunk = json!({"model": "gpt-x", "choices": [{"index": 0, "delta": {"content": "Hi"}}]});
            let (status, kind, body) = match head.split(' ').take(2).collect::<Vec<_>>().as_slice() {
                _ if !head.contains("bearer good-key") => {
                    let wrong = json!({"error": {"message": "bad key", "code": "invalid_api_key"}}).to_string();
                    ("401 Unauthorized", "application/json", wrong)
                }
                ["get", "/v1/models"] => ("200 OK", "application/json", models.to_owned()),
                ["post", "/v1/chat/completions"] if asked["model"] != "gpt-x" => {
                    let unknown = json!({"error": {"message": "no such model", "code": "model_not_found"}}).to_string();
                    ("404 Not Found", "application/json", unknown)
                }
                ["post", "/v1/chat/completions"] if asked["tools"].to_string().contains("refused_tool") => {
                    let refused = json!({"error": {"message": "refused_tool: no", "type": "invalid_request_error"}});
                    ("400 Bad Request", "application/json", refused.to_string())
                }
                ["post", "/v1/chat/completions"] => {
                    assert!(asked["max_tokens"].as_u64().is_some_and(|tokens| tokens <= 16), "{asked}");
                    ("200 OK", "text/event-stream", format!("data: {chunk}\n\n"))
                }
                _ => ("404 Not Found", "application/json", "{}".to_owned()),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn the_doctor_asks_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("ok.toml", "listen = \"127.0.0.1:0\"");
    let tool = |name: &str, schema: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n[tools.{name}]\ndescription = \"Does it.\"\nurl = \"https://x.example/\"\nmethod = \"POST\"\ninput_schema = {schema}\n"
        )
    };
    write("refused.toml", &tool("refused_tool", "{ type = \"object\" }"));
    write("untyped.toml", &tool("untyped", "{}"));
    let url = provider();
    let model = |name: &str, key: &str, path: &str, config: &str, more: &[&str]| {
        let base = format!("{url}{path}");
        let args = [&["doctor", "--json", "--config", config, "--base-url", &base, "--model", name], more].concat();
        let output = command(folder.path(), &args).env("OPENAI_API_KEY", key).output().expect("runs");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), finding(&all, "model").clone(), all)
    };
    let (code, found, _) = model("openai:gpt-x", "good-key", "/v1", "ok.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(0), &json!("ok")), "{found}");
    assert!(found["text"].as_str().is_some_and(|text| text.contains("it answers")), "{found}");
    // A model that it does not have, and an address where it is not.
    let (code, found, _) = model("openai:gpt-y", "good-key", "/v1", "ok.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(1), &json!("fail")), "{found}");
    assert!(found["lines"].to_string().contains("no such model"), "what the vendor said: {found}");
    let (code, found, _) = model("openai:gpt-x", "good-key", "/v2", "ok.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(1), &json!("fail")), "{found}");
    let (code, found, all) = model("openai:gpt-x", "bad-key", "/v1", "ok.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(1), &json!("fail")), "{found}");
    assert!(!all.to_string().contains("bad-key"), "{all:#}");
    // The real tools are sent along.
    let (code, found, _) = model("openai:gpt-x", "good-key", "/v1", "untyped.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(0), &json!("ok")), "{found}");
    let (code, found, _) = model("openai:gpt-x", "good-key", "/v1", "refused.toml", &[]);
    assert_eq!((code, &found["state"]), (Some(1), &json!("fail")), "{found}");
    assert!(found["lines"].to_string().contains("refused_tool: no"), "{found}");
    // Without asking it, only the list is read.
    let (code, found, _) = model("openai:gpt-y", "good-key", "/v1", "refused.toml", &["--skip-completion"]);
    assert_eq!((code, &found["state"]), (Some(0), &json!("warn")), "{found}");
}

/// The printed entry is all that the settings need, and the printed key is let in.
#[test]
fn a_printed_key_works_with_its_printed_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["key", "new", "--subject", "carol", "--role", "user", "--role", "approver", "--group", "finance"];
    let (code, printed, notes) = run(folder.path(), &args);
    assert_eq!(code, Some(0), "{notes}");
    let (key, entry) = printed.split_once("\n\n").expect("the key and its entry");
    assert!(!entry.contains(key) && !notes.contains(key), "the key is printed once");
    std::fs::write(folder.path().join("holdpoint.toml"), entry).expect("it can be written");
    let serve = ["--listen", "127.0.0.1:0", "--ephemeral", "--config", "holdpoint.toml"];
    let server = Running::begin(command(folder.path(), &serve));
    let me = server.answer("GET", "/api/me", &format!("authorization: Bearer {key}\r\n"), "");
    let carol = json!({"subject": "carol", "roles": ["user", "approver"], "groups": ["finance"]});
    assert!(me.starts_with("HTTP/1.0 200") && me.ends_with(&carol.to_string()), "{me}");
    assert!(server.answer("GET", "/api/me", "", "").starts_with("HTTP/1.0 401"));
}

#[test]
fn key_hash_prints_the_digest_and_never_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = command(folder.path(), &["key", "hash"]).stdin(Stdio::piped()).spawn().expect("starts");
    let key = "correct-horse-battery-staple";
    child.stdin.take().expect("stdin").write_all(format!("{key}\n").as_bytes()).expect("can be written");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("ends");
    let (out, notes) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{notes}");
    // printf %s correct-horse-battery-staple | sha256sum
    assert!(out.contains("87cbebfeebc05f7c54ac9336c4b4bbec831227a641951a4bde7edd56020f8590"), "{out}");
    assert!(!out.contains(key) && !notes.contains(key) && out.contains("subject = \"local\""), "{out}{notes}");
    let (code, _, error) = run(folder.path(), &["key", "new", "--role", "root"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("unknown role \"root\""), "{error}");
}

/// Tokens alone are a login, so the server may be reached from elsewhere. Their keys are looked for.
#[test]
fn the_doctor_checks_the_keys_of_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let jwt = "listen = \"0.0.0.0:0\"\n[auth.jwt]\nissuer = \"https://login.example\"\naudience = \"holdpoint\"\n";
    for (source, state, text) in [
        ("jwks_url = \"http://127.0.0.1:1/keys\"", "warn", "http://127.0.0.1:1/keys can't be read"),
        ("jwks_file = \"nowhere.json\"", "FAIL", "auth.jwt.jwks_file: nowhere.json"),
    ] {
        std::fs::write(folder.path().join("h.toml"), format!("{jwt}{source}\n")).expect("can be written");
        let (_, out, _) = run(folder.path(), &["doctor", "--config", "h.toml", "--data", "data"]);
        let line = out.lines().find(|line| line.contains("tokens")).unwrap_or_else(|| panic!("{out}"));
        assert!(line.starts_with(state) && line.contains(text), "{out}");
        assert!(out.lines().any(|line| line.starts_with("ok") && line.contains("address")), "{out}");
    }
}
