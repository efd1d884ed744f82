//! npm packages, kept in sync with their lock file.

use std::fs;
use std::path::Path;

use super::needs::Probe;
use crate::failure::{Failure, Result};
use crate::process::Run;

const LOCK: &str = "package-lock.json";

/// A copy of the lock file that the packages were installed from. File times would not survive a clone or a cache.
const STAMP: &str = "node_modules/.installed-from-lock";

/// Whether the packages of this folder match its lock file.
pub(super) fn probe(dir: &Path) -> Probe {
    if !dir.join("package.json").is_file() {
        return Probe::NotYet("no package.json there".to_owned());
    }
    let Ok(lock) = fs::read(dir.join(LOCK)) else {
        return Probe::Missing(format!("there is no {LOCK}: run `npm install` there and commit it"));
    };
    match fs::read(dir.join(STAMP)) {
        Ok(stamp) if stamp == lock => Probe::Present("as in the lock file".to_owned()),
        Ok(_) => Probe::Missing("the lock file has changed".to_owned()),
        Err(_) => Probe::Missing("not installed yet".to_owned()),
    }
}

/// Installs exactly the packages of the lock file.
pub(super) fn install(dir: &Path, shown: &str) -> Result {
    // Read first: a lock file that changes during the installation must not count as installed.
    let lock = fs::read(dir.join(LOCK)).map_err(|error| {
        Failure::new(format!(
            "could not read {LOCK} in {shown}: {error}. If it was never made, run `npm install` there and commit it"
        ))
    })?;
    Run::new("npm").args(["ci", "--no-audit", "--no-fund"]).dir(dir).show_and_wait().map_err(|failure| {
        Failure::new(format!(
            "{failure} in {shown}. Is npm's registry within reach (`npm ping`), and does {LOCK} fit package.json?"
        ))
    })?;
    fs::create_dir_all(dir.join("node_modules"))
        .and_then(|()| fs::write(dir.join(STAMP), lock))
        .map_err(|error| Failure::new(format!("could not write {shown}/{STAMP}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_stale_when_the_lock_file_changes() {
        let dir = std::env::temp_dir().join(format!("holdpoint-npm-{}", std::process::id()));
        fs::create_dir_all(dir.join("node_modules")).expect("temporary folder");
        assert!(matches!(probe(&dir), Probe::NotYet(_)));
        fs::write(dir.join("package.json"), "{}").expect("writes");
        assert!(matches!(probe(&dir), Probe::Missing(why) if why.contains("npm install")));
        fs::write(dir.join(LOCK), "one").expect("writes");
        assert_eq!(probe(&dir), Probe::Missing("not installed yet".to_owned()));
        fs::write(dir.join(STAMP), "one").expect("writes");
        assert!(matches!(probe(&dir), Probe::Present(_)));
        fs::write(dir.join(LOCK), "two").expect("writes");
        assert_eq!(probe(&dir), Probe::Missing("the lock file has changed".to_owned()));
        fs::remove_dir_all(&dir).expect("removes");
    }
}
