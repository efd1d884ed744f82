import type { UIMessage } from "ai";
import type { ChatId, UiMessage } from "../protocol.js";
import { isUnknown } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/**
 * The stored messages of a chat, including open approval requests, as your message type: for `messages` of `useChat` or
 * `useHoldpoint`. Empty for a chat that the server does not know.
 */
export async function fetchMessages<UI_MESSAGE extends UIMessage = UIMessage>(
  chatId: ChatId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<UI_MESSAGE[]> {
  return (await fetchStored(chatId, options)) as unknown[] as UI_MESSAGE[];
}

/** The stored messages of a chat, as they come over the wire. */
export async function fetchStored(
  chatId: ChatId,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<UiMessage[]> {
  try {
    const path = `/api/chat/${encodeURIComponent(chatId)}/messages`;
    return await new Server(options).json<UiMessage[]>(path, { signal: options.signal });
  } catch (error) {
    if (isUnknown(error)) return [];
    throw error;
  }
}
