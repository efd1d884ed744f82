//! The guide of MCP servers: with real ones from npm and PyPI, one behind OAuth, and those that the guide only names,
//! played by `tests/mcp/named.mjs`.

use std::{fs, os::unix::fs::PermissionsExt};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    page::root,
    reader::{Reader, link_packages},
    terminal::Terminal,
};

/// A server of the folder `tests/mcp` that listens on a port of its own; gives its address.
fn listening(reader: &Reader, command: &str) -> (Terminal, String) {
    let command = command.replace("tests/mcp", &root().join("tests/mcp").display().to_string());
    let mut terminal = reader.terminal(&reader.block(&command), "clone");
    let port = terminal.until(|printed| printed.lines().next().map(str::to_owned));
    (terminal, format!("http://127.0.0.1:{port}"))
}

/// A program that the guide names.
fn named(reader: &Reader, program: &str, server: &str) {
    let (script, log) = (root().join("tests/mcp/named.mjs"), reader.path("called"));
    let text = format!("#!/bin/sh\nNAMED_LOG={} exec node {} {server}\n", log.display(), script.display());
    reader.program(program, &text);
}

fn called(reader: &Reader) -> String {
    fs::read_to_string(reader.path("called")).unwrap_or_default()
}

pub(crate) async fn mcp(reader: &mut Reader) {
    let title = "Tools of MCP servers";
    from_npm_and_over_http(reader, title).await;
    from_pypi(reader, title).await;
    behind_a_login(reader).await;
    approvals(reader).await;
    instructions(reader).await;
    files(reader).await;
    asking_the_old_way(reader).await;
}

