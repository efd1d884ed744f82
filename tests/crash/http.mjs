// Requests to a server that may die at any moment. Whatever arrived before its death counts.

/** The server is gone. */
export class Down extends Error {}

/** Sends a request. Returns the response once its headers have arrived. */
export async function send({ url, signal, mayRefuse }, path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(`${url}${path}`, { ...options, signal });
  } catch (error) {
    throw new Down(`${path}: ${error.cause?.code ?? error.message}`);
  }
  if (response.status === 503 && mayRefuse?.()) {
    await response.text().catch(() => "");
    throw new Down(`${path}: 503`);
  }
  return response;
}

/** The body of a response, as JSON. */
export async function read(response) {
  let text;
  try {
    text = await response.text();
  } catch (error) {
    throw new Down(error.message);
  }
  return JSON.parse(text);
}

/** A list, page by page if it is paginated. */
export async function list(context, path) {
  const items = [];
  for (let next = path; next; ) {
    const response = await send(context, next);
    if (response.status !== 200) throw new Error(`${next}: ${response.status}`);
    items.push(...(await read(response)));
    const following = response.headers.get("link")?.match(/<([^>]*)>; *rel="next"/)?.[1];
    const page = following && new URL(following, `http://any${next}`);
    next = page && `${page.pathname}${page.search}`;
  }
  return items;
}

/** The holds of a chat; undefined if the server does not know it. */
export async function holdsOf(context, chat, { calls } = {}) {
  const askedAt = Date.now();
  const path = `/api/chat/${chat.plan.id}/holds${calls ? `?calls=${calls}` : ""}`;
  const response = await send(context, path);
  if (response.status === 404) {
    await response.body?.cancel().catch(() => {});
    return undefined;
  }
  if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
  const holds = await read(response);
  context.journal.listed(chat, holds, askedAt);
  return holds;
}

/** Passes chunks to `take` until the response ends or breaks off. */
export async function readChunks(response, take) {
  let rest = "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  // If it breaks off, what arrived still counts.
  const next = () => reader.read().catch(() => ({ done: true }));
  for (let { done, value } = await next(); !done; { done, value } = await next()) {
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) record(event, take);
  }
}

/** Handles one server-sent event. Returns whether it was the last. */
export function record(event, take) {
  const data = event.startsWith("data: ") ? event.slice("data: ".length).trimEnd() : undefined;
  if (data === undefined) return false;
  if (data === "[DONE]") return true;
  take(JSON.parse(data));
  return false;
}
