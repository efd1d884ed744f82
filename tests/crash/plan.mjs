// What each chat of a run does: how it asks, what the model calls, who answers how, and what is done besides. Made from the seed alone.

import { Random } from "./random.mjs";

/** The five ways of answering. */
export const WAYS = ["inbox", "chat", "stream", "live", "ws"];

/** Those on which a message can be sent. */
const ASKS = ["chat", "stream", "live", "ws"];

const KINDS = ["one", "one", "both", "row", "mixed"];

/** What is sent besides the answer itself. */
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
      /** Most answer at once, some take longer than a kill takes to come. */
      delayMs: random.chance(0.6) ? random.between(0, 15) : random.between(40, 250),
    };
  });
  return {
    id,
    kind,
    calls,
    askBy: random.pick(ASKS),
    waits: [random.chance(0.5) ? random.between(1, 40) : 0, random.chance(0.5) ? random.between(1, 60) : 0],
    /** For what is decided on the way. */
    random,
  };
}

export const lastWords = (chat) => `${chat.id} is settled.`;

export const userMessage = ({ id }) => ({
  id: `user-${id}`,
  role: "user",
  parts: [{ type: "text", text: `${id}: go` }],
});

/** What the model plays for a chat. */
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
