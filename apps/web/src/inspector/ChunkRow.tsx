import { memo } from "react";
import type { Entry } from "./entry";

interface Props {
  entry: Entry;
  /** The time that the list counts from. */
  start: number;
  /** What the checker says about it. */
  problem: string | undefined;
}

export const ChunkRow = memo(({ entry, start, problem }: Props) => {
  const { title, detail } = describe(entry);
  const seconds = ((entry.at - start) / 1000).toFixed(3);
  return (
    <li className="chunk" data-kind={kindOf(entry)} data-problem={problem !== undefined}>
      <details>
        <summary>
          <span className="chunk__time" title={new Date(entry.at).toISOString()}>
            {seconds}
          </span>
          <span className="chunk__segment" data-parity={entry.segment % 2}>
            {entry.segment}
          </span>
          <span className="chunk__what">
            <span className="chunk__type">{title}</span> <span className="chunk__detail">{detail}</span>
          </span>
          <span className="chunk__size">{entry.size > 0 ? entry.size : ""}</span>
        </summary>
        <pre className="chunk__raw">{raw(entry)}</pre>
      </details>
      {problem !== undefined && <p className="chunk__problem">{problem}</p>}
    </li>
  );
});

/** Colours follow who the chunk is about. */
function kindOf(entry: Entry): string {
  if (entry.kind !== "chunk") return entry.kind;
  const { type } = entry.chunk;
  if (type.startsWith("tool-approval")) return "approval";
  if (type.startsWith("tool-")) return "tool";
  if (type.startsWith("text")) return "text";
  if (type.startsWith("reasoning")) return "reasoning";
  return type === "error" || type === "abort" ? "broken" : "frame";
}

function describe(entry: Entry): { title: string; detail: string } {
  switch (entry.kind) {
    case "done":
      return { title: "[DONE]", detail: "" };
    case "comment":
      return { title: ":", detail: entry.text };
    case "broken":
      return { title: "not a chunk", detail: entry.text };
    case "mark":
      return entry.mark.type === "decided"
        ? { title: entry.mark.approved ? "approved here" : "denied here", detail: entry.mark.approvalId }
        : {
            title: entry.mark.type === "browser-start" ? "browser begins" : "browser is done",
            detail: entry.mark.toolCallId,
          };
    case "chunk": {
      const { type, ...rest } = entry.chunk as { type: string } & Record<string, unknown>;
      const main =
        rest.delta ?? rest.inputTextDelta ?? rest.toolName ?? rest.errorText ?? rest.messageId ?? rest.finishReason;
      return {
        title: type,
        detail: typeof main === "string" ? main : Object.keys(rest).length > 0 ? JSON.stringify(rest) : "",
      };
    }
  }
}

function raw(entry: Entry): string {
  switch (entry.kind) {
    case "chunk":
      return JSON.stringify(entry.chunk, null, 2);
    case "mark":
      return JSON.stringify(entry.mark, null, 2);
    case "done":
      return "[DONE]";
    default:
      return entry.text;
  }
}
