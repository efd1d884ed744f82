//! `cargo xtask setup`: installs what the tests need and this machine lacks. Rust itself is only looked at.

mod debian;
mod needs;
mod npm;

use std::path::Path;
use std::time::Instant;

use crate::console::{elapsed, say};
use crate::failure::{Failure, Result};
pub(crate) use needs::{DENY, FUZZ, Need, SCHEMATHESIS, TOOLS};
use needs::{Install, Probe, TESTS};

/// Installs everything that the tests need.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    crate::no_arguments("setup", args)?;
    ensure(root, TESTS)
}

/// Goes through the needs in order and installs what is missing. Everything that only a person can install is reported
/// together, so that one round fixes it. Nothing is installed after the first of these, since it may depend on it (npm
/// on Node).
pub(crate) fn ensure(root: &Path, needs: &[Need]) -> Result {
    let mut debian = debian::Apt::default();
    let mut asked = Vec::new();
    for need in needs {
        let missing = match (need.probe)(root) {
            Probe::Present(found) => {
                say!("  ok       {} ({found})", need.name);
                continue;
            }
            Probe::NotYet(why) => {
                say!("  skipped  {} ({why})", need.name);
                continue;
            }
            Probe::Missing(missing) => missing,
        };
        say!("  missing  {}: {missing}; needed for {}", need.name, need.why);
        let started = Instant::now();
        match &need.install {
            Install::Ask(how) => {
                asked.push(format!("{}: {missing}. {how}", need.name));
                continue;
            }
            _ if !asked.is_empty() => {
                say!("  later    {}", need.name);
                continue;
            }
            Install::Debian(packages) => {
                say!("  install  {} with apt-get, {}", packages.join(" "), need.takes);
                debian.install(packages)?;
            }
            Install::Npm(dir) => {
                say!("  install  npm packages in {dir}, {}", need.takes);
                npm::install(&root.join(dir), dir)?;
            }
            Install::Python { name, version, with } => {
                say!("  install  {name} {version} into {}/{name}, {}", needs::TOOLS, need.takes);
                needs::python_install(root, name, version, with)?;
            }
            Install::Cargo { name, version } => {
                say!("  install  {name} {version} into {}, {}", needs::TOOLS, need.takes);
                needs::cargo_install(root, name, version)?;
            }
        }
        match (need.probe)(root) {
            Probe::Present(found) => {
                say!("  ok       {} ({found}), in {}", need.name, elapsed(started.elapsed()));
            }
            Probe::Missing(still) | Probe::NotYet(still) => {
                return Err(Failure::new(format!("{} was installed, but: {still}", need.name)));
            }
        }
    }
    if asked.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("this has to be installed by hand:\n  {}", asked.join("\n  "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(name: &'static str, probe: fn(&Path) -> Probe) -> Need {
        Need { name, why: "the test", takes: "", probe, install: Install::Ask("Get it there.") }
    }

    #[test]
    fn everything_to_do_by_hand_is_said_at_once() {
        let needs = [
            by_hand("one", |_| Probe::Missing("not found".to_owned())),
            by_hand("two", |_| Probe::Present("2.0".to_owned())),
            by_hand("three", |_| Probe::Missing("too old".to_owned())),
        ];
        let said = ensure(Path::new("."), &needs).expect_err("two are missing").to_string();
        assert!(said.contains("one: not found. Get it there."), "{said}");
        assert!(said.contains("three: too old. Get it there."), "{said}");
        assert!(!said.contains("two"), "{said}");
    }

    #[test]
    fn nothing_is_installed_on_top_of_what_is_missing() {
        let packages = Need {
            install: Install::Npm("no/such/folder"),
            ..by_hand("packages", |_| Probe::Missing("not installed".to_owned()))
        };
        let node = by_hand("node", |_| Probe::Missing("not found".to_owned()));
        let said = ensure(Path::new("."), &[node, packages]).expect_err("node is missing").to_string();
        assert!(said.contains("node: not found") && !said.contains("folder"), "{said}");
    }

    #[test]
    fn what_is_there_is_left_alone() {
        assert!(ensure(Path::new("."), &[by_hand("it", |_| Probe::Present("1".to_owned()))]).is_ok());
        assert!(ensure(Path::new("."), &[by_hand("it", |_| Probe::NotYet("later".to_owned()))]).is_ok());
    }
}
