import type { UIMessage } from "ai";
import { expect, expectTypeOf, it } from "vitest";
import { getLocation } from "../src/demo.js";
import {
  type ApprovalDecision,
  askUser,
  createHoldpoint,
  type HoldpointError,
  type HoldpointErrorCode,
} from "../src/index.js";
import type { ChatHold, UiMessage } from "../src/protocol.js";
import type { UseHoldpointHelpers, UseHoldpointOptions, WebSocketTransportClass } from "../src/react/index.js";

type Message = UIMessage<
  { cost: number },
  { note: string },
  {
    take_photo: { input: { facing: "user" | "environment" }; output: { tracks: number } };
    get_location: { input: object; output: { latitude: number; longitude: number } };
    get_weather: { input: { city: string }; output: string };
  }
>;
type Options = UseHoldpointOptions<Message>;

// The compiler checks these; what must not compile is marked.
it("handlers have the inputs and outputs of the message type's tools", () => {
  const handlers: Options["handlers"] = {
    take_photo: async (input, { toolCallId, signal }) => {
      expectTypeOf(input).toEqualTypeOf<{ facing: "user" | "environment" }>();
      expectTypeOf(toolCallId).toEqualTypeOf<string>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      return { tracks: 1 };
    },
    get_location: getLocation(),
    ask_user: askUser({ prompt: () => ({ action: "decline" }) }),
  };
  // @ts-expect-error: the output is not that of the tool
  const output: Options["handlers"] = { take_photo: () => "a photo" };
  // @ts-expect-error: the tool is unknown
  const name: Options["handlers"] = { take_foto: () => ({ tracks: 1 }) };
  const any: UseHoldpointOptions["handlers"] = { whatever: (input) => input };
  expect([handlers, output, name, any]).toHaveLength(4);
});

it("ai-sdk-ws needs its transport class", () => {
  const transport = class {} as unknown as WebSocketTransportClass;
  const given: Options = { mode: "ai-sdk-ws", id: "c", webSocketTransport: transport };
  // @ts-expect-error: the class is missing
  const missing: Options = { mode: "ai-sdk-ws", id: "c" };
  const live: Options = { mode: "live", id: "c" };
  const some = { mode: "sse" as "sse" | "ai-sdk-ws", id: "c", webSocketTransport: transport };
  const either: Options = some;
  const usual: Options = { id: "c" };
  // @ts-expect-error: the old name
  const old: Options = { mode: "live", chatId: "c" };
  expect([given, missing, live, either, usual, old]).toHaveLength(6);
});

it("options have the names of useChat, and keys and headers may be functions", () => {
  const options: Options = {
    mode: "sse",
    id: "c",
    messages: [],
    resume: false,
    throttle: 50,
    history: true,
    credentials: "include",
    apiKey: async () => "key",
    headers: () => new Headers(),
    onError: ({ code }) => expectTypeOf(code).toEqualTypeOf<HoldpointErrorCode>(),
  };
  expect(options.mode).toBe("sse");
});

it("a decision is one thing", () => {
  const all: ApprovalDecision[] = [
    { approved: true },
    { approved: true, input: { amount: 1 }, reason: "less" },
    { approved: false, reason: "no" },
    { output: null },
  ];
  const either = { approved: Math.random() > 0.5 } satisfies ApprovalDecision;
  // @ts-expect-error: it says nothing
  const none: ApprovalDecision = { reason: "why" };
  // @ts-expect-error: an answer is not an approval
  const both: ApprovalDecision = { approved: true, output: 1 };
  // @ts-expect-error: a call that is denied has no input
  const denied: ApprovalDecision = { approved: false, input: {} };
  // @ts-expect-error: a call that does not run has no input
  const answered: ApprovalDecision = { output: 1, input: {} };
  // @ts-expect-error: an output that is not there
  const missing: ApprovalDecision = { output: undefined };
  expect([all, either, none, both, denied, answered, missing]).toHaveLength(7);
});

it("results have the caller's types", () => {
  const { chats } = createHoldpoint();
  expectTypeOf(chats.messages<Message>).returns.resolves.toEqualTypeOf<Message[]>();
  expectTypeOf<Awaited<ReturnType<typeof chats.messages>>>().toEqualTypeOf<UIMessage[]>();
  type Chat = UseHoldpointHelpers<Message>;
  expectTypeOf<Chat["messages"]>().toEqualTypeOf<Message[]>();
  expectTypeOf<Chat["error"]>().toEqualTypeOf<HoldpointError | undefined>();
  expectTypeOf<Chat["pendingApprovals"][number]>().toEqualTypeOf<ChatHold & { approvalId: string }>();
  expectTypeOf<UiMessage["id"]>().toEqualTypeOf<string>();
});
