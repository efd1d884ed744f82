//! The real binary on a disk that is full, and on a database that somebody else has locked. What was done is not lost, nothing is done
//! twice, and whoever asks is told within 5 seconds.
#![cfg(unix)]

mod support;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use holdpoint_testkit::Gate;
use serde_json::{Value, json};
use support::Binary;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// An endpoint that counts what it is sent, and answers when it may.
struct Endpoint {
    url: String,
    delivered: Arc<AtomicUsize>,
    gate: Gate,
}

impl Endpoint {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let endpoint = Self { url, delivered: Arc::default(), gate: Gate::new() };
        let (delivered, gate) = (Arc::clone(&endpoint.delivered), endpoint.gate.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (delivered, gate) = (Arc::clone(&delivered), gate.clone());
                tokio::spawn(async move {
                    let mut request = vec![0; 64 * 1024];
                    if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                        delivered.fetch_add(1, Ordering::SeqCst);
                        gate.pass().await;
                        let body = r#"{"delivered":true}"#;
                        let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
                        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nconnection: close\r\n\r\n{body}");
                        let _ = stream.write_all(answer.as_bytes()).await;
                    }
                });
            }
        });
        endpoint
    }
}

/// A server whose model calls the endpoint, after approval.
struct Server {
    binary: Binary,
    endpoint: Endpoint,
    _settings: tempfile::TempDir,
}

impl Server {
    async fn start(data: &Path) -> Self {
        let endpoint = Endpoint::start().await;
        let settings = tempfile::tempdir().expect("a folder");
        let script = settings.path().join("script.json");
        let call = json!({"toolCall": {"name": "deliver", "input": {}}});
        let turns = json!({"turns": [{"steps": [[call], [{"text": ["done"]}]]}]});
        fs::write(&script, turns.to_string()).expect("can be written");
        let config = settings.path().join("holdpoint.toml");
        let text = format!(
            "[model]\nuse = 'script:{}'\n[tools.deliver]\nurl = '{}'\nallow_private = true\napproval = 'always'\n",
            script.display(),
            endpoint.url
        );
        fs::write(&config, text).expect("can be written");
        let args = ["--config", config.to_str().expect("a path"), "--data", data.to_str().expect("a path")];
        Self { binary: Binary::start(&args), endpoint, _settings: settings }
    }

    /// Says something, and gives the question that comes of it.
    async fn ask(&self, chat: &str) -> String {
        let body = json!({"id": chat, "messages": [{"role": "user", "content": "go"}]});
        let (status, text) = self.binary.post("/stream", &body).await;
        assert_eq!(status, 200, "{text}");
        let (_, rest) = text.split_once("\"approvalId\":\"").unwrap_or_else(|| panic!("a question: {text}"));
        rest.split('"').next().expect("an id").to_owned()
    }

    async fn decide(&self, approval: &str) -> (u16, Value, Duration) {
        let begun = Instant::now();
        let (status, text) = self.binary.post(&format!("/api/approvals/{approval}"), &json!({"approved": true})).await;
        (status, serde_json::from_str(&text).expect("JSON"), begun.elapsed())
    }

    async fn is_running(&self, chat: &str) -> bool {
        let chats = self.binary.get_json("/api/chats").await;
        let chats = chats.as_array().expect("a list");
        chats.iter().any(|listed| listed["id"] == chat && listed["isRunning"] == true)
    }

    /// Trouble begins while the first call is with its endpoint; then it ends.
    async fn goes_through(&self, trouble: impl FnOnce() -> Box<dyn FnOnce()>) {
        let (first, second) = (self.ask("first").await, self.ask("second").await);
        assert_eq!(self.decide(&first).await.0, 200);
        self.endpoint.gate.arrived().await;
        assert_eq!(self.binary.get("/ready").await.0, 200);

        let end = trouble();
        // The outcome is known here, and can't be written.
        self.endpoint.gate.open();
        self.binary.until("/ready", |status, _| status == 503).await;
        assert_eq!(self.binary.get("/health").await.0, 200);
        let (status, answer, took) = self.decide(&second).await;
        assert_eq!(status, 503, "{answer}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(self.endpoint.delivered.load(Ordering::SeqCst), 1, "nothing runs before its decision is on disk");
        tokio::time::sleep(Duration::from_secs(2)).await;

        end();
        self.binary.until("/ready", |status, _| status == 200).await;
        // Nobody opens the chat: it goes on by itself.
        let begun = Instant::now();
        while self.is_running("first").await {
            assert!(begun.elapsed() < Duration::from_secs(20), "it recovers by itself");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (_, text) = self.binary.get("/api/chat/first/messages").await;
        assert!(text.contains("\"delivered\":true") && !text.contains("outcome unknown"), "{text}");
        // A 503 may be either, and asking again is safe.
        let (status, answer, _) = self.decide(&second).await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
        self.binary.until("/api/chat/second/messages", |_, text| text.contains("\"delivered\":true")).await;
        assert_eq!(self.endpoint.delivered.load(Ordering::SeqCst), 2, "each was delivered once");
    }
}

/// A small disk of its own. Only root can mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(folder).output().ok()?;
        mounted.status.success().then(|| Self(folder.to_owned()))
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).expect("can be made");
        for size in [64 * 1024, 4096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn free(path: &Path) {
        fs::remove_file(path.join("filler")).expect("can be removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_the_disk_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        eprintln!("skipped: a disk can't be mounted here");
        return;
    };
    let path = folder.path().to_owned();
    let server = Server::start(&path.join("data")).await;
    server
        .goes_through(|| {
            disk.fill();
            Box::new(move || SmallDisk::free(&path))
        })
        .await;
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_while_the_database_is_locked() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path()).await;
    let file = folder.path().join("holdpoint.db");
    server
        .goes_through(|| {
            let other = rusqlite::Connection::open(file).expect("it opens");
            other.busy_timeout(Duration::from_secs(5)).expect("it waits");
            other.execute_batch("BEGIN IMMEDIATE").expect("it is free");
            Box::new(move || other.execute_batch("ROLLBACK").expect("it was begun"))
        })
        .await;
}

#[tokio::test]
async fn an_empty_database_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("holdpoint.db"), b"").expect("can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let refused = command.args(["--listen", "127.0.0.1:0", "--data"]).arg(folder.path()).output().expect("runs");
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("holdpoint.db is empty (0 bytes)") && text.contains("Restore a backup"), "{text}");
}
