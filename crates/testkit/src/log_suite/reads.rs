//! The contract of reads and wakeups.

use std::sync::Arc;

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::log::{Append, AppendResult, ChatChange, DeleteResult, HeadQuery, Wakeup};
use tokio::sync::broadcast::error::TryRecvError;

use super::{Shared, all, append, append_facts, deletion, join, must, one};

/// A read returns everything committed before it, by any writer.
pub async fn a_commit_can_be_read_at_once(log: Shared) {
    let writers = (0..8).map(|writer| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let name = format!("chat {writer}");
            for at in 0..40 {
                let mut next = append(&name, at, at.into());
                next.keys = vec![format!("{writer} {at}").into()];
                let (chat, subject) = (next.chat.clone(), next.head.subject.clone());
                must(&*log, next).await;
                let read = log.read(&chat, at, 10).await.expect("it reads");
                assert_eq!(read.iter().map(|batch| batch.first).collect::<Vec<_>>(), [at]);
                assert_eq!(log.find(&subject, &format!("{writer} {at}")).await, Ok(Some(chat.clone().into())));
                let heads = log.heads(HeadQuery::default(), 100).await.expect("it lists");
                let len = heads.iter().find(|(id, ..)| *id == chat).map(|(_, len, _)| *len);
                assert_eq!(len, Some(at + 1));
            }
        })
    });
    join(writers.collect()).await;
}

/// A read from inside a batch returns the whole batch. A read from the end returns nothing.
pub async fn a_read_may_begin_inside_a_batch(log: Shared) {
    for (at, count) in [(0, 1), (1, 4), (5, 2)] {
        must(&*log, append_facts("chat", at, at.into(), count)).await;
    }
    // Chats adjacent by id and by time are not included.
    must(&*log, append_facts("cha", 0, 1, 9)).await;
    must(&*log, append_facts("chat2", 0, 1, 9)).await;
    let cases: [(u64, &[u64]); 11] = [
        (0, &[0, 1, 5]),
        (1, &[1, 5]),
        (2, &[1, 5]),
        (4, &[1, 5]),
        (5, &[5]),
        (6, &[5]),
        (7, &[]),
        (8, &[]),
        (i64::MAX as u64, &[]),
        (i64::MAX as u64 + 1, &[]),
        (u64::MAX, &[]),
    ];
    for (after, firsts) in cases {
        let read = log.read(&"chat".into(), after, 10).await.expect("it reads");
        assert_eq!(read.iter().map(|batch| batch.first).collect::<Vec<_>>(), firsts, "after {after}");
    }
}

/// At most as many batches as requested, oldest first.
pub async fn a_read_keeps_its_limit(log: Shared) {
    for at in 0..10 {
        must(&*log, append_facts("chat", at * 2, at.into(), 2)).await;
    }
    for (after, limit, firsts) in [
        (0, 0, vec![]),
        (0, 1, vec![0]),
        (3, 2, vec![2, 4]),
        (17, 5, vec![16, 18]),
        (0, 10, (0..10).map(|at| at * 2).collect()),
        (14, usize::MAX, vec![14, 16, 18]),
    ] {
        let read = log.read(&"chat".into(), after, limit).await.expect("it reads");
        assert_eq!(read.iter().map(|batch| batch.first).collect::<Vec<_>>(), firsts, "{limit} after {after}");
    }
}

/// An unknown chat has no facts, no head and nothing to delete.
pub async fn an_unknown_chat_is_empty(log: Shared) {
    let unknown = ChatId::from("unknown");
    for _ in 0..2 {
        assert_eq!(log.read(&unknown, 0, 10).await, Ok(vec![]));
        assert_eq!(log.read(&unknown, 5, 10).await, Ok(vec![]));
        assert_eq!(log.heads(HeadQuery::default(), 10).await, Ok(vec![]));
        assert_eq!(log.find(&"ann".into(), "unknown").await, Ok(None));
        assert_eq!(log.delete(&unknown, deletion(0)).await, Ok(DeleteResult::Deleted));
    }
}

