//! `cargo xtask fuzz`: runs the fuzz targets for a while, on the stable toolchain.
//!
//! Tried with Rust 1.95 stable and cargo-fuzz 0.13.2: with `--sanitizer none`, cargo-fuzz passes only
//! stable flags (`-Cpasses=sancov-module`, `-Cllvm-args=…`), so neither a nightly toolchain nor
//! `RUSTC_BOOTSTRAP=1` is needed; coverage feedback and debug assertions are on all the same. The default
//! sanitizer (address) passes `-Zsanitizer=address` and fails on stable; with `RUSTC_BOOTSTRAP=1` it works,
//! but our code has no `unsafe` for it to look at, and it runs about six times slower. A finding makes
//! cargo-fuzz exit with 1 and leaves the input in `fuzz/artifacts/TARGET/`; libFuzzer's warnings about
//! missing `__sanitizer_*` functions are expected.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::console::{heading, say};
use crate::failure::{Failure, Result};
use crate::process::Run;
use crate::setup;

const FOLDER: &str = "fuzz";
const SECONDS: u32 = 60;

/// The parsed command line.
#[derive(Debug, PartialEq)]
struct Wanted {
    target: Option<String>,
    seconds: u32,
}

/// Fuzzes one target or all of them, and stops at the first finding.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let wanted = parse(args)?;
    let targets = choose(targets(root)?, wanted.target.as_deref())?;
    setup::ensure(root, setup::FUZZ)?;
    let path = with_tools(root)?;
    for target in &targets {
        heading(&format!("fuzz {target} for {} s", wanted.seconds));
        // New inputs go into the corpus, which starts from the committed seeds.
        let (corpus, seeds) = (format!("{FOLDER}/corpus/{target}"), format!("{FOLDER}/seeds/{target}"));
        std::fs::create_dir_all(root.join(&corpus))
            .map_err(|error| Failure::new(format!("can't make the folder {corpus}: {error}")))?;
        Run::cargo()
            .args(["fuzz", "run", "--fuzz-dir", FOLDER, "--sanitizer", "none", target, &corpus, &seeds, "--"])
            .args([format!("-max_total_time={}", wanted.seconds)])
            .env("PATH", &path)
            .dir(root)
            .show_and_wait()
            .map_err(|failure| {
                Failure::new(format!(
                    "{failure}\nIf that is a finding, its input is in {FOLDER}/artifacts/{target}/, and the lines above \
                     say how to play it again. Add it to the tests with its fix."
                ))
            })?;
    }
    say!("\nno findings in {}", targets.join(", "));
    Ok(())
}

fn parse(args: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted { target: None, seconds: SECONDS };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--seconds" {
            let value = args.next().map(String::as_str).unwrap_or_default();
            wanted.seconds = seconds(value)?;
        } else if let Some(value) = arg.strip_prefix("--seconds=") {
            wanted.seconds = seconds(value)?;
        } else if arg.starts_with('-') || wanted.target.is_some() {
            return Err(Failure::usage(format!(
                "`cargo xtask fuzz [TARGET] [--seconds N]` does not know what to do with `{arg}`"
            )));
        } else {
            wanted.target = Some(arg.clone());
        }
    }
    Ok(wanted)
}

fn seconds(value: &str) -> Result<u32> {
    // libFuzzer reads 0 as "no limit".
    match value.parse() {
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(Failure::usage(format!("`--seconds` takes a whole number from 1, not `{value}`"))),
    }
}

fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER).join("fuzz_targets");
    let cannot = |error| Failure::new(format!("could not list {FOLDER}/fuzz_targets: {error}"));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(".rs")).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn choose(all: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>> {
    match wanted {
        None if all.is_empty() => Err(Failure::new(format!("{FOLDER}/fuzz_targets has no targets"))),
        None => Ok(all),
        Some(name) if all.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(Failure::usage(format!("unknown fuzz target `{name}`. Targets: {}", all.join(", ")))),
    }
}

/// The `PATH` with this checkout's own tools in front.
fn with_tools(root: &Path) -> Result<OsString> {
    let tools = root.join(setup::TOOLS).join("bin");
    let old = env::var_os("PATH").unwrap_or_default();
    env::join_paths(std::iter::once(tools).chain(env::split_paths(&old)))
        .map_err(|error| Failure::new(format!("this checkout's path cannot stand in PATH: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Wanted> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_read() {
        let all = parsed(&[]).expect("is valid");
        assert_eq!(all, Wanted { target: None, seconds: 60 });
        let one = Wanted { target: Some("sse".to_owned()), seconds: 5 };
        assert_eq!(parsed(&["sse", "--seconds", "5"]).expect("is valid"), one);
        assert_eq!(parsed(&["--seconds=5", "sse"]).expect("is valid"), one);
    }

    #[test]
    fn nonsense_is_refused() {
        for args in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["a", "b"], &["--fast"]] {
            assert_eq!(parsed(args).expect_err("is nonsense").code(), 2, "{args:?}");
        }
    }

    #[test]
    fn an_unknown_target_is_answered_with_the_known_ones() {
        let known = vec!["body".to_owned(), "sse".to_owned()];
        let failure = choose(known.clone(), Some("ssee")).expect_err("there is none").to_string();
        assert!(failure.contains("`ssee`") && failure.contains("body, sse"), "{failure}");
        assert_eq!(choose(known.clone(), None).expect("all"), known);
        assert!(choose(Vec::new(), None).is_err());
    }
}
