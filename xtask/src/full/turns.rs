//! Random turns over both transports of the adk profile, many more of them than in every test run.

use std::path::Path;

use crate::failure::Result;
use crate::process::Run;

/// How many seeds are played over each.
const SEEDS: &str = "20000";

pub(super) fn run(root: &Path) -> Result {
    let args = ["test", "--release", "--package", "holdpoint-server", "--all-features", "--test", "random_turns"];
    Run::cargo().args(args).env("HOLDPOINT_TURNS", SEEDS).env("HOLDPOINT_CONSOLE", "none").dir(root).wait()
}
