import { act, renderHook } from "@testing-library/react";
import * as ai from "ai";
import { StrictMode } from "react";
import { changeBgm, getLocation, openUrl } from "../../src/demo.js";
import type { ToolHandlers } from "../../src/index.js";
import {
  type HoldpointMode,
  type UseHoldpointOptions,
  useHoldpoint,
  type WebSocketTransportClass,
} from "../../src/react/index.js";
import { toolPartOf } from "../../src/tools/tool-part.js";
import { jitter } from "./slow-network.js";
import { until } from "./until.js";

// The types are those of version 7 only, the module may be that of version 6.
export const webSocketTransport = (ai as { WebSocketChatTransport?: typeof ai.WebSocketChatTransport })
  .WebSocketChatTransport;
export const modes: HoldpointMode[] = [
  "sse",
  "live",
  "ai-sdk",
  ...(webSocketTransport ? (["ai-sdk-ws"] as const) : []),
];
let chats = 0;

/** An id that no other test has. */
export const newChatId = (what: string) => `${what}-${chats++}-${Date.now()}`;

/** The options of a chat in any mode. */
export type ChatOptions = Partial<Omit<UseHoldpointOptions, "mode" | "webSocketTransport">> & {
  webSocketTransport?: WebSocketTransportClass | undefined;
};

/** The hook as an application uses it, with handlers that only note that they ran. */
export function renderChat(mode: HoldpointMode, options: ChatOptions & { baseUrl: string }) {
  const chatId = options.id ?? newChatId(`hook-${mode}`);
  const ran: string[] = [];
  const position = { coords: { latitude: 35, longitude: 139, accuracy: 5 }, timestamp: 0 } as GeolocationPosition;
  const geolocation = {
    getCurrentPosition: (onPosition: PositionCallback) => {
      ran.push("get_location");
      onPosition(position);
    },
  } as Geolocation;
  const handlers: ToolHandlers = {
    get_location: getLocation({ geolocation }),
    "open-url": openUrl({
      open: ({ url }) => {
        ran.push(`open-url ${url}`);
        return "view-1";
      },
    }),
    change_bgm: changeBgm({ play: (track) => void ran.push(`change_bgm ${track}`) }),
  };
  const errors: Error[] = [];
  const initialProps: UseHoldpointOptions = {
    mode,
    id: chatId,
    ...jitter(),
    webSocketTransport: webSocketTransport as WebSocketTransportClass,
    handlers,
    onError: (error) => errors.push(error),
    ...options,
  } as UseHoldpointOptions;
  const hook = renderHook(useHoldpoint, { wrapper: StrictMode, initialProps });
  const chat = () => hook.result.current;
  const calls = () => (chat().messages.at(-1)?.parts ?? []).map(toolPartOf).filter((part) => part !== undefined);
  const say = async (text: string) => {
    await until("the tools", () => chat().tools);
    await act(async () => {
      void chat().sendMessage({ text });
    });
  };
  const settled = (state: string) =>
    until(`${mode}: ${state}, and the end`, () => {
      if (errors.length > 0) throw errors[0];
      const isText = chat().messages.at(-1)?.parts.at(-1)?.type === "text";
      return chat().status === "ready" && calls().length > 0 && calls().every((call) => call.state === state) && isText;
    });
  const approvalRequest = () =>
    until(`${mode}: an approval request`, () => {
      if (errors.length > 0) throw errors[0];
      const asked = calls().find((call) => call.state === "approval-requested");
      return chat().status === "ready" && asked?.approval?.id;
    });
  return { hook, chat, chatId, calls, say, settled, approvalRequest, ran, errors };
}
