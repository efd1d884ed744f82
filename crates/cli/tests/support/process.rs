//! The binary itself, as a process.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// A running server. Killed when it is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) address: String,
    _folder: tempfile::TempDir,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn start(args: &[&str]) -> Running {
    start_as(command(&[&["--listen", "127.0.0.1:0"], args].concat()))
}

/// Starts it with this many file descriptors.
pub(crate) fn start_with_descriptors(descriptors: u32, args: &[&str]) -> Running {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]);
    command.args([&[env!("CARGO_BIN_EXE_holdpoint"), "--listen", "127.0.0.1:0"], args].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    start_as(command)
}

fn start_as(mut command: Command) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = command.current_dir(folder.path()).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
    Running { child, address, _folder: folder }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what has come until it contains this.
pub(crate) fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while !seen.contains(end) {
        let read = stream.read(&mut piece).expect("more");
        assert!(read > 0, "{end:?} never came: {seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    seen
}

impl Running {
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream
    }

    pub(crate) fn request(&self, text: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).expect("can be sent");
        stream
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut answer = String::new();
        let text = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        self.request(&text).read_to_string(&mut answer).expect("an answer");
        answer
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> TcpStream {
        self.request(&format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// The whole answer.
    pub(crate) fn posted(&self, path: &str, body: &str) -> String {
        let mut answer = String::new();
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.request(&text).read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("can be killed");
        self.child.wait().expect("ends");
    }

    /// Sends SIGTERM.
    pub(crate) fn signal(&self) {
        let kill = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(kill.success());
    }

    /// SIGTERM; gives the exit code and how long it took.
    pub(crate) fn terminate(mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        self.signal();
        (self.child.wait().expect("ends").code(), begun.elapsed())
    }
}

/// What it says when it can't start.
pub(crate) fn fails(args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    // Never the default port: somebody may have a server there.
    let is_told = args.contains(&"--listen");
    let listen: &[&str] = if is_told { &[] } else { &["--listen", "127.0.0.1:0"] };
    let args = [args, listen].concat();
    let Output { status, stderr, .. } = command(&args).current_dir(folder.path()).output().expect("runs");
    assert_eq!(status.code(), Some(2));
    String::from_utf8_lossy(&stderr).into_owned()
}
