//! `cargo xtask fresh`: checks the README by running its two commands side by side, in a clone with empty caches.

mod readme;
pub(crate) mod serve;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::console::{elapsed, heading, say};
use crate::failure::{Failure, Result};
use crate::process::Run;

/// Environment variables that a new machine would not have.
const NOT_FRESH: [&str; 4] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];

/// Runs the check in a temporary folder, which is removed at the end unless something failed or `--keep` is
/// given.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let keep = crate::one_flag("fresh", "--keep", args)?;
    let place = Place::make()?;
    let result = check(root, &place);
    if keep || result.is_err() {
        say!("\nThe clone and its caches are kept in {}", place.folder.display());
        return result;
    }
    fs::remove_dir_all(&place.folder)
        .map_err(|error| Failure::new(format!("could not remove {}: {error}", place.folder.display())))
}

fn check(root: &Path, place: &Place) -> Result {
    heading("clone of HEAD");
    let uncommitted = Run::new("git").args(["status", "--porcelain"]).dir(root).output()?.lines().count();
    if uncommitted > 0 {
        say!("note: uncommitted changes are not in it ({uncommitted} in `git status`)");
    }
    let (from, to) = (place_name(root)?, place_name(&place.clone)?);
    Run::new("git").args(["clone", "--quiet", "--no-hardlinks", from, to]).show_and_wait()?;
    place.copy_cargo_config()?;
    let readme = fs::read_to_string(place.clone.join("README.md"))
        .map_err(|error| Failure::new(format!("could not read the clone's README.md: {error}")))?;
    let commands = readme::commands(&readme)?;

    let mut times = Vec::new();
    heading(&format!("serve: {}", commands.serve));
    let server = serve::start(place.run(&commands.serve), &mut times)?;

    // Side by side: someone trying one of them in a terminal types the other in the next.
    heading(&format!("test: {}", commands.test));
    let started = Instant::now();
    place.run(&commands.test).wait()?;
    times.push(("test: passed beside it", started.elapsed()));
    server.stop(&mut times)?;

    report(&times);
    Ok(())
}

fn report(times: &[(&str, Duration)]) {
    heading("fresh: all as the README says");
    for (what, time) in times {
        say!("  {what:28}  {:>12}", elapsed(*time));
    }
}

/// A folder with a clone and empty caches in it.
struct Place {
    folder: PathBuf,
    clone: PathBuf,
    cargo_home: PathBuf,
    npm_cache: PathBuf,
}

impl Place {
    fn make() -> Result<Self> {
        let folder = env::temp_dir().join(format!("holdpoint-fresh-{}", std::process::id()));
        let place = Self {
            clone: folder.join("holdpoint"),
            cargo_home: folder.join("cargo-home"),
            npm_cache: folder.join("npm-cache"),
            folder,
        };
        for dir in [&place.cargo_home, &place.npm_cache] {
            fs::create_dir_all(dir)
                .map_err(|error| Failure::new(format!("could not make {}: {error}", dir.display())))?;
        }
        Ok(place)
    }

    /// The user's cargo configuration may name a mirror, without which no crates can be fetched.
    fn copy_cargo_config(&self) -> Result {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        let Some(config) = home.map(|home| home.join("config.toml")).filter(|config| config.is_file()) else {
            return Ok(());
        };
        say!("note: cargo's own configuration is copied from {}", config.display());
        fs::copy(&config, self.cargo_home.join("config.toml"))
            .map(|_| ())
            .map_err(|error| Failure::new(format!("could not copy {}: {error}", config.display())))
    }

    /// One of the README's commands, in the clone.
    fn run(&self, line: &str) -> Run {
        let run = Run::shell(line).dir(&self.clone);
        NOT_FRESH
            .into_iter()
            .fold(run, Run::without_env)
            .env("CARGO_HOME", &self.cargo_home)
            .env("npm_config_cache", &self.npm_cache)
    }
}

fn place_name(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Failure::new(format!("the path {} is not UTF-8", path.display())))
}
