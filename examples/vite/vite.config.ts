import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type ProxyOptions } from "vite";

export default defineConfig(({ mode }) => {
  // From the environment, or from a file `.env`.
  const { AGENT_URL = "http://127.0.0.1:8787", AGENT_KEY } = loadEnv(mode, ".", "AGENT_");
  const agent = toAgent(AGENT_URL, AGENT_KEY);
  const proxy = { "/api": agent, "/live": agent };
  return { plugins: [react()], server: { proxy }, preview: { proxy } };
});

function toAgent(target: string, key: string | undefined): ProxyOptions {
  return {
    target,
    // For a server with keys. Everybody who reaches this page acts with this key: it is for your own machine.
    headers: key ? { authorization: `Bearer ${key}` } : {},
    // The server takes requests for its own host only.
    changeOrigin: true,
    // `/live` is a WebSocket.
    ws: true,
    // When the server dies, Vite leaves its open responses open. The browser would wait for events that never come.
    configure: (proxy) => {
      proxy.on("proxyRes", (incoming, _request, outgoing) => {
        incoming.on("close", () => {
          if (!incoming.complete) outgoing.destroy();
        });
      });
    },
  };
}
