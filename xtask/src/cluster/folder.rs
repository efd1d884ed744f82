//! A temporary folder that is removed, however this process ends.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::failure::{Failure, Result};
use crate::process::cannot_start;

/// Waits until its input ends. The processes that write into the folder end at the same time, so it may take a few
/// attempts.
const REMOVE: &str = r#"
    trap '' INT TERM HUP
    cat >/dev/null
    for _ in $(seq 50); do
        rm -rf "$1" 2>/dev/null && sleep 0.1
        [ -e "$1" ] || break
    done
"#;

/// The folder. Dropping it removes it.
pub(super) struct Folder {
    path: PathBuf,
    shell: Child,
}

impl Folder {
    pub(super) fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("holdpoint-cluster-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        let mut shell = Command::new("sh");
        shell.args(["-c", REMOVE, "sh"]).arg(&path).process_group(0).stdin(Stdio::piped());
        let shell = shell.spawn().map_err(|error| cannot_start("sh", &error))?;
        Ok(Self { path, shell })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_removed_with_what_is_in_it() {
        let folder = Folder::create().expect("a folder");
        let path = folder.path().to_owned();
        fs::write(path.join("a file"), "").expect("it writes");
        drop(folder);
        assert!(!path.exists());
    }
}
