import { defineConfig } from "@playwright/test";
import { SHORT } from "./support/scenarios";
import { isShort, STARTERS } from "./support/starters";

export default defineConfig({
  testDir: ".",
  outputDir: "test-results",
  globalSetup: "./support/setup.ts",
  ...(isShort && { testMatch: STARTERS.map((name) => `${name}.spec.ts`), grep: new RegExp(SHORT) }),
  // Far more than it takes: another program may have the processor.
  timeout: 120_000,
  expect: { timeout: 60_000 },
  // An app is built once, and its scenarios are played one after the other.
  fullyParallel: false,
  workers: Number(process.env.APPS_WORKERS ?? (isShort ? 2 : 1)),
  forbidOnly: process.env.CI !== undefined,
  reporter: [["list"]],
  use: {
    actionTimeout: 60_000,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
    },
  },
});
