//! Why a log could not be opened.

use std::{io, path::PathBuf};

use rusqlite::ErrorCode;

use crate::log::LogError;

/// Why a log could not be opened. Each says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The folder can't be made, or nothing can be written into it.
    #[error("the folder {} can't be used for data: {source}; make it writable, or name another one", dir.display())]
    Folder {
        /// Which.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has the folder.
    #[error("the folder {} is in use by another holdpoint; stop that one, or name another folder", dir.display())]
    InUse {
        /// Which.
        dir: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "{} was written by a newer holdpoint (its format is {found}, this one knows up to {known}); use a newer holdpoint",
        file.display()
    )]
    Newer {
        /// Which.
        file: PathBuf,
        /// The version it says it has.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The file was written by an older version, and this is not the one to change it.
    #[error(
        "{} is of an older format ({found}, this holdpoint knows {known}); start the server once, which brings it up to date",
        file.display()
    )]
    Older {
        /// Which.
        file: PathBuf,
        /// The version it says it has.
        found: i64,
        /// The version that is needed.
        known: i64,
    },
    /// The file could not be brought to the newest format. It is as it was.
    #[error("{} could not be brought from format {from} to {to}: {source}; it is as it was", file.display())]
    Migration {
        /// Which.
        file: PathBuf,
        /// The version it has.
        from: i64,
        /// The version it was to get.
        to: i64,
        /// What SQLite said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file system can't share memory between connections, which the write-ahead log needs.
    #[error("{} is where no write-ahead log can be kept (a network drive?); name a folder on a local disk", file.display())]
    NoWriteAheadLog {
        /// Which.
        file: PathBuf,
    },
    /// The file is there and has nothing in it.
    #[error(
        "{} is empty (0 bytes), which no database of ours is; restore a backup, or remove the file to start without any chats",
        file.display()
    )]
    Empty {
        /// Which.
        file: PathBuf,
    },
    /// The file is gone, and what was last written to it is not.
    #[error(
        "{} is missing, while its write-ahead log is there; restore the file, or remove the folder's files to start without any chats",
        file.display()
    )]
    Missing {
        /// Which.
        file: PathBuf,
    },
    /// It is somebody else's database.
    #[error("{} is a database, and not one of ours; choose another data folder", file.display())]
    Foreign {
        /// Which.
        file: PathBuf,
    },
    /// SQLite can't open the file.
    #[error("{} can't be opened: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What SQLite said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system gives no more threads.
    #[error("no thread could be started for the log: {source}")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

/// Why something could not be read or written.
#[derive(Debug)]
pub(super) struct QueryFailure {
    text: String,
    /// Whether the file is damaged: the next time would be no better.
    is_damage: bool,
}

impl QueryFailure {
    /// The threads that do it are gone.
    pub(super) fn stopped(text: &str) -> Self {
        Self { text: text.to_owned(), is_damage: false }
    }

    pub(super) fn of(error: &rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let is_damage = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
        Self { text: error.to_string(), is_damage }
    }

    /// What was being done, and why it failed.
    pub(super) fn doing(self, what: impl std::fmt::Display) -> LogError {
        let text = format!("{what}: {}", self.text);
        if self.is_damage { LogError::Damaged(text) } else { LogError::Failed(text) }
    }
}
