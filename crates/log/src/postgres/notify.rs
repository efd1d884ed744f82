//! Wakeups between nodes: LISTEN, and NOTIFY in transactions of its own.
//!
//! A NOTIFY holds a lock of the whole database cluster until its commit. Inside the writer's transactions it would put
//! all writers of all nodes in one queue. So notifications are collected and sent apart, a few times a second at most.
//! They are hints: a lost one costs a reader one polling interval.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use holdpoint_protocol::ids::ChatId;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Notify, broadcast, mpsc},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_postgres::{Notification, types::Type};

use super::{
    connection::{Connection, Connector, Sql},
    error::Failure,
};
use crate::{ChatChange, Wakeup};
use holdpoint_core::{approvers::Approver, subject::Subject};

/// Chats that wait to be sent. With more, the message is that anything may have changed.
const MAX_CHATS: usize = 2048;
/// The size of a payload, below PostgreSQL's limit of 8000 bytes.
const MAX_PAYLOAD: usize = 7900;
/// Payloads per transaction.
const MAX_PAYLOADS: usize = 32;
/// The shortest time between two transactions: at most 50 a second.
const INTERVAL: Duration = Duration::from_millis(20);
/// Notifications received and not yet passed on.
const RECEIVED: usize = 1024;
/// The time after which a silent connection is tested.
const SILENCE: Duration = Duration::from_secs(5);
/// The time between two attempts to connect, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

const NOTIFY: Sql = Sql {
    text: "SELECT pg_notify($1, payload) FROM unnest($2) AS new (payload)",
    types: &[Type::TEXT, Type::TEXT_ARRAY],
};

/// What a notification says.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Message {
    /// The log that sent it.
    from: String,
    /// The chats that changed. `None`: any may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chats: Option<Vec<Change>>,
    /// Who else than the owner could decide in a chat, or can now. Versions before this do not read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvers: Vec<(ChatId, Vec<Approver>)>,
}

/// A chat that changed: its subject, its length if known, and whether its holds may have changed.
type Change = (ChatId, Subject, Option<u64>, bool);

/// What is to be sent.
#[derive(Default)]
pub(super) struct Outbox {
    pending: Mutex<Pending>,
    filled: Notify,
}

#[derive(Default)]
struct Pending {
    chats: HashMap<ChatId, (Change, BTreeSet<Approver>)>,
    /// There were too many chats to name.
    is_everything: bool,
}

impl Outbox {
    /// Adds a change.
    pub(super) fn add(&self, change: &ChatChange) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.is_everything {
            return;
        }
        let ChatChange { chat, subject, len, holds, approvers } = change;
        if pending.chats.len() >= MAX_CHATS && !pending.chats.contains_key(chat) {
            pending.chats = HashMap::new();
            pending.is_everything = true;
        } else {
            let first = || ((chat.clone(), subject.clone(), *len, false), BTreeSet::new());
            let (known, told) = pending.chats.entry(chat.clone()).or_insert_with(first);
            told.extend(approvers.iter().cloned());
            known.1 = subject.clone();
            known.2 = known.2.max(*len);
            known.3 |= holds;
        }
        drop(pending);
        self.filled.notify_one();
    }

    /// Takes everything as payloads.
    fn take(&self, from: &str) -> Vec<String> {
        let Pending { chats, is_everything } =
            std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        let named = if is_everything { None } else { payloads(from, chats) };
        named.unwrap_or_else(|| vec![written(&Message { from: from.to_owned(), chats: None, approvers: Vec::new() })])
    }
}

/// `None` if there are too many, or one is too long.
fn payloads(from: &str, chats: HashMap<ChatId, (Change, BTreeSet<Approver>)>) -> Option<Vec<String>> {
    let message = |chats, approvers| written(&Message { from: from.to_owned(), chats: Some(chats), approvers });
    // With the key of the approvers, which may not be there.
    let frame = message(Vec::new(), Vec::new()).len() + r#","approvers":[]"#.len();
    let mut payloads = Vec::new();
    let (mut part, mut told, mut size) = (Vec::new(), Vec::new(), frame);
    for (change, approvers) in chats.into_values() {
        let approvers = (change.0.clone(), approvers.into_iter().collect::<Vec<_>>());
        let length = written(&change).len() + written(&approvers).len() + 2;
        if frame + length > MAX_PAYLOAD {
            return None;
        }
        if size + length > MAX_PAYLOAD {
            payloads.push(message(std::mem::take(&mut part), std::mem::take(&mut told)));
            size = frame;
        }
        size += length;
        part.push(change);
        told.extend(Some(approvers).filter(|(_, approvers)| !approvers.is_empty()));
    }
    if !part.is_empty() {
        payloads.push(message(part, told));
    }
    (payloads.len() <= MAX_PAYLOADS).then_some(payloads)
}

