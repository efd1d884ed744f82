//! What the SQLite log promises beyond the contract: it survives, it is alone, and it commits many at once.

use std::{fs, path::Path, sync::Arc};

use futures::{future::join_all, poll};
use holdpoint_log::{Append, AppendResult, HeadQuery, Index, Log, SqliteError, SqliteLog};
use holdpoint_testkit::log_suite::{append, deletion, every_change_breaks_the_chain};
use tempfile::TempDir;
use tokio::task::unconstrained;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder")
}

fn open(dir: &Path) -> SqliteLog {
    SqliteLog::open(dir).expect("it opens")
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .expect("it is there")
        .map(|file| file.expect("it is there").file_name().into_string().expect("our names"))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn everything_survives_reopening() {
    let dir = folder();
    let dir = dir.path().join("made/on/first/use");
    let query = HeadQuery::default;
    let log = open(&dir);
    for at in 0..100 {
        let next = Append { keys: vec![format!("key {at}").into()], ..append("chat", at, at.into()) };
        assert_eq!(log.append_many(vec![next]).await, [AppendResult::Committed { len: at + 1 }]);
    }
    let before = (log.read(&"chat".into(), 0, 1000).await, log.heads(query(), 10).await);
    drop(log);
    assert_eq!(files(&dir), ["holdpoint.db", "holdpoint.lock"], "one file, once it is closed");
    let log = open(&dir);
    assert_eq!((log.read(&"chat".into(), 0, 1000).await, log.heads(query(), 10).await), before);
    assert_eq!(log.find(&"ann".into(), "key 50").await, Ok(Some("chat".into())));
    let results = log.append_many(vec![append("chat", 99, 99), append("chat", 99, 1), append("chat", 100, 1)]).await;
    let len = 100;
    assert_eq!(
        results,
        [AppendResult::Committed { len }, AppendResult::Conflict { len }, AppendResult::Committed { len: 101 }]
    );
}

#[tokio::test]
async fn a_folder_has_one_log_at_a_time() {
    let dir = folder();
    let log = open(dir.path());
    let error = SqliteLog::open(dir.path()).expect_err("it is in use");
    assert!(matches!(&error, SqliteError::InUse { dir: used } if used == dir.path()), "{error:?}");
    let name = dir.path().display();
    assert_eq!(
        error.to_string(),
        format!("the folder {name} is in use by another holdpoint; stop that one, or name another folder")
    );
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [AppendResult::Committed { len: 1 }]);
    drop(log);
    open(dir.path());
}

