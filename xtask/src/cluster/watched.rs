//! A process that does not outlive this one, however this one ends.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::failure::{Failure, Result};
use crate::process::{Run, cannot_start};

/// Runs a program until its own input ends, that is, until our end of the pipe is closed. A group of its own keeps a
/// Ctrl-C in the terminal from it, so that it ends after us and in order.
const WATCH: &str = r#"
    trap '' INT TERM HUP
    signal=$1; shift
    (trap - INT TERM HUP; exec "$@" </dev/null >&2) &
    process=$!
    echo "$process"
    cat >/dev/null
    kill -"$signal" "$process" 2>/dev/null
    kill -CONT "$process" 2>/dev/null
    wait "$process"
"#;

/// A running process, and the shell that watches over it.
pub(super) struct Watched {
    shell: Child,
    process: String,
}

impl Watched {
    /// Starts a program, which ends by this signal. Its output is added to a file.
    pub(super) fn start(command: &Command, signal: &str, log: &Path, user: Option<(u32, u32)>) -> Result<Self> {
        let shown = command.get_program().display().to_string();
        let failed = |error| cannot_start(&shown, &error);
        let log = File::options().create(true).append(true).open(log).map_err(failed)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", WATCH, "sh", signal]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        if let Some((user, group)) = user {
            shell.uid(user).gid(group);
        }
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut shell = shell.spawn().map_err(failed)?;
        let mut process = String::new();
        if let Some(out) = shell.stdout.take() {
            BufReader::new(out).read_line(&mut process).map_err(failed)?;
        }
        Ok(Self { shell, process: process.trim().to_owned() })
    }

    /// Whether the process runs.
    pub(super) fn is_alive(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process)).unwrap_or_default();
        // A process that has ended stays a zombie until the shell waits for it.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: &str) -> Result {
        Run::new("kill").args([&format!("-{signal}"), &self.process]).output().map(drop)
    }

    /// Ends it, and waits until it is gone.
    pub(super) fn end(&mut self) -> Result {
        drop(self.shell.stdin.take());
        let ended = self.shell.wait().map_err(|error| Failure::new(format!("it does not end: {error}")));
        ended.map(drop)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_until_it_is_ended() {
        let log = std::env::temp_dir().join(format!("holdpoint-watched-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 100"]);
        let mut watched = Watched::start(&command, "KILL", &log, None).expect("sh runs");
        let is_begun = || std::fs::read_to_string(&log).is_ok_and(|text| text == "begun\n");
        assert!((0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_begun()
        }));
        assert!(watched.is_alive());
        watched.signal("STOP").expect("is sent");
        watched.end().expect("it ends");
        assert!(!watched.is_alive());
        let _ = std::fs::remove_file(log);
    }

    #[test]
    fn one_that_ended_by_itself_is_not_alive() {
        let watched = Watched::start(&Command::new("true"), "KILL", Path::new("/dev/null"), None).expect("true runs");
        let gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !watched.is_alive()
        });
        assert!(gone);
    }
}
