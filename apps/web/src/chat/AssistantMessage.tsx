import type { UIMessage } from "ai";
import { Check, Copy, RotateCcw } from "lucide-react";
import { memo, useState } from "react";
import { MessagePart, type PartContext } from "./MessagePart";
import { textOf } from "./messageText";
import { usageOf } from "./usage";

interface Props {
  message: UIMessage;
  context: PartContext;
  isStreaming: boolean;
  /** Only the last answer can be made again. */
  onRegenerate: (() => void) | undefined;
}

export const AssistantMessage = memo(({ message, context, isStreaming, onRegenerate }: Props) => {
  const [isCopied, setIsCopied] = useState(false);
  const text = textOf(message);
  const usage = usageOf(message.metadata);
  return (
    <article className="message message--assistant" aria-label="Assistant" aria-busy={isStreaming}>
      {message.parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts keep their places for the life of a message
        <MessagePart key={index} part={part} context={context} />
      ))}
      {!isStreaming && (text !== "" || onRegenerate) && (
        <div className="message__actions">
          {text !== "" && (
            <button
              type="button"
              className="icon-button"
              aria-label={isCopied ? "Copied" : "Copy answer"}
              title="Copy"
              onClick={() => {
                void navigator.clipboard?.writeText(text);
                setIsCopied(true);
              }}
            >
              {isCopied ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
            </button>
          )}
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
          {usage && <span className="message__usage">{usage}</span>}
        </div>
      )}
    </article>
  );
});
