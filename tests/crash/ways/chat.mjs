// `POST /api/chat`, like a stock `useChat`. 200 acknowledges that a decision is in force; the outcome in the stream
// says which one.

import { userMessage } from "../plan.mjs";
import { answered, historyWith, stockBody } from "./messages.mjs";
import { post } from "./post.mjs";

export const ask = (context, chat) => post(context, "/api/chat", chat, stockBody(chat, [userMessage(chat.plan)]));

/** `change` is what a lying client adds to the part. */
export async function answer(context, question, approved, change) {
  const part = { ...answered(question, approved), ...change };
  const body = stockBody(question.chat, await historyWith(context, question, part));
  context.journal.sent(question.ref, "chat", approved);
  await post(context, "/api/chat", question.chat, body, { ref: question.ref });
}
