//! `cargo xtask cluster`: PostgreSQL and several nodes on this machine, to try what happens when one of them dies.

mod command;
mod folder;
mod node;
mod postgres;
mod watched;

use std::collections::BTreeMap;
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::console::say;
use crate::failure::{Failure, Result};
use crate::process::Run;
use command::{Command, HELP, Options};
use folder::Folder;
use node::{Node, State, free_ports};
use postgres::Postgres;

/// The nodes and their database. Fields are dropped in this order.
struct Cluster {
    nodes: Vec<Node>,
    postgres: Postgres,
    binary: PathBuf,
    rest: Vec<String>,
    _folder: Folder,
}

/// Starts everything, then obeys the commands on standard input until it ends.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let options = Options::parse(args)?;
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => build(root, options.release)?,
    };
    let mut cluster = Cluster::start(binary, &options)?;
    cluster.show_status();
    say!("\nPostgreSQL: {}", cluster.postgres.url());
    say!("Commands: {HELP}");
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match command::parse(&line, cluster.nodes.len()) {
            Ok(None) => {}
            Ok(Some(Command::Quit)) => break,
            Ok(Some(command)) => match cluster.obey(command) {
                Ok(()) => cluster.show_status(),
                Err(failure) => say!("{failure}"),
            },
            Err(text) => say!("{text}"),
        }
    }
    Ok(())
}

/// Builds the server as `cargo run` does. Returns its path.
fn build(root: &Path, release: bool) -> Result<PathBuf> {
    let profile: &[&str] = if release { &["--release"] } else { &[] };
    Run::cargo().args(["build", "--bin", "holdpoint"]).args(profile).dir(root).show_and_wait()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    Ok(target.join(if release { "release" } else { "debug" }).join("holdpoint"))
}

impl Cluster {
    fn start(binary: PathBuf, options: &Options) -> Result<Self> {
        if !binary.is_file() {
            return Err(Failure::new(format!("the program {} does not exist", binary.display())));
        }
        let binary = fs::canonicalize(&binary).unwrap_or(binary);
        let folder = Folder::create()?;
        let ports = free_ports(options.port, options.nodes)?;
        let postgres = Postgres::start(folder.path())?;
        let nodes = (1..).zip(ports).map(|(number, port)| Node::new(number, port, folder.path())).collect();
        let mut cluster = Self { nodes, postgres, binary, rest: options.rest.clone(), _folder: folder };
        (0..options.nodes).try_for_each(|at| cluster.obey(Command::Start(at)))?;
        Ok(cluster)
    }

    fn obey(&mut self, command: Command) -> Result {
        match command {
            Command::Kill(at) => self.nodes[at].kill(),
            Command::Start(at) => self.nodes[at].start(&self.binary, &self.rest, &self.postgres),
            Command::Pause(at) => self.nodes[at].pause(),
            Command::Resume(at) => self.nodes[at].resume(),
            Command::Help => {
                say!("{HELP}");
                Ok(())
            }
            Command::Status | Command::Quit => Ok(()),
        }
    }

    /// A line for each node: its state, and the number of chats that it runs.
    fn show_status(&self) {
        let owned = self.postgres.sql("SELECT owner, count(*) FROM chats WHERE owner IS NOT NULL GROUP BY owner");
        let owned = counts(&owned.unwrap_or_default());
        for node in &self.nodes {
            say!("{}", line(node, node.state(), owned.get(&node.id).copied().unwrap_or(0)));
        }
    }
}

fn line(node: &Node, state: State, chats: u64) -> String {
    format!("node {}  {}  {:9}  id {}  runs {chats} chats", node.number, node.address(), state.name(), node.id)
}

/// The rows of a query for an id and a number.
fn counts(rows: &str) -> BTreeMap<String, u64> {
    let rows = rows.lines().filter_map(|row| row.split_once('|'));
    rows.filter_map(|(id, count)| Some((id.to_owned(), count.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        assert_eq!(counts("a-b|3\nc|x\n"), BTreeMap::from([("a-b".to_owned(), 3)]));
        assert!(counts("").is_empty());
    }

    #[test]
    fn a_missing_program_is_named() {
        let options = Options::parse(&[]).expect("is valid");
        let failure = Cluster::start("/no/such/program".into(), &options).err().expect("is missing");
        assert!(failure.to_string().contains("/no/such/program"), "{failure}");
    }

    #[test]
    fn a_line_says_what_a_node_does() {
        let mut node = Node::new(1, 8787, Path::new("/nowhere"));
        node.id = "an-id".to_owned();
        assert_eq!(line(&node, State::Paused, 2), "node 1  http://127.0.0.1:8787  paused     id an-id  runs 2 chats");
    }
}
