//! Errors when opening a log, and failed statements.

use std::{error::Error as _, io, path::PathBuf, time::Duration};

use tokio_postgres::error::{Severity, SqlState};

use crate::LogError;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a log could not be opened. Each message says what to do. None contains the password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL can't be used.
    #[error(
        "the URL of the PostgreSQL database can't be used: {reason}. Its form is \
         postgres://user:password@host:5432/database?sslmode=verify-full, with special characters percent-encoded"
    )]
    Url {
        /// What is wrong.
        reason: String,
    },
    /// The root certificates can't be read.
    #[error("the root certificates in {} can't be used: {source}. Name a PEM file in sslrootcert", file.display())]
    Certificates {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: Source,
    },
    /// No server answers.
    #[error("PostgreSQL at {place} can't be reached: {source}. Start it, or correct the URL")]
    Unreachable {
        /// The host, the port and the database.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// The server and this program found no common way to encrypt.
    #[error("PostgreSQL at {place} can't be reached with TLS: {source}. Correct sslmode or sslrootcert in the URL")]
    Tls {
        /// The host, the port and the database.
        place: String,
        /// What failed.
        source: Source,
    },
    /// The server does not accept the user or the password.
    #[error("PostgreSQL at {place} refuses the login: {message}. Correct the user and the password in the URL")]
    Login {
        /// The host, the port and the database.
        place: String,
        /// The server's message.
        message: String,
    },
    /// The database does not exist.
    #[error("PostgreSQL at {place} has no such database: {message}. Create it, or name another one in the URL")]
    NoDatabase {
        /// The host, the port and the database.
        place: String,
        /// The server's message.
        message: String,
    },
    /// The server accepts no connections at the moment: it starts, it stops, or it has too many.
    #[error("PostgreSQL at {place} takes no connection now: {message}. Try again, or raise max_connections")]
    Busy {
        /// The host, the port and the database.
        place: String,
        /// The server's message.
        message: String,
    },
    /// The server's version is not supported.
    #[error("PostgreSQL at {place} has version {found}; 15 or later is needed. Upgrade it")]
    TooOld {
        /// The host, the port and the database.
        place: String,
        /// Its version.
        found: String,
    },
    /// The server accepts no writes.
    #[error(
        "PostgreSQL at {place} is read-only: a standby, or default_transaction_read_only is on. Name the primary in the \
         URL, or allow writes"
    )]
    ReadOnly {
        /// The host, the port and the database.
        place: String,
    },
    /// The search path leads to no schema.
    #[error("PostgreSQL at {place} has no schema for the tables. Create one, and see that it is in the search_path")]
    NoSchema {
        /// The host, the port and the database.
        place: String,
    },
    /// The user may not use the schema.
    #[error(
        "the user {user} may not use the schema {schema} of PostgreSQL at {place}. Grant it: \
         GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}"
    )]
    NoUsage {
        /// The host, the port and the database.
        place: String,
        /// The schema.
        schema: String,
        /// The user.
        user: String,
    },
    /// The tables belong to another program.
    #[error(
        "the schema {schema} of PostgreSQL at {place} has tables of another program. Choose another schema or database, \
         for example with ?options=-csearch_path%3Dholdpoint in the URL"
    )]
    Foreign {
        /// The host, the port and the database.
        place: String,
        /// The schema.
        schema: String,
    },
    /// The user may not do what is needed.
    #[error("PostgreSQL at {place} denies what is needed: {message}. Grant it, or use another user")]
    Denied {
        /// The host, the port and the database.
        place: String,
        /// The server's message.
        message: String,
    },
    /// The tables were written by a newer version.
    #[error(
        "the tables in schema {schema} of PostgreSQL at {place} were written by a newer holdpoint (their format is \
         {found}, this one knows up to {known}); use a newer holdpoint"
    )]
    Newer {
        /// The host, the port and the database.
        place: String,
        /// The schema.
        schema: String,
        /// The format of the tables.
        found: i64,
        /// The newest format that this program supports.
        known: i64,
    },
    /// The migration to the newest format failed. The tables are unchanged.
    #[error(
        "the tables of PostgreSQL at {place} could not be migrated from format {from} to {to}: {source}. They are unchanged"
    )]
    Migration {
        /// The host, the port and the database.
        place: String,
        /// The format of the tables.
        from: i64,
        /// The target format.
        to: i64,
        /// PostgreSQL's error.
        source: Source,
    },
    /// Something else failed.
    #[error("PostgreSQL at {place} can't be used: {source}")]
    Failed {
        /// The host, the port and the database.
        place: String,
        /// What failed.
        source: Source,
    },
}

