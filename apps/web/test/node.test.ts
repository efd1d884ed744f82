import { expect, it } from "vitest";
import { nodeOf } from "../src/api/node";

it("has a node only if /health names one", () => {
  const node = "0123456789abcdef0123456789abcdef";
  expect(nodeOf({ status: "ok", node })).toBe(node);
  for (const body of [{ status: "ok" }, { node: 7 }, { node: "<b>" }, null, "ok", []])
    expect(nodeOf(body)).toBeUndefined();
});
