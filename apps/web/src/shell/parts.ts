import { partOf } from "./part";

/** An open chat: the SDK, Markdown, the cards of calls, and the panel with the pages that the assistant opens. */
export const conversation = partOf(() => import("../chat/conversation"));
/** What a request is about, in words. */
export const requests = partOf(() => import("../inbox/entry"));
export const inboxPage = partOf(() => import("../inbox/InboxPage"));
export const inboxPanel = partOf(() => import("../inbox/InboxPanel"));
export const statusPage = partOf(() => import("../status/StatusPage"));
export const inspector = partOf(() => import("../inspector/InspectorPanel"));

/** Loads all parts, each when the page has nothing else to do. */
export async function preloadParts(): Promise<void> {
  for (const part of [conversation, inboxPanel, inboxPage, inspector, statusPage]) {
    await idle();
    await part.preload();
  }
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    // Safari has it not.
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve());
    else setTimeout(resolve, 200);
  });
}
