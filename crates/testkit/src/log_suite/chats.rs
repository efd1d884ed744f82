//! The contract of lists, keys and deletion.

use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::log::{Append, HeadQuery, Log};

use super::{Shared, all, append, append_events, head, must};

/// Every combination of filters, ordered by id, in full and in pages of any size.
pub async fn heads_are_listed_in_order_and_in_pages(log: Shared) {
    // Not created in the order of their ids, which is byte order.
    let mut ids: Vec<_> = (0..60u32).map(|number| format!("{:02}", number * 37 % 60)).collect();
    ids.extend(["Z".into(), "a".into(), "é".into(), "チ".into(), "🦀".into(), "0".into()]);
    let kind =
        |id: &str| (if id.ends_with(['1', '4', 'a']) { "bob" } else { "ann" }, id.ends_with(['0', '1', '2', 'Z', 'a']));
    for id in &ids {
        let (subject, is_open) = kind(id);
        must(&*log, Append { head: head(subject, is_open, 7), ..append_events(id, 0, 1, 3) }).await;
    }
    ids.sort();
    for subject in [None, Some("ann"), Some("bob"), Some("nobody")] {
        for only_open in [false, true] {
            let fits = |id: &&String| {
                let (whose, is_open) = kind(id);
                subject.is_none_or(|subject| subject == whose) && (is_open || !only_open)
            };
            let expected: Vec<_> = ids.iter().filter(fits).cloned().collect();
            for limit in [1, 7, 1000] {
                let query = HeadQuery { subject: subject.map(Into::into), only_open, after: None };
                assert_eq!(pages(&*log, query.clone(), limit).await, expected, "{query:?} by {limit}");
            }
        }
    }
    assert_eq!(log.heads(HeadQuery::default(), 0).await, Ok(vec![]));
    let after = HeadQuery { after: Some("5".into()), ..HeadQuery::default() };
    let after = log.heads(after, 1).await.expect("it lists");
    assert_eq!(after, [("50".into(), 3, head("ann", true, 7))], "a page may begin after an id that is not there");
}

async fn pages(log: &dyn Log, mut query: HeadQuery, limit: usize) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = log.heads(query.clone(), limit).await.expect("it lists");
        assert!(page.len() <= limit);
        let Some((last, ..)) = page.last() else { return ids };
        query.after = Some(last.clone());
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
        assert_eq!(log.head(&"chat".into()).await, Ok(Some((at + 1, head.clone()))));
        assert_eq!(log.head(&"other".into()).await, Ok(None));
        let now = vec![(ChatId::from("chat"), at + 1, head)];
        for whose in [None, Some("ann"), Some("bob")] {
            for only_open in [false, true] {
                let fits = whose.is_none_or(|whose| whose == subject) && (is_open || !only_open);
                let query = HeadQuery { subject: whose.map(Into::into), only_open, after: None };
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
    must(&*log, with(append("c", 0, 1), "ann", &["one"])).await;
    assert_eq!(log.find(&"ann".into(), "one").await, Ok(Some("c".into())), "the last one counts");
    log.delete(&"a".into()).await.expect("it deletes");
    assert_eq!(log.find(&"ann".into(), "one").await, Ok(Some("c".into())), "it is the other chat's now");
    assert_eq!(log.find(&"ann".into(), "two").await, Ok(None), "keys go with their chat");
}

/// A deleted chat leaves nothing behind and may start again. Its neighbours stay.
pub async fn a_deleted_chat_begins_again(log: Shared) {
    for chat in ["a", "b", "c"] {
        for at in 0..3 {
            must(&*log, Append { keys: vec![format!("{chat}{at}").into()], ..append(chat, at, at.into()) }).await;
        }
    }
    // Including the last one: an engine that numbers its chats may reuse its number.
    for chat in ["b", "c"] {
        log.delete(&chat.into()).await.expect("it deletes");
        assert_eq!(all(&*log, chat).await, []);
        assert_eq!(log.head(&chat.into()).await, Ok(None));
        assert_eq!(log.find(&"ann".into(), &format!("{chat}0")).await, Ok(None));
    }
    for query in [
        HeadQuery::default(),
        HeadQuery { only_open: true, ..HeadQuery::default() },
        HeadQuery { subject: Some("ann".into()), ..HeadQuery::default() },
    ] {
        let heads = log.heads(query, 10).await.expect("it lists");
        assert_eq!(heads.iter().map(|(id, ..)| id.as_str()).collect::<Vec<_>>(), ["a"]);
    }
    // The same append ids as before: nothing of the old chat is left that would make them repetitions.
    for chat in ["d", "c", "b"] {
        must(&*log, append_events(chat, 0, 0, 2)).await;
        assert_eq!(all(&*log, chat).await.len(), 1);
    }
    assert_eq!(all(&*log, "a").await.len(), 3);
    assert_eq!(log.find(&"ann".into(), "a2").await, Ok(Some("a".into())));
    assert_eq!(log.find(&"ann".into(), "b0").await, Ok(None));
}
