// `POST /stream`: the same in the adk profile. Its clients send an answer in a separate message, with or without the
// chat id.

import { userMessage } from "../plan.mjs";
import { answered } from "./messages.mjs";
import { post } from "./post.mjs";

export const ask = (context, chat) =>
  post(context, "/stream", chat, { id: chat.plan.id, messages: [userMessage(chat.plan)] });

export async function answer(context, question, approved) {
  const { chat, ref } = question;
  const messages = [{ role: "user", parts: [answered(question, approved)] }];
  const body = chat.plan.random.chance(0.5) ? { id: chat.plan.id, messages } : { messages };
  context.journal.sent(ref, "stream", approved);
  await post(context, "/stream", chat, body, { ref });
}
