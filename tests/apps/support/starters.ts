import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { folderOf, repository, run } from "./process";

/** The apps of `examples` that are played in every test run. */
export const STARTERS: readonly string[] = ["assistant-ui", "nextjs", "vite"];

/**
 * Whether this is the short form: the starters alone, with packages of fixed versions that are installed once for all of
 * them. The full form installs each app as its user would, with the newest packages that it allows.
 */
export const isShort = process.env.APPS_FORM === "short";

/** Installs the packages of all starters, unless they are there, and the packed npm package among them. */
export async function installStarters(tarball: string): Promise<void> {
  const source = join(repository, "tests/apps/starters");
  checkVersions(source);
  const folder = folderOf("starters");
  mkdirSync(folder, { recursive: true });
  const files = ["package.json", "package-lock.json"];
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(source, file)));
  const [key, marker] = [hash.digest("hex"), join(folder, ".installed")];
  if (!existsSync(marker) || readFileSync(marker, "utf8") !== key) {
    rmSync(marker, { force: true });
    for (const file of files) copyFileSync(join(source, file), join(folder, file));
    // Not `npm ci`: it refuses a lock file that lacks an optional package, such as one for another system.
    await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder });
    writeFileSync(marker, key);
  }
  const own = join(folder, "node_modules/holdpoint");
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  await run("tar", ["-xzf", tarball, "--strip-components=1"], { cwd: own });
  // The package needs nothing but what an app has anyway. Otherwise unpacking it would not be installing it.
  const { dependencies } = manifestIn(own);
  if (dependencies !== undefined) throw new Error("The npm package has dependencies: install them with the starters.");
}

/** Gives an app the packages of the starters: hard links, since a bundler does not follow symbolic ones out of the app. */
export function linkPackages(folder: string): void {
  const target = join(folder, "node_modules");
  rmSync(target, { recursive: true, force: true });
  linkTree(join(folderOf("starters"), "node_modules"), target);
}

function linkTree(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}

/** The packages that are installed are those that the starters ask for. */
function checkVersions(source: string): void {
  const wanted: Record<string, string> = {};
  for (const starter of STARTERS) {
    const { dependencies, devDependencies } = manifestIn(join(repository, "examples", starter));
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      if (name === "holdpoint") continue;
      if ((wanted[name] ?? version) !== version)
        throw new Error(`${name} is ${version} in examples/${starter}, and ${wanted[name]} in another one.`);
      wanted[name] = version;
    }
  }
  const installed = manifestIn(source).dependencies ?? {};
  const names = new Set([...Object.keys(wanted), ...Object.keys(installed)]);
  const differing = [...names].filter((name) => wanted[name] !== installed[name]);
  if (differing.length > 0) {
    throw new Error(
      `tests/apps/starters/package.json differs from the starters in ${differing.join(", ")}. Change it, and run there: ` +
        "npm install --package-lock-only --omit-lockfile-registry-resolved",
    );
  }
}

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}
