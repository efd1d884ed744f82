//! Programs of users: crates outside the workspace, built and tested from the packed crates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::publish;
use crate::failure::{Failure, Result};
use crate::process::Run;

/// The programs, in `tests/crates`.
const PROGRAMS: &[&str] = &["protocol-only", "axum-app"];

/// Packs the crates, unpacks them, and tests each program against them.
pub(super) fn run(root: &Path) -> Result {
    publish::pack(root, &["--no-verify"])?;
    let unpacked = root.join("target/outside");
    let _ = fs::remove_dir_all(unpacked.join("crates"));
    let failed = |path: &Path, error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    fs::create_dir_all(unpacked.join("crates")).map_err(|error| failed(&unpacked, error))?;
    let mut patches = Vec::new();
    for (name, package) in packages(root)? {
        let package = package.to_string_lossy().into_owned();
        Run::new("tar").args(["-xzf", &package, "-C", "target/outside/crates"]).dir(root).wait()?;
        let folder = Path::new(&package).file_stem().map(PathBuf::from).unwrap_or_default();
        let folder = unpacked.join("crates").join(folder);
        patches.push(format!("patch.crates-io.{name}.path={:?}", folder.display().to_string()));
    }
    for program in PROGRAMS {
        // A copy, so that its lock file does not get into the repository.
        let copy = unpacked.join(program);
        let _ = fs::remove_dir_all(&copy);
        publish::copy(&root.join("tests/crates").join(program), &copy).map_err(|error| failed(&copy, error))?;
        let mut test = Run::cargo().args(["test"]).dir(&copy);
        for patch in &patches {
            test = test.args(["--config", patch]);
        }
        test.env("CARGO_TARGET_DIR", unpacked.join("target")).show_and_wait()?;
    }
    Ok(())
}

/// The packed crates: their names and files.
fn packages(root: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let version = env!("CARGO_PKG_VERSION");
    let found = publish::CRATES.iter().map(|name| {
        let path = root.join(format!("target/package/{name}-{version}.crate"));
        match path.is_file() {
            true => Ok((*name, path)),
            false => Err(Failure::new(format!("{} is not there: `cargo package` did not write it", path.display()))),
        }
    });
    found.collect()
}
