// The SDK's own transports, which count what is sent and keep what is received.

import assert from "node:assert/strict";

/** How a client says whether its responses end at a browser's tool (`resubmit`) or wait for the result (`stream`). */
export const WAIT = "x-holdpoint-wait";

export const loginOf = (key) => (key ? { authorization: `Bearer ${key}` } : {});

/** `count` is called with "sends" or "resumes" for each request. */
export function transportOf({ sdk, isSocket }, options) {
  return isSocket ? socket(sdk, options) : http(sdk, options);
}

function http(sdk, { server, tab, headers, wait, key, count }) {
  return new sdk.DefaultChatTransport({
    api: `${server.url}/api/chat`,
    headers: { ...headers, ...(wait && { [WAIT]: wait }), ...loginOf(key) },
    fetch: (input, init) => {
      count(init.method === "POST" ? "sends" : "resumes");
      return tab.fetch(input, init);
    },
  });
}

/** `wait` is sent as a browser can: in the URL, since a handshake has no custom headers. */
function socket(sdk, { server, tab, headers, wait, key, count }) {
  const webSocket = class extends tab.webSocket() {
    send(text, ...rest) {
      const { type } = JSON.parse(text);
      if (type !== "abort") count(type === "send" ? "sends" : "resumes");
      super.send(text, ...rest);
    }
  };
  const params = async () => ({ ...(wait && { wait }), ...(key && (await ticket(server, key))) });
  return new sdk.WebSocketChatTransport({ url: `${server.url}/api/chat/ws`, headers, webSocket, params });
}

/** A browser can't send its key with the handshake, so it gets a ticket. */
async function ticket(server, key) {
  const response = await fetch(`${server.url}/api/ticket`, { method: "POST", headers: loginOf(key) });
  assert.equal(response.status, 200);
  const { ticket } = await response.json();
  return { ticket };
}
