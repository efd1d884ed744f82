import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, it } from "vitest";

const packageFolder = fileURLToPath(new URL("..", import.meta.url));
const modules = fileURLToPath(new URL("../../../node_modules/", import.meta.url));

/** What npm would publish: packed, and unpacked where an application would have it. */
let folder: string;
let tarball: string;
let files: string[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdpoint-package-"));
  const packed = run("npm", ["pack", "--json", "--pack-destination", folder], packageFolder);
  // What the build prints goes before the list.
  const [{ filename, files: list }] = JSON.parse(packed.slice(packed.indexOf("[\n"))) as [
    { filename: string; files: { path: string }[] },
  ];
  tarball = join(folder, filename);
  files = list.map(({ path }) => path);
  const installed = join(folder, "node_modules");
  mkdirSync(join(installed, "holdpoint"), { recursive: true });
  run("tar", ["-xzf", tarball, "-C", join(installed, "holdpoint"), "--strip-components=1"], folder);
  mkdirSync(join(installed, "@ai-sdk"));
  for (const peer of ["ai", "react", "@ai-sdk/react"]) symlinkSync(join(modules, peer), join(installed, peer));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

it("has the code, its types, the page about it and both licences, and no test", () => {
  const wanted = ["dist/index.js", "dist/index.d.ts", "dist/react/index.js", "dist/react/index.d.ts", "README.md"];
  expect(files).toEqual(expect.arrayContaining([...wanted, "LICENSE-MIT", "LICENSE-APACHE"]));
  expect(files.filter((path) => !/^(dist|src)\/|^(README\.md|package\.json|LICENSE-(MIT|APACHE))$/.test(path))).toEqual(
    [],
  );
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) {
    const [ours, project] = [packageFolder, join(packageFolder, "../..")].map((at) => readFileSync(join(at, licence)));
    expect(ours?.equals(project ?? Buffer.alloc(0)), licence).toBe(true);
  }
});

it("has nothing that was built from a source that is gone", () => {
  const sources = new Set(files.filter((path) => path.startsWith("src/")));
  const built = files.filter((path) => path.startsWith("dist/"));
  const orphans = built.filter(
    (path) => !sources.has(path.replace("dist", "src").replace(/(\.d\.ts|\.js)(\.map)?$/, ".ts")),
  );
  expect(orphans).toEqual([]);
});

it("publint has nothing to say", async () => {
  const { messages, pkg } = await publint({
    pack: { tarball: readFileSync(tarball).buffer as ArrayBuffer },
    strict: true,
  });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
}, 60_000);

it("attw has nothing to say about the types", () => {
  const cli = createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json");
  const args = [join(dirname(cli), "dist/index.js"), tarball, "--profile", "esm-only", "--no-definitely-typed"];
  // It fails where it finds something, and then the output is in the error.
  expect(run(process.execPath, [...args, "--no-color", "--no-emoji", "--format", "ascii"], folder)).toContain(
    "holdpoint/react",
  );
}, 60_000);

// Bundlers set conditions of their own while one develops: `development` is what next, webpack and rspack set.
it.each([
  "default",
  "development",
  "production",
  "browser",
  "node",
  "module",
])("loads as JavaScript: %s", (condition) => {
  const code = `
    const [root, react] = await Promise.all([import("holdpoint"), import("holdpoint/react")]);
    console.log(import.meta.resolve("holdpoint"), import.meta.resolve("holdpoint/react"), typeof root.shouldAutoSend, typeof react.useHoldpoint);`;
  const said = run(process.execPath, [`--conditions=${condition}`, "--input-type=module", "-e", code], folder);
  expect(said.trim()).toMatch(/dist\/index\.js \S+dist\/react\/index\.js function function$/);
});
