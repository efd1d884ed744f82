//! The contract of holds.

use bytes::Bytes;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use holdpoint_runtime::{
    approvers::Approver,
    clock::Timestamp,
    log::{
        Append, AppendResult, DeleteResult, HoldChanges, HoldCount, HoldCounts, HoldQuery, HoldRow, HoldsOf,
        PAGE_BYTES, Store,
    },
};

use super::{Shared, append, deletion, head, must, one};

fn hold(call: &str, since: u64) -> HoldRow {
    HoldRow {
        call: call.into(),
        tool: "pay".into(),
        approval: Some(format!("ask {call}").as_str().into()),
        since: Timestamp(since),
        due_at: None,
        data: Bytes::from(format!("{{\"call\":\"{call}\"}}")),
    }
}

fn opens(append: Append, opened: Vec<HoldRow>) -> Append {
    Append { holds: HoldChanges { opened, ..HoldChanges::default() }, ..append }
}

fn closes(append: Append, closed: &[&str]) -> Append {
    Append {
        holds: HoldChanges { closed: closed.iter().map(|call| (*call).into()).collect(), ..HoldChanges::default() },
        ..append
    }
}

fn of(subject: &str) -> HoldQuery {
    HoldQuery { of: HoldsOf::Subject(subject.into()), only_approvals: false, after: None }
}

async fn listed(log: &dyn Store, query: HoldQuery) -> Vec<(String, HoldRow)> {
    let holds = log.holds(query, 1000).await.expect("it lists");
    holds.into_iter().map(|(chat, hold)| (chat.to_string(), hold)).collect()
}

/// A hold is there from the append that opens it until the one that closes it, and no longer than its chat.
pub async fn holds_are_opened_and_closed_with_the_append(log: Shared) {
    must(&*log, opens(append("a", 0, 1), vec![hold("one", 1), hold("two", 2)])).await;
    must(&*log, opens(append("b", 0, 1), vec![hold("one", 3)])).await;
    let lost = one(&*log, opens(append("a", 0, 2), vec![hold("lost", 1)])).await;
    assert_eq!(lost, AppendResult::Conflict { len: 1 });
    must(&*log, append("a", 1, 3)).await;
    let expected =
        vec![("a".to_owned(), hold("one", 1)), ("a".to_owned(), hold("two", 2)), ("b".to_owned(), hold("one", 3))];
    assert_eq!(listed(&*log, of("ann")).await, expected, "an append that says nothing of holds changes none");
    assert_eq!(listed(&*log, of("bob")).await, []);
    must(&*log, closes(append("a", 2, 4), &["one", "never opened"])).await;
    // The same call waits again, for something else.
    let again = HoldRow { approval: None, due_at: Some(Timestamp(9)), ..hold("two", 5) };
    let replaced = HoldChanges { opened: vec![again.clone()], closed: vec!["two".into()], ..HoldChanges::default() };
    must(&*log, Append { holds: replaced, ..append("a", 3, 5) }).await;
    assert_eq!(one(&*log, closes(append("a", 2, 4), &["one"])).await, AppendResult::Committed { len: 3 });
    let expected = vec![("b".to_owned(), hold("one", 3)), ("a".to_owned(), again)];
    assert_eq!(listed(&*log, of("ann")).await, expected, "a repeated append changes nothing");
    assert_eq!(log.delete(&"a".into(), deletion(4)).await, Ok(DeleteResult::Deleted));
    assert_eq!(listed(&*log, of("ann")).await, [("b".to_owned(), hold("one", 3))]);
    assert_eq!(log.due(Timestamp(u64::MAX), 10).await, Ok(vec![]));
}

