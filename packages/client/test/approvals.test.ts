import { describe, expect, it } from "vitest";
import { type ApprovalDecision, createHoldpoint, HoldpointError } from "../src/index.js";
import type { DecisionKind } from "../src/protocol.js";
import { until } from "./support/until.js";

let servers = 0;

/** A server that answers as it is told, in turn; the last answer is repeated. */
function fake(...answers: (Response | Error | (() => Promise<Response>))[]) {
  const sent: { url: string; body: unknown }[] = [];
  const respond: typeof fetch = async (input, init) => {
    if (init?.method !== "POST") return Response.json([]);
    sent.push({ url: String(input), body: JSON.parse(String(init.body)) });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer() : (answer?.clone() ?? Response.error());
  };
  const options = { baseUrl: `http://decider-${servers++}.example`, fetch: respond };
  return { options, sent, decider: createHoldpoint(options).approvals };
}
const ok = (more: object = {}) => Response.json({ ok: true, ...more });
const refusal = (status: number, reason: string) => Response.json({ ok: false, reason }, { status });

describe("a decision", () => {
  it("is sent at once, and is in force when it is answered", async () => {
    const { decider, sent } = fake(ok());
    const seen: string[] = [];
    decider.subscribe(() => seen.push(decider.getDecisions()["a/1"]?.state ?? "none"));
    const settled = await decider.decide("a/1", { approved: false, reason: "too much" });
    expect(settled).toEqual({
      approvalId: "a/1",
      kind: "deny",
      approved: false,
      reason: "too much",
      attempts: 1,
      state: "in-force",
      ignored: false,
    });
    expect(seen).toEqual(["sending", "in-force"]);
    expect(sent).toEqual([
      { url: expect.stringMatching(/\/api\/approvals\/a%2F1$/), body: { approved: false, reason: "too much" } },
    ]);
  });

  it.each([
    ["a lost connection", new TypeError("fetch failed")],
    ["a failing server", new Response("", { status: 500 })],
    ["a gateway", new Response("", { status: 502 })],
    ["a page in between that says yes to everything", new Response("<html>Sign in</html>")],
    ["an answer that is none", Response.json({ ok: false })],
  ])("is repeated after %s", async (_, failure) => {
    const { decider, sent } = fake(failure, ok({ ignored: true }));
    const seen: string[] = [];
    decider.subscribe(() => seen.push(decider.getDecisions().a?.state ?? "none"));
    expect(await decider.decide("a", { approved: true })).toMatchObject({
      state: "in-force",
      ignored: true,
      attempts: 2,
    });
    expect(sent).toHaveLength(2);
    expect(seen).toEqual(["sending", "retrying", "retrying", "in-force"]);
  });

  it.each([
    [400, "malformed"],
    [401, "a key is needed"],
    [403, "not yours"],
    [404, "unknown"],
    [409, "the other decision stands"],
    [410, "expired"],
    [422, "reason: too long"],
  ])("is refused with %i, and not repeated", async (status, reason) => {
    const { decider, sent } = fake(refusal(status, reason));
    const settled = await decider.decide("a", { approved: true });
    expect(settled).toMatchObject({ state: "refused", attempts: 1 });
    expect(settled.state === "refused" && settled.error).toBeInstanceOf(HoldpointError);
    expect(settled).toMatchObject({ error: { status, reason } });
    expect(decider.getDecisions().a).toBe(settled);
    expect(sent).toHaveLength(1);
  });

  it.each<[DecisionKind, ApprovalDecision]>([
    ["approve", { approved: true }],
    ["edit", { approved: true, input: { amount: 1 }, reason: "less" }],
    ["edit", { approved: true, input: null }],
    ["deny", { approved: false }],
    ["answer", { output: "done by hand" }],
    ["answer", { output: null, reason: "nothing to do" }],
  ])("%s: sends %j", async (kind, decision) => {
    const { decider, sent } = fake(ok());
    expect(await decider.decide("a", decision)).toMatchObject({ kind, approved: kind !== "deny", ...decision });
    expect(sent).toMatchObject([{ body: decision }]);
    expect(Object.keys(sent[0]?.body as object)).toEqual(Object.keys(decision));
  });

  it("says which field does not fit", async () => {
    const problem = {
      type: "urn:holdpoint:problem:invalid",
      status: 422,
      ok: false,
      reason: "no",
      pointer: "/input/a",
    };
    const { decider } = fake(Response.json(problem, { status: 422 }));
    const settled = await decider.decide("a", { approved: true, input: {} });
    expect(settled).toMatchObject({ state: "refused", error: { code: "invalid", pointer: "/input/a" } });
  });

  it("waits as long as a busy server says", async () => {
    const { decider } = fake(new Response("", { status: 429, headers: { "retry-after": "1" } }), ok());
    const begun = Date.now();
    await decider.decide("a", { approved: true });
    expect(Date.now() - begun).toBeGreaterThanOrEqual(990);
  });
});

