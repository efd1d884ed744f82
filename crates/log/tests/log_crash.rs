//! What was answered as committed is there after a crash, and nothing else is claimed: a child process writes, and is killed.
//!
//! The child is this program again, with the folder in a variable.
#![cfg(unix)]

#[path = "../../runtime/tests/child/mod.rs"]
mod child;

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    io::BufRead,
    sync::Arc,
};

use bytes::Bytes;
use child::{child, given_folder};
use holdpoint_log::{Append, AppendResult, Batch, Log, SqliteLog, Store, Walk};
use holdpoint_protocol::ids::ChatId;
use holdpoint_testkit::log_suite::append;
use tempfile::TempDir;

const CHATS: u64 = 8;

fn payload(chat: u64, at: u64) -> Bytes {
    Bytes::from(format!("fact {at} of chat {chat} ").repeat((at % 50) as usize + 1))
}

async fn all(log: &dyn Store, chat: u64) -> Vec<Batch> {
    log.read(&chat.to_string().as_str().into(), 0, usize::MAX).await.expect("it reads")
}

/// The child: appends to all chats at once, from where they are, and prints `committed CHAT AT` for each, until it is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_appends() {
    let Some(dir) = given_folder() else { return };
    let log = Arc::new(SqliteLog::open(&dir).expect("it opens"));
    println!();
    let writers = (0..CHATS).map(|chat| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            for at in all(&*log, chat).await.len() as u64.. {
                let next = Append { payload: payload(chat, at), ..append(&chat.to_string(), at, at.into()) };
                assert_eq!(log.append_many(vec![next]).await, [AppendResult::Committed { len: at + 1 }]);
                println!("committed {chat} {at}");
            }
        })
    });
    futures::future::join_all(writers.collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn what_was_committed_survives_being_killed() {
    if given_folder().is_some() {
        return;
    }
    let dir = TempDir::new().expect("a temporary folder");
    let mut committed = [0; CHATS as usize];
    for round in 0..10 {
        let (mut child, stdout) = child("child_that_appends", dir.path(), "");
        // Any moment is as good as another: in the middle of a commit, of a checkpoint, of opening.
        let lines = RandomState::new().hash_one(round) % 400 + 1;
        let mut printed = 0;
        // To the end of what it printed: it is killed on the way, and what it said before counts.
        for line in stdout.split(b'\n') {
            let line = String::from_utf8(line.expect("it reads")).expect("text");
            let mut words = line.split(' ');
            if words.next() != Some("committed") {
                continue;
            }
            let mut number = || words.next()?.parse::<u64>().ok();
            // The last line may be cut off.
            let (Some(chat), Some(at)) = (number(), number()) else { continue };
            let len = &mut committed[chat as usize];
            *len = (at + 1).max(*len);
            printed += 1;
            if printed == lines {
                child.kill().expect("it runs");
            }
        }
        child.wait().expect("it ends");
        assert!(printed >= lines, "the child ended by itself after {printed} lines");

        let log = SqliteLog::open(dir.path()).expect("it opens again");
        for (chat, len) in (0..).zip(committed) {
            let batches = all(&log, chat).await;
            assert!(batches.len() as u64 >= len, "round {round}: chat {chat} has {} of {len}", batches.len());
            let mut walk = Walk::new(ChatId::from(chat.to_string().as_str()));
            for (at, batch) in (0..).zip(batches) {
                assert_eq!((batch.first, batch.count, &batch.payload), (at, 1, &payload(chat, at)));
                assert_eq!(walk.batch(&batch), Ok(()), "its chain is whole");
            }
        }
    }
}

/// The child: its files can't grow beyond some size, so that a commit fails on the way to the disk.
#[tokio::test]
async fn child_whose_disk_is_full() {
    let Some(dir) = given_folder() else { return };
    let log = SqliteLog::open(&dir).expect("it opens");
    let next = |at, size| Append { payload: vec![b'x'; size].into(), ..append("chat", at, at.into()) };
    let one = async |append| log.append_many(vec![append]).await[0];
    assert_eq!(one(next(0, 1000)).await, AppendResult::Committed { len: 1 });
    for _ in 0..3 {
        // Less than the writer keeps in memory: the first to fail is the commit.
        assert_eq!(one(next(1, 3_000_000)).await, AppendResult::Unknown);
        assert_eq!(log.read(&"chat".into(), 0, 10).await.expect("it reads").len(), 1);
    }
    // There is room for something smaller, and the log has taken no harm.
    assert_eq!(one(next(1, 1000)).await, AppendResult::Committed { len: 2 });
    assert_eq!(one(next(2, 1000)).await, AppendResult::Committed { len: 3 });
    fs::write(dir.join("went-well"), "").expect("it writes");
}

#[tokio::test]
async fn a_commit_that_fails_is_unknown_and_harms_nothing() {
    if given_folder().is_some() {
        return;
    }
    let dir = TempDir::new().expect("a temporary folder");
    // 1000 or 2000 KB, as the shell counts. Without the signal, writing more is an error.
    let (mut child, _stdout) = child("child_whose_disk_is_full", dir.path(), "trap '' XFSZ; ulimit -f 2000;");
    assert!(child.wait().expect("it ends").success());
    assert!(dir.path().join("went-well").exists());
    let batches = SqliteLog::open(dir.path()).expect("it opens").read(&"chat".into(), 0, 10).await.expect("it reads");
    assert_eq!(batches.iter().map(|batch| batch.payload.len()).collect::<Vec<_>>(), [1000; 3]);
}

/// A database that has lost its contents is not an unfinished one: creating a new one would hide that the chats are gone.
#[tokio::test]
async fn a_database_that_lost_its_contents_is_refused() {
    let lost = |with_log: bool| {
        let dir = TempDir::new().expect("a temporary folder");
        let log = SqliteLog::open(dir.path()).expect("it opens");
        drop(log);
        fs::write(dir.path().join("holdpoint.db"), "").expect("it writes");
        if with_log {
            fs::write(dir.path().join("holdpoint.db-wal"), [1; 100]).expect("it writes");
        }
        dir
    };
    for with_log in [false, true] {
        let dir = lost(with_log);
        // What a creation has left over does not make it one.
        fs::write(dir.path().join("holdpoint.db.new"), [2; 5000]).expect("it writes");
        let error = SqliteLog::open(dir.path()).expect_err("it is empty").to_string();
        assert!(error.contains("is empty (0 bytes)"), "{error}");
    }
    // Without the file, what is left of a creation is removed, whatever is in it.
    for left in [&b""[..], &[7; 9000]] {
        let dir = TempDir::new().expect("a temporary folder");
        fs::write(dir.path().join("holdpoint.db.new"), left).expect("it writes");
        fs::write(dir.path().join("holdpoint.db.new-journal"), left).expect("it writes");
        drop(SqliteLog::open(dir.path()).expect("it opens"));
        assert!(!dir.path().join("holdpoint.db.new-journal").exists());
    }
}
