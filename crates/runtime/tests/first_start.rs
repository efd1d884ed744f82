//! A first start that is cut off. It is alone in its program: a child that another test is just starting would have the lock of
//! a folder for a moment.
#![cfg(unix)]

mod child;

use std::{io::BufRead, path::Path};

use child::{child, given_folder};
use holdpoint_runtime::log::{AppendResult, Log, SqliteLog};
use holdpoint_testkit::log_suite::append;
use tempfile::TempDir;

/// The child: opens a folder for the first time, and says so before and after.
#[tokio::test]
async fn child_that_opens() {
    let Some(dir) = given_folder() else { return };
    println!("\nopening");
    let opened = SqliteLog::open(&dir);
    println!("{}", if opened.is_ok() { "opened" } else { "failed" });
}

/// Whatever ends the first start, the next one succeeds, and loses nothing that a start before it was told.
#[tokio::test]
async fn a_first_start_that_was_cut_off_is_begun_again() {
    if given_folder().is_some() {
        return;
    }
    let again = async |dir: &Path, how: &str| {
        let log = SqliteLog::open(dir).unwrap_or_else(|error| panic!("{how}: {error}"));
        assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [AppendResult::Committed { len: 1 }], "{how}");
        drop(log);
        let log = SqliteLog::open(dir).unwrap_or_else(|error| panic!("{how}, and again: {error}"));
        assert_eq!(log.read(&"chat".into(), 0, 9).await.expect("it reads").len(), 1, "{how}");
        assert!(!dir.join("holdpoint.db.new").exists(), "{how}: nothing is left over");
    };
    // A disk that is full after some blocks. The tables need more than a hundred.
    let mut failed = 0;
    for blocks in [0, 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384] {
        let dir = TempDir::new().expect("a temporary folder");
        let (mut child, stdout) = child("child_that_opens", dir.path(), &format!("trap '' XFSZ; ulimit -f {blocks};"));
        let said: Vec<String> = stdout.lines().map_while(Result::ok).collect();
        child.wait().expect("it ends");
        failed += u32::from(said.iter().any(|line| line == "failed"));
        again(dir.path(), &format!("full after {blocks} blocks")).await;
    }
    assert!(failed >= 5, "{failed} starts have failed");
    // Killed on the way, at moments from the beginning to the end of what it takes.
    for round in 0..24 {
        let dir = TempDir::new().expect("a temporary folder");
        let (mut child, stdout) = child("child_that_opens", dir.path(), "");
        let mut lines = stdout.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "opening"), "it did not begin");
        std::thread::sleep(std::time::Duration::from_micros(round * 700));
        child.kill().expect("it was started");
        child.wait().expect("it ends");
        again(dir.path(), &format!("killed in round {round}")).await;
    }
}