/// JSON in ASCII, which every encoding of a database has.
fn written(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// The task that sends and receives notifications.
pub(super) struct Listener {
    pub(super) connector: Arc<Connector>,
    /// One for each schema.
    pub(super) channel: String,
    /// Identifies this log among those of other nodes.
    pub(super) from: String,
    pub(super) outbox: Arc<Outbox>,
    pub(super) wakeups: broadcast::Sender<Wakeup>,
}

impl Listener {
    /// Runs until it is aborted.
    pub(super) async fn run(self) {
        let mut pause = BACKOFF.0;
        let mut has_listened = false;
        loop {
            let begun = Instant::now();
            if let Err(failure) = self.listen(&mut has_listened).await {
                tracing::debug!(place = self.connector.place, %failure, "no notifications from PostgreSQL; retrying");
            }
            if begun.elapsed() > SILENCE {
                pause = BACKOFF.0;
            }
            sleep(pause).await;
            pause = (pause * 2).min(BACKOFF.1);
        }
    }

    /// Listens and sends on one connection until it is lost.
    async fn listen(&self, has_listened: &mut bool) -> Result<(), Failure> {
        let (notified, mut received) = mpsc::channel(RECEIVED);
        let connection = self.connector.connect_and_listen(Some(notified)).await.map_err(Failure::Connect)?;
        self.in_time(connection.prepare(&[NOTIFY])).await?;
        self.in_time(connection.execute(&format!("LISTEN {}", self.channel))).await?;
        if std::mem::replace(has_listened, true) {
            // What was sent in between is lost.
            let _ = self.wakeups.send(Wakeup::Any);
        }
        let mut next = Instant::now();
        loop {
            tokio::select! {
                notification = received.recv() => match notification {
                    Some(notification) => self.pass_on(&notification),
                    // The connection's task has ended.
                    None => return Err(Failure::Stopped),
                },
                () = async { sleep_until(next).await; self.outbox.filled.notified().await } => {
                    next = Instant::now() + INTERVAL;
                    self.send(&connection).await?;
                }
                () = sleep(SILENCE) => self.in_time(connection.execute("")).await?,
            }
        }
    }

    async fn send(&self, connection: &Connection) -> Result<(), Failure> {
        let payloads = self.outbox.take(&self.from);
        if !payloads.is_empty() {
            self.in_time(connection.run(NOTIFY, &[&self.channel, &payloads])).await?;
        }
        Ok(())
    }

    async fn in_time<T>(&self, doing: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        let limit = self.connector.request_timeout;
        Ok(timeout(limit, doing).await.map_err(|_| Failure::Late(limit))??)
    }

    fn pass_on(&self, notification: &Notification) {
        // Another version may send what this one can't read.
        let Ok(Message { from, chats, approvers }) = serde_json::from_str(notification.payload()) else { return };
        if from == self.from || notification.channel() != self.channel {
            return;
        }
        let Some(chats) = chats else {
            let _ = self.wakeups.send(Wakeup::Any);
            return;
        };
        let mut approvers: HashMap<ChatId, Vec<Approver>> = approvers.into_iter().collect();
        for (chat, subject, len, holds) in chats {
            let approvers = approvers.remove(&chat).unwrap_or_default();
            let _ = self.wakeups.send(Wakeup::Chat(ChatChange { chat, subject, len, holds, approvers }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(chat: &str) -> ChatChange {
        ChatChange { chat: chat.into(), subject: "ann".into(), len: Some(3), holds: false, approvers: Vec::new() }
    }

    fn taken(outbox: &Outbox) -> Vec<Message> {
        let payloads = outbox.take("me");
        assert!(payloads.iter().all(|payload| payload.len() < 8000 && payload.is_ascii()));
        payloads.iter().map(|payload| serde_json::from_str(payload).expect("it is read")).collect()
    }

    #[test]
    fn a_chat_is_named_once() {
        let outbox = Outbox::default();
        let approvers = |names: &[&str]| names.iter().map(|name| name.parse().expect("a name")).collect::<Vec<_>>();
        let told = approvers(&["group:finance"]);
        outbox.add(&ChatChange { holds: true, approvers: told.clone(), ..change("チ\0") });
        outbox.add(&ChatChange { approvers: approvers(&["group:directors", "group:finance"]), ..change("チ\0") });
        outbox.add(&ChatChange { len: Some(9), ..change("チ\0") });
        outbox.add(&change("チ\0"));
        let chats = Some(vec![("チ\0".into(), "ann".into(), Some(9), true)]);
        let all = vec![("チ\0".into(), approvers(&["group:directors", "group:finance"]))];
        assert_eq!(taken(&outbox), [Message { from: "me".to_owned(), chats, approvers: all }]);
        assert_eq!(taken(&outbox), []);
    }

    #[test]
    fn many_chats_are_in_few_payloads() {
        let outbox = Outbox::default();
        for number in 0..1000 {
            outbox.add(&change(&format!("chat {number}")));
        }
        let taken = taken(&outbox);
        assert!(taken.len() < 10, "{}", taken.len());
        assert_eq!(taken.iter().flat_map(|message| message.chats.iter().flatten()).count(), 1000);
    }

    #[test]
    fn too_many_chats_are_everything() {
        let everything = [Message { from: "me".to_owned(), chats: None, approvers: Vec::new() }];
        let outbox = Outbox::default();
        (0..=MAX_CHATS).for_each(|number| outbox.add(&change(&format!("{number}"))));
        assert_eq!(taken(&outbox), everything);
        outbox.add(&change(&"long".repeat(3000)));
        assert_eq!(taken(&outbox), everything);
        outbox.add(&change("one"));
        assert_eq!(taken(&outbox)[0].chats.as_ref().map(Vec::len), Some(1));
    }
}
