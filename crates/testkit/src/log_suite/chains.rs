//! The hash chain: whole after everything that can happen to a chat.

use holdpoint_runtime::log::{AppendResult, Batch, BatchHash, DeleteResult, Store, Stored, Walk};
use holdpoint_runtime::verify_chain;

use super::*;

async fn hash(log: &dyn Store, chat: &str) -> Option<BatchHash> {
    match log.stored(&chat.into()).await.expect("it reads")? {
        Stored::Chat { hash, .. } | Stored::Tombstone { hash, .. } => hash,
    }
}

/// Panics unless the chain of a chat is whole and leads to the hash in the chat. Returns its batches.
async fn must_be_whole(log: &dyn Store, chat: &str) -> Vec<Batch> {
    let (batches, mut walk) = (all(log, chat).await, Walk::new(chat.into()));
    for batch in &batches {
        assert_eq!(walk.batch(batch), Ok(()), "{batches:?}");
    }
    let len = batches.last().map_or(0, |batch| batch.first + u64::from(batch.count));
    assert_eq!(walk.end(len, hash(log, chat).await), Ok(()));
    assert_eq!((walk.chained, walk.unchained), (batches.len() as u64, 0));
    batches
}

/// Each batch carries the hash of the one before it in its chat, and the chat that of the last one.
pub async fn batches_carry_the_hash_of_the_one_before(log: Shared) {
    assert_eq!(hash(&*log, "a").await, None);
    let appends = [append("a", 0, 1), append("b", 0, 2), append_facts("a", 1, 3, 4), append("a", 5, 4)];
    log.append_many(appends.to_vec()).await;
    must(&*log, append("a", 6, 5)).await;
    let batches = must_be_whole(&*log, "a").await;
    assert_eq!(batches.len(), 4);
    let mut previous = BatchHash::BEGINNING;
    for batch in &batches {
        assert_eq!(batch.previous_hash, Some(previous));
        previous = BatchHash::of(&"a".into(), batch.first, batch.count, &batch.payload, previous);
    }
    assert_eq!(hash(&*log, "a").await, Some(previous));
    // A page may begin anywhere.
    assert_eq!(log.read(&"a".into(), 5, 1).await, Ok(vec![batches[2].clone()]));
    assert_eq!(must_be_whole(&*log, "b").await.len(), 1);
    assert_ne!(hash(&*log, "b").await, hash(&*log, "a").await);
}

/// What is not written is not in the chain, and what is repeated is in it once.
pub async fn conflicts_and_repetitions_leave_the_chain_whole(log: Shared) {
    for at in 0..3 {
        must(&*log, append("chat", at, at.into())).await;
    }
    let before = hash(&*log, "chat").await;
    assert_eq!(one(&*log, append("chat", 1, 99)).await, AppendResult::Conflict { len: 3 });
    must(&*log, append("chat", 1, 1)).await;
    must(&*log, append_facts("chat", 3, 98, 0)).await;
    assert_eq!(hash(&*log, "chat").await, before);
    // The same at the next position, as after a conflict.
    must(&*log, append("chat", 3, 99)).await;
    assert_eq!(must_be_whole(&*log, "chat").await.len(), 4);
    // Of many writers, those that are committed make one chain.
    let writers = (0..8_u128).map(|writer| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            for at in 4..24 {
                log.append_many(vec![append("chat", at, 1000 * (writer + 1) + u128::from(at))]).await;
            }
        })
    });
    join(writers.collect()).await;
    assert_eq!(must_be_whole(&*log, "chat").await.len(), 24);
}

/// A deletion leaves its own hash, and the chat that uses the id next goes on from it.
pub async fn a_chat_goes_on_from_the_hash_in_its_tombstone(log: Shared) {
    must(&*log, append("chat", 0, 1)).await;
    must(&*log, append("chat", 1, 2)).await;
    let last = Some(deletion(2).hash);
    assert_ne!(hash(&*log, "chat").await, last);
    assert_eq!(log.delete(&"chat".into(), deletion(2)).await, Ok(DeleteResult::Deleted));
    assert_eq!(hash(&*log, "chat").await, last, "that of the deletion is in the tombstone");
    must(&*log, append("chat", 3, 3)).await;
    must(&*log, append("chat", 4, 4)).await;
    let batches = must_be_whole(&*log, "chat").await;
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[0].previous_hash, last);
}

