//! A data folder of the version before: `fixtures/format-1.db` was made by the release that kept the holds in the heads.
//! It has a payment that waits for approval (`waits`), a location that waits for the browser (`browser`), a turn that a
//! kill cut off (`cut-off`), an ended one (`done`), and nothing of a deleted one.

use std::{path::Path, sync::Arc, time::Duration};

use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    driver::{Runtime, RuntimeError},
    internals::turn::Answered,
    log::{Log, SqliteLog},
    subject::Subject,
};
use holdpoint_testkit::ManualClock;
use tempfile::TempDir;

/// Shortly after the file was made, before its first deadline.
const THEN: Timestamp = Timestamp(1_794_831_740_000);

fn folder() -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1.db");
    std::fs::copy(fixture, dir.path().join("holdpoint.db")).expect("it is copied");
    dir
}

async fn start(dir: &Path, clock: &Arc<ManualClock>) -> Runtime {
    let log: Arc<dyn Log> = Arc::new(SqliteLog::open(dir).expect("it is migrated"));
    Runtime::builder().log(log).clock(Arc::clone(clock) as _).start().await.expect("starts")
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..2000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("in vain: {what}");
}

async fn messages(runtime: &Runtime, chat: &str) -> Result<String, RuntimeError> {
    let messages = runtime.messages(&Subject::local(), &ChatId::from(chat)).await?;
    Ok(serde_json::to_string(&messages).expect("JSON"))
}

#[tokio::test]
async fn what_waited_before_the_upgrade_still_waits() {
    let (dir, clock) = (folder(), Arc::new(ManualClock::new(THEN)));
    let runtime = start(dir.path(), &clock).await;
    let me = Subject::local();
    let inbox = runtime.approvals(&me).await.expect("it lists");
    let [payment] = &inbox[..] else { panic!("{inbox:?}") };
    assert_eq!((payment.chat_id.as_str(), payment.tool_name.as_str()), ("waits", "process_payment"));
    assert_eq!(payment.input["recipient"], "Hanako");
    assert_eq!(payment.expires_at.as_deref(), Some("2026-11-16T12:27:15.625Z"));
    let open = runtime.open_holds(&me).await.expect("it lists");
    let chats: Vec<&str> = open.iter().map(|open| open.chat.as_str()).collect();
    assert_eq!(chats, ["browser", "waits"]);
    let listed = runtime.chats(&me).await.expect("it lists");
    let holds: Vec<_> = listed.iter().map(|chat| (chat.id.as_str(), chat.holds)).collect();
    assert!(
        holds.contains(&("done", 0)) && holds.contains(&("waits", 1)) && holds.contains(&("browser", 1)),
        "{holds:?}"
    );

    until("the turn that was cut off is done again", async || {
        let text = messages(&runtime, "cut-off").await.expect("it is there");
        !text.contains("Half of an") && text.contains("assistant")
    })
    .await;
    assert_eq!(runtime.decide(&me, payment.approval_id.clone(), true).await, Ok(Answered::Taken));
    runtime.idle(&me, &"waits".into()).await.expect("it ends");
    let text = messages(&runtime, "waits").await.expect("it is there");
    assert!(text.contains("output-available"), "{text}");
    assert_eq!(messages(&runtime, "deleted").await, Err(RuntimeError::NotFound));
}

#[tokio::test]
async fn deadlines_from_before_the_upgrade_are_kept() {
    let (dir, clock) = (folder(), Arc::new(ManualClock::new(THEN)));
    let runtime = start(dir.path(), &clock).await;
    clock.set(Timestamp(THEN.0 + 3_600_000));
    until("both expire", async || runtime.holds().await == Ok(0)).await;
    let text = messages(&runtime, "waits").await.expect("it is there");
    assert!(text.contains("Approval request timed out"), "{text}");
}
