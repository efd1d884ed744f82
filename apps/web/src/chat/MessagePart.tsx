import { isDataUIPart, isReasoningUIPart, isToolUIPart, type UIMessage } from "ai";
import { PromptCard } from "../prompt/PromptCard";
import { ASK_USER } from "../prompt/prompt";
import { Untrusted } from "../text/Untrusted";
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
    const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
    return name === ASK_USER ? <PromptCard part={part} lookup={lookup} /> : <ToolCard part={part} lookup={lookup} />;
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
