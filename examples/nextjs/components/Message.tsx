import { isToolUIPart, type UIMessage } from "ai";
import { ToolCall, type ToolCallActions } from "./ToolCall";

export function Message({ message, isLast, ...actions }: { message: UIMessage; isLast: boolean } & ToolCallActions) {
  const isUndecided = message.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");
  return (
    <article className={message.role} aria-label={message.role}>
      {message.parts.map((part, index) => {
        // Parts are only ever added at the end.
        const key = `${message.id}-${index}`;
        if (part.type === "text") return <p key={key}>{part.text}</p>;
        if (!isToolUIPart(part)) return null;
        return <ToolCall key={key} part={part} isCurrent={isLast} isHeldBack={isUndecided} {...actions} />;
      })}
    </article>
  );
}
