// A slow tool: an HTTP endpoint that responds when the test says so.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";

/** Starts it. `config` declares it as the tool `slow_payment`, which needs an approval. One call at a time. */
export async function openEndpoint() {
  const calls = [];
  let waiting;
  const server = createServer(async (request, response) => {
    const call = {
      input: JSON.parse(await text(request)),
      answer: (output) => response.setHeader("content-type", "application/json").end(JSON.stringify(output)),
      isGivenUp: new Promise((resolve) => {
        response.once("close", () => resolve(!response.writableFinished));
      }),
    };
    if (waiting) waiting(call);
    else calls.push(call);
    waiting = undefined;
  });
  await new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address();
  return {
    config: `
[tools.slow_payment]
execution = "server"
description = "Pays by a bank that takes its time"
url = "http://127.0.0.1:${port}/"
allow_private = true
approval = "always"
input_schema = { type = "object", properties = { amount = { type = "number" } } }
`,
    /** The next request. */
    called: () =>
      new Promise((resolve) => {
        if (calls.length > 0) resolve(calls.shift());
        else waiting = resolve;
      }),
    /** Requests that no test has looked at. */
    get unseen() {
      return calls.length;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
