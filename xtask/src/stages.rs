//! `cargo xtask test`: everything that has to pass, stage by stage. CI runs the same.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::console::{elapsed, heading, say};
use crate::failure::{Failure, Result};
use crate::process::Run;
use crate::{codegen, features, full, fuzz, rust_tests, setup, tidy};

/// One stage: its command-line name, its description and its function.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn(&Path) -> Result,
}

/// In the order in which they run: fast and informative ones first.
const STAGES: &[Stage] = &[
    Stage { name: SETUP, what: "what the tests need is installed", run: |root| setup::run(root, &[]) },
    Stage { name: "fmt", what: "cargo fmt --all --check", run: |root| cargo(root, &["fmt", "--all", "--check"]) },
    Stage {
        name: "clippy",
        what: "cargo clippy --workspace --all-targets --all-features -- -D warnings",
        run: |root| cargo(root, &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]),
    },
    Stage {
        name: "features",
        what: "clippy on the crates with the few features that their pages recommend (`cargo xtask full features`: with \
               each one alone)",
        run: features::documented,
    },
    Stage {
        name: TESTS,
        what: "cargo test --workspace --all-features, several test binaries at a time",
        run: rust_tests::run,
    },
    Stage { name: "typescript", what: "lints and types of the TypeScript side", run: typescript },
    Stage {
        name: CLIENT,
        what: "the npm package, against the real server",
        run: |root| npm(root, &[&["test", "-w", "packages/client"]]),
    },
    Stage {
        name: SDK,
        what: "the AI SDK's own clients, versions 6 and 7, against the real server",
        run: |root| npm(root, &[&["run", "e2e", "-w", "tests/sdk"]]),
    },
    Stage {
        name: CRASH,
        what: "the server killed under load, with a ledger of its own: the short form (`cargo xtask full crash`: 300 kills; \
               `cargo xtask full cluster`: three nodes on PostgreSQL, 200 faults)",
        run: |root| {
            let crash = |script| ["run", script, "-w", "tests/crash"];
            npm(root, &[&crash("self-test"), &crash("crash"), &crash("cluster")])
        },
    },
    Stage {
        name: CONSOLE,
        what: "the console: units, size, and the short form of its tests in Chromium (HOLDPOINT_E2E=full: the full one)",
        run: |root| {
            let web = |script| ["run", script, "-w", "apps/web"];
            npm(root, &[&web("test"), &web("build"), &web("size"), &web("e2e")])
        },
    },
    Stage {
        name: APPS,
        what: "the apps of `examples`, built from the packed npm package and played in Chromium: the short form (`cargo \
               xtask full apps`: every scenario, with the newest packages)",
        run: |root| npm(root, &[&["run", "test:short", "-w", "tests/apps"]]),
    },
    Stage {
        name: "wasm",
        what: "the pure crates build for wasm32-unknown-unknown, where that target is installed",
        run: wasm,
    },
    Stage {
        name: "fuzz",
        what: "the JSON reader on a small stack, fuzzed for a minute, where all is to be tested (HOLDPOINT_E2E=full)",
        run: fuzz_reader,
    },
    Stage {
        name: "deny",
        what: "cargo deny check bans licenses sources, where cargo-deny is installed (`cargo xtask full deny` installs it)",
        run: |root| full::deny_if_installed(root),
    },
    Stage { name: "tidy", what: "the tree: layers, lengths, names, links, captures", run: |root| tidy::run(root, &[]) },
    Stage {
        name: "codegen",
        what: "the generated TypeScript is current",
        run: |root| codegen::run(root, &["--check".to_owned()]),
    },
];

const SETUP: &str = "setup";
const TESTS: &str = "tests";
const CLIENT: &str = "client";
const SDK: &str = "sdk";
const CRASH: &str = "crash";
const CONSOLE: &str = "console";
const APPS: &str = "apps";

/// Stages that need `setup`.
const SET_UP: [&str; 7] = [TESTS, "typescript", CLIENT, SDK, CRASH, CONSOLE, APPS];

/// The parsed command line.
#[derive(Debug, Default, PartialEq)]
struct Wanted {
    keep_going: bool,
    list: bool,
    stages: Vec<&'static str>,
}

