//! Round trips: the same facts, the same batches, the same head. And what is rejected.

use holdpoint_protocol::request::ChatRequest;
use serde_json::json;

use super::*;
use crate::{
    driver::{Next, Runtime, RuntimeBuilder},
    log::{Batch, Found, HeadQuery, HoldChanges, HoldQuery, HoldsOf, Index, Log, MemoryLog, Ownership, Store, Stored},
    model::ScriptModel,
    tool::{Tool, ToolContext, ToolSet},
    wire::View,
};

/// A model that pays, and the tool for it.
fn paying() -> RuntimeBuilder {
    let script = r#"{"turns": [{"steps": [[{"toolCall": {"name": "pay", "input": {"recipient": "Hanako"}}}]]}]}"#;
    let model = ScriptModel::from_text(script).expect("a script");
    let pay = Tool::server("pay", "Pays", |_: serde_json::Value, _: ToolContext| async { Ok(()) });
    let tools = ToolSet::new([pay.approve_always().build().expect("a tool")]).expect("one tool");
    Runtime::builder(std::sync::Arc::new(model)).tools(tools)
}

/// A log with one chat in which a payment waits for approval.
async fn played(id: &str) -> std::sync::Arc<MemoryLog> {
    let log = std::sync::Arc::new(MemoryLog::default());
    let runtime = paying().log(log.clone()).start().await.expect("it starts");
    let request: ChatRequest = serde_json::from_value(json!({"id": id, "messages": [
        {"role": "user", "parts": [{"type": "text", "text": "send 50 dollars to Hanako"}]},
    ]}))
    .expect("a request");
    let (_, mut response) = runtime.submit(&Subject::local(), request, View::default()).await.expect("taken");
    while response.read(&mut Vec::new()).await == Next::More {}
    runtime.shutdown(std::time::Duration::from_secs(5)).await;
    log
}

async fn text(log: &dyn Store, chat: &str) -> String {
    let mut out = Vec::new();
    export(log, &chat.into(), &mut out).await.expect("exported");
    String::from_utf8(out).expect("text")
}

async fn import(log: &dyn Store, text: &str) -> Result<Vec<Imported>, ImportError> {
    let mut importer = Importer::new(log);
    let mut imported = Vec::new();
    for line in text.lines() {
        imported.extend(importer.line(line.as_bytes()).await?);
    }
    importer.finish()?;
    Ok(imported)
}

#[tokio::test]
async fn a_chat_comes_back_as_it_was() {
    let (from, to) = (played("a").await, MemoryLog::default());
    let exported = text(&*from, "a").await;
    let chat = ChatId::from("a");
    let stored = from.stored(&chat).await.expect("it reads");
    let Some(Stored::Chat { len: length, .. }) = stored else { panic!("{stored:?}") };
    assert_eq!(import(&to, &exported).await.expect("imported"), [Imported::Written { chat: chat.clone(), length }]);
    assert_eq!(to.stored(&chat).await.expect("it reads"), stored);
    // It runs nowhere now.
    let batches = from.read(&chat, 0, 100).await.expect("it reads").into_iter();
    let batches: Vec<Batch> = batches.map(|batch| Batch { owner: None, ..batch }).collect();
    assert_eq!(to.read(&chat, 0, 100).await, Ok(batches));
    let holds = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: true, after: None };
    let held = from.holds(holds.clone(), 10).await.expect("it lists");
    assert_eq!(held.len(), 1);
    assert_eq!(to.holds(holds, 10).await, Ok(held), "and what waits still waits");
    assert_eq!(text(&to, "a").await, exported);
    let open = to.heads(HeadQuery { only_open: true, ..HeadQuery::default() }, 10).await.expect("it lists");
    assert_eq!(open.len(), 1, "it still waits");
    // The key by which the inbox finds it.
    let approval = exported.split_once("\"approval\":\"").and_then(|(_, rest)| rest.split_once('"')).expect("an id").0;
    assert_eq!(to.find(&Subject::local(), approval).await, Ok(Some(Found { chat: chat.clone(), at: 0 })));

    // Importing again changes nothing.
    assert_eq!(import(&to, &exported).await.expect("imported"), [Imported::Known { chat: chat.clone() }]);
    // A different chat with that id is kept.
    let other = text(&*played("a").await, "a").await;
    assert_eq!(import(&to, &other).await.expect("imported"), [Imported::Taken { chat }]);
    assert_eq!(text(&to, "a").await, exported);
}

#[tokio::test]
async fn nothing_is_imported_that_is_not_whole() {
    let exported = text(&*played("a").await, "a").await;
    let lines: Vec<&str> = exported.lines().collect();
    let forbidden = exported.replacen("\"recipient\"", "\"__proto__\"", 1);
    let without_first = [&lines[..1], &lines[2..]].concat().join("\n");
    for (what, text, says) in [
        ("cut off", lines[..lines.len() - 1].join("\n"), "end"),
        ("a batch is missing", without_first, "begins at"),
        ("no head", lines[1..].join("\n"), "no chat"),
        ("another owner", exported.replacen("\"subject\":\"local\"", "\"subject\":\"eve\"", 1), "subject"),
        ("a newer version", exported.replacen("\"version\":1", "\"version\":9", 1), "newer"),
        ("an unknown fact", exported.replacen("\"fact\":\"asked\"", "\"fact\":\"sung\"", 1), "can't be decoded"),
        ("a key that breaks clients", forbidden, "browser"),
        ("a wrong length", exported.replacen("\"length\":", "\"length\":1", 1), "facts here"),
        ("no JSON", "{".to_owned(), "not a line"),
        ("a fact that was changed", exported.replacen("Hanako", "Mallory", 1), "was changed"),
        ("an empty id", exported.replace("\"chat\":\"a\"", "\"chat\":\"\""), "1 to 256"),
    ] {
        let log = MemoryLog::default();
        let error = import(&log, &text).await.expect_err(what).to_string();
        assert!(error.contains(says), "{what}: {error}");
        assert_eq!(log.heads(HeadQuery::default(), 10).await.expect("it lists"), [], "{what}");
    }
}

#[tokio::test]
async fn what_cannot_be_exported_says_why() {
    let log = MemoryLog::default();
    assert!(matches!(export(&log, &"none".into(), &mut Vec::new()).await, Err(ExportError::NotFound)));
    let head = crate::log::Head {
        subject: Subject::local(),
        is_open: false,
        updated_at: Timestamp(0),
        data: bytes::Bytes::new(),
    };
    let append = crate::log::Append {
        chat: "broken".into(),
        expected: 0,
        append_id: crate::log::AppendId(1),
        count: 1,
        payload: bytes::Bytes::from_static(b"[{\"fact\":"),
        head,
        keys: Vec::new(),
        holds: HoldChanges::default(),
        ownership: Ownership::Release,
        digest: None,
        audit: Vec::new(),
        grants: crate::log::GrantChanges::default(),
    };
    log.append_many(vec![append]).await;
    let error = export(&log, &"broken".into(), &mut Vec::new()).await.expect_err("it can't be decoded");
    assert!(error.to_string().contains("fact 0"), "{error}");
}
