//! An HTTP endpoint that holds its answers back until the test lets them go.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use holdpoint_testkit::Gate;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Counts the requests, and answers them once its gate is open.
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) delivered: Arc<AtomicUsize>,
    pub(crate) gate: Gate,
}

impl Endpoint {
    pub(crate) async fn start() -> Self {
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
