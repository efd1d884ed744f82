import type { DecisionProgress } from "holdpoint";
import { X } from "lucide-react";
import { outcomeText } from "./outcomes";

interface Props {
  /** What was decided during this visit, newest last: its id and its subject. */
  decided: readonly { approvalId: string; subject: string }[];
  decisions: Readonly<Record<string, DecisionProgress>>;
  onClear: () => void;
}

const MOST = 3;

/** What came of the last decisions: the requests themselves have left the list. */
export function Results({ decided, decisions, onClear }: Props) {
  return (
    <div className="results" aria-live="polite">
      {decided.length > 0 && (
        <>
          <ul>
            {decided.slice(-MOST).map(({ approvalId, subject }) => {
              const outcome = outcomeText(decisions[approvalId]);
              return (
                <li key={approvalId} data-tone={outcome?.tone}>
                  <b>{outcome?.text}</b> {subject}
                </li>
              );
            })}
          </ul>
          <button type="button" className="icon-button" aria-label="Clear the results" title="Clear" onClick={onClear}>
            <X size={15} aria-hidden="true" />
          </button>
        </>
      )}
    </div>
  );
}
