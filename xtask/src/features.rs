//! Features: the published crates compile, and clippy has nothing to say, with fewer features than all of them.

use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::process::Run;

/// The crates that programs depend on. Some have no features: alone, their dependencies have no more features than they ask for.
const CRATES: &[&str] = &[
    "holdpoint-protocol",
    "holdpoint-core",
    "holdpoint-log",
    "holdpoint-models",
    "holdpoint-tools",
    "holdpoint-runtime",
    "holdpoint-demo",
    "holdpoint-server",
    "holdpoint-cli",
];

/// What the pages of the crates tell a reader to choose. The server without any has the runtime without any below it.
const DOCUMENTED: &[(&str, &str)] =
    &[("holdpoint-protocol", ""), ("holdpoint-server", ""), ("holdpoint-server", "sqlite")];

/// Checks the documented sets.
pub(crate) fn documented(root: &Path) -> Result {
    DOCUMENTED.iter().try_for_each(|(package, features)| check(root, package, features))
}

/// Checks every crate with none, and with each feature alone.
pub(crate) fn each(root: &Path) -> Result {
    let metadata = Run::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).dir(root).output()?;
    for package in CRATES {
        check(root, package, "")?;
        for feature in features(&metadata, package)? {
            check(root, package, &feature)?;
        }
    }
    Ok(())
}

/// The features of a crate, as its manifest names them. `default` is a set of others.
fn features(metadata: &str, package: &str) -> Result<Vec<String>> {
    let metadata: Value =
        serde_json::from_str(metadata).map_err(|error| Failure::new(format!("cargo metadata: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages
        .filter(|each| each["name"] == package)
        .find_map(|each| each["features"].as_object())
        .ok_or_else(|| Failure::new(format!("cargo metadata: there is no package {package}")))?;
    Ok(features.keys().filter(|name| *name != "default").cloned().collect())
}

/// By clippy: it denies warnings in our crates alone, so that their dependencies are those that other checks have
/// compiled. `RUSTFLAGS` would compile all of them once more.
fn check(root: &Path, package: &str, features: &str) -> Result {
    Run::cargo()
        .args(["clippy", "--quiet", "--package", package, "--lib", "--bins"])
        .args(["--no-default-features", "--features", features, "--", "-D", "warnings"])
        .env("HOLDPOINT_CONSOLE", "none")
        .dir(root)
        .show_and_wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_the_features() {
        let metadata = r#"{"packages": [{"name": "b", "features": {"x": []}},
            {"name": "a", "features": {"default": ["one"], "one": [], "two": ["dep:c"]}}]}"#;
        assert_eq!(features(metadata, "a").expect("it is there"), ["one", "two"]);
        let missing = features(metadata, "c").expect_err("it is not there");
        assert!(missing.to_string().ends_with("there is no package c"), "{missing}");
    }

    #[test]
    fn the_documented_sets_are_of_crates_that_are_checked() {
        assert!(DOCUMENTED.iter().all(|(package, _)| CRATES.contains(package)));
    }
}
