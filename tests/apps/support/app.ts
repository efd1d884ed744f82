import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import type { Running } from "../../support/process.mjs";
import { answers, folderOf, repository, run, start } from "./process";
import { prepared } from "./setup";
import { isShort, linkPackages } from "./starters";

/** An app under test. */
export interface App {
  /** Its name: unique among the apps. */
  name: string;
  /** Its folder in `examples/`, or in the repository if it begins with `tests/`. */
  example: string;
  /** Other versions than those of its `package.json`. */
  dependencies?: Record<string, string>;
  /** The app's key for the Holdpoint server: its own server has it as `AGENT_KEY`. */
  key?: string;
  /** Whether the Holdpoint server has no keys nevertheless, unless a test needs several people. */
  isOpen?: boolean;
  /** The arguments of npm that serve the built app on this port of 127.0.0.1. */
  serve: (port: number) => readonly string[];
  /** Its page, for one chat. */
  page: (page: Page, address: string, chatId: string) => AppPage;
}

/** What a card says about its call. */
export type CardState =
  /** It waits for a decision, and offers one. */
  | "waiting"
  /** It has an output. */
  | "done"
  | "denied";

/** What a user does with an app, and sees in it. */
export interface AppPage {
  /** Opens the chat, and waits until the app can be used. */
  open: () => Promise<void>;
  send: (text: string) => Promise<void>;
  /** The texts of the assistant, in order. */
  answers: Locator;
  /** The cards of all calls of a tool, in order. */
  cards: (tool: string) => Locator;
  approve: (card: Locator) => Promise<void>;
  deny: (card: Locator) => Promise<void>;
  /** Waits until the card says so. */
  expectState: (card: Locator, state: CardState) => Promise<void>;
  /** Waits until the card says that this user's approval is one of two. */
  expectVoted: (card: Locator) => Promise<void>;
}

/** An app that is being served. */
export interface ServedApp {
  address: string;
  stop: () => Promise<void>;
}

/**
 * Copies the example as a user would, installs it with the packed npm package, builds it and serves it. Its build and
 * its server get the address of the Holdpoint server as `AGENT_URL`.
 */
export async function serve(app: App, ports: { app: number; holdpoint: number }): Promise<ServedApp> {
  const env = { AGENT_URL: `http://127.0.0.1:${ports.holdpoint}`, NEXT_TELEMETRY_DISABLED: "1" };
  const folder = await build(app, env);
  const served: Running = start("npm", app.serve(ports.app), {
    cwd: folder,
    env: { ...env, ...(app.key !== undefined && { AGENT_KEY: app.key }) },
  });
  const address = `http://127.0.0.1:${ports.app}`;
  try {
    await answers(address, served);
  } catch (error) {
    await served.kill();
    throw error;
  }
  return { address, stop: () => served.kill() };
}

/**
 * The folder of the built app. Playwright replaces a worker after every failed test: an app is built once in a run,
 * and one that can't be built is not tried again.
 */
async function build(app: App, env: Record<string, string>): Promise<string> {
  const name = isShort ? `${app.name}-short` : app.name;
  const folder = folderOf(name);
  const marker = folderOf(`${name}.build`);
  const key = `${prepared().run} ${env.AGENT_URL}`;
  const [builtKey, failure] = existsSync(marker) ? (JSON.parse(readFileSync(marker, "utf8")) as string[]) : [];
  if (builtKey === key) {
    if (failure) throw new Error(failure);
    return folder;
  }
  try {
    if (isShort) {
      copy(app, folder);
      linkPackages(folder);
    } else await install(app, folder);
    await run("npm", ["run", "build"], { cwd: folder, env });
  } catch (error) {
    writeFileSync(marker, JSON.stringify([key, error instanceof Error ? error.message : String(error)]));
    throw error;
  }
  writeFileSync(marker, JSON.stringify([key]));
  return folder;
}

/** Copies the example, in place of what an earlier run has left. */
function copy({ example }: App, folder: string): string {
  const source = join(repository, example.startsWith("tests/") ? example : `examples/${example}`);
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder)) {
    if (!KEPT.has(entry)) rmSync(join(folder, entry), { recursive: true });
  }
  cpSync(source, folder, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
  return source;
}

/** Copies the example and installs its packages. They are kept between runs until one of them changes. */
async function install(app: App, folder: string): Promise<void> {
  const { tarball, digest } = prepared();
  const source = copy(app, folder);
  const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Manifest;
  manifest.dependencies = { ...manifest.dependencies, ...app.dependencies, holdpoint: `file:${tarball}` };
  const text = JSON.stringify(manifest, undefined, 2);
  writeFileSync(join(folder, "package.json"), text);
  const key = createHash("sha256").update(digest).update(text).digest("hex");
  const marker = join(folder, INSTALLED);
  if (existsSync(marker) && readFileSync(marker, "utf8") === key) return;
  rmSync(join(folder, "node_modules"), { recursive: true, force: true });
  rmSync(marker, { force: true });
  await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], { cwd: folder });
  writeFileSync(marker, key);
}

interface Manifest {
  dependencies?: Record<string, string>;
}

const INSTALLED = ".installed";
const KEPT: ReadonlySet<string> = new Set(["node_modules", INSTALLED]);
/** What a developer's own run leaves in the example's folder. */
const NOT_COPIED: ReadonlySet<string> = new Set(["node_modules", "dist", ".next", "package-lock.json"]);