/// The result of one stage.
pub(crate) struct Outcome {
    name: &'static str,
    time: Duration,
    result: Result,
}

/// Runs the stages.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let wanted = parse(args)?;
    if wanted.list {
        for stage in STAGES {
            say!("{:8}  {}", stage.name, stage.what);
        }
        say!("\n`cargo xtask test NAME...` runs only the named ones; `{SETUP}` runs before those that need it.");
        return Ok(());
    }
    let stages = STAGES.iter().filter(|stage| wanted.stages.contains(&stage.name));
    let outcomes = play(stages, root, wanted.keep_going);
    let again = format!("To run just that again: cargo xtask test {}", failed(&outcomes).join(" "));
    report(&outcomes, wanted.stages.len(), &again)
}

/// The stage of this name.
pub(crate) fn named(name: &str) -> Result<&'static Stage> {
    STAGES.iter().find(|stage| stage.name == name).ok_or_else(|| Failure::new(format!("unknown stage `{name}`")))
}

fn typescript(root: &Path) -> Result {
    let scripts: [&[&str]; 4] = [
        &["run", "lint"],
        &["run", "typecheck", "-w", "packages/client"],
        &["run", "typecheck", "-w", "apps/web"],
        &["run", "typecheck", "-w", "tests/apps"],
    ];
    scripts.iter().try_for_each(|script| Run::new("npm").args(*script).dir(root).wait())
}

/// Runs npm scripts in sequence, with the server that the Rust tests have built.
pub(crate) fn npm(root: &Path, scripts: &[&[&str]]) -> Result {
    npm_with(root, &[], scripts)
}

/// The same with environment variables.
pub(crate) fn npm_with(root: &Path, variables: &[(&str, &str)], scripts: &[&[&str]]) -> Result {
    // As part of a test target, so that the dependencies have the features that the Rust tests have built them with:
    // `cargo build` leaves out those of the dev-dependencies, and builds most of the tree once more.
    cargo(root, &["test", "--workspace", "--all-features", "--no-run", "--test", "serve"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let server = target.join("debug").join("holdpoint");
    scripts.iter().try_for_each(|script| {
        let run = Run::new("npm").args(*script).env("HOLDPOINT_BIN", &server).dir(root);
        variables.iter().fold(run, |run, (name, value)| run.env(name, value)).wait()
    })
}

/// The target can't be fetched everywhere, so its absence is reported but is not a failure.
fn wasm(root: &Path) -> Result {
    const TARGET: &str = "wasm32-unknown-unknown";
    let libraries = std::process::Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let installed = libraries
        .is_ok_and(|out| Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir() && out.status.success());
    if !installed {
        say!("skipped: the target is not installed (`rustup target add {TARGET}`)");
        return Ok(());
    }
    cargo(root, &["check", "--package", "holdpoint-protocol", "--package", "holdpoint-core", "--target", TARGET])
}

/// Outside the full run, only the property tests of this reader run: the fuzzer takes long, and has to be built.
fn fuzz_reader(root: &Path) -> Result {
    if std::env::var_os("HOLDPOINT_E2E").is_none_or(|form| form != "full") {
        say!("skipped: `HOLDPOINT_E2E=full cargo xtask test fuzz`, or `cargo xtask fuzz` for every target");
        return Ok(());
    }
    fuzz::run(root, &["json_reader".to_owned(), "--seconds=60".to_owned()])
}

fn parse(args: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    for arg in args {
        match arg.as_str() {
            "--keep-going" => wanted.keep_going = true,
            "--list" => wanted.list = true,
            name => match STAGES.iter().find(|stage| stage.name == name) {
                Some(stage) => wanted.stages.push(stage.name),
                None => {
                    let names: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
                    return Err(Failure::usage(format!(
                        "`cargo xtask test` knows no stage or option `{name}`. Stages: {}. Options: --keep-going, --list",
                        names.join(", ")
                    )));
                }
            },
        }
    }
    if wanted.stages.is_empty() {
        wanted.stages = STAGES.iter().map(|stage| stage.name).collect();
    } else if wanted.stages.iter().any(|name| SET_UP.contains(name)) {
        wanted.stages.push(SETUP);
    }
    wanted.stages.sort_by_key(|name| STAGES.iter().position(|stage| stage.name == *name));
    wanted.stages.dedup();
    Ok(wanted)
}

/// Runs these stages, up to the first failure unless all should run.
pub(crate) fn play<'a>(stages: impl Iterator<Item = &'a Stage>, root: &Path, keep_going: bool) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for stage in stages {
        heading(&format!("{}: {}", stage.name, stage.what));
        let started = Instant::now();
        let result = (stage.run)(root);
        let time = started.elapsed();
        match &result {
            Ok(()) => say!("{}: passed in {}", stage.name, elapsed(time)),
            Err(failure) => say!("{}: FAILED after {}: {failure}", stage.name, elapsed(time)),
        }
        let stop = result.is_err() && !keep_going;
        outcomes.push(Outcome { name: stage.name, time, result });
        if stop {
            break;
        }
    }
    outcomes
}

