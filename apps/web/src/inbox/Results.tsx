import type { PendingApproval } from "holdpoint/protocol";
import { useApproval } from "holdpoint/react";
import { X } from "lucide-react";
import { useServer } from "../api/server";
import type { ToolSpec } from "../api/types";
import { present } from "./entry";
import { GrantMade } from "./GrantMade";
import { outcomeText } from "./outcomes";
import { followedOf, presentRecord } from "./receipt";

interface Props {
  /** What was decided during this visit, newest last. */
  decided: readonly PendingApproval[];
  toolNamed: (name: string) => ToolSpec | undefined;
  onClear: () => void;
}

const MOST = 3;

/** What came of the last decisions: the requests themselves have left the list. It follows each until it has an outcome. */
export function Results({ decided, toolNamed, onClear }: Props) {
  return (
    <div className="results" aria-live="polite">
      {decided.length > 0 && (
        <>
          <ul>
            {decided.slice(-MOST).map((entry) => (
              <Result key={entry.approvalId} entry={entry} tool={toolNamed(entry.toolName)} />
            ))}
          </ul>
          <button type="button" className="icon-button" aria-label="Clear the results" title="Clear" onClick={onClear}>
            <X size={15} aria-hidden="true" />
          </button>
        </>
      )}
    </div>
  );
}

/** A decision of this page, the request with the input that runs, and what came of it. */
export function useFollowed(entry: PendingApproval, tool: ToolSpec | undefined, isWanted = true) {
  const { record, progress } = useApproval(isWanted ? entry.approvalId : undefined, useServer());
  const sent = progress?.kind === "edit" ? progress.input : entry.input;
  const { subject } = record ? presentRecord(record, tool) : present({ ...entry, input: sent }, tool);
  return { subject, progress, followed: followedOf(progress, outcomeText(progress), record, tool) };
}

function Result({ entry, tool }: { entry: PendingApproval; tool: ToolSpec | undefined }) {
  const { subject, progress, followed } = useFollowed(entry, tool);
  return (
    <li data-tone={followed?.tone} data-result={entry.approvalId}>
      <b>{followed?.text}</b> {subject}
      {followed?.outcome !== undefined && (
        <>
          {" · "}
          <span className="results__outcome">{followed.outcome}</span>
        </>
      )}
      <GrantMade progress={progress} owner={entry.requestedBy} />
    </li>
  );
}
