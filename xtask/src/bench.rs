//! `cargo xtask bench`: the benchmarks, always built as the packages are.

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;

/// Builds and runs the benchmarks, and passes all arguments on to them.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    Run::cargo().args(["run", "--profile", "dist", "-p", "holdpoint-bench", "--"]).args(args).dir(root).show_and_wait()
}
