import { type DecisionProgress, HoldpointError } from "holdpoint";
import type { ApprovalRecord, Decision, HoldOutcome, PendingApproval } from "holdpoint/protocol";
import { describe, expect, it, vi } from "vitest";
import { countText } from "../src/inbox/badge";
import { ageText } from "../src/inbox/entry";
import { actionOf } from "../src/inbox/keys";
import { outcomeText } from "../src/inbox/outcomes";
import { decisionText, followedOf, namesText, outcomeOf, presentRecord, recordedState } from "../src/inbox/receipt";
import { breadthOf, choiceText, grantText, NARROWEST, rememberOf } from "../src/inbox/remember";
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

  const nobody = () => false;
  const here = () => true;

  it("is by id: it stays when others come and go", () => {
    expect(follow({ id: "b", among }, ["x", "a", "b", "c"], nobody)).toMatchObject({ id: "b" });
    expect(follow({ id: "b", among }, ["b"], nobody)).toMatchObject({ id: "b" });
  });

  it("stays when it is gone, whatever else comes and goes", () => {
    const selection = { id: "b", among };
    for (const ids of [["a", "c", "d"], ["x"], [], ["a", "x"]]) expect(follow(selection, ids, nobody)).toBe(selection);
  });

  it("goes to the next one after a decision made here, else to the one before", () => {
    expect(follow({ id: "b", among }, ["a", "c", "d"], here).id).toBe("c");
    expect(follow({ id: "b", among }, ["a", "d"], here).id).toBe("d");
    expect(follow({ id: "d", among }, ["a", "b"], here).id).toBe("b");
    expect(follow({ id: "d", among }, ["x"], here).id).toBe("x");
    expect(follow({ id: "d", among }, [], here).id).toBeUndefined();
    // Not before it has left the list.
    expect(follow({ id: "b", among }, ["a", "b"], here).id).toBe("b");
  });

  it("begins with the first one, and is the same while the list is", () => {
    expect(follow(NO_SELECTION, among, nobody).id).toBe("a");
    const selection = { id: "b", among };
    expect(follow(selection, among, nobody)).toBe(selection);
    const none: string[] = [];
    expect(follow({ id: undefined, among: none }, none, nobody).id).toBeUndefined();
  });

  it("moves by steps, and stops at the ends", () => {
    expect(step({ id: "b", among }, among, 1).id).toBe("c");
    expect(step({ id: "a", among }, among, -1).id).toBe("a");
    expect(step({ id: "d", among }, among, 1).id).toBe("d");
    expect(step(NO_SELECTION, [], 1).id).toBeUndefined();
  });

  it("moves from one that is gone to what was beside it", () => {
    const gone = { id: "b", among };
    expect(step(gone, ["a", "c", "d"], 1).id).toBe("c");
    expect(step(gone, ["a", "c", "d"], -1).id).toBe("a");
    expect(step({ id: "d", among }, ["a", "b", "x"], 1).id).toBe("x");
    expect(step({ id: "d", among }, ["a", "b"], 1).id).toBe("b");
    expect(step(gone, [], 1).id).toBeUndefined();
    // One of which only the address was known.
    expect(step({ id: "z", among: [] }, ["a", "b"], 1).id).toBe("a");
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

  it("says which calls, where, how often and for how long", () => {
    const wide = { match: "tool", scope: "subject", duration: "always", uses: "" } as const;
    expect(choiceText(wide, "ann")).toBe(
      "Every call of this tool, with any input, runs without a question in every chat of ann, any number of times, without end.",
    );
    expect(choiceText({ ...NARROWEST, uses: "1" }, "ann")).toBe(
      "The same call with this exact input runs without a question in this chat, once, for 1 hour.",
    );
    expect(grantText({ scope: "chat", match: "tool", uses: 3 }, "ann")).toContain("with any input,");
    expect(choiceText(wide, "a\u202en")).toContain("[U+202E]");
  });

  it("is worse the more it lets through", () => {
    const any = { ...NARROWEST, match: "tool" } as const;
    expect(breadthOf(NARROWEST)).toBe("narrow");
    expect(breadthOf({ ...NARROWEST, duration: "always" })).toBe("wide");
    expect(breadthOf(any)).toBe("wide");
    expect(breadthOf({ ...any, duration: "always", uses: "2" })).toBe("wide");
    expect(breadthOf({ ...any, duration: "always" })).toBe("unlimited");
    expect(breadthOf({ ...any, duration: "always", scope: "subject" })).toBe("unlimited");
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
    expect([countText(0, false), countText(7, false), countText(100, false), countText(50, true)]).toEqual([
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

describe("a receipt", () => {
  const at = "2026-01-01T10:04:00.000Z";
  const approval = {
    approvalId: "a",
    toolCallId: "c",
    chatId: "chat",
    toolName: "pay",
    headline: "Pay {amount}",
    input: { amount: 98_000 },
    reason: null,
    requestedAt: at,
    expiresAt: null,
    allowed: [],
    requestedBy: "ann",
  } satisfies PendingApproval;
  const approved: Decision = { kind: "approve", by: ["bob", "carol"], at };
  const ended = (outcome: Omit<HoldOutcome, "at">, decision?: Decision): ApprovalRecord => ({
    approval,
    state: "settled",
    ...(decision && { decision }),
    outcome: { ...outcome, at },
  });
  const came = (record: ApprovalRecord) => outcomeOf(recordedState(record));

  it("says what came of a call", () => {
    expect(came({ approval, state: "running", decision: approved })).toEqual({ text: "Running…", tone: "busy" });
    expect(came(ended({ cause: "ran", output: { ref: 15 } }, approved))).toEqual({ text: "Done.", tone: "ok" });
    const failed = ended({ cause: "ran", errorText: "The endpoint answered 500" }, approved);
    expect(came(failed)).toEqual({ text: "Failed: The endpoint answered 500", tone: "bad" });
    expect(came(ended({ cause: "ran", output: { success: false } }, approved))?.text).toBe("Not done.");
    expect(came(ended({ cause: "interrupted", errorText: "x" }, approved))?.text).toMatch(
      /^Outcome unknown: .*not known/,
    );
    expect(came(ended({ cause: "decision" }, { ...approved, kind: "deny" }))).toBeUndefined();
    expect(came({ approval, state: "waiting" })).toBeUndefined();
  });

  it("names who decided", () => {
    expect(decisionText(approved)).toBe("Approved by bob and carol");
    expect(decisionText({ ...approved, kind: "deny", by: ["carol"] })).toBe("Denied by carol");
    expect(namesText(["ann", "b\u200bob", "carol"])).toBe("ann, b[U+200B]ob and carol");
  });

  it("names what ran, not what was asked for", () => {
    expect(presentRecord({ approval, state: "running", editedInput: { amount: 1000 } }).subject).toBe("Pay 1000");
    expect(presentRecord({ approval, state: "running" }).subject).toBe("Pay 98000");
  });

  const sent = { approvalId: "a", kind: "approve", approved: true, attempts: 1 } as const;
  const follow = (progress: DecisionProgress, record?: ApprovalRecord) =>
    followedOf(progress, outcomeText(progress), record, undefined);

  it("follows a decision to its outcome", () => {
    const mine = { ...sent, state: "in-force", ignored: false } as const;
    expect(follow(mine)).toEqual({ text: "Approved.", outcome: undefined, tone: "ok" });
    const failed = ended({ cause: "ran", errorText: "500" }, { ...approved, by: ["bob"] });
    expect(follow(mine, failed)).toEqual({ text: "Approved.", outcome: "Failed: 500", tone: "bad" });
    const vote = { ...sent, state: "voted", votes: 1, quorum: 2, ignored: false } as const;
    expect(follow(vote, { approval, state: "waiting" })?.text).toContain("1 of 2");
    expect(follow(vote, ended({ cause: "ran", output: 1 }, approved))).toEqual({
      text: "Approved by bob and carol.",
      outcome: "Done.",
      tone: "ok",
    });
  });

  it("says who was first", () => {
    const error = new HoldpointError("contradicts-decision", "no", { status: 409 });
    const denied = ended({ cause: "decision" }, { kind: "deny", by: ["carol"], at });
    expect(follow({ ...sent, state: "refused", error }, denied)).toMatchObject({
      text: "Yours was not accepted. Denied by carol.",
      tone: "bad",
    });
    expect(
      follow({ ...sent, state: "in-force", ignored: true }, ended({ cause: "ran", output: 1 }, approved))?.text,
    ).toBe("Approved by bob and carol.");
  });
});
