import { isToolUIPart, type UIMessage } from "ai";
import { ToolCall, type ToolCallActions } from "./ToolCall";

type Props = ToolCallActions & {
  message: UIMessage;
  isLast: boolean;
  /** The request that sends what was decided in the last message. */
  request: "open" | "failed" | "none";
};

export function Message({ message, isLast, request, ...actions }: Props) {
  const isUndecided = message.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");
  // `useChat` sends the decisions of a message together, after the last one.
  const delivery = isUndecided ? "held-back" : request;
  return (
    <article className={`message ${message.role}`} aria-label={message.role}>
      {message.parts.map((part, index) => {
        // Parts are only ever added at the end.
        const key = `${message.id}-${index}`;
        if (part.type === "text") return <p key={key}>{part.text}</p>;
        if (!isToolUIPart(part)) return null;
        return <ToolCall key={key} part={part} isCurrent={isLast} delivery={delivery} {...actions} />;
      })}
    </article>
  );
}
