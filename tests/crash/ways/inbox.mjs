// `POST /api/approvals/{id}`. 200 acknowledges that this decision is in force, 409 that the other one is.

import { read, send } from "../http.mjs";

export async function answer(context, { chat, ref, approvalId }, approved) {
  const { journal } = context;
  journal.sent(ref, "inbox", approved);
  const response = await send(context, `/api/approvals/${approvalId}`, { approved, reason: "the crash suite said so" });
  if (response.status === 200) {
    // The status alone is the acknowledgement: the body may never arrive.
    const ack = journal.stands(ref, "inbox", approved);
    context.event("inbox");
    const { ok, ignored } = await read(response);
    if (ok !== true) journal.strange(chat, `the inbox said 200 and ok: ${ok}`, ref);
    ack.isFirst = !ignored;
    return;
  }
  if (response.status === 409) journal.stands(ref, "inbox", !approved);
  else journal.strange(chat, `the inbox answered ${response.status} to an answer for ${approvalId}`, ref);
  await read(response);
}