/// Oldest first, in full and in pages of any size, and only those of the subject.
pub async fn holds_are_listed_in_order_and_in_pages(log: Shared) {
    let mut all = Vec::new();
    for number in 0..40u64 {
        let (chat, subject) = (format!("chat {}", number * 7 % 10), if number % 10 < 3 { "bob" } else { "ann" });
        let chat = if subject == "bob" { format!("{chat} of bob") } else { chat };
        let call = format!("call {}", number % 13);
        let mut row = hold(&call, number % 4);
        row.approval = row.approval.filter(|_| number % 3 > 0);
        all.retain(|(other, _, known, _): &(String, _, HoldRow, _)| *other != chat || known.call != row.call);
        let at = log.read(&ChatId::from(&*chat), 0, 1000).await.expect("it reads").len() as u64;
        let mut opening = opens(append(&chat, at, number.into()), vec![row.clone()]);
        opening.holds.approvers = approvers(number).into_iter().map(|who| (row.call.clone(), who)).collect();
        must(&*log, Append { head: head(subject, true, 1), ..opening }).await;
        all.push((chat, subject, row, approvers(number)));
    }
    all.sort_by(|(a, _, x, _), (b, _, y, _)| (x.since, &x.call, a).cmp(&(y.since, &y.call, b)));
    let subjects = ["ann", "bob", "nobody"].map(|subject| HoldsOf::Subject(subject.into()));
    let chats = ["chat 3", "chat 7", "none"].map(|chat| HoldsOf::Chat(chat.into()));
    let approvers = ["subject:carol", "group:carol", "group:finance", "group:none"];
    let approvers = approvers.map(|name| HoldsOf::Approver(name.parse().expect("a name")));
    for of in subjects.into_iter().chain(chats).chain(approvers) {
        for only_approvals in [false, true] {
            let fits = |(chat, whose, row, named): &&(String, &str, HoldRow, Vec<Approver>)| {
                let is_theirs = match &of {
                    HoldsOf::Subject(subject) => subject.as_str() == *whose,
                    HoldsOf::Chat(only) => only.as_str() == chat,
                    HoldsOf::Approver(approver) => named.contains(approver),
                };
                is_theirs && (row.approval.is_some() || !only_approvals)
            };
            let expected: Vec<_> =
                all.iter().filter(fits).map(|(chat, _, row, _)| (ChatId::from(&**chat), row.clone())).collect();
            for limit in [1, 3, 1000] {
                let mut query = HoldQuery { of: of.clone(), only_approvals, after: None };
                let mut found = Vec::new();
                loop {
                    let page = log.holds(query.clone(), limit).await.expect("it lists");
                    assert!(page.len() <= limit);
                    let Some((chat, last)) = page.last() else { break };
                    query.after = Some((last.since, last.call.clone(), chat.clone()));
                    found.extend(page);
                }
                assert_eq!(found, expected, "{of:?}, approvals: {only_approvals}, by {limit}");
            }
        }
    }
}

/// Who may decide about the hold of this number.
fn approvers(number: u64) -> Vec<Approver> {
    let names = ["subject:carol", "group:carol", "group:finance"].into_iter().zip([2, 3, 5]);
    names.filter(|(_, every)| number.is_multiple_of(*every)).map(|(name, _)| name.parse().expect("a name")).collect()
}

/// Whoever may decide finds a hold as long as it is open and names them, and no longer than its chat.
pub async fn approvers_are_those_of_the_hold_now(log: Shared) {
    let named = |call: &str, names: &[&str]| -> Vec<(ToolCallId, Approver)> {
        names.iter().map(|name| (call.into(), name.parse().expect("a name"))).collect()
    };
    let opens = |append: Append, call: &str, names: &[&str]| {
        let holds = HoldChanges {
            opened: vec![hold(call, 1)],
            closed: Vec::new(),
            approvers: named(call, names),
            told: Vec::new(),
        };
        Append { holds, ..append }
    };
    let found = async |name: &str| {
        let of = HoldsOf::Approver(name.parse().expect("a name"));
        let holds = listed(&*log, HoldQuery { of, only_approvals: true, after: None }).await;
        holds.into_iter().map(|(chat, hold)| format!("{chat} {}", hold.call)).collect::<Vec<_>>()
    };
    must(&*log, opens(append("a", 0, 1), "one", &["group:finance", "subject:carol"])).await;
    must(&*log, opens(append("b", 0, 1), "one", &["group:finance", "group:finance"])).await;
    let lost = one(&*log, opens(append("a", 0, 2), "lost", &["group:finance"])).await;
    assert_eq!(lost, AppendResult::Conflict { len: 1 });
    assert_eq!(found("group:finance").await, ["a one", "b one"]);
    assert_eq!(found("subject:carol").await, ["a one"]);
    assert_eq!((found("group:carol").await, found("subject:ann").await), (vec![], vec![]));
    // Somebody is added, and somebody else is not named any more.
    must(&*log, opens(append("a", 1, 3), "one", &["group:finance", "group:directors"])).await;
    assert_eq!((found("subject:carol").await, found("group:directors").await), (vec![], vec!["a one".to_owned()]));
    must(&*log, opens(append("a", 2, 4), "two", &["group:finance"])).await;
    must(&*log, closes(append("a", 3, 5), &["one"])).await;
    assert_eq!(found("group:finance").await, ["b one", "a two"]);
    let finance: Approver = "group:finance".parse().expect("a name");
    assert_eq!(log.approvers(&"a".into()).await, Ok(vec![("two".into(), Some(finance))]));
    assert_eq!(log.approvers(&"unknown".into()).await, Ok(vec![]));
    assert_eq!(log.delete(&"b".into(), deletion(1)).await, Ok(DeleteResult::Deleted));
    assert_eq!(found("group:finance").await, ["a two"]);
    // Another append of the same call says that the owner decides.
    must(&*log, opens(append("a", 4, 6), "two", &[])).await;
    assert_eq!(found("group:finance").await, Vec::<String>::new());
}

