// @vitest-environment jsdom

import { act, cleanup } from "@testing-library/react";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { elsewhere } from "./support/elsewhere.js";
import { modes, renderChat } from "./support/hook.js";
import { startProxy } from "./support/proxy.js";
import { startServer, type TestServer } from "./support/server.js";
import { until } from "./support/until.js";

/** Twice the same payments: a chat that was restarted must not make them again. */
const script = {
  turns: [
    {
      when: "two",
      steps: [
        ["Alice", "Bob"].map((recipient) => ({
          toolCall: { name: "process_payment", input: { amount: 30, recipient, currency: "USD" } },
        })),
        [{ text: ["Both ", "done."] }],
      ],
    },
    {
      when: "one",
      steps: [
        [{ toolCall: { name: "process_payment", input: { amount: 30, recipient: "Alice", currency: "USD" } } }],
        [{ text: ["It is ", "done."] }],
      ],
    },
    { when: "where", steps: [[{ toolCall: { name: "get_location", input: {} } }], [{ text: ["There."] }]] },
    { when: "hello", steps: [[{ text: ["Hello."] }]] },
  ],
};

let server: TestServer;
let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  server = await startServer({ script, isDurable: true });
  proxy = await startProxy(server.url);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});
afterEach(async () => {
  cleanup();
  await server.restart();
});

