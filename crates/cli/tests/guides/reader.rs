//! A reader who follows a page to the letter: in a folder of their own, with the commands of the page, and with the real
//! binary. What is not at hand (a build of this project, the sites of others) is replaced here or in the script of the
//! page, and nowhere else.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    page::{Block, Page, root},
    terminal::{PATIENCE, Terminal},
};

/// `cargo run --release -- ARGUMENTS` is the binary with these arguments.
const CARGO: &str = r#"#!/bin/sh
case "$1 $2" in
  "run --release") shift 2; [ "$1" = "--" ] && shift; exec holdpoint "$@" ;;
esac
echo "cargo $*: the reader of the guides does not know this" >&2
exit 1
"#;

/// The server of the page is on a free port. An error status is a failure, which it is not for curl by itself.
const CURL: &str = r#"#!/bin/sh
exec CURL --fail-with-body --noproxy '*' --connect-to "localhost:8787:$(cat "ADDRESS")" "$@"
"#;

pub(crate) struct Reader {
    pub(crate) page: Page,
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    server: Option<Terminal>,
    address: String,
    client: reqwest::Client,
}

impl Reader {
    pub(crate) fn open(name: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["bin", "clone", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
        let mut reader = Self {
            page: Page::open(name),
            folder,
            environment: BTreeMap::new(),
            server: None,
            address: String::new(),
            client,
        };
        // Only what the page says: a key of whoever runs the test must not change what is seen.
        reader.set("PATH", &search_path(&[&reader.path("bin")]));
        reader.set("HOME", &reader.path("home").display().to_string());
        reader.set("HOLDPOINT_LISTEN", "127.0.0.1:0");
        // What is installed is there, and nothing else is fetched.
        fs::write(reader.path("home/.npmrc"), "offline=true\nupdate-notifier=false\n").expect("is written");
        let curl = Command::new("sh").args(["-c", "command -v curl"]).output().expect("a shell").stdout;
        let curl = CURL.replace("CURL", String::from_utf8_lossy(&curl).trim());
        reader.program("curl", &curl.replace("ADDRESS", &reader.path("address").display().to_string()));
        reader.program("holdpoint", &format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_holdpoint")));
        reader.program("cargo", CARGO);
        reader
    }

    /// Below the reader's folder. The clone is `clone`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A variable of the environment, from here on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.environment.remove(name);
    }

    /// A program that the reader has.
    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, text).expect("is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is executable");
    }

    /// The next block of the page.
    pub(crate) fn next(&mut self, heading: &str, language: &str) -> Block {
        self.page.next(heading, language)
    }

    /// Writes a block into a file of the clone.
    pub(crate) fn save(&self, name: &str, block: &Block) {
        self.write(name, &block.text);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path("clone").join(name), text).expect("is written");
    }

    fn shell(&self, text: &str, folder: &Path) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-euc", text]).current_dir(folder).env_clear().envs(&self.environment);
        shell
    }

    /// What was expected to end, and does not, is ended.
    fn output(&self, text: &str) -> Output {
        let mut command = Command::new("timeout");
        command.arg(PATIENCE.as_secs().to_string()).args(["sh", "-euc", text]).current_dir(self.path("clone"));
        command.env_clear().envs(&self.environment).output().expect("a shell")
    }

    /// Runs a block to its end; gives what it prints.
    pub(crate) fn run(&self, block: &Block) -> String {
        let Output { status, stdout, stderr } = self.output(&block.text);
        let (printed, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{}: {status}\n{}\n{printed}\n{errors}", block.place, block.text);
        printed.into_owned()
    }

    /// Runs a block that fails; gives its exit code and what it says.
    pub(crate) fn fails(&self, text: &str) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = self.output(text);
        assert!(!matches!(status.code(), Some(0 | 124)), "{}: this should fail: {status}\n{text}", self.page.name);
        (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    }

    /// A block that the page leaves to its reader, such as the start with the settings that it shows.
    pub(crate) fn block(&self, text: &str) -> Block {
        Block {
            place: self.page.name.to_owned(),
            language: "sh".to_owned(),
            heading: String::new(),
            text: text.to_owned(),
        }
    }

    /// Runs something that does not end, in a terminal of its own, in a folder of the reader's.
    pub(crate) fn terminal(&self, block: &Block, folder: &str) -> Terminal {
        Terminal::open(&block.place, self.shell(&block.text, &self.path(folder)))
    }

    /// Stops the server if one is running, starts one as the block says, and waits until it is ready. What the block
    /// exports stays in the environment; gives what the server prints.
    pub(crate) fn serve(&mut self, block: &Block) -> String {
        self.stop();
        for line in block.text.lines() {
            if let Some((name, value)) = line.strip_prefix("export ").and_then(|line| line.split_once('=')) {
                self.set(name, value);
            }
        }
        let mut terminal = self.terminal(block, "clone");
        let (address, printed) = terminal.until(|text| {
            let line = text.lines().find(|line| line.contains("http://"))?;
            Some((line.rsplit_once("http://")?.1.trim().to_owned(), text.to_owned()))
        });
        fs::write(self.path("address"), &address).expect("is written");
        self.address = address;
        self.server = Some(terminal);
        printed
    }

    /// Starts the server with the settings that were saved last, which `docs/getting-started.md` shows.
    pub(crate) fn serve_settings(&mut self) {
        let block = self.block("holdpoint --config holdpoint.toml");
        self.serve(&block);
    }

    /// Ctrl-C; gives the server's log.
    pub(crate) fn stop(&mut self) -> String {
        self.server.take().map(|mut server| server.stop()).unwrap_or_default()
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The server that the next requests are for, where there are several.
    pub(crate) fn turn_to(&mut self, address: &str) {
        self.address = address.to_owned();
        fs::write(self.path("address"), address).expect("is written");
    }

    /// A request with a key, unless it is empty.
    pub(crate) async fn ask(&self, key: &str, method: Method, path: &str, body: Option<&Value>) -> (u16, String) {
        let mut request = self.client.request(method, format!("http://{}{path}", self.address));
        if !key.is_empty() {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.text().await.expect("a body"))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.get_as("", path).await
    }

    pub(crate) async fn get_as(&self, key: &str, path: &str) -> Value {
        let (status, text) = self.ask(key, Method::GET, path, None).await;
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.ask("", Method::POST, path, Some(body)).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Says something in a chat; gives the response.
    pub(crate) async fn say(&self, chat: &str, text: &str) -> String {
        self.say_as("", chat, text).await
    }

    pub(crate) async fn say_as(&self, key: &str, chat: &str, text: &str) -> String {
        let body = json!({"id": chat, "messages": [{"role": "user", "content": text}]});
        let (status, shown) = self.ask(key, Method::POST, "/api/chat", Some(&body)).await;
        assert_eq!(status, 200, "{shown}");
        shown
    }

    /// The only open approval request.
    pub(crate) async fn open_request(&self) -> Value {
        let mut open = self.get("/api/approvals").await;
        assert_eq!(open.as_array().map(Vec::len), Some(1), "{open}");
        open[0].take()
    }

    pub(crate) async fn decide(&self, decision: &Value) {
        let request = self.open_request().await;
        let path = format!("/api/approvals/{}", request["approvalId"].as_str().expect("an id"));
        let (status, answer) = self.post(&path, decision).await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
    }

    /// Asks again until the answer is as wanted.
    pub(crate) async fn until<T>(&self, key: &str, path: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            let (status, text) = self.ask(key, Method::GET, path, None).await;
            let found = serde_json::from_str(&text).ok().and_then(|value| wanted(&value));
            match found {
                Some(found) if status == 200 => return found,
                _ => assert!(Instant::now() < end, "{path}: {status} {text}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The last call of a tool in a chat, once it has an outcome.
    pub(crate) async fn settled(&self, chat: &str, tool: &str) -> Value {
        self.settled_as("", chat, tool).await
    }

    pub(crate) async fn settled_as(&self, key: &str, chat: &str, tool: &str) -> Value {
        let kind = format!("tool-{tool}");
        self.until(key, &format!("/api/chat/{chat}/messages"), |messages| {
            let mut parts = messages.as_array()?.iter().flat_map(|message| message["parts"].as_array()).flatten();
            let call = parts.rfind(|part| part["type"] == kind.as_str())?;
            call["state"].as_str().is_some_and(|state| state.starts_with("output-")).then(|| call.clone())
        })
        .await
    }

    /// Waits until a tool is offered: those of an MCP server come when it has listed them.
    pub(crate) async fn offered(&self, tool: &str) -> Value {
        self.until("", "/api/tools", |tools| tools.as_array()?.iter().find(|one| one["name"] == tool).cloned()).await
    }

    /// The names of all tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let tools = self.get("/api/tools").await;
        tools.as_array().expect("a list").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

/// The folders of programs: these first, then that of Node.js itself, because a version manager's own `node` looks for the
/// home folder of whoever runs the tests, and then the usual ones.
pub(crate) fn search_path(first: &[&Path]) -> String {
    static NODE: LazyLock<PathBuf> = LazyLock::new(|| {
        let asked = Command::new("node").args(["-p", "process.execPath"]).output().expect("node runs");
        let program = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
        program.parent().expect("a folder").to_owned()
    });
    let mut folders: Vec<String> = first.iter().map(|folder| folder.display().to_string()).collect();
    folders.extend([NODE.display().to_string(), std::env::var("PATH").unwrap_or_default()]);
    folders.join(":")
}

/// The npm packages of the checkout, in place of an installation. The folder itself is the reader's: tools write into it.
pub(crate) fn link_packages(folder: &Path) {
    let (packages, own) = (root().join("node_modules"), folder.join("node_modules"));
    fs::create_dir(&own).expect("a folder");
    for entry in fs::read_dir(&packages).unwrap_or_else(|error| panic!("{error}: run `cargo xtask setup`")) {
        let name = entry.expect("an entry").file_name();
        std::os::unix::fs::symlink(packages.join(&name), own.join(&name)).expect("a link");
    }
}
