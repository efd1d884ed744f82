//! The contract of lists, keys and deletion.

use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    log::{Append, AppendResult, DeleteResult, Found, HeadOrder, HeadQuery, Key, LogError, Store, Stored},
    subject::Subject,
};

use super::{Shared, all, append, append_facts, deletion, head, must, one};

/// Every combination of filters and orders, in full and in pages of any size.
pub async fn heads_are_listed_in_order_and_in_pages(log: Shared) {
    // Not created in the order of their ids, which is byte order.
    let mut ids: Vec<_> = (0..60u32).map(|number| format!("{:02}", number * 37 % 60)).collect();
    ids.extend(["Z".into(), "a".into(), "é".into(), "チ".into(), "🦀".into(), "0".into()]);
    let kind =
        |id: &str| (if id.ends_with(['1', '4', 'a']) { "bob" } else { "ann" }, id.ends_with(['0', '1', '2', 'Z', 'a']));
    // Several have the same time.
    let time = |id: &str| id.bytes().map(|byte| u64::from(byte % 5)).sum();
    for id in &ids {
        let (subject, is_open) = kind(id);
        must(&*log, Append { head: head(subject, is_open, time(id)), ..append_facts(id, 0, 1, 3) }).await;
    }
    ids.sort();
    for subject in [None, Some("ann"), Some("bob"), Some("nobody")] {
        for only_open in [false, true] {
            let fits = |id: &&String| {
                let (whose, is_open) = kind(id);
                subject.is_none_or(|subject| subject == whose) && (is_open || !only_open)
            };
            let expected: Vec<_> = ids.iter().filter(fits).cloned().collect();
            let mut newest = expected.clone();
            newest.sort_by_key(|id| (std::cmp::Reverse(time(id)), id.clone()));
            let orders = [(HeadOrder::Id { after: None }, &expected), (HeadOrder::Newest { after: None }, &newest)];
            for (order, expected) in orders {
                for limit in [1, 7, 1000] {
                    let query = HeadQuery { subject: subject.map(Into::into), only_open, order: order.clone() };
                    assert_eq!(pages(&*log, query.clone(), limit).await, *expected, "{query:?} by {limit}");
                }
            }
        }
    }
    assert_eq!(log.heads(HeadQuery::default(), 0).await, Ok(vec![]));
    let after = HeadQuery { order: HeadOrder::Id { after: Some("5".into()) }, ..HeadQuery::default() };
    let after = log.heads(after, 1).await.expect("it lists");
    let first = ("50".into(), 3, head("ann", true, time("50")));
    assert_eq!(after, [first], "a page may begin after an id that is not there");
}

/// The chain has its own tests.
fn without_hash(stored: Result<Option<Stored>, LogError>) -> Result<Option<Stored>, LogError> {
    stored.map(|stored| {
        stored.map(|stored| match stored {
            Stored::Chat { len, head, .. } => Stored::Chat { len, head, hash: None },
            Stored::Tombstone { len, subject, deleted_at, .. } => {
                Stored::Tombstone { len, subject, deleted_at, hash: None }
            }
        })
    })
}

async fn pages(log: &dyn Store, mut query: HeadQuery, limit: usize) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = log.heads(query.clone(), limit).await.expect("it lists");
        assert!(page.len() <= limit);
        let Some((last, _, head)) = page.last() else { return ids };
        match &mut query.order {
            HeadOrder::Id { after } => *after = Some(last.clone()),
            HeadOrder::Newest { after } => *after = Some((head.updated_at, last.clone())),
        }
        ids.extend(page.iter().map(|(id, ..)| id.to_string()));
    }
}

/// A head is that of the last append: data, length, subject and open state.
pub async fn heads_follow_the_last_append(log: Shared) {
    for (at, (subject, is_open)) in (0..).zip([
        ("ann", true),
        ("ann", true),
        ("ann", false),
        ("bob", false),
        ("bob", true),
        ("ann", true),
        ("ann", false),
    ]) {
        let head = head(subject, is_open, 100 - at);
        must(&*log, Append { head: head.clone(), ..append("chat", at, at.into()) }).await;
        let stored = Stored::Chat { len: at + 1, head: head.clone(), hash: None };
        assert_eq!(without_hash(log.stored(&"chat".into()).await), Ok(Some(stored)));
        assert_eq!(log.stored(&"other".into()).await, Ok(None));
        let now = vec![(ChatId::from("chat"), at + 1, head)];
        for whose in [None, Some("ann"), Some("bob")] {
            for only_open in [false, true] {
                let fits = whose.is_none_or(|whose| whose == subject) && (is_open || !only_open);
                let query = HeadQuery { subject: whose.map(Into::into), only_open, ..HeadQuery::default() };
                let expected = if fits { now.clone() } else { vec![] };
                assert_eq!(log.heads(query.clone(), 10).await, Ok(expected), "{query:?} after append {at}");
            }
        }
    }
}

