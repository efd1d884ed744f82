//! `cargo xtask tidy`: checks of the tree that no compiler makes. It changes nothing.

mod captures;
mod commits;
mod decisions;
mod layers;
mod lengths;
mod links;
mod names;
mod tree;

use std::fmt;
use std::path::Path;

use crate::console::say;
use crate::failure::{Failure, Result};
use crate::process::Run;
use tree::Tree;

/// One violation and its location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    /// Lines count from 1. A violation of a whole file is reported at line 1.
    fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Runs every check and prints every violation as `path:line: message`.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    crate::no_arguments("tidy", args)?;
    let tree = Tree::read(root)?;
    let metadata = metadata(root)?;
    let checks = [
        (
            "layers: protocol <- core <- log, models, tools <- runtime <- demo <- server <- cli",
            layers::check(&metadata, &tree),
        ),
        ("lengths: source files are short", lengths::check(&tree)),
        ("names: no machine's paths or hosts", names::check(&tree)),
        ("links: relative links lead somewhere", links::check(&tree)),
        ("captures: every rule has a good and a bad one", captures::check(&tree)),
        ("decisions: records of one form, all of them listed", decisions::check(&tree)),
    ];
    let mut violations = Vec::new();
    match commits::read(root) {
        Ok(commits) => violations.extend(verdict("commits: titles name their area", commits::check(&commits))),
        Err(why) => say!("  commits: skipped, {why}"),
    }
    for (what, found) in checks {
        violations.extend(verdict(what, found));
    }
    violations.sort();
    for violation in &violations {
        say!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => Err(Failure::new("tidy found one thing (above)")),
        count => Err(Failure::new(format!("tidy found {count} things (above)"))),
    }
}

/// Says what a check found, and passes it on.
fn verdict(what: &str, found: Vec<Violation>) -> Vec<Violation> {
    let verdict = if found.is_empty() { "ok".to_owned() } else { format!("{} found", found.len()) };
    say!("  {what}: {verdict}");
    found
}

/// The output of `cargo metadata` with all features, so that optional dependencies count too.
fn metadata(root: &Path) -> Result<serde_json::Value> {
    let json = Run::cargo().args(["metadata", "--format-version", "1", "--all-features"]).dir(root).output()?;
    serde_json::from_str(&json).map_err(|error| Failure::new(format!("cargo metadata is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_reads_as_compilers_write_them() {
        assert_eq!(Violation::new("a/b.rs", 3, "no").to_string(), "a/b.rs:3: no");
    }
}
