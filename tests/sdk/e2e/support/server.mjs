// The real server, as a separate process.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodesWanted, startNodes } from "../../../nodes/nodes.mjs";
import { started } from "../../../support/server.mjs";

const STOPS_WITHIN_MS = 15_000;

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
    const nodes = await startNodes({ args });
    return {
      url: nodes.url,
      stop: async () => {
        await nodes.stop("SIGTERM");
        await place.remove();
      },
      restart: ({ isKilled = false } = {}) => nodes.restart(isKilled ? "SIGKILL" : "SIGTERM"),
    };
  }
  args.unshift(...(isKept ? ["--data", join(place.path, "data")] : ["--ephemeral"]));

  let { running, url } = await started(args);
  const end = async (signal) => {
    if (!running.isUp) throw new Error(`the server had ended before (${await running.exited})\n${running.output}`);
    await running.end(signal, STOPS_WITHIN_MS);
  };
  return {
    url,
    /** Asks the process to exit, as an operator would, and waits for it. */
    async stop() {
      await end("SIGTERM");
      await place.remove();
    },
    /** Ends the process (at once with `isKilled`) and starts another one in its place. */
    async restart({ isKilled = false } = {}) {
      await end(isKilled ? "SIGKILL" : "SIGTERM");
      ({ running, url } = await started(args, { listen: new URL(url).host }));
    },
  };
}
