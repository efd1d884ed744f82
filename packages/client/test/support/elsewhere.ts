import type { ChatHold, DecisionRequest, PendingApproval, UiMessage } from "../../src/protocol.js";

/** What another program sees and does: plain requests, with nothing of the package's in between. */
export function elsewhere(url: string) {
  const get = async <T>(path: string) => (await fetch(`${url}${path}`)).json() as Promise<T>;
  const post = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    /** The inbox. */
    approvals: () => get<PendingApproval[]>("/api/approvals"),
    /** Decides; gives the status. */
    decide: async (approvalId: string, approved: boolean, reason?: string) =>
      (await post(`/api/approvals/${approvalId}`, { approved, reason })).status,
    /** Decides in any of the ways that there are. */
    decideWith: async (approvalId: string, decision: DecisionRequest) => {
      const response = await post(`/api/approvals/${approvalId}`, decision);
      if (!response.ok) throw new Error(await response.text());
    },
    /** Gives a frontend call its result; gives the status. */
    acknowledge: async (toolCallId: string, output: unknown) =>
      (await post("/api/tools/ack", { toolCallId, status: "success", output, requestedAt: new Date().toISOString() }))
        .status,
    /** Stops the turn of a chat; gives the status. */
    stop: async (chatId: string) => (await post(`/api/chat/${chatId}/stop`, {})).status,
    holds: (chatId: string, query = "") => get<ChatHold[]>(`/api/chat/${chatId}/holds${query}`),
    messages: (chatId: string) => get<UiMessage[]>(`/api/chat/${chatId}/messages`),
    /** Sends a message and waits for the end of the response. */
    say: async (chatId: string, id: string, text: string) => {
      const message = { id, role: "user", parts: [{ type: "text", text }] };
      return (await post("/stream", { id: chatId, messages: [message] })).text();
    },
  };
}
