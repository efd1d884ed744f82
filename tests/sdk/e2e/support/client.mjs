// A stock client: the SDK's own chat and transport classes, with both of its auto-send predicates on.

import assert from "node:assert/strict";
import * as ai6 from "ai6";
import * as ai7 from "ai7";
import { agree, isTool, judged } from "./record.mjs";
import { PlainState } from "./state.mjs";
import { loginOf, transportOf } from "./transport.mjs";
import { pause, until } from "./wait.mjs";

/** An auto-send starts in the same tick as the end of a response; this is many ticks. */
const QUIET_MS = 40;

/** No flow needs nearly as many requests: the client is in a loop, which is broken so that the flow can report it. */
export const TOO_MANY = 20;

const SIX = { version: 6, sdk: ai6, Chat: class extends ai6.AbstractChat {} };
const SEVEN = { version: 7, sdk: ai7, Chat: class extends ai7.AbstractChat {} };

/** The clients with which every flow is run. */
export const KINDS = [
  { ...SIX, name: "ai 6 over HTTP", isSocket: false },
  { ...SEVEN, name: "ai 7 over HTTP", isSocket: false },
  { ...SEVEN, name: "ai 7 over WebSocket", isSocket: true },
];

/** What an app with both server and browser tools writes. */
export const bothPredicates = (sdk) => (options) =>
  sdk.lastAssistantMessageIsCompleteWithToolCalls(options) ||
  sdk.lastAssistantMessageIsCompleteWithApprovalResponses(options);

const nameOf = (part) => part.toolName ?? part.type.slice("tool-".length);

export class Client {
  sends = 0;
  resumes = 0;
  /** The calls for which `onToolCall` fired. */
  toolCalls = [];

  /**
   * `wait: "stream"` is what a client with the ack requests; a stock client sets nothing. With `isManual` nothing is
   * sent automatically, as in an app without `sendAutomaticallyWhen`.
   */
  constructor(kind, { server, tab, id, messages = [], headers, wait, key, onToolCall, transport, isManual = false }) {
    this.id = id;
    this.server = server;
    this.tab = tab;
    this.login = loginOf(key);
    const count = (what) => {
      this[what] += 1;
      if (this.sends > TOO_MANY) throw new Error("the client sends for ever");
    };
    this.transport = transport ?? transportOf(kind, { server, tab, headers, wait, key, count });
    this.chat = new kind.Chat({
      id,
      state: new PlainState(structuredClone(messages)),
      transport: this.transport,
      ...(!isManual && { sendAutomaticallyWhen: bothPredicates(kind.sdk) }),
      onToolCall: ({ toolCall }) => {
        this.toolCalls.push(toolCall.toolCallId);
        onToolCall?.(toolCall, this);
      },
    });
  }

  get messages() {
    return this.chat.messages;
  }

  /** The answer to the last user message: there must be exactly one. */
  get answer() {
    const from = this.messages.findLastIndex(({ role }) => role === "user");
    const answers = this.messages.slice(from + 1);
    assert.deepEqual(
      answers.map(({ role }) => role),
      ["assistant"],
      "one assistant message for the turn",
    );
    return answers[0];
  }

  /** The tool parts of the last message, in order. */
  get tools() {
    return (this.messages.at(-1)?.parts ?? []).filter(isTool);
  }

  tool(name) {
    const found = this.tools.filter((part) => nameOf(part) === name);
    assert.equal(found.length, 1, `one call of ${name} in the last message, not ${found.length}`);
    return found[0];
  }

  get text() {
    const texts = (this.messages.at(-1)?.parts ?? []).filter(({ type }) => type === "text");
    return texts.map(({ text }) => text).join("");
  }

  get states() {
    return this.tools.map((part) => `${nameOf(part)} ${part.state}`);
  }

  say(text) {
    return this.chat.sendMessage({ text });
  }

  decide(part, approved, reason) {
    assert.equal(part.state, "approval-requested");
    return this.chat.addToolApprovalResponse({ id: part.approval.id, approved, ...(reason && { reason }) });
  }

  output(part, output) {
    return this.chat.addToolOutput({ tool: part.toolName ?? nameOf(part), toolCallId: part.toolCallId, output });
  }

  until(what, ask) {
    return until(what, () => ask(this));
  }

  get isIdle() {
    return this.chat.status === "ready" || this.chat.status === "error";
  }

  /** Waits until the client does nothing more on its own. */
  async idle() {
    for (;;) {
      await until("the client is idle", () => this.isIdle);
      const { sends, resumes } = this;
      await pause(QUIET_MS);
      if (this.isIdle && sends === this.sends && resumes === this.resumes) return;
    }
  }

  /** The client is idle, after exactly this many requests. */
  async rests({ sends, resumes = 0, error } = {}) {
    await this.idle();
    assert.deepEqual({ sends: this.sends, resumes: this.resumes }, { sends, resumes }, "the number of requests");
    if (error) assert.match(this.chat.error?.message ?? "no error", error);
    else assert.equal(this.chat.error, undefined, "no error at the client");
  }

  /** The server's record equals the client's messages, and the holds agree. */
  async agrees() {
    const messages = await this.history();
    assert.deepEqual(told(messages), told(this.messages), "the server's history is the client's");
    agree(messages, await this.holds({ calls: "all" }));
  }

  /** The stored messages; both SDK versions must accept them, whatever the flow. */
  async history(options) {
    return judged(await this.#read("messages"), options);
  }

  /** `GET /api/chat/{id}/holds`; with `calls: "all"`, also calls that were never held. */
  holds({ calls } = {}) {
    return this.#read(calls ? `holds?calls=${calls}` : "holds");
  }

  /** The server's record of one call. */
  async hold({ toolCallId }) {
    return (await this.holds()).find((hold) => hold.toolCallId === toolCallId);
  }

  async #read(what) {
    const url = `${this.server.url}/api/chat/${encodeURIComponent(this.id)}/${what}`;
    const response = await this.tab.fetch(url, { headers: this.login });
    assert.equal(response.status, 200);
    return response.json();
  }

  /** The tab is closed, without a message to the server. */
  async close() {
    if (this.transport.close) this.transport.close();
    else await this.chat.stop();
  }
}

/**
 * As JSON, without what no stream carries (the cause of an outcome), and without the usage, which a client overwrites
 * with that of the last response. An invalid input is `rawInput` in version 6 and `input` in version 7: the server does
 * not know which version reads its history. Elsewhere `rawInput` is the text of the deltas, which no history has.
 */
function told(messages) {
  const part = ({ rawInput, callProviderMetadata, ...rest }) =>
    rest.input === undefined && rawInput !== undefined ? { ...rest, input: rawInput } : rest;
  return JSON.parse(JSON.stringify(messages)).map(({ metadata, parts, ...message }) => ({
    ...message,
    parts: parts.map(part),
  }));
}
