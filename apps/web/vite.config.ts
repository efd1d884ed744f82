import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";

/** The server that answers the API while the console itself is served by Vite. */
const backend = process.env.HOLDPOINT_BACKEND ?? "http://127.0.0.1:8787";

// A server without keys refuses a foreign Host or Origin, so both are rewritten to its own.
const toBackend: ProxyOptions = { target: backend, changeOrigin: true, ws: true, headers: { origin: backend } };
const proxy = { "/api": toBackend, "/stream": toBackend, "/live": toBackend, "/health": toBackend };

function client(path: string): string {
  return fileURLToPath(new URL(`../../packages/client/src/${path}`, import.meta.url));
}

export default defineConfig({
  // The page has several paths, such as /inbox and /hold/ID.
  base: "/",
  plugins: [react()],
  resolve: {
    // The client's sources, so that the console builds without building the client first.
    alias: [
      { find: /^holdpoint\/react$/, replacement: client("react/index.ts") },
      { find: /^holdpoint\/demo$/, replacement: client("demo.ts") },
      { find: /^holdpoint\/protocol$/, replacement: client("protocol.ts") },
      { find: /^holdpoint$/, replacement: client("index.ts") },
    ],
    // The client has these too; two Reacts would not know of each other's hooks.
    dedupe: ["react", "react-dom", "ai", "@ai-sdk/react"],
  },
  server: { proxy },
  preview: { proxy },
  build: { target: "es2022", sourcemap: false, reportCompressedSize: true },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
