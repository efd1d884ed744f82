import { DefaultChatTransport } from "ai";

/** No response of the Holdpoint server, or a refusal. Whatever was to be sent can be sent again. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

/** `fetch` with errors that a user can read. */
const readableFetch: typeof fetch = async (input, init) => {
  let response: Response;
  try {
    response = await fetch(input, init);
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new RequestError("This page is offline, or its server is down.", { cause: error });
  }
  if (response.ok) return response;
  // Every response of the Holdpoint server has this header. Others come from Next.js, which could not reach it.
  if (!response.headers.has("x-request-id")) throw new RequestError("The Holdpoint server does not answer.");
  throw new RequestError(await response.text());
};

/** Sends to `/api/chat` of this app: see proxy.ts. */
export const transport = new DefaultChatTransport({ api: "/api/chat", fetch: readableFetch });
