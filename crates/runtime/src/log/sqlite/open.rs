//! The folder: made, locked, and its connections.

use std::{
    fmt,
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{error::SqliteError, schema};

const DATABASE: &str = "holdpoint.db";
const WRITE_AHEAD: &str = "holdpoint.db-wal";
const LOCK: &str = "holdpoint.lock";

/// How long to wait for somebody else who writes: a person with the file open in `sqlite3`, a backup.
const PATIENCE: Duration = Duration::from_secs(5);

/// A data folder that is ours until the last clone is gone.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    dir: PathBuf,
    pub(super) patience: Duration,
    /// The system gives the lock back when the file is closed, however the process ends. It is a file of its own: closing any handle
    /// of the database would give up SQLite's locks on it.
    _lock: Option<Arc<File>>,
}

impl Folder {
    /// Makes the folder where it is missing, and takes it.
    pub(super) fn lock(dir: &Path) -> Result<Self, SqliteError> {
        make(dir).map_err(|source| SqliteError::Folder { dir: dir.to_owned(), source })?;
        Self::lock_with(dir, OpenOptions::new().create(true).truncate(false).write(true))
    }

    /// Takes a folder that is there, and was used before.
    pub(super) fn lock_existing(dir: &Path) -> Result<Self, SqliteError> {
        Self::lock_with(dir, OpenOptions::new().write(true))
    }

    fn lock_with(dir: &Path, options: &OpenOptions) -> Result<Self, SqliteError> {
        let failed = |source| SqliteError::Folder { dir: dir.to_owned(), source };
        let lock = options.open(dir.join(LOCK)).map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => SqliteError::InUse { dir: dir.to_owned() },
            TryLockError::Error(source) => failed(source),
        })?;
        Ok(Self { dir: dir.to_owned(), patience: PATIENCE, _lock: Some(Arc::new(lock)) })
    }

    /// Looks into a folder without taking it. What is in it must be of the newest format.
    pub(super) fn look(dir: &Path) -> Result<Self, SqliteError> {
        let folder = Self { dir: dir.to_owned(), patience: PATIENCE, _lock: None };
        folder.check()?;
        schema::check(&folder.reader()?, schema::MIGRATIONS, &folder.file())?;
        Ok(folder)
    }

    fn file(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// Refuses what is left of a database that was there once: a new one would hide that the chats are gone.
    pub(super) fn check(&self) -> Result<(), SqliteError> {
        let size = |name: &str| std::fs::metadata(self.dir.join(name)).ok().map(|file| file.len());
        match (size(DATABASE), size(WRITE_AHEAD)) {
            (Some(0), _) => Err(SqliteError::Empty { file: self.file() }),
            (None, Some(1..)) => Err(SqliteError::Missing { file: self.file() }),
            _ => Ok(()),
        }
    }

    /// The connection that writes. The file is made, and brought to the newest format, where it isn't.
    pub(super) fn writer(&self) -> Result<Connection, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = self.connect(flags)?;
        let mode = schema::set_up_writer(&connection).map_err(|error| self.failed(error))?;
        if mode != "wal" {
            return Err(SqliteError::NoWriteAheadLog { file: self.file() });
        }
        schema::migrate(&mut connection, schema::MIGRATIONS, &self.file())?;
        Ok(connection)
    }

    /// A connection that reads.
    pub(super) fn reader(&self) -> Result<Connection, SqliteError> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection, SqliteError> {
        let connection = Connection::open_with_flags(self.file(), flags).map_err(|error| self.failed(error))?;
        self.be_patient(&connection)?;
        Ok(connection)
    }

    /// Makes a connection wait for others who write.
    pub(super) fn be_patient(&self, connection: &Connection) -> Result<(), SqliteError> {
        connection.busy_timeout(self.patience).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: rusqlite::Error) -> SqliteError {
        SqliteError::File { file: self.file(), source: error.into() }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dir.display().fmt(f)
    }
}

/// Makes a folder and those above it, each durably: SQLite sees to its files, and to nothing above them.
fn make(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make(above)?;
    match builder().create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
        made => made?,
    }
    if cfg!(unix) {
        File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// What people say to an agent is nobody else's business: a folder that we make is its owner's only.
fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
