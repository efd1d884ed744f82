//! `cargo xtask quick`: the checks for every day. They cover what a change touches, and take at most three minutes once
//! everything is built. `cargo xtask test` is the whole.

use std::path::Path;

use crate::console::say;
use crate::failure::{Failure, Result};
use crate::process::Run;
use crate::stages::{self, Stage};

/// The unit tests, with the tables of the turn machine among them.
const UNITS: [&str; 4] = ["test", "--workspace", "--all-features", "--lib"];
/// The integration tests that cover most of the runtime in the least time.
const SUITES: [&str; 8] = ["--test", "machine", "--test", "simulation", "--test", "log", "--test", "log_sqlite"];

const UNIT_TESTS: Stage = Stage {
    name: "units",
    what: "the unit tests of the libraries",
    run: |root| Run::cargo().args(UNITS).dir(root).show_and_wait(),
};
const SUITE_TESTS: Stage = Stage {
    name: "suites",
    what: "the unit tests, random turns of the machine, the simulation, and the contract suites of the logs",
    run: |root| Run::cargo().args(UNITS.iter().chain(&SUITES)).dir(root).show_and_wait(),
};
const DOC_TESTS: Stage = Stage {
    name: "doc",
    what: "the examples in the documentation of the libraries",
    run: |root| Run::cargo().args(["test", "--workspace", "--all-features", "--doc"]).dir(root).show_and_wait(),
};
const XTASK_TESTS: Stage = Stage {
    name: "xtask",
    what: "the unit tests of these commands",
    run: |root| Run::cargo().args(["test", "--package", "xtask"]).dir(root).show_and_wait(),
};

/// What the changed files can break.
#[derive(Debug, Default, PartialEq)]
struct Touched {
    rust: bool,
    /// A library below the server, which the runtime's integration tests cover.
    libraries: bool,
    xtask: bool,
    typescript: bool,
}

/// Runs the checks that the changes since a base need: the commit `HEAD` if none is given.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let base = match args {
        [] => "HEAD",
        [base] if !base.starts_with('-') => base,
        _ => return Err(Failure::usage("`cargo xtask quick` takes one commit or branch to compare with")),
    };
    let files = changed(root, base)?;
    match files.len() {
        0 => say!("nothing has changed since {base}: name another base to compare with, `cargo xtask quick main`"),
        1 => say!("one file has changed since {base}"),
        several => say!("{several} files have changed since {base}"),
    }
    let checks = checks(&Touched::by(&files))?;
    let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
    say!("to check: {}", names.join(", "));
    let outcomes = stages::play(checks.into_iter(), root, false);
    stages::report(&outcomes, names.len(), "The whole gate is: cargo xtask test")
}

/// The files that differ from the commit at which the base and `HEAD` diverged, committed or not.
fn changed(root: &Path, base: &str) -> Result<Vec<String>> {
    let tracked = Run::new("git").args(["diff", "--name-only", "-z", "--merge-base", base]).dir(root).output()?;
    let new = Run::new("git").args(["ls-files", "--others", "--exclude-standard", "-z"]).dir(root).output()?;
    Ok(tracked.split('\0').chain(new.split('\0')).filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

impl Touched {
    fn by(files: &[String]) -> Self {
        let mut touched = Self::default();
        for file in files {
            let (folder, rest) = file.split_once('/').unwrap_or(("", file));
            match folder {
                "crates" => {
                    touched.rust = true;
                    touched.libraries |= !(rest.starts_with("server/") || rest.starts_with("cli/"));
                }
                "fixtures" => (touched.rust, touched.libraries) = (true, true),
                "xtask" => (touched.rust, touched.xtask) = (true, true),
                "bench" | ".cargo" => touched.rust = true,
                "" if rest.starts_with("Cargo.") => (touched.rust, touched.libraries) = (true, true),
                "" if matches!(rest, "clippy.toml" | "rustfmt.toml") => touched.rust = true,
                _ => touched.typescript |= is_typescript(file),
            }
        }
        touched
    }
}

/// Whether Biome or the TypeScript compiler reads the file.
fn is_typescript(file: &str) -> bool {
    let extension = Path::new(file).extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("ts" | "tsx" | "mts" | "js" | "mjs" | "jsx" | "css" | "json"))
}

/// In the order in which they run.
fn checks(touched: &Touched) -> Result<Vec<&'static Stage>> {
    let mut checks = Vec::new();
    if touched.rust {
        let tests = if touched.libraries { &SUITE_TESTS } else { &UNIT_TESTS };
        checks.extend([stages::named("fmt")?, stages::named("clippy")?, tests, &DOC_TESTS]);
    }
    if touched.xtask {
        checks.push(&XTASK_TESTS);
    }
    if touched.typescript {
        checks.push(stages::named("typescript")?);
    }
    checks.extend([stages::named("tidy")?, stages::named("codegen")?]);
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Vec<&'static str> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        checks(&Touched::by(&files)).expect("the stages exist").iter().map(|check| check.name).collect()
    }

    #[test]
    fn a_page_needs_no_compiler() {
        assert_eq!(names(&["docs/concepts.md", "README.md"]), ["tidy", "codegen"]);
        assert_eq!(names(&[]), ["tidy", "codegen"]);
    }

    #[test]
    fn typescript_needs_no_rust() {
        for file in ["apps/web/src/main.tsx", "packages/client/package.json", "biome.json", "tests/sdk/run.mjs"] {
            assert_eq!(names(&[file]), ["typescript", "tidy", "codegen"], "{file}");
        }
    }

    #[test]
    fn rust_needs_no_typescript() {
        assert_eq!(names(&["bench/src/main.rs"]), ["fmt", "clippy", "units", "doc", "tidy", "codegen"]);
        assert_eq!(names(&["xtask/src/main.rs"]), ["fmt", "clippy", "units", "doc", "xtask", "tidy", "codegen"]);
    }

    #[test]
    fn the_suites_of_the_runtime_run_for_what_they_cover() {
        let all = ["fmt", "clippy", "suites", "doc", "tidy", "codegen"];
        for file in ["crates/protocol/src/sse.rs", "crates/testkit/src/lib.rs", "fixtures/rules/a.sse", "Cargo.lock"] {
            assert_eq!(names(&[file]), all, "{file}");
        }
        assert_eq!(names(&["crates/server/src/app.rs"]), ["fmt", "clippy", "units", "doc", "tidy", "codegen"]);
    }

    #[test]
    fn an_option_is_refused() {
        assert_eq!(run(Path::new("."), &["--all".to_owned()]).expect_err("takes none").code(), 2);
    }
}
