//! Each handle of a runtime, by names from the root of the crate: what its methods take and give can be written down by a
//! program that depends on nothing else.

use std::sync::Arc;

use futures::StreamExt;
use holdpoint_runtime::{
    Admin, Anchor, Answered, ApprovalCursor, ApprovalFilter, ApprovalRow, ApprovalState, Audit, AuditCursor, Changes,
    Channel, ChatCursor, ChatSummary, Chats, Counts, Finding, GrantCursor, Grants, Hold, Identity, Inbox, Limits,
    Listed, Live, LiveStream, LiveTaken, Next, OpenHold, Page, ResponseStream, Resume, Runtime, RuntimeBuilder,
    RuntimeError, StoredChat, Subject, Tickets, Tool, ToolContext, ToolSet, Verified, View,
    clock::{Clock, SystemClock, Timestamp},
    identity::Role,
    log::{AuditEntry, AuditQuery, Health, NodeId},
    model::{Model, ScriptModel},
    protocol::{
        audit::AuditLine,
        chunk::{Chunk, Chunks},
        grants::{Grant, GrantMatch, GrantScope, Remember},
        holds::ChatHold,
        ids::{ApprovalId, ChatId},
        message::UiMessage,
        request::{ApprovalRecord, ChatRequest, DecisionRequest, PendingApproval, Verdict},
    },
    tool::StoredFile,
    transfer::{ExportError, Importer},
    wire::{Event, ResponsePlan},
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, RuntimeError>;

/// A chat that waits for the approval of its only call.
async fn asked() -> (Runtime, ChatId, PendingApproval) {
    let pay = Tool::server("pay", "Pays", async |_: Value, _: ToolContext| Ok(json!({"paid": true})));
    let tools: ToolSet = [pay.approve_always().build().expect("a valid tool")].into_iter().collect();
    let script =
        json!({"turns": [{"steps": [[{"toolCall": {"name": "pay", "input": {"amount": 5}}}], [{"text": ["Done."]}]]}]});
    let model: Arc<dyn Model> = Arc::new(ScriptModel::from_text(&script.to_string()).expect("a valid script"));
    let builder: RuntimeBuilder = Runtime::builder(model).tools(tools).clock(Arc::new(SystemClock));
    let runtime = builder.start().await.expect("starts");
    let submitted: Result<(ChatId, ResponseStream)> =
        runtime.submit(ann(), ChatRequest::user("chat", "pay"), View::default()).await;
    let (chat, response) = submitted.expect("is taken");
    let chunks: Vec<Chunk> = response.collect().await;
    assert!(!chunks.is_empty());
    let listed: Result<Vec<PendingApproval>> = runtime.inbox(ann()).list().await;
    let approval = listed.expect("it lists").pop().expect("it waits");
    (runtime, chat, approval)
}

fn ann() -> Subject {
    Subject::from("ann")
}

fn bob() -> Identity {
    Identity::new("bob")
}

fn admin() -> Identity {
    Identity::new("root").with_roles([Role::Admin])
}

#[tokio::test]
async fn the_inbox_lists_shows_decides_and_records() {
    let (runtime, chat, approval) = asked().await;
    let ann = ann();
    let inbox: Inbox<'_> = runtime.inbox(&ann);
    let filter = ApprovalFilter { tool: Some("pay".to_owned()), ..ApprovalFilter::default() };
    let page: Page<PendingApproval, ApprovalCursor> = inbox.page(&filter, None, 10).await.expect("it lists");
    let rows: Page<ApprovalRow, ApprovalCursor> = inbox.rows(&filter, None, 10).await.expect("it lists");
    assert_eq!(page.items, [rows.items[0].entry(&Identity::from(&ann))]);
    let id: ApprovalId = approval.approval_id;
    let open: Option<ApprovalState> = inbox.get(&id).await.expect("it is read");
    assert!(matches!(open, Some(ApprovalState::Open(_))));
    let taken: Result<Answered> = inbox.decide_shown(id.clone(), true, approval.input_sha256.map(Into::into)).await;
    assert_eq!(taken, Ok(Answered::Taken));
    runtime.chats(&ann).idle(&chat).await.expect("its turn ends");
    let record: Option<ApprovalRecord> = inbox.record(&id).await.expect("it is read");
    assert!(record.is_some_and(|record| record.outcome.is_some()));
    assert_eq!(runtime.inbox(bob()).get(&id).await, Ok(None), "it is not bob's");
}

#[tokio::test]
async fn the_chats_of_a_subject_are_listed_read_and_deleted() {
    let (runtime, chat, _) = asked().await;
    let ann = ann();
    let chats: Chats<'_> = runtime.chats(&ann);
    let list: Vec<ChatSummary> = chats.list().await.expect("it lists");
    let page: Page<ChatSummary, ChatCursor> = chats.page(None, 10).await.expect("it lists");
    assert_eq!((list.len(), page.items), (1, list));
    let stored: StoredChat = chats.open(&chat).await.expect("is there");
    let holds: Vec<ChatHold> = stored.holds(Listed::Holds, &Identity::from(&ann)).await.expect("they are read");
    let open: Vec<OpenHold> = chats.open_holds().await.expect("it lists");
    let hold: &Hold = &open[0].hold;
    assert_eq!(hold.call, holds[0].tool_call_id);
    let file: Option<StoredFile> = chats.file(&chat, &hold.call, 0).await.expect("it is read");
    assert_eq!(file, None);
    let tools: ToolSet = chats.tools(&chat);
    assert!(tools.get("pay").is_some() && chats.owns(&chat).await);
    let resumed: Option<ResponseStream> =
        chats.resume(&chat, View::default(), Resume::Message).await.expect("it is read");
    drop(resumed);
    chats.stop(&chat, Some("enough".to_owned())).await.expect("it stops");
    let messages: Vec<UiMessage> = chats.messages(&chat).await.expect("they are read");
    assert_eq!(messages.len(), 2);
    chats.delete(&chat).await.expect("it is deleted");
    assert!(!chats.owns(&chat).await);
}

#[tokio::test]
async fn a_live_connection_follows_and_submits() {
    let (runtime, chat, approval) = asked().await;
    let view = View::default();
    let live: Live<'_> = runtime.live(ann());
    let mut stream: LiveStream = live.follow(&chat, view).await.expect("is there");
    let mut out: Vec<Event> = Vec::new();
    let next: Next = stream.next(&mut out).await;
    assert!(next == Next::More && !out.is_empty());
    let chunks: Vec<Chunks> = out.into_iter().filter_map(Event::into_chunks).collect();
    assert!(!chunks.is_empty());
    let refused: Result<LiveTaken> = live.submit(&chat, ChatRequest::user("chat", ""), view).await;
    let plan: Option<ResponsePlan> = refused.ok().map(|taken| taken.plan);
    drop(plan);
    let other: LiveStream = live.follow_from_now(&chat, view).await.expect("is there");
    drop(other);
    assert_eq!(runtime.inbox(ann()).decide(approval.approval_id, false).await, Ok(Answered::Taken));
}

/// What an identity may see is for the runtime to decide, not for its caller.
#[tokio::test]
async fn grants_and_the_record_are_for_those_they_concern() {
    let (runtime, chat, approval) = asked().await;
    let remember = Remember { scope: GrantScope::Chat, covers: GrantMatch::Tool, until: None, uses: Some(5) };
    let decision = DecisionRequest { verdict: Verdict::APPROVE, reason: None, remember: Some(remember) };
    let decided = runtime.inbox(ann()).decide(approval.approval_id, decision).await;
    assert!(matches!(decided, Ok(Answered::Remembered(_))), "{decided:?}");
    runtime.chats(&ann()).idle(&chat).await.expect("its turn ends");

    let own: Grants<'_> = runtime.grants(ann());
    let page: Page<Grant, GrantCursor> = own.page(None, 10).await.expect("it lists");
    assert_eq!(page.items.len(), 1);
    let grant = &page.items[0].id;
    assert_eq!(runtime.grants(bob()).page(None, 10).await.expect("it lists").items, []);
    assert_eq!(runtime.grants(bob()).revoke(grant).await, Err(RuntimeError::NotFound));
    let revoked: Grant = own.revoke(grant).await.expect("it is revoked");
    assert_eq!(revoked.revoked_by.as_deref(), Some("ann"));

    let lines = async |audit: Audit<'_>| -> usize {
        let page: Page<AuditLine, AuditCursor> = audit.page(AuditQuery::default(), None, 100).await.expect("it lists");
        let stored: Page<AuditEntry, AuditCursor> =
            audit.entries(AuditQuery::default(), None, 100).await.expect("it lists");
        assert_eq!(page.items.len(), stored.items.len());
        page.items.len()
    };
    let all = lines(runtime.audit(admin())).await;
    assert!(all > 0);
    assert_eq!((lines(runtime.audit(ann())).await, lines(runtime.audit(bob())).await), (all, 0));
    let query = AuditQuery { seen_by: Some(ann()), ..AuditQuery::default() };
    assert_eq!(runtime.audit(bob()).page(query, None, 100).await.expect("it lists").items, []);
}

