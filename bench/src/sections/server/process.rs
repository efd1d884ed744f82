//! The measured process, seen from outside, and a client that costs it as little as possible.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::measure::{CHILD, resident};

/// How long a server has to become idle after a turn: its remaining work belongs to the turn.
const REST: Duration = Duration::from_millis(20);

/// This program, started again. Dropping it ends the process and deletes its folder.
pub(super) struct Process {
    child: Child,
    out: BufReader<ChildStdout>,
    port: u16,
    _folder: TempDir,
}

impl Process {
    /// Starts the process. One that serves prints its port first.
    pub(super) fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder of its own");
        let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
        command.arg(CHILD).args(args).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("this program again");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let mut process = Self { child, out, port: 0, _folder: folder };
        if args[0] == "serve" {
            process.port = process.said()[0].parse().expect("a port");
        }
        process
    }

    /// The words of the next line it prints.
    pub(super) fn said(&mut self) -> Vec<String> {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "the measured process failed");
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// The CPU time of all its threads in nanoseconds, once it is idle.
    pub(super) fn cpu(&mut self) -> u64 {
        thread::sleep(REST);
        let stdin = self.child.stdin.as_mut().expect("its input");
        stdin.write_all(b"cpu\n").expect("it listens");
        self.said()[0].parse().expect("nanoseconds")
    }

    /// Its resident memory, if the system reports it.
    pub(super) fn resident(&mut self) -> Option<u64> {
        let stdin = self.child.stdin.as_mut().expect("its input");
        stdin.write_all(b"resident\n").expect("it listens");
        self.said()[0].parse().ok()
    }

    pub(super) fn open(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        stream
    }

    pub(super) fn connect(&self) -> Connection {
        Connection { stream: self.open(), buffer: vec![0; 256 * 1024] }
    }

    /// Deletes a chat. A bare server has none.
    pub(super) fn forget(&self, chat: &str) {
        let mut stream = self.connect().stream;
        let request = format!("DELETE /api/chat/{chat} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request is sent");
        stream.read_to_end(&mut Vec::new()).expect("a response");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the measured process: prints its CPU time or its resident memory on request, and exits with the parent process.
pub(super) fn listen() {
    thread::spawn(|| {
        for asked in std::io::stdin().lines().map_while(Result::ok) {
            if asked == "resident" {
                println!("{}", resident().map_or("-".to_owned(), |bytes| bytes.to_string()));
                continue;
            }
            let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            println!("{}", i128::from(spent.tv_sec) * 1_000_000_000 + i128::from(spent.tv_nsec));
        }
        std::process::exit(1);
    });
}

/// A keep-alive connection.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Sends a request and reads the response to its end. Returns all of it, or only its last bytes.
    pub(super) fn post(&mut self, path: &str, headers: &str, body: &str, is_kept: bool) -> Vec<u8> {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).expect("a request is sent");
        let mut read = Vec::new();
        let mut is_first = true;
        // JSON has no bare line ends, so only the end of the response matches.
        while !read.ends_with(b"\r\n0\r\n\r\n") {
            let count = self.stream.read(&mut self.buffer).expect("a response");
            assert!(count > 0, "the response was cut off");
            if std::mem::take(&mut is_first) {
                assert!(self.buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.buffer[..count]));
            }
            if !is_kept && read.len() > 16 {
                read.drain(..read.len() - 16);
            }
            read.extend_from_slice(if is_kept {
                &self.buffer[..count]
            } else {
                &self.buffer[count.saturating_sub(16)..count]
            });
        }
        read
    }
}
