//! cargo-deny: the crates, licences and sources allowed in the tree, as listed in `deny.toml`.

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;
use crate::setup;

/// Whether there is a cargo-deny.
pub(super) fn is_installed(root: &Path) -> bool {
    root.join(setup::TOOLS).join("bin").join("cargo-deny").is_file()
        || std::process::Command::new("cargo-deny").arg("--version").output().is_ok_and(|out| out.status.success())
}

/// Checks the workspace.
pub(super) fn run(root: &Path) -> Result {
    setup::ensure(root, setup::DENY)?;
    let own = root.join(setup::TOOLS).join("bin").join("cargo-deny");
    let program = if own.is_file() { own.display().to_string() } else { "cargo-deny".to_owned() };
    Run::new(&program).args(["check", "bans", "licenses", "sources"]).dir(root).show_and_wait()
}
