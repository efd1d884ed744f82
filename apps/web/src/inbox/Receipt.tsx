import type { DecisionProgress } from "holdpoint";
import type { ApprovalRecord } from "holdpoint/protocol";
import { useMemo } from "react";
import type { ToolSpec } from "../api/types";
import { Changes } from "../edit/Changes";
import { CallOutcome } from "../tools/CallOutcome";
import { DecisionLine } from "../tools/DecisionLine";
import { GrantMade } from "./GrantMade";
import { recordedState } from "./receipt";

interface Props {
  record: ApprovalRecord;
  tool: ToolSpec | undefined;
  title: string;
  /** This page's own decision. */
  progress: DecisionProgress | undefined;
}

/** What has become of a request: who decided, what was changed, what came of it. It follows the server's record. */
export function Receipt({ record, tool, title, progress }: Props) {
  const { approval, editedInput } = record;
  const state = useMemo(() => recordedState(record, tool), [record, tool]);
  return (
    <div className="receipt">
      <DecisionLine state={state} progress={progress} />
      {state.kind === "running" && (
        <p className="tool-card__note">
          {state.where === "browser" ? "It runs in a browser that has the chat open." : "It runs now."}
        </p>
      )}
      {editedInput !== undefined && <Changes before={approval.input} after={editedInput} />}
      <CallOutcome id={`${approval.approvalId} receipt`} state={state} title={title} isCompact />
      <GrantMade progress={progress} owner={approval.requestedBy} />
    </div>
  );
}
