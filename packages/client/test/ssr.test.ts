import type { UIMessage } from "ai";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, it } from "vitest";
import { useApprovals, useHoldpoint, type WebSocketTransportClass } from "../src/react/index.js";
import { modes, webSocketTransport } from "./support/hook.js";

// This file runs in Node.js, without a DOM: like the server of a Next.js app.
it("has no page here", () => {
  expect(globalThis.document).toBeUndefined();
  expect(globalThis.location).toBeUndefined();
});

const messages: UIMessage[] = [{ id: "u1", role: "user", parts: [{ type: "text", text: "hello from before" }] }];

it.each(modes)("a chat renders on a server without baseUrl: %s", (mode) => {
  function Page() {
    const chat = useHoldpoint({
      mode,
      id: "c",
      messages,
      webSocketTransport: webSocketTransport as WebSocketTransportClass,
      handlers: {},
    });
    const text = chat.messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));
    return createElement("p", null, text.join(), chat.server.state, chat.status);
  }
  const page = renderToString(createElement(Page));
  expect(page).toContain("hello from before");
  expect(page).toContain("connecting");
});

it("the inbox renders on a server without baseUrl", () => {
  function Page() {
    const { approvals, isConnected } = useApprovals();
    return createElement("p", null, approvals === undefined ? "Connecting" : "", String(isConnected));
  }
  expect(renderToString(createElement(Page))).toContain("Connecting");
});
