//! Child processes.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::console::say;
use crate::failure::{Failure, Result};

/// A program to run, with its command line for display.
pub(crate) struct Run {
    command: Command,
    shown: String,
}

impl Run {
    /// A program found on the `PATH`, without the variables that `cargo run` set for this process: a nested cargo would
    /// pass them to build scripts, which would then run again for no reason.
    pub(crate) fn new(program: &str) -> Self {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(set_by_cargo_run) {
                command.env_remove(name);
            }
        }
        Self { command, shown: program.to_owned() }
    }

    /// The cargo that runs us, so that `cargo +toolchain xtask` stays on its toolchain.
    pub(crate) fn cargo() -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut run = Self::new(&cargo);
        run.shown = "cargo".to_owned();
        run
    }

    /// A line of shell. The shell is replaced by the program (`exec`), so that a signal reaches the program itself.
    pub(crate) fn shell(line: &str) -> Self {
        let mut run = Self::new("sh").args(["-c", &format!("exec {line}")]);
        run.shown = line.to_owned();
        run
    }

    /// Adds arguments.
    pub(crate) fn args<S: AsRef<str>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        for arg in args {
            let arg = arg.as_ref();
            self.command.arg(arg);
            self.shown.push(' ');
            self.shown.push_str(&quoted(arg));
        }
        self
    }

    /// Sets the folder it runs in.
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Sets one environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes one environment variable.
    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// The command line, as one would type it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Prints the command, then runs it on our own standard streams. Any exit code but 0 is a failure.
    pub(crate) fn show_and_wait(self) -> Result {
        say!("$ {}", self.shown);
        self.wait()
    }

    /// Runs it on our own standard streams. Any exit code but 0 is a failure.
    pub(crate) fn wait(mut self) -> Result {
        let status = self.command.status().map_err(|error| cannot_start(&self.shown, &error))?;
        if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` failed ({status})", self.shown))) }
    }

    /// Runs it and returns its standard output. Its standard error becomes part of a failure.
    pub(crate) fn output(mut self) -> Result<String> {
        let done = self.command.stdin(Stdio::null()).output().map_err(|error| cannot_start(&self.shown, &error))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(Failure::new(format!("`{}` failed ({}): {}", self.shown, done.status, said.trim())));
        }
        String::from_utf8(done.stdout)
            .map_err(|_| Failure::new(format!("`{}` wrote something that is not UTF-8", self.shown)))
    }

    /// Runs it and returns its standard output. Its standard error is ours: progress stays visible.
    pub(crate) fn stdout(mut self) -> Result<String> {
        let done = self.command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(&self.shown, &error))?;
        if !done.status.success() {
            return Err(Failure::new(format!("`{}` failed ({})", self.shown, done.status)));
        }
        String::from_utf8(done.stdout)
            .map_err(|_| Failure::new(format!("`{}` wrote something that is not UTF-8", self.shown)))
    }

    /// The bare command, for a caller that needs the running child.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

/// The failure of a program that could not be started.
pub(crate) fn cannot_start(shown: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("could not start `{shown}`: {error}"))
}

fn set_by_cargo_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || matches!(name, "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "CARGO_BIN_NAME" | "CARGO_CRATE_NAME")
}

fn quoted(arg: &str) -> String {
    if arg.is_empty() || arg.contains(|c: char| c.is_whitespace() || "'\"$`\\".contains(c)) {
        format!("'{}'", arg.replace('\'', r"'\''"))
    } else {
        arg.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command() {
        let missing = Run::new("no-such-program-here").args(["a b"]).wait().expect_err("is missing");
        assert!(missing.to_string().starts_with("could not start `no-such-program-here 'a b'`"), "{missing}");
        let failing = Run::new("sh").args(["-c", "echo oh >&2; exit 3"]).output().expect_err("exits with 3");
        assert!(failing.to_string().ends_with("(exit status: 3): oh"), "{failing}");
    }

    #[test]
    fn output_is_what_it_wrote() {
        assert_eq!(Run::new("sh").args(["-c", "echo yes"]).output().expect("runs"), "yes\n");
    }

    #[test]
    fn only_what_cargo_run_sets_is_removed() {
        assert!(set_by_cargo_run("CARGO_PKG_VERSION"));
        assert!(set_by_cargo_run("CARGO_MANIFEST_DIR"));
        assert!(!set_by_cargo_run("CARGO_HOME"));
        assert!(!set_by_cargo_run("CARGO_TARGET_DIR"));
    }
}
