import { AbstractChat, type ChatInit, type ChatState, type ChatStatus, type UIMessage } from "ai";
import { nameOfTool, toolPartOf } from "../../src/tools/tool-part.js";

/** A chat's state without a UI. */
class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  readonly #onMessages: (messages: UIMessage[]) => void;
  #messages: UIMessage[];

  constructor(messages: UIMessage[], onMessages: (messages: UIMessage[]) => void) {
    this.#messages = messages;
    this.#onMessages = onMessages;
  }

  get messages(): UIMessage[] {
    return this.#messages;
  }

  set messages(messages: UIMessage[]) {
    this.#messages = messages;
    this.#onMessages(messages);
  }

  snapshot = <T>(value: T): T => structuredClone(value);
  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, this.snapshot(message)];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
}

/** The SDK's own client, without React. */
export class PlainChat extends AbstractChat<UIMessage> {
  /** `onMessages` is called after every change of the messages, and only then. */
  constructor({
    messages = [],
    onMessages = () => {},
    ...init
  }: ChatInit<UIMessage> & { onMessages?: (messages: UIMessage[]) => void }) {
    super({ ...init, state: new PlainState(messages, onMessages) });
  }

  /** The tool calls of the last message. */
  get calls() {
    return (this.lastMessage?.parts ?? []).map(toolPartOf).filter((part) => part !== undefined);
  }

  /** The approval request that waits for an answer. */
  get approvalRequest(): string | undefined {
    return this.calls.find((call) => call.state === "approval-requested")?.approval?.id;
  }
}

/** What a user sees of a message: no ids and no numbers that differ from one run to the next. */
export function shown(message: UIMessage | undefined): string[] {
  return (message?.parts ?? []).flatMap((part) => {
    if (part.type === "text" || part.type === "reasoning")
      return [`${part.type}: ${part.text.replace(/txn_\w+/g, "TXN")}`];
    const tool = toolPartOf(part);
    return tool === undefined ? [] : [`${nameOfTool(tool)}: ${tool.state}`];
  });
}
