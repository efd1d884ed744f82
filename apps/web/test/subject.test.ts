import { describe, expect, it } from "vitest";
import { subjectOf } from "../src/tools/subject";

const schema = {
  properties: { description: {}, amount: { title: "Amount" }, recipient: {}, currency: {} },
  required: ["amount", "recipient", "currency"],
};

describe("what a call is about", () => {
  it("is its title and its short fields, required ones first", () => {
    const input = { description: "lunch", amount: 50, recipient: "Hanako", currency: "USD", extra: { deep: 1 } };
    expect(subjectOf("Send a payment", input, schema)).toBe(
      "Send a payment, Amount 50, recipient Hanako, currency USD, description lunch, and 1 more field",
    );
  });

  it("needs no schema, and shows what nobody would hear", () => {
    expect(subjectOf("Wipe", { host: "a\u202eb" }, undefined)).toBe("Wipe, host a[U+202E]b");
    expect(subjectOf("Wipe", undefined, undefined)).toBe("Wipe");
    expect(subjectOf("Wipe", { note: "x".repeat(200) }, undefined)).toHaveLength("Wipe, note ".length + 61);
  });
});
