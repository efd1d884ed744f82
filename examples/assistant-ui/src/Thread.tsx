import { MessagePartPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { CallCard } from "./CallCard";
import { Composer } from "./Composer";
import { LocationCard } from "./LocationCard";

export function Thread() {
  return (
    <ThreadPrimitive.Root className="thread">
      <ThreadPrimitive.Viewport className="transcript">
        <ThreadPrimitive.Messages>
          {({ message }) => (
            <MessagePrimitive.Root className="message" data-role={message.role}>
              <MessagePrimitive.Parts components={PARTS} />
            </MessagePrimitive.Root>
          )}
        </ThreadPrimitive.Messages>
      </ThreadPrimitive.Viewport>
      <Composer />
    </ThreadPrimitive.Root>
  );
}

/** How the parts of a message are shown. A tool can have a card of its own. */
const PARTS = {
  Text: () => <MessagePartPrimitive.Text component="p" />,
  tools: { by_name: { get_location: LocationCard }, Fallback: CallCard },
} as const;
