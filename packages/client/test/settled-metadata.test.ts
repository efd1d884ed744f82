import { expect, it } from "vitest";
import { settledMetadata } from "../src/calls/settled-metadata.js";

const part = (holdpoint: unknown) => ({ type: "tool-pay", callProviderMetadata: { holdpoint } });

it("reads why a call ended and who decided", () => {
  const fields = { cause: "decision", decidedBy: ["alice"], decidedAt: "2026-11-15T12:00:00Z", edited: false };
  expect(settledMetadata(part(fields))).toEqual(fields);
  expect(settledMetadata(part({ cause: "superseded", decidedBy: [], edited: false }))).toEqual({
    cause: "superseded",
    decidedBy: [],
    edited: false,
  });
});

it.each([
  undefined,
  null,
  7,
  {},
  { callProviderMetadata: null },
  { callProviderMetadata: { openai: { cause: "ran" } } },
  part(null),
  part({}),
  part({ cause: "something new" }),
])("has nothing to say about %j", (value) => {
  expect(settledMetadata(value)).toBeUndefined();
});

it("reads what it can of a newer server's", () => {
  expect(settledMetadata(part({ cause: "ran", decidedBy: [1, "bob"], grant: "g1", when: 1, edited: "yes" }))).toEqual({
    cause: "ran",
    decidedBy: ["bob"],
    grant: "g1",
    edited: false,
  });
});
