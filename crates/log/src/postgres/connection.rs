//! Connections: how they are made, what is set on them, and the statements prepared on them.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::mpsc, task::AbortHandle, time::timeout};
use tokio_postgres::{
    AsyncMessage, Client, Error, Notification, Row, Statement,
    error::{DbError, Severity, SqlState},
    types::{ToSql, Type},
};

use super::{
    error::PostgresError,
    hosts::Hosts,
    options::{Encryption, PostgresOptions, Target, parse},
    schema::KNOWN,
    tls::Tls,
};

/// How long a transaction may wait for its client. A node that is paused or cut off inside a transaction must not hold
/// up the chats that it has locked.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(2);

/// Every statement has an index made for it, and reads few rows. So one plan fits all values, and is made once. Such a plan
/// knows no limits, and perhaps no statistics yet: without the other settings, some would read a whole table.
const PLANNER: &str = "SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_hashjoin = off;
     SET enable_mergejoin = off; SET enable_bitmapscan = off;";

/// A statement. `@.` stands for the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub(super) text: &'static str,
    pub(super) types: &'static [Type],
}

/// A parameter of a statement.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Makes connections to one database.
pub(super) struct Connector {
    hosts: Hosts,
    tls: Tls,
    encryption: Encryption,
    /// The hosts, the ports and the database, for messages.
    pub(super) place: String,
    /// The schema of the tables.
    pub(super) schema: String,
    /// The schema, quoted, with its dot.
    prefix: String,
    pub(super) is_poll_only: bool,
    connect_timeout: Duration,
    pub(super) request_timeout: Duration,
}

impl Connector {
    /// Reads the URL and the certificates.
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, PostgresError> {
        let Target { config, encryption, root_certificates, place } = parse(options)?;
        let tls = Tls::new(encryption, root_certificates.as_deref())?;
        Ok(Self {
            hosts: Hosts::new(&config),
            tls,
            encryption,
            place,
            schema: String::new(),
            prefix: String::new(),
            is_poll_only: options.poll_only,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
        })
    }

    /// Sets the schema of the tables.
    pub(super) fn set_schema(&mut self, schema: &str) {
        schema.clone_into(&mut self.schema);
        self.prefix = format!("{}.", quoted(schema));
    }

    /// The text of a statement, with the schema in it.
    pub(super) fn resolved(&self, text: &str) -> String {
        text.replace("@.", &self.prefix)
    }

    /// The error of tables that a newer version has changed.
    pub(super) fn newer(&self, found: i64) -> PostgresError {
        PostgresError::Newer { place: self.place.clone(), schema: self.schema.clone(), found, known: KNOWN }
    }

    /// A connection that can write.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Connection, PostgresError> {
        self.connect_and_listen(None).await
    }

    /// A connection that passes on its notifications. A full channel loses them: they are only hints, and the
    /// connection must be drained.
    pub(super) async fn connect_and_listen(
        self: &Arc<Self>,
        notified: Option<mpsc::Sender<Notification>>,
    ) -> Result<Connection, PostgresError> {
        let (place, limit) = (&self.place, self.connect_timeout);
        let connecting = async {
            let (client, mut connection) = self.hosts.connect(&self.tls).await?;
            let unconfirmed = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&unconfirmed);
            let task = tokio::spawn(async move {
                while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                    match (message, &notified) {
                        (AsyncMessage::Notification(notification), Some(notified)) => {
                            let _ = notified.try_send(notification);
                        }
                        (AsyncMessage::Notice(notice), _) => {
                            // Before the result of the commit is passed on: messages are handled in their order.
                            if is_unconfirmed(&notice) {
                                counter.fetch_add(1, Ordering::SeqCst);
                            }
                            tracing::debug!(%notice, "PostgreSQL says");
                        }
                        _ => {}
                    }
                }
            });
            let connection = Connection {
                client,
                task: task.abort_handle(),
                statements: Mutex::default(),
                connector: Arc::clone(self),
                unconfirmed,
            };
            if !self.is_poll_only {
                connection.client.batch_execute(&format!("{PLANNER} {}", self.settings(false))).await?;
            }
            Ok::<_, Error>(connection)
        };
        match timeout(limit, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(self.explained(PostgresError::of(place, error))),
            Err(_) => Err(PostgresError::timed_out(place)),
        }
    }

    /// What the client library says only in words.
    fn explained(&self, error: PostgresError) -> PostgresError {
        match error {
            PostgresError::Failed { place, source } if !self.hosts.has_password() => {
                PostgresError::Login { place, message: source.to_string() }
            }
            PostgresError::Failed { place, source }
                if !matches!(self.encryption, Encryption::Disable | Encryption::Prefer) =>
            {
                PostgresError::Tls { place, source }
            }
            other => other,
        }
    }

    /// The settings of a session, or of one transaction.
    fn settings(&self, is_local: bool) -> String {
        let (scope, statement) = (if is_local { "LOCAL" } else { "SESSION" }, self.request_timeout.as_millis());
        let idle = IDLE_IN_TRANSACTION.as_millis();
        // Commits that are acknowledged must survive, whatever the default of the database is.
        format!(
            "SET {scope} statement_timeout = {statement}; SET {scope} idle_in_transaction_session_timeout = {idle};
             SELECT set_config('synchronous_commit', 'on', {is_local})
             WHERE current_setting('synchronous_commit') = 'off'"
        )
    }
}

