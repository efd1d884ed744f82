//! The data folder: creation, lock and connections.

use std::{
    fmt,
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    error::SqliteError,
    private::{close_file, close_folder, owners_only},
    schema,
};

const DATABASE: &str = "holdpoint.db";
const WRITE_AHEAD: &str = "holdpoint.db-wal";
const SHARED_MEMORY: &str = "holdpoint.db-shm";
/// The name of a database until it is complete, and of its rollback journal.
const UNFINISHED: &str = "holdpoint.db.new";
const UNFINISHED_JOURNAL: &str = "holdpoint.db.new-journal";
const LOCK: &str = "holdpoint.lock";

/// How long to wait for another process that writes: an open `sqlite3`, a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A data folder that is locked until the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    dir: PathBuf,
    pub(super) busy_timeout: Duration,
    /// The system releases the lock when the file is closed, however the process ends. It is a separate file, since
    /// closing any handle of the database would release SQLite's locks on it.
    _lock: Option<Arc<File>>,
}

impl Folder {
    /// Creates the folder if missing, and locks it.
    pub(super) fn lock(dir: &Path) -> Result<Self, SqliteError> {
        make(dir).map_err(|source| SqliteError::Folder { dir: dir.to_owned(), source })?;
        close_folder(dir)?;
        Self::lock_with(dir, owners_only(OpenOptions::new().create(true).truncate(false).write(true)))
    }

    /// Locks an existing folder that was used before.
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
        Ok(Self { dir: dir.to_owned(), busy_timeout: BUSY_TIMEOUT, _lock: Some(Arc::new(lock)) })
    }

    /// Opens a folder without locking it. Its file must have the newest format.
    pub(super) fn look(dir: &Path) -> Result<Self, SqliteError> {
        let folder = Self { dir: dir.to_owned(), busy_timeout: BUSY_TIMEOUT, _lock: None };
        folder.check()?;
        schema::check(&folder.reader()?, schema::MIGRATIONS, &folder.file())?;
        Ok(folder)
    }

    fn file(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// Rejects the remains of a lost database: a new one would hide that the chats are gone.
    pub(super) fn check(&self) -> Result<(), SqliteError> {
        let size = |name: &str| std::fs::metadata(self.dir.join(name)).ok().map(|file| file.len());
        match (size(DATABASE), size(WRITE_AHEAD)) {
            (Some(0), _) => Err(SqliteError::Empty { file: self.file() }),
            (None, Some(1..)) => Err(SqliteError::Missing { file: self.file() }),
            _ => Ok(()),
        }
    }

    /// Creates the file if there is none: under another name, so that the file is complete from the moment it is there. A
    /// program that is ended on the way, or a disk that is full, leaves only what the next start removes. So an empty file
    /// is always one that has lost its contents.
    pub(super) fn create(&self) -> Result<(), SqliteError> {
        let failed = |source| SqliteError::Folder { dir: self.dir.clone(), source };
        let unfinished = self.dir.join(UNFINISHED);
        // The folder is locked, so nobody else is writing these.
        for left in [UNFINISHED, UNFINISHED_JOURNAL] {
            match std::fs::remove_file(self.dir.join(left)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        if self.file().exists() {
            return Ok(());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let made = Connection::open_with_flags(&unfinished, flags).map_err(|error| self.failed(error))?;
        // Before anything is in it. SQLite gives the files beside it the same rights.
        close_file(&unfinished).map_err(failed)?;
        self.fill(made)?;
        std::fs::rename(&unfinished, self.file()).map_err(failed)?;
        if cfg!(unix) {
            File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the tables of a new file, and closes it. There is no write-ahead log yet, which would be a second file.
    fn fill(&self, mut connection: Connection) -> Result<(), SqliteError> {
        let set = connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
        set.map_err(|error| self.failed(error))?;
        schema::migrate(&mut connection, schema::MIGRATIONS, &self.file())?;
        connection.close().map_err(|(_, error)| self.failed(error))
    }

    /// The writing connection. Migrates the file if necessary.
    pub(super) fn writer(&self) -> Result<Connection, SqliteError> {
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        for name in [DATABASE, WRITE_AHEAD, SHARED_MEMORY, LOCK] {
            let failed = |source| SqliteError::Folder { dir: self.dir.clone(), source };
            close_file(&self.dir.join(name)).map_err(failed)?;
        }
        let mode = schema::set_up_writer(&connection).map_err(|error| self.failed(error))?;
        if mode != "wal" {
            return Err(SqliteError::NoWriteAheadLog { file: self.file() });
        }
        schema::migrate(&mut connection, schema::MIGRATIONS, &self.file())?;
        Ok(connection)
    }

    /// A reading connection.
    pub(super) fn reader(&self) -> Result<Connection, SqliteError> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection, SqliteError> {
        let connection = Connection::open_with_flags(self.file(), flags).map_err(|error| self.failed(error))?;
        self.set_busy_timeout(&connection)?;
        Ok(connection)
    }

    /// Sets how long a connection waits for other writers.
    pub(super) fn set_busy_timeout(&self, connection: &Connection) -> Result<(), SqliteError> {
        connection.busy_timeout(self.busy_timeout).map_err(|error| self.failed(error))
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

/// Creates a folder and its ancestors, each durably: SQLite syncs its own files only.
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

/// Chats are private: a folder that we create is accessible to its owner only.
fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
