//! What can't be opened is refused with an error of its own, which says what to do and never shows the password.

use std::net::TcpListener;

use futures::future::try_join_all;
use holdpoint_log::{FORMAT, Log, PostgresError, PostgresLog, PostgresOptions};
use holdpoint_testkit::{Postgres, log_suite::append};

use super::*;

/// Part of every password here.
const SECRET: &str = "s3cret";

async fn refused(url: &str) -> PostgresError {
    let error = PostgresLog::open(PostgresOptions::new(url)).await.expect_err("it is refused");
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains(SECRET) && !shown.contains("of-tests"), "{shown}");
    }
    error
}

#[tokio::test]
async fn a_url_that_is_none() {
    for url in
        ["", "mysql://ann:s3cret@127.0.0.1/x", "postgres://ann:s3cret@127.0.0.1:x/x", "postgres://ann@h/x?s3cret"]
    {
        let error = refused(url).await;
        assert!(matches!(error, PostgresError::Url { .. }), "{error:?}");
        assert!(error.to_string().contains("postgres://user:password@host:5432/database"), "{error}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its address").port();
    let error = refused(&format!("postgres://ann:{SECRET}@127.0.0.1:{port}/x")).await;
    assert!(matches!(error, PostgresError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.starts_with(&format!("PostgreSQL at 127.0.0.1:{port}/x can't be reached: ")), "{said}");
    assert!(said.ends_with("Start it, or correct the URL"), "{said}");
}

#[tokio::test]
async fn something_else_listens_and_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let mut options = PostgresOptions::new(format!("postgres://ann:{SECRET}@127.0.0.1:{port}/x"));
    options.connect_timeout = millis(300);
    let error = PostgresLog::open(options).await.expect_err("nothing answers");
    assert!(matches!(error, PostgresError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_database_that_is_not_there() {
    let error = refused(&Postgres::shared().url("nowhere")).await;
    assert!(matches!(error, PostgresError::NoDatabase { .. }), "{error:?}");
    assert!(error.to_string().contains("Create it, or name another one in the URL"), "{error}");
}

#[tokio::test]
async fn a_login_that_is_not_accepted() {
    let server = Postgres::shared();
    let port = server.port();
    server.sql("postgres", "CREATE ROLE scram LOGIN PASSWORD 'right'");
    for (user, password) in [("postgres", ":s3cret"), ("scram", ":s3cret"), ("nobody", ":s3cret"), ("scram", "")] {
        let error = refused(&format!("postgres://{user}{password}@127.0.0.1:{port}/postgres")).await;
        assert!(matches!(error, PostgresError::Login { .. }), "{user}: {error:?}");
        assert!(error.to_string().ends_with("Correct the user and the password in the URL"), "{error}");
    }
    let error = refused(&format!("postgres://scram:right@127.0.0.1:{port}/postgres")).await;
    assert!(matches!(error, PostgresError::Denied { .. }), "it logs in, but may create nothing: {error:?}");
}

#[tokio::test]
async fn a_server_that_takes_no_writes() {
    let server = Postgres::shared();
    let database = server.fresh_database();
    let url = server.url(&database);
    server.sql("postgres", &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"));
    let error = refused(&url).await;
    assert!(matches!(error, PostgresError::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().contains("Name the primary"), "{error}");
}

#[tokio::test]
async fn a_standby() {
    let server = Postgres::start(&[]);
    server.crash();
    std::fs::write(server.data().join("standby.signal"), "").expect("it writes");
    server.resume_after_stop();
    let error = refused(&server.url("postgres")).await;
    assert!(matches!(error, PostgresError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let server = Postgres::shared();
    let database = server.fresh_database();
    // A server that says of itself what an old one says.
    let old = format!(
        "CREATE SCHEMA old; CREATE FUNCTION old.current_setting(name text) RETURNS text LANGUAGE sql AS
         $$ SELECT CASE name WHEN 'server_version_num' THEN '140011' ELSE '14.11' END $$;
         ALTER DATABASE {database} SET search_path = old, pg_catalog"
    );
    server.sql(&database, &old);
    let error = refused(&server.url(&database)).await;
    assert!(matches!(&error, PostgresError::TooOld { found, .. } if found == "14.11"), "{error:?}");
    assert!(error.to_string().ends_with("has version 14.11; 15 or later is needed. Upgrade it"), "{error}");
}

#[tokio::test]
async fn tables_of_a_newer_version() {
    let (server, options) = (Postgres::shared(), options());
    let schema = options.schema.clone().expect("it has one");
    drop(open(&options).await);
    let set = |format, compatible| {
        server.sql("postgres", &format!("UPDATE {schema}.holdpoint SET format = {format}, compatible = {compatible}"))
    };
    set(99, 99);
    let error = PostgresLog::open(options.clone()).await.expect_err("it is newer");
    assert!(matches!(error, PostgresError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.to_string().ends_with("use a newer holdpoint"), "{error}");
    // A newer node may have left the tables such that an older one can go on.
    set(99, FORMAT);
    let log = open(&options).await;
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)]);
    assert_eq!(server.sql("postgres", &format!("SELECT format FROM {schema}.holdpoint")), "99", "it is left alone");
}

#[tokio::test]
async fn tables_of_another_program() {
    let server = Postgres::shared();
    let database = server.fresh_database();
    server.sql(&database, "CREATE TABLE chats (id int)");
    let error = refused(&server.url(&database)).await;
    assert!(matches!(error, PostgresError::Foreign { .. }), "{error:?}");
    // Another schema of the same database is free.
    server.sql(&database, "CREATE SCHEMA free");
    let url = format!("{}?options=-csearch_path%3Dfree", server.url(&database));
    PostgresLog::open(PostgresOptions::new(url)).await.expect("it opens");
    assert_eq!(server.sql(&database, "SELECT count(*) FROM free.chats"), "0");
}

#[tokio::test]
async fn a_search_path_that_leads_nowhere() {
    let server = Postgres::shared();
    let database = server.fresh_database();
    server.sql(&database, &format!("ALTER DATABASE {database} SET search_path = nowhere"));
    let error = refused(&server.url(&database)).await;
    assert!(matches!(error, PostgresError::NoSchema { .. }), "{error:?}");
}

#[tokio::test]
async fn a_schema_that_may_not_be_used() {
    let server = Postgres::shared();
    let database = server.fresh_database();
    let role = format!("guest of {database}");
    let make = format!(
        "CREATE ROLE \"{role}\" LOGIN PASSWORD 'of-tests'; CREATE SCHEMA \"the tables\";
         ALTER DATABASE {database} SET search_path = \"$user\", \"the tables\""
    );
    server.sql(&database, &make);
    let url = server.url(&database);
    let (_, place) = url.split_once('@').expect("it names a user");
    let error = refused(&format!("postgres://guest%20of%20{database}:of-tests@{place}")).await;
    assert!(matches!(error, PostgresError::NoUsage { .. }), "{error:?}");
    let grant = format!("GRANT USAGE, CREATE ON SCHEMA \"the tables\" TO \"{role}\"");
    assert!(error.to_string().ends_with(&grant), "{error}");
    // What it says is sufficient.
    server.sql(&database, &grant);
    let options = PostgresOptions::new(format!("postgres://guest%20of%20{database}:of-tests@{place}"));
    PostgresLog::open(options).await.expect("it opens");
}

#[tokio::test]
async fn a_server_that_is_full() {
    let server = Postgres::start(&["max_connections=5", "superuser_reserved_connections=0", "max_wal_senders=0"]);
    let mut options = PostgresOptions::new(server.url("postgres"));
    options.poll_only = true;
    let mut logs = Vec::new();
    let error = loop {
        match PostgresLog::open(options.clone()).await {
            Ok(log) => logs.push(log),
            Err(error) => break error,
        }
        assert!(logs.len() < 6, "the server takes more connections than it should");
    };
    assert!(matches!(error, PostgresError::Busy { .. }), "{error:?}");
    assert!(error.to_string().contains("raise max_connections"), "{error}");
}

#[tokio::test]
async fn several_nodes_that_start_at_once() {
    let options = options();
    let opened = try_join_all((0..8).map(|_| PostgresLog::open(options.clone()))).await.expect("all open");
    for (at, log) in (0..).zip(&opened) {
        assert_eq!(log.append_many(vec![append("chat", at, at.into())]).await, [committed(at + 1)]);
    }
}
