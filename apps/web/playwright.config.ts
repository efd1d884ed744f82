import { defineConfig } from "@playwright/test";

/** `short` (the default) plays every flow in one mode and the important ones in all; `full` plays everything in all modes. */
export const isFull = process.env.HOLDPOINT_E2E === "full";

/**
 * Every window loads two pages of the address bar, which no test sees: about a quarter of all CPU time.
 * Of two `--disable-features` Chromium takes the last one, so Playwright's own are here too (its `chromiumSwitches.ts`).
 */
const disabledFeatures = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  // Playwright's own.
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  timeout: 60_000,
  expect: { timeout: 12_000 },
  fullyParallel: true,
  workers: Number(process.env.HOLDPOINT_E2E_WORKERS ?? 2),
  forbidOnly: process.env.CI !== undefined,
  reporter: [["list"]],
  use: {
    viewport: { width: 1360, height: 860 },
    actionTimeout: 12_000,
    // A trace makes every step slower; ask for one with `--trace on`.
    trace: "off",
    screenshot: "only-on-failure",
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
        `--disable-features=${disabledFeatures.join(",")}`,
      ],
    },
  },
});
