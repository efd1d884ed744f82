import { ArrowDown, ArrowUp } from "lucide-react";
import { memo } from "react";
import { CopyButton } from "../shell/CopyButton";
import { Untrusted } from "../text/Untrusted";
import type { Entry, Mark } from "./entry";
import { directionOf, prettyText, rawText } from "./filter";

interface Props {
  entry: Entry;
  /** The time from which offsets are counted. */
  start: number;
  /** The checker's violation. */
  problem: string | undefined;
  isOpen: boolean;
  /** It is the row that the Tab key reaches. */
  isActive: boolean;
  onToggle: (index: number) => void;
}

/** One record in a line, and on request as a whole. */
export const ChunkRow = memo(({ entry, start, problem, isOpen, isActive, onToggle }: Props) => {
  const { title, detail } = describe(entry);
  const seconds = ((entry.at - start) / 1000).toFixed(3);
  return (
    <div className="chunk" data-kind={kindOf(entry)} data-problem={problem !== undefined}>
      <button
        type="button"
        className="chunk__line"
        aria-expanded={isOpen}
        tabIndex={isActive ? 0 : -1}
        onClick={() => onToggle(entry.index)}
      >
        <span className="chunk__time" title={new Date(entry.at).toISOString()}>
          {seconds}
        </span>
        <span className="chunk__segment" data-parity={entry.segment % 2}>
          {entry.segment}
        </span>
        <span className="chunk__what">
          {directionOf(entry) === "sent" && <ArrowUp size={11} role="img" aria-label="sent" />}
          {directionOf(entry) === "received" && <ArrowDown size={11} role="img" aria-label="received" />}
          <span className="chunk__type">
            <Untrusted text={title} />
          </span>{" "}
          <span className="chunk__detail">
            <Untrusted text={detail} />
          </span>
        </span>
        <span className="chunk__size">{entry.size > 0 ? entry.size : ""}</span>
      </button>
      {isOpen && (
        <div className="chunk__whole">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region has to be reachable by keyboard */}
          <pre className="chunk__raw" dir="ltr" tabIndex={0}>
            <Untrusted text={prettyText(entry)} reading="prose" />
          </pre>
          <CopyButton label="Copy this record" text={() => rawText(entry)} />
        </div>
      )}
      {problem !== undefined && (
        <p className="chunk__problem">
          <Untrusted text={problem} reading="prose" />
        </p>
      )}
    </div>
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

/** A line shows no more than fits. */
const MAX_DETAIL = 300;

function describe(entry: Entry): { title: string; detail: string } {
  switch (entry.kind) {
    case "done":
      return { title: "[DONE]", detail: "" };
    case "comment":
      return { title: ":", detail: entry.text.slice(0, MAX_DETAIL) };
    case "broken":
      return { title: "not a chunk", detail: entry.text.slice(0, MAX_DETAIL) };
    case "request":
      return { title: entry.label, detail: entry.text.slice(0, MAX_DETAIL) };
    case "mark":
      return describeMark(entry.mark);
    case "chunk": {
      const { type, ...rest } = entry.chunk as { type: string } & Record<string, unknown>;
      const main =
        rest.delta ?? rest.inputTextDelta ?? rest.toolName ?? rest.errorText ?? rest.messageId ?? rest.finishReason;
      const detail = typeof main === "string" ? main : Object.keys(rest).length > 0 ? JSON.stringify(rest) : "";
      return { title: type, detail: detail.slice(0, MAX_DETAIL) };
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
    case "reload":
      return { title: "page reloaded", detail: "" };
  }
}
