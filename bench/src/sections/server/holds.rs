//! The process that opens holds.

use std::{path::Path, sync::Arc, time::Duration};

use futures::StreamExt;
use holdpoint_demo::demo_tools;
use holdpoint_protocol::request::ChatRequest;
use holdpoint_runtime::{Next, Runtime, log::SqliteLog, subject::Subject, wire::View};
use serde_json::json;

use super::models::Pays;
use crate::measure::resident;

/// The number of chats opened concurrently.
const IN_FLIGHT: usize = 64;
/// How long the server has to become idle.
const PAUSE: Duration = Duration::from_secs(2);

/// Opens `count` chats that each stop at an approval request, and prints the resident memory before and after.
pub(super) async fn run(count: usize, folder: &Path) {
    let log = SqliteLog::open(folder).expect("a folder of its own");
    let runtime =
        Runtime::builder(Arc::new(Pays)).tools(demo_tools()).log(Arc::new(log)).start().await.expect("an empty log");
    let before = resident();
    futures::stream::iter(0..count)
        .for_each_concurrent(IN_FLIGHT, |number| {
            let runtime = runtime.clone();
            async move { tokio::spawn(open(runtime, number)).await.expect("a hold") }
        })
        .await;
    tokio::time::sleep(PAUSE).await;
    let after = resident();
    assert_eq!(runtime.admin().holds().await, Ok(count as u64), "every chat waits");
    let show = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
    println!("{} {}", show(before), show(after));
}

async fn open(runtime: Runtime, number: usize) {
    // A hundred chats per person.
    let subject = Subject::from(&*format!("person-{}", number / 100));
    let said = json!([{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Pay 50 dollars to Hanako"}]}]);
    let request: ChatRequest = serde_json::from_value(json!({"messages": said})).expect("a request");
    let submitted = runtime.submit(&subject, request, View::default()).await;
    let (_, mut segment) = submitted.expect("a chat of its own");
    let mut chunks = Vec::new();
    while segment.read(&mut chunks).await == Next::More {
        chunks.clear();
    }
}
