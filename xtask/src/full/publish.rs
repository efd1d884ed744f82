//! Publishing: the crates are packed as a registry would get them.

use std::{fs, path::Path};

use crate::failure::{Failure, Result};
use crate::process::Run;

/// The crates, in the order in which they are published.
pub(super) const CRATES: &[&str] = &[
    "holdpoint-protocol",
    "holdpoint-core",
    "holdpoint-log",
    "holdpoint-models",
    "holdpoint-tools",
    "holdpoint-runtime",
    "holdpoint-demo",
    "holdpoint-testkit",
    "holdpoint-server",
    "holdpoint-cli",
];

/// Packs all crates, and builds each from its package, against the packages of the others.
pub(super) fn run(root: &Path) -> Result {
    pack(root, &[])
}

/// Packs all crates, with these options of `cargo package`.
pub(super) fn pack(root: &Path, options: &[&str]) -> Result {
    console(root)?;
    let packages = CRATES.iter().flat_map(|name| ["--package", name]);
    Run::cargo().args(["package", "--allow-dirty"]).args(options).args(packages).dir(root).show_and_wait()
}

/// Puts the built console where the package of the command takes it from.
fn console(root: &Path) -> Result {
    let target = root.join("crates/cli/dist");
    if target.join("index.html").is_file() {
        return Ok(());
    }
    let built = root.join("apps/web/dist");
    if !built.join("index.html").is_file() {
        return Err(Failure::new("apps/web/dist is not there: run `npm run build -w apps/web`"));
    }
    copy(&built, &target).map_err(|error| Failure::new(format!("{}: {error}", target.display())))
}

/// Copies a folder.
pub(super) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        match path.is_dir() {
            true => copy(&path, &to.join(name))?,
            false => drop(fs::copy(&path, to.join(name))?),
        }
    }
    Ok(())
}
