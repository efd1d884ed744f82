//! A small HTTP server that plays a provider: scripted answers, and a record of what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the server answers to one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A whole answer.
    Plain { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A stream of pieces, each sent by itself. Cut: the connection breaks after the last one.
    Stream { content_type: &'static str, pieces: Vec<String>, is_cut: bool },
    /// A stream that never ends: whoever reads it has to go away.
    Endless { content_type: &'static str, pieces: Vec<String> },
    /// The connection is closed at once.
    Silence,
}

impl Reply {
    pub(crate) fn error(status: u16, body: impl Into<String>) -> Self {
        Self::Plain { status, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Plain { status, mut headers, body } => {
                headers.push((name, value.to_owned()));
                Self::Plain { status, headers, body }
            }
            other => other,
        }
    }
}

/// What the server was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub path: String,
    pub head: String,
    pub body: Value,
}

/// A server that runs until the test ends.
pub(crate) struct Fake {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Arc<tokio::sync::Notify>,
}

impl Fake {
    /// Answers the first request with the first reply, and so on.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let replies: Mutex<VecDeque<Reply>> = Mutex::new(replies.into_iter().collect());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let gone = Arc::new(tokio::sync::Notify::new());
        let (record, tell) = (Arc::clone(&asked), Arc::clone(&gone));
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let Some(request) = read(&mut connection).await else { continue };
                let refusal = crate::wires::refusal(&request);
                record.lock().expect("not poisoned").push(request);
                if let Some(refusal) = refusal {
                    let body = serde_json::json!({"error": {"message": refusal, "type": "invalid_request_error"}});
                    let _ = write(&mut connection, Reply::error(400, body.to_string())).await;
                    continue;
                }
                let reply = replies.lock().expect("not poisoned").pop_front();
                let reply = reply.unwrap_or_else(|| Reply::error(418, "the script has no more answers"));
                if write(&mut connection, reply).await.is_none() {
                    tell.notify_one();
                }
            }
        });
        Self { url, asked, gone }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("not poisoned").clone()
    }

    /// Waits until a client has gone away in the middle of an answer.
    pub(crate) async fn left(&self) {
        self.gone.notified().await;
    }
}

async fn read(connection: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while bytes.len() < end + length.unwrap_or(0) {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Asked { path, head, body: serde_json::from_slice(&bytes[end..]).unwrap_or(Value::Null) })
}

/// `None` when the client went away before the end.
async fn write(connection: &mut TcpStream, reply: Reply) -> Option<()> {
    let is_endless = matches!(reply, Reply::Endless { .. });
    let is_whole = !matches!(reply, Reply::Stream { is_cut: true, .. });
    match reply {
        Reply::Silence => {}
        Reply::Plain { status, headers, body } => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let head = format!("HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\n{headers}");
            let whole = format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            connection.write_all(whole.as_bytes()).await.ok()?;
        }
        Reply::Stream { content_type, pieces, .. } | Reply::Endless { content_type, pieces } => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n");
            let head = format!("{head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
            connection.write_all(head.as_bytes()).await.ok()?;
            for piece in pieces {
                let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                connection.write_all(chunk.as_bytes()).await.ok()?;
                // So that pieces arrive as pieces.
                tokio::task::yield_now().await;
            }
            if is_endless {
                while connection.read_u8().await.is_ok() {}
                return None;
            }
            if is_whole {
                connection.write_all(b"0\r\n\r\n").await.ok()?;
            }
        }
    }
    connection.shutdown().await.ok()
}
