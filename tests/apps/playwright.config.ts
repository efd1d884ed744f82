import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: ".",
  outputDir: "test-results",
  globalSetup: "./support/setup.ts",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  // An app is built once, and its scenarios are played one after the other.
  fullyParallel: false,
  workers: Number(process.env.APPS_WORKERS ?? 1),
  forbidOnly: process.env.CI !== undefined,
  reporter: [["list"]],
  use: {
    actionTimeout: 15_000,
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
    },
  },
});
