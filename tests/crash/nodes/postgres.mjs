// A private PostgreSQL: a cluster of its own, in a temporary folder and on a free port.

import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { appendFile, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const USER = "postgres";
/** The password of this cluster, and of no other. */
const PASSWORD = "of-tests";
const STARTS_WITHIN_MS = 60_000;

/**
 * Runs the server until its own input ends: that is, until the suite ends, however it ends. Then removes the folder.
 * `pg_ctl restart` may replace the process in between.
 */
const WATCH = `
  trap '' INT TERM HUP
  folder=$1; pg_ctl=$2
  "$pg_ctl" start -w -D "$folder/data" -l "$folder/log" >/dev/null 2>&1 </dev/null && echo started
  cat >/dev/null
  # One that hangs ends before it does anything else.
  main=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)
  if [ -n "$main" ]; then
    for signal in QUIT CONT; do pkill "-$signal" -P "$main"; kill "-$signal" "$main"; done 2>/dev/null
  fi
  "$pg_ctl" stop -m immediate -D "$folder/data" >/dev/null 2>&1
  rm -rf "$folder"
`;

/** The folder of PostgreSQL's programs: that of Debian's newest version, or one on the path. */
function programs() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).filter((name) => /^\d+$/.test(name)) : [];
  const newest = versions.toSorted((a, b) => b - a).map((version) => join(debian, version, "bin"));
  const folder = [...newest, ...(process.env.PATH ?? "").split(delimiter)].find((path) =>
    existsSync(join(path, "initdb")),
  );
  if (folder) return folder;
  throw new Error("PostgreSQL is not installed; `cargo xtask setup` installs it");
}

/** PostgreSQL refuses root: then it is run by the user `postgres`. */
function serverUser() {
  if (process.getuid() !== 0) return {};
  const fields = readFileSync("/etc/passwd", "utf8").match(/^postgres:[^:]*:(\d+):(\d+):/m);
  if (!fields) throw new Error("PostgreSQL refuses to run as root, and this system has no user `postgres`");
  return { uid: Number(fields[1]), gid: Number(fields[2]) };
}

/**
 * Below the ports that the system gives to outgoing connections: while the server is down, one of those could take its
 * port, and it could not start again.
 */
async function freePort() {
  for (;;) {
    const port = randomInt(15_000, 31_000);
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

export class Postgres {
  port;
  #folder;
  #programs = programs();
  #user = serverUser();
  #watch;

  static async start() {
    const server = await Postgres.#prepare(await freePort());
    await server.#create();
    await server.#launch();
    return server;
  }

  /** A standby of this server, which replicates everything from now on, until `promote`. */
  async standby(port) {
    const standby = await Postgres.#prepare(port ?? (await freePort()));
    const how = ["--no-sync", "--checkpoint=fast", "--write-recovery-conf"];
    await standby.#run("pg_basebackup", [...how, "--pgdata", standby.#data, "--dbname", this.url()]);
    await standby.#configure({ port: standby.port });
    await standby.#launch();
    return standby;
  }

  static async #prepare(port) {
    const server = new Postgres();
    server.port = port;
    server.#folder = await mkdtemp(join(tmpdir(), "holdpoint-postgres-"));
    if (server.#user.uid) await chown(server.#folder, server.#user.uid, server.#user.gid);
    return server;
  }

  get #data() {
    return join(this.#folder, "data");
  }

  #run(program, args) {
    return run(join(this.#programs, program), args, { ...this.#user, cwd: this.#folder });
  }

  async #create() {
    const password = join(this.#folder, "password");
    await writeFile(password, PASSWORD);
    const how = ["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--username", USER, "--auth=password"];
    await this.#run("initdb", ["--pgdata", this.#data, "--pwfile", password, ...how]);
    // A crash of the server loses nothing without fsync, and a crash of the machine is not tested.
    const settings = {
      listen_addresses: "'127.0.0.1'",
      port: this.port,
      unix_socket_directories: "''",
      fsync: "off",
      max_connections: 200,
      // A standby is back soon after its primary.
      wal_retrieve_retry_interval: "'100ms'",
    };
    await this.#configure(settings);
  }

  async #configure(settings) {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    await appendFile(join(this.#data, "postgresql.conf"), lines.join(""));
  }

  async #launch() {
    this.#watch = spawn("sh", ["-c", WATCH, "sh", this.#folder, join(this.#programs, "pg_ctl")], {
      ...this.#user,
      cwd: this.#folder,
      stdio: ["pipe", "pipe", "inherit"],
      // A Ctrl-C in the terminal is for the suite.
      detached: true,
    });
    await new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`PostgreSQL does not start: ${this.log()}`));
      const timer = setTimeout(fail, STARTS_WITHIN_MS);
      this.#watch.once("exit", fail);
      this.#watch.stdout.once("data", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** The URL of a database, directly or through a proxy on another port. */
  url(port = this.port, database = "postgres") {
    return `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  }

  /** The process may end while the server runs: the server ends with it. */
  unref() {
    for (const handle of [this.#watch, this.#watch.stdin, this.#watch.stdout]) handle.unref();
  }

  get #log() {
    return join(this.#folder, "log");
  }

  /** What the server wrote so far. */
  log() {
    return existsSync(this.#log) ? readFileSync(this.#log, "utf8") : "";
  }

  /** `fast` ends all connections and flushes; `immediate` is a crash with recovery at the start. */
  restart(mode) {
    return this.#run("pg_ctl", ["restart", "-w", "-m", mode, "-D", this.#data, "-l", this.#log]);
  }

  /** Stops it as a crash would, until `resume`. */
  halt() {
    return this.#run("pg_ctl", ["stop", "-w", "-m", "immediate", "-D", this.#data]);
  }

  resume() {
    return this.#run("pg_ctl", ["start", "-w", "-D", this.#data, "-l", this.#log]);
  }

  /** Suspends all its processes: connections stay open and new ones are accepted, and nothing is answered. For ever. */
  async hang() {
    const main = (await readFile(join(this.#data, "postmaster.pid"), "utf8")).split("\n")[0];
    // Without its main process there are no new ones.
    process.kill(Number(main), "SIGSTOP");
    await run("pkill", ["-STOP", "-P", main]);
  }

  /** From now on, a commit is acknowledged once the standby has it too. Set it when there is one. */
  async requireStandby() {
    // Not in a transaction.
    await this.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.sql("SELECT pg_reload_conf()");
  }

  /** Whether a standby confirms every commit. */
  async isReplicated() {
    return (await this.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")) === "1";
  }

  /** A standby becomes a primary. */
  promote() {
    return this.#run("pg_ctl", ["promote", "-w", "-D", this.#data]);
  }

  /** The rows that statements return, in lines, with `|` between columns. */
  async sql(statements) {
    const args = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", this.url(), "-c", statements];
    return (await this.#run("psql", args)).stdout.trimEnd();
  }

  /** All tables, as statements. */
  async dump() {
    const args = ["--inserts", "--dbname", this.url()];
    const done = await run(join(this.#programs, "pg_dump"), args, { ...this.#user, maxBuffer: 2 ** 30 });
    return done.stdout;
  }

  /** Stops it, and removes its folder. */
  async stop() {
    if (!this.#watch || this.#watch.exitCode !== null) return;
    const gone = new Promise((resolve) => this.#watch.once("exit", resolve));
    this.#watch.stdin.end();
    await gone;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
