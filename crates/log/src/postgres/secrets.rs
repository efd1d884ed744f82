//! The server's own secrets in PostgreSQL.

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_core::clock::Timestamp;
use tokio_postgres::types::Type;

use super::{PostgresLog, connection::Sql, error::Failure, pool::Pool};
use crate::{LogError, Secrets, StoredSecret};

const LIST: Sql = Sql { text: "SELECT name, value, created_at FROM @.secrets ORDER BY name", types: &[] };
const ADD: Sql = Sql {
    text: "INSERT INTO @.secrets (name, value, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1",
    types: &[Type::TEXT, Type::BYTEA, Type::INT8],
};
const REPLACE: Sql = Sql {
    text: "UPDATE @.secrets SET value = $2, created_at = $3 WHERE name = $1 AND value = $4 RETURNING 1",
    types: &[Type::TEXT, Type::BYTEA, Type::INT8, Type::BYTEA],
};

impl Secrets for PostgresLog {
    fn secrets(&self) -> BoxFuture<'_, Result<Vec<StoredSecret>, LogError>> {
        Box::pin(async move {
            let listed = list(&self.readers).await;
            listed.map_err(|failure| self.named(failure, "could not read the server's secrets"))
        })
    }

    fn set_secret(&self, secret: StoredSecret, expected: Option<Bytes>) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let set = set(&self.readers, &secret, expected.as_ref()).await;
            set.map_err(|failure| self.named(failure, "could not write a secret of the server"))
        })
    }
}

async fn list(pool: &Pool) -> Result<Vec<StoredSecret>, Failure> {
    let rows = pool.run(LIST, &[]).await?;
    let secrets = rows.iter().map(|row| {
        let (name, value, created_at): (&str, &[u8], i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let created_at = Timestamp(u64::try_from(created_at).unwrap_or_default());
        Ok(StoredSecret { name: name.into(), value: Bytes::copy_from_slice(value), created_at })
    });
    secrets.collect()
}

async fn set(pool: &Pool, secret: &StoredSecret, expected: Option<&Bytes>) -> Result<bool, Failure> {
    let (name, value) = (&*secret.name, &secret.value[..]);
    let created_at = i64::try_from(secret.created_at.0).unwrap_or(i64::MAX);
    let rows = match expected {
        None => pool.run(ADD, &[&name, &value, &created_at]).await?,
        Some(expected) => pool.run(REPLACE, &[&name, &value, &created_at, &&expected[..]]).await?,
    };
    Ok(!rows.is_empty())
}
