//! Heads and holds of chats that were damaged on disk: what waits and what runs is found by reading the chat itself.

use std::{path::Path, sync::Arc, time::Duration};

use holdpoint_runtime::{
    clock::Timestamp,
    log::{SqliteError, SqliteLog, Store},
    subject::Subject,
    turn::Answered,
};
use holdpoint_testkit::ManualClock;
use tempfile::TempDir;

use super::*;

/// Opens the log, as soon as whoever had it before is gone.
async fn log(dir: &Path) -> Arc<dyn Store> {
    for _ in 0..1000 {
        match SqliteLog::open(dir) {
            Err(SqliteError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            opened => return Arc::new(opened.expect("it opens")),
        }
    }
    panic!("the log is never closed");
}

/// Two chats: one with a hold, one whose turn was cut off. Then every head is damaged.
async fn damaged(head: &str) -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    let runtime = builder().log(log(dir.path()).await).start().await.expect("starts");
    asked(&runtime, "holds").await;
    runtime.shutdown(Duration::ZERO).await;
    drop(runtime);
    let runtime = with_model(Arc::new(Silent)).log(log(dir.path()).await).start().await.expect("starts");
    submit(&runtime, "cut off").await;
    runtime.shutdown(Duration::ZERO).await;
    drop(runtime);
    drop(log(dir.path()).await);
    let file = rusqlite::Connection::open(dir.path().join("holdpoint.db")).expect("it opens");
    let changed = file.execute(&format!("UPDATE chats SET head = {head}"), []).expect("it writes");
    assert_eq!(changed, 2);
    let data = head.replace("head", "data").replace("holds", "input");
    let changed = file.execute(&format!("UPDATE holds SET data = {data}"), []).expect("it writes");
    assert_eq!(changed, 1);
    dir
}

#[tokio::test]
async fn a_damaged_head_loses_nothing() {
    for head in ["x'7b22'", "x''", "x'7b7d'", "CAST(replace(CAST(head AS TEXT), 'holds', '-') AS BLOB)"] {
        let dir = damaged(head).await;
        let clock = Arc::new(ManualClock::new(NOW));
        let runtime = builder().log(log(dir.path()).await).clock(clock.clone()).start().await.expect("starts");
        let inbox = runtime.inbox(Subject::local()).list().await.expect("it lists");
        assert_eq!(inbox.len(), 1, "{head}: what waits is in the inbox");
        assert!(inbox[0].expires_at.is_some(), "{head}: and expires");
        assert_eq!(runtime.admin().counts().unreadable_heads, 1, "{head}: and an operator can see it");
        let chats = runtime.chats(&Subject::local()).list().await.expect("can be listed");
        assert!(runtime.admin().counts().unreadable_heads > 1, "{head}");
        assert!(chats.iter().all(|chat| chat.title == "go"), "{head}: {chats:?}");
        until("the turn that was cut off goes on", async || {
            runtime.inbox(Subject::local()).list().await.expect("it lists").len() == 2
        })
        .await;
        let decided = runtime.inbox(Subject::local()).decide(inbox[0].approval_id.clone(), true).await;
        assert_eq!(decided, Ok(Answered::Taken), "{head}");
        // The other one expires.
        clock.set(Timestamp(NOW.0 + 86_400_000));
        until("the deadline comes", async || runtime.admin().holds().await == Ok(0)).await;
        runtime.shutdown(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn a_damaged_head_still_expires() {
    let dir = damaged("x'7b22'").await;
    let tomorrow = Arc::new(ManualClock::new(Timestamp(NOW.0 + 86_400_000)));
    let runtime =
        with_model(Arc::new(Silent)).log(log(dir.path()).await).clock(tomorrow).start().await.expect("starts");
    until("the deadline comes", async || runtime.admin().holds().await == Ok(0)).await;
    let text = history(&runtime, "holds").await;
    assert!(text.contains("Approval request timed out"), "{text}");
}

#[test]
fn what_is_left_of_a_database_is_refused() {
    let dir = TempDir::new().expect("a temporary folder");
    let file = dir.path().join("holdpoint.db");
    std::fs::write(&file, b"").expect("can be written");
    let error = SqliteLog::open(dir.path()).expect_err("nothing is in it");
    assert!(matches!(error, SqliteError::Empty { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("holdpoint.db is empty (0 bytes)") && text.contains("Restore a backup"), "{text}");

    std::fs::remove_file(&file).expect("can be removed");
    std::fs::write(dir.path().join("holdpoint.db-wal"), b"something").expect("can be written");
    let error = SqliteLog::open(dir.path()).expect_err("what it belongs to is gone");
    assert!(matches!(error, SqliteError::Missing { .. }), "{error:?}");

    std::fs::write(&file, b"SQLite format 3\0 and then nothing that it should be").expect("can be written");
    let error = SqliteLog::open(dir.path()).expect_err("it is not a database");
    assert!(matches!(error, SqliteError::File { .. }), "{error:?}");
}
