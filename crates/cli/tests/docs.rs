//! The shell blocks of the documentation, run as they stand: each page against a server of its own, in a folder of its
//! own. What can't be run here (other programs, a build of this one) is replaced by a program that does nothing, and
//! only what is on that list. The guides and `docs/getting-started.md` have scripts of their own, in `guides`.

mod support;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use support::Binary;

/// Programs that the pages run and this test does not.
const NOT_RUN: [&str; 1] = ["npm"];

/// Runs the binary. A server is started, seen to listen and stopped.
const HOLDPOINT: &str = r#"#!/bin/sh
case "$1" in
  check | config | doctor | export | import | init | key | log | verify) exec BINARY "$@" ;;
  serve) shift ;;
esac
BINARY serve --listen 127.0.0.1:0 --ephemeral "$@" > serve.out 2> serve.err &
server=$!
for _ in $(seq 200); do
  if grep -q 'http://' serve.out; then kill $server; exit 0; fi
  kill -0 $server 2> /dev/null || break
  sleep 0.1
done
cat serve.out serve.err >&2
kill $server 2> /dev/null
exit 1
"#;

/// `cargo run --release -- ARGUMENTS` is the binary with these arguments.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2" in
  "build --profile" | "xtask test") exit 0 ;;
  "run --release") shift 2; [ "$1" = "--" ] && shift; exec holdpoint "$@" ;;
esac
echo "cargo $*: the test of the documentation does not know this" >&2
exit 1
"#;

/// Fails on an error status, which curl by itself does not.
const CURL: &str = "#!/bin/sh\nexec CURL --fail-with-body --noproxy '*' \"$@\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages with shell blocks.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(["vite", "nextjs", "assistant-ui"].map(|name| format!("examples/{name}/README.md")));
    let files = fs::read_dir(root().join("docs")).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let names = files.map(|name| name.to_str().expect("text").to_owned());
    let names = names.filter(|name| name.ends_with(".md") && name != "getting-started.md");
    pages.extend(names.map(|name| format!("docs/{name}")));
    pages
}

/// The blocks of a page, with their language and first line.
fn blocks(text: &str) -> Vec<(usize, &str, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => open = Some((at + 2, language, String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((.., block)), None) => block.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

fn program(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, text).expect("is written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is executable");
}

/// The page's folder: its programs, and a clone with the files that its commands read.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (programs, clone) = (folder.path().join("bin"), folder.path().join("clone"));
    fs::create_dir_all(clone.join("target/dist")).expect("a folder");
    fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink(root().join("examples"), clone.join("examples")).expect("a link");
    let holdpoint = HOLDPOINT.replace("BINARY", env!("CARGO_BIN_EXE_holdpoint"));
    program(&programs, "holdpoint", &holdpoint);
    program(&clone.join("target/dist"), "holdpoint", &holdpoint);
    program(&programs, "cargo", CARGO);
    let curl = Command::new("sh").args(["-c", "command -v curl"]).output().expect("a shell").stdout;
    program(&programs, "curl", &CURL.replace("CURL", String::from_utf8_lossy(&curl).trim()));
    NOT_RUN.iter().for_each(|name| program(&programs, name, "#!/bin/sh\nexit 0\n"));
    let request = json!({"id": "captured", "messages": [{"role": "user", "content": "What is the weather in Tokyo?"}]});
    fs::write(clone.join("request.json"), request.to_string()).expect("is written");
    folder
}

/// What came of the shell blocks of a page.
#[derive(Default)]
struct Run {
    /// What each printed, by its line.
    printed: BTreeMap<usize, String>,
    /// The messages of all chats of its server.
    messages: Vec<Value>,
}

/// Runs the shell blocks of a page.
async fn run(page: &str) -> Run {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let mut run = Run::default();
    if !blocks(&text).iter().any(|(_, language, _)| *language == "sh") {
        return run;
    }
    let folder = folder();
    let clone = folder.path().join("clone");
    let server = Binary::start_in(&clone.join("holdpoint-data"), &[]);
    let seed = json!({"id": "seeded", "messages": [{"role": "user", "content": "Hello"}]});
    assert_eq!(server.post("/stream", &seed).await.0, 200);
    for (line, language, block) in blocks(&text) {
        match language {
            "toml" => fs::write(clone.join("holdpoint.toml"), &block).expect("is written"),
            "sh" => {
                let mut block = block.replace("localhost:8787", &server.address);
                block = block.replace("https://your.app", &server.url("")).replace("export CHAT ", "export seeded ");
                block = block.replace("log CHAT", "log seeded").replace("verify CHAT", "verify seeded");
                if block.contains("APPROVAL_ID") {
                    let open = server.get_json("/api/approvals").await;
                    block = block.replace("APPROVAL_ID", open[0]["approvalId"].as_str().expect("an open request"));
                }
                // A value that the reader fills in.
                block = block.replace('…', "a-key-of-the-reader");
                let (path, work) = (folder.path().join("bin"), clone.clone());
                let output = tokio::task::spawn_blocking(move || {
                    let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());
                    let mut shell = Command::new("sh");
                    shell.args(["-euc", &block]).current_dir(work).env("PATH", path);
                    shell.output().expect("a shell")
                });
                let output = output.await.expect("it runs");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{page}:{line}: {}\n{text}\n{errors}", output.status);
                run.printed.insert(line, text);
            }
            _ => {}
        }
    }
    let open = server.get_json("/api/approvals").await;
    assert_eq!(open, json!([]), "{page}: an approval request is left open");
    for chat in server.get_json("/api/chats").await.as_array().expect("a list") {
        let messages = server.get_json(&format!("/api/chat/{}/messages", chat["id"].as_str().expect("an id"))).await;
        run.messages.extend(messages.as_array().cloned().expect("a list"));
    }
    run
}

#[tokio::test]
async fn every_shell_block_of_the_pages_runs() {
    let mut count = 0;
    for page in pages() {
        count += run(&page).await.printed.len();
    }
    assert!(count >= 12, "only {count} blocks were found");
}

/// What the first page leads to: a payment that was asked about, approved, and made.
#[tokio::test]
async fn the_first_page_leads_to_an_approved_payment() {
    let Run { printed, messages } = run("README.md").await;
    let all = printed.values().cloned().collect::<String>();
    assert!(all.contains("tool-approval-request"), "{all}");
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().cloned().unwrap_or_default());
    let call = parts.into_iter().find(|part| part["type"] == "tool-process_payment").expect("the call");
    assert_eq!(call["state"], "output-available", "{call}");
    assert_eq!(call["approval"]["approved"], true, "{call}");
}
