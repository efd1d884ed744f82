//! What one client can take of the release binary with default limits (`tests/crash/memory`).

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;

/// Builds the release binary and plays the attacks.
pub(super) fn run(root: &Path) -> Result {
    Run::cargo().args(["build", "--release", "--package", "holdpoint-cli"]).dir(root).wait()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let server = target.join("release").join("holdpoint");
    Run::new("npm").args(["run", "memory", "-w", "tests/crash"]).env("HOLDPOINT_BIN", server).dir(root).wait()
}
