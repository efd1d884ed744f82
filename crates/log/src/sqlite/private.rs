//! Chats are private: the files of a data folder are their owner's only.

use std::{fs::OpenOptions, io, path::Path};

use super::error::SqliteError;

/// How the names of all our files begin.
#[cfg(unix)]
const PREFIX: &str = "holdpoint.";

/// A folder that some file systems make in their root.
#[cfg(unix)]
const LOST_AND_FOUND: &str = "lost+found";

/// What other users may do in a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FolderRights {
    /// Nothing.
    None,
    /// Something, until the log is opened for writing: then the folder is closed to them. Nothing else is in it.
    UntilOpened {
        /// Its mode.
        mode: u32,
    },
}

/// What others may do in an existing folder. One that has other content is nobody's to close, and is refused unless it is its
/// owner's only: those who may write to it could exchange the files.
#[cfg(unix)]
pub(super) fn rights(dir: &Path) -> Result<FolderRights, SqliteError> {
    let failed = |source| SqliteError::Folder { dir: dir.to_owned(), source };
    match mode(dir).map_err(failed)? {
        mode if mode & 0o077 == 0 => Ok(FolderRights::None),
        mode if is_ours(dir).map_err(failed)? => Ok(FolderRights::UntilOpened { mode }),
        mode => Err(SqliteError::Open { dir: dir.to_owned(), mode }),
    }
}

/// Closes an existing data folder to others.
#[cfg(unix)]
pub(super) fn close_folder(dir: &Path) -> Result<(), SqliteError> {
    use std::os::unix::fs::PermissionsExt;

    if rights(dir)? == FolderRights::None {
        return Ok(());
    }
    let failed = |source| SqliteError::Folder { dir: dir.to_owned(), source };
    // It may be another user's, or the file system may know no rights.
    let _ = std::fs::set_permissions(dir, PermissionsExt::from_mode(0o700));
    match mode(dir).map_err(failed)? {
        mode if mode & 0o077 == 0 => {
            tracing::warn!(folder = %dir.display(), "the data folder was open to other users: it is its owner's only now");
            Ok(())
        }
        mode if mode & 0o022 == 0 => {
            tracing::warn!(
                folder = %dir.display(), mode = format_args!("{mode:o}"),
                "other users may look into the data folder, and that can't be changed; its files are their owner's only"
            );
            Ok(())
        }
        mode => Err(SqliteError::Open { dir: dir.to_owned(), mode }),
    }
}

#[cfg(unix)]
fn mode(dir: &Path) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;

    Ok(std::fs::metadata(dir)?.permissions().mode() & 0o7777)
}

/// Whether nothing but our own files is in a folder.
#[cfg(unix)]
fn is_ours(dir: &Path) -> io::Result<bool> {
    for file in std::fs::read_dir(dir)? {
        let name = file?.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) && name != LOST_AND_FOUND {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Closes a file to others, if it is there. That of somebody else, whose group we are in, stays as it is.
#[cfg(unix)]
pub(super) fn close_file(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let Ok(found) = std::fs::symlink_metadata(file) else { return Ok(()) };
    if !found.is_file() || found.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    match std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            tracing::warn!(file = %file.display(), "a file of the data folder is another user's, and open to others");
            Ok(())
        }
        closed => closed,
    }
}

/// A file that is created is its owner's only.
#[cfg(unix)]
pub(super) fn owners_only(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
pub(super) fn rights(_: &Path) -> Result<FolderRights, SqliteError> {
    Ok(FolderRights::None)
}

#[cfg(not(unix))]
pub(super) fn close_folder(_: &Path) -> Result<(), SqliteError> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn close_file(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn owners_only(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}
