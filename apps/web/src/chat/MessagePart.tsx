import { isDataUIPart, isReasoningUIPart, isToolUIPart, type UIMessage } from "ai";
import type { PendingApproval } from "holdpoint";
import type { ToolInfo } from "../api/types";
import { AskCard } from "../ask/AskCard";
import { ASK_USER } from "../ask/question";
import { type ToolActions, ToolCard } from "../tools/ToolCard";
import { Value } from "../tools/Value";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";

/** What the parts of any message may need to know. */
export interface PartContext {
  toolNamed: (name: string) => ToolInfo | undefined;
  pendingOf: (approvalId: string) => PendingApproval | undefined;
  browserErrors: Readonly<Record<string, string>>;
  actions: ToolActions | undefined;
}

interface Props {
  part: UIMessage["parts"][number];
  context: PartContext;
}

export function MessagePart({ part, context }: Props) {
  if (isToolUIPart(part)) {
    const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
    const { actions, toolNamed } = context;
    if (name === ASK_USER) {
      return (
        <AskCard
          part={part}
          titleOf={(tool) => toolNamed(tool)?.title ?? tool}
          browserError={context.browserErrors[part.toolCallId]}
          onRetry={actions && (() => actions.retry(part.toolCallId))}
        />
      );
    }
    return (
      <ToolCard
        part={part}
        tool={toolNamed(name)}
        pending={part.approval ? context.pendingOf(part.approval.id) : undefined}
        browserError={context.browserErrors[part.toolCallId]}
        actions={actions}
      />
    );
  }
  if (isReasoningUIPart(part)) return <Reasoning text={part.text} isStreaming={part.state === "streaming"} />;
  if (isDataUIPart(part)) return <Value value={part.data} />;
  switch (part.type) {
    case "text":
      return part.text === "" ? null : <Markdown text={part.text} />;
    case "source-url":
      return (
        <a className="message__source" href={part.url} target="_blank" rel="noreferrer noopener">
          {part.title ?? part.url}
        </a>
      );
    case "source-document":
      return <span className="message__source">{part.title}</span>;
    case "file":
      return (
        <a
          className="message__source"
          href={part.url}
          download={part.filename}
          target="_blank"
          rel="noreferrer noopener"
        >
          {part.filename ?? part.mediaType}
        </a>
      );
    default:
      return null;
  }
}
