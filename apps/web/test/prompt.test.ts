import { describe, expect, it } from "vitest";
import { blankDraft, type Draft, type DraftField } from "../src/form/draft";
import { readDraft } from "../src/form/read";
import { answerOf } from "../src/prompt/answer";
import { promptInCard, promptsStore } from "../src/prompt/openPrompts";
import { promptOf } from "../src/prompt/prompt";

function fields(properties: object, required: string[] = []): readonly DraftField[] {
  const prompt = promptOf({ message: "?", from: "book", schema: { type: "object", properties, required } });
  return blankDraft(prompt?.schema).fields;
}

/** What a control holds: a text, a checked state, or the indexes of chosen options. */
type Given = string | boolean | readonly string[];

function written(draft: Draft, given: Given): Draft {
  switch (draft.kind) {
    case "boolean":
      return { ...draft, value: given === true };
    case "choice":
      return { ...draft, at: String(given) };
    case "choices":
      return { ...draft, chosen: Array.isArray(given) ? given : [] };
    default:
      return { ...draft, text: String(given) } as Draft;
  }
}

/** What the only field makes of what was given. */
function read(property: object, given: Given, isRequired = false) {
  const [field] = fields({ it: property }, isRequired ? ["it"] : []);
  if (field === undefined) throw new Error("There is no field.");
  const problems = new Map<string, string>();
  const draft = { ...field, draft: written(field.draft, given) };
  const content = readDraft({ kind: "object", fields: [draft] }, "", problems);
  return problems.get("/it") ?? content;
}

describe("promptOf", () => {
  it("reads a call's input, and nothing else", () => {
    expect(promptOf({ message: "Which?", schema: { type: "object" }, from: "book" })).toEqual({
      message: "Which?",
      schema: { type: "object" },
      from: "book",
    });
    expect(promptOf({ message: "Go on?", schema: [] })).toEqual({ message: "Go on?", schema: {}, from: undefined });
    expect(promptOf({ schema: {} })).toBeUndefined();
    expect(promptOf(null)).toBeUndefined();
  });
});

describe("a form to fill in", () => {
  it("keeps the order, the words and the defaults", () => {
    const found = fields(
      {
        name: {
          type: "string",
          title: "Your name",
          description: "As on the passport",
          default: "Hanako",
          maxLength: 40,
        },
        seats: { type: "integer", minimum: 1, maximum: 9, default: 2 },
        price: { type: "number" },
        window: { type: "boolean", default: true },
        meal: { type: "string", enum: ["a", "b"], enumNames: ["Fish", "Rice"], default: "b" },
        bags: { oneOf: [{ const: 1, title: "One" }, { const: 2 }] },
        extras: { type: "array", items: { enum: ["wifi", "lounge"] }, default: ["lounge"], minItems: 1 },
        odd: { type: "object" },
      },
      ["name"],
    );
    expect(found.map(({ name }) => name)).toEqual([
      "name",
      "seats",
      "price",
      "window",
      "meal",
      "bags",
      "extras",
      "odd",
    ]);
    expect(found[0]).toMatchObject({ label: "Your name", about: "As on the passport", isRequired: true });
    expect(found[1]).toMatchObject({ label: "seats", isRequired: false });
    expect(found.map(({ draft }) => draft)).toMatchObject([
      { kind: "text", text: "Hanako", limits: { maxLength: 40 } },
      { kind: "number", isWhole: true, limits: { minimum: 1, maximum: 9 }, text: "2" },
      { kind: "number", isWhole: false, text: "" },
      { kind: "boolean", value: true },
      {
        kind: "choice",
        at: "1",
        options: [
          { value: "a", label: "Fish" },
          { value: "b", label: "Rice" },
        ],
      },
      {
        kind: "choice",
        at: "",
        options: [
          { value: 1, label: "One" },
          { value: 2, label: "2" },
        ],
      },
      { kind: "choices", chosen: ["1"], limits: { minItems: 1 } },
      { kind: "object", fields: [] },
    ]);
  });

  it.each(["email", "uri", "date", "date-time"])("knows the format %s", (format) => {
    expect(fields({ it: { type: "string", format } })).toMatchObject([{ draft: { kind: "text", format } }]);
  });

  it("takes anything for a schema", () => {
    const schemas = [{}, { properties: [] }, { properties: { a: null }, required: "a" }];
    const found = schemas.map((schema) => blankDraft(schema).fields.length);
    expect(found).toEqual([0, 0, 1]);
  });
});

