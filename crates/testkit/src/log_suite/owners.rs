//! The contract of ownership.

use holdpoint_runtime::log::{Append, AppendResult, DeleteResult, NodeId, Ownership, Store, Usage};

use super::{Shared, all, append, deletion, head, must, one};

const HERE: NodeId = NodeId(u128::MAX);
const GONE: NodeId = NodeId(1);

fn with(append: Append, ownership: Ownership) -> Append {
    Append { ownership, ..append }
}

async fn owners(log: &dyn Store, chat: &str) -> Vec<Option<NodeId>> {
    all(log, chat).await.into_iter().map(|batch| batch.owner).collect()
}

/// Every batch says who owns the chat after it. A node that is not there any more leaves its chats behind.
pub async fn an_owner_is_written_with_the_append(log: Shared) {
    log.cluster().renew(HERE).await.expect("it is renewed");
    let changes = [
        (Ownership::Keep, None),
        (Ownership::Take(GONE), Some(GONE)),
        (Ownership::Keep, Some(GONE)),
        (Ownership::Take(HERE), Some(HERE)),
        (Ownership::Keep, Some(HERE)),
        (Ownership::Release, None),
        (Ownership::Keep, None),
        (Ownership::Take(GONE), Some(GONE)),
    ];
    for (at, (ownership, owner)) in (0..).zip(changes) {
        must(&*log, with(append("chat", at, at.into()), ownership)).await;
        assert_eq!(owners(&*log, "chat").await.last(), Some(&owner), "after append {at}");
        let abandoned = log.abandoned(HERE, 10).await.expect("it lists");
        let expected = if owner == Some(GONE) { vec!["chat".into()] } else { vec![] };
        assert_eq!(abandoned, expected, "after append {at}");
    }
    let lost = one(&*log, with(append("chat", 3, 77), Ownership::Take(HERE))).await;
    assert_eq!(lost, AppendResult::Conflict { len: 8 });
    assert_eq!(owners(&*log, "chat").await.last(), Some(&Some(GONE)), "a lost append takes nothing");
    must(&*log, with(append("other", 0, 1), Ownership::Take(GONE))).await;
    assert_eq!(log.abandoned(HERE, 1).await.expect("it lists").len(), 1, "a limit is kept");
    assert_eq!(log.delete(&"chat".into(), deletion(8)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.abandoned(HERE, 10).await, Ok(vec!["other".into()]));
    must(&*log, with(append("chat", 9, 1), Ownership::Keep)).await;
    assert_eq!(owners(&*log, "chat").await, [None], "a new chat has no owner");
}

/// What counts against a subject's limits on another node.
pub async fn open_chats_of_others_are_counted(log: Shared) {
    let other = NodeId(5);
    let chats = [
        ("waits", true, Ownership::Release),
        ("runs there", true, Ownership::Take(other)),
        ("runs here", true, Ownership::Take(HERE)),
        ("done", false, Ownership::Release),
    ];
    for (chat, is_open, ownership) in chats {
        must(&*log, with(Append { head: head("ann", is_open, 1), ..append(chat, 0, 1) }, ownership)).await;
    }
    must(&*log, with(Append { head: head("bob", true, 1), ..append("bob's", 0, 1) }, Ownership::Take(other))).await;
    let usage = async |subject: &str, node, most| log.usage(&subject.into(), node, most).await.expect("it counts");
    assert_eq!(usage("ann", HERE, 100).await, Usage { running: 1, open: 2 });
    assert_eq!(usage("ann", other, 100).await, Usage { running: 1, open: 2 });
    assert_eq!(usage("ann", GONE, 100).await, Usage { running: 2, open: 3 });
    assert_eq!(usage("bob", other, 100).await, Usage::default());
    assert_eq!(usage("nobody", HERE, 100).await, Usage::default());
    assert_eq!(usage("ann", GONE, 1).await.open, 1);
}
