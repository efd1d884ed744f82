// Answers as message parts, shared by the four ways that carry messages.

import { read, send } from "../http.mjs";
import { userMessage } from "../plan.mjs";

const isAbout = (part, { toolCallId }) => part.toolCallId === toolCallId;

/** The tool part with which a client approves or denies. */
export const answered = ({ toolName, toolCallId, approvalId, input }, approved) => ({
  type: `tool-${toolName}`,
  toolCallId,
  state: "approval-responded",
  input,
  approval: { id: approvalId, approved },
});

/** The chat's stored history with the part of one call replaced, as a stock client sends it. */
export async function historyWith(context, question, part) {
  const { chat, messageId } = question;
  const response = await send(context, `/api/chat/${chat.plan.id}/messages`);
  const messages = response.status === 200 ? await read(response) : [];
  const last = messages.find(({ id, parts }) => id === messageId && parts.some((own) => isAbout(own, question)));
  // A message that is being written is omitted from the history: this client saw only its approval request.
  if (!last) return [userMessage(chat.plan), { id: messageId, role: "assistant", parts: [part] }];
  const parts = last.parts.map((own) => (isAbout(own, question) ? { ...own, ...part } : own));
  return [...messages.slice(0, messages.indexOf(last)), { ...last, parts }];
}

/** The body of a stock client's request. */
export const stockBody = (chat, messages) => ({
  id: chat.plan.id,
  messages,
  trigger: "submit-message",
  ...(messages.at(-1).role === "assistant" && { messageId: messages.at(-1).id }),
});