/// A key leads its subject, and no other, to the chat that used it last.
pub async fn a_key_finds_the_chat_for_its_subject_only(log: Shared) {
    let with = |append: Append, subject: &str, keys: &[&str]| Append {
        head: head(subject, true, 1),
        keys: keys.iter().map(|key| (*key).into()).collect(),
        ..append
    };
    must(&*log, with(append("a", 0, 1), "ann", &["one", "two", "one"])).await;
    must(&*log, with(append("b", 0, 1), "bob", &["one"])).await;
    must(&*log, with(append("a", 1, 2), "ann", &[])).await;
    must(&*log, with(append("a", 2, 3), "ann", &["three", "one"])).await;
    let expected = [
        ("ann", "one", Some("a")),
        ("ann", "two", Some("a")),
        ("ann", "three", Some("a")),
        ("bob", "one", Some("b")),
        ("bob", "two", None),
        ("ann", "One", None),
        ("ann", "", None),
    ];
    for (subject, key, chat) in expected {
        let found = log.find(&subject.into(), key).await;
        assert_eq!(found, Ok(chat.map(Into::into)), "{key:?} for {subject}");
    }
    // Its position is that of the last use.
    for (at, position) in [(3, 7), (4, u64::MAX / 2), (5, 1), (6, 0)] {
        let keys = vec![Key { id: "placed".into(), at: position, is_shared: false }];
        must(&*log, Append { keys, ..append("a", at, 90 + u128::from(at)) }).await;
        assert_eq!(log.find(&"ann".into(), "placed").await, Ok(Some(Found { chat: "a".into(), at: position })));
    }
    // A key without a subject is found as such, beside the same key of a subject.
    let keys =
        vec!["both".into(), Key { is_shared: true, ..Key::from("both") }, Key { is_shared: true, ..Key::from("ours") }];
    must(&*log, Append { keys, ..append("d", 0, 80) }).await;
    for (subject, key, is_found) in [
        (Subject::nobody(), "both", true),
        ("ann".into(), "both", true),
        (Subject::nobody(), "ours", true),
        ("ann".into(), "ours", false),
        ("bob".into(), "both", false),
    ] {
        assert_eq!(log.find(&subject, key).await, Ok(is_found.then(|| "d".into())), "{key:?} for {subject:?}");
    }
    assert_eq!(log.delete(&"d".into(), deletion(1)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.find(&Subject::nobody(), "both").await, Ok(None));
    must(&*log, with(append("c", 0, 1), "ann", &["one"])).await;
    assert_eq!(log.find(&"ann".into(), "one").await, Ok(Some("c".into())), "the last one counts");
    assert_eq!(log.delete(&"a".into(), deletion(7)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.find(&"ann".into(), "one").await, Ok(Some("c".into())), "it is the other chat's now");
    assert_eq!(log.find(&"ann".into(), "two").await, Ok(None), "keys go with their chat");
}

/// All ids, in pages, in the order in which what was saved of them can be read along.
pub async fn ids_are_those_of_all_chats_in_order_and_in_pages(log: Shared) {
    assert_eq!(log.ids(None, 10).await, Ok(vec![]));
    for chat in ["b", "é", "a\u{1f600}", "a", "c"] {
        must(&*log, append(chat, 0, 1)).await;
    }
    assert_eq!(log.delete(&"b".into(), deletion(1)).await, Ok(DeleteResult::Deleted));
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = log.ids(after.clone(), 2).await.expect("it lists");
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        ids.extend(page.iter().map(ToString::to_string));
    }
    assert_eq!(ids, ["a", "a\u{1f600}", "b", "c", "é"], "by their bytes, the deleted one too");
}

/// A deleted chat leaves its length and its owner behind, and nothing else. Its neighbours stay. No position is used
/// twice.
pub async fn a_deleted_chat_leaves_a_tombstone(log: Shared) {
    for chat in ["a", "b", "c"] {
        for at in 0..3 {
            must(&*log, Append { keys: vec![format!("{chat}{at}").into()], ..append(chat, at, at.into()) }).await;
        }
    }
    for chat in ["b", "c"] {
        // Twice: whoever does not learn the result repeats it.
        for _ in 0..2 {
            assert_eq!(log.delete(&chat.into(), deletion(3)).await, Ok(DeleteResult::Deleted));
        }
        assert_eq!(all(&*log, chat).await, []);
        let tombstone = Stored::Tombstone { len: 4, subject: "ann".into(), deleted_at: deletion(3).row.at, hash: None };
        assert_eq!(without_hash(log.stored(&chat.into()).await), Ok(Some(tombstone)));
        assert_eq!(log.find(&"ann".into(), &format!("{chat}0")).await, Ok(None));
    }
    let newest = HeadOrder::Newest { after: None };
    for query in [
        HeadQuery::default(),
        HeadQuery { only_open: true, ..HeadQuery::default() },
        HeadQuery { subject: Some("ann".into()), ..HeadQuery::default() },
        HeadQuery { subject: Some("ann".into()), order: newest, ..HeadQuery::default() },
    ] {
        let heads = log.heads(query, 10).await.expect("it lists");
        assert_eq!(heads.iter().map(|(id, ..)| id.as_str()).collect::<Vec<_>>(), ["a"]);
    }
    for at in [0, 2, 3] {
        // A writer that does not know of the deletion.
        let late = one(&*log, append("b", at, 99)).await;
        assert_eq!(late, AppendResult::Conflict { len: 4 }, "at {at}");
    }
    assert_eq!(
        one(&*log, append("b", 2, 2)).await,
        AppendResult::Conflict { len: 4 },
        "nor does a repeated append pass"
    );
    must(&*log, append_facts("b", 4, 0, 2)).await;
    for after in [0, 3, 4, 5] {
        let batches = log.read(&"b".into(), after, 10).await.expect("it reads");
        assert_eq!(batches.iter().map(|batch| batch.first).collect::<Vec<_>>(), [4], "after {after}");
    }
    let stored = Stored::Chat { len: 6, head: head("ann", true, 5), hash: None };
    assert_eq!(without_hash(log.stored(&"b".into()).await), Ok(Some(stored)));
    assert_eq!(all(&*log, "a").await.len(), 3);
    assert_eq!(log.find(&"ann".into(), "a2").await, Ok(Some("a".into())));
    assert_eq!(log.find(&"ann".into(), "b0").await, Ok(None));
}

/// A chat that has changed is not deleted. A chat that is not there needs no deletion.
pub async fn a_deletion_is_a_compare_and_set(log: Shared) {
    must(&*log, append("chat", 0, 1)).await;
    must(&*log, Append { head: head("ann", true, Timestamp(9).0), ..append("chat", 1, 2) }).await;
    for expected in [0, 1, 3] {
        assert_eq!(log.delete(&"chat".into(), deletion(expected)).await, Ok(DeleteResult::Conflict), "at {expected}");
    }
    assert_eq!(all(&*log, "chat").await.len(), 2);
    assert_eq!(log.delete(&"none".into(), deletion(0)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.stored(&"none".into()).await, Ok(None));
    assert_eq!(log.delete(&"chat".into(), deletion(2)).await, Ok(DeleteResult::Deleted));
    must(&*log, append("chat", 3, 3)).await;
    assert_eq!(log.delete(&"chat".into(), deletion(2)).await, Ok(DeleteResult::Conflict), "it is another chat by now");
}

/// The lengths of many chats are read at once.
pub async fn lengths_are_those_of_the_last_append_or_deletion(log: Shared) {
    let chats = || ["a", "unknown", "b", "gone", "a"].map(ChatId::from).to_vec();
    assert_eq!(log.lengths(chats()).await, Ok(vec![0; 5]));
    for (chat, len) in [("a", 3), ("b", 1), ("gone", 2)] {
        for at in 0..len {
            must(&*log, append(chat, at, at.into())).await;
        }
    }
    assert_eq!(log.delete(&"gone".into(), deletion(2)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.lengths(chats()).await, Ok(vec![3, 0, 1, 3, 3]));
    assert_eq!(log.lengths(Vec::new()).await, Ok(vec![]));
}
