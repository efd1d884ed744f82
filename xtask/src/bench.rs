//! `cargo xtask bench`: the benchmarks, always in a release build.

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;

/// Builds and runs the benchmarks, and passes all arguments on to them.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    Run::cargo().args(["run", "--release", "-p", "holdpoint-bench", "--"]).args(args).dir(root).show_and_wait()
}
