import { expect, it } from "vitest";
import { perServer } from "../src/server/per-server.js";

it("shares one instance per server and key, and forgets the keys of a server's earlier users", () => {
  let made = 0;
  const instanceOf = perServer(() => ({ number: ++made }));
  const first = instanceOf({ apiKey: "in use" });
  // A server that renders for its users has a different key with every request.
  for (let user = 0; user < 10_000; user++) {
    instanceOf({ apiKey: `user ${user}` });
    expect(instanceOf({ apiKey: "in use" })).toBe(first);
  }
  expect(made).toBe(10_001);
  instanceOf({ apiKey: "user 9999" });
  expect(made, "the latest are kept").toBe(10_001);
  instanceOf({ apiKey: "user 0" });
  expect(made, "the first is gone").toBe(10_002);
});
