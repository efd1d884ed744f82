//! One node: its process, its address and its id.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::postgres::Postgres;
use super::watched::Watched;
use crate::failure::{Failure, Result};

const START: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_millis(500);

/// Variables for our own commands and tests. The server would take them for settings.
const NOT_SETTINGS: [&str; 3] = ["HOLDPOINT_BIN", "HOLDPOINT_CONSOLE", "HOLDPOINT_E2E"];

/// A node, whether it runs or not.
pub(super) struct Node {
    pub(super) number: usize,
    pub(super) port: u16,
    /// The id of its process in the database. Each process has its own.
    pub(super) id: String,
    log: PathBuf,
    process: Option<Watched>,
    is_paused: bool,
}

/// What a node does.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(super) enum State {
    Ready,
    NotReady,
    Paused,
    Dead,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Paused => "paused",
            Self::Dead => "dead",
        }
    }
}

impl Node {
    pub(super) fn new(number: usize, port: u16, folder: &Path) -> Self {
        let log = folder.join(format!("node-{number}.log"));
        Self { number, port, id: String::new(), log, process: None, is_paused: false }
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts its process, and waits until it is ready.
    pub(super) fn start(&mut self, binary: &Path, rest: &[String], postgres: &Postgres) -> Result {
        if self.is_alive() {
            return Err(Failure::new(format!("node {} runs already", self.number)));
        }
        let before = ids(postgres)?;
        let mut serve = Command::new(binary);
        serve.args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--log", &postgres.url()]).args(rest);
        for name in NOT_SETTINGS {
            serve.env_remove(name);
        }
        // Not SIGTERM: a node that drains waits for its clients.
        self.process = Some(Watched::start(&serve, "KILL", &self.log, None)?);
        self.is_paused = false;
        let begun = Instant::now();
        while self.state() != State::Ready {
            if !self.is_alive() || begun.elapsed() > START {
                self.process = None;
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(Failure::new(format!("node {} does not start: {}", self.number, said.trim())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.id = ids(postgres)?.difference(&before).next().cloned().unwrap_or_default();
        Ok(())
    }

    fn is_alive(&self) -> bool {
        self.process.as_ref().is_some_and(Watched::is_alive)
    }

    pub(super) fn kill(&mut self) -> Result {
        let process = self.running()?;
        process.end()?;
        self.process = None;
        Ok(())
    }

    pub(super) fn pause(&mut self) -> Result {
        self.running()?.signal("STOP")?;
        self.is_paused = true;
        Ok(())
    }

    pub(super) fn resume(&mut self) -> Result {
        self.running()?.signal("CONT")?;
        self.is_paused = false;
        Ok(())
    }

    fn running(&mut self) -> Result<&mut Watched> {
        let number = self.number;
        let process = self.process.as_mut().filter(|process| process.is_alive());
        process.ok_or_else(|| Failure::new(format!("node {number} does not run")))
    }

    pub(super) fn state(&self) -> State {
        match (self.is_alive(), self.is_paused) {
            (false, _) => State::Dead,
            (true, true) => State::Paused,
            (true, false) if is_ready(self.port).unwrap_or(false) => State::Ready,
            (true, false) => State::NotReady,
        }
    }
}

/// Whether `GET /ready` is 200.
fn is_ready(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(&status == b"HTTP/1.1 200")
}

/// The ids of all processes that the database knows.
fn ids(postgres: &Postgres) -> Result<BTreeSet<String>> {
    // The first node creates the tables.
    if postgres.sql("SELECT to_regclass('nodes')")?.is_empty() {
        return Ok(BTreeSet::new());
    }
    Ok(postgres.sql("SELECT id FROM nodes")?.lines().map(str::to_owned).collect())
}

/// Free ports, from this one on.
pub(super) fn free_ports(first: u16, count: usize) -> Result<Vec<u16>> {
    let free: Vec<u16> =
        (first..=u16::MAX).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect();
    if free.len() == count { Ok(free) } else { Err(Failure::new(format!("no {count} ports are free from {first} on"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_use_are_skipped() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = taken.local_addr().expect("its address").port();
        let free = free_ports(port, 2).unwrap_or_default();
        assert!(!free.contains(&port), "{free:?}");
    }

    #[test]
    fn a_node_that_was_never_started_is_dead() {
        let mut node = Node::new(2, 1, Path::new("/nowhere"));
        assert_eq!(node.state(), State::Dead);
        for failure in [node.kill(), node.pause(), node.resume()] {
            assert_eq!(failure.expect_err("does not run").to_string(), "node 2 does not run");
        }
    }
}
