import type { ChatTransport, UIMessage } from "ai";
import type { Chunk, ToolCallId } from "../protocol.js";
import { watchTransport } from "../transport/watch-transport.js";
import { type AutoSendMessage, type SubmissionKey, shouldAutoSend } from "./should-auto-send.js";

/** Upper bound on remembered calls: more than a chat ever has open, at little cost. */
const REMEMBERED = 10_000;

/** `useChat`'s `sendAutomaticallyWhen`, with the memory that {@link shouldAutoSend} needs. */
export type AutoSend = {
  /** Whether to send now. Remembers a `true`, so that the same state is not sent twice. */
  (options: { messages: readonly AutoSendMessage[] | null | undefined }): boolean;
  /** Sets the tools that run in this browser, once they are known. */
  setFrontendTools: (names: Iterable<string>) => void;
  /** Records a chunk from the server: an outcome in it is not the client's own. */
  observe: (chunk: Pick<Chunk, "type"> & { toolCallId?: ToolCallId }) => void;
  /** Records calls whose outcome came from the server in another way, such as in its message list. */
  settled: (calls: Iterable<ToolCallId>) => void;
  /** Records answers that reached the server in another way, such as a decision from the inbox. They are not sent. */
  delivered: (answers: Iterable<SubmissionKey>) => void;
  /** The request after the last `true` failed: what it carried counts as not sent. */
  requestFailed: () => void;
  /** Calls `observe` and `requestFailed` for every request of a transport. */
  watch: <UI_MESSAGE extends UIMessage>(transport: ChatTransport<UI_MESSAGE>) => ChatTransport<UI_MESSAGE>;
};

/**
 * Makes the `sendAutomaticallyWhen` of one chat of the adk profile (`/stream` and `/live`).
 *
 * ```ts
 * const autoSend = sendAutomaticallyWhen({ frontendTools: ["get_location"] });
 * useChat({ transport: autoSend.watch(transport), sendAutomaticallyWhen: autoSend });
 * ```
 */
export function sendAutomaticallyWhen(options: { frontendTools?: Iterable<string> } = {}): AutoSend {
  let frontendTools = options.frontendTools && new Set(options.frontendTools);
  // `undefined` until something is observed: no outcomes so far differs from nobody watching.
  let serverOutcomes: Set<ToolCallId> | undefined;
  const sent = new Set<SubmissionKey>();
  let inFlight: SubmissionKey[] = [];

  const autoSend: (...args: Parameters<AutoSend>) => boolean = (options) => {
    const result = shouldAutoSend(options?.messages, { frontendTools, serverOutcomes, sent });
    if (result.send) {
      inFlight = result.answers.filter((answer) => !sent.has(answer));
      for (const answer of inFlight) remember(sent, answer);
    }
    return result.send;
  };
  const settled = (calls: Iterable<ToolCallId>) => {
    serverOutcomes ??= new Set();
    for (const call of calls) remember(serverOutcomes, call);
  };
  const observe: AutoSend["observe"] = (chunk) => {
    settled(chunk.toolCallId !== undefined && isOutcome(chunk.type) ? [chunk.toolCallId] : []);
  };
  const requestFailed = () => {
    for (const answer of inFlight) sent.delete(answer);
    inFlight = [];
  };
  return Object.assign(autoSend, {
    setFrontendTools: (names: Iterable<string>) => {
      frontendTools = new Set(names);
    },
    observe,
    settled,
    delivered: (answers: Iterable<SubmissionKey>) => {
      for (const answer of answers) remember(sent, answer);
    },
    requestFailed,
    watch: <UI_MESSAGE extends UIMessage>(transport: ChatTransport<UI_MESSAGE>) => {
      settled([]);
      return watchTransport(transport, { onChunk: observe, onFailure: requestFailed });
    },
  });
}

function isOutcome(type: string): boolean {
  return (type.startsWith("tool-output-") || type === "tool-input-error") && type !== "tool-output-delta";
}

function remember<T>(set: Set<T>, value: T): void {
  set.add(value);
  if (set.size <= REMEMBERED) return;
  const [oldest] = set;
  if (oldest !== undefined) set.delete(oldest);
}
