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
    /// More time, if a connection has to be made.
    more_to_connect: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

impl Pool {
    /// A pool of at most `size` connections.
    pub(super) fn new(connector: Arc<Connector>, size: usize, limit: Duration) -> Self {
        let (more_to_connect, permits) = (Duration::ZERO, Semaphore::new(size.max(1)));
        Self { connector, limit, more_to_connect, idle: Mutex::default(), permits }
    }

    /// The same, with more time if a connection has to be made. A connection that is given up is begun anew the next time,
    /// so on a busy machine a short limit might never be met.
    pub(super) fn with_time_to_connect(self, more_to_connect: Duration) -> Self {
        Self { more_to_connect, ..self }
    }

    /// Runs a statement that may be repeated. It is sent once more if its connection turns out to be lost.
    pub(super) async fn query(
        &self,
        text: &str,
        types: &[Type],
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let since = Instant::now();
        let waiting = async {
            let permit = self.permits.acquire().await.map_err(|_| Failure::Stopped)?;
            let Some(lent) = self.idle() else { return Ok((permit, None)) };
            match lent.query(text, types, parameters).await {
                Err(failure) if failure.reach() == Reach::Connection => {
                    self.discard_idle();
                    Ok((permit, None))
                }
                done => Ok((permit, Some(done))),
            }
        };
        let (_permit, done) = timeout(self.limit, waiting).await.unwrap_or_else(|_| self.late())?;
        if let Some(done) = done {
            return done;
        }
        let connecting = async {
            let connection = self.connector.connect().await.map_err(Failure::Connect)?;
            Lent::new(self, connection).query(text, types, parameters).await
        };
        let rest = (self.limit + self.more_to_connect).saturating_sub(since.elapsed());
        timeout(rest, connecting).await.unwrap_or_else(|_| self.late())
    }

    /// What stalled one connection may stall the others. New ones are made.
    fn late<T>(&self) -> Result<T, Failure> {
        self.discard_idle();
        Err(Failure::Late(self.limit))
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
        let before = connection.unconfirmed();
        let done = connection.query(text, types, parameters).await.map_err(Failure::from);
        let done = if connection.unconfirmed() == before { done } else { Err(Failure::Unconfirmed) };
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