#[test]
fn what_cannot_be_opened_is_named() {
    let dir = folder();
    let file = dir.path().join("file");
    fs::write(&file, "not a folder").expect("it writes");
    for path in [&file, &file.join("below")] {
        let error = SqliteLog::open(path).expect_err("no folder can be there");
        assert!(matches!(error, SqliteError::Folder { .. }), "{error:?}");
        assert!(error.to_string().starts_with(&format!("the folder {} can't be used", path.display())), "{error}");
    }
    fs::remove_file(&file).expect("it is there");
    let database = dir.path().join("holdpoint.db");
    fs::write(&database, "something else, and long enough to be looked at".repeat(100)).expect("it writes");
    let error = SqliteLog::open(dir.path()).expect_err("it is not a database");
    assert!(error.to_string().starts_with(&format!("{} can't be opened: ", database.display())), "{error}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_we_make_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder();
    let dir = dir.path().join("data");
    open(&dir);
    assert_eq!(fs::metadata(&dir).expect("it is there").permissions().mode() & 0o777, 0o700);
}

/// A connection that holds up the writer until it is dropped.
fn hold_up(dir: &Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(dir.join("holdpoint.db")).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is free");
    other
}

#[tokio::test]
async fn those_who_come_together_share_a_commit() {
    let dir = folder();
    let log = open(dir.path());
    for at in 0..64 {
        log.append_many(vec![append("alone", at, at.into())]).await;
    }
    assert_eq!(log.commits(), 64, "one by one, each has its own");

    let other = hold_up(dir.path());
    let mut appending: Vec<_> = (0..64).map(|at| log.append_many(vec![append(&format!("{at}"), 0, at)])).collect();
    unconstrained(async {
        for append in &mut appending {
            assert!(poll!(append).is_pending());
        }
    })
    .await;
    drop(other);
    assert_eq!(join_all(appending).await, vec![[AppendResult::Committed { len: 1 }]; 64]);
    let commits = log.commits() - 64;
    assert!(commits <= 2, "the writer may have begun with less than all of them, but not {commits} times");
}

#[tokio::test]
async fn what_was_handed_in_is_done_before_the_log_is_gone() {
    let dir = folder();
    let log = Arc::new(open(dir.path()));
    let other = hold_up(dir.path());
    unconstrained(async {
        for at in 0..500 {
            let mut appending = log.append_many(vec![append("chat", at, at.into())]);
            assert!(poll!(&mut appending).is_pending());
        }
    })
    .await;
    drop(other);
    drop(log);
    let batches = open(dir.path()).read(&"chat".into(), 0, 1000).await.expect("it reads");
    assert_eq!(batches.len(), 500);
}

#[tokio::test]
async fn a_forgotten_chat_is_not_in_the_file_any_more() {
    let dir = folder();
    let secret = "a secret that nobody should find again";
    let contains = || {
        let file = fs::read(dir.path().join("holdpoint.db")).expect("it reads");
        file.windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    let log = open(dir.path());
    let of = |chat: &str, at, payload: String| Append { payload: payload.into(), ..append(chat, at, at.into()) };
    log.append_many(vec![of("chat", 0, secret.into()), of("stays", 0, "x".into())]).await;
    log.append_many(vec![of("chat", 1, secret.repeat(1000))]).await;
    drop(log);
    assert!(contains());
    let log = open(dir.path());
    log.delete(&"chat".into(), deletion(2)).await.expect("it deletes");
    drop(log);
    assert!(!contains());
}

#[tokio::test]
async fn every_change_of_the_file_breaks_its_chain() {
    let dir = folder();
    let log = Arc::new(open(dir.path()));
    let file = dir.path().join("holdpoint.db");
    let change = |statement: &str| {
        let other = rusqlite::Connection::open(&file).expect("it opens");
        assert!(other.execute(&statement.replace('@', ""), []).expect("it runs") > 0, "{statement}");
    };
    every_change_breaks_the_chain(log, &change).await;
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
}

/// Whatever the rights of the folder were, nobody else reads the chats.
#[cfg(unix)]
#[tokio::test]
async fn the_files_are_their_owners_only() {
    for (before, has_others_files, after) in
        [(0o755, false, 0o700), (0o777, false, 0o700), (0o750, false, 0o700), (0o700, true, 0o700)]
    {
        let dir = folder();
        set_mode(dir.path(), before);
        if has_others_files {
            fs::write(dir.path().join("notes.txt"), "mine").expect("written");
            set_mode(&dir.path().join("notes.txt"), 0o644);
        }
        for round in 0..2 {
            let log = open(dir.path());
            log.append_many(vec![append("chat", round, 1)]).await;
            assert_eq!(mode(dir.path()), after, "{before:o}");
            let files = files(dir.path());
            let files: Vec<&String> = files.iter().filter(|name| name.starts_with("holdpoint.")).collect();
            assert_eq!(files, ["holdpoint.db", "holdpoint.db-shm", "holdpoint.db-wal", "holdpoint.lock"]);
            for name in files {
                assert_eq!(mode(&dir.path().join(name)), 0o600, "{name} in {before:o}, {round}");
            }
            drop(log);
            // As a copy from elsewhere may have them.
            for name in ["holdpoint.db", "holdpoint.lock"] {
                set_mode(&dir.path().join(name), 0o644);
            }
        }
        if has_others_files {
            assert_eq!(mode(&dir.path().join("notes.txt")), 0o644, "what is not ours is left");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_open_folder_with_other_files_is_refused() {
    for before in [0o777, 0o757, 0o1777, 0o770, 0o755, 0o750, 0o701] {
        let dir = folder();
        fs::write(dir.path().join("notes.txt"), "mine").expect("written");
        set_mode(dir.path(), before);
        let refused = SqliteLog::open(dir.path()).expect_err("others could exchange the files");
        assert!(matches!(&refused, SqliteError::Open { .. }), "{before:o}: {refused}");
        assert!(refused.to_string().contains(&format!("{before:o}")), "{refused}");
        assert_eq!(
            (files(dir.path()), mode(dir.path())),
            (vec!["notes.txt".to_owned()], before & 0o777),
            "nothing is changed"
        );
        let inside = dir.path().join("chats");
        drop(open(&inside));
        assert_eq!(mode(&inside), 0o700, "the message says what to do");
        set_mode(dir.path(), 0o700);
        drop(open(dir.path()));
    }
}
