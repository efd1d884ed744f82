//! Tests of internals: migrations, failing writes, use of indexes.

use std::time::Duration;

use bytes::Bytes;
use futures::{future::join_all, poll};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::{
    Append, AppendId, AppendResult, AuditQuery, Deletion, Head, HeadOrder, HeadQuery, HoldChanges, HoldQuery, HoldsOf,
    Index, Log, Ownership,
};
use holdpoint_core::{clock::Timestamp, subject::Subject};
use holdpoint_protocol::ids::ChatId;

const FILE: &str = "holdpoint.db";

fn append(chat: &str, expected: u64, payload: &'static str) -> Append {
    let head = Head { subject: Subject::local(), is_open: true, updated_at: Timestamp(1), data: Bytes::new() };
    let (chat, payload) = (ChatId::from(chat), Bytes::from_static(payload.as_bytes()));
    let (keys, holds, ownership) = (Vec::new(), HoldChanges::default(), Ownership::Release);
    let (digest, audit, grants) = (None, Vec::new(), crate::GrantChanges::default());
    let (append_id, count) = (AppendId(7), 1);
    Append { chat, expected, append_id, count, payload, head, keys, holds, ownership, digest, audit, grants }
}

fn deletion(expected: u64) -> Deletion {
    let row =
        crate::AuditRow { index: 0, at: Timestamp(1), tool: "".into(), by: None, data: Bytes::new(), contents: None };
    Deletion { expected, hash: crate::BatchHash::BEGINNING, row }
}

/// Short enough for a test that waits for the writer to give up.
const SOON: Duration = Duration::from_millis(20);
/// Longer than any test takes.
const LATE: Duration = Duration::from_secs(60);

/// A log whose writer gives up after `busy_timeout`, and another connection to its file.
fn log_and_other(busy_timeout: Duration) -> (TempDir, SqliteLog, Connection) {
    let dir = TempDir::new().expect("a temporary folder");
    let mut folder = Folder::lock(dir.path()).expect("it is free");
    folder.busy_timeout = busy_timeout;
    let log = SqliteLog::start(folder).expect("it opens");
    let other = Connection::open(dir.path().join(FILE)).expect("it opens");
    (dir, log, other)
}

async fn one(log: &SqliteLog, append: Append) -> AppendResult {
    log.append_many(vec![append]).await[0]
}

fn version(connection: &Connection) -> i64 {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("it has one")
}

#[test]
fn an_older_file_is_brought_to_the_newest_version_and_keeps_what_it_has() {
    let mut file = Connection::open_in_memory().expect("it opens");
    let versions = [
        "CREATE TABLE notes (text TEXT)",
        "ALTER TABLE notes ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0; CREATE INDEX pins ON notes (pinned)",
        "UPDATE notes SET pinned = 1 WHERE text = 'first'",
    ];
    schema::migrate(&mut file, &versions[..1], "f".as_ref()).expect("it is made");
    assert_eq!(version(&file), 1);
    file.execute("INSERT INTO notes VALUES ('first'), ('second')", []).expect("it writes");
    for _ in 0..2 {
        schema::migrate(&mut file, &versions, "f".as_ref()).expect("it is migrated");
        assert_eq!(version(&file), 3);
        let pinned: String = file.query_row("SELECT text FROM notes WHERE pinned", [], |row| row.get(0)).expect("one");
        assert_eq!(pinned, "first");
    }
}

#[test]
fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let mut file = Connection::open_in_memory().expect("it opens");
    let versions = ["CREATE TABLE notes (text TEXT)", "CREATE TABLE more (text TEXT)", "DROP TABLE notes; nonsense"];
    schema::migrate(&mut file, &versions[..1], "f".as_ref()).expect("it is made");
    let error = schema::migrate(&mut file, &versions, "some/file".as_ref()).expect_err("it can't be");
    let text = error.to_string();
    assert!(text.starts_with("some/file could not be migrated from format 1 to 3: near \"nonsense\""), "{text}");
    assert_eq!(version(&file), 1);
    let tables: Vec<String> = file
        .prepare("SELECT name FROM sqlite_schema")
        .and_then(|mut tables| tables.query_map([], |row| row.get(0))?.collect())
        .expect("it lists");
    assert_eq!(tables, ["notes"]);
}

