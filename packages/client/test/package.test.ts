import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, it } from "vitest";

const packageFolder = fileURLToPath(new URL("..", import.meta.url));
const modules = fileURLToPath(new URL("../../../node_modules/", import.meta.url));

/** The oldest versions of the AI SDK that are supported. */
const oldest = [
  { name: "ai 6", ai: "react6/node_modules/ai", react: "react6" },
  { name: "ai 7", ai: "react7/node_modules/ai", react: "react7" },
];

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

/** The same, beside others of its kind: each of these takes a processor for long. */
async function runBeside(command: string, args: string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { cwd, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

it("has the code, its types, the pages about it and both licences, and no test", () => {
  const entries = ["index", "react/index", "protocol", "demo"].flatMap((path) => [
    `dist/${path}.js`,
    `dist/${path}.d.ts`,
  ]);
  const pages = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
  expect(files).toEqual(expect.arrayContaining([...entries, ...pages]));
  const others = files.filter((path) => !/^(dist|src)\//.test(path) && path !== "package.json");
  expect(others.sort()).toEqual(pages.sort());
  for (const licence of ["LICENSE-MIT", "LICENSE-APACHE"]) {
    const [ours, project] = [packageFolder, join(packageFolder, "../..")].map((at) => readFileSync(join(at, licence)));
    expect(ours?.equals(project ?? Buffer.alloc(0)), licence).toBe(true);
  }
});

it("says where it comes from, what it needs and what it is about", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(folder, "node_modules/holdpoint", path), "utf8"));
  const { repository, engines, keywords, homepage, bugs, peerDependencies } = read("package.json");
  const [, url] = /^repository = "(.*)"$/m.exec(readFileSync(join(packageFolder, "../../Cargo.toml"), "utf8")) ?? [];
  expect(repository).toEqual({ type: "git", url: `git+${url}.git`, directory: "packages/client" });
  expect(homepage).toContain(url);
  expect(bugs).toContain(url);
  expect(engines.node).toMatch(/^>=\d+$/);
  expect(keywords.length).toBeGreaterThan(3);
  // What is supported is what is tested: these versions, and later ones.
  const versionOf = (path: string) => JSON.parse(readFileSync(join(modules, path, "package.json"), "utf8")).version;
  const [ai6, ai7] = oldest.map((sdk) => versionOf(sdk.ai));
  const [react6, react7] = oldest.map((sdk) => versionOf(sdk.react));
  expect(peerDependencies.ai).toBe(`^${ai6} || ^${ai7}`);
  expect(peerDependencies["@ai-sdk/react"]).toBe(`^${react6} || ^${react7}`);
});

it.each(["README.md", "CHANGELOG.md"])("the links of %s lead somewhere from any place", (page) => {
  const text = readFileSync(join(folder, "node_modules/holdpoint", page), "utf8");
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link ?? "");
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
  const [, url] = /^repository = "(.*)"$/m.exec(readFileSync(join(packageFolder, "../../Cargo.toml"), "utf8")) ?? [];
  for (const link of links) {
    const [, path] = new RegExp(`^${url}/(?:blob|tree)/main/([^#]*)`).exec(link) ?? [];
    if (path !== undefined) expect(existsSync(join(packageFolder, "../..", path)), link).toBe(true);
  }
});

it.concurrent.each(
  oldest,
)("the types compile with the oldest supported versions, every .d.ts checked: $name", async (sdk) => {
  const app = join(folder, sdk.name);
  const installed = join(app, "node_modules");
  mkdirSync(join(installed, "@ai-sdk"), { recursive: true });
  symlinkSync(join(modules, sdk.ai), join(installed, "ai"));
  symlinkSync(join(modules, sdk.react), join(installed, "@ai-sdk/react"));
  symlinkSync(join(modules, "react"), join(installed, "react"));
  symlinkSync(join(modules, "@types"), join(installed, "@types"));
  mkdirSync(join(installed, "holdpoint"));
  run("tar", ["-xzf", tarball, "-C", join(installed, "holdpoint"), "--strip-components=1"], app);
  writeFileSync(
    join(app, "app.ts"),
    `import type { UIMessage } from "ai";
     import { callStatus, createHoldpoint, HoldpointError, LiveChatTransport } from "holdpoint";
     import { getLocation } from "holdpoint/demo";
     import type { ChatHold } from "holdpoint/protocol";
     import { useApprovals, useHoldpoint } from "holdpoint/react";
     type Message = UIMessage<unknown, Record<string, unknown>, { beep: { input: { loud: boolean }; output: string } }>;
     const client = createHoldpoint({ baseUrl: "http://127.0.0.1:1" });
     export function useApp(): ChatHold | undefined {
       const chat = useHoldpoint<Message>({ client, id: "c", handlers: { beep: ({ loud }) => String(loud) } });
       const inbox = useApprovals({ apiKey: async () => "key" });
       if (chat.error instanceof HoldpointError && chat.error.code === "key-required") void inbox.error?.status;
       for (const part of chat.messages.flatMap(({ parts }) => parts))
         if (part.type === "tool-beep") void [callStatus(part).label, chat.callStatus(part.toolCallId).text];
       return chat.pendingApprovals[0];
     }
     export const transport = new LiveChatTransport<Message>({ client, chatId: "c" });
     export const messages: Promise<Message[]> = client.chats.messages<Message>("c");
     export const location = getLocation();`,
  );
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    module: "esnext",
    moduleResolution: "bundler",
    // What the declarations of the SDK itself need.
    types: ["node", "react"],
    strict: true,
    skipLibCheck: false,
    noEmit: true,
  };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.ts", "sdk.d.ts"] }));
  // The SDK's declarations use a package that it does not install.
  writeFileSync(
    join(app, "sdk.d.ts"),
    `declare module "json-schema" {
       export type JSONSchema7 = Record<string, unknown>;
       export type JSONSchema7Definition = JSONSchema7 | boolean;
     }`,
  );
  let said = "";
  try {
    await runBeside(process.execPath, [join(modules, "typescript/bin/tsc"), "-p", app], app);
  } catch (error) {
    // A compiler that is killed says nothing, and has not passed.
    said = String((error as { stdout?: unknown }).stdout || error);
  }
  expect(said).toBe("");
}, 300_000);

it.concurrent("attw has nothing to say about the types", async () => {
  const cli = createRequire(import.meta.url).resolve("@arethetypeswrong/cli/package.json");
  const args = [join(dirname(cli), "dist/index.js"), tarball, "--profile", "esm-only", "--no-definitely-typed"];
  // It fails where it finds something, and then the output is in the error.
  const plain = ["--no-color", "--no-emoji", "--format", "ascii"];
  expect(await runBeside(process.execPath, [...args, ...plain], folder)).toContain("holdpoint/demo");
}, 120_000);

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
    const [root, react, demo] = await Promise.all(["", "/react", "/demo"].map((path) => import("holdpoint" + path)));
    console.log(import.meta.resolve("holdpoint"), import.meta.resolve("holdpoint/react"), typeof root.createHoldpoint, typeof react.useHoldpoint, typeof demo.openUrl);`;
  const said = run(process.execPath, [`--conditions=${condition}`, "--input-type=module", "-e", code], folder);
  expect(said.trim()).toMatch(/dist\/index\.js \S+dist\/react\/index\.js function function function$/);
});
