//! A few connections for single statements.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_postgres::{Row, types::Type};

use super::{
    connection::{Connection, Connector, Parameter, Sql},
    error::{Failure, Reach},
};

/// A connection whose caller was cancelled after a longer wait may have stalled.
const PATIENCE: Duration = Duration::from_millis(250);

/// Connections, made when needed.
pub(super) struct Pool {
    connector: Arc<Connector>,
    /// The time for a statement, and for the wait for a connection.
    limit: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Pool {
    /// A pool of at most `size` connections.
    pub(super) fn new(connector: Arc<Connector>, size: usize, limit: Duration) -> Self {
        Self { connector, limit, idle: Mutex::default(), permits: Semaphore::new(size.max(1)) }
    }

    /// Runs a statement that may be repeated. It is sent once more if its connection turns out to be lost.
    pub(super) async fn query(
        &self,
        text: &str,
        types: &[Type],
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let limit = self.limit;
        let querying = async {
            let _permit = self.permits.acquire().await.map_err(|_| Failure::Stopped)?;
            if let Some(lent) = self.idle() {
                match lent.query(text, types, parameters).await {
                    Err(failure) if failure.reach() == Reach::Connection => self.discard_idle(),
                    done => return done,
                }
            }
            let connection = self.connector.connect().await.map_err(Failure::Connect)?;
            Lent::new(self, connection).query(text, types, parameters).await
        };
        timeout(limit, querying).await.unwrap_or_else(|_| {
            // What stalled one may stall the others. New ones are made.
            self.discard_idle();
            Err(Failure::Late(limit))
        })
    }

    /// [`Self::query`] for a fixed statement.
    pub(super) async fn run(&self, sql: Sql, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        self.query(sql.text, sql.types, parameters).await
    }

    fn idle(&self) -> Option<Lent<'_>> {
        loop {
            let connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if !connection.is_closed() {
                return Some(Lent::new(self, connection));
            }
        }
    }

    /// A server that closed one connection has usually closed all.
    fn discard_idle(&self) {
        let discarded = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(discarded);
    }
}

/// A connection that goes back to its pool, also when the caller is cancelled: the next statement then waits for the end
/// of the one before.
struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
    since: Instant,
    /// `None` until there is a result.
    is_reusable: Option<bool>,
}

impl<'a> Lent<'a> {
    fn new(pool: &'a Pool, connection: Connection) -> Self {
        Self { pool, connection: Some(connection), since: Instant::now(), is_reusable: None }
    }

    async fn query(mut self, text: &str, types: &[Type], parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        let Some(connection) = &self.connection else { return Err(Failure::Stopped) };
        let done = connection.query(text, types, parameters).await.map_err(Failure::from);
        self.is_reusable = Some(done.as_ref().err().is_none_or(|failure| failure.reach() != Reach::Connection));
        done
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let is_reusable = self.is_reusable.unwrap_or_else(|| self.since.elapsed() < PATIENCE);
        if is_reusable && !connection.is_closed() {
            self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}