describe("what was filled in", () => {
  it.each<[object, Given, unknown]>([
    [{ type: "string" }, " a ", { it: " a " }],
    [{ type: "string" }, "", {}],
    [{ type: "string", minLength: 2 }, "𠮷", "At least 2 characters."],
    [{ type: "string", maxLength: 1 }, "ab", "At most 1 character."],
    [{ type: "string", format: "email" }, "a@b.example", { it: "a@b.example" }],
    [{ type: "string", format: "email" }, "a@b", expect.stringContaining("e-mail")],
    [{ type: "string", format: "uri" }, "https://a.example/x", { it: "https://a.example/x" }],
    [{ type: "string", format: "uri" }, "a.example", expect.stringContaining("address")],
    [{ type: "string", format: "date" }, "2026-02-28", { it: "2026-02-28" }],
    [{ type: "string", format: "date" }, "2026-02-30", expect.stringContaining("date")],
    [{ type: "string", format: "date-time" }, "2026-02-28T10:00", { it: expect.stringMatching(/^2026-02-2\dT.*Z$/) }],
    [{ type: "number" }, "1.5", { it: 1.5 }],
    [{ type: "number" }, "0", { it: 0 }],
    [{ type: "number" }, "", {}],
    [{ type: "number" }, "one", "Write a number."],
    [{ type: "integer" }, "1.5", "Write a whole number."],
    [{ type: "integer", minimum: 1 }, "0", "At least 1."],
    [{ type: "integer", maximum: 9 }, "10", "At most 9."],
    [{ type: "boolean" }, false, { it: false }],
    [{ type: "boolean" }, true, { it: true }],
    [{ enum: ["a", "b"] }, "1", { it: "b" }],
    [{ enum: [1, 2] }, "0", { it: 1 }],
    [{ enum: ["a", "b"] }, "", {}],
    [{ type: "array", items: { enum: ["a", "b", "c"] } }, ["0", "2"], { it: ["a", "c"] }],
    [{ type: "array", items: { enum: ["a", "b"] }, minItems: 2 }, ["0"], "Choose at least 2."],
    [{ type: "array", items: { enum: ["a", "b"] }, maxItems: 1 }, ["0", "1"], "Choose at most 1."],
  ])("%j with %j", (property, given, content) => {
    expect(read(property, given)).toEqual(content);
  });

  it.each<[object, Given, string]>([
    [{ type: "string" }, "  ", "Fill this in."],
    [{ type: "number" }, "", "Write a number."],
    [{ enum: ["a"] }, "", "Choose one."],
    [{ type: "array", items: { enum: ["a"] }, minItems: 1 }, [], "Choose one."],
  ])("%j is required", (property, given, problem) => {
    expect(read(property, given, true)).toBe(problem);
  });

  it("says everything that is wrong at once", () => {
    const problems = new Map<string, string>();
    readDraft(
      blankDraft({ properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a", "b"] }),
      "",
      problems,
    );
    expect(problems).toEqual(
      new Map([
        ["/a", "Fill this in."],
        ["/b", "Write a number."],
      ]),
    );
  });

  it("is a text where anything may be written, and an address where the schema says which", () => {
    expect(read({}, "a")).toEqual({ it: "a" });
    expect(read({ title: "Name" }, "")).toEqual({});
    const root = { properties: { it: { $ref: "#/$defs/seat" } }, $defs: { seat: { enum: ["a", "b"] } } };
    expect(blankDraft(root).fields).toMatchObject([{ draft: { kind: "choice" } }]);
  });
});

describe("answerOf", () => {
  it("says in the form's words what was answered", () => {
    const form = fields({ meal: { enum: ["f"], enumNames: ["Fish"], title: "Meal" }, ok: { type: "boolean" } });
    expect(answerOf({ action: "accept", content: { meal: "f", ok: false, more: 1 } }, form)).toEqual({
      action: "accept",
      rows: [
        { label: "Meal", value: "Fish" },
        { label: "ok", value: "no" },
        { label: "more", value: 1 },
      ],
    });
    expect(answerOf({ action: "decline" }, form)).toEqual({ action: "decline", rows: [] });
    expect(answerOf("no", form)).toBeUndefined();
  });
});

describe("promptInCard", () => {
  const ask = (signal: AbortSignal) =>
    promptInCard({ toolCallId: "c", message: "?", schema: {}, from: undefined, signal });

  it("waits for the card's answer", async () => {
    const answer = ask(new AbortController().signal);
    promptsStore.read().get("c")?.({ action: "decline" });
    expect(await answer).toEqual({ action: "decline" });
    expect(promptsStore.read().size).toBe(0);
  });

  it("is withdrawn, but not for the one that came after it", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const before = ask(first.signal);
    const after = ask(second.signal);
    first.abort();
    await expect(before).rejects.toThrow("The prompt was withdrawn.");
    expect(promptsStore.read().size).toBe(1);
    second.abort();
    await expect(after).rejects.toThrow();
    expect(promptsStore.read().size).toBe(0);
  });
});
