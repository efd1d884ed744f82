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

/// Where a binary runs that can't run just anywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Before the others: it takes longest, and would keep the stage waiting if it began last.
    First,
    /// After the others, with nothing beside it: it measures time.
    Alone,
}

/// Binaries with a place of their own, as they are shown.
const PLACES: &[(&str, Place)] = &[
    ("crates/runtime test machine", Place::First),
    ("crates/server test record", Place::First),
    // A request is answered within so many seconds while the disk is full or locked.
    ("crates/cli test disk", Place::Alone),
    // A request is answered soon while many connections are idle or slow, and these end on time.
    ("crates/cli test connections", Place::Alone),
    // What does not read is given up in time, and all that memory is filled meanwhile.
    ("crates/server test limits", Place::Alone),
    // A stop takes no longer than it has to.
    ("crates/cli test shutdown", Place::Alone),
    // A server that was started again is found by the next call. Its servers are Node programs, which start slowly
    // where others take the processors, and the call then finds none.
    ("crates/tools test mcp", Place::Alone),
    // An outage of the database is noticed in time, with time limits short enough for a test.
    ("crates/log test log_postgres", Place::Alone),
    // A retry waits as long as it was told to, and not much longer.
    ("crates/models test providers", Place::Alone),
];

/// Runs the stage.
pub(crate) fn run(root: &Path) -> Result {
    let started = Instant::now();
    let args = WORKSPACE.iter().chain(&["--no-run", "--message-format=json-render-diagnostics"]);
    let messages = Run::cargo().args(args).dir(root).stdout()?;
    let (together, alone) = in_order(binary::built(&messages, root)?, PLACES)?;
    say!("built in {}", elapsed(started.elapsed()));

    let logs = binary::target(root).join("test-output");
    std::fs::create_dir_all(&logs).map_err(|error| Failure::new(format!("{}: {error}", logs.display())))?;
    let started = Instant::now();
    let at_once = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    say!("{} test binaries, {at_once} at a time; then {} that measure time, alone", together.len(), alone.len());
    let mut finished = queue::play(&together, at_once, &logs);
    finished.extend(queue::play(&alone, 1, &logs));
    let time = started.elapsed();

    say!("the tests in the documentation:");
    let documentation = Run::cargo().args(WORKSPACE.iter().chain(&["--doc"])).dir(root).wait();
    let all = summary(&finished, time);
    all.and(documentation)
}

/// Those that run beside each other, and those that run alone.
fn in_order(binaries: Vec<Binary>, places: &[(&str, Place)]) -> Result<(Vec<Binary>, Vec<Binary>)> {
    if let Some((name, _)) = places.iter().find(|(name, _)| !binaries.iter().any(|binary| binary.name == *name)) {
        return Err(Failure::new(format!("the test binary `{name}` no longer exists: see PLACES in {}", file!())));
    }
    let place = |binary: &Binary| places.iter().find(|(name, _)| binary.name == *name).map(|(_, place)| *place);
    let (alone, mut together): (Vec<_>, Vec<_>) =
        binaries.into_iter().partition(|binary| place(binary) == Some(Place::Alone));
    together.sort_by_key(|binary| place(binary) != Some(Place::First));
    Ok((together, alone))
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
    fn the_long_ones_begin_and_those_that_measure_time_are_apart() {
        let places = [("c", Place::First), ("b", Place::Alone)];
        let (together, alone) = in_order(binaries(&["a", "b", "c", "d"]), &places).expect("all exist");
        assert_eq!((names(&together), names(&alone)), (vec!["c", "a", "d"], vec!["b"]));
    }

    #[test]
    fn a_place_for_a_binary_that_is_gone_is_a_failure() {
        let failure = in_order(binaries(&["a"]), &[("b", Place::Alone)]).expect_err("there is no b");
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