fn failed(outcomes: &[Outcome]) -> Vec<&'static str> {
    outcomes.iter().filter(|outcome| outcome.result.is_err()).map(|outcome| outcome.name).collect()
}

/// Prints the summary table. Fails if a stage failed, with a hint on what to do next.
pub(crate) fn report(outcomes: &[Outcome], planned: usize, hint: &str) -> Result {
    heading("summary");
    for outcome in outcomes {
        let verdict = if outcome.result.is_ok() { "passed" } else { "FAILED" };
        say!("  {:8}  {verdict}  {:>12}", outcome.name, elapsed(outcome.time));
    }
    let total: Duration = outcomes.iter().map(|outcome| outcome.time).sum();
    say!("  {:8}  {:6}  {:>12}", "all", "", elapsed(total));

    let failed = failed(outcomes);
    let passed = outcomes.len() - failed.len();
    say!("\nstages: {passed} passed, {} failed, {} skipped", failed.len(), planned - outcomes.len());
    if failed.is_empty() {
        return Ok(());
    }
    let plural = if failed.len() == 1 { "stage" } else { "stages" };
    Err(Failure::new(format!("{plural} {} failed. {hint}", failed.join(", "))))
}

fn cargo(root: &Path, args: &[&str]) -> Result {
    Run::cargo().args(args).dir(root).wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Stage = Stage { name: "good", what: "", run: |_| Ok(()) };
    const FAILS: Stage = Stage { name: "bad", what: "", run: |_| Err(Failure::new("no")) };

    fn args(args: &[&str]) -> Vec<String> {
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    #[test]
    fn without_names_every_stage_runs() {
        let wanted = parse(&args(&["--keep-going"])).expect("is valid");
        assert!(wanted.keep_going);
        assert_eq!(wanted.stages.len(), STAGES.len());
    }

    #[test]
    fn named_stages_run_in_their_own_order_and_once() {
        let wanted = parse(&args(&["tidy", "fmt", "tidy"])).expect("is valid");
        assert_eq!(wanted.stages, ["fmt", "tidy"]);
    }

    #[test]
    fn the_tests_are_set_up_for() {
        assert_eq!(parse(&args(&["tests"])).expect("is valid").stages, ["setup", "tests"]);
    }

    #[test]
    fn an_unknown_stage_is_named() {
        let failure = parse(&args(&["lint"])).expect_err("there is none");
        assert!(failure.code() == 2 && failure.to_string().contains("`lint`"), "{failure}");
    }

    #[test]
    fn the_first_failure_stops_the_run() {
        let outcomes = play([FAILS, PASSES].iter(), Path::new("."), false);
        assert_eq!(outcomes.len(), 1);
        assert_eq!(failed(&outcomes), ["bad"]);
        let failure = report(&outcomes, 2, "Run it again").expect_err("one failed");
        assert_eq!(failure.to_string(), "stage bad failed. Run it again");
    }

    #[test]
    fn keep_going_runs_the_rest_and_still_fails() {
        let outcomes = play([FAILS, PASSES].iter(), Path::new("."), true);
        assert_eq!(outcomes.len(), 2);
        assert!(report(&outcomes, 2, "").is_err());
    }

    #[test]
    fn all_passed_is_success() {
        assert!(report(&play([PASSES].iter(), Path::new("."), false), 1, "").is_ok());
    }
}
