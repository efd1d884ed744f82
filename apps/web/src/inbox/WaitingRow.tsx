import type { PendingApproval } from "holdpoint/protocol";
import { Flame, Users } from "lucide-react";
import { memo } from "react";
import type { ToolSpec } from "../api/types";
import { Untrusted } from "../text/Untrusted";
import { Headline } from "../tools/Headline";
import { ToolIcon } from "../tools/ToolIcon";
import { ageText, present } from "./entry";

interface Props {
  entry: PendingApproval;
  tool: ToolSpec | undefined;
  chatTitle: string | undefined;
  now: number;
  isCurrent: boolean;
  /** Whether the Tab key leads to it: to the current one or, if that has left the list, to the first one. */
  isTabStop: boolean;
  isTicked: boolean;
  isSending: boolean;
  onOpen: (approvalId: string) => void;
  onTick: (approvalId: string) => void;
}

/** One request in the list: what it is about, who asked and when. */
export const WaitingRow = memo((props: Props) => {
  const { entry, tool, chatTitle, now, isCurrent, isTabStop, isTicked, isSending, onOpen, onTick } = props;
  const { headline, subject } = present(entry, tool);
  const { approvalId, votes } = entry;
  return (
    <div className="row" data-current={isCurrent} data-ticked={isTicked} data-sending={isSending}>
      <label className="row__tick">
        <input
          type="checkbox"
          checked={isTicked}
          tabIndex={isTabStop ? 0 : -1}
          aria-label={`Select: ${subject}`}
          onChange={() => onTick(approvalId)}
        />
      </label>
      <button
        type="button"
        className="row__open"
        data-row={approvalId}
        tabIndex={isTabStop ? 0 : -1}
        aria-current={isCurrent ? "true" : undefined}
        onClick={() => onOpen(approvalId)}
      >
        <span className="row__icon">
          <ToolIcon name={entry.toolName} />
        </span>
        <span className="row__text">
          <span className="row__headline">
            <Headline pieces={headline} />
          </span>
          <span className="row__about">
            <span className="row__who">
              <Untrusted text={entry.requestedBy} />
              {chatTitle !== undefined && (
                <>
                  {" · "}
                  <Untrusted text={chatTitle || "Untitled"} />
                </>
              )}
            </span>
            {entry.isEscalated && (
              <span className="row__mark" data-tone="bad">
                <Flame size={12} aria-hidden="true" />
                escalated
              </span>
            )}
            {votes && (
              <span className="row__mark">
                <Users size={12} aria-hidden="true" />
                {votes.by.length}/{votes.quorum}
              </span>
            )}
            <time className="row__age" dateTime={entry.requestedAt}>
              {isSending ? "sending" : ageText(entry.requestedAt, now)}
            </time>
          </span>
        </span>
      </button>
    </div>
  );
});
