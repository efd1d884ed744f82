//! Errors when opening a log.

use std::{io, path::PathBuf};

use rusqlite::{Error, ErrorCode};

use crate::LogError;

/// Why a log could not be opened. Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The folder can't be created or written to.
    #[error("the folder {} can't be used for data: {source}; make it writable, or name another one", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others than its owner may use the folder, and it has other content or is not this user's.
    #[error(
        "others than its owner may use the folder {0} (its mode is {mode:o}), and it is not for chats alone: name a folder inside it, which is then made for its owner only, or take these rights away (chmod 700 {0})",
        dir.display()
    )]
    Open {
        /// The folder.
        dir: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another process is using the folder.
    #[error("the folder {} is in use by another holdpoint; stop that one, or name another folder", dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "{} was written by a newer holdpoint (its format is {found}, this one knows up to {known}); use a newer holdpoint",
        file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its format version.
        found: i64,
        /// The newest version that this program supports.
        known: i64,
    },
    /// The file was written by an older version, and a read-only program may not migrate it.
    #[error(
        "{} has the older format {found}; this version needs {known}. Start the server once to migrate it",
        file.display()
    )]
    Older {
        /// The file.
        file: PathBuf,
        /// Its format version.
        found: i64,
        /// The required version.
        known: i64,
    },
    /// The migration to the newest format failed. The file is unchanged.
    #[error("{} could not be migrated from format {from} to {to}: {source}. The file is unchanged", file.display())]
    Migration {
        /// The file.
        file: PathBuf,
        /// Its version.
        from: i64,
        /// The target version.
        to: i64,
        /// SQLite's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file system does not support shared memory, which the write-ahead log needs.
    #[error("{} is on a file system without support for SQLite's write-ahead log (a network drive?). Choose a folder on a local disk", file.display())]
    NoWriteAheadLog {
        /// The file.
        file: PathBuf,
    },
    /// The file exists but is empty.
    #[error(
        "{} is empty (0 bytes), so it is not a Holdpoint database. Restore a backup, or delete the file to start with no chats",
        file.display()
    )]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file is missing, but its write-ahead log exists.
    #[error(
        "{} is missing, but its write-ahead log exists. Restore the file, or empty the folder to start with no chats",
        file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The database belongs to another program.
    #[error("{} is not a Holdpoint database. Choose another data folder", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// SQLite can't open the file.
    #[error("{} can't be opened: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// SQLite's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system can't start another thread.
    #[error("no thread could be started for the log: {source}")]
    Thread {
        /// The system's error.
        source: io::Error,
    },
}

/// A failed read or write.
#[derive(Debug)]
pub(super) struct QueryFailure {
    text: String,
    /// Whether the file is damaged, so that a retry won't help.
    is_damage: bool,
}

impl QueryFailure {
    /// The error after the threads have stopped.
    pub(super) fn stopped(text: &str) -> Self {
        Self { text: text.to_owned(), is_damage: false }
    }

    pub(super) fn of(error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let is_corrupt = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
        // Nothing that was written by a log: a hash of another length, a text that is none.
        let is_damage = is_corrupt
            || matches!(
                error,
                Error::FromSqlConversionFailure(..)
                    | Error::IntegralValueOutOfRange(..)
                    | Error::InvalidColumnType(..)
                    | Error::Utf8Error(..)
            );
        Self { text: error.to_string(), is_damage }
    }

    /// Converts it to a [`LogError`] that names the operation.
    pub(super) fn doing(self, what: impl std::fmt::Display) -> LogError {
        let text = format!("{what}: {}", self.text);
        if self.is_damage { LogError::Damaged(text) } else { LogError::Failed(text) }
    }
}
