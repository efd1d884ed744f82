//! Runs test binaries, a bounded number at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::binary::Binary;
use super::libtest::{self, Counts};
use crate::console::{elapsed, say};

/// After this long without news, it says what is running.
const SILENCE: Duration = Duration::from_secs(60);

/// A test binary that has ended.
pub(super) struct Finished {
    pub(super) name: String,
    pub(super) time: Duration,
    /// Why it failed: its exit status, or that it could not be started.
    pub(super) result: Result<(), String>,
    /// What it said of its tests, if it came to that.
    pub(super) counts: Option<Counts>,
    pub(super) failed_tests: Vec<String>,
    /// The file with its output.
    pub(super) log: PathBuf,
}

impl Finished {
    /// One line about it.
    pub(super) fn line(&self) -> String {
        let verdict = match &self.result {
            Ok(()) => "passed".to_owned(),
            Err(why) => format!("FAILED ({why})"),
        };
        let tests = match &self.counts {
            Some(Counts { passed, failed, ignored: 0 }) => format!("tests: {}", passed + failed),
            Some(Counts { passed, failed, ignored }) => format!("tests: {}, ignored: {ignored}", passed + failed),
            None => "its tests were not counted".to_owned(),
        };
        format!("  {:<38}  {verdict}  {:>12}  {tests}", self.name, elapsed(self.time))
    }
}

enum News<'a> {
    Started(&'a str),
    Ended(Finished),
}

/// Runs them in this order, so many at a time, each with its output in a file. The output of those that fail is printed
/// whole, when they end.
pub(super) fn play(binaries: &[Binary], at_once: usize, logs: &Path) -> Vec<Finished> {
    let waiting = Mutex::new(binaries.iter().collect::<VecDeque<_>>());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (sender, news) = channel();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            let sender: Sender<News<'_>> = sender.clone();
            scope.spawn(move || {
                while let Some(binary) = next() {
                    // The receiver outlives the threads.
                    let _ = sender.send(News::Started(&binary.name));
                    let _ = sender.send(News::Ended(play_one(binary, logs)));
                }
            });
        }
        drop(sender);
        let mut running: Vec<&str> = Vec::new();
        let mut finished = Vec::new();
        loop {
            match news.recv_timeout(SILENCE) {
                Ok(News::Started(name)) => running.push(name),
                Ok(News::Ended(one)) => {
                    running.retain(|name| *name != one.name);
                    show(&one);
                    finished.push(one);
                }
                Err(RecvTimeoutError::Timeout) => say!("  still running: {}", running.join(", ")),
                Err(RecvTimeoutError::Disconnected) => return finished,
            }
        }
    })
}

fn show(one: &Finished) {
    if one.result.is_err() {
        let output = std::fs::read(&one.log).unwrap_or_default();
        say!("\n{}", String::from_utf8_lossy(&output).trim_end());
    }
    say!("{}", one.line());
}

/// The output goes to a file: a pipe would stay open as long as any process that a test has left behind.
fn play_one(binary: &Binary, logs: &Path) -> Finished {
    let log = logs.join(format!("{}.log", binary.name.replace(['/', ' '], "-")));
    let started = Instant::now();
    let status = File::create(&log).and_then(|file| {
        let mut command = binary.command();
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).status()
    });
    let time = started.elapsed();
    let result = match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(format!("could not be run: {error}")),
    };
    let output = std::fs::read(&log).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let (counts, failed_tests) = (libtest::counts(&output), libtest::failed_tests(&output));
    Finished { name: binary.name.clone(), time, result, counts, failed_tests, log }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with scripts in place of test binaries.
    struct Scripts(PathBuf);

    impl Scripts {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("xtask-queue-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("can be made");
            Self(folder)
        }

        fn binary(&self, name: &str, script: &str) -> Binary {
            let path = self.0.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("can be written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("can be set");
            Binary::new(name, &path.display().to_string(), &self.0)
        }
    }

    impl Drop for Scripts {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_has_its_own_verdict_and_output() {
        let scripts = Scripts::new("verdicts");
        let binaries = [
            scripts.binary("good", "echo 'test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured'"),
            scripts.binary("bad", "echo 'test it ... FAILED'; echo oh >&2; exit 101"),
            scripts.binary("killed", "kill -9 $$"),
            Binary::new("missing", "/no/such/binary", "/"),
        ];
        let finished = play(&binaries, 2, &scripts.0);
        assert_eq!(finished.len(), 4);
        let one = |name: &str| finished.iter().find(|one| one.name == name).expect("has ended");
        assert_eq!(one("good").result, Ok(()));
        assert_eq!(one("good").counts, Some(Counts { passed: 2, failed: 0, ignored: 1 }));
        assert!(one("good").line().ends_with("tests: 2, ignored: 1"), "{}", one("good").line());
        assert_eq!(one("bad").result, Err("exit status: 101".to_owned()));
        assert_eq!(one("bad").failed_tests, ["it"]);
        let output = std::fs::read_to_string(&one("bad").log).expect("is there");
        assert_eq!(output, "test it ... FAILED\noh\n");
        assert!(
            one("killed").result.as_ref().is_err_and(|why| why.contains("signal: 9")),
            "{:?}",
            one("killed").result
        );
        assert!(one("missing").result.is_err());
    }

    #[test]
    fn no_more_than_the_bound_run_at_once_and_they_do_run_beside_each_other() {
        let scripts = Scripts::new("bound");
        // Each leaves a file while it runs, and prints how many there are.
        let script = "touch $0.runs; ls | grep -c runs$; sleep 0.3; ls | grep -c runs$; rm $0.runs";
        let binaries: Vec<Binary> = (0..6).map(|number| scripts.binary(&format!("b{number}"), script)).collect();
        let logs = Scripts::new("bound-logs");
        let finished = play(&binaries, 2, &logs.0);
        let seen = finished.iter().flat_map(|one| {
            let output = std::fs::read_to_string(&one.log).expect("is there");
            output.lines().map(|line| line.parse::<usize>().expect("a number")).collect::<Vec<_>>()
        });
        assert_eq!(seen.max(), Some(2));
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let scripts = Scripts::new("behind");
        let binaries = [scripts.binary("leaves", "sleep 20 & exit 0")];
        let finished = play(&binaries, 1, &scripts.0);
        assert!(finished[0].result.is_ok() && finished[0].time < Duration::from_secs(10));
    }
}
