import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { folderOf, repository, run } from "./process";
import { installStarters, isShort } from "./starters";

/** What is made once for a whole run, and passed on to the workers. */
export interface Prepared {
  /** The id of this run. */
  run: string;
  /** The packed npm package. */
  tarball: string;
  /** The hash of its content. */
  digest: string;
  /** Free ports, two for each worker. */
  ports: readonly number[];
}

/** Packs the npm package and finds free ports. Workers that are started later use the same ones. */
export default async function setup(): Promise<void> {
  const folder = folderOf("package");
  mkdirSync(folder, { recursive: true });
  const output = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: join(repository, "packages/client"),
  });
  // The package's build prints to the same output.
  const [packed] = JSON.parse(output.slice(output.search(/^\[/m))) as [{ filename: string }];
  const tarball = join(folder, packed.filename);
  const digest = createHash("sha256").update(readFileSync(tarball)).digest("hex");
  const prepared: Prepared = { run: randomUUID(), tarball, digest, ports: await freePorts(16) };
  if (isShort) await installStarters(tarball);
  process.env.APPS_PREPARED = JSON.stringify(prepared);
}

export function prepared(): Prepared {
  const text = process.env.APPS_PREPARED;
  if (text === undefined) throw new Error("The global setup has not run.");
  return JSON.parse(text) as Prepared;
}

/** All are open at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(0, "127.0.0.1", resolve);
      });
      return server;
    }),
  );
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("A TCP server has no port.");
      await new Promise<void>((resolve) => server.close(() => resolve()));
      return address.port;
    }),
  );
}
