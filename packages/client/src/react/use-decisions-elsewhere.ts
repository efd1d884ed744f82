import { useEffect } from "react";
import { watchEvents } from "../server/events.js";
import type { LiveChatTransportOptions } from "../transport/live-chat-transport.js";

/** While a question is open, follows whether it is decided elsewhere: in the inbox, in another tab, by its deadline. */
export function useDecisionsElsewhere({
  isAsking,
  server,
  sync,
}: {
  isAsking: boolean;
  server: LiveChatTransportOptions;
  sync: () => Promise<void>;
}): void {
  useEffect(() => {
    // Only then: a browser has few connections to one server.
    if (!isAsking) return;
    return watchEvents({
      ...server,
      onConnection: undefined,
      onEvent: (event) => {
        const isOurs = !("chatId" in event) || event.chatId === server.chatId;
        // What fails now is tried at the next change.
        if (isOurs) sync().catch(() => {});
      },
    });
  }, [isAsking, server, sync]);
}
