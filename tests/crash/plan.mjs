// The plan of each chat of a run: how it sends, what the model calls, how each call is answered, and the extras.
// Derived from the seed alone.

import { Random } from "./random.mjs";

/** The five ways to answer. */
export const WAYS = ["inbox", "chat", "stream", "live", "ws"];

/** The ways to send a message. */
const ASKS = ["chat", "stream", "live", "ws"];

const KINDS = ["one", "one", "both", "row", "mixed"];

/** What is sent in addition to the answer. */
const EXTRAS = ["none", "none", "again", "elsewhere", "contradiction"];

const FORGERIES = ["none", "none", "unknown", "invented", "output", "ack", "input"];

export function planChat(seed, number) {
  const random = new Random(seed, `chat-${number}`);
  const kind = random.pick(KINDS);
  const id = `chat-${number}`;
  const calls = (kind === "one" ? ["a"] : ["a", "b"]).map((letter) => {
    const needsApproval = !(kind === "mixed" && letter === "a");
    const way = random.pick(WAYS);
    return {
      ref: `${id}-${letter}`,
      chat: id,
      input: { ref: `${id}-${letter}`, amount: random.between(1, 1000) },
      needsApproval,
      approved: random.chance(0.65),
      way,
      extra: random.pick(EXTRAS),
      otherWay: random.pick(WAYS.filter((other) => other !== way)),
      forgery: random.pick(FORGERIES),
      /** Most respond at once, some take longer than the time to a kill. */
      delayMs: random.chance(0.6) ? random.between(0, 15) : random.between(40, 250),
    };
  });
  return {
    id,
    kind,
    calls,
    askBy: random.pick(ASKS),
    waits: [random.chance(0.5) ? random.between(1, 40) : 0, random.chance(0.5) ? random.between(1, 60) : 0],
    /** For choices made during the run. */
    random,
  };
}

export const lastWords = (chat) => `${chat.id} is settled.`;

export const userMessage = ({ id }) => ({
  id: `user-${id}`,
  role: "user",
  parts: [{ type: "text", text: `${id}: go` }],
});

/** The model's script for a chat. */
function turn(chat) {
  const [before, after] = chat.waits;
  const calls = chat.calls.map(({ input, needsApproval }) => ({
    toolCall: { name: needsApproval ? "transfer" : "note", input },
  }));
  const first = [{ waitMs: before }, { text: ["One ", "moment."] }];
  const last = [{ waitMs: after }, { text: [lastWords(chat)] }];
  const steps = chat.kind === "row" ? [[...first, calls[0]], [calls[1]], last] : [[...first, ...calls], last];
  return { when: `^${chat.id}: `, usage: { promptTokens: 3, completionTokens: 4 }, steps };
}

export const scriptOf = (chats) => ({ modelVersion: "played", turns: chats.map(turn) });
