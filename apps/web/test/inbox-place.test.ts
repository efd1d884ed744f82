import { describe, expect, it, vi } from "vitest";
import { badgeText } from "../src/inbox/badge";
import { ageText } from "../src/inbox/entry";
import { actionOf } from "../src/inbox/keys";
import { outcomeText } from "../src/inbox/outcomes";
import { NARROWEST, rememberOf } from "../src/inbox/remember";
import { follow, NO_SELECTION, step } from "../src/inbox/selection";
import { matching } from "../src/shell/commands";
import { formatRoute, parseRoute, STATUS } from "../src/shell/route";
import { headlineOf, headlineText } from "../src/tools/headline";

// What the modules read of the browser when they are loaded.
vi.hoisted(() => {
  const storage = { getItem: () => null, setItem: () => undefined };
  const page = { addEventListener: () => undefined };
  const browser = {
    window: page,
    location: { pathname: "/", hash: "" },
    localStorage: storage,
    sessionStorage: storage,
  };
  Object.assign(globalThis, browser);
});

describe("the selection", () => {
  const among = ["a", "b", "c", "d"];

  it("is by id: it stays when others come and go", () => {
    expect(follow({ id: "b", among }, ["x", "a", "b", "c"])).toMatchObject({ id: "b" });
    expect(follow({ id: "b", among }, ["b"])).toMatchObject({ id: "b" });
  });

  it("goes to the next one when it is gone, else to the one before", () => {
    expect(follow({ id: "b", among }, ["a", "c", "d"]).id).toBe("c");
    expect(follow({ id: "b", among }, ["a", "d"]).id).toBe("d");
    expect(follow({ id: "d", among }, ["a", "b"]).id).toBe("b");
    expect(follow({ id: "d", among }, ["x"]).id).toBe("x");
    expect(follow({ id: "d", among }, []).id).toBeUndefined();
  });

  it("begins with the first one, and is the same while the list is", () => {
    expect(follow(NO_SELECTION, among).id).toBe("a");
    const selection = { id: "b", among };
    expect(follow(selection, among)).toBe(selection);
  });

  it("moves by steps, and stops at the ends", () => {
    expect(step({ id: "b", among }, 1).id).toBe("c");
    expect(step({ id: "a", among }, -1).id).toBe("a");
    expect(step({ id: "d", among }, 1).id).toBe("d");
    expect(step(NO_SELECTION, 1).id).toBeUndefined();
  });
});

describe("a key", () => {
  const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
    actionOf({
      key,
      ctrlKey: false,
      metaKey: false,
      altKey: false,
      shiftKey: false,
      repeat: false,
      isComposing: false,
      ...more,
    });

  it("has its action, also with caps lock", () => {
    expect(["j", "K", "A", "d", "Enter", "Escape"].map((key) => press(key))).toEqual([
      "next",
      "previous",
      "approve",
      "deny",
      "open",
      "back",
    ]);
    expect(press("?", { shiftKey: true })).toBe("help");
    expect(press("q")).toBeUndefined();
  });

  it.each(["ctrlKey", "metaKey", "altKey", "shiftKey", "isComposing"] as const)("does nothing with %s", (name) => {
    expect(press("a", { [name]: true })).toBeUndefined();
  });

  it("moves when it is held down, and never decides", () => {
    expect(press("j", { repeat: true })).toBe("next");
    for (const key of ["a", "d", "e", "r", "x", "Enter"]) expect(press(key, { repeat: true })).toBeUndefined();
  });
});

describe("a headline", () => {
  const about = { toolName: "pay", title: "Send a payment", schema: undefined, template: undefined };
  const template = "Pay {amount} {currency} to {recipient}";
  const input = { amount: 50, currency: "USD", recipient: "Hanako" };

  it("is the tool's template, with values that are told apart from its words", () => {
    const pieces = headlineOf({ ...about, input, template });
    expect(headlineText(pieces)).toBe("Pay 50 USD to Hanako");
    expect(pieces.filter(({ isValue }) => isValue).map(({ text }) => text)).toEqual(["50", "USD", "Hanako"]);
  });

  it("shows what a value hides, and cuts what is too long", () => {
    const hostile = { ...input, recipient: `Al\u202eice\n${"x".repeat(500)}` };
    const text = headlineText(headlineOf({ ...about, input: hostile, template }));
    expect(text).toContain("Al[U+202E]ice ↵ xxx");
    expect(text.length).toBeLessThan(120);
    // A value is never a template.
    const nested = { ...input, recipient: "{amount}" };
    expect(headlineText(headlineOf({ ...about, input: nested, template }))).toBe("Pay 50 USD to {amount}");
  });

  it.each([
    ["a property is missing", { amount: 50, currency: "USD" }],
    ["a property is no text", { ...input, recipient: { name: "Hanako" } }],
    ["a property is empty", { ...input, recipient: " " }],
    ["the input is no object", "50"],
  ])("falls back to the title where %s", (_, odd) => {
    expect(headlineText(headlineOf({ ...about, input: odd, template }))).toBe("Send a payment");
  });

  it("takes the first fields that have titles in the schema", () => {
    const schema = { properties: { amount: { title: "Amount" }, currency: {}, recipient: { title: "To" } } };
    expect(headlineText(headlineOf({ ...about, input, schema }))).toBe("Send a payment: Amount 50, To Hanako");
  });

  it("does not read what an object inherits", () => {
    expect(headlineText(headlineOf({ ...about, input, template: "Pay {toString}" }))).toBe("Send a payment");
  });
});

