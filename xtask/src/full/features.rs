//! Features: the crates compile with none, and with each one alone.

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;

/// The features of each crate; the empty one stands for none.
const FEATURES: &[(&str, &[&str])] = &[
    ("holdpoint-protocol", &["", "openapi", "schemars", "typescript"]),
    ("holdpoint-runtime", &["", "sqlite", "providers", "mcp", "http-tools"]),
    ("holdpoint-server", &["", "sqlite", "providers", "mcp", "http-tools", "cli", "console", "otlp"]),
];

/// Checks every one of them. A warning is a failure: what a feature leaves unused is left out.
pub(super) fn run(root: &Path) -> Result {
    for (package, features) in FEATURES {
        for feature in *features {
            Run::cargo()
                .args(["check", "--package", package, "--no-default-features", "--features", feature])
                .env("RUSTFLAGS", "-D warnings")
                .env("HOLDPOINT_CONSOLE", "none")
                .dir(root)
                .wait()?;
        }
    }
    Ok(())
}
