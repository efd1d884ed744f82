import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createServer, type ViteDevServer } from "vite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const web = fileURLToPath(new URL("../", import.meta.url));

/** A new card, as somebody would write it. */
const CARD = `
import { Rocket } from "lucide-react";
import type { CardBodyProps, CardEntry } from "../cardEntry";

export default {
  tool: "launch_rocket",
  icon: Rocket,
  headline: (input) => "Launch to " + (input as { target: string }).target,
  body: ({ call }: CardBodyProps) => <p>T minus {(call.input as { seconds: number }).seconds}</p>,
  handler: async () => "launched",
} satisfies CardEntry;
`;

let folder: string;
let server: ViteDevServer;

/** The console's sources with one more file. */
beforeAll(async () => {
  for (const name of ["sessionStorage", "localStorage"]) vi.stubGlobal(name, { getItem: () => null });
  vi.stubGlobal("window", { addEventListener: () => undefined, removeEventListener: () => undefined });
  vi.stubGlobal("location", { pathname: "/", hash: "", href: "http://localhost/" });
  mkdirSync(`${web}test-results`, { recursive: true });
  folder = mkdtempSync(`${web}test-results/cards-`);
  cpSync(`${web}src`, `${folder}/src`, { recursive: true });
  writeFileSync(`${folder}/src/tools/cards/launch_rocket.tsx`, CARD);
  server = await createServer({
    root: folder,
    configFile: `${web}vite.config.ts`,
    logLevel: "silent",
    server: { middlewareMode: true, watch: null, ws: false },
    optimizeDeps: { noDiscovery: true },
  });
}, 120_000);
afterAll(async () => {
  await server?.close();
  rmSync(folder, { recursive: true, force: true });
  vi.unstubAllGlobals();
});

async function shown(toolName: string, input: unknown): Promise<string> {
  const { createElement } = await import("react");
  const { renderToStaticMarkup } = await import("react-dom/server");
  const { MessagePart } = await server.ssrLoadModule("/src/chat/MessagePart.tsx");
  const nothing = () => undefined;
  const lookup = {
    toolNamed: nothing,
    holdOf: nothing,
    pendingOf: nothing,
    progressOf: nothing,
    runOf: nothing,
    actions: { decide: nothing, retry: nothing },
  };
  const part = { type: "dynamic-tool", toolName, toolCallId: "c", state: "input-available", input };
  return renderToStaticMarkup(createElement(MessagePart, { id: "p", part, lookup }));
}

describe("a card", () => {
  it("is one file: its icon, headline and body are shown, and its handler is there", async () => {
    const html = await shown("launch_rocket", { target: "Mars", seconds: 10 });
    expect(html).toContain("Launch to Mars");
    expect(html).toContain("T minus 10");
    expect(html).toContain("lucide-rocket");
    const { browserTools } = await server.ssrLoadModule("/src/tools/browserTools.ts");
    expect(Object.keys(browserTools({})).sort()).toEqual([
      "ask_user",
      "change_bgm",
      "get_location",
      "launch_rocket",
      "open-url",
    ]);
  }, 120_000);

  it("is plain for a tool that nobody made one for", async () => {
    const html = await shown("unheard_of", { target: "Mars" });
    expect(html).toContain("lucide-wrench");
    expect(html).toContain("unheard_of");
    expect(html).toContain("Mars");
  }, 120_000);

  it("shows the tool's name where its input is not what the headline expects", async () => {
    for (const tool of ["get_weather", "change_bgm", "open-url"]) {
      for (const input of [undefined, null, 7, "x", { location: 1, track: "x", url: "javascript:alert(1)" }]) {
        expect(await shown(tool, input)).toContain(
          `<h2 class="tool-card__title"><span class="headline"><bdi class="untrusted">${tool}</bdi>`,
        );
      }
    }
    expect(await shown("open-url", { url: "https://example.com/a" })).toContain("Open example.com");
  }, 120_000);

  it("is the only one of its tool", async () => {
    const { byTool } = await server.ssrLoadModule("/src/tools/registry.ts");
    expect(() => byTool([{ tool: "a" }, { tool: "a" }])).toThrow("Two files have a card for a.");
  });
});
