//! A real PostgreSQL for tests: a cluster of its own, in a temporary folder and on a free port.

use std::{
    fs,
    io::{self, Write},
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU16, AtomicU32, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

/// The superuser of a test cluster.
const USER: &str = "postgres";
/// Its password, and that of no other cluster.
const PASSWORD: &str = "of-tests";
const START: Duration = Duration::from_secs(60);

/// Runs the server until its own input ends: that is, until the test ends, however it ends. Then removes the folder.
const WATCH: &str = r#"
    trap '' INT TERM HUP
    folder=$1; shift
    "$@" >>"$folder/log" 2>&1 </dev/null &
    server=$!
    cat >/dev/null
    kill -QUIT "$server" 2>/dev/null
    kill -CONT "$server" 2>/dev/null
    wait "$server"
    [ -e "$folder/keep" ] || rm -rf "$folder"
"#;

/// A running cluster. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    /// The user that runs the server, if this is root: PostgreSQL refuses root.
    user: Option<(u32, u32)>,
    /// Settings beyond the usual ones.
    settings: Vec<String>,
    watch: Mutex<Option<Child>>,
}

impl Postgres {
    /// The cluster that all tests of this process share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// A separate cluster, which the test may stop or pause, with settings such as `max_connections=20`.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed, or does not start.
    pub fn start(settings: &[&str]) -> Self {
        let server = Self::prepare(settings);
        server.create();
        server.resume_after_stop();
        server
    }

    /// A standby of this cluster, which replicates everything from now on, until [`Self::promote`].
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn standby(&self) -> Self {
        let standby = Self::prepare(&[]);
        let mut copy = standby.command("pg_basebackup");
        copy.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--pgdata"]).arg(standby.data());
        run(copy.arg("--dbname").arg(self.url("postgres")));
        standby.resume_after_stop();
        standby
    }

    /// Makes a standby take writes. Not by `pg_promote()`: what the standby still has to replay may cancel a query.
    pub fn promote(&self) {
        let mut promote = self.command("pg_ctl");
        run(promote.args(["promote", "--wait", "--silent", "--pgdata"]).arg(self.data()));
    }