describe.each(modes)("%s", (mode) => {
  const open = (options: { baseUrl?: string; id?: string } = {}) =>
    renderChat(mode, { baseUrl: server.url, ...options });
  const ended = (text: string, chat: ReturnType<typeof open>) =>
    until(`${mode}: the end`, () => {
      const last = chat.chat().messages.at(-1)?.parts.at(-1);
      return chat.chat().status === "ready" && last?.type === "text" && last.text === text;
    });

  it("is in force at once, whatever else is open, and is shown as the server has it", async () => {
    const chat = open();
    await chat.say("two");
    const first = await chat.approvalRequest();
    await act(async () => void (await chat.chat().approve(first)));
    const holds = await elsewhere(server.url).holds(chat.chatId);
    expect(holds.find(({ approvalId }) => approvalId === first)).toMatchObject({ decision: { kind: "approve" } });
    expect((await elsewhere(server.url).approvals()).map(({ approvalId }) => approvalId)).not.toContain(first);
    expect(chat.chat().decisions[first]).toMatchObject({ state: "in-force", approved: true, attempts: 1 });
    // Its outcome is shown although the other approval request is open.
    await until("the first outcome", () => chat.calls()[0]?.state === "output-available");
    const second = await chat.approvalRequest();
    expect(second).not.toBe(first);
    await act(async () => void (await chat.chat().deny(second, "not him")));
    await ended("Both done.", chat);
    expect(chat.chat().holds?.map(({ decision }) => decision?.kind)).toEqual(["approve", "deny"]);
    expect(chat.chat().messages).toHaveLength(2);
  });

  it.each(["before it is sent", "while it is sent"])("outlives a server that is killed %s", async (when) => {
    const chat = open({ baseUrl: proxy.url });
    await chat.say("one");
    const id = await chat.approvalRequest();
    if (when === "while it is sent") proxy.loseAnswer(/POST \/api\/approvals/);
    else await server.kill();
    let report: Promise<unknown> = Promise.resolve();
    await act(async () => {
      report = chat.chat().approve(id);
    });
    await until("the retry", () => chat.chat().decisions[id]?.state === "retrying", 15_000);
    // Taken, and not heard of: then the outcome may be here before the answer.
    if (when === "while it is sent") await server.kill();
    else expect(chat.calls()[0]?.state).toBe("approval-requested");
    await until("the loss", () => chat.chat().server.state === "unreachable", 15_000);
    await server.restart();
    await act(async () => {
      expect(await report).toMatchObject({ state: "in-force", approved: true });
    });
    await until("the server", () => chat.chat().server.state === "connected", 15_000);
    await until("the outcome", () => chat.calls().every(({ state }) => state.startsWith("output-")), 15_000);
    const [hold] = await elsewhere(server.url).holds(chat.chatId);
    expect(hold).toMatchObject({ state: "settled", decision: { kind: "approve", by: ["local"] } });
    // A payment that had begun when the server died is not made again, and nobody knows whether it was made.
    expect(["ran", "interrupted"]).toContain(hold?.outcome?.cause);
    await until("no error", () => chat.chat().error === undefined, 15_000);
    await until("the record", () => chat.chat().holds?.[0]?.outcome !== undefined, 15_000);
  }, 60_000);

  it("outlives a lost answer", async () => {
    const chat = open({ baseUrl: proxy.url });
    await chat.say("one");
    const id = await chat.approvalRequest();
    proxy.loseAnswer(/POST \/api\/approvals/);
    await act(async () => {
      expect(await chat.chat().approve(id)).toMatchObject({ state: "in-force", ignored: true, attempts: 2 });
    });
    await ended("It is done.", chat);
    expect(chat.calls()[0]?.state).toBe("output-available");
  });

  it("is repeated when the server is busy, no earlier than it says", async () => {
    const chat = open({ baseUrl: proxy.url });
    await chat.say("one");
    const id = await chat.approvalRequest();
    proxy.answerNext(/POST \/api\/approvals/, 503);
    proxy.answerNext(/POST \/api\/approvals/, 429, { "retry-after": "1" });
    const begun = Date.now();
    await act(async () => {
      expect(await chat.chat().approve(id)).toMatchObject({ state: "in-force", attempts: 3 });
    });
    expect(Date.now() - begun).toBeGreaterThan(950);
    await ended("It is done.", chat);
  });

  it("two clients race: the loser is told, and shows what stands", async () => {
    const [one, two] = [open(), open()];
    await one.say("one");
    const id = await one.approvalRequest();
    const chatId = one.chatId;
    const other = open({ id: chatId });
    two.hook.unmount();
    await until("the other's approval request", () => other.calls()[0]?.approval?.id === id);
    const decided: { state: string }[] = [];
    await act(async () => {
      decided.push(
        ...(await Promise.all([one.chat().approve(id), elsewhere(server.url).decide(id, false)])).map((answer) =>
          typeof answer === "number" ? { state: answer === 200 ? "in-force" : "refused" } : answer,
        ),
      );
    });
    expect(decided.map(({ state }) => state).sort()).toEqual(["in-force", "refused"]);
    const [hold] = await until("the outcome", async () => {
      const holds = await elsewhere(server.url).holds(chatId);
      return holds[0]?.state === "settled" && holds;
    });
    const stands =
      hold?.decision?.kind === "approve"
        ? "output-available"
        : mode.startsWith("ai-sdk")
          ? "output-denied"
          : /output-(denied|error)/;
    for (const chat of [one, other]) {
      await until("what stands", () => chat.calls()[0]?.state.match(stands));
      await until(
        "the end",
        () => chat.chat().status === "ready" && chat.chat().messages.at(-1)?.parts.at(-1)?.type === "text",
      );
    }
    const report = one.chat().decisions[id];
    if (report?.state === "refused") expect(report.error).toMatchObject({ status: 409 });
  });

  it("a decision of an approval request that is gone is refused, and what stands is shown", async () => {
    const chat = open();
    await chat.say("one");
    const id = await chat.approvalRequest();
    await act(async () => void chat.chat().sendMessage({ text: "hello" }));
    await ended("Hello.", chat);
    // The old card is not an approval request any more, without anybody having asked.
    const old = () => chat.chat().messages[1]?.parts.find((part) => "toolCallId" in part);
    await until(
      "what stands",
      () => old() !== undefined && "state" in (old() ?? {}) && (old() as { state: string }).state === "output-denied",
    );
    await act(async () => {
      const report = await chat.chat().approve(id);
      expect(report).toMatchObject({ state: "refused", error: { status: 410 } });
    });
    expect(chat.chat().holds?.[0]).toMatchObject({ outcome: { cause: "superseded" } });
  });

  it("a frontend tool runs after its decision is in force, and not before", async () => {
    const chat = open({ baseUrl: proxy.url });
    await chat.say("where");
    const id = await chat.approvalRequest();
    proxy.answerNext(/POST \/api\/approvals/, 503);
    proxy.answerNext(/POST \/api\/approvals/, 503);
    let report: Promise<unknown> = Promise.resolve();
    await act(async () => {
      report = chat.chat().approve(id);
    });
    await until("the retry", () => chat.chat().decisions[id]?.state === "retrying");
    expect(chat.ran).toEqual([]);
    await act(async () => void (await report));
    await ended("There.", chat);
    expect(chat.ran).toEqual(["get_location"]);
  });

  it("the other decision, while one is under way, is refused here", async () => {
    const chat = open({ baseUrl: proxy.url });
    await chat.say("one");
    const id = await chat.approvalRequest();
    proxy.answerNext(/POST \/api\/approvals/, 503);
    const before = proxy.requests.length;
    await act(async () => {
      const [yes, again, no] = await Promise.all([
        chat.chat().approve(id),
        chat.chat().approve(id),
        chat.chat().deny(id),
      ]);
      expect(yes).toMatchObject({ state: "in-force", attempts: 2 });
      expect(again).toBe(yes);
      expect(no).toMatchObject({ state: "refused", approved: false, attempts: 0 });
    });
    expect(chat.chat().decisions[id]).toMatchObject({ state: "in-force", approved: true });
    expect(proxy.requests.slice(before).filter((request) => request.startsWith("POST /api/approvals"))).toHaveLength(2);
    await ended("It is done.", chat);
  });
});