/// Every change of what is stored is found, where it was made. `sql` runs a statement on the tables of the log: `@` is
/// their prefix, and `x'…'` stands for bytes.
pub async fn every_change_breaks_the_chain(log: Shared, sql: &(dyn Fn(&str) + Sync)) {
    let payload = |at: u64| if at == 0 { r#"[{"fact":"opened"}]"#.to_owned() } else { format!("[{at}]") };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (one, three) = (hex(b"[1]"), hex(b"[3]"));
    let cases: &[(&str, &[&str], &str)] = &[
        ("nothing", &[], ""),
        ("one bit", &["UPDATE @batches SET payload = x'5b335d' WHERE CHAT AND first = 2"], "position 2: the facts"),
        ("the last", &["UPDATE @batches SET payload = x'5b355d' WHERE CHAT AND first = 4"], "position 4: the facts"),
        ("removed", &["DELETE FROM @batches WHERE CHAT AND first = 2"], "position 2: facts are missing"),
        ("the last removed", &["DELETE FROM @batches WHERE CHAT AND first = 4"], "position 4: facts are missing"),
        ("the first removed", &["DELETE FROM @batches WHERE CHAT AND first = 0"], "position 1: the beginning"),
        ("all removed", &["DELETE FROM @batches WHERE CHAT"], "position 0: facts are missing"),
        (
            "payloads exchanged",
            &[
                &format!("UPDATE @batches SET payload = x'{three}' WHERE CHAT AND first = 1"),
                &format!("UPDATE @batches SET payload = x'{one}' WHERE CHAT AND first = 3"),
            ],
            "position 1: the facts",
        ),
        (
            "rows exchanged",
            &[
                "UPDATE @batches SET first = 99 WHERE CHAT AND first = 1",
                "UPDATE @batches SET first = 1 WHERE CHAT AND first = 2",
                "UPDATE @batches SET first = 2 WHERE CHAT AND first = 99",
            ],
            "position 0: the facts",
        ),
        (
            "a hash removed",
            &["UPDATE @batches SET previous_hash = NULL WHERE CHAT AND first = 3"],
            "position 3: the hash",
        ),
        ("all hashes removed", &["UPDATE @batches SET previous_hash = NULL WHERE CHAT"], "position 0: the hash"),
        (
            "every hash removed, the chat's too",
            &["UPDATE @batches SET previous_hash = NULL WHERE CHAT", "UPDATE @chats SET hash = NULL WHERE ID"],
            "position 0: the hash",
        ),
        ("the chat's hash removed", &["UPDATE @chats SET hash = NULL WHERE ID"], "position 5: the hash"),
        ("shortened", &["UPDATE @chats SET len = 3 WHERE ID"], "position 5: facts are missing"),
    ];
    for (number, (what, statements, says)) in cases.iter().enumerate() {
        let chat = format!("c{number}");
        for at in 0..5 {
            let payload = Bytes::from(payload(at));
            must(&*log, Append { payload, ..append(&chat, at, at.into()) }).await;
        }
        for statement in *statements {
            let of_chat = format!("chat = (SELECT number FROM @chats WHERE id = '{chat}')");
            sql(&statement.replace("CHAT", &of_chat).replace("ID", &format!("id = '{chat}'")));
        }
        let mut found = Vec::new();
        let mut report = |broken: holdpoint_runtime::log::Break| found.push(broken.to_string());
        let verified = verify_chain(&*log, &chat.as_str().into(), None, &mut report)
            .await
            .expect("it reads")
            .expect("it is there");
        assert_eq!(verified.findings, found.len() as u64);
        match says.is_empty() {
            true => assert_eq!((&found[..], verified.chained), (&[][..], 5)),
            false => assert!(found.first().is_some_and(|said| said.starts_with(says)), "{what}: {found:?}"),
        }
    }
}
