import type { UIMessage } from "ai";
import type { ChatHold } from "holdpoint/protocol";
import { RotateCcw } from "lucide-react";
import { memo } from "react";
import { CopyButton } from "../shell/CopyButton";
import { Untrusted } from "../text/Untrusted";
import type { CallLookup } from "./callRecords";
import { EarlierAttempts } from "./EarlierAttempts";
import { MessagePart } from "./MessagePart";
import { textOf } from "./messageText";
import { usageOf } from "./usage";

interface Props {
  message: UIMessage;
  lookup: CallLookup;
  /** Calls of turns that this message superseded. */
  earlier: readonly ChatHold[];
  isStreaming: boolean;
  /** Only the last answer can be regenerated. */
  onRegenerate: (() => void) | undefined;
}

export const AssistantMessage = memo(({ message, lookup, earlier, isStreaming, onRegenerate }: Props) => {
  const text = textOf(message);
  const usage = usageOf(message.metadata);
  return (
    <article className="message message--assistant" aria-label="Assistant" aria-busy={isStreaming}>
      <EarlierAttempts holds={earlier} toolNamed={lookup.toolNamed} />
      {message.parts.map((part, index) => (
        <MessagePart key={keyOf(part, index)} id={`${message.id} ${index}`} part={part} lookup={lookup} />
      ))}
      {!isStreaming && (text !== "" || onRegenerate) && (
        <div className="message__actions">
          {text !== "" && <CopyButton label="Copy answer" text={() => text} />}
          {onRegenerate && (
            <button
              type="button"
              className="icon-button"
              aria-label="Regenerate answer"
              title="Regenerate"
              onClick={onRegenerate}
            >
              <RotateCcw size={14} aria-hidden="true" />
            </button>
          )}
          {usage && (
            <span className="message__usage">
              <Untrusted text={usage} />
            </span>
          )}
        </div>
      )}
    </article>
  );
});

/**
 * A call keeps its key wherever its part is: the stored message has parts that its stream omitted, and a card in view,
 * or under review, must not remount when the record is read. Other parts are keyed by index.
 */
function keyOf(part: UIMessage["parts"][number], index: number): string | number {
  return "toolCallId" in part ? part.toolCallId : index;
}
