import { memo } from "react";
import { Untrusted } from "../text/Untrusted";
import { jsonText } from "../value/json";
import type { Entry, Mark } from "./entry";

interface Props {
  entry: Entry;
  /** The time from which offsets are counted. */
  start: number;
  /** The checker's violation. */
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
            <span className="chunk__type">
              <Untrusted text={title} />
            </span>{" "}
            <span className="chunk__detail">
              <Untrusted text={detail} />
            </span>
          </span>
          <span className="chunk__size">{entry.size > 0 ? entry.size : ""}</span>
        </summary>
        <pre className="chunk__raw" dir="ltr">
          <Untrusted text={raw(entry)} reading="prose" />
        </pre>
      </details>
      {problem !== undefined && (
        <p className="chunk__problem">
          <Untrusted text={problem} reading="prose" />
        </p>
      )}
    </li>
  );
});

/** The colour depends on what the chunk concerns. */
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
      return describeMark(entry.mark);
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

function describeMark(mark: Mark): { title: string; detail: string } {
  switch (mark.type) {
    case "sent":
      return { title: mark.approved ? "approval sent" : "denial sent", detail: mark.approvalId };
    case "decided":
      return { title: mark.approved ? "approval in force" : "denial in force", detail: mark.approvalId };
    case "browser-start":
      return { title: "browser begins", detail: mark.toolCallId };
    case "browser-end":
      return { title: "browser is done", detail: mark.toolCallId };
  }
}

function raw(entry: Entry): string {
  switch (entry.kind) {
    case "chunk":
      return jsonText(entry.chunk);
    case "mark":
      return jsonText(entry.mark);
    case "done":
      return "[DONE]";
    default:
      return entry.text;
  }
}
