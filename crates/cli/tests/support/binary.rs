//! The `holdpoint` binary as a child process: what it must survive would take a test down with it.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use super::PATIENCE;

/// A running server. Dropping it kills it.
pub(crate) struct Binary {
    child: Child,
    pub(crate) address: String,
    client: reqwest::Client,
}

impl Binary {
    /// Starts it on a free port, with these arguments.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    /// The same with settings in the environment.
    pub(crate) fn start_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        if !args.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(args).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE * 3).build().expect("a client");
        Self { child, address, client }
    }

    /// Starts it with its data in a folder.
    pub(crate) fn start_in(data: &Path, environment: &[(&str, &str)]) -> Self {
        Self::start_with(&["--data", data.to_str().expect("a path")], environment)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let response = self.client.get(self.url(path)).send().await.expect("an answer");
        (response.status().as_u16(), response.text().await.expect("a body"))
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let (status, text) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {text}");
        holdpoint_protocol::json::parse(text.as_bytes()).expect("JSON")
    }

    /// `None` when the connection broke: the server is gone.
    pub(crate) async fn try_post(&self, path: &str, body: String) -> Option<(u16, String)> {
        let request = self.client.post(self.url(path)).header("content-type", "application/json").body(body);
        let response = request.send().await.ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, String) {
        self.try_post(path, body.to_string()).await.expect("an answer")
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("can be asked").is_none()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("can be killed");
        self.child.wait().expect("ends");
    }

    /// Asks again until the answer is as wanted.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(u16, &str) -> bool) -> (u16, String) {
        let begun = std::time::Instant::now();
        loop {
            let (status, text) = self.get(path).await;
            if wanted(status, &text) {
                return (status, text);
            }
            assert!(begun.elapsed() < PATIENCE * 2, "{path}: {status} {text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
