import { describe, expect, it } from "vitest";
import { changesOf } from "../src/edit/changes";
import { type Draft, draftOf, emptyDraft, hasControl } from "../src/form/draft";
import { readDraft } from "../src/form/read";

const schema = {
  type: "object",
  required: ["amount", "to"],
  properties: {
    amount: { type: "number", title: "Amount" },
    count: { type: "integer" },
    urgent: { type: "boolean" },
    currency: { enum: ["USD", "EUR", null] },
    to: { $ref: "#/$defs/person" },
    tags: { type: "array", items: { type: "string" } },
    people: { type: "array", items: { $ref: "#/$defs/person" } },
    note: { type: ["string", "null"] },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    tuple: { type: "array", prefixItems: [{ type: "string" }] },
  },
  $defs: {
    person: {
      type: "object",
      title: "Person",
      required: ["name"],
      properties: { name: { type: "string", title: "Name" } },
    },
  },
};
const value = {
  amount: 5,
  count: 2,
  urgent: false,
  currency: "EUR",
  to: { name: "Hanako" },
  tags: ["a", "b"],
  people: [{ name: "Bob" }],
  note: null,
  either: 1,
  tuple: ["x"],
  extra: { deep: [true, "y"] },
};

function read(draft: Draft) {
  const problems = new Map<string, string>();
  const read = readDraft(draft, "", problems);
  return problems.size > 0 ? Object.fromEntries(problems) : read;
}
/** The draft with another draft for a field. */
function put(draft: Draft, name: string, changed: Draft): Draft {
  if (draft.kind !== "object") throw new Error("Not an object.");
  return {
    kind: "object",
    fields: draft.fields.map((field) => (field.name === name ? { ...field, draft: changed } : field)),
  };
}
const kinds = (draft: Draft) =>
  draft.kind === "object" ? Object.fromEntries(draft.fields.map((field) => [field.name, field.draft.kind])) : {};

