// A chat request over HTTP: the profiles differ in what they send, not in the acknowledgement.

import { readChunks, send } from "../http.mjs";

/** With `ref`, the request carries an answer to that call. */
export async function post(context, path, chat, body, { ref } = {}) {
  const { journal } = context;
  const way = path === "/stream" ? "stream" : "chat";
  const response = await send(context, path, body);
  if (response.status !== 200) {
    const text = await response.text().catch(() => "");
    journal.strange(chat, `${path} answered ${response.status} ${text}`, ref);
    return;
  }
  chat.isAcknowledged = true;
  if (ref) {
    journal.stands(ref, way, null);
    context.event("chat");
  }
  await readChunks(response, (chunk) => journal.chunk(chat, way, chunk));
}