/// Whatever the rows of a chat were, they are replaced; but not by those of an earlier or a later state.
pub async fn holds_are_restored_at_the_length_that_they_are_of(log: Shared) {
    let finance: Approver = "group:finance".parse().expect("a name");
    let carol: Approver = "subject:carol".parse().expect("a name");
    let due = |call: &str, since, at| HoldRow { due_at: Some(Timestamp(at)), ..hold(call, since) };
    let holds = |opened: Vec<HoldRow>, who: &Approver| HoldChanges {
        approvers: opened.iter().map(|hold| (hold.call.clone(), who.clone())).collect(),
        opened,
        ..HoldChanges::default()
    };
    for chat in ["a", "b"] {
        let changes = holds(vec![due("one", 1, 10), due("two", 2, 20)], &carol);
        must(&*log, Append { holds: changes, ..append(chat, 0, 1) }).await;
    }
    let restored = holds(vec![due("two", 3, 30), due("three", 4, 40)], &finance);
    let (chat, of) = (ChatId::from("a"), HoldsOf::Chat("a".into()));
    for wrong in [0, 2] {
        assert_eq!(log.restore_holds(&chat, wrong, restored.clone()).await, Ok(false));
    }
    assert_eq!(log.restore_holds(&"unknown".into(), 0, restored.clone()).await, Ok(false));
    assert_eq!(log.approvers(&chat).await.map(|all| all.len()), Ok(2), "nothing has changed");
    for _ in 0..2 {
        assert_eq!(log.restore_holds(&chat, 1, restored.clone()).await, Ok(true));
        let found = listed(&*log, HoldQuery { of: of.clone(), only_approvals: false, after: None }).await;
        assert_eq!(found.into_iter().map(|(_, hold)| hold).collect::<Vec<_>>(), restored.opened);
        let mut named = log.approvers(&chat).await.expect("it lists");
        named.sort();
        assert_eq!(named, [("three".into(), Some(finance.clone())), ("two".into(), Some(finance.clone()))]);
    }
    let of = HoldsOf::Approver(finance);
    let found = listed(&*log, HoldQuery { of, only_approvals: false, after: None }).await;
    assert_eq!(found.iter().map(|(_, hold)| hold.call.as_str()).collect::<Vec<_>>(), ["two", "three"]);
    let due = log.due(Timestamp(100), 10).await.expect("it lists");
    let due: Vec<(u64, &str)> = due.iter().map(|(at, chat, _)| (at.0, chat.as_str())).collect();
    assert_eq!(due, [(10, "b"), (20, "b"), (30, "a"), (40, "a")], "those of other chats are as they were");
    assert_eq!(log.restore_holds(&chat, 1, HoldChanges::default()).await, Ok(true));
    assert_eq!(log.approvers(&chat).await, Ok(vec![]));
    assert_eq!(log.misfits().await, Ok(vec![]));
    assert_eq!(log.delete(&chat, deletion(1)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.restore_holds(&chat, 2, restored).await, Ok(false), "a deleted chat has none");
}

/// Up to a time, earliest first.
pub async fn what_is_due_comes_earliest_first(log: Shared) {
    for (chat, at) in [("a", 30), ("b", 10), ("c", 20), ("d", 40)] {
        let due = |call: &str, at| HoldRow { due_at: Some(Timestamp(at)), ..hold(call, 1) };
        must(&*log, opens(append(chat, 0, 1), vec![due("early", at), due("late", at + 100), hold("never", 1)])).await;
    }
    let due = async |until, limit| -> Vec<(u64, String, ToolCallId)> {
        let due = log.due(Timestamp(until), limit).await.expect("it lists");
        due.into_iter().map(|(at, chat, call)| (at.0, chat.to_string(), call)).collect()
    };
    let early = |at, chat: &str| (at, chat.to_owned(), ToolCallId::from("early"));
    assert_eq!(due(9, 10).await, []);
    assert_eq!(due(10, 10).await, [early(10, "b")]);
    assert_eq!(due(39, 10).await, [early(10, "b"), early(20, "c"), early(30, "a")]);
    assert_eq!(due(u64::MAX, 2).await, [early(10, "b"), early(20, "c")]);
    must(&*log, closes(append("b", 1, 2), &["early"])).await;
    assert_eq!(due(39, 10).await, [early(20, "c"), early(30, "a")]);
}

/// Each count has a tool, a kind and an age of its own, and knows its oldest hold.
pub async fn holds_are_counted_by_tool_kind_and_age(log: Shared) {
    let shown = |call: &str, since| HoldRow { tool: "map".into(), approval: None, ..hold(call, since) };
    let opened = vec![hold("a", 1), hold("b", 10), hold("c", 11), shown("d", 100), shown("e", 50)];
    must(&*log, opens(append("chat", 0, 1), opened)).await;
    must(&*log, opens(append("other", 0, 1), vec![hold("f", 3)])).await;
    let count = |tool: &str, is_approval, age, count, oldest| HoldCount {
        tool: tool.into(),
        is_approval,
        age,
        count,
        oldest: Timestamp(oldest),
    };
    let counts = async |times: &[u64]| {
        let times = times.iter().map(|time| Timestamp(*time)).collect();
        let HoldCounts { chats, holds: mut counts } = log.count_holds(times).await.expect("it counts");
        assert_eq!(chats, 2);
        counts.sort_by(|a, b| (&a.tool, a.age).cmp(&(&b.tool, b.age)));
        counts
    };
    assert_eq!(counts(&[]).await, [count("map", false, 0, 2, 50), count("pay", true, 0, 4, 1)]);
    let by_age = [
        count("map", false, 0, 1, 100),
        count("map", false, 1, 1, 50),
        count("pay", true, 1, 1, 11),
        count("pay", true, 2, 3, 1),
    ];
    assert_eq!(counts(&[50, 10]).await, by_age);
    must(&*log, closes(append("other", 1, 2), &["f"])).await;
    let left = log.count_holds(Vec::new()).await.expect("it counts");
    assert_eq!((left.chats, &left.holds), (1, &vec![count("map", false, 0, 2, 50), count("pay", true, 0, 3, 1)]));
}

/// Holds with large inputs come in pages that fit into memory.
pub async fn a_page_of_large_holds_ends_early(log: Shared) {
    let large =
        |number| HoldRow { data: Bytes::from(vec![b'x'; PAGE_BYTES / 4]), ..hold(&format!("{number}"), number) };
    for number in 0..10 {
        must(&*log, opens(append(&format!("chat {number}"), 0, 1), vec![large(number)])).await;
    }
    let page = log.holds(of("ann"), 100).await.expect("it lists");
    assert!((2..10).contains(&page.len()), "{} of 10", page.len());
    let huge = HoldRow { data: Bytes::from(vec![b'x'; 2 * PAGE_BYTES]), ..hold("huge", 1) };
    must(&*log, Append { head: head("bob", true, 1), ..opens(append("huge", 0, 1), vec![huge]) }).await;
    assert_eq!(log.holds(of("bob"), 100).await.expect("it lists").len(), 1, "one is always given");
}
