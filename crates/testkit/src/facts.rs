//! The facts of a chat, as they are stored.

use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{fact::Fact, log::Log};

/// All facts of a chat, in their order, read from its log without asking its chat.
///
/// # Panics
///
/// If the log cannot be read.
pub async fn facts(log: &dyn Log, chat: impl Into<ChatId>) -> Vec<Fact> {
    let batches = log.read(&chat.into(), 0, 1_000_000).await.expect("the log can be read");
    let read = |payload: &[u8]| serde_json::from_slice::<Vec<Fact>>(payload).expect("a batch has facts");
    batches.iter().flat_map(|batch| read(&batch.payload)).collect()
}
