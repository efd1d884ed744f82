//! The serve command: it prints its address, stays ready while it runs, and stops when told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::console::say;
use crate::failure::{Failure, Result};
use crate::process::{Run, cannot_start};

/// A release build with an empty cache may take long on a small machine.
const BUILD: Duration = Duration::from_secs(45 * 60);
const READY: Duration = Duration::from_secs(10);
const STOP: Duration = Duration::from_secs(10);

/// How long each part took.
pub(crate) type Times = Vec<(&'static str, Duration)>;

/// A server that is ready.
pub(crate) struct Ready {
    server: Server,
    shown: String,
    address: String,
}

/// Runs the command until its server is ready.
pub(crate) fn start(run: Run, times: &mut Times) -> Result<Ready> {
    let shown = run.shown().to_owned();
    let mut server = Server::start(run)?;

    let started = Instant::now();
    let address = server.address()?;
    times.push(("serve: built and listening", started.elapsed()));

    let listening = Instant::now();
    while let Err(failure) = ready(&address) {
        if listening.elapsed() > READY {
            return Err(Failure::new(format!("{failure}, {} s after it printed its address", READY.as_secs())));
        }
        thread::sleep(Duration::from_millis(50));
    }
    times.push(("serve: GET /ready is 200", listening.elapsed()));
    Ok(Ready { server, shown, address })
}

impl Ready {
    /// Where it listens: `127.0.0.1:8787`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Checks that it is still ready, then stops it.
    pub(crate) fn stop(mut self, times: &mut Times) -> Result {
        ready(&self.address)?;
        let told = Instant::now();
        let status = self.server.terminate()?;
        if !status.success() {
            return Err(Failure::new(format!("`{}` was to exit with 0 after SIGTERM: {status}", self.shown)));
        }
        times.push(("serve: SIGTERM, exit code 0", told.elapsed()));
        Ok(())
    }
}

/// The running server. Killed if dropped before it has ended.
struct Server {
    child: Child,
    lines: Receiver<String>,
}

impl Server {
    fn start(run: Run) -> Result<Self> {
        let shown = run.shown().to_owned();
        let mut child = run
            .into_command()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_start(&shown, &error))?;
        let out = child.stdout.take().ok_or_else(|| Failure::new("the server has no standard output"))?;
        Ok(Self { child, lines: read_lines(out) })
    }

    /// Waits for the line with the address, such as `127.0.0.1:8787`.
    fn address(&mut self) -> Result<String> {
        let deadline = Instant::now() + BUILD;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(address) = address_in(&line) {
                        return Ok(address);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Failure::new("the server printed no address in time"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let how = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                    return Err(Failure::new(format!("the server ended before it printed an address ({how})")));
                }
            }
        }
    }

    /// Sends SIGTERM and returns the exit status. The shell's own `kill` is on every machine.
    fn terminate(&mut self) -> Result<ExitStatus> {
        Run::new("sh").args(["-c", &format!("kill -TERM {}", self.child.id())]).wait()?;
        let told = Instant::now();
        while told.elapsed() < STOP {
            let ended = self.child.try_wait();
            match ended.map_err(|error| Failure::new(format!("could not wait for the server: {error}")))? {
                Some(status) => return Ok(status),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(Failure::new(format!("the server still runs {} s after SIGTERM", STOP.as_secs())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if it has ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Forwards the server's output, and drains its pipe for as long as it lives.
fn read_lines(out: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(std::result::Result::ok) {
            say!("{line}");
            let _ = sender.send(line);
        }
    });
    lines
}

/// The `host:port` of the first `http://` address in a line.
fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.:[]".contains(c))).unwrap_or(rest.len());
    let address = rest[..end].trim_end_matches(['.', ':']);
    address.contains(':').then(|| address.to_owned())
}

/// A hand-written request: this crate has no HTTP client and needs only the status line.
fn ready(address: &str) -> Result {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        let request = format!("GET /ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(4096).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned())
    };
    let status = ask().map_err(|error| Failure::new(format!("GET http://{address}/ready: {error}")))?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(Failure::new(format!("GET http://{address}/ready answered `{status}`"))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn addresses_are_found_in_what_a_server_prints() {
        assert_eq!(address_in("Holdpoint is at http://127.0.0.1:8787/ now"), Some("127.0.0.1:8787".to_owned()));
        assert_eq!(address_in("listening on http://[::1]:9."), Some("[::1]:9".to_owned()));
        assert_eq!(address_in("Compiling http v1.0.0"), None);
        assert_eq!(address_in("see http://example.com"), None);
    }

    fn answering(status: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let address = listener.local_addr().expect("has one").to_string();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepts");
            // Read the whole request: closing with unread bytes would reset the connection.
            let mut request = BufReader::new(stream.try_clone().expect("clones")).lines();
            while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        });
        address
    }

    #[test]
    fn only_a_200_is_ready() {
        assert!(ready(&answering("200 OK")).is_ok());
        let failure = ready(&answering("503 Service Unavailable")).expect_err("is not");
        assert!(failure.to_string().contains("503"), "{failure}");
    }

    fn shell(script: &str) -> Result<Server> {
        Server::start(Run::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_server_that_ends_early_is_reported() {
        let failure = shell("echo hello; exit 3").and_then(|mut server| server.address()).expect_err("ends");
        assert!(failure.to_string().contains("exit status: 3"), "{failure}");
    }

    #[test]
    fn the_exit_code_after_sigterm_is_seen() {
        for (code, good) in [(0, true), (4, false)] {
            let script = format!("trap 'exit {code}' TERM; echo at http://localhost:1; while :; do sleep 0.05; done");
            let mut server = shell(&script).expect("starts");
            assert_eq!(server.address().expect("prints one"), "localhost:1");
            assert_eq!(server.terminate().expect("ends").success(), good);
        }
    }
}
