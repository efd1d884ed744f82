import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

export default defineConfig(({ mode }) => {
  // From the environment, or from a file `.env`.
  const { AGENT_URL = "http://127.0.0.1:8787" } = loadEnv(mode, ".", "AGENT_");
  // The server takes requests for its own host only (`changeOrigin`). `/live` is a WebSocket (`ws`).
  const toAgent = { target: AGENT_URL, changeOrigin: true, ws: true };
  const proxy = { "/api": toAgent, "/live": toAgent };
  return { plugins: [react()], server: { proxy }, preview: { proxy } };
});
