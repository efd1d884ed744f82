import type { UIMessage } from "ai";
import type { ChatId, ChatSummary, ToolCallId, UiMessage } from "../protocol.js";
import { isUnknown, isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { readPages } from "./read-pages.js";
import type { RequestOptions, Server } from "./server.js";

/** The user's chats. */
export class Chats {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  /** All chats, most recently changed first. */
  async list({ signal }: RequestOptions = {}): Promise<ChatSummary[]> {
    return await readPages<ChatSummary>(this.#server, "/api/chats", signal);
  }

  /**
   * The stored messages of a chat, including open approval requests, as your message type: for `messages` of `useChat` or
   * `useHoldpoint`. Empty for a chat that the server does not know.
   */
  async messages<UI_MESSAGE extends UIMessage = UIMessage>(
    chatId: ChatId,
    options: RequestOptions = {},
  ): Promise<UI_MESSAGE[]> {
    return (await storedMessages(this.#server, chatId, options)) as unknown[] as UI_MESSAGE[];
  }

  /** Stops the turn of a chat: running calls are cancelled and holds are closed. Does nothing for an unknown chat. */
  async stop(chatId: ChatId, { signal }: RequestOptions = {}): Promise<void> {
    await ifKnown(this.#server.request(chatPath(chatId, "/stop"), { method: "POST", signal }), undefined);
  }

  /**
   * Deletes a chat: its turn is stopped, its holds are withdrawn. This can't be undone, and undoes nothing that its tools
   * did. Does nothing for an unknown chat.
   */
  async delete(chatId: ChatId, { signal }: RequestOptions = {}): Promise<void> {
    await ifKnown(this.#server.request(chatPath(chatId), { method: "DELETE", signal }), undefined);
  }

  /**
   * A file that a call has produced, by the link in its output. Its media type is what the tool said, so do not let a
   * browser open it as a page.
   */
  async file(link: string, { signal }: RequestOptions = {}): Promise<Blob> {
    if (callOfFile(link) === undefined) throw new TypeError(`Not a link to a file of a call: ${link}`);
    const response = await this.#server.request(link, { signal });
    if (isWebPage(response)) throw notHoldpoint(response);
    try {
      return await response.blob();
    } catch (error) {
      throw requestFailure(error);
    }
  }
}

/** The stored messages of a chat, as they come over the wire. */
export async function storedMessages(
  server: Server,
  chatId: ChatId,
  { signal }: RequestOptions = {},
): Promise<UiMessage[]> {
  return await ifKnown(server.json<UiMessage[]>(chatPath(chatId, "/messages"), { signal }), []);
}

/** The path of what the server has of a chat. */
export function chatPath(chatId: ChatId, rest = ""): string {
  return `/api/chat/${encodeURIComponent(chatId)}${rest}`;
}

/** What the server has of a chat, or something else for a chat that it does not know. */
export async function ifKnown<T, OTHER>(read: Promise<T>, otherwise: OTHER): Promise<T | OTHER> {
  try {
    return await read;
  } catch (error) {
    if (isUnknown(error)) return otherwise;
    throw error;
  }
}

/** The server escapes everything else in a segment, dots included, so no other path can look like this one. */
const LINK = /^\/api\/chat\/(?:[\w~-]|%[\dA-F]{2})+\/files\/((?:[\w~-]|%[\dA-F]{2})+)\/(?:0|[1-9]\d{0,3})$/;

/** A segment of dots is another path, also where the dots are escaped. */
const DOTS = /\/(?:%2E){1,2}\//;

/** The call whose file a link in an output leads to; `undefined` for any other link. */
export function callOfFile(link: unknown): ToolCallId | undefined {
  if (typeof link !== "string" || DOTS.test(link)) return undefined;
  const call = LINK.exec(link)?.[1];
  try {
    return call === undefined ? undefined : decodeURIComponent(call);
  } catch {
    return undefined;
  }
}
