//! A test program that starts itself again, to be killed.

use std::{
    env,
    io::BufReader,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Names the folder that a child is given.
const FOLDER: &str = "HOLDPOINT_TEST_FOLDER";

/// The folder that this program was given, if it is a child.
pub(crate) fn given_folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs a test of this program as a child, through a shell that does something first.
pub(crate) fn child(test: &str, dir: &Path, first: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new("sh")
        .args(["-c", &format!("{first} exec \"$0\" \"$@\"")])
        .arg(env::current_exe().expect("it runs"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = child.stdout.take().expect("it is piped");
    (child, BufReader::new(stdout))
}
