//! The commands that are read from standard input, and the options of the command line.

use std::path::PathBuf;

use crate::failure::{Failure, Result};

/// The number of nodes, unless another one is asked for.
const NODES: usize = 3;
/// The port of the first node, if it is free. The others follow.
const PORT: u16 = 8787;

/// The parsed command line.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    pub(super) nodes: usize,
    pub(super) port: u16,
    /// A release build in place of a debug build.
    pub(super) release: bool,
    /// A binary in place of one that is built.
    pub(super) binary: Option<PathBuf>,
    /// Passed on to each node.
    pub(super) rest: Vec<String>,
}

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { nodes: NODES, port: PORT, release: false, binary: None, rest: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| Failure::usage(format!("`{arg}` needs a value")));
            match arg.as_str() {
                "--release" => options.release = true,
                "--binary" => options.binary = Some(value()?.into()),
                "--nodes" => options.nodes = number(arg, value()?, 1..=20)?,
                "--port" => options.port = number(arg, value()?, 1024..=65_000)?,
                "--" => options.rest = args.by_ref().cloned().collect(),
                _ => return Err(Failure::usage(format!("`cargo xtask cluster` has no option `{arg}`"))),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display>(
    option: &str,
    value: &str,
    range: std::ops::RangeInclusive<T>,
) -> Result<T> {
    let parsed = value.parse().ok().filter(|number| range.contains(number));
    parsed.ok_or_else(|| {
        Failure::usage(format!("`{option}` is a number from {} to {}, not `{value}`", range.start(), range.end()))
    })
}

/// One command. Nodes are numbered from 1 on the command line, and from 0 here.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(super) enum Command {
    Kill(usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
    Status,
    Help,
    Quit,
}

/// What the commands are.
pub(super) const HELP: &str =
    "kill N, start N, pause N, resume N (SIGKILL, a new process, SIGSTOP, SIGCONT), status, quit";

/// Reads a line; an empty one is not a command.
pub(super) fn parse(line: &str, nodes: usize) -> std::result::Result<Option<Command>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let node = |name: &str, make: fn(usize) -> Command| match words.get(1).and_then(|word| word.parse().ok()) {
        Some(number) if (1..=nodes).contains(&number) && words.len() == 2 => Ok(Some(make(number - 1))),
        _ => Err(format!("`{name}` needs the number of a node, from 1 to {nodes}")),
    };
    match words.first().copied() {
        None => Ok(None),
        Some(name @ "kill") => node(name, Command::Kill),
        Some(name @ "start") => node(name, Command::Start),
        Some(name @ "pause") => node(name, Command::Pause),
        Some(name @ "resume") => node(name, Command::Resume),
        Some(name @ ("status" | "help" | "quit")) => match (words.len(), name) {
            (1, "status") => Ok(Some(Command::Status)),
            (1, "help") => Ok(Some(Command::Help)),
            (1, _) => Ok(Some(Command::Quit)),
            _ => Err(format!("`{name}` takes no number")),
        },
        Some(other) => Err(format!("unknown command `{other}`. Commands: {HELP}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let usual = Options { nodes: 3, port: 8787, release: false, binary: None, rest: vec![] };
        assert_eq!(options("").expect("is valid"), usual);
        let all = options("--nodes 5 --port 9000 --release --binary /bin/holdpoint -- --model demo").expect("is valid");
        assert_eq!((all.nodes, all.port, all.release), (5, 9000, true));
        assert_eq!(all.binary, Some("/bin/holdpoint".into()));
        assert_eq!(all.rest, ["--model", "demo"]);
    }

    #[test]
    fn wrong_options_are_named() {
        for (line, named) in
            [("--nodes 0", "`0`"), ("--nodes", "`--nodes`"), ("--port x", "`x`"), ("--fast", "`--fast`"), ("3", "`3`")]
        {
            let failure = options(line).expect_err("is not valid");
            assert!(failure.code() == 2 && failure.to_string().contains(named), "{line}: {failure}");
        }
    }

    #[test]
    fn commands_are_read() {
        assert_eq!(parse("kill 1", 3), Ok(Some(Command::Kill(0))));
        assert_eq!(parse("  start   3 ", 3), Ok(Some(Command::Start(2))));
        assert_eq!(parse("pause 2", 3), Ok(Some(Command::Pause(1))));
        assert_eq!(parse("resume 2", 3), Ok(Some(Command::Resume(1))));
        assert_eq!(parse("status", 3), Ok(Some(Command::Status)));
        assert_eq!(parse("help", 3), Ok(Some(Command::Help)));
        assert_eq!(parse("quit", 3), Ok(Some(Command::Quit)));
        assert_eq!(parse("", 3), Ok(None));
    }

    /// What `docs/guides/cluster.md` tells its reader to type, and the options that it names.
    #[test]
    fn the_guide_has_commands_and_options_that_there_are() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/cluster.md");
        let guide = std::fs::read_to_string(guide).expect("the guide");
        let (_, trial) = guide.split_once("```sh\ncargo xtask cluster\n```").expect("the command");
        let (trial, _) = trial.split_once("\n## ").expect("another section");
        let cells = trial.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split(" | ").next());
        let commands: Vec<&str> =
            cells.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches(['|', ' ', '`'])).collect();
        assert!(commands.len() > 5, "{commands:?}");
        for command in commands {
            assert!(matches!(parse(command, 3), Ok(Some(_))), "{command}");
        }
        let options_named =
            "`--release` builds a release binary, `--binary FILE` takes a given one, `--nodes N` and `--port P`";
        assert!(trial.contains(options_named) && trial.contains("`-- --config holdpoint.toml`"), "{trial}");
        let all = "--release --binary FILE --nodes 3 --port 9000 -- --config holdpoint.toml";
        assert_eq!(options(all).expect("is valid").rest, ["--config", "holdpoint.toml"]);
    }

    #[test]
    fn wrong_commands_are_explained() {
        for line in ["kill", "kill 0", "kill 4", "kill one", "kill 1 2", "kill -1"] {
            assert!(parse(line, 3).is_err_and(|text| text.contains("from 1 to 3")), "{line}");
        }
        assert!(parse("status 1", 3).is_err_and(|text| text.contains("`status`")));
        assert!(parse("reboot 1", 3).is_err_and(|text| text.contains("`reboot`") && text.contains(HELP)));
    }
}
