//! The project's own commands. `cargo xtask help` lists them.

mod bench;
mod cluster;
mod codegen;
mod console;
mod diff;
mod failure;
mod features;
mod fresh;
mod full;
mod fuzz;
mod process;
mod quick;
mod record;
mod rust_tests;
mod setup;
mod stages;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use console::say;
use failure::{Failure, Result};

/// One command: its usage line, its description and its function.
struct Task {
    name: &'static str,
    arguments: &'static str,
    what: &'static str,
    run: fn(&Path, &[String]) -> Result,
}

const TASKS: &[Task] = &[
    Task {
        name: "setup",
        arguments: "",
        what: "install what the tests need, only where it is missing",
        run: setup::run,
    },
    Task {
        name: "test",
        arguments: "[--keep-going] [--list] [STAGE...]",
        what: "setup, then every check that CI runs, or only the named stages",
        run: stages::run,
    },
    Task {
        name: "quick",
        arguments: "[BASE]",
        what: "the short checks that the changes need, uncommitted or since a base",
        run: quick::run,
    },
    Task {
        name: "tidy",
        arguments: "",
        what: "check the tree: layers, lengths, names, links, captures, decision records, commit titles",
        run: tidy::run,
    },
    Task {
        name: "codegen",
        arguments: "[--check]",
        what: "write the TypeScript types that come from the Rust types",
        run: codegen::run,
    },
    Task {
        name: "fuzz",
        arguments: "[TARGET] [--seconds N]",
        what: "fuzz one target or all of them, 60 seconds each by default",
        run: fuzz::run,
    },
    Task {
        name: "full",
        arguments: "[--list] [CHECK...]",
        what: "the checks that take too long for every change, or only the named ones",
        run: full::run,
    },
    Task {
        name: "cluster",
        arguments: "[--nodes N] [--port P] [--release] [--binary FILE] [-- SERVE_ARGS...]",
        what: "PostgreSQL and three nodes on this machine; kill, start, pause and resume them from the keyboard",
        run: cluster::run,
    },
    Task { name: "bench", arguments: "[ARGS...]", what: "run the benchmarks in a release build", run: bench::run },
    Task {
        name: "record",
        arguments: "",
        what: "record the captures of all flows anew (fixtures/flows): read them before you commit them",
        run: record::run,
    },
    Task {
        name: "fresh",
        arguments: "[--keep]",
        what: "run the README's two commands in a fresh clone with empty caches",
        run: fresh::run,
    },
    Task { name: "help", arguments: "", what: "show this list", run: help },
];

fn main() -> ExitCode {
    match arguments().and_then(|args| dispatch(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn arguments() -> Result<Vec<String>> {
    std::env::args_os()
        .skip(1)
        .map(|arg| {
            arg.into_string().map_err(|arg| Failure::usage(format!("the argument {} is not UTF-8", arg.display())))
        })
        .collect()
}

fn dispatch(args: &[String]) -> Result {
    let (name, rest) = match args.split_first() {
        None => ("help", args),
        Some((name, _)) if matches!(name.as_str(), "-h" | "--help") => ("help", &args[..0]),
        Some((name, rest)) => (name.as_str(), rest),
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        return Err(Failure::usage(format!("unknown command `{name}`. Commands:\n\n{}", list())));
    };
    // The benchmarks print their own help.
    if name != "bench" && rest.iter().any(|arg| matches!(arg.as_str(), "-h" | "--help")) {
        say!("cargo xtask {} {}\n  {}", task.name, task.arguments, task.what);
        return Ok(());
    }
    (task.run)(&root()?, rest)
}

/// The workspace folder: the parent of this crate's folder, which cargo passes, or else the nearest one above.
fn root() -> Result<PathBuf> {
    let from_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = std::env::current_dir().ok();
    let start = from_cargo.or(here).unwrap_or_default();
    start
        .ancestors()
        .find(|dir| dir.join("xtask").join("Cargo.toml").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| Failure::new("this is not the Holdpoint workspace: run it as `cargo xtask` inside it"))
}

fn help(_root: &Path, args: &[String]) -> Result {
    no_arguments("help", args)?;
    say!("cargo xtask COMMAND\n\n{}", list());
    Ok(())
}

fn list() -> String {
    let usage = |task: &Task| format!("{} {}", task.name, task.arguments);
    let width = TASKS.iter().map(|task| usage(task).len()).max().unwrap_or(0);
    let rows: Vec<String> = TASKS.iter().map(|task| format!("  {:width$}  {}", usage(task), task.what)).collect();
    rows.join("\n")
}

/// For commands without arguments.
fn no_arguments(command: &str, args: &[String]) -> Result {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(Failure::usage(format!("`cargo xtask {command}` takes no arguments, but got `{arg}`"))),
    }
}

/// For commands with one flag. Returns whether it was given.
fn one_flag(command: &str, flag: &str, args: &[String]) -> Result<bool> {
    match args.iter().find(|arg| *arg != flag) {
        None => Ok(!args.is_empty()),
        Some(arg) => Err(Failure::usage(format!("`cargo xtask {command}` takes only `{flag}`, but got `{arg}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_named_with_the_list() {
        let failure = dispatch(&["tset".to_owned()]).expect_err("the command is unknown");
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("`tset`"), "{failure}");
        for task in TASKS {
            assert!(failure.to_string().contains(task.what), "{failure}");
        }
    }

    #[test]
    fn commands_without_arguments_refuse_them() {
        let failure = dispatch(&["tidy".to_owned(), "--fast".to_owned()]).expect_err("takes none");
        assert_eq!((failure.code(), failure.to_string().contains("`--fast`")), (2, true));
    }

    #[test]
    fn a_flag_is_seen_and_another_refused() {
        let given =
            |args: &[&str]| one_flag("it", "--so", &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert!(!given(&[]).expect("is valid"));
        assert!(given(&["--so"]).expect("is valid"));
        assert_eq!(given(&["--so", "--not"]).expect_err("is not valid").code(), 2);
    }
}
