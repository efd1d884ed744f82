//! `cargo xtask full`: the checks that take too long for every change.

mod deny;
mod memory;
mod nodes;
mod outside;
mod publish;
mod schemathesis;
mod turns;

use std::path::Path;
use std::time::Instant;

use crate::console::{elapsed, heading, say};
use crate::failure::{Failure, Result};
use crate::{features, stages};

/// One check: its command-line name, its description and its function.
struct Check {
    name: &'static str,
    what: &'static str,
    run: fn(&Path) -> Result,
}

const CHECKS: &[Check] = &[
    Check { name: "deny", what: "cargo deny check bans licenses sources", run: deny::run },
    Check { name: "publish", what: "cargo package for all crates, each built from its package", run: publish::run },
    Check {
        name: "outside",
        what: "programs outside the workspace, built and tested from the packed crates",
        run: outside::run,
    },
    Check {
        name: "apps",
        what: "the apps of `examples`, built from the packed npm package and played in Chromium",
        run: |root| stages::npm(root, &[&["test", "-w", "tests/apps"]]),
    },
    Check { name: "features", what: "clippy with no feature, and with each one alone", run: features::each },
    Check {
        name: "turns",
        what: "20,000 random turns with random answers over SSE, and as many over live",
        run: turns::run,
    },
    Check {
        name: "crash",
        what: "the server killed 300 times under load, with a ledger of its own",
        run: |root| stages::npm(root, &[&["run", "crash", "-w", "tests/crash", "--", "--kills", "300"]]),
    },
    Check {
        name: "cluster",
        what: "three nodes on PostgreSQL under load, 200 faults of nodes, wires and the database; then 40 with a standby",
        run: |root| {
            let cluster = |kills| ["run", "cluster", "-w", "tests/crash", "--", "--kills", kills];
            let with_standby = ["--faults", "kill,pause,cut,immediate,failover,roll"];
            stages::npm(root, &[&cluster("200"), &[&cluster("40")[..], &with_standby].concat()])
        },
    },
    Check {
        name: "nodes",
        what: "the AI SDK's clients and the console on three nodes behind a load balancer without sticky sessions",
        run: nodes::run,
    },
    Check {
        name: "faults",
        what: "broken disks and files, signals, readers that do not read, hostile endpoints and MCP servers",
        run: |root| stages::npm(root, &[&["run", "faults", "-w", "tests/crash"]]),
    },
    Check {
        name: "memory",
        what: "attacks by one client on the release binary: under 400 MB, and others wait less than 0.2 s",
        run: memory::run,
    },
    Check {
        name: "network",
        what: "the npm package's hooks on a slow network, where everything arrives late by chance",
        run: |root| stages::npm(root, &[&["run", "test:slow-network", "-w", "packages/client"]]),
    },
    Check {
        name: "schemathesis",
        what: "requests made from /openapi.json, against the real server: no 5xx, answers as declared",
        run: schemathesis::run,
    },
];

/// Building cargo-deny takes longer than any stage, so a test run only uses one that is there.
pub(crate) fn deny_if_installed(root: &Path) -> Result {
    if deny::is_installed(root) {
        return deny::run(root);
    }
    say!("skipped: cargo-deny is not installed (`cargo xtask full deny`)");
    Ok(())
}

/// Runs all of them, or the named ones.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    if args.iter().any(|arg| arg == "--list") {
        CHECKS.iter().for_each(|check| say!("{:12}  {}", check.name, check.what));
        return Ok(());
    }
    for check in choose(args)? {
        heading(&format!("{}: {}", check.name, check.what));
        let started = Instant::now();
        (check.run)(root)?;
        say!("{}: passed in {}", check.name, elapsed(started.elapsed()));
    }
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<&'static Check>> {
    if names.is_empty() {
        return Ok(CHECKS.iter().collect());
    }
    let find = |name: &String| {
        CHECKS.iter().find(|check| check.name == name).ok_or_else(|| {
            let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
            Failure::usage(format!("`cargo xtask full` knows no check `{name}`. Checks: {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_check_is_named() {
        let failure = choose(&["none".to_owned()]).err().expect("there is none");
        assert!(failure.code() == 2 && failure.to_string().contains("`none`"), "{failure}");
        assert_eq!(choose(&[]).map(|checks| checks.len()).ok(), Some(CHECKS.len()));
    }
}
