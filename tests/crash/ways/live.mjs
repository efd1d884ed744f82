// Frames on `/live`. A frame has no acknowledgement of its own: the call's outcome in the stream serves as one.

import { record } from "../http.mjs";
import { userMessage } from "../plan.mjs";
import { answered } from "./messages.mjs";
import { converse } from "./socket.mjs";

const OUTCOME = /^tool-output-(available|denied|error)$/;

/** Until the turn ends or is held, or `isLast` returns true. */
function live(context, chat, messages, isLast) {
  const frame = { type: "message", id: chat.plan.id, messages };
  let isOver = false;
  const take = (chunk) => {
    context.journal.chunk(chat, "live", chunk);
    isOver ||= isLast(chunk);
  };
  const path = `/live?id=${chat.plan.id}`;
  return converse(context, path, [frame], (text) => record(text, take) || isOver);
}

export const ask = (context, chat) =>
  live(context, chat, [userMessage(chat.plan)], ({ type }) => type === "tool-approval-request");

export async function answer(context, question, approved) {
  const { chat, ref, toolCallId } = question;
  const messages = [{ role: "user", parts: [answered(question, approved)] }];
  context.journal.sent(ref, "live", approved);
  const isOutcome = (chunk) => chunk.toolCallId === toolCallId && OUTCOME.test(chunk.type);
  await live(context, chat, messages, isOutcome);
}