describe("a draft", () => {
  it("has a control for each kind of field, and a JSON editor for the rest", () => {
    expect(kinds(draftOf(value, schema))).toEqual({
      amount: "number",
      count: "number",
      urgent: "boolean",
      currency: "choice",
      to: "object",
      tags: "list",
      people: "list",
      note: "json",
      either: "json",
      tuple: "json",
      extra: "object",
    });
  });

  it("has the usual control for a value that may be null, and JSON for a null", () => {
    const nullable = {
      type: "object",
      properties: {
        text: { type: ["string", "null"] },
        person: { anyOf: [{ $ref: "#/$defs/person" }, { type: "null" }] },
        many: { type: ["string", "number"] },
      },
      $defs: schema.$defs,
    };
    const given = { text: "a", person: { name: "Bob" }, many: 1 };
    expect(kinds(draftOf(given, nullable))).toEqual({ text: "text", person: "object", many: "json" });
    expect(read(draftOf(given, nullable))).toEqual(given);
    const nothing = { text: null, person: null, many: "x" };
    expect(kinds(draftOf(nothing, nullable))).toEqual({ text: "json", person: "json", many: "json" });
    expect(read(draftOf(nothing, nullable))).toEqual(nothing);
    expect(read(emptyDraft(nullable.properties.person, nullable))).toEqual({ name: "" });
  });

  it.each([
    ["an input", value, schema],
    ["a value without a schema", value, undefined],
    ["a value that does not fit its schema", { amount: "five", to: 1 }, schema],
    ["a value that is no object", ["a", 1], {}],
    ["what could be mistaken", { "a/b": { "~": "" }, "": 0, n: 1e21, s: "5", long: "x\n".repeat(90) }, {}],
  ])("of %s, unchanged, is that value", (_, given, described) => {
    expect(read(draftOf(given, described))).toEqual(given);
  });

  it("leaves out what is absent, and nothing else", () => {
    const draft = draftOf({ amount: 5, to: { name: "" } }, schema);
    expect(kinds(draft)).toMatchObject({ count: "absent", tags: "absent", to: "object" });
    expect(read(draft)).toEqual({ amount: 5, to: { name: "" } });
    expect(read(put(draft, "tags", emptyDraft(schema.properties.tags, schema)))).toMatchObject({ tags: [] });
    expect(read(put(draftOf(value, schema), "currency", { kind: "absent" }))).not.toHaveProperty("currency");
  });

  it("of a new object has its required fields", () => {
    expect(read(emptyDraft(schema.properties.to, schema))).toEqual({ name: "" });
    expect(read(emptyDraft({ type: "integer" }, schema))).toEqual({ "": "Write a number." });
    expect(read(emptyDraft({ type: "integer", default: 3 }, schema))).toBe(3);
  });

  it.each([
    ["number", "", { "/amount": "Write a number." }],
    ["number", "1,5", { "/amount": "Write a number." }],
    ["number", "0x10", { "/amount": "Write a number." }],
    ["number", "1e999", { "/amount": "Write a number." }],
    ["json", "{", { "/amount": "This is not valid JSON." }],
  ] as const)("%s %j is a problem at its field", (kind, text, problems) => {
    const changed: Draft = kind === "json" ? { kind, text } : { kind, text, isWhole: false, limits: {} };
    expect(read(put(draftOf(value, schema), "amount", changed))).toEqual(problems);
  });

  it("has the limits of its schema, once it is changed", () => {
    const strict = {
      properties: {
        amount: { type: "number", minimum: 0.01, exclusiveMaximum: 100 },
        code: { type: "string", minLength: 2, maxLength: 3 },
        mail: { type: "string", format: "email" },
        at: { type: "string", format: "date-time" },
      },
    };
    // What was there is what the server has let through, whatever this form thinks of it.
    const given = { amount: 500, code: "long", mail: "root@localhost", at: "2026-01-31T10:00:00+09:00" };
    const draft = draftOf(given, strict);
    expect(read(draft)).toEqual(given);
    const write = (name: string, text: string) => {
      const field = draft.kind === "object" ? draft.fields.find((each) => each.name === name) : undefined;
      return read(put(draft, name, { ...field?.draft, text } as Draft));
    };
    expect(write("amount", "-5")).toEqual({ "/amount": "At least 0.01." });
    expect(write("amount", "100")).toEqual({ "/amount": "Less than 100." });
    expect(write("code", "a")).toEqual({ "/code": "At least 2 characters." });
    expect(write("mail", "hanako")).toEqual({ "/mail": expect.stringContaining("e-mail") });
    expect(write("at", "soon")).toEqual({ "/at": "Write a date and a time." });
    expect(write("at", "2026-02-01T10:00:00+09:00")).toMatchObject({ at: "2026-02-01T10:00:00+09:00" });
  });

  it("knows which pointers have a control", () => {
    const draft = draftOf({ ...value, "a/b": 1 }, schema);
    expect(
      ["/amount", "/to/name", "/people/0/name", "/a~1b", "/tuple"].map((at) => hasControl(draft, at)),
    ).not.toContain(false);
    expect(["", "/to", "/people/1/name", "/none"].map((at) => hasControl(draft, at))).not.toContain(true);
  });

  it("ends at a schema that refers to itself", () => {
    const tree = { $ref: "#/$defs/tree", $defs: { tree: { $ref: "#/$defs/tree" } } };
    expect(draftOf({ a: 1 }, tree).kind).toBe("json");
  });
});

describe("changesOf", () => {
  it("has the fields that differ", () => {
    const after = { ...value, amount: 6, to: { name: "Bob" }, tags: ["a"], more: null };
    expect(changesOf(value, after)).toEqual([
      { path: "amount", before: 5, after: 6 },
      { path: "to.name", before: "Hanako", after: "Bob" },
      { path: "tags[1]", before: "b", after: undefined },
      { path: "more", before: undefined, after: null },
    ]);
    expect(changesOf(value, structuredClone(value))).toEqual([]);
    expect(changesOf({ a: [] }, { a: {} })).toEqual([{ path: "a", before: [], after: {} }]);
    expect(changesOf({ a: "1" }, { a: 1 })).toHaveLength(1);
  });
});
