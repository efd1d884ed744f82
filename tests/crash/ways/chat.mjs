// `POST /api/chat`, as a stock `useChat` does it. 200 is the acknowledgement that a decision stands; which one, the outcome in the stream says.

import { userMessage } from "../plan.mjs";
import { answered, historyWith, stockBody } from "./messages.mjs";
import { post } from "./post.mjs";

export const ask = (context, chat) => post(context, "/api/chat", chat, stockBody(chat, [userMessage(chat.plan)]));

/** `change` is what a client that lies puts into the part besides. */
export async function answer(context, question, approved, change) {
  const part = { ...answered(question, approved), ...change };
  const body = stockBody(question.chat, await historyWith(context, question, part));
  context.journal.sent(question.ref, "chat", approved);
  await post(context, "/api/chat", question.chat, body, { ref: question.ref });
}
