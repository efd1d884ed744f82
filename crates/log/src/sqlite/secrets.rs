//! The server's own secrets in SQLite.

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_core::clock::Timestamp;
use rusqlite::{Connection, Row, Transaction};

use super::{SqliteLog, error::QueryFailure, writer::Request};
use crate::{LogError, Secrets, StoredSecret};

impl Secrets for SqliteLog {
    fn secrets(&self) -> BoxFuture<'_, Result<Vec<StoredSecret>, LogError>> {
        self.query(list, || "could not read the server's secrets".to_owned())
    }

    fn set_secret(&self, secret: StoredSecret, expected: Option<Bytes>) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let set = self.ask(|answer| Request::SetSecret { secret, expected, is_set: false, answer }).await;
            let set = set.unwrap_or_else(|| Err(QueryFailure::stopped("its writer has stopped")));
            set.map_err(|error| error.doing(format_args!("could not write a secret of the server in {}", self.folder)))
        })
    }
}

fn list(connection: &Connection) -> rusqlite::Result<Vec<StoredSecret>> {
    let mut select = connection.prepare_cached("SELECT name, value, created_at FROM secrets ORDER BY name")?;
    let secret = |row: &Row<'_>| {
        Ok(StoredSecret {
            name: row.get(0)?,
            value: Bytes::from(row.get::<_, Vec<u8>>(1)?),
            created_at: Timestamp(row.get::<_, i64>(2)?.cast_unsigned()),
        })
    };
    select.query_map([], secret)?.collect()
}

/// See [`crate::Secrets::set_secret`].
pub(super) fn set(
    transaction: &Transaction<'_>,
    secret: &StoredSecret,
    expected: Option<&Bytes>,
) -> rusqlite::Result<bool> {
    let StoredSecret { name, value, created_at } = secret;
    let created_at = created_at.0.cast_signed();
    let changed = match expected {
        None => transaction
            .prepare_cached("INSERT INTO secrets (name, value, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
            .execute((name, &value[..], created_at))?,
        Some(expected) => transaction
            .prepare_cached("UPDATE secrets SET value = ?2, created_at = ?3 WHERE name = ?1 AND value = ?4")?
            .execute((name, &value[..], created_at, &expected[..]))?,
    };
    Ok(changed > 0)
}
