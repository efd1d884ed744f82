import type { Chunk } from "holdpoint/protocol";
import { describe, expect, it } from "vitest";
import { delayAfter } from "../src/chat/delay";

describe("a model that is asked again", () => {
  const retry = (data: unknown): Chunk => ({ type: "data-holdpoint-retry", data, transient: true });

  it("is reported in the server's words", () => {
    expect(delayAfter(retry({ message: "Busy. Trying again in 7 seconds.", seconds: 7 }))).toEqual({
      message: "Busy. Trying again in 7 seconds.",
    });
  });

  it("is over with whatever comes next", () => {
    const chunks: (Chunk | "[DONE]")[] = [
      { type: "text-start", id: "1" },
      { type: "error", errorText: "no" },
      { type: "data-other", data: { message: "x" } },
      "[DONE]",
    ];
    expect(chunks.map(delayAfter)).toEqual(chunks.map(() => undefined));
  });

  it("is not reported without words", () => {
    for (const data of [null, undefined, "text", {}, { message: 7 }, { message: "" }, []])
      expect(delayAfter(retry(data))).toBeUndefined();
  });
});
