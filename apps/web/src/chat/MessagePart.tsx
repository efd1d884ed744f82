import { getToolName, isDataUIPart, isReasoningUIPart, isToolUIPart, type UIMessage } from "ai";
import { Untrusted } from "../text/Untrusted";
import { cardOf } from "../tools/registry";
import { ToolCard } from "../tools/ToolCard";
import type { CallLookup } from "./callRecords";
import { DataPart } from "./DataPart";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";

interface Props {
  /** The id of the part, unique in its chat. */
  id: string;
  part: UIMessage["parts"][number];
  lookup: CallLookup;
}

export function MessagePart({ id, part, lookup }: Props) {
  if (isToolUIPart(part)) {
    const Card = cardOf(getToolName(part)).whole ?? ToolCard;
    return <Card part={part} lookup={lookup} />;
  }
  if (isReasoningUIPart(part)) return <Reasoning text={part.text} isStreaming={part.state === "streaming"} />;
  if (isDataUIPart(part)) return <DataPart id={id} value={part.data} />;
  switch (part.type) {
    case "text":
      return part.text === "" ? null : <Markdown text={part.text} />;
    case "source-url":
      return (
        <a className="message__source" href={part.url} target="_blank" rel="noreferrer noopener">
          <Untrusted text={part.title ?? part.url} />
        </a>
      );
    case "source-document":
      return (
        <span className="message__source">
          <Untrusted text={part.title} />
        </span>
      );
    case "file":
      return (
        <a
          className="message__source"
          href={part.url}
          download={part.filename}
          target="_blank"
          rel="noreferrer noopener"
        >
          <Untrusted text={part.filename ?? part.mediaType} />
        </a>
      );
    default:
      return null;
  }
}
