import { defineConfig } from "@playwright/test";

/** `short` (the default) plays every flow in one mode and the important ones in all; `full` plays everything in all modes. */
export const isFull = process.env.HOLDPOINT_E2E === "full";

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  timeout: 30_000,
  expect: { timeout: 8_000 },
  fullyParallel: true,
  workers: Number(process.env.HOLDPOINT_E2E_WORKERS ?? 2),
  forbidOnly: process.env.CI !== undefined,
  reporter: [["list"]],
  use: {
    viewport: { width: 1360, height: 860 },
    actionTimeout: 8_000,
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
