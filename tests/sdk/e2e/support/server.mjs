// The real server, as a separate process.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodesWanted, startNodes } from "../../../nodes/nodes.mjs";

const STARTS_WITHIN_MS = 15_000;
const STOPS_WITHIN_MS = 15_000;

/** HOLDPOINT_BIN, or cargo's latest build in the usual places. */
export function binary() {
  const named = process.env.HOLDPOINT_BIN;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`HOLDPOINT_BIN names ${named}, which does not exist`);
  }
  const places = ["debug", "release"].map((profile) =>
    fileURLToPath(new URL(`../../../../target/${profile}/holdpoint`, import.meta.url)),
  );
  const found = places.find((place) => existsSync(place));
  if (found) return found;
  throw new Error(
    `no holdpoint binary: build it (cargo build), or name one in HOLDPOINT_BIN. Looked at: ${places.join(", ")}`,
  );
}

/** A temporary folder, removed by `remove`. */
async function folder() {
  const path = await mkdtemp(join(tmpdir(), "holdpoint-sdk-e2e-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * Starts a server, or nodes behind a load balancer (tests/nodes). `script` is the model's script, `config` the text of a settings file; with `isKept` its chats
 * outlive the process, and `restart` starts another one on the same data and address.
 */
export async function startServer({ script, config, isKept = false } = {}) {
  const place = await folder();
  const args = [];
  if (script) {
    const file = join(place.path, "script.json");
    await writeFile(file, JSON.stringify(script));
    args.push("--model", `script:${file}`);
  }
  if (config) {
    const file = join(place.path, "holdpoint.toml");
    await writeFile(file, config);
    args.push("--config", file);
  }
  if (nodesWanted() > 0) {
    const nodes = await startNodes({ binary: binary(), args });
    return {
      url: nodes.url,
      stop: async () => {
        await nodes.stop("SIGTERM");
        await place.remove();
      },
      restart: ({ isKilled = false } = {}) => nodes.restart(isKilled ? "SIGKILL" : "SIGTERM"),
    };
  }
  args.unshift("serve", ...(isKept ? ["--data", join(place.path, "data")] : ["--ephemeral"]));

  let running = await launch(args, "127.0.0.1:0");
  const server = {
    url: running.url,
    /** Asks the process to exit, as an operator would, and waits for it. */
    async stop() {
      await end(running, "SIGTERM");
      await place.remove();
    },
    /** Ends the process (at once with `isKilled`) and starts another one in its place. */
    async restart({ isKilled = false } = {}) {
      await end(running, isKilled ? "SIGKILL" : "SIGTERM");
      running = await launch(args, new URL(server.url).host);
    },
  };
  return server;
}

/** Without variables that the server would read as settings, such as HOLDPOINT_BIN. */
export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDPOINT_")));
}

function launch(args, listen) {
  const child = spawn(binary(), [...args, "--listen", listen], {
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Whatever happens to the tests, no server is left behind.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  let out = "";
  let errors = "";
  const exited = new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      process.removeListener("exit", kill);
      resolve(code ?? signal);
    });
  });
  return new Promise((resolve, reject) => {
    const fail = (why) => {
      clearTimeout(timer);
      kill();
      reject(new Error(`the server did not start: ${why}\n${out}${errors}`));
    };
    const timer = setTimeout(() => fail("it took too long"), STARTS_WITHIN_MS);
    child.once("error", (error) => fail(error.message));
    exited.then((code) => fail(`it ended with ${code}`));
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
      const url = out.match(/https?:\/\/\S+(?=\s)/)?.[0];
      if (!url) return;
      clearTimeout(timer);
      resolve({ url, child, exited, errors: () => errors });
    });
  });
}

async function end({ child, exited, errors }, signal) {
  if (child.exitCode !== null || child.signalCode !== null) {
    throw new Error(`the server had ended before (${child.exitCode ?? child.signalCode})\n${errors()}`);
  }
  child.kill(signal);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the server did not end within ${STOPS_WITHIN_MS} ms of ${signal}\n${errors()}`));
    }, STOPS_WITHIN_MS);
  });
  const code = await Promise.race([exited, late]);
  clearTimeout(timer);
  if (signal === "SIGTERM" && code !== 0) throw new Error(`the server ended with ${code}\n${errors()}`);
}
