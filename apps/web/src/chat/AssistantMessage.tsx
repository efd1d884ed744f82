import type { UIMessage } from "ai";
import type { ChatHold } from "holdpoint";
import { RotateCcw } from "lucide-react";
import { memo } from "react";
import { CopyButton } from "../shell/CopyButton";
import { Untrusted } from "../text/Untrusted";
import { EarlierAttempts } from "./EarlierAttempts";
import { MessagePart } from "./MessagePart";
import { textOf } from "./messageText";
import type { ChatRecord } from "./standing";
import { usageOf } from "./usage";

interface Props {
  message: UIMessage;
  record: ChatRecord;
  /** Calls of turns that this message took the place of. */
  earlier: readonly ChatHold[];
  isStreaming: boolean;
  /** Only the last answer can be made again. */
  onRegenerate: (() => void) | undefined;
}

export const AssistantMessage = memo(({ message, record, earlier, isStreaming, onRegenerate }: Props) => {
  const text = textOf(message);
  const usage = usageOf(message.metadata);
  return (
    <article className="message message--assistant" aria-label="Assistant" aria-busy={isStreaming}>
      <EarlierAttempts holds={earlier} toolNamed={record.toolNamed} />
      {message.parts.map((part, index) => (
        <MessagePart key={keyOf(part, index)} id={`${message.id} ${index}`} part={part} record={record} />
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
 * A call is itself wherever its part stands: the stored message has parts that its stream left out, and a card that is looked at, or
 * whose input is being reviewed, must not start over when the record is read. Everything else keeps its place.
 */
function keyOf(part: UIMessage["parts"][number], index: number): string | number {
  return "toolCallId" in part ? part.toolCallId : index;
}
