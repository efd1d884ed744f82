//! The record: listed by chat, subject, tool and time, in pages, and kept when a chat is deleted.

use holdpoint_runtime::log::{AuditEntry, AuditQuery, AuditRow, DeleteResult, PAGE_BYTES};

use super::*;

fn row(index: u32, at: u64, tool: &str, by: Option<&str>) -> AuditRow {
    let (by, data) = (by.map(Subject::from), Bytes::from(format!("{at} {tool}")));
    AuditRow { index, at: Timestamp(at), tool: tool.into(), by, data, contents: Some(Bytes::from_static(b"secret")) }
}

/// All entries, in pages, as `CHAT POSITION`.
async fn pages(log: &dyn Store, mut query: AuditQuery, limit: usize) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = log.audit(query.clone(), limit).await.expect("it lists");
        assert!(page.len() <= limit);
        let Some(AuditEntry { at, chat, position, .. }) = page.last() else { return found };
        query.after = Some((*at, chat.clone(), *position));
        found.extend(page.iter().map(|entry| format!("{} {}", entry.chat, entry.position)));
    }
}

/// Every combination of filters, in full and in pages of any size.
pub async fn the_record_is_listed_in_order_and_in_pages(log: Shared) {
    let audit =
        |append: Append, subject: &str, audit: Vec<AuditRow>| Append { head: head(subject, true, 1), audit, ..append };
    let first = vec![row(0, 10, "pay", None), row(2, 20, "pay", Some("bob"))];
    must(&*log, audit(append_facts("a", 0, 1, 3), "ann", first)).await;
    must(&*log, audit(append("b", 0, 2), "bob", vec![row(0, 15, "look", None)])).await;
    must(&*log, audit(append("a", 3, 3), "ann", vec![row(0, 20, "look", Some("ann"))])).await;
    must(&*log, audit(append("b", 1, 4), "bob", vec![row(0, 5, "pay", Some("ann"))])).await;
    // Neither of these is written.
    assert_eq!(
        one(&*log, audit(append("a", 0, 9), "ann", vec![row(0, 1, "pay", None)])).await,
        AppendResult::Conflict { len: 4 }
    );
    must(&*log, audit(append("a", 3, 3), "ann", vec![row(0, 20, "look", Some("ann"))])).await;
    let all = AuditQuery::default;
    let cases: &[(AuditQuery, &[&str])] = &[
        (all(), &["b 1", "a 0", "b 0", "a 2", "a 3"]),
        (AuditQuery { chat: Some("a".into()), ..all() }, &["a 0", "a 2", "a 3"]),
        (AuditQuery { chat: Some("b".into()), ..all() }, &["b 0", "b 1"]),
        (AuditQuery { chat: Some("none".into()), ..all() }, &[]),
        (AuditQuery { tool: Some("pay".into()), ..all() }, &["b 1", "a 0", "a 2"]),
        (AuditQuery { since: Some(Timestamp(10)), until: Some(Timestamp(20)), ..all() }, &["a 0", "b 0"]),
        (AuditQuery { seen_by: Some("ann".into()), ..all() }, &["b 1", "a 0", "a 2", "a 3"]),
        (AuditQuery { seen_by: Some("bob".into()), ..all() }, &["b 1", "b 0", "a 2"]),
        (AuditQuery { seen_by: Some("eve".into()), ..all() }, &[]),
        (AuditQuery { subject: Some("bob".into()), ..all() }, &["b 1", "b 0", "a 2"]),
        (AuditQuery { seen_by: Some("ann".into()), subject: Some("bob".into()), ..all() }, &["b 1", "a 2"]),
        (AuditQuery { seen_by: Some("bob".into()), chat: Some("a".into()), ..all() }, &["a 2"]),
        (AuditQuery { seen_by: Some("ann".into()), tool: Some("look".into()), ..all() }, &["a 3"]),
    ];
    for (query, expected) in cases {
        for limit in [1, 2, 3, 100] {
            assert_eq!(pages(&*log, query.clone(), limit).await, *expected, "{query:?} by {limit}");
        }
    }
    let entries = log.audit(AuditQuery { chat: Some("a".into()), ..all() }, 10).await.expect("it lists");
    let expected = AuditEntry {
        chat: "a".into(),
        position: 2,
        owner: "ann".into(),
        at: Timestamp(20),
        tool: "pay".into(),
        by: Some("bob".into()),
        data: Bytes::from_static(b"20 pay"),
        contents: Some(Bytes::from_static(b"secret")),
    };
    assert_eq!(entries[1], expected);
}

/// A deletion removes the contents, and nothing else. The chat that uses the id next goes on behind.
pub async fn the_record_of_a_deleted_chat_stays_without_contents(log: Shared) {
    for chat in ["a", "b"] {
        must(&*log, Append { audit: vec![row(0, 1, "pay", Some("ann"))], ..append(chat, 0, 1) }).await;
    }
    assert_eq!(log.delete(&"a".into(), deletion(1)).await, Ok(DeleteResult::Deleted));
    must(&*log, Append { audit: vec![row(0, 2, "pay", None)], ..append("a", 2, 2) }).await;
    let entries = log.audit(AuditQuery::default(), 10).await.expect("it lists");
    let mut found: Vec<_> =
        entries.iter().map(|entry| (entry.chat.as_str(), entry.position, entry.contents.is_some())).collect();
    found.sort_unstable();
    assert_eq!(found, [("a", 0, false), ("a", 1, false), ("a", 2, true), ("b", 0, true)]);
    let told = entries.iter().find(|entry| (entry.chat.as_str(), entry.position) == ("a", 1)).expect("the deletion");
    let AuditRow { at, tool, by, data, .. } = deletion(1).row;
    assert_eq!((told.at, &told.tool, &told.by, &told.data, told.owner.as_str()), (at, &tool, &by, &data, "ann"));
}

/// Contents can be large.
pub async fn a_page_of_a_large_record_ends_early(log: Shared) {
    let contents = Some(Bytes::from(vec![b'x'; PAGE_BYTES / 4]));
    for at in 0..8 {
        let audit = vec![AuditRow { contents: contents.clone(), ..row(0, at, "pay", None) }];
        must(&*log, Append { audit, ..append("a", at, at.into()) }).await;
    }
    let page = log.audit(AuditQuery::default(), 100).await.expect("it lists");
    assert!((4..8).contains(&page.len()), "{}", page.len());
    assert_eq!(pages(&*log, AuditQuery::default(), 100).await.len(), 8);
}
