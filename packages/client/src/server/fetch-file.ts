import type { ToolCallId } from "../protocol.js";
import { isWebPage, notHoldpoint, requestFailure } from "./holdpoint-error.js";
import { Server } from "./server.js";
import type { ServerOptions } from "./server-options.js";

/** The server escapes everything else in a segment, dots included, so no other path can look like this one. */
const LINK = /^\/api\/chat\/(?:[\w~-]|%[\dA-F]{2})+\/files\/((?:[\w~-]|%[\dA-F]{2})+)\/(?:0|[1-9]\d{0,3})$/;

/** A segment of dots is another path, also where the dots are escaped. */
const DOTS = /\/(?:%2E){1,2}\//;

/** The call whose file a link in an output leads to; `undefined` for everything that is no such link. */
export function callOfFile(link: unknown): ToolCallId | undefined {
  if (typeof link !== "string" || DOTS.test(link)) return undefined;
  const call = LINK.exec(link)?.[1];
  try {
    return call === undefined ? undefined : decodeURIComponent(call);
  } catch {
    return undefined;
  }
}

/**
 * A file that a call has produced, by the link in its output. Its media type is what the tool said, so do not let a
 * browser open it as a page.
 */
export async function fetchFile(
  link: string,
  options: ServerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<Blob> {
  if (callOfFile(link) === undefined) throw new TypeError(`Not a link to a file of a call: ${link}`);
  const response = await new Server(options).request(link, { signal: options.signal });
  if (isWebPage(response)) throw notHoldpoint(response);
  try {
    return await response.blob();
  } catch (error) {
    throw requestFailure(error);
  }
}
