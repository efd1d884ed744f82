//! Data folders of earlier versions.
//!
//! `fixtures/format-2.db` was made by the version whose keys had no positions. It has a chat with a payment that was
//! approved (`u0`), a message that was edited away (`u4`, and `u5` with it) and a few turns more (`old`), and a payment that
//! waits for approval (`waits`).
//!
//! `fixtures/format-1.db` was made by the release that kept the holds in the heads.
//! It has a payment that waits for approval (`waits`), a location that waits for the browser (`browser`), a turn that a
//! kill cut off (`cut-off`), an ended one (`done`), and nothing of a deleted one.

use std::{path::Path, sync::Arc, time::Duration};

use holdpoint_protocol::{
    grants::{GrantMatch, GrantScope, Remember},
    ids::{ApprovalId, ChatId},
    request::{ChatRequest, DecisionRequest, Verdict},
};
use holdpoint_runtime::{
    clock::Timestamp,
    driver::{Next, Profile, Runtime, RuntimeError, verify_chain},
    internals::{project::View, turn::Answered},
    log::{Log, SqliteError, SqliteLog},
    subject::Subject,
};
use holdpoint_testkit::ManualClock;
use serde_json::json;
use tempfile::TempDir;

/// Shortly after the file was made, before its first deadline.
const THEN: Timestamp = Timestamp(1_794_831_740_000);

fn folder(fixture: &str) -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    std::fs::copy(fixture, dir.path().join("holdpoint.db")).expect("it is copied");
    dir
}

async fn start(dir: &Path, clock: &Arc<ManualClock>) -> Runtime {
    // The tasks of a runtime that was shut down may still hold it for a moment.
    until("it is free", async || !matches!(SqliteLog::open(dir), Err(SqliteError::InUse { .. }))).await;
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
    let (dir, clock) = (folder("format-1.db"), Arc::new(ManualClock::new(THEN)));
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
    let (dir, clock) = (folder("format-1.db"), Arc::new(ManualClock::new(THEN)));
    let runtime = start(dir.path(), &clock).await;
    clock.set(Timestamp(THEN.0 + 3_600_000));
    until("both expire", async || runtime.holds().await == Ok(0)).await;
    let text = messages(&runtime, "waits").await.expect("it is there");
    assert!(text.contains("Approval request timed out"), "{text}");
}

/// Shortly after the second file was made.
const LATER: Timestamp = Timestamp(1_794_853_280_000);

async fn end(runtime: Runtime) {
    runtime.shutdown(Duration::from_secs(5)).await;
}

async fn say(runtime: &Runtime, id: &str) {
    let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "chat"}]});
    let request: ChatRequest = serde_json::from_value(json!({"id": "old", "messages": [message]})).expect("a request");
    let view = View { profile: Profile::AiSdk, ..View::default() };
    let (_, mut response) = runtime.submit(&Subject::local(), request, view).await.expect("is taken");
    while response.read(&mut Vec::new()).await == Next::More {}
}

async fn count(runtime: &Runtime) -> usize {
    runtime.messages(&Subject::local(), &"old".into()).await.expect("it is there").len()
}

/// Without positions, all turns are read for what belongs to an earlier one. The result is the same.
#[tokio::test]
async fn keys_without_positions_still_lead_to_earlier_turns() {
    let (dir, clock) = (folder("format-2.db"), Arc::new(ManualClock::new(LATER)));
    let me = Subject::local();
    let approval = ApprovalId::from("approval_01a1e597844a76c9ace16caac6e4e5a7");
    for round in 0..2 {
        let runtime = start(dir.path(), &clock).await;
        assert_eq!(runtime.decide(&me, approval.clone(), true).await, Ok(Answered::Again));
        end(runtime).await;
        let runtime = start(dir.path(), &clock).await;
        assert_eq!(runtime.decide(&me, approval.clone(), false).await, Ok(Answered::Contradicts));
        let before = count(&runtime).await;
        say(&runtime, "u2").await;
        assert_eq!(count(&runtime).await, before, "it was answered");
        end(runtime).await;
        // What was edited away is not there any more, and the first round adds it again.
        let runtime = start(dir.path(), &clock).await;
        say(&runtime, "u5").await;
        assert_eq!(count(&runtime).await, if round == 0 { before + 2 } else { before });
        // Another turn moves the checkpoint, now with what is known of cuts.
        say(&runtime, &format!("new {round}")).await;
        end(runtime).await;
    }
    let runtime = start(dir.path(), &clock).await;
    let inbox = runtime.approvals(&me).await.expect("it lists");
    assert_eq!(inbox.len(), 1, "what waited still waits");
    assert_eq!(runtime.decide(&me, inbox[0].approval_id.clone(), true).await, Ok(Answered::Taken));
}

/// What has no hash is nothing that could be vouched for: it is a finding, whoever wrote it.
#[tokio::test]
async fn a_chain_begins_after_what_has_none_and_that_is_a_finding() {
    let (dir, clock) = (folder("format-2.db"), Arc::new(ManualClock::new(LATER)));
    let walked = async || {
        let log = SqliteLog::open_read_only(dir.path()).expect("it opens");
        let mut found = Vec::new();
        let mut report = |broken: holdpoint_runtime::log::Break| found.push(broken.to_string());
        let verified =
            verify_chain(&log, &"old".into(), None, &mut report).await.expect("it reads").expect("it is there");
        (verified, found)
    };
    let runtime = start(dir.path(), &clock).await;
    let (before, found) = walked().await;
    assert!(before.unchained > 0 && before.chained == 0 && before.hash.is_none(), "{before:?}");
    assert!(found.len() == 1 && found[0].starts_with("position 0: the hash of the events before"), "{found:?}");
    say(&runtime, "new").await;
    runtime.idle(&Subject::local(), &"old".into()).await.expect("it ends");
    let (after, found) = walked().await;
    assert!(after.unchained == before.unchained && after.chained > 0 && after.hash.is_some(), "{after:?}");
    assert_eq!(found.len(), 1, "{found:?}");
    end(runtime).await;
}

/// Grants have a table of their own since format 5.
#[tokio::test]
async fn what_waited_before_the_upgrade_can_be_remembered() {
    let (dir, clock) = (folder("format-2.db"), Arc::new(ManualClock::new(LATER)));
    let me = Subject::local();
    let runtime = start(dir.path(), &clock).await;
    let inbox = runtime.approvals(&me).await.expect("it lists");
    let remember = Remember { scope: GrantScope::Subject, covers: GrantMatch::Tool, until: None, uses: None };
    let decision = DecisionRequest { verdict: Verdict::APPROVE, reason: None, remember: Some(remember) };
    let decided = runtime.decide(&me, inbox[0].approval_id.clone(), decision).await;
    let Ok(Answered::Remembered(grant)) = decided else { panic!("{decided:?}") };
    end(runtime).await;
    let runtime = start(dir.path(), &clock).await;
    let request = ChatRequest::user("new", "Send 20 dollars to Jun");
    let (_, mut response) = runtime.submit(&me, request, View::default()).await.expect("is taken");
    while response.read(&mut Vec::new()).await == Next::More {}
    assert!(messages(&runtime, "new").await.expect("it is there").contains(grant.as_str()));
    assert_eq!(runtime.grants_page(&me, None, 10).await.expect("it lists").items[0].used, 1);
}
