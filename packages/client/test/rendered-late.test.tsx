// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, it } from "vitest";
import { modes, renderChat } from "./support/hook.js";
import { startServer, type TestServer } from "./support/server.js";
import { slowFetch, slowWebSocket } from "./support/slow-network.js";
import { until } from "./support/until.js";

/**
 * React renders later than the chat changes: up to a frame in a browser, more on a busy machine, and only after the
 * callback within `act`. What the server's record is merged into must be the chat, not what was rendered last.
 */
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
});
afterEach(cleanup);

describe.each(modes)("%s", (mode) => {
  // The record is read at every point of the response that follows the first decision.
  it.each([0, 10, 20, 30, 40, 60])("two payments, and the record arrives %i ms late", async (delay) => {
    const isRecord = (url: string) => url.includes("/messages") || url.includes("/holds");
    const { chat, say, approvalRequest, settled } = renderChat(mode, {
      baseUrl: server.url,
      fetch: slowFetch((url) => (isRecord(url) ? delay : 0)),
      webSocket: slowWebSocket(() => 4),
    });
    await say("send $30 to Alice and $40 to Bob");
    const first = await approvalRequest();
    await act(async () => void (await chat().approve(first)));
    const second = await until("the second request", () => approvalRequest().then((id) => id !== first && id));
    await act(async () => void (await chat().approve(second)));
    await settled("output-available");
  });
});
