//! Chats are private: the files of a data folder are their owner's only.

use std::{fs::OpenOptions, io, path::Path};

use super::error::SqliteError;

/// How the names of all our files begin.
const PREFIX: &str = "holdpoint.";

/// Closes an existing data folder to others. One that has other content is left as it is, since its files alone are ours;
/// but where everybody may write, files could be exchanged, and it is refused.
#[cfg(unix)]
pub(super) fn close_folder(dir: &Path) -> Result<(), SqliteError> {
    use std::os::unix::fs::PermissionsExt;

    let failed = |source| SqliteError::Folder { dir: dir.to_owned(), source };
    let mode = || std::fs::metadata(dir).map(|folder| folder.permissions().mode()).map_err(failed);
    if mode()? & 0o077 == 0 {
        return Ok(());
    }
    if is_ours(dir).map_err(failed)? && std::fs::set_permissions(dir, PermissionsExt::from_mode(0o700)).is_ok() {
        tracing::warn!(folder = %dir.display(), "the data folder was open to other users: it is its owner's only now");
    }
    match mode()? & 0o002 {
        0 => Ok(()),
        _ => Err(SqliteError::Open { dir: dir.to_owned() }),
    }
}

/// Whether nothing but our own files is in a folder.
#[cfg(unix)]
fn is_ours(dir: &Path) -> io::Result<bool> {
    for file in std::fs::read_dir(dir)? {
        if !file?.file_name().to_string_lossy().starts_with(PREFIX) {
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
