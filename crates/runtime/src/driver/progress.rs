//! The progress of running tools, on its way to the chat: the latest at a time, and seldom enough for the log.

use std::{
    convert::Infallible,
    sync::{Arc, Weak},
    time::Duration,
};

use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{command::Command, runtime::Inner};
use crate::tool::ProgressReporter;

/// The shortest time between two preliminary outputs of a call.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// The interval grows with the run, to this part of it: the number of outputs grows with the logarithm of the time.
const INTERVALS_PER_RUN: u32 = 100;

/// The latest preliminary output of a call.
pub(super) type Reported = watch::Receiver<Option<Value>>;

/// A reporter for a handler, and the receiver of what it reports.
pub(super) fn reporter() -> (ProgressReporter, Reported) {
    let (sender, reported) = watch::channel(None);
    (Arc::new(move |output| drop(sender.send_replace(Some(output)))), reported)
}

/// Passes on what a call's handler reports. Never completes.
pub(super) async fn relay(inner: Weak<Inner>, chat: ChatId, call: ToolCallId, mut reported: Reported) -> Infallible {
    let begin = Instant::now();
    while reported.changed().await.is_ok() {
        let output = reported.borrow_and_update().clone();
        let mailbox = inner.upgrade().and_then(|inner| inner.wake(&chat));
        if let (Some(output), Some(mailbox)) = (output, mailbox) {
            let _ = mailbox.send(Command::Progress { call: call.clone(), output }).await;
        }
        sleep(MIN_INTERVAL.max(begin.elapsed() / INTERVALS_PER_RUN)).await;
    }
    std::future::pending().await
}
