//! The stage `tests`: `cargo test --workspace --all-features`, with several test binaries at a time.
//!
//! Cargo runs one binary after another, and most of them wait for timers. Which ones there are is cargo's own answer,
//! each runs as cargo would run it, and the documentation's tests are left to cargo.

mod binary;
mod libtest;
mod queue;

use std::path::Path;
use std::time::{Duration, Instant};

use binary::Binary;
use queue::Finished;

use crate::console::{elapsed, say};
use crate::failure::{Failure, Result};
use crate::process::Run;

const WORKSPACE: [&str; 3] = ["test", "--workspace", "--all-features"];

/// Binaries that begin before the others, as they are shown: they take longest, and would keep the stage waiting if they began
/// last. None has to run alone: no test measures time. What promises a time is measured by `cargo xtask full`.
const FIRST: &[&str] = &["crates/runtime test machine", "crates/server test record"];

/// Runs the stage.
pub(crate) fn run(root: &Path) -> Result {
    let started = Instant::now();
    let args = WORKSPACE.iter().chain(&["--no-run", "--message-format=json-render-diagnostics"]);
    let messages = Run::cargo().args(args).dir(root).stdout()?;
    let binaries = in_order(binary::built(&messages, root)?, FIRST)?;
    say!("built in {}", elapsed(started.elapsed()));

    let logs = binary::target(root).join("test-output");
    std::fs::create_dir_all(&logs).map_err(|error| Failure::new(format!("{}: {error}", logs.display())))?;
    let started = Instant::now();
    let at_once = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    say!("{} test binaries, {at_once} at a time", binaries.len());
    let finished = queue::play(&binaries, at_once, &logs);
    let time = started.elapsed();

    say!("the tests in the documentation:");
    let documentation = Run::cargo().args(WORKSPACE.iter().chain(&["--doc"])).dir(root).wait();
    let all = summary(&finished, time);
    all.and(documentation)
}

/// The binaries in the order in which they begin.
fn in_order(mut binaries: Vec<Binary>, first: &[&str]) -> Result<Vec<Binary>> {
    if let Some(name) = first.iter().find(|name| !binaries.iter().any(|binary| binary.name == **name)) {
        return Err(Failure::new(format!("the test binary `{name}` no longer exists: see FIRST in {}", file!())));
    }
    binaries.sort_by_key(|binary| !first.contains(&binary.name.as_str()));
    Ok(binaries)
}

/// Says how many tests ran and how long that took, and repeats what failed.
fn summary(finished: &[Finished], time: Duration) -> Result {
    let count = |of: fn(&libtest::Counts) -> usize| finished.iter().filter_map(|one| one.counts.as_ref()).map(of).sum();
    let (passed, failed, ignored): (usize, usize, usize) =
        (count(|counts| counts.passed), count(|counts| counts.failed), count(|counts| counts.ignored));
    say!(
        "\n{} test binaries in {}: {passed} tests passed, {failed} failed, {ignored} ignored",
        finished.len(),
        elapsed(time)
    );
    let bad: Vec<&Finished> = finished.iter().filter(|one| one.result.is_err()).collect();
    for one in &bad {
        say!("{}", one.line());
        for test in &one.failed_tests {
            say!("    {test}");
        }
        say!("    its output: {}", one.log.display());
    }
    match bad.len() {
        0 => Ok(()),
        1 => Err(Failure::new("a test binary failed")),
        several => Err(Failure::new(format!("{several} test binaries failed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(names: &[&str]) -> Vec<Binary> {
        names.iter().map(|name| Binary::new(name, "/bin/true", "/")).collect()
    }

    fn names(binaries: &[Binary]) -> Vec<&str> {
        binaries.iter().map(|binary| binary.name.as_str()).collect()
    }

    #[test]
    fn the_long_ones_begin() {
        let sorted = in_order(binaries(&["a", "b", "c", "d"]), &["c"]).expect("all exist");
        assert_eq!(names(&sorted), ["c", "a", "b", "d"]);
    }

    #[test]
    fn a_name_without_a_binary_is_a_failure() {
        let failure = in_order(binaries(&["a"]), &["b"]).expect_err("b does not exist");
        assert!(failure.to_string().contains("`b`"), "{failure}");
    }

    #[test]
    fn one_failure_fails_the_stage() {
        let logs = folder();
        let good = Binary::new("good", "/bin/true", "/");
        let bad = Binary::new("bad", "/bin/false", "/");
        let both = queue::play(&[good, bad], 2, &logs);
        assert!(summary(&both[..], Duration::ZERO).is_err());
        let passed: Vec<Finished> = both.into_iter().filter(|one| one.name == "good").collect();
        assert!(summary(&passed, Duration::ZERO).is_ok());
        std::fs::remove_dir_all(logs).expect("can be removed");
    }

    fn folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-summary-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("can be made");
        folder
    }
}