describe("two decisions at once", () => {
  const gate = () => {
    let open: (response: Response) => void = () => {};
    const answer = new Promise<Response>((resolve) => {
      open = resolve;
    });
    return { answer: async () => (await answer).clone(), open };
  };

  it("that are the same are one, whichever decider they come by", async () => {
    const { answer, open } = gate();
    const { decider, options, sent } = fake(answer);
    const other = createHoldpoint({ ...options, fetch: (input, init) => options.fetch(input, init) }).approvals;
    const both = [decider.decide("a", { approved: true }), other.decide("a", { approved: true })];
    expect(other.getDecisions()).toBe(decider.getDecisions());
    open(ok());
    const [one, two] = await Promise.all(both);
    expect(two).toBe(one);
    expect(sent).toHaveLength(1);
  });

  it.each<[string, ApprovalDecision]>([
    ["the opposite", { approved: false }],
    ["another reason", { approved: true, reason: "why not" }],
    ["another input", { approved: true, input: { amount: 1 } }],
  ])("that differ: %s is refused without being sent", async (_, second) => {
    const { answer, open } = gate();
    const { decider, sent } = fake(answer);
    const first = decider.decide("a", { approved: true });
    const settled = await decider.decide("a", second);
    expect(settled).toMatchObject({ state: "refused", attempts: 0, ...second });
    expect(decider.getDecisions().a).toMatchObject({ state: "sending", approved: true });
    open(ok());
    expect(await first).toMatchObject({ state: "in-force" });
    expect(sent).toHaveLength(1);
  });

  it("another key is another person", async () => {
    const { answer, open } = gate();
    const { decider, options, sent } = fake(answer);
    const other = createHoldpoint({ ...options, apiKey: "another" }).approvals;
    const both = [decider.decide("a", { approved: true }), other.decide("a", { approved: false })];
    await until("both", () => sent.length === 2);
    open(ok());
    await Promise.all(both);
  });

  it("after an answer: the other one is the server's to refuse", async () => {
    const { decider } = fake(ok(), refusal(409, "approved before"));
    await decider.decide("a", { approved: true });
    expect(await decider.decide("a", { approved: false })).toMatchObject({ state: "refused", error: { status: 409 } });
  });
});

describe("a signal", () => {
  const down = () => fake(new TypeError("fetch failed"));

  it("ends a decision that gets no answer, and nothing is known of it any more", async () => {
    const { decider, sent } = down();
    const abort = new AbortController();
    const decided = decider.decide("a", { approved: true }, { signal: abort.signal });
    await until("a failure", () => decider.getDecisions().a?.state === "retrying");
    abort.abort();
    await expect(decided).rejects.toMatchObject({ name: "AbortError" });
    expect(decider.getDecisions().a).toBeUndefined();
    const attempts = sent.length;
    // Another decision is free to be made, and this one is not sent again.
    void decider.decide("b", { approved: true });
    await until("a later failure", () => sent.filter(({ url }) => url.endsWith("/b")).length > 1);
    expect(sent.filter(({ url }) => url.endsWith("/a"))).toHaveLength(attempts);
  });

  it("leaves the request free to be decided again, at once", async () => {
    let isUp = false;
    const { decider } = fake(async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return ok();
    });
    const abort = new AbortController();
    const given = decider.decide("a", { approved: true }, { signal: abort.signal });
    abort.abort();
    isUp = true;
    const again = decider.decide("a", { approved: true });
    await expect(given).rejects.toMatchObject({ name: "AbortError" });
    expect(await again).toMatchObject({ state: "in-force" });
    expect(decider.getDecisions().a?.state).toBe("in-force");
  });

  it("ends it only for the one who gave it, while others wait for the same", async () => {
    let isUp = false;
    const { decider } = fake(async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return ok();
    });
    const abort = new AbortController();
    const one = decider.decide("a", { approved: true }, { signal: abort.signal });
    const other = decider.decide("a", { approved: true });
    abort.abort();
    await expect(one).rejects.toMatchObject({ name: "AbortError" });
    isUp = true;
    expect(await other).toMatchObject({ state: "in-force" });
  });

  it("that is aborted already sends nothing", async () => {
    const { decider, sent } = fake(ok());
    const decided = decider.decide("a", { approved: true }, { signal: AbortSignal.abort() });
    await expect(decided).rejects.toMatchObject({ name: "AbortError" });
    expect(sent).toEqual([]);
  });
});

it("remembers a limited number of answered decisions, and all that are under way", async () => {
  const never = new Promise<Response>(() => {});
  const { decider } = fake(() => never, ok());
  void decider.decide("open", { approved: true });
  for (let i = 0; i < 510; i++) await decider.decide(`a-${i}`, { approved: true });
  const ids = Object.keys(decider.getDecisions());
  expect(ids).toHaveLength(502);
  expect(ids).toContain("open");
  expect(ids).toContain("a-509");
  expect(ids).not.toContain("a-0");
});
