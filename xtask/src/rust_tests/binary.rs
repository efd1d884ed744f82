//! Which test binaries there are: what cargo says that it has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::process::Run;

/// One test binary.
#[derive(Debug, PartialEq)]
pub(super) struct Binary {
    /// Its package's folder, its kind and its target: `crates/server test timing`.
    pub(super) name: String,
    executable: String,
    /// The folder of its package.
    folder: PathBuf,
}

impl Binary {
    pub(super) fn new(name: &str, executable: &str, folder: impl Into<PathBuf>) -> Self {
        Self { name: name.to_owned(), executable: executable.to_owned(), folder: folder.into() }
    }

    /// The command, in the folder and with the variables that `cargo test` would give it. It sets more of them
    /// (`CARGO_PKG_…`), which tests read when they are compiled.
    pub(super) fn command(&self) -> Command {
        let run = Run::new(&self.executable).dir(&self.folder);
        let run = run.env("CARGO_MANIFEST_DIR", &self.folder);
        run.env("CARGO_MANIFEST_PATH", self.folder.join("Cargo.toml")).into_command()
    }
}

/// The test binaries in the messages of `cargo test --no-run --message-format=json`, which are lines of JSON.
pub(super) fn built(messages: &str, root: &Path) -> Result<Vec<Binary>> {
    let mut binaries = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)
            .map_err(|error| Failure::new(format!("cargo's message can't be read: {error}: {line}")))?;
        binaries.extend(test_binary(&message, root)?);
    }
    if binaries.is_empty() {
        return Err(Failure::new("cargo has built no test binary"));
    }
    Ok(binaries)
}

/// The folder that cargo builds in.
pub(super) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

fn test_binary(message: &Value, root: &Path) -> Result<Option<Binary>> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    // A library is built both with its tests and for the others. Only the former is a program.
    let (true, Some(executable)) = (is_test, message["executable"].as_str()) else { return Ok(None) };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let target = &message["target"];
    let (Some(manifest), Some(kind), Some(name)) =
        (text(&message["manifest_path"]), text(&target["kind"][0]), text(&target["name"]))
    else {
        return Err(Failure::new(format!("cargo's message about {executable} lacks its manifest, kind or name")));
    };
    let Some(folder) = Path::new(&manifest).parent() else {
        return Err(Failure::new(format!("`{manifest}` is in no folder")));
    };
    let package = folder.strip_prefix(root).unwrap_or(folder).display();
    Ok(Some(Binary::new(&format!("{package} {kind} {name}"), executable, folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///tree/crates/server#holdpoint-server@0.1.0","manifest_path":"/tree/crates/server/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"timing","src_path":"/tree/crates/server/tests/timing.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/tree/target/debug/deps/timing-3a8f"],"executable":"/tree/target/debug/deps/timing-3a8f","fresh":true}"#;
    const LIBRARY: &str = r#"{"reason":"compiler-artifact","manifest_path":"/tree/crates/server/Cargo.toml","target":{"kind":["lib"],"name":"holdpoint_server"},"profile":{"test":false},"filenames":["/tree/target/debug/libholdpoint_server.rlib"],"executable":null,"fresh":true}"#;
    const PROGRAM: &str = r#"{"reason":"compiler-artifact","manifest_path":"/tree/crates/server/Cargo.toml","target":{"kind":["bin"],"name":"holdpoint"},"profile":{"test":false},"executable":"/tree/target/debug/holdpoint","fresh":true}"#;
    const FINISHED: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn of_all_that_was_built_only_the_tests_are_run() {
        let messages = [LIBRARY, PROGRAM, TEST, FINISHED].join("\n");
        let found = built(&messages, Path::new("/tree")).expect("can be read");
        let timing =
            Binary::new("crates/server test timing", "/tree/target/debug/deps/timing-3a8f", "/tree/crates/server");
        assert_eq!(found, [timing]);
    }

    #[test]
    fn messages_without_a_test_or_that_are_none_are_a_failure() {
        let root = Path::new("/tree");
        assert!(built("", root).is_err());
        assert!(built(FINISHED, root).is_err());
        assert!(built(&format!("{TEST}\nnot JSON"), root).is_err());
        let nameless = TEST.replace(r#""name":"timing","#, "");
        assert!(built(&nameless, root).is_err());
    }

    #[test]
    fn a_binary_runs_in_the_folder_of_its_package() {
        let command = Binary::new("crates/server test timing", "/t/timing", "/tree/crates/server").command();
        assert_eq!(command.get_current_dir(), Some(Path::new("/tree/crates/server")));
        let variable = |name: &str| command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
        assert_eq!(variable("CARGO_MANIFEST_DIR"), Some("/tree/crates/server".as_ref()));
        assert_eq!(variable("CARGO_MANIFEST_PATH"), Some("/tree/crates/server/Cargo.toml".as_ref()));
    }
}
