//! A PostgreSQL of its own: in a temporary folder, on a free port, run by another user than root.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::watched::Watched;
use crate::failure::{Failure, Result};

const USER: &str = "postgres";
const START: Duration = Duration::from_secs(60);

/// A running database server. Dropping it stops it.
pub(super) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
    _server: Watched,
}

impl Postgres {
    /// Creates a database in this folder, and starts its server.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let programs =
            programs().ok_or_else(|| Failure::new("PostgreSQL is not installed: `cargo xtask setup` installs it"))?;
        let user = server_user()?;
        let folder = folder.join("postgres");
        let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", folder.display()));
        fs::create_dir(&folder).map_err(failed)?;
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group)).map_err(failed)?;
        }
        let port = free_port().map_err(failed)?;
        let data = folder.join("data");
        let mut initdb = command(&programs, "initdb", &folder, user);
        // Only this machine can reach it, and only while the command runs.
        initdb.args(["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--username", USER]);
        run(initdb.arg("--pgdata").arg(&data))?;
        let mut server = Command::new(programs.join("postgres"));
        server.current_dir(&folder).arg("-D").arg(&data);
        let port_setting = format!("port={port}");
        for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", &port_setting]
        {
            server.args(["-c", setting]);
        }
        let log = folder.join("log");
        fs::write(&log, "").map_err(failed)?;
        let started = Watched::start(&server, "QUIT", &log, user)?;
        let postgres = Self { programs, folder, user, port, _server: started };
        let begun = Instant::now();
        while let Err(failure) = postgres.sql("SELECT 1") {
            if begun.elapsed() > START {
                return Err(Failure::new(format!("PostgreSQL does not start: {failure}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(postgres)
    }

    /// The URL of the database.
    pub(super) fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs a query. Returns its rows as lines, with `|` between columns.
    pub(super) fn sql(&self, query: &str) -> Result<String> {
        let mut psql = command(&self.programs, "psql", &self.folder, self.user);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", query]);
        run(&mut psql)
    }
}

fn command(programs: &Path, program: &str, folder: &Path, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(programs.join(program));
    command.current_dir(folder).stdin(Stdio::null()).env("PGCONNECT_TIMEOUT", "5");
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

fn run(command: &mut Command) -> Result<String> {
    let shown = command.get_program().display().to_string();
    let done = command.output().map_err(|error| crate::process::cannot_start(&shown, &error))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned());
    }
    Err(Failure::new(format!("`{shown}` failed: {}", String::from_utf8_lossy(&done.stderr).trim())))
}

/// The folder of PostgreSQL's programs: that of Debian's newest version, or one on the path.
fn programs() -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = debian.filter(|path| version(path).is_some()).max_by_key(|path| version(path));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = newest.map(|path| path.join("bin")).into_iter().chain(std::env::split_paths(&path));
    folders.find(|folder| folder.join("initdb").exists())
}

/// The user `postgres`, if this process is root's: PostgreSQL refuses root.
fn server_user() -> Result<Option<(u32, u32)>> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !status.lines().any(|line| line.starts_with("Uid:\t0\t")) {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| ids(line.strip_prefix("postgres:")?));
    found
        .map(Some)
        .ok_or_else(|| Failure::new("PostgreSQL refuses to run as root, and this system has no user `postgres`"))
}

/// User and group in `x:105:110:…`.
fn ids(fields: &str) -> Option<(u32, u32)> {
    let mut fields = fields.split(':').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_user_are_read() {
        assert_eq!(ids("x:105:110:PostgreSQL:/var/lib/postgresql:/bin/bash"), Some((105, 110)));
        assert_eq!(ids("x:nobody"), None);
    }
}