fn wakeup(chat: &str, len: u64, holds: bool) -> Wakeup {
    Wakeup::Chat(ChatChange { chat: chat.into(), subject: "ann".into(), len: Some(len), holds, approvers: Vec::new() })
}

/// A wakeup comes after its commit, and a failed append causes none.
pub async fn a_wakeup_comes_after_the_commit(log: Shared) {
    must(&*log, append("before", 0, 1)).await;
    let mut wakeups = log.wakeups();
    assert_eq!(wakeups.try_recv(), Err(TryRecvError::Empty), "only from now on");
    assert!(matches!(one(&*log, append("before", 0, 2)).await, AppendResult::Conflict { .. }));
    log.delete(&"unknown".into(), deletion(0)).await.expect("it deletes");

    let writer = {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            for at in 0..50 {
                let results = log.append_many(vec![append("a", at, 1), append("b", at, 1)]).await;
                assert_eq!(results, [AppendResult::Committed { len: at + 1 }; 2]);
            }
        })
    };
    for at in 0..50 {
        for chat in ["a", "b"] {
            assert_eq!(wakeups.recv().await, Ok(wakeup(chat, at as u64 + 1, false)));
            assert!(all(&*log, chat).await.len() > at, "the wakeup for fact {at} came before its commit");
        }
    }
    writer.await.expect("it writes");
    assert_eq!(wakeups.try_recv(), Err(TryRecvError::Empty), "one for each commit");
    log.delete(&"a".into(), deletion(50)).await.expect("it deletes");
    assert_eq!(wakeups.recv().await, Ok(wakeup("a", 51, true)), "a chat that is deleted has changed");
    // The first result may have been unknown, with its wakeup lost.
    must(&*log, append("b", 0, 1)).await;
    assert_eq!(wakeups.recv().await, Ok(wakeup("b", 1, false)), "a repeated append wakes again");
}

/// A digest is stored with its batch, read by position, and deleted with the chat.
pub async fn digests_are_read_in_order_and_in_pages(log: Shared) {
    let digest = |at: u64| Bytes::from(format!("\u{0}digest {at}"));
    let with = |append: Append| Append { digest: Some(digest(append.expected)), ..append };
    for at in 0..6 {
        let append = append("chat", at, at.into());
        must(&*log, if at % 2 == 1 { with(append) } else { append }).await;
    }
    must(&*log, with(append("chat2", 0, 1))).await;
    // An append that fails leaves none, and a repeated one no second one.
    assert_eq!(one(&*log, with(append("chat", 2, 99))).await, AppendResult::Conflict { len: 6 });
    assert_eq!(one(&*log, with(append("chat", 5, 5))).await, AppendResult::Committed { len: 6 });
    let (chat, read) = (ChatId::from("chat"), async |chat: &ChatId, from, limit| {
        log.digests(chat, from, limit).await.expect("it reads")
    });
    assert_eq!(read(&chat, 0, 10).await, [1, 3, 5].map(|at| (at, digest(at))));
    assert_eq!(read(&chat, 0, 2).await, [1, 3].map(|at| (at, digest(at))));
    assert_eq!(read(&chat, 3, 10).await, [3, 5].map(|at| (at, digest(at))));
    assert_eq!(read(&chat, 4, 10).await, [5].map(|at| (at, digest(at))));
    assert_eq!(read(&chat, u64::MAX, 10).await, []);
    assert_eq!(read(&"nobody".into(), 0, 10).await, []);
    assert_eq!(log.delete(&chat, deletion(6)).await, Ok(DeleteResult::Deleted));
    assert_eq!(read(&chat, 0, 10).await, [], "deleted");
    must(&*log, append("chat", 7, 7)).await;
    assert_eq!(read(&chat, 0, 10).await, []);
    assert_eq!(read(&"chat2".into(), 0, 10).await.len(), 1);
}
