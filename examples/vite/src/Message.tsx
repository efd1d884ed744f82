import { isToolUIPart } from "ai";
import type { UseHoldpointHelpers } from "holdpoint/react";
import type { AgentMessage } from "./agent";
import { CallCard } from "./CallCard";

export function Message({ message, chat }: { message: AgentMessage; chat: UseHoldpointHelpers<AgentMessage> }) {
  const { id, role, parts } = message;
  return (
    <article className="message" data-role={role}>
      {parts.map((part, index) => {
        if (isToolUIPart(part)) return <CallCard key={part.toolCallId} part={part} chat={chat} />;
        // A message only grows, so that the position of a part does not change.
        // biome-ignore lint/suspicious/noArrayIndexKey: see above.
        if (part.type === "text") return <p key={index}>{part.text}</p>;
        return null;
      })}
      {chat.unsent.includes(id) && <small>Not sent</small>}
    </article>
  );
}