describe("what is remembered", () => {
  const now = Date.UTC(2026, 0, 1);

  it("is the narrowest unless somebody chose more", () => {
    expect(rememberOf(NARROWEST, now)).toEqual({ scope: "chat", match: "input", until: "2026-01-01T01:00:00.000Z" });
    const wide = { match: "tool", scope: "subject", duration: "always", uses: "3" } as const;
    expect(rememberOf(wide, now)).toEqual({ scope: "subject", match: "tool", uses: 3 });
  });

  it.each(["0", "-1", "1.5", "many", "1e99"])("is nothing with %s uses", (uses) => {
    expect(rememberOf({ ...NARROWEST, uses }, now)).toBeUndefined();
  });
});

describe("words", () => {
  it("say how old something is", () => {
    const at = "2026-01-01T00:00:00Z";
    const after = (minutes: number) => ageText(at, Date.parse(at) + minutes * 60_000);
    expect([0, 5, 60, 60 * 25, 60 * 24 * 3].map(after)).toEqual(["now", "5 min", "1 h", "1 day", "3 days"]);
    expect(ageText("never", 0)).toBe("");
  });

  it("say how many wait", () => {
    expect([badgeText(0, false), badgeText(7, false), badgeText(100, false), badgeText(50, true)]).toEqual([
      undefined,
      "7",
      "99+",
      "99+",
    ]);
  });

  it("say what came of a decision", () => {
    const base = { approvalId: "a", kind: "approve", approved: true, attempts: 1 } as const;
    expect(outcomeText(undefined)).toBeUndefined();
    expect(outcomeText({ ...base, state: "voted", votes: 1, quorum: 2, ignored: false })?.text).toContain("1 of 2");
    expect(outcomeText({ ...base, state: "in-force", ignored: false })?.text).toBe("Approved.");
  });
});

describe("the palette", () => {
  const run = () => undefined;
  const groups = [
    {
      title: "Go to",
      commands: [
        { name: "Inbox", run },
        { name: "New chat", run },
      ],
    },
    { title: "Request", commands: [{ name: "Approve this request", run }] },
  ];

  it("finds what has every word, and leaves out empty groups", () => {
    expect(matching(groups, "")).toHaveLength(2);
    expect(matching(groups, "go CHAT").flatMap(({ commands }) => commands.map(({ name }) => name))).toEqual([
      "New chat",
    ]);
    expect(matching(groups, "zzz")).toEqual([]);
  });
});

describe("the route", () => {
  const base = { chatId: "c1", isNew: false, mode: "sse", dock: undefined } as const;

  it("is the same after it was written and read", () => {
    const places = [
      { kind: "inbox", view: "waiting", filter: { q: "a&b", order: "newest" }, open: "approval/1" },
      { kind: "inbox", view: "history", filter: {}, open: undefined },
      { kind: "hold", approvalId: "a/b ?#é" },
    ] as const;
    for (const place of places) {
      const { pathname, hash } = new URL(formatRoute({ ...base, place }), "http://a.example");
      expect(parseRoute({ pathname, hash }).place).toEqual(
        place.kind === "hold"
          ? place
          : {
              ...place,
              filter: {
                tool: undefined,
                chat: undefined,
                requestedBy: undefined,
                q: undefined,
                order: undefined,
                ...place.filter,
              },
            },
      );
    }
  });

  it("takes what somebody typed", () => {
    expect(parseRoute({ pathname: "/hold/%zz", hash: "" }).place).toEqual({ kind: "hold", approvalId: "%zz" });
    expect(parseRoute({ pathname: "/status", hash: "#chat=c" })).toMatchObject({ place: STATUS, chatId: undefined });
    expect(formatRoute({ ...base, place: STATUS })).toBe("/status");
    expect(parseRoute({ pathname: "/hold/", hash: "" }).place).toEqual({ kind: "chat" });
    expect(parseRoute({ pathname: "/inbox/nothing", hash: "" }).place).toMatchObject({ view: "waiting" });
    expect(parseRoute({ pathname: "/", hash: "#chat=c&mode=live" })).toMatchObject({ chatId: "c", mode: "live" });
  });
});