/// An identifier in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A connection. Dropping it closes it at once, also if the server does not reply.
pub(super) struct Connection {
    client: Client,
    task: AbortHandle,
    statements: Mutex<HashMap<Box<str>, Statement>>,
    connector: Arc<Connector>,
    unconfirmed: Arc<AtomicU64>,
}

/// Whether PostgreSQL says that it has committed without its synchronous standby: somebody ended the wait for it. Its words
/// depend on the language of the server, so the function that says it decides. Where that is not told, it counts as one.
fn is_unconfirmed(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning)
        && *notice.code() == SqlState::WARNING
        && notice.routine().is_none_or(|routine| routine == "SyncRepWaitForLSN")
}

impl Connection {
    /// How many commits have succeeded here and not on the synchronous standby. What such a commit wrote may be lost with this
    /// server. It is safe once a later commit is confirmed, since a standby gets everything in order.
    pub(super) fn unconfirmed(&self) -> u64 {
        self.unconfirmed.load(Ordering::SeqCst)
    }

    /// Whether it is of no more use.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Prepares statements, so that [`Self::query`] sends each of them at its first poll: a pipeline needs that order.
    pub(super) async fn prepare(&self, statements: &[Sql]) -> Result<(), Error> {
        if self.connector.is_poll_only {
            return Ok(());
        }
        let preparing = statements.iter().map(|sql| self.statement(sql.text, sql.types));
        futures::future::try_join_all(preparing).await?;
        Ok(())
    }

    /// Runs a statement.
    pub(super) async fn query(
        &self,
        text: &str,
        types: &[Type],
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        if self.connector.is_poll_only {
            let parameters: Vec<_> = parameters.iter().copied().zip(types.iter().cloned()).collect();
            return self.client.query_typed(&self.connector.resolved(text), &parameters).await;
        }
        let statement = self.statement(text, types).await?;
        self.client.query(&statement, parameters).await
    }

    /// [`Self::query`] for a fixed statement.
    pub(super) async fn run(&self, sql: Sql, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Error> {
        self.query(sql.text, sql.types, parameters).await
    }

    /// Runs statements without parameters.
    pub(super) async fn execute(&self, text: &str) -> Result<(), Error> {
        self.client.batch_execute(&self.connector.resolved(text)).await
    }

    /// Begins a transaction of many statements, each of which sees what was committed before it.
    pub(super) async fn begin(&self) -> Result<(), Error> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
        if self.connector.is_poll_only {
            let settings = self.connector.settings(true);
            return self.client.batch_execute(&format!("{BEGIN}; {settings}")).await;
        }
        self.client.batch_execute(BEGIN).await
    }

    async fn statement(&self, text: &str, types: &[Type]) -> Result<Statement, Error> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare_typed(&self.connector.resolved(text), types).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(text.into(), statement.clone());
        Ok(statement)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}
