//! `cargo xtask record`: records the captures of the flows from the current server.

use std::ffi::OsStr;
use std::path::Path;

use crate::failure::Result;
use crate::no_arguments;
use crate::process::Run;

/// Runs the flow tests as a recorder.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    no_arguments("record", args)?;
    Run::cargo()
        .args(["test", "--package", "holdpoint-server", "--test", "flows"])
        .env("HOLDPOINT_RECORD", OsStr::new("1"))
        .dir(root)
        .show_and_wait()
}
