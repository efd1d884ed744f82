//! The tables of requirements. To require something more, add a row.

use std::path::Path;

use super::npm;
use crate::failure::{Failure, Result};
use crate::process::Run;

/// One requirement on the machine.
pub(crate) struct Need {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its purpose: the end of a sentence "needed for …".
    pub(crate) why: &'static str,
    /// How long the installation takes, in words.
    pub(crate) takes: &'static str,
    /// Checks for it. Takes the workspace's folder.
    pub(crate) probe: fn(&Path) -> Probe,
    /// How to install it.
    pub(crate) install: Install,
}

/// The result of a probe.
#[derive(Debug, PartialEq)]
pub(crate) enum Probe {
    /// Present; the text says which version.
    Present(String),
    /// Missing; the text says what was found instead.
    Missing(String),
    /// Not needed in this checkout; the text says why.
    NotYet(String),
}

/// How something is installed.
pub(crate) enum Install {
    /// Only by a person; the text says how.
    Ask(&'static str),
    /// From these Debian packages.
    Debian(&'static [&'static str]),
    /// With `npm ci` in this folder.
    Npm(&'static str),
    /// With `cargo install`, below [`TOOLS`].
    Cargo { name: &'static str, version: &'static str },
    /// With `pip`, in a virtual environment below [`TOOLS`], together with these versions of what it depends on.
    Python { name: &'static str, version: &'static str, with: &'static [(&'static str, &'static str)] },
}

/// The folder for tools of this checkout. The user's own cargo folder is not touched.
pub(crate) const TOOLS: &str = "target/tools";

const NODE: u32 = 20;
const POSTGRES: u32 = 15;
const NPM: &str = ".";

/// The oldest compiler, by `rust-version` in `Cargo.toml`. It is also the one that decides what clippy and rustfmt find.
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Requirements of `cargo xtask test`.
pub(super) const TESTS: &[Need] = &[
    Need {
        name: "Rust",
        why: "everything",
        takes: "",
        probe: |_| rust(answers(&["rustc", "--version"])),
        install: Install::Ask(concat!(
            "Run `rustup toolchain install ",
            env!("CARGO_PKG_RUST_VERSION"),
            " --component rustfmt,clippy`, and select it with `cargo +",
            env!("CARGO_PKG_RUST_VERSION"),
            " xtask …`, `rustup default` or RUSTUP_TOOLCHAIN.",
        )),
    },
    Need {
        name: "rustfmt",
        why: "the format check",
        takes: "",
        probe: |_| answers(&["cargo", "fmt", "--version"]),
        install: Install::Ask("Run `rustup component add rustfmt`."),
    },
    Need {
        name: "clippy",
        why: "the lints",
        takes: "",
        probe: |_| answers(&["cargo", "clippy", "--version"]),
        install: Install::Ask("Run `rustup component add clippy`."),
    },
    Need {
        name: "git",
        why: "the list of files that `tidy` checks",
        takes: "about 10 seconds",
        probe: |_| answers(&["git", "--version"]),
        install: Install::Debian(&["git"]),
    },
    Need {
        name: "Node.js",
        why: "the comparison with the AI SDK's own client",
        takes: "",
        probe: |_| node(),
        install: Install::Ask(
            "Install Node.js 20 or later, with npm, from nodejs.org or with a version manager such as nvm, fnm or \
             volta (Debian 12's own package is too old), and see that `node` and `npm` are on the PATH.",
        ),
    },
    Need {
        name: "npm packages",
        why: "the comparison with the AI SDK's own client",
        takes: "usually under a minute",
        probe: |root| npm::probe(&root.join(NPM)),
        install: Install::Npm(NPM),
    },
    Need {
        name: "Chromium",
        why: "the console's tests (another one: CHROMIUM=/path/to/it)",
        takes: "about a minute",
        probe: |_| chromium(),
        install: Install::Debian(&["chromium"]),
    },
    Need {
        name: "PostgreSQL",
        why: "the tests of the log in PostgreSQL, which start clusters of their own",
        takes: "about a minute",
        probe: |_| postgres(),
        install: Install::Debian(&["postgresql"]),
    },
    PYTHON,
    Need {
        name: "mcp-server-time",
        why: "the guide of MCP servers, which has a server from PyPI, and one made with the Python SDK",
        takes: "usually under a minute",
        probe: |root| match python_package(root, "mcp-server-time", MCP_SDK) {
            Probe::Present(_) => python_package(root, "mcp-server-time", ("mcp-server-time", TIME_SERVER)),
            missing => missing,
        },
        install: Install::Python { name: "mcp-server-time", version: TIME_SERVER, with: &[MCP_SDK] },
    },
];

const TIME_SERVER: &str = "2026.10.19";
/// The Python SDK, whose words the guide repeats.
const MCP_SDK: (&str, &str) = ("mcp", "2.3.0");

/// For tools from PyPI, which are installed with `pip`.
const PYTHON: Need = Need {
    name: "Python",
    why: "tools from PyPI, in virtual environments of their own",
    takes: "about a minute",
    probe: |_| answers(&["python3", "-c", "import ensurepip, venv, sys; print(sys.version)"]),
    install: Install::Debian(&["python3", "python3-venv"]),
};

/// Judges the compiler by its own words: `rustc 1.95.0 (59807616e 2026-04-14)`.
fn rust(said: Probe) -> Probe {
    let Probe::Present(found) = said else { return said };
    match (rust_minor(&found, "rustc "), rust_minor(RUST, "")) {
        (Some(version), Some(oldest)) if version < oldest => {
            Probe::Missing(format!("found {found}, but it has to be {RUST} or later"))
        }
        (Some(version), Some(oldest)) if version > oldest => {
            Probe::Present(format!("{found}; the checks are known to pass with {RUST}, a newer clippy may find more"))
        }
        (Some(_), _) => Probe::Present(found),
        (None, _) => Probe::Missing(format!("`rustc --version` says `{found}`")),
    }
}

/// The first two numbers of a version, after a prefix.
fn rust_minor(said: &str, prefix: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix(prefix)?.split(['.', ' ', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The server's program, which Debian keeps off the PATH.
fn postgres() -> Probe {
    let folders = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<u32> = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    let debian = versions.last().map(|version| format!("/usr/lib/postgresql/{version}/bin/postgres"));
    let found = match answers(&[debian.as_deref().unwrap_or("postgres"), "--version"]) {
        Probe::Present(found) => found,
        missing => return missing,
    };
    match postgres_major(&found) {
        Some(POSTGRES..) => Probe::Present(found),
        _ => Probe::Missing(format!("found {found}, but it has to be {POSTGRES} or later")),
    }
}

/// The version in `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`.
fn postgres_major(said: &str) -> Option<u32> {
    said.split(' ').nth(2)?.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// The browser for the console's tests.
fn chromium() -> Probe {
    match std::env::var("CHROMIUM") {
        Ok(program) => answers(&[&program, "--version"]),
        Err(_) => answers(&["/usr/bin/chromium", "--version"]),
    }
}

/// Requirements of `cargo xtask fuzz`.
pub(crate) const FUZZ: &[Need] = &[
    Need {
        name: "a C++ compiler",
        why: "building libFuzzer",
        takes: "about a minute",
        probe: |_| answers(&["c++", "--version"]),
        install: Install::Debian(&["g++"]),
    },
    Need {
        name: "cargo-fuzz",
        why: "running the fuzz targets",
        takes: "about a minute",
        probe: |root| match probe_local_tool(root, "bin/cargo-fuzz") {
            Probe::Present(version) => Probe::Present(version),
            _ => answers(&["cargo-fuzz", "--version"]),
        },
        install: Install::Cargo { name: "cargo-fuzz", version: "0.13.2" },
    },
];

/// Requirements of `cargo xtask full schemathesis`.
pub(crate) const SCHEMATHESIS: &[Need] = &[
    PYTHON,
    Need {
        name: "Schemathesis",
        why: "requests made from /openapi.json",
        takes: "about a minute",
        probe: |root| probe_local_tool(root, "schemathesis/bin/st"),
        install: Install::Python { name: "schemathesis", version: "4.32.5", with: &[] },
    },
];

/// Requirements of the stage `deny`.
pub(crate) const DENY: &[Need] = &[Need {
    name: "cargo-deny",
    why: "the check of licences and sources of dependencies",
    takes: "several minutes",
    probe: |root| match probe_local_tool(root, "bin/cargo-deny") {
        Probe::Present(version) => Probe::Present(version),
        _ => answers(&["cargo-deny", "--version"]),
    },
    install: Install::Cargo { name: "cargo-deny", version: "0.20.2" },
}];

/// Probes a tool of this checkout.
fn probe_local_tool(root: &Path, path: &str) -> Probe {
    let tool = root.join(TOOLS).join(path);
    match tool.to_str() {
        Some(tool) => answers(&[tool, "--version"]),
        None => Probe::Missing("this checkout's path is not UTF-8".to_owned()),
    }
}

/// Probes a package in a virtual environment of this checkout. Its program need not have an option for its version.
fn python_package(root: &Path, environment: &str, (name, version): (&str, &str)) -> Probe {
    let python = root.join(TOOLS).join(environment).join("bin/python").display().to_string();
    let asked = format!("import importlib.metadata; print(importlib.metadata.version('{name}'))");
    match answers(&[&python, "-c", &asked]) {
        Probe::Present(found) if found == version => Probe::Present(found),
        Probe::Present(found) => Probe::Missing(format!("found {found}, but it has to be {version}")),
        _ => Probe::Missing(format!("{name} is not in {TOOLS}/{environment}")),
    }
}

/// Installs a Python tool for this checkout.
pub(super) fn python_install(root: &Path, name: &str, version: &str, with: &[(&str, &str)]) -> Result {
    let folder = root.join(TOOLS).join(name).display().to_string();
    Run::new("python3").args(["-m", "venv", &folder]).show_and_wait()?;
    let wanted = [&[(name, version)], with].concat();
    let wanted = wanted.iter().map(|(name, version)| format!("{name}=={version}"));
    Run::new(&format!("{folder}/bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(wanted.collect::<Vec<_>>())
        .show_and_wait()
        .map_err(|failure| {
            Failure::new(format!(
                "{failure}\nIt comes from PyPI: is that within reach? pip takes a mirror from PIP_INDEX_URL, and a folder of \
                 wheels from PIP_FIND_LINKS"
            ))
        })
}

/// Installs a cargo tool for this checkout.
pub(super) fn cargo_install(root: &Path, name: &str, version: &str) -> Result {
    Run::cargo()
        .args(["install", name, "--version", version, "--locked", "--root", TOOLS])
        .dir(root)
        .show_and_wait()
        .map_err(|failure| Failure::new(format!("{failure}\nIt comes from crates.io: is that within reach?")))
}

/// Present if the command runs; its first line of output is the version.
fn answers(command: &[&str]) -> Probe {
    match Run::new(command[0]).args(&command[1..]).output() {
        Ok(said) => Probe::Present(said.lines().next().unwrap_or("present").trim().to_owned()),
        Err(_) => Probe::Missing(format!("`{}` does not run", command.join(" "))),
    }
}

fn node() -> Probe {
    let version = match answers(&["node", "--version"]) {
        Probe::Present(version) => version,
        other => return other,
    };
    if major(&version).is_none_or(|major| major < NODE) {
        return Probe::Missing(format!("found {version}, but it has to be {NODE} or later"));
    }
    match answers(&["npm", "--version"]) {
        Probe::Present(npm) => Probe::Present(format!("{version}, npm {npm}")),
        other => other,
    }
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        assert_eq!(
            answers(&["no-such-program-here", "--version"]),
            Probe::Missing("`no-such-program-here --version` does not run".to_owned())
        );
        assert!(matches!(answers(&["sh", "-c", "echo 1.2"]), Probe::Present(version) if version == "1.2"));
    }

    #[test]
    fn a_package_of_another_version_is_missing() {
        let root = std::env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        let folder = root.join(TOOLS).join("an-environment/bin");
        std::fs::create_dir_all(&folder).expect("can be made");
        std::fs::write(folder.join("python"), "#!/bin/sh\necho 1.2\n").expect("can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.join("python"), mode).expect("can be set");
        let (same, other) = (
            python_package(&root, "an-environment", ("a-package", "1.2")),
            python_package(&root, "an-environment", ("a-package", "1.3")),
        );
        assert_eq!(same, Probe::Present("1.2".to_owned()));
        assert_eq!(other, Probe::Missing("found 1.2, but it has to be 1.3".to_owned()));
        assert!(
            matches!(python_package(&root, "another", ("a-package", "1")), Probe::Missing(why) if why.contains("another"))
        );
        std::fs::remove_dir_all(root).expect("can be removed");
    }

    #[test]
    fn an_older_compiler_is_refused_and_a_newer_one_is_remarked_on() {
        let judged = |said: &str| rust(Probe::Present(said.to_owned()));
        assert!(matches!(judged("rustc 1.40.0 (0 2019-12-19)"), Probe::Missing(why) if why.contains(RUST)));
        assert_eq!(judged(&format!("rustc {RUST}.1 (0)")), Probe::Present(format!("rustc {RUST}.1 (0)")));
        assert!(matches!(judged("rustc 2.0.0-nightly (0)"), Probe::Present(found) if found.contains("known to pass")));
        assert!(matches!(judged("gcc 12"), Probe::Missing(_)));
        assert_eq!(rust(Probe::Missing("gone".to_owned())), Probe::Missing("gone".to_owned()));
    }

    #[test]
    fn versions_of_postgresql_are_read() {
        assert_eq!(postgres_major("postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)"), Some(15));
        assert_eq!(postgres_major("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(postgres_major("postgres"), None);
    }

    #[test]
    fn node_versions_are_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v9.1.0"), Some(9));
        assert_eq!(major("20"), None);
    }
}