    fn prepare(settings: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let programs = programs().expect("PostgreSQL is not installed; `cargo xtask setup` installs it");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("holdpoint-postgres-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a temporary folder");
        let user = server_user();
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group)).expect("root may change the owner");
        }
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self { programs, folder, port: free_port(), user, settings, watch: Mutex::new(None) }
    }

    fn create(&self) {
        let password = self.folder.join("password");
        fs::write(&password, PASSWORD).expect("it writes");
        let mut initdb = self.command("initdb");
        initdb.arg("--pgdata").arg(self.data()).arg("--pwfile").arg(&password);
        initdb.args(["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--username", USER, "--auth=password"]);
        run(&mut initdb);
        // The role `scram` logs in by challenge and response.
        let hba = "host all scram 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 password\n\
                   host replication all 127.0.0.1/32 password\n";
        fs::write(self.data().join("pg_hba.conf"), hba).expect("it writes");
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        self.url_on_port(database, self.port)
    }

    /// The URL of a database, through a proxy on another port.
    pub fn url_on_port(&self, database: &str, port: u16) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/{database}")
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its data, for files that its settings name.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Writes a file that only the server can read into the folder of its data.
    ///
    /// # Panics
    ///
    /// If it can't be written.
    pub fn install(&self, name: &str, content: &[u8]) {
        let path = self.data().join(name);
        fs::write(&path, content).expect("it writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is our file");
        if let Some((user, group)) = self.user {
            chown(&path, Some(user), Some(group)).expect("root may change the owner");
        }
    }

    /// A name that no other test of this cluster uses, for a schema or a database.
    pub fn fresh_name() -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Creates a database. Returns its name.
    pub fn fresh_database(&self) -> String {
        let name = Self::fresh_name();
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Runs statements with `psql`. Returns the rows of the last one, in lines, with `|` between columns.
    ///
    /// # Panics
    ///
    /// If one fails.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(database), "-c", statements]);
        run(&mut psql)
    }

    /// Stops the server as if the machine lost power: connections break, nothing is flushed.
    pub fn crash(&self) {
        drop(self.watch.lock().unwrap_or_else(PoisonError::into_inner).take().map(|mut watch| {
            fs::write(self.folder.join("keep"), "").expect("it writes");
            drop(watch.stdin.take());
            watch.wait()
        }));
    }

    /// Starts the server again after [`Self::crash`], on the same port and with the same data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn resume_after_stop(&self) {
        let _ = fs::remove_file(self.folder.join("keep"));
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        let mut server = vec![self.programs.join("postgres"), "-D".into(), self.data()];
        let port = format!("port={}", self.port);
        // A crash of the server loses nothing without fsync, and a crash of the machine is not tested.
        let usual = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=300"];
        for setting in usual.into_iter().chain([&*port]).chain(self.settings.iter().map(String::as_str)) {
            server.extend(["-c".into(), setting.into()]);
        }
        let mut watch = Command::new("sh");
        watch.args(["-c", WATCH, "sh"]).arg(&self.folder).args(server).stdin(Stdio::piped()).current_dir(&self.folder);
        self.become_user(&mut watch);
        let watch = watch.spawn().expect("sh runs");
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(begun.elapsed() < START, "PostgreSQL does not start: {}", self.log());
            sleep(Duration::from_millis(10));
        }
    }

    /// Suspends every process of the server: connections stay open, and nothing is answered.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets the server go on after [`Self::pause`].
    pub fn unpause(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let pid_file = fs::read_to_string(self.data().join("postmaster.pid")).expect("it runs");
        let main = pid_file.lines().next().expect("its first line is a process").to_owned();
        let mut processes = children(&main);
        processes.insert(0, main);
        let list = processes.join(" ");
        // A process may have ended in the meantime.
        let _ = Command::new("sh").args(["-c", &format!("kill -{signal} {list}")]).stderr(Stdio::null()).status();
    }

    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        state.lines().nth(7).is_some_and(|status| ["ready", "standby"].contains(&status.trim()))
    }

    /// What the server wrote so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// One of PostgreSQL's programs, run by the server's user.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.folder).env_remove("PGPASSWORD").env("PGCONNECT_TIMEOUT", "10");
        self.become_user(&mut command);
        command
    }

    fn become_user(&self, command: &mut Command) {
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(watch.stdin.take());
            let _ = watch.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of PostgreSQL's programs: that of Debian's newest version, or one on the path.
fn programs() -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = debian.filter(|path| version(path).is_some()).max_by_key(|path| version(path));
    let on_path =
        std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    newest.map(|path| path.join("bin")).into_iter().chain(on_path).find(|folder| folder.join("initdb").exists())
}

/// The user `postgres`, if this process is root's.
fn server_user() -> Option<(u32, u32)> {
    let is_root = fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
    if !is_root {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let mut user = users.lines().find_map(|line| line.strip_prefix("postgres:"))?.split(':').skip(1);
    Some((user.next()?.parse().ok()?, user.next()?.parse().ok()?))
}

/// Below the ports that the system gives to outgoing connections: while the server is down, one of those could take its
/// port, and it could not start again.
fn free_port() -> u16 {
    // Each call begins elsewhere: the port that is found is free until the server starts.
    static CALLS: AtomicU16 = AtomicU16::new(0);
    let process = u16::try_from(std::process::id() % 1_500).expect("small");
    let first = 15_000 + process * 10 + CALLS.fetch_add(1, Ordering::Relaxed) % 1_000;
    (first..32_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}

fn children(parent: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|process| process.file_name().into_string().ok());
    names
        .filter(|process| {
            // The parent is the second field after the name, which is in parentheses.
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)) == Some(parent)
        })
        .collect()
}

fn run(command: &mut Command) -> String {
    let output =
        command.stdin(Stdio::null()).output().unwrap_or_else(|error: io::Error| panic!("{command:?}: {error}"));
    if !output.status.success() {
        let _ = io::stderr().write_all(&output.stderr);
        panic!("{:?} failed: {}", command.get_program(), String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