impl PostgresError {
    /// The error of a connection attempt or of a statement while opening.
    pub(super) fn of(place: &str, error: tokio_postgres::Error) -> Self {
        let place = place.to_owned();
        if let Some(db) = error.as_db_error() {
            let message = db.message().to_owned();
            let code = db.code();
            return match code.code().get(..2) {
                Some("28") => Self::Login { place, message },
                _ if *code == SqlState::INVALID_CATALOG_NAME => Self::NoDatabase { place, message },
                _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::Denied { place, message },
                _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::ReadOnly { place },
                Some("53" | "57") => Self::Busy { place, message },
                _ => Self::Failed { place, source: message.into() },
            };
        }
        let is_closed = error.is_closed();
        match error.into_source().map(|source| source.downcast::<io::Error>()) {
            Some(Ok(source)) => Self::of_io(place, *source),
            Some(Err(source)) => Self::Failed { place, source },
            None if is_closed => Self::Unreachable { place, source: io::ErrorKind::ConnectionAborted.into() },
            None => Self::Failed { place, source: "unexpected reply; is this PostgreSQL?".into() },
        }
    }

    fn of_io(place: String, source: io::Error) -> Self {
        if source.get_ref().is_some_and(|inner| inner.is::<tokio_rustls::rustls::Error>()) {
            return Self::Tls { place, source: source.into() };
        }
        match source.kind() {
            // From the check that the session can write. A socket file that may not be opened has a system's code.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => Self::ReadOnly { place },
            _ => Self::Unreachable { place, source },
        }
    }

    pub(super) fn timed_out(place: &str) -> Self {
        Self::Unreachable { place: place.to_owned(), source: io::ErrorKind::TimedOut.into() }
    }
}

/// A failed statement, or one that could not be sent.
#[derive(Debug)]
pub(super) enum Failure {
    /// PostgreSQL or the connection to it.
    Statement(tokio_postgres::Error),
    /// No connection.
    Connect(PostgresError),
    /// No result within this time.
    Late(Duration),
    /// It was committed, but somebody ended the wait for the synchronous standby: it may be lost with this server.
    Unconfirmed,
    /// Something in the tables can't be read.
    Damaged(String),
    /// There was no usable connection a moment ago, and the next attempt is yet to come.
    Waiting,
    /// The log's task has ended.
    Stopped,
}

/// What a failure means for a request and its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The request can't be written; others can.
    Request,
    /// Another transaction was in the way. The same again may succeed.
    Again,
    /// The connection is lost, or of no more use.
    Connection,
    /// Any other request would fail too.
    Database,
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Statement(error)
    }
}

impl Failure {
    pub(super) fn reach(&self) -> Reach {
        let error = match self {
            Self::Statement(error) => error,
            Self::Damaged(_) => return Reach::Request,
            // The same again waits for the standby again, and its commit confirms this one.
            Self::Unconfirmed => return Reach::Connection,
            Self::Connect(_) | Self::Late(_) | Self::Waiting | Self::Stopped => return Reach::Database,
        };
        let Some(db) = error.as_db_error() else {
            // Values that can't be encoded are the request's fault. So is a size that no message can have.
            let is_value = error.source().is_some_and(|source| {
                source.downcast_ref::<io::Error>().is_none_or(|io| io.kind() == io::ErrorKind::InvalidInput)
            });
            return if is_value { Reach::Request } else { Reach::Connection };
        };
        let code = db.code();
        let is_fatal = matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
        // A server that became a standby; a statement whose tables have changed.
        let is_outdated = [
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::FEATURE_NOT_SUPPORTED,
            SqlState::INVALID_SQL_STATEMENT_NAME,
        ]
        .contains(code);
        if is_fatal || is_outdated {
            return Reach::Connection;
        }
        if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
            return Reach::Request;
        }
        match code.code().get(..2) {
            Some("40") => Reach::Again,
            Some("08") => Reach::Connection,
            // Values that are wrong, break a rule, or are too large.
            Some("22" | "23" | "54") => Reach::Request,
            _ => Reach::Database,
        }
    }

    /// Whether a newer program may have changed the tables.
    pub(super) fn may_be_of_newer_tables(&self) -> bool {
        match self {
            Self::Connect(PostgresError::Newer { .. }) => true,
            // A statement that does not fit them any more.
            Self::Statement(error) => error.code().is_some_and(|code| code.code().starts_with("42")),
            _ => false,
        }
    }

    /// Converts it to a [`LogError`] that names the operation.
    pub(super) fn doing(self, what: impl std::fmt::Display) -> LogError {
        let is_damage = match &self {
            Self::Damaged(_) => true,
            Self::Statement(error) => {
                error.code().is_some_and(|code| [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code))
            }
            _ => false,
        };
        let text = format!("{what}: {self}");
        if is_damage { LogError::Damaged(text) } else { LogError::Failed(text) }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Statement(error) => match error.as_db_error() {
                Some(db) => write!(f, "{} ({})", db.message(), db.code().code()),
                None => match error.source() {
                    Some(source) => write!(f, "{error}: {source}"),
                    None => write!(f, "{error}"),
                },
            },
            Self::Connect(error) => write!(f, "{error}"),
            Self::Late(limit) => write!(f, "no reply within {} ms", limit.as_millis()),
            Self::Unconfirmed => {
                f.write_str("the wait for the synchronous standby was ended, so it may not have been replicated")
            }
            Self::Damaged(what) => f.write_str(what),
            Self::Waiting => f.write_str("it could not be used a moment ago"),
            Self::Stopped => f.write_str("the log has stopped"),
        }
    }
}
