//! Logs with many chats, and runtimes on them.

mod agent;
mod fill;

use std::{fs, path::Path, sync::Arc};

pub(crate) use agent::{Asked, LOOK, OPEN, PAY, Scripted, TALK};
pub(crate) use fill::{Filled, Kind, Templates, held};
use holdpoint_runtime::{
    Limits, Runtime,
    log::{PostgresLog, PostgresOptions, SqliteLog, Store},
};
use holdpoint_testkit::Postgres;
use tempfile::TempDir;

/// An engine of the log.
#[derive(Debug, Clone)]
pub(crate) enum Engine {
    Sqlite,
    Postgres(Arc<Postgres>),
}

impl Engine {
    /// SQLite.
    pub(crate) const SQLITE: &str = "sqlite";
    /// PostgreSQL.
    pub(crate) const POSTGRES: &str = "postgres";

    /// The engines that are wanted, or both. PostgreSQL only if it is installed.
    pub(crate) fn all(only: Option<&str>) -> Vec<Self> {
        let mut engines = Vec::new();
        if only != Some(Self::POSTGRES) {
            engines.push(Self::Sqlite);
        }
        if only == Some(Self::SQLITE) {
            return engines;
        }
        if is_postgres_installed() {
            // The cluster of the tests does without fsync. The last setting of a name counts.
            let settings = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];
            let server = Postgres::start(&settings);
            let durable =
                server.sql("postgres", "SELECT current_setting('fsync'), current_setting('synchronous_commit')");
            assert_eq!(durable, "on|on", "the settings of PostgreSQL");
            engines.push(Self::Postgres(Arc::new(server)));
        } else {
            eprintln!("PostgreSQL is not installed: its rows are left out");
        }
        engines
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// An empty log of this engine.
    pub(crate) fn database(&self) -> Database {
        match self {
            Self::Sqlite => Database::Sqlite(tempfile::tempdir().expect("a folder of its own")),
            Self::Postgres(server) => Database::Postgres(Arc::clone(server), server.fresh_database()),
        }
    }

    /// The CPU time of this process and of the database's processes so far, in nanoseconds. Reading the latter costs
    /// time of its own, which is not to be counted: it comes first at a beginning, and last at an end.
    pub(crate) fn cpu(&self, is_beginning: bool) -> u64 {
        let server = || match self {
            Self::Sqlite => 0,
            Self::Postgres(server) => server_cpu(&server.data()).unwrap_or_default(),
        };
        if is_beginning {
            let server = server();
            server + own_cpu()
        } else {
            own_cpu() + server()
        }
    }
}

/// The CPU time of this process so far, in nanoseconds.
pub(crate) fn own_cpu() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let nanos = i128::from(spent.tv_sec) * 1_000_000_000 + i128::from(spent.tv_nsec);
    u64::try_from(nanos).expect("a time since the start")
}

/// Where a log is kept.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(TempDir),
    Postgres(Arc<Postgres>, String),
}

impl Database {
    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(folder) => Arc::new(SqliteLog::open(folder.path()).expect("a folder of its own")),
            Self::Postgres(server, database) => {
                let options = PostgresOptions::new(server.url(database));
                Arc::new(PostgresLog::open(options).await.expect("a database of its own"))
            }
        }
    }

    /// Lets the database see what was filled in: PostgreSQL's autovacuum would, a minute later.
    pub(crate) fn analyze(&self) {
        if let Self::Postgres(server, database) = self {
            server.sql(database, "VACUUM ANALYZE");
        }
    }
}

/// A runtime with the scripted model. Only the limits that these sizes exceed are raised.
pub(crate) async fn start(log: Arc<dyn Store>, model: Arc<Scripted>, open_chats: usize) -> Runtime {
    let limits = Limits::default();
    let limits = Limits {
        open_chats_per_subject: limits.open_chats_per_subject.max(open_chats),
        turns_per_subject: limits.turns,
        ..limits
    };
    let builder = Runtime::builder(model).log(log).tools(agent::tools()).limits(limits);
    builder.start().await.expect("a log of its own")
}

fn is_postgres_installed() -> bool {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let folders = debian.map(|version| version.path().join("bin")).chain(std::env::split_paths(&on_path));
    folders.into_iter().any(|folder| folder.join("initdb").exists())
}

/// The CPU time of a PostgreSQL server's processes. Linux tells it by the nanosecond; a process that has ended is not
/// counted.
fn server_cpu(data: &Path) -> Option<u64> {
    let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let main = file.lines().next()?;
    let children = fs::read_to_string(format!("/proc/{main}/task/{main}/children")).ok()?;
    let spent = children.split_whitespace().filter_map(|process| {
        let times = fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(spent.sum())
}