#[test]
fn a_newer_file_is_left_alone() {
    let (dir, log, other) = log_and_other(LATE);
    drop(log);
    other.pragma_update(None, "user_version", 99).expect("it writes");
    let error = SqliteLog::open(dir.path()).expect_err("it is newer");
    assert!(matches!(error, SqliteError::Newer { found: 99, known: 1, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(FILE) && text.ends_with("use a newer holdpoint"), "{text}");
    other.pragma_update(None, "user_version", schema::MIGRATIONS.len() as i64).expect("it writes");
    SqliteLog::open(dir.path()).expect("the refusal left no lock behind");
}

#[tokio::test]
async fn while_somebody_else_writes_nothing_is_known_and_afterwards_all_is_settled() {
    let (_dir, log, other) = log_and_other(SOON);
    other.execute_batch("BEGIN IMMEDIATE").expect("it is free");
    let appends = ["a", "b", "c"].map(|chat| log.append_many(vec![append(chat, 0, "x"); 2]));
    assert_eq!(join_all(appends).await, vec![[AppendResult::Unknown; 2]; 3]);
    let error = log.delete(&"a".into(), deletion(1)).await.expect_err("it can't be written");
    let text = error.to_string();
    assert!(text.contains("could not delete chat a in ") && text.contains("database is locked"), "{text}");
    assert_eq!(log.read(&"a".into(), 0, 10).await, Ok(vec![]), "reading goes on");
    assert_eq!(log.commits(), 0);
    other.execute_batch("ROLLBACK").expect("it was begun");
    for chat in ["a", "b", "c"] {
        assert_eq!(one(&log, append(chat, 0, "x")).await, AppendResult::Committed { len: 1 });
    }
}

#[tokio::test]
async fn what_cannot_be_written_does_not_take_others_with_it() {
    let (_dir, log, other) = log_and_other(LATE);
    other
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON batches WHEN new.payload = CAST('poison' AS BLOB)
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .expect("it writes");
    // Blocks the writer until all requests are queued, so that they form one group.
    other.execute_batch("BEGIN IMMEDIATE").expect("it is free");
    let mut blocked = log.append_many(vec![append("blocked", 0, "x")]);
    let mut before = log.append_many(vec![append("before", 0, "x")]);
    let mut poison = log.append_many(vec![append("beside", 0, "x"), append("poison", 0, "poison")]);
    let mut after = log.append_many(vec![append("after", 0, "x"), append("before", 1, "x")]);
    for appending in [&mut blocked, &mut before, &mut poison, &mut after] {
        assert!(poll!(appending).is_pending());
    }
    other.execute_batch("ROLLBACK").expect("it was begun");
    blocked.await;
    assert_eq!(before.await, [AppendResult::Committed { len: 1 }]);
    assert_eq!(poison.await, [AppendResult::Unknown; 2]);
    assert_eq!(after.await, [AppendResult::Committed { len: 1 }, AppendResult::Committed { len: 2 }]);
    for (chat, batches) in [("before", 2), ("beside", 0), ("poison", 0), ("after", 1)] {
        assert_eq!(log.read(&chat.into(), 0, 10).await.expect("it reads").len(), batches, "{chat}");
    }
    let heads = log.heads(HeadQuery::default(), 10).await.expect("it lists");
    assert!(heads.iter().all(|(id, ..)| !["beside", "poison"].contains(&id.as_str())), "{heads:?}");
}

#[test]
fn the_writer_waits_for_the_disk() {
    let dir = TempDir::new().expect("a temporary folder");
    let folder = Folder::lock(dir.path()).expect("it is free");
    folder.create().expect("it is made");
    let connection = folder.writer().expect("it opens");
    let setting = |name: &str| -> String {
        let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        connection.query_row(&sql, [], |row| row.get(0)).expect("it is set")
    };
    assert_eq!([setting("journal_mode"), setting("synchronous"), setting("secure_delete")], ["wal", "2", "1"]);
}

#[test]
fn no_list_looks_at_what_it_does_not_give() {
    let (_dir, _log, other) = log_and_other(LATE);
    let id = |after: Option<&str>| HeadOrder::Id { after: after.map(ChatId::from) };
    let newest = |after: Option<&str>| HeadOrder::Newest { after: after.map(|id| (Timestamp(1), ChatId::from(id))) };
    let local = Some(Subject::local());
    for after in [None, Some("a")] {
        let lists = [
            (None, false, id(after), "sqlite_autoindex_chats_1"),
            (None, true, id(after), "chats_open"),
            (local.clone(), true, id(after), "chats_open_by_subject"),
            (local.clone(), false, newest(after), "chats_by_subject"),
        ];
        for (subject, only_open, order, index) in lists {
            let (sql, _) = reader::select_heads(&HeadQuery { subject, only_open, order });
            assert_uses(&other, &sql, &[index]);
        }
        let after = after.map(|id| (Timestamp(1), id.into(), id.into()));
        for (only_approvals, index) in [(true, "approvals_by_subject"), (false, "holds_by_subject")] {
            let of = HoldsOf::Subject(Subject::local());
            let (sql, _) = reader::select_holds(&HoldQuery { of, only_approvals, after: after.clone() });
            // Holds of the same call id in different chats are put in order.
            assert_uses(&other, &sql, &[index, "INTEGER PRIMARY KEY", "USE TEMP B-TREE FOR LAST TERM"]);
        }
    }
}

#[test]
fn a_page_of_the_record_is_read_from_an_index() {
    let (_dir, _log, other) = log_and_other(LATE);
    let all = AuditQuery::default;
    let local = || Some(Subject::local());
    for after in [None, Some((Timestamp(1), ChatId::from("a"), 7))] {
        for (query, indexes) in [
            (all(), &["audit_by_time"][..]),
            (AuditQuery { chat: Some("a".into()), ..all() }, &["PRIMARY KEY (chat="]),
            (AuditQuery { tool: Some("pay".into()), ..all() }, &["audit_by_tool"]),
            (AuditQuery { seen_by: local(), ..all() }, &["audit_by_owner", "audit_by_actor"]),
            (
                AuditQuery { subject: local(), since: Some(Timestamp(3)), ..all() },
                &["audit_by_owner", "audit_by_actor"],
            ),
        ] {
            let (sql, _) = audit::select(&AuditQuery { after: after.clone(), ..query }, 10);
            let plan: Vec<String> = other
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .and_then(|mut plan| plan.raw_query().mapped(|row| row.get("detail")).collect())
                .expect("it explains");
            let reads: Vec<&String> = plan.iter().filter(|step| step.contains(" audit USING ")).collect();
            assert_eq!(reads.len(), indexes.len(), "{sql}: {plan:?}");
            for (read, index) in reads.iter().zip(indexes) {
                assert!(read.contains(index), "{sql}: {plan:?}");
            }
        }
    }
}

/// What people decide in their own chats is found there, and makes no other list longer.
#[tokio::test]
async fn the_record_of_a_person_costs_the_same_however_much_they_have_decided() {
    let (_dir, log, connection) = log_and_other(LATE);
    log.append_many(vec![append("a", 0, "[]")]).await;
    let steps = |lines: i64| {
        connection
            .execute(
                "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
                 INSERT OR IGNORE INTO audit (chat, position, at, owner, tool, actor, data)
                 SELECT number, n, n, 'me', 'pay', 'me', x'7b7d' FROM n, chats WHERE id = 'a'",
                [lines],
            )
            .expect("lines");
        let query = AuditQuery { seen_by: Some(Subject::from("me")), ..AuditQuery::default() };
        let (sql, parameters) = audit::select(&query, 1);
        let mut select = connection.prepare(&sql).expect("a statement");
        assert_eq!(select.query_map(rusqlite::params_from_iter(parameters), |_| Ok(())).expect("it reads").count(), 1);
        select.get_status(rusqlite::StatementStatus::VmStep)
    };
    let (few, many) = (steps(10), steps(10_000));
    assert!(many <= few + 50, "{few} steps for 10 lines, {many} for 10,000");
}

/// Each step of the plan must use the index with this name.
fn assert_uses(connection: &Connection, sql: &str, indexes: &[&str]) {
    let plan: Vec<String> = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .and_then(|mut plan| plan.raw_query().mapped(|row| row.get("detail")).collect())
        .expect("it explains");
    assert_eq!(plan.len(), indexes.len(), "{sql}: {plan:?}");
    for (step, index) in plan.iter().zip(indexes) {
        assert!(format!("{step} ").contains(&format!("{index} ")), "{sql}: {plan:?}");
    }
}
