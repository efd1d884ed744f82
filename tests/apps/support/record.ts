import { expect } from "@playwright/test";
import type { Holdpoint } from "./holdpoint";

/** What the server's log has about one call. Each list has one entry for every time that it happened. */
export interface CallRecord {
  tool: string;
  decisions: ("approved" | "denied")[];
  /** How often the tool was started: on the server, or handed to a browser. */
  starts: number;
  /** The causes of its outcomes: more than one is a fault of the server. */
  outcomes: string[];
  output: unknown;
}

/** What is expected of a call. */
export type ExpectedCall = Pick<CallRecord, "tool" | "decisions" | "starts" | "outcomes"> & {
  /** Fields of the output. */
  output?: Record<string, unknown>;
};

/** A chat as the server has it. What a page shows is compared with this. */
export class ChatRecord {
  readonly #server: Holdpoint;
  readonly #chatId: string;

  constructor(server: Holdpoint, chatId: string) {
    this.#server = server;
    this.#chatId = chatId;
  }

  /** Waits until the chat has exactly these calls, in this order. */
  async expectCalls(...expected: ExpectedCall[]): Promise<void> {
    await expect
      .poll(() => this.calls(), { message: "the calls in the log" })
      .toEqual(expected.map(({ output, ...call }) => ({ ...call, output: output && expect.objectContaining(output) })));
  }

  /** Waits until the chat is at rest: nothing waits, and every call is once in the stored messages. */
  async expectAtRest(): Promise<void> {
    await expect.poll(() => this.openRequests(), { message: "the open approval requests" }).toBe(0);
    const logged = (await this.#facts()).flatMap((fact) => (fact.fact === "called" ? [fact.call] : []));
    const stored = await this.#messages();
    expect(
      stored.flatMap(({ parts }) => parts.flatMap(({ toolCallId }) => toolCallId ?? [])),
      "the calls in the stored messages",
    ).toEqual(logged);
  }

  /** How many approval requests of the chat are open. */
  async openRequests(): Promise<number> {
    return (await this.requests()).length;
  }

  /** The open approval requests of the chat. */
  async requests(): Promise<OpenRequest[]> {
    const all = await this.#server.get<OpenRequest[]>("/api/approvals");
    return all.filter(({ chatId }) => chatId === this.#chatId);
  }

  /** The user's messages that the server has. */
  async said(): Promise<string[]> {
    const stored = await this.#messages();
    return stored.flatMap(({ role, parts }) => (role === "user" ? [parts.map(({ text }) => text ?? "").join("")] : []));
  }

  async calls(): Promise<CallRecord[]> {
    const calls = new Map<string, CallRecord>();
    for (const fact of await this.#facts()) {
      if (fact.fact === "called")
        calls.set(fact.call, { tool: fact.name, decisions: [], starts: 0, outcomes: [], output: undefined });
      const call = "call" in fact ? calls.get(fact.call) : undefined;
      if (call === undefined) continue;
      if (fact.fact === "decided") call.decisions.push(fact.verdict === "deny" ? "denied" : "approved");
      if (fact.fact === "started") call.starts += 1;
      if (fact.fact === "settled") {
        call.outcomes.push(fact.cause);
        call.output = fact.outcome?.output;
      }
    }
    return [...calls.values()];
  }

  async #messages(): Promise<StoredMessage[]> {
    return this.#server.get<StoredMessage[]>(`/api/chat/${encodeURIComponent(this.#chatId)}/messages`);
  }

  async #facts(): Promise<Fact[]> {
    const lines = (await this.#server.export(this.#chatId)).split("\n");
    return lines.flatMap((line) => {
      if (!line.startsWith('{"type":"facts"')) return [];
      return (JSON.parse(line) as { facts: Fact[] }).facts;
    });
  }
}

interface OpenRequest {
  chatId: string;
  approvalId: string;
  votes?: { by: string[]; quorum: number };
}

interface StoredMessage {
  role: string;
  parts: { type: string; text?: string; toolCallId?: string; state?: string }[];
}

/** The facts of the log that are about calls. There are more. */
type Fact =
  | { fact: "called"; call: string; name: string }
  | { fact: "decided"; call: string; verdict: "deny" | { approve: { input?: unknown } } }
  | { fact: "started"; call: string }
  | { fact: "settled"; call: string; cause: string; outcome?: { output?: unknown } };
