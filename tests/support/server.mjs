// The real server as a process: the one way in which all suites start it.

import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { start } from "./process.mjs";

const STARTS_WITHIN_MS = 30_000;

/** HOLDPOINT_BIN, or cargo's latest build. */
export function binary() {
  const named = process.env.HOLDPOINT_BIN;
  const places = named
    ? [named]
    : ["debug", "release"].map((profile) =>
        fileURLToPath(new URL(`../../target/${profile}/holdpoint`, import.meta.url)),
      );
  const [latest] = places
    .filter((place) => existsSync(place))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  if (latest !== undefined) return latest;
  throw new Error(
    `no holdpoint binary: build it (cargo build), or name one in HOLDPOINT_BIN. Looked at: ${places.join(", ")}`,
  );
}

/** Why a server did not start: its exit code, and what it has printed. */
export class NotStarted extends Error {
  constructor(code, said) {
    super(`the server did not start: ${code === undefined ? "it took too long" : `it ended with ${code}`}\n${said}`);
    this.code = code;
    this.said = said;
  }
}

/**
 * Runs `serve` with these arguments on `listen`, by default a free port. It prints its address when it can answer, which
 * is what `url` waits for. `program` is another binary, `around` a command that runs it with the rest as arguments.
 */
export function launch(
  args,
  { listen = "127.0.0.1:0", program = binary(), around = [], startsWithinMs = STARTS_WITHIN_MS, ...options } = {},
) {
  const [command, ...rest] = [...around, program, "serve", "--listen", listen, ...args];
  const running = start(command, rest, options);
  running.url = address(running, startsWithinMs);
  // It is for whoever waits.
  running.url.catch(() => {});
  return running;
}

/** The same, once it can answer. */
export async function started(args, options) {
  const running = launch(args, options);
  return { running, url: await running.url };
}

function address(running, withinMs) {
  let timer;
  return new Promise((resolve, reject) => {
    timer = setTimeout(() => {
      reject(new NotStarted(undefined, running.output));
      running.signal("SIGKILL");
    }, withinMs);
    running.onOutput((out) => {
      const url = out.match(/https?:\/\/\S+(?=\s)/)?.[0];
      if (url) resolve(url);
    });
    running.closed.then((code) => reject(new NotStarted(code, running.output)), reject);
  }).finally(() => clearTimeout(timer));
}
