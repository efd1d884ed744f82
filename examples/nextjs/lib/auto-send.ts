import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";

/**
 * Whether the last message has answers that the server waits for: all approval requests are decided, or all browser
 * tools have run. A chat with both needs both predicates.
 */
export function sendAutomaticallyWhen(chat: { messages: UIMessage[] }): boolean {
  return lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat);
}