async fn from_npm_and_over_http(reader: &mut Reader, title: &str) {
    let docs = reader.path("docs");
    fs::create_dir(&docs).expect("a folder");
    fs::write(docs.join("plan.txt"), "rest on Sunday").expect("is written");
    let docs = docs.display().to_string();
    link_packages(&reader.path("clone"));
    let (_tickets, url) = listening(reader, "TOKEN=token-of-the-reader exec node tests/mcp/named.mjs tickets http");
    let settings = reader.next(title, "toml").with("/srv/docs", &docs).with("https://tickets.example", &url);
    reader.save("holdpoint.toml", &settings);
    let start = reader.next(title, "sh").with("…", "token-of-the-reader");
    reader.serve(&start);

    // `approval = "never"`, for all tools but one, and without those that are denied.
    reader.offered("files_list_directory").await;
    let list = reader.next(title, "sh").with("/srv/docs", &docs);
    let printed = reader.run(&list);
    assert!(printed.contains("plan.txt") && printed.contains("tool-output-available"), "{printed}");
    let tools = reader.tools().await;
    assert!(tools.contains(&"files_read_text_file".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"files_write_file".to_owned()), "it is denied: {tools:?}");
    let input = json!({"source": format!("{docs}/plan.txt"), "destination": format!("{docs}/done.txt")});
    reader.say("move", &format!("call files_move_file {input}")).await;
    assert!(fs::exists(format!("{docs}/plan.txt")).expect("can be asked"), "nothing was moved");
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("move", "files_move_file").await["state"], "output-available");
    assert!(fs::exists(format!("{docs}/done.txt")).expect("can be asked"), "it was moved");
    reader.page.promises("An input that does not fit the schema is refused before an approval is requested.");
    let shown = reader.say("wrong", r#"call files_move_file {"source":5}"#).await;
    assert!(shown.contains("tool-input-error") && !shown.contains("tool-approval-request"), "{shown}");

    // The rule over the input.
    reader.offered("tickets_create").await;
    let shown = reader.say("later", r#"call tickets_create {"title":"Tea","priority":"low"}"#).await;
    assert!(shown.contains("tool-output-available"), "{shown}");
    let shown = reader.say("now", r#"call tickets_create {"title":"Fire","priority":"urgent"}"#).await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.decide(&json!({"approved": false})).await;
    let log = reader.stop();
    assert!(!log.contains("token-of-the-reader"), "{log}");
}

async fn from_pypi(reader: &mut Reader, title: &str) {
    let installed = root().join("target/tools/mcp-server-time/bin/mcp-server-time");
    assert!(installed.exists(), "{} is not there: run `cargo xtask setup`", installed.display());
    // In place of an installation from PyPI at every run.
    let uvx = format!("#!/bin/sh\n[ \"$1\" = mcp-server-time ] && shift && exec {} \"$@\"\n", installed.display());
    reader.program("uvx", &uvx);
    let settings = reader.next(title, "toml");
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    reader.offered("time_convert_time").await;
    let input = json!({"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "Asia/Kolkata"});
    let shown = reader.say("time", &format!("call time_convert_time {input}")).await;
    reader.page.promises("Without any, every call needs approval.");
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.decide(&json!({"approved": true})).await;
    let call = reader.settled("time", "time_convert_time").await;
    assert!(call["state"] == "output-available" && call["output"].to_string().contains("13:00"), "{call}");
}

async fn behind_a_login(reader: &mut Reader) {
    let (_work, url) = listening(reader, "exec node tests/mcp/oauth.mjs");
    let tokens = reader.path("work.tokens");
    reader.set("WORK_TOKENS_KEY", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
    let settings = reader.next("Servers that want a login", "toml");
    let settings = settings.with("https://mcp.work.example", &url);
    reader.save("holdpoint.toml", &settings.with("/var/lib/holdpoint/work.tokens", &tokens.display().to_string()));
    reader.serve_settings();
    let status = reader.get("/api/status").await;
    assert!(status.to_string().contains("holdpoint mcp login"), "{status}");

    let login = reader.page.promises("holdpoint mcp login work --config holdpoint.toml");
    let mut login = reader.terminal(&reader.block(login), "clone");
    let page = login.until(|printed| printed.lines().find(|line| line.starts_with("http")).map(str::to_owned));
    // A browser on the same machine, whose person agrees.
    let browser = reqwest::Client::builder().no_proxy().build().expect("a client");
    assert_eq!(browser.get(page).send().await.expect("a page").status(), 200);
    reader.page.promises("The tokens are in `oauth_file`, which only its owner can read");
    reader.page.promises("A running Holdpoint takes them up");
    reader.offered("work_whoami").await;
    let mode = fs::metadata(&tokens).expect("the tokens").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    reader.page.promises("encrypted with `oauth_key`");
    let written = fs::read(&tokens).expect("the tokens");
    assert!(!String::from_utf8_lossy(&written).contains("token_type"), "it is not encrypted");
    reader.say("who", "call work_whoami {}").await;
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("who", "work_whoami").await["output"], "ann");
}

async fn approvals(reader: &mut Reader) {
    // People of the guide's group, and one who is not in it.
    let people = [("ann", "user", "sales"), ("bob", "approver", "finance"), ("dora", "approver", "finance")];
    let key = |name: &str| format!("key-of-{name}-for-a-trial");
    named(reader, "bank-mcp", "bank");
    let mut settings = reader.next("Approvals", "toml");
    for (name, role, group) in people {
        let hash = format!("echo {} | holdpoint key hash --subject {name} --role {role} --group {group}", key(name));
        settings.text += &reader.run(&reader.block(&hash));
    }
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    let (ann, offered) = (key("ann"), |tools: &Value| tools.to_string().contains("bank_transfer").then_some(()));
    reader.until(&ann, "/api/tools", offered).await;
    let shown = reader.say_as(&ann, "little", r#"call bank_transfer {"amount":40,"to":"Hanako"}"#).await;
    assert!(shown.contains("tool-output-available"), "{shown}");
    reader.say_as(&ann, "much", r#"call bank_transfer {"amount":250,"to":"Hanako"}"#).await;
    let open = reader.get_as(&key("bob"), "/api/approvals").await;
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    for (name, status) in [("ann", 403), ("bob", 200), ("dora", 200)] {
        assert_eq!(called(reader).lines().count(), 1, "two people have to approve");
        let (answered, said) = reader.ask(&key(name), Method::POST, &path, Some(&json!({"approved": true}))).await;
        assert_eq!(answered, status, "{name}: {said}");
    }
    assert_eq!(reader.settled_as(&ann, "much", "bank_transfer").await["state"], "output-available");
    assert_eq!(called(reader).lines().last(), Some(r#"transfer {"amount":250,"to":"Hanako"}"#));

    // A destructive tool runs without a question only where the settings ignore what its server says of it.
    named(reader, "scratch-server", "scratch");
    reader.set("SCRATCH_KEY", "key-of-the-scratch-server");
    let settings = reader.next("Approvals", "toml");
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    reader.offered("scratch_clear").await;
    let shown = reader.say("ignored", "call scratch_clear {}").await;
    assert!(shown.contains("tool-output-available") && shown.contains("done: clear {} with a key"), "{shown}");
    reader.save("holdpoint.toml", &settings.with("ignore_hints = true", "ignore_hints = false"));
    reader.serve_settings();
    reader.offered("scratch_clear").await;
    reader.page.promises("Such a tool needs approval even where the settings say `never`");
    let shown = reader.say("hinted", "call scratch_clear {}").await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.decide(&json!({"approved": false})).await;
}

async fn instructions(reader: &mut Reader) {
    let settings = reader.next("What a server says about its tools", "toml");
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    reader.offered("time_convert_time").await;
}

/// What happens in the newest version of the protocol, and with the setting. The client here can't answer, so it is cancelled.
/// Servers made with both SDKs: the setting is needed, and enough.
async fn asking_the_old_way(reader: &mut Reader) {
    let settings = reader.next("Prompts of a server", "toml");
    let address = r#"url = "https://bookings.example/mcp""#;
    let program = format!("command = ['node', '{}']", root().join("tests/mcp/asks.mjs").display());
    let python = root().join("target/tools/mcp-server-time/bin/python");
    assert!(python.exists(), "{} is not there: run `cargo xtask setup`", python.display());
    let (_python, url) = listening(reader, &format!("exec {} tests/mcp/asks.py", python.display()));
    let [typescript_fails, python_fails] = [
        "Server-to-client requests are not available on protocol revision 2026-07-28",
        "Cannot send 'elicitation/create': this transport context has no back-channel",
    ]
    .map(|failure| reader.page.promises(failure));
    let servers = [
        ("typescript", settings.clone().with(address, &program), typescript_fails),
        ("python", settings.with("https://bookings.example", &url), python_fails),
    ];
    let (older, newest) = (r#"protocol = "2025-11-25""#, r#"protocol = "2026-07-28""#);
    for (sdk, settings, failure) in servers {
        let by_default = settings.clone().with(older, "");
        let cases = [
            ("default", by_default, failure),
            ("newest", settings.clone().with(older, newest), failure),
            ("older", settings, "the user's answer: cancel"),
        ];
        for (protocol, settings, expected) in cases {
            reader.save("holdpoint.toml", &settings);
            reader.serve_settings();
            reader.offered("bookings_ask").await;
            let chat = format!("{sdk}-{protocol}");
            reader.say(&chat, "call bookings_ask {}").await;
            reader.decide(&json!({"approved": true})).await;
            let call = reader.settled(&chat, "bookings_ask").await;
            assert!(call.to_string().contains(expected), "{chat}: {call}");
        }
    }
}

async fn files(reader: &mut Reader) {
    let script = root().join("tests/mcp/fake.mjs").display().to_string();
    reader.write(
        "holdpoint.toml",
        &format!("[[mcp]]\nname = 'fake'\ncommand = ['node', '{script}']\napproval = 'never'\n"),
    );
    reader.serve_settings();
    reader.offered("fake_picture").await;
    reader.say("chat_1", "call fake_picture {}").await;
    let call = reader.settled("chat_1", "fake_picture").await;
    let shown = reader.next("Pictures, sound and files", "json");
    let id = call["toolCallId"].as_str().expect("an id");
    let expected: Value = serde_json::from_str(&shown.with("call_1", id).text).expect("JSON");
    let parts = call["output"]["content"].as_array().cloned().unwrap_or_default();
    assert!(parts.contains(&expected), "{call}");
    let path = expected["url"].as_str().expect("a link");
    assert_eq!(reader.ask("", Method::GET, path, None).await.0, 200);
}