#[tokio::test]
async fn operators_see_all_chats_verify_and_export() {
    let (runtime, chat, _) = asked().await;
    let all: Admin<'_> = runtime.admin();
    let page: Page<ChatSummary, ChatCursor> = all.chats(None, 10).await.expect("it lists");
    assert_eq!(page.items.len(), 1);
    let owner: Option<Subject> = all.owner_of(&chat).await.expect("it is read");
    assert_eq!(owner, Some(ann()));
    let (counts, limits, node): (Counts, Limits, Option<NodeId>) = (all.counts(), all.limits(), all.node());
    assert_eq!((counts.unreadable_chats, limits, node), (0, Limits::default(), None));
    let health: Health = all.health().await;
    assert!(health == Health::Writable && all.is_writable().await);
    assert_eq!((all.holds().await, all.turns(), all.model_name().as_str()), (Ok(1), 0, "script"));

    let mut findings: Vec<Finding> = Vec::new();
    let mut report = |finding| findings.push(finding);
    let verified: Option<Verified> = all.verify(&chat, None, &mut report).await.expect("it is read");
    let hash = verified.and_then(|verified| verified.hash).expect("a chain");
    let anchor = Anchor { chat: chat.clone(), len: 1, hash, deleted: false };
    assert!(all.verify(&chat, Some(&anchor), &mut report).await.expect("it is read").is_some());
    assert!(!findings.is_empty(), "the anchor is not that of its first fact");

    let mut lines: Vec<u8> = Vec::new();
    let exported: std::result::Result<u64, ExportError> = all.export(&chat, &mut lines).await;
    assert!(exported.expect("it is exported") > 0);
    let other = holdpoint_runtime::log::MemoryLog::default();
    let mut importer = Importer::new(&other);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        importer.line(line).await.expect("it is imported");
    }
    importer.finish().expect("it is whole");
    all.delete(&ann(), &chat, admin().subject()).await.expect("it is deleted");
}

#[tokio::test]
async fn the_rest_has_names_too() {
    let (runtime, _, _) = asked().await;
    let clock: &Arc<dyn Clock> = runtime.clock();
    let changes: Changes = runtime.changes(ann());
    drop(changes);
    let tickets: Tickets<'_> = runtime.tickets();
    let kept: Result<bool> = tickets.keep("digest", &admin(), Timestamp(clock.now().0 + 1000)).await;
    let redeemed: Result<Option<Identity>> = tickets.redeem("digest").await;
    assert_eq!((kept, redeemed), (Ok(false), Ok(None)), "no other node has this log");
    let request = ChatRequest::user("another chat", "pay");
    assert!(runtime.submit_through(Channel::Ws, ann(), request, View::default()).await.is_ok());
    runtime.set_tools(runtime.tools());
}
