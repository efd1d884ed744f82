import { DefaultChatTransport } from "ai";
import { RequestError } from "./failure";

/** `fetch` with errors that a user can read. */
const readableFetch: typeof fetch = async (input, init) => {
  let response: Response;
  try {
    response = await fetch(input, init);
  } catch (cause) {
    if (init?.signal?.aborted) throw cause;
    throw new RequestError("This page is offline, or its server is down.", init, { cause });
  }
  if (response.ok) return response;
  // Every response of the Holdpoint server has this header. Others come from Next.js, which could not reach it.
  if (!response.headers.has("x-request-id")) throw new RequestError("The Holdpoint server does not answer.", init);
  throw new RequestError(await response.text(), init);
};

/** Sends to `/api/chat` of this app: see proxy.ts. */
export const transport = new DefaultChatTransport({ api: "/api/chat", fetch: readableFetch });
