// `/api/chat/ws`, the protocol of the SDK's WebSocket transport. `start` acknowledges that a decision is in force, like
// a 200 over HTTP.

import { randomUUID } from "node:crypto";
import { userMessage } from "../plan.mjs";
import { answered, historyWith, stockBody } from "./messages.mjs";
import { converse } from "./socket.mjs";

async function request(context, chat, body, { ref } = {}) {
  const { journal } = context;
  const requestId = randomUUID();
  const { id, ...rest } = body;
  const frame = { type: "send", requestId, id, ...rest };
  await converse(context, "/api/chat/ws", [frame], (text) => {
    const said = JSON.parse(text);
    if (said.requestId !== requestId) journal.strange(chat, `ws: a frame for another request: ${text}`, ref);
    else if (said.type === "start") {
      chat.isAcknowledged = true;
      if (ref) {
        journal.stands(ref, "ws", null);
        context.event("chat");
      }
    } else if (said.type === "chunk") journal.chunk(chat, "ws", said.chunk);
    else if (said.type === "error") journal.refused(chat, `ws: ${text}`, ref);
    else if (said.type !== "end") journal.strange(chat, `ws: ${text}`, ref);
    return said.type === "end" || said.type === "error";
  });
}

export const ask = (context, chat) => request(context, chat, stockBody(chat, [userMessage(chat.plan)]));

export async function answer(context, question, approved) {
  const { chat, ref } = question;
  const body = stockBody(chat, await historyWith(context, question, answered(question, approved)));
  context.journal.sent(ref, "ws", approved);
  await request(context, chat, body, { ref });
}
